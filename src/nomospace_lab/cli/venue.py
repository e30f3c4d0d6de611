"""Hosts for the games that `nomospace up` shows: whole ones, each with a port and a store.

They notice soon who came and went: somebody who goes offline is seen to be gone within two seconds.
On the loopback they need no certificates. Elsewhere `trust` is a folder of `nomospace trust init`
with its authority's key, which certifies hosts here as they are opened.

`InProcess` is the same for tests with a clock of their own: no ports, no stores.
"""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any, Final

from nomospace.cli.trust.files import TrustFolder, part_of
from nomospace.cli.trust.issue import IssueOptions, certify_host
from nomospace.errors import CallerError
from nomospace.node.addresses import Address
from nomospace.node.config import read_config
from nomospace.node.local import Host
from nomospace.node.network import Network
from nomospace.node.serve import Server
from nomospace.node.tcp import TcpLinks
from nomospace.protocols.pace import Pace
from nomospace.store.private import make_folder

BRISK: Final = Pace(heartbeat=100_000, loss=400_000)
STEADY: Final = Pace(heartbeat=250_000, loss=1_500_000)
"""What machines that have more to do still keep up with."""
HOSTS_MAX: Final = 32
"""More would be no game; whoever asks for a host after that is refused by the game."""
GATE: Final = "gate"
LOOPBACK: Final = "127.0.0.1:0"
TAG: Final = "games.tag"
"""The file with what the names of this folder's hosts end with."""
DAYS: Final = 365
"""How long the certificates of hosts count."""


class NoPlace(CallerError):
    """Others are told to come to all addresses of this machine, which is no place."""

    code = "venue.no-place"
    words = "{listen} names no machine that others could dial; say which it is with --advertise"
    listen: str


class Stations:
    """A venue (`apps.venue.Venue`) of whole hosts, which keep what they have in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        listen: str = LOOPBACK,
        advertise: str = "",
        join: tuple[str, ...] = (),
        trust: str = "",
    ) -> None:
        """The gate listens at `listen`, its other hosts at any port there.

        Raises `NoPlace`, `BadHostAddress`.
        """
        self._folder = folder
        self._listen = Address.parse(listen)
        self._advertise = advertise
        self._host = Address.parse(advertise).host if advertise else self._listen.host
        if self._listen.anywhere and not advertise:
            raise NoPlace(listen=listen)
        self._join = tuple([str(Address.parse(address)) for address in join])
        self._trust = trust
        self._servers: dict[str, Server] = {}
        self._passing: dict[str, None] = {}
        self._opening = asyncio.Lock()

    @property
    def joined(self) -> str:
        """Whose games are joined."""
        return ", ".join(self._join)

    @property
    def invitation(self) -> str:
        """Where others join the games here; empty before the gate is open."""
        name = f"{GATE}-{self._tag()}"
        return self._advertise or (self.address(name) if name in self._servers else "")

    async def gate(self) -> Host:
        """The host that others join."""
        name = f"{GATE}-{self._tag()}"
        async with self._opening:
            if name not in self._servers:
                await self._start(name, str(self._listen), self._join, advertise=self._advertise)
        return self._servers[name].host

    async def open(self, name: str, *, policy: Any = None, keep: bool = True) -> Host:
        """Start a host."""
        assert len(self._servers) < HOSTS_MAX, "games bound how many play"
        gate = await self.gate()
        full = f"{name}-{self._tag() if keep else secrets.token_hex(3)}"
        if not keep:
            self._passing[full] = None
        place = str(Address(self._listen.host, 0))
        await self._start(full, place, (self.address(gate.name),), policy=policy)
        return self._servers[full].host

    async def close(self, name: str) -> None:
        """End a host; one that was not to be kept leaves nothing behind."""
        server = self._servers.pop(name, None)
        if server is not None:
            await server.stop()
        if name in self._passing:
            del self._passing[name]
            for file in self._folder.glob(f"{name}.db*"):
                file.unlink(missing_ok=True)

    async def unplug(self, name: str) -> None:
        """Take a host off the network: its links end, and it takes up no other."""
        await self._servers[name].links.stop()

    async def plug(self, name: str) -> None:
        """Let it dial again, and be dialled."""
        await self._servers[name].links.start()

    def address(self, name: str) -> str:
        """Where others reach a host."""
        return str(Address(self._host, self._servers[name].listener.address.port))

    def near(self, name: str, address: str) -> None:
        """Have a host dial an address."""
        links = self._servers[name].links
        assert isinstance(links, TcpLinks), "hosts here have ports"
        links.hint(address)

    async def stop(self) -> None:
        """End all hosts, the gate last."""
        for name in reversed(list(self._servers)):
            await self.close(name)

    async def _start(
        self,
        name: str,
        listen: str,
        join: tuple[str, ...],
        *,
        advertise: str = "",
        policy: Any = None,
    ) -> None:
        if self._trust:
            self._certify(name)
        config = read_config(
            "",
            name,
            name=name,
            listen=listen,
            advertise=(advertise,) if advertise else (),
            join=join,
            store=str(self._folder / f"{part_of(name)}.db"),
            trust=self._trust,
            insecure=None if self._trust else True,
        )
        server = Server(config, host=Host(name, policy=policy, pace=STEADY))
        self._servers[name] = await server.__aenter__()

    def _certify(self, name: str) -> None:
        opened = TrustFolder.open(Path(self._trust))
        if not opened.host(name, "host").certificate.exists():
            places = ["127.0.0.1", self._host]
            certify_host(opened, name, places, IssueOptions(days=DAYS))

    def _tag(self) -> str:
        """What tells this machine's hosts from those of others, for as long as they keep things."""
        file = self._folder / TAG
        if not file.exists():
            make_folder(self._folder)
            file.write_text(secrets.token_hex(2))
        return file.read_text()


class InProcess:
    """A venue of hosts in this process, without a store."""

    joined = invitation = ""

    def __init__(self) -> None:
        self.network = Network()
        self.hosts: dict[str, Host] = {}
        self._off: dict[str, None] = {}
        self._opened = 0

    async def gate(self) -> Host:
        """One host like all others."""
        return self.hosts.get(GATE) or await self._start(GATE, None)

    async def open(self, name: str, *, policy: Any = None, keep: bool = True) -> Host:
        """Start a host."""
        assert len(self.hosts) < HOSTS_MAX, "games bound how many play"
        # One that keeps nothing is a new one each time: others still know the last.
        self._opened += 1
        return await self._start(f"{name}-pda{self._opened}", policy)

    async def close(self, name: str) -> None:
        """End a host."""
        self._off.pop(name, None)
        host = self.hosts.pop(name, None)
        if host is not None:
            await host.close()

    async def unplug(self, name: str) -> None:
        """Let nobody hear it."""
        self._off[name] = None
        for other in self.hosts:
            if other != name:
                self.network.part(name, other)

    async def plug(self, name: str) -> None:
        """Let everybody hear it."""
        self._off.pop(name, None)
        for other in self.hosts:
            if other != name and other not in self._off:
                self.network.connect(name, other)

    def address(self, name: str) -> str:
        """There are none."""
        return ""

    def near(self, name: str, address: str) -> None:
        """All hear each other."""

    async def stop(self) -> None:
        """End all hosts."""
        for name in list(self.hosts):
            await self.close(name)

    async def _start(self, name: str, policy: Any) -> Host:
        host = Host(name, network=self.network, policy=policy, pace=BRISK)
        await host.start()
        self.hosts[name] = host
        await self.plug(name)
        return host
