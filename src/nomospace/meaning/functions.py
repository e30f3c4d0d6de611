"""Dependence functions: named and pure, they compute a property from properties of other objects.

A function gives a value or none. It gives none, which is `MISSING`, where an input is missing or of
a kind it does not take, where a divisor is zero, and where the result is no term (too large, not
finite). It never breaks what asked: a function of a user that raises gives no value either, and
what it raised is reported.

The built-in ones work in every engine: each knows its SQL. They are defined so that every database
can agree to the last bit: `divide` gives a float, always; `round(x)` gives an int and
`round(x, digits)` a float, halves away from zero; booleans are not numbers; `concat` joins strings
only. A function registered from Python runs where Python runs; an engine that is a database says
that it cannot.

After the paper "Semantic Tuplespace", Definition 1 (F, the dependence functions).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from nomospace.errors import CallerError
from nomospace.terms.objects import MISSING
from nomospace.terms.values import INT_BITS_MAX, NotATerm, Term, TooLarge, freeze

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

ARITY_MAX: Final = 16
"""The most inputs a function may have."""
FUNCTIONS_MAX: Final = 10_000
"""The most functions a registry holds."""

NUMBER: Final = "number"
STRING: Final = "string"
ANYTHING: Final = "any"

Report = Callable[[str], None]
"""Is told, in words, of a function that raised."""


@dataclass(eq=False, kw_only=True)
class BadFunction(CallerError):
    """A dependence function was registered that cannot be."""

    code: ClassVar[str] = "ontology.bad-function"
    name: str
    why: str

    def __str__(self) -> str:
        return f"dependence function {self.name[:60]!r}: {self.why}"


class Function(NamedTuple):
    """One function: what it takes, what it gives, how Python and how a database compute it.

    `kinds` are the kinds of input it takes, all of one kind in one call; `gives` is the kind of
    what it gives, or `any` for the kind of its inputs. `sql` makes its expression from those of its
    inputs, which the engine has seen to be there and to be of one of `kinds`; a NULL is no value.
    """

    name: str
    arity_min: int
    arity_max: int
    call: Callable[..., Term]
    sql: Callable[[Sequence[Expr]], Expr] | None = None
    kinds: tuple[str, ...] = (ANYTHING,)
    gives: str = ANYTHING

    @property
    def arity(self) -> str:
        """How many inputs it takes, in words.

        >>> FUNCTIONS["minus"].arity, FUNCTIONS["plus"].arity, FUNCTIONS["round"].arity
        ('2 inputs', '2 to 16 inputs', '1 or 2 inputs')
        """
        low, high = self.arity_min, self.arity_max
        if low == high:
            return f"{low} input" if low == 1 else f"{low} inputs"
        return f"{low} or {high} inputs" if high == low + 1 else f"{low} to {high} inputs"


class Functions:
    """A registry of functions by name. The built-in ones are in every registry.

    >>> mine = Functions()
    >>> @mine.register("initial")
    ... def initial(name: str) -> str:
    ...     return name[0]
    >>> mine.apply("initial", ["Ann"]), mine.apply("minus", [9, 2.5])
    ('A', 6.5)
    >>> mine.apply("initial", [17], report=print)
    dependence function initial raised TypeError: 'int' object is not subscriptable
    MISSING
    """

    __slots__ = ("_by_name",)

    def __init__(self) -> None:
        self._by_name = {function.name: function for function in _BUILT_IN}

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Function:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Function | None:
        """The function of this name, if there is one."""
        return self._by_name.get(name)

    def register(
        self, name: str, *, arity: int | tuple[int, int] | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that registers a pure Python function under a name.

        How many inputs it takes is read from its signature unless `arity` says it. Registering a
        name anew takes the place of the old function; a built-in name is not to be had.
        """

        def registered(call: Callable[..., Any]) -> Callable[..., Any]:
            if not name.isidentifier():
                raise BadFunction(name=name, why="its name must be letters, digits and _")
            if name in _BUILT_IN_NAMES:
                raise BadFunction(name=name, why="a built-in function has this name; take another")
            if len(self._by_name) >= FUNCTIONS_MAX and name not in self._by_name:
                raise BadFunction(name=name, why=f"there are {FUNCTIONS_MAX:,} functions already")
            low, high = _arity(name, call, arity)
            self._by_name[name] = Function(name, low, high, call)
            return call

        return registered

    def joined(self, other: Functions) -> Functions:
        """A registry with the functions of both; `BadFunction` where a name means two."""
        if other is self:
            return self
        made = Functions()
        made._by_name.update(self._by_name)
        for name, function in other._by_name.items():
            if made._by_name.setdefault(name, function).call is not function.call:
                raise BadFunction(name=name, why="two functions have this name; rename one")
        return made

    def apply(self, name: str, inputs: Sequence[Term], *, report: Report | None = None) -> Term:
        """The value of a function, or `MISSING` where it has none; it does not raise."""
        function = self._by_name[name]
        for value in inputs:
            if value is MISSING:
                return MISSING
        if name in _BUILT_IN_NAMES:
            return function.call(*inputs)
        try:
            value = function.call(*inputs)
            return MISSING if value is MISSING else freeze(value)
        except (NotATerm, TooLarge) as error:
            problem = f"gave no term: {error}"
        except Exception as error:
            problem = f"raised {type(error).__name__}: {error}"
        if report is not None:
            report(f"dependence function {name} {problem}"[:1000])
        return MISSING


def _arity(
    name: str, call: Callable[..., Any], given: int | tuple[int, int] | None
) -> tuple[int, int]:
    """How many inputs a function takes, at least and at most."""
    if given is None:
        from inspect import Parameter, signature

        low = high = 0
        for parameter in signature(call).parameters.values():
            if parameter.kind is Parameter.VAR_POSITIONAL:
                high = ARITY_MAX
            elif parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                low += parameter.default is Parameter.empty
                high += 1
            elif parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is Parameter.empty:
                raise BadFunction(name=name, why=f"{parameter.name!r} must be given by its name")
        given = (max(low, 1), min(high, ARITY_MAX))
    low, high = (given, given) if isinstance(given, int) else given
    if not 1 <= low <= high <= ARITY_MAX:
        raise BadFunction(name=name, why=f"it must take 1 to {ARITY_MAX} inputs, not {low}-{high}")
    return low, high


# The built-in functions: Python.


def _number(value: Term) -> bool:
    return value.__class__ is int or value.__class__ is float


def _checked(value: float) -> Term:
    """A result as a term; none where no term can hold it."""
    if value.__class__ is float:
        return (value or 0.0) if math.isfinite(value) else MISSING
    assert isinstance(value, int)
    return value if value.bit_length() <= INT_BITS_MAX else MISSING


def _arithmetic(step: Callable[[Any, Any], Any]) -> Callable[..., Term]:
    def call(*inputs: Term) -> Term:
        for value in inputs:
            if not _number(value):
                return MISSING
        found = inputs[0]
        try:
            for value in inputs[1:]:
                found = step(found, value)
                if found.__class__ is int and found.bit_length() > INT_BITS_MAX:
                    return MISSING
        except (OverflowError, ZeroDivisionError):
            return MISSING
        return _checked(found)

    return call


def _extreme(choose: Callable[[Sequence[Any]], Any]) -> Callable[..., Term]:
    def call(*inputs: Term) -> Term:
        if all(_number(value) for value in inputs) or all(v.__class__ is str for v in inputs):
            return choose(inputs)
        return MISSING

    return call


def _concat(*inputs: Term) -> Term:
    if not all(value.__class__ is str for value in inputs):
        return MISSING
    try:
        return freeze("".join(inputs))
    except TooLarge:
        return MISSING


_DIGITS_MAX: Final = 15
_EXACT: Final = 2.0**52
"""From here on a float has no part after the point."""
_WHOLE: Final = 2**53
"""Up to here a float holds every whole number."""


def _round(value: Term, digits: Term = None) -> Term:
    if not _number(value):
        return MISSING
    if digits is None:  # to an int, as far as floats can tell one from the next
        if abs(value) > _WHOLE:
            return MISSING
        near = _away(abs(float(value)), 1.0)
        return int(-near if value < 0 else near)
    if digits.__class__ is not int or not 0 <= digits <= _DIGITS_MAX:
        return MISSING
    try:
        real = float(value)
    except OverflowError:
        return MISSING
    near = _away(abs(real), 10.0**digits)
    return (-near if real < 0 else near) or 0.0


def _away(value: float, scale: float) -> float:
    """The nearest multiple of 1/scale, halves up; the same steps, in the same order, as in SQL."""
    return value if value * scale >= _EXACT else math.floor(value * scale + 0.5) / scale


# The built-in functions: SQL. The library is loaded when an engine first asks.


def _chain(node: str) -> Callable[[Sequence[Expr]], Expr]:
    def build(inputs: Sequence[Expr]) -> Expr:
        from sqlglot import exp

        found = inputs[0]
        for value in inputs[1:]:
            found = getattr(exp, node)(this=exp.paren(found), expression=exp.paren(value))
        return exp.paren(found)

    return build


def _sql_divide(inputs: Sequence[Expr]) -> Expr:
    from sqlglot import exp

    above, below = (exp.cast(value, exp.DataType.Type.DOUBLE) for value in inputs)
    return exp.paren(exp.Div(this=above, expression=exp.func("NULLIF", below, _literal(0))))


def _sql_extreme(name: str) -> Callable[[Sequence[Expr]], Expr]:
    def build(inputs: Sequence[Expr]) -> Expr:
        from sqlglot import exp

        sign = exp.LT if name == "min" else exp.GT
        found = inputs[0]
        for value in inputs[1:]:  # the first of equals stays, as in Python: 1 and 1.0 are two terms
            better = sign(this=value.copy(), expression=found.copy())
            found = exp.Case().when(better, value).else_(found)
        return found

    return build


def _sql_concat(inputs: Sequence[Expr]) -> Expr:
    from sqlglot import exp

    found = inputs[0]
    for value in inputs[1:]:
        found = exp.DPipe(this=found, expression=value)
    return exp.paren(found)


def _literal(value: float) -> Expr:
    from sqlglot import exp

    return exp.Literal.number(value)


def _sql_round(inputs: Sequence[Expr]) -> Expr:
    from sqlglot import exp

    value = exp.cast(inputs[0], exp.DataType.Type.DOUBLE)
    one, ten = _literal(1.0), _literal(10.0)
    scale: Expr = one if len(inputs) == 1 else exp.func("POWER", ten, inputs[1])
    scaled = exp.Mul(this=exp.func("ABS", value.copy()), expression=scale.copy())
    up = exp.func("FLOOR", exp.Add(this=scaled.copy(), expression=_literal(0.5)))
    size = (
        exp.Case()
        .when(
            exp.GTE(this=scaled, expression=_literal(_EXACT)),
            exp.func("ABS", value.copy()),
        )
        .else_(exp.Div(this=up, expression=scale.copy()))
    )
    below = exp.LT(this=value.copy(), expression=_literal(0))
    near = exp.Case().when(below, exp.Neg(this=exp.paren(size))).else_(size.copy())
    if len(inputs) == 1:
        held = exp.LTE(this=exp.func("ABS", inputs[0].copy()), expression=_literal(_WHOLE))
        return exp.Case().when(held, exp.cast(near, exp.DataType.Type.BIGINT))
    digits = exp.Between(this=inputs[1].copy(), low=_literal(0), high=_literal(_DIGITS_MAX))
    return exp.Case().when(digits, near)


_BUILT_IN: Final = (
    Function(
        "plus", 2, ARITY_MAX, _arithmetic(lambda a, b: a + b), _chain("Add"), (NUMBER,), NUMBER
    ),
    Function("minus", 2, 2, _arithmetic(lambda a, b: a - b), _chain("Sub"), (NUMBER,), NUMBER),
    Function(
        "times", 2, ARITY_MAX, _arithmetic(lambda a, b: a * b), _chain("Mul"), (NUMBER,), NUMBER
    ),
    Function("divide", 2, 2, _arithmetic(lambda a, b: a / b), _sql_divide, (NUMBER,), NUMBER),
    Function("min", 2, ARITY_MAX, _extreme(min), _sql_extreme("min"), (NUMBER, STRING)),
    Function("max", 2, ARITY_MAX, _extreme(max), _sql_extreme("max"), (NUMBER, STRING)),
    Function("concat", 2, ARITY_MAX, _concat, _sql_concat, (STRING,), STRING),
    Function("round", 1, 2, _round, _sql_round, (NUMBER,), NUMBER),
)
_BUILT_IN_NAMES: Final = frozenset(function.name for function in _BUILT_IN)

FUNCTIONS: Final = Functions()
"""The registry of this process: `dependence_function` fills it, ontologies are read with it."""

dependence_function = FUNCTIONS.register
