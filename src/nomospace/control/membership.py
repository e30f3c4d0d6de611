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
from typing import Any, Final

from nomospace.control.bounded import (
    SPACE_STATE_MAX,
    STATE_MAX,
    Bounded,
    Decided,
    check_copies,
    check_growth,
    check_ruling,
    grown,
    large_bytes,
    passes_on,
    room_of,
    units_of,
)
from nomospace.control.events import (
    Change,
    Deliver,
    Effect,
    Event,
    Forward,
    Leave,
    Operation,
    RecordRuling,
    Release,
    Ruling,
    Signal,
    Tick,
    Undecided,
)
from nomospace.control.obligations import Obligations, revert
from nomospace.control.origins import Origin, Origins, origin_of
from nomospace.control.snapshot import Snapshot
from nomospace.errors import CallerError, LimitReached
from nomospace.law import CompiledLaw
from nomospace.law.arithmetic import arith2, micros
from nomospace.law.bag import Bag
from nomospace.law.budget import PRICES, BudgetCut, Stop, Units, in_parts, spend
from nomospace.law.prelude import MESSAGES_MAX, UNITS_MAX
from nomospace.law.tree import UNITS
from nomospace.terms import Compound, Term, oversize

HISTORY_MAX: Final = 256
"""How many of its last rulings a membership can explain from memory."""
HISTORY_BYTES_MAX: Final = 1 << 18
"""And about how many bytes these have together; past it the last one is left."""
PART_BYTES: Final = 16
"""What each part of an event counts for, besides the characters of a text."""
PARTS_WALKED: Final = 100
"""An event with more is not walked, which takes long, but weighed."""
FORGOTTEN_AT_ONCE: Final = 64
"""How many rulings more there are before the oldest are forgotten, together."""
FEW_TERMS: Final = 128
"""The places of so many terms are gone through when rulings are forgotten; else what they put."""
COPIED_MAX: Final = 20_000
"""The most terms and obligations that are copied to explain a ruling after which they changed."""
REORDERED_A_UNIT: Final = 32
"""Terms of a state that one unit puts in order again, where one of them takes an old place."""
OPERATIONS_FREE: Final = 8
"""Rulings of no more operations carry them out for nothing; others pay two units for each."""


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


_LEAVE: Final = Leave()
_NO_UNITS: Final[Units] = [0]


class Membership:
    """One agent's membership in a community, as a core: told events, answers with effects."""

    __slots__ = ("_first", "_full", "_heavy", "_history", "_large", "ended", "home", "law",
                 "obligations", "origins", "seq", "shown", "spent", "state")  # fmt: skip

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
        effects.append(_LEAVE)  # the record takes its place when all is told
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
                    self._pass_on(operations, effects, units)
                elif operations:
                    recorded = then is not None and not law.growing and then.has(operations)
                    size = len(then.operations) if recorded and then is not None else 0
                    if not recorded and (
                        len(operations) != 1 or not passes_on(operations[0], event)
                    ):
                        size = check_ruling(operations, law.growing)
                    self._carry_out(operations, now, delta, unmet, effects, units)
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
        told = event.args + operations if law.growing else event.args
        room, left, parts = 0, PARTS_WALKED, [told]
        while parts and left > 0:  # here, as every ruling comes by
            some = parts.pop()
            left -= len(some)
            for part in some if left > 0 else ():
                if type(part) is str or type(part) is bytes:
                    room += len(part)
                elif type(part) is Compound:
                    parts.append(part.args)
                elif type(part) is tuple:
                    parts.append(part)
        room += PART_BYTES * (PARTS_WALKED - left)
        self._heavy += room if left > 0 else room_of(told)
        effects[at] = RecordRuling(ruling)
        if stopped is not None and event.kind != "exception":
            what = stopped.operation
            if what is None or oversize(what) is not None:  # an event is recorded: it has a limit
                what = Compound("ruling", (event.term,))
            follows = Event("exception", (what, stopped.reason))
            also = None if then is None else Bounded(then.prices, None)
            try:
                self._rule(follows, now, effects, None, (), also, slice, decided)
            except BudgetCut:  # both are ruled on in one step
                self._history.pop()
                self._large = large_before
                self._unrule(seq, effects, at, before)
                raise
        if len(self._history) >= self._full or self._heavy > HISTORY_BYTES_MAX:
            self._forget()

    def _unrule(self, seq: int, effects: list[Effect], at: int, before: tuple[Change, ...]) -> None:
        """Let all be as before an event that is not ruled on yet."""
        del effects[at:]
        self.seq = seq - 1
        self._revert(list(before))

    # -- carrying out ----------------------------------------------------------------------

    @staticmethod
    def _pass_on(operations: tuple[Operation, ...], effects: list[Effect], units: Units) -> None:
        """The messages of a ruling, as effects."""
        for operation in operations:
            assert type(operation) is Compound
            args: tuple[Any, ...] = operation.args  # of the kinds that `finish` lets pass
            if operation.name == "forward":
                sender, message, to = args
                if type(to) is str:
                    effects.append(Forward(sender, message, to))
                else:
                    check_copies(message, to, units)
                    spend(units, len(to))
                    effects.extend([Forward(sender, message, one) for one in to])
            elif operation.name == "deliver":
                effects.append(Deliver(args[0], args[1]))

    def _carry_out(
        self,
        operations: tuple[Operation, ...],
        now: int,
        delta: list[Change],
        unmet: list[int],
        effects: list[Effect],
        units: Units,
    ) -> None:
        if len(operations) > OPERATIONS_FREE:
            spend(units, 2 * len(operations))
        for index, operation in enumerate(operations):
            if type(operation) is not Compound:  # quit
                self.ended = True
                delta.append(("quit", 0, None, None))
                effects.append(_LEAVE)
                continue
            name = operation.name
            args: tuple[Any, ...] = operation.args  # of the kinds that `finish` lets pass
            if name == "forward" or name == "multicast":
                sender, message, to = args
                if type(to) is str:
                    effects.append(Forward(sender, message, to))
                else:
                    check_copies(message, to, units)
                    spend(units, len(to))
                    effects.extend([Forward(sender, message, one) for one in to])
            elif name == "deliver":
                effects.append(Deliver(args[0], args[1]))
            elif name == "imposeObligation":
                unit = UNITS[args[2]] if len(args) == 3 else 1_000_000
                amount = args[1]
                small = type(amount) is int and -1_000_000 < amount < 1_000_000
                after = amount * unit if small else micros(amount, unit)
                self._impose(args[0], now + after, delta, units)
            elif not self._change(name, args, delta, effects, units):
                unmet.append(index)

    def _change(
        self,
        name: str,
        args: tuple[Any, ...],
        delta: list[Change],
        effects: list[Effect],
        units: Units,
    ) -> bool:
        """A change of state; whether it found something to change."""
        state = self.state
        if name == "+":
            term = args[0]
            if type(term) is Compound and term.name == "obligation" and len(term.args) == 2:
                what, due = term.args
                assert isinstance(due, int | float)
                self._impose(what, micros(due), delta, units)
                return True
            if state.size >= self._most(units):
                raise Stop("tooLarge")
            delta.append(("+", state.add(term), term, None))
        elif name == "-":
            found = state.find(args[0], units)
            if found is None:
                return False
            state.drop(*found)
            delta.append(("-", *found, None))
        elif name == "<-":
            found = state.find(args[0], units)
            if found is None:
                return False
            spend(units, state.disorder(found[0], args[1]) // REORDERED_A_UNIT)
            state.swap(*found, args[1])
            delta.append(("<-", *found, args[1]))
        elif name == "incr" or name == "dcr":
            found = state.find(args[0], units)
            if found is None:
                return False
            place, old = found
            assert type(old) is Compound
            new = Compound(
                old.name, (arith2("+" if name == "incr" else "-", old.args[0], args[1], units),)
            )
            spend(units, state.disorder(place, new) // REORDERED_A_UNIT)
            state.swap(place, old, new)
            delta.append(("<-", place, old, new))
        elif name == "repealObligation":
            gone = self.obligations.find_all(args[0], units)
            for place, term in gone:
                delta.append(("undue", place, term, self.obligations.lift(place)[0]))
            return bool(gone)
        elif name == "release":
            effects.append(Release(args[0], args[1]))
        else:
            assert name == "signal", name
            effects.append(Signal(args[0]))
        return True

    def _most(self, units: Units) -> int:
        """How many terms there may be, and how many obligations."""
        return SPACE_STATE_MAX if self._first and units[0] >= 0 else STATE_MAX

    def _impose(self, term: Term, due: int, delta: list[Change], units: Units) -> None:
        if self.obligations.size >= self._most(units):
            raise Stop("tooLarge")
        delta.append(("due", self.obligations.impose(term, due), term, due))

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

    def _forget(self) -> None:
        """Forget the oldest rulings, but not whose work what they put is."""
        left = self._full - FORGOTTEN_AT_ONCE
        if self._heavy > HISTORY_BYTES_MAX:  # all but the last event, and what became of it
            left = 2 if self._history[-1].event.kind == "exception" else 1
        rulings = self._history[:-left]
        del self._history[: len(rulings)]
        self._heavy = 0
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
