"""Where live games take place: hosts that come and go, and links that are made and cut.

The games in this room are programs of the public API; who runs them decides what their hosts are.
`nomospace up` hands in hosts of its own process, tests those of a simulated clock.
"""

from __future__ import annotations

from typing import Any, Protocol

from nomospace.client import Agent


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
    """What a game is given: it opens hosts and links them."""

    async def open(self, name: str, *, policy: Any = None) -> Device:
        """A new host."""

    async def close(self, name: str) -> None:
        """End a host; harmless when there is none."""

    def link(self, one: str, other: str) -> None:
        """Let two hosts hear each other."""

    def cut(self, one: str, other: str) -> None:
        """Let them hear each other no more."""
