"""Insiders that engage: hosts with a good certificate, but none for controllers, join the group.

A law that names a `cAuthority` believes certified controllers and nobody else, whichever way a
message comes. Letters between agents prove that by their seals (`test_attacks`); these are the ways
on which hosts of a group speak to each other without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nomospace import t
from nomospace.calls.requests import CLIENT_PROGRAM, LawText
from nomospace.client import Membership
from nomospace.client.remote import RemoteAgent
from nomospace.control import Snapshot
from nomospace.host.calls import Bundle
from nomospace.host.moving import Coming
from nomospace.host.posting import Letter
from nomospace.law import load
from nomospace.protocols.births import BEFORE, BIRTH_MAX, UNKNOWN
from nomospace.protocols.courier import Parcel, Receipt
from nomospace.protocols.messages import Ready, Relay
from nomospace.protocols.routing.frames import Frame, Hint, Post, Register, Update
from nomospace.protocols.routing.seats import Seat
from nomospace.protocols.routing.server_memory import plain_ticket
from nomospace.protocols.spaces import Ask, Mailed, Shown
from nomospace.terms import term
from nomospace.wire.admin import Agents
from tests.parity.worlds import see
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.intruder import insider
from tests.real.trust import Trust
from tests.sites import Site, site

WAIT_S = 60.0
RULES = """\
initialCS([secret(hush4711)]).
R1. sent(_, say(_), _) :- do(forward).
R2. sent(_, order(_), _) :- doctor@CS, do(forward).
R3. sent(X, out([msg(_), from(X), to(_)]), _) :- do(forward).
R4. sent(Y, inp([msg(_), from(_), to(Y)]), _) :- do(forward).
R4b. sent(Y, in([msg(_), from(_), to(Y)]), _) :- do(forward).
R5. sent(_, _, _) :- tupleSpace@CS, do(forward).
R6. arrived(_, _, _) :- do(deliver).
"""


class Group:
    """Two hosts that are engaged, under one authority."""

    def __init__(self, folder: Path) -> None:
        self.trust = trust = Trust(folder / "trust")
        for name in ("ward", "icu"):
            trust.member(name)
        self.law = load(f'law(clinic). cAuthority("{trust.key}").\n{RULES}')
        shared = ("--trust", str(trust.folder), "--store", "memory")
        self.ward = RealHost("ward", folder, *shared)
        self.icu = RealHost("icu", folder, *shared, "--join", self.ward.address)
        start(self.ward, self.icu)

    @asynccontextmanager
    async def member(self, agent: str) -> AsyncIterator[Membership]:
        """A member at the host of its name."""
        host = self.icu if agent.endswith("@icu") else self.ward
        async with caller(host, self.trust, token=self.trust.token(agent)) as client:
            yield await (await client.agent()).adopt(self.law)

    @asynccontextmanager
    async def engaged(self, name: str) -> AsyncIterator[Site]:
        """An insider whose host has joined the group."""
        self.trust.host(name)
        at = self.ward.address
        async with site(name, at, trust=self.trust, with_host=True) as here:
            await see(await here.host.agent("mallory"), "icu")
            yield here


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    made = Group(tmp_path_factory.mktemp("group"))
    try:
        yield made
    finally:
        end(made.ward, made.icu)


async def nothing_but(membership: Membership, sender: str, message: Any) -> None:
    """The next letter is this one: nothing came before it."""
    async with asyncio.timeout(WAIT_S):
        async for letter in membership.inbox():
            assert (letter.sender, letter.message) == (sender, message)
            return


def test_certified_hosts_believe_each_other(group: Group) -> None:
    """Governed spaces and moves between hosts go on as ever where controllers are certified."""

    async def program() -> None:
        trust = group.trust
        async with (
            caller(group.icu, trust, token=trust.token("ann0@icu")) as near,
            caller(group.ward, trust, token=trust.token("dan0@ward")) as far,
        ):
            ann, dan = await near.agent(), await far.agent()
            spaces = []
            for agent in (ann, dan):
                await agent.adopt(group.law)
                spaces.append(await agent.space("post", shared=True, law=group.law))
            await see(ann, "ward")
            letter = (t.msg("hello"), t["from"]("ann0@icu"), t.to("dan0@ward"))
            await spaces[0].out(*letter)
            template = (t.msg(str), t["from"](str), t.to("dan0@ward"))
            assert await spaces[1].take(*template, timeout=60) == letter
            assert isinstance(dan, RemoteAgent)
            await dan.move("icu")
            member = dan.membership(group.law)
            assert member is not None
            assert not (await member.send("say(1)", to="ann0@icu")).refused
            mine = ann.membership(group.law)
            assert mine is not None
            await nothing_but(mine, "dan0@ward", term("say(1)"))

    play(program())


def test_a_message_as_if_a_space_had_sent_it(group: Group) -> None:
    """What a space says to a member at another host is believed of certified hosts only."""

    async def program() -> None:
        async with (
            group.member("bob1@icu") as bob,
            group.member("ann1@ward") as ann,
            group.engaged("eve1") as eve,
        ):
            lie = Mailed(group.law.hash, "ann1@ward", term("say(lie)"), "bob1@icu")
            eve.host.core.group.tell("icu", lie)
            await asyncio.sleep(1)
            await ann.send("say(true)", to="bob1@icu")
            await nothing_but(bob, "ann1@ward", term("say(true)"))

    play(program())


def test_a_look_into_a_governed_space(group: Group) -> None:
    """An operation that no certified controller has ruled on finds nothing."""

    async def program() -> None:
        async with caller(group.icu, group.trust, token=group.trust.token("ann2@icu")) as client:
            ann = await client.agent()
            await ann.adopt(group.law)
            box = await ann.space("box", shared=True, law=group.law)
            await box.out(t.msg("hush"), t["from"]("ann2@icu"), t.to("dan@icu"))
            async with group.engaged("eve2") as eve:
                found: list[Any] = []
                eve.host.core.group.hears[Shown] = lambda _peer, body: found.append(body)
                pattern: Any = term("[msg(formal(any)), from(formal(any)), to('dan@icu')]")
                asked = term("inp([msg(formal(any)), from(formal(any)), to('dan@icu')])")
                ask = Ask((1, 1, 1), "box", group.law.hash, "dan@icu", False, False, pattern,
                          "", "", 0, asked)  # fmt: skip
                async with asyncio.timeout(60):
                    while not found:  # hosts that stood still have parted, and meet again
                        eve.host.core.group.tell("icu", ask)
                        await asyncio.sleep(0.5)
                assert not found[0].rows
                assert "hush" not in repr(found)

    play(program())


def test_an_agent_that_comes_with_a_state_of_its_own_making(group: Group) -> None:
    """Who moves brings a control state; one that no certified controller kept is not taken in."""

    async def program() -> None:
        law = LawText(group.law.hash, "clinic", group.law.tree.source.text)
        async with insider(group.trust, "eve3", group.icu) as eve:
            state = ((1, term("doctor")),)
            member = Snapshot("mallory@eve3", group.law.hash, 1, 2, 1, state, (), False)
            bundle = Bundle("mallory@eve3", "eve3", memberships=(member,))
            seat = Seat(1, "eve3")
            coming = Coming(
                "mallory@eve3", (law,), bundle, seat, "ticket", CLIENT_PROGRAM, b"", None
            )
            await eve.taken(group.icu, eve.hand(group.icu, coming))
            operator = group.trust.token("chief@icu", operator=True)
            async with caller(group.icu, group.trust, token=operator) as client:
                agents = await client.ask(Agents())
            assert "mallory@eve3" not in repr(agents)

    play(program())


LATE = 1 << 40
"""An epoch after all others."""
LIES: dict[str, Callable[[str, str, str], Frame]] = {
    "hint": lambda eve, ann, bob: Hint("", bob, eve, LATE),
    "hintserver": lambda eve, ann, bob: Hint("ward", bob, eve, LATE),
    "update": lambda eve, ann, bob: Update((ann, bob, 1), bob, eve, LATE, "ward", ()),
    "updateserver": lambda eve, ann, bob: Update((ann, bob, 1), bob, eve, LATE, "ward", ("ward",)),
    "come": lambda eve, ann, bob: Register("ward", bob, LATE, plain_ticket(bob, LATE, eve)),
}


@pytest.mark.parametrize("kind", LIES)
def test_mail_that_a_host_would_draw_to_itself(group: Group, kind: str) -> None:
    """Where an agent is, is told by those who were asked for it, and by nobody else."""
    ann_id, bob_id, eve_id = f"ann{kind}@ward", f"bob{kind}@icu", f"eve{kind}"

    async def program() -> None:
        async with group.member(bob_id) as bob, group.member(ann_id) as ann:
            await ann.send("say(1)", to=bob_id)
            await nothing_but(bob, ann_id, term("say(1)"))
            async with insider(group.trust, eve_id, group.ward) as eve:
                number = eve.hand(group.ward, LIES[kind](eve_id, ann_id, bob_id))
                await eve.taken(group.ward, number)
                await ann.send("say(private)", to=bob_id)
                await nothing_but(bob, ann_id, term("say(private)"))
                assert not eve.knows("private")

    play(program())


def test_a_name_that_a_host_would_take_before_its_agent_is_there(group: Group) -> None:
    """Agents of a host's own domain are born at that host."""

    async def program() -> None:
        async with insider(group.trust, "eve6", group.icu) as eve:
            await eve.taken(group.icu, eve.hand(group.icu, Register("icu", "bob6@icu", 0)))
            async with group.member("bob6@icu") as bob, group.member("ann6@ward") as ann:
                await ann.send("say(private)", to="bob6@icu")
                await nothing_but(bob, "ann6@ward", term("say(private)"))
                assert not eve.knows("private")

    play(program())


def test_a_frame_in_the_name_of_another_host(group: Group) -> None:
    """A host that is linked speaks for itself: what another passes on in its name is dropped."""

    async def program() -> None:
        async with (
            group.member("bob4@icu") as bob,
            group.member("ann4@ward") as ann,
            insider(group.trust, "eve4", group.icu) as eve,
        ):
            # It would take the number of a true parcel, and so its place.
            letter = Letter(group.law.hash, "x@ward", term("say(lie)"))
            for number in range(1, 40):
                post = Post("x@ward", "bob4@icu", number, letter, "ward")
                eve.say(group.icu, Relay("ward", "icu", 5, Parcel(number, post)))
            await asyncio.sleep(0.5)
            for number in range(3):
                await ann.send(f"say({number})", to="bob4@icu")
            for number in range(3):
                await nothing_but(bob, "ann4@ward", term(f"say({number})"))

    play(program())


def test_a_map_whose_keys_hash_alike(group: Group) -> None:
    """Only strings are keys of a map: a host that sends others is not read, and lives on."""

    async def program() -> None:
        async with (
            group.member("bob7k@icu") as bob,
            group.member("ann7k@ward") as ann,
            insider(group.trust, "eve7k", group.icu) as eve,
        ):
            keys = {(n, n): None for n in range(5_000)}
            eve.say(group.icu, Ready((1, "eve7k"), 1, {}, {"eve7k": keys}))
            await group.icu.noted("bad-frame", "eve7k", "keys are not all strings")
            await ann.send("say(0)", to="bob7k@icu")
            await nothing_but(bob, "ann7k@ward", term("say(0)"))

    play(program())


def test_a_host_that_is_said_to_be_born_again(group: Group) -> None:
    """Nobody makes others forget what they have got of a host, and what is under way to it."""

    async def program() -> None:
        async with (
            group.member("bob9@icu") as bob,
            group.member("ann9@ward") as ann,
            insider(group.trust, "eve9", group.icu) as eve,
        ):
            await ann.send("say(0)", to="bob9@icu")
            await nothing_but(bob, "ann9@ward", term("say(0)"))
            letter = Letter(group.law.hash, "x@ward", term("say(lie)"))
            post = Post("x@ward", "bob9@icu", 1, letter, "ward")
            claims = (Receipt(0, BIRTH_MAX, BEFORE), Parcel(1, post, BIRTH_MAX, UNKNOWN))
            for claim in claims:
                eve.say(group.icu, Relay("ward", "icu", 5, claim))  # in the name of another
                eve.say(group.icu, claim)  # and of its own, which is its own affair
            for number in range(1, 4):
                await ann.send(f"say({number})", to="bob9@icu")
                await nothing_but(bob, "ann9@ward", term(f"say({number})"))
                await bob.send(f"say({number})", to="ann9@ward")
                await nothing_but(ann, "bob9@icu", term(f"say({number})"))
            await group.icu.noted("not-its-own", "eve9", "ward")
            assert [note["peer"] for note in group.icu.notes("peer-reborn")] == []

    play(program())
