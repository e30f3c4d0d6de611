"""Hosts on loopback addresses of their own, which reach each other through links that can break.

Each host dials each other one through a proxy, over TLS; nobody knows another way. The proxies run
in a thread of their own, so that they live as long as the hosts do, whatever loop a test has.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parity.processes import NOWHERE
from tests.ports import free_port
from tests.proxy import Proxy
from tests.real.hosts import RealHost, end, start
from tests.real.trust import Trust

PLACES = {"ward": "127.0.0.2", "icu": "127.0.0.3", "lab": "127.0.0.4"}


class Linked:
    """Three hosts and the six ways between them."""

    def __init__(self, folder: Path) -> None:
        self.trust = Trust(folder / "trust")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies")
        self._thread.start()
        ports = {name: free_port() for name in PLACES}
        self._ways: dict[tuple[str, str], Proxy] = {}
        for name, place in PLACES.items():
            self.trust.member(name)
            for other, at in PLACES.items():
                if other != name:
                    self._ways[name, other] = Proxy(at, ports[other], at=place)
        self._do(self._open())
        self.hosts: dict[str, RealHost] = {}
        for name, at in PLACES.items():
            given = ["--trust", str(self.trust.folder), "--advertise", NOWHERE]
            given += ["--listen", f"{at}:{ports[name]}", "--store", str(folder / f"{name}.db")]
            for (source, _), proxy in self._ways.items():
                if source == name:
                    given += ["--join", proxy.address]
            self.hosts[name] = RealHost(name, folder, *given)
        start(*self.hosts.values())

    async def _open(self) -> None:
        for proxy in self._ways.values():
            await proxy.__aenter__()

    async def _shut(self) -> None:
        for proxy in self._ways.values():
            await proxy.__aexit__()

    def _do(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def close(self) -> None:
        """End the hosts, then the links."""
        try:
            end(*self.hosts.values())
        finally:
            self._do(self._shut())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(30)
            self._loop.close()

    # -- what happens to links -----------------------------------------------------------------

    def change(self, what: Callable[[Proxy], Any], *hosts: str) -> None:
        """Do something to all ways between these hosts and the others; to all ways if none."""

        async def all_of_them() -> None:
            for ends, proxy in self._ways.items():
                if not hosts or any(host in ends for host in hosts):
                    what(proxy)

        self._do(all_of_them())

    def cut(self, *hosts: str) -> None:
        """Nothing gets through, and nobody is told."""
        self.change(Proxy.cut, *hosts)

    def heal(self, *hosts: str) -> None:
        """Everything gets through again."""
        self.change(Proxy.heal, *hosts)

    def reset(self, *hosts: str) -> None:
        """All connections end."""
        self.change(Proxy.reset, *hosts)

    def slow(self, seconds: float, *hosts: str) -> None:
        """Each piece takes so long in each direction."""

        def delay(proxy: Proxy) -> None:
            proxy.delay = seconds

        self.change(delay, *hosts)


@contextmanager
def linked(folder: Path) -> Iterator[Linked]:
    """Three linked hosts that end with the block."""
    made = Linked(folder)
    try:
        yield made
    finally:
        made.close()
