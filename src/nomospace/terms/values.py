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

from typing import TYPE_CHECKING, Any, Final, TypeAlias

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
keep_measure: Final = _Known.__dict__["_measure"].__set__


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
