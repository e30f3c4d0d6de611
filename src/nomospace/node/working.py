"""Work on what strangers wrote, beside the event loop: processes with limits (`worker`).

Reading, checking and compiling a law takes as long as its author wants it to. So it is done in a
process that has so much memory and, for each job, so much processor time; whatever wants more is
ended, and who asked is told. Results come back in parts, and between two of them the loop does
other things. There are few such processes, none before the first job and none long after the last.
Who has work waiting gets a process in turns, one job at a time, so a neighbour with much to compile
delays nobody by more than the job that is under way.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from nomospace.calls.requests import OntologyText
from nomospace.errors import Bug, LimitReached, NomospaceError, Unavailable
from nomospace.host.speaking import own_functions, read_told
from nomospace.law import CompiledLaw
from nomospace.law.parts import Assembly, check_length
from nomospace.law.program import known, remember
from nomospace.node import worker
from nomospace.terms import Diagnostic, Source

WORKERS_MAX: Final = 2
"""How many processes work at once."""
WORK_BYTES: Final = 384 << 20
"""How much memory a worker may have: addresses, of which it uses a part."""
WORK_CPU_S: Final = 10
"""How much processor time a job may take."""
WORK_WALL_S: Final = 60.0
"""How long a job may take by the clock: on a machine that is busy, longer than it works."""
IDLE_S: Final = 60.0
"""A worker that had nothing to do for so long ends."""
JOBS_WAITING_MAX: Final = 64
"""How many jobs of one agent may wait."""


class WorkTooLarge(LimitReached):
    """A text needs more processor time or memory than a host spends on one."""

    code = "limits.work"
    words = (
        "{what} takes more than {limit:,} s of processor time, or more memory than "
        "a host has for it; {advice}"
    )


class TooManyJobs(LimitReached):
    """An agent has too many texts waiting to be read."""

    code = "limits.jobs"


class WorkerLost(Unavailable):
    """A host has no process to work on a text just now."""

    code = "node.worker-lost"
    words = "{what} was not done: {why}; try again later"
    what: str
    why: str


class LawFinding(NamedTuple):
    """One thing found in a text: what, line and column from 1, and the words with their caret."""

    diagnostic: Diagnostic
    place: tuple[int, int]
    words: str


class ExaminedLaw(NamedTuple):
    """A text as a law. It has a hash when it has no errors."""

    name: str
    hash: str
    rules: int
    errors: int
    warnings: int
    findings: tuple[LawFinding, ...]


class Workers:
    """The workers of one host.

    `who` says whose work it is: each has its turn.
    """

    def __init__(
        self,
        *,
        workers_max: int = WORKERS_MAX,
        memory: int = WORK_BYTES,
        cpu_s: int = WORK_CPU_S,
        wall_s: float = WORK_WALL_S,
    ) -> None:
        self._max = workers_max
        self._memory = memory
        self._cpu_s = cpu_s
        self._wall_s = wall_s
        self._idle: list[_Worker] = []
        self._busy: dict[str, _Worker | None] = {}
        """Whose job is under way, in which process once there is one."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._under_way: dict[Source, asyncio.Task[CompiledLaw]] = {}
        self._ending: asyncio.TimerHandle | None = None
        self._closed = False
        self.started = 0
        """How many processes were started."""
        self.jobs = 0
        """How many jobs were begun."""

    async def close(self) -> None:
        """End all processes; whoever waits is told."""
        self._closed = True
        if self._ending is not None:
            self._ending.cancel()
        for waiting in self._waiting.values():
            for future in waiting:
                if not future.done():
                    future.set_exception(WorkerLost(what="a job", why="the host ends"))
        workers = [*self._idle, *[one for one in self._busy.values() if one is not None]]
        self._idle = []
        for one in workers:
            await one.end()
        for task in list(self._under_way.values()):
            task.cancel()

    # -- jobs --------------------------------------------------------------------------------

    async def law(self, text: str, name: str, who: str) -> CompiledLaw:
        """A law, compiled; raises `Faulty`, and what speaks against so long a text."""
        source = Source(text, name)
        became = known(source)
        if isinstance(became, CompiledLaw):
            return became
        if became is not None:
            raise became.with_traceback(None)
        check_length(text)
        task = self._under_way.get(source)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._law(source, who))
            self._under_way[source] = task
            task.add_done_callback(lambda _: self._under_way.pop(source, None))
        return await asyncio.shield(task)

    async def _law(self, source: Source, who: str) -> CompiledLaw:
        assembly = Assembly(source)
        try:
            await self._do(who, "compiling this law", assembly.add, "law", source.text, source.name)
            # Pricing and linking a law at the limit takes some 50 ms: a thread shares them out.
            law = await asyncio.to_thread(assembly.made)
        except NomospaceError as error:
            if not isinstance(error, Unavailable | TooManyJobs):
                remember(source, error)
            raise
        remember(source, law)
        return law

    async def identity(self, text: str, name: str, who: str) -> tuple[str, str]:
        """The hash of a law and the name that it gives itself; raises as `law` does."""
        check_length(text)
        found: tuple[str, str] = await self._one(who, "checking this law", "identity", text, name)
        return found

    async def examined(self, text: str, name: str, most: int, who: str) -> ExaminedLaw:
        """What there is to say of a text as a law."""
        found = ExaminedLaw(
            *await self._one(who, "checking this law", "findings", text, name, most)
        )
        return found._replace(findings=tuple([LawFinding(*one) for one in found.findings]))

    async def layout(self, text: str, name: str, who: str) -> str:
        """A law in the one layout; raises `Faulty`."""
        return str(await self._one(who, "laying this law out", "layout", text, name))

    async def difference(self, old: tuple[str, str], new: tuple[str, str], who: str) -> str:
        """How two laws, each with its name, differ in words; raises `Faulty`."""
        what = "comparing these laws"
        return str(await self._one(who, what, "difference", *old, *new))

    async def ontology(self, text: OntologyText, who: str) -> None:
        """Have an ontology read; raises what is wrong with it.

        A worker finds out whether that can be done at all, within limits. What it makes does not
        travel, so it is made here once more, in a thread, which shares this process in turns.
        """
        what, given = "reading this ontology", (text.hash, text.name, text.text, own_functions())
        await self._do(who, what, _nothing, "ontology", *given)
        await asyncio.to_thread(read_told, text)

    async def ontology_file(self, text: str, name: str, who: str) -> OntologyText:
        """An ontology from a file, whose name tells its format; it may import nothing.

        A worker reads it as it is. In the form in which hosts have it, it has been read here too.
        """
        given = (text, name, own_functions())
        made = await self._one(who, "reading this ontology", "ontology_file", *given)
        found = OntologyText(*made)
        await asyncio.to_thread(read_told, found)
        return found

    async def _one(self, who: str, what: str, job: str, *given: object) -> Any:
        parts: list[bytes] = []
        await self._do(who, what, parts.append, job, *given)
        return pickle.loads(parts[0])

    # -- turns -------------------------------------------------------------------------------

    async def _do(
        self, who: str, what: str, each: Callable[[bytes], None], job: str, *given: object
    ) -> None:
        """Have a job done when it is its turn; `each` gets the parts of its result."""
        await self._turn(who)
        try:
            worker = self._idle.pop() if self._idle else await self._start(what)
            self._busy[who] = worker
            self.jobs += 1
            fit = False
            try:
                async with asyncio.timeout(self._wall_s):
                    fit = await worker.do((job, *given), each)
            except TimeoutError:
                raise WorkerLost(
                    what=what, why=f"it was not ready after {self._wall_s:g} s"
                ) from None
            except _Over:
                advice = "make it smaller, with fewer cases in one rule"
                raise WorkTooLarge(what=what, limit=self._cpu_s, advice=advice) from None
            except NomospaceError:
                fit = True
                raise
            finally:
                if fit and not self._closed:
                    self._idle.append(worker)
                else:
                    await worker.end()
        finally:
            self._next(who)

    async def _turn(self, who: str) -> None:
        if self._closed:
            raise WorkerLost(what="a job", why="the host ends")
        if len(self._busy) < self._max and who not in self._busy:
            self._busy[who] = None
            return
        waiting = self._waiting.setdefault(who, deque())
        if len(waiting) >= JOBS_WAITING_MAX:
            raise TooManyJobs(
                what="the number of texts that wait to be read",
                limit=JOBS_WAITING_MAX,
                advice="wait for answers before you send more",
            )
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(future)
        await future

    def _next(self, who: str) -> None:
        """A job is over: the next one is of somebody else, if anybody else waits."""
        del self._busy[who]
        for other in list(self._waiting):
            if len(self._busy) >= self._max:
                return
            if other in self._busy:
                continue
            waiting = self._waiting.pop(other)
            future = waiting.popleft()
            if waiting:
                self._waiting[other] = waiting  # at the end of the row
            if not future.done():
                self._busy[other] = None
                future.set_result(None)
        if not self._busy and self._ending is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(IDLE_S, self._end_idle, loop)

    def _end_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ending = None
        if self._busy:
            return
        idle, self._idle = self._idle, []
        for one in idle:
            one.ending = loop.create_task(one.end())

    async def _start(self, what: str) -> _Worker:
        home = str(Path(__file__).parents[2])
        paths = [home, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # the folder of the script is no place to import from
                str(worker.__file__),
                str(self._memory),
                str(self._cpu_s),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([one for one in paths if one])},
            )
            nice = os.getpriority(os.PRIO_PROCESS, 0) + worker.NICE
            os.setpriority(os.PRIO_PROCESS, process.pid, nice)  # its imports take longest
        except OSError as error:
            raise WorkerLost(what=what, why=f"no process could be started ({error})") from None
        self.started += 1
        return _Worker(process)


def _nothing(part: bytes) -> None:
    raise AssertionError(f"{len(part)} bytes that nobody asked for")


class _Over(Exception):
    """A worker went past its limits, or was ended by the system for it."""


class _Worker:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked = False
        """Whether it has a job, whose asker reads what it says."""
        self.ending: asyncio.Task[None] | None = None

    async def do(self, job: tuple[object, ...], each: Callable[[bytes], None]) -> bool:
        """Have a job done; whether another one may follow. Raises `_Over` and the job's error."""
        jobs, results = self._process.stdin, self._process.stdout
        assert jobs is not None
        assert results is not None
        body = pickle.dumps(job, pickle.HIGHEST_PROTOCOL)
        self._asked = True
        try:
            jobs.write(len(body).to_bytes(4) + body)
            await jobs.drain()
            while True:
                head = await results.readexactly(worker.LENGTH.size)
                length, kind = worker.LENGTH.unpack(head)
                data = await results.readexactly(length)
                if kind == worker.PART:
                    each(data)
                    await asyncio.sleep(0)  # what has come may be all there, and others wait
                elif kind == worker.END:
                    return True
                elif kind == worker.ERROR:
                    error: NomospaceError = pickle.loads(data)
                    raise error
                elif kind == worker.OVER:
                    raise _Over
                else:
                    raise Bug(story=(f"a worker's job {job[0]!r}", data.decode()))
        except (asyncio.IncompleteReadError, ConnectionError):
            raise _Over from None
        finally:
            self._asked = False

    async def end(self) -> None:
        """End the process, at once."""
        process = self._process
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        if self._asked:  # its asker reads to the end
            await process.wait()
        else:
            await process.communicate()
