"""Stores of older versions: 7 had all tuples in one table, 9 other marks of their fields."""

from __future__ import annotations

import msgspec
import pytest

from nomospace.host.changes import Change, TupleGone, TuplePut
from nomospace.protocols.spaces import Row
from nomospace.space.records import FIRST_ORDER
from nomospace.store.guarded import guard
from nomospace.store.interface import KeptForClient, Step
from nomospace.store.memory import MemoryStore
from nomospace.wire.changes import encode_row
from tests.unit.store.engines import SQL, MakeEngine, engines
from tests.unit.store.test_births import cut_short
from tests.unit.store.test_tables import answers
from tests.unit.store.test_trouble import raw

__all__ = ["engines"]

COLUMNS = ("width", "f0", "f1", "f2", "deep", "expires")


def row(count: int, deliveries: int = 0) -> Row:
    """A tuple; some are held by another, and some are for another."""
    cur, dest = ("bob@x" if count % 3 == 0 else "ann@x"), ("bob@x" if count % 4 == 0 else "ann@x")
    expires = count % 2 * count
    return Row(("job", count % 5, count), "ann@x", count, cur, dest, expires, deliveries=deliveries)


def put(count: int, order: int) -> TuplePut:
    """It is put in a space of the store engine."""
    return TuplePut("s", row(count), FIRST_ORDER + order)


@pytest.mark.parametrize("kind", SQL)
def test_a_store_of_version_7_is_converted_whole(kind: str, engines: MakeEngine) -> None:
    engine, plain = engines(kind), MemoryStore()
    plain.begin()
    store = engine.open()
    store.begin()
    first = [put(count, count) for count in range(1, 60)]
    loan = TuplePut("s", row(99, deliveries=1))
    first += [loan, TuplePut("plain", row(98))]
    for one in (store, plain):
        one.commit([Step(tuple(first))], at=1)
    store.begin()  # the tables catch up
    store.close()

    # What was put off: a tuple goes, one comes, one comes again, a loan comes back, and a push.
    puts = ((put(60, 60), 60), (put(7, 61), 61), (TuplePut("s", row(99, deliveries=1)), 62))
    later: list[Change] = [
        TupleGone("s", ("ann@x", 5), FIRST_ORDER + 5),
        TupleGone("s", ("ann@x", 7), FIRST_ORDER + 7),
    ]
    later += [TupleGone("s", ("ann@x", 99))]
    later += [TuplePut("s", one.row, FIRST_ORDER + order) for one, order in puts]
    gone = [("s", "ann@x", 5), ("s", "ann@x", 7)]
    bodies = [(FIRST_ORDER + order, "s", encode_row(one.row)) for one, order in puts]
    part: tuple[object, ...] = ([], [KeptForClient("ann@x", 1, b"push")], gone, bodies)
    plain.commit([Step(tuple(later))], at=2)
    with raw(engine) as run:
        for name in COLUMNS:
            run(f"ALTER TABLE tuples ADD COLUMN {name} BIGINT")
        for name in ("cur", "dest"):
            run(f"ALTER TABLE tuples ADD COLUMN {name} TEXT")
        for name in ("f0", "f1", "f2", "cur"):
            run(f"CREATE INDEX tuples_{name} ON tuples (space, {name}, n) WHERE {name} IS NOT NULL")
        run("CREATE INDEX tuples_space ON tuples (space, n) WHERE width IS NOT NULL")
        run(
            "INSERT INTO tuples SELECT n, space, writer, count, body, width, f0, f1, f2, deep,"
            " coalesce(expires, 0), coalesce(cur, writer), coalesce(dest, cur, writer) FROM stored"
        )
        run("DROP TABLE stored")
        run("DROP TABLE blocks")
        body = guard(b"\x01" + msgspec.msgpack.encode(part)).hex()
        run(f"INSERT INTO backlog VALUES (9, {hex_of(kind, body)})")
        run("UPDATE state SET version = 7")
    if kind == "sqlite":
        cut_short(engine, 7)
        with raw(engine) as run:
            assert run("SELECT count(*) FROM tuples WHERE width > 0").fetchall() == [(59,)]
    store = engine.open()
    beginning = store.begin()
    assert [kept.body for kept in beginning.outbox] == [b"push"]
    assert beginning.durable.tuples == {"plain": {("ann@x", 98): row(98)}}
    assert list(store.inspect()) == []
    assert answers(store, 0)[2:] == answers(plain, 0)[2:]
    store.close()


@pytest.mark.parametrize("kind", SQL)
def test_a_store_of_version_9_gets_other_marks(kind: str, engines: MakeEngine) -> None:
    engine, plain = engines(kind), MemoryStore()
    plain.begin()
    store = engine.open()
    store.begin()
    first = Step(tuple([put(count, count) for count in range(1, 60)]))
    for one in (store, plain):
        one.commit([first], at=1)
    store.begin()  # the tables catch up
    store.close()
    with raw(engine) as run:
        run("UPDATE stored SET f0 = 1, f1 = n, f2 = NULL")
        run("CREATE INDEX stored_f0 ON stored (space, f0, n) WHERE f0 IS NOT NULL")
        run("UPDATE state SET version = 9")
    if kind == "sqlite":
        cut_short(engine, 9)
        with raw(engine) as run:
            assert run("SELECT count(*) FROM stored WHERE f0 = 1").fetchall() == [(59,)]
    store = engine.open()
    store.begin()
    assert answers(store, 0)[2:] == answers(plain, 0)[2:]
    store.close()


def hex_of(kind: str, text: str) -> str:
    """Bytes as a word of SQL."""
    return f"'\\x{text}'" if kind == "postgres" else f"x'{text}'"
