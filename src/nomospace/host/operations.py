"""Operations that go on for a while, and what they ask and find, as data; reactions too.

`seeking` carries operations out, `claiming` and `serving` let hosts do so for each other, and
`collecting` puts sets together whose tuples lie on several.

What a strong listener may do: it runs inside its host's step, and so does all that it asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from nomospace.calls.answers import Found, Member
from nomospace.calls.problems import TooManyFound
from nomospace.calls.requests import TAKING, WAITING, Adjust, Out, React, Request, Seek
from nomospace.calls.ways import READ_ALL, READ_NOWAIT, TAKE_ALL, TAKE_NOWAIT, Way
from nomospace.errors import NomospaceError
from nomospace.host.outstanding import Outstanding
from nomospace.host.residents import SYSTEM, Interface
from nomospace.host.shares import bytes_of
from nomospace.meaning.ontology import PLAIN
from nomospace.meaning.question import BadQuestion, check_starts
from nomospace.protocols.spaces import Id, Key, Watch
from nomospace.space import Gathering, Record, Search, SeenIds, SetQuestion, SetSearch, Slice, Space
from nomospace.space.pages import Key as RowsKey
from nomospace.terms import Term
from nomospace.terms.templates import ANY, Template

AskManagers: TypeAlias = Callable[[Term, Key, Callable[[Term, bool], None]], None]
"""Has the managers of a set's hosts rule on a firing, by the key of its watch; then tells what they
let go, or that it may be tried again."""

READ_MAX: Final = 10_000
"""Tuples that one `read_all` gives: they are shown in one step."""
TAKEN_MAX: Final = 2_500
"""Tuples that one `take_all` takes: they leave in one step, all or none."""
FOUND_BYTES_MAX: Final = 2 << 20
"""Bytes of the tuples that such a call gives: they are written down and sent in one step."""

MET_MAX: Final = 10_000
"""Sets that a reaction knows it has fired for; the oldest is forgotten first."""


@dataclass(slots=True, eq=False)
class Look:
    """A search that is parked. `found` or `failed` is called when it ends, unless it is dropped."""

    owner: str
    space: Space
    search: Search | SetSearch
    found: Callable[[list[Any]], None]
    failed: Callable[[NomospaceError], None]

    @property
    def awaits(self) -> RowsKey | None:
        """The rows that it waits for, if it does."""
        return self.search.awaits if isinstance(self.search, Search) else None

    def go_on(self, now: int, slice: Slice) -> list[Any]:
        """One slice more: tuples, or sets of them."""
        if isinstance(self.search, SetSearch):
            return self.space.sets.go_on(self.search, now=now, slice=slice)
        return self.space.go_on(self.search, now=now, slice=slice)


NO_SEARCH: Final = Search(Template.of((ANY,)), None, None)
"""Of what is gone on with and looks for nothing: who does it knows how far it has come."""


@dataclass(slots=True, eq=False)
class Op:
    """An operation of an agent here that waits, or that another host was asked for.

    `call` is what its controller knows of it, for a governed space. `number` names it in this life
    of the host; the caller's `op` is answered, unless that is 0.
    """

    number: int
    op: int
    agent: str
    law: str
    seek: Seek
    call: Outstanding | None = None
    sites: dict[str, None] = field(default_factory=dict)
    offers: deque[tuple[str, Id]] = field(default_factory=deque)
    claim: tuple[str, Id] | None = None
    asked: str = ""
    sole: str = ""
    """The one other host where it waits, which gives without an offer."""
    price: int = 0
    """What counts for it as long as it waits (`looking`)."""
    look: Look | None = None
    """The search at this host that goes on for it, if one does."""
    fires: Callable[[Found | NomospaceError, AskManagers | None], None] | None = None
    """For a reaction, which is no operation and waits for sets as one does: who is told; and for a
    set of other hosts under a law, how to ask their managers."""
    kind: int = 0
    """The kind of tuples that it waits for (`space.kinds`), once that is asked."""
    kept: dict[tuple[Id, ...], None] = field(default_factory=dict)
    """Sets that a law has kept from it."""
    rest: tuple[str, ...] = ()
    """Where it looks when nothing is found: for one that does not wait, in a partitioned space."""
    known: tuple[Found, ...] = ()
    """What it has read before at others."""

    @property
    def message(self) -> Term:
        """The operation as laws see it, for a governed space."""
        return None if self.call is None else self.call.message

    @property
    def takes(self) -> bool:
        """Whether it removes what it finds."""
        return self.seek.how in TAKING

    def concerns(self, peer: str) -> bool:
        """Whether a peer was asked: what others answer is no answer."""
        if peer in self.sites or self.asked == peer:
            return True
        return self.claim is not None and self.claim[0] == peer

    @property
    def waits(self) -> bool:
        """Whether it waits for tuples yet to come."""
        return self.seek.how in WAITING

    @property
    def spreads(self) -> bool:
        """Whether it waits wherever in the group there may be a match."""
        return self.seek.how in WAITING and self.seek.space != SYSTEM


def watch_of(one: Op, key: Key, sole: bool) -> Watch:
    """How a peer is asked to watch for an operation."""
    seek = one.seek
    return Watch(
        key,
        seek.space,
        one.law,
        one.agent,
        one.takes,
        seek.template.term,
        seek.at if "@" in seek.at else "",
        seek.dest,
        seek.lease_us,
        one.message,
        sole,
    )


class Carried(msgspec.Struct, frozen=True):
    """A reaction on the move with its agent. A listener travels only inside a process."""

    id: str
    request: React
    enabled: bool
    fired: int
    spans: dict[str, list[tuple[int, int]]]
    law: str
    message: Term = None
    met: tuple[tuple[Id, ...], ...] = ()


@dataclass(slots=True, eq=False)
class Registered:
    """A reaction of an agent here."""

    id: str
    agent: str
    law: str
    request: React
    message: Term
    enabled: bool = True
    fired: int = 0
    generation: int = 0
    seen: SeenIds = field(default_factory=SeenIds)
    home: Space | None = None  # the space of this host that it is registered in
    sites: dict[str, None] = field(default_factory=dict)  # the peers with a watchdog
    sets: Op | None = None  # what waits for sets, if it reacts to them
    met: dict[tuple[Id, ...], None] = field(default_factory=dict)
    """The sets that it has fired for, the latest ones."""

    def part(self, members: Sequence[Member]) -> None:
        """It has not fired for a set, and may."""
        self.met.pop(_ids_of(members), None)

    def meet(self, members: Sequence[Member]) -> bool:
        """Whether a set is new to it; then it is not from now on."""
        ids = _ids_of(members)
        if ids in self.met:
            return False
        while len(self.met) >= MET_MAX:
            del self.met[next(iter(self.met))]
        self.met[ids] = None
        return True


def _ids_of(members: Sequence[Member]) -> tuple[Id, ...]:
    return tuple(sorted([(one.writer, one.count) for one in members]))


def agent_at(at: str) -> str | None:
    """The holder that a place asks for; none for a whole host or the whole group."""
    return at if "@" in at else None


def check_meaning(template: Template, interface: Interface) -> None:
    """Raise `BadQuestion` for a predicate that the space's ontology says can never hold."""
    ontology = interface.private.ontology
    if ontology is not PLAIN:
        check_starts(template, ontology)


def check_sets(seek: Seek) -> None:
    """Raise `BadQuestion` for what cannot be asked of several tuples together."""
    if not seek.template.meant:
        raise BadQuestion(
            what="correlate", why="only a template that names classes is answered by several tuples"
        )
    ask_of(seek).question()


def ask_of(seek: Seek) -> SetQuestion:
    """What an operation asks of several tuples together."""
    assert seek.sets is not None
    sets = seek.sets
    scope = agent_at(seek.at) or "", seek.dest
    return SetQuestion(seek.template, sets.correlate, sets.key, sets.max_set, scope)


Chosen: TypeAlias = tuple[Gathering, tuple[Record, ...]]


def _in(space: Space, gathering: Gathering) -> Chosen:
    found = [space.get(id) for id in gathering.ids]
    return gathering, tuple([record for record in found if record is not None])


def chosen(
    space: Space, records: list[Record], sets: Sequence[Gathering], *, takes: bool
) -> list[Chosen]:
    """Sets with their tuples; for a take those that can be had one after the other.

    A tuple that is gone, alone or in a set, is in no later one.
    """
    if not takes:
        return [_in(space, one) for one in sets]
    gone = {record.id: None for record in records}
    found: list[Chosen] = []
    for one in sets:
        if not any(id in gone for id in one.ids):
            gone.update(dict.fromkeys(one.ids))
            found.append(_in(space, one))
    return found


def check_found(founds: Iterable[Found]) -> None:
    """Raise `TooManyFound` where tuples have more bytes than one call may read or take at once."""
    size, room = 0, [FOUND_BYTES_MAX]
    for one in founds:
        size += bytes_of(one.fields, room)
        for member in one.members:
            size += bytes_of(member.fields, room)
        if size > FOUND_BYTES_MAX:
            what = "the number of bytes in the tuples that one call finds"
            raise TooManyFound(what=what, limit=FOUND_BYTES_MAX)


def gathered_of(gathering: Gathering, records: Sequence[Record], lease: str = "") -> Found:
    """Several tuples together, as their finder gets them; lent as often as any of them was."""
    first = records[0]
    members = tuple([Member(one.fields, one.writer, one.count, one.cur) for one in records])
    lent = max([one.deliveries for one in records])
    return Found(
        gathering.fields, first.writer, first.count, first.cur, lent, lease, gathering.why, members
    )


def found_of(record: Record, lease: str = "", why: str = "") -> Found:
    """A tuple as its finder gets it."""
    fields, writer, count, cur = record.fields, record.writer, record.count, record.cur
    return Found(fields, writer, count, cur, record.deliveries, lease, why, (), *record.rare)


class Firing:
    """What a strong listener is given: the tuple, and operations that join the running step.

    `ask` carries one out inside the step: at the host itself, or over a program's socket.
    """

    __slots__ = ("_ask", "_space", "reaction", "tuple")

    def __init__(
        self, ask: Callable[[Request], Any], space: str, reaction: str, found: Found
    ) -> None:
        self._ask = ask
        self._space = space
        self.tuple = found
        self.reaction = reaction

    def out(self, fields: tuple[Term, ...], to: str = "", space: str | None = None) -> None:
        """Write a tuple."""
        self._ask(Out(space or self._space, fields, to))

    def take_nowait(self, template: Template, space: str | None = None) -> Found | None:
        """Take a tuple of this host, if there is one."""
        found: Found | None = self._seek(TAKE_NOWAIT, template, space)
        return found

    def read_nowait(self, template: Template, space: str | None = None) -> Found | None:
        """Read a tuple of this host, if there is one."""
        found: Found | None = self._seek(READ_NOWAIT, template, space)
        return found

    def take_all(self, template: Template, space: str | None = None) -> tuple[Found, ...]:
        """Take all tuples of this host that match."""
        found: tuple[Found, ...] = self._seek(TAKE_ALL, template, space)
        return found

    def read_all(self, template: Template, space: str | None = None) -> tuple[Found, ...]:
        """Read all tuples of this host that match."""
        found: tuple[Found, ...] = self._seek(READ_ALL, template, space)
        return found

    def remove_reaction(self) -> None:
        """Remove the reaction that fired."""
        self._ask(Adjust(self.reaction, "remove"))

    def _seek(self, how: Way, template: Template, space: str | None) -> Any:
        return self._ask(Seek(space or self._space, how, template))
