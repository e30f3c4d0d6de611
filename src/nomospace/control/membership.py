"""The controller of one membership: a law, a control state, pending obligations.

`handle` is told one event and answers with effects. It evaluates the law against the state as it
was, carries the ruling out whole or not at all, and writes one `RecordRuling` for it; nothing of
two events ever interleaves (`000_…` 3.3). A ruling that cannot be is empty, and an `exception`
event follows in the same call. An exception while ruling on an exception is only recorded.

Obligations run by the `now` that is handed in: whatever is due fires, by due time and then by
imposition, before the event that `handle` was called for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nomospace.control.bounded import (
    LARGE_BYTES,
    ROOM_A_BYTE,
    STATE_MAX,
    Bounded,
    Decided,
    bytes_of,
    check_growth,
    check_ruling,
    grown,
    large_bytes,
    passes_on,
    room_of,
    units_of,
)
from nomospace.control.carrying import LEAVE, carry_out, pass_on
from nomospace.control.events import (
    Change,
    Effect,
    Event,
    Operation,
    RecordRuling,
    Ruling,
    Tick,
    Undecided,
)
from nomospace.control.obligations import Obligations, revert
from nomospace.control.origins import Origin, Origins, origin_of
from nomospace.control.snapshot import Snapshot
from nomospace.errors import CallerError, LimitReached
from nomospace.law import CompiledLaw
from nomospace.law.bag import Bag
from nomospace.law.budget import PRICES, BudgetCut, Stop, Units, in_parts
from nomospace.law.prelude import MESSAGES_MAX, UNITS_MAX
from nomospace.terms import Compound, Term, oversize
from nomospace.terms.values import weight

HISTORY_MAX: Final = 256
"""How many of its last rulings a membership can explain from memory."""
HISTORY_BYTES_MAX: Final = 1 << 18
"""And about how many bytes these have together; past it the last one is left."""
FORGOTTEN_AT_ONCE: Final = 64
"""How many rulings more there are before the oldest are forgotten, together."""
FEW_TERMS: Final = 128
"""The places of so many terms are gone through when rulings are forgotten; else what they put."""
COPIED_MAX: Final = 20_000
"""The most terms and obligations that are copied to explain a ruling after which they changed."""


class TooMuchState(LimitReached):
    """A control state cannot be copied to go back in time with it."""

    code = "limits.state-copied"


class TooOld(CallerError):
    """A ruling is further back than the membership remembers."""

    code = "control.too-old"
    words = (
        "ruling {seq} is too old to explain from memory (the oldest is {oldest}); "
        "read it in the journal"
    )
    seq: int
    oldest: int


_NO_UNITS: Final[Units] = [0]


class Membership:
    """One agent's membership in a community, as a core: told events, answers with effects."""

    __slots__ = ("_first", "_full", "_heavy", "_history", "_large", "_weighed", "ended", "home",
                 "law", "obligations", "origins", "seq", "shown", "spent", "state")  # fmt: skip

    def __init__(self, law: CompiledLaw, home: str, *, state: Iterable[Term] | None = None) -> None:
        self.law = law
        self.home = home
        self.state = Bag(law.initial if state is None else state)
        self.obligations = Obligations()
        self.seq = 0
        self.ended = False
        self.shown: tuple[bytes, ...] = ()
        """The certificates that count for it, as whoever checks them keeps them."""
        self.spent = 0
        """The units that its last ruling took."""
        self._first = UNITS_MAX - units_of(home)
        """What counts as spent when an evaluation begins."""
        self._history: list[Ruling] = []
        self._heavy = 0
        """No less than the bytes of those since the last were forgotten;"""
        self._weighed = (0, 0)
        """and what the first of all have is known: how many rulings, and their bytes."""
        self._full = HISTORY_MAX + FORGOTTEN_AT_ONCE
        self.origins = Origins()
        """Where what it has comes from, as far as its rulings are forgotten."""
        self._large = large_bytes(self.state)
        """The bytes of its large terms and obligations."""

    def __repr__(self) -> str:
        return f"<{self.home} under {self.law.name}, {self.seq} rulings>"

    # -- time ------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """When the next obligation is due, or `None`."""
        return self.obligations.next_deadline()

    def pending(self) -> list[tuple[int, Term]]:
        """Pending obligations with their due times, soonest first."""
        return self.obligations.pending()

    # -- events ----------------------------------------------------------------------------

    def handle(
        self, event: Event | Tick, *, now: int, most: int = STATE_MAX, slice: int = 0
    ) -> list[Effect]:
        """Rule on an event and say what must follow, in order.

        What is due falls due before it, `most` of it at the most: a host has a pace for that. With
        a `slice`, no evaluation takes more units than that here, nor do all that are due: the last
        effect is then `Undecided`, and whoever asks goes on with a `Decision`.

        >>> from nomospace.control import sent
        >>> from nomospace.law import load
        >>> ann = Membership(load("law(open). sent(X, M, Y) :- do(forward)."), "ann@x")
        >>> [type(effect).__name__ for effect in ann.handle(sent("ann@x", "hi", "bob@x"), now=0)]
        ['RecordRuling', 'Forward']
        """
        effects: list[Effect] = []
        heap = self.obligations.heap
        if heap and heap[0][0] <= now and not self._fire(now, effects, most, slice):
            return effects
        if type(event) is Event and not self.ended:
            assert isinstance(event, Event)
            try:
                self._rule(event, now, effects, None, (), None, slice)
            except BudgetCut:
                effects.append(Undecided(event))
        return effects

    def _fire(self, now: int, effects: list[Effect], most: int, slice: int) -> bool:
        """Fire what was due when the call came; what is imposed meanwhile waits its turn.

        False when one of them could not be decided in a slice.
        """
        owed = self.obligations
        last = owed.next_place
        later: list[tuple[int, int]] = []
        left = slice
        decided = True
        while not self.ended and most > 0:
            most -= 1
            entry = owed.pop_due(now)
            if entry is None:
                break
            place = entry[1]
            if place >= last:
                later.append(entry)
                continue
            try:
                effects += self.fire(place, now=now, slice=slice)
            except BudgetCut:
                effects.append(Undecided(Event("obligationDue", (owed.at(place),)), place))
                decided = False
                break
            left -= self.spent
            if slice and left <= 0:
                break
        for entry in later:
            owed.put_off(entry)
        return decided

    def rule_on(self, event: Event, *, now: int, then: Bounded | None = None) -> list[Effect]:
        """`handle` without what is due first: for one who keeps the order among members.

        A replay says how the event was bounded `then`.
        """
        effects: list[Effect] = []
        self._rule(event, now, effects, None, (), then)
        return effects

    def fire(
        self, place: int, *, now: int, then: Bounded | None = None, slice: int = 0
    ) -> list[Effect]:
        """Let one pending obligation, named by its place, come due, and no other.

        With a `slice`, raises `BudgetCut` when that is not enough to decide it; it is pending then.
        """
        due, term = self.obligations.lift(place)
        effects: list[Effect] = []
        gone = ("undue", place, term, due)
        owed = Event("obligationDue", (term,))
        self._rule(owed, now, effects, due, (gone,), then, slice)
        return effects

    def conclude(
        self, event: Event, decided: list[Decided], *, now: int, slice: int
    ) -> list[Effect]:
        """Rule on an event whose evaluation is done: what must follow.

        Where it is about an obligation, that is withdrawn. Raises `BudgetCut` when an exception
        follows whose evaluation is not done; the obligation is pending then.
        """
        withdrawn, self.obligations.withdrawn = self.obligations.withdrawn, None
        effects: list[Effect] = []
        due_at = None if withdrawn is None else withdrawn[2]
        before = () if withdrawn is None else (("undue", *withdrawn),)
        self._rule(event, now, effects, due_at, before, None, slice, iter(decided))
        return effects

    def owes(self, place: int) -> bool:
        """Whether the obligation at a place is still pending."""
        return self.obligations.owes(place) and not self.ended

    def _rule(
        self,
        event: Event,
        now: int,
        effects: list[Effect],
        due_at: int | None,
        before: tuple[Change, ...],
        then: Bounded | None = None,
        slice: int = 0,
        decided: Iterator[Decided] | None = None,
    ) -> None:
        """Rule on one event, or raise `BudgetCut` and leave all as it was before it and its cause.

        What is `decided` already, also of an exception that follows, is not evaluated again.
        """
        self.seq = seq = self.seq + 1
        at = len(effects)
        effects.append(LEAVE)  # the record takes its place when all is told
        law, home = self.law, self.home
        rule: str | None = None
        operations: tuple[Operation, ...] = ()
        stopped: Stop | None = None
        delta: list[Change] = []
        unmet: list[int] = []
        units: Units = _NO_UNITS
        known = None if decided is None else next(decided, None)
        large_before, more = self._large, 0
        large = large_before and large_before + grown(before)
        heavy = -1
        try:
            if known is not None:
                units = known.units
                outcome = known.outcome()
            else:
                if slice:
                    units = in_parts(slice, whole=UNITS_MAX - self._first)
                elif then is None or then.prices == PRICES:
                    units = [self._first]
                else:
                    units = then.units(event)
                outcome = law.act(
                    event.kind, home, event.args, self.state, self.obligations, now, units
                )
            if outcome is not None:
                rule = law.rule_names[outcome[0]]
                operations = outcome[1]
                if len(outcome) == 3:  # the state has changed already; messages are left
                    delta.append(outcome[2])
                    pass_on(operations, effects, units)
                elif operations:
                    recorded = then is not None and not law.growing and then.has(operations)
                    size = len(then.operations) if recorded and then is not None else 0
                    if not recorded and (
                        len(operations) != 1 or not passes_on(operations[0], event)
                    ):
                        bound = law.bounds[outcome[0]]
                        size = LARGE_BYTES
                        if bound is not None:
                            heavy = bytes_of(event.args)
                            size = bound[0] + bound[1] * heavy
                        if size >= LARGE_BYTES:
                            size = check_ruling(operations, law.growing)
                    if carry_out(
                        operations,
                        self.state,
                        self.obligations,
                        now,
                        delta,
                        unmet,
                        effects,
                        units,
                        self._first != 0,
                    ):
                        self.ended = True
                    more = check_growth(delta, size, large, units)
                if len(effects) - at > MESSAGES_MAX + 1 and units[0] >= 0:  # as `check_copies`
                    raise Stop("tooLarge")
        except Stop as stop:
            self._revert(delta)
            del effects[at + 1 :]
            # Without the frames it was raised in: they hold it in a circle, with all they made.
            stopped, rule, operations = stop.with_traceback(None), None, ()
            delta.clear()
            unmet.clear()
            more = 0
            if then is not None:
                then.alike = None
            if known is not None:
                known.stop = stopped
        except BudgetCut as cut:
            self._revert(delta)
            self._unrule(seq, effects, at, before)
            cut.event = event
            raise cut.with_traceback(None) from None
        self._large = max(0, large + more)  # what `incr` makes takes the room of a small one
        self.spent = (units[0] - units[1] if slice else units[0]) - self._first
        ruling = Ruling(
            seq,
            now,
            home,
            law.hash,
            event,
            rule,
            operations,
            (*before, *delta),
            tuple(unmet) if unmet else (),
            None if stopped is None else stopped.reason,
            due_at,
            PRICES if then is None else then.prices,
        )
        self._history.append(ruling)
        if heavy < 0 or (law.growing and operations):
            heavy = bytes_of(event.args + operations if law.growing else event.args)
        self._heavy += ROOM_A_BYTE * heavy
        effects[at] = RecordRuling(ruling)
        if stopped is not None and event.kind != "exception":
            what = stopped.operation
            if what is None or oversize(what) is not None:  # an event is recorded: it has a limit
                what = Compound("ruling", (event.term,))
                weight(what)  # it is remembered, so a large one is not written out to be counted
            follows = Event("exception", (what, stopped.reason))
            also = None if then is None else Bounded(then.prices, None)
            try:
                self._rule(follows, now, effects, None, (), also, slice, decided)
            except BudgetCut:  # both are ruled on in one step
                self._history.pop()
                self._weighed = (min(self._weighed[0], len(self._history)), self._weighed[1])
                self._large = large_before
                self._unrule(seq, effects, at, before)
                raise
        if len(self._history) >= self._full or (
            self._heavy > HISTORY_BYTES_MAX and self._weigh() > HISTORY_BYTES_MAX
        ):
            self._forget()

    def _unrule(self, seq: int, effects: list[Effect], at: int, before: tuple[Change, ...]) -> None:
        """Let all be as before an event that is not ruled on yet."""
        del effects[at:]
        self.seq = seq - 1
        self._revert(list(before))

    def _revert(self, delta: list[Change]) -> None:
        """Take a ruling that could not be carried out back, last change first."""
        revert(self.state, self.obligations, delta)
        if any(change[0] == "quit" for change in delta):
            self.ended = False

    # -- the past --------------------------------------------------------------------------

    def history(self) -> list[Ruling]:
        """The last rulings, oldest first."""
        return self._history[FORGOTTEN_AT_ONCE - self._full :]

    def remember(self, rulings: int) -> None:
        """Keep so many of its last rulings from now on; a replay needs few."""
        self._full = rulings + FORGOTTEN_AT_ONCE
        if len(self._history) >= self._full:
            self._forget()

    def _weigh(self) -> int:
        """What the rulings since the last were forgotten have in memory, about.

        As each is made only a bound of that is counted, which takes a quarter of the time.
        """
        known, room = self._weighed
        for ruling in self._history[known:]:
            args = ruling.event.args
            room += room_of(args + ruling.operations if self.law.growing else args)
        self._weighed = (len(self._history), room)
        self._heavy = room
        return room

    def _forget(self) -> None:
        """Forget the oldest rulings, but not whose work what they put is."""
        left = self._full - FORGOTTEN_AT_ONCE
        if self._heavy > HISTORY_BYTES_MAX:  # all but the last event, and what became of it
            left = 2 if self._history[-1].event.kind == "exception" else 1
        rulings = self._history[:-left]
        del self._history[: len(rulings)]
        self._heavy, self._weighed = 0, (len(self._history), 0)
        origins, state, owed = self.origins, self.state, self.obligations
        few = state.size <= FEW_TERMS
        origins.fold(rulings, state.by_place() if few else state, owed.places())
        if origins.crowded(state.size, owed.size):
            origins.cut(state.first_place(), owed.first_place())  # the oldest go first, mostly
            if origins.crowded(state.size, owed.size):
                origins.keep(state.places(), owed.places())

    def origin(self, place: int, *, owed: bool = False, before: int | None = None) -> Origin | None:
        """The ruling that put a term of the state, or an obligation, at its place.

        With `before`, as it was when that ruling was made. `None` where nobody knows: it was there
        before origins were kept.
        """
        kinds = ("due",) if owed else ("+", "<-")
        for ruling in reversed(self._history):
            if before is None or ruling.seq < before:
                for change in ruling.delta:
                    if change[1] == place and change[0] in kinds:
                        return origin_of(ruling)
        return self.origins.of(place, owed=owed)

    def before(self, seq: int) -> tuple[Bag, Bag]:
        """Control state and obligations as they were when ruling `seq` was made; to look at only.

        Raises `TooOld`, or `TooMuchState` when that would take a copy of very many terms.
        """
        told = self.history()
        oldest = told[0].seq if told else self.seq + 1
        if seq < oldest:
            raise TooOld(seq=seq, oldest=oldest)
        deltas = []
        for ruling in reversed(told):
            if ruling.seq < seq:
                break
            delta = ruling.delta
            if ruling.seq == seq and ruling.due_at is not None:
                delta = delta[1:]  # a due obligation is gone before its event is ruled on
            if delta:
                deltas.append(delta)
        if not deltas:  # nothing has changed since: no need of a copy to look at
            return self.state, self.obligations
        if self.state.size + self.obligations.size > COPIED_MAX:
            advice = "read the ruling in the journal"
            raise TooMuchState(what=f"{self.home}'s state", limit=COPIED_MAX, advice=advice)
        state, obligations = self.state.copy(), self.obligations.copy()
        for delta in deltas:
            revert(state, obligations, delta)
        return state, obligations

    # -- storing and moving ----------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """All that this membership is, as plain data."""
        state, owed = tuple(self.state.items()), self.obligations.pending_by_place()
        places = self.state.next_place, self.obligations.next_place
        origins = b""
        if self.seq:
            due = {place for place, _, _ in owed}
            origins = self.origins.after(self._history, dict(state), due).encode()
        has = *places, state, owed, self.ended, self.shown, origins
        return Snapshot(self.home, self.law.hash, self.seq, *has)

    @classmethod
    def restore(cls, law: CompiledLaw, snapshot: Snapshot) -> Membership:
        """A membership as it was; its law must be the one it was under."""
        assert law.hash == snapshot.law, "a membership is restored under its own law"
        member = cls(law, snapshot.home, state=())
        for place, term in snapshot.state:
            member.state.put(place, term)
        member.obligations.load(snapshot.obligations)
        member._large = large_bytes(member.state) + large_bytes(member.obligations)
        member.state.next_place = snapshot.next_place
        member.obligations.next_place = snapshot.next_obligation
        member.seq = snapshot.seq
        member.ended = snapshot.ended
        member.shown = snapshot.shown
        member.origins = snapshot.told_origins()
        return member
