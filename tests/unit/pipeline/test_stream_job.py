"""A stream is looked at from all sides before Spark is started; what is wrong is told at once."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from nomospace.cli import main
from nomospace.client import dialling
from nomospace.meaning.question import parse_template
from nomospace.pipeline.jobs.stream import StreamPlan, _alone, _told_to_end, run_stream
from nomospace.pipeline.stream.state import BadCheckpoint
from nomospace.pipeline.stream.tail import HostPlace
from nomospace.pipeline.stream.writing import Target
from tests.ports import free_port
from tests.unit.pipeline.live import served
from tests.unit.pipeline.told import CARS

WORDS = "pipeline stream --into answers --as clerk --master local[1]".split()


class Reached(Exception):
    """Everything was fine, and Spark would be started."""


def start(plan: StreamPlan, template: str = "(Car, Loan)") -> None:
    def reached() -> None:
        raise Reached

    with pytest.raises(Reached):
        run_stream(plan, CARS, parse_template(template, CARS), prepare=reached)


def a_plan(url: str, folder: Path, **other: Any) -> StreamPlan:
    place = HostPlace(url=url)
    target = Target(place=place, space="answers", agent="clerk")
    return StreamPlan(source=place, target=target, checkpoint=folder, **other)


def test_a_checkpoint_is_of_one_stream(tmp_path: Path) -> None:
    def work(url: str) -> None:
        folder = tmp_path / "checkpoint"
        start(a_plan(url, folder))
        start(a_plan(url, folder, records=7, trigger="once"))
        with pytest.raises(BadCheckpoint, match=r"begun with question '\(Car, Loan\) auto 6', not"):
            start(a_plan(url, folder), "(Car, Tax)")
        with pytest.raises(BadCheckpoint, match="begun with space '', not 'cars'"):
            start(a_plan(url, folder, space="cars"))
        with (
            _alone(folder),
            pytest.raises(BadCheckpoint, match="another job is at work with it"),
        ):
            start(a_plan(url, folder))
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "letter.txt").touch()
        with pytest.raises(BadCheckpoint, match=r"it has files and no stream\.json"):
            start(a_plan(url, tmp_path / "full"))
        with pytest.raises(BadCheckpoint, match="Not a directory"):
            start(a_plan(url, tmp_path / "full" / "letter.txt" / "x"))
        (folder / "stream.json").write_text("{")
        with pytest.raises(BadCheckpoint, match=r"stream\.json cannot be read"):
            start(a_plan(url, folder))

    served(tmp_path, work, jobs=0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--template", "(Car, Lorry)"], "Lorry: the ontology cars has no such class"),
        (["--template", "(Car"], "here should stand"),
        (["--ontology", "nowhere.yaml"], "cannot read nowhere.yaml"),
        (["--trigger", "soon"], "--trigger soon: it is no time"),
        (["--trigger", "0s"], "--trigger 0s: it is no time"),
        (["--keep", "7y"], "--keep 7y: it is no time"),
        (["--since", "monday"], "--since monday: it is start, now"),
        (["--journal", "nowhere"], "--journal nowhere: it is no folder"),
        (["--as", ""], "say as which agent"),
        (["--token", "t"], "must not be shown a token"),
        (["--from", "ftp://ward"], "is no address of a host"),
        (["--master", "spork://m"], "names no Spark master"),
        (["--master", "spark://127.0.0.1:1"], "spark://127.0.0.1:1 does not answer"),
        ([], "does not answer: "),
    ],
)
def test_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    cars = tmp_path / "cars.yaml"
    cars.write_text("classes: {Car: {}, Loan: {}}")
    given = {
        "--from": f"nomos+plain://127.0.0.1:{free_port()}",
        "--template": "(Car, Loan)",
        "--ontology": str(cars),
        "--checkpoint": str(tmp_path / "checkpoint"),
    }
    given |= dict(zip(words[::2], words[1::2], strict=True))
    assert main([*WORDS, *[word for pair in given.items() for word in pair]]) == 2
    told = capsys.readouterr().err
    assert expected in told
    assert "Traceback" not in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_is_told_to_end_ends_its_batch_first(number: int) -> None:
    before = signal.getsignal(number)
    with _told_to_end() as wanted:
        os.kill(os.getpid(), number)
        assert wanted.wait(60)
        with pytest.raises(KeyboardInterrupt):  # told twice
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_a_host_that_takes_the_connection_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialling, "DIAL_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"nomos+plain://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(Exception, match=r"does not answer: no answer within 0\.2 s"):
            start(a_plan(url, tmp_path / "checkpoint"))
