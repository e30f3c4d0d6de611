"""What a host writes down, change by change, and the state that these changes make.

A `Persist` carries the changes of one step. `Durable` is the plainest store of them: what is on a
simulated disk, and the model for real ones. A host that starts again is given its `Durable`.

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


class AgentWent(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="agent-went"):
    """An agent left with all its spaces and memberships, those at addresses of their own too."""

    agent: str
    homes: tuple[str, ...] = ()


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


class StateKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="state-kept"):
    """The program of an agent would begin again from this state."""

    agent: str
    state: Any


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


class TuplePut(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="tuple-put"):
    """A tuple is in a space, as this row says; an older row of it is replaced.

    `order` is its place in a space of the store engine, 0 in others.
    """

    space: str
    row: Row
    order: int = 0


class TupleGone(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="tuple-gone"):
    """A tuple is in a space no more; `order` as it was put."""

    space: str
    id: Id
    order: int = 0


class TransferGiven(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="transfer-given"):
    """Something is under way to a peer."""

    peer: str
    number: int
    what: Any


class TransferTaken(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="transfer-taken"):
    """A peer has everything up to a number."""

    peer: str
    number: int


class TransferPlaced(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="transfer-placed"):
    """Everything up to a number has come from a peer."""

    peer: str
    number: int


class ParcelGiven(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="parcel-given"):
    """The courier has something for a peer."""

    peer: str
    number: int
    what: Any


class ParcelTaken(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="parcel-taken"):
    """A peer has every parcel up to a number."""

    peer: str
    number: int


class ParcelPlaced(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="parcel-placed"):
    """Every parcel up to a number has come from a peer."""

    peer: str
    number: int


class BirthLearnt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="birth-learnt"):
    """What is numbered for a peer is for this birth of it, and for `own`, a birth of this host.

    With `anew` all numbers with it are forgotten; what is still under way to it is given again.
    """

    peer: str
    birth: int
    own: int
    anew: bool = False


class RoutingChanged(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="routing-changed"):
    """The daemon (an empty name), or the server of a domain, has changed."""

    core: str
    change: Any


class RoutingFolded(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="routing-folded"):
    """These changes make the whole of a daemon or server: earlier ones count no more."""

    core: str
    changes: tuple[Any, ...]


class LawLearnt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="law-learnt"):
    """An agent brought a law along that this host did not have."""

    text: LawText


class OntologyLearnt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ontology-learnt"):
    """A space here speaks an ontology that this host did not have."""

    text: OntologyText


class MemberJoined(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="member-joined"):
    """A membership begins, or comes with its agent."""

    snapshot: Snapshot


class MemberKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="member-kept"):
    """A membership as it is now, with all that its rulings have changed."""

    snapshot: Snapshot


class MemberRuled(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="member-ruled"):
    """A controller ruled, and its membership changed as the ruling says."""

    ruling: Ruling


class Suspension(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="suspension"):
    """An agent (its id) or a law (its hash) is suspended since a moment; with 0, no more."""

    name: str
    since: int
    why: str = ""


class EventHeld(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="event-held"):
    """An event waits for a membership that is suspended; `peer` is its agent and its law."""

    peer: str
    number: int
    what: Event


class EventServed(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="event-served"):
    """Every event that was held for a membership up to a number has been ruled on."""

    peer: str
    number: int


class SmallKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="small-kept"):
    """Something small that a part beside the core keeps, by its name; empty, no more."""

    name: str
    body: bytes


class FloorRaised(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="floor-raised"):
    """View numbers up to this one have been seen."""

    number: int


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


class Book:
    """What two hosts have given each other and not yet got, as numbers and what they stand for."""

    __slots__ = ("got", "numbers", "pending")

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.pending: dict[str, dict[int, Any]] = {}
        self.got: dict[str, int] = {}

    def given(self, peer: str, number: int, what: object) -> None:
        """Something is under way to a peer."""
        self.numbers[peer] = number
        self.pending.setdefault(peer, {})[number] = what

    def taken(self, peer: str, number: int) -> None:
        """A peer has everything up to a number."""
        waiting = self.pending.get(peer, {})
        last = self.numbers.get(peer, 0)
        for known in range(last - len(waiting) + 1, min(number, last) + 1):  # there are no gaps
            del waiting[known]

    def forget(self, peer: str) -> None:
        """Begin anew with a peer."""
        for kept in (self.numbers, self.pending, self.got):
            kept.pop(peer, None)


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
            _APPLY[change.__class__](self, change)

    def _tuple_put(self, change: TuplePut) -> None:
        row = change.row
        if change.order:
            self.tables.put(change.space, row, change.order)
            self.tuples.get(change.space, {}).pop((row.writer, row.count), None)
        else:
            self.tuples.setdefault(change.space, {})[row.writer, row.count] = row
        if self.agents.get(row.writer, row.count) < row.count:
            self.agents[row.writer] = row.count

    def _tuple_gone(self, change: TupleGone) -> None:
        if change.order:
            self.tables.gone(change.space, change.id)
        else:
            self.tuples.get(change.space, {}).pop(change.id, None)

    def _transfer_given(self, change: TransferGiven) -> None:
        self.transfers.given(change.peer, change.number, change.what)

    def _transfer_taken(self, change: TransferTaken) -> None:
        self.transfers.taken(change.peer, change.number)

    def _transfer_placed(self, change: TransferPlaced) -> None:
        self.transfers.got[change.peer] = change.number

    def _parcel_given(self, change: ParcelGiven) -> None:
        self.parcels.given(change.peer, change.number, change.what)

    def _parcel_taken(self, change: ParcelTaken) -> None:
        self.parcels.taken(change.peer, change.number)

    def _parcel_placed(self, change: ParcelPlaced) -> None:
        self.parcels.got[change.peer] = change.number

    def _event_held(self, change: EventHeld) -> None:
        self.held.given(change.peer, change.number, change.what)

    def _event_served(self, change: EventServed) -> None:
        self.held.taken(change.peer, change.number)

    def _suspension(self, change: Suspension) -> None:
        if change.since:
            self.suspended[change.name] = change
        else:
            self.suspended.pop(change.name, None)

    def _birth_learnt(self, change: BirthLearnt) -> None:
        self.births[change.peer] = (change.birth, change.own)
        if change.anew:
            self.transfers.forget(change.peer)
            self.parcels.forget(change.peer)

    def _routing_changed(self, change: RoutingChanged) -> None:
        self.routing.setdefault(change.core, []).append(change.change)

    def _routing_folded(self, change: RoutingFolded) -> None:
        self.routing[change.core] = list(change.changes)

    def _agent_came(self, change: AgentCame) -> None:
        self.agents[change.agent] = max(change.count, self.agents.get(change.agent, 0))

    def _agent_went(self, change: AgentWent) -> None:
        del self.agents[change.agent]
        self.programs.pop(change.agent, None)
        for key in [key for key in self.spaces if key[0] == change.agent]:
            del self.spaces[key]
        gone = (change.agent, *change.homes)
        for home in [home for home in self.members if home[0] in gone]:
            del self.members[home]

    def _program_kept(self, change: ProgramKept) -> None:
        if change.program:
            self.programs[change.agent] = change
        else:
            self.programs.pop(change.agent, None)

    def _state_kept(self, change: StateKept) -> None:
        kept = self.programs[change.agent]
        self.programs[change.agent] = msgspec.structs.replace(kept, state=change.state)

    def _opened(self, change: Opened) -> None:
        self.spaces[change.agent, change.space] = change

    def _law_learnt(self, change: LawLearnt) -> None:
        self.laws[change.text.hash] = change.text

    def _ontology_learnt(self, change: OntologyLearnt) -> None:
        self.ontologies[change.text.hash] = change.text

    def _member_joined(self, change: MemberJoined | MemberKept) -> None:
        snapshot = change.snapshot
        self.members[snapshot.home, snapshot.law] = StoredMember(snapshot)

    def _member_ruled(self, change: MemberRuled) -> None:
        ruling = change.ruling
        member = self.members[ruling.home, ruling.law]
        member.log.append(ruling)
        if len(member.log) >= COMPACT_FROM:
            member.fold()

    def _floor_raised(self, change: FloorRaised) -> None:
        self.floor = max(self.floor, change.number)

    def _small_kept(self, change: SmallKept) -> None:
        if change.body:
            self.small[change.name] = change.body
        else:
            self.small.pop(change.name, None)


_APPLY: Final[dict[type, Any]] = {
    AgentCame: Durable._agent_came,
    AgentWent: Durable._agent_went,
    ProgramKept: Durable._program_kept,
    StateKept: Durable._state_kept,
    Opened: Durable._opened,
    TuplePut: Durable._tuple_put,
    TupleGone: Durable._tuple_gone,
    TransferGiven: Durable._transfer_given,
    TransferTaken: Durable._transfer_taken,
    TransferPlaced: Durable._transfer_placed,
    ParcelGiven: Durable._parcel_given,
    ParcelTaken: Durable._parcel_taken,
    ParcelPlaced: Durable._parcel_placed,
    BirthLearnt: Durable._birth_learnt,
    RoutingChanged: Durable._routing_changed,
    RoutingFolded: Durable._routing_folded,
    LawLearnt: Durable._law_learnt,
    OntologyLearnt: Durable._ontology_learnt,
    MemberJoined: Durable._member_joined,
    MemberKept: Durable._member_joined,
    MemberRuled: Durable._member_ruled,
    Suspension: Durable._suspension,
    EventHeld: Durable._event_held,
    EventServed: Durable._event_served,
    FloorRaised: Durable._floor_raised,
    SmallKept: Durable._small_kept,
}
