"""What a pattern lets an index know: features and bounds that are necessary for a match.

Hints may be fewer than the pattern would allow, never more: a tuple that matches shows every one
of them. So wherever something is hard to tell, there is no hint, and `Template.matches` decides.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from nomospace.terms.features import LEVELS_MAX, LIST, Key, Path, key_of
from nomospace.terms.formals import KINDS, Formal, bounded_classes, is_formal, read_formal
from nomospace.terms.predicate import Among, Every, Literal, PredicateComparison, parse
from nomospace.terms.values import ATOMIC, OBJECT, Compound, Term, dict_items, parts_of

FEATURES_PER_FIELD_MAX: Final = 16
"""The most features that one field of a template gives."""
_REMEMBERED_MAX: Final = 512

Feature: TypeAlias = tuple[Path, Key]


def shape_features(pattern: Term, path: Path) -> list[Feature]:
    """The features of a compound or list, with or without patterns inside; its functor first.

    >>> from nomospace.terms import t
    >>> shape_features(t.room(3, int), (1,))
    [((1, '/'), ('room', 2)), ((1, 'room', 2, 0), 3), ((1, 'room', 2, 1, '?'), 'int')]
    """
    return _shape(pattern, path, 1)[:FEATURES_PER_FIELD_MAX]


def _shape(pattern: Term, path: Path, level: int) -> list[Feature]:
    items = dict_items(pattern)
    if items is not None:
        return _dict_features(items, path, level)
    name = pattern.name if type(pattern) is Compound else LIST
    parts = parts_of(pattern)
    found: list[Feature] = [((*path, "/"), (name, len(parts)))]
    if level > LEVELS_MAX:
        return found
    deeper: list[Feature] = []  # after those of this level: what is near is indexed sooner
    for i, part in enumerate(parts[:FEATURES_PER_FIELD_MAX]):
        below = (*path, name, len(parts), i)
        if part.__class__ in ATOMIC:
            found.append((below, key_of(part)))
        elif is_formal(part):
            deeper += formal_features(read_formal(part), below, level)
        else:
            deeper += _shape(part, below, level + 1)
    return found + deeper


def _dict_features(items: tuple[tuple[str, Term], ...], path: Path, level: int) -> list[Feature]:
    """What every dict with these keys shows: its form, and the atomic values where it is a field.

    >>> from nomospace.terms import freeze
    >>> shape_features(freeze({"n": 1, "tags": []}), (1,))
    [((1, '/'), ('object', 3)), ((1, 'object', 3, 0), None), ((1, '.', 'n'), 1)]
    """
    found: list[Feature] = [((*path, "/"), (OBJECT, 3))]
    if level <= LEVELS_MAX:
        found.append(((*path, OBJECT, 3, 0), None))
    if level == 1:
        found += [
            ((*path, ".", key), key_of(value)) for key, value in items if value.__class__ in ATOMIC
        ]
    return found


def formal_features(formal: Formal, path: Path, level: int = 0) -> list[Feature]:
    """The features of whatever fits a formal, which stands so many levels inside its field.

    >>> from nomospace.terms import a, where
    >>> formal_features(read_formal(where("= 'x'")), (1,))
    [((1,), 'x'), ((1, '?'), 'str')]
    >>> formal_features(read_formal(a("Car")), (1,))
    [((1, '/'), ('object', 3)), ((1, 'object', 3, 0), 'Car')]
    """
    if formal.class_name is not None:
        found: list[Feature] = [((*path, "/"), (OBJECT, 3))]
        if level < LEVELS_MAX:
            found.append(((*path, OBJECT, 3, 0), formal.class_name))
        return found
    found = []
    classes = KINDS[formal.kind]
    for values, sign in _comparisons(formal):
        if sign == "=" and values[0].__class__ not in (int, float):  # 5 = 5.0: two keys
            found.append((path, key_of(values[0])))
        if not classes and all(type(value) is str for value in values):
            classes = (str,)
    if formal.bounds is not None and not classes:
        classes = bounded_classes(formal.bounds[0])
    if len(classes) == 1:
        found.append(((*path, "?"), classes[0].__name__))
    return found


def formal_bounds(formal: Formal) -> tuple[Term | None, Term | None]:
    """The least and greatest value that fit, both included; `None` where there is no bound.

    Two bounds are always both numbers or both strings.

    >>> from nomospace.terms import where
    >>> formal_bounds(read_formal(where("> 1 and < 9 and != 4")))
    (1, 9)
    """
    if formal.bounds is not None or formal.predicate is None:
        return formal.bounds or (None, None)
    low: Any = None
    high: Any = None
    for values, sign in _comparisons(formal):
        if any(value.__class__ not in (int, float, str) for value in values):
            continue
        known = [bound for bound in (low, high) if bound is not None]
        if any(bounded_classes(v) != bounded_classes(values[0]) for v in (*values, *known)):
            continue
        if sign in ("=", ">", ">=", "in"):
            low = max([min(values), *([] if low is None else [low])])
        if sign in ("=", "<", "<=", "in"):
            high = min([max(values), *([] if high is None else [high])])
    return low, high


class _Comparison(NamedTuple):
    values: tuple[Any, ...]
    sign: str


def _comparisons(formal: Formal) -> tuple[_Comparison, ...]:
    """The comparisons that must all hold for a formal's field predicate to hold."""
    if formal.predicate is None or formal.class_name is not None:
        return ()
    return _conjuncts(formal.predicate)


@lru_cache(maxsize=_REMEMBERED_MAX)
def _conjuncts(predicate: str) -> tuple[_Comparison, ...]:
    tree = parse(predicate, field=True)
    found = []
    for part in tree.parts if isinstance(tree, Every) else (tree,):
        if isinstance(part, Among):
            found.append(_Comparison(part.values, "in"))
        elif isinstance(part, PredicateComparison):
            assert isinstance(part.right, Literal)  # there are no paths on a field
            found.append(_Comparison((part.right.value,), part.sign))
    return tuple(found)
