"""A store over a PostgreSQL primary with a replica: what counts, and who is followed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import psycopg
import pytest

from nomospace.host.changes import AgentCame
from nomospace.protocols.lease import LeaseClaim
from nomospace.store.interface import BadStoreUrl, Step, StoreUnavailable
from nomospace.store.postgres import WRITES, PostgresStore
from tests.crash.replica import ReplicaServer, ReplicatedPostgres, replicated_postgres

HOLD_US = 1_000_000
TRIES = 50


@pytest.fixture(scope="module")
def servers() -> Iterator[ReplicatedPostgres]:
    """One pair for all; each test leaves it whole."""
    with replicated_postgres() as pair:
        yield pair


def _standing(url: str) -> PostgresStore:
    store = PostgresStore(url)
    store.claim = LeaseClaim(store.look(), "ward", HOLD_US)
    store.begin()
    return store


def _try(store: PostgresStore, agent: str) -> Step:
    step = Step((AgentCame(agent, 0),))
    store.commit([step], at=1)
    return step


def _again(store: PostgresStore, *steps: Step) -> None:
    """As a keeper does: what could not be kept is tried again first."""
    for _ in range(TRIES):
        with suppress(StoreUnavailable):
            store.commit(steps, at=1)
            return
    pytest.fail("it stayed away")


def _agents(server: ReplicaServer, schema: str) -> list[str]:
    with psycopg.connect(server.url) as plain:
        found = plain.execute(f"SELECT agent FROM {schema}.agents ORDER BY agent".encode())
        return [name for (name,) in found]


def _cancel_its_wait(server: ReplicaServer, name: str, how: str) -> None:
    """Wait until a session waits for the replica, and cancel that."""
    asked = (
        f"SELECT {how}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        f" AND application_name = '{name}'"
    )
    while not server.ask(asked):
        pass


def test_a_host_goes_on_when_its_database_fails_over(servers: ReplicatedPostgres) -> None:
    store = _standing(f"{servers.url}&schema=over")
    _try(store, "ann@ward")
    before = store.servers.timeline
    servers.fail_over()
    step = Step((AgentCame("bob@ward", 0),))
    with pytest.raises(StoreUnavailable):
        store.commit([step], at=1)  # its server is gone, and nobody knows what became of it
    _again(store, step)
    for _ in range(TRIES):
        with suppress(StoreUnavailable):
            store.renew()
            break
    assert store.servers.timeline == before + 1
    assert _agents(servers.primary, "over") == ["ann@ward", "bob@ward"]
    store.close()
    servers.rejoin()


@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_cancelled_wait_for_the_replica_is_no_acknowledgement(
    servers: ReplicatedPostgres, how: str
) -> None:
    """Nor is what is found of it on the primary, as long as the replica may not have it."""
    schema = how.split("_")[1]
    store = _standing(f"{servers.url}&schema={schema}")
    servers.replica.stop()
    step = Step((AgentCame("ann@ward", 0),))
    for _ in range(2):  # the second one looks for it, and finds it on one server
        cancel = Thread(target=_cancel_its_wait, args=(servers.primary, store.holder + WRITES, how))
        cancel.start()
        with pytest.raises(StoreUnavailable):
            store.commit([step], at=1)
        cancel.join()
        assert _agents(servers.primary, schema) == ["ann@ward"]
    servers.replica.start()
    _again(store, step)
    _again(store, Step((AgentCame("bob@ward", 0),)))
    servers.fail_over()
    assert _agents(servers.primary, schema) == ["ann@ward", "bob@ward"]
    store.close()
    servers.rejoin()


def test_a_lease_that_reached_one_server_is_neither_renewed_nor_taken(
    servers: ReplicatedPostgres,
) -> None:
    free = f"{servers.url}&schema=free"
    before = _standing(free)
    before.let_go()
    before.close()
    store = _standing(f"{servers.url}&schema=renewed")
    store.renew()
    servers.replica.stop()
    with pytest.raises(StoreUnavailable, match="wait timeout"):
        store.renew()  # no limit of the server's is on its wait
    taker = PostgresStore(free)
    taker.claim = LeaseClaim(taker.look(), "ward", HOLD_US)
    cancel = Thread(
        target=_cancel_its_wait,
        args=(servers.primary, taker.holder + WRITES, "pg_cancel_backend"),
    )
    cancel.start()
    with pytest.raises(StoreUnavailable, match="wait for the replica"):
        taker.begin()
    cancel.join()
    servers.replica.start()
    for one in (store, taker):
        one.close()


def test_the_primary_of_before_a_failover_is_not_followed(servers: ReplicatedPostgres) -> None:
    url = f"{servers.url}&schema=older"
    store = _standing(url)
    _try(store, "ann@ward")
    old = servers.primary
    alone = _standing(f"{old.url}?schema=alone")
    servers.promote()  # the old one is there, waits for nobody, and says that it is the primary
    for statement in ("ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"):
        old.ask(statement)
    fresh = PostgresStore(url)
    assert fresh.look().holder == store.holder
    assert fresh.servers.timeline == store.servers.timeline + 1
    store.servers.followed = alone.servers.followed = fresh.servers.followed
    _again(store, Step((AgentCame("bob@ward", 0),)))
    assert _agents(servers.primary, "older") == ["ann@ward", "bob@ward"]
    assert _agents(old, "older") == ["ann@ward"]
    with pytest.raises(
        StoreUnavailable, match=r"is on timeline \d+, behind \d+ which was followed"
    ):
        alone.commit([Step((AgentCame("cy@ward", 0),))], at=1)
    assert _agents(old, "alone") == []
    for one in (store, fresh, alone):
        one.close()
    servers.rejoin()


def test_a_replica_is_looked_at_but_takes_no_host(servers: ReplicatedPostgres) -> None:
    _standing(f"{servers.primary.url}?schema=looked").close()
    while not servers.replica.ask("SELECT to_regclass('looked.state')"):
        pass
    url = f"{servers.replica.url}?schema=looked"
    with pytest.raises(StoreUnavailable, match="is a replica, and takes no writes"):
        PostgresStore(url).look()
    looked = PostgresStore(url)
    looked.attach()
    assert list(looked.dump())
    looked.close()


def test_another_database_is_not_followed(servers: ReplicatedPostgres) -> None:
    store = PostgresStore(f"{servers.url}&schema=system")
    store.servers.followed = "17:1"
    with pytest.raises(StoreUnavailable, match=r"database system .* not of 17 which was followed"):
        store.look()


def test_servers_and_their_ports_are_counted() -> None:
    store = PostgresStore("postgresql://a,b,c/hosts?port=1,2")
    with pytest.raises(BadStoreUrl, match="3 servers and 2 ports"):
        store.look()
