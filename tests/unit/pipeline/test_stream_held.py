"""What a stream holds in memory is what its checkpoint says, and is let go of when that goes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nomospace.meaning.answers import Answers
from nomospace.meaning.question import parse_template
from nomospace.pipeline.stream import answering
from nomospace.pipeline.stream.answering import Answering
from nomospace.pipeline.stream.state import ROWS, BadCheckpoint, Memory
from nomospace.terms import obj
from nomospace.wire.values import pack_term
from tests.models.stream_cases import NO_SPARK, Failed, failing
from tests.unit.pipeline.told import CARS

TAX, LOAN = "Tax", "Loan"
Row = tuple[int, str, int, str]
"""Which tuple, what befell it, and its car and paper."""


def table(rows: list[Row], at: int = 0) -> pa.Table:
    told = [
        {
            "space": "cars",
            "since": at,
            "host": "ward",
            "writer": "ann",
            "count": number,
            "op": op,
            "fields": pack_term((obj("Car", car), obj(kind, number))),
        }
        for number, op, car, kind in rows
    ]
    return pa.Table.from_pylist(told, schema=ROWS)


class Job:
    """A stream that asks for cars with both papers."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.memory = Memory(folder, **options)
        question = parse_template("(Car, Tax, Loan)", CARS)
        self.answering = Answering(self.memory, CARS, question, ever=bool(options.get("ever")))

    def do(self, batch: int, *rows: Row, at: int = 0) -> list[tuple[str, ...]]:
        """Do a batch: which tuples answer together."""
        step = self.memory.after(batch, table(list(rows), at))
        return [one.tuples for one in self.answering.answers(step, NO_SPARK).items]


def many(first: int, count: int) -> list[Row]:
    """Tuples that answer nothing."""
    return [(number, "written", number, TAX) for number in range(first, first + count)]


def test_a_batch_that_never_was_is_not_remembered(tmp_path: Path) -> None:
    job = Job(tmp_path)
    assert job.do(0, (1, "written", 1, TAX)) == []
    assert job.do(1, (2, "written", 1, LOAN), (3, "written", 2, LOAN)) == [("ann/1", "ann/2")]
    assert job.do(1, (4, "written", 1, LOAN)) == [("ann/1", "ann/4")]
    assert job.do(2, (5, "written", 2, TAX), (6, "written", 1, TAX)) == [("ann/4", "ann/6")]


@pytest.mark.parametrize("after", [0, 1])
def test_what_failed_in_the_middle_is_not_remembered(tmp_path: Path, after: int) -> None:
    job = Job(tmp_path)
    assert job.do(0, (1, "written", 1, TAX)) == []
    with pytest.raises(Failed), failing(after):
        job.do(1, (2, "written", 2, LOAN), (3, "written", 1, LOAN))
    assert job.do(1, (4, "written", 2, TAX)) == []
    assert job.do(2, (5, "written", 1, LOAN)) == [("ann/1", "ann/5")]


def test_nothing_is_read_while_batches_follow_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(tmp_path)
    job.do(0, *many(1, 50), (100, "written", 100, TAX))

    def read(*given: Any, **options: Any) -> pa.Table:
        raise OSError("it is read")

    with monkeypatch.context() as patched:
        patched.setattr(pq, "read_table", read)
        assert job.do(1, *many(51, 9)) == []
        assert job.do(2, (101, "written", 100, LOAN)) == [("ann/100", "ann/101")]
        with pytest.raises(BadCheckpoint, match="it is read"):
            Job(tmp_path).do(3, (102, "written", 100, LOAN))
    assert Job(tmp_path).do(3, (102, "written", 100, LOAN)) == [("ann/100", "ann/102")]


def test_what_is_taken_answers_no_more_unless_it_was_ever_there(tmp_path: Path) -> None:
    for ever, expected in ((False, []), (True, [("ann/1", "ann/2")])):
        job = Job(tmp_path / str(ever), ever=ever)
        job.do(0, *many(10, 20), (1, "written", 1, TAX))
        job.do(1, (1, "taken", 1, TAX))
        assert job.do(2, (2, "written", 1, LOAN)) == expected
        assert job.do(3, (3, "written", 2, LOAN), (3, "taken", 2, LOAN)) == []


def test_what_is_too_old_goes_with_its_row(tmp_path: Path) -> None:
    job = Job(tmp_path, keep_us=100)
    assert job.do(0, (1, "written", 1, TAX)) == []
    assert job.do(1, (2, "written", 9, TAX), at=500) == []
    assert job.do(2, (3, "written", 1, LOAN), at=510) == []
    assert job.do(3, (4, "written", 9, LOAN), at=520) == [("ann/2", "ann/4")]


@pytest.mark.parametrize("restart", [False, True])
def test_an_end_that_is_told_first_counts(tmp_path: Path, restart: bool) -> None:
    job = Job(tmp_path)
    job.do(0, *many(1_000, 100))
    job.do(1, (1, "taken", 1, TAX), *many(300, 20))
    job = Job(tmp_path) if restart else job
    job.do(2, *many(400, 3))
    assert job.do(3, (1, "written", 1, TAX)) == []
    assert job.do(4, (2, "written", 1, LOAN)) == []


def test_what_comes_back_after_its_end_is_forgotten_is_new(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.do(0, (1, "written", 1, TAX))
    assert job.memory.after(1, table([(1, "taken", 1, TAX)])).after.rows == 0
    assert job.do(1, (1, "taken", 1, TAX)) == []
    assert job.do(2, (1, "moved", 1, TAX), (2, "written", 1, LOAN)) == [("ann/1", "ann/2")]


def test_past_a_number_of_rows_nothing_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(tmp_path)
    job.do(0, *many(1, 9))
    held = job.answering._held
    assert len(held) == 9
    monkeypatch.setattr(answering, "MEMORY_ROWS", 9)
    monkeypatch.setattr(answering, "SparkDatabase", lambda spark: SimpleNamespace(close=list))
    monkeypatch.setattr(answering, "ask_parts", lambda *given, **options: Answers([]))
    assert job.do(1, (10, "written", 1, LOAN)) == []
    assert len(held) == 0
    monkeypatch.undo()
    assert job.do(2, (11, "written", 1, LOAN)) == [("ann/1", "ann/11")]
    assert len(held) == 11
