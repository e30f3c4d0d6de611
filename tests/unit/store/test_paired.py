"""Two stores of one host: what the active one commits, the other has, and nobody else's."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random

import pytest

from nomospace.host.changes import AgentCame
from nomospace.protocols.lease import FutureToken, OtherHostsStore, TakenOver
from nomospace.protocols.pair import (
    ACTIVE,
    STANDBY,
    TAKEOVER_STEP,
    BadCommit,
    NeverFilled,
    NotAStandby,
    NotPaired,
    StorePaired,
)
from nomospace.store import sql
from nomospace.store.backup import restore_backup, write_backup
from nomospace.store.interface import Step
from nomospace.store.opening import open_store
from nomospace.store.paired import PairStore, look, take_over
from nomospace.store.sqlite import SqliteStore
from tests.unit.store.changing import Author, recorded, told

KINDS = {"ruled": 12, "joined": 2, "came": 1, "went": 1, "put": 6, "gone": 3, "opened": 1}


def _active(folder: Path, shipped: list[bytes]) -> PairStore:
    store = PairStore(folder / "a.db")
    store.open("ward", ACTIVE)
    store.ship = lambda _, body: shipped.append(body)
    store.begin(birth=5)
    return store


def _standby(folder: Path, active: PairStore) -> PairStore:
    """A standby with a copy of the active one."""
    store = PairStore(folder / "b.db")
    store.open("ward", STANDBY)
    active.copy_to(folder / "copy")
    assert store.take_copy(folder / "copy", surplus=False) is None
    return store


def _followed(store: PairStore, bodies: list[bytes]) -> int:
    return store.follow(bodies, there=0, at=1, how="sync")


@pytest.mark.parametrize("seed", range(5))
def test_a_standby_has_what_the_active_one_has(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when rulings are folded, records forgotten, and tables catch up, in any of its lives."""
    few = {"REACH": 12, "COMPACT_FROM": 6, "FOLD_MAX": 3, "FORGET_FROM": 1, "FORGET_MAX": 4}
    for name, value in few.items():
        monkeypatch.setattr(sql, name, value)
    monkeypatch.setattr(sql, "ROWS_MAX", 20)
    rng = Random(seed)
    author = Author(rng)
    shipped: list[bytes] = []
    active = _active(tmp_path, shipped)
    standby = None
    for at in range(1, 40):
        if standby is None and rng.random() < 0.2:
            standby = _standby(tmp_path, active)
            shipped.clear()
        steps = []
        for _ in range(rng.randrange(4)):
            changes = []
            for kind in rng.choices(list(KINDS), list(KINDS.values()), k=4):
                changes.append(getattr(author, kind)())
                author.model.apply(changes[-1])
            steps.append(recorded(changes) if rng.random() < 0.8 else Step(tuple(changes)))
        active.commit(steps, at=at)
        if rng.random() < 0.2:
            active.prune(rng.randint(0, active.last_record))
        if standby is not None and rng.random() < 0.5:
            if shipped:
                _followed(standby, shipped)
            shipped.clear()
        if rng.random() < 0.1:
            active.close()
            active = _active(tmp_path, shipped)
    assert standby is not None
    if shipped:
        _followed(standby, shipped)
    active.close()
    standby.close()
    for path in (tmp_path / "a.db", tmp_path / "b.db"):
        take_over(path)
        store = SqliteStore(path)
        store.attach()
        assert list(store.inspect()) == []
        beginning = store.begin()
        assert told(beginning.durable) == told(author.model)
        assert (beginning.birth, beginning.last_at) == (5, 39)
        store.close()
    assert look(tmp_path / "a.db").number == look(tmp_path / "b.db").number
    assert look(tmp_path / "b.db").life > look(tmp_path / "a.db").life + TAKEOVER_STEP // 2


def test_what_does_not_follow_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    shipped: list[bytes] = []
    active = _active(tmp_path, shipped)
    standby = _standby(tmp_path, active)
    for number in range(3):
        active.commit([Step((AgentCame(f"a{number}@x", 0),))], at=number + 1)
    before = standby.look()
    for wrong in ([shipped[1]], [shipped[0], shipped[2]], [shipped[0], shipped[0]], [b"\xc1"]):
        with pytest.raises(BadCommit, match="copies anew"):
            _followed(standby, wrong)
        assert standby.look() == before
    assert _followed(standby, shipped[:2]) == before.number + 2
    assert standby.last() == shipped[1]
    assert standby.look().heard == active.look().life

    take_over(tmp_path / "b.db")  # an operator, beside the process that follows
    with pytest.raises(TakenOver):
        _followed(standby, shipped[2:])
    assert look(tmp_path / "b.db").number == before.number + 2
    active.close()
    standby.close()


def test_one_commit_that_only_the_standby_has_is_fetched(tmp_path: Path) -> None:
    shipped: list[bytes] = []
    active = _active(tmp_path, shipped)
    standby = _standby(tmp_path, active)
    dropped: list[int] = []
    active.unship = dropped.append
    active.stage([Step((AgentCame("ann@x", 3),))], at=9)  # and it is killed before `flush`
    _followed(standby, shipped)
    active.close()
    assert dropped == [active.look().number + 1]
    active = PairStore(tmp_path / "a.db")
    active.open("ward", ACTIVE)
    active.fetch(standby.last())
    assert active.look().number == standby.look().number
    assert active.begin().durable.agents == {"ann@x": 3}
    active.close()
    standby.close()


def test_surplus_is_kept_aside(tmp_path: Path) -> None:
    shipped: list[bytes] = []
    active = _active(tmp_path, shipped)
    standby = _standby(tmp_path, active)
    active.commit([Step((AgentCame("ann@x", 3),))], at=1)
    _followed(standby, shipped)
    active.copy_to(tmp_path / "copy")
    aside = standby.take_copy(tmp_path / "copy", surplus=True)
    assert aside == tmp_path / "b.db.surplus-1.1"
    assert look(aside).number == standby.look().number == 1
    assert standby.look().role == STANDBY
    standby.close()
    active.close()


def test_a_store_of_a_pair_is_not_opened_as_if_it_stood_alone(tmp_path: Path) -> None:
    active = _active(tmp_path, [])
    standby = _standby(tmp_path, active)
    empty = PairStore(tmp_path / "c.db")
    empty.open("ward", STANDBY)
    for store in (active, standby, empty):
        store.close()
    with pytest.raises(NeverFilled, match="never had a copy"):
        take_over(tmp_path / "c.db")
    backup = tmp_path / "backup"
    write_backup(open_store(str(tmp_path / "a.db")), backup)
    restore_backup(backup, open_store(str(tmp_path / "restored.db")))
    with pytest.raises(StorePaired, match=r"\(restored\), and the other may be alive"):
        PairStore(tmp_path / "restored.db").open("ward", ACTIVE)
    with sqlite3.connect(tmp_path / "a.db") as plain:
        plain.execute("UPDATE standing SET alone = 0")
    for name in ("a.db", "b.db", "restored.db"):
        before = look(tmp_path / name)
        with pytest.raises(StorePaired, match="host takeover --store"):
            SqliteStore(tmp_path / name).begin()
        assert look(tmp_path / name) == before
        take_over(tmp_path / name)
        taken = SqliteStore(tmp_path / name)
        assert taken.begin().life == (before.life if name == "a.db" else TAKEOVER_STEP) + 1
        assert taken.fenced
        taken.close()


def test_stores_that_cannot_be_of_the_pair_are_refused(tmp_path: Path) -> None:
    plain = SqliteStore(tmp_path / "plain.db")
    plain.begin()
    plain.commit([Step((AgentCame("ann@x", 3),))], at=1)
    plain.close()
    with pytest.raises(NotAStandby, match=r"\(1\.1\) and follows nobody"):
        PairStore(tmp_path / "plain.db").open("ward", STANDBY)
    with pytest.raises(NotPaired):
        take_over(tmp_path / "plain.db")
    _active(tmp_path, []).close()
    with pytest.raises(OtherHostsStore, match="of host 'ward', not of 'icu'"):
        PairStore(tmp_path / "a.db").open("icu", ACTIVE)
    with sqlite3.connect(tmp_path / "a.db") as raw:
        raw.execute("UPDATE standing SET heard = 7")
    with pytest.raises(FutureToken, match="the store has only come to 1"):
        PairStore(tmp_path / "a.db").open("ward", ACTIVE)
