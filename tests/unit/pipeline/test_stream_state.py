"""What a stream has seen: the same after each batch, however often that is done."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from nomospace.pipeline.stream import state as states
from nomospace.pipeline.stream.state import (
    ROWS,
    BadCheckpoint,
    Id,
    Memory,
    State,
    StateTooLarge,
    present,
)

Row = tuple[int, int, str]
"""When, which tuple, and what befell it."""


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "space": "cars",
                "since": at,
                "host": "ward",
                "writer": "ann@ward",
                "count": number,
                "op": op,
                "fields": b"%d" % number,
            }
            for at, number, op in rows
        ],
        schema=ROWS,
    )


def there(memory: Memory, state: State, *, ever: bool = False) -> list[int]:
    return sorted(number for _, number in present(memory.table(state.chunks), ever=ever))


def numbers(new: list[Id]) -> list[int]:
    return [number for _, number in new]


@pytest.mark.parametrize("ever", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_batches_done_again_and_merged_say_what_rows_say(
    tmp_path: Path, seed: int, ever: bool
) -> None:
    """Against a dictionary; some batches are done twice, as after a kill."""
    chance = Random(seed)
    memory = Memory(tmp_path, ever=ever)
    state = State()
    alive: dict[int, None] = {}
    begun: dict[int, None] = {}
    at = 0
    for batch in range(20):
        rows: list[Row] = []
        fresh: list[int] = []
        for _ in range(chance.randrange(12)):
            at += 1
            dice = chance.random()
            if alive and dice < 0.3:
                gone = chance.choice(list(alive))
                del alive[gone]
                rows.append((at, gone, chance.choice(["taken", "expired"])))
            elif alive and dice < 0.4:
                rows.append((at, chance.choice(list(alive)), "moved"))
            else:
                begun[at] = alive[at] = None
                fresh.append(at)
                rows.append((at, at, chance.choice(["written", "moved"])))
        for _ in range(chance.choice([1, 1, 2, 3])):
            again = Memory(tmp_path, ever=ever) if chance.random() < 0.5 else memory
            step = again.after(batch, table(rows))
            state = step.after
            assert step.before == memory.before(batch)
            assert numbers(step.new) == fresh
            assert there(memory, state, ever=ever) == list(begun if ever else alive)
        assert len(state.chunks) <= 8
        kept = {chunk.name for one in (state, memory.before(batch)) for chunk in one.chunks}
        assert {path.name for path in tmp_path.glob("chunk-*")} == kept


def test_old_tuples_are_forgotten_when_chunks_merge(tmp_path: Path) -> None:
    memory, state, left = Memory(tmp_path, keep_us=100), State(), list[int]()
    for batch, at in enumerate(range(0, 500, 10)):
        step = memory.after(batch, table([(at, at + 1, "written")]))
        state, left = step.after, left + [number for (_, number), _, _ in step.left]
    found = there(memory, state)
    assert sorted([*found, *left]) == list(range(1, 492, 10)), "what is left out is told"
    assert set(range(391, 492, 10)) <= set(found)
    assert len(found) < 35


def test_a_state_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "STATE_ROWS_MAX", 3)
    memory = Memory(tmp_path)
    memory.after(0, table([(1, 1, "written"), (2, 2, "written")]))
    with pytest.raises(StateTooLarge, match="would keep 4 rows"):
        memory.after(1, table([(3, 3, "written"), (4, 4, "written")]))
    assert memory.before(1).rows == 2


def test_files_that_are_damaged_or_gone_are_named(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    state = memory.after(0, table([(1, 1, "written"), (2, 2, "written")])).after
    chunk = tmp_path / state.chunks[0].name
    whole = chunk.read_bytes()
    for data in (whole[:-40], whole[:20] + bytes([whole[20] ^ 255]) + whole[21:], b""):
        chunk.write_bytes(data)
        with pytest.raises(BadCheckpoint, match=rf"{chunk.name} cannot be read .*; put it back"):
            memory.after(1, table([(3, 3, "written")]))
    chunk.unlink()
    with pytest.raises(BadCheckpoint, match="cannot be read"):
        memory.after(1, table([(3, 3, "written")]))
    chunk.write_bytes(whole)
    (tmp_path / "batch-00000000.json").write_text('{"batch": "first"}')
    with pytest.raises(BadCheckpoint, match=r"batch-00000000\.json cannot be read .*int"):
        memory.after(1, table([(3, 3, "written")]))


def test_a_batch_reads_no_more_than_it_merges(tmp_path: Path) -> None:
    """Nor, of tuples that have moved, any chunk twice; a chunk that is gone is missed at once."""
    memory, read = Memory(tmp_path), list[str]()
    real = Path.read_bytes

    def reading(place: Path) -> bytes:
        if place.suffix == ".parquet":
            read.append(place.name)
        return real(place)

    def rows(first: int, count: int, op: str = "written") -> pa.Table:
        return table([(at, at, op) for at in range(first, first + count)])

    (large,) = memory.after(0, rows(1, 100)).after.chunks
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "read_bytes", reading)
        memory.after(1, rows(101, 4))
        assert read == []
        (_, small) = memory.after(2, rows(105, 4)).after.chunks
        assert len(read) == 1
        assert large.name not in read
        whole = real(tmp_path / large.name)
        (tmp_path / large.name).write_bytes(whole[:50])
        with pytest.raises(BadCheckpoint, match=f"{large.name} cannot be read"):
            memory.after(3, rows(50, 3, "moved"))
        (tmp_path / large.name).write_bytes(whole)
        for batch in (3, 4):
            step = memory.after(batch, rows(50, 3, "moved"))
            assert step.new == []
            assert step.after.chunks == (large, small)
        assert read[1:] == [large.name, large.name, small.name]
    (tmp_path / large.name).unlink()
    with pytest.raises(BadCheckpoint, match=rf"{large.name} cannot be read .*; put it back"):
        memory.after(5, rows(109, 1))
