"""What earlier versions have kept is opened, served, replayed and restored by this one.

`0.1` is what that version kept, and each `store-N` what the last with that format of stores has.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nomospace import ANY, a, show, t
from nomospace.control import Membership, RecordRuling, redo
from nomospace.host.changes import TuplePut
from nomospace.law import load
from nomospace.law.budget import PRICES
from nomospace.pipeline.stream.state import ROWS, Memory
from nomospace.store import converting
from nomospace.store.backup import BadBackup, restore_backup
from nomospace.store.interface import Step, StoreTooNew
from nomospace.store.journal import EventRecord
from nomospace.store.opening import open_store
from nomospace.store.schema import VERSION
from nomospace.store.segments import read_journal
from nomospace.terms import Term
from nomospace.terms.templates import freeze_tuple
from nomospace.terms.values import as_compound
from nomospace.wire.segments import NewerManifest, decode_manifest
from nomospace.wire.talk import FOUND, REPLY, read_found
from tests.crash.journals import read
from tests.crash.retold import retell
from tests.ports import free_port
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.raw import Raw
from tests.real.trust import Trust
from tests.recorded.make import KINDS, LEDGER, SESSION

HERE = Path(__file__).parent
STORED = ("ward", "icu")


FORMATS = sorted([folder.parent.name for folder in HERE.glob("*/told.json")])
BOXES = [number for number in range(20) if number != 3]
"""What lies in the store engine, """
STORELESS = ("0.1", "store-4", "store-5")
"""where there was one."""
LIVED = ("0.1", "store-7", f"store-{VERSION}")
"""Those that hosts are started with: the first, the last before tables of their own, the newest."""


class Kept:
    """The folder of both hosts, as they were killed, and what was known when it was recorded."""

    def __init__(self, of: str, folder: Path) -> None:
        with tarfile.open(HERE / of / "hosts.tar.gz") as archive:
            archive.extraction_filter = lambda member, path: member  # not known before 3.11.4
            archive.extractall(folder)
        self.of = of
        self.folder = folder / "hosts"
        self.told: dict[str, Any] = json.loads((HERE / of / "told.json").read_text("utf-8"))

    def store(self, name: str) -> str:
        return str(self.folder / f"{name}.db")

    def states(self, durable: Any, law: str) -> dict[str, list[str]]:
        """The control states under a law, by the name of the member."""
        return {
            home.partition("@")[0]: [show(term) for _, term in redo(member.base, member.log).state]
            for (home, under), member in durable.members.items()
            if under == self.told["laws"][law]
        }

    def member(self, durable: Any, home: str, law: str) -> tuple[Any, Any]:
        member = durable.members[home, self.told["laws"][law]]
        return member.base, member.log


@pytest.fixture(params=["0.1"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """What a version has kept; 0.1 where a test names none."""
    return Kept(request.param, tmp_path)


every_format = pytest.mark.parametrize("kept", FORMATS, indirect=True)


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


@every_format
def test_a_store_has_all_that_was_in_it(kept: Kept) -> None:
    beginning, ward = opened(kept.store("ward"))
    _, icu = opened(kept.store("icu"))
    rows = [row.fields for row in ward.tuples["jobs"].values()]
    assert rows[: len(KINDS)] == [freeze_tuple(fields) for fields in KINDS]
    assert {fields[0]: fields[1] for fields in rows[len(KINDS) :]} == {
        "later": 1,
        "for nobody": 2,
        "lent": 3,
    }
    assert [row.fields for row in ward.tuples["notes"].values()] == [("private", 5)]
    assert "scratch" not in ward.tuples
    assert shelved(kept.store("ward")) == ([] if kept.of in STORELESS else BOXES)
    assert set(ward.ontologies) == {kept.told["ontology"]}
    assert set(ward.laws) == set(kept.told["laws"].values())
    assert kept.states(ward, "ledger")["ann"] == kept.told["states"]["ann"]
    assert kept.states(icu, "ledger")["bob"] == ["balance(155)", "tags([])"]
    assert "inspector(fire)" in kept.states(ward, "ap")["ann"]
    pending = redo(*kept.member(ward, "ann@ward", "ledger")).obligations
    assert [term for _, term, _ in pending] == [t.interest(5)]
    assert ward.transfers.waiting["icu"] or ward.parcels.waiting["icu"]
    assert {kept.agent.partition(" ")[2] for kept in beginning.outbox} >= {SESSION}


def shelved(url: str) -> list[Term]:
    """The tuples that lie in the store engine."""
    store = open_store(url)
    try:
        store.attach()
        steps = [part for part in store.dump() if isinstance(part, Step)]
    finally:
        store.close()
    changes = [change for step in steps for change in step.changes]
    puts = [one for one in changes if isinstance(one, TuplePut) and one.space == "shelf"]
    return [put.row.fields[1] for put in puts]


@every_format
def test_the_state_of_a_stream_goes_on(kept: Kept) -> None:
    rows = kept.told.get("stream", 0)
    memory = Memory(kept.folder / "stream")
    state = memory.before(2)
    assert state.batch == rows - 1
    assert memory.table(state.chunks).num_rows == rows
    memory.after(2, ROWS.empty_table())
    assert memory.before(3).rows == rows


def test_a_store_is_converted_whole_or_left_as_it_was(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept.store("ward")
    before = dumped(path)

    def cut_short(_: object) -> None:
        raise RuntimeError("the power went out")

    with monkeypatch.context() as patch:
        patch.setitem(converting.SQLITE_STEPS, VERSION - 1, cut_short)
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


@every_format
def test_a_journal_replays_with_the_same_rulings(kept: Kept) -> None:
    places = [(kept.store(name), kept.folder / f"{name}-journal") for name in STORED]
    for place in places:
        assert read(*place).wrong == []
    retold = retell(places)
    assert retold.wrong == []
    assert retold.same == (42 if kept.of == "0.1" else 43)


def test_a_record_is_replayed_under_the_prices_of_its_time(kept: Kept) -> None:
    """What was within the budget of 0.1, and is not within today's, comes out as it did."""
    (sifted,) = [
        record.ruling
        for record in _records(kept, "ward")
        if isinstance(record, EventRecord)
        and (record.ruling.rule, record.ruling.law) == ("R7", kept.told["laws"]["ledger"])
    ]
    assert (sifted.prices, sifted.stopped) == (1, None) != (PRICES, None)
    assert as_compound(sifted.event.args[1]).name == "sift"
    today = Membership(load(LEDGER), "ann@ward")
    ruled = today.rule_on(sifted.event, now=sifted.at)
    assert [effect.ruling.stopped for effect in ruled if isinstance(effect, RecordRuling)] == [
        "budget",
        None,
    ]


def _records(kept: Kept, name: str) -> Iterator[Any]:
    store = open_store(kept.store(name))
    try:
        store.attach()
        for _, record in read_journal(kept.folder / f"{name}-journal", store):
            yield record
    finally:
        store.close()


@every_format
def test_a_backup_is_restored(kept: Kept, tmp_path: Path) -> None:
    url = str(tmp_path / "again.db")
    restore_backup(kept.folder / "ward.backup", open_store(url))
    _, ward = opened(url)
    rows = [row.fields for row in ward.tuples["jobs"].values()]
    assert rows[: len(KINDS)] == [freeze_tuple(fields) for fields in KINDS]
    assert kept.states(ward, "ledger")["ann"][1:] == kept.told["states"]["ann"][1:]


@pytest.mark.parametrize("kept", LIVED, indirect=True)
def test_hosts_serve_what_they_kept(kept: Kept) -> None:
    """The hosts start again with stores, trust and tokens of then, and go on where they stood."""
    trust = cast(Trust, SimpleNamespace(folder=kept.folder / "trust"))
    token, port = kept.told["token"], free_port()
    common = ("--trust", str(trust.folder))
    ward = RealHost("ward", kept.folder, *common, "--segments", "ward-journal", port=port)
    icu = RealHost("icu", kept.folder, *common, "--join", f"127.0.0.1:{port}")

    async def story() -> None:
        async with await Raw.client(ward, trust) as raw:
            welcome = await raw.hello("wes@ward", token=token, session=SESSION)
            assert welcome[5] is True, "the session of a client that died is known"
            answer = await raw.frame()
            if answer[0] == REPLY:  # what it was told last, and may not have heard
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
            if kept.of == "0.1":  # in later ones leases last, and this one for an hour
                assert await jobs.take_nowait("lent", ANY) == ("lent", 3)
            shelf = await ann.space("shelf", shared=True)
            boxes = [found[1] for found in await shelf.read_all("box", int, ANY)]
            assert boxes == ([] if kept.of in STORELESS else BOXES)
            beds = await ann.space("beds", shared=True, ontology=kept.told["ontology"])
            assert len(await beds.read_all("sale", a("Bed"))) == 1
            ledger = load(LEDGER)
            hers = ann.membership(ledger)
            assert hers is not None
            state = (await hers.standing()).state
            assert [show(term) for term in state] == kept.told["states"]["ann"]
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


def test_a_store_of_a_later_version_is_left_as_it_is(kept: Kept) -> None:
    path = kept.store("ward")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE state SET version = 99")
    before = dumped(path)
    with pytest.raises(StoreTooNew, match=rf"has version 99, and .* up to {VERSION}; upgrade"):
        open_store(path).begin()
    assert dumped(path) == before


def test_a_backup_and_a_journal_of_a_later_version_are_named(kept: Kept) -> None:
    backup, manifest = kept.folder / "ward.backup", kept.folder / "ward-journal" / "manifest.json"
    assert backup.read_bytes().startswith(b"nomospace backup 1\n")
    backup.write_bytes(backup.read_bytes().replace(b"backup 1", b"backup 9", 1))
    with pytest.raises(BadBackup, match="it has version 9, and this nomospace knows"):
        restore_backup(backup, open_store(str(kept.folder / "again.db")))
    later = manifest.read_bytes().replace(b'"version": 1', b'"version": 9')
    with pytest.raises(NewerManifest, match="it has version 9, and this nomospace knows"):
        decode_manifest(later, "ward-journal")
