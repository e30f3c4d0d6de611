"""Predicates as SQL, with the meaning that `terms.predicate` gives them, to the last case.

A comparison is false where a property is missing or the kinds differ, and only then does SQL's
third truth value come near; `values` keeps it out. Comparisons of two written values are decided
here, by the predicate's own code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from nomospace.meaning.sql.values import (
    FALSE,
    TRUE,
    Params,
    Value,
    all_of,
    any_of,
    compare,
    constant,
    is_none,
    is_something,
)
from nomospace.terms.predicate import (
    Among,
    Every,
    Literal,
    Negated,
    Path,
    Predicate,
    PredicateComparison,
    Some,
    holds,
)

_TURNED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

Look = Callable[[tuple[str, ...]], Value]
"""The places where the value of a path may stand."""


def condition(tree: Predicate, look: Look, params: Params) -> exp.Expr:
    """The condition on a row that a predicate is; TRUE or FALSE, never NULL.

    >>> from nomospace.meaning.sql.values import ValuePlace
    >>> from nomospace.terms.predicate import parse
    >>> look = lambda path: (ValuePlace("n", num=exp.column("__".join(path))),)
    >>> params = Params()
    >>> condition(parse("not price.amount < 5000", field=False), look, params).sql(), params.values
    ('NOT (COALESCE(price__amount < :p0, FALSE))', {'p0': 5000.0})
    """
    match tree:
        case PredicateComparison(left, sign, right):
            return _compare(left, sign, right, look, params)
        case Among(left, values):
            return any_of([_compare(left, "=", Literal(value), look, params) for value in values])
        case Every(parts):
            return all_of([condition(part, look, params) for part in parts])
        case Some(parts):
            return any_of([condition(part, look, params) for part in parts])
        case Negated(part):
            inner = condition(part, look, params)
            if inner in (TRUE, FALSE):
                return (FALSE if inner == TRUE else TRUE).copy()
            return exp.Not(this=exp.Paren(this=inner))


def paths_in(tree: Predicate) -> tuple[tuple[str, ...], ...]:
    """Every path that a predicate names, once, in order.

    >>> from nomospace.terms.predicate import parse
    >>> paths_in(parse("price.amount < 5 and maker = seller.name or maker = 'x'", field=False))
    (('price', 'amount'), ('maker',), ('seller', 'name'))
    """
    found: dict[tuple[str, ...], None] = {}
    todo: list[Predicate] = [tree]
    while todo:
        sides: tuple[Path | Literal, ...] = ()
        match todo.pop():
            case PredicateComparison(left, _, right):
                sides = (left, right)
            case Among(left, _):
                sides = (left,)
            case Every(parts) | Some(parts):
                todo.extend(reversed(parts))
            case Negated(part):
                todo.append(part)
        found.update((side.names, None) for side in sides if isinstance(side, Path))
    return tuple(found)


def _compare(
    left: Path | Literal, sign: str, right: Path | Literal, look: Look, params: Params
) -> exp.Expr:
    if isinstance(left, Literal) and isinstance(right, Literal):
        return (TRUE if _decided(left, sign, right) else FALSE).copy()
    if isinstance(left, Literal):
        left, sign, right = right, _TURNED[sign], left
    assert isinstance(left, Path)
    value = look(left.names)
    if isinstance(right, Path):
        return compare(value, sign, look(right.names))
    if right.value is None:
        if sign == "=":
            return is_none(value)
        return is_something(value) if sign == "!=" else FALSE.copy()
    return compare(value, sign, (constant(right.value, params),))


def _decided(left: Literal, sign: str, right: Literal) -> bool:
    if sign == "!=" and (left.value is None) != (right.value is None):
        return True  # only the word null compares with every kind
    return holds(left.value, sign, right.value)
