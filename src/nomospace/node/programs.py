"""The programs that a host runs: which it may, how they begin and how they end.

A stage is one host's: it is told who comes with which program, and who has left, by whoever drives
the host's core (`node.driver` in real time, a simulated world in virtual time). It runs what the
host's process has registered under the names that the operator allows. What it does not have it
takes from bundles of trusted publishers only; each is loaded into a module of its own and known to
this host alone. Whether a program may come is answered before its agent leaves where it is, and
again at the door, where its state is read as well.

Code that was admitted runs with all the rights of this process: a signature says whom to hold to
account, it is no sandbox. A host that serves others has `processes` besides: what is not registered
in its own process runs there, each program in a process of its own.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from nomospace.calls.addresses import split_key
from nomospace.calls.problems import MoveRefused, NoSuchProgram, RunsAlready
from nomospace.calls.requests import Unread
from nomospace.client import Agent, Program, Report
from nomospace.client.program import (
    Registry,
    decode_state,
    encode_state,
    first_state,
    registered,
    registering,
)
from nomospace.errors import NomospaceError
from nomospace.host.changes import ProgramKept
from nomospace.law import CompiledLaw
from nomospace.node.local_connection import LocalConnection
from nomospace.node.loops import held
from nomospace.trust.bundles import open_bundle

if TYPE_CHECKING:
    from nomospace.node.processes import Processes

STOP_S: Final = 3.0
"""How long a program that is ended has for it."""
BUNDLES_MAX: Final = 1_000
"""How many bundles of others a host loads in one life."""


@dataclass(eq=False)
class Running:
    """A program at work."""

    agent: Agent
    line: LocalConnection
    program: Program[Any]
    over: bool = False
    """Whether whatever it still says, on its way out, does not count."""
    task: asyncio.Task[None] = field(init=False)


class InsideMaker:
    """Makes helpers for a program of this process (`client.program.Maker`)."""

    def __init__(self, stage: Stage, agent: str, code: bytes | None) -> None:
        self._stage = stage
        self._agent = agent
        self._code = code

    async def helper(self, name: str) -> Agent:
        """Another agent of the same host."""
        return self._stage.agent_of(self._id(name))[0]

    async def launch(self, program: str, name: str, state: object) -> str:
        """Another program of the same code."""
        await self._stage.launch(self._id(name), program, state, self._code)
        return self._id(name)

    def _id(self, name: str) -> str:
        return helper_id(self._agent, name, self._stage.domain)


def helper_id(maker: str, name: str, domain: str) -> str:
    """The id of a helper at a domain: it says whose it is.

    >>> helper_id("bob@ward", "scout", "ward"), helper_id("bob@ward", "scout", "icu")
    ('bob+scout@ward', 'bob+ward+scout@icu')
    """
    local, _, home = maker.rpartition("@")
    return f"{local}{'' if home == domain else f'+{home}'}+{name}@{domain}"


class Stage:
    """The programs of one host.

    `agent_of` gives an agent of the host and its line, `laws_of` the laws of its memberships,
    `spawn` runs a coroutine, and `failed` is told of a program that raised.
    """

    def __init__(
        self,
        host: str,
        *,
        domain: str = "",
        programs: Iterable[str] | None,
        trusted_publishers: Mapping[str, bytes] | None,
        agent_of: Callable[[str], tuple[Agent, LocalConnection]],
        laws_of: Callable[[str], Iterable[tuple[str, CompiledLaw]]],
        spawn: Callable[[Coroutine[object, None, None], str], asyncio.Task[None]],
        failed: Callable[[str, BaseException], None],
        report: Callable[[Report], None],
    ) -> None:
        self.host = host
        self.domain = domain or host
        self.running: dict[str, Running] = {}
        self._allowed = None if programs is None else tuple(dict.fromkeys(programs))
        self._trusted = dict(trusted_publishers or {})
        self.agent_of = agent_of
        self._laws_of = laws_of
        self._spawn = spawn
        self._failed = failed
        self._report = report
        self._loaded: dict[bytes, tuple[str, Registry]] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._launching: dict[str, str] = {}
        self.processes: Processes | None = None
        """Where programs run that this process has not registered, if anywhere."""

    @property
    def names(self) -> tuple[str, ...]:
        """The programs that this host runs without being brought their code."""
        beside = () if self.processes is None else self.processes.names
        return (*self._here, *[name for name in beside if name not in self._here])

    @property
    def _here(self) -> tuple[str, ...]:
        """Those that run in this process."""
        known = registered()
        allowed = known if self._allowed is None else self._allowed
        return tuple(name for name in allowed if name in known)

    def _elsewhere(self, program: str) -> Processes | None:
        """Where a program runs that is not run in this process."""
        return None if program in self._here or self._trusted else self.processes

    # -- what may run ------------------------------------------------------------------------

    def find(self, program: str, code: object) -> type[Program[Any]]:
        """The class of a program: the host's own, else from the bundle. Raises why not."""
        if program in self._here:
            return registered()[program]
        if code is None:
            why = "it is not registered here, or not allowed, and no bundle came with it"
            raise NoSuchProgram(program=program, host=self.host, why=why)
        if not self._trusted:
            why = "it is not registered here, and this host takes code from nobody"
            raise NoSuchProgram(program=program, host=self.host, why=why)
        if not isinstance(code, bytes):
            why = f"a bundle is bytes, and {type(code).__name__} came"
            raise NoSuchProgram(program=program, host=self.host, why=why)
        return self._load(program, code)

    def _load(self, program: str, code: bytes) -> type[Program[Any]]:
        key = sha256(code).digest()
        found = self._loaded.get(key)
        if found is None:
            source = open_bundle(code, trusted=self._trusted, name=program)
            if len(self._loaded) >= BUNDLES_MAX:
                why = f"{BUNDLES_MAX:,} bundles are loaded already"
                raise NoSuchProgram(program=program, host=self.host, why=why)
            found = self._loaded[key] = self._execute(program, source, key)
        kind = found[1].get(program)
        if kind is None:
            why = "its bundle defines no program of that name"
            raise NoSuchProgram(program=program, host=self.host, why=why)
        return kind

    def _execute(self, program: str, source: str, key: bytes) -> tuple[str, Registry]:
        """Run the source of a bundle as a module of its own."""
        name = f"nomospace_bundle_{self.host}_{key.hex()[:16]}"
        module = ModuleType(name, f"Program {program!r}, brought to host {self.host}.")
        made: Registry = {}
        sys.modules[name] = module  # classes look up the names of their annotations there
        try:
            with registering(made):
                exec(compile(source, f"<bundle {program}>", "exec"), module.__dict__)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            why = f"its bundle cannot be loaded: {type(error).__name__}: {error}"
            raise NoSuchProgram(program=program, host=self.host, why=why) from error
        return name, made

    def admits(self, agent: str, program: str, code: object) -> str:
        """Why an agent may not come with its program; for the host's core."""
        if not program:
            return f"host {self.host} takes agents with a program only"
        try:
            (self._elsewhere(program) or self).find(program, code)
        except NomospaceError as error:
            self._refused(agent, program, error)
            return str(error)
        return ""

    def _refused(self, agent: str, program: str, error: NomospaceError) -> None:
        facts = {"agent": agent, "program": program, "code": error.code, "why": str(error)}
        self._report(Report("program-refused", facts))

    def reads(self, program: str, code: object, state: object) -> str:
        """Why a program cannot go on from a state here; for the host's core.

        What runs in a process of its own reads its state there, and fails where it begins.
        """
        if self._elsewhere(program) is not None:
            return ""
        try:
            decode_state(self.find(program, code), state)
        except NomospaceError as error:
            return str(error)
        return ""

    # -- beginning -----------------------------------------------------------------------------

    async def launch(
        self, id: str, program: str, state: object, code: bytes | None
    ) -> Program[Any]:
        """Let an agent of this host run a program; it is durable when this returns."""
        known = self.running.get(id)
        if known is not None or id in self._launching:
            name = known.program.name if known is not None else self._launching[id]
            raise RunsAlready(agent=id, program=name)
        kind = self.find(program, code)
        data = encode_state(kind, first_state(kind, state))
        _, line = self.agent_of(id)
        self._launching[id] = program
        try:
            await line.launch(program, data, code)
        finally:
            del self._launching[id]
        return self._begin(kind, ProgramKept(id, program, data, code))

    async def start(self, id: str, program: str, state: bytes | None, code: bytes | None) -> None:
        """Let an agent run a program, wherever that runs; `state` is as it travels.

        As `launch`, for those who are elsewhere themselves.
        """
        try:
            processes = self._elsewhere(program)
            if processes is None:
                kind = self.find(program, code)
                await self.launch(id, program, state and decode_state(kind, state), code)
                return
            if self.running_as(id):
                raise RunsAlready(agent=id, program=self.running_as(id))
            await processes.launch(id, program, state, code)
        except NomospaceError as error:
            self._refused(id, program, error)
            raise

    def running_as(self, id: str) -> str:
        """The program that an agent runs here now; empty for none."""
        if id in self.running:
            return self.running[id].program.name
        beside = None if self.processes is None else self.processes.running.get(id)
        return "" if beside is None else beside.program

    async def end(self, id: str) -> str:
        """End the program of an agent here, for good; its name, empty where it runs none."""
        program = self.running_as(id)
        running = self.running.get(id)
        if running is not None:
            await running.line.launch("", b"", None)
            self.left(id)
            await asyncio.wait([running.task], timeout=STOP_S)
        elif program and self.processes is not None:
            await self.processes.end(id)
        return program

    def begin(self, kept: ProgramKept, unread: Iterable[Unread] = ()) -> None:
        """Begin a program that has come, or that an earlier life of the host ran.

        One that cannot begin is reported; it stays durable, and begins when the host starts again
        with what it needs.
        """
        try:
            processes = self._elsewhere(kept.program)
            if processes is not None:
                processes.begin(kept, tuple(unread))
                return
            kind = self.find(kept.program, kept.code)
            self._begin(kind, kept, unread)
        except Exception as error:  # ours, or out of the author's own `__init__`
            facts = {"agent": kept.agent, "program": kept.program}
            self._report(Report("a program could not begin", facts, error))

    def _begin(
        self, kind: type[Program[Any]], kept: ProgramKept, unread: Iterable[Unread] = ()
    ) -> Program[Any]:
        state = decode_state(kind, kept.state)
        id = kept.agent
        agent, line = self.agent_of(id)
        for key, law in self._laws_of(id):
            number = split_key(key)[1]
            if agent.membership(law, number) is None:
                agent.resume(law, number)
        agent.put_back([(one.law, one.sender, one.message) for one in unread])
        program = kind()
        program.agent, program.state, program.host = agent, state, self.host
        program.origin, program.code = kept.origin, kept.code
        program.maker = InsideMaker(self, id, kept.code)
        if kept.why:
            program.refused = MoveRefused(agent=id, to=kept.origin, why=kept.why)
        running = self.running[id] = Running(agent, line, program)
        task = self._spawn(self._drive(id, running), f"{id}: {kept.program}")
        running.task = held(task, self._tasks)
        return program

    # -- ending --------------------------------------------------------------------------------

    async def _drive(self, id: str, running: Running) -> None:
        try:
            await running.program.run()
            if not running.over:
                await running.line.launch("", b"", None)
        except (KeyboardInterrupt, SystemExit):
            raise
        except asyncio.CancelledError:
            if not running.over:
                raise
        except BaseException as error:
            if not running.over:
                self._failed(id, error)
        finally:
            if self.running.get(id) is running:
                del self.running[id]

    def left(self, agent: str) -> None:
        """An agent has left: its program here ends now."""
        if self.processes is not None:
            self.processes.left(agent)
        running = self.running.pop(agent, None)
        if running is None:
            return
        running.over = True
        running.line.leave()
        running.agent.stop()
        if running.program.mover is not running.task:
            running.task.cancel()

    def stop(self) -> None:
        """The host ends: so does all that it runs; what is durable begins again with it."""
        if self.processes is not None:
            self.processes.halt()
        for running in self.running.values():
            running.over = True
        self.running.clear()
        for task in list(self._tasks):
            task.cancel()
        for name, _ in self._loaded.values():
            sys.modules.pop(name, None)
        self._loaded.clear()

    async def wait_stopped(self, timeout_s: float) -> None:
        """Wait until the programs that were stopped have ended; not for ever."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=timeout_s)
