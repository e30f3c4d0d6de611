"""What hangs together, and what is equal: sets that grow by pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class JoinedSets(Generic[T]):
    """Which things hang together (union-find); one that was never joined stands for itself.

    >>> joined = JoinedSets[str]()
    >>> joined.join("a", "b")
    >>> joined.join("b", "c")
    >>> joined.find("a") == joined.find("c"), joined.find("d")
    (True, 'd')
    """

    def __init__(self, pairs: Iterable[tuple[T, T]] = ()) -> None:
        self.parent: dict[T, T] = {}
        for one, other in pairs:
            self.join(one, other)

    def find(self, one: T) -> T:
        """The one that stands for all that hang together with this."""
        while (parent := self.parent.get(one, one)) != one:
            self.parent[one] = parent = self.parent.get(parent, parent)
            one = parent
        return one

    def join(self, one: T, other: T) -> None:
        """Let two hang together."""
        self.parent[self.find(one)] = self.find(other)


def grouped(several: Iterable[Sequence[T]]) -> list[list[T]]:
    """Things that stand together somewhere, in groups, each in the order of its parts.

    >>> grouped([("a", "b"), ("c", "d"), ("b", "e")])
    [['c', 'd'], ['a', 'b', 'e']]
    """
    groups: list[list[T]] = []
    for some in several:
        touched = [group for group in groups if any(one in group for one in some)]
        merged = dict.fromkeys([*(one for group in touched for one in group), *some])
        groups = [group for group in groups if group not in touched] + [list(merged)]
    return groups
