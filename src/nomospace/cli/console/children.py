"""Child processes of a console: work that a host must not wait for, nor fall over.

A child has a group of processes of its own, so that what it starts (Spark starts a machine of
Java's) ends with it. It is ended by its id, politely first. What it prints is read to a limit, and
what it says on stderr is told line by line.

What a console has done by child processes: runs of events, comparisons of laws, sealing.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from nomospace.console.stage import LawDraft
from nomospace.errors import CallerError, Unavailable
from nomospace.law import CompiledLaw, load

OUT_BYTES_MAX: Final = 32_000_000
"""How much a child may print."""
LINE_BYTES_MAX: Final = 64_000
"""The longest line that it may say; a longer one is told in parts."""
LAST_LINES: Final = 12
"""How many of its last words are kept, for when it fails."""
POLITE_S: Final = 5.0
"""How long it may take to end when it is asked to."""


class ChildFailed(CallerError):
    """A child ended without an answer; its own last words say why."""

    code = "console.child-failed"
    words = "{said}"
    said: str


class ChildTooLong(Unavailable):
    """A child took longer than it may."""

    code = "console.child-too-long"
    words = "{what} took longer than {seconds:g} s and was ended; give it less to do"
    what: str
    seconds: float


class EndedChild(msgspec.Struct, frozen=True):
    """A child that has ended: its exit code, what it printed, and its last words."""

    code: int
    out: bytes
    last: tuple[str, ...]

    def failure(self) -> ChildFailed:
        """Its last words as an error."""
        words = "\n".join(self.last) or f"it ended with exit code {self.code} and said nothing"
        return ChildFailed(said=words)


async def run_child(
    module: str,
    arguments: Sequence[str],
    *,
    what: str,
    seconds: float,
    given: bytes = b"",
    say: Callable[[str], None] = lambda words: None,
) -> EndedChild:
    """Run a module of this Python to its end; `given` is its input. Cancelling ends it.

    Raises `ChildTooLong`, and `ChildFailed` when it prints too much.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LINE_BYTES_MAX,
        start_new_session=True,
    )
    last: deque[str] = deque(maxlen=LAST_LINES)
    talk = (_printed(process, what), _give(process, given), _said(process, last, say))
    tasks = [asyncio.ensure_future(one) for one in talk]
    try:
        async with asyncio.timeout(seconds):
            out, *_ = await asyncio.gather(*tasks)
            return EndedChild(await process.wait(), out or b"", tuple(last))
    except TimeoutError:
        raise ChildTooLong(what=what, seconds=seconds) from None
    finally:
        await asyncio.shield(_end(process, tasks))


async def _give(process: asyncio.subprocess.Process, given: bytes) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):  # it has ended before it read all; its exit code tells why
        process.stdin.write(given)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _printed(process: asyncio.subprocess.Process, what: str) -> bytes:
    assert process.stdout is not None
    parts: list[bytes] = []
    size = 0
    while part := await process.stdout.read(LINE_BYTES_MAX):
        size += len(part)
        if size > OUT_BYTES_MAX:
            words = f"{what} found more than {OUT_BYTES_MAX:,} bytes; ask for less"
            raise ChildFailed(said=words)
        parts.append(part)
    return b"".join(parts)


async def _said(
    process: asyncio.subprocess.Process, last: deque[str], say: Callable[[str], None]
) -> None:
    assert process.stderr is not None
    while True:
        try:
            line = await process.stderr.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            line = end.partial
        except asyncio.LimitOverrunError as over:
            line = await process.stderr.readexactly(over.consumed)
        if not line:
            return
        words = line.decode("utf-8", "replace").rstrip()
        if words:
            last.append(words)
            say(words)


async def _end(
    process: asyncio.subprocess.Process, tasks: Sequence[asyncio.Future[bytes | None]]
) -> None:
    """End a child and all that it started."""
    for one in tasks:  # those beside one that failed still read
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for way in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):  # the group is empty: all have ended
            os.killpg(process.pid, way)
        with suppress(TimeoutError):
            async with asyncio.timeout(POLITE_S):
                # It has ended for asyncio when its pipes have: what is left in them is read.
                await asyncio.gather(process.wait(), _empty(process.stdout), _empty(process.stderr))
                return


async def _empty(pipe: asyncio.StreamReader | None) -> None:
    while pipe is not None and await pipe.read(LINE_BYTES_MAX):
        pass


NAMES: Final = {"law": "draft.law", "python": "draft.law.py"}
"""What a draft is called in each language: the name tells the loader which it is."""


class RunEvents(msgspec.Struct, frozen=True, tag="run"):
    """Rule on events in virtual time."""

    law: LawDraft
    events: str
    until: float | None = None
    isolated: bool = False


class CompareLaws(msgspec.Struct, frozen=True, tag="compare"):
    """Tell what hosts recorded to two laws; `None` is the one that was in force.

    `folder` is what `tails.copy_journals` made.
    """

    folder: str
    community: str
    before: LawDraft | None
    after: LawDraft


class SealTails(msgspec.Struct, frozen=True, tag="seal"):
    """Make segments of what `tails.copy_journals` put into a folder."""

    folder: str


Work: TypeAlias = RunEvents | CompareLaws | SealTails


async def have_done(work: Work, what: str, seconds: float) -> bytes:
    """Have a child do it; its answer. Raises what `run_child` does, and its last words."""
    given = msgspec.json.encode(work)
    ended = await run_child("nomospace.cli.console", (), what=what, seconds=seconds, given=given)
    if ended.code:
        raise ended.failure()
    return ended.out


def do(given: bytes) -> bytes:
    """Do the work that a parent gave; the answer as JSON.

    >>> law = LawDraft("law(l). R1. sent(X, M, Y) :- do(forward).")
    >>> line = '{"at": 1, "home": "a@w", "event": "sent", "message": "hi", "to": "b@w"}'
    >>> work = msgspec.json.encode(RunEvents(law, line))
    >>> [one["rule"] for one in msgspec.json.decode(do(work))["steps"]]
    ['R1', None]
    """
    work: Work = msgspec.json.decode(given, type=Work)
    return msgspec.json.encode(_done(work))


def _law(draft: LawDraft) -> CompiledLaw:
    return load(draft.text, NAMES[draft.language])


def _done(work: Work) -> object:
    if isinstance(work, RunEvents):
        return _run(work)
    from nomospace.cli.console.tails import JOURNAL, seal_tails

    if isinstance(work, SealTails):
        seal_tails(Path(work.folder))
        return {}
    from nomospace.pipeline.comparing import compare

    before = None if work.before is None else _law(work.before)
    after = _law(work.after)
    seal_tails(Path(work.folder))
    return compare(Path(work.folder) / JOURNAL, before, after, community=work.community)


def _run(work: RunEvents) -> dict[str, object]:
    from nomospace.scenarios.lawrun import BadLine, Endless
    from nomospace.scenarios.steps import Steps

    steps = Steps(_law(work.law), isolated=work.isolated, until=work.until)
    found: list[dict[str, object]] = []
    fault = ""
    try:
        lines = [f"{line}\n".encode() for line in work.events.split("\n")]
        found.extend(steps.read(lines, "events"))
    except (BadLine, Endless) as error:
        fault = str(error)  # what was ruled on before it stands
    return {"steps": found, "notes": steps.notes, "cut": steps.cut, "fault": fault}
