"""Terms: the values that messages, tuples, laws and control states are made of.

A term is `None`, a `bool`, an `int`, a `float`, a `str`, `bytes`, a `tuple` of terms (a list of
the law language) or a `Compound`. All are immutable and hashable. An atom is a string. A dict of a
program is a compound inside (`freeze`), and a dict again where a program sees it.

Python holds `1 == 1.0 == True`; terms do not, at any depth. `same` is the equality of terms,
and `Compound.__eq__` follows it. Plain Python equality is only a quick first test: whatever it
tells apart is apart, and what it takes for equal is looked at again by class.

A term may hold a `Var`; then it is a pattern. Everything that an agent sends or stores is
ground: `freeze` sees to it at the edge, and to the limits of size and depth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

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


class Var:
    """A logic variable: a hole in a pattern. Two are the same only when they are one object.

    `ref` is its value while an interpreter runs and has bound it; outside it is `UNBOUND`.
    """

    __slots__ = ("name", "ref")

    def __init__(self, name: str = "_") -> None:
        self.name = name
        self.ref: Any = UNBOUND

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
        if other.__class__ is not Compound:
            return False
        assert isinstance(other, Compound)
        return self.name == other.name and _same_parts(self.args, other.args)

    def __ne__(self, other: object) -> bool:  # the base class has one of its own, by identity
        return not self == other

    def __hash__(self) -> int:
        for part in self.args:
            if part.__class__ is Compound or part.__class__ is tuple:
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
    Part: TypeAlias = Any
else:
    # What native code reads an argument as: a term without bytes and huge integers, and without
    # lists in lists in lists. It can be told no more; what it refuses is read another way.
    _PLAIN = None | bool | int | float | str | Compound
    _LIST = _PLAIN | tuple[_PLAIN, ...]
    Part = _PLAIN | tuple[_LIST, ...]

FORMAL: Final = "formal"
"""The functor of a formal: a ground term that stands for a hole in a template."""
TYPE_FORMALS: Final[dict[type, Any]] = {
    int: Compound(FORMAL, ("int",)),
    float: Compound(FORMAL, ("float",)),
    str: Compound(FORMAL, ("str",)),
    bool: Compound(FORMAL, ("bool",)),
    bytes: Compound(FORMAL, ("bytes",)),
    list: Compound(FORMAL, ("list",)),
    tuple: Compound(FORMAL, ("list",)),
    dict: Compound(OBJECT, (None, None, ())),  # a dict fits what has at least its keys
    type(None): None,  # a type with one value is that value
}
"""What a Python type means in a template."""
_TYPES_WHY: Final = (
    "a type stands for a hole, and only templates have holes; give a value",
    "templates know int, float, str, bool, bytes, list, tuple, dict and type(None); use one",
)

Atomic: TypeAlias = bool | int | float | str | bytes | None
ATOMIC: Final = (str, int, float, bool, bytes, type(None))
"""The classes of values that have no parts."""
Term: TypeAlias = Any
"""None, bool, int, float, str, bytes, a tuple of terms, or a Compound (a pattern: or a Var)."""


def same(a: Term, b: Term) -> bool:
    """Whether two terms are one value: as `==`, but `1`, `1.0` and `True` are three values.

    >>> same((1, "a"), (1, "a")), same((1,), (1.0,)), same(True, 1)
    (True, False, False)
    """
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ is not tuple:
        return bool(a == b)
    return _same_parts(a, b)


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
    if a.__class__ is Compound:
        if a.name != b.name:
            return False, 1
        a, b = a.args, b.args
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
        for left, right in zip(x, y, strict=True):
            if left is right:
                continue
            kind = left.__class__
            if kind is not right.__class__:
                return False, work
            if kind is Compound:
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
            elif kind is tuple:
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
        if part.__class__ is tuple:
            for item in part:
                if item.__class__ is tuple:  # lists know nothing of themselves, and may be shared
                    return _hash_deep(term)
    try:
        return hash((term.name, term.args))
    except RecursionError:
        return _hash_deep(term)


def _hash_deep(term: Compound) -> int:
    """The very hash that `hash((name, args))` is, without recursion, shared parts once."""
    known: dict[int, int] = {}
    todo: list[Any] = [term]
    while todo:
        item = todo[-1]
        if id(item) in known:
            todo.pop()
            continue
        is_compound = item.__class__ is Compound
        parts = item.args if is_compound else item
        waiting = len(todo)
        hashes: list[_Hashed] = []
        for part in parts:
            if part.__class__ is not Compound and part.__class__ is not tuple:
                hashes.append(_Hashed(hash(part)))
            elif id(part) in known:
                hashes.append(_Hashed(known[id(part)]))
            else:
                todo.append(part)
        if len(todo) == waiting:
            todo.pop()
            whole = tuple(hashes)
            known[id(item)] = made = hash((item.name, whole) if is_compound else whole)
            if is_compound:
                _keep_hash(item, made)
    return known[id(term)]


@dataclass(eq=False, kw_only=True)
class NotATerm(CallerError):
    """A Python value was given where a term is needed."""

    code: ClassVar[str] = "term.not-a-term"
    words: ClassVar[str] = "{value} is no term: {why}"
    value: str
    why: str


@dataclass(eq=False, kw_only=True)
class TooLarge(CallerError):
    """A term goes past the limits of size or depth."""

    code: ClassVar[str] = "term.too-large"
    words: ClassVar[str] = "the term is too large: {what} is over the limit of {limit:,}; split it"
    what: str
    limit: int


def freeze(value: Any, *, variables: bool = False) -> Term:
    """Turn a plain Python value into a term, or say why it is none.

    Lists become tuples, subclasses of the plain types become the plain types, and a dict becomes
    `object(null,null,[key(Value),…])`, its keys in order. The result is
    ground unless `variables` allows holes, and within the limits. Where holes are allowed, a
    type stands for its formal: `int` becomes `formal(int)`.

    >>> freeze(["job", 17, t.room(3)])
    ('job', 17, term('room(3)'))
    >>> freeze({"n": 1, "tags": ["a"]}) == t.object(None, None, [t.n(1), t.tags(["a"])])
    True
    """
    kind = value.__class__
    if kind is str and len(value) < 100_000:
        if not value.isascii():
            _check_text(value)
        return value
    if value is None or kind is bool:
        return value
    frozen = _freeze_deep(value, variables)
    check_size(frozen)
    return frozen


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotATerm(
            value="a string", why=f"character {error.start} is half a surrogate pair"
        ) from None


def _freeze_atomic(value: object, variables: bool) -> Term:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        _check_text(value)
        return str(value)
    if isinstance(value, int):
        if value.bit_length() > INT_BITS_MAX:
            raise TooLarge(what=f"an integer of {value.bit_length():,} bits", limit=INT_BITS_MAX)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotATerm(value=repr(value), why="numbers are finite")
        return float(value) or 0.0
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Var):
        if variables:
            return value
        raise NotATerm(value=f"the variable {value.name}", why="a value must be ground")
    if isinstance(value, type):
        if variables and value in TYPE_FORMALS:
            return TYPE_FORMALS[value]
        raise NotATerm(value=f"the type {value.__name__}", why=_TYPES_WHY[variables])
    raise NotATerm(
        value=f"{type(value).__name__} {str(value)[:60]!r}",
        why="use None, bool, int, float, str, bytes, list, tuple, dict or t.name(…)",
    )


def _freeze_deep(value: object, variables: bool) -> Term:
    """`freeze` with a stack of its own: what comes from outside may be nested without end."""
    done: list[Any] = []
    todo: list[tuple[Any, int]] = [(value, 1)]  # depth 0 marks "build what lies on `done`"
    count = 0
    while todo:
        item, depth = todo.pop()
        if depth == 0:
            name, width = item
            args = tuple(done[len(done) - width :])
            del done[len(done) - width :]
            done.append(args if name is None else Compound(name, args))
            continue
        if depth > TERM_DEPTH_MAX:
            raise TooLarge(what="its depth", limit=TERM_DEPTH_MAX)
        if isinstance(item, Compound):
            if not item.args:
                raise NotATerm(value=f"{item.name}()", why="a compound has at least one argument")
            _check_text(item.name)
            name, parts = item.name, item.args
            if name == PARTIAL and not isinstance(parts[-1], Var):
                raise NotATerm(value=f"a compound named {PARTIAL}", why="lists are Python lists")
        elif isinstance(item, tuple | list):
            name, parts = None, tuple(item)
        elif isinstance(item, Mapping):
            name, parts = OBJECT, (None, None, _named(item))
        else:
            done.append(_freeze_atomic(item, variables))
            continue
        todo.append(((name, len(parts)), 0))
        todo.extend((part, depth + 1) for part in reversed(parts))
        count += len(parts)  # parts that are shared count each time, as they do in the bytes
        if count > TERM_BYTES_MAX:
            raise TooLarge(what="its number of parts", limit=TERM_BYTES_MAX)
    return done[0]


def _named(items: Mapping[Any, object]) -> tuple[Compound, ...]:
    """The parts of a dict, in the order of their keys; the values are yet to be frozen."""
    for key in items:
        if not isinstance(key, str):
            raise NotATerm(value=f"a dict with the key {key!r:.60}", why="keys are strings")
        if key in (FORMAL, PARTIAL):
            raise NotATerm(
                value=f"a dict with the key {key!r}", why="templates use that name; choose another"
            )
    return tuple([Compound(str(key), (items[key],)) for key in sorted(items)])


def is_ground(term: Term) -> bool:
    """Whether a term holds no variable.

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
    if term.__class__ is Compound:
        parts = term.args
        name = term.name
        size = 7 + len(name) if len(name) < 32 and name.isascii() else 6 + _weight_of_atomic(name)
        if len(parts) > _FEW:
            looked = True
            known: int | None = getattr(term, "_measure", None)
            if known is not None:
                return known
            if len(parts) > 15:
                size += 2 if len(parts) < 1 << 16 else 4
    else:
        parts = term
        size = 1 if len(parts) < 16 else 3 if len(parts) < 1 << 16 else 5
    holed = depth = 0
    for part in parts:
        kind = part.__class__
        if kind is str:
            size += 1 + len(part) if len(part) < 32 and part.isascii() else _weight_of_atomic(part)
        elif kind is Compound or kind is tuple:
            if not looked and term.__class__ is Compound:
                looked = True
                known = getattr(term, "_measure", None)
                if known is not None:
                    return int(known)
            found: int | None = None if kind is Compound else lists.get(id(part))
            if found is None:
                if not room:
                    return _measured_deep(term, lists)
                found = _measured(part, room - 1, lists)
                if kind is tuple:
                    lists[id(part)] = found
            size += found >> _WEIGHT
            holed |= found & _HOLED
            if found & _DEPTHS > depth:
                depth = found & _DEPTHS
        elif kind is int and -32 <= part < 128:
            size += 1
        elif kind is Var:
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
        parts = item.args if item.__class__ is Compound else item
        todo += [p for p in parts if p.__class__ in _WITH_PARTS and id(p) not in known]
        if len(todo) == waiting:
            todo.pop()
            known[id(item)] = found = _measured(item, 1, lists)
            if item.__class__ is tuple:
                lists[id(item)] = found
    return known[id(term)]


def _weight_of_atomic(value: Term) -> int:
    kind = value.__class__
    if kind is str or kind is bytes:
        size = len(value) if kind is bytes or value.isascii() else len(value.encode())
        if size < 32 and kind is str:
            return 1 + size
        return size + (2 if size < 1 << 8 else 3 if size < 1 << 16 else 5)
    if kind is not int:
        return 9 if kind is float else 1
    if -32 <= value < 128:
        return 1
    bits = int(value).bit_length() if value >= 0 else int(~value).bit_length() + 1
    if bits <= 64:
        return 2 if bits <= 8 else 3 if bits <= 16 else 5 if bits <= 32 else 9
    size = len(str(value))
    return size + (3 if size < 1 << 8 else 4)


class _Maker:
    """`t.alarm(t.kind("fire"))` makes the compound `alarm(kind(fire))`; `t["any name"](…)` too."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Callable[..., Term]:
        def make(*args: object) -> Term:
            if not args:
                return freeze(name)
            return Compound(name, tuple([freeze(arg, variables=True) for arg in args]))

        return make


t: Final = _Maker()
