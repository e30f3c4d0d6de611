"""Sequences of changes as a host makes them, and what a store must give back after them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from nomospace.calls.requests import LawText
from nomospace.control import Event, Ruling, Snapshot, redo
from nomospace.host.changes import (
    AgentCame,
    AgentWent,
    BirthLearnt,
    Change,
    Durable,
    FloorRaised,
    LawLearnt,
    MemberJoined,
    MemberRuled,
    Opened,
    ParcelGiven,
    ParcelPlaced,
    ParcelTaken,
    ProgramKept,
    RoutingChanged,
    RoutingFolded,
    SmallKept,
    StateKept,
    StoredMember,
    TransferGiven,
    TransferPlaced,
    TransferTaken,
    TupleGone,
    TuplePut,
)
from nomospace.host.moving import There
from nomospace.protocols.routing.changes import SeatGone, Sent
from nomospace.protocols.spaces import Migrated, Row
from nomospace.protocols.transfers import Book
from nomospace.store.copying import changes_of, numbers_of
from nomospace.store.interface import KeptForClient, Step, Store
from nomospace.store.journal import EventRecord, LawRecord, encode_record
from nomospace.terms import Compound, Term
from nomospace.wire.changes import encode_change, encode_row, encode_ruling

AGENTS = ("ann@x", "bob@x", "cay@y")
SPACES = ("jobs", "notes")
PEERS = ("north", "south")
LAWS = ("4c1f", "9a2b")

ATOMS: tuple[Term, ...] = (
    *(None, True, False, 0, 1, -5, 2**63 - 1, 2**63, -(2**63) - 1, 2**70, 2**53 + 1),
    *(0.0, 1.0, -3.0, 2.5, 0.1, 1e23, 5e-324, 2.0**53, 2.0**63),
    *("", "job", "a", "b", "x" * 64, "x" * 65, "x" * 300, "a\0b", "é", "\U0001f600", "1"),
    *(b"", b"a", b"\0", b"x" * 80),
)
"""Values of all kinds, with those on the edges of what databases know."""


def any_term(rng: Random, depth: int = 2) -> Term:
    """A term, mostly a plain one."""
    kind = rng.randrange(10)
    if depth == 0 or kind < 6:
        return rng.choice(ATOMS)
    parts = tuple([any_term(rng, depth - 1) for _ in range(rng.randrange(3))])
    if kind < 8 or not parts:
        return parts
    return Compound(rng.choice(["room", "f", "n\0"]), parts)


def any_fields(rng: Random) -> tuple[Term, ...]:
    """The fields of a tuple."""
    return tuple([any_term(rng) for _ in range(rng.randint(1, 6))])


def joined(home: str, law: str) -> MemberJoined:
    """A membership begins, or comes with its agent."""
    return MemberJoined(Snapshot(home, law, 7, 1, 0, ((0, "tupleSpace"),), (), False))


def next_ruling(member: StoredMember) -> MemberRuled:
    """The next ruling of a membership: one adds a term, and the next one drops it."""
    now = redo(member.base, member.log)
    seq = now.seq + 1
    delta: tuple[Any, ...] = (("+", now.next_place, Compound("seen", (seq,)), None),)
    if len(now.state) > 1:
        delta = (("-", *now.state[-1], None),)
    event = Event("sent", (now.home, "hi", "x"))
    return MemberRuled(Ruling(seq, 10 * seq, now.home, now.law, event, "r", (), delta))


def recorded(changes: Sequence[Change], outbox: tuple[KeptForClient, ...] = ()) -> Step:
    """A step as a host with a journal makes it: the records of its rulings are among others."""
    records: list[bytes] = []
    ruled: list[int] = []
    for change in changes:
        records.append(encode_record(LawRecord("x", len(records), "4c1f", "AP", "law(ap).")))
        if isinstance(change, MemberRuled):
            ruled.append(len(records))
            records.append(encode_record(EventRecord("x", "AP", encode_ruling(change.ruling))))
    return Step(tuple(changes), outbox, tuple(records), tuple(ruled))


class Author:
    """Makes changes that may follow those before; `model` is the state that they make."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.model = Durable()

    def change(self) -> Change:
        """One more change."""
        made: Change = getattr(self, self.rng.choice(_KINDS))()
        self.model.apply(made)
        return made

    def put(self) -> Change:
        row = Row(
            any_fields(self.rng),
            self.rng.choice(AGENTS),
            self.rng.randint(1, 6),
            "ann@x",
            "bob@x",
            self.rng.choice([0, 10**15]),
            self.rng.randint(0, 2),
        )
        return TuplePut(self.rng.choice(SPACES), row)

    def gone(self) -> Change:
        known = [(space, key) for space, held in self.model.tuples.items() for key in held]
        nowhere = ("jobs", ("ann@x", 99))
        space, key = self.rng.choice(known) if known else nowhere
        return TupleGone(space, key)

    def came(self) -> Change:
        return AgentCame(self.rng.choice(AGENTS), self.rng.randint(0, 4))

    def went(self) -> Change:
        known = list(self.model.agents)
        return AgentWent(self.rng.choice(known)) if known else self.came()

    def program(self) -> Change:
        name = self.rng.choice(["", "counter"])
        return ProgramKept(self.rng.choice(AGENTS), name, {"n": 1}, None, "north")

    def state(self) -> Change:
        known = list(self.model.programs)
        if not known:
            return self.program()
        return StateKept(self.rng.choice(known), self.rng.randrange(2**60))

    def opened(self) -> Change:
        agent, space = self.rng.choice(AGENTS), self.rng.choice(SPACES)
        return Opened(agent, space, "", self.rng.random() < 0.5, True)

    def joined(self) -> Change:
        return joined(self.rng.choice(AGENTS), self.rng.choice(LAWS))

    def ruled(self) -> Change:
        known = list(self.model.members)
        if not known:
            return self.joined()
        return next_ruling(self.model.members[self.rng.choice(known)])

    def transfer(self) -> Change:
        peer, number = self.next_number(self.model.transfers)
        row = Row(("job", number), "ann@x", number, "ann@x", "bob@x")
        return TransferGiven(peer, number, Migrated("jobs", "", row))

    def parcel(self) -> Change:
        peer, number = self.next_number(self.model.parcels)
        return ParcelGiven(peer, number, There("ann@x", f"ticket {number}"))

    def next_number(self, book: Book) -> tuple[str, int]:
        """Numbers to one peer have no gaps."""
        peer = self.rng.choice(PEERS)
        return peer, book.numbers.get(peer, 0) + 1

    def taken(self) -> Change:
        peer = self.rng.choice(PEERS)
        if self.rng.random() < 0.5:
            return TransferTaken(peer, self.rng.randint(0, 5))
        return ParcelTaken(peer, self.rng.randint(0, 5))

    def placed(self) -> Change:
        peer, number = self.rng.choice(PEERS), self.rng.randint(0, 9)
        if self.rng.random() < 0.5:
            return TransferPlaced(peer, number)
        return ParcelPlaced(peer, number)

    def routed(self) -> Change:
        core = self.rng.choice(["", "y"])
        return RoutingChanged(core, Sent("ann@x", "bob@x", self.rng.randint(0, 9)))

    def folded(self) -> Change:
        core = self.rng.choice(["", "y"])
        return RoutingFolded(core, (SeatGone("ann@x"),) * self.rng.randint(0, 2))

    def law(self) -> Change:
        law = self.rng.choice(LAWS)
        return LawLearnt(LawText(law, "AP", self.rng.choice(["% one", "% two"])))

    def floor(self) -> Change:
        return FloorRaised(self.rng.randint(0, 100))

    def small(self) -> Change:
        return SmallKept(self.rng.choice("ab"), self.rng.choice([b"", b"one", b"two"]))

    def born(self) -> Change:
        peer, birth = self.rng.choice(PEERS), self.rng.randint(0, 10**15)
        return BirthLearnt(peer, birth, 1, anew=self.rng.random() < 0.3)


_KINDS = [
    *["put"] * 5,
    *["gone"] * 3,
    *["ruled"] * 3,
    *"came went program state opened joined transfer parcel taken placed".split(),
    *"routed folded law floor born small".split(),
]


def told(durable: Durable) -> dict[str, Any]:
    """All of a state as bytes that differ whenever it does; tuples in their order.

    How far rulings are folded into their membership is the store's own business.
    """
    for member in durable.members.values():
        member.base, member.log = redo(member.base, member.log), []
    return {
        "tuples": {
            space: [encode_row(row) for row in held.values()]
            for space, held in durable.tuples.items()
            if held
        },
        "numbers": sorted(numbers_of(durable)),
        "rest": sorted(encode_change(change) for change in changes_of(durable)),
    }


def reopened(store: Store, *, tuples: bool = True) -> Durable:
    """What a host would find in a store that was closed."""
    beginning = store.begin(tuples=tuples)
    if not tuples:
        after: int | None = 0
        while after is not None:
            chunk, after = store.rows(after, 2)
            for put in chunk:
                held = beginning.durable.tuples.setdefault(put.space, {})
                held[put.row.writer, put.row.count] = put.row
    return beginning.durable
