"""What version 0.1 has kept is opened, served, replayed and restored by this one."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nomospace import ANY, a, show, t
from nomospace.control import Membership, RecordRuling, redo
from nomospace.law import load
from nomospace.law.budget import PRICES
from nomospace.store import sqlite
from nomospace.store.backup import BadBackup, restore_backup
from nomospace.store.interface import StoreTooNew
from nomospace.store.journal import EventRecord
from nomospace.store.opening import open_store
from nomospace.store.schema import VERSION
from nomospace.store.segments import read_journal
from nomospace.terms.templates import freeze_tuple
from nomospace.terms.values import as_compound
from nomospace.wire.segments import NewerManifest, decode_manifest
from nomospace.wire.talk import FOUND, read_found
from tests.crash.journals import read
from tests.crash.retold import retell
from tests.ports import free_port
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.raw import Raw
from tests.real.trust import Trust
from tests.recorded.make import KINDS, LEDGER, SESSION

HERE = Path(__file__).parent
STORED = ("ward", "icu")


@cache
def told() -> dict[str, Any]:
    """What was known when it was recorded."""
    facts: dict[str, Any] = json.loads((HERE / "0.1" / "told.json").read_text("utf-8"))
    return facts


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both hosts, as they were killed; nobody opens these."""
    folder = tmp_path_factory.mktemp("recorded")
    with tarfile.open(HERE / "0.1" / "hosts.tar.gz") as archive:
        archive.extraction_filter = lambda member, path: member  # not known before 3.11.4
        archive.extractall(folder)
    return folder / "hosts"


@pytest.fixture
def hosts(unpacked: Path, tmp_path: Path) -> Path:
    """A copy of the folder."""
    return Path(shutil.copytree(unpacked, tmp_path / "hosts"))


def store_of(folder: Path, name: str) -> str:
    return str(folder / f"{name}.db")


def dumped(path: str) -> list[str]:
    """All that is in a file of SQLite."""
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


def opened(url: str) -> tuple[Any, Any]:
    """What a host would begin with, and its tuples by space."""
    store = open_store(url)
    try:
        beginning = store.begin()
        return beginning, beginning.durable
    finally:
        store.close()


def states(durable: Any, law: str) -> dict[str, list[str]]:
    """The control states under a law, by the name of the member."""
    return {
        home.partition("@")[0]: [show(term) for _, term in redo(member.base, member.log).state]
        for (home, under), member in durable.members.items()
        if under == told()["laws"][law]
    }


def test_a_store_has_all_that_was_in_it(hosts: Path) -> None:
    beginning, ward = opened(store_of(hosts, "ward"))
    _, icu = opened(store_of(hosts, "icu"))
    rows = [row.fields for row in ward.tuples["jobs"].values()]
    assert rows[: len(KINDS)] == [freeze_tuple(fields) for fields in KINDS]
    assert {fields[0]: fields[1] for fields in rows[len(KINDS) :]} == {
        "later": 1,
        "for nobody": 2,
        "lent": 3,
    }
    assert [row.fields for row in ward.tuples["notes"].values()] == [("private", 5)]
    assert "scratch" not in ward.tuples
    assert set(ward.ontologies) == {told()["ontology"]}
    assert set(ward.laws) == set(told()["laws"].values())
    assert states(ward, "ledger")["ann"] == told()["states"]["ann"]
    assert states(icu, "ledger")["bob"] == ["balance(155)", "tags([])"]
    assert "inspector(fire)" in states(ward, "ap")["ann"]
    pending = redo(*_member(ward, "ann@ward", "ledger")).obligations
    assert [term for _, term, _ in pending] == [t.interest(5)]
    assert ward.transfers.pending["icu"] or ward.parcels.pending["icu"]
    assert {kept.agent.partition(" ")[2] for kept in beginning.outbox} >= {SESSION}


def _member(durable: Any, home: str, law: str) -> tuple[Any, Any]:
    member = durable.members[home, told()["laws"][law]]
    return member.base, member.log


def test_a_store_is_converted_whole_or_left_as_it_was(
    hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store_of(hosts, "ward")
    before = dumped(path)

    def cut_short(_: object) -> None:
        raise RuntimeError("the power went out")

    with monkeypatch.context() as patch:
        patch.setitem(sqlite._MIGRATIONS, VERSION - 1, cut_short)
        store = open_store(path)
        with pytest.raises(RuntimeError):
            store.begin()
        store.close()
    assert dumped(path) == before
    opened(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT version FROM state").fetchall() == [(VERSION,)]
        names = [row[1] for row in db.execute("PRAGMA table_info(tuples)")]
    assert names[:5] == ["n", "space", "writer", "count", "body"]


def test_a_journal_replays_with_the_same_rulings(hosts: Path) -> None:
    places = [(store_of(hosts, name), hosts / f"{name}-journal") for name in STORED]
    for place in places:
        assert read(*place).wrong == []
    retold = retell(places)
    assert retold.wrong == []
    assert retold.same == 42


def test_a_record_is_replayed_under_the_prices_of_its_time(hosts: Path) -> None:
    """What was within the budget of 0.1, and is not within today's, comes out as it did."""
    (sifted,) = [
        record.ruling
        for record in _records(hosts, "ward")
        if isinstance(record, EventRecord)
        and (record.ruling.rule, record.ruling.law) == ("R7", told()["laws"]["ledger"])
    ]
    assert (sifted.prices, sifted.stopped) == (1, None) != (PRICES, None)
    assert as_compound(sifted.event.args[1]).name == "sift"
    today = Membership(load(LEDGER), "ann@ward")
    ruled = today.rule_on(sifted.event, now=sifted.at)
    assert [effect.ruling.stopped for effect in ruled if isinstance(effect, RecordRuling)] == [
        "budget",
        None,
    ]


def _records(hosts: Path, name: str) -> Iterator[Any]:
    store = open_store(store_of(hosts, name))
    try:
        store.attach()
        for _, record in read_journal(hosts / f"{name}-journal", store):
            yield record
    finally:
        store.close()


def test_a_backup_is_restored(hosts: Path, tmp_path: Path) -> None:
    url = str(tmp_path / "again.db")
    restore_backup(hosts / "ward.backup", open_store(url))
    _, ward = opened(url)
    rows = [row.fields for row in ward.tuples["jobs"].values()]
    assert rows[: len(KINDS)] == [freeze_tuple(fields) for fields in KINDS]
    assert states(ward, "ledger")["ann"][1:] == told()["states"]["ann"][1:]


def test_hosts_serve_what_they_kept(hosts: Path) -> None:
    """The hosts start again with stores, trust and tokens of then, and go on where they stood."""
    trust = cast(Trust, SimpleNamespace(folder=hosts / "trust"))
    token, port = told()["token"], free_port()
    common = ("--trust", str(trust.folder))
    ward = RealHost("ward", hosts, *common, "--segments", "ward-journal", port=port)
    icu = RealHost("icu", hosts, *common, "--join", f"127.0.0.1:{port}")

    async def story() -> None:
        async with await Raw.client(ward, trust) as raw:
            welcome = await raw.hello("wes@ward", token=token, session=SESSION)
            assert welcome[5] is True, "the session of a client that died is known"
            answer = await raw.frame()
            assert answer[0] == FOUND
            assert read_found(answer).fields == ("result", 42)
        async with (
            caller(ward, trust, token=token) as at_ward,
            caller(icu, trust, token=token) as at_icu,
        ):
            ann = await at_ward.agent("ann@ward")
            jobs = await ann.space("jobs", shared=True)
            for fields in KINDS:
                assert await jobs.read_nowait(*fields) == freeze_tuple(fields)
            assert await jobs.take_nowait("lent", ANY) == ("lent", 3)
            beds = await ann.space("beds", shared=True, ontology=told()["ontology"])
            assert len(await beds.read_all("sale", a("Bed"))) == 1
            ledger = load(LEDGER)
            hers = ann.membership(ledger)
            assert hers is not None
            assert [show(term) for term in (await hers.standing()).state] == told()["states"]["ann"]
            bob = await at_icu.agent("bob@ward")
            his = await bob.space("jobs", shared=True)
            for fields in (("carried", 7), ("for bob", 8), ("under way", 9)):
                assert await his.take(*fields, timeout=60) == fields
            letters = bob.membership(ledger)
            assert letters is not None
            inbox = letters.inbox()
            paid = [(await asyncio.wait_for(anext(inbox), 120)).message for _ in range(2)]
            assert paid == [t.pay(5), t.pay(10)]

    start(ward, icu)
    try:
        play(story())
    finally:
        end(ward, icu)


def test_a_store_of_a_later_version_is_left_as_it_is(hosts: Path) -> None:
    path = store_of(hosts, "ward")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE state SET version = 99")
    before = dumped(path)
    with pytest.raises(StoreTooNew, match=rf"has version 99, and .* up to {VERSION}; upgrade"):
        open_store(path).begin()
    assert dumped(path) == before


def test_a_backup_and_a_journal_of_a_later_version_are_named(hosts: Path) -> None:
    backup, manifest = hosts / "ward.backup", hosts / "ward-journal" / "manifest.json"
    assert backup.read_bytes().startswith(b"nomospace backup 1\n")
    backup.write_bytes(backup.read_bytes().replace(b"backup 1", b"backup 9", 1))
    with pytest.raises(BadBackup, match="it has version 9, and this nomospace knows"):
        restore_backup(backup, open_store(str(hosts / "again.db")))
    later = manifest.read_bytes().replace(b'"version": 1', b'"version": 9')
    with pytest.raises(NewerManifest, match="it has version 9, and this nomospace knows"):
        decode_manifest(later, "ward-journal")
