"""Features: what a tuple shows of itself, as pairs of a path and a key that an index can hold.

A template knows which features a tuple must show to match (`Template.features`); an index that
is kept over a path finds the tuples with a key there at once. Every feature is necessary and
none is enough: what an index finds is still put to `Template.matches`.

| path | key |
| --- | --- |
| `(pos,)` | the atomic value of a field, as `key_of` has it |
| `(pos, "/")` | `(name, n)` of a compound, `("[]", n)` of a list |
| `(pos, "?")` | the name of the value's Python class: `int`, `str`, `tuple`, `Compound`, … |
| `(pos, name, n, i)` | the atomic argument `i` of a compound `name/n`; of a list, name `[]` |
| `(pos, "=", q)` | `True` where two fields are equal, or too large to tell |
| `(pos, ".", key)` | the atomic value that a dict has under a key |

An object gives none as it comes: those that hold objects are indexed apart, and no template but one
that names a class, which has no hints, looks for an object at its place.

After `(pos, name, n, i)` may stand a further `name, n, i`, up to three of them, and after any of
these the `"/"` or `"?"`. The length of a path tells its sort.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from nomospace.terms.budget import Budget, TestTooDear, same_within
from nomospace.terms.encoding import encode
from nomospace.terms.objects import MISSING, is_object, property_of
from nomospace.terms.values import ATOMIC, OBJECT, Compound, Term, parts_of, same as same_term

Path: TypeAlias = tuple[Any, ...]
Key: TypeAlias = Any
Fields: TypeAlias = tuple[Term, ...]

LEVELS_MAX: Final = 3
"""How deep a path may lead into a field."""
EAGER_ARGS_MAX: Final = 15
"""Arguments of a field that `features_of` looks at; with the functor, 16 features at most."""
LIST: Final = "[]"
"""The name of a list in a path."""
_EXTRACTORS_MAX: Final = 4_096
_COMPARED_MAX: Final = 200
"""What it may cost to see that two fields are equal, in units; past it they may be."""

PLAIN_INT: Final = 2**61 - 1
"""Integers below it, and above it negated, are keys as they are. What larger ones hash to can be
foreseen: as many as one likes could be made to meet at one place of an index."""

_TRUE: Final = (bool, True)
_FALSE: Final = (bool, False)


def key_of(value: Term) -> Key:
    """The key of a value: itself where it is atomic and Python tells it from others, else wrapped.

    A compound, such as an id may be, and a large integer go by their bytes: what they hash to can
    be foreseen.

    >>> len({key_of(1), key_of(1.0), key_of(True)})
    3
    """
    kind = value.__class__
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is Compound or kind is tuple:
        return kind, encode(value)
    if type(value) is int and not -PLAIN_INT < value < PLAIN_INT:
        return int, hex(value)
    return (float, value) if kind is float else value


def features_of(fields: Fields) -> list[tuple[Path, Key]]:
    """The features that a tuple shows at once: its atomic values, functors and first arguments.

    Whether a path is among them hangs on the path alone (`is_eager`), so an index that takes
    these in as tuples come is complete for every eager path.

    >>> from nomospace.terms import t
    >>> features_of(("job", t.room(3)))
    [((0,), 'job'), ((1, '/'), ('room', 1)), ((1, 'room', 1, 0), 3)]
    """
    found: list[tuple[Path, Key]] = []
    for pos, value in enumerate(fields):
        if type(value) is str:
            found.append(((pos,), value))
        elif type(value) is Compound or type(value) is tuple:
            name, parts = LIST, parts_of(value)
            if type(value) is Compound:
                name = value.name
                if name == OBJECT and is_object(value):
                    continue
            width = len(parts)
            found.append(((pos, "/"), (name, width)))
            for i, part in enumerate(parts[:EAGER_ARGS_MAX]):
                if type(part) is not Compound and type(part) is not tuple:
                    found.append(((pos, name, width, i), key_of(part)))
        else:
            found.append(((pos,), key_of(value)))
    return found


def is_eager(path: Path) -> bool:
    """Whether `features_of` gives a path's key for every tuple that has one.

    >>> is_eager((0,)), is_eager((0, "f", 20, 14)), is_eager((0, "f", 20, 15)), is_eager((0, "?"))
    (True, True, False, False)
    """
    size = len(path)
    if size == 4:
        return bool(path[3] < EAGER_ARGS_MAX)
    return size == 1 or (size == 2 and path[1] == "/")


@lru_cache(maxsize=_EXTRACTORS_MAX)
def feature(path: Path) -> Callable[[Fields], Key]:
    """The function that gives a tuple's key at a path, or `MISSING` where it has none.

    >>> from nomospace.terms import t
    >>> get = feature((1, "room", 1, 0))
    >>> get(("job", t.room(3))), get(("job", t.room(t.blue(3)))), get(("job",))
    (3, MISSING, MISSING)
    """
    pos, size = path[0], len(path)
    if size == 3:
        return _equality(pos, path[2]) if path[1] == "=" else _value_under(pos, path[2])
    steps = tuple((path[at], path[at + 1], path[at + 2]) for at in range(1, size - 2, 3))
    assert len(steps) <= LEVELS_MAX, path
    last = _FINALS[path[-1]] if size % 3 == 2 else _atomic_key
    if size == 1:

        def plain(fields: Fields) -> Key:
            if pos >= len(fields):
                return MISSING
            value = fields[pos]
            return value if type(value) is str else _atomic_key(value)

        return plain
    if not steps:

        def direct(fields: Fields) -> Key:
            return last(fields[pos]) if pos < len(fields) else MISSING

        return direct

    def walk(fields: Fields) -> Key:
        if pos >= len(fields):
            return MISSING
        value = fields[pos]
        for name, width, i in steps:
            if type(value) is Compound:
                if value.name != name or len(value.args) != width:
                    return MISSING
                value = value.args[i]
            elif type(value) is tuple and name == LIST and len(value) == width:
                value = value[i]
            else:
                return MISSING
        return last(value)

    return walk


def _equality(left: int, right: int) -> Callable[[Fields], Key]:
    def compare(fields: Fields) -> Key:
        if left >= len(fields) or right >= len(fields):
            return MISSING
        one, other = fields[left], fields[right]
        if one.__class__ in ATOMIC or other.__class__ in ATOMIC:
            return True if same_term(one, other) else MISSING
        try:
            return True if same_within(one, other, Budget(_COMPARED_MAX)) else MISSING
        except TestTooDear:
            return True  # it may be: whoever goes by it looks closer

    return compare


def _value_under(pos: int, key: str) -> Callable[[Fields], Key]:
    def look(fields: Fields) -> Key:
        found = property_of(fields[pos], key) if pos < len(fields) else MISSING
        return MISSING if found is MISSING else _atomic_key(found)

    return look


def _atomic_key(value: Term) -> Key:
    if type(value) is str or (type(value) is int and -PLAIN_INT < value < PLAIN_INT):
        return value
    return MISSING if type(value) is Compound or type(value) is tuple else key_of(value)


def _functor(value: Term) -> Key:
    if type(value) is Compound:
        return value.name, len(value.args)
    return (LIST, len(value)) if type(value) is tuple else MISSING


def _class_name(value: Term) -> Key:
    return value.__class__.__name__


_FINALS: Final[dict[str, Callable[[Term], Key]]] = {"/": _functor, "?": _class_name}
