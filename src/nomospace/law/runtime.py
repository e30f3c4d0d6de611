"""What evaluation needs besides the rules: the budget, arithmetic, built-ins, operations.

The interpreter and the compiled code both stand on this, so a built-in has one meaning and one
cost. Values here are ground terms; a position that is not bound yet is `UNSET`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from nomospace.law.budget import Stop, Units, same_for, spend
from nomospace.law.holes import Open
from nomospace.law.tree import RESERVED, UNITS
from nomospace.terms import INT_BITS_MAX, TERM_BYTES_MAX, Compound, Term, is_ground, show
from nomospace.terms.order import sort_terms
from nomospace.terms.values import Var


class _Unset:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final[Any] = _Unset()


# -- arithmetic ------------------------------------------------------------------------------


def _number(value: Term) -> int | float:
    if value.__class__ is int or value.__class__ is float:
        return value
    raise Stop("notGround" if isinstance(value, Var | Open) else "typeError")


def _checked(value: Any) -> int | float:
    """A result, unless it is no finite real number of bearable size."""
    if value.__class__ is int:
        if value.bit_length() > INT_BITS_MAX:
            raise Stop("tooLarge")
        return value
    if value.__class__ is not float or not math.isfinite(value):
        raise Stop("typeError")
    return value or 0.0


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        raise Stop("typeError")
    if a.__class__ is int and b.__class__ is int and a % b == 0:
        return a // b
    return a / b


def _whole(function: Callable[[int, int], int]) -> Callable[[Any, Any], int]:
    def apply(a: Any, b: Any) -> int:
        if a.__class__ is not int or b.__class__ is not int or b == 0:
            raise Stop("typeError")
        return function(a, b)

    return apply


def _quotient(a: int, b: int) -> int:
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _power(a: Any, b: Any) -> Any:
    if a.__class__ is int and b.__class__ is int:
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


def _round(a: Any) -> int:
    return math.floor(abs(a) + 0.5) * (1 if a >= 0 else -1) if a.__class__ is float else a


BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
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
UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0) if a.__class__ is int else float((a > 0) - (a < 0)),
    "floor": math.floor,
    "ceiling": math.ceil,
    "round": _round,
    "truncate": math.trunc,
}
COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "=<": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
    "=:=": lambda a, b: bool(a == b),
    "=\\=": lambda a, b: bool(a != b),
}


def arith2(name: str, a: Term, b: Term) -> int | float:
    """One binary function of two numbers."""
    try:
        return _checked(BINARY[name](_number(a), _number(b)))
    except OverflowError:  # an integer that no float can hold
        raise Stop("typeError") from None


def arith1(name: str, a: Term) -> int | float:
    """One unary function of a number."""
    try:
        return _checked(UNARY[name](_number(a)))
    except OverflowError:  # an integer that no float can hold
        raise Stop("typeError") from None


def calculate(value: Term, units: Units) -> int | float:
    """The number that a term stands for, when a variable holds an expression.

    >>> calculate(Compound("+", (1, Compound("*", (2, 3)))), [0])
    7
    """
    if value.__class__ is int or value.__class__ is float:
        return value
    done: list[int | float] = []
    todo: list[tuple[Term, bool]] = [(value, False)]
    while todo:
        item, ready = todo.pop()
        if item.__class__ is not Compound:
            done.append(_number(item))
        elif not ready:
            table: dict[str, Any] = BINARY if len(item.args) == 2 else UNARY
            if len(item.args) > 2 or item.name not in table:
                raise Stop("typeError")
            spend(units, 1)
            todo.append((item, True))
            todo.extend((part, False) for part in reversed(item.args))
        elif len(item.args) == 2:
            right, left = done.pop(), done.pop()
            done.append(arith2(item.name, left, right))
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
    if value.__class__ is float:
        value = round(value)
    assert isinstance(value, int)
    if abs(value) > 1 << 62:
        raise Stop("tooLarge")
    return value


# -- built-ins -------------------------------------------------------------------------------


def _text(value: Term) -> str:
    if value.__class__ is str:
        return value
    if value.__class__ is int or value.__class__ is float:
        return show(value)
    raise Stop("typeError")


def _spend_text(units: Units, size: int) -> None:
    spend(units, 1 + size // 100)


def _member(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    wanted, items = args
    if items.__class__ is tuple:
        for item in items:
            spend(units, 1)
            if wanted is UNSET or same_for(units, item, wanted):
                yield item, items


def _append(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    first, second, whole = args
    if first is not UNSET and second is not UNSET:
        if first.__class__ is tuple and second.__class__ is tuple:
            spend(units, len(first))
            yield first, second, first + second
        return
    if whole.__class__ is not tuple:
        return
    for cut in range(len(whole) + 1):
        spend(units, 1 + len(whole) // 100)
        yield whole[:cut], whole[cut:], whole


def _length(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    spend(units, 1)
    if args[0].__class__ is not tuple:
        raise Stop("typeError")
    yield args[0], len(args[0])


def _nth0(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    index, items, _ = args
    if items.__class__ is not tuple:
        return
    if index is UNSET:
        for at, item in enumerate(items):
            spend(units, 1)
            yield at, items, item
        return
    spend(units, 1)
    if index.__class__ is not int:
        raise Stop("typeError")
    if 0 <= index < len(items):
        yield index, items, items[index]


def _reverse(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    if args[0].__class__ is tuple:
        spend(units, len(args[0]))
        yield args[0], args[0][::-1]


def _sort(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    if args[0].__class__ is not tuple:
        raise Stop("typeError")
    spend(units, len(args[0]))
    yield args[0], sort_terms(args[0])


def _sum_list(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    if args[0].__class__ is not tuple:
        return
    spend(units, len(args[0]))
    total: int | float = 0
    for item in args[0]:
        total = arith2("+", total, item)
    yield args[0], total


def _between(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    low, high, value = args
    if low.__class__ is not int or high.__class__ is not int:
        raise Stop("typeError")
    if value is not UNSET:
        spend(units, 1)
        if value.__class__ is not int:
            raise Stop("typeError")
        if low <= value <= high:
            yield args
        return
    for number in range(low, high + 1):
        spend(units, 1)
        yield low, high, number


def _atom_concat(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    first, second, whole = args
    if first is not UNSET and second is not UNSET:
        joined = _text(first) + _text(second)
        _spend_text(units, len(joined))
        if len(joined) > TERM_BYTES_MAX:
            raise Stop("tooLarge")
        yield first, second, joined
        return
    text = _text(whole)
    if first is not UNSET or second is not UNSET:
        _spend_text(units, len(text))
        if first is not UNSET and text.startswith(_text(first)):
            yield first, text[len(_text(first)) :], whole
        elif second is not UNSET and text.endswith(_text(second)):
            yield text[: len(text) - len(_text(second))], second, whole
        return
    for cut in range(len(text) + 1):
        _spend_text(units, len(text))
        yield text[:cut], text[cut:], whole


def _atom_length(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    text = _text(args[0])
    spend(units, 1)
    yield args[0], len(text)


def _sub_atom(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    atom, before, length, after, part = args
    text = _text(atom)
    if part is not UNSET:
        wanted = _text(part)
        at = -1
        while True:
            at = text.find(wanted, at + 1)
            _spend_text(units, len(text))
            if at < 0:
                return
            yield atom, at, len(wanted), len(text) - at - len(wanted), part
    for position in (before, length, after):
        if position is not UNSET and position.__class__ is not int:
            raise Stop("typeError")
    for start in range(len(text) + 1) if before is UNSET else (before,):
        if length is not UNSET:
            sizes = range(length, length + 1)
        elif after is not UNSET:
            sizes = range(len(text) - start - after, len(text) - start - after + 1)
        else:
            sizes = range(len(text) - start + 1)
        for size in sizes:
            _spend_text(units, max(size, 0))
            if start >= 0 and size >= 0 and start + size <= len(text):
                yield atom, start, size, len(text) - start - size, text[start : start + size]


def _split_string(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    text, separators = _text(args[0]), _text(args[1])
    _spend_text(units, len(text))
    parts = [text]
    for separator in dict.fromkeys(separators):
        parts = [piece for part in parts for piece in part.split(separator)]
    spend(units, len(parts))
    yield args[0], args[1], tuple(parts)


def _upcase_atom(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    text = _text(args[0])
    _spend_text(units, len(text))
    yield args[0], text.upper()


def _atom_number(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    atom, number = args
    if atom is UNSET:
        yield show(_number(number)), number
        return
    text = _text(atom)
    _spend_text(units, len(text))
    value = read_number(text)
    if value is not None:
        yield atom, value


def read_number(text: str) -> int | float | None:
    """The number a text spells, or `None`.

    >>> read_number("12"), read_number("-1.5"), read_number("12a")
    (12, -1.5, None)
    """
    bare = text[1:] if text[:1] in ("-", "+") else text
    if not bare.isascii() or not bare[:1].isdigit() or len(bare) > 1_200:
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


Solutions: TypeAlias = Callable[[tuple[Term, ...], Units], Iterator[tuple[Term, ...]]]

SOLUTIONS: Final[dict[str, Solutions]] = {
    "member": _member,
    "append": _append,
    "length": _length,
    "nth0": _nth0,
    "reverse": _reverse,
    "sort": _sort,
    "sum_list": _sum_list,
    "between": _between,
    "atom_concat": _atom_concat,
    "atom_length": _atom_length,
    "sub_atom": _sub_atom,
    "split_string": _split_string,
    "upcase_atom": _upcase_atom,
    "atom_number": _atom_number,
}
"""Each built-in as a generator of answers: all its arguments, ground. `delete` is apart, since
what it deletes by may be a pattern."""


def delete_matching(
    items: Term, matches: Callable[[Term], bool], units: Units
) -> tuple[Term, ...] | None:
    """`delete/3`: the items that do not match, or `None` for what is no list."""
    if items.__class__ is not tuple:
        return None
    spend(units, len(items))
    return tuple([item for item in items if not matches(item)])


# -- operations ------------------------------------------------------------------------------


def _is_address(value: Term) -> bool:
    return value.__class__ is str or (
        value.__class__ is tuple and all(part.__class__ is str for part in value)
    )


def _ground(operation: Compound) -> Compound:
    if not is_ground(operation):
        raise Stop("notGround")
    return operation


def finish(
    operation: Term, home: str, message: tuple[Term, Term, Term] | None, units: Units
) -> Compound | str:
    """Bring an operation of a ruling into its final form, or stop with the reason.

    `message` is sender, message and destination of the event, for a bare `forward` or `deliver`.
    Times and amounts are calculated. What is sent, delivered, added or imposed must be ground.
    """
    if operation.__class__ is str:
        if operation == "quit":
            return "quit"
        if operation not in ("forward", "deliver"):
            raise Stop("typeError")
        if message is None:
            raise Stop("notLocal", operation)
        operation = Compound(operation, message)
    if operation.__class__ is not Compound:
        raise Stop("notGround" if isinstance(operation, Var) else "typeError")
    name, args = operation.name, operation.args
    kind = _FINISH.get((name, len(args)))
    if kind is None:
        raise Stop("typeError")
    return kind(operation, home, units)


def _finish_forward(operation: Compound, home: str, units: Units) -> Compound:
    _ground(operation)
    sender, _, to = operation.args
    if sender.__class__ is not str or not _is_address(to):
        raise Stop("typeError")
    return operation


def _finish_deliver(operation: Compound, home: str, units: Units) -> Compound:
    _ground(operation)
    sender, _, to = operation.args
    if sender.__class__ is not str:
        raise Stop("typeError")
    if to != home:
        raise Stop("notLocal", operation)
    return operation


def _finish_release(operation: Compound, home: str, units: Units) -> Compound:
    return _ground(operation)


def reserved(value: Term) -> bool:
    """Whether a term may not be added to, or taken from, the control state by a law."""
    if value.__class__ is Compound:
        return value.name in RESERVED and len(value.args) <= 2
    return value.__class__ is str and value in RESERVED


def _finish_add(operation: Compound, home: str, units: Units) -> Compound:
    (value,) = operation.args
    if value.__class__ is Compound and value.name == "obligation" and len(value.args) == 2:
        what, when = value.args
        due = calculate(when, units)
        return _ground(Compound("+", (Compound("obligation", (what, due)),)))
    if reserved(value):
        raise Stop("typeError")
    return _ground(operation)


def _finish_remove(operation: Compound, home: str, units: Units) -> Compound:
    if reserved(operation.args[0]):
        raise Stop("typeError")
    return operation


def _finish_replace(operation: Compound, home: str, units: Units) -> Compound:
    old, new = operation.args
    if not is_ground(new):
        raise Stop("notGround")
    if reserved(old) or reserved(new):
        raise Stop("typeError")
    return operation


def _finish_change(operation: Compound, home: str, units: Units) -> Compound:
    counter, amount = operation.args
    if isinstance(counter, Var):
        raise Stop("notGround")
    if counter.__class__ is not Compound or len(counter.args) != 1 or reserved(counter):
        raise Stop("typeError")
    return Compound(operation.name, (counter, calculate(amount, units)))


def _finish_impose(operation: Compound, home: str, units: Units) -> Compound:
    what, amount, *unit = operation.args
    if unit and (unit[0].__class__ is not str or unit[0] not in UNITS):
        raise Stop("notGround" if isinstance(unit[0], Var) else "typeError")
    return _ground(Compound(operation.name, (what, calculate(amount, units), *unit)))


_Finish: TypeAlias = Callable[[Compound, str, Units], Compound]
_FINISH: Final[dict[tuple[str, int], _Finish]] = {
    ("forward", 3): _finish_forward,
    ("multicast", 3): _finish_forward,
    ("deliver", 3): _finish_deliver,
    ("release", 2): _finish_release,
    ("signal", 1): _finish_release,
    ("+", 1): _finish_add,
    ("-", 1): _finish_remove,
    ("<-", 2): _finish_replace,
    ("incr", 2): _finish_change,
    ("dcr", 2): _finish_change,
    ("imposeObligation", 2): _finish_impose,
    ("imposeObligation", 3): _finish_impose,
    ("repealObligation", 1): lambda operation, home, units: operation,
}
