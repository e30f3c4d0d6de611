"""What compiled code calls at run time, besides `law.runtime`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from nomospace.law.arithmetic import arith1, arith2, calculate, seconds
from nomospace.law.budget import COPIED_A_UNIT, Stop, Units, ending, same_for, spend, used_up
from nomospace.law.holes import LIST, PARTIAL, OpenTerm, Value, unifier
from nomospace.law.prelude import NESTED_MAX, OPERATIONS_MAX, UNITS_MAX
from nomospace.law.runtime import (
    SOLUTIONS,
    UNSET,
    candidates,
    delete_matching,
    equals,
    everything,
    finish,
)
from nomospace.terms import Compound, Term, Var, same


class Retreat(Exception):
    """Compiled code met a value it was not made for: the interpreter rules on the event."""


class _Budget:
    __slots__ = ()


BUDGET: Final = _Budget()
"""What a helper gives back when the budget is used up: raising through thousands of frames would
take longer than the budget allows."""


LATE_MAX: Final = 500
"""How long a tail may be that a list gets after it was written, for nothing. A helper that gives a
list back makes it anew in each call where compiled; the interpreter leaves a variable in it."""


def cost(units: Units, *tails: Term) -> None:
    """Charge for making lists out of these tails."""
    total = 0
    for tail in tails:
        if type(tail) is not tuple:
            raise Stop("typeError")  # a list ends in a list
        total += len(tail) // COPIED_A_UNIT
    if total:
        spend(units, total)


def join(items: tuple[Term, ...], tail: Term) -> tuple[Term, ...]:
    """`[items | tail]`, which is paid for."""
    if type(tail) is not tuple:
        raise Retreat
    return items + tail


def join_late(items: tuple[Term, ...], tail: Term) -> tuple[Term, ...]:
    """`[items | tail]`, where the tail was not known when the list was written."""
    if type(tail) is not tuple or len(tail) > LATE_MAX:
        raise Retreat
    return items + tail


def matching(pattern: Value, price: int, units: Units) -> Callable[[Term], bool]:
    """Whether an item fits a pattern with holes."""
    return unifier(pattern, price, [], units)


def equal_to(value: Term, units: Units) -> Callable[[Term], bool]:
    """Whether an item is this very value."""
    return lambda item: same_for(units, item, value)


Linked: TypeAlias = "tuple[Linked, Term, int] | None"


def push(linked: Linked, operation: Term) -> Linked:
    """Add an operation to a linked list `(before, operation, count)`."""
    count = 1 if linked is None else linked[2] + 1
    if count > OPERATIONS_MAX:
        raise Stop("tooLarge")
    return linked, operation, count


def flatten(linked: Linked) -> list[Term]:
    """The operations of a linked list, in order."""
    found = []
    while linked is not None:
        linked, operation, _ = linked
        found.append(operation)
    found.reverse()
    return found


HIGH: Final = 1 << 60
"""Plain arithmetic is safe between this and its opposite."""

NAMESPACE: Final[dict[str, Any]] = {
    "BUDGET": BUDGET,
    "C": Compound,
    "LIST": LIST,
    "Open": OpenTerm,
    "PARTIAL": PARTIAL,
    "HIGH": HIGH,
    "LOW": -HIGH,
    "NESTED_MAX": NESTED_MAX,
    "SOLUTIONS": SOLUTIONS,
    "UNITS_MAX": UNITS_MAX,
    "UNSET": UNSET,
    "Stop": Stop,
    "Var": Var,
    "arith1": arith1,
    "arith2": arith2,
    "calculate": calculate,
    "candidates": candidates,
    "cost": cost,
    "delete_matching": delete_matching,
    "ending": ending,
    "equal_to": equal_to,
    "equals": equals,
    "everything": everything,
    "finish": finish,
    "flatten": flatten,
    "join": join,
    "join_late": join_late,
    "matching": matching,
    "push": push,
    "same": same,
    "same_for": same_for,
    "seconds": seconds,
    "spend": spend,
    "tuple": tuple,
    "used_up": used_up,
    "str": str,
    "int": int,
    "float": float,
    "len": len,
}
"""The names that compiled code sees."""
