"""The shape of `nomospace bench informer`: real processes, for a second or two."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from nomospace_lab.bench import BenchRun, find
from nomospace_lab.bench.run import BadScale


@pytest.mark.slow
def test_a_rogue_is_stopped_at_its_own_controller(tmp_path: Path) -> None:
    run = BenchRun(scale=0.01, plot=tmp_path)
    report = find("informer").report(run)
    rows = {row.what: row for row in report.rows}
    trips = [row for what, row in rows.items() if "round trip beside a rogue" in what]
    assert len(trips) == 2
    for row in trips:
        assert row.goal.judged
        assert row.ours is not None
        assert (row.ours > 0) == (" 0 round trips" not in row.how)  # the machine may stand still
        assert row.floor is not None
    [received] = [row for what, row in rows.items() if "mediator receives" in what]
    in_mediator = received.peers["in the mediator"]
    assert received.ours is not None
    assert in_mediator is not None
    # What passes is at most ten a second of the rogue's, in 0.6 s, and the quiet ones' sixty-four.
    most = 20 + 64 * 0.6 + 16
    assert received.ours <= most
    [went_out] = re.findall(r"([\d,]+) went out", received.how)
    if int(went_out.replace(",", "")) > 10 * most:  # else the rogue had next to no processor
        assert in_mediator > received.ours
    picture = ET.parse(tmp_path / "informer.svg").getroot()
    assert list(picture.iter("{http://www.w3.org/2000/svg}circle"))


@pytest.mark.parametrize("scale", [0.0, 0.001, 1.5, float("nan")])
def test_scales_that_cannot_be_run(scale: float) -> None:
    with pytest.raises(BadScale):
        BenchRun(scale=scale)
