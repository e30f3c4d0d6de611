"""The pipeline of a console (`console.stage.Pipeline`): jobs of the command line as children.

A job reads the segments of hosts and, since those are sealed only now and then, a copy of what they
have recorded since. Each run has a folder of its own in one for all, which goes with the
console, or stays where the host has a folder for it; the oldest make room.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Final

import msgspec

from nomospace.cli.console.bench import chosen
from nomospace.cli.console.children import NAMES, EndedChild, SealTails, have_done, run_child
from nomospace.cli.console.tails import JOURNAL, copy_journals
from nomospace.console.stage import JobEngine, Progress
from nomospace.errors import CallerError, NomospaceError
from nomospace.store.private import make_folder

if TYPE_CHECKING:
    from nomospace.node.serve import Server

KINDS: Final = ("audit", "replay", "match")
JOB_S: Final = 3_600.0
"""How long a job may take."""
RUNS_MAX: Final = 3
"""How many jobs run at a time."""
FOLDERS_MAX: Final = 20
"""How many runs keep their folders."""
ANSWERS_MAX: Final = 1_000
"""How many answers of a match are asked for."""
COPIED, LAID = 0.1, 0.2
"""How far a job is when the journal is copied, and when the copy is laid out."""
WORDS: Final = {"audit": 12, "replay": 4, "match": 3}
"""How many lines a job says on its way: how far it is, as near as that can be told."""
KEPT: Final = "kept"
REPORT_BYTES_MAX: Final = 8_000_000
LOCAL: Final = {"audit": ("duckdb",), "replay": ("process", "duckdb"), "match": ("duckdb",)}
"""The engines that need no Spark."""
SPARK_SETUP: Final = "nomospace pipeline setup"


class NotAJob(CallerError):
    """What was asked for is no job, or lacks something."""

    code = "console.not-a-job"
    words = "{why}"
    why: str


class JobPipeline:
    """Runs jobs over the journals of the hosts of this process."""

    def __init__(self, servers: Mapping[str, Server], folder: Path | None = None) -> None:
        self._servers = servers
        self._where = folder
        self._root: Path | None = None
        self._count = 0
        self._running = 0
        self._closed = False

    # -- what there is -------------------------------------------------------------------------

    def kinds(self) -> Sequence[str]:
        """What can be run here."""
        return KINDS

    def hosts(self) -> Sequence[str]:
        """Whose journals there are."""
        return list(self._servers)

    def engines(self, kind: str) -> Sequence[JobEngine]:
        """Where a job of a kind may run: those that need nothing first."""
        from nomospace.cli.spark import is_installed

        here = [JobEngine(name, True) for name in LOCAL[_known(kind)]]
        words = "" if is_installed() else f"Spark is not installed; {SPARK_SETUP} does it"
        return [*here, JobEngine("spark", not words, words)]

    def command(self, kind: str, options: Mapping[str, str]) -> str:
        """The command line that does what the next run will."""
        chosen(self._servers, options.get("host", ""))
        return _line(kind, options, self._folder() / f"run-{self._count + 1}")

    async def prepare(self, kind: str, options: Mapping[str, str]) -> str:
        """Copy what the command line reads, so that it works when it is pasted; gives it."""
        line = self.command(kind, options)
        folder = self._begin()
        async for _ in self._copied(options, folder):
            pass
        return line

    # -- what stays ----------------------------------------------------------------------------

    def keep(self, run: bytes) -> None:
        """Keep a run that has ended, where this host keeps anything."""
        if self._where is None or self._closed:
            return
        place = self._folder() / KEPT
        place.mkdir(exist_ok=True)
        files = sorted(place.iterdir())
        for old in files[: max(0, len(files) + 1 - FOLDERS_MAX)]:
            old.unlink()
        (place / f"{time_ns()}.json").write_bytes(run)

    def kept(self) -> Sequence[bytes]:
        """The runs that were kept, the oldest first."""
        if self._where is None:
            return ()
        place = self._folder() / KEPT
        files = sorted(place.iterdir())[-FOLDERS_MAX:] if place.is_dir() else []
        return [one.read_bytes() for one in files]

    # -- running -------------------------------------------------------------------------------

    async def run(self, kind: str, options: Mapping[str, str]) -> AsyncIterator[Progress]:
        """Do it; closing the iteration ends the job."""
        _known(kind)
        if self._running >= RUNS_MAX:
            raise NotAJob(why=f"{RUNS_MAX} jobs run already; wait for one, or cancel it")
        self._running += 1
        try:
            async with aclosing(self._steps(kind, options, self._begin())) as steps:
                async for step in steps:
                    yield step
        finally:
            self._running -= 1
            if self._closed:  # its child has written until now
                self.close()

    def close(self) -> None:
        """Remove the folders of all runs, but where they are kept.

        One that still runs removes them again when it ends.
        """
        self._closed = True
        if self._root is not None and self._where is None:
            shutil.rmtree(self._root, ignore_errors=True)

    def _folder(self) -> Path:
        if self._root is None:
            if self._where is None:
                self._root = Path(tempfile.mkdtemp(prefix="nomospace-console-"))
            else:
                self._root = self._where
                make_folder(self._root)
                numbers = [one.name.partition("-")[2] for one in self._root.glob("run-*")]
                self._count = max([0, *[int(one) for one in numbers if one.isdecimal()]])
        return self._root

    def _begin(self) -> Path:
        root = self._folder()
        self._count += 1
        folder = root / f"run-{self._count}"
        folder.mkdir()
        if self._count > FOLDERS_MAX:
            shutil.rmtree(root / f"run-{self._count - FOLDERS_MAX}", ignore_errors=True)
        return folder

    async def _steps(
        self, kind: str, options: Mapping[str, str], folder: Path
    ) -> AsyncGenerator[Progress, None]:
        async for one in self._copied(options, folder):
            yield one
        arguments = _arguments(kind, options, folder, people=False)
        async with aclosing(_watched(arguments, kind)) as told:
            async for said in told:
                yield said if isinstance(said, Progress) else await _found(kind, said, folder)

    async def _copied(
        self, options: Mapping[str, str], folder: Path
    ) -> AsyncGenerator[Progress, None]:
        """Have what a job reads in its folder."""
        _write_inputs(options, folder)
        async for share in copy_journals(chosen(self._servers, options.get("host", "")), folder):
            yield Progress(share * COPIED, "copying what was recorded")
        yield Progress(COPIED, "laying the copy out")
        await have_done(SealTails(str(folder)), "sealing", JOB_S)


async def _watched(
    arguments: Sequence[str], kind: str
) -> AsyncGenerator[Progress | EndedChild, None]:
    """A job's own words as they come, and then its end. Closing it ends the job."""
    words: asyncio.Queue[str] = asyncio.Queue()
    job = asyncio.create_task(
        run_child(
            "nomospace.cli", arguments, what=f"the {kind}", seconds=JOB_S, say=words.put_nowait
        )
    )
    try:
        heard, share = 0, LAID
        yield Progress(share, "starting")
        while not job.done():
            word = asyncio.create_task(words.get())
            await asyncio.wait([job, word], return_when=asyncio.FIRST_COMPLETED)
            if word.done():
                heard += 1
                share = LAID + (1 - LAID) * min(0.95, heard / (WORDS[kind] + 1))
                yield Progress(share, word.result())
            word.cancel()
        yield job.result()
    finally:
        job.cancel()
        with suppress(asyncio.CancelledError, NomospaceError):
            await job


async def _found(kind: str, ended: EndedChild, folder: Path) -> Progress:
    """What a job has printed and written. A replay or match that says no has found something."""
    if ended.code not in (0, 1) or not ended.out.strip():
        if ended.code == 0 and kind == "match":
            return Progress(1.0, "done", ended=True, answer={"answers": []})
        raise ended.failure()
    if kind == "match":
        answers = [msgspec.json.decode(one) for one in ended.out.splitlines()[:ANSWERS_MAX]]
        return Progress(1.0, "done", ended=True, answer={"answers": answers})
    answer: dict[str, object] = await asyncio.to_thread(msgspec.json.decode, ended.out)
    page = folder / "report" / "report.html"
    report = ""
    if page.is_file() and page.stat().st_size <= REPORT_BYTES_MAX:
        report = await asyncio.to_thread(page.read_text, "utf-8")
    return Progress(1.0, "done", ended=True, report=report, answer=answer)


def _line(kind: str, options: Mapping[str, str], folder: Path) -> str:
    """A command line that works in any folder of this machine."""
    arguments = _arguments(kind, options, folder, people=True)
    return shlex.join([sys.executable, "-m", "nomospace.cli", *arguments])


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise NotAJob(why=f"there is no job {kind[:60]!r}; jobs are {', '.join(KINDS)}")
    return kind


def _write_inputs(options: Mapping[str, str], folder: Path) -> None:
    """What was typed, as files that a command can read."""
    if options.get("law"):
        (folder / NAMES[options.get("language", "law")]).write_text(options["law"], "utf-8")
    if options.get("ontology"):
        name = f"ontology.{options.get('format', 'yaml')}"
        (folder / name).write_text(options["ontology"], "utf-8")


def _arguments(
    kind: str,
    options: Mapping[str, str],
    folder: Path,
    *,
    people: bool,
) -> list[str]:
    """A command's arguments; `people` read no JSON."""
    engine = options.get("engine") or LOCAL[_known(kind)][0]
    found = ["pipeline", kind, str(folder / JOURNAL), "--engine", engine]
    if kind == "audit":
        found += ["--out", str(folder / "report")]
    if options.get("community"):
        found += ["--community", options["community"]]
    if kind == "replay" and options.get("law"):
        found += ["--law", str(folder / NAMES[options.get("language", "law")])]
    if kind == "match":
        if not options.get("template") or not options.get("ontology"):
            raise NotAJob(why="a match needs an ontology and a template; write them first")
        file = folder / f"ontology.{options.get('format', 'yaml')}"
        found += ["--ontology", str(file), "--template", options["template"]]
        found += ["--limit", str(ANSWERS_MAX)]
        if options.get("space"):
            found += ["--space", options["space"]]
    elif not people:
        found.append("--json")
    return found
