"""Operators stop who does harm, on real hosts: at once, through restarts, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from nomospace import Law
from nomospace.host.governing import FIRED_BURST
from nomospace.host.problems import Suspended
from nomospace.wire.admin import Resume, Suspend, Suspensions, Tail
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
            assert len(fired) < FIRED_BURST * 3
            await asyncio.sleep(0.1)
            assert (await ward_of(Tail(0, 1)))[-1].seq <= stands[-1].seq + 1

    try:
        play(program())
    finally:
        end(ward)
