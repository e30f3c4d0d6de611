"""Cycles in a graph of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def cycles(edges: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Cycles of a graph, one for each edge that closes one, found in time linear in its edges.

    >>> list(cycles({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": []}))
    [['a', 'b', 'c']]
    """
    done: set[str] = set()
    for start in edges:
        if start in done:
            continue
        path = {start: iter(edges[start])}  # the way from the start, in order
        while path:
            name = next(reversed(path))
            for near_one in path[name]:
                if near_one in path:
                    way = list(path)
                    yield way[way.index(near_one) :]
                elif near_one in edges and near_one not in done:
                    path[near_one] = iter(edges[near_one])
                    break
            else:
                done.add(name)
                del path[name]


def arrows(cycle: list[str]) -> str:
    """A cycle in words, a long one shortened."""
    shown = cycle if len(cycle) <= 8 else [*cycle[:4], f"... {len(cycle) - 5} more ...", cycle[-1]]
    return " -> ".join((*shown, cycle[0]))
