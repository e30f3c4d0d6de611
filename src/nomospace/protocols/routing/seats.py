"""What travels with an agent: its place in the order of posts.

Numbers run from 1 for every ordered pair of agents. A name may be used again, long after its
former bearer ended and was forgotten (see `server`): the new bearer is of a later *life*, and its
numbers and epochs begin above all of the life before, at `life << LIFE_BITS`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.protocols.routing.frames import Post

LIFE_BITS: Final = 32
"""How many bits of a number count within one life."""


def floor_of(number: int) -> int:
    """Where the numbers of a number's life begin; itself not a number.

    >>> floor_of(5), floor_of((3 << LIFE_BITS) + 5) == 3 << LIFE_BITS
    (0, True)
    """
    return (number >> LIFE_BITS) << LIFE_BITS


class Seat(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An agent's numbers between two sites.

    `epoch` counts the moves that were begun, `domain` is where the agent is registered, `sent` and
    `got` are the last numbers to and from each peer, `early` the posts that wait for one before
    them, `strays` the numbers not to wait for, `writers` the sites that lately wrote to it,
    `failed` the posts that it was lately told have failed.
    """

    epoch: int
    domain: str
    sent: tuple[tuple[str, int], ...] = ()
    got: tuple[tuple[str, int], ...] = ()
    early: tuple[Post, ...] = ()
    strays: tuple[tuple[str, int], ...] = ()
    writers: tuple[str, ...] = ()
    failed: tuple[tuple[str, int], ...] = ()
