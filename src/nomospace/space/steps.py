"""The steps of a space: what has come is shown to reactions and to those who wait.

The rules of a step (LIME 2.2.4 and 3.2). Whatever adds a tuple, moves one, gives one back,
registers or enables a reaction starts a step. First all it brings is in place. Then reactions run
to the fixed point: until no enabled reaction finds a tuple that it has not met. Only then waiters
are served, of the tuples still there, in the order these came: every `READ` that matches, then the
first `TAKE`, which has the tuple; if nobody took it, every `OFFER` that is armed. A waiter that
came earlier goes first. If the tuple is still there, those follow who wait for several tuples
together and whose set it completes: a `TAKE` then has all of them. What happened is returned in the
order it happened. Where more look for a tuple than one step has time for, the rest have their turn
in later ones, in the same order (`SpaceSteps.go_on`).

A listener may call the space: what it does joins the running step, and its outcomes are among
those of the step. Listeners that keep each other firing are stopped: see `FIRINGS_MAX`.
"""

from __future__ import annotations

from collections import deque
from sys import maxsize
from typing import Any, Final

import msgspec

from nomospace.calls.ways import ONCE
from nomospace.errors import LimitReached
from nomospace.space.outcomes import (
    Dear,
    Fired,
    Gathered,
    ListenerFailed,
    Outcome,
    Overran,
    Ranaway,
    Woken,
)
from nomospace.space.reactions import Reaction, SpaceReactions
from nomospace.space.records import Record
from nomospace.space.search import Search, Unfinished
from nomospace.space.searching import Searches
from nomospace.space.sets import SetSearches
from nomospace.space.stored import EngineRecords
from nomospace.space.waiting import Waiters
from nomospace.space.watchers import OFFER, READ, TAKE, Waiter, Watchers
from nomospace.terms.budget import WATCH_UNITS_MAX, Budget, Slice, TestTooDear

FIRINGS_MAX: Final = 10_000
"""Firings in one step on what listeners themselves brought; past it, the busiest is disabled.

Firings on the tuples that a step started with are not counted: there is an end to them."""
RUNAWAYS_MAX: Final = 16
"""Reactions disabled in one step. Past it listeners register new ones faster than can be stopped,
and the step ends: what they brought stays, and nothing more reacts to it."""
STEP_UNITS: Final = 6_000
"""What those who wait and react may cost in one step: a millisecond and a half. The rest of them
have their turn in later ones (`SpaceSteps.go_on`)."""
SHOW_UNITS: Final = 4
"""What it costs to show a tuple to one who waits or reacts, besides its test."""
WAKE_UNITS: Final = 60
"""What it costs to serve one who waits, or to tell that a reaction fired."""
LATE_MAX: Final = 1_000
"""Tuples that may wait to be shown to the rest; past it each step shows one to all."""

_REACTIONS, _READS, _TAKES, _OFFERS, _SETS = range(5)
"""In which order a tuple is shown to those who look for one."""
_TURNS: Final = {READ: 0, TAKE: 1, OFFER: 2}
_FIRST_TURN: Final = (-1, 0)
"""Before that of everyone."""


class _Late(msgspec.Struct):
    """A tuple that some who wait or react have yet to be shown, and how far that has come."""

    record: Record
    stage: int
    after: int
    """The order of the last one in this stage that was shown it."""
    until: int
    """Those who came later have looked for themselves."""
    turn: tuple[int, int] = _FIRST_TURN
    """As `after`, of those who wait for several tuples together."""


class _Cut(Exception):
    """What a step may cost is used up: for the space itself."""


class SpaceSteps:
    """The running step of a space, and what is left for later ones."""

    def __init__(
        self,
        store: EngineRecords,
        searches: Searches,
        sets: SetSearches,
        waiters: Waiters,
        reactions: SpaceReactions,
    ) -> None:
        self._store = store
        self._searches = searches
        self._sets = sets
        self._waiters = waiters
        self._reactions = reactions
        self._running = False
        self._inside = False
        """Whether a listener runs."""
        self._agenda: deque[tuple[Record | Reaction, bool]] = deque()
        """What reactions have yet to look at, and whether a listener brought it."""
        self._fresh: list[Record] = []
        """The tuples that waiters have yet to look at."""
        self._late: deque[_Late] = deque()
        self._outcomes: list[Outcome] = []
        """What has happened in this step."""
        self._units = 0
        """What may still be spent in this step."""
        self._budget = Budget()
        self._overran: list[tuple[Waiter, LimitReached]] = []
        self._tally: dict[Reaction, int] = {}
        self._firings = 0
        self._runaways = 0

    def note(self, outcome: Outcome) -> None:
        """Something has happened, in this step or the one that begins now."""
        self._outcomes.append(outcome)

    def show(self, record: Record) -> None:
        """Let reactions, then waiters, look at a tuple that is new or has moved."""
        if self._reactions.by_id:
            self._agenda.append((record, self._inside))
        if self._waiters.by_ticket:
            self._fresh.append(record)

    def meet(self, reaction: Reaction) -> None:
        """Let a reaction meet what is there."""
        self._agenda.append((reaction, self._inside))

    def run(self, now: int) -> list[Outcome]:
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
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    @property
    def is_late(self) -> bool:
        """Whether tuples wait to be shown to the rest of those who wait and react."""
        return bool(self._late)

    def go_on(self, *, now: int, slice: Slice | None = None) -> list[Outcome]:
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
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def _show_late(self, late: _Late, now: int) -> bool:
        """Show a tuple to those who are left; false when units are used up before that."""
        record, waiters = late.record, self._waiters
        by_stage = (self._reactions.enabled, waiters.reads, waiters.takes, waiters.offers)
        self._budget.renew()
        while late.stage < _SETS:
            watchers: Watchers[Any] = by_stage[late.stage]
            for one in watchers.in_turn(record, late.after, late.until):
                if late.stage != _REACTIONS and (record.order <= 0 or _is_over(record, now)):
                    return True
                if self._units <= 0:
                    return False
                late.after = one.order
                if late.stage == _REACTIONS:
                    if one.listener is None:
                        self._meet(one, record, False, now, late=True)
                elif self._suits(one, record):
                    self._give(one, Woken(one.ticket, record), (record,), now)
            if self._overran:
                self._dismiss_overran()
            if late.stage == _REACTIONS:
                return True  # those who wait for it come later
            late.stage += 1
            late.after = 0
        if record.order > 0 and self._store.sets and not _is_over(record, now):
            rest = self._serve_sets(record, now, late.turn)
            self._dismiss_overran()
            if rest is not None:
                late.turn = rest
                return False
        return True

    def _give(
        self, waiter: Waiter, outcome: Outcome, records: tuple[Record, ...], now: int
    ) -> None:
        """Serve one who waits with what suits."""
        if waiter.how == OFFER:
            self._waiters.disarm(waiter)
        else:
            self._waiters.dismiss(waiter)
        if waiter.how == TAKE:
            for record in records:
                self._searches.took(record, now)
                self._store.remove(record)
        self._outcomes.append(outcome)

    def _run_reactions(self, now: int) -> None:
        agenda = self._agenda
        while agenda:
            thing, inner = agenda.popleft()
            if isinstance(thing, Record):
                self._budget.renew()
                self._show_reactions(thing, inner, now)
            elif self._reactions.is_on(thing):
                for record in self._scan(thing, now):
                    self._budget.renew()
                    self._meet(thing, record, inner, now)
        self._tally.clear()
        self._firings = self._runaways = 0

    def _show_reactions(self, record: Record, inner: bool, now: int) -> None:
        """Let reactions meet a tuple: those with a listener now, the others while there is time."""
        enabled, listeners = self._reactions.enabled, self._reactions.listeners
        # What listeners do may change who reacts: the tuple is for those who did when it came.
        looking = list(enabled.of(record)) if listeners else enabled.in_turn(record, 0, maxsize)
        # One that looks elsewhere has its turn when a listener has moved the tuple there.
        here = (None, record.cur)
        cut = False
        for reaction in looking:
            if reaction.at not in here:
                continue
            if reaction.listener is not None or not (self._late or self._units <= 0):
                self._meet(reaction, record, inner, now)
            elif not cut:
                cut = True
                self._postpone(record, _REACTIONS, reaction.order - 1)
                if not listeners:
                    return

    def _scan(self, reaction: Reaction, now: int) -> list[Record]:
        """What is there for a reaction, as far as its slice goes."""
        search = reaction.search or Search(
            reaction.template, reaction.at, reaction.dest, every=True
        )
        slice, reaction.slice, reaction.search = reaction.slice, None, None
        try:
            return self._searches.go_on(search, now=now, slice=slice)
        except Unfinished:
            reaction.search = search
            found, search.found = search.found, {}
            return list(found.values())
        except LimitReached as error:
            self._reactions.disable(reaction)
            self._outcomes.append(Dear(reaction, error))
            return []

    def _meet(
        self, reaction: Reaction, record: Record, inner: bool, now: int, *, late: bool = False
    ) -> None:
        """Fire a reaction if it is still there, the tuple too, and they have not met.

        One that has its turn `late` meets the tuple even if that is gone: it was there.
        """
        if (
            (not late and (record.order <= 0 or 0 < record.expires <= now))
            or not self._reactions.is_on(reaction)
            or record.id in reaction.seen
        ):
            return
        try:
            if not self._watches(reaction, record):
                return
        except LimitReached as error:
            self._reactions.disable(reaction)
            self._outcomes.append(Dear(reaction, error))
            return
        # Whatever the listener does, it has met this tuple.
        reaction.fired += 1
        if reaction.mode == ONCE:
            self._reactions.remove(reaction.id)
        else:
            reaction.seen.add(record.id)
        if reaction.listener is None:
            self._outcomes.append(Fired(reaction, record))
        else:
            outer, self._inside = self._inside, True
            try:
                reaction.listener(reaction, record)
            except Exception as error:
                self._outcomes.append(ListenerFailed(reaction, record, error))
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
        self._outcomes.append(Ranaway(busiest, tally[busiest]))
        if self._reactions.is_on(busiest):
            self._reactions.disable(busiest)
        tally.clear()
        self._firings = 0
        self._runaways += 1
        if self._runaways >= RUNAWAYS_MAX:
            self._agenda.clear()

    def _serve(self, now: int) -> None:
        fresh, self._fresh = self._fresh, []
        if len(fresh) > 1:
            fresh.sort(key=_rank)
        for record in fresh:
            if self._overran:
                self._dismiss_overran()
            if record.order <= 0 or 0 < record.expires <= now:
                continue
            if self._late:
                self._postpone(record)
                continue
            self._budget.renew()
            try:
                self._offer(record, now)
            except _Cut:  # it begins anew: some tests are made twice
                self._postpone(record)
        if self._overran:
            self._dismiss_overran()

    def _postpone(self, record: Record, stage: int = _READS, after: int = 0) -> _Late:
        """Let those who have not been shown a tuple see it in later steps."""
        late = _Late(record, stage, after, self._store.next_order)
        self._late.append(late)
        return late

    def _offer(self, record: Record, now: int) -> None:
        """Show a tuple to all who wait, in their turn; `_Cut` when that takes too long."""
        waiters = self._waiters
        for waiter in [one for one in waiters.reads.of(record) if self._suits(one, record)]:
            waiters.dismiss(waiter)
            self._outcomes.append(Woken(waiter.ticket, record))
        takes = waiters.takes.of(record)
        taker = next((one for one in takes if self._suits(one, record)), None)
        if taker is not None:
            waiters.dismiss(taker)
            self._searches.took(record, now)
            self._store.remove(record)
            self._outcomes.append(Woken(taker.ticket, record))
            return
        for waiter in [one for one in waiters.offers.of(record) if self._suits(one, record)]:
            waiters.disarm(waiter)
            self._outcomes.append(Woken(waiter.ticket, record))
        if self._store.sets:
            rest = self._serve_sets(record, now, _FIRST_TURN)
            if rest is not None:
                self._postpone(record, _SETS).turn = rest

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
        """Whether one looks for a tuple; counts what that costs, and what it costs to serve it.

        `TestTooDear` past `WATCH_UNITS_MAX`. What is known of the tuple is kept for all who look.
        """
        budget = self._budget
        budget.share()
        try:
            fits = (
                (watcher.at is None or watcher.at == record.cur)
                and (watcher.dest is None or watcher.dest == record.dest)
                and watcher.template.matches(record.fields, budget)
            )
        except TestTooDear:
            raise TestTooDear(
                what="the test of one tuple for one who waits, in units,", limit=WATCH_UNITS_MAX
            ) from None
        finally:
            self._units -= SHOW_UNITS + WATCH_UNITS_MAX - budget.left
        if fits:
            self._units -= WAKE_UNITS
        return fits

    def _dismiss_overran(self) -> None:
        overran, self._overran = self._overran, []
        for waiter, error in overran:
            self._waiters.dismiss(waiter)
            self._outcomes.append(Overran(waiter.ticket, error))

    def _serve_sets(
        self, record: Record, now: int, after: tuple[int, int]
    ) -> tuple[int, int] | None:
        """Serve those who wait for several tuples together, and whose set a tuple completes.

        Those who come `after` one, by their turns. `None` when all have had it, else who was last.
        """
        waiting = [
            (self._waiters.by_ticket[ticket], sets, group)
            for sets in self._store.sets.values()
            for group in sets.touched(record)
            for ticket in group.waiters.values()
        ]
        waiting.sort(key=lambda one: _turn(one[0]))
        for waiter, sets, group in waiting:
            turn = _turn(waiter)
            if not waiter.armed or turn <= after:
                continue
            if self._units <= 0:
                return after
            after = turn
            try:
                found = self._sets.completed(sets, group, record, now)
            except LimitReached as error:
                self._overran.append((waiter, error))
                continue
            finally:
                self._units -= SHOW_UNITS + sets.spent
            if found is None:
                continue
            records = self._sets.records(found)
            self._give(waiter, Gathered(waiter.ticket, records, found), records, now)
            if waiter.how == TAKE:
                break
        return None


def _rank(record: Record) -> int:
    """Those that came in one step are for who waits by priority, and then as they came."""
    return -record.priority


def _is_over(record: Record, now: int) -> bool:
    return 0 < record.expires <= now


def _turn(waiter: Waiter) -> tuple[int, int]:
    """Those who read go before those who take, and these before those who are offered."""
    return _TURNS[waiter.how], waiter.order
