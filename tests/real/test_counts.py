"""Counts of a host are those of an audit of its whole journal, whatever was restarted."""

from pathlib import Path

from tests.real.counted import counted


def test_counts_equal_those_of_an_audit_after_two_restarts(tmp_path: Path) -> None:
    mine, theirs = counted(tmp_path, 120)
    assert mine == theirs
    assert mine["rulings"] > 100
    assert min(mine[rule] for rule in ("R1", "R2", "R3", "R4", "R5")) > 0
    assert (mine["R6"], mine["uncounted"]) == (0, 0)
