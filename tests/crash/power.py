"""Power cuts: what was acknowledged is on disk, whatever of the rest is lost, torn or out of order.

    python -m tests.crash.power --states 2000

A host under load, and all else that is kept in files (`acting`), are recorded as they write and
sync (`recorder`). From the record come the states that a power cut may leave at a moment (`disk`).
Each is opened with the product's own code, and every acknowledgement that had left by then must
hold: tuples and takes, rulings, the host's life and birth, sealed segments, backups and stores made
of them, certificates, tokens, revocations, the state of a stream, the log of a service. With
`--fault` the host or the files are written without care, and must be found out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from nomospace import t
from nomospace.cli.trust.files import TrustFolder
from nomospace.client.remote import connect
from nomospace.client.space import Space
from nomospace.control import redo
from nomospace.errors import NomospaceError
from nomospace.node.services.keeping import ServiceLog
from nomospace.pipeline.stream.state import Memory, present
from nomospace.store.backup import read_backup, restore_backup
from nomospace.store.holds import holds
from nomospace.store.interface import Beginning
from nomospace.store.journal import LawRecord
from nomospace.store.segments import read_journal, read_manifest
from nomospace.store.sqlite import SqliteStore
from tests.crash import acting
from tests.crash.disk import Disk, lay_out, read_log
from tests.crash.journals import look
from tests.crash.load import BOOKS
from tests.ports import free_port

HERE: Final = Path(__file__).parent
RECORDER: Final = str(HERE / "recorder.py")
READY_S: Final = 60.0
SEALED: Final = "rows = 100\nseconds = 1.0\n"
OFF: Final = """
from nomospace.store.sqlite import SqliteStore
_open = SqliteStore._open
def _opened(self, *, alone):
    _open(self, alone=alone)
    self._writer.execute("PRAGMA synchronous = OFF")
SqliteStore._open = _opened
"""
NO_SYNC: Final = """
import os
os.fsync = lambda fd: None
"""
NO_FOLDERS: Final = """
import os, stat
_fsync = os.fsync
os.fsync = lambda fd: None if stat.S_ISDIR(os.fstat(fd).st_mode) else _fsync(fd)
"""
FAULTS: Final = {"off": OFF, "no-sync": NO_SYNC, "no-folders": NO_FOLDERS}
"""Care that can be left out: SQLite's syncs, those of Python, those of folders only."""
_HOST: Final = """
import sys
from nomospace.cli import main
from nomospace.store import backlog, sql
sql.ROWS_MAX, backlog.GONE_MAX, backlog.FEW = 40, 10, 1
sys.exit(main(sys.argv[1:]))
"""
"""A host whose tables catch up all the time: power is to be cut while they do."""
_ACTING: Final = f"import runpy\nrunpy.run_path({str(HERE / 'acting.py')!r}, run_name='__main__')\n"
_NEVER: Final = 1 << 62


@dataclass
class Told:
    """Something that was begun, and perhaps acknowledged."""

    what: str
    begun: int
    done: int = _NEVER
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Recorded:
    """A disk's history, and what was said while it was made."""

    disk: Disk
    told: list[Told]
    check: Callable[[Path, list[Told], int], Iterator[str]]

    def said(self, now: int) -> list[Told]:
        """What had been begun by a moment; what had not been acknowledged by then says so."""
        return [
            Told(one.what, one.begun, one.done if one.done <= now else _NEVER, one.facts)
            for one in self.told
            if one.begun <= now
        ]


# -- recording -------------------------------------------------------------------------------------


def _recorded(log: Path, disk: Path, code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A program under the recorder; it says what it says on standard output."""
    program = [sys.executable, "-P", "-c", code, *arguments]
    with log.with_suffix(".err").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-S", RECORDER, str(log), str(disk), *program],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "XDG_STATE_HOME": str(disk / "user")},
        )


def _ended(process: subprocess.Popen[bytes], log: Path) -> bytes:
    out, _ = process.communicate(timeout=READY_S)
    assert process.returncode == 0, log.with_suffix(".err").read_text()
    return out


def record_files(folder: Path, fault: str = "") -> Recorded:
    """Have `acting` write everything once."""
    disk, log = folder / "disk", folder / "log"
    disk.mkdir(parents=True)
    code = FAULTS.get(fault, "") + _ACTING
    lines = _ended(_recorded(log, disk, code, str(disk)), log)
    told = []
    for line in lines.decode().splitlines():
        facts = json.loads(line)
        told.append(Told(facts.pop("what"), facts.pop("begun"), facts.pop("done"), facts))
    return Recorded(Disk(disk, read_log(log)), told, check_files)


class _Load:
    """What clients of one host do, and what they are told."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    async def do(self, what: str, call: Awaitable[Any], **facts: Any) -> Any:
        one = Told(what, time.monotonic_ns(), facts=facts)
        self.told.append(one)
        found = await call
        one.done = time.monotonic_ns()
        return found

    async def work(self, jobs: Space, numbers: Sequence[int]) -> None:
        """Write tuples, some of them twice under one key, and take every third."""
        for number in numbers:
            key = f"key-{number}" if number % 4 == 0 else None
            await self.do("out", jobs.out("job", number, once=key), number=number)
            if key:
                await self.do("out", jobs.out("job", number, once=key), number=number)
            if number % 3 == 0:
                taken = await self.do("take", jobs.take_nowait("job", number), number=number)
                assert taken is not None


async def _load(url: str, token: str, rounds: int, backup: Callable[[int], Awaitable[None]]) -> Any:
    load = _Load()
    async with connect(url, token=token) as host:
        writers = [await host.agent(f"writer-{n}") for n in range(4)]
        spaces = [await one.space("jobs") for one in writers]
        members = {}
        for n in range(2):
            agent = await host.agent(f"member-{n}")
            members[agent.id] = await agent.adopt(BOOKS)

        async def send(me: str, other: str) -> None:
            for n in range(rounds):
                await load.do("sent", members[me].send(t.note(n), to=other), by=me)
                if n % 5 == 0:
                    await load.do("promised", members[me].send(t.promise(n, 50), to=me), by=me)

        work = [
            load.work(space, range(at * 1_000, at * 1_000 + rounds))
            for at, space in enumerate(spaces)
        ]
        first, second = members
        await asyncio.gather(*work, send(first, second), send(second, first), backup(0))
        await backup(1)
    return load


def record_host(folder: Path, rounds: int, fault: str = "", backups: int = 2) -> Recorded:
    """Run a host under load; it is backed up in the middle of it, and afterwards.

    Without backups it seals no segments either: then its store is all there is.
    """
    disk, logs = folder / "disk", [folder / f"{n}.log" for n in range(1 + backups)]
    disk.mkdir(parents=True)
    store = disk / "var" / "lib" / "ward.db"
    settings = folder / "ward.toml"
    journal = f'folder = "{disk / "journal"}"\n{SEALED}' if backups else ""
    settings.write_text(f"[journal]\n{journal}")
    port = free_port()
    host = _recorded(
        logs[0], disk, FAULTS.get(fault, "") + _HOST, "host", "run", "ward", "--insecure",
        "--listen", f"127.0.0.1:{port}", "--store", str(store), "--config", str(settings), "--json",
    )  # fmt: skip
    kept: list[Told] = []

    async def backup(number: int) -> None:
        if number >= backups:
            return
        file = disk / f"{number}.backup"
        one = Told("backup", time.monotonic_ns(), facts={"file": file.name})
        log = logs[1 + number]
        process = _recorded(
            log, disk, FAULTS.get(fault, "") + _HOST, "backup", "--store", str(store), str(file)
        )
        await asyncio.to_thread(_ended, process, log)
        one.done = time.monotonic_ns()
        kept.append(one)

    try:
        assert host.stdout is not None
        line = host.stdout.readline()
        assert line, logs[0].with_suffix(".err").read_text()
        said = json.loads(line)
        begun = Told("life", 0, time.monotonic_ns(), {"life": said["life"]})
        load = asyncio.run(_load(said["url"], said["token"], rounds, backup))
    finally:
        host.terminate()
        host.communicate(timeout=READY_S)
    record = Disk(disk, [event for log in logs for event in read_log(log)])
    for one in load.told:  # it was sent when bytes last left before it was heard
        if one.done != _NEVER:
            one.done = record.sent[bisect_right(record.sent, one.done) - 1]
    return Recorded(record, [begun, *kept, *load.told], check_host)


# -- checking --------------------------------------------------------------------------------------


@contextmanager
def _store(path: Path) -> Iterator[tuple[SqliteStore, Beginning]]:
    store = SqliteStore(path)
    try:
        yield store, store.begin()
    finally:
        store.close()


def _jobs(beginning: Beginning) -> Counter[int]:
    rows = [row for held in beginning.durable.tuples.values() for row in held.values()]
    return Counter(n for row in rows for n in row.fields[1:2] if isinstance(n, int))


def _tuples(found: Counter[int], told: list[Told], since: int, until: int) -> Iterator[str]:
    """Whether tuples are as they were at one moment of a time."""
    wrote = {one.facts["number"]: one for one in reversed(told) if one.what == "out"}
    took = {one.facts["number"]: one for one in told if one.what == "take"}
    for number, one in wrote.items():
        taken = took.get(number)
        must = one.done <= since and (taken is None or taken.begun > until)
        may = one.begun <= until and (taken is None or taken.done > since)
        if not must <= found[number] <= may:
            yield f"tuple {number} is there {found[number]} times: {one}, {taken}"
    for number in found.keys() - wrote.keys():
        yield f"tuple {number} is there, and nobody has written it"


def check_host(folder: Path, told: list[Told], now: int) -> Iterator[str]:
    """Whether a host's files hold all that was acknowledged."""
    path = folder / "var" / "lib" / "ward.db"
    lives = [one.facts["life"] for one in told if one.what == "life" and one.done <= now]
    if path.exists():
        with _store(path) as (store, beginning):
            if lives and beginning.life <= max(lives):
                yield f"life {beginning.life} begins, and {max(lives)} was told"
            yield from look(store, beginning.durable, folder / "journal").wrong
            yield from _hashes(folder / "journal")
            yield from _tuples(_jobs(beginning), told, now, now)
            for (home, _), member in beginning.durable.members.items():
                yield from _control_state(home, redo(member.base, member.log).state, told)
    elif lives:
        yield "the store is gone"
    for one in told:
        if one.what == "backup":
            yield from _backup(folder / one.facts["file"], one, told)


def _control_state(home: str, state: Any, told: list[Told]) -> Iterator[str]:
    counts = {one.name: one.args[0] for _, one in state}
    for what in ("sent", "promised"):
        mine = [one for one in told if one.what == what and one.facts["by"] == home]
        done = sum(one.done != _NEVER for one in mine)
        if not done <= counts[what] <= len(mine):
            yield f"{home} has {what} {counts[what]}, of {len(mine)} begun and {done} acknowledged"


def _hashes(folder: Path) -> Iterator[str]:
    from hashlib import sha256

    for segment in read_manifest(folder).segments:
        for table, digest in segment.hashes.items():
            data = (folder / table / f"seg-{segment.number:08d}.parquet").read_bytes()
            if sha256(data).hexdigest() != digest:
                yield f"segment {segment.number} of {table} is not what was sealed"


def _backup(file: Path, one: Told, told: list[Told]) -> Iterator[str]:
    if not file.exists():
        if one.done != _NEVER:
            yield f"{file.name} is gone"
        return
    list(read_backup(file))  # it is whole as soon as it is there
    if one.done != _NEVER:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place, "copy.db")
            restore_backup(file, SqliteStore(copy))
            with _store(copy) as (_, beginning):
                yield from _tuples(_jobs(beginning), told, one.begun, one.done)


def check_files(folder: Path, told: list[Told], now: int) -> Iterator[str]:
    """Whether the other files hold all that was acknowledged."""

    def all_of(what: str, *, begun: bool = False) -> list[dict[str, Any]]:
        return [one.facts for one in told if one.what == what and (begun or one.done != _NEVER)]

    yield from _trust(folder / "trust", all_of)
    batches = [one["batch"] for one in all_of("batch")]
    if batches or (folder / "stream" / "state").exists():
        memory = Memory(folder / "stream" / "state")
        state = memory.before(_NEVER)
        if state.batch < max(batches, default=-1):
            yield f"the stream is at batch {state.batch}, and {max(batches)} had ended"
        rows = present(memory.table(state.chunks), ever=True)
        if len(rows) != (state.batch + 1) * acting.BATCH_ROWS:
            yield f"the stream has {len(rows)} rows after batch {state.batch}"
    changes = [one["number"] for one in all_of("change")]
    if changes or (folder / "service").exists():
        changed: ServiceLog[acting.Said] = ServiceLog(folder / "service" / "log", acting.Said)
        with changed as log:
            found = [one.number for one in log.begin()]
        if found != list(range(len(found))) or len(found) <= max(changes, default=-1):
            yield f"the service has {found}, and {changes} were acknowledged"
    yield from _stores(folder, all_of)
    yield from _journal(folder / "old", all_of)


def _journal(folder: Path, all_of: Callable[..., list[dict[str, Any]]]) -> Iterator[str]:
    """What a journal that lets segments go must have: all that it does not say has gone."""
    recorded = [one["last"] for one in all_of("recorded")]
    if not recorded:
        return
    journal = folder / "journal"
    with _store(folder / "ward.db") as (store, _):
        manifest = read_manifest(journal)
        there = [*read_journal(journal, store)]
    numbers = [number for number, _ in there]
    rest = [number for number in numbers if number > manifest.gone]
    if rest != list(range(manifest.gone + 1, manifest.gone + 1 + len(rest))):
        yield f"the journal has {numbers}, and says that up to {manifest.gone} is gone"
    if max(numbers) < max(recorded):
        yield f"the journal ends with {max(numbers)}, and {max(recorded)} was acknowledged"
    laws = {record.at for _, record in there if isinstance(record, LawRecord)}
    if laws != set(range(1, 1 + max(numbers) // acting.ROUND_RECORDS)):
        yield f"of all laws the journal has {sorted(laws)}"
    for what, has in (("sealed", manifest.last), ("gone", manifest.gone)):
        told = [one["last" if what == "sealed" else what] for one in all_of(what)]
        if has < max(told, default=0):
            yield f"{what} is {has}, and {max(told)} was acknowledged"
    held = [one["after"] for one in all_of("held")]
    if held and (holds(journal).get("audit") != held[0] or manifest.gone > held[0]):
        yield f"up to {manifest.gone} is gone, and {holds(journal)} are held"
    yield from _hashes(journal)


def _trust(folder: Path, all_of: Callable[..., list[dict[str, Any]]]) -> Iterator[str]:
    if not (folder / "authority.pem").exists():
        if all_of("authority"):
            yield "the authority is gone"
        return
    trust = TrustFolder.open(folder)
    if not all_of("authority"):
        trust.seats()
        return
    seat = trust.seat()
    seat.open()
    revoked = seat.revoked().revoked
    for facts in all_of("revoked"):
        if int(facts["serial"], 16) not in revoked:
            yield f"{facts['serial']} counts again"
    certified = {f"{claim.serial:x}" for _, claim in trust.certificates()}
    for facts in all_of("agent"):
        if facts["serial"] not in certified:
            yield f"the certificate of {facts['agent']} is gone"
    tokens = {token.id for token in trust.tokens()}
    for facts in all_of("token"):
        if facts["id"] not in tokens:
            yield f"token {facts['id']} is gone"


def _stores(folder: Path, all_of: Callable[..., list[dict[str, Any]]]) -> Iterator[str]:
    written = [one["number"] for one in all_of("tuple")]
    begun = len(all_of("tuple", begun=True))
    if all_of("life") or (folder / "stores" / "deep" / "ward.db").exists():
        with _store(folder / "stores" / "deep" / "ward.db") as (store, beginning):
            if all_of("life") and (beginning.life < 2 or beginning.birth != 17):
                yield f"life {beginning.life} of birth {beginning.birth} begins"
            if not len(written) <= len(_jobs(beginning)) <= begun:
                yield f"the store has {_jobs(beginning)}, and {written} were acknowledged"
            yield from map(str, store.inspect())
    if all_of("backup") or (folder / "one.backup").exists():
        list(read_backup(folder / "one.backup"))
    copy = folder / "copies" / "copy.db"
    if all_of("restored") or copy.exists():
        with _store(copy) as (_, beginning):
            if len(_jobs(beginning)) != acting.TUPLES:
                yield f"the copy has {_jobs(beginning)}"


# -- all together ----------------------------------------------------------------------------------


@dataclass
class PowerOutcome:
    """What power cuts have left."""

    states: int = 0
    acknowledged: int = 0
    """How many acknowledgements were looked for in all of them."""
    violations: list[str] = field(default_factory=list)

    def told(self) -> str:
        """In words."""
        head = f"{self.states:,} states, {self.acknowledged:,} acknowledgements looked for"
        return "\n".join([head, f"{len(self.violations)} violations", *self.violations[:20]])


def cut_power(
    records: Sequence[Recorded], states: int, seed: int, say: Callable[[str], None] = lambda _: None
) -> PowerOutcome:
    """Open so many states, in turns of all records."""
    outcome = PowerOutcome()
    quick = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="nomospace-power-", dir=quick if quick.is_dir() else None))
    try:
        for number in range(states):
            record = records[number % len(records)]
            rng = random.Random(f"{seed} {number}")
            moments = record.disk.moments
            now = moments[rng.randrange(len(moments))]
            told = record.said(now)
            folder = place / str(number)
            lay_out(record.disk.state(now, rng), folder)
            try:
                wrong = list(record.check(folder, told, now))
            except (NomospaceError, OSError, AssertionError) as error:
                wrong = [f"{type(error).__name__}: {error}"]
            outcome.violations += [
                f"seed {seed}, state {number}, {record.check.__name__}: {one}" for one in wrong
            ]
            outcome.states += 1
            outcome.acknowledged += sum(one.done != _NEVER for one in told)
            shutil.rmtree(folder)
            if (number + 1) % 200 == 0:
                say(f"{number + 1} states, {len(outcome.violations)} violations")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when something that was acknowledged is not there."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.power", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--states", type=int, default=2_000, help="how many (default: 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=60, help="how much each client does")
    parser.add_argument("--fault", choices=FAULTS, default="", help="leave some care out")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nomospace-power-") as place:
        records = [
            record_host(Path(place, "host"), given.rounds, given.fault),
            record_files(Path(place, "files"), given.fault),
        ]
        outcome = cut_power(
            records, given.states, given.seed, lambda what: print(what, file=sys.stderr)
        )
    print(outcome.told())
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
