"""`nomospace up --text`: in a pipe, on terminals of any size, and its end."""

import os
import re
import signal
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from nomospace.cli import main
from nomospace_lab.apps.hospital.live import LiveHospital
from nomospace_lab.cli import up_text
from nomospace_lab.cli.up_text import _Run, screen

START = [sys.executable, "-m", "nomospace.cli", "up", "--text"]
END_S = 60


def test_in_a_pipe_it_writes_plain_lines_and_ends_by_itself() -> None:
    done = subprocess.run(
        [*START, "--for", "0.5", "--speed", "600"],
        env={**os.environ, "FORCE_COLOR": "1"},  # a pipe stays a pipe
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Alarms in a simulated hospital")
    for sign in ("→ forwarded", "✕ refused", "⏳ obligation"):
        assert any(sign in line for line in lines), f"no line with {sign!r}"
    assert any("reaches felix" in line for line in lines)
    assert "of its own time" in lines[-4]


def test_a_pipe_that_cannot_take_the_signs_still_gets_lines() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*START, "--for", "0.1"], capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert b"? forwarded" in done.stdout


def test_ctrl_c_ends_it_with_an_account_and_success() -> None:
    with subprocess.Popen(START, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        assert up.stdout.readline()  # it is running
        up.send_signal(signal.SIGINT)
        out, err = up.communicate(timeout=END_S)
    assert (up.returncode, err) == (0, "")
    account = out.splitlines()[-4:]
    for line, starts in zip(account, ("The hospital worked", "→ ", "", "Next: "), strict=True):
        assert line.startswith(starts)
    assert "all by law AP" in account[2]


def test_the_clock_goes_as_fast_as_was_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_s = [0.0]
    monkeypatch.setattr(up_text, "monotonic", lambda: sum(passed_s))
    monkeypatch.setattr(up_text, "sleep", passed_s.append)
    assert main(["up", "--text", "--for", "0.2", "--speed", "300"]) == 0
    told = re.search(r"worked for (\d+) min (\d+) s of its own", capsys.readouterr().out)
    assert told is not None
    assert (told[1], told[2]) == ("1", "00")


@pytest.mark.parametrize(
    ("width", "height"), [(1, 1), (10, 3), (20, 5), (40, 11), (80, 24), (120, 18), (200, 60)]
)
def test_the_screen_fits_any_terminal(width: int, height: int) -> None:
    run = _Run(seed=1, speed=30, for_s=None)
    run.hospital.advance(run.began_us + 600_000_000)
    console = Console(width=width, height=height, file=StringIO())
    lines = console.render_lines(screen(run, width, height), pad=False)
    assert len(lines) == height
    assert all(sum(segment.cell_length for segment in line) <= width for line in lines)


def test_a_wide_screen_shows_rules_duties_and_roles() -> None:
    run = _Run(seed=1, speed=30, for_s=None)
    run.hospital.advance(run.began_us + 500_000_000)
    out = StringIO()
    Console(width=160, height=45, file=out).print(screen(run, 160, 45))
    told = out.getvalue()
    assert re.search(r"in \d min \d\d s .*must acknowledge", told)
    assert re.search(r"felix@er +fire expert, inspector", told)
    assert "R3, reaches" in told
    assert "30× real time" in told


def test_a_day_of_the_hospital_stays_bounded_and_tells_of_everything() -> None:
    hospital = LiveHospital(2)
    said: list[str] = []
    for _ in range(90):
        hospital.advance(hospital.clock.now + 60_000_000)
        said.extend(f"{entry.verdict} {entry.who} {entry.what}" for entry in hospital.feed)
    assert len(hospital.history) == 0
    assert len(hospital.feed) <= 200
    story = "\n".join(said)
    for word in (
        "crashes",
        "is back",
        "forged certificate",
        "under a law of its own",
        "a metaAlarm goes out",
        "acknowledges",
        "blockLay",
        "confirmed",
    ):
        assert word in story, f"never told: {word}"
