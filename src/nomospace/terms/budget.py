"""Budgets: what it costs to tell whether one tuple fits one template, and slices of longer work.

A unit is a small step, about a quarter of a microsecond: a comparison, a field tried for a pattern,
two properties noted, a pair of terms compared. Steps are paid for before they are taken. Most
templates cost a few units; what would cost more than `TEST_UNITS_MAX` is stopped, and whoever asked
is told so (`TestTooDear`). Who tests many tuples can count what each has cost (`Budget.spent`).
"""

from __future__ import annotations

from typing import Final

from nomospace.errors import LimitReached
from nomospace.terms.values import Compound, Term

TEST_UNITS_MAX: Final = 8_000
"""What the test of one tuple may cost: about two milliseconds. It cannot be cut."""
WATCH_UNITS_MAX: Final = 2_000
"""What it may cost for one who waits, or a reaction, as there may be many, or in a first quick
look: half a millisecond."""
SLICE_UNITS: Final = 3_000
"""What is searched before others have their turn: a good half of a millisecond, and two more
where it ends with a dear test."""
COMPARED_FREE: Final = 2_048
"""Characters that are compared within one unit."""


class TestTooDear(LimitReached):
    """To tell whether one tuple fits a template would cost too much."""

    __test__ = False  # it is no test of pytest's, whatever its name
    code = "limits.test"
    what: str = "the test of one tuple by this template, in units,"
    limit: int = TEST_UNITS_MAX
    advice: str = (
        "write a shorter predicate, tie fewer fields by same(…), or give some of them values"
    )


class Budget:
    """Units that are left for one test.

    >>> budget = Budget(5)
    >>> budget.spend(3)
    >>> budget.left
    2
    >>> budget.spend(3)
    Traceback (most recent call last):
    nomospace.terms.budget.TestTooDear: the test of one tuple by this template, in units, goes \
past the limit of 8,000; write a shorter predicate, tie fewer fields by same(…), or give some of \
them values
    """

    __slots__ = ("_named", "left")

    def __init__(self, left: int = TEST_UNITS_MAX) -> None:
        self.left = left
        self._named: dict[int, dict[str, Term]] | None = None

    @property
    def spent(self) -> int:
        """What a test has cost so far that began with all units."""
        return TEST_UNITS_MAX - self.left

    def share(self) -> None:
        """Have units for another template and the same tuple: what is known of it is kept."""
        self.left = WATCH_UNITS_MAX

    def renew(self, left: int = TEST_UNITS_MAX) -> None:
        """Have all units again, or some, for the test of another tuple."""
        self.left = left
        self._named = None

    def spend(self, units: int) -> None:
        """Pay for steps yet to be taken; `TestTooDear` when there are not so many units left."""
        self.left -= units
        if self.left < 0:
            raise TestTooDear

    def named(self, listed: tuple[Term, ...]) -> dict[str, Term]:
        """The properties of an object by name, the first where a name stands twice.

        Made once in a test, however often it asks: the object lives as long.
        """
        if self._named is None:
            self._named = {}
        found = self._named.get(id(listed))
        if found is None:
            self.spend(len(listed) // 2)
            found = {}
            for item in listed:
                if type(item) is Compound and len(item.args) == 1:
                    found.setdefault(item.name, item.args[0])
            self._named[id(listed)] = found
        return found


class Slice:
    """Units that may be spent before others have their turn."""

    __slots__ = ("left",)

    def __init__(self, left: int | None = None) -> None:
        self.left = SLICE_UNITS if left is None else left

    def renew(self) -> None:
        """Begin the next slice."""
        self.left = SLICE_UNITS


def same_within(a: Term, b: Term, budget: Budget) -> bool:
    """`values.same`, paid for part by part.

    >>> same_within((1, "a"), (1, "a"), Budget()), same_within(True, 1, Budget())
    (True, False)
    """
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if (type(a) is str and type(b) is str) or (type(a) is bytes and type(b) is bytes):
        if len(a) != len(b):
            return False
        if len(a) > COMPARED_FREE:
            budget.spend(len(a) // COMPARED_FREE)
        return bool(a == b)
    if type(a) is not Compound and type(a) is not tuple:
        return bool(a == b)
    pending: list[tuple[Term, Term]] = [(a, b)]
    seen: set[tuple[int, int]] = set()  # pairs of shared parts are compared once
    while pending:
        x, y = pending.pop()
        if x is y or (id(x), id(y)) in seen:
            continue
        seen.add((id(x), id(y)))
        if type(x) is Compound and type(y) is Compound:
            if x.name != y.name:
                return False
            x, y = x.args, y.args
        assert type(x) is tuple
        assert type(y) is tuple
        if len(x) != len(y):
            return False
        budget.spend(2 + len(x) // 4)
        for left, right in zip(x, y):  # noqa: B905 (`strict` takes a third of the time)
            if left is right:
                continue
            kind = left.__class__
            if kind is not right.__class__:
                return False
            if kind is Compound or kind is tuple:
                pending.append((left, right))
            elif type(left) is str or type(left) is bytes:
                if len(left) > COMPARED_FREE:
                    budget.spend(len(left) // COMPARED_FREE)
                if left != right:
                    return False
            elif left != right:
                return False
    return True
