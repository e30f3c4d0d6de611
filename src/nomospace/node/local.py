"""A host in the running event loop of this process.

This is a driver: it tells the host's core what happens and the time, and carries out its effects
in order. It decides nothing. What must survive is on disk before anything that stands after it is
shown to anyone (`keeper`); later steps queue up behind it, because what they show may rest on it.
Without a store the host forgets all when it ends. While the store cannot take anything (a full
disk, a database that is away) calls are refused with the reason, and time stands still for the
core; a store that fails otherwise ends the host: going on, it would show what it has not kept.

The core is never entered twice: what a strong listener asks for inside a step (another reaction,
say) is told to the core when the step is over.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, cast

from nomospace.client import Agent, Closed, Program, Report, check_name
from nomospace.client.reactions import LISTENER_TIMEOUT_S
from nomospace.errors import NomospaceError, Unavailable
from nomospace.host import Host as Core
from nomospace.host.calls import (
    Arrive,
    Asked,
    Call,
    Disengage,
    Engage,
    Event,
    Heard,
    Loaded,
    Moved,
    RevocationsLearnt,
    Seek,
    Tick,
)
from nomospace.host.changes import ProgramKept
from nomospace.host.effects import (
    Answer,
    Came,
    Effect,
    Left,
    Persist,
    Ruled,
    Traced,
    Transmit,
)
from nomospace.host.problems import Busy
from nomospace.law import CompiledLaw
from nomospace.node.clock import Clock, Mark
from nomospace.node.desk import Desk, Line
from nomospace.node.keeper import WAITING_MAX, Keeper
from nomospace.node.links import Links
from nomospace.node.programs import Stage
from nomospace.node.session import Outgoing
from nomospace.node.sessions import Sessions
from nomospace.node.telemetry import Tracing
from nomospace.protocols.messages import View
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Policy
from nomospace.protocols.routing.frames import Post
from nomospace.space import Record, Space
from nomospace.store.interface import Kept, Step, Store
from nomospace.trust.seals import NotAuthentic
from nomospace.wire.talk import CLIENT_PROGRAM

if TYPE_CHECKING:
    from nomospace.trust.revocation import RevocationList

INBOX_MAX: Final = 100_000
"""How many calls of strong listeners may wait for the end of the step they run in."""


@dataclass(eq=False, kw_only=True)
class NotInTime(Unavailable):
    """The group did not become what was waited for."""

    code: ClassVar[str] = "node.not-in-time"
    host: str
    hosts: tuple[str, ...]
    members: tuple[str, ...]
    timeout_s: float

    def __str__(self) -> str:
        return (
            f"after {self.timeout_s:g} s the group of {self.host} is {', '.join(self.members)}, "
            f"and {', '.join(self.hosts)} was waited for; look at links and policies"
        )


@dataclass(eq=False, kw_only=True)
class AgentAway(Unavailable):
    """An agent was asked for that is at another host now, or under way."""

    code: ClassVar[str] = "node.agent-away"
    agent: str
    host: str

    def __str__(self) -> str:
        return f"{self.agent} has left {self.host}; write to it, or wait until it comes back"


ASIDE_S: Final = 0.05
ASIDE_MAX: Final = 2_000
"""Records of steps that are not durable are kept after so long, or when there are so many."""
LOAD_ROWS: Final = 2_000
"""How many tuples of earlier lives are read at a time, between other things."""
LEAVE_S: Final = 3.0
"""How long a host that is closed waits for its group to let it go."""

_log = logging.getLogger("nomospace.host")


class Recorder(Protocol):
    """Who writes the journal of a host."""

    def records(self, effects: list[Effect], now: int) -> tuple[bytes, ...]:
        """What the journal says of a step."""

    def taken(
        self, space: str, records: Sequence[Record], agent: str, now: int
    ) -> tuple[bytes, ...]:
        """What it says of tuples that an agent took without one."""


class Host:
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
        network: Links | None = None,
        policy: Policy | None = None,
        pace: Pace = USUAL,
        store: Store | None = None,
        laws: Iterable[CompiledLaw] = (),
        on_report: Callable[[Report], None] | None = None,
        listener_timeout: float = LISTENER_TIMEOUT_S,
        epoch_us: int | None = None,
        clock: Callable[[Mark], Clock] | None = None,
        domain: str | None = None,
        servers: Mapping[str, tuple[str, ...]] | None = None,
        vouches: Callable[[CompiledLaw, Post], NotAuthentic | None] | None = None,
        silent: Callable[[CompiledLaw], str] | None = None,
        papers: Callable[[], bytes] | None = None,
        believes: Callable[[CompiledLaw, str, bytes], NotAuthentic | None] | None = None,
        carries: Callable[[Any], str] | None = None,
        recorder: Recorder | None = None,
        programs: Iterable[str] | None = None,
        trusted_publishers: Mapping[str, bytes] | None = None,
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
        says which hosts serve which domains. `vouches` judges letters of other hosts, and `silent`
        says under which laws this one could not make others believe it (see `vouching`); without
        them all hosts believe each other. `recorder` writes the journal.

        `programs` names those that may run here, by launch or by coming; by default all that this
        process has registered. Programs that it does not have come only in bundles signed by one of
        `trusted_publishers` (public keys by name): their code has all the rights of this process.
        """
        self.name = check_name("a host", name)
        self.on_report = on_report
        self._network = network
        self._policy = policy
        self._pace = pace
        self._store = store
        self._keeper: Keeper | None = None
        self._behind: deque[tuple[int, list[Effect | Outgoing]]] = deque()
        """Effects that may be seen once a step is on disk, with the number of that step."""
        self._laws = {law.hash: law for law in laws}
        self._listener_timeout = listener_timeout
        self._epoch = epoch_us
        self.domain = check_name("a domain", domain or name)
        self._servers = dict(servers or {})
        self._vouches = vouches
        self._silent = silent
        self._papers = papers
        self._believes = believes
        self._carries = carries
        self._recorder = recorder
        self._aside: list[bytes] = []
        """Records of steps that nobody waits for."""
        self._sessions: Sessions | None = None
        self._make_clock = clock
        self._clock: Clock | None = None
        self._core: Core | None = None
        self._loop: asyncio.AbstractEventLoop
        self._time: Callable[[], float]
        self._origin = 0
        """What the host's clock shows when the loop's shows 0."""
        self._desk = Desk(
            self._tell,
            connected=lambda _, who: self.connected(who),
            report=self._report,
            first=secrets.randbits(30) << 32,
        )
        self._stage = Stage(
            self.name,
            programs=programs,
            trusted_publishers=trusted_publishers,
            agent_of=self._agent_of,
            laws_of=lambda agent: self._running().laws_of(agent),
            spawn=self._spawn,
            failed=self._program_failed,
            report=self._report,
        )
        self._agents: dict[str, tuple[Agent, Line]] = {}
        self._tracing = Tracing(self.name)
        self.steps = 0
        """How many steps the core has made."""
        self.calls: dict[type, int] = {}
        """How many calls agents have made, by kind."""
        self._stepping = False
        self._looking = False
        self._inbox: deque[Event] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0
        self._view: View | None = None
        self._watchers: list[asyncio.Future[None]] = []
        self._ended: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<host {self.name}, {'running' if self._core else 'closed'}>"

    # -- its life --------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Begin, in the running event loop; starting twice is harmless."""
        if self._core is not None:
            return
        if self._network is not None:
            self._network.join(self.name, self._hear)
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        life, durable, mark = 1, None, Mark()
        outbox: tuple[Kept, ...] = ()
        if self._store is not None:
            beginning = self._store.begin(tuples=False)
            life, durable, outbox = beginning.life, beginning.durable, beginning.outbox
            mark = Mark(*beginning.clock)
        if self._make_clock is not None:
            self._clock = self._make_clock(mark)
        epoch = time.time_ns() // 1000 if self._epoch is None else self._epoch
        self._origin = max(epoch, mark.at) - round(self._time() * 1e6)
        if self._store is not None:
            self._keeper = Keeper(
                self._store,
                now=self._mark,
                kept=self._kept,
                troubled=self._troubled,
                broken=self._broken,
            )
        self._core = Core(
            self.name,
            life=life,
            now=self._now(),
            policy=self._policy,
            pace=self._pace,
            durable=durable,
            laws=self._laws,
            domain=self.domain,
            servers=self._servers,
            admits=self._admits,
            reads=self._reads,
            vouches=self._vouches,
            silent=self._silent,
            papers=self._papers,
            believes=self._believes,
            carries=self._carries,
            traces=self._recorder is not None,
            loading=self._store is not None,
        )
        if self._store is not None:
            self._load(0)
        self._sessions = Sessions(_Gate(self), life=life, first=secrets.randbits(30) << 32)
        self._sessions.restore(outbox, now=round(self._time() * 1e6))
        self._view = self._core.view
        self._tell(Tick())
        for kept in self._core.programs:
            if kept.program != CLIENT_PROGRAM:
                self._stage.begin(kept)

    def _load(self, after: int) -> None:
        """Tell the core some of the tuples that its earlier lives have kept; the others soon."""
        core, store = self._core, self._store
        if core is None or store is None:
            return
        try:
            rows, more = store.rows(after, LOAD_ROWS)
        except BaseException as error:
            self._broken(error)
            return
        now = self._now()
        self._carry(core.handle(Loaded(tuple(rows), more is None), now=now), now)
        if more is not None:
            self._loop.call_soon(self._load, more)
        else:
            self._look()

    async def close(self) -> None:
        """Leave the group by announcement and end. What waits raises `Closed`.

        What is under way to other hosts gets up to `LEAVE_S` seconds to arrive.
        """
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
        if self._keeper is not None:
            self._keeper.stop()
            self._keeper = None
        self._behind.clear()
        agents, self._agents = self._agents, {}
        for agent, line in agents.values():
            line.shut(f"host {self.name}", gone=True)
            agent.stop()
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

    def _seat(self, agent_id: str) -> None:
        """See that an agent is here, new or as it was left."""
        core = self._running()
        if not core.has(agent_id):
            # One of another domain may be on its way here: a second one must not be in its place.
            if core.away(agent_id) or not agent_id.endswith(f"@{self.domain}"):
                raise AgentAway(agent=agent_id, host=self.name)
            self._tell(Arrive(agent_id))

    def _agent_of(self, agent_id: str) -> tuple[Agent, Line]:
        self._running()
        held = self._agents.get(agent_id)
        if held is not None and not held[1].closed:
            return held
        self._seat(agent_id)
        line = Line(self._desk, agent_id)
        agent = Agent(line, listener_timeout=self._listener_timeout)
        self._agents[agent_id] = (agent, line)
        return agent, line

    # -- programs ----------------------------------------------------------------------------

    async def launch(
        self, program: str, *, name: str, state: Any = None, bundle: bytes | None = None
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
    def programs(self) -> tuple[str, ...]:
        """The names of the programs that may run here without bringing their code."""
        return self._stage.names

    @property
    def running(self) -> dict[str, Program[Any]]:
        """The programs at work here, by the ids of their agents."""
        return {agent: one.program for agent, one in self._stage.running.items()}

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._loop.create_task(work, name=name)

    def _program_failed(self, agent: str, error: BaseException) -> None:
        self._report(Report("a program failed", {"host": self.name, "agent": agent}, error))

    def _came(self, came: Came) -> None:
        if came.program and came.program != CLIENT_PROGRAM:
            why = getattr(came.error, "why", "")
            self._stage.begin(
                ProgramKept(came.agent, came.program, came.state, came.code, came.origin, why),
                came.mail,
            )

    def _left(self, agent: str) -> None:
        self._stage.left(agent)
        held = self._agents.pop(agent, None)
        if held is not None and not held[1].closed:  # someone held it beside its program
            held[1].shut(f"agent {agent}", gone=True)
            held[0].stop()

    # -- for those who serve clients ---------------------------------------------------------

    @property
    def served(self) -> Sessions:
        """The sessions of clients in other processes."""
        self._running()
        assert self._sessions is not None
        return self._sessions

    @property
    def core(self) -> Core:
        """The host itself, to look at: for status, metrics and operators' questions."""
        return self._running()

    def _admits(self, agent: str, program: str, code: Any) -> str:
        """Why an agent may not come; one whose program is elsewhere may."""
        return "" if program == CLIENT_PROGRAM else self._stage.admits(agent, program, code)

    def _reads(self, program: str, code: Any, state: Any) -> str:
        return "" if program == CLIENT_PROGRAM else self._stage.reads(program, code, state)

    def revoked(self, certificates: RevocationList) -> None:
        """An authority has revoked certificates: those that agents here have shown end."""
        self._tell_or_raise(RevocationsLearnt(certificates))

    def record(self, record: bytes) -> None:
        """Let the journal have something that no step tells."""
        if self._keeper is not None:
            self._set_aside((record,))

    @property
    def keeper(self) -> Keeper | None:
        """Who keeps what must survive, if there is a store."""
        return self._keeper

    def law(self, law: str) -> CompiledLaw | None:
        """A law that this host has at hand, by its hash."""
        return self._running().governing.law(law)

    # -- the group ---------------------------------------------------------------------------

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

    def moved(self, x_m: float, y_m: float) -> None:
        """Tell where the host is now, in metres; for policies that engage by position."""
        self._running()
        self._tell(Moved((float(x_m), float(y_m))))

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

    # -- driving the core --------------------------------------------------------------------

    def _running(self) -> Core:
        if self._core is None:
            raise Closed(what=f"host {self.name}")
        return self._core

    def _now(self) -> int:
        """Microseconds, UTC, that never go back: the clock at the start, and the loop's since."""
        if self._clock is not None:
            return self._clock.now()
        return self._origin + round(self._time() * 1e6)

    def _mark(self) -> Mark:
        return Mark(self._now()) if self._clock is None else self._clock.mark()

    def _tell(self, event: Event) -> None:
        """Tell the core one fact and carry out what follows."""
        core = self._core
        if core is None:
            raise Closed(what=f"host {self.name}")
        keeper = self._keeper
        if keeper is not None and (keeper.trouble is not None or keeper.full):
            self._put_off(event, keeper)
            return
        if self._stepping:
            if len(self._inbox) >= INBOX_MAX:
                raise Busy(what="calls made inside one step", limit=INBOX_MAX)
            self._inbox.append(event)
            return
        self._stepping = True
        self.steps += 1
        if event.__class__ is Call:
            self._count(event)
        now = self._now()
        try:
            self._carry(core.handle(event, now=now), now)
            while self._inbox and self._core is not None:
                now = self._now()
                self._carry(core.handle(self._inbox.popleft(), now=now), now)
        except BaseException as error:
            # A core raises nothing that a caller could mend, and a store that fails leaves the
            # core ahead of the disk: what follows would be seen by others and then forgotten.
            self._broken(error)
            raise
        finally:
            self._stepping = False
        if self._core is None:  # the store broke under it
            raise Closed(what=f"host {self.name}")
        if not self._looking:
            # When it next wants to hear the time is asked once in a turn of the loop: no timer
            # could ring before the turn is over anyway.
            self._looking = True
            self._loop.call_soon(self._look)

    def _count(self, call: Call) -> None:
        kind = call.request.__class__
        self.calls[kind] = self.calls.get(kind, 0) + 1
        if self._tracing.on:
            space = getattr(call.request, "space", "")
            self._tracing.begin(call.op, _named(call.request), agent=call.agent, space=space)

    def _close_spans(self, effects: list[Effect]) -> None:
        """Close the spans of calls that a step answers: so that of a take covers its wait."""
        for effect in effects:
            if isinstance(effect, Answer):
                self._tracing.end(effect.op, effect.error)

    def _put_off(self, event: Event, keeper: Keeper) -> None:
        """The store can take nothing now: refuse calls, and let all else come again."""
        if isinstance(event, Call):
            self._desk.answer(Answer(event.op, None, self._why_not(keeper)))
        elif not isinstance(event, Heard | Tick):  # those come again by themselves
            raise self._why_not(keeper)

    def _why_not(self, keeper: Keeper) -> NomospaceError:
        return keeper.trouble or Busy(what="steps that wait for the disk", limit=WAITING_MAX)

    def _tell_or_raise(self, event: Event) -> None:
        """Tell the core a fact of a client's; raises why that cannot be just now."""
        keeper = self._keeper
        if keeper is not None and (keeper.trouble is not None or keeper.full):
            raise self._why_not(keeper)
        self._tell(event)

    def _at_hand(self, agent: str, name: str) -> tuple[Space, int] | None:
        """A space that can be served from without a step, when nothing waits for the disk."""
        core = self._core
        if core is None or self._behind or self._stepping or self._tracing.on:
            return None
        space = core.at_hand(agent, name)
        return None if space is None else (space, self._now())

    def _served(self, name: str, agent: str, count: int, taken: Sequence[Record], now: int) -> None:
        """So many reads and takes were served at hand; the journal learns what was taken."""
        self.steps += count
        self.calls[Seek] = self.calls.get(Seek, 0) + count
        if taken and self._recorder is not None and self._keeper is not None:
            self._set_aside(self._recorder.taken(name, taken, agent, now))

    def _carry(self, effects: list[Effect], now: int) -> None:
        """Do what a step orders: now, or when all that it rests on is on disk."""
        if not effects:
            return
        if self._tracing.on:
            self._close_spans(effects)
        keeper, todo = self._keeper, cast("list[Effect | Outgoing]", effects)
        first = effects[0]
        persists = first.__class__ is Persist
        kept: tuple[Kept, ...] = ()
        if self._sessions is not None:
            kept = self._sessions.outputs(todo, persists)
        if keeper is None:
            self._do(todo)
            return
        records: tuple[bytes, ...] = ()
        if self._recorder is not None:
            records = self._recorder.records(effects, now)
            if records and not persists:
                self._set_aside(records)
        if persists:
            assert isinstance(first, Persist)
            if self._aside:
                records, self._aside = (*self._aside, *records), []
            self._behind.append((keeper.last + 1, todo))
            keeper.put(Step(first.changes, kept, records))
        elif self._behind:
            self._behind.append((keeper.last, todo))
        else:
            self._do(todo)

    def _set_aside(self, records: tuple[bytes, ...]) -> None:
        """Keep what the journal says of a step that nobody waits for: soon, with others."""
        if not self._aside:
            self._loop.call_later(ASIDE_S, self._keep_aside)
        self._aside.extend(records)
        if len(self._aside) >= ASIDE_MAX:
            self._keep_aside()

    def _keep_aside(self) -> None:
        keeper = self._keeper
        if self._aside and keeper is not None:
            records, self._aside = tuple(self._aside), []
            keeper.put(Step((), (), records))

    def _kept(self, number: int) -> None:
        """Everything up to a step is on disk: what stands behind it may be seen."""
        behind = self._behind
        while behind and behind[0][0] <= number:
            self._do(behind.popleft()[1])

    def _troubled(self, trouble: Unavailable | None) -> None:
        if trouble is None:
            self._report(Report("the store takes steps again", {"host": self.name}))
            self._ring()
        else:
            self._report(Report("the store takes no steps", {"host": self.name}, trouble))

    def _broken(self, error: BaseException) -> None:
        self._report(Report("a host stopped", {"host": self.name}, error))
        self._end()

    def _do(self, effects: list[Effect | Outgoing]) -> None:
        desk = self._desk
        for effect in effects:
            kind = effect.__class__
            if kind in _DONE:
                continue
            if kind is Outgoing:
                assert self._sessions is not None
                self._sessions.release(effect)  # type: ignore[arg-type]
            elif kind is Answer:
                desk.answer(effect)  # type: ignore[arg-type]
            elif isinstance(effect, Transmit):
                if self._network is not None:
                    self._network.transmit(self.name, effect.to, effect.frame)
            elif isinstance(effect, Left):
                self._left(effect.agent)
            elif isinstance(effect, Came):
                self._came(effect)
            else:
                desk.take_in(cast("Effect", effect))

    def _look(self) -> None:
        """After a turn with events: wake who waits for another view, and set the timer."""
        self._looking = False
        core = self._core
        if core is None:
            return
        if core.view is not self._view:
            self._view = core.view
            watchers, self._watchers = self._watchers, []
            for future in watchers:
                if not future.done():
                    future.set_result(None)
        due = core.next_deadline()
        if due is not None and (self._timer is None or due < self._timer_due):
            if self._timer is not None:
                self._timer.cancel()
            self._timer_due = due
            delay_s = (due - self._now()) / 1e6
            self._timer = self._loop.call_later(max(delay_s, 0.0), self._ring)

    def _ring(self) -> None:
        self._timer = None
        core = self._core
        if core is None:
            return
        due = core.next_deadline()
        if due is not None and due <= self._now():
            with suppress(Exception):  # it is reported, and the host has stopped
                self._tell(Tick())
        else:  # it has moved since the timer was set
            self._look()

    def _hear(self, neighbour: str, frame: Any) -> None:
        if self._core is not None:
            with suppress(Exception):  # it is reported, and the host has stopped
                self._tell(Heard(neighbour, frame))

    def _report(self, report: Report) -> None:
        if self.on_report is None:
            _log.warning("%s: %s", self.name, report, exc_info=report.error)
            return
        try:
            self.on_report(report)
        except Exception:
            _log.exception("%s: on_report failed on %s", self.name, report)


def _named(request: Asked) -> str:
    """What a request is called in traces and metrics: the way of a seek, else its kind."""
    how = getattr(request, "how", "")
    return str(how) or type(request).__name__.lower()


_DONE: Final = frozenset({Persist, Ruled, Traced})
"""Effects that are done when a step is kept: what must survive, and what the journal is told."""


class _Gate:
    """What sessions of clients ask of their host's driver (see `sessions.Gate`)."""

    __slots__ = ("_host",)

    def __init__(self, host: Host) -> None:
        self._host = host

    def tell(self, event: Event) -> None:
        self._host._tell_or_raise(event)

    def at_hand(self, agent: str, name: str) -> tuple[Space, int] | None:
        return self._host._at_hand(agent, name)

    def served(self, name: str, agent: str, count: int, taken: Sequence[Record], now: int) -> None:
        self._host._served(name, agent, count, taken, now)

    def seat(self, agent: str) -> None:
        self._host._seat(agent)

    def keep(self, kept: Sequence[Kept]) -> None:
        keeper = self._host._keeper
        if keeper is not None:
            keeper.put(Step((), tuple(kept)))

    def bring(self, out: Outgoing, kept: Sequence[Kept]) -> None:
        host = self._host
        keeper = host._keeper
        if keeper is None:
            host._do([out])
        else:
            host._behind.append((keeper.last + 1, [out]))
            keeper.put(Step((), tuple(kept)))

    def unreleased(self) -> Iterator[Outgoing]:
        for _, effects in self._host._behind:
            for effect in effects:
                if isinstance(effect, Outgoing):
                    yield effect

    def trim(self, key: str, number: int) -> None:
        keeper = self._host._keeper
        if keeper is not None:
            keeper.store.trim(key, number)

    def note(self, what: str, facts: dict[str, Any]) -> None:
        self._host._report(Report(what, facts))

    def here(self, agent: str) -> bool:
        return self._host._running().has(agent)

    def held(self, agent: str, law: str) -> bool:
        host = self._host
        return bool(host._desk.mailboxes.get((agent, law))) or agent in host._stage.running

    def address_of(self, host: str) -> str:
        links = self._host._network
        find = getattr(links, "address_of", None)
        return "" if find is None else str(find(host))
