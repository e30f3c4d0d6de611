"""`nomospace bench calls`: how many calls of Python functions of ours one warm operation costs.

Times on a shared machine are noisy; calls can be counted. Both ends run in this process, one
operation after the other, and every call of a function of `nomospace` counts, in whatever thread;
so does each time that a generator or a coroutine goes on. What laws are compiled to counts in the
functions that it calls. With `--full` the notes say which functions were called most.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final, Self

from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.report import Goal, at_most, information

if TYPE_CHECKING:
    from nomospace.client import Agent

WARM: Final = 300
"""Operations before the first that is counted: what is learnt once is known then."""
COUNTED_S: Final = 300.0
IDLE_S: Final = 2.0
"""So long it is counted what hosts do by themselves: heartbeats are no part of an operation."""
MEMORY: Final = Path("/dev/shm")
REMOTE: Final = "over TCP with SQLite"
LOCAL: Final = "by agents in their hosts' process, with stores in memory"
SHOWN: Final = 60
"""How many functions the notes name."""

Op = Callable[[int], Awaitable[Any]]


class CallCount:
    """Counts the calls of functions whose code is in a folder, in this thread and new ones.

    >>> import nomospace.terms.text as text
    >>> count = CallCount(Path(text.__file__).parent)
    >>> with count:
    ...     _ = text.pattern("f(X)")
    >>> count.calls.total() > 1
    True
    """

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}/"
        self._ours: dict[CodeType, bool] = {}
        self.calls: Counter[CodeType] = Counter()

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            ours = self._ours.get(code)
            if ours is None:
                ours = self._ours[code] = code.co_filename.startswith(self._folder)
            if ours:
                self.calls[code] += 1

    def most(self, times: int) -> Iterator[str]:
        """The functions that were called most, with how often in one of so many operations."""
        start = len(self._folder)
        for code, calls in self.calls.copy().most_common(SHOWN):  # threads count on
            yield f"{calls / times:7.2f}  {code.co_filename[start:]} {code.co_qualname}"


@bench("calls", "calls of our own functions: a plain take, a governed take, a governed message")
def calls(run: BenchRun) -> Iterator[BenchRow]:
    """All rows of the bench."""
    plain, governed = "a plain take", "a governed take on one host"
    message = "a governed message between two hosts"
    for what, where, goal, measured in (
        (plain, REMOTE, _limit(90), _plain_take),
        (governed, LOCAL, _limit(220), _governed_take),
        (message, LOCAL, _limit(250), _governed_message),
        (governed, REMOTE, information(), _governed_take),
        (message, REMOTE, information(), _governed_message),
    ):
        run.say(f"{what}, {where}")
        with _folder() as folder:
            made = _run(measured(Path(folder), where, run))
        yield BenchRow(
            what=f"{what}, {where}",
            unit="calls",
            ours=made,
            goal=goal,
            how="both ends in one process; one at a time, when all is warm",
        )


async def _plain_take(folder: Path, where: str, run: BenchRun) -> float:
    """An agent takes by content from a shared space without a law."""
    from nomospace import ANY
    from nomospace.client.space import ROWS_MAX

    async with CountedHosts(folder, where, "ward") as site:
        jobs = await (await site.agent("worker", "ward")).space("jobs", shared=True)
        await jobs.out_many([("job", number, "ward-3") for number in range(ROWS_MAX)])
        return await _counted(site.count, run, lambda number: jobs.take("job", number, ANY))


async def _governed_take(folder: Path, where: str, run: BenchRun) -> float:
    """An agent takes a letter that another has written, under law MP."""
    from nomospace import ANY, t
    from nomospace.law import load
    from nomospace.laws import text

    law = load(text("mp"))
    async with CountedHosts(folder, where, "ward") as site:
        spaces = []
        for name in ("ann", "bob"):
            agent = await site.agent(name, "ward")
            await agent.adopt(law)
            spaces.append(await agent.space("post", shared=True, law=law))
        mine, theirs = spaces
        letter = (t["from"]("bob@ward"), t.to("ann@ward"))
        for number in range(2 * (WARM + _times(run))):  # what is nearly empty is another matter
            await theirs.out(t.msg(number), *letter)
        wanted = (t.msg(ANY), *letter)
        return await _counted(site.count, run, lambda _: mine.take(*wanted))


async def _governed_message(folder: Path, where: str, run: BenchRun) -> float:
    """An agent of one host sends to an agent of the other, under a law that counts."""
    from nomospace import t
    from nomospace.law import load
    from nomospace_lab.bench.suites.host_messages import LAW

    law = load(LAW)
    async with CountedHosts(folder, where, "a", "b") as site:
        sender = await (await site.agent("ann", "a")).adopt(law)
        receiver = await (await site.agent("bob", "b")).adopt(law)
        inbox = receiver.inbox()
        messages = [t.say(number) for number in range(WARM + _times(run))]

        async def message(number: int) -> None:
            await sender.send(messages[number], to="bob@b")
            await inbox.__anext__()

        return await _counted(site.count, run, message)


class CountedHosts:
    """Hosts of this process, agents of them, and what counts calls.

    Agents that are remote speak to their hosts over TCP, and the hosts have their stores in a
    folder. Those that are local are in the processes of their hosts, which keep nothing.
    """

    def __init__(self, folder: Path, where: str, *names: str) -> None:
        import nomospace
        from nomospace_lab.testing.together import Together

        self._remote = where == REMOTE
        self._hosts = Together(names, folder if self._remote else None)
        self._parts = AsyncExitStack()
        self.count = CallCount(Path(nomospace.__file__).parent)

    async def __aenter__(self) -> Self:
        # The threads that keepers write in are counted only if they begin while it counts.
        self._parts.enter_context(self.count)
        await self._parts.enter_async_context(self._hosts)
        await self._hosts.wait_engaged()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._parts.aclose()

    async def agent(self, name: str, host: str) -> Agent:
        """An agent of a host, over TCP if it is remote."""
        from nomospace.client.remote import connect

        if not self._remote:
            return await self._hosts.host(host).agent(name)
        url = f"nomos+plain://{self._hosts.servers[host].listener.address}"
        return await (await self._parts.enter_async_context(connect(url))).agent(name)


async def _counted(count: CallCount, run: BenchRun, op: Op) -> float:
    """Calls of one operation, when it is warm."""
    times = _times(run)
    async with asyncio.timeout(COUNTED_S):
        for number in range(WARM):
            await op(number)
        count.calls.clear()
        began = perf_counter()
        for number in range(WARM, WARM + times):
            await op(number)
        took, made = perf_counter() - began, count.calls.total()
        if run.full:
            run.notes.append("calls of one operation, by function:")
            run.notes.extend(count.most(times))
        count.calls.clear()
        await asyncio.sleep(IDLE_S)
        alone = count.calls.total() / IDLE_S
    return (made - took * alone) / times


def _times(run: BenchRun) -> int:
    return 200 if run.quick else 1_000


def _limit(calls: int) -> Goal:
    return at_most(calls, "calls")


def _folder() -> TemporaryDirectory[str]:
    """A folder in memory, where there is one: on a slow disk more heartbeats would be counted."""
    return TemporaryDirectory(prefix="nomospace-bench-", dir=MEMORY if MEMORY.is_dir() else None)


def _run(program: Coroutine[Any, Any, float]) -> float:
    import uvloop

    return uvloop.run(program)
