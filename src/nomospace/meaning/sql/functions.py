"""The built-in dependence functions as SQL, over values in columns.

A function has no value where an input is missing or of a kind it does not take, and where a divisor
is zero; `kind` is empty then. Arithmetic is that of doubles, which is exact for whole numbers up to
2**53 and the very arithmetic of Python for others. Beyond, Python counts whole numbers exactly and
a database does not; and results above 1e300 in size, or below 1e-300, are none, as databases fail
there. Where such numbers decide, use the engine in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from nomospace.meaning.sql import parts
from nomospace.meaning.sql.coding import EXACT
from nomospace.meaning.sql.flat import Flat, chosen, double, nothing, numbers, string, texts, zero
from nomospace.meaning.sql.values import all_of, any_of

_FAR: Final = 1e300
_NEAR: Final = 1e-300
"""Results outside these are none: there, databases fail, or give what Python does not."""
_DIGITS_MAX: Final = 15
_WHOLE: Final = 2.0**52
"""From here on a double has no part after the point."""
_HELD: Final = 2.0**53
"""Up to here a double holds every whole number."""


def is_built_in(name: str) -> bool:
    """Whether a database can compute a function. Others run in Python, on what was joined.

    >>> is_built_in("minus"), is_built_in("initial")
    (True, False)
    """
    return name in _BUILT_IN


def applied(name: str, inputs: Sequence[Flat]) -> Flat:
    """The value of a built-in function."""
    return _BUILT_IN[name](inputs)


def _arithmetic(step: type[exp.Binary]) -> Callable[[Sequence[Flat]], Flat]:
    def build(inputs: Sequence[Flat]) -> Flat:
        found: exp.Expr = inputs[0].num.copy()
        for value in inputs[1:]:
            found = exp.Paren(this=step(this=found, expression=value.num.copy()))
        power = 1 / len(inputs) if step is exp.Mul else 1.0
        tests = [test for value in inputs for test in (value.is_kind("n"), _within(value, power))]
        return _number(all_of(tests), found)

    return build


def _divide(inputs: Sequence[Flat]) -> Flat:
    above, below = inputs
    divisor = exp.Nullif(this=below.num.copy(), expression=zero())
    tests = [test for value in inputs for test in (value.is_kind("n"), _within(value, 0.5))]
    tests.append(exp.NEQ(this=below.num.copy(), expression=zero()))
    return _number(
        all_of(tests), exp.Paren(this=exp.Div(this=above.num.copy(), expression=divisor))
    )


def _within(value: Flat, power: float) -> exp.Expr:
    """Whether a number is such that its result runs neither over nor under."""
    size = exp.Abs(this=value.num.copy())
    least, most = _NEAR**power, _FAR**power
    return any_of(
        [
            exp.EQ(this=value.num.copy(), expression=zero()),
            exp.Between(this=size, low=double(least), high=double(most)),
        ]
    )


def _number(test: exp.Expr, value: exp.Expr) -> Flat:
    """A number where a condition holds. The value is asked for only there: it might overflow."""
    return Flat(
        parts.case(test, string("n"), string("")),
        parts.case(test.copy(), value, zero()),
        string(EXACT),
        string(""),
    )


def _extreme(sign: str) -> Callable[[Sequence[Flat]], Flat]:
    def build(inputs: Sequence[Flat]) -> Flat:
        """The first that is as small (or large) as all: equal ones are one value to a predicate."""
        cases: list[tuple[exp.Expr, Flat]] = []
        for value in inputs:
            ways: list[exp.Expr] = []
            for kind, compared in (("n", numbers), ("s", texts)):
                tests = [value.is_kind(kind)]
                for other in inputs:
                    if other is not value:
                        tests += [other.is_kind(kind), compared(value, sign, other)]
                ways.append(all_of(tests))
            cases.append((any_of(ways), value))
        return chosen(cases, nothing())

    return build


def _concat(inputs: Sequence[Flat]) -> Flat:
    found: exp.Expr = inputs[0].text.copy()
    for value in inputs[1:]:
        found = exp.DPipe(this=found, expression=value.text.copy())
    test = all_of([value.is_kind("s") for value in inputs])
    return Flat(
        parts.case(test, string("s"), string("")),
        zero(),
        string(EXACT),
        parts.case(test.copy(), found, string("")),
    )


def _round(inputs: Sequence[Flat]) -> Flat:
    """Halves go away from zero; without digits, or with none for digits, to a whole number."""
    value = inputs[0]
    number = [value.is_kind("n"), _within(value, 1.0)]
    held = exp.LTE(this=exp.Abs(this=value.num.copy()), expression=double(_HELD))
    exact = exp.EQ(this=value.ext.copy(), expression=string(EXACT))
    whole = _number(all_of([*number, held, exact]), _rounded(value.num, 0))
    if len(inputs) == 1:
        return whole
    digits = [double(float(count)) for count in range(_DIGITS_MAX + 1)]
    known = exp.In(this=inputs[1].num.copy(), expressions=digits)
    ifs = [
        exp.If(this=wanted.copy(), true=_rounded(value.num, count))
        for count, wanted in enumerate(digits)
    ]
    found = exp.Case(this=inputs[1].num.copy(), ifs=ifs)
    cut = _number(all_of([*number, inputs[1].is_kind("n"), known]), found)
    return chosen([(inputs[1].is_kind("z"), whole)], cut)


def _rounded(number: exp.Expr, digits: int) -> exp.Expr:
    scale = double(10.0**digits)
    scaled = exp.Mul(this=exp.Abs(this=number.copy()), expression=scale)
    above = exp.Floor(this=exp.Add(this=scaled, expression=double(0.5)))
    found = exp.Div(this=above, expression=scale.copy())
    case = exp.Case()
    case.when(exp.GTE(this=scaled.copy(), expression=double(_WHOLE)), number.copy(), copy=False)
    case.when(exp.LT(this=number.copy(), expression=zero()), exp.Neg(this=found), copy=False)
    return case.else_(found.copy(), copy=False)


_BUILT_IN: Final[dict[str, Callable[[Sequence[Flat]], Flat]]] = {
    "plus": _arithmetic(exp.Add),
    "minus": _arithmetic(exp.Sub),
    "times": _arithmetic(exp.Mul),
    "divide": _divide,
    "min": _extreme("<="),
    "max": _extreme(">="),
    "concat": _concat,
    "round": _round,
}
