"""A flipped bit in a file that is kept: it is named, and nothing wrong is served."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from nomospace.cli.remote_options import Unusable
from nomospace.cli.trust.files import TrustFolder, now_us
from nomospace.errors import NomospaceError
from nomospace.host.changes import TuplePut
from nomospace.node.identity import Papers
from nomospace.node.services.keeping import ServiceLog
from nomospace.pipeline.stream.state import Memory
from nomospace.protocols.spaces import Row
from nomospace.space.records import FIRST_ORDER
from nomospace.space.tables import Wanted
from nomospace.store.backup import read_backup
from nomospace.store.interface import KeptForClient, Step
from nomospace.store.journal import TupleRecord, encode_record
from nomospace.store.segments import SegmentLimits, read_journal, read_tuple, seal
from nomospace.store.sqlite import SqliteStore
from nomospace.store.wal import FRAME, HEADER
from nomospace.trust.revocation import Revocations
from tests.crash import acting
from tests.unit.store.changing import Author, recorded, told

FLIPS = 40
PAGE = 4_096


def _make(folder: Path) -> None:
    """All kinds of files that are kept."""
    for keep in (acting.keep_trust, acting.keep_stream, acting.keep_service, acting.keep_store):
        keep(folder)
    (folder / "backups").mkdir()
    shutil.move(folder / "one.backup", folder / "backups")
    _make_store(folder / "closed" / "ward.db")
    with closing(SqliteStore(folder / "journals" / "ward.db")) as store:
        store.begin()
        for number in range(1, 41):
            told = TupleRecord("ward", number, "jobs", "ann@ward", number, "written", "", b"\x90")
            store.commit([Step(records=(encode_record(told),))], at=number)
        seal(store, folder / "journal", SegmentLimits(rows=20, seconds=0), now=10**9)
        logged = folder / "logged"
        logged.mkdir()
        for name in ("ward.db", "ward.db-wal"):  # as after a crash
            shutil.copy(folder / "journals" / name, logged / name)


def _make_store(path: Path) -> None:
    """A store with rows in all its tables."""
    author = Author(Random(5))
    with closing(SqliteStore(path)) as store:
        store.begin(birth=17)
        for number in range(60):
            kept = KeptForClient("ann@x s1", number + 1, b"push")
            store.commit([recorded([author.change() for _ in range(3)], (kept,))], at=number)
        rows = [Row(("job", one), "ann@x", 100 + one, "ann@x", "ann@x") for one in range(300)]
        puts = [TuplePut("stored", row, FIRST_ORDER + 1 + at) for at, row in enumerate(rows)]
        store.commit([Step(tuple(puts))], at=100)


def _closed(folder: Path) -> Any:
    with closing(SqliteStore(folder / "ward.db")) as store:
        beginning = store.begin()
        found = store.tables.rows("stored", Wanted(), 0, 2 * FIRST_ORDER, 1_000).records
        stored = [(one.order, one.fields, one.id) for one in found]
        return told(beginning.durable), beginning.outbox, stored, store.journal(0, 1_000)


def _trust(folder: Path) -> Any:
    trust = TrustFolder.open(folder)
    seat, judge = trust.seat(), trust.judge()
    seat.open()
    states = [(path, claim.x509, judge.state(claim)) for path, claim in trust.certificates()]
    for path, _, state in states:
        if state not in ("counts", "revoked"):
            raise Unusable(what=str(path), why=state)  # as `trust show` says it
    Papers(folder, "ward-1", now_us(), Revocations())  # as a host reads them
    return seat.claim.x509, seat.revoked(), states, list(trust.tokens())


def _stream(folder: Path) -> Any:
    """Both states that are kept: each names chunks of its own."""
    memory = Memory(folder)
    last = memory.before(1 << 60)
    states = (memory.before(last.batch), last)
    return [(state, memory.table(state.chunks).to_pylist()) for state in states]


def _service(folder: Path) -> Any:
    service: ServiceLog[acting.Said] = ServiceLog(folder / "log", acting.Said)
    with service as log:
        return log.begin()


def _store(folder: Path) -> Any:
    with closing(SqliteStore(folder / "ward.db")) as store:
        beginning = store.begin()
        return beginning.life, beginning.last_at, told(beginning.durable), store.journal(0, 100)


def _synced(log: bytes) -> int:
    """Where the last two commits of a log begin: these may be what a power cut has torn."""
    ends = [
        at
        for at in range(HEADER, len(log), FRAME + PAGE)
        if int.from_bytes(log[at + 4 : at + 8], "big")
    ]
    return ends[-3] + FRAME + PAGE


class Kind(NamedTuple):
    """Files of one kind, and what they say."""

    folder: str
    files: str
    view: Callable[[Path], Any]
    upto: Callable[[bytes], int] = len
    least: int = FLIPS
    """How many of the flips must be named: all, but for what says nothing, such as a comment."""


KINDS = {
    "the trust folder": Kind("trust", "**/*", _trust, least=FLIPS // 2),  # with keys of agents
    "tokens": Kind("trust", "tokens.toml", _trust, least=3 * FLIPS // 4),
    "a stream's state": Kind("stream/state", "batch-*4.json", _stream),
    "a stream's rows": Kind("stream/state", "*.parquet", _stream),
    "a service's log": Kind("service", "log", _service),
    "a backup": Kind("backups", "one.backup", lambda folder: [*read_backup(folder / "one.backup")]),
    "sealed segments": Kind("journal", "*/*.parquet", lambda at: [*read_journal(at, None)]),
    "a story of segments": Kind("journal", "*/*", lambda at: read_tuple(at, "ann@ward#7")),
    "a manifest": Kind(
        "journal", "manifest.json", lambda at: [*read_journal(at, None)], least=FLIPS - 4
    ),
    "a store's file": Kind("closed", "ward.db", _closed),
    "a store's checksums": Kind("closed", "ward.db-sums", _closed),
    "a store's log": Kind("logged", "ward.db-wal", _store, _synced),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    _make(folder)
    return folder


@pytest.mark.parametrize("name", KINDS)
def test_a_flipped_bit_is_named_and_nothing_wrong_is_served(
    kept: Path, tmp_path: Path, name: str
) -> None:
    kind, rng, named, same = KINDS[name], Random(name), 0, 0
    place = tmp_path / "copy"
    shutil.copytree(kept / kind.folder, place)
    before = kind.view(place)
    for _ in range(FLIPS):
        shutil.rmtree(place)
        shutil.copytree(kept / kind.folder, place)
        files = [path for path in sorted(place.glob(kind.files)) if path.is_file()]
        file = rng.choice([path for path in files if path.stat().st_size])
        data = bytearray(file.read_bytes())
        at, bit = rng.randrange(kind.upto(bytes(data))), rng.randrange(8)
        data[at] ^= 1 << bit
        file.write_bytes(data)
        try:
            after = kind.view(place)
        except NomospaceError as error:
            named += file.name.split(".")[0] in str(error) or str(place) in str(error)
        else:
            assert after == before, f"bit {bit} of byte {at} of {file}"
            same += 1
    assert named + same == FLIPS
    assert named >= kind.least
