"""Memberships and governed spaces through the API."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import nomospace as ns
from nomospace.calls.problems import NotAMember, Refused
from nomospace.client import membership as membership_module
from nomospace.client.membership import Letter
from nomospace.law import CompiledLaw
from tests.unit.client.programs import Ward, in_ward

QUOTA = """
law(quota).
initialCS([quota(2)]).

R1. sent(X, out(T), S) :- quota(N)@CS, N > 0, do(dcr(quota(N), 1)), do(forward).
R2. sent(X, in(P), S) :- do(forward).
R3. sent(X, react(P, M), S) :- do(forward).
R4. sent(X, hello(M), Y) :- do(forward).
R5. sent(X, echo(M), Y) :- do(deliver(Self, echoed(M), Self)).
R6. sent(S, found(O, T), X) :- tupleSpace@CS, do(forward).
R7. arrived(X, M, Y) :- do(deliver).
"""


@pytest.fixture
def quota(tmp_path: Path) -> CompiledLaw:
    path = tmp_path / "quota.law"
    path.write_text(QUOTA)
    return ns.Law.load(path)


def test_messages_pass_the_law_to_the_inbox(quota: CompiledLaw) -> None:
    async def program(ward: Ward) -> None:
        ann, bob = await ward.host.agent("ann"), await ward.host.agent("bob")
        hers, his = await ann.adopt(quota), await bob.adopt(quota)
        assert repr(hers) == "<ann@ward under law quota>"
        assert hers.ruling is not None
        assert hers.ruling.kind == "adopted"
        assert his.receive_nowait() is None
        ruling = await hers.send("hello(world)", to="bob@ward")
        assert (ruling.rule, ruling.refused) == ("R4", False)
        await hers.send(ns.t.hello(2), to="bob@ward")
        got = []
        async for letter in his.inbox():
            got.append(letter)
            if len(got) == 2:
                break
        assert got == [
            Letter("ann@ward", ns.t.hello("world")),
            Letter("ann@ward", ns.t.hello(2)),
        ]
        refused = await hers.send("shout(fire)", to="bob@ward")
        assert refused.refused
        assert his.receive_nowait() is None

    in_ward(program)


def test_an_inbox_waits_and_ends_with_its_agent(quota: CompiledLaw) -> None:
    async def program(ward: Ward) -> None:
        ann = await ward.host.agent("ann")
        member = await ann.adopt(quota)

        async def read() -> list[Letter]:
            return [letter async for letter in member.inbox()]

        readers = [asyncio.create_task(read()) for _ in range(2)]
        await asyncio.sleep(1)
        await member.send("echo(1)", to="ann@ward")
        await asyncio.sleep(1)
        await ann.close()
        letters = [letter for got in await asyncio.gather(*readers) for letter in got]
        assert letters == [Letter("ann@ward", ns.t.echoed(1))]  # each goes to one reader

    in_ward(program)


def test_a_full_inbox_drops_the_newest_and_says_so(
    quota: CompiledLaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership_module, "MAIL_MAX", 3)

    async def program(ward: Ward) -> None:
        member = await (await ward.host.agent("ann")).adopt(quota)
        for n in range(6):
            await member.send(ns.t.echo(n), to="ann@ward")
        assert [report.what for report in ward.reports] == ["an inbox is full and drops messages"]
        kept = [member.receive_nowait() for _ in range(4)]
        assert [letter and letter.message for letter in kept] == [
            ns.t.echoed(0),
            ns.t.echoed(1),
            ns.t.echoed(2),
            None,
        ]

    in_ward(program)


def test_a_governed_space_rules_on_every_operation(quota: CompiledLaw) -> None:
    async def program(ward: Ward) -> None:
        ann = await ward.host.agent("ann")
        with pytest.raises(NotAMember, match="adopt it first"):
            await ann.space("market", law=quota, shared=True)
        await ann.adopt(quota)
        market = await ann.space("market", law=quota, shared=True)
        await market.out("offer", 1)
        await market.out("offer", 2)
        with pytest.raises(Refused) as caught:
            await market.out("offer", 3)
        assert caught.value.ruling.refused
        assert "out" in str(caught.value)
        assert await market.take("offer", int, timeout=60) == ("offer", 1)
        with pytest.raises(Refused):
            await market.read_nowait("offer", int)

    in_ward(program)


def test_a_refused_reaction_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mute.law"
    path.write_text("law(mute).\nR1. sent(X, out(T), S) :- do(forward).\n")
    law = ns.Law.load(path)

    async def program(ward: Ward) -> None:
        ann = await ward.host.agent("ann")
        await ann.adopt(law)
        market = await ann.space("market", law=law, shared=True)
        with pytest.raises(Refused):
            market.react(("offer", int), print)
        assert market.reactions() == []

    in_ward(program)
