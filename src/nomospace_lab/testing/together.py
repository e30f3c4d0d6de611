"""Several hosts in one process: a small federation for real, to be shown and tried out.

Each is a whole `Server` with a port on the loopback and a store of its own in one folder. They have
no certificates for each other: a process has nobody to prove itself to but itself, and whoever can
reach its ports runs on the same machine. What agents may do is another matter: an authority of
their own is made at the first start and kept in the folder, `law` puts its key into a law's places
for keys, and `member` has it certify roles, which controllers check as anywhere else.

A journal without a folder for segments keeps its latest 200,000 records (`journaling`), so the
folder does not grow without end. `find` looks for what a deed has left in the journals.

>>> import asyncio
>>> from nomospace import laws
>>> async def program():
...     async with Together(["ward", "icu"]) as hosts:
...         law = hosts.law(laws.text("ap"))
...         mia = await hosts.member("mia@icu", law, "facilityManager")
...         marks = hosts.marks()
...         told = await mia.send("blockLay", to="rolf@ward")
...         found = await hosts.find(marks, told)
...         return found.host, found.ruling.rule
>>> asyncio.run(program())
('icu', 'R10a')
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from nomospace.calls.answers import DisclosedRuling
from nomospace.client import Membership
from nomospace.control import Ruling
from nomospace.errors import CallerError, Unavailable
from nomospace.law import CompiledLaw, load
from nomospace.node.config import read_config
from nomospace.node.local import Host
from nomospace.node.serve import Server
from nomospace.store.journal import EventRecord, decode_record
from nomospace.store.private import make_folder
from nomospace.terms import Term, t
from nomospace.trust.authority import Authority, make_authority, new_serial
from nomospace.trust.keys import SecretKey

HEARTBEAT_MS: Final = 250
"""Hosts of one process meet at once; a second of waiting would be seen."""
DAYS: Final = 3650
"""How long the authority, and what it certifies, counts."""
ENGAGE_S: Final = 20.0
"""How long hosts may take to become one group."""
FIND_S: Final = 5.0
"""How long a record may take to be in its journal."""
LOOK_S: Final = 0.01
RECORDS_MAX: Final = 500
"""How many records of a journal are looked through before others have a turn."""
_PLACES: Final = ("controllers_key", "admin_key")
"""What stands in the shipped laws where a key should."""
_AUTHORITY: Final = "authority"


class NotRecorded(Unavailable):
    """What a deed should have left in a journal is not there."""

    code = "node.not-recorded"
    words = "no journal has it after {waited_s:g} s; look whether the hosts are well"
    waited_s: float


class NoFolder(CallerError):
    """The folder for what hosts keep cannot be used."""

    code = "node.no-folder"
    words = "{folder!r} cannot hold what the hosts keep: {why}; name another folder"
    folder: str
    why: str


@dataclass(frozen=True, slots=True)
class FoundRuling:
    """A ruling in the journal of a host; `record` is its number there.

    What it rules on came by way of the hosts in `path`, in `hops` network messages.
    """

    host: str
    record: int
    ruling: Ruling
    hops: int
    path: tuple[str, ...]


class Together:
    """Hosts by name, from the head of an `async with` to its end; the first is joined by the rest.

    Without a `folder` they keep nothing beyond their end. `api` is where the first is told to have
    its API; whoever wants one serves it.
    """

    def __init__(self, names: Sequence[str], folder: Path | None = None, *, api: str = "") -> None:
        self.names = tuple(names)
        self.servers: dict[str, Server] = {}
        self._folder = folder
        self._api = api
        self._parts = AsyncExitStack()
        self._authority: Authority

    async def __aenter__(self) -> Self:
        self._authority = self._open_authority()
        try:
            for name in self.names:
                self.servers[name] = await self._parts.enter_async_context(self._server(name))
        except BaseException:
            await self._parts.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        # All at once: each says goodbye to the others, and none waits for one that is gone.
        self._parts.pop_all()
        servers, self.servers = self.servers, {}
        await asyncio.gather(*[server.stop() for server in servers.values()])

    def _server(self, name: str) -> Server:
        first = next(iter(self.servers.values()), None)
        store = "memory" if self._folder is None else str(self._folder / f"{name}.db")
        config = read_config(
            "",
            name,
            name=name,
            listen="127.0.0.1:0",
            insecure=True,
            store=store,
            join=() if first is None else (str(first.listener.address),),
            api={"listen": self._api} if self._api and first is None else None,
            links={"heartbeat_ms": HEARTBEAT_MS},
        )
        return Server(config)

    async def wait_engaged(self, timeout: float = ENGAGE_S) -> None:
        """Wait until all are one group; raises `NotInTime`."""
        for name, server in self.servers.items():
            others = [other for other in self.names if other != name]
            await server.host.wait_engaged(*others, timeout=timeout)

    # -- hosts and agents ------------------------------------------------------------------------

    def host(self, name: str) -> Host:
        """A host by name."""
        return self.servers[name].host

    def where(self, agent: str) -> str:
        """The host that has an agent now; empty while it is on its way."""
        for name, server in self.servers.items():
            if server.host.core.has(agent):
                return name
        return ""

    async def member(
        self, agent: str, law: CompiledLaw, *roles: Term, args: Sequence[Term] = ()
    ) -> Membership:
        """An agent's membership under a law, with its roles certified: new, or as it was left.

        Of roles that were certified before it keeps what the law has made of them.
        """
        name, _, domain = agent.partition("@")
        host = self.host(domain)
        held = await host.agent(name)
        member = await held.adopt(law, *args)
        controlled = host.core.governing.find(agent, law.hash)
        shown = 0 if controlled is None else len(controlled.shown)
        for role in roles[shown:]:
            await member.present(self.certify(agent, role))
        return member

    # -- the authority ---------------------------------------------------------------------------

    def law(self, text: str) -> CompiledLaw:
        """A law with the authority's key where the shipped ones have a placeholder."""
        for place in _PLACES:
            text = text.replace(f"{place})", f'"{self._authority.public.text}")')
        return load(text)

    def certify(self, agent: str, role: Term) -> bytes:
        """A certificate of the authority about a role of an agent."""
        return self._authority.issue_role(
            agent,
            SecretKey.generate().public,
            (t.role(role),),
            serial=new_serial(),
            now=_now(),
            days=DAYS,
        )

    def _open_authority(self) -> Authority:
        """The authority of the folder, or a new one."""
        folder = self._folder
        if folder is None:
            return _new_authority()[0]
        certificate, key = folder / f"{_AUTHORITY}.pem", folder / f"{_AUTHORITY}.key"
        try:
            make_folder(folder)
            if certificate.exists() and key.exists():
                return Authority.open(certificate.read_bytes(), key.read_bytes())
            authority, secret = _new_authority()
            key.unlink(missing_ok=True)
            with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secret.pem())
            certificate.write_bytes(authority.pem)
        except OSError as error:
            raise NoFolder(folder=str(folder), why=error.strerror or str(error)) from None
        return authority

    # -- journals --------------------------------------------------------------------------------

    def marks(self) -> dict[str, int]:
        """The last records of the journals now: what is done next comes after them."""
        return {name: self._last(name) for name in self.servers}

    async def find(
        self,
        marks: Mapping[str, int],
        wanted: DisclosedRuling | Callable[[Ruling], bool],
        *,
        timeout: float = FIND_S,
    ) -> FoundRuling:
        """The first ruling after these marks that is wanted; raises `NotRecorded`.

        What an agent was told of a ruling finds that ruling.
        """
        after = dict(marks)
        good = _that_is(wanted) if isinstance(wanted, DisclosedRuling) else wanted
        try:
            async with asyncio.timeout(timeout):
                while True:
                    for name in list(after):
                        for found in self._look(name, after, good):
                            return found
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise NotRecorded(waited_s=timeout) from None

    def latest(self, host: str, wanted: Callable[[Ruling], bool]) -> FoundRuling | None:
        """The latest ruling among a host's last `RECORDS_MAX` records that is wanted."""
        after = {host: max(0, self._last(host) - RECORDS_MAX)}
        return max(self._look(host, after, wanted), key=lambda one: one.record, default=None)

    def _last(self, name: str) -> int:
        keeper = self.host(name).keeper
        assert keeper is not None, "every one of these has a store"
        return keeper.store.last_record

    def _look(
        self, name: str, after: dict[str, int], good: Callable[[Ruling], bool]
    ) -> Iterator[FoundRuling]:
        """Those of the next records of a host that are wanted; `after` goes on with them."""
        keeper = self.host(name).keeper
        assert keeper is not None, "every one of these has a store"
        for entry in keeper.store.journal(after[name], RECORDS_MAX):
            after[name] = entry.seq
            record = decode_record(entry.record)
            if isinstance(record, EventRecord):
                ruling = record.ruling
                if good(ruling):
                    yield FoundRuling(name, entry.seq, ruling, record.hops, record.path)


def _that_is(told: DisclosedRuling) -> Callable[[Ruling], bool]:
    def is_it(ruling: Ruling) -> bool:
        return (ruling.home, ruling.law, ruling.seq) == (told.home, told.law, told.seq)

    return is_it


def _new_authority() -> tuple[Authority, SecretKey]:
    key = SecretKey.generate()
    return make_authority("admin", key, serial=new_serial(), now=_now(), days=DAYS), key


def _now() -> int:
    return time.time_ns() // 1000
