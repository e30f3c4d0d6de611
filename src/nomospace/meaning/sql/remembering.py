"""What was used lately is kept at hand: a cache with a limit, and a count of how often it served.

Policy: what was used longest ago goes first. What is kept must not change while it is kept; whoever
changes it empties the cache.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Remembered(Generic[Key, Kept]):
    """Up to `limit` things by their keys.

    >>> kept = Remembered[str, int](2)
    >>> for name in ("a", "b", "a", "c", "a", "b"):
    ...     if kept.get(name) is None:
    ...         kept.put(name, len(name))
    >>> kept.hits, kept.misses, f"{kept.rate:.0%}", len(kept)
    (2, 4, '33%', 2)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self._kept: OrderedDict[Key, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Key) -> Kept | None:
        """What is kept under a key, which counts as used now."""
        found = self._kept.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(key)
        return found

    def put(self, key: Key, value: Kept) -> None:
        """Keep something; past the limit, what was used longest ago goes."""
        self._kept[key] = value
        if len(self._kept) > self.limit:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything but the counts."""
        self._kept.clear()

    @property
    def rate(self) -> float:
        """How much of what was asked for was at hand, from 0 to 1."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0
