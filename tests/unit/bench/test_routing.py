"""The shape of `nomospace bench routing`: its rows, its goals, its plot."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from nomospace_lab.bench import BenchRun, find
from nomospace_lab.bench.plots import lines
from nomospace_lab.bench.suites import routing

COUNTED = ("take more than one network message", "takes in the mean")
"""Goals that no busy machine can spoil."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "MESSAGES_A_MOVE", (10, 100))
    monkeypatch.setattr(routing, "BESIDE", {"routing cores": (10, 200), "engaged hosts": (10, 200)})


@pytest.mark.usefixtures("small")
def test_its_rows_goals_and_plot(tmp_path: Path) -> None:
    run = BenchRun(quick=True, rounds=1, plot=tmp_path)
    report = find("routing").report(run)
    rows = {row.what: row for row in report.rows}
    for words in COUNTED:
        [row] = [row for what, row in rows.items() if words in what]
        assert row.goal.judged
        assert row.met, row
    compared = [row for row in report.rows if set(row.peers) == {"central", "qsc"}]
    assert len(compared) == 2
    for row in compared:
        central = row.peers["central"]
        assert row.ours is not None
        assert central is not None
        assert row.ours < central
    [servers] = [row for what, row in rows.items() if "busiest query server" in what]
    assert servers.goal.judged
    assert servers.floor is not None
    assert sum("a move there and back" in what for what in rows) == 2
    assert any("2,000 agents in 2 domains" in what for what in rows)
    assert report.notes == (f"the plot of Central, QSC and FQSC is in {tmp_path / 'routing.svg'}",)
    svg = ET.fromstring((tmp_path / "routing.svg").read_text(encoding="utf-8"))
    texts = ["".join(element.itertext()) for element in svg.iter() if element.tag.endswith("text")]
    assert {"central", "qsc", "fqsc", "messages a move"} <= set(texts)


def test_a_plot_puts_more_above_less() -> None:
    text = lines("<t>", "x", "y", [1, 10, 100], {"up": [0, 1, 2]})
    svg = ET.fromstring(text)
    [line] = [element for element in svg.iter() if element.tag.endswith("polyline")]
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert [x for x, _ in points] == sorted({x for x, _ in points})
    assert [y for _, y in points] == sorted({y for _, y in points}, reverse=True)
