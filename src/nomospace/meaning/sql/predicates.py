"""Predicates as SQL, with the meaning that `terms.predicate` gives them, to the last case.

A comparison is false where a property is missing or the kinds differ, and only then does SQL's
third truth value come near; `values` keeps it out. Comparisons of two written values are decided
here, by the predicate's own code.

An element of an array by its place is a value like any other. Where `any` stands for several, the
comparison holds if it does for some row: `Look.some`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

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
from nomospace.terms import predicate
from nomospace.terms.conditions import holds

_TURNED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Look(Protocol):
    """Where the values of an object stand in a statement."""

    def value(self, operand: predicate.Path | predicate.Element, side: str) -> Value:
        """The places where a value may stand; `side` tells the two of a comparison apart."""

    def some(self, element: predicate.Element, side: str, test: exp.Expr) -> exp.Expr:
        """Whether a condition on what `any` stands for holds for some of it."""


def condition(tree: predicate.Predicate, look: Look, params: Params) -> exp.Expr:
    """The condition on a row that a predicate is; TRUE or FALSE, never NULL.

    >>> from nomospace.meaning.sql.values import ValuePlace
    >>> from nomospace.terms.predicate import parse
    >>> class Row:
    ...     def value(self, path, side):
    ...         return (ValuePlace("n", num=exp.column("__".join(path.names))),)
    >>> params = Params()
    >>> tree = parse("not price.amount < 5000", field=False)
    >>> condition(tree, Row(), params).sql(), params.values
    ('NOT (COALESCE(price__amount < :p0, FALSE))', {'p0': 5000.0})
    """
    match tree:
        case predicate.PredicateComparison(left, sign, right):
            return _compare(left, sign, right, look, params)
        case predicate.Among(left, values):
            return any_of(
                [_compare(left, "=", predicate.Literal(value), look, params) for value in values]
            )
        case predicate.Every(parts):
            return all_of([condition(part, look, params) for part in parts])
        case predicate.Some(parts):
            return any_of([condition(part, look, params) for part in parts])
        case predicate.Negated(part):
            inner = condition(part, look, params)
            if inner in (TRUE, FALSE):
                return (FALSE if inner == TRUE else TRUE).copy()
            return exp.Not(this=exp.Paren(this=inner))


def has_elements(text: str) -> bool:
    """Whether a predicate on an object, if there is one, looks into arrays.

    >>> has_elements("not (tags[0] = 'red' or price < 5)"), has_elements("tags = 'red'")
    (True, False)
    """
    return bool(text) and any(
        isinstance(side, predicate.Element) for side in _sides(predicate.parse(text, field=False))
    )


def _sides(tree: predicate.Predicate) -> Iterator[predicate.Operand]:
    match tree:
        case predicate.PredicateComparison(left, _, right):
            yield from (left, right)
        case predicate.Among(left, _):
            yield left
        case predicate.Every(parts) | predicate.Some(parts):
            for part in parts:
                yield from _sides(part)
        case predicate.Negated(part):
            yield from _sides(part)


def _compare(
    left: predicate.Operand, sign: str, right: predicate.Operand, look: Look, params: Params
) -> exp.Expr:
    if isinstance(left, predicate.Literal) and isinstance(right, predicate.Literal):
        return (TRUE if _decided(left, sign, right) else FALSE).copy()
    if isinstance(left, predicate.Literal):
        left, sign, right = right, _TURNED[sign], left
    assert not isinstance(left, predicate.Literal)
    value = look.value(left, "l")
    test: exp.Expr
    if not isinstance(right, predicate.Literal):
        test = compare(value, sign, look.value(right, "r"))
    elif right.value is not None:
        test = compare(value, sign, (constant(right.value, params),))
    elif sign == "=":
        test = is_none(value)
    else:
        test = is_something(value) if sign == "!=" else FALSE.copy()
    for operand, side in ((left, "l"), (right, "r")):
        if isinstance(operand, predicate.Element) and operand.several and test != FALSE:
            test = look.some(operand, side, test)
    return test


def _decided(left: predicate.Literal, sign: str, right: predicate.Literal) -> bool:
    if sign == "!=" and (left.value is None) != (right.value is None):
        return True  # only the word null compares with every kind
    return holds(left.value, sign, right.value)
