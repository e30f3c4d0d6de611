"""What may go wrong with a store, and what is kept all the same."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from nomospace.errors import Unavailable
from nomospace.protocols.lease import TakenOver
from nomospace.store.interface import (
    BadStoreUrl,
    Step,
    Store,
    StoreDamaged,
    StoreFull,
    StoreInUse,
    StoreTooNew,
    StoreUnavailable,
)
from nomospace.store.opening import open_store
from nomospace.store.postgres import PostgresStore
from nomospace.store.sqlite import SqliteStore
from nomospace.terms import t
from tests.nursery import end_with_parent
from tests.servers import postgres_server
from tests.unit.store.changing import Author, told
from tests.unit.store.engines import SQL, Engine, MakeEngine, engines
from tests.unit.store.killed import step
from tests.unit.store.make_v0 import V0

__all__ = ["engines"]

ROUNDS = {"sqlite": 10, "postgres": 4}


def numbers(store: Store) -> int:
    """How many steps of `killed.step` are there: each whole, none twice, none left out."""
    beginning = store.begin()
    held = beginning.durable.tuples.get("jobs", {})
    there = len(held)
    assert list(held) == [("ann@x", n) for n in range(1, there + 1)]
    assert [kept.number for kept in beginning.outbox] == list(range(1, there + 1))
    records = [entry.record for entry in store.journal(0, 100_000)]
    assert records == [b"record %d" % n for n in range(1, there + 1)]
    return there


@pytest.mark.parametrize("kind", SQL)
def test_killed_at_any_moment_what_was_acknowledged_is_there(
    kind: str, engines: MakeEngine
) -> None:
    engine = engines(kind)
    rng = Random(8)
    acknowledged = 0
    with subprocess.Popen(
        [sys.executable, "-m", "tests.unit.store.killed", engine.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=end_with_parent,  # noqa: PLW1509 (it calls the kernel and no more)
    ) as hosts:
        assert hosts.stdin is not None
        assert hosts.stdout is not None
        for _ in range(ROUNDS[kind]):
            hosts.stdin.write(b"begin\n")
            hosts.stdin.flush()
            host = 0
            while True:
                what, _, number = hosts.stdout.readline().partition(b" ")
                if what == b"host":
                    host = int(number)
                elif what == b"kept":
                    acknowledged = int(number)
                    if host:  # it has begun to keep: it has some time left
                        time.sleep(rng.uniform(0, 0.03))
                        with suppress(ProcessLookupError):
                            os.kill(host, signal.SIGKILL)
                        host = 0
                else:
                    assert what == b"dead\n"
                    break
            store = engine.open()
            assert numbers(store) >= acknowledged
            store.close()
        hosts.stdin.close()
        hosts.wait(60)
    assert acknowledged > ROUNDS[kind]


# -- one host at a time -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SQL)
def test_a_second_host_is_told_who_has_the_store(
    kind: str, engines: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.store.postgres.LOCK_MS", 100)
    engine = engines(kind)
    first = engine.open()
    first.begin()
    second = engine.open()
    with pytest.raises(StoreInUse, match=f"in use by .*{os.getpid()}"):
        second.begin()
    first.commit([step(1)], at=1)
    reader = engine.open()
    reader.attach()  # readers come beside
    assert [entry.record for entry in reader.journal(0, 10)] == [b"record 1"]
    assert list(reader.inspect()) == []
    first.close()
    first.close()  # twice is harmless
    assert second.begin().life == 2
    with pytest.raises(StoreUnavailable, match="closed"):
        first.journal(0, 1)


@pytest.mark.parametrize("kind", SQL)
def test_a_store_of_a_later_version_is_left_alone(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    store.close()
    with raw(engine) as run:
        run("UPDATE state SET version = 99")
    with pytest.raises(StoreTooNew, match=r"version 99.*up to 11; upgrade"):
        engine.open().begin()


def test_an_older_store_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as db:
        db.executescript(V0.read_text())
    db.close()
    store = SqliteStore(path)
    beginning = store.begin()
    durable = beginning.durable
    assert (beginning.life, beginning.last_at, beginning.clock) == (4, 1_700_000_000_000_000, ())
    assert [row.fields for row in durable.tuples["jobs"].values()] == [
        ("job", 1, t.room(3)),
        ("job", 2.5, None),
        ("x" * 100,),
    ]
    member = durable.members["ann@x", "4c1f"]
    assert [ruling.seq for ruling in member.log] == [8]
    assert durable.laws["4c1f"].text == "% a law"
    assert (durable.agents, durable.floor) == ({"ann@x": 4}, 5)
    assert len(beginning.outbox) == 1
    assert [entry.record for entry in store.journal(0, 9)] == [b"one", b"two"]
    assert list(store.inspect()) == []
    store.commit([step(4)], at=1)
    assert store.journal(2, 9)[0].seq == 3
    store.close()
    again = SqliteStore(path)
    assert again.begin().life == 5
    again.close()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://localhost", "no store of the kind 'redis'"),
        ("sqlite:", "a file's path is missing"),
        ("/tmp/", "a file's path is missing"),
        (":memory:", "say `memory`"),
        ("postgresql://u:secret@h/db?schema=No;", "a schema has a name"),
        ("postgresql://", "no address of a database"),
        ("postgresql://u:secret@h/db?nosuch=1", "nosuch"),
        ("postgresql://u:secret@[::/db", "Invalid IPv6 URL"),
        ("postgresql://u:secret@h:none/db", "'none' is no port"),
        ("postgresql://u:sec ret@h/db", "spaces|no address"),
    ],
)
def test_a_url_that_names_no_store(url: str, why: str) -> None:
    with pytest.raises(BadStoreUrl, match=why) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


# -- damage -------------------------------------------------------------------------------------


@contextmanager
def raw(engine: Engine) -> Iterator[Any]:
    """A hand in the tables."""
    if engine.kind == "sqlite":
        db = sqlite3.connect(engine.url, isolation_level=None)
        yield db.execute
        db.close()
        return
    url, _, schema = engine.url.partition("?schema=")
    with psycopg.connect(url, autocommit=True, options=f"-c search_path={schema}") as connection:
        yield lambda sql, *params: connection.execute(sql.encode(), *params)


def before_logs(run: Callable[..., Any]) -> None:
    """What version 7 brought is not there yet."""
    run("ALTER TABLE members DROP COLUMN since")
    run("ALTER TABLE state DROP COLUMN needed")


@contextmanager
def flipped(engine: Engine, table: str, column: str) -> Iterator[None]:
    """A bit in a body of a table is flipped, and mended afterwards."""
    mark = "?" if engine.kind == "sqlite" else "%s"
    update = f"UPDATE {table} SET {column} = {mark} WHERE {column} = {mark}"
    with raw(engine) as run:
        found = run(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
        body = bytes(found[0][0])
        other = body[:5] + bytes([body[5] ^ 1]) + body[6:]
        run(update, (other, body))
        yield
        run(update, (body, other))


BODIES = [
    ("tuples", "body"),
    ("programs", "body"),
    ("programs", "state"),
    ("spaces", "body"),
    ("members", "body"),
    ("rulings", "body"),
    ("given", "body"),
    ("routing", "body"),
    ("laws", "body"),
    ("outbox", "body"),
    ("journal", "body"),
]


def filled(store: Store) -> Author:
    """A store with something in every table."""
    author = Author(Random(3))
    store.begin()
    changes = [author.came(), author.opened(), author.put()]
    kinds = "joined ruled transfer parcel routed folded routed law floor".split()
    for change in changes:
        author.model.apply(change)
    for kind in kinds:
        changes.append(getattr(author, kind)())
        author.model.apply(changes[-1])
    while not author.model.programs:
        changes.append(author.program())
        author.model.apply(changes[-1])
    store.commit([Step(tuple(changes), step(1).outbox, step(1).records)], at=1)
    return author


@pytest.mark.parametrize("kind", SQL)
def test_what_is_damaged_is_named_and_not_dropped(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    author = filled(store)
    assert list(store.inspect()) == []
    with flipped(engine, "backlog", "body"):
        with pytest.raises(StoreDamaged, match=r"damaged at backlog \d+: .*checksum.*doctor"):
            store.begin()
        (finding,) = list(store.inspect())
        assert (finding.table, finding.what) == ("backlog", "its checksum does not fit")
    store.begin()  # the tables catch up
    for table, column in BODIES:
        with flipped(engine, table, column):
            with pytest.raises(StoreDamaged, match=rf"damaged at {table} .*checksum.*doctor"):
                store.begin() if table != "journal" else store.journal(0, 10)
            (finding,) = list(store.inspect())
            assert (finding.table, finding.what) == (table, "its checksum does not fit")
            assert finding.key
    assert told(store.begin().durable) == told(author.model)


@pytest.mark.parametrize("kind", SQL)
def test_a_column_that_was_altered_is_found(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    filled(store)
    store.begin()  # the tables catch up
    with raw(engine) as run:
        run("UPDATE tuples SET count = count + 60")
        run("DELETE FROM members")
    words = [str(finding) for finding in store.inspect()]
    assert len(words) == 2
    assert "its columns do not fit its body" in words[0]
    assert "its membership is missing" in words[1]
    with pytest.raises(StoreDamaged, match="its membership is missing"):
        store.begin()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are my notes, and no database\n" * 100)
    with pytest.raises(StoreDamaged, match="not a database"):
        SqliteStore(text).begin()
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE things (a)")
    db.close()
    with pytest.raises(StoreDamaged, match="some other database"):
        SqliteStore(other).begin()
    with pytest.raises(StoreUnavailable, match=r"File exists|Not a directory"):
        SqliteStore(text / "ward.db").begin()


def test_a_page_that_is_gone_is_found(tmp_path: Path) -> None:
    path = tmp_path / "ward.db"
    store = SqliteStore(path)
    store.begin()
    store.commit([step(n) for n in range(1, 60)], at=1)
    store.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(os.urandom(4096))
    store = SqliteStore(path)
    store.attach()
    assert list(store.inspect())
    with pytest.raises(StoreDamaged, match="malformed"):
        store.begin()
    store.close()


# -- no room ------------------------------------------------------------------------------------


def test_a_full_disk_stops_and_resumes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ward.db")
    store.begin()
    store.commit([step(1)], at=1)
    writer = store._writer
    assert writer is not None
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages + 1}")
    steps = [step(n) for n in range(2, 40)]
    store.trim("bob@y", 0)
    for _ in range(2):
        with pytest.raises(StoreFull, match=r"full .*nothing is acknowledged"):
            store.commit(steps, at=2)
    assert issubclass(StoreFull, Unavailable)
    writer.execute("PRAGMA max_page_count = 100000")
    store.commit([*steps, step(40)], at=3)
    store.close()
    again = SqliteStore(tmp_path / "ward.db")
    assert numbers(again) == 40
    again.close()


def test_a_full_server_stops_and_resumes(engines: MakeEngine) -> None:
    engine = engines("postgres")
    store = engine.open()
    store.begin()
    store.commit([step(1)], at=1)
    with raw(engine) as run:
        run(
            "CREATE FUNCTION full_() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$"
        )
        run("CREATE TRIGGER no_room BEFORE INSERT ON journal EXECUTE FUNCTION full_()")
        for _ in range(2):
            with pytest.raises(StoreFull, match="could not extend file"):
                store.commit([step(2), step(3)], at=2)
        run("DROP TRIGGER no_room ON journal")
    store.commit([step(2), step(3)], at=3)
    store.close()
    assert numbers(engine.open()) == 3


# -- a server that goes away ----------------------------------------------------------------------


class Cut:
    """A connection that breaks at the end of the next commit, after the server did it or before."""

    def __init__(self, store: PostgresStore, *, done: bool) -> None:
        writer = store._writer
        assert writer is not None
        pipeline = writer.pipeline

        @contextmanager
        def breaking() -> Iterator[None]:
            if done:
                with pipeline():
                    yield
                writer.close()
            else:
                with pipeline():
                    yield
                    writer.pgconn.finish()
            raise psycopg.OperationalError("the network was cut")

        writer.pipeline = breaking  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize("done", [True, False])
def test_a_commit_of_unknown_fate_is_not_done_twice(done: bool, engines: MakeEngine) -> None:
    engine = engines("postgres")
    store = engine.open()
    assert isinstance(store, PostgresStore)
    store.begin()
    store.commit([step(1)], at=1)
    steps = [step(2), step(3)]
    Cut(store, done=done)
    with pytest.raises(StoreUnavailable, match=r"cut|closed|lost"):
        store.commit(steps, at=2)
    store.trim("nobody@x", 1)
    store.commit([*steps, step(4)], at=3)
    store.commit([step(5)], at=4)
    store.close()
    assert numbers(engine.open()) == 5


def test_a_host_that_was_away_too_long_does_not_go_on(engines: MakeEngine) -> None:
    engine = engines("postgres")
    first = engine.open()
    assert isinstance(first, PostgresStore)
    first.begin()
    assert first._writer is not None
    first._writer.close()  # its connection breaks, and another host begins meanwhile
    second = engine.open()
    second.begin()
    second.commit([step(1)], at=1)
    second.close()
    with pytest.raises(TakenOver, match="token 2, this one had 1"):
        first.commit([step(1)], at=1)


def wait_for_more(things: Sized) -> None:
    before, until = len(things), time.monotonic() + 60
    while len(things) == before:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_server_that_goes_away_and_returns() -> None:
    with postgres_server() as server:
        store = open_store(server.url)
        store.begin()
        stop = threading.Event()
        kept: list[Step] = []
        failures: list[StoreUnavailable] = []

        def busy() -> None:
            while not stop.is_set():
                steps = [step(len(kept) + i) for i in range(1, 6)]
                until = time.monotonic() + 120
                while time.monotonic() < until:
                    try:
                        store.commit(steps, at=len(kept))
                    except StoreUnavailable as error:
                        failures.append(error)
                        time.sleep(0.02)
                    else:
                        kept.extend(steps)
                        break

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            for how in (signal.SIGKILL, signal.SIGINT):
                wait_for_more(kept)
                server.stop(how)
                wait_for_more(failures)
                server.start()
            wait_for_more(kept)
        finally:
            stop.set()
            thread.join(60)
        store.close()
        assert len(failures) > 1
        again = open_store(server.url)
        assert numbers(again) == len(kept) > 0
        again.close()


def test_memory_is_a_store_too() -> None:
    store = open_store("memory")
    author = filled(store)
    assert told(store.begin().durable) == told(author.model)
    store.close()
