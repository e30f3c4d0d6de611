"""Where live games take place: hosts that come and go, on one machine or on several.

The games in this room are programs of the public API; who runs them decides what their hosts are.
`nomospace up` hands in whole hosts, with ports and stores, and tests those of a simulated clock.

A machine that takes part in games has a *gate*: a host of its own that its other hosts join, and
that joins the gates of other machines. Whoever has joined nobody begins the games.
"""

from __future__ import annotations

from typing import Any, Protocol

from nomospace.client import Agent
from nomospace.errors import Unavailable


class NoGame(Unavailable):
    """Whoever was joined has no game to take part in, or cannot be reached."""

    code = "venue.no-game"
    words = (
        "no game was found at {joined} within {waited_s:g} s; start it there with "
        "`nomospace up --demo …`, look whether this machine can reach it, and try again"
    )
    joined: str
    waited_s: float


class Device(Protocol):
    """A host, as far as a game needs it."""

    @property
    def name(self) -> str:
        """Its name."""

    async def agent(self, name: str) -> Agent:
        """An agent of this host."""

    def connected(self, who: str) -> bool:
        """Whether an agent or a host is in the group now."""

    def moved(self, x_m: float, y_m: float) -> None:
        """The device is somewhere else."""

    def engage(self) -> None:
        """Be willing to share."""

    def disengage(self) -> None:
        """Leave the group, until `engage`."""


class Venue(Protocol):
    """What a game is given: it opens hosts and takes them off the network."""

    @property
    def joined(self) -> str:
        """Whose games are joined; empty for those who begin their own."""

    @property
    def invitation(self) -> str:
        """Where others join the games here; empty where nobody can."""

    async def gate(self) -> Device:
        """The host of this machine that others join."""

    async def open(self, name: str, *, policy: Any = None, keep: bool = True) -> Device:
        """A host whose name begins so; without `keep` a new one, which leaves nothing behind."""

    async def close(self, name: str) -> None:
        """End a host; harmless when there is none."""

    async def unplug(self, name: str) -> None:
        """Take a host off the network: its links are down, and nobody is told."""

    async def plug(self, name: str) -> None:
        """Bring it back."""

    def address(self, name: str) -> str:
        """Where others reach a host."""

    def near(self, name: str, address: str) -> None:
        """Let a host hear the one at an address."""
