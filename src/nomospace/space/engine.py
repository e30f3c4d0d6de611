"""One tuple space: tuples, those who wait for them, reactions, leases and expiry, in atomic steps.

The rules of a step (LIME 2.2.4 and 3.2). Whatever adds a tuple, moves one, gives one back,
registers or enables a reaction starts a step. First all it brings is in place. Then reactions run
to the fixed point: until no enabled reaction finds a tuple that it has not met. Only then waiters
are served, of the tuples still there, in the order these came: every `READ` that matches, then the
first `TAKE`, which has the tuple; if nobody took it, every `OFFER` that is awake. A waiter that
came earlier goes first. If the tuple is still there, those follow who wait for several tuples
together and whose set it completes: a `TAKE` then has all of them. What happened is returned in the
order it happened. Where more look for a tuple than one step has time for, the rest have their turn
in later ones, in the same order (`Space.go_on_serving`).

A listener may call the space: what it does joins the running step, and its outcomes are among
those of the step. Listeners that keep each other firing are stopped: see `FIRINGS_MAX`.

There is no clock: `now`, in microseconds, is handed in. A tuple past its expiry is never found,
and never wakes anyone, even before `lapse` has swept it out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from gc import collect
from itertools import islice
from operator import attrgetter
from sys import maxsize
from typing import TYPE_CHECKING, Any, ClassVar, Final

from nomospace.errors import CallerError, LimitReached, Unavailable
from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.space.asking import Gathering, SetQuestion
from nomospace.space.leases import Lease
from nomospace.space.meant import Speech
from nomospace.space.outcomes import (
    DeadLetter,
    Dear,
    Expired,
    Fired,
    Gathered,
    Lapsed,
    ListenerFailed,
    Outcome,
    Overran,
    Ranaway,
    Woken,
)
from nomospace.space.reactions import ONCE, Reaction
from nomospace.space.records import Record, TupleId
from nomospace.space.searching import FACT_UNITS, Search, Searches, SetSearch, Unfinished
from nomospace.space.store import Looker, SpaceRecords, TupleTwice
from nomospace.space.timers import Timers
from nomospace.space.watchers import OFFER, READ, TAKE, Waiter, Watchers, watches
from nomospace.terms import Term
from nomospace.terms.budget import WATCH_UNITS_MAX, Budget, Slice
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.space.correlating import Correlating

FIRINGS_MAX: Final = 10_000
"""Firings in one step on what listeners themselves brought; past it, the busiest is disabled.

Firings on the tuples that a step started with are not counted: there is an end to them."""
RUNAWAYS_MAX: Final = 16
"""Reactions disabled in one step. Past it listeners register new ones faster than can be stopped,
and the step ends: what they brought stays, and nothing more reacts to it."""
YOUNG_MASK: Final = 4_095
"""After so many tuples the young objects are collected, which takes about a millisecond.

Left alone, the collector counts objects made less objects gone: under a steady load of writes and
takes that hardly grows, while the tuples themselves wait to be looked at, a hundred thousand and
more, until one collection looks at all of them."""
FACTS_AT_ONCE: Final = 256
"""Tuples that are facts as soon as sets are first asked for; more are taken in slice by slice."""
STEP_UNITS: Final = 6_000
"""What those who wait and react may cost in one step: a millisecond and a half. The rest of them
have their turn in later ones (`Space.go_on_serving`)."""
SHOW_UNITS: Final = 4
"""What it costs to show a tuple to one who waits or reacts, besides its test."""
WAKE_UNITS: Final = 20
"""What it costs to serve one who waits, or to tell that a reaction fired."""
LATE_MAX: Final = 1_000
"""Tuples that may wait to be shown to the rest; past it each step shows one to all."""
LAPSES_MAX: Final = 1_000
"""Leases and tuples that one `lapse` ends; the rest is due at once, at the next."""


@dataclass(eq=False, kw_only=True)
class SpaceFull(Unavailable):
    """A space holds as much of a thing as it may."""

    code: ClassVar[str] = "space.full"
    words: ClassVar[str] = (
        "space {space!r} holds {limit:,} {what}, which is its limit; "
        "take some out, or make the space with a higher one"
    )
    space: str
    what: str
    limit: int


@dataclass(eq=False, kw_only=True)
class NotInSpace(CallerError):
    """A record was named that does not lie in the space."""

    code: ClassVar[str] = "space.not-in-space"
    words: ClassVar[str] = "{what} is not in space {space!r}; look it up first"
    space: str
    what: str


@dataclass(eq=False, kw_only=True)
class IdTaken(CallerError):
    """A ticket or a reaction's id is in use."""

    code: ClassVar[str] = "space.name-taken"
    words: ClassVar[str] = "{what} is in use in space {space!r}; give each its own"
    space: str
    what: str


class _Late:
    """A tuple that some who wait or react have yet to be shown, and how far that has come."""

    __slots__ = ("after", "record", "stage", "turn", "until")

    def __init__(self, record: Record, stage: int, after: int, until: int) -> None:
        self.record = record
        self.stage = stage
        self.after = after
        """The order of the last one in this stage that was shown it."""
        self.turn = _FIRST_TURN
        """The same of those who wait for several tuples together."""
        self.until = until
        """Those who came later have looked for themselves."""


class _Cut(Exception):
    """What a step may cost is used up: for the space itself."""


class Space(Searches):
    """A tuple space of one host, or a private one of an agent.

    Takes and gives records as they are; copies nothing. A record belongs to the space from `put`
    until it is removed, taken by a waiter, settled or expired.

    >>> from nomospace.terms.templates import ANY
    >>> space = Space("jobs")
    >>> space.put(Record(("job", 17), "ann", 1, "ann", "ann"), now=0)
    []
    >>> space.find(Template.of(("job", ANY))).fields
    ('job', 17)
    """

    __slots__ = (
        "_agenda",
        "_budget",
        "_expiries",
        "_firings",
        "_fresh",
        "_inside",
        "_late",
        "_leases",
        "_lent",
        "_next_order",
        "_offers",
        "_overran",
        "_reacting",
        "_reactions",
        "_reads",
        "_runaways",
        "_running",
        "_takes",
        "_tally",
        "_told",
        "_units",
        "_waiters",
        "deliveries_max",
        "name",
        "reactions_max",
        "tuples_max",
        "waiters_max",
    )

    def __init__(
        self,
        name: str,
        ontology: Ontology = PLAIN,
        *,
        tuples_max: int = 10_000_000,
        waiters_max: int = 1_000_000,
        reactions_max: int = 1_000_000,
        deliveries_max: int = 0,
    ) -> None:
        self.name = name
        self.tuples_max = tuples_max
        self.waiters_max = waiters_max
        self.reactions_max = reactions_max
        self.deliveries_max = deliveries_max  # 0: a tuple may be lent any number of times
        speech = Speech(ontology)
        super().__init__(SpaceRecords(name, speech), speech)
        self._next_order = 1  # of records, waiters and reactions alike; never given twice
        self._lent: dict[TupleId, Lease] = {}
        self._leases: Timers[Lease] = Timers(when=attrgetter("until"))
        self._expiries: Timers[Record] = Timers(when=attrgetter("expires"))
        self._waiters: dict[Hashable, Waiter] = {}
        self._reads: Watchers[Waiter] = Watchers(self._speech)
        self._takes: Watchers[Waiter] = Watchers(self._speech)
        self._offers: Watchers[Waiter] = Watchers(self._speech)
        self._reactions: dict[Hashable, Reaction] = {}
        self._reacting: Watchers[Reaction] = Watchers(self._speech)  # the enabled ones
        # The running step: what reactions have yet to look at, and whether a listener brought it;
        # the tuples that waiters have yet to look at; what happened so far.
        self._running = False
        self._inside = False
        self._agenda: deque[tuple[Record | Reaction, bool]] = deque()
        self._fresh: list[Record] = []
        self._late: deque[_Late] = deque()
        self._units = 0
        self._told: list[Outcome] = []
        self._budget = Budget()
        self._overran: list[tuple[Waiter, LimitReached]] = []
        self._tally: dict[Reaction, int] = {}
        self._firings = 0
        self._runaways = 0

    def __len__(self) -> int:
        return self._store.size + len(self._lent)

    def __repr__(self) -> str:
        return f"<Space {self.name!r}, {len(self):,} tuples>"

    def stats(self) -> dict[str, int]:
        """How much of everything there is."""
        composites = self._store.composites()
        return {
            "tuples": len(self),
            "lent": len(self._lent),
            "waiters": len(self._waiters),
            "reactions": len(self._reactions),
            "composites": sum(one.whole for one in composites),
            "building": sum(not one.whole for one in composites),
        }

    # -- tuples ------------------------------------------------------------------------------

    def put(self, record: Record, *, now: int) -> list[Outcome]:
        """Take in a tuple, as one step.

        `TupleTwice` when its id is here, lent out included; `SpaceFull` past `tuples_max`.
        """
        if self._lent and record.id in self._lent:
            raise TupleTwice(writer=record.writer, count=record.count, space=self.name)
        if self._store.size + len(self._lent) >= self.tuples_max:
            raise SpaceFull(space=self.name, what="tuples", limit=self.tuples_max)
        order = record.order = self._next_order
        self._store.add(record)
        self._next_order = order + 1
        if not order & YOUNG_MASK:
            collect(0)
        if record.expires:
            self._expiries.add(order, record)
        if not self._reactions and not self._waiters:
            return []
        self._show(record)
        return self._step(now)

    def put_many(self, records: Sequence[Record], *, now: int) -> list[Outcome]:
        """Take in several tuples, as one step: all of them or, on an error, none."""
        self.check_room(len(records))
        ids = {record.id for record in records}
        for record in records:
            self._check_new(record)
        if len(ids) < len(records):
            twice = next(r for i, r in enumerate(records) if r.id in {x.id for x in records[:i]})
            raise TupleTwice(writer=twice.writer, count=twice.count, space=self.name)
        for record in records:
            self._enter(record)
        return self._step(now)

    def why(self, template: Template, fields: tuple[Term, ...]) -> str:
        """How a tuple answers a template, in words; none where they are simply equal.

        >>> Space("jobs").why(Template.of(("job", int)), ("job", 17))
        ''
        """
        return self._speech.why(template, fields)

    @property
    def ontology(self) -> Ontology:
        """What the space speaks."""
        return self._speech.ontology

    def gather(self, ask: SetQuestion, *, now: int, slice: Slice | None = None) -> Gathering | None:
        """The set of tuples that answers a question together before all others, if one does.

        Only sets: a single tuple that answers is for `find`. None of them is lent out, or past its
        expiry at `now`. Raises `BadQuestion` for one that means nothing, `Unfinished` when it takes
        more than is left of a slice, and `CorrelationTooDear` past what a question may cost.
        """
        found = self.go_on_sets(SetSearch(ask), now=now, slice=slice)
        return found[0] if found else None

    def gather_all(
        self, ask: SetQuestion, *, now: int, slice: Slice | None = None
    ) -> list[Gathering]:
        """All sets that answer a question together, in the order of their tuples' ids."""
        return self.go_on_sets(SetSearch(ask, every=True), now=now, slice=slice)

    def go_on_sets(
        self, search: SetSearch, *, now: int, slice: Slice | None = None
    ) -> list[Gathering]:
        """Go on with looking for sets: the first, or every one."""
        if slice is None:
            while True:
                try:
                    return self.go_on_sets(search, now=now, slice=Slice())
                except Unfinished:
                    continue
        began = slice.left
        sets = self._correlating()
        if not sets.whole:
            self._take_in(sets, slice)
        if not sets.whole:
            search.pay(began - slice.left)
            raise Unfinished(search=search)
        while True:
            found = sets.go_on(search, slice)
            search.pay(began - slice.left)
            began = slice.left
            if found is None:
                raise Unfinished(search=search)
            late = [
                one for each in found for id in each.ids if self._is_late(one := self._at(id), now)
            ]
            for record in late:
                sets.drop(record)
            if not late:
                return found
            search.steps = None

    def complete(self, ask: SetQuestion) -> int:
        """Up to how many tuples sets are looked for: fewer than asked for where plans grow large.

        What is left out would take a plan of too many joins: ask for fewer fields of one class, or
        with a key.
        """
        return self._correlating().complete(ask)

    def _correlating(self) -> Correlating:
        """The tuples as facts; they are taken in when sets are first looked for."""
        sets = self._store.sets
        if sets is None:
            from nomospace.space.correlating import Correlating  # the planner with it: on use

            sets = self._store.sets = Correlating(self.ontology, whole=False)
            self._take_in(sets, Slice(FACTS_AT_ONCE * FACT_UNITS))
        return sets

    def _take_in(self, sets: Correlating, slice: Slice) -> None:
        """Go on taking tuples in as facts, as far as a slice goes."""
        for record in self._store.objects.everything(sets.after):
            if slice.left <= 0:
                return
            slice.left -= sets.take_in(record)
        sets.whole = True

    def _settled(
        self, sets: Correlating, ask: Callable[[], Gathering | None], now: int
    ) -> Gathering | None:
        """What is answered once tuples past their expiry are left out."""
        while (found := ask()) is not None:
            late = [one for id in found.ids if self._is_late(one := self._at(id), now)]
            for record in late:
                sets.drop(record)
            if not late:
                break
        return found

    def _at(self, id: TupleId) -> Record:
        record = self._store.get(id)
        assert record is not None, "facts are what lies in the space"
        return record

    @staticmethod
    def _is_late(record: Record, now: int) -> bool:
        return 0 < record.expires <= now

    def observe(self, looker: Looker) -> list[Record]:
        """Let someone follow which tuples that hold objects lie here; gives those that do now."""
        self._store.lookers += (looker,)
        return self.objects()

    def objects(self) -> list[Record]:
        """The tuples that hold objects, oldest first, without those lent out."""
        return list(self._store.objects.everything())

    def ignore(self, looker: Looker) -> None:
        """Let someone follow no longer."""
        self._store.lookers = tuple([one for one in self._store.lookers if one is not looker])

    @property
    def observed(self) -> bool:
        """Whether someone follows what lies here."""
        return bool(self._store.lookers)

    @property
    def quiet(self) -> bool:
        """Whether nobody waits for what comes here, and nothing reacts to it."""
        return not self._reactions and not self._waiters

    def get(self, id: TupleId) -> Record | None:
        """The tuple of that id, unless it is lent out or not here."""
        return self._store.get(id)

    def remove(self, record: Record) -> None:
        """Take a tuple out for good. `NotInSpace` when it does not lie here."""
        if record.order <= 0 or not self._store.drop(record):
            raise self._not_here(record)
        if record.expires:
            self._expiries.remove(record.order, record)
        record.order = 0

    def relocate(self, record: Record, cur: str, *, now: int) -> list[Outcome]:
        """Let another agent hold a tuple: a migration inside this space, as one step.

        Those who look at what `cur` holds may find it new; a reaction that met it does not.
        """
        self._check_here(record)
        if record.cur == cur:
            return []
        self._store.move(record, cur)
        self._show(record)
        for search in self._searches:
            search.miss(record)
        return self._step(now)

    def written_by(self, agent: str, some: int) -> tuple[int, list[Record]]:
        """How many tuples here an agent has written, and a few of them, evenly spread."""
        return self._store.written_by(agent, some)

    def held_by(self, agent: str, most: int | None = None) -> list[Record]:
        """The tuples an agent holds, oldest first, without those lent out; so many at `most`."""
        return list(islice(self._store.held_by(agent), most))

    def oldest(self, limit: int) -> list[Record]:
        """Up to so many tuples of any width, oldest first, without those lent out."""
        return list(islice(self._store.everything(), limit))

    def misplaced_for(self, dest: str, most: int | None = None) -> list[Record]:
        """The tuples for an agent that another one holds, oldest first, without those lent out."""
        return list(islice(self._store.misplaced_for(dest), most))

    def misplaced(self) -> Iterable[str]:
        """The agents that misplaced tuples are for."""
        return list(self._store.misplaced())

    def make_room(self, more: int) -> None:
        """Let so many tuples in whatever the limit says: they were accepted elsewhere."""
        self.tuples_max = max(self.tuples_max, len(self) + more)

    # -- waiters -----------------------------------------------------------------------------

    def wait(
        self,
        ticket: Hashable,
        template: Template,
        how: str,
        *,
        at: str | None = None,
        dest: str | None = None,
        ask: SetQuestion | None = None,
    ) -> None:
        """Register a blocked operation. It is served by tuples yet to come: look with `find` first.

        With `ask` it is also served by several tuples together: look with `gather` before, too.

        A `READ` or a `TAKE` is served once. An `OFFER` falls asleep when it is told of a tuple,
        and `rearm` wakes it.
        """
        if ticket in self._waiters:
            raise IdTaken(space=self.name, what=f"ticket {ticket!r}")
        if len(self._waiters) >= self.waiters_max:
            raise SpaceFull(space=self.name, what="waiters", limit=self.waiters_max)
        if template.meant:
            template = self._speech.read(template).template
        template.prepare()
        order = self._next_order
        sets = None if ask is None else self._correlating().wait(ask, order, ticket)
        waiter = Waiter(ticket, template, how, at, dest, order, True, sets)
        self._next_order += 1
        self._waiters[ticket] = waiter
        self._watchers(how).add(waiter)

    def rearm(self, ticket: Hashable) -> None:
        """Wake a waiter that sleeps; it has its old turn. Look with `find` before."""
        waiter = self._waiter(ticket)
        if not waiter.awake:
            waiter.awake = True
            self._watchers(waiter.how).add(waiter)

    def hush(self, ticket: Hashable) -> None:
        """Let a waiter sleep: nothing is given to it until `rearm`."""
        waiter = self._waiter(ticket)
        if waiter.awake:
            waiter.awake = False
            self._watchers(waiter.how).drop(waiter)

    def is_awake(self, ticket: Hashable) -> bool:
        """Whether a waiter waits, and does not sleep."""
        waiter = self._waiters.get(ticket)
        return waiter is not None and waiter.awake

    def cancel(self, ticket: Hashable) -> bool:
        """Give up waiting. False when there is no such waiter, or no more."""
        waiter = self._waiters.get(ticket)
        if waiter is None:
            return False
        self._dismiss(waiter)
        return True

    # -- reactions ---------------------------------------------------------------------------

    def react(self, reaction: Reaction, *, now: int, slice: Slice | None = None) -> list[Outcome]:
        """Register a reaction and let it meet what is there, as one step.

        What its `seen` holds it does not meet. One that is not enabled is only registered. Where
        more is there than a slice has time for, the rest is met by `scan`.
        """
        if reaction.id in self._reactions:
            raise IdTaken(space=self.name, what=f"reaction {reaction.id!r}")
        if len(self._reactions) >= self.reactions_max:
            raise SpaceFull(space=self.name, what="reactions", limit=self.reactions_max)
        if reaction.template.meant:
            reaction.template = self._speech.read(reaction.template).template
        reaction.template.prepare()
        reaction.order = self._next_order
        self._next_order += 1
        self._reactions[reaction.id] = reaction
        reaction.slice = slice
        if reaction.enabled:
            self._reacting.add(reaction)
            self._agenda.append((reaction, self._inside))
        return self._step(now)

    def scan(self, reaction: Reaction, *, now: int, slice: Slice) -> list[Outcome]:
        """Let a reaction meet more of what was there when it was registered, as one step.

        `Reaction.search` is gone when it has met all of it.
        """
        reaction.slice = slice
        self._agenda.append((reaction, self._inside))
        return self._step(now)

    def _scan(self, reaction: Reaction, now: int) -> list[Record]:
        """What is there for a reaction, as far as its slice goes."""
        search = reaction.search or Search(
            reaction.template, reaction.at, reaction.dest, every=True
        )
        slice, reaction.slice, reaction.search = reaction.slice, None, None
        try:
            return self.go_on(search, now=now, slice=slice)
        except Unfinished:
            reaction.search = search
            found, search.found = search.found, {}
            return list(found.values())
        except LimitReached as error:
            self.disable(reaction.id)
            self._told.append(Dear(reaction, error))
            return []

    def enable(self, id: Hashable, *, now: int) -> list[Outcome]:
        """Let a disabled reaction run again, on what is there too: it forgets what it has met."""
        reaction = self._reaction(id)
        if reaction.enabled:
            return []
        reaction.enabled = True
        reaction.seen.clear()
        self._reacting.add(reaction)
        self._agenda.append((reaction, self._inside))
        return self._step(now)

    def disable(self, id: Hashable) -> None:
        """Let a reaction rest; it stays registered."""
        reaction = self._reaction(id)
        self._stop_scan(reaction)
        if reaction.enabled:
            reaction.enabled = False
            self._reacting.drop(reaction)

    def _stop_scan(self, reaction: Reaction) -> None:
        if reaction.search is not None:
            self.give_up(reaction.search)
            reaction.search = None

    def unreact(self, id: Hashable) -> bool:
        """Remove a reaction. False when there is none of that id, or no more."""
        reaction = self._reactions.pop(id, None)
        if reaction is None:
            return False
        self._stop_scan(reaction)
        if reaction.enabled:
            self._reacting.drop(reaction)
        return True

    def reactions(self) -> list[Reaction]:
        """The registered reactions, in the order they came."""
        return list(self._reactions.values())

    def waiters(self) -> list[Waiter]:
        """The operations that wait here, in the order they came: for those who look on."""
        return list(self._waiters.values())

    # -- leases and time ---------------------------------------------------------------------

    def lend(self, record: Record, taker: str, until: int) -> None:
        """Lend a tuple out. It is not found and serves no one, and still counts as here.

        Its delivery count goes up. It does not expire before it is back.
        """
        order = record.order
        self.remove(record)
        record.order = -order
        record.deliveries += 1
        lease = Lease(record, taker, until)
        self._lent[record.id] = lease
        self._leases.add(order, lease)

    def settle(self, id: TupleId, taker: str) -> Record | None:
        """End a lease for good: the tuple is gone. None when it is not on loan to that taker."""
        lease = self._lent.get(id)
        if lease is None or lease.taker != taker:
            return None
        self._leases.remove(-lease.record.order, lease)
        del self._lent[id]
        lease.record.order = 0
        return lease.record

    def give_back(self, id: TupleId, taker: str, *, now: int) -> list[Outcome]:
        """End a lease: the tuple lies in the space again, in its old place, as one step.

        One that was lent `deliveries_max` times leaves the space instead (`DeadLetter`).

        Nothing happens when it is not on loan to that taker.
        """
        lease = self._lent.get(id)
        if lease is None or lease.taker != taker:
            return []
        self._leases.remove(-lease.record.order, lease)
        self._bring_back(lease, now)
        return self._step(now)

    def leases(self) -> list[Lease]:
        """What is lent out, in the order it was lent."""
        return list(self._lent.values())

    def lapse(self, *, now: int) -> list[Outcome]:
        """End the leases that have run out and the tuples that have expired, as one step."""
        left = LAPSES_MAX
        while left and (lease := self._leases.pop(now)) is not None:
            left -= 1
            self._told.append(Lapsed(lease.record, lease.taker))
            self._bring_back(lease, now)
        while left and (record := self._expiries.pop(now)) is not None:
            left -= 1
            self._store.drop(record)  # its order is gone from the timers already
            record.order = 0
            self._told.append(Expired(record))
        return self._step(now)

    def next_deadline(self) -> int | None:
        """When `lapse` is next to be called."""
        soonest = [
            when for when in (self._leases.soonest(), self._expiries.soonest()) if when is not None
        ]
        return min(soonest, default=None)

    # -- the step ----------------------------------------------------------------------------

    def _step(self, now: int) -> list[Outcome]:
        """Run what is on the agenda, unless a step is running: then that one does."""
        if self._running:
            return []
        self._running = True
        self._units = STEP_UNITS
        try:
            self._run_reactions(now)
            self._serve(now)
            if len(self._late) > LATE_MAX:
                self._units = maxsize
                self._show_late(self._late.popleft(), now)
        finally:
            self._running = False
        told, self._told = self._told, []
        return told

    @property
    def is_serving(self) -> bool:
        """Whether tuples wait to be shown to the rest of those who wait and react."""
        return bool(self._late)

    def go_on_serving(self, *, now: int, slice: Slice | None = None) -> list[Outcome]:
        """Show tuples to those who had no turn in the step that brought them, as one step.

        They are shown in the order they came, and to each one who waits in its turn. A tuple may
        be taken meanwhile, as any that lies here; reactions without a listener still meet it.
        """
        if self._running:
            return []
        self._running = True
        began = self._units = slice.left if slice is not None else maxsize
        try:
            while self._late and self._units > 0:
                if self._show_late(self._late[0], now):
                    self._late.popleft()
        finally:
            self._running = False
            if slice is not None:
                slice.left -= began - self._units
        told, self._told = self._told, []
        return told

    def _show_late(self, late: _Late, now: int) -> bool:
        """Show a tuple to those who are left; false when units are used up before that."""
        record = late.record
        self._budget.renew()
        while late.stage < _SETS:
            watchers: Watchers[Any] = (self._reacting, self._reads, self._takes, self._offers)[
                late.stage
            ]
            for one in list(watchers.of(record)):
                if not late.after < one.order < late.until:
                    continue
                if late.stage != _REACTIONS and (record.order <= 0 or self._is_late(record, now)):
                    return True
                if self._units <= 0:
                    return False
                late.after = one.order
                if late.stage == _REACTIONS:
                    if one.listener is None:
                        self._meet(one, record, False, now, late=True)
                elif self._suits(one, record):
                    self._give(one, record)
            if self._overran:
                self._dismiss_overran()
            if late.stage == _REACTIONS:
                return True  # those who wait for it come later
            late.stage += 1
            late.after = 0
        if record.order > 0 and self._store.sets is not None and not self._is_late(record, now):
            rest = self._serve_sets(self._store.sets, record, now, late.turn)
            self._dismiss_overran()
            if rest is not None:
                late.turn = rest
                return False
        return True

    def _give(self, waiter: Waiter, record: Record) -> None:
        """Serve one who waits with a tuple that suits."""
        if waiter.how == OFFER:
            self.hush(waiter.ticket)
        else:
            self._dismiss(waiter)
        if waiter.how == TAKE:
            self.remove(record)
        self._told.append(Woken(waiter.ticket, record))

    def _run_reactions(self, now: int) -> None:
        agenda = self._agenda
        while agenda:
            thing, inner = agenda.popleft()
            if isinstance(thing, Record):
                self._budget.renew()
                # One that looks elsewhere has its turn when a listener has moved the tuple there.
                here = (None, thing.cur)
                cut = False
                for reaction in [one for one in self._reacting.of(thing) if one.at in here]:
                    if reaction.listener is None and (self._late or self._units <= 0):
                        if not cut:
                            cut, after = True, reaction.order - 1
                            self._late.append(_Late(thing, _REACTIONS, after, self._next_order))
                        continue
                    self._meet(reaction, thing, inner, now)
            elif self._is_on(thing):
                for record in self._scan(thing, now):
                    self._budget.renew()
                    self._meet(thing, record, inner, now)
        self._tally.clear()
        self._firings = self._runaways = 0

    def _is_on(self, reaction: Reaction) -> bool:
        return reaction.enabled and self._reactions.get(reaction.id) is reaction

    def _meet(
        self, reaction: Reaction, record: Record, inner: bool, now: int, *, late: bool = False
    ) -> None:
        """Fire a reaction if it is still there, the tuple too, and they have not met.

        One that has its turn `late` meets the tuple even if that is gone: it was there.
        """
        if (
            (not late and (record.order <= 0 or 0 < record.expires <= now))
            or not self._is_on(reaction)
            or record.id in reaction.seen
        ):
            return
        try:
            if not self._watches(reaction, record):
                return
        except LimitReached as error:
            self.disable(reaction.id)
            self._told.append(Dear(reaction, error))
            return
        # Whatever the listener does, it has met this tuple.
        reaction.fired += 1
        if reaction.mode == ONCE:
            self.unreact(reaction.id)
        else:
            reaction.seen.add(record.id)
        if reaction.listener is None:
            self._told.append(Fired(reaction, record))
        else:
            outer, self._inside = self._inside, True
            try:
                reaction.listener(reaction, record)
            except Exception as error:
                self._told.append(ListenerFailed(reaction, record, error))
            finally:
                self._inside = outer
        if inner and reaction.listener is not None:  # else it brings nothing, and cannot run away
            self._count(reaction)

    def _count(self, reaction: Reaction) -> None:
        """Count a firing on what a listener brought; past the limit, stop the busiest."""
        tally = self._tally
        tally[reaction] = tally.get(reaction, 0) + 1
        self._firings += 1
        if self._firings <= FIRINGS_MAX:
            return
        busiest = max(tally, key=tally.__getitem__)
        self._told.append(Ranaway(busiest, tally[busiest]))
        if self._is_on(busiest):
            self.disable(busiest.id)
        tally.clear()
        self._firings = 0
        self._runaways += 1
        if self._runaways >= RUNAWAYS_MAX:
            self._agenda.clear()

    def _serve(self, now: int) -> None:
        fresh, self._fresh = self._fresh, []
        for record in fresh:
            if self._overran:
                self._dismiss_overran()
            if record.order <= 0 or 0 < record.expires <= now:
                continue
            if self._late:
                self._late.append(_Late(record, _READS, 0, self._next_order))
                continue
            self._budget.renew()
            try:
                self._offer(record, now)
            except _Cut:  # it begins anew: some tests are made twice
                self._late.append(_Late(record, _READS, 0, self._next_order))
        if self._overran:
            self._dismiss_overran()

    def _offer(self, record: Record, now: int) -> None:
        """Show a tuple to all who wait, in their turn; `_Cut` when that takes too long."""
        for waiter in [one for one in self._reads.of(record) if self._suits(one, record)]:
            self._dismiss(waiter)
            self._told.append(Woken(waiter.ticket, record))
        takes = self._takes.of(record)
        taker = next((one for one in takes if self._suits(one, record)), None)
        if taker is not None:
            self._dismiss(taker)
            self.remove(record)
            self._told.append(Woken(taker.ticket, record))
            return
        for waiter in [one for one in self._offers.of(record) if self._suits(one, record)]:
            self.hush(waiter.ticket)
            self._told.append(Woken(waiter.ticket, record))
        if self._store.sets is not None:
            rest = self._serve_sets(self._store.sets, record, now, _FIRST_TURN)
            if rest is not None:
                late = _Late(record, _SETS, 0, self._next_order)
                late.turn = rest
                self._late.append(late)

    def _suits(self, waiter: Waiter, record: Record) -> bool:
        """Whether a waiter looks for a tuple; one for which that is too dear to tell is dismissed.

        It is the waiter's template that is too dear: whoever wrote the tuple is not harmed.
        """
        if self._units <= 0:
            raise _Cut
        try:
            return self._watches(waiter, record)
        except LimitReached as error:
            self._overran.append((waiter, error))
            return False

    def _watches(self, watcher: Waiter | Reaction, record: Record) -> bool:
        """Whether one looks for a tuple; counts what that costs, and what it costs to serve it."""
        budget = self._budget
        budget.share()
        try:
            fits = watches(watcher, record, budget)
        finally:
            self._units -= SHOW_UNITS + WATCH_UNITS_MAX - budget.left
        if fits:
            self._units -= WAKE_UNITS
        return fits

    def _dismiss_overran(self) -> None:
        overran, self._overran = self._overran, []
        for waiter, error in overran:
            self._dismiss(waiter)
            self._told.append(Overran(waiter.ticket, error))

    def _serve_sets(
        self, sets: Correlating, record: Record, now: int, after: tuple[int, int]
    ) -> tuple[int, int] | None:
        """Serve those who wait for several tuples together, and whose set a tuple completes.

        Those who come `after` one, by their turns. `None` when all have had it, else who was last.
        """
        waiting = [
            (self._waiters[ticket], group)
            for group in sets.touched(record)
            for ticket in group.waiters.values()
        ]
        waiting.sort(key=_by_turn)
        for waiter, group in waiting:
            turn = _by_turn((waiter, group))
            if not waiter.awake or turn <= after:
                continue
            if self._units <= 0:
                return after
            after = turn
            try:
                found = self._settled(sets, partial(sets.completed, group, record), now)
            except LimitReached as error:
                self._overran.append((waiter, error))
                continue
            finally:
                self._units -= SHOW_UNITS + sets.spent
            if found is None:
                continue
            records = tuple([self._at(id) for id in found.ids])
            if waiter.how == OFFER:
                self.hush(waiter.ticket)
            else:
                self._dismiss(waiter)
            if waiter.how == TAKE:
                for one in records:
                    self.remove(one)
            self._told.append(Gathered(waiter.ticket, records, found))
            if waiter.how == TAKE:
                break
        return None

    # -- parts -------------------------------------------------------------------------------

    def _check_new(self, record: Record) -> None:
        if self._store.get(record.id) is not None or record.id in self._lent:
            raise TupleTwice(writer=record.writer, count=record.count, space=self.name)

    def check_room(self, more: int) -> None:
        """Raise `SpaceFull` when so many tuples more would go past the limit."""
        if len(self) + more > self.tuples_max:
            raise SpaceFull(space=self.name, what="tuples", limit=self.tuples_max)

    def _check_here(self, record: Record) -> None:
        if record.order <= 0 or self._store.get(record.id) is not record:
            raise self._not_here(record)

    def _not_here(self, record: Record) -> NotInSpace:
        return NotInSpace(space=self.name, what=f"tuple {record.count} of {record.writer!r}")

    def _enter(self, record: Record) -> None:
        record.order = self._next_order
        self._next_order += 1
        self._insert(record)

    def _insert(self, record: Record) -> None:
        self._store.add(record)
        if record.expires:
            self._expiries.add(record.order, record)
        self._show(record)

    def _show(self, record: Record) -> None:
        """Let reactions, then waiters, look at a tuple that is new or has moved."""
        if self._reactions:
            self._agenda.append((record, self._inside))
        if self._waiters:
            self._fresh.append(record)

    def _bring_back(self, lease: Lease, now: int) -> None:
        record = lease.record
        del self._lent[record.id]
        if 0 < record.expires <= now:
            record.order = 0
            self._told.append(Expired(record))
        elif 0 < self.deliveries_max <= record.deliveries:
            record.order = 0
            self._told.append(DeadLetter(record))
        else:
            record.order = -record.order
            self._insert(record)
            for search in self._searches:
                search.miss(record)

    def _watchers(self, how: str) -> Watchers[Waiter]:
        if how == TAKE:
            return self._takes
        if how == READ:
            return self._reads
        assert how == OFFER, f"{how!r} is no way to wait"
        return self._offers

    def _waiter(self, ticket: Hashable) -> Waiter:
        waiter = self._waiters.get(ticket)
        if waiter is None:
            raise NotInSpace(space=self.name, what=f"the waiter of ticket {ticket!r}")
        return waiter

    def _dismiss(self, waiter: Waiter) -> None:
        del self._waiters[waiter.ticket]
        if waiter.awake:
            self._watchers(waiter.how).drop(waiter)
        if waiter.sets is not None:
            self._correlating().cancel(waiter.sets, waiter.order)

    def _reaction(self, id: Hashable) -> Reaction:
        reaction = self._reactions.get(id)
        if reaction is None:
            raise NotInSpace(space=self.name, what=f"reaction {id!r}")
        return reaction


_REACTIONS, _READS, _TAKES, _OFFERS, _SETS = range(5)
"""In which order a tuple is shown to those who look for one."""
_TURNS: Final = {READ: 0, TAKE: 1, OFFER: 2}
_FIRST_TURN: Final = (-1, 0)
"""Before that of everyone."""


def _by_turn(waiting: tuple[Waiter, object]) -> tuple[int, int]:
    """Those who read go before those who take, and these before those who are offered."""
    return _TURNS[waiting[0].how], waiting[0].order
