"""What evaluation needs besides the rules: built-ins, sensing, operations.

The interpreter and the compiled code both stand on this, so a built-in has one meaning and one
cost. Values here are ground terms; a position that is not bound yet is `UNSET`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from nomospace.law.arithmetic import (
    LARGE,
    NUMBER_CHARS_MAX,
    WORD_BITS,
    arith2,
    calculate,
    number,
    read_number,
)
from nomospace.law.bag import INDEX_FROM, Bag, Bucket, key_of
from nomospace.law.budget import (
    COPIED_A_UNIT,
    KEPT_A_UNIT,
    Stop,
    Units,
    pay_for,
    same_for,
    spend,
)
from nomospace.law.holes import LIST, Name, OpenTerm, Value, close, is_bound, make
from nomospace.law.tree import RESERVED, UNITS
from nomospace.terms import TERM_BYTES_MAX, Compound, Term, show
from nomospace.terms.order import order_key
from nomospace.terms.values import Var, parts_of


class _Unset:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final[Any] = _Unset()
COMPARED_A_UNIT: Final = 8
"""How many times `sort` compares two items for one unit."""
PARTS_A_UNIT: Final = 20
"""How many parts of items it compares for one unit more."""
SORTED_AT_ONCE: Final = 4_096
"""Items that it sorts before the next ones are paid for."""
DELETED_AT_ONCE: Final = 500
"""Items that `delete` looks at before the next ones are paid for."""


# -- built-ins -------------------------------------------------------------------------------


def _text(value: Term, units: Units) -> str:
    """A text, or a number as its text; a large one is paid for."""
    if type(value) is str:
        return value
    if type(value) is int:
        if value > LARGE or value < -LARGE:
            spend(units, value.bit_length() // WORD_BITS)
        return show(value)
    if type(value) is float:
        return show(value)
    raise Stop("typeError")


def _spend_copy(units: Units, size: int) -> None:
    """Charge for copying so many items or characters."""
    spend(units, 1 + size // COPIED_A_UNIT)


def _spend_items(units: Units, count: int) -> None:
    """Charge for a new list of so many items, which may be kept."""
    spend(units, 1 + count // KEPT_A_UNIT)


def _member(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    items = args[1]
    if type(items) is tuple:
        for item in items:
            spend(units, 1)
            yield item, items


def _append(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    first, second, whole = args
    if first is not UNSET and second is not UNSET:
        if type(first) is tuple and type(second) is tuple:
            _spend_items(units, len(first) + len(second))
            yield first, second, first + second
        return
    if type(whole) is not tuple:
        return
    for cut in range(len(whole) + 1):
        _spend_copy(units, len(whole))
        yield whole[:cut], whole[cut:], whole


def _length(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    spend(units, 1)
    if type(args[0]) is not tuple:
        raise Stop("typeError")
    yield args[0], len(args[0])


def _nth0(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    index, items, _ = args
    if type(items) is not tuple:
        return
    if index is UNSET:
        for at, item in enumerate(items):
            spend(units, 1)
            yield at, items, item
        return
    spend(units, 1)
    if type(index) is not int:
        raise Stop("typeError")
    if 0 <= index < len(items):
        yield index, items, items[index]


def _reverse(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    if type(args[0]) is tuple:
        _spend_items(units, len(args[0]))
        yield args[0], args[0][::-1]


def _sort(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    """A unit for each item and each part of it, and less for each time that they are compared.

    Paid for in pieces, so that a long list is sorted in slices: its keys, runs of it, merging them.
    """
    items = args[0]
    if type(items) is not tuple:
        raise Stop("typeError")
    parts = 0

    def walked(more: int) -> None:
        nonlocal parts
        parts += more
        spend(units, more)

    keys: list[tuple[object, ...]] = []
    for item in items:
        spend(units, 1)
        keys.append(order_key(item, walked))
    spend(units, parts * len(items).bit_length() // PARTS_A_UNIT)
    order: list[int] = []
    for start in range(0, len(items), SORTED_AT_ONCE):
        run = range(start, min(start + SORTED_AT_ONCE, len(items)))
        spend(units, (len(order) + len(run) * len(run).bit_length()) // COMPARED_A_UNIT)
        order = sorted([*order, *sorted(run, key=keys.__getitem__)], key=keys.__getitem__)
    kept = order[:1]
    for place in order[1:]:
        if keys[place] != keys[kept[-1]]:
            kept.append(place)
    yield items, tuple([items[place] for place in kept])


def _sum_list(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    if type(args[0]) is not tuple:
        return
    total: int | float = 0
    spend(units, 1)
    for item in args[0]:
        spend(units, 1)
        total = arith2("+", total, item, units)
    yield args[0], total


def _between(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    low, high, value = args
    if type(low) is not int or type(high) is not int:
        raise Stop("typeError")
    if value is not UNSET:
        spend(units, 1)
        if type(value) is not int:
            raise Stop("typeError")
        if low <= value <= high:
            yield args
        return
    for each in range(low, high + 1):
        spend(units, 1)
        yield low, high, each


def _atom_concat(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    first, second, whole = args
    if first is not UNSET and second is not UNSET:
        head, tail = _text(first, units), _text(second, units)
        size = len(head) + len(tail)
        _spend_copy(units, size)
        if size > TERM_BYTES_MAX:
            raise Stop("tooLarge")
        yield first, second, head + tail
        return
    text = _text(whole, units)
    if first is not UNSET or second is not UNSET:
        part = _text(first if first is not UNSET else second, units)
        _spend_copy(units, len(text))
        if first is not UNSET and text.startswith(part):
            yield first, text[len(part) :], whole
        elif second is not UNSET and text.endswith(part):
            yield text[: len(text) - len(part)], second, whole
        return
    for cut in range(len(text) + 1):
        _spend_copy(units, len(text))
        yield text[:cut], text[cut:], whole


def _atom_length(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    spend(units, 1)
    yield args[0], len(_text(args[0], units))


def _sub_atom(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    atom, before, length, after, part = args
    text = _text(atom, units)
    if part is not UNSET:
        wanted = _text(part, units)
        at = -1
        while True:
            # Looking for a text may take as many steps for a character as it is long, up to some.
            spend(units, 1 + (len(text) - at) * min(1 + len(wanted) // 8, 16) // COPIED_A_UNIT)
            at = text.find(wanted, at + 1)
            if at < 0:
                return
            yield atom, at, len(wanted), len(text) - at - len(wanted), part
    for position in (before, length, after):
        if position is not UNSET and type(position) is not int:
            raise Stop("typeError")
    for start in (before,) if type(before) is int else range(len(text) + 1):
        if type(length) is int:
            sizes = range(length, length + 1)
        elif type(after) is int:
            sizes = range(len(text) - start - after, len(text) - start - after + 1)
        else:
            sizes = range(len(text) - start + 1)
        for size in sizes:
            fits = start >= 0 and size >= 0 and start + size <= len(text)
            spend(units, 2 + (size // COPIED_A_UNIT if fits else 0))
            if fits:
                yield atom, start, size, len(text) - start - size, text[start : start + size]


REPLACED_MAX: Final = 8
"""Up to so many kinds of separators are each replaced by the first; more go through a table."""
REPLACED_AT_ONCE: Final = 20_000
"""Characters that go through the table before the next ones are paid for."""


def _split_string(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    text, separators = _text(args[0], units), _text(args[1], units)
    _spend_copy(units, 25 * len(separators) + len(text))  # each is kept twice
    kinds = list(dict.fromkeys(separators))
    parts: tuple[str, ...] = (text,)
    if kinds:
        # Every separator becomes the first one, and the text is cut there once.
        if len(kinds) <= REPLACED_MAX:
            spend(units, len(kinds) * len(text) // COPIED_A_UNIT)
            for kind in kinds[1:]:
                text = text.replace(kind, kinds[0])
        else:
            table = dict.fromkeys(map(ord, kinds), kinds[0])
            pieces: list[str] = []
            for start in range(0, len(text), REPLACED_AT_ONCE):
                piece = text[start : start + REPLACED_AT_ONCE]
                spend(units, 20 * len(piece) // COPIED_A_UNIT)
                pieces.append(piece.translate(table))
            text = "".join(pieces)
        spend(units, text.count(kinds[0]))
        parts = tuple(text.split(kinds[0]))
    yield args[0], args[1], parts


def _upcase_atom(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    text = _text(args[0], units)
    _spend_copy(units, 3 * len(text))  # a letter may become three
    yield args[0], text.upper()


def _atom_number(args: tuple[Term, ...], units: Units) -> Iterator[tuple[Term, ...]]:
    atom, given = args
    spend(units, 1)
    if atom is UNSET:
        yield _text(number(given), units), given
        return
    text = _text(atom, units)
    if len(text) <= NUMBER_CHARS_MAX:
        spend(units, len(text) // 16)
    value = read_number(text)
    if value is not None:
        yield atom, value


Solutions: TypeAlias = Callable[[tuple[Any, ...], Units], Iterator[tuple[Term, ...]]]

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
"""Each built-in as a generator of answers: all its arguments, ground. What was given is yet to be
compared with them. `delete` is apart, since what it deletes by may be a pattern."""

ECHOED: Final[dict[str, tuple[int, ...]]] = {
    "member": (1,),
    "nth0": (0, 1),
    "between": (0, 1, 2),
    "length": (0,),
    "reverse": (0,),
    "sort": (0,),
    "sum_list": (0,),
    "atom_length": (0,),
    "sub_atom": (0,),
    "split_string": (0, 1),
    "upcase_atom": (0,),
}
"""Positions that a built-in gives back just as they were given: nothing to compare, or to pay."""


def delete_matching(
    items: Value, matches: Callable[[Term], bool], units: Units
) -> tuple[Term, ...] | None:
    """`delete/3`: the items that do not match, or `None` for what is no list."""
    if type(items) is not tuple:
        return None
    spend(units, 1)
    left: list[Term] = []
    for start in range(0, len(items), DELETED_AT_ONCE):
        some = items[start : start + DELETED_AT_ONCE]
        spend(units, 2 * len(some))
        left += [item for item in some if not matches(item)]
    return tuple(left)


# -- the control state -----------------------------------------------------------------------


def candidates(
    bucket: Bucket, positions: tuple[int, ...], wanted: tuple[Term, ...], units: Units
) -> dict[int, Term]:
    """The terms of a bucket that may have `wanted` at `positions`, by place.

    A small bucket is walked. A larger one has an index, and to look there what is wanted has to be
    written out.
    """
    if len(bucket) <= INDEX_FROM:
        return bucket
    for part in wanted:
        kind = part.__class__
        if kind is Compound or kind is tuple or kind is bytes:
            pay_for(units, part)
    return bucket.under(positions, wanted, units)


def everything(bag: Bag, units: Units) -> list[Term]:
    """All terms of a bag, oldest first: they have to be put in order."""
    spend(units, bag.size // 4)
    return list(bag)


def equals(bag: Bag, value: Term, units: Units) -> Iterator[Term]:
    """The terms of a bag that are this very value; one unit for each, and for each 4 like it.

    Like a number are numbers; like a list are lists, of which two cost a unit.
    """
    bucket = bag.buckets.get(key_of(value))
    if bucket is None:
        return
    if type(value) is Compound:
        positions = tuple(range(len(value.args)))
        for term in candidates(bucket, positions, value.args, units).values():
            for wanted, found in zip(value.args, parts_of(term), strict=True):
                if not same_for(units, wanted, found):
                    break
            else:
                spend(units, 1)
                yield term
        return
    kind = value.__class__
    plain = kind is not tuple and kind is not bytes
    if kind is not str:  # that bucket has no others
        spend(units, len(bucket) // (4 if plain else 2))
    if plain:
        for term in [one for one in bucket.values() if one.__class__ is kind and one == value]:
            spend(units, 1)
            yield term
        return
    for term in bucket.values():
        if same_for(units, value, term):
            spend(units, 1)
            yield term


# -- operations ------------------------------------------------------------------------------


_Operation: TypeAlias = Compound | OpenTerm


def _is_address(value: Term) -> bool:
    return type(value) is str or (type(value) is tuple and all(type(part) is str for part in value))


def _ground(operation: Value) -> Compound:
    if type(operation) is not Compound:
        raise Stop("notGround")
    return operation


def finish(
    operation: Value, home: str, message: tuple[Term, Term, Term] | None, units: Units
) -> Compound | str:
    """Bring an operation of a ruling into its final form, or stop with the reason.

    `message` is sender, message and destination of the event, for a bare `forward` or `deliver`.
    Times and amounts are calculated. What is sent, delivered, added or imposed must be ground. An
    operation with unbound variables comes as an `OpenTerm`, so that nothing is walked to find one,
    and leaves as a pattern.
    """
    if type(operation) is str:
        if operation == "quit":
            return "quit"
        if operation not in ("forward", "deliver"):
            raise Stop("typeError")
        if message is None:
            raise Stop("notLocal", operation)
        operation = Compound(operation, message)
    if type(operation) is not Compound and type(operation) is not OpenTerm:
        raise Stop("notGround" if isinstance(operation, Var) else "typeError")
    kind = _FINISH.get((operation.name, len(operation.args)))
    if kind is None:
        raise Stop("typeError")
    done = close(kind(operation, home, units))
    assert type(done) is Compound
    return done


def _finish_forward(operation: _Operation, home: str, units: Units) -> _Operation:
    sender, _, to = _ground(operation).args
    if type(sender) is not str or not _is_address(to):
        raise Stop("typeError")
    return operation


def _finish_deliver(operation: _Operation, home: str, units: Units) -> _Operation:
    operation = _ground(operation)
    sender, _, to = operation.args
    if type(sender) is not str:
        raise Stop("typeError")
    if to != home:
        raise Stop("notLocal", operation)
    return operation


def _finish_release(operation: _Operation, home: str, units: Units) -> _Operation:
    return _ground(operation)


def reserved(value: Value) -> bool:
    """Whether a term may not be added to, or taken from, the control state by a law."""
    if type(value) is Compound or type(value) is OpenTerm:
        return value.name in RESERVED and len(value.args) <= 2
    return type(value) is str and value in RESERVED


def _finish_add(operation: _Operation, home: str, units: Units) -> _Operation:
    (value,) = operation.args
    if (
        (type(value) is Compound or type(value) is OpenTerm)
        and value.name == "obligation"
        and len(value.args) == 2
    ):
        what, when = value.args
        due = calculate(when, units)
        return _ground(make("+", (make("obligation", (what, due)),)))
    if reserved(value):
        raise Stop("typeError")
    return _ground(operation)


def _finish_remove(operation: _Operation, home: str, units: Units) -> _Operation:
    if reserved(operation.args[0]):
        raise Stop("typeError")
    return operation


def _finish_replace(operation: _Operation, home: str, units: Units) -> _Operation:
    old, new = operation.args
    if not is_bound(new):
        raise Stop("notGround")
    if reserved(old) or reserved(new):
        raise Stop("typeError")
    return operation


def _finish_change(operation: _Operation, home: str, units: Units) -> Value:
    counter, amount = operation.args
    if isinstance(counter, Var):
        raise Stop("notGround")
    if type(counter) is not Compound and type(counter) is not OpenTerm:
        raise Stop("typeError")
    if counter.name is LIST or len(counter.args) != 1 or reserved(counter):
        raise Stop("typeError")
    return make(operation.name, (counter, calculate(amount, units)))


def _finish_impose(operation: _Operation, home: str, units: Units) -> _Operation:
    what, amount, *unit = operation.args
    if unit and (type(unit[0]) is not str or unit[0] not in UNITS):
        raise Stop("notGround" if isinstance(unit[0], Var) else "typeError")
    return _ground(make(operation.name, (what, calculate(amount, units), *unit)))


_Finish: TypeAlias = Callable[[_Operation, str, Units], Value]
_FINISH: Final[dict[tuple[Name, int], _Finish]] = {
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
