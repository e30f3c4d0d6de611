"""Numbers of the law language: functions, their prices, times, and their text.

Calculating with small numbers is part of a goal's price. Integers past a machine word cost more,
as the work with them does; past `INT_BITS_MAX` there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import Final, TypeAlias

from nomospace.law.budget import Stop, Units, spend
from nomospace.law.holes import OpenTerm, Value
from nomospace.terms import INT_BITS_MAX, Compound
from nomospace.terms.values import Var

Number: TypeAlias = int | float


def number(value: Value) -> int | float:
    """A term that is a number."""
    if type(value) is int or type(value) is float:
        return value
    raise Stop("notGround" if isinstance(value, Var | OpenTerm) else "typeError")


def _checked(value: object) -> int | float:
    """A result, unless it is no finite real number of bearable size."""
    if type(value) is int:
        if value.bit_length() > INT_BITS_MAX:
            raise Stop("tooLarge")
        return value
    if type(value) is not float or not math.isfinite(value):
        raise Stop("typeError")
    return value or 0.0


def _divide(a: Number, b: Number) -> Number:
    if b == 0:
        raise Stop("typeError")
    if type(a) is int and type(b) is int and a % b == 0:
        return a // b
    return a / b


def _whole(function: Callable[[int, int], int]) -> Callable[[Number, Number], int]:
    def apply(a: object, b: object) -> int:
        if type(a) is not int or type(b) is not int or b == 0:
            raise Stop("typeError")
        return function(a, b)

    return apply


def _quotient(a: int, b: int) -> int:
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _power(a: Number, b: Number) -> object:
    if type(a) is int and type(b) is int:
        if b < 0:
            if a in (1, -1):
                return a if b % 2 else 1
            raise Stop("typeError")
        if a.bit_length() * b > 2 * INT_BITS_MAX and a not in (0, 1, -1):
            raise Stop("tooLarge")
        return a**b
    if a == 0 and b < 0:
        raise Stop("typeError")
    return a**b


def _round(a: Number) -> Number:
    return math.floor(abs(a) + 0.5) * (1 if a >= 0 else -1) if type(a) is float else a


BINARY: Final[dict[str, Callable[[Number, Number], object]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "//": _whole(_quotient),
    "mod": _whole(lambda a, b: a % b),
    "rem": _whole(lambda a, b: a - b * _quotient(a, b)),
    "min": min,
    "max": max,
    "**": _power,
    "^": _power,
}
UNARY: Final[dict[str, Callable[[Number], object]]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0) if type(a) is int else float((a > 0) - (a < 0)),
    "floor": math.floor,
    "ceiling": math.ceil,
    "round": _round,
    "truncate": math.trunc,
}
COMPARE: Final[dict[str, Callable[[Number, Number], bool]]] = {
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "=<": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
    "=:=": lambda a, b: bool(a == b),
    "=\\=": lambda a, b: bool(a != b),
}
FUNCTIONS: Final = dict.fromkeys([*((name, 2) for name in BINARY), *((name, 1) for name in UNARY)])
"""Name and number of arguments of all that arithmetic knows, in `is`, in comparisons, and in times
and amounts of operations."""


WORD_BITS: Final = 64
"""Integers of more bits are dear to calculate with, and to write and read."""
LARGE: Final = 1 << WORD_BITS


def spend_bits(units: Units, a: object, b: object) -> None:
    """Charge for calculating with integers of which one is large; the work grows as their product.

    At most 4,096 times 4,096 bits, or a power of twice as many: a few dozen units.
    """
    bits_a = a.bit_length() if type(a) is int else WORD_BITS
    bits_b = b.bit_length() if type(b) is int else WORD_BITS
    least, most = sorted((max(bits_a, WORD_BITS), max(bits_b, WORD_BITS)))
    spend(units, 1 + most // 512 + least * most // 400_000)


def arith2(name: str, a: Value, b: Value, units: Units) -> int | float:
    """One binary function of two numbers."""
    if (type(a) is int and not -LARGE <= a <= LARGE) or (
        type(b) is int and not -LARGE <= b <= LARGE
    ):
        spend_bits(units, a, b)
    elif name == "**" or name == "^":
        spend(units, 16)
    try:
        return _checked(BINARY[name](number(a), number(b)))
    except OverflowError:  # an integer that no float can hold
        raise Stop("typeError") from None


def arith1(name: str, a: Value) -> int | float:
    """One unary function of a number."""
    try:
        return _checked(UNARY[name](number(a)))
    except OverflowError:  # an integer that no float can hold
        raise Stop("typeError") from None


def calculate(value: Value, units: Units) -> int | float:
    """The number that a term stands for, when a variable holds an expression.

    >>> calculate(Compound("+", (1, Compound("*", (2, 3)))), [0])
    7
    """
    if type(value) is int or type(value) is float:
        return value
    done: list[int | float] = []
    todo: list[tuple[Value, bool]] = [(value, False)]
    while todo:
        item, ready = todo.pop()
        if type(item) is not Compound and type(item) is not OpenTerm:
            done.append(number(item))
        elif not ready:
            table: Container[str] = BINARY if len(item.args) == 2 else UNARY
            if len(item.args) > 2 or item.name not in table:
                raise Stop("typeError")
            spend(units, 1)
            todo.append((item, True))
            todo.extend((part, False) for part in reversed(item.args))
        elif type(item.name) is not str:
            raise Stop("typeError")
        elif len(item.args) == 2:
            right, left = done.pop(), done.pop()
            done.append(arith2(item.name, left, right, units))
        else:
            done.append(arith1(item.name, done.pop()))
    return done[0]


def seconds(now: int) -> int | float:
    """Microseconds as the seconds a law sees: whole ones are integers.

    >>> seconds(3_000_000), seconds(2_500_000)
    (3, 2.5)
    """
    return now // 1_000_000 if now % 1_000_000 == 0 else now / 1_000_000


def micros(amount: float, unit: int = 1_000_000) -> int:
    """An amount of time in microseconds."""
    value = amount * unit
    if type(value) is float:
        value = round(value)
    assert isinstance(value, int)
    if abs(value) > 1 << 62:
        raise Stop("tooLarge")
    return value


NUMBER_CHARS_MAX: Final = 1_201
"""The longest text that may spell a number: that of the largest integer is shorter."""


def read_number(text: str) -> int | float | None:
    """The number a text spells, or `None`.

    >>> read_number("12"), read_number("-1.5"), read_number("12a")
    (12, -1.5, None)
    """
    if len(text) > NUMBER_CHARS_MAX:
        return None
    bare = text[1:] if text[:1] in ("-", "+") else text
    if not bare.isascii() or not bare[:1].isdigit() or len(bare) > NUMBER_CHARS_MAX - 1:
        return None
    try:
        if bare.isdigit():
            return int(text)
        if not bare.replace(".", "").replace("-", "").replace("+", "").isalnum() or "_" in bare:
            return None
        value = float(text)
    except ValueError:
        return None
    return (value or 0.0) if math.isfinite(value) else None
