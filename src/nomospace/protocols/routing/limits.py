"""How much a daemon and a server may keep, and how long they pause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from nomospace.protocols.pace import MISSED


class RoutingLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can grow has its limit here.

    A queue that is full gives posts back to the daemon they come from, which keeps them and tries
    again. A daemon that keeps too many takes no new ones from its agents; those that are under way
    may still come back to it. Caches forget what was used longest ago.
    """

    guesses_max: int = 10_000
    """Guesses of a daemon, and of a server about agents that it need not know."""
    passed_max: int = 1_000
    """Posts that a daemon or server remembers having passed on, to believe updates about them."""
    queue_max: int = 1_000
    """Posts that wait at a server for the end of one agent's move."""
    early_max: int = 1_000
    """Posts that wait at one agent's seat for one before them."""
    held_max: int = 10_000
    """Posts kept at their origin from which on no new ones are taken."""
    passes_max: int = 64
    """How often servers pass a post on before it goes back to its origin for a pause."""
    records_max: int = 10_000_000
    """Agents born at one server."""
    tombs_max: int = 100_000
    """Ended agents that a server remembers."""
    buried_max: int = 64
    """Those who wrote to an ended agent of whom a server remembers which posts it got."""
    strays_max: int = 10_000
    """Posts to names that nobody had which a home remembers, so that nobody waits for them."""
    writers_max: int = 16
    """Sites told by the eager policy when an agent leaves its domain."""
    steps_max: int = 10_000
    """Steps that wait for the standbys of a server, from which on posts go back; of three or more
    servers one that is so many steps behind is sent no more until it is back."""
    pause_min: int = 50_000
    """Before a post that came back is tried again; doubles each time."""
    pause_max: int = 10_000_000
    """The longest such pause."""
    silence: int = MISSED
    """How long the primary of three or more servers is not heard before another would be it."""


K = TypeVar("K")

DEFAULT_LIMITS: Final = RoutingLimits()


def cache_state(cache: Mapping[K, object], most: int) -> tuple[tuple[K, object], ...]:
    """A cache as a value. What was used when counts only once it might have to forget.

    >>> cache_state({"b": 1, "a": 2}, 100), cache_state({"b": 1, "a": 2}, 3)
    ((('a', 2), ('b', 1)), (('b', 1), ('a', 2)))
    """
    items = cache.items()
    return tuple(items if 2 * len(cache) > most else sorted(items))
