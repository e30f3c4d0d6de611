"""The plainest controller that is right, and the real one held against it.

`PlainMembership` keeps its state in a list, looks at everything on every event, asks the
interpreter, and throws a copy away when a ruling cannot be carried out. It is what `control`
promises, without any of what makes `control` quick: places, indexes, heaps, changes taken back, and
rulings that carry themselves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from nomospace.control import (
    TICK,
    Deliver,
    Effect,
    Event,
    Forward,
    Leave,
    Membership,
    RecordRuling,
    Release,
    Signal,
    Snapshot,
)
from nomospace.law import CompiledLaw
from nomospace.law.arithmetic import arith2, micros
from nomospace.law.bag import Bag
from nomospace.law.budget import Stop
from nomospace.law.prelude import OPERATIONS_MAX, UNITS_MAX
from nomospace.law.tree import UNITS
from nomospace.terms import Compound, Term, match, oversize, same
from nomospace.terms.values import as_compound
from nomospace_lab.testing.differential import alike
from nomospace_lab.testing.generate import HOME, EventCase

PROBE_UNITS: Final = 3_000
"""Events that take more to rule on are left out: what budgets do is `differential`'s business."""


class PlainObligation(NamedTuple):
    """A pending obligation; `number` counts impositions."""

    due: int
    number: int
    term: Term


class PlainRuling(NamedTuple):
    """What must be known of one ruling: a `RecordRuling` without places and changes."""

    event: Event
    rule: str | None
    operations: tuple[Term, ...]
    unmet: tuple[int, ...]
    stopped: str | None
    due_at: int | None
    state: list[Term]  # as it was when the event came


class PlainMembership:
    """One membership, with no thought for speed."""

    def __init__(
        self, law: CompiledLaw, state: tuple[Term, ...], pending: list[PlainObligation]
    ) -> None:
        self.law = law
        self.state: list[Term] = list(state)
        self.pending: list[PlainObligation] = list(pending)
        self.imposed = len(pending)
        self.ended = False

    def handle(self, event: Event | None, now: int) -> list[Any]:
        """What follows from an event, or with `None` only from the time."""
        said: list[Any] = []
        for one in sorted(self.pending):
            if one.due <= now and not self.ended and one in self.pending:
                self.pending.remove(one)
                self._rule(Event("obligationDue", (one.term,)), now, said, one.due)
        if event is not None and not self.ended:
            self._rule(event, now, said, None)
        return said

    def _rule(self, event: Event, now: int, said: list[Any], due_at: int | None) -> None:
        before = list(self.state), list(self.pending), self.imposed, self.ended
        rule: str | None = None
        operations: tuple[Any, ...] = ()
        unmet: list[int] = []
        effects: list[Any] = []
        stopped = None
        try:
            outcome = self.law.interpreter.rule(
                event.kind,
                HOME,
                event.args,
                Bag(self.state),
                Bag(one.term for one in sorted(self.pending, key=lambda one: one.number)),
                now,
                [0],
            )
            if outcome is not None:
                index, operations = outcome
                rule = self.law.tree.rules[index].name
                if len(operations) > OPERATIONS_MAX or oversize(operations) is not None:
                    raise Stop("tooLarge")
                for number, operation in enumerate(operations):
                    if not self._carry_out(operation, now, effects):
                        unmet.append(number)
        except Stop as stop:
            self.state, self.pending, self.imposed, self.ended = before
            rule, operations, unmet, effects = None, (), [], []
            stopped = stop
        reason = None if stopped is None else stopped.reason
        said.append(
            PlainRuling(event, rule, operations, tuple(unmet), reason, due_at, list(before[0]))
        )
        said += effects
        if stopped is not None and event.kind != "exception":
            what = stopped.operation
            if what is None:
                what = Compound("ruling", (event.term,))
            self._rule(Event("exception", (what, stopped.reason)), now, said, None)

    def _carry_out(self, operation: Any, now: int, effects: list[Any]) -> bool:
        """Do one operation; whether it found something to change."""
        if operation == "quit":
            self.ended = True
            effects.append(Leave())
            return True
        name, args = operation.name, operation.args
        match name:
            case "forward" | "multicast":
                everyone = (args[2],) if isinstance(args[2], str) else args[2]
                effects.extend(Forward(args[0], args[1], one) for one in everyone)
            case "deliver":
                effects.append(Deliver(args[0], args[1]))
            case "release":
                effects.append(Release(args[0], args[1]))
            case "signal":
                effects.append(Signal(args[0]))
            case "imposeObligation":
                unit = UNITS[args[2]] if len(args) == 3 else 1_000_000
                self._impose(args[0], now + micros(args[1], unit))
            case "repealObligation":
                left = [one for one in self.pending if not match_(args[0], one.term)]
                found = len(left) < len(self.pending)
                self.pending = left
                return found
            case "+":
                (term,) = args
                if getattr(term, "name", "") == "obligation" and len(term.args) == 2:
                    self._impose(term.args[0], micros(term.args[1]))
                else:
                    self.state.append(term)
            case _:
                return self._change(name, args)
        return True

    def _impose(self, term: Term, due: int) -> None:
        self.pending.append(PlainObligation(due, self.imposed, term))
        self.imposed += 1

    def _change(self, name: str, args: tuple[Any, ...]) -> bool:
        for at, term in enumerate(self.state):
            if match_(args[0], term):
                if name == "-":
                    del self.state[at]
                elif name == "<-":
                    self.state[at] = args[1]
                else:
                    old = as_compound(term)
                    number = arith2("+" if name == "incr" else "-", old.args[0], args[1], [0])
                    self.state[at] = Compound(old.name, (number,))
                return True
        return False


match_ = match  # `match` is also a word of the language inside `_carry_out`


# -- the two side by side --------------------------------------------------------------------


def difference(law: CompiledLaw, cases: Iterator[EventCase], rng: Random) -> tuple[int, str | None]:
    """Lead both through events while time passes; how many, and the first difference if any.

    Now and then the real one is stored and restored, which must make no difference.
    """
    first = next(cases)
    now = rng.randrange(100) * 500_000
    pending = [
        PlainObligation(now + rng.choice((0, 1, 400_000, 2_000_000, 90_000_000)), number, term)
        for number, term in enumerate(first.obligations)
    ]
    plain = PlainMembership(law, first.state, pending)
    real = Membership.restore(law, _snapshot(law, first.state, pending))
    story: list[str] = [f"state {first.state}", f"pending {pending}"]
    count = 0
    for case in cases:
        now += rng.choice((0, 0, 1, 500_000, 2_000_000, 60_000_000, 3_600_000_000))
        if rng.random() < 0.15:
            real = Membership.restore(law, real.snapshot())
            story.append("restored")
        event = Event(case.event, case.args) if rng.random() < 0.9 else None
        if event is not None and not _soon(law, plain, event, now):
            continue
        story.append(f"at {now}: {'time passes' if event is None else event.term!r}")
        count += 1
        expected = plain.handle(event, now)
        told = _told(real, real.handle(TICK if event is None else event, now=now))
        if not _alike_all(told, expected) or not _same_members(real, plain):
            story += [f"real   {told}", f"plain  {expected}"]
            story += [f"real   {list(real.state)} {real.pending()}", f"plain  {plain.state}"]
            return count, f"{law.tree.source.text}\n" + "\n".join(story)
    return count, None


def _snapshot(
    law: CompiledLaw, state: tuple[Term, ...], pending: list[PlainObligation]
) -> Snapshot:
    places = tuple(enumerate(state))
    obligations = tuple([(one.number, one.term, one.due) for one in pending])
    return Snapshot(HOME, law.hash, 0, len(places), len(obligations), places, obligations, False)


def _soon(law: CompiledLaw, plain: PlainMembership, event: Event, now: int) -> bool:
    obligations = Bag(one.term for one in plain.pending)
    units = [UNITS_MAX - PROBE_UNITS]
    try:
        law.interpreter.rule(
            event.kind, HOME, event.args, Bag(plain.state), obligations, now, units
        )
    except Stop as stop:
        return stop.reason != "budget"
    return True


def _told(member: Membership, effects: list[Effect]) -> list[Any]:
    """Effects with each record as what must be known of it."""
    found: list[Any] = []
    for effect in effects:
        if isinstance(effect, RecordRuling):
            one = effect.ruling
            state, _ = member.before(one.seq)
            rest = (one.operations, one.unmet, one.stopped, one.due_at, list(state))
            found.append(PlainRuling(one.event, one.rule, *rest))
        else:
            found.append(effect)
    return found


def _alike_all(one: list[Any], two: list[Any]) -> bool:
    return len(one) == len(two) and all(map(_alike, one, two))


def _alike(one: Any, two: Any) -> bool:
    if not isinstance(one, PlainRuling) or not isinstance(two, PlainRuling):
        return type(one) is type(two) and all(
            same(getattr(one, name), getattr(two, name)) for name in one.__struct_fields__
        )
    return (
        same(one.event.term, two.event.term)
        and one[3:6] == two[3:6]
        and one.rule == two.rule
        and same(tuple(one.state), tuple(two.state))
        and len(one.operations) == len(two.operations)
        and all(map(alike, one.operations, two.operations))
    )


def _same_members(real: Membership, plain: PlainMembership) -> bool:
    pending = [(one.due, one.term) for one in sorted(plain.pending)]
    return (
        real.ended == plain.ended
        and same(tuple(real.state), tuple(plain.state))
        and same(tuple(real.pending()), tuple(pending))
        and real.next_deadline() == (pending[0][0] if pending else None)
    )
