"""Runs of the pipeline: they go on when nobody looks, and are kept when the host ends.

The latest `RUNS_MAX` are kept; one that still runs is not let go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, time_ns
from typing import Any, Final

import msgspec

from nomospace.console.stage import Pipeline, Progress
from nomospace.errors import NomospaceError

RUNS_MAX: Final = 20
"""How many runs are kept."""
TOLD_FROM: Final = 0.15
"""From which share on it is told what is left."""


@dataclass(eq=False)
class JobRun:
    """One run: what it does, how far it is, and how long it took."""

    number: int
    kind: str
    about: str
    command: str
    began_us: int
    progress: Progress = field(default_factory=lambda: Progress(-1.0, "starting"))
    cancelled: bool = False
    changes: int = 0
    """Grows with everything new, so that pages know when to look."""
    _began: float = field(default_factory=monotonic)
    _ended: float | None = None
    task: asyncio.Task[None] | None = None

    @property
    def going(self) -> bool:
        """Whether it still runs."""
        return self._ended is None

    @property
    def seconds(self) -> float:
        """How long it runs, or ran."""
        return (monotonic() if self._ended is None else self._ended) - self._began

    @property
    def left_s(self) -> float | None:
        """How long it may take still, as its share tells; `None` when nobody can say."""
        done = self.progress.done
        if not self.going or not TOLD_FROM <= done < 1:
            return None
        return self.seconds * (1 - done) / done

    @property
    def state(self) -> str:
        """One of `runs`, `done`, `failed` and `cancelled`."""
        if self.cancelled:
            return "cancelled"
        if self.going:
            return "runs"
        return "failed" if self.progress.failed else "done"

    def hear(self, progress: Progress) -> None:
        """It has come further."""
        self.progress = progress
        self.changes += 1

    def end(self) -> None:
        """It has ended, one way or the other."""
        self._ended = monotonic()
        self.changes += 1

    def packed(self) -> bytes:
        """A run that has ended, to be kept."""
        kept = {name: getattr(self, name) for name in _KeptRun.__struct_fields__}
        return msgspec.json.encode(kept)


class Runs:
    """The runs of one console, the newest last."""

    def __init__(self) -> None:
        self.items: dict[int, JobRun] = {}
        self._count = 0
        self._asked = False

    def recall(self, pipeline: Pipeline) -> None:
        """Have the runs that were kept before this start; what cannot be read is left out."""
        if self._asked:
            return
        self._asked = True
        for data in pipeline.kept():
            with suppress(msgspec.MsgspecError):
                was = msgspec.structs.asdict(msgspec.json.decode(data, type=_KeptRun))
                ended = {"_began": 0.0, "_ended": was.pop("seconds"), "changes": 1}
                self._count += 1
                self.items[self._count] = JobRun(self._count, **was, **ended)
        self._make_room()

    def start(
        self, pipeline: Pipeline, kind: str, options: Mapping[str, str], about: str
    ) -> JobRun:
        """Begin a run; raises what the pipeline says of options that cannot be."""
        self._make_room()
        command = pipeline.command(kind, options)
        self._count += 1
        run = JobRun(self._count, kind, about, command, time_ns() // 1_000)
        self.items[run.number] = run
        run.task = asyncio.get_running_loop().create_task(
            _go(run, pipeline, kind, options), name=f"run {run.number}"
        )
        return run

    def cancel(self, number: int) -> None:
        """End a run; harmless when it has ended."""
        run = self.items.get(number)
        if run is not None and run.going and run.task is not None:
            run.cancelled = True
            run.task.cancel()

    def _make_room(self) -> None:
        ended = [number for number, run in self.items.items() if not run.going]
        while len(self.items) >= RUNS_MAX and ended:
            del self.items[ended.pop(0)]


class _KeptRun(msgspec.Struct, frozen=True):
    kind: str
    about: str
    command: str
    began_us: int
    seconds: float
    cancelled: bool
    progress: Progress


async def _go(run: JobRun, pipeline: Pipeline, kind: str, options: Mapping[str, str]) -> None:
    steps: Any = pipeline.run(kind, options)
    try:
        async for progress in steps:
            run.hear(progress)
    except NomospaceError as error:
        run.hear(Progress(1.0, "it failed", ended=True, failed=str(error)))
    finally:
        with suppress(Exception):
            await steps.aclose()
        run.end()
        with suppress(OSError):
            await asyncio.to_thread(pipeline.keep, run.packed())
