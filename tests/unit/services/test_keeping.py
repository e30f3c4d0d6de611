"""The file that keeps a service's changes: cut off, damaged, in use, full."""

import os
from pathlib import Path

import msgspec
import pytest

from nomospace.node.services import keeping
from nomospace.node.services.keeping import LogDamaged, LogInUse, LogUnwritable, ServiceLog


class Said(msgspec.Struct, frozen=True, tag=True):
    what: str


class Unsaid(msgspec.Struct, frozen=True, tag=True):
    what: str


Change = Said | Unsaid


def _kept(path: Path) -> list[Change]:
    with ServiceLog[Change](path, Change) as log:
        return log.begin()


def _write(path: Path, *words: str) -> None:
    with ServiceLog[Change](path, Change) as log:
        log.begin()
        for word in words:
            log.write(Said(word))


def test_what_was_written_is_there_again_in_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "log"
    _write(path, "a", "b\nc")
    with ServiceLog[Change](path, Change) as log:
        assert log.begin() == [Said("a"), Said("b\nc")]
        log.write(Unsaid("a"), Said("d"))
        assert log.lines == 4
    assert _kept(path) == [Said("a"), Said("b\nc"), Unsaid("a"), Said("d")]


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_line_that_a_crash_cut_off_is_taken_away(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "log"
    _write(path, "a", "b")
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert _kept(path) == [Said("a")]
    with ServiceLog[Change](path, Change) as log:
        log.begin()
        log.write(Said("c"))
    assert _kept(path) == [Said("a"), Said("c")]


def test_a_last_line_that_a_power_cut_has_torn_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "log"
    _write(path, "a", "b" * 2_000)
    whole = bytearray(path.read_bytes())
    whole[512:1024] = bytes(512)  # a sector that never came
    path.write_bytes(whole)
    assert _kept(path) == [Said("a")]
    _write(path, "c")
    assert _kept(path) == [Said("a"), Said("c")]


def test_a_hole_before_the_last_line_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "log"
    _write(path, "b" * 2_000, "c")
    whole = bytearray(path.read_bytes())
    whole[512:1024] = bytes(512)
    path.write_bytes(whole)
    with pytest.raises(LogDamaged, match="line 1"):
        _kept(path)


def test_damage_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    _write(path, "aaaa", "b")
    path.write_bytes(path.read_bytes().replace(b"aaaa", b"abba"))
    with pytest.raises(LogDamaged, match=r"log, line 1: .*checksum"):
        _kept(path)


def test_a_file_of_something_else_is_not_taken_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with ServiceLog[int](path, int) as log:
        log.begin()
        log.write(3)
    with pytest.raises(LogDamaged, match="no change of this service"):
        _kept(path)


def test_one_process_has_it_at_a_time(tmp_path: Path) -> None:
    with ServiceLog[Change](tmp_path / "log", Change) as log:
        log.begin()
        with pytest.raises(LogInUse):
            _kept(tmp_path / "log")
    assert _kept(tmp_path / "log") == []


def test_written_anew_it_holds_only_what_counts(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with ServiceLog[Change](path, Change) as log:
        log.begin()
        for number in range(100):
            log.write(Said(str(number)))
        size = path.stat().st_size
        log.rewrite([Said("99")])
        assert (log.lines, path.stat().st_size < size // 50) == (1, True)
        with pytest.raises(LogInUse):
            _kept(path)
        log.write(Said("100"))
    assert _kept(path) == [Said("99"), Said("100")]


def test_what_could_not_be_written_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    with ServiceLog[Change](path, Change) as log:
        log.begin()
        log.write(Said("a"))
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(LogUnwritable, match="No space left"):
            log.write(Said("b"))
        monkeypatch.undo()
        log.write(Said("c"))
    assert _kept(path) == [Said("a"), Said("c")]


def test_it_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "LOG_BYTES_MAX", 100)
    with ServiceLog[Change](tmp_path / "log", Change) as log:
        log.begin()
        log.write(Said("a"))
        with pytest.raises(LogUnwritable, match="limit"):
            log.write(Said("b" * 100))
    assert _kept(tmp_path / "log") == [Said("a")]


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LogUnwritable):
        _kept(tmp_path / "file" / "log")
