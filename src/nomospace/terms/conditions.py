"""Predicates as functions: whether one holds of an object or of a field, and what the test costs.

What a predicate means is said in `predicate`, which reads it. Text becomes a closure here, and is
remembered for the texts used most.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

from nomospace.terms.budget import COMPARED_FREE, Budget, TestTooDear, same_within
from nomospace.terms.objects import MISSING, Missing
from nomospace.terms.predicate import (
    Among,
    Element,
    Every,
    Literal,
    Negated,
    Operand,
    Path,
    Predicate,
    PredicateComparison,
    Some,
    parse,
)
from nomospace.terms.scanner import Plain
from nomospace.terms.values import OBJECT, Compound, Term

_REMEMBERED_MAX: Final = 512
_FEW: Final = 12
"""Properties that are looked through for a name at once; more are noted by their names."""

Test: TypeAlias = Callable[[Term], bool]
Priced: TypeAlias = Callable[[Term, Budget], bool]
"""A test that is paid for."""


class Predicates(Protocol):
    """What makes tests of texts: `priced`, or `unpriced`."""

    def __call__(self, text: str, *, field: bool) -> Priced: ...


@lru_cache(maxsize=_REMEMBERED_MAX)
def compiled(text: str, *, field: bool) -> Test:
    """The predicate as a function of the field, or of the object.

    >>> small = compiled("> 5 and <= 9", field=True)
    >>> small(7), small(7.5), small(5), small("7")
    (True, True, False, False)
    """
    test = priced(text, field=field)
    return lambda subject: test(subject, Budget())


def price_of(text: str, *, field: bool) -> int:
    """The units that a test costs, besides what hangs on the value.

    >>> price_of("price.amount < 5000", field=False)
    5
    """
    return _price(parse(text, field=field))


@lru_cache(maxsize=_REMEMBERED_MAX)
def priced(text: str, *, field: bool) -> Priced:
    """The same, paid for from a budget: all its steps at once, large objects as they are met.

    >>> budget = Budget()
    >>> priced("> 5 and <= 9", field=True)(7, budget), budget.spent
    (True, 2)
    """
    price, test = price_of(text, field=field), unpriced(text, field=field)

    def check(subject: Term, budget: Budget) -> bool:
        budget.left -= price
        if budget.left < 0:
            raise TestTooDear
        return test(subject, budget)

    return check


@lru_cache(maxsize=_REMEMBERED_MAX)
def unpriced(text: str, *, field: bool) -> Priced:
    """The same, of which only large objects are paid for: whoever tests has paid for the rest."""
    return _test(parse(text, field=field))


_SIGNS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED: Final = (int, float, str, bytes)


def holds(
    left: Term | Missing, sign: str, right: Term | Missing, budget: Budget | None = None
) -> bool:
    """One comparison of two values, by the rules above.

    >>> holds(1, "=", 1.0), holds("7", "<", 8), holds("7", "!=", 8), holds(None, "=", None)
    (True, False, False, True)
    """
    if left is MISSING or right is MISSING:
        return False
    kind, other = left.__class__, right.__class__
    if kind is float:
        kind = int
    if other is float:
        other = int
    if kind is other and kind in _ORDERED:
        if budget is not None and isinstance(left, str | bytes) and len(left) > COMPARED_FREE:
            budget.spend(len(left) // COMPARED_FREE)
        return _SIGNS[sign](left, right)
    if kind is not other or sign not in ("=", "!="):  # nothing else has an order
        return False
    return same_within(left, right, budget or Budget()) is (sign == "=")


def _price(node: Predicate) -> int:
    """The steps of a test when all its parts are looked at."""
    match node:
        case PredicateComparison(left, _, right):
            return 1 + _steps(left) + _steps(right)
        case Among(left, _):
            return 2 + _steps(left)
        case Every(parts) | Some(parts):
            return sum(map(_price, parts))
        case Negated(part):
            return _price(part)


def _steps(operand: Operand) -> int:
    return 0 if isinstance(operand, Literal) else 2 * len(operand[0])


def _test(node: Predicate) -> Priced:
    match node:
        case PredicateComparison(left, sign, right):
            return _comparing(left, sign, right)
        case Among(left, values):
            return _among(left, values)
        case Every(parts):
            return _every([_test(part) for part in parts])
        case Some(parts):
            return _some([_test(part) for part in parts])
        case Negated(part):
            inner = _test(part)
            return lambda subject, budget: not inner(subject, budget)


def _every(tests: list[Priced]) -> Priced:
    if len(tests) == 2:  # the commonest, without a generator
        left, right = tests
        return lambda subject, budget: left(subject, budget) and right(subject, budget)
    return lambda subject, budget: all(test(subject, budget) for test in tests)


def _some(tests: list[Priced]) -> Priced:
    return lambda subject, budget: any(test(subject, budget) for test in tests)


def _comparing(left: Operand, sign: str, right: Operand) -> Priced:
    if isinstance(left, Literal) and (left.value is None or not isinstance(right, Literal)):
        left, sign, right = right, _TURNED[sign], left
    if isinstance(left, Element) and left.several and isinstance(right, Literal):
        return _some_element(left, lambda inner: _comparing(inner, sign, right))
    if any(isinstance(side, Element) and side.several for side in (left, right)):
        return _comparing_all(left, sign, right)
    get = _getting(left)
    if not isinstance(right, Literal):
        other = _getting(right)
        return lambda subject, budget: holds(
            get(subject, budget), sign, other(subject, budget), budget
        )
    value = right.value
    if value is None and sign == "!=":
        return lambda subject, budget: (
            (found := get(subject, budget)) is not None and found is not MISSING
        )
    if value is None or type(value) is bool:
        return lambda subject, budget: holds(get(subject, budget), sign, value, budget)
    kinds = (str,) if type(value) is str else (int, float)
    compare = _SIGNS[sign]
    return lambda subject, budget: (
        (found := get(subject, budget)).__class__ in kinds and compare(found, value)
    )


def _some_element(element: Element, test_of: Callable[[Operand], Priced]) -> Priced:
    """Whether a test holds for some element of an array, or for what is found in it."""
    array, inner = _split(element)
    test = test_of(inner)

    def check(subject: Term, budget: Budget) -> bool:
        return any(test(one, budget) for one in array(subject, budget))

    return check


def _comparing_all(left: Operand, sign: str, right: Operand) -> Priced:
    """Whether a comparison holds for some pair of what two operands stand for."""
    ones, others = _getting_all(left), _getting_all(right)

    def check(subject: Term, budget: Budget) -> bool:
        found, wanted = ones(subject, budget), others(subject, budget)
        budget.spend(len(found) * len(wanted))
        return any(holds(one, sign, other, budget) for one in found for other in wanted)

    return check


def _getting_all(
    operand: Operand,
) -> Callable[[Term, Budget], Sequence[Term | Missing]]:
    if not isinstance(operand, Element) or not operand.several:
        get = _getting(operand)
        return lambda subject, budget: (get(subject, budget),)
    array, inner = _split(operand)
    get = _getting(inner)
    return lambda subject, budget: [get(one, budget) for one in array(subject, budget)]


def _split(element: Element) -> tuple[Callable[[Term, Budget], tuple[Term, ...]], Path]:
    """What gives the elements that `any` stands for, paid for, and the path in each of them."""
    at = element.steps.index(None)
    get = _getting(Element(element.steps[:at]))
    names = tuple([step for step in element.steps[at + 1 :] if isinstance(step, str)])
    each = 1 + 2 * len(names)

    def array(subject: Term, budget: Budget) -> tuple[Term, ...]:
        found = get(subject, budget)
        if type(found) is not tuple:
            return ()
        budget.spend(len(found) * each)
        return found

    return array, Path(names)


def _among(left: Operand, values: tuple[Plain, ...]) -> Priced:
    if isinstance(left, Element) and left.several:
        return _some_element(left, lambda inner: _among(inner, values))
    get = _getting(left)
    # Python's own equality of numbers is ours here, but for booleans, which stand apart.
    plain = frozenset(value for value in values if type(value) is not bool)
    truths = tuple(value for value in values if type(value) is bool)

    def check(subject: Term, budget: Budget) -> bool:
        found = get(subject, budget)
        kind = found.__class__
        if kind is bool:
            return found in truths
        return kind is not Compound and kind is not tuple and found in plain

    return check


def _getting(operand: Operand) -> Callable[[Term, Budget], Term | Missing]:
    if isinstance(operand, Literal):
        value = operand.value
        return lambda subject, budget: value
    if isinstance(operand, Element):
        return _getting_element(operand)
    names = operand.names
    if not names:
        return lambda subject, budget: subject

    def walk(subject: Term, budget: Budget) -> Term | Missing:
        # `property_of` at each step, without the calls
        for name in names:
            if type(subject) is not Compound or subject.name != OBJECT:
                return MISSING
            parts = subject.args
            if len(parts) != 3 or type(parts[2]) is not tuple:
                return MISSING
            if type(parts[0]) is not str and not (parts[0] is None and parts[1] is None):
                return MISSING
            if len(parts[2]) > _FEW:
                held = budget.named(parts[2])
                if name not in held:
                    return MISSING
                subject = held[name]
                continue
            for item in parts[2]:
                if type(item) is Compound and item.name == name and len(item.args) == 1:
                    subject = item.args[0]
                    break
            else:
                return MISSING
        return subject

    return walk


def _getting_element(element: Element) -> Callable[[Term, Budget], Term | Missing]:
    steps = [
        step if isinstance(step, int) else _getting(Path((step,)))
        for step in element.steps
        if step is not None
    ]

    def walk(subject: Term, budget: Budget) -> Term | Missing:
        found: Term | Missing = subject
        for step in steps:
            if found is MISSING:
                return MISSING
            if not isinstance(step, int):
                found = step(found, budget)
            elif type(found) is tuple and step < len(found):
                found = found[step]
            else:
                return MISSING
        return found

    return walk
