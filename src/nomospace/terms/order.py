"""One total order over all terms: none, booleans, numbers, strings, bytes, lists, compounds.

Numbers go by value, a float before the integer it equals. Lists go item by item, a shorter one
before one that it begins. Compounds go by arity, then name, then arguments: standard Prolog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from nomospace.terms.values import Compound, Term, Var, parts_of

_RANK = {type(None): 1, bool: 2, int: 3, float: 3, str: 4, bytes: 5, tuple: 6, Compound: 7, Var: 0}


_WALKED_AT_ONCE: Final = 200
"""After so many parts who makes a key is told of them."""
TEXT_A_PART: Final = 500
"""Characters of a text that count as one part more."""


def order_key(term: Term, walked: Callable[[int], None] | None = None) -> tuple[object, ...]:
    """What a term is sorted by, a tuple that Python compares itself; equal for what is the same.

    It is flat: the ranks and values of all parts in the order in which they are written, and a mark
    lower than every rank where a list ends. Parts that are shared stand in it each time, so it may
    be far larger than the term; `walked` hears how many parts there are, before they are kept.

    >>> sorted(["b", 2, (1,), "a", 2.0, (1, 0)], key=order_key)
    [2.0, 2, 'a', 'b', (1,), (1, 0)]
    """
    kind = term.__class__
    if kind is not Compound and kind is not tuple:
        if walked is not None and type(term) is str and len(term) >= TEXT_A_PART:
            walked(len(term) // TEXT_A_PART)
        return _atomic_key(term)
    key: list[object] = []
    pending: list[Iterator[Term]] = [iter((term,))]
    ends: list[bool] = [False]  # whether a mark follows
    parts = 0
    while pending:
        for part in pending[-1]:
            kind = part.__class__
            if kind is int:
                key += 3, part, 1
            elif type(part) is str:
                parts += len(part) // TEXT_A_PART
                key += 4, part
            elif kind is Compound or kind is tuple:
                inner = parts_of(part)
                parts += 1 + len(inner)
                if parts >= _WALKED_AT_ONCE:
                    if walked is not None:
                        walked(parts)
                    parts = 0
                if type(part) is Compound:
                    key += 7, len(inner), part.name
                else:
                    key.append(6)
                pending.append(iter(inner))
                ends.append(type(part) is tuple)
                break
            else:
                key += _atomic_key(part)
        else:
            pending.pop()
            if ends.pop():
                key.append(-1)
    if parts and walked is not None:
        walked(parts)
    return tuple(key)


def _atomic_key(term: Term) -> tuple[object, ...]:
    rank = _RANK[term.__class__]
    if rank == 3:
        return 3, term, 0 if type(term) is float else 1
    if type(term) is Var:
        return 0, term.name, id(term)
    return (rank,) if term is None else (rank, term)
