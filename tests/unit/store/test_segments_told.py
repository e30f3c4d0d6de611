"""What a process tells a host of its segments is bounded, whatever tenants have written."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from nomospace.store import segments
from nomospace.store.interface import Step
from nomospace.store.journal import TupleRecord, decode_record, encode_record
from nomospace.store.segments import SegmentLimits, seal
from nomospace.store.sqlite import SqliteStore
from nomospace.terms import encode


def test_large_records_are_told_as_long_as_there_is_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = [("job", "x" * 50_000 if number % 2 else "small") for number in range(40)]
    records = [
        TupleRecord(
            "ward", number + 1, "jobs", "ann@ward", number, "written", "ann@ward", encode(one)
        )
        for number, one in enumerate(fields)
    ]
    with closing(SqliteStore(tmp_path / "ward.db")) as store:
        store.begin()
        store.commit([Step((), (), tuple(map(encode_record, records)))], at=1)
        assert seal(store, tmp_path / "journal", SegmentLimits(seconds=0), now=2**62)
    asked = ["--into", str(tmp_path / "journal"), "--around=20", "--upto=40", "--most=100"]
    for room, large in (("--large=120000", 2), ("--large=10000000", 20)):
        assert segments.main([*asked, room]) == 0
        lines = capsys.readouterr().out.splitlines()
        told = [decode_record(bytes.fromhex(line.partition(" ")[2])) for line in lines]
        assert sum(len(encode_record(one)) > 1_024 for one in told) == large
        assert len(told) == 20 + large
