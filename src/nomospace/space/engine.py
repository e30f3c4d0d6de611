"""One tuple space: tuples, those who wait for them, reactions, leases and expiry, in atomic steps.

`Space` is the whole of it, for a host. What lies in it is in `store`, how it is searched in
`searching` and `sets`, and who is shown what, and in which order, in `steps`.

There is no clock: `now`, in microseconds, is handed in. A tuple past its expiry is never found,
and never wakes anyone, even before `lapse` has swept it out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from gc import collect
from itertools import islice
from operator import attrgetter
from typing import Final
from weakref import proxy

from nomospace.calls.problems import SpaceFull
from nomospace.errors import CallerError
from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.space.asking import EVERYONE, SetQuestion
from nomospace.space.kinds import Kinds
from nomospace.space.meant import Speech
from nomospace.space.outcomes import DeadLetter, Expired, Lapsed, Outcome
from nomospace.space.reactions import Reaction, SpaceReactions
from nomospace.space.records import BAND, Lease, Record, TupleId, arrival
from nomospace.space.searching import Searches
from nomospace.space.sets import SetSearches
from nomospace.space.steps import SpaceSteps
from nomospace.space.store import Looker, SpaceRecords, TupleTwice
from nomospace.space.stored import EngineRecords, StoreEngine
from nomospace.space.timers import Timers
from nomospace.space.waiting import Waiters
from nomospace.space.watchers import Waiter, WaiterKind
from nomospace.terms import Term
from nomospace.terms.budget import Slice
from nomospace.terms.templates import Template

YOUNG_MASK: Final = 4_095
"""After so many tuples the young objects are collected, which takes about a millisecond.

Left alone, the collector counts objects made less objects gone: under a steady load of writes and
takes that hardly grows, while the tuples themselves wait to be looked at, a hundred thousand and
more, until one collection looks at all of them."""
LAPSES_MAX: Final = 1_000
"""Leases and tuples that one `lapse` ends; the rest is due at once, at the next."""


class IdTaken(CallerError):
    """A ticket or a reaction's id is in use."""

    code = "space.name-taken"
    words = "{what} is in use in space {space!r}; give each its own"
    space: str
    what: str


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

    def __init__(
        self,
        name: str,
        ontology: Ontology = PLAIN,
        *,
        tuples_max: int = 10_000_000,
        waiters_max: int = 1_000_000,
        reactions_max: int = 1_000_000,
        deliveries_max: int = 0,
        engine: StoreEngine | None = None,
    ) -> None:
        self.name = name
        self.in_memory = engine is None
        """Whether everything is; otherwise it lies in the store of its host."""
        self.observed = False
        """Whether someone follows what lies here."""
        self.tuples_max = tuples_max
        self.waiters_max = waiters_max
        self.reactions_max = reactions_max
        self.deliveries_max = deliveries_max  # 0: a tuple may be lent any number of times
        speech = Speech(ontology)
        itself: Space = proxy(self)  # its parts do not keep it: it ends with its last user
        store: EngineRecords = (
            SpaceRecords(name, speech)
            if engine is None
            else engine.records(name, speech, partial(Space._is_busy, itself))
        )
        super().__init__(store, speech)
        self.remove: Callable[[Record], None] = store.remove
        """Takes a tuple out for good. `NotInSpace` when it does not lie here."""
        self.sets = SetSearches(store, ontology)
        """Where tuples that answer a question together are looked for."""
        self._lent: dict[TupleId, Lease] = {}
        self._leases: Timers[Lease] = Timers(when=attrgetter("until"))
        self._waiters = Waiters(store, speech)
        self._reactions = SpaceReactions(name, itself, speech)
        self._steps = SpaceSteps(store, itself, self.sets, self._waiters, self._reactions)

    def __len__(self) -> int:
        return self._store.size + len(self._lent)

    @property
    def next_order(self) -> int:
        """The place in the order of arrival that the next tuple will have."""
        return self._store.next_order

    def __repr__(self) -> str:
        return f"<Space {self.name!r}, {len(self):,} tuples>"

    def stats(self) -> dict[str, int]:
        """How much of everything there is."""
        composites = self._store.composites()
        return {
            "tuples": len(self),
            "lent": len(self._lent),
            "waiters": len(self._waiters.by_ticket),
            "reactions": len(self._reactions.by_id),
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
        place, priority = self._store.next_order, record.rare[1]
        record.order = place - priority * BAND  # also if it has none: a sum takes a word too much
        if self.waits is not None and now >= self.waits.next:
            self.waits.mark(place, now)
        self._store.add(record)
        self._store.next_order = place + 1
        if not place & YOUNG_MASK:
            collect(0)
        if priority and self._searches:
            self.appeared(record)
        if not self._reactions.by_id and not self._waiters.by_ticket:
            return []
        self._steps.show(record)
        return self._steps.run(now)

    def put_many(self, records: Sequence[Record], *, now: int) -> list[Outcome]:
        """Take in several tuples, as one step: all of them or, on an error, none."""
        self.check_room(len(records))
        ids = {record.id for record in records}
        for record in records:
            self._check_new(record)
        if len(ids) < len(records):
            twice = next(r for i, r in enumerate(records) if r.id in {x.id for x in records[:i]})
            raise TupleTwice(writer=twice.writer, count=twice.count, space=self.name)
        if self.waits is not None and now >= self.waits.next:
            self.waits.mark(self._store.next_order, now)
        for record in records:
            self._enter(record)
        return self._steps.run(now)

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

    def observe(self, looker: Looker) -> list[Record]:
        """Let someone follow which tuples that hold objects lie here; gives those that do now.

        None are shown of those that lie in the store.
        """
        if not self.in_memory:
            return []
        self._store.lookers += (looker,)
        self.observed = True
        return self.objects()

    def objects(self) -> list[Record]:
        """The tuples that hold objects, oldest first, without those lent out."""
        return list(self._store.objects.everything())

    def ignore(self, looker: Looker) -> None:
        """Let someone follow no longer."""
        lookers = tuple([one for one in self._store.lookers if one is not looker])
        self._store.lookers, self.observed = lookers, bool(lookers)

    def follow_kinds(self, noted: Callable[[], None]) -> Kinds | None:
        """Let someone know of which kinds tuples lie here (`kinds`); `None` for what is stored."""
        if isinstance(self._store, SpaceRecords):
            self._store.kinds = Kinds(self._store.shelves, noted)
            return self._store.kinds
        return None

    def ignore_kinds(self) -> None:
        """Nobody wants to know them any more."""
        if isinstance(self._store, SpaceRecords):
            self._store.kinds = None

    @property
    def idle(self) -> bool:
        """Whether nothing is here, and nobody has anything to do with it."""
        return self.quiet and not (len(self) or self._is_busy() or self.observed)

    @property
    def quiet(self) -> bool:
        """Whether nobody waits for what comes here, and nothing reacts to it."""
        return not self._reactions.by_id and not self._waiters.by_ticket

    def get(self, id: TupleId) -> Record | None:
        """The tuple of that id, unless it is lent out or not here."""
        return self._store.get(id)

    def relocate(self, record: Record, cur: str, *, now: int) -> list[Outcome]:
        """Let another agent hold a tuple: a migration inside this space, as one step.

        Those who look at what `cur` holds may find it new; a reaction that met it does not.
        """
        self._check_here(record)
        if record.cur == cur:
            return []
        self._store.move(record, cur)
        self._steps.show(record)
        self.appeared(record)
        return self._steps.run(now)

    def readdress(self, record: Record, dest: str) -> None:
        """Let a tuple that lies here be for another agent. It keeps its place, and wakes nobody."""
        self._check_here(record)
        order = record.order
        self._store.remove(record)
        record.order, record.dest = order, dest
        self._store.add(record)

    def since(self, order: int, most: int) -> list[Record]:
        """Up to so many tuples behind an order, by order, without those lent out."""
        later = (record for record in self._store.everything(order) if record.order > order)
        return list(islice(later, most))

    def written_by(self, agent: str, some: int) -> tuple[int, list[Record]]:
        """How many tuples here an agent has written, and a few of them, evenly spread."""
        return self._store.written_by(agent, some)

    def held_by(self, agent: str, most: int | None = None) -> list[Record]:
        """The tuples an agent holds, oldest first, without those lent out; so many at `most`."""
        return list(islice(self._store.held_by(agent), most))

    def oldest(self, limit: int) -> list[Record]:
        """Up to so many tuples of any width, oldest first, without those lent out."""
        return list(islice(self._store.everything(), limit))

    def eldest(self) -> Record | None:
        """The tuple that has been here for longest, whatever its priority, lent ones aside."""
        found: Record | None = None
        after = 0
        while (first := next(self._store.everything(after), None)) is not None:
            if found is None or arrival(first.order) < arrival(found.order):
                found = first
            after = (first.order // BAND + 1) * BAND - 1
        return found

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
        how: WaiterKind,
        *,
        at: str | None = None,
        dest: str | None = None,
        ask: SetQuestion | None = None,
    ) -> None:
        """Register a blocked operation. It is served by tuples yet to come: look with `find` first.

        With `ask` it is also served by several tuples together: look in `sets` too.

        A `READ` or a `TAKE` is served once. An `OFFER` is told of one tuple, and of no other until
        `rearm`.
        """
        if ticket in self._waiters.by_ticket:
            raise IdTaken(space=self.name, what=f"ticket {ticket!r}")
        if len(self._waiters.by_ticket) >= self.waiters_max:
            raise SpaceFull(space=self.name, what="waiters", limit=self.waiters_max)
        if template.meant:
            template = self._speech.read(template).template
        template.prepare()
        order = self._store.next_order
        scope = EVERYONE if ask is None else ask.scope
        sets = None if ask is None else self.sets.facts(scope).wait(ask, order, ticket)
        self._waiters.add(Waiter(ticket, template, how, at, dest, order, True, sets, scope))
        self._store.next_order = order + 1

    def rearm(self, ticket: Hashable) -> None:
        """Let a waiter be served again, in its old turn. Look with `find` before."""
        self._waiters.arm(self._waiters.get(ticket))

    def disarm(self, ticket: Hashable) -> None:
        """Give nothing to a waiter until `rearm`."""
        self._waiters.disarm(self._waiters.get(ticket))

    def is_armed(self, ticket: Hashable) -> bool:
        """Whether a waiter is there, and would be served."""
        waiter = self._waiters.by_ticket.get(ticket)
        return waiter is not None and waiter.armed

    def cancel(self, ticket: Hashable) -> bool:
        """Give up waiting. False when there is no such waiter, or no more."""
        waiter = self._waiters.by_ticket.get(ticket)
        if waiter is None:
            return False
        self._waiters.dismiss(waiter)
        return True

    # -- reactions ---------------------------------------------------------------------------

    def react(self, reaction: Reaction, *, now: int, slice: Slice | None = None) -> list[Outcome]:
        """Register a reaction and let it meet what is there, as one step.

        What its `seen` holds it does not meet. One that is not enabled is only registered. Where
        more is there than a slice has time for, the rest is met by `scan`.
        """
        if reaction.id in self._reactions.by_id:
            raise IdTaken(space=self.name, what=f"reaction {reaction.id!r}")
        if len(self._reactions.by_id) >= self.reactions_max:
            raise SpaceFull(space=self.name, what="reactions", limit=self.reactions_max)
        if reaction.template.meant:
            reaction.template = self._speech.read(reaction.template).template
        reaction.template.prepare()
        reaction.order = self._store.next_order
        self._store.next_order += 1
        reaction.slice = slice
        self._reactions.add(reaction)
        if reaction.enabled:
            self._steps.meet(reaction)
        return self._steps.run(now)

    def scan(self, reaction: Reaction, *, now: int, slice: Slice) -> list[Outcome]:
        """Let a reaction meet more of what was there when it was registered, as one step.

        `Reaction.search` is gone when it has met all of it.
        """
        reaction.slice = slice
        self._steps.meet(reaction)
        return self._steps.run(now)

    def enable(self, id: Hashable, *, now: int) -> list[Outcome]:
        """Let a disabled reaction run again, on what is there too: it forgets what it has met."""
        reaction = self._reactions.get(id)
        if reaction.enabled:
            return []
        self._reactions.enable(reaction)
        self._steps.meet(reaction)
        return self._steps.run(now)

    def disable(self, id: Hashable) -> None:
        """Let a reaction rest; it stays registered."""
        self._reactions.disable(self._reactions.get(id))

    def unreact(self, id: Hashable) -> bool:
        """Remove a reaction. False when there is none of that id, or no more."""
        return self._reactions.remove(id)

    def reactions(self) -> list[Reaction]:
        """The registered reactions, in the order they came."""
        return list(self._reactions.by_id.values())

    def waiters(self) -> list[Waiter]:
        """The operations that wait here, in the order they came: for those who look on."""
        return list(self._waiters.by_ticket.values())

    # -- leases and time ---------------------------------------------------------------------

    def lend(
        self, record: Record, taker: str, until: int, *, new: bool = False, again: bool = False
    ) -> None:
        """Lend a tuple out. It is not found and serves no one, and still counts as here.

        Its delivery count goes up, unless it is the same lease `again`, after a restart. It does
        not expire before it is back. A `new` one did not lie here, and does from now on.
        """
        order = record.order
        if new:
            self._check_new(record)
            order = self._store.next_order - record.priority * BAND
            self._store.next_order += 1
        else:
            self._store.remove(record)
        record.order = -order
        record.deliveries += not again
        self._lent[record.writer, record.count] = lease = Lease(record, taker, until)
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

    def give_back(self, id: TupleId, taker: str, *, now: int, until: int = 0) -> list[Outcome]:
        """End a lease: the tuple lies in the space again, in its old place, as one step.

        With `until`, not before then: so long it is lent to nobody. One that was lent
        `deliveries_max` times leaves the space instead, at once (`DeadLetter`).

        Nothing happens when it is not on loan to that taker.
        """
        lease = self._lent.get(id)
        if lease is None or lease.taker != taker:
            return []
        if until > now and not 0 < self.deliveries_max <= lease.record.deliveries:
            self._lend_until(lease, "", until)
            return []
        self._leases.remove(-lease.record.order, lease)
        self._bring_back(lease, now)
        return self._steps.run(now)

    def renew(self, id: TupleId, taker: str, until: int) -> Record | None:
        """Let a lease end at another time. None when it is not on loan to that taker."""
        lease = self._lent.get(id)
        if lease is None or lease.taker != taker:
            return None
        self._lend_until(lease, taker, until)
        return lease.record

    def is_lent(self, id: TupleId, now: int) -> bool:
        """Whether a tuple is lent out, on a lease that has not run out."""
        lease = self._lent.get(id)
        return lease is not None and now < lease.until

    def lent(self, id: TupleId) -> Record | None:
        """A tuple that is lent out."""
        lease = self._lent.get(id)
        return None if lease is None else lease.record

    def _lend_until(self, lease: Lease, taker: str, until: int) -> None:
        number = -lease.record.order
        self._leases.remove(number, lease)
        again = self._lent[lease.record.id] = Lease(lease.record, taker, until)
        self._leases.add(number, again)

    def leases(self) -> list[Lease]:
        """What is lent out, in the order it was lent."""
        return list(self._lent.values())

    def lapse(self, *, now: int) -> list[Outcome]:
        """End the leases that have run out and the tuples that have expired, as one step."""
        left = LAPSES_MAX
        while left and (lease := self._leases.pop(now)) is not None:
            left -= 1
            self._steps.note(Lapsed(lease.record, lease.taker))
            self._bring_back(lease, now)
        while left and (record := self._store.due(now)) is not None:
            left -= 1
            self._store.remove(record)
            self._steps.note(Expired(record))
        return self._steps.run(now)

    def next_deadline(self) -> int | None:
        """When `lapse` is next to be called."""
        both = (self._leases.soonest(), self._store.soonest())
        return min([when for when in both if when is not None], default=None)

    @property
    def is_serving(self) -> bool:
        """Whether tuples wait to be shown to the rest of those who wait and react."""
        return self._steps.is_late

    def go_on_serving(self, *, now: int, slice: Slice | None = None) -> list[Outcome]:
        """Show tuples to those left over by earlier steps (`SpaceSteps.go_on`)."""
        return self._steps.go_on(now=now, slice=slice)

    # -- parts -------------------------------------------------------------------------------

    def _check_new(self, record: Record) -> None:
        if self._store.get(record.id) is not None or record.id in self._lent:
            raise TupleTwice(writer=record.writer, count=record.count, space=self.name)

    def check_room(self, more: int) -> None:
        """Raise `SpaceFull` when so many tuples more would go past the limit."""
        if len(self) + more > self.tuples_max:
            raise SpaceFull(space=self.name, what="tuples", limit=self.tuples_max)

    def _check_here(self, record: Record) -> None:
        if not self._store.lies(record):
            raise self._store.missing(record)

    def _is_busy(self) -> bool:
        return bool(self._searches) or self._steps.is_late

    def _enter(self, record: Record) -> None:
        record.order = self._store.next_order - record.priority * BAND
        self._store.next_order += 1
        self._store.add(record)
        self._steps.show(record)
        if record.priority:
            self.appeared(record)

    def _bring_back(self, lease: Lease, now: int) -> None:
        record = lease.record
        del self._lent[record.id]
        if 0 < record.expires <= now:
            record.order = 0
            self._steps.note(Expired(record))
        elif 0 < self.deliveries_max <= record.deliveries:
            record.order = 0
            self._steps.note(DeadLetter(record))
        else:
            record.order = -record.order
            self._store.add(record)
            self._steps.show(record)
            self.appeared(record)
