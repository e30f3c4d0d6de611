"""The shape of `nomospace bench overhead`: real processes in every placement."""

import pytest

from nomospace.bench import Run, find


@pytest.mark.slow
def test_each_placement_is_measured_and_modelled() -> None:
    report = find("overhead").report(Run(quick=True, rounds=1))
    placed = [row for row in report.rows if "under a law" in row.what]
    assert [row.what.partition("(")[2] for row in placed] == [
        "equation 3)",
        "equation 4)",
        "equation 5)",
    ] * 2
    for row in placed:
        model = row.peers["model"]
        assert row.ours is not None
        assert row.floor is not None
        assert model is not None
        # A model of sums cannot say more than what is measured, and not much less.
        assert row.ours > row.floor
        assert 0 < model < 3 * row.ours
    assert len([row for row in report.rows if "(5.4, model)" in row.what]) == 2
