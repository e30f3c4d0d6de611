"""A host in its group: who else is there, how it joins and leaves, and waiting until it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nomospace.errors import Unavailable
from nomospace.host.calls import Disengage, Drain, Engage, Moved
from nomospace.node.driver import Driver
from nomospace.protocols.messages import View
from nomospace.protocols.policy import NotAPosition, is_position


class NotInTime(Unavailable):
    """The group did not become what was waited for."""

    code = "node.not-in-time"
    host: str
    hosts: tuple[str, ...]
    members: tuple[str, ...]
    timeout_s: float

    def __str__(self) -> str:
        return (
            f"after {self.timeout_s:g} s the group of {self.host} is {', '.join(self.members)}, "
            f"and {', '.join(self.hosts)} was waited for; look at links and policies"
        )


class Grouped(Driver):
    """The part of a host that is about its group."""

    @property
    def view(self) -> View:
        """The group as this host sees it: `view.members` are the names of its hosts.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     host.view.members
        ('ward-3',)
        """
        return self._running().view

    def connected(self, who: str) -> bool:
        """Whether an agent, or (without an `@`) a host, is connected with this host now."""
        core = self._running()
        return core.connected(who) if "@" in who else who in core.view.members

    def engage(self) -> None:
        """Join whom the policy lets this host join; it takes some message delays."""
        self._running()
        self._tell(Engage())

    def disengage(self) -> None:
        """Leave the group by announcement, and stay alone until `engage`."""
        self._running()
        self._tell(Disengage())

    def drain(self, drained: bool = True) -> None:
        """Keep no share of partitioned spaces from now on, or (false) one again.

        What lies here moves to the other hosts by and by; it stays so when the host starts again.
        """
        self._running()
        self._tell(Drain(drained))

    def moved(self, x_m: float, y_m: float, z_m: float | None = None) -> None:
        """Tell where the host is now, in metres; for policies that engage by position.

        Raises `NotAPosition`. All hosts of a group give two numbers, or all give three.
        """
        self._running()
        given = (x_m, y_m) if z_m is None else (x_m, y_m, z_m)
        position = tuple([float(part) for part in given])
        if not is_position(position):  # the core may have to hold it, and then nobody hears of it
            raise NotAPosition(position=position)
        self._tell(Moved(position))

    async def wait_engaged(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until all these hosts are in the group of this one; raises `NotInTime`."""
        await self._wait_view(
            lambda members: all(name in members for name in hosts), hosts, timeout
        )

    async def wait_parted(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until none of these hosts is in the group of this one; raises `NotInTime`."""
        await self._wait_view(lambda members: not any(n in members for n in hosts), hosts, timeout)

    async def _wait_view(
        self,
        good: Callable[[tuple[str, ...]], bool],
        hosts: tuple[str, ...],
        timeout: float | None,
    ) -> None:
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                while not good(self.view.members):
                    future = asyncio.get_running_loop().create_future()
                    self._watchers.append(future)
                    await future
        except TimeoutError:
            if not limit.expired():
                raise
            raise NotInTime(
                host=self.name, hosts=hosts, members=self.view.members, timeout_s=timeout or 0.0
            ) from None
