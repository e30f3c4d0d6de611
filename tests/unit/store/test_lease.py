"""The lease of a store in PostgreSQL: who may begin, and what a commit checks."""

from __future__ import annotations

from contextlib import suppress

import psycopg
import pytest

from nomospace.host.changes import AgentCame
from nomospace.protocols.lease import LeaseClaim, LeaseStand, LeaseWatch, OlderStore, TakenOver
from nomospace.store.interface import Step, StoreInUse, StoreLeased, StoreUnavailable
from nomospace.store.postgres import WRITES, PostgresStore
from tests.servers import shared_postgres

HOLD_US = 1_000_000


@pytest.fixture
def postgres() -> str:
    """The URL of an empty database."""
    return shared_postgres().fresh()


def _standing(url: str) -> PostgresStore:
    """A process that stands for the host `ward`, and has the lease."""
    store = PostgresStore(url)
    store.claim = LeaseClaim(store.look(), "ward", HOLD_US)
    store.begin()
    return store


def _commit(store: PostgresStore, agent: str) -> None:
    """As a keeper does: what could not be reached is tried again."""
    step = Step((AgentCame(agent, 0),))
    for _ in range(5):
        with suppress(StoreUnavailable):
            store.commit([step], at=1)
            return
    pytest.fail("it stayed away")


def _renew(store: PostgresStore) -> None:
    with suppress(StoreUnavailable):
        store.renew()
        return
    store.renew()


def _agents(url: str) -> list[str]:
    store = PostgresStore(url)
    store.attach()
    try:
        with psycopg.connect(store.database) as plain:
            plain.execute(f"SET search_path = {store.schema}".encode())
            return [name for (name,) in plain.execute("SELECT agent FROM agents ORDER BY agent")]
    finally:
        store.close()


def _do(url: str, statement: str) -> None:
    store = PostgresStore(url)
    with psycopg.connect(store.database, autocommit=True) as plain:
        plain.execute(f"SET search_path = {store.schema}".encode())
        plain.execute(statement.encode())


def test_who_takes_the_lease_fences_off_who_had_it(postgres: str) -> None:
    old = _standing(postgres)
    _commit(old, "ann@ward")
    old.renew()
    new = _standing(postgres)
    for agent in ("bob@ward", "dan@ward"):  # whether the new one has committed anything or not
        with pytest.raises(TakenOver, match="token 2"):
            _commit(old, "cy@ward")
        _commit(new, agent)
    with pytest.raises(TakenOver, match="nothing of this one"):
        _renew(old)
    assert _agents(postgres) == ["ann@ward", "bob@ward", "dan@ward"]
    for store in (old, new):
        store.close()


def test_a_commit_that_was_begun_does_not_hold_the_next_one_up(postgres: str) -> None:
    """The old process stands still in the middle of its transaction, which has the row."""
    old = _standing(postgres)
    writer = old._write_with()
    writer.execute("BEGIN")
    writer.execute("UPDATE state SET batch = batch + 1")
    new = _standing(postgres)
    _commit(new, "bob@ward")
    with pytest.raises(psycopg.OperationalError):
        writer.execute("COMMIT")
    with pytest.raises(TakenOver):
        _commit(old, "cy@ward")
    assert _agents(postgres) == ["bob@ward"]
    for store in (old, new):
        store.close()


def test_of_two_that_saw_the_same_one_has_the_lease(postgres: str) -> None:
    first, second = PostgresStore(postgres), PostgresStore(postgres)
    for store in (first, second):
        store.claim = LeaseClaim(store.look(), "ward", HOLD_US)
    assert first.begin().life == 1
    with pytest.raises(TakenOver):
        second.begin()
    assert second.look() == first.look()
    second.claim = LeaseClaim(second.look(), "ward", HOLD_US)
    first.renew()  # it was late, and came all the same
    with pytest.raises(TakenOver):
        second.begin()
    _commit(first, "ann@ward")
    for store in (first, second):
        store.close()


def test_a_connection_that_is_cut_in_a_commit_doubles_nothing(postgres: str) -> None:
    store = _standing(postgres)
    _commit(store, "ann@ward")
    _do(postgres, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE application_name = '{store.holder}{WRITES}'")  # fmt: skip
    _commit(store, "bob@ward")
    _commit(store, "cy@ward")
    assert _agents(postgres) == ["ann@ward", "bob@ward", "cy@ward"]
    store.close()


def test_a_lease_that_is_let_go_is_free(postgres: str) -> None:
    store = _standing(postgres)
    assert store.look().holder == store.holder
    store.let_go()
    assert LeaseWatch("ward").saw(store.look(), now=0)
    store.close()


def test_a_host_without_a_standby_is_kept_out_and_keeps_others_out(postgres: str) -> None:
    standing, plain = _standing(postgres), PostgresStore(postgres)
    with pytest.raises(StoreInUse, match=standing.holder):
        plain.begin()
    standing.close()  # its session is over, and its lease may not be
    with pytest.raises(StoreLeased, match="--standby"):
        plain.begin()
    plain.close()
    last = _standing(postgres)
    last.let_go()
    last.close()
    plain = PostgresStore(postgres)
    assert plain.begin().life == 3
    standing.claim = LeaseClaim(standing.look(), "ward", HOLD_US)
    with pytest.raises(StoreInUse, match="nomospace"):
        standing.begin()
    standing.close()
    plain.close()


def test_an_older_database_is_not_followed(postgres: str) -> None:
    """A copy from before stands in its place: with fewer commits, or fewer lives."""
    for before in ("UPDATE state SET batch = batch - 1", "UPDATE state SET life = life - 1"):
        store = _standing(postgres)
        _commit(store, "ann@ward")
        _do(postgres, before)
        with pytest.raises(OlderStore, match="older copy"):
            _commit(store, "bob@ward")
        store.close()
        _do(postgres, "UPDATE lease SET token = 0, holder = ''")
    assert _agents(postgres) == ["ann@ward"]


def test_a_store_that_is_not_there_is_not_made_by_a_look(postgres: str) -> None:
    store = PostgresStore(f"{postgres}?schema=nobody")
    assert store.look() == LeaseStand()
    with psycopg.connect(store.database) as plain:
        assert not list(plain.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'nobody'"))
    store.close()
