"""What is put off is there all the same: for whoever looks on, after a crash, and in the end."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from nomospace.host.changes import AgentCame, Durable, TupleGone, TuplePut
from nomospace.protocols.spaces import Row
from nomospace.store import backlog, sql as sql_store
from nomospace.store.backlog import ROWS_MAX, decode_part, encode_part
from nomospace.store.interface import Header, KeptForClient, Step
from nomospace.wire.changes import BadRecord, encode_row
from tests.unit.store.changing import Author, told
from tests.unit.store.engines import SQL, Engine, MakeEngine, engines
from tests.unit.store.test_trouble import before_logs, raw

__all__ = ["engines"]


def put(n: int) -> TuplePut:
    """A tuple of ann's."""
    return TuplePut("jobs", Row(("job", n), "ann@x", n, "ann@x", "ann@x"))


def seen_by_others(engine: Engine) -> tuple[Durable, dict[int, bytes]]:
    """A host's state and its pushes, as a dump beside it has them."""
    beside = engine.open()
    beside.attach()
    durable = Durable()
    outbox: dict[int, bytes] = {}
    for part in beside.dump():
        if isinstance(part, Header):
            continue
        for change in part.changes:
            durable.apply(change)
        outbox |= {kept.number: kept.body for kept in part.outbox}
    beside.close()
    return durable, outbox


def count(engine: Engine, table: str) -> int:
    """How many rows a table has."""
    with raw(engine) as run:
        return int(run(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.parametrize("stay", [0, 4, 1_000])
@pytest.mark.parametrize("kind", SQL)
def test_whoever_looks_on_sees_what_was_committed(
    kind: str, stay: int, engines: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_store, "ROWS_MAX", 25)
    monkeypatch.setattr(backlog, "GONE_MAX", stay)
    monkeypatch.setattr(backlog, "FEW", 2)
    engine = engines(kind)
    rng = Random(4)
    author = Author(rng)
    outbox: dict[int, bytes] = {}
    store = engine.open()
    store.begin()
    put_off = []
    for n in range(1, 30):
        if rng.random() < 0.4:
            seen = rng.randint(n - 5, n - 1)
            store.trim("ann@x", seen)
            outbox = {number: body for number, body in outbox.items() if number > seen}
        outbox[n] = b"push %d" % n
        changes = tuple([author.change() for _ in range(6)])
        kept = (KeptForClient("ann@x", n, outbox[n]),)
        store.commit([Step(changes, kept, counts={"counted": n})], at=n)
        durable, pushes = seen_by_others(engine)
        assert told(durable)["tuples"] == told(author.model)["tuples"]
        assert durable.agents == author.model.agents
        assert durable.small.pop("counted") == b"%d" % n
        assert pushes == outbox
        put_off.append(count(engine, "backlog"))
    assert (1 if stay else 0) in put_off[8:]
    assert max(put_off) > 1
    store.begin()
    assert count(engine, "backlog") == 0
    durable = store.begin().durable
    assert durable.small.pop("counted") == b"29"
    assert told(durable) == told(author.model)


def test_tables_forget_tuples_in_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "GONE_MAX", 4)
    monkeypatch.setattr(backlog, "FEW", 1)
    left = backlog.Backlog()

    def forgotten(*keys: tuple[str, int], again: int = 0) -> list[tuple[str, int]]:
        """What the tables forget when some more have gone, and one has come again."""
        nonlocal left
        part = backlog.CommitPart(gone={("jobs", writer, n): None for writer, n in keys})
        if again:
            row = put(again).row
            part.puts["jobs", "ann@x", again] = (1, row, encode_row(row))
        late = left.joined(part)
        body = late.sweep()
        assert late.rest is not None
        left = late.rest
        assert len(decode_part(body).gone if body else ()) <= 4
        goes = dict(late.runs()).get("tuple gone", [])
        return [(writer, int(n or 0)) for _, writer, n in goes if isinstance(writer, str)]

    ann, bob = "ann@x", "bob@x"
    assert forgotten((ann, 50), (ann, 10), (ann, 30)) == []
    assert forgotten((ann, 20), (bob, 5), (ann, 40)) == [(ann, 10), (ann, 20)]
    assert forgotten((ann, 9), (ann, 35)) == [(ann, 30), (ann, 35)]
    assert forgotten((ann, 60), (ann, 8), (ann, 9)) == [(ann, 40), (ann, 50)]
    assert forgotten((bob, 4), (bob, 6)) == [(ann, 60), (bob, 4)]
    assert forgotten((bob, 3)) == [(bob, 5)]
    assert forgotten(again=9) == [(ann, 9)]
    assert forgotten((ann, 9), (ann, 7)) == [(bob, 6)]


def test_of_a_writer_with_few_tuples_none_stays_behind() -> None:
    many = [("jobs", "ann@x", n) for n in range(backlog.FEW)]
    few = [("jobs", "bob@x", n) for n in range(1, backlog.FEW)]
    late = backlog.Backlog().joined(backlog.CommitPart(gone=dict.fromkeys([*many, *few])))
    assert list(decode_part(late.sweep()).gone) == many
    assert dict(late.runs())["tuple gone"] == few


@pytest.mark.parametrize("kind", SQL)
def test_a_tuple_that_is_not_forgotten_yet_may_come_again(
    kind: str, engines: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_store, "ROWS_MAX", 20)
    engine = engines(kind)
    store = engine.open()
    store.begin()
    store.commit([Step(tuple([put(n) for n in range(1, 41)]))], at=1)
    gone = [TupleGone("jobs", ("ann@x", n)) for n in range(1, 31)]
    store.commit([Step(tuple(gone))], at=2)
    assert (count(engine, "tuples"), count(engine, "backlog")) == (40, 1)
    store.commit([Step((put(7), put(9), gone[8]))], at=3)
    store.commit([Step(tuple([put(n) for n in range(41, 71)]))], at=4)
    assert (count(engine, "tuples"), count(engine, "backlog")) == (70, 1)
    there = [("ann@x", n) for n in (*range(31, 41), 7, *range(41, 71))]
    assert list(seen_by_others(engine)[0].tuples["jobs"]) == there
    assert list(store.begin().durable.tuples["jobs"]) == there
    assert (count(engine, "tuples"), count(engine, "backlog")) == (len(there), 0)


@pytest.mark.parametrize("kind", SQL)
def test_what_comes_and_goes_is_never_in_its_table(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    for n in range(1, 50):
        store.commit([Step((put(n),))], at=n)
        store.commit([Step((TupleGone("jobs", ("ann@x", n - 1)),))], at=n)
    assert (count(engine, "tuples"), count(engine, "backlog")) == (0, 98)
    tuples = store.begin().durable.tuples["jobs"]
    assert [row.fields for row in tuples.values()] == [("job", 49)]
    assert (count(engine, "tuples"), count(engine, "backlog")) == (1, 0)


@pytest.mark.parametrize("kind", SQL)
def test_a_host_that_loads_gets_what_is_still_there(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    store.commit([Step(tuple([put(n) for n in range(1, 7)]))], at=1)
    store.begin(tuples=False)
    first, after = store.rows(0, 2)
    assert after is not None
    altered = TuplePut("jobs", Row(("job", 40), "ann@x", 4, "ann@x", "ann@x"))
    gone = [TupleGone("jobs", ("ann@x", n)) for n in (3, 5)]
    store.commit([Step((*gone, altered, put(5), put(7)))], at=2)
    rest, after = store.rows(after, 2)
    assert after is not None
    last, after = store.rows(after, 9)
    assert after is None
    assert [one.row.fields[1] for one in (*first, *rest, *last)] == [1, 2, 40, 6]


@pytest.mark.parametrize("kind", SQL)
def test_a_large_commit_is_not_written_twice(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    store.commit([Step((put(n),)) for n in range(1, ROWS_MAX + 10)], at=1)
    assert (count(engine, "tuples"), count(engine, "backlog")) == (ROWS_MAX + 9, 0)
    big = [
        TuplePut("jobs", Row((b"x" * 999_000,), "bob@x", n, "bob@x", "bob@x")) for n in range(1, 7)
    ]
    store.commit([Step((big[0],))], at=2)
    assert (count(engine, "tuples"), count(engine, "backlog")) == (ROWS_MAX + 9, 1)
    store.commit([Step(tuple(big[1:]))], at=3)
    assert (count(engine, "tuples"), count(engine, "backlog")) == (ROWS_MAX + 15, 0)
    assert list(store.inspect()) == []


@pytest.mark.parametrize("kind", SQL)
def test_a_store_without_a_backlog_gets_one(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    store.commit([Step((put(1),))], at=1)
    store.begin()
    store.close()
    with raw(engine) as run:
        run("DROP TABLE backlog")
        run("DROP TABLE births")
        run("ALTER TABLE state DROP COLUMN birth")
        before_logs(run)
        run("UPDATE state SET version = 1")
    store = engine.open()
    assert len(store.begin().durable.tuples["jobs"]) == 1
    store.commit([Step((put(2),))], at=2)
    assert count(engine, "backlog") == 1
    assert [row.fields for row in store.begin().durable.tuples["jobs"].values()] == [
        ("job", 1),
        ("job", 2),
    ]
    store.close()


def test_a_file_that_nobody_has_open_needs_no_backlog(engines: MakeEngine) -> None:
    engine = engines("sqlite")
    store = engine.open()
    store.begin()
    store.commit([Step((put(1),))], at=1)
    assert count(engine, "backlog") == 1
    store.close()
    assert (count(engine, "tuples"), count(engine, "backlog")) == (1, 0)


def test_a_part_of_the_version_before_is_read() -> None:
    body = encode_row(put(3).row)
    kept, gone = [("ann@x", 7, b"push")], [("jobs", "ann@x", 2)]
    old = b"\x02" + msgspec.msgpack.encode(
        ([("bob@x", 5)], kept, gone, [(9, "jobs", body)], [("logs", 4)], [])
    )
    part = decode_part(old)
    assert part.trims == [("bob@x", 5)]
    assert part.kept == [KeptForClient("ann@x", 7, b"push")]
    assert (list(part.gone), list(part.left)) == (gone, [("logs", 4)])
    assert part.puts == {("jobs", "ann@x", 3): (9, put(3).row, body)}
    again = decode_part(encode_part(part))
    assert (again.kept, again.gone, again.puts) == (part.kept, part.gone, part.puts)


@pytest.mark.parametrize("data", [b"", b"\x02\x94\x90\x90\x90\x90", b"\x01\x93", b"\x01\xc1"])
def test_a_part_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(BadRecord, match="part of the backlog"):
        decode_part(data)


@pytest.mark.parametrize("kind", SQL)
def test_an_older_tuple_that_is_put_anew_takes_no_number_back(
    kind: str, engines: MakeEngine
) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    for step in ((AgentCame("ann@x", 0), put(3), put(10)), (put(3), AgentCame("ann@x", 0))):
        store.commit([Step(step)], at=1)
    store.close()
    again = engine.open()
    assert again.begin().durable.agents == {"ann@x": 10}
    again.close()
