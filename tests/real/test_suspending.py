"""Operators stop who does harm, on real hosts: at once, through restarts, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from nomospace import Law
from nomospace.calls.problems import Suspended
from nomospace.host.alarms import FIRED_A_SECOND, FIRED_BURST
from nomospace.wire.admin import Resume, Suspend, Suspensions, Tail
from tests.parity.processes import PACE
from tests.parity.worlds import WAIT_S, see
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.steady import steady

LOOP = Law.load(
    """\
law(loop).
R1. sent(_, again, _) :- do(imposeObligation(again, 0)).
R2. sent(_, _, _) :- do(forward).
R3. arrived(_, _, _) :- do(deliver).
R4. obligationDue(again) :- do(imposeObligation(again, 0)).
"""
)


def test_a_suspended_agent_is_cut_off_and_its_mail_waits_through_kill_9(tmp_path: Path) -> None:
    ward = RealHost("ward", tmp_path, "--insecure")
    start(ward)

    async def before() -> None:
        async with caller(ward, None) as one, caller(ward, None) as two:
            ann, bob = await one.agent("ann"), await two.agent("bob")
            await ann.adopt(LOOP)
            member = await bob.adopt(LOOP)
            jobs = await ann.space("jobs", shared=True)
            waits = asyncio.create_task(jobs.take("job", int))
            await jobs.out("here", 1)
            async with caller(ward, None) as operator:
                await operator.ask(Suspend("ann@ward", "it floods"))
                with pytest.raises(Suspended, match="it floods"):
                    await waits
                with pytest.raises(Suspended):
                    await jobs.out("job", 1)
                await member.send("hello", to="ann@ward")

    play(before())
    ward.end(signal.SIGKILL)
    again = RealHost("ward", tmp_path, "--insecure", port=ward.port)
    start(again)

    async def after() -> None:
        async with caller(again, None) as operator, caller(again, None) as client:
            (line,) = await operator.ask(Suspensions())
            assert (line.name, line.why) == ("ann@ward", "it floods")
            with pytest.raises(Suspended):
                await client.agent("ann")
            await operator.ask(Resume("ann@ward"))
            ann = await client.agent("ann")
            member = ann.membership(LOOP)
            assert member is not None
            letter = await anext(member.inbox())
            assert letter.message == "hello"

    play(after())
    end(again)


def test_obligations_without_end_have_a_pace_and_end_with_their_law(tmp_path: Path) -> None:
    """A member that left goes on owing; its host has time for others, and an operator ends it."""
    ward = RealHost("ward", tmp_path, "--insecure")
    start(ward)

    async def program() -> None:
        async with caller(ward, None) as client:
            rogue = await client.agent("rogue")
            member = await rogue.adopt(LOOP)
            await member.send("again", to="rogue@ward")
        async with caller(ward, None) as operator:
            ward_of = operator.ask
            first = await ward_of(Tail(0, 1))
            async with steady(ward, None) as work:
                while work.done < 50:
                    await asyncio.sleep(0.01)
            await ward_of(Suspend(LOOP.hash))
            stands = await ward_of(Tail(0, 1))
            assert first[-1].seq < stands[-1].seq
            fired = [one for one in await ward_of(Tail(0, 10_000)) if one.table == "events"]
            at = [one.columns["at"] for one in fired]
            lasted_s = (max(at) - min(at)) / 1e6  # on its own clock
            assert len(fired) < 2 * FIRED_BURST + lasted_s * FIRED_A_SECOND
            await asyncio.sleep(0.1)
            assert (await ward_of(Tail(0, 1)))[-1].seq <= stands[-1].seq + 1

    try:
        play(program())
    finally:
        end(ward)


SHARED = Law.load("law(shared). sent(_, _, _) :- do(forward). arrived(_, _, _) :- do(deliver).")


def test_a_law_that_one_of_two_hosts_suspends_over_a_space_of_both(tmp_path: Path) -> None:
    """What lies at that host is given to nobody until it is resumed; the other host goes on."""
    ward = RealHost("ward", tmp_path, "--insecure", "--store", "memory", *PACE)
    start(ward)
    icu = RealHost(
        "icu", tmp_path, "--insecure", "--store", "memory", "--join", ward.address, *PACE
    )
    start(icu)

    async def program() -> None:
        async with caller(ward, None) as here, caller(icu, None) as there:
            ann, bob = await here.agent("ann"), await there.agent("bob")
            for agent in (ann, bob):
                await agent.adopt(SHARED)
            mine = await ann.space("post", shared=True, law=SHARED)
            theirs = await bob.space("post", shared=True, law=SHARED)
            await see(ann, "icu")
            await mine.out("first", 1)
            assert await theirs.take("first", int, timeout=WAIT_S) == ("first", 1)
            await mine.out("held", 2)
            await here.ask(Suspend(SHARED.hash, "under review"))
            with pytest.raises(Suspended, match="under review"):
                await mine.out("more", 3)
            taking = asyncio.create_task(theirs.take("held", int))
            await theirs.out("own", 4)
            assert await theirs.take("own", int, timeout=WAIT_S) == ("own", 4)
            assert not taking.done()
            await here.ask(Resume(SHARED.hash))
            async with asyncio.timeout(WAIT_S):
                assert await taking == ("held", 2)
            await mine.out("more", 3)
            assert await theirs.take("more", int, timeout=WAIT_S) == ("more", 3)

    try:
        play(program())
    finally:
        end(icu, ward)
