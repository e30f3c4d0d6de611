"""The journal of a running host: what is written into it, and how it is kept small.

A `Scribe` writes what the effects of the core say; refusals at the port, the wires and the seals,
which no core hears of, are written as events of the host itself, under no law. Records lie in the
host's store until a child process has sealed them as Parquet segments (`store.segments`), or, when
no folder is given for segments, until there are too many of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.calls.requests import LawText
from nomospace.errors import CallerError
from nomospace.host.core import Host as Core
from nomospace.node.config import Journal
from nomospace.node.loops import cancelled
from nomospace.store.interface import JournalEntry, Store
from nomospace.store.journal import (
    EventRecord,
    LawRecord,
    LeaseRecord,
    Scribe,
    TupleRecord,
    decode_record,
)
from nomospace.store.private import make_folder
from nomospace.terms import Term, show
from nomospace.wire.admin import AdminFinding, JournalRecord as Line
from nomospace.wire.segments import MANIFEST, check_host, check_last, decode_manifest

if TYPE_CHECKING:
    from nomospace.node.serve import Server

LOOK_S: Final = 2.0
"""How often it is looked at how many records wait."""
SEAL_S: Final = 300.0
"""How long sealing may take before it is given up, and tried again later."""
AGED_S: Final = 3_600.0
"""How often it is looked whether segments are too old, while nothing happens."""
RETRY_S_MAX: Final = 60.0
"""The longest pause after sealing failed; it doubles from `LOOK_S`."""
FACT_CHARS_MAX: Final = 500
QUIET: Final = frozenset({"started", "stopped", "view", "expired", "law-says"})
"""Notes that are no news for an auditor."""


class NoSegmentsFolder(CallerError):
    """Segments of the journal cannot be written where a host was told to."""

    code = "node.no-segments-folder"
    words = (
        "segments of the journal cannot be written into {folder!r}: {why}; name a "
        "folder that this host may write into"
    )
    folder: str
    why: str


def check_folder(journal: Journal) -> None:
    """Raise `NoSegmentsFolder` if there is a folder for segments and it cannot be written into.

    Else a host would find out long after its start, in a child process.
    """
    if not (journal.on and journal.folder):
        return
    try:
        make_folder(Path(journal.folder))
        with TemporaryFile(dir=journal.folder):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            why = "it is a file, or in one"
        raise NoSegmentsFolder(folder=journal.folder, why=why) from None


class Journalist(Scribe):
    """Writes the journal of one host; `core` is asked once there are effects to write of."""

    def __init__(self, host: str, core: Callable[[], Core]) -> None:
        super().__init__(host, law=self._text_of, member=self._state_of)
        self._core = core

    def note(self, what: str, facts: Mapping[str, object], now: int) -> bytes:
        """What the journal says of something that happened beside the core."""
        return super().note(what, {name: _shown(value) for name, value in facts.items()}, now)

    def _text_of(self, law: str) -> LawText | None:
        found = self._core().laws.get(law)
        if found is None:
            return None
        return LawText(found.hash, found.name, found.tree.source.text)

    def _state_of(self, home: str, law: str) -> Any:
        found = self._core().governing.find(home, law)
        return None if found is None else found.snapshot()


def _shown(value: object) -> Term:
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)[:FACT_CHARS_MAX]


class Sealing:
    """Has the records of a store sealed now and then, or forgets the oldest of them."""

    def __init__(self, server: Server) -> None:
        self._host = server.host.name
        self._store = server.store
        self._url = server.config.store
        self._journal = server.config.journal
        self._note = server.note
        self._task: asyncio.Task[None] | None = None
        self._last = self._gone = 0
        """The last record that was sealed, and the last that was let go."""
        self._trouble = ""

    def start(self) -> None:
        """Begin. Raises `OtherJournal`, `BadManifest`: what was sealed there is not from here."""
        folder = self._journal.folder
        if folder and self._url != "memory":
            with suppress(FileNotFoundError):
                data = (Path(folder) / MANIFEST).read_bytes()
                manifest = decode_manifest(data, folder)
                check_last(manifest, self._store.last_record, folder)
                check_host(manifest.host, self._host, folder)
                self._last, self._gone = manifest.last, manifest.gone
            self._task = asyncio.get_running_loop().create_task(self._seal(), name="journal")
        else:
            self._store.keep_records(self._journal.keep_records)

    async def stop(self) -> None:
        """End; a segment that is half done is done again by the next life."""
        await cancelled(self._task)
        self._task = None

    def findings(self) -> list[AdminFinding]:
        """How it stands with the segments, if there are any."""
        if self._task is None:
            return []
        folder, kept = self._journal.folder, f"records {self._gone + 1} to {self._last}"
        if self._trouble:
            mend = "see that the folder can be written into, and has room"
            return [AdminFinding("journal", False, f"{folder}: {self._trouble}", mend)]
        return [AdminFinding("journal", True, f"{folder} has {kept}")]

    async def _seal(self) -> None:
        journal = self._journal
        loop = asyncio.get_running_loop()
        sealed_at, sealed = loop.time(), 0
        look_s = pause_s = min(LOOK_S, journal.seconds)
        while True:
            await asyncio.sleep(pause_s)
            last = self._store.last_record
            waited = loop.time() - sealed_at
            fresh = last - sealed < journal.rows and waited < journal.seconds
            aged = journal.keep_days > 0 and waited >= AGED_S
            if (last == sealed or fresh) and not aged:
                continue
            sealed_at = loop.time()
            if await self._seal_once():
                sealed, pause_s = last, look_s
            else:  # what is wrong with the folder does not mend itself at once
                pause_s = min(2 * pause_s, RETRY_S_MAX)

    async def _seal_once(self) -> bool:
        journal = self._journal
        limits = ["--rows", str(journal.rows), "--bytes", str(journal.bytes), "--seconds", "0"]
        limits += ["--keep-days", str(journal.keep_days), "--keep-bytes", str(journal.keep_bytes)]
        env = {**os.environ, "NOMOSPACE_STORE": self._url}  # it may hold a password
        lines, why = await on_segments(journal.folder, "--keep", *limits, seconds=SEAL_S, env=env)
        self._trouble = why
        if why:
            self._note("not-sealed", folder=journal.folder, why=why)
            return False
        # The host itself forgets what was sealed, with its commits: nobody else writes its store.
        sealed = msgspec.json.decode(lines.splitlines()[-1], type=_Sealed)
        self._store.prune(sealed.last)
        self._last = sealed.last
        if sealed.gone > self._gone:
            self._gone = sealed.gone
            self._note("segments-let-go", folder=journal.folder, upto=sealed.gone)
        return True


async def on_segments(
    folder: str, *asked: str, seconds: float, env: Mapping[str, str] | None = None
) -> tuple[bytes, str]:
    """What a child process says that works on the segments of a folder, and why it has failed."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "nomospace.store.segments", "--into", folder, *asked),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
    )
    try:
        async with asyncio.timeout(seconds):
            lines, said = await child.communicate()
    except TimeoutError:
        return b"", f"it took more than {seconds:g} s"
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    return lines, said.decode(errors="replace")[-500:] if child.returncode else ""


class _Sealed(msgspec.Struct):
    """What the child says at its end: the last record that a segment has, or that was let go."""

    last: int
    gone: int


async def pages(
    store: Store, after: int, upto: int, *, most: int, bytes_max: int
) -> AsyncIterator[list[JournalEntry]]:
    """The records after one, up to another, some at a time: in between others have their turn."""
    while after < upto and (page := store.journal(after, min(most, upto - after), bytes_max)):
        yield page
        after = page[-1].seq
        await asyncio.sleep(0)


def told(entry: JournalEntry) -> Line:
    """A record as operators are shown it: its table, and its columns with terms as text."""
    record = decode_record(entry.record)
    columns: dict[str, Any] = {}
    if isinstance(record, EventRecord):
        ruling = record.ruling
        columns = {
            "at": ruling.at,
            "community": record.community,
            "law": ruling.law,
            "agent": ruling.home,
            "agent_seq": ruling.seq,
            "event": show(ruling.event.term),
            "rule": ruling.rule,
            "ruling": [show(operation) for operation in ruling.operations],
        }
        return Line(entry.seq, "events", columns)
    if isinstance(record, TupleRecord | LeaseRecord):
        columns = {
            "at": record.at,
            "space": record.space,
            "tuple_id": f"{record.writer}#{record.count}",
            "op": record.op,
            "agent": record.agent,
        }
        if isinstance(record, TupleRecord):
            return Line(entry.seq, "tuples", columns | {"fields": show(record.fields)})
        more = {"lease": record.lease, "until": record.until, "why": record.why}
        return Line(entry.seq, "leases", columns | more)
    if isinstance(record, LawRecord):
        columns = {"at": record.at, "hash": record.hash, "name": record.name}
        return Line(entry.seq, "laws", columns)
    snapshot = record.snapshot
    state = [show(term) for _, term in snapshot.state]
    columns = {"at": record.at, "agent": snapshot.home, "agent_seq": snapshot.seq, "state": state}
    return Line(entry.seq, "checkpoints", columns)
