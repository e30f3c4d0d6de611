"""What a host writes down, change by change, and the state that these changes make.

A `Persist` carries the changes of one step. `Durable` is the plainest store of them: what is on a
simulated disk, and the model for real ones; each change says what it does to that (`carry_out`). A
host that starts again is given its `Durable`.

Waiting operations, reactions and what others watch for here are not written down: they belong to
programs that die with the host, and come again when those do.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from nomospace.calls.requests import LawText, OntologyText
from nomospace.control import Event, Membership, Ruling, Snapshot, redo
from nomospace.host.kept_tables import PlainTables
from nomospace.law import CompiledLaw
from nomospace.protocols.spaces import Row
from nomospace.protocols.transfers import Book

COMPACT_FROM: Final = 256
"""So many rulings of a membership are kept as changes before they are folded into its base."""

KEPT_EVERY: Final = 256
"""After so many rulings of a membership it is written down as it is: what its rulings before that
have changed need not be told again."""

Id: TypeAlias = tuple[str, int]


class AgentCame(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="agent-came"):
    """An agent is here; `count` tuples carry its name."""

    agent: str
    count: int

    def carry_out(self, disk: Durable) -> None:
        disk.agents[self.agent] = max(self.count, disk.agents.get(self.agent, 0))


class AgentWent(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="agent-went"):
    """An agent left with all its spaces and memberships, those at addresses of their own too."""

    agent: str
    homes: tuple[str, ...] = ()

    def carry_out(self, disk: Durable) -> None:
        del disk.agents[self.agent]
        disk.programs.pop(self.agent, None)
        for key in [key for key in disk.spaces if key[0] == self.agent]:
            del disk.spaces[key]
        gone = (self.agent, *self.homes)
        for home in [home for home in disk.members if home[0] in gone]:
            del disk.members[home]


class ProgramKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="program-kept"):
    """An agent runs a program from this state; none, when the name is empty.

    `origin` is the host that it came from, if it did; `why` says why that one sent it back.
    """

    agent: str
    program: str
    state: Any = None
    code: Any = None
    origin: str = ""
    why: str = ""

    def carry_out(self, disk: Durable) -> None:
        if self.program:
            disk.programs[self.agent] = self
        else:
            disk.programs.pop(self.agent, None)


class StateKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="state-kept"):
    """The program of an agent would begin again from this state."""

    agent: str
    state: Any

    def carry_out(self, disk: Durable) -> None:
        kept = disk.programs[self.agent]
        disk.programs[self.agent] = msgspec.structs.replace(kept, state=self.state)


class Opened(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="opened"):
    """An agent has an interface space; `law` and `ontology` are hashes, or empty.

    `engine` is `store`, or empty for the memory engine.
    """

    agent: str
    space: str
    law: str
    shared: bool
    durable: bool
    ontology: str = ""
    engine: str = ""

    def carry_out(self, disk: Durable) -> None:
        disk.spaces[self.agent, self.space] = self


class TuplePut(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="tuple-put"):
    """A tuple is in a space, as this row says; an older row of it is replaced.

    `order` is its place in a space of the store engine, 0 in others.
    """

    space: str
    row: Row
    order: int = 0

    def carry_out(self, disk: Durable) -> None:
        row = self.row
        if self.order:
            disk.tables.put(self.space, row, self.order)
            disk.tuples.get(self.space, {}).pop((row.writer, row.count), None)
        else:
            disk.tuples.setdefault(self.space, {})[row.writer, row.count] = row
        if disk.agents.get(row.writer, row.count) < row.count:
            disk.agents[row.writer] = row.count


class TupleGone(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="tuple-gone"):
    """A tuple is in a space no more; `order` as it was put."""

    space: str
    id: Id
    order: int = 0

    def carry_out(self, disk: Durable) -> None:
        if self.order:
            disk.tables.gone(self.space, self.id)
        else:
            disk.tuples.get(self.space, {}).pop(self.id, None)


class _Given(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Something has a number from now on, and waits."""

    peer: str
    number: int
    what: Any


class _UpTo(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Everything up to a number is done with."""

    peer: str
    number: int


class TransferGiven(_Given, frozen=True, gc=False, array_like=True, tag="transfer-given"):
    """Something is under way to a peer."""

    def carry_out(self, disk: Durable) -> None:
        disk.transfers.given(self.peer, self.number, self.what)


class TransferTaken(_UpTo, frozen=True, gc=False, array_like=True, tag="transfer-taken"):
    """A peer has everything up to a number."""

    def carry_out(self, disk: Durable) -> None:
        disk.transfers.taken(self.peer, self.number)


class TransferPlaced(_UpTo, frozen=True, gc=False, array_like=True, tag="transfer-placed"):
    """Everything up to a number has come from a peer."""

    def carry_out(self, disk: Durable) -> None:
        disk.transfers.placed[self.peer] = self.number


class ParcelGiven(_Given, frozen=True, gc=False, array_like=True, tag="parcel-given"):
    """The courier has something for a peer."""

    def carry_out(self, disk: Durable) -> None:
        disk.parcels.given(self.peer, self.number, self.what)


class ParcelTaken(_UpTo, frozen=True, gc=False, array_like=True, tag="parcel-taken"):
    """A peer has every parcel up to a number."""

    def carry_out(self, disk: Durable) -> None:
        disk.parcels.taken(self.peer, self.number)


class ParcelPlaced(_UpTo, frozen=True, gc=False, array_like=True, tag="parcel-placed"):
    """Every parcel up to a number has come from a peer."""

    def carry_out(self, disk: Durable) -> None:
        disk.parcels.placed[self.peer] = self.number


class BirthLearnt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="birth-learnt"):
    """What is numbered for a peer is for this birth of it, and for `own`, a birth of this host.

    With `anew` all numbers with it are forgotten; what is still under way to it is given again.
    """

    peer: str
    birth: int
    own: int
    anew: bool = False

    def carry_out(self, disk: Durable) -> None:
        disk.births[self.peer] = (self.birth, self.own)
        if self.anew:
            disk.transfers.forget(self.peer)
            disk.parcels.forget(self.peer)


class RoutingChanged(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="routing-changed"):
    """The daemon (an empty name), or the server of a domain, has changed."""

    core: str
    change: Any

    def carry_out(self, disk: Durable) -> None:
        disk.routing.setdefault(self.core, []).append(self.change)


class RoutingFolded(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="routing-folded"):
    """These changes make the whole of a daemon or server: earlier ones count no more."""

    core: str
    changes: tuple[Any, ...]

    def carry_out(self, disk: Durable) -> None:
        disk.routing[self.core] = list(self.changes)


class LawLearnt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="law-learnt"):
    """An agent brought a law along that this host did not have."""

    text: LawText

    def carry_out(self, disk: Durable) -> None:
        disk.laws[self.text.hash] = self.text


class OntologyLearnt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ontology-learnt"):
    """A space here speaks an ontology that this host did not have."""

    text: OntologyText

    def carry_out(self, disk: Durable) -> None:
        disk.ontologies[self.text.hash] = self.text


class _MemberIs(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A membership is as it stands here, whatever came before."""

    snapshot: Snapshot

    def carry_out(self, disk: Durable) -> None:
        snapshot = self.snapshot
        disk.members[snapshot.home, snapshot.law] = StoredMember(snapshot)


class MemberJoined(_MemberIs, frozen=True, gc=False, array_like=True, tag="member-joined"):
    """A membership begins, or comes with its agent."""


class MemberKept(_MemberIs, frozen=True, gc=False, array_like=True, tag="member-kept"):
    """A membership as it is now, with all that its rulings have changed."""


class MemberRuled(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="member-ruled"):
    """A controller ruled, and its membership changed as the ruling says."""

    ruling: Ruling

    def carry_out(self, disk: Durable) -> None:
        ruling = self.ruling
        member = disk.members[ruling.home, ruling.law]
        member.log.append(ruling)
        if len(member.log) >= COMPACT_FROM:
            member.fold()


class Suspension(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="suspension"):
    """An agent (its id) or a law (its hash) is suspended since a moment; with 0, no more."""

    name: str
    since: int
    why: str = ""

    def carry_out(self, disk: Durable) -> None:
        if self.since:
            disk.suspended[self.name] = self
        else:
            disk.suspended.pop(self.name, None)


class EventHeld(_Given, frozen=True, gc=False, array_like=True, tag="event-held"):
    """An event waits for a membership that is suspended; `peer` is its agent and its law."""

    what: Event

    def carry_out(self, disk: Durable) -> None:
        disk.held.given(self.peer, self.number, self.what)


class EventServed(_UpTo, frozen=True, gc=False, array_like=True, tag="event-served"):
    """Every event that was held for a membership up to a number has been ruled on."""

    def carry_out(self, disk: Durable) -> None:
        disk.held.taken(self.peer, self.number)


class SmallKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="small-kept"):
    """Something small that a part beside the core keeps, by its name; empty, no more."""

    name: str
    body: bytes

    def carry_out(self, disk: Durable) -> None:
        if self.body:
            disk.small[self.name] = self.body
        else:
            disk.small.pop(self.name, None)


class FloorRaised(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="floor-raised"):
    """View numbers up to this one have been seen."""

    number: int

    def carry_out(self, disk: Durable) -> None:
        disk.floor = max(disk.floor, self.number)


Change: TypeAlias = (
    AgentCame
    | AgentWent
    | ProgramKept
    | StateKept
    | Opened
    | TuplePut
    | TupleGone
    | TransferGiven
    | TransferTaken
    | TransferPlaced
    | ParcelGiven
    | ParcelTaken
    | ParcelPlaced
    | BirthLearnt
    | RoutingChanged
    | RoutingFolded
    | LawLearnt
    | OntologyLearnt
    | MemberJoined
    | MemberKept
    | MemberRuled
    | Suspension
    | EventHeld
    | EventServed
    | FloorRaised
    | SmallKept
)


class StoredMember:
    """One membership on disk: as it was once, and the rulings since."""

    __slots__ = ("base", "log")

    def __init__(self, base: Snapshot) -> None:
        self.base = base
        self.log: list[Ruling] = []

    def fold(self) -> None:
        """Make one base of all that there is."""
        self.base = redo(self.base, self.log)
        self.log.clear()

    def restore(self, law: CompiledLaw) -> Membership:
        """The membership as the disk has it."""
        return Membership.restore(law, redo(self.base, self.log))


class Durable:
    """All that a host keeps through a crash.

    >>> disk = Durable()
    >>> disk.apply(AgentCame("ann@x", 0))
    >>> disk.apply(TuplePut("jobs", Row(("job", 1), "ann@x", 1, "ann@x", "ann@x")))
    >>> disk.agents, len(disk.tuples["jobs"])
    ({'ann@x': 1}, 1)
    """

    def __init__(self) -> None:
        self.agents: dict[str, int] = {}
        self.programs: dict[str, ProgramKept] = {}
        self.spaces: dict[tuple[str, str], Opened] = {}
        self.tuples: dict[str, dict[Id, Row]] = {}
        self.tables = PlainTables()
        """The tuples of spaces that lie in the store."""
        self.members: dict[tuple[str, str], StoredMember] = {}
        self.transfers = Book()
        self.parcels = Book()
        self.held = Book()
        self.suspended: dict[str, Suspension] = {}
        self.births: dict[str, tuple[int, int]] = {}
        self.routing: dict[str, list[Any]] = {}
        self.laws: dict[str, LawText] = {}
        self.ontologies: dict[str, OntologyText] = {}
        self.floor = 0
        self.small: dict[str, bytes] = {}

    def apply(self, *changes: Change) -> None:
        """Carry changes out. Those of one `Persist` are carried out together or not at all."""
        for change in changes:
            change.carry_out(self)
