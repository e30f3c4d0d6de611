"""How much lies in the spaces of a host, and for how long: what an operator of a queue looks at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from nomospace.node.within import Kept

PRIVATE: Final = "(private)"
"""The label of all spaces that agents have for themselves, together."""


def backlog(spaces: Iterable[Kept], now: int) -> Mapping[str, dict[str, float]]:
    """`tuples`, `lent`, `waiting` and `oldest_seconds`, each by space."""
    found: dict[str, dict[str, float]] = {
        "tuples": {},
        "lent": {},
        "waiting": {},
        "oldest_seconds": {},
    }
    for space, _, shared, _ in spaces:
        label, of = space.name if shared else PRIVATE, space.stats()
        for name, count in (("tuples", "tuples"), ("lent", "lent"), ("waiting", "waiters")):
            found[name][label] = found[name].get(label, 0) + of[count]
        if space.waits is not None:
            eldest = space.eldest()
            since = now if eldest is None else space.waits.since(eldest.order)
            found["oldest_seconds"][label] = max(0, now - since) / 1e6
    return found
