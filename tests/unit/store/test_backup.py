"""Backups: from every engine into every other, whole or not at all."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import pytest

from nomospace.store.backup import BadBackup, read_backup, restore_backup, write_backup
from nomospace.store.doctor import doctor
from nomospace.store.interface import KeptForClient, Step, StoreNotEmpty
from tests.unit.store.changing import Author, told
from tests.unit.store.engines import ENGINES, MakeEngine, engines
from tests.unit.store.killed import step

__all__ = ["engines"]


@pytest.mark.parametrize(("kind", "other"), [*product(ENGINES, ENGINES)][1:])
def test_what_was_backed_up_is_restored(
    kind: str, other: str, engines: MakeEngine, tmp_path: Path
) -> None:
    source, target = engines(kind), engines(other)
    author = Author(Random(5))
    store = source.open()
    store.begin()
    for n in range(1, 30):
        kept = KeptForClient("ann@x", n, b"push %d" % n)
        changes = tuple([author.change() for _ in range(8)])
        store.commit([Step(changes, (kept,), (b"record %d" % n,))], at=n)
    store.clock = (3, 4, 5)
    store.prune(11)
    store.commit([], at=99)
    # The host goes on while the backup is taken, through an object of its own.
    summary = write_backup(source.open(), tmp_path / "ward.backup")
    assert (summary.life, summary.last_at, summary.kept, summary.records) == (1, 99, 29, 18)
    assert [path.name for path in tmp_path.glob("*.backup*")] == ["ward.backup"]

    assert restore_backup(tmp_path / "ward.backup", target.open()) == summary
    restored = target.open()
    beginning = restored.begin()
    assert (beginning.life, beginning.last_at, beginning.clock) == (2, 99, (3, 4, 5))
    counts = beginning.durable.agents
    for agent, count in author.model.agents.items():
        assert counts[agent] >= count  # numbers that are left out do no harm
        counts[agent] = count
    assert told(beginning.durable) == told(author.model)
    assert [kept.number for kept in beginning.outbox] == list(range(1, 30))
    assert [entry.seq for entry in restored.journal(0, 99)] == list(range(12, 30))
    assert doctor(restored) == []
    restored.commit([step(1)], at=100)
    assert restored.journal(29, 9)[0].seq == 30
    restored.close()
    with pytest.raises(StoreNotEmpty, match="not empty"):
        restore_backup(tmp_path / "ward.backup", target.open())


def test_a_file_that_is_not_whole_is_refused_before_anything_is_restored(
    engines: MakeEngine, tmp_path: Path
) -> None:
    source = engines("sqlite")
    store = source.open()
    store.begin()
    store.commit([step(n) for n in range(1, 4)], at=1)
    good = tmp_path / "good"
    write_backup(source.open(), good)
    data = good.read_bytes()
    bad = tmp_path / "bad"
    for altered in (
        *[data[:cut] for cut in (0, 5, 19, 30, len(data) // 2, len(data) - 1)],
        *[data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in range(0, len(data), 97)],
        data + b"more",
        data.replace(b"backup 2", b"backup 7", 1),
    ):
        bad.write_bytes(altered)
        target = engines("sqlite")
        with pytest.raises(BadBackup, match="cannot be restored"):
            restore_backup(bad, target.open())
        assert not Path(target.url).exists()
    with pytest.raises(BadBackup, match="version 7"):
        list(read_backup(bad))
