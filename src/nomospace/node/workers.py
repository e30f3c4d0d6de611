"""A worker: one of the processes that serve a host together, each a whole host to its siblings.

`nomospace host run --workers N` is a group of N hosts on one machine and at one address. The first
has the host's own name and serves its domain (`protocols.routing`): it puts every agent on record,
so no two workers ever have one of the same id. The others are `ward.2`, `ward.3`, each with a store
of its own. New agents fall to them by their ids (`wire.opening.worker_for`); an agent that is at
another worker than its id says is found there, as on any other host.

An agent that is born at another worker than the first is let in when it is on record there, and not
before: until then nothing is promised to anyone.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from nomospace.calls.problems import AgentUnborn
from nomospace.errors import NomospaceError
from nomospace.node.config import BadConfig, Config
from nomospace.node.gate import elsewhere
from nomospace.node.local import Host
from nomospace.protocols.routing.residents import CREATING
from nomospace.store.cut import WORKERS
from nomospace.wire.opening import worker_for

SCHEMA: Final = "nomospace"
WORKERS_MAX: Final = 64
"""How many processes may serve a host."""
RECORD_S: Final = 1.0
"""How long the first worker is waited for, and how long what it said of an id counts."""
RECORDS_MAX: Final = 10_000
"""Of how many ids it is known what it said."""
MARK: Final = b"\1"
"""What a question about an id begins with, between workers."""
LEFT: Final = b"?"
"""And one about how much is left of what a worker has to send to its siblings."""
ASKED: Final = "?"
ENDED: Final = 75
"""The exit status of a worker whose supervisor is gone, or that wants others beside it."""


class StoreSpread(NomospaceError):
    """A store is one of several workers', and its host is run as one process."""

    code = "node.store-spread"
    words = (
        "the agents of {host} are spread over {kept} workers: run it with --workers {kept}, or "
        "with --workers {told} to bring them together"
    )
    host: str
    kept: int
    told: int


@dataclass
class WorkerPart:
    """What one worker has of its supervisor: who it is, who its siblings are, and the wires."""

    number: int
    names: tuple[str, ...]
    domain: str
    spread: int
    """Over how many workers agents are to be spread; those past it are on their way out."""
    token: str
    listening: list[socket.socket]
    inbox: socket.socket
    outboxes: Mapping[str, socket.socket]
    respread: bool
    """Whether agents may be at other workers than they fall to, from before."""
    alive: int
    """A pipe that ends with the supervisor."""
    tell: Callable[..., None]
    """Tells the supervisor something."""

    @property
    def name(self) -> str:
        """The name of this worker, as a host."""
        return self.names[self.number - 1]

    def home_of(self, agent: str) -> str:
        """The worker that an agent of this host's falls to; the first, for one of elsewhere."""
        if not agent.endswith(f"@{self.domain}"):
            return self.names[0]
        return self.names[worker_for(agent, self.spread) - 1]


def names_of(host: str, count: int) -> tuple[str, ...]:
    """The workers of a host, as hosts.

    >>> names_of("ward", 3)
    ('ward', 'ward.2', 'ward.3')
    """
    return (host, *[f"{host}.{number}" for number in range(2, count + 1)])


def store_of(store: str, number: int) -> str:
    """Where a worker keeps its state, beside the first one's.

    >>> store_of("wards/ward.db", 2), store_of("ward", 3), store_of("memory", 2)
    ('wards/ward.2.db', 'ward.3', 'memory')
    >>> store_of("postgresql://db/x?schema=ward", 2), store_of("postgresql://db/x", 2)
    ('postgresql://db/x?schema=ward_2', 'postgresql://db/x?schema=nomospace_2')
    """
    if number == 1 or store == "memory":
        return store
    if "://" in store:
        parts = urlsplit(store)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        options["schema"] = f"{options.get('schema', SCHEMA)}_{number}"
        return urlunsplit(parts._replace(query=urlencode(options)))
    path = Path(store)
    return str(path.with_name(f"{path.stem}.{number}{path.suffix}"))


def worker_config(config: Config, number: int, siblings: tuple[str, ...]) -> Config:
    """What one worker is told, of what its host was told; `siblings` is where it finds the others.

    Services, the API and what finds neighbours are the first worker's.
    """
    told = config.host
    name = names_of(told.name, number)[-1]
    domain = told.domain or told.name
    replace = msgspec.structs.replace
    host = replace(
        told,
        name=name,
        domain=domain,
        store=store_of(config.store, number),
        join=(*told.join, *siblings),
        workers=None,
        advertise=tuple([f"{at}/{name}" for at in told.advertise]),
    )
    servers = {**config.servers, domain: config.servers.get(domain, (told.name,))}
    if number == 1:
        return replace(config, host=host, servers=servers)
    journal, folder = config.journal, config.journal.folder
    return replace(
        config,
        host=replace(host, discover=False),
        servers=servers,
        journal=replace(journal, folder=folder and f"{folder}.{number}"),
        services=type(config.services)(),
        api=type(config.api)(),
    )


def check_workers(config: Config) -> None:
    """Raise `BadConfig` for what a host with workers cannot be told besides."""
    why, count = "", config.host.workers
    if count is None or not 1 <= count <= WORKERS_MAX:
        why = f"a host has from 1 to {WORKERS_MAX} workers, and not {count}"
    elif config.host.standby or config.paired:
        why = "a standby follows one store; give the host either workers or a standby"
    elif config.host.transport != "tcp":
        why = "workers reach each other over TCP, and so do their peers; leave transport away"
    elif config.contact.policy != "reachable":
        why = "workers are one group always, so the policy is reachable"
    elif config.secretaries:
        why = "[secretaries] are asked by a host of one process only"
    if why:
        raise BadConfig(where="--workers", why=why)


class WorkerHost(Host):
    """The driver of a worker: a new agent begins when the first worker has it on record.

    That one is asked whether the id is free, before; else an agent that is elsewhere just now would
    be here twice for a moment, and get what is for it.
    """

    def share(self, part: WorkerPart) -> Self:
        """Be one of several workers; before `start`."""
        self.part = part
        self._records: dict[str, tuple[float, str]] = {}
        """What the first worker says of ids that were asked for lately: when, and where they are;
        nothing while it is asked."""
        self.left = 0 if not part.respread else 1
        """How much is here that should be at a sibling (`spreading`)."""
        return self

    def _led_to(self, agent: str) -> str:
        """The sibling that a client is led to for its agent: a new one begins where it falls to."""
        core = self._running()
        if core.has(agent) or core.away(agent) or agent in core.group.where:
            return ""
        home = self.part.home_of(agent)
        return home if home != self.name and agent.endswith(f"@{self.domain}") else ""

    def _address_of(self, host: str) -> str:
        """Where clients find another host; a sibling is where they found this one."""
        return f"/{host}" if host in self.part.names else super()._address_of(host)

    def _seat(self, agent_id: str, *, follows: bool = False) -> None:
        core, phase = self._running(), self._running().posting.daemon.phase
        if not core.has(agent_id):
            at = core.group.where.get(agent_id, "")
            if not at and agent_id.endswith(f"@{self.domain}"):
                first = self.part.number == 1
                at = core.posting.place_of(agent_id) if first else self._on_record(agent_id)
                if at in self.part.names and (at != self.name or first or phase(agent_id)):
                    raise self._unborn(agent_id)  # it is between two workers, or its own is away
                at = "" if at == self.name else at
            if at:
                raise elsewhere(self, agent_id, at)
        super()._seat(agent_id, follows=follows)
        if core.has(agent_id) and phase(agent_id) in (None, CREATING):
            if phase(agent_id) is None:  # another one was born meanwhile: this one never began
                self._spawn(self._unseat(agent_id), f"{agent_id} is elsewhere")
            raise self._unborn(agent_id)

    def _unborn(self, agent: str) -> AgentUnborn:
        return AgentUnborn(agent=agent, host=self.part.names[0])

    def _on_record(self, agent: str) -> str:
        """Where the first worker has an agent, empty if nowhere; raises until it has said so."""
        now = self._loop.time()
        asked, at = self._records.get(agent, (0.0, ASKED))
        if at != ASKED and now - asked < RECORD_S:
            del self._records[agent]
            return at
        if now - asked > RECORD_S:
            if len(self._records) >= RECORDS_MAX:
                del self._records[next(iter(self._records))]
            self._records[agent] = (now, ASKED)
            self._spawn(self._ask_for(agent, now), f"ask for {agent}")
        raise self._unborn(agent)

    async def _ask_for(self, agent: str, asked: float) -> None:
        try:
            body = MARK + agent.encode()
            answer = await self.peer_questions.ask(self.part.names[0], body, seconds=RECORD_S)
        except NomospaceError:  # it is away: the next look asks again
            self._records.pop(agent, None)
        else:
            self._records[agent] = (asked, answer.decode())

    def answer(self, peer: str, body: bytes) -> bytes | None:
        """What a sibling is told of agents, or of what is left here; `None`: that is no question.

        Strangers to this host are told nothing by it.
        """
        if body[:1] != MARK or peer not in self.part.names:
            return None
        if body[1:] == LEFT:
            return b"%d" % self.left
        agent = body[1:].decode("utf-8", "replace")
        core = self._running()
        return (core.posting.place_of(agent) or (self.name if core.has(agent) else "")).encode()

    async def _unseat(self, agent: str) -> None:
        with suppress(NomospaceError):
            await self.end(agent)


def kept_spread(host: Host) -> tuple[int, int]:
    """Over how many workers the agents of a host may be, and over how many they are spread."""
    words = host.small.get(WORKERS, b"1 1").split()
    return int(words[0]), int(words[-1])


def keep_spread(host: Host, most: int, spread: int) -> None:
    """Keep both."""
    if (most, spread) != kept_spread(host):
        host.keep_small(WORKERS, b"%d %d" % (most, spread) if most > 1 else b"")


def check_spread(host: Host, part: WorkerPart | None) -> None:
    """See that all workers are there that this host's agents are spread over; keep how many.

    Raises `StoreSpread` in a host of one process. A first worker that has too few siblings tells
    its supervisor, and ends; others are never begun without it.
    """
    most, spread = kept_spread(host)
    if part is None:
        if most > 1:
            raise StoreSpread(host=host.name, kept=most, told=1)
    elif part.number == 1 and most > len(part.names):
        part.tell(workers=most)
        raise SystemExit(ENDED)
    elif part.number == 1:
        keep_spread(host, len(part.names), spread)
        part.respread = spread != part.spread or len(part.names) > part.spread
        part.tell(respread=part.respread)
