"""A host in the running event loop of this process: its life, its agents and their programs.

How its core is driven, and what is on disk before it is seen, stands in `driver`; its part in the
group in `grouped`; what it does for clients in other processes in `sessions`, by way of `gate`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from nomospace.calls.addresses import check_name_of
from nomospace.calls.requests import CLIENT_PROGRAM, End
from nomospace.client import Agent, Closed, Program, Report, check_name
from nomospace.client.reactions import LISTENER_TIMEOUT_S
from nomospace.errors import Unavailable
from nomospace.host.calls import (
    Arrive,
    Attended,
    Disengage,
    Resume,
    RevocationsLearnt,
    Suspend,
    Tick,
    Unattended,
)
from nomospace.host.changes import ProgramKept
from nomospace.host.core import Host as Core
from nomospace.host.effects import Came
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.host.trust import Trust
from nomospace.law import CompiledLaw
from nomospace.node.clock import Clock, ClockMark, draw_birth, wall_us
from nomospace.node.config import BadConfig, Config, config_text, read_config
from nomospace.node.driver import Recorder
from nomospace.node.gate import HostGate, elsewhere
from nomospace.node.grouped import Grouped, NotInTime
from nomospace.node.keeper import Keeper
from nomospace.node.links import HostLinks
from nomospace.node.local_connection import LocalConnection
from nomospace.node.programs import Stage
from nomospace.protocols.births import era_of
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Policy
from nomospace.sessions.host_sessions import HostSessions
from nomospace.store.interface import KeptForClient, Store
from nomospace.store.opening import open_store

if TYPE_CHECKING:
    from nomospace.node.serve import Server
    from nomospace.trust.revocation import RevocationList

LEAVE_S: Final = 3.0
"""How long a host that is closed waits for its group to let it go."""


class Host(Grouped):
    """A host in this process: `async with` starts it and ends it.

    >>> import asyncio, nomospace as ns
    >>> async def program():
    ...     async with ns.Host("ward-3") as host:
    ...         nurse = await host.agent("nurse")
    ...         jobs = await nurse.space("jobs", shared=True)
    ...         await jobs.out("job", 17, ns.t.room(3))
    ...         async with jobs.take("job", int, ns.ANY, lease=30) as job:
    ...             return job
    >>> asyncio.run(program())
    ('job', 17, term('room(3)'))
    """

    def __init__(
        self,
        name: str,
        *,
        network: HostLinks | None = None,
        policy: Policy | None = None,
        pace: Pace = USUAL,
        store: Store | str | Path | None = None,
        laws: Iterable[CompiledLaw] = (),
        on_report: Callable[[Report], None] | None = None,
        listener_timeout: float = LISTENER_TIMEOUT_S,
        epoch_us: int | None = None,
        clock: Callable[[ClockMark], Clock] | None = None,
        domain: str | None = None,
        servers: Mapping[str, tuple[str, ...]] | None = None,
        eager: bool = False,
        trust: Trust | str | Path | None = None,
        carries: Callable[[Any], str] | None = None,
        recorder: Recorder | None = None,
        shares: Shares = USUAL_SHARES,
        stored: Iterable[str] = (),
        capacity: float = 1.0,
        programs: Iterable[str] | None = None,
        trusted_publishers: Mapping[str, bytes] | None = None,
        listen: str = "",
        join: Iterable[str] | str = (),
        transport: str = "",
        config: str | Path = "",
    ) -> None:
        """Make a host; it begins with `start`, or at the head of an `async with`.

        `network` brings its frames to other hosts, `policy` says when to engage them (with all who
        are heard, by default), and `pace` how soon it notices who came or went. `store` keeps what
        must survive, `laws` are those that the stored memberships are under. `on_report` is told of
        what goes wrong beside the programs' own paths, such as a listener that raises; without it a
        warning is logged. `epoch_us` is what the host's clock shows at the start, which then goes
        with the event loop's; by default it is the machine's clock. `clock` gives a host that lives
        long, and again, a clock of its own.

        `domain` is where its agents are at home (by default the domain of its name), and `servers`
        says which hosts serve which domains; an `eager` host has who wrote to an agent told of its
        moves to other domains. `trust` says which hosts are believed under laws that want certified
        controllers (see `vouching`); without it all are. `recorder` writes the journal. `shares`
        bound what each agent may have of the host. The spaces `stored` lie in the store, whoever
        opens them. `capacity` is its weight among the homes of partitioned spaces.

        `programs` names those that may run here, by launch or by coming; by default all that this
        process has registered. Programs that it does not have come only in bundles signed by one of
        `trusted_publishers` (public keys by name): their code has all the rights of this process.

        With `listen` (`127.0.0.1:7420`; port 0 is any free one), `join` (addresses of other hosts),
        `transport` (`nats://…`) or `config` (a file, as `nomospace host run` reads it) it is all
        that such a host is: in contact with others, open to clients, with a journal. Then `store`
        is a file or a URL, and `trust` the folder that `nomospace trust init` made; without one it
        is a trial on this machine alone. Raises `BadConfig`.
        """
        folder = trust if isinstance(trust, str | Path) else None
        self._told: Config | None = None
        """What it was told of its place among others, if anything."""
        if listen or join or transport or config or folder is not None:
            if not isinstance(store, str | Path | None):
                raise BadConfig(where="store", why="name it: memory, a file, or postgresql://…")
            self._told = read_config(
                config_text(config) if config else "",
                str(config or f"host {name}"),
                name=name,
                listen=listen or ("" if config else "127.0.0.1:0"),
                join=(join,) if isinstance(join, str) else tuple(join),
                transport=transport,
                store=str(store or ("" if config else "memory")),
                trust=str(folder or ""),
                insecure=not (config or folder) or None,
                domain=domain,
            )
            store = None
        elif isinstance(store, str | Path):
            store = open_store(str(store))
        super().__init__(name, network=network, store=store, recorder=recorder, on_report=on_report)
        self._server: Server | None = None
        """What serves it, where it listens."""
        self._reporter = on_report
        self._policy = policy
        self._pace = pace
        self._laws = {law.hash: law for law in laws}
        self._listener_timeout = listener_timeout
        self._epoch = epoch_us
        self.domain = check_name("a domain", domain or name)
        self._servers = dict(servers or {})
        self._eager = eager
        self._trust = None if isinstance(trust, str | Path) else trust
        self._carries = carries
        self._make_clock = clock
        self.shares = shares
        """What each agent may have of it."""
        self._stored, self._capacity = tuple(stored), capacity
        self._stage = Stage(
            self.name,
            domain=self.domain,
            programs=programs,
            trusted_publishers=trusted_publishers,
            agent_of=self._agent_of,
            laws_of=lambda agent: self._running().memberships_of(agent),
            spawn=self._spawn,
            failed=self._program_failed,
            report=self._report,
        )
        self._agents: dict[str, tuple[Agent, LocalConnection]] = {}
        self._beside: dict[str, list[LocalConnection]] = {}
        """Other lines of agents here, which `line` has given."""
        self._ended: asyncio.Future[None] | None = None
        self.life = 0
        """How often it has started, as its store has it; 1 without a store."""

    def __repr__(self) -> str:
        return f"<host {self.name}, {'running' if self._core else 'closed'}>"

    # -- its life --------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Begin, in the running event loop; starting twice is harmless."""
        if self._core is not None:
            return
        if self._told is not None and self._server is None:
            from nomospace.node.serve import Server  # which knows hosts

            self._server = Server(self._told, on_report=self._reporter, host=self)
            try:
                await self._server.__aenter__()  # it starts this host, once it has its parts
            except BaseException:
                self._server = None
                raise
            return
        if self._network is not None:
            self._network.join(self.name, self._hear)
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        birth = draw_birth(self.name)
        life, durable, mark = 1, None, ClockMark()
        outbox: tuple[KeptForClient, ...] = ()
        if self._store is not None:
            beginning = self._store.begin(tuples=False, birth=birth)
            birth, life, durable = beginning.birth, beginning.life, beginning.durable
            outbox = beginning.outbox
            mark, self.small = ClockMark(*beginning.clock), dict(durable.small)
            if self._recorder is not None:
                self._recorder.restore(self.small, self._store.last_record)
        # A host that forgets all numbers what follows above what it can have given before: others
        # may remember that.
        lasts = self._store is not None and self._store.lasts
        era = 0 if lasts or self._network is None else era_of(birth)
        read_mark = self._mark
        if self._make_clock is not None:
            clock = self._make_clock(mark)
            self._now, read_mark = clock.now, clock.mark
        epoch = wall_us() if self._epoch is None else self._epoch
        self._origin = max(epoch, mark.at) - round(self._time() * 1e6)
        if self._store is not None:
            self._keeper = Keeper(
                self._store,
                now=read_mark,
                kept=self._kept,
                troubled=self._troubled,
                broken=self._broken,
            )
            self.turns.disk = self._keeper
        self.life = life
        self._core = Core(
            self.name,
            life=era + life,
            birth=birth,
            era=era,
            now=self._now(),
            policy=self._policy,
            pace=self._pace,
            durable=durable,
            laws=self._laws,
            domain=self.domain,
            servers=self._servers,
            eager=self._eager,
            admits=self._admits,
            reads=self._reads,
            trust=self._trust,
            carries=self._carries,
            shares=self.shares,
            stopwatch=None if self._recorder is None else time.perf_counter_ns,
            traces=self._recorder is not None,
            loading=self._store is not None,
            stored=self._stored,
            capacity=self._capacity,
            tables=None if self._store is None else self._store.tables,
        )
        if self._store is not None:
            self._load(0)
        self._sessions = HostSessions(
            HostGate(self), life=life, first=secrets.randbits(30) << 32, shares=self.shares
        )
        self._sessions.restore(outbox, now=round(self._time() * 1e6))
        self._view = self._core.view
        self._tell(Tick())
        alone = [agent for agent in self._core.agents if not self._is_attended(agent)]
        if alone:
            self._tell(Unattended(tuple(alone)))
        for kept in self._core.programs:
            if kept.program != CLIENT_PROGRAM:
                self._stage.begin(kept)

    async def close(self) -> None:
        """Leave the group by announcement and end. What waits raises `Closed`.

        What is under way to other hosts gets up to `LEAVE_S` seconds to arrive.
        """
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop()  # it closes this host, after what rests on it
            return
        if self._core is None:
            return
        self._stage.stop()
        await self._stage.wait_stopped(LEAVE_S)
        for agent, _ in list(self._agents.values()):
            await agent.close()
        others = [name for name in self.view.members if name != self.name]
        self._tell(Disengage())
        with suppress(NotInTime, Closed):
            await self.wait_parted(*others, timeout=LEAVE_S)
        self._keep_aside()
        if self._keeper is not None and not await self._keeper.drain(LEAVE_S):
            facts = {"host": self.name, "steps": self._keeper.last - self._keeper.kept}
            self._report(Report("not all is on disk", facts, self._keeper.trouble))
        self._end()

    def equip(
        self,
        *,
        network: HostLinks,
        store: Store,
        pace: Pace,
        policy: Policy,
        clock: Callable[[ClockMark], Clock],
        domain: str | None,
        servers: Mapping[str, tuple[str, ...]],
        eager: bool,
        trust: Trust | None,
        carries: Callable[[Any], str],
        recorder: Recorder | None,
        shares: Shares,
        stored: Iterable[str],
        capacity: float,
        on_report: Callable[[Report], None],
    ) -> None:
        """Give it its parts before it starts; for `Server`, which makes them."""
        self._network, self._store, self._recorder = network, store, recorder
        self._make_clock, self._trust, self._carries, self._eager = clock, trust, carries, eager
        self._pace = pace if self._pace is USUAL else self._pace  # its program may know better
        self._policy = self._policy or policy
        self.domain, self._servers, self.shares = domain or self.name, dict(servers), shares
        self._stage.domain = self.domain
        self._stored = self._stored or tuple(stored)
        self._capacity = capacity if self._capacity == 1.0 else self._capacity
        self.on_report = on_report

    @property
    def address(self) -> str:
        """Where other hosts join it (`join=`), while it listens; else empty."""
        return "" if self._server is None else str(self._server.listener.address)

    @property
    def url(self) -> str:
        """Where clients connect to it (`nomospace.connect`), while it listens; else empty."""
        return "" if self._server is None else self._server.url

    async def wait_closed(self) -> None:
        """Wait until the host has ended, by `close` or because its store failed."""
        if self._core is not None:
            if self._ended is None:
                self._ended = self._loop.create_future()
            await asyncio.shield(self._ended)

    def _end(self) -> None:
        """Stop at once, as a crash would; whoever waits is told."""
        if self._core is None:
            return
        self._core = None
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        self._ended = None
        self._stage.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._network is not None:
            self._network.leave(self.name)
        if self._asker is not None:
            self._asker.stop()
            self._asker = None
        if self._keeper is not None:
            self._keeper.stop()
            self._keeper = None
        self._behind.clear()
        agents, self._agents = self._agents, {}
        for agent, line in agents.values():
            line.shut(f"host {self.name}", gone=True)
            agent.stop()
        beside, self._beside = self._beside, {}
        for lines in beside.values():
            for line in lines:
                line.shut(f"host {self.name}", gone=True)
        self._inbox.clear()
        watchers, self._watchers = self._watchers, []
        for future in watchers:
            if not future.done():
                future.set_exception(Closed(what=f"host {self.name}"))

    # -- agents ------------------------------------------------------------------------------

    async def agent(self, name: str) -> Agent:
        """The agent `name@host`: new, or as it was left. Asking again gives the same one.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     host.agent("nurse").id
        'nurse@ward-3'
        """
        self._running()
        return self._agent_of(f"{check_name('an agent', name)}@{self.domain}")[0]

    def _seat(self, agent_id: str, *, follows: bool = False) -> None:
        """See that an agent is here, as it was left or, where nobody `follows` it, new."""
        core = self._running()
        if (refused := core.suspending.refusal(agent_id)) is not None:
            raise refused
        if not core.has(agent_id):
            check_name_of(agent_id)
            # One of another domain may be on its way here: a second one must not be in its place.
            # Nor may there be a second one of this domain, which other hosts may serve too.
            begun = follows or core.away(agent_id) or agent_id in core.group.where
            if begun or not agent_id.endswith(f"@{self.domain}"):
                raise elsewhere(self, agent_id, core.host_of(agent_id))
            self._tell(Arrive(agent_id))
        elif core.spaces.is_away(agent_id):
            self._tell(Attended(agent_id))

    def _is_attended(self, agent: str) -> bool:
        """Whether a program speaks for an agent: here, or in a session whose time is not over."""
        held = self._agents.get(agent)
        lines = [*self._beside.get(agent, ()), *([held[1]] if held is not None else ())]
        if any(not line.closed and not line.idle for line in lines):
            return True
        program = self._running().moving.programs.get(agent)
        if program is not None and program.program != CLIENT_PROGRAM:
            return True
        return self._sessions is not None and self._sessions.clients_of(agent) > 0

    def attend(self, agent: str) -> None:
        """A program speaks for an agent here again."""
        self._seat(agent)

    def vacate(self, agent: str) -> None:
        """A program speaks for an agent no more: unless others do, the agent has departed."""
        if self._core is not None and self._core.has(agent) and not self._is_attended(agent):
            with suppress(Unavailable):  # a store that is full: it is shown a little longer
                self._tell_or_raise(Unattended((agent,)))

    def _agent_of(self, agent_id: str) -> tuple[Agent, LocalConnection]:
        self._running()
        held = self._agents.get(agent_id)
        if held is not None and not held[1].closed:
            return held
        self._seat(agent_id)
        line = LocalConnection(self._local, agent_id)
        agent = Agent(line, listener_timeout=self._listener_timeout)
        self._agents[agent_id] = (agent, line)
        return agent, line

    def line(self, agent_id: str) -> LocalConnection:
        """A connection of its own for an agent that is here, or is at home here and new.

        For those who serve programs elsewhere (`api`): it shares no inbox with the programs of this
        process, and whoever asks for it closes it. Raises `AgentAway`.
        """
        self._running()
        self._seat(agent_id)
        line = LocalConnection(self._local, agent_id)
        open_ones = [one for one in self._beside.get(agent_id, ()) if not one.closed]
        self._beside[agent_id] = [*open_ones, line]
        return line

    # -- programs ----------------------------------------------------------------------------

    async def launch(
        self, program: str, *, name: str, state: object = None, bundle: bytes | None = None
    ) -> Program[Any]:
        """Let the agent `name@host` run a program, from this state; it is durable then.

        Without a `state`, its class says what the first one is. A `bundle` goes along for hosts
        that do not have the program. Gives the program as it runs here, until it moves or ends.
        Raises `NoSuchProgram`, `BadState`, `RunsAlready`, `AgentAway`, or what is wrong with the
        bundle.

        One that raises is reported, and begins again when the host does.
        """
        agent_id = f"{check_name('an agent', name)}@{self.domain}"
        return await self._stage.launch(agent_id, program, state, bundle)

    @property
    def stage(self) -> Stage:
        """Its programs, for those who start and end them for others."""
        return self._stage

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of the programs that may run here without bringing their code."""
        return self._stage.names

    @property
    def running(self) -> dict[str, Program[Any]]:
        """The programs at work here, by the ids of their agents."""
        return {agent: one.program for agent, one in self._stage.running.items()}

    def _spawn(self, work: Coroutine[object, None, None], name: str) -> asyncio.Task[None]:
        return self._loop.create_task(work, name=name)

    def _program_failed(self, agent: str, error: BaseException) -> None:
        self._report(Report("a program failed", {"host": self.name, "agent": agent}, error))

    def _came(self, came: Came) -> None:
        if came.program and came.program != CLIENT_PROGRAM:
            why = getattr(came.error, "why", "")
            kept = ProgramKept(came.agent, came.program, came.state, came.code, came.origin, why)
            self._stage.begin(kept, came.mail)
            self.served.has_come(came.agent)

    def _left(self, agent: str) -> None:
        self._stage.left(agent)
        held = self._agents.pop(agent, None)
        if held is not None and not held[1].closed:  # someone held it beside its program
            held[1].shut(f"agent {agent}", gone=True)
            held[0].stop()
        for line in self._beside.pop(agent, ()):
            line.leave()

    # -- for those who serve clients ---------------------------------------------------------

    @property
    def served(self) -> HostSessions:
        """The sessions of clients in other processes."""
        self._running()
        assert self._sessions is not None
        return self._sessions

    @property
    def core(self) -> Core:
        """The host itself, to look at: for status, metrics and operators' questions."""
        return self._running()

    def _admits(self, agent: str, program: str, code: object) -> str:
        """Why an agent may not come; one whose program is elsewhere may."""
        return "" if program == CLIENT_PROGRAM else self._stage.admits(agent, program, code)

    def _reads(self, program: str, code: object, state: object) -> str:
        return "" if program == CLIENT_PROGRAM else self._stage.reads(program, code, state)

    def revoked(self, certificates: RevocationList) -> None:
        """An authority has revoked certificates: those that agents here have shown end."""
        self._tell_or_raise(RevocationsLearnt(certificates))

    async def end(self, agent_id: str) -> None:
        """End an agent of this host: its tuples, waits, reactions and memberships go with it.

        Programs that speak for it are told `HasEnded`. Its name is free for a new agent.
        Raises `NoSuchAgent`.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     nurse, porter = host.agent("nurse"), host.agent("porter")
        ...     host.end("nurse@ward-3")
        ...     porter.connected("nurse@ward-3")
        False
        """
        self._running()
        await LocalConnection(self._local, agent_id).ask(End())

    async def suspend(self, name: str, why: str = "") -> None:
        """Suspend an agent (its id) or a law (its hash) until `resume`; returns when it is kept.

        Calls are refused and what waits is called off; leases run on, and mail and obligations are
        kept for the end of it.
        """
        self._tell_or_raise(Suspend(name, why))
        await self._kept_all()

    async def resume(self, name: str) -> None:
        """End a suspension: what was kept meanwhile is served, once."""
        self._tell_or_raise(Resume(name))
        await self._kept_all()

    async def _kept_all(self) -> None:
        if (keeper := self._keeper) is not None and not await keeper.drain(LEAVE_S):
            raise self._why_not(keeper)

    def record(self, record: bytes) -> None:
        """Let the journal have something that no step tells."""
        if self._recorder is not None:
            self._set_aside(self._recorder.set_aside((record,), self._now()))

    @property
    def keeper(self) -> Keeper | None:
        """Who keeps what must survive, if there is a store."""
        return self._keeper

    def law(self, law: str) -> CompiledLaw | None:
        """A law that this host has at hand, by its hash."""
        return self._running().laws.get(law)
