"""The journal: records, segments, and control states replayed from them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nomospace.calls.problems import MoveRefused
from nomospace.calls.requests import LawText
from nomospace.control import (
    Membership,
    RecordRuling as RecordEffect,
    Ruling,
    Snapshot,
    adopt,
    sent,
)
from nomospace.host.changes import MemberJoined, MemberRuled
from nomospace.host.effects import Came, Journey, LeaseTraced, Left, Persist, Ruled, Traced
from nomospace.law import load
from nomospace.pipeline.segments import list_journal
from nomospace.store import segments as segments_module
from nomospace.store.bundles import BUNDLE_MAX
from nomospace.store.holds import SealingAlready, holds
from nomospace.store.interface import Step
from nomospace.store.journal import (
    CheckpointRecord,
    EventRecord,
    JournalGap,
    LawRecord,
    Record,
    Scribe,
    TupleRecord,
    decode_record,
    encode_record,
    replay,
)
from nomospace.store.memory import MemoryStore
from nomospace.store.segments import (
    DAY_US,
    Retention,
    SegmentLimits,
    _alone,
    hold,
    let_go,
    main,
    read_journal,
    read_manifest,
    read_segment,
    seal,
)
from nomospace.store.sql import FORGET_FROM
from nomospace.store.sqlite import SqliteStore
from nomospace.terms import obj, show, t
from nomospace.wire.changes import BadRecord, NewerRecord
from nomospace.wire.segments import BadManifest, RecordsLetGo

SOURCE = """
law(counter).
initialCS([n(0)]).
R1. sent(X, more, Y) :- n(N)@CS, do(incr(n(N), 1)), do(forward).
R2. sent(X, later, Y) :- do(imposeObligation(remind, 5)), do(forward).
R3. sent(X, M, Y) :- do(forward).
"""
LAW = load(SOURCE)
TEXT = LawText(LAW.hash, LAW.name, SOURCE)


class World:
    """Two members whose rulings are written into a journal, as a host would."""

    def __init__(self, every: int = 5) -> None:
        self.members: dict[str, Membership] = {}
        self.every = every
        self.records: list[bytes] = []
        self.now = 1_700_000_000_000_000
        self.begin_anew()

    def begin_anew(self) -> None:
        """Another life of the host."""
        self.scribe = Scribe(
            "ward-3",
            law=lambda hash: TEXT if hash == LAW.hash else None,
            member=lambda home, law: self.members[home].snapshot(),
            every=self.every,
        )

    def join(self, home: str) -> None:
        self.members[home], effects = adopt(LAW, home, now=self.now)
        joined = MemberJoined(self.members[home].snapshot())
        rulings = [effect.ruling for effect in effects if isinstance(effect, RecordEffect)]
        self.told([Persist((joined,)), *[Ruled(ruling) for ruling in rulings]])

    def send(self, home: str, message: Any) -> None:
        self.now += 1_000
        member = self.members[home]
        effects = member.handle(sent(home, message, "x@y"), now=self.now)
        rulings = [effect.ruling for effect in effects if isinstance(effect, RecordEffect)]
        changes = Persist(tuple([MemberRuled(ruling) for ruling in rulings]))
        came = Journey(1, ("y",), self.now % 3, "eve@y")
        self.told([changes, *[Ruled(ruling, came=came) for ruling in rulings]])

    def told(self, effects: list[Any]) -> None:
        self.records.extend(self.scribe.records(effects, self.now).records)

    def busy(self, count: int) -> None:
        for i in range(count):
            home = "ann@x" if i % 3 else "bob@x"
            self.send(home, ["more", "later", t.note(2**70)][i % 3])
            written = Traced("written", "jobs", ("job", i, obj("Car", "c1")), home, i, home, i % 2)
            self.told([written])

    def lease(self, count: int, why: str = "") -> None:
        self.told(
            [LeaseTraced("returned", "jobs", "bob@x", count, "c@x", "ward-3/1/7", count, why)]
        )

    @property
    def states(self) -> dict[tuple[str, str], Snapshot]:
        return {(home, LAW.hash): member.snapshot() for home, member in self.members.items()}

    def decoded(self) -> list[Record]:
        return [decode_record(record) for record in self.records]


def made(count: int = 40, every: int = 5) -> World:
    world = World(every)
    world.join("ann@x")
    world.join("bob@x")
    world.busy(count)
    return world


def test_what_the_scribe_writes() -> None:
    world = made(12)
    kinds = [type(record).__name__ for record in world.decoded()]
    assert kinds[:3] == ["LawRecord", "CheckpointRecord", "EventRecord"]
    assert kinds.count("LawRecord") == 1
    assert kinds.count("EventRecord") == 2 + 12
    assert kinds.count("TupleRecord") == 12
    assert kinds.count("CheckpointRecord") == 2 + 2  # both have had five rulings
    first = next(record for record in world.decoded() if isinstance(record, EventRecord))
    assert (first.host, first.community) == ("ward-3", "counter")
    assert isinstance(first.ruling, Ruling)


def test_agents_that_move_are_noted_with_the_number_of_the_move() -> None:
    world = World()
    refused = MoveRefused(agent="ann@x", to="y", why="no room")
    moves = [Left("ann@x", "y", 3), Came("ann@x", "z", "", None, epoch=4)]
    world.told([Persist(()), *moves, Came("ann@x", "y", "", None, error=refused, epoch=3)])
    told = [show(one.ruling.event.term) for one in world.decoded() if isinstance(one, EventRecord)]
    assert told == [
        f"noted({what},[agent('ann@x'),host({host}),move({number})])"
        for what, host, number in (("departed", "y", 3), ("came", "z", 4), ("'came-back'", "y", 3))
    ]


def test_replayed_states_are_those_of_the_controllers() -> None:
    for every in (1, 5, 1_000):
        world = made(60, every)
        assert replay(world.decoded()) == world.states


def test_a_journal_whose_beginning_was_dropped_still_replays() -> None:
    world = made(60)
    records = world.decoded()
    places = [i for i, record in enumerate(records) if isinstance(record, CheckpointRecord)]
    assert replay(records[places[-4] - 1 :]) == world.states


def test_a_membership_that_begins_anew_is_replayed_from_there() -> None:
    world = made(9)
    world.join("ann@x")
    world.send("ann@x", "more")
    assert replay(world.decoded()) == world.states


def test_missing_rulings_are_noticed() -> None:
    world = made(30, every=1_000)
    records = world.decoded()
    del records[10]
    while not isinstance(records[10], EventRecord):
        del records[10]
    del records[10]
    with pytest.raises(JournalGap, match="is missing"):
        replay(records)


def test_records_that_are_none() -> None:
    with pytest.raises(NewerRecord, match="version 9"):
        decode_record(b"\x09abc")
    for data in (b"", b"\x00", b"\x01", b"\x01\x93\xa5event", b"\x01\xc0"):
        with pytest.raises(BadRecord):
            decode_record(data)
    with pytest.raises(BadRecord):
        _ = TupleRecord("h", 1, "jobs", "a@x", 1, "taken", "a@x", b"\xc1").fields


# -- segments -----------------------------------------------------------------------------------


def stored(tmp_path: Path, world: World) -> SqliteStore:
    store = SqliteStore(tmp_path / "ward.db")
    store.begin()
    for record in world.records:  # each in a row of its own
        store.commit([Step((), (), (record,))], at=1)
    store.close()
    store.attach()  # as the process does that seals
    return store


def test_sealed_and_read_back(tmp_path: Path) -> None:
    world = made(40)
    store = stored(tmp_path, world)
    folder = tmp_path / "journal"
    total = len(world.records)
    assert total % 32 > 3
    assert list(read_journal(folder, store)) == list(enumerate(world.decoded(), 1))

    assert seal(store, folder, SegmentLimits(rows=32, seconds=1e9), now=world.now) != []
    manifest = read_manifest(folder)
    assert [(s.number, s.first, s.last) for s in manifest.segments] == [
        (n, 32 * n - 31, 32 * n) for n in range(1, total // 32 + 1)
    ]
    assert store.journal(0, 1)[0].seq == manifest.last + 1  # what is sealed is forgotten
    assert list(read_journal(folder, store)) == list(enumerate(world.decoded(), 1))
    assert list(read_journal(folder, store, after=total - 3)) == [
        (seq, world.decoded()[seq - 1]) for seq in range(total - 2, total + 1)
    ]
    assert [seq for seq, _ in read_journal(None, store)] == list(
        range(manifest.last + 1, total + 1)
    )
    assert replay(record for _, record in read_journal(folder, store)) == world.states

    # The rest is not due, until it has waited long enough.
    assert seal(store, folder, SegmentLimits(seconds=3_600), now=world.now) == []
    (rest,) = seal(store, folder, SegmentLimits(seconds=1), now=world.now + 10_000_000)
    assert rest.last == total
    assert store.journal(0, 9) == []
    assert list(read_journal(folder, None)) == list(enumerate(world.decoded(), 1))
    # Numbers go on, also in the next life.
    store.begin()
    store.commit([Step((), (), world.records[:1])], at=2)  # type: ignore[arg-type]
    assert store.journal(0, 9)[0].seq == total + 1
    store.close()


def test_the_tables_of_a_segment(tmp_path: Path) -> None:
    world = made(9)
    world.lease(0)
    world.lease(1, "no paper")
    store = stored(tmp_path, world)
    folder = tmp_path / "journal"
    (segment,) = seal(store, folder, SegmentLimits(seconds=0), now=world.now)
    assert [one for _, one in read_segment(folder, segment)] == world.decoded()
    store.close()
    events = pq.read_table(folder / "events" / "seg-00000001.parquet")
    row = events.to_pylist()[3]  # after two adoptions and what bob sent
    assert {
        key: row[key] for key in ("version", "host", "community", "event", "agent", "rule")
    } == {
        "version": 1,
        "host": "ward-3",
        "community": "counter",
        "event": "sent",
        "agent": "ann@x",
        "rule": "R2",
    }
    assert row["peer"] == "x@y"
    assert row["message_text"] == "later"
    assert row["args_text"] == "['ann@x',later,'x@y']"
    assert "imposeObligation" in row["ruling_text"]
    assert row["at"].utcoffset().total_seconds() == 0
    assert row["at"].timestamp() == pytest.approx(1_700_000_000.002)
    metadata = pq.ParquetFile(folder / "events" / "seg-00000001.parquet").metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    tuples = pq.read_table(folder / "tuples" / "seg-00000001.parquet").to_pylist()
    assert (tuples[0]["tuple_id"], tuples[0]["classes"]) == ("bob@x#0", ["Car"])
    leases = pq.read_table(folder / "leases" / "seg-00000001.parquet").to_pylist()
    assert [one["tuple_id"] for one in leases] == ["bob@x#0", "bob@x#1"]
    assert [one["why"] for one in leases] == [None, "no paper"]
    assert (leases[0]["until"], leases[1]["until"].timestamp()) == (None, 1e-6)
    laws = pq.read_table(folder / "laws" / "seg-00000001.parquet").to_pylist()
    assert (laws[0]["law"], laws[0]["text"]) == (LAW.hash, SOURCE)
    checkpoints = pq.read_table(folder / "checkpoints" / "seg-00000001.parquet").to_pylist()
    assert checkpoints[0]["state_text"] == "[n(0)]"


class Crash(BaseException):
    """The process dies here."""


class Dying:
    """Dies at one of the moments at which sealing touches a disk."""

    def __init__(self, place: int, patch: pytest.MonkeyPatch) -> None:
        self.left = place
        real_sync, real_replace, real_prune = os.fsync, Path.replace, SqliteStore.prune

        def sync(opened: int) -> None:
            self.step()
            real_sync(opened)

        def replace(path: Path, target: Any) -> Path:
            self.step()
            made = real_replace(path, target)
            self.step()
            return made

        def prune(store: SqliteStore, upto: int) -> None:
            self.step()
            real_prune(store, upto)
            self.step()

        patch.setattr(os, "fsync", sync)
        patch.setattr(Path, "replace", replace)
        patch.setattr(SqliteStore, "prune", prune)

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Crash


def test_whoever_dies_while_sealing_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    world = made(5)
    expected = list(enumerate(world.decoded(), 1))
    crashes = 0
    for place in range(1, 100):
        folder = tmp_path / str(place)
        store = stored(folder, world)
        died = False
        with pytest.MonkeyPatch.context() as patch:
            Dying(place, patch)
            try:
                seal(store, folder / "journal", SegmentLimits(rows=12, seconds=0), now=world.now)
            except Crash:
                died = True
        crashes += died
        assert list(read_journal(folder / "journal", store)) == expected
        # Another process, with other limits, goes on.
        seal(store, folder / "journal", SegmentLimits(rows=11, seconds=0), now=world.now)
        assert store.journal(0, 9) == []
        assert list(read_journal(folder / "journal", None)) == expected
        known = read_manifest(folder / "journal").segments
        files = [path for path in (folder / "journal").glob("*/*") if path.is_file()]
        assert len(files) == sum(len(segment.rows) for segment in known)
        store.close()
        if not died:
            break
    assert crashes > 15


def test_sealing_goes_on_while_a_journal_is_read(tmp_path: Path) -> None:
    world = made(20)
    store = stored(tmp_path, world)
    folder = tmp_path / "journal"
    reading = read_journal(folder, store)
    read = [next(reading) for _ in range(3)]
    seal(store, folder, SegmentLimits(rows=10, seconds=0), now=world.now)
    store.begin()
    store.commit([Step((), (), (world.records[0],))], at=2)
    read += list(reading)
    assert [seq for seq, _ in read] == list(range(1, len(world.records) + 2))
    store.close()


def test_a_folder_that_is_not_as_it_should_be(tmp_path: Path) -> None:
    world = made(20)
    store = stored(tmp_path, world)
    folder = tmp_path / "journal"
    seal(store, folder, SegmentLimits(rows=10, seconds=1e9), now=world.now)
    with _alone(folder, 0), pytest.raises(SealingAlready, match="another process"):
        seal(store, folder, SegmentLimits(), now=world.now)
    # Another folder begins where the store's records do.
    last = read_manifest(folder).last
    assert next(read_journal(tmp_path / "new", store))[0] == last + 1
    assert (
        seal(store, tmp_path / "new", SegmentLimits(seconds=0), now=world.now)[0].first == last + 1
    )
    store.begin()
    store.commit([Step((), (), (world.records[0],))], at=2)
    with pytest.raises(JournalGap, match="is missing"):
        list(read_journal(folder, store))
    with pytest.raises(JournalGap, match="is missing"):
        seal(store, folder, SegmentLimits(seconds=0), now=world.now)
    (folder / "manifest.json").write_text('{"version": 9}')
    with pytest.raises(BadManifest, match="version 9"):
        read_manifest(folder)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(BadManifest, match="cannot be used"):
        seal(store, folder, SegmentLimits(), now=world.now)
    store.close()


def test_sealing_in_a_process_of_its_own_beside_a_host(tmp_path: Path) -> None:
    world = made(40)
    store = stored(tmp_path, world)
    store.begin()  # it is the host's, and stays open
    folder = tmp_path / "journal"
    ran = subprocess.run(
        [sys.executable, "-m", "nomospace.store.segments", "--into", folder, "--rows=50", "--keep"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "NOMOSPACE_STORE": str(store.path)},
    )
    *lines, end = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["number"] for line in lines] == [1, 2]  # what is left is old enough too
    total = len(world.records)
    assert end == {"last": total, "gone": 0}
    # The host forgets what is sealed, with what it keeps next.
    assert len(store.journal(0, 1_000)) == total
    store.prune(end["last"])
    store.commit([Step((), (), (world.records[0],))], at=2)
    assert [entry.seq for entry in store.journal(0, 9)] == [total + 1]
    assert replay(record for _, record in read_journal(folder, store)) == world.states
    store.close()
    assert main(["--store", str(tmp_path), "--into", str(folder)]) == 1


@pytest.mark.parametrize("limit", [1, 700])
def test_a_journal_that_nobody_seals_is_bounded(tmp_path: Path, limit: int) -> None:
    store = SqliteStore(tmp_path / "ward.db")
    store.begin()
    store.keep_records(limit)
    record = made(0).records[0]
    for at in range(60):
        store.commit([Step((), (), (record,) * (100 if at % 7 else 900))], at=at)
        gone = store.last_record - len(store.journal(0, 10_000))
        assert store._forgotten - BUNDLE_MAX < gone <= store._forgotten  # rows go whole
    assert limit <= len(store.journal(0, 10_000)) <= limit + FORGET_FROM + 900 + BUNDLE_MAX
    assert store.journal(0, 10_000)[-1].seq == store.last_record
    store.close()
    store.begin()
    store.keep_records(limit)
    store.commit([Step((), (), (record,) * 3_000)], at=99)
    store.commit([], at=100)
    store.commit([], at=101)
    store.commit([], at=102)
    assert len(store.journal(0, 10_000)) <= limit + FORGET_FROM + BUNDLE_MAX
    store.close()


def test_memory_has_a_journal_too(tmp_path: Path) -> None:
    world = made(10)
    store = MemoryStore()
    store.begin()
    store.commit([Step((), (), tuple(world.records))], at=1)
    seal(store, tmp_path, SegmentLimits(seconds=0), now=world.now)
    assert list(read_journal(tmp_path, store)) == list(enumerate(world.decoded(), 1))
    assert encode_record(LawRecord("h", 1, "a", "b", "c"))[0] == 1


def test_a_host_with_short_lives_writes_checkpoints_too() -> None:
    """One that was taken over every few seconds had none in its last 200,000 records."""
    world = World(every=10)
    world.join("ann@x")
    for _ in range(20):
        world.begin_anew()
        for _ in range(3):
            world.send("ann@x", "more")
    records = world.decoded()
    begun = [at for at, one in enumerate(records) if isinstance(one, CheckpointRecord)]
    assert len(begun) == 1 + 6
    assert replay(records[begun[-1] :]) == world.states


def sealed_in(folder: Path, count: int, rows: int = 20) -> World:
    """The journal of a busy world, in segments of so many records."""
    world = World()
    for home in ("ann@x", "bob@x"):
        world.join(home)
    world.busy(count)
    store = MemoryStore()
    store.begin()
    store.commit([Step((), (), tuple(world.records))], at=1)
    seal(store, folder, SegmentLimits(rows=rows, seconds=0), now=world.now)
    return world


def test_the_oldest_segments_are_let_go_by_size_and_by_age_and_laws_stay(tmp_path: Path) -> None:
    world = sealed_in(tmp_path, 100)
    whole = read_manifest(tmp_path)
    assert (whole.gone, whole.first) == (0, 1)
    size = sum(sum(one.bytes.values()) for one in whole.segments)
    left = let_go(tmp_path, Retention(bytes=size // 2), now=world.now)
    assert let_go(tmp_path, Retention(bytes=size // 2), now=world.now) == left
    assert 0 < left.gone < left.last == whole.last
    kept = [one for one in whole.segments if one.first > left.gone]
    assert list(left.segments[1:]) == kept
    assert sum(sum(one.bytes.values()) for one in kept) <= size // 2
    names = {path.name for path in tmp_path.rglob("*.parquet")}
    assert names == {f"seg-{one.number:08d}.parquet" for one in left.segments}
    listing = list_journal(tmp_path)
    assert listing.faults == ()
    assert listing.rows["laws"] == 1
    # What is left can be audited: its rulings come out as they were, from the first checkpoint on.
    live = {home: member.snapshot() for home, member in world.members.items()}
    replayed = replay([record for _, record in read_journal(tmp_path, None)])
    assert {home: replayed[home, LAW.hash].state for home in live} == {
        home: snapshot.state for home, snapshot in live.items()
    }
    begin = read_segment(tmp_path, left.segments[3])[0][1]
    at = begin.ruling.at if isinstance(begin, EventRecord) else begin.at
    later = let_go(tmp_path, Retention(days=1), now=at + DAY_US)
    assert later.first == left.segments[3].first
    assert let_go(tmp_path, Retention(days=1), now=world.now + 2 * DAY_US).segments[1:] == (
        whole.segments[-1],
    )  # the newest stays


def test_what_somebody_needs_is_not_let_go(tmp_path: Path) -> None:
    world = sealed_in(tmp_path, 60)
    second = read_manifest(tmp_path).segments[1]
    hold(tmp_path, "audit", second.last)
    hold(tmp_path, "later", second.last + 5)
    assert let_go(tmp_path, Retention(bytes=1), now=world.now).gone == second.last
    with pytest.raises(RecordsLetGo, match=f"kept from record {second.last + 1} on"):
        hold(tmp_path, "stream", 1)
    assert holds(tmp_path) == {"audit": second.last, "later": second.last + 5}
    hold(tmp_path, "audit", None)
    (tmp_path / "holds" / "later").write_text("5x")  # who knows what it needs
    assert let_go(tmp_path, Retention(bytes=1), now=world.now).gone == second.last
    hold(tmp_path, "later", None)
    assert let_go(tmp_path, Retention(bytes=1), now=world.now).gone > second.last


def test_who_asks_for_records_that_were_let_go_is_told_from_where_to_read(tmp_path: Path) -> None:
    world = sealed_in(tmp_path, 60)
    reading = read_journal(tmp_path, None)
    next(reading)
    gone = let_go(tmp_path, Retention(bytes=1), now=world.now).gone
    with pytest.raises(RecordsLetGo, match=f"--after {gone}"):
        list(read_journal(tmp_path, None, after=1))
    with pytest.raises(RecordsLetGo):  # they went while it read
        list(reading)
    assert next(read_journal(tmp_path, None, after=gone))[0] == gone + 1
    assert isinstance(next(read_journal(tmp_path, None))[1], LawRecord)


@pytest.mark.parametrize("fatal", range(1, 5))
def test_who_dies_while_segments_are_let_go_leaves_a_whole_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fatal: int
) -> None:
    world = sealed_in(tmp_path, 60)
    steps = 0

    def dies(step: Any) -> Any:
        def taken(*given: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == fatal:
                raise KeyboardInterrupt
            return step(*given)

        return taken

    for name in ("open_file", "_remove_unknown"):
        monkeypatch.setattr(segments_module, name, dies(getattr(segments_module, name)))
    with pytest.raises(KeyboardInterrupt):
        let_go(tmp_path, Retention(bytes=1), now=world.now)
    monkeypatch.undo()
    assert list_journal(tmp_path).faults == ()
    left = let_go(tmp_path, Retention(bytes=1), now=world.now)
    assert left.gone > 0
    store = MemoryStore()
    store.begin()
    store.commit([Step((), (), tuple(world.records))], at=1)
    world.busy(5)
    store.commit([Step((), (), tuple(world.records[store.last_record :]))], at=2)
    (made,) = seal(store, tmp_path, SegmentLimits(seconds=0), now=world.now + 1)
    assert made.first == left.last + 1
    assert made.number > max(one.number for one in left.segments)
    assert list_journal(tmp_path).faults == ()
