"""The data source as Spark calls it, without Spark: options, offsets, parts and rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from nomospace.pipeline.stream import source
from nomospace.pipeline.stream.source import BadOption, NomospaceSource, StreamReader, packer
from nomospace.pipeline.stream.tail import OtherTail
from nomospace.wire.values import unpack_term
from tests.unit.pipeline.live import served


def columns(**kinds: Any) -> StructType:
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


def test_batches_are_ranges_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are bounded, end where the journal ended, and have the same rows each time."""
    monkeypatch.setattr(source, "PART_RECORDS", 4)

    def work(url: str) -> None:
        reader = StreamReader({"url": url, "records": "9"})
        start = reader.initialOffset()
        limit = reader.getDefaultReadLimit()
        assert start == {"host": "ward", "seq": 0}
        assert isinstance(limit, ReadMaxRows)
        end = reader.latestOffset(start, limit)
        assert end["seq"] == 9
        parts = reader.partitions(start, end)
        assert [(part.after, part.upto) for part in parts] == [(0, 4), (4, 8), (8, 9)]
        rows = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
        assert [row["fields_text"] for row in rows] == [f"[job,{n}]" for n in range(9)]
        again = StreamReader({"url": url, "records": "2"}).partitions(start, end)
        assert again == parts
        everything = reader.latestOffset(end, ReadAllAvailable())
        assert everything["seq"] == 30
        assert reader.latestOffset(everything, limit) == everything
        assert list(reader.partitions(everything, everything)) == []
        assert StreamReader({"url": url, "from": "now"}).initialOffset()["seq"] == 30
        assert StreamReader({"url": url, "from": "12"}).initialOffset()["seq"] == 11
        reader._target = 12  # what there was when a query that ends by itself began
        assert reader.latestOffset(end, limit)["seq"] == 12
        with pytest.raises(OtherTail):
            reader.latestOffset({"host": "icu", "seq": 3}, limit)
        monkeypatch.setattr(source, "RECORDS_MAX", 5)
        bounded = StreamReader({"url": url, "records": "5"})
        assert bounded.latestOffset(start, ReadAllAvailable())["seq"] == 5

    served(tmp_path, work)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "option url: it is missing"),
        ({"url": "u", "records": "0"}, "it is a number from 1 to 1,000,000"),
        ({"url": "u", "records": "many"}, "it is a number from 1 to 1,000,000"),
        ({"url": "u", "from": "monday"}, "it is start, now, or the number of a record"),
    ],
)
def test_options_of_a_reader(options: dict[str, str], expected: str) -> None:
    with pytest.raises(BadOption, match=expected):
        NomospaceSource(options).streamReader(columns())


def test_tables_and_targets() -> None:
    assert NomospaceSource({"table": "laws"}).schema().startswith("`version` smallint, `host`")
    with pytest.raises(BadOption, match="option table 'cars': it is one of events, laws,"):
        NomospaceSource({"table": "cars"}).schema()
    with pytest.raises(BadOption, match="option space: it is missing"):
        NomospaceSource({"url": "u"}).streamWriter(columns(a=StringType()), False)


def test_rows_become_tuples() -> None:
    kinds = columns(name=StringType(), tags=ArrayType(StringType()), data=BinaryType())
    row = ("job", ["a", None], bytearray(b"x"))
    assert unpack_term(packer(kinds)(row)) == ("job", ("a", None), b"x")
    whole = packer(columns(fields=BinaryType()))
    assert whole((bytearray(b"packed"),)) == b"packed"
    bad = columns(at=TimestampType(), n=LongType(), of=MapType(StringType(), StringType()))
    with pytest.raises(BadOption, match=r"columns at \(timestamp\), of \(map<string,string>\)"):
        packer(bad)
    with pytest.raises(BadOption, match="columns none"):
        packer(columns())
