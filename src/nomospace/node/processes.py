"""The programs that a host runs in processes of their own, and who answers for them.

An operator answers for the modules of `[programs]`, a publisher for what it has signed: the host
knows its key and what its programs may do here (`[publishers]`). Code that nobody answers for is
refused. The host itself imports none of it: at its start it has a process import the modules, to
know what they have; that process stays for their dependence functions, which are asked inside
steps, have as long as a strong listener, and whose values are kept, since they are pure.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nomospace.calls.problems import NoSuchProgram
from nomospace.calls.requests import Unread
from nomospace.client import Report
from nomospace.client.program import STATE_BYTES_MAX
from nomospace.errors import CallerError, LimitReached, NomospaceError
from nomospace.host.changes import ProgramKept
from nomospace.host.effects import Mail
from nomospace.host.speaking import lend_functions
from nomospace.node import program_talk as say
from nomospace.node.loops import held
from nomospace.node.program_process import (
    OVER,
    ProgramFailed,
    ProgramMayNot,
    ProgramProcess,
    ProgramRights,
)
from nomospace.terms import Term, encode
from nomospace.trust.bundles import OpenedBundle, read_bundle
from nomospace.trust.keys import PublicKey

if TYPE_CHECKING:
    from nomospace.node.serve import Server

ENDED_MAX: Final = 1_000
"""Of how many programs it is remembered why they ended."""
CHECKED_MAX: Final = 64
"""How many bundles are remembered as checked."""
VALUES_MAX: Final = 10_000
"""How many values of dependence functions are kept."""


class BadModule(CallerError):
    """A module of `[programs]` cannot be used."""

    code = "node.bad-module"
    words = "[programs]: {why}; mend the module, or take it out of modules"
    why: str


class TooManyPrograms(LimitReached):
    """A host runs as many programs as it may."""

    code = "limits.programs"


class Processes:
    """The programs of one host that run in processes of their own.

    `laws`, `ready` and `read` are as clients have them (`clients.Clients`).
    """

    def __init__(self, server: Server) -> None:
        settings, publishers = server.config.programs, server.config.publishers
        self.host = server.host
        self.names: tuple[str, ...] = ()
        """The programs in the operator's modules."""
        self.running: dict[str, ProgramProcess] = {}
        self.ended: dict[str, str] = {}
        """Why programs ended otherwise than by returning, by their agents; the oldest first."""
        self.listener_s = settings.listener_ms / 1000
        self.laws, self.ready, self.read = server.law_named, server.ready, server.read
        self.report = server.report
        self._settings = settings
        self._publishers = publishers
        self._keys = {name: PublicKey.read(one.key).raw for name, one in publishers.items()}
        self._checked: dict[bytes, OpenedBundle] = {}
        self._functions: ProgramProcess | None = None
        self._values: dict[tuple[str, bytes], Term] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._step = (-1, 0.0)
        """A step of the host, and how long it has waited for programs."""

    # -- its life ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Have the operator's modules imported, elsewhere; raises `BadModule`."""
        if not self._settings.modules:
            return
        birth = self._birth(say.Birth(self.host.name, "", "", None), None)
        process = ProgramProcess(self, birth, self._own)
        try:
            born = await process.start()
        except ProgramFailed as error:
            raise BadModule(why=error.why) from None
        self.names = born.programs
        if not born.functions:
            await process.stop()
            return
        self._functions = process
        lend_functions(born.functions, self._apply)

    async def stop(self) -> None:
        """End all of them; what is durable begins again with the host."""
        processes = self._all_end()
        await asyncio.gather(*[process.stop() for process in processes])

    def halt(self) -> None:
        """End all of them at once: the host is no more."""
        for process in self._all_end():
            process.kill("its host has ended")

    def _all_end(self) -> list[ProgramProcess]:
        processes = [*self.running.values()]
        if self._functions is not None:
            processes.append(self._functions)
        self._functions = None
        for task in list(self._tasks):
            task.cancel()
        for process in processes:
            process.left = True  # it is no fault of theirs
            process.end()
        return processes

    # -- what may run --------------------------------------------------------------------------

    @property
    def _own(self) -> ProgramRights:
        settings = self._settings
        return ProgramRights("this host", settings.helpers, True, settings.network)

    def find(self, program: str, code: object) -> tuple[ProgramRights, OpenedBundle | None]:
        """What a program may do, and its bundle; raises why it is not run here."""
        if program in self.names:
            return self._own, None
        if not isinstance(code, bytes) or not self._publishers:
            who = "no bundle came with it" if self._publishers else "no publisher is trusted here"
            why = f"it is in none of the host's modules, and {who}"
            raise NoSuchProgram(program=program, host=self.host.name, why=why)
        key = sha256(code).digest()
        bundle = self._checked.get(key)
        if bundle is None or bundle.name != program:
            bundle = read_bundle(code, trusted=self._keys, name=program)
            if len(self._checked) >= CHECKED_MAX:
                self._checked.clear()
            self._checked[key] = bundle
        allowed = self._publishers[bundle.publisher]
        if allowed.programs and program not in allowed.programs:
            raise ProgramMayNot(publisher=bundle.publisher, what=f"run as {program!r}")
        rights = ProgramRights(bundle.publisher, allowed.helpers, allowed.strong, allowed.network)
        return rights, bundle

    # -- beginning and ending ------------------------------------------------------------------

    async def launch(self, id: str, program: str, state: bytes | None, code: bytes | None) -> None:
        """Let an agent of this host run a program; it is durable when this returns."""
        process = self._make(ProgramKept(id, program, state, code))
        try:
            born = await process.start()
            line = self.host.line(id)
            await line.launch(program, born.state, code)
            line.shut(f"agent {id}")
        except BaseException:
            process.kill("it could not begin")
            self.running.pop(id, None)
            raise
        process.begin()

    def begin(self, kept: ProgramKept, unread: tuple[Unread, ...] = ()) -> None:
        """Begin a program that has come, or that an earlier life of the host ran."""
        process = self._make(kept, unread)
        process.expect()
        held(asyncio.create_task(self._begin(process)), self._tasks)

    async def _begin(self, process: ProgramProcess) -> None:
        try:
            await process.start()
            process.begin()
        except NomospaceError as error:
            process.kill("it could not begin")
            self.running.pop(process.agent, None)
            facts = {"agent": process.agent, "program": process.program}
            self.report(Report("a program could not begin", facts, error))

    def _make(self, kept: ProgramKept, unread: tuple[Unread, ...] = ()) -> ProgramProcess:
        rights, bundle = self.find(kept.program, kept.code)
        if len(self.running) >= self._settings.processes:
            raise TooManyPrograms(
                what="the number of programs on this host",
                limit=self._settings.processes,
                advice="end some of them, or let its operator raise [programs] processes",
            )
        state = kept.state
        if state is not None and (not isinstance(state, bytes) or len(state) > STATE_BYTES_MAX):
            why = f"its state is no bytes, or more than {STATE_BYTES_MAX:,}"
            raise ProgramFailed(agent=kept.agent, program=kept.program, why=why)
        laws = [(key, law.name) for key, law in self.host.core.memberships_of(kept.agent)]
        birth = say.Birth(
            self.host.name,
            kept.agent,
            kept.program,
            state,
            kept.origin,
            kept.why,
            kept.code if isinstance(kept.code, bytes) else None,
            laws=tuple(laws),
            mail=tuple([(one.law, one.sender, encode(one.message)) for one in unread]),
            network=rights.network,
        )
        process = ProgramProcess(self, self._birth(birth, bundle), rights)
        self.running[kept.agent] = process
        self.ended.pop(kept.agent, None)
        return process

    def _birth(self, birth: say.Birth, bundle: OpenedBundle | None) -> say.Birth:
        """A birth with its code and its limits."""
        birth.memory = self._settings.memory_mb << 20
        if bundle is None:
            birth.modules = self._settings.modules
            birth.path = tuple([str(Path(one).resolve()) for one in self._settings.path])
        else:
            birth.source, birth.module = bundle.source, bundle.module
            birth.archive = bundle.archive
        return birth

    def left(self, agent: str) -> None:
        """An agent has left: its program here ends, or has a helper less."""
        for process in list(self.running.values()):
            process.part(agent)

    async def end(self, agent: str) -> bool:
        """End the program of an agent, for good; whether there was one."""
        process = self.running.get(agent)
        if process is None:
            return False
        await self._end_kept(agent)
        process.left = True
        process.end()
        await process.stop()
        return True

    async def _end_kept(self, agent: str) -> None:
        line = self.host.line(agent)
        await line.launch("", b"", None)
        line.shut(f"agent {agent}")

    # -- what a process asks (`program_process`) -----------------------------------------------

    def mail_waits(self, agent: str) -> bool:
        """Whether mail for an agent waits for the disk."""
        waiting = [one for _, effects in self.host._behind for one in effects]
        return any(isinstance(one, Mail) and one.agent == agent for one in waiting)

    async def launch_helper(
        self, maker: ProgramProcess, id: str, program: str, state: bytes | None
    ) -> None:
        """Let a helper run a program of its maker's code."""
        helpers = [one for one in self.running if _made_by(one, maker.agent)]
        if len(helpers) >= maker.rights.helpers:
            raise ProgramMayNot(publisher=maker.rights.publisher, what="have more helpers")
        await self.launch(id, program, state, maker.birth.code)

    def waited(self) -> float:
        """How long this step has waited for programs."""
        step, waited = self._step
        return waited if step == self.host.steps else 0.0

    def wait_more(self, seconds: float) -> None:
        """This step has waited for a program."""
        self._step = (self.host.steps, self.waited() + seconds)

    def over(self, process: ProgramProcess, why: str) -> None:
        """A process has ended; one that returned is over for good, another begins with the host."""
        if process is self._functions:
            self._functions = None
            self.report(Report("the functions of [programs] are gone", {"why": why}))
        if self.running.get(process.agent) is not process:
            return
        del self.running[process.agent]
        if not why:
            return
        if why == OVER:
            held(asyncio.create_task(self._end_kept(process.agent)), self._tasks)
            return
        while len(self.ended) >= ENDED_MAX:
            del self.ended[next(iter(self.ended))]
        self.ended[process.agent] = why
        facts = {"agent": process.agent, "program": process.program}
        error = ProgramFailed(agent=process.agent, program=process.program, why=why)
        self.report(Report("a program failed", facts, error))

    # -- dependence functions ------------------------------------------------------------------

    def _apply(self, name: str, *inputs: Term) -> Term:
        key = (name, encode(inputs))
        if key in self._values:
            return self._values[key]
        if self._functions is None:
            raise ProgramFailed(agent="this host", program=name, why="its process has ended")
        value = self._functions.apply(name, inputs)
        if len(self._values) >= VALUES_MAX:
            del self._values[next(iter(self._values))]
        self._values[key] = value
        return value


def _made_by(agent: str, maker: str) -> bool:
    return agent.startswith(f"{maker.rpartition('@')[0]}+")
