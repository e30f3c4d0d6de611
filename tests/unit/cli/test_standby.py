"""`nomospace host run --standby`: what is refused, in words, with nothing written."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from nomospace.protocols.lease import LeaseClaim, LeaseStand
from nomospace.store.backup import write_backup
from nomospace.store.postgres import PostgresStore
from tests import nursery
from tests.servers import shared_postgres


def _refused(folder: Path, *arguments: str) -> str:
    """What a host says that does not start; its exit code must say that the caller is to mend."""
    return _says_no(folder, "host", "run", *arguments, "--insecure", "--listen", "127.0.0.1:0")


def _says_no(folder: Path, *given: str) -> str:
    log = folder / "log"
    with log.open("wb") as file, nursery.start([*given], folder=folder, log=file) as child:
        assert child.wait(60) == 2, log.read_text()
    return log.read_text()


def _stand(url: str) -> LeaseStand:
    store = PostgresStore(url)
    try:
        return store.look()
    finally:
        store.close()


@pytest.fixture
def ward() -> str:
    """A store that a process of host `ward` has left without a word."""
    store = PostgresStore(shared_postgres().fresh())
    store.claim = LeaseClaim(store.look(), "ward", 500_000)
    store.begin()
    store.close()
    return store.database


def test_a_standby_needs_a_store_that_others_reach(tmp_path: Path) -> None:
    assert "--standby: several processes stand" in _refused(tmp_path, "ward", "--standby")
    said = _refused(tmp_path, "ward", "--standby", "--store", "postgresql://x", "--takeover-s", "1")
    assert "from 2 to 600 seconds" in said
    assert not list(tmp_path.glob("*.db"))


@pytest.mark.parametrize(
    ("name", "how", "statement", "words"),
    [
        ("icu", ["--standby"], "", "the store is that of host 'ward'"),
        ("ward", [], "", "start this host with --standby"),
        ("ward", ["--standby"], "UPDATE lease SET token = 7", "has only come to 1"),
        ("ward", ["--standby"], "UPDATE state SET version = 99", "upgrade nomospace"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    ward: str, name: str, how: list[str], statement: str, words: str, tmp_path: Path
) -> None:
    with psycopg.connect(ward, autocommit=True) as plain:
        plain.execute("SET search_path = nomospace")
        if statement:
            plain.execute(statement.encode())
        rows = "SELECT * FROM state, lease"
        before = plain.execute(rows.encode()).fetchall()
        assert words in _refused(tmp_path, name, "--store", ward, *how)
        assert plain.execute(rows.encode()).fetchall() == before
    assert "99" in statement or _stand(ward).token == 1


def test_a_backup_is_not_restored_beside_a_living_host(tmp_path: Path) -> None:
    """Nor where one that others stand for has left its lease; what is there stays as it is."""
    url = shared_postgres().fresh()
    living = PostgresStore(url)
    living.claim = LeaseClaim(living.look(), "ward", 500_000)
    living.begin()
    write_backup(living, tmp_path / "ward.backup")
    before = _stand(url)
    told = ("restore", str(tmp_path / "ward.backup"), "--store", url)
    assert living.holder in _says_no(tmp_path, *told)
    living.close()
    assert f"under the lease of {living.holder}" in _says_no(tmp_path, *told)
    assert _stand(url) == before
