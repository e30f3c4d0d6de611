"""Programs written with `async` in a simulated world of hosts that come and go.

`play` runs a program in a world made from a seed: its hosts are the cores that real ones run, its
network delays, doubles and loses frames, and links, crashes and moves are the program's to order.
Agents and spaces are those of `nomospace.client`, so a program that runs here runs on real hosts.
Time is virtual: `asyncio.sleep` is how a program lets it pass. One seed gives one history, and
`world.history` holds it for the checkers of `sim`.

A program dies with its host. `SimHost.program` starts one that begins again when its host does,
and `SimHost.launch` one that goes where its agent goes; whatever else still waits on a host that
crashes gets `Closed`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Final, TypeVar

from nomospace import client
from nomospace.calls.problems import AgentAway, AgentLeft
from nomospace.calls.requests import Cancel
from nomospace.client import Agent, Closed, Report, check_name
from nomospace.client.reactions import LISTENER_TIMEOUT_S
from nomospace.host.calls import Call, Event
from nomospace.host.changes import ProgramKept
from nomospace.host.effects import Answer, Came, Effect, Fire, Left, Mail, Note
from nomospace.law import CompiledLaw
from nomospace.node.local_connection import LocalClients, LocalConnection
from nomospace.node.programs import Stage
from nomospace.protocols.messages import View
from nomospace.protocols.policy import Policy
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.firings import Inside
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.site import Site
from nomospace_lab.testing.clock import LoopClock
from nomospace_lab.testing.loop import SECONDS_MAX, run
from nomospace_lab.testing.noted import NotedFiring

T = TypeVar("T")
Program = Callable[["SimHost"], Coroutine[Any, Any, None]]

REPORTS_MAX: Final = 10_000
"""How many of its last reports a world keeps."""


class AgentWorld(Sites):
    """A simulated world for `async` programs; made by `play`.

    Besides what `Sites` offers to scripts (`connect`, `part`, `place`, `plan`, `heal`, …), it has
    hosts and agents of the client's API. Time passes with the loop, so its own `run`, `pass_s` and
    `ask` have no use here.
    """

    def __init__(
        self,
        seed: int,
        *,
        group: asyncio.TaskGroup,
        link: Link | None = None,
        laws: Iterable[CompiledLaw] = (),
        listener_timeout: float = LISTENER_TIMEOUT_S,
    ) -> None:
        super().__init__(seed, link=link, laws=laws)
        self.clock = LoopClock(asyncio.get_running_loop(), start_us=START_US)
        self.hosts: dict[str, SimHost] = {}
        self.reports: deque[Report] = deque(maxlen=REPORTS_MAX)
        """What went wrong beside the programs' own paths, as `Host.on_report` is told it."""
        self.on_restart = self._came_back
        self._group = group
        self._listener_timeout = listener_timeout
        self._local = LocalClients(
            self._give, connected=self._connected, report=self.reports.append
        )
        self._agents: dict[str, tuple[Agent, LocalConnection]] = {}
        self._numbers: dict[int, tuple[int, str]] = {}  # our number of a call: the world's, host
        self._stepping = False  # a strong listener runs inside a host's step
        self._watchers: list[asyncio.Future[None]] = []

    # -- hosts and agents --------------------------------------------------------------------

    def host(
        self,
        name: str,
        *,
        skew_us: int = 0,
        policy: Policy | None = None,
        programs: Iterable[str] | None = None,
        trusted_publishers: Mapping[str, bytes] | None = None,
    ) -> SimHost:
        """A new host, up from now on; asking again gives the same one.

        `programs` and `trusted_publishers` are as for `nomospace.Host`.
        """
        found = self.hosts.get(name)
        if found is None:
            found = self.hosts[check_name("a host", name)] = SimHost(
                self, name, programs=programs, trusted_publishers=trusted_publishers
            )
            self.site(name, skew_us=skew_us, policy=policy)
        return found

    def agent(self, agent: str) -> Agent:
        """The agent of this id, wherever it is; it must be in the world already."""
        assert agent in self.where, f"no agent {agent} in this world"
        return self._held(agent)[0]

    def _held(self, agent: str) -> tuple[Agent, LocalConnection]:
        held = self._agents.get(agent)
        if held is None or held[1].closed:
            line = LocalConnection(self._local, agent)
            held = (Agent(line, listener_timeout=self._listener_timeout), line)
            self._agents[agent] = held
        return held

    async def travel(self, agent: Agent, to: str, *, travel_s: float = 0.0) -> None:
        """Move an agent with all it has to another host, and wait until it is there.

        What waits is answered with `AgentLeft`; its reactions go with it.
        """
        travel_us = round(travel_s * SECOND_US)
        while not self.move(agent.id, to, travel_us=travel_us):
            await asyncio.sleep(1)
        await self.wait(lambda: self.where[agent.id] == to)

    async def wait(self, good: Callable[[], bool]) -> None:
        """Wait until something is so: looked at when a view changes or an agent arrives."""
        while not good():
            future = asyncio.get_running_loop().create_future()
            self._watchers.append(future)
            await future

    def _stir(self) -> None:
        watchers, self._watchers = self._watchers, []
        for future in watchers:
            if not future.done():
                future.set_result(None)

    # -- calls -------------------------------------------------------------------------------

    def _give(self, event: Event) -> None:
        """An agent's call: made now, or after the step that it was made in."""
        assert isinstance(event, Call), event
        if self._stepping:
            self.clock.after(0, self._give, event)
            return
        op, request = event.op, event.request
        if isinstance(request, Cancel):
            request = Cancel(self._numbers.get(request.op, (0, ""))[0])

        def answered(answer: Answer) -> None:
            self._numbers.pop(op, None)
            # A copy: the history keeps the error, not the frames that it is raised through.
            self._local.answer(Answer(op, answer.value, copy(answer.error)))

        number = self.call(event.agent, request, answered)
        if number is None:
            self._local.answer(Answer(op, None, AgentLeft(agent=event.agent)))
        else:
            self._numbers[op] = (number, self.where[event.agent] or "")

    def _connected(self, asker: str, who: str) -> bool:
        home = self.where.get(asker)
        return home is not None and self.hosts[home].connected(who)

    def _observe(self, site: Site, effect: Effect) -> None:
        super()._observe(site, effect)
        if isinstance(effect, Fire | Mail | Note):
            # Answers come in an act of their own; what was ordered after one comes after it.
            self.clock.after(0, self._local.take_in, effect)
            if isinstance(effect, Note) and effect.what == "view":
                self._stir()
        elif isinstance(effect, Left):
            self.clock.after(0, self._left, site, site.life, effect.agent)
        elif isinstance(effect, Came):
            self.clock.after(0, self._came, site, site.life, effect)

    # -- programs that move ------------------------------------------------------------------

    def _start(self, site: Site) -> None:
        super()._start(site)
        assert site.core is not None, "nothing crashes before it has begun"
        stage = self.hosts[site.name].stage
        site.core.admits = lambda agent, program, code: (
            stage.admits(agent, program, code) if program else ""
        )
        site.core.reads = stage.reads

    def _left(self, site: Site, life: int, agent: str) -> None:
        stage = self.hosts[site.name].stage
        if site.life == life and agent in stage.running:
            stage.left(agent)
            self._let_go(agent)

    def _came(self, site: Site, life: int, came: Came) -> None:
        if site.up and site.life == life and came.program:
            why = getattr(came.error, "why", "")
            kept = ProgramKept(came.agent, came.program, came.state, came.code, came.origin, why)
            self.hosts[site.name].stage.begin(kept, came.mail)
        self._stir()

    def _let_go(self, agent: str) -> None:
        """The program that was this agent is over; nothing that it asked for will be answered."""
        held = self._agents.pop(agent, None)
        if held is not None:
            held[1].shut(f"agent {agent}", gone=True)
            held[0].stop()
        asked = [op for op, (who, host, _) in self._asked.items() if who == agent and host is None]
        for op in asked:
            del self._asked[op]
        for number in [number for number, (op, _) in self._numbers.items() if op in asked]:
            del self._numbers[number]

    def _settle_in(self, site: Site) -> None:
        super()._settle_in(site)
        self._stir()

    def _act(
        self, listener: Callable[[Any], None], firing: Any, inside: Inside, space: str
    ) -> None:
        self._stepping = True
        try:
            listener(NotedFiring(firing, inside, space))
        finally:
            self._stepping = False

    # -- crashes -----------------------------------------------------------------------------

    def _crash(self, site: Site) -> None:
        lost = [agent for agent, host in self.where.items() if host == site.name]
        leaving = list(self.hosts[site.name].stage.running)  # some may have left by their disk
        super()._crash(site)
        self.hosts[site.name].crashed()
        for agent in leaving:
            self._let_go(agent)
        for op in [op for op, (_, host) in self._numbers.items() if host == site.name]:
            del self._numbers[op]
            self._local.calls.pop(op, None)  # it will never be answered
        for agent in lost:
            held = self._agents.pop(agent, None)
            if held is not None:
                held[1].shut(f"host {site.name}", gone=True)
                held[0].stop()
        self._stir()

    def _came_back(self, host: str, agents: Sequence[str]) -> None:
        self.hosts[host].came_back()
        self._stir()


class SimHost:
    """A host of a simulated world, with the methods of `nomospace.Host`. Made by `world.host`.

    >>> async def program(world):
    ...     x, y = world.host("x"), world.host("y")
    ...     world.connect("x", "y")
    ...     await x.wait_engaged("y", timeout=30)
    ...     jobs = await (await x.agent("ann")).space("jobs", shared=True)
    ...     await jobs.out("job", 17)
    ...     x.crash(down=5)
    ...     jobs = await (await y.agent("bob")).space("jobs", shared=True)
    ...     return await jobs.take("job", int, timeout=60)
    >>> play(program, seed=1)
    ('job', 17)
    """

    def __init__(
        self,
        world: AgentWorld,
        name: str,
        *,
        programs: Iterable[str] | None,
        trusted_publishers: Mapping[str, bytes] | None,
    ) -> None:
        self.world = world
        self.name = name
        self.stage = Stage(
            name,
            programs=programs,
            trusted_publishers=trusted_publishers,
            agent_of=world._held,
            laws_of=self._laws_of,
            spawn=lambda work, label: world._group.create_task(work, name=label),
            failed=_raise,
            report=world.reports.append,
        )
        self._programs: list[Program] = []
        self._tasks: dict[asyncio.Task[None], None] = {}

    def __repr__(self) -> str:
        return f"<simulated host {self.name}, {'up' if self.up else 'down'}>"

    @property
    def up(self) -> bool:
        """Whether it is running."""
        return self.world.sites[self.name].up

    @property
    def view(self) -> View:
        """The group as this host sees it; raises `Closed` while it is down."""
        core = self.world.sites[self.name].core
        if core is None:
            raise Closed(what=f"host {self.name}")
        return core.view

    def connected(self, who: str) -> bool:
        """Whether an agent, or (without an `@`) a host, is connected with this host now."""
        core = self.world.sites[self.name].core
        if core is None:
            return False
        return core.connected(who) if "@" in who else who in core.view.members

    async def agent(self, name: str) -> Agent:
        """The agent `name@host`: new, or as it was left, wherever it is now.

        A new one comes when the host is up and its group stands still.
        """
        id = f"{check_name('an agent', name)}@{self.name}"
        world = self.world
        if id not in world.where:
            world.arrive(id, self.name)
        await world.wait(lambda: world.where[id] is not None)
        return world.agent(id)

    def engage(self) -> None:
        """Join whom the policy lets this host join."""
        self.world.engage(self.name)

    def disengage(self) -> None:
        """Leave the group by announcement, and stay alone until `engage`."""
        self.world.disengage(self.name)

    async def wait_engaged(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until all these hosts are in this one's group; past `timeout` s a `TimeoutError`."""
        async with asyncio.timeout(timeout):
            await self.world.wait(lambda: all(self.connected(name) for name in hosts))

    async def wait_parted(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until none of these hosts is in the group of this one."""
        async with asyncio.timeout(timeout):
            await self.world.wait(lambda: not any(self.connected(name) for name in hosts))

    async def wait_up(self) -> None:
        """Wait until it is running."""
        await self.world.wait(lambda: self.up)

    def crash(self, *, down: float = 1.0, steps: int = 0) -> None:
        """Lose all but the disk, and come back after `down` seconds.

        It crashes at once, or so many `steps` (orders carried out) into its next work.
        """
        world = self.world
        world.crash(Crash(world.clock.now, self.name, round(down * SECOND_US), steps))

    def program(self, program: Program) -> None:
        """Run `program(host)` while this host is up: now, and again after each crash.

        An exception that it raises ends the world. What must outlive a crash it keeps in spaces.
        """
        self._programs.append(program)
        if self.up:
            self._start(program)

    async def launch(
        self, program: str, *, name: str, state: Any = None, bundle: bytes | None = None
    ) -> client.Program[Any]:
        """Let the agent `name@host` run a program that may move; see `nomospace.Host.launch`.

        An exception that it raises ends the world.
        """
        id = (await self.agent(name)).id
        if self.world.where[id] != self.name:
            raise AgentAway(agent=id, host=self.name)
        return await self.stage.launch(id, program, state, bundle)

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of the programs that may run here without bringing their code."""
        return self.stage.names

    @property
    def running(self) -> dict[str, client.Program[Any]]:
        """The programs at work here, by the ids of their agents."""
        return {agent: one.program for agent, one in self.stage.running.items()}

    def _laws_of(self, agent: str) -> list[tuple[str, CompiledLaw]]:
        core = self.world.sites[self.name].core
        return [] if core is None else core.memberships_of(agent)

    def _start(self, program: Program) -> None:
        task = self.world._group.create_task(program(self), name=f"{self.name}: {_name(program)}")
        self._tasks[task] = None
        task.add_done_callback(lambda task: self._tasks.pop(task, None))

    def crashed(self) -> None:
        """The world tells that the host has crashed."""
        for task in list(self._tasks):
            task.cancel()
        self.stage.stop()

    def came_back(self) -> None:
        """The world tells that the host has started again."""
        for program in self._programs:
            self._start(program)
        core = self.world.sites[self.name].core
        for kept in core.programs if core is not None else ():
            self.stage.begin(kept)

    def stop(self) -> None:
        """The world ends: so do the programs."""
        self._programs.clear()
        self.crashed()


def _raise(agent: str, error: BaseException) -> None:
    raise error


def _name(program: Any) -> str:
    return str(getattr(program, "__qualname__", type(program).__qualname__))


def play(
    main: Callable[[AgentWorld], Coroutine[Any, Any, T]],
    *,
    seed: int = 0,
    link: Link | None = None,
    laws: Iterable[CompiledLaw] = (),
    listener_timeout: float = LISTENER_TIMEOUT_S,
    seconds_max: float = SECONDS_MAX,
) -> T:
    """Run `main(world)` in a simulated world and give what it returns.

    Programs of hosts that still run are ended with it. What one of them raises is raised here.

    >>> async def main(world):
    ...     notes = await (await world.host("x").agent("ann")).space("notes")
    ...     await notes.out("note", "an hour later")
    ...     await asyncio.sleep(3600)
    ...     return await notes.take_nowait("note", str)
    >>> play(main)
    ('note', 'an hour later')
    """

    async def body() -> T:
        async with asyncio.TaskGroup() as group:
            world = AgentWorld(
                seed, group=group, link=link, laws=laws, listener_timeout=listener_timeout
            )
            try:
                return await main(world)
            finally:
                for host in world.hosts.values():
                    host.stop()
        raise AssertionError("a group that is left without a result has raised")

    try:
        return run(body(), seconds_max=seconds_max)
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:  # the plain case reads best without its wrapping
            raise group.exceptions[0] from None
        raise
