"""One total order over all terms: none, booleans, numbers, strings, bytes, lists, compounds.

Numbers go by value, a float before the integer it equals. Lists go item by item, a shorter one
before one that it begins. Compounds go by arity, then name, then arguments: standard Prolog.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key
from typing import Any

from nomospace.terms.values import Compound, Term, Var, same

_RANK = {type(None): 1, bool: 2, int: 3, float: 3, str: 4, bytes: 5, tuple: 6, Compound: 7, Var: 0}


def compare(a: Term, b: Term) -> int:
    """Negative, zero or positive as `a` comes before, is, or comes after `b`.

    >>> compare(1.0, 1), compare("b", "a"), compare((1,), (1, 2))
    (-1, 1, -1)
    """
    pending: list[tuple[Term, Term]] = [(a, b)]
    seen: set[tuple[int, int]] = set()  # pairs of shared parts found equal, once there are many
    visits = 0
    while pending:
        x, y = pending.pop()
        if x is y:
            continue
        visits += 1
        if visits > 1_000 and _RANK[x.__class__] >= 6:
            if (id(x), id(y)) in seen:
                continue
            seen.add((id(x), id(y)))
        rank_x, rank_y = _RANK[x.__class__], _RANK[y.__class__]
        if rank_x != rank_y:
            return -1 if rank_x < rank_y else 1
        if type(x) is Compound and type(y) is Compound:
            key_x, key_y = (len(x.args), x.name), (len(y.args), y.name)
            if key_x != key_y:
                return -1 if key_x < key_y else 1
            pending.extend(zip(reversed(x.args), reversed(y.args), strict=True))
        elif type(x) is tuple and type(y) is tuple:
            if len(x) != len(y):  # a shorter list, once its items are equal, comes first
                pending.append((len(x), len(y)))
            count = min(len(x), len(y))
            pending.extend((x[i], y[i]) for i in range(count - 1, -1, -1))
        elif type(x) is Var and type(y) is Var:
            return -1 if (x.name, id(x)) < (y.name, id(y)) else 1
        elif x != y:
            return -1 if _less(x, y) else 1
        elif x.__class__ is not y.__class__:
            return -1 if type(x) is float else 1
    return 0


def _less(x: Any, y: Any) -> bool:
    """Of two atomic values of one rank."""
    return bool(x < y)


order_key = cmp_to_key(compare)


def sort_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Sorted by the total order, without duplicates.

    >>> sort_terms(["b", 2, "a", 2.0, "a"])
    (2.0, 2, 'a', 'b')
    """
    out: list[Term] = []
    for item in sorted(terms, key=order_key):
        if not out or not same(out[-1], item):
            out.append(item)
    return tuple(out)
