"""The budget of one event: what is spent is counted, and at its end the evaluation stops.

Comparing is free up to `COMPARED_FREE`, which no message of ordinary size reaches; past it, each
part compared costs two units. A law may hold terms as large as it likes, but not look at them for
nothing.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from nomospace.law.prelude import UNITS_MAX
from nomospace.terms import Compound, Term
from nomospace.terms.values import weigh

Units: TypeAlias = list[int]
"""A one-item list: the units spent on the event so far."""

COMPARED_FREE: Final = 24
"""Compounds and lists (and each 16 items of one) that one comparison may walk for nothing."""


class Stop(Exception):
    """Ends the evaluation of an event: the ruling is empty and an `exception` event follows.

    `operation` is the one that cannot be carried out, or `None` when the evaluation itself
    stopped; then the exception's first argument is `ruling(Event)`.
    """

    def __init__(self, reason: str, operation: Term | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.operation = operation


def spend(units: Units, count: int) -> None:
    """Count units, and stop the evaluation when they are used up."""
    units[0] += count
    if units[0] > UNITS_MAX:
        raise Stop("budget")


def same_for(units: Units, a: Term, b: Term) -> bool:
    """`terms.same`, paid for."""
    if a is b:
        return True
    kind = a.__class__
    if kind is not b.__class__:
        return False
    if kind is not Compound and kind is not tuple:
        return bool(a == b)
    equal, work = weigh(a, b)
    if work > COMPARED_FREE:
        spend(units, 2 * (work - COMPARED_FREE))
    return equal
