"""Rows, ratios and verdicts, and the shape of what `--json` prints."""

import pytest

from nomospace_lab.bench.report import (
    BenchReport,
    BenchRow,
    Goal,
    ahead_of_peers,
    at_most,
    information,
    times_floor,
)


def row(
    goal: Goal,
    *,
    ours: float | None = 30.0,
    floor: float | None = 10.0,
    peers: dict[str, float | None] | None = None,
) -> BenchRow:
    return BenchRow(what="a call", unit="ns", ours=ours, floor=floor, peers=peers or {}, goal=goal)


@pytest.mark.parametrize(("limit", "met"), [(2.9, False), (3.0, True), (4.0, True)])
def test_a_ratio_to_the_floor_is_met_up_to_its_limit(limit: float, met: bool) -> None:
    assert row(times_floor(limit)).met is met


def test_a_ratio_that_was_not_measured_is_missed() -> None:
    assert not row(times_floor(6), ours=None).met
    assert not row(times_floor(6), floor=None).met
    assert row(times_floor(6), floor=None).over_floor is None


def test_ahead_means_ahead_of_every_peer_that_was_measured() -> None:
    assert row(ahead_of_peers(), peers={"slow": 31.0, "absent": None}).met
    assert not row(ahead_of_peers(), peers={"slow": 31.0, "quick": 29.0}).met
    assert not row(ahead_of_peers(), peers={"equal": 30.0}).met
    assert not row(ahead_of_peers(), ours=None, peers={"slow": 31.0}).met


def test_both_goals_must_hold() -> None:
    both = times_floor(4) & ahead_of_peers()
    assert both.text == "at most 4 times the floor, and ahead of every peer"
    assert row(both, peers={"slow": 31.0}).met
    assert not row(both, peers={"quick": 29.0}).met
    assert not row(both, floor=5.0, peers={"slow": 31.0}).met


def test_a_limit_in_the_rows_own_unit() -> None:
    assert at_most(6, "µs").text == "at most 6 µs"
    assert row(at_most(30, "ns")).met
    assert not row(at_most(29, "ns")).met
    assert not row(at_most(30, "ns"), ours=None).met


def test_verdicts_come_from_figures_before_rounding() -> None:
    close = row(times_floor(6), ours=60.0004, floor=10.0)
    assert close.as_json()["ours"] == 60.0
    assert not close.met


def test_a_peers_ratio_is_to_ours() -> None:
    measured = row(information(), peers={"slow": 90.0, "absent": None})
    assert measured.over_ours("slow") == 3.0
    assert measured.over_ours("absent") is None


def test_the_json_has_the_promised_shape() -> None:
    first = BenchRow(
        what="a call",
        unit="ns",
        ours=30.04321,
        floor=10.0,
        peers={"slow": 90.0, "absent": None},
        why_null={"absent": "no compiler; run: apt-get install gcc"},
        goal=times_floor(6),
        how="ten times",
    )
    report = BenchReport("calls", {"cores": 2}, (first, row(at_most(1, "ns"))), ("a note",))
    assert not report.met
    assert report.as_json() == {
        "name": "calls",
        "machine": {"cores": 2},
        "rows": [
            {
                "what": "a call",
                "unit": "ns",
                "ours": 30.04,
                "floor": 10.0,
                "peers": {"slow": 90.0, "absent": None},
                "goal": "at most 6 times the floor",
                "met": True,
                "how": "ten times",
                "why_null": {"absent": "no compiler; run: apt-get install gcc"},
            },
            {
                "what": "a call",
                "unit": "ns",
                "ours": 30.0,
                "floor": 10.0,
                "peers": {},
                "goal": "at most 1 ns",
                "met": False,
                "how": "",
                "why_null": {},
            },
        ],
        "notes": ["a note"],
    }
