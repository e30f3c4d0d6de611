"""The budget of one event: what is spent is counted, and at its end the evaluation stops.

A unit is the same amount of work everywhere: about a third of a microsecond, and at most a few
hundred bytes. So everything is charged by the size of all its operands, and before it is done; what
cannot be known before is charged step by step on the way. `law.prelude` has the list of prices,
`law.prices` what a law's own text costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from nomospace.law.prelude import UNITS_MAX
from nomospace.terms import Compound, Term, weight

PRICES: Final = 8
"""The version of the list of prices. Whoever changes what anything costs counts it up: records tell
under which prices they were ruled on, and a replay goes by that (`control.bounded`)."""

Units: TypeAlias = list[Any]
"""The units spent on the event so far, in a one-item list; or as `in_parts` makes it."""
_Parts: TypeAlias = tuple[Any, ...]
"""Terms that are told apart by their classes, which are asked only once."""

COMPARED_FREE: Final = 2
"""Compounds and lists (and each 4 items of one) that one comparison may walk for nothing."""
COMPARED_AT_ONCE: Final = 100
"""After so many of these what was walked is paid for."""
TEXT_FREE: Final = 2_000
"""Characters that one comparison of texts may look at for nothing; each as many more cost a unit.
A text that differs in length is told apart at once."""
COPIED_A_UNIT: Final = 100
"""Items of a list that is taken apart, or characters of a text, that are copied for one unit."""
FREE_AT_ONCE: Final = 10_000
"""Work without a price, in terms gone through, after which an evaluation in parts gives way."""
WRITTEN_A_UNIT: Final = 64
"""Characters of a text in a term that are written out for one unit."""
PAID_AT_ONCE: Final = 100
"""Units for writing a term out that are paid together."""
KEPT_A_UNIT: Final = 16
"""Items of a list that a built-in puts together for one unit."""


class Stop(Exception):
    """Ends the evaluation of an event: the ruling is empty and an `exception` event follows.

    `operation` is the one that cannot be carried out, or `None` when the evaluation itself
    stopped; then the exception's first argument is `ruling(Event)`.
    """

    def __init__(self, reason: str, operation: Term | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.operation = operation


class BudgetCut(Exception):
    """Ends an evaluation that has used up the part of its budget at hand; nothing is decided.

    `event` is the one that was evaluated, where that is known.
    """

    event: Any = None


def in_parts(part: int, more: Callable[[], bool] | None = None, *, whole: int = UNITS_MAX) -> Units:
    """A budget of which only a part is at hand.

    When that is used up the evaluation ends with `BudgetCut`; or `more` is called, and whatever it
    does meanwhile, the evaluation then goes on with another part, unless it says that it must not.
    What an evaluation comes to is the same in one part or in many: so are the units it may spend.

    The items: what is spent of the part at hand, counted so that the part ends at `UNITS_MAX` (so
    that compiled code compares with a constant), what is kept back, `more`, how much a part is,
    what was kept back at first, and what was done without a price (`rest`).
    """
    part = min(part, whole)
    return [UNITS_MAX - part, whole - part, more, part, whole - part, 0]


def left_of(units: Units) -> int:
    """What may still be spent, of all parts together."""
    return UNITS_MAX - int(units[0]) + (int(units[1]) if len(units) > 1 else 0)


def used_up(units: Units) -> bool:
    """Whether an evaluation that has used up what was at hand has to end; else it has more now."""
    if len(units) == 1:
        return True
    over, kept, more = units[0] - UNITS_MAX, units[1], units[2]
    if over > kept or more is None or more():
        return True
    part = max(over, min(kept, units[3]))
    units[0] -= part
    units[1] -= part
    return False


def ending(units: Units) -> Stop | BudgetCut:
    """What ends an evaluation whose units are used up: all of them, or a part."""
    if len(units) > 1 and 0 < units[0] - UNITS_MAX <= units[1]:
        return BudgetCut()
    return Stop("budget")


def spend(units: Units, count: int) -> None:
    """Count units, and stop the evaluation when they are used up."""
    units[0] += count
    if units[0] > UNITS_MAX and used_up(units):
        raise ending(units)


def rest(units: Units, work: int) -> None:
    """Count work that has no price: an evaluation in parts gives way in the middle of it."""
    if len(units) > 1:
        units[5] += work
        if units[5] > FREE_AT_ONCE:
            units[5] = 0
            if units[2] is None or units[2]():
                raise BudgetCut


def pay_for(units: Units, term: Term) -> None:
    """Pay for writing a term out: a unit for two parts in it, and for each bit of long texts.

    A part that is shared is paid for wherever it stands: it is written there too.
    """
    todo: list[_Parts] = [(term,)]
    price = 0
    while todo:
        parts = todo.pop()
        price += 1 + len(parts) // 2
        if price > PAID_AT_ONCE:
            spend(units, price)
            price = 0
        for part in parts:
            kind = part.__class__
            if kind is Compound:
                inside = part.args
                if len(inside) != 1 or inside[0].__class__ is not str:
                    todo.append(inside)
                    continue
                price += 1  # the commonest, without a round
                part, kind = inside[0], str
            if kind is str or kind is bytes:
                if len(part) > WRITTEN_A_UNIT:
                    price += len(part) // WRITTEN_A_UNIT
            elif kind is tuple:
                todo.append(part)
    spend(units, price)


def same_for(units: Units, a: Term, b: Term) -> bool:
    """`terms.same`, paid for on the way: two units for each pair of compounds or lists.

    The price goes by what the terms are, never by whether they are one object or share parts: a
    replay reads them from bytes, and compiled code makes fewer of them than the interpreter does.
    So a term whose parts are shared is walked as if they were not, as far as the units go.
    """
    if a.__class__ is not b.__class__:
        return False
    if type(a) is Compound and type(b) is Compound:
        if a.name != b.name:
            return False
        return _same_parts(units, a.args, b.args)
    if type(a) is tuple and type(b) is tuple:
        return _same_parts(units, a, b)
    if (
        (type(a) is str or type(a) is bytes)
        and (type(b) is str or type(b) is bytes)
        and len(a) == len(b) > TEXT_FREE
    ):
        spend(units, len(a) // TEXT_FREE)
    return bool(a == b)


def _same_parts(units: Units, a: _Parts, b: _Parts) -> bool:
    """Whether the parts of two terms are the same."""
    pending = [a, b]
    work = -COMPARED_FREE  # that is not paid for yet
    equal = True
    while pending and equal:
        y, x = pending.pop(), pending.pop()
        size = len(x)
        if size != len(y):
            equal = False
            break
        work += 1 + size // 4
        if work >= COMPARED_AT_ONCE:
            spend(units, 2 * work)
            work = 0
        for left, right in zip(x, y):  # noqa: B905 (`strict` takes a third of the time)
            kind = left.__class__
            if kind is not right.__class__:
                equal = False
                break
            if kind is Compound:
                if left.name != right.name:
                    equal = False
                    break
                left, right = left.args, right.args
                if len(left) != 1 or len(right) != 1:
                    pending += left, right
                    continue
                (one,), (other,) = left, right  # the commonest, told apart without a round
                kind = one.__class__
                if kind is not other.__class__:
                    equal = False
                    break
                if kind is Compound or kind is tuple:
                    pending += left, right
                    continue
                work += 1
                left, right = one, other
            elif kind is tuple:
                pending += left, right
                continue
            if (kind is str or kind is bytes) and len(left) > TEXT_FREE and len(left) == len(right):
                work += len(left) // TEXT_FREE
            if left != right:
                equal = False
                break
    if work > 0:
        spend(units, 2 * work)
    return equal


def compare_price(a: Term, b: Term) -> int:
    """What it costs to compare two terms."""
    units = [-_MUCH]
    same_for(units, a, b)
    return units[0] + _MUCH


_MUCH: Final = 10**12


def bulk(term: Term) -> int:
    """How much a term is to walk, written out: in units, about. Texts count little."""
    if type(term) is Compound or type(term) is tuple:
        return 1 + weight(term) // 16
    return len(term) // TEXT_FREE if type(term) is str or type(term) is bytes else 0
