"""The tail of a host's journal: the same rows wherever its records are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomospace.pipeline.stream.place import HostSilent, Place
from nomospace.pipeline.stream.tail import OtherTail, RecordsGone, Tail
from nomospace.wire.segments import TABLES
from tests.servers import free_port
from tests.unit.pipeline.live import served


def rows(tail: Tail, after: int, upto: int) -> list[dict[str, Any]]:
    return [row for batch in tail.read("tuples", after, upto) for row in batch.to_pylist()]


def test_any_range_gives_the_rows_of_segments(tmp_path: Path) -> None:
    def look(url: str) -> None:
        tail = Tail(Place(url=url))
        bounds = tail.bounds()
        assert (bounds.host, bounds.first) == ("ward", 1)
        told = rows(tail, 0, bounds.last)
        jobs = [row["fields_text"] for row in told if row["op"] == "written"]
        assert jobs == [f"[job,{number}]" for number in range(30)]
        assert list(told[0]) == list(TABLES["tuples"])
        cut = told[10]["seq"]
        assert rows(tail, 0, cut) + rows(tail, cut, bounds.last) == told
        assert list(tail.read("laws", 0, bounds.last)) == []

    served(tmp_path, look)


def test_what_the_host_has_sealed_is_read_there(tmp_path: Path) -> None:
    def look(url: str) -> None:
        alone, both = Tail(Place(url=url)), Tail(Place(url=url), str(tmp_path / "segments"))
        assert alone.bounds().first > 30
        bounds = both.bounds()
        assert bounds.first == 1
        told = rows(both, 0, bounds.last)
        assert [row["fields_text"] for row in told][:3] == ["[job,0]", "[job,1]", "[job,2]"]
        for after in (0, 7, 15, bounds.last - 1):
            assert rows(both, after, bounds.last) == [row for row in told if row["seq"] > after]
        with pytest.raises(RecordsGone, match=r"records 6 to .* of ward are not with it any more"):
            rows(alone, 5, bounds.last)

    served(tmp_path, look, seal=True)


def test_a_checkpoint_of_another_journal_is_told(tmp_path: Path) -> None:
    def look(url: str) -> None:
        tail = Tail(Place(url=url))
        bounds = tail.bounds()
        tail.check(bounds, "ward", bounds.last)
        with pytest.raises(OtherTail, match="it is of host icu, and there is ward"):
            tail.check(bounds, "icu", 1)
        with pytest.raises(OtherTail, match=r"it is at record 900, and the journal ends with \d+"):
            tail.check(bounds, "ward", 900)

    served(tmp_path, look, jobs=1)


def test_a_host_that_is_not_there_is_told_in_time() -> None:
    place = Place(url=f"nomos+plain://127.0.0.1:{free_port()}", patience_s=0.6)
    with pytest.raises(HostSilent, match="does not answer"):
        Tail(place).bounds()
