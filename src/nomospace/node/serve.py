"""A host in a process of its own: its store, its wires, its port, from start to a graceful end.

`Server` puts the parts together and holds nothing of its own: the driver (`local`), the store with
its keeper, links to other hosts (`tcp` or `nats`), the port (`listen`) for peers and clients, the
sessions of clients, and what an operator sees of it all. Everything that can be wrong in what it is
told is found before anything starts.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from nomospace.calls.requests import LawText, OntologyText
from nomospace.client import Closed, Report
from nomospace.client.own_tokens import OwnToken, link_key
from nomospace.errors import Bug, NomospaceError, Unavailable
from nomospace.extras import need
from nomospace.host.speaking import is_told
from nomospace.law import CompiledLaw
from nomospace.node.addresses import Address, Place
from nomospace.node.client_link import ClientLink
from nomospace.node.clients import Clients
from nomospace.node.clock import Clock, ClockMark, wall_us
from nomospace.node.config import BadConfig, Config
from nomospace.node.fencing import PeerTokens, StandingPart
from nomospace.node.identity import Identity, revocation_lists
from nomospace.node.journaling import QUIET, Journalist, Sealing, check_folder
from nomospace.node.law_keys import check_keys
from nomospace.node.links import HostLinks
from nomospace.node.listen import Arrival, Listener
from nomospace.node.local import Host
from nomospace.node.logs import note_log
from nomospace.node.loops import cancelled
from nomospace.node.metrics import Metrics, Times, backlog
from nomospace.node.operating import Operating
from nomospace.node.principals import Door, OpenDoor, Standings
from nomospace.node.trust_news import TrustNews
from nomospace.node.worker_port import WorkerListener
from nomospace.node.workers import WorkerHost, WorkerPart, check_spread
from nomospace.node.working import TooManyJobs, Workers
from nomospace.protocols.policy import is_position
from nomospace.store.holds import HOLDS
from nomospace.store.journal import RulingCounts
from nomospace.store.opening import open_store
from nomospace.store.private import narrow
from nomospace.wire.calls import LawShelf, Unready
from nomospace.wire.frames import too_large
from nomospace.wire.segments import MANIFEST

if TYPE_CHECKING:
    from nomospace.node.nats import NatsLinks
    from nomospace.node.stories.telling import Stories
    from nomospace.node.tcp import TcpLinks
    from nomospace.store.interface import Store

FAULTY_MAX: Final = 64
"""Of how many ontologies it is remembered what is wrong with them."""
POLL_S: Final = 0.5
"""How often the files of the trust folder are looked at: whoever they no longer vouch for is to be
gone within two seconds."""
PLANNER: Final = "nomospace.space.correlating"
"""What questions about sets need. To load it takes so long that no client should wait for it."""


def need_extras(config: Config) -> None:
    """Raise `ExtraMissing` for what a configuration asks for and this installation lacks."""
    if config.host.transport != "tcp":
        need("nats", "a host that reaches its peers through NATS")
    if config.journal.folder:
        need("archive", "a journal in Parquet segments")
    if config.services.http:
        need("http", "a host that serves its services over HTTP")


class Server:
    """One host at work. `async with` starts it and ends it gracefully.

    `on_report` is told of what goes wrong beside the way of any call; by default it is logged.
    `beside` is served from when the host has started until before it ends, such as its API; what
    it gives is `served`. `standing` is the part of a process that stands for the host with others:
    it may take the lease. A `host` that a program has made is served in place of one of its own.
    `worker` is what a process that serves a host with siblings has of its supervisor.
    """

    def __init__(
        self,
        config: Config,
        *,
        on_report: Callable[[Report], None] | None = None,
        beside: Callable[[Server], AbstractAsyncContextManager[object]] | None = None,
        host: Host | None = None,
        standing: StandingPart | None = None,
        worker: WorkerPart | None = None,
    ) -> None:
        self.config = config
        self.standing = standing
        self._why_ended = ""
        self.worker = worker
        self.sealing: Sealing | None = None
        self._given = host
        self.metrics = Metrics(config.host.name)
        self._log = note_log(config.host.name)
        self._on_report = on_report
        self._beside = beside
        self._parts = AsyncExitStack()
        self._journalist: Journalist | None = None
        if config.journal.on:
            self._journalist = Journalist(config.host.name, lambda: self.host.core)
        self._watch: asyncio.Task[None] | None = None
        self.identity: Identity | None = None
        made = secrets.token_urlsafe(32) if config.host.insecure else ""
        self.own = OwnToken(made if worker is None else worker.token)
        """What a host without certificates lets its user's programs in by; else empty."""
        self.clock: Clock | None = None
        self._faulty: dict[OntologyText, NomospaceError] = {}
        """What is wrong with ontologies that came."""
        self.work = Workers()
        """Who compiles the laws and reads the ontologies of others."""
        self.host: Host
        self._shelf: LawShelf
        """The laws that clients name."""
        self.links: TcpLinks | NatsLinks
        self.listener: Listener
        self.clients: Clients
        self.operating: Operating
        self.standings: Standings
        """Who was let in and is still there, whichever way it came (see `principals`)."""
        self.services: Any = None
        """What it serves over HTTP, if it does (`services.hosting.Services`)."""
        self.served: Any = None
        """What `beside` gave."""

    # -- its life ----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._parts.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _start(self) -> None:
        config, settings, parts = self.config, self.config.host, self._parts
        need_extras(config)
        check_folder(config.journal)
        if not settings.insecure:
            self.identity = Identity(settings.trust, settings.name, on_note=self.note)
        self.links = links = self._wires()
        network: HostLinks = links
        vouching = None
        if self.identity is not None:
            from nomospace.node.vouching import SealedLinks, Vouching

            vouching = Vouching(self.identity, self.now)
            network = SealedLinks(links, vouching, self._law)
        self._narrow()
        standing = self.standing
        store = open_store(config.store) if standing is None else standing.store
        self.host = self._host(
            network=network,
            store=store,
            pace=config.pace,
            policy=config.policy,
            clock=self._clock_from,
            domain=settings.domain or None,
            servers=config.servers,
            eager=settings.eager,
            trust=vouching,
            carries=too_large,
            recorder=self._journalist,
            shares=config.limits,
            stored=config.spaces.stored,
            capacity=config.spaces.capacity,
            on_report=self.report,
        )
        self.host.work = self.work
        self.host.on_broken = self._broken
        self._shelf = LawShelf(self.host.law, compiles=False)
        if config.programs.modules or config.publishers:
            await self._run_programs()
        try:
            await self.host.start()
        except BaseException:
            store.close()  # nobody else would, and the next who opens it finds it in use
            raise
        parts.push_async_callback(self.host.close)
        check_spread(self.host, self.worker)
        if standing is not None:
            standing.serves(self.host)
            watching = asyncio.create_task(standing.watch(), name="watch the lease")
            parts.push_async_callback(cancelled, watching)
        if is_position(config.contact.position):
            self.host.moved(*config.contact.position)
        if self.host.stage.processes is not None:
            parts.push_async_callback(self.host.stage.processes.stop)
        self.standings = Standings(self._door(), self.now)
        parts.push_async_callback(self.work.close)
        self.operating, tokens = Operating(self), PeerTokens(self.host, standing)
        news = TrustNews(self)
        self.host.peer_questions.answer = news.answer
        parts.callback(self.host.peer_questions.stop)
        self.clients = Clients(
            self.host,
            token=tokens.own,
            standings=self.standings,
            laws=self.law_named,
            note=lambda what, facts: self.note(what, **facts),
            ready=self.ready,
            read=self.read,
            answers=self.operating.answer,
        )
        self.clients.start(asyncio.get_running_loop())
        parts.callback(self.clients.stop)
        self.listener = (Listener if self.worker is None else WorkerListener)(
            settings.listen,
            identity=self.identity,
            on_host=self._accept_host,
            on_client=partial(ClientLink, self.clients),
            on_note=self.note,
        )
        if self.worker is not None and isinstance(self.listener, WorkerListener):
            self.listener.share(self.worker)
        parts.callback(self.own.close)
        # Who can connect finds the token; that of workers is kept by their supervisor.
        await self.listener.start(self.keep_token if self.worker is None else None)
        parts.push_async_callback(self.listener.stop)
        links.advertise = settings.advertise or (self.listener.advertised,)
        links.tokens = tokens
        await links.start()
        parts.push_async_callback(links.stop)
        if settings.discover:
            await self._discover()
        if config.services.http:
            from nomospace.node.services.hosting import services_of

            self.services = await parts.enter_async_context(services_of(self))
            self.keep_token(*self.services.bound)
        if config.services.controllers:
            from nomospace.node.services.hosting import registration_of

            # The start does not wait for it: a service may be away, and a host does without.
            staying = asyncio.create_task(registration_of(self).run(), name="stay registered")
            parts.push_async_callback(cancelled, staying)
        if self._journalist is not None:
            self.sealing = Sealing(self)
            self.sealing.start()
            parts.push_async_callback(self.sealing.stop)
        if self.identity is not None:
            self._learn_revoked()
            self.identity.watchers.append(self._learn_revoked)
            parts.push_async_callback(cancelled, asyncio.create_task(news.run()))
        self._watch = asyncio.get_running_loop().create_task(self._look_after(), name="look-after")
        self._watch_metrics()
        if self._beside is not None:
            self.served = await parts.enter_async_context(self._beside(self))
        self.note("started", life=self.host.life, address=str(self.listener.address))

    def _narrow(self) -> None:
        """Take from others what an earlier version of this host has let them read.

        These are files of its own alone, whatever else lies beside them.
        """
        files: list[Path] = []
        store, folder = self.config.store.removeprefix("sqlite:"), self.config.journal.folder
        if store != "memory" and "://" not in store:
            files += [Path(store + end) for end in ("", "-wal", "-shm", "-sums", ".lock") if store]
        if folder:
            kept = Path(folder)
            files += [kept / MANIFEST, *kept.glob("*/seg-*.parquet"), *kept.glob(f"{HOLDS}/*")]
        narrowed = narrow(files)
        if narrowed:
            self.note("narrowed", files=len(narrowed), first=str(narrowed[0]))

    async def stop(self) -> None:
        """Take no more calls, leave the group, keep everything, end."""
        await cancelled(self._watch)
        self._watch = None
        await self._parts.aclose()
        self.note("stopped")

    async def run(self, ready: Callable[[Server], None] | None = None) -> None:
        """Serve until the process is told to end (SIGTERM, SIGINT); SIGHUP reads files again."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, over.set)
        loop.add_signal_handler(signal.SIGHUP, lambda: self.identity and self.identity.reload())
        try:
            async with self:
                if ready is not None:
                    ready(self)
                await asyncio.to_thread(import_module, PLANNER)
                broken = loop.create_task(self.host.wait_closed())
                told = loop.create_task(over.wait())
                await asyncio.wait([broken, told], return_when=asyncio.FIRST_COMPLETED)
                for task in (broken, told):
                    task.cancel()
                if not over.is_set():
                    raise HostEnded(host=self.config.host.name, why=self._why_ended)
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _broken(self, error: BaseException) -> None:
        """The host cannot go on. Stores and leases fail in words of their own; all else is ours."""
        failed = isinstance(error, NomospaceError | OSError) and not isinstance(error, Bug)
        self._why_ended = str(error) if failed else f"a check of its own failed ({error!r})"
        if self.standing is not None:
            self.standing.lost(error)

    # -- parts ---------------------------------------------------------------------------------

    def _host(self, **options: Any) -> Host:
        """The driver; with secretaries, one that asks them."""
        config = self.config
        if self._given is not None:
            if config.secretaries:
                why = "a host inside a program asks none; start it with `nomospace host run`"
                raise BadConfig(where="[secretaries]", why=why)
            self._given.equip(**options)
            return self._given
        if self.worker is not None:
            return WorkerHost(config.host.name, **options).share(self.worker)
        if not config.secretaries:
            return Host(config.host.name, **options)
        from nomospace.node.services.enrolling import EnrollingHost
        from nomospace.node.services.secretaries import Secretaries

        folder = None if self.identity is None else self.identity.folder
        secretaries = Secretaries(
            config.secretaries,
            token=config.services.token,
            name=config.host.name,
            authority=None if folder is None else str(folder / "authority.pem"),
        )
        return EnrollingHost(config.host.name, secretaries=secretaries, **options)

    async def _run_programs(self) -> None:
        """Let the host run programs in processes of their own; raises `BadModule`."""
        from nomospace.node.processes import Processes

        processes = Processes(self)
        await processes.start()
        self.host.stage.processes = processes

    def now(self) -> int:
        """The time of the host's clock."""
        assert self.clock is not None, "the host has started"
        return self.clock.now()

    def _law(self, law: str) -> CompiledLaw | None:
        return self.host.law(law)

    def _clock_from(self, mark: ClockMark) -> Clock:
        self.clock = Clock(mark)
        return self.clock

    def _wires(self) -> TcpLinks | NatsLinks:
        settings = self.config.host
        life = wall_us()
        if self.standing is not None:
            life = self.standing.link_life(life)
        if settings.transport != "tcp":
            from nomospace.node.nats import NatsLinks

            return NatsLinks(
                settings.name,
                settings.transport,
                identity=self.identity,
                on_note=self.note,
                life=life,
            )
        from nomospace.node.tcp import TcpLinks

        return TcpLinks(
            settings.name,
            identity=self.identity,
            seeds=settings.join,
            on_note=self.note,
            key=link_key() if settings.insecure else b"",
            life=life,
        )

    def _accept_host(self, arrival: Arrival) -> asyncio.Protocol:
        accept = getattr(self.links, "accept", None)
        if accept is None:
            arrival.refuse("no-peers-here", why="this host's peers come over NATS")
            return asyncio.Protocol()
        protocol: asyncio.Protocol = accept(arrival)
        return protocol

    @cached_property
    def stories(self) -> Stories:
        """Who tells what led to what, here and to the hosts of the group; few ever ask."""
        from nomospace.node.stories.telling import Stories

        return Stories(self)

    @property
    def store(self) -> Store:
        """What keeps the host and its journal; raises `Closed` once the host has ended."""
        keeper = self.host.keeper
        if keeper is None:
            raise Closed(what=f"host {self.host.name}")
        return keeper.store

    @property
    def tally(self) -> RulingCounts:
        """How many rulings the journal tells of since the start; none where there is no journal."""
        return RulingCounts() if self._journalist is None else self._journalist.tally

    def door(self) -> Door:
        """Who judges whom clients have proved to be."""
        return self.standings.door

    def _door(self) -> Door:
        if self.identity is None:
            return OpenDoor(self.own.token)
        from nomospace.node.door import TrustDoor

        return TrustDoor(self.identity, self.now)

    async def read(self, text: LawText | OntologyText, agent: str) -> None:
        """Have a text of a client read, beside the loop."""
        if isinstance(text, LawText):
            try:
                await self.work.law(text.text, text.name, agent)
            except NomospaceError as error:
                self._shelf.failed(text, error)
            return
        try:
            await self.work.ontology(text, agent)
        except NomospaceError as error:
            if len(self._faulty) >= FAULTY_MAX:
                self._faulty.clear()
            self._faulty[text] = error

    def ready(self, text: OntologyText) -> None:
        """Raise `Unready` for an ontology that nobody has read, or what is wrong with it."""
        if not text.text or self.host.core.speaking.knows(text.hash) or is_told(text):
            return
        faulty = self._faulty.get(text)
        if faulty is None:
            raise Unready(text)
        if isinstance(faulty, Unavailable | TooManyJobs):  # the next time it may be otherwise
            del self._faulty[text]
        raise faulty.with_traceback(None)

    @property
    def names(self) -> tuple[str, ...]:
        """What this machine may be called in addresses: as it advertises, and is certified."""
        said = [Place.parse(text).address.host for text in self.config.host.advertise]
        certified = () if self.identity is None else self.identity.papers.certificate.addresses
        return (*said, *certified)

    @property
    def url(self) -> str:
        """Where clients connect to it."""
        scheme = "nomos+plain" if self.config.host.insecure else "nomos"
        return f"{scheme}://{self.listener.address}"

    def keep_token(self, *bound: Address) -> None:
        """Let this user's programs find the host's own token by the addresses it listens at."""
        for address in bound if self.own.token else ():
            try:
                self.own.keep(*address)
            except NomospaceError as error:
                self.note("token-not-kept", address=str(address), why=str(error))

    def law_named(self, law: str | LawText) -> CompiledLaw:
        """A law that a client names; one that could not be enforced here is refused."""
        found = self._shelf(law)
        if self.identity is not None:
            check_keys(found)
        return found

    async def _discover(self) -> None:
        from nomospace.node.discover import Discovery

        authority = "" if self.identity is None else self.identity.papers.authority.fingerprint
        hint = getattr(self.links, "hint", None)
        if hint is None:
            return
        discovery = Discovery(
            self.config.host.name,
            str(self.listener.address),
            authority=authority,
            on_found=lambda name, address: hint(address),
            on_note=self.note,
        )
        await discovery.start()
        self._parts.push_async_callback(discovery.stop)

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            try:
                if self.identity is not None:
                    self.identity.poll()
                await self.standings.look()
            except Exception as error:  # without this look, nobody would be shown the door again
                self.note("look-failed", error=f"{type(error).__name__}: {error}")

    def _learn_revoked(self) -> None:
        """Tell the host which role certificates its authorities have revoked."""
        assert self.identity is not None, "only a host with an identity is told of them"
        for found in revocation_lists(self.identity.folder, self.note):
            try:
                self.host.revoked(found)
            except NomospaceError as error:
                self.note("revocations-not-taken", why=str(error))

    # -- what happens --------------------------------------------------------------------------

    def note(self, what: str, /, **facts: object) -> None:
        """Something happened that an operator may want to know: for the log and the journal."""
        self.metrics.count("notes", what)
        self._log(what, **facts)
        if self._journalist is not None and self.clock is not None and what not in QUIET:
            self.host.record(self._journalist.note(what, facts, self.now()))

    def report(self, report: Report) -> None:
        """Something went wrong beside the way of any call."""
        if self._on_report is not None:
            self._on_report(report)
            return
        facts = dict(report.facts)
        if report.error is not None:
            facts["error"] = f"{type(report.error).__name__}: {report.error}"
        self.note(report.what, **{name: value for name, value in facts.items() if name != "host"})

    def _watch_metrics(self) -> None:
        metrics, host = self.metrics, self.host
        metrics.watch("connections", lambda: self.listener.connections)
        metrics.watch("strangers", lambda: self.listener.strangers)
        metrics.watch("neighbours", lambda: len(self.links.neighbours()))
        metrics.watch("members", lambda: len(host.view.members))
        metrics.watch("agents", lambda: len(host.core.agents))
        metrics.watch("sessions", lambda: len(host.served.all))
        metrics.watch("steps", lambda: host.steps)
        metrics.watch("watches", host.core.digests.figures)
        metrics.watch("calls", lambda: {kind.__name__.lower(): n for kind, n in host.calls.items()})
        keeper = host.keeper
        assert keeper is not None, "it has a store"
        metrics.watch("commits", lambda: keeper.groups)
        metrics.watch("commit_steps", lambda: keeper.kept)
        commits = Times()
        keeper.on_commit = commits.observe
        metrics.watch_times("commit_seconds", commits.read)
        metrics.watch("queue", lambda: {"steps": float(keeper.last - keeper.kept)})
        if self.standing is not None:
            metrics.watch("standby", self.standing.figures)
        metrics.watch_together(lambda: backlog(host.core.spaces.census(), self.now()))
        metrics.watch_times("wait_seconds", self._waited)
        counts = {"frames_in": "frames_in", "frames_out": "frames_out", "bytes_in": "bytes_in"}
        counts |= {"bytes_out": "bytes_out", "frames_dropped": "dropped"}
        for name, count in counts.items():
            metrics.watch(name, partial(self._counted, count))

    def _waited(self) -> Mapping[str, tuple[list[int], float]]:
        waited = self.host.core.spaces.waited
        found = ((name, *times.counted()) for name, times in waited.items())
        return {name: (counts, total_us / 1e6) for name, counts, total_us in found}

    def _counted(self, what: str) -> float:
        return self.links.counts().get(what, 0)


class HostEnded(NomospaceError):
    """A host's store, its lease or a check of its own failed, and it ended to keep its promise."""

    code = "node.host-ended"
    words = (
        "host {host} has ended: {why}; the log says more; look at its store with "
        "`nomospace doctor --store …`, then start the host again"
    )
    host: str
    why: str
