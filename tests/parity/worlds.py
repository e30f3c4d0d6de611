"""One world of hosts for the parity tests, whoever drives it.

A test says what happens to hosts and what agents do; it never asks which driver it runs on. A
`World` starts hosts, cuts one off from the others and joins it again, kills one and starts it
again from what it has kept. `Simulated` does this in virtual time with hosts of one process;
`Real` with processes, sockets and stores (`tests/parity/processes.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from nomospace import Host, Network
from nomospace.client import Agent
from nomospace.store.memory import MemoryStore

WAIT_S = 60.0
"""What has not happened after so long does not happen: the test has failed."""


class World(Protocol):
    """Hosts that are all linked with each other, until one is cut off."""

    async def start(self, *names: str, keeps: bool = True) -> None:
        """Start hosts, or start them again from what they have kept; or such that keep nothing."""

    async def agent(self, name: str, host: str) -> Agent:
        """The agent `name@host`, new or as it was left. Asking again gives it anew."""

    async def kill(self, name: str) -> None:
        """End a host at once: what it has not kept is gone."""

    async def cut_off(self, name: str) -> None:
        """Let a host reach no other."""

    async def join(self, name: str) -> None:
        """Let a host that was cut off reach the others again."""

    async def close(self) -> None:
        """End everything."""


class Simulated:
    """Hosts of this process in virtual time."""

    def __init__(self) -> None:
        self._network = Network()
        self._stores: dict[str, MemoryStore] = {}
        self._hosts: dict[str, Host] = {}

    async def start(self, *names: str, keeps: bool = True) -> None:
        for name in names:
            known = name in self._stores
            store = self._stores.setdefault(name, MemoryStore())
            if not known:
                for other in self._stores:
                    if other != name:
                        self._network.connect(name, other)
            kept = store if keeps else None
            self._hosts[name] = Host(name, network=self._network, store=kept)
            await self._hosts[name].start()

    async def agent(self, name: str, host: str) -> Agent:
        return await self._hosts[host].agent(name)

    async def kill(self, name: str) -> None:
        self._hosts.pop(name)._end()

    async def cut_off(self, name: str) -> None:
        for other in self._stores:
            if other != name:
                self._network.part(name, other)

    async def join(self, name: str) -> None:
        for other in self._stores:
            if other != name:
                self._network.connect(name, other)

    async def close(self) -> None:
        for host in self._hosts.values():
            await host.close()


async def until(happened: Callable[[], Awaitable[Any]], *, wait_s: float = WAIT_S) -> Any:
    """Ask again and again until the answer is true; gives it."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait_s
    while not (answer := await happened()):
        assert loop.time() < end, f"it has not happened in {wait_s:g} s"
        await asyncio.sleep(0.02)
    return answer


async def see(agent: Agent, host: str, status: str = "connected") -> None:
    """Wait until an agent sees a host of its group come, or go."""
    await agent.system.read("host", host, status, timeout=WAIT_S)
