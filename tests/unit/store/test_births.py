"""A store keeps its birth, and those of the peers that its numbers are for."""

import pytest

from nomospace.host.changes import (
    BirthLearnt,
    Change,
    ParcelGiven,
    ParcelPlaced,
    TransferGiven,
    TupleGone,
    TuplePut,
)
from nomospace.host.moving import Welcome
from nomospace.protocols.births import BEFORE
from nomospace.protocols.spaces import Migrated, Row
from nomospace.store import converting, sqlite
from nomospace.store.interface import Step
from tests.unit.store.engines import SQL, Engine, MakeEngine, engines
from tests.unit.store.test_trouble import before_logs, raw

__all__ = ["engines"]

KINDS = ("memory", *SQL)
GIFT = Migrated("box", "", Row(("gift", 1), "ann@a", 1, "ann@a", "bob@b"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_birth_is_given_once(kind: str, engines: MakeEngine) -> None:
    store = engines(kind).open()
    first, again = store.begin(birth=700), store.begin(birth=900)
    assert (first.birth, first.life) == (700, 1)
    assert (again.birth, again.life) == (700, 2)
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_with_one_that_was_born_again_begin_anew(kind: str, engines: MakeEngine) -> None:
    """In one step with what is given to it again; numbers with others stay."""
    store = engines(kind).open()
    store.begin(birth=700)
    before: list[Change] = [
        ParcelGiven(peer, number, Welcome(number)) for peer in "bc" for number in (1, 2)
    ]
    got: list[Change] = [ParcelPlaced("b", 5), ParcelPlaced("c", 6), TransferGiven("b", 1, GIFT)]
    store.commit([Step((BirthLearnt("b", 500, 700), *before, *got))], at=1)
    again = (ParcelGiven("b", 1, Welcome(2)), TransferGiven("b", 1, GIFT))
    store.commit([Step((BirthLearnt("b", 800, 700, anew=True), *again))], at=2)
    durable = store.begin().durable
    assert durable.births == {"b": (800, 700)}
    assert durable.parcels.waiting["b"] == {1: Welcome(2)}
    assert durable.parcels.waiting["c"] == {1: Welcome(1), 2: Welcome(2)}
    assert durable.parcels.numbers == {"b": 1, "c": 2}
    assert durable.parcels.placed == {"c": 6}
    assert (durable.transfers.waiting, durable.transfers.placed) == ({"b": {1: GIFT}}, {})
    store.close()


@pytest.mark.parametrize("kind", SQL)
def test_a_store_from_before_births_has_forgotten_nothing(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin(birth=700)
    store.commit([Step((ParcelGiven("b", 1, Welcome(1)),))], at=1)
    store.close()
    with raw(engine) as run:
        run("DROP TABLE births")
        run("ALTER TABLE state DROP COLUMN birth")
        before_logs(run)
        run("UPDATE state SET version = 2")
    if kind == "sqlite":
        cut_short(engine)
    store = engine.open()
    beginning = store.begin(birth=900)
    assert (beginning.birth, beginning.life) == (BEFORE, 2)
    assert beginning.durable.parcels.numbers == {"b": 1}
    assert list(store.inspect()) == []
    store.close()


@pytest.mark.parametrize("kind", SQL)
def test_a_store_from_before_suspensions_goes_on(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin(birth=700)
    store.commit([Step((ParcelGiven("b", 1, Welcome(1)),))], at=1)
    store.close()
    with raw(engine) as run:
        before_logs(run)
        run("UPDATE state SET version = 3")
    store = engine.open()
    beginning = store.begin(birth=900)
    assert (beginning.birth, beginning.life) == (700, 2)
    assert beginning.durable.parcels.numbers == {"b": 1}
    store.close()


@pytest.mark.parametrize("kind", SQL)
def test_a_store_with_columns_for_fields_gives_them_up(kind: str, engines: MakeEngine) -> None:
    """Version 4 had them, and an index where they had been asked."""
    engine = engines(kind)
    store = engine.open()
    store.begin()
    rows = [Row(("job", n), "ann@x", n, "ann@x", "ann@x") for n in (1, 2, 3)]
    store.commit([Step(tuple([TuplePut("jobs", row) for row in rows]))], at=1)
    store.begin()  # the tables catch up
    store.close()
    extra = ("doc",) if kind == "postgres" else ()
    with raw(engine) as run:
        for name in ("arity", "f0", "f1", "f2", "f3", *extra):
            run(f"ALTER TABLE tuples ADD COLUMN {name} TEXT")
        run("CREATE INDEX tuples_fields ON tuples (space, arity, f0, f1)")
        before_logs(run)
        run("UPDATE state SET version = 4")
    if kind == "sqlite":
        cut_short(engine, 4)
        with raw(engine) as run:
            run("SELECT f3 FROM tuples")  # it is as it was
    store = engine.open()
    store.begin()
    assert list(store.inspect()) == []
    assert [put.row for put in store.rows(0, 9)[0]] == rows
    store.commit([Step((TuplePut("jobs", rows[1]), TupleGone("jobs", ("ann@x", 1))))], at=2)
    assert list(store.begin().durable.tuples["jobs"].values()) == rows[1:]
    store.close()
    with raw(engine) as run:
        (found,) = run("SELECT * FROM tuples ORDER BY n LIMIT 1").fetchall()
    assert found[:4] == (2, "jobs", "ann@x", 2)
    assert len(found) == 5


def cut_short(engine: Engine, version: int = 2) -> None:
    """Bring a store up to date, and fail when all is done but the note of its version."""

    def fail(store: sqlite.SqliteStore) -> None:
        whole(store)
        raise RuntimeError("the power went out")

    whole = converting.SQLITE_STEPS[version]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(converting.SQLITE_STEPS, version, fail)
        store = engine.open()
        with pytest.raises(RuntimeError):
            store.begin(birth=800)
        store.close()
