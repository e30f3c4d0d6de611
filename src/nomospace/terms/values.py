"""Terms: the values that messages, tuples, laws and control states are made of.

A term is `None`, a `bool`, an `int`, a `float`, a `str`, `bytes`, a `tuple` of terms (a list of
the law language) or a `Compound`. All are immutable and hashable. An atom is a string. A dict of a
program is a compound inside (`freeze`), and a dict again where a program sees it.

Python holds `1 == 1.0 == True`; terms do not, at any depth. `same` is the equality of terms,
and `Compound.__eq__` follows it. Plain Python equality is only a quick first test: whatever it
tells apart is apart, and what it takes for equal is looked at again by class.

A term may hold a `Var`; then it is a pattern. Everything that an agent sends or stores is
ground: `freeze` sees to it at the edge, and to the limits of size and depth.

A dict is the term `object(null,null,[k(V), …])`, its keys in order and once each: an object without
class and id, which laws, wires and stores carry like any other compound. `freezing.freeze` makes it
of a Python dict and `thaw` gives it back; in text it is `{k:V,…}`.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard, final

import msgspec

from nomospace.errors import CallerError

TERM_BYTES_MAX: Final = 1_000_000
"""The largest term, in canonical bytes (`weight`)."""
TERM_DEPTH_MAX: Final = 1_000
"""The deepest term: an atom has depth 1, `f(a)` and `[a]` have depth 2."""
INT_BITS_MAX: Final = 4_096
"""The largest integer, in bits. Larger ones cannot be printed in time that is worth naming."""

REPR_MAX: Final = 2_000
"""The longest text that `repr` has of a compound."""

OBJECT: Final = "object"
"""The functor of an object, and of a dict: it has three arguments (`nomospace.terms.objects`)."""
PARTIAL: Final = "[|]"
"""The functor of a list whose tail is not known: items, then the tail. Never in a ground term."""


@final
class Var:
    """A logic variable: a hole in a pattern. Two are the same only when they are one object.

    `ref` is its value while an interpreter runs and has bound it; outside it is `UNBOUND`.
    """

    __slots__ = ("name", "ref")

    def __init__(self, name: str = "_") -> None:
        self.name = name
        self.ref: Any = UNBOUND  # or a term; interpreters have values of their own, too

    def __repr__(self) -> str:
        return f"Var({self.name!r})"


class _Unbound:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Final = _Unbound()


class _Known:
    """What a compound has found out about itself; no field of it, so never written anywhere."""

    __slots__ = ("_hash", "_measure")
    _hash: int
    _measure: int


_keep_hash: Final = _Known.__dict__["_hash"].__set__  # past the frozen struct's own `__setattr__`
_keep_measure: Final = _Known.__dict__["_measure"].__set__


class Compound(
    msgspec.Struct, _Known, frozen=True, gc=False, eq=False, rename={"name": "f", "args": "a"}
):
    """A compound term `name(arg, …)`, with at least one argument.

    Made in 40 ns and unknown to the garbage collector: terms cannot form cycles, and a space
    holds a million of them. Native code makes most of them, so what a compound knows of itself
    (`measure`, its hash) is found out when it is first asked for, and once.

    >>> Compound("room", (3,)) == Compound("room", (3,))
    True
    >>> Compound("room", (3,)) == Compound("room", (3.0,))
    False
    """

    name: str
    args: tuple[Part, ...]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not Compound:
            return False
        assert isinstance(other, Compound)
        return self.name == other.name and _same_parts(self.args, other.args)

    def __ne__(self, other: object) -> bool:  # the base class has one of its own, by identity
        return not self == other

    def __hash__(self) -> int:
        for part in self.args:
            if type(part) is Compound or type(part) is tuple:
                break
        else:
            return hash((self.name, self.args))
        known: int | None = getattr(self, "_hash", None)
        if known is None:
            known = _hash_of(self)
            _keep_hash(self, known)
        return known

    def __repr__(self) -> str:
        from nomospace.terms.text import show

        return f"term({show(self, limit=REPR_MAX)!r})"


if TYPE_CHECKING:
    Part: TypeAlias = "Term"

    class PropertiesTerm(Compound, frozen=True):
        """A compound of an object's or a dict's form: class, id, properties."""

        args: tuple[Term, Term, tuple[Term, ...]]

    class ObjectTerm(PropertiesTerm, frozen=True):
        """A compound of an object's form."""

        args: tuple[str, Term, tuple[Term, ...]]
else:
    # What native code reads an argument as: a term without bytes and huge integers, and without
    # lists in lists in lists. It can be told no more; what it refuses is read another way.
    _PLAIN = None | bool | int | float | str | Compound
    _LIST = _PLAIN | tuple[_PLAIN, ...]
    Part = _PLAIN | tuple[_LIST, ...]
    PropertiesTerm = ObjectTerm = Compound

FORMAL: Final = "formal"
"""The functor of a formal: a ground term that stands for a hole in a template."""

Atomic: TypeAlias = bool | int | float | str | bytes | None
ATOMIC: Final = (str, int, float, bool, bytes, type(None))
"""The classes of values that have no parts."""
if TYPE_CHECKING:
    Term: TypeAlias = "Atomic | tuple[Term, ...] | Compound | Var"
    """What terms and patterns are; only patterns have a `Var`."""
else:
    Term = Any  # to native code, which would look for the kinds of every part


def parts_of(term: Term) -> tuple[Term, ...]:
    """The arguments of a compound, or the items of a list: of a term that is known to be one.

    >>> parts_of(Compound("room", (3,))), parts_of((1, 2))
    ((3,), (1, 2))
    """
    if type(term) is Compound:
        return term.args
    assert type(term) is tuple, "it has no parts"
    return term


def count_parts(term: Term, most: int) -> int:
    """How many parts a term has at all levels, itself included; counted little further than `most`.

    >>> count_parts(("job", Compound("room", (3, 4))), 100)
    5
    """
    todo, count = [term], 0
    while todo and count <= most:
        item = todo.pop()
        count += 1
        if type(item) is Compound or type(item) is tuple:
            todo += parts_of(item)
    return count


def as_compound(term: Term) -> Compound:
    """A term that is known to be a compound."""
    assert type(term) is Compound, term
    return term


def same(a: Term, b: Term) -> bool:
    """Whether two terms are one value: as `==`, but `1`, `1.0` and `True` are three values.

    >>> same((1, "a"), (1, "a")), same((1,), (1.0,)), same(True, 1)
    (True, False, False)
    """
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if type(a) is tuple and type(b) is tuple:
        return _same_parts(a, b)
    return bool(a == b)


def _same_parts(a: tuple[Term, ...], b: tuple[Term, ...]) -> bool:
    """`same` of two sequences.

    Never recursive: a law may build terms far deeper than Python's stack. A term made of shared
    parts may be exponentially larger than its memory, so after a while pairs seen are remembered.
    """
    if len(a) == 1 == len(b):  # the commonest case, without a stack
        left, right = a[0], b[0]
        kind = left.__class__
        if kind is not Compound and kind is not tuple:
            return left is right or (kind is right.__class__ and bool(left == right))
    return weigh(a, b)[0]


def weigh(a: Term, b: Term) -> tuple[bool, int]:
    """Whether two lists, or two compounds, are the same, and how much work it was to tell.

    Work is counted in pairs of compounds or lists, and in sixteens of their items.
    """
    if type(a) is Compound and type(b) is Compound:
        if a.name != b.name:
            return False, 1
        pending = [(a.args, b.args)]
    else:
        assert type(a) is tuple
        assert type(b) is tuple
        pending = [(a, b)]
    seen: set[tuple[int, int]] = set()
    work = 0
    while pending:
        x, y = pending.pop()
        if len(x) != len(y):
            return False, work
        work += 1 + len(x) // 16
        if work > 64:
            if (id(x), id(y)) in seen:
                continue
            seen.add((id(x), id(y)))
        for left, right in zip(x, y):  # noqa: B905 (`strict` takes a third of the time)
            if left is right:
                continue
            kind = left.__class__
            if kind is not right.__class__:
                return False, work
            if type(left) is Compound and type(right) is Compound:
                if left.name != right.name:
                    return False, work
                parts, others = left.args, right.args
                if len(parts) == 1 == len(others):  # the commonest, told apart without a round
                    left, right = parts[0], others[0]
                    kind = left.__class__
                    if kind is not Compound and kind is not tuple:
                        work += 1
                        if left is not right and (kind is not right.__class__ or left != right):
                            return False, work
                        continue
                pending.append((parts, others))
            elif type(left) is tuple and type(right) is tuple:
                pending.append((left, right))
            elif left != right:
                return False, work
    return True, work


class _Hashed:
    """Stands for a part whose hash is known; a tuple of these hashes as a tuple of the parts."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return self.value


def _hash_of(term: Compound) -> int:
    for part in term.args:
        if type(part) is tuple:
            for item in part:
                if type(item) is tuple:  # lists know nothing of themselves, and may be shared
                    return _hash_deep(term)
    try:
        return hash((term.name, term.args))
    except RecursionError:
        return _hash_deep(term)


def _hash_deep(term: Compound) -> int:
    """The very hash that `hash((name, args))` is, without recursion, shared parts once."""
    known: dict[int, int] = {}
    todo: list[Compound | tuple[Term, ...]] = [term]
    while todo:
        item = todo[-1]
        if id(item) in known:
            todo.pop()
            continue
        parts = item.args if isinstance(item, Compound) else item
        waiting = len(todo)
        hashes: list[_Hashed] = []
        for part in parts:
            if id(part) in known:
                hashes.append(_Hashed(known[id(part)]))
            elif type(part) is Compound or type(part) is tuple:
                todo.append(part)
            else:
                hashes.append(_Hashed(hash(part)))
        if len(todo) == waiting:
            todo.pop()
            whole = tuple(hashes)
            if isinstance(item, Compound):
                known[id(item)] = made = hash((item.name, whole))
                _keep_hash(item, made)
            else:
                known[id(item)] = hash(whole)
    return known[id(term)]


class NotATerm(CallerError):
    """A Python value was given where a term is needed."""

    code = "term.not-a-term"
    words = "{value} is no term: {why}"
    value: str
    why: str


class TooLarge(CallerError):
    """A term goes past the limits of size or depth."""

    code = "term.too-large"
    words = "the term is too large: {what} is over the limit of {limit:,}; split it"
    what: str
    limit: int


def is_ground(term: Term) -> bool:
    """Whether a term holds no variable.

    >>> from nomospace.terms import t
    >>> is_ground((1, t.f("a"))), is_ground((Var("X"),))
    (True, False)
    """
    kind = term.__class__
    if kind is Compound or kind is tuple:
        return not measure(term) & _HOLED
    return kind is not Var


def check_size(term: Term) -> None:
    """Raise `TooLarge` when a term goes past the limits; bounded work whatever its sharing."""
    over = oversize(term)
    if over is not None:
        raise TooLarge(what=over[0], limit=over[1])


def oversize(term: Term) -> tuple[str, int] | None:
    """Say which limit a term breaks, or `None`."""
    kind = term.__class__
    if kind is not Compound and kind is not tuple:
        over = weight(term) > TERM_BYTES_MAX
        return ("its size in bytes", TERM_BYTES_MAX) if over else None
    found = measure(term)
    if found >> _WEIGHT > TERM_BYTES_MAX:
        return "its size in bytes", TERM_BYTES_MAX
    if found & _DEPTHS > TERM_DEPTH_MAX << 1:
        return "its depth", TERM_DEPTH_MAX
    return None


def weight(term: Term) -> int:
    """How many canonical bytes a term has; they are not written to find it out.

    Shared parts count each time they stand in it; past `WEIGHT_MAX` they are counted no further.
    A variable counts one.

    >>> from nomospace.terms import t
    >>> weight(t.room(3)), weight(("job", 17))
    (12, 6)
    """
    kind = term.__class__
    if kind is Compound or kind is tuple:
        return measure(term) >> _WEIGHT
    return _weight_of_atomic(term)


WEIGHT_MAX: Final = 1 << 40
"""Where counting the weight of a term stops: a term of shared parts may weigh more than can be."""
_HOLED: Final = 1
_DEPTHS: Final = 0xFFE
_WEIGHT: Final = 12
_ROOM: Final = 40
"""How deep a term is measured by plain recursion."""
_WITH_PARTS: Final = (Compound, tuple)
_FEW: Final = 4
"""A compound of more parts remembers its measure even when they are atomic."""
_MANY: Final = 64
"""So many numbers are written to be measured, in one native pass."""
_NUMBERS: Final = frozenset({int, float, bool, type(None)})
_pack: Final = msgspec.msgpack.Encoder().encode


def measure(term: Term) -> int:
    """Weight, depth and groundness of a compound or a list in one number: what checks go by.

    `weight << 12 | depth << 1 | holed`, with the depth cut at 2,047. A compound remembers it, so
    that no check walks it twice; a list is a plain tuple, and whoever holds it remembers. Parts
    that are shared are measured once: the work is bounded by the term's memory.
    """
    return _measured(term, _ROOM, {})


def _measured(term: Term, room: int, lists: dict[int, int]) -> int:
    """`lists` has the measures of lists in lists, by id.

    To remember costs as much as to measure a small compound of atomic parts, so those do not.
    """
    looked = False
    if type(term) is Compound:
        parts = term.args
        width = len(parts)
        name = term.name
        size = 7 + len(name) if len(name) < 32 and name.isascii() else 6 + _weight_of_atomic(name)
        if width > _FEW:
            looked = True
            known: int | None = getattr(term, "_measure", None)
            if known is not None:
                return known
            if width > 15:
                size += 2 if width < 1 << 16 else 4
    else:
        assert type(term) is tuple
        parts = term
        width = len(parts)
        size = 1 if width < 16 else 3 if width < 1 << 16 else 5
    holed = depth = 0
    rest = parts
    if width > _MANY and _NUMBERS.issuperset(map(type, parts)):
        with suppress(OverflowError):  # huge integers
            size += len(_pack(parts)) - (3 if width < 1 << 16 else 5)
            rest = ()
    for part in rest:
        if type(part) is str:
            size += 1 + len(part) if len(part) < 32 and part.isascii() else _weight_of_atomic(part)
        elif type(part) is Compound or type(part) is tuple:
            if not looked and type(term) is Compound:
                looked = True
                known = getattr(term, "_measure", None)
                if known is not None:
                    return int(known)
            found: int | None = None if type(part) is Compound else lists.get(id(part))
            if found is None:
                if not room:
                    return _measured_deep(term, lists)
                found = _measured(part, room - 1, lists)
                if type(part) is tuple:
                    lists[id(part)] = found
            size += found >> _WEIGHT
            holed |= found & _HOLED
            if found & _DEPTHS > depth:
                depth = found & _DEPTHS
        elif type(part) is int and -32 <= part < 128:
            size += 1
        elif type(part) is Var:
            holed = _HOLED
            size += 1
        else:
            size += _weight_of_atomic(part)
    depth = depth + 2 if depth else 4 if parts else 2
    if size > WEIGHT_MAX or depth > _DEPTHS:
        size, depth = min(size, WEIGHT_MAX), min(depth, _DEPTHS)
    whole: int = size << _WEIGHT | depth | holed
    if looked:
        _keep_measure(term, whole)
    return whole


def _measured_deep(term: Term, lists: dict[int, int]) -> int:
    """`_measured` with a stack of its own: parts first, so that each finds its own parts known."""
    known: dict[int, int] = {}
    todo = [term]
    while todo:
        item = todo[-1]
        if id(item) in known:
            todo.pop()
            continue
        waiting = len(todo)
        todo += [p for p in parts_of(item) if p.__class__ in _WITH_PARTS and id(p) not in known]
        if len(todo) == waiting:
            todo.pop()
            known[id(item)] = found = _measured(item, 1, lists)
            if type(item) is tuple:
                lists[id(item)] = found
    return known[id(term)]


def _weight_of_atomic(value: Term) -> int:
    if type(value) is str:
        size = len(value) if value.isascii() else len(value.encode())
        if size < 32:
            return 1 + size
        return size + (2 if size < 1 << 8 else 3 if size < 1 << 16 else 5)
    if type(value) is bytes:
        size = len(value)
        return size + (2 if size < 1 << 8 else 3 if size < 1 << 16 else 5)
    if type(value) is not int:
        return 9 if type(value) is float else 1
    if -32 <= value < 128:
        return 1
    bits = value.bit_length() if value >= 0 else (~value).bit_length() + 1
    if bits <= 64:
        return 2 if bits <= 8 else 3 if bits <= 16 else 5 if bits <= 32 else 9
    size = _digits(abs(value)) + (value < 0)
    return size + (3 if size < 1 << 8 else 4)


_LOG10_2: Final = math.log10(2)


def _digits(value: int) -> int:
    """How many digits a positive integer has; they are not written, which takes their square.

    >>> _digits(10**30 - 1), _digits(10**30)
    (30, 31)
    """
    bits = value.bit_length()
    least, most = int((bits - 1) * _LOG10_2) + 1, int(bits * _LOG10_2) + 1
    return least if least == most else least + (value >= 10**least)


def is_dict(term: object) -> TypeGuard[PropertiesTerm]:
    """Whether a term has a dict's form: enough to look into it.

    >>> from nomospace.terms import freeze, obj
    >>> is_dict(freeze({"a": 1})), is_dict(obj("Car"))
    (True, False)
    """
    return (
        type(term) is Compound
        and term.name == OBJECT
        and len(term.args) == 3
        and term.args[0] is None
        and term.args[1] is None
        and type(term.args[2]) is tuple
    )


def dict_items(term: Term, most: int | None = None) -> tuple[tuple[str, Term], ...] | None:
    """The keys of a dict with their values, in order; `None` for a term that is no dict.

    With `most`, no more than so many are looked at.

    >>> from nomospace.terms import freeze
    >>> dict_items(freeze({"b": 1, "a": 2})), dict_items(freeze([1]))
    ((('a', 2), ('b', 1)), None)
    """
    if not is_dict(term):
        return None
    items: list[tuple[str, Term]] = []
    for item in term.args[2][:most]:
        if type(item) is not Compound or len(item.args) != 1:
            return None
        if items and not items[-1][0] < item.name:
            return None
        items.append((item.name, item.args[0]))
    return tuple(items)


def thaw(value: Term) -> Any:
    """A term as programs see it: dicts are Python's, in lists and in each other.

    What stands in a compound or an object stays a term: `Object.of` reads those.

    >>> from nomospace.terms import freeze
    >>> thaw(freeze(["job", {"n": 1, "of": [{"a": None}]}]))
    ('job', {'n': 1, 'of': ({'a': None},)})
    """
    if type(value) is tuple:
        for part in value:
            if type(part) is tuple or (type(part) is Compound and part.name == OBJECT):
                return tuple([thaw(part) for part in value])
        return value
    if type(value) is not Compound or value.name != OBJECT:
        return value
    items = dict_items(value)
    return value if items is None else {key: thaw(part) for key, part in items}
