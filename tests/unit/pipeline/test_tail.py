"""The tail of a host's journal: the same rows wherever its records are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomospace.errors import CallerError
from nomospace.pipeline.stream.source import JournalReader
from nomospace.pipeline.stream.tail import (
    HostPlace,
    HostSilent,
    JournalTail,
    OtherTail,
    RecordsGone,
)
from nomospace.pipeline.stream.writing import Keyed, Target, WrittenBack
from nomospace.store.segments import SegmentLimits
from nomospace.trust.tokens import Tokens, make_token
from nomospace.wire.segments import TABLES, OtherJournal
from nomospace_lab.cli.journal_writing import JournalWriter
from tests.ports import free_port
from tests.trust_folder import TrustFolder
from tests.unit.pipeline.live import served


def rows(tail: JournalTail, after: int, upto: int) -> list[dict[str, Any]]:
    return [row for batch in tail.read("tuples", after, upto) for row in batch.to_pylist()]


def test_any_range_gives_the_rows_of_segments(tmp_path: Path) -> None:
    def look(url: str) -> None:
        tail = JournalTail(HostPlace(url=url))
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
        alone, both = (
            JournalTail(HostPlace(url=url)),
            JournalTail(HostPlace(url=url), str(tmp_path / "segments")),
        )
        assert alone.bounds().first > 30
        bounds = both.bounds()
        assert bounds.first == 1
        told = rows(both, 0, bounds.last)
        assert [row["fields_text"] for row in told][:3] == ["[job,0]", "[job,1]", "[job,2]"]
        for after in (0, 7, 15, bounds.last - 1):
            assert rows(both, after, bounds.last) == [row for row in told if row["seq"] > after]
        with pytest.raises(RecordsGone, match=r"records 6 to .* of ward are not with it any more"):
            rows(alone, 5, bounds.last)
        # Who asks for the whole must not be given a part of it.
        assert both.begin("start")[1] == 0
        for without in (alone, JournalTail(HostPlace(url=url), str(tmp_path / "elsewhere"))):
            with pytest.raises(RecordsGone, match=r"records 1 to .*; name the folder of its seg"):
                without.begin("start")
            assert without.begin("now")[1] == without.begin(str(10**9))[1] == bounds.last
        with pytest.raises(RecordsGone, match="option from"):
            JournalReader({"url": url}).partitions()
        late = JournalReader({"url": url, "from": str(bounds.last)}).partitions()
        assert [(part.after, part.upto) for part in late] == [(bounds.last - 1, bounds.last)]
        strange = tmp_path / "strange"
        writer = JournalWriter(strange, "icu", SegmentLimits(rows=10))
        for number in range(200):
            writer.tuple("jobs", "ann@icu", number, "written", ("job", number), at=0)
        writer.close()
        with pytest.raises(OtherJournal, match="they are of host 'icu', and the journal is of"):
            rows(JournalTail(HostPlace(url=url), str(strange)), 5, bounds.last)

    served(tmp_path, look, seal=True)


def test_a_checkpoint_of_another_journal_is_told(tmp_path: Path) -> None:
    def look(url: str) -> None:
        tail = JournalTail(HostPlace(url=url))
        bounds = tail.bounds()
        tail.check(bounds, "ward", bounds.last)
        with pytest.raises(OtherTail, match="it is of host icu, and there is ward"):
            tail.check(bounds, "icu", 1)
        with pytest.raises(OtherTail, match=r"it is at record 900, and the journal ends with \d+"):
            tail.check(bounds, "ward", 900)

    served(tmp_path, look, jobs=1)


def test_a_host_that_is_not_there_is_told_in_time() -> None:
    place = HostPlace(url=f"nomos+plain://127.0.0.1:{free_port()}", patience_s=0.6)
    with pytest.raises(HostSilent, match="does not answer"):
        JournalTail(place).bounds()


def test_hosts_with_certificates_show_their_journals_to_operators(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path / "trust")
    trust.host("ward")
    trust.agent("clerk@ward")
    tokens = [
        make_token(
            ["cron@ward"],
            scopes=scopes,
            identifier=bytes([place] * 8),
            secret=bytes([place] * 32),
            now=trust.now,
            days=1,
        )
        for place, scopes in enumerate((["operator"], ["agent"]))
    ]
    (trust.folder / "tokens.toml").write_text(Tokens([kept for _, kept in tokens]).text())

    def look(url: str) -> None:
        clerk = str(trust.folder / "agents" / "clerk@ward")
        writer = Target(place=HostPlace(url=url, identity=clerk), space="answers")
        assert writer.check() == "clerk@ward"
        assert writer.write("s", 0, [Keyed("s/1", ("job", 1))]) == WrittenBack(1, 0)
        (operator, _), (agent, _) = tokens
        tail = JournalTail(HostPlace(url=url, token=operator, trust=str(trust.folder)))
        bounds = tail.bounds()
        assert "[job,1]" in [row["fields_text"] for row in rows(tail, 0, bounds.last)]
        with pytest.raises(CallerError, match="is no operator of this host"):
            JournalTail(HostPlace(url=url, token=agent, trust=str(trust.folder))).bounds()

    served(tmp_path, look, trust=trust)
