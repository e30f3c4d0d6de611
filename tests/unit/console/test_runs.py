"""Runs of the pipeline: they go on by themselves, fail in words, are cancelled, and make room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from nomospace.console.runs import RUNS_MAX, JobRun, Runs
from nomospace.console.stage import JobEngine, Progress
from nomospace.errors import CallerError


class Made:
    """A pipeline that does as its options say."""

    def __init__(self) -> None:
        self.closed = 0
        self.files: list[bytes] = []

    def keep(self, run: bytes) -> None:
        self.files.append(run)

    def kept(self) -> Sequence[bytes]:
        return [b"no run", *self.files]

    async def prepare(self, kind: str, options: Mapping[str, str]) -> str:
        return self.command(kind, options)

    def kinds(self) -> Sequence[str]:
        return ("audit",)

    def engines(self, kind: str) -> Sequence[JobEngine]:
        return (JobEngine("here", True),)

    def hosts(self) -> Sequence[str]:
        return ("ward",)

    def command(self, kind: str, options: Mapping[str, str]) -> str:
        return f"nomospace pipeline {kind}"

    async def run(self, kind: str, options: Mapping[str, str]) -> AsyncIterator[Progress]:
        try:
            yield Progress(0.5, "half")
            if options.get("ends") == "badly":
                raise CallerError
            if options.get("ends") == "never":
                await asyncio.sleep(60)
            yield Progress(1.0, "done", ended=True, answer={"changed": 3})
        finally:
            self.closed += 1


async def ended(run: JobRun) -> None:
    assert run.task is not None
    async with asyncio.timeout(120):
        await asyncio.wait([run.task])


def test_a_run_goes_on_by_itself_and_keeps_what_it_found() -> None:
    async def work() -> None:
        runs = Runs()
        run = runs.start(Made(), "audit", {}, "ward")
        assert (run.state, run.command, run.going) == ("runs", "nomospace pipeline audit", True)
        await ended(run)
        assert (run.state, run.progress.answer, run.going) == ("done", {"changed": 3}, False)
        took = run.seconds
        await asyncio.sleep(0.01)
        assert run.seconds == took

    asyncio.run(work())


def test_a_run_that_fails_says_why() -> None:
    async def work() -> None:
        run = Runs().start(Made(), "audit", {"ends": "badly"}, "ward")
        await ended(run)
        assert run.state == "failed"
        assert run.progress.failed == str(CallerError())

    asyncio.run(work())


def test_cancelling_ends_the_work_and_is_harmless_after() -> None:
    async def work() -> None:
        runs, made = Runs(), Made()
        run = runs.start(made, "audit", {"ends": "never"}, "ward")
        while run.progress.words != "half":
            await asyncio.sleep(0)
        runs.cancel(run.number)
        await ended(run)
        assert (run.state, made.closed) == ("cancelled", 1)
        before = run.changes
        runs.cancel(run.number)
        runs.cancel(999)
        assert run.changes == before

    asyncio.run(work())


def test_the_oldest_that_have_ended_make_room() -> None:
    async def work() -> None:
        runs = Runs()
        first = runs.start(Made(), "audit", {"ends": "never"}, "ward")
        for _ in range(RUNS_MAX + 2):
            await ended(runs.start(Made(), "audit", {}, "ward"))
        assert len(runs.items) == RUNS_MAX
        assert first.number in runs.items, "it still runs"
        assert list(runs.items)[1] == RUNS_MAX + 3 - (RUNS_MAX - 2), "the oldest of the others went"
        runs.cancel(first.number)
        await ended(first)

    asyncio.run(work())


def test_runs_are_there_again_after_a_restart() -> None:
    async def work() -> None:
        made = Made()
        before = Runs()
        for ends in ("well", "badly"):
            await ended(before.start(made, "audit", {"ends": ends}, f"ward, {ends}"))
        after = Runs()
        after.recall(made)
        after.recall(made)  # once
        shown = [(one.about, one.state, one.progress.answer) for one in after.items.values()]
        assert shown == [("ward, well", "done", {"changed": 3}), ("ward, badly", "failed", {})]
        assert [one.seconds for one in after.items.values()] == [
            *[one.seconds for one in before.items.values()]
        ]
        assert after.start(made, "audit", {}, "ward").number == 3

    asyncio.run(work())


def test_what_is_left_is_told_by_the_share() -> None:
    def left(share: float) -> float | None:
        run = JobRun(1, "audit", "ward", "", 0)
        run.hear(Progress(share, "on its way"))
        return run.left_s

    assert (left(-1.0), left(1.0)) == (None, None)
    assert left(0.5) is not None
