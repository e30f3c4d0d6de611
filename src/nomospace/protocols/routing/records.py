"""What a server knows of agents.

Records are promises: as long as an agent lives, its home has one, and so has every server that it
was registered at; followed from any of them, each names a place where the agent was later than the
one before. Guesses are not: a server may forget them at any time, and take a longer way.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Kind(Enum):
    """What a record says."""

    HERE = "HERE"
    """The agent is at a site of this domain."""
    MOVING = "MOVING"
    """It was at a site of this domain and may have left; its mail waits."""
    GONE = "GONE"
    """It was registered at the server of another domain after this one."""
    ENDED = "ENDED"
    """It is no more."""


HERE, MOVING, GONE, ENDED = Kind


class LocationRecord(msgspec.Struct, frozen=True, gc=False):
    """A site or domain, and the epoch since which it holds; `ticket` is that of a move begun.

    `got` is what an agent that ended had got (see `AgentEnded`).
    """

    kind: Kind
    where: str
    epoch: int
    ticket: str = ""
    got: tuple[tuple[str, int], ...] = ()

    def had(self, sender: str, n: int) -> bool:
        """Whether an agent that ended is known to have got a number."""
        return any(each == sender and n <= last for each, last in self.got)
