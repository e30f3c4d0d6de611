"""Hosts of this process for the games that `nomospace up` shows: real ones, over in-process links.

They notice soon who came and went, since no frame has far to go: somebody who goes offline is seen
to be gone within half a second.
"""

from __future__ import annotations

from typing import Any, Final

from nomospace.node.local import Host
from nomospace.node.network import Network
from nomospace.protocols.pace import Pace

BRISK: Final = Pace(heartbeat=100_000, loss=400_000)
HOSTS_MAX: Final = 32
"""More would be no game; whoever asks for a host after that is refused by the game."""


class InProcess:
    """A venue (`apps.venue.Venue`) of hosts in this process, without a store."""

    def __init__(self) -> None:
        self.network = Network()
        self.hosts: dict[str, Host] = {}

    async def open(self, name: str, *, policy: Any = None) -> Host:
        """Start a host."""
        assert len(self.hosts) < HOSTS_MAX, "games bound how many play"
        host = Host(name, network=self.network, policy=policy, pace=BRISK)
        await host.start()
        self.hosts[name] = host
        return host

    async def close(self, name: str) -> None:
        """End a host."""
        host = self.hosts.pop(name, None)
        if host is not None:
            await host.close()

    def link(self, one: str, other: str) -> None:
        """Let two hosts hear each other."""
        self.network.connect(one, other)

    def cut(self, one: str, other: str) -> None:
        """Let them hear each other no more."""
        self.network.part(one, other)

    async def stop(self) -> None:
        """End all hosts."""
        for name in list(self.hosts):
            await self.close(name)
