"""Dependence functions: named and pure, they compute a property from properties of other objects.

A function gives a value or none. It gives none, which is `MISSING`, where an input is missing or of
a kind it does not take, where a divisor is zero, and where the result is no term (too large, not
finite). It never breaks what asked: a function of a user that raises gives no value either, and
what it raised is reported.

The built-in ones work in every engine, and are defined so that every database can agree to the last
bit: `divide` gives a float, always; `round(x)` gives an int and `round(x, digits)` a float, halves
away from zero; booleans are not numbers; `concat` joins strings only. Their SQL is in
`sql.functions`. A function registered from Python runs in Python, on the rows a database joined.

After the paper "Semantic Tuplespace", Definition 1 (F, the dependence functions).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar

from nomospace.errors import CallerError
from nomospace.terms.freezing import freeze
from nomospace.terms.objects import MISSING, Missing
from nomospace.terms.values import INT_BITS_MAX, NotATerm, Term, TooLarge

ARITY_MAX: Final = 16
"""The most inputs a function may have."""
FUNCTIONS_MAX: Final = 10_000
"""The most functions a registry holds."""

_Call = TypeVar("_Call", bound=Callable[..., object])
Report = Callable[[str], None]
"""Is told, in words, of a function that raised."""


class BadFunction(CallerError):
    """A dependence function was registered that cannot be."""

    code = "ontology.bad-function"
    name: str
    why: str

    def __str__(self) -> str:
        return f"dependence function {self.name[:60]!r}: {self.why}"


class Function(NamedTuple):
    """One function: its name, how many inputs it takes, and how it is computed."""

    name: str
    arity_min: int
    arity_max: int
    call: Callable[..., Any]

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


class Functions(Mapping[str, Function]):
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

    def __getitem__(self, name: str) -> Function:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def register(
        self, name: str, *, arity: int | tuple[int, int] | None = None
    ) -> Callable[[_Call], _Call]:
        """A decorator that registers a pure Python function under a name.

        How many inputs it takes is read from its signature unless `arity` says it. Registering a
        name anew takes the place of the old function; a built-in name is not to be had.
        """

        def registered(call: _Call) -> _Call:
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

    def apply(
        self, name: str, inputs: Sequence[Term | Missing], *, report: Report | None = None
    ) -> Term | Missing:
        """The value of a function, or `MISSING` where it has none; it does not raise."""
        function = self._by_name[name]
        for value in inputs:
            if value is MISSING:
                return MISSING
        if name in _BUILT_IN_NAMES:
            found: Term | Missing = function.call(*inputs)
            return found
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
    name: str, call: Callable[..., object], given: int | tuple[int, int] | None
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


def _number(value: Term) -> TypeGuard[float]:
    return type(value) is int or type(value) is float


def _checked(value: float) -> Term | Missing:
    """A result as a term; none where no term can hold it."""
    if type(value) is float:
        return (value or 0.0) if math.isfinite(value) else MISSING
    assert isinstance(value, int)
    return value if value.bit_length() <= INT_BITS_MAX else MISSING


def _arithmetic(step: Callable[[float, float], float]) -> Callable[..., Term | Missing]:
    def call(*inputs: Term) -> Term | Missing:
        numbers = [value for value in inputs if _number(value)]
        if len(numbers) < len(inputs):
            return MISSING
        found = numbers[0]
        try:
            for value in numbers[1:]:
                found = step(found, value)
                if type(found) is int and found.bit_length() > INT_BITS_MAX:
                    return MISSING
        except (OverflowError, ZeroDivisionError):
            return MISSING
        return _checked(found)

    return call


def _extreme(choose: Callable[..., Term]) -> Callable[..., Term | Missing]:
    def call(*inputs: Term) -> Term | Missing:
        if all(_number(value) for value in inputs) or all(type(v) is str for v in inputs):
            return choose(inputs)
        return MISSING

    return call


def _concat(*inputs: Term) -> Term | Missing:
    texts = [value for value in inputs if type(value) is str]
    if len(texts) < len(inputs):
        return MISSING
    try:
        return freeze("".join(texts))
    except TooLarge:
        return MISSING


_DIGITS_MAX: Final = 15
_EXACT: Final = 2.0**52
"""From here on a float has no part after the point."""
_WHOLE: Final = 2**53
"""Up to here a float holds every whole number."""


def _round(value: Term, digits: Term = None) -> Term | Missing:
    if not _number(value):
        return MISSING
    if digits is None:  # to an int, as far as floats can tell one from the next
        if abs(value) > _WHOLE:
            return MISSING
        near = _away(abs(float(value)), 1.0)
        return int(-near if value < 0 else near)
    if type(digits) is not int or not 0 <= digits <= _DIGITS_MAX:
        return MISSING
    try:
        real = float(value)
    except OverflowError:
        return MISSING
    near = _away(abs(real), 10.0**digits)
    return (-near if real < 0 else near) or 0.0


def _away(value: float, scale: float) -> float:
    """The nearest multiple of 1/scale, halves up, by steps that databases have too."""
    return value if value * scale >= _EXACT else math.floor(value * scale + 0.5) / scale


_BUILT_IN: Final = (
    Function("plus", 2, ARITY_MAX, _arithmetic(lambda a, b: a + b)),
    Function("minus", 2, 2, _arithmetic(lambda a, b: a - b)),
    Function("times", 2, ARITY_MAX, _arithmetic(lambda a, b: a * b)),
    Function("divide", 2, 2, _arithmetic(lambda a, b: a / b)),
    Function("min", 2, ARITY_MAX, _extreme(min)),
    Function("max", 2, ARITY_MAX, _extreme(max)),
    Function("concat", 2, ARITY_MAX, _concat),
    Function("round", 1, 2, _round),
)
_BUILT_IN_NAMES: Final = frozenset(function.name for function in _BUILT_IN)

FUNCTIONS: Final = Functions()
"""The registry of this process: `dependence_function` fills it, ontologies are read with it."""

dependence_function = FUNCTIONS.register
