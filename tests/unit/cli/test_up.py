"""`nomospace up`: four lines, a page behind a token, a clean end, and a second start."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import pytest

from nomospace.cli import BAD_INPUT, main
from nomospace_lab.cli.demos import DEMOS
from nomospace_lab.cli.up import PORT, PortTaken, _held, _held_port
from tests.ports import free_port

START = [sys.executable, "-m", "nomospace.cli", "up", "--no-browser"]
END_S = 60


class Up:
    """A demonstration that runs in a process of its own."""

    def __init__(self, data: Path, *more: str) -> None:
        self.data = data
        self.process = subprocess.Popen(
            [*START, "--data", str(data), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().rstrip("\n") for _ in range(4)]
        found = re.fullmatch(
            r"Open     (http://127\.0\.0\.1:(\d+))/\?token=([\w-]+)", self.lines[1]
        )
        assert found is not None, (self.lines, self.process.communicate(timeout=END_S))
        self.url, self.port, self.login = found[1], int(found[2]), found[3]

    def page(self, browser: OpenerDirector, path: str) -> str:
        with browser.open(Request(self.url + path, headers={"accept": "text/html"})) as answer:
            text: str = answer.read().decode()
            return text

    def ask(self, path: str) -> object:
        """Ask the API with the token that lies beside the data."""
        token = (self.data / "token").read_text().strip()
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=END_S)
        try:
            line.request("GET", path, headers={"authorization": f"Bearer {token}"})
            return json.loads(line.getresponse().read())
        finally:
            line.close()

    def end(self, how: int = signal.SIGINT) -> None:
        """Told to end, it does so by itself, and has nothing more to say."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=END_S)
        assert (self.process.returncode, out, err) == (0, "", "")


@contextmanager
def up(data: Path, *more: str) -> Iterator[Up]:
    running = Up(data, *more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate(timeout=END_S)


def test_four_lines_a_page_and_a_second_start(tmp_path: Path) -> None:
    browser = build_opener(HTTPCookieProcessor())
    with up(tmp_path) as first:
        assert first.lines[0] == f"Running  {DEMOS['hospital'].words}"
        assert first.lines[2:] == ["Stop     Ctrl-C", f"Data     {tmp_path}"]
        assert "Nomospace" in first.page(browser, f"/?token={first.login}")
        assert "Nomospace" in first.page(browser, "/")  # it is logged in
        with pytest.raises(HTTPError) as again:  # the token was good for one login
            first.page(build_opener(HTTPCookieProcessor()), f"/?token={first.login}")
        assert again.value.code == 401
        again.value.close()
        assert (tmp_path / "token").stat().st_mode & 0o077 == 0
        life = first.ask("/v1/topology")
        first.end()
    assert not (tmp_path / "token").exists()
    with up(tmp_path, "--port", "0") as second:
        assert second.ask("/v1/topology")["life"] == life["life"] + 1  # type: ignore[index]
        second.end(signal.SIGTERM)
    log = tmp_path / "up.log"
    assert not log.exists() or "could not begin" not in log.read_text()
    kept = sorted(file.name for file in (tmp_path / "hospital").glob("*.db"))
    assert kept == ["emergency.db", "maternity.db", "surgery.db"]


def test_several_demonstrations_in_one_console_for_a_while(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # if somebody else has it, so much the better
            other.bind(("127.0.0.1", PORT))
            other.listen()
        with up(tmp_path, "--demo", "jigsaw", "--demo", "bidding", "--for", "0.5") as running:
            assert running.port != PORT
            assert DEMOS["bidding"].words in running.lines[0]
            assert DEMOS["jigsaw"].words in running.lines[0]
            out, err = running.process.communicate(timeout=END_S)
            assert (running.process.returncode, out, err) == (0, "", "")
    assert (tmp_path / "bidding" / "exchange.db").exists()


def test_what_is_wrong_is_said_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        for arguments, words in (
            (["--port", taken], f"port {taken} is taken"),
            (["--speed", "3"], "--speed is for the simulated hospital"),
            (["--join", "127.0.0.1:1"], "--join is for games; give it with --demo and one of"),
            (["--demo", "jigsaw", "--listen", "0.0.0.0:1"], "names no machine that others could"),
            (["--demo", "jigsaw", "--join", "there"], "'there' is no address: it names no port"),
            (["--demo", "opera"], "no demonstration 'opera'; choose one of hospital, bidding"),
            (["--data", str(tmp_path / "file")], "cannot hold the data"),
        ):
            assert main(["up", *arguments]) == BAD_INPUT
            assert words in capsys.readouterr().err


def test_data_belongs_to_one_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _held(tmp_path):
        assert main(["up", "--data", str(tmp_path), "--fresh"]) == BAD_INPUT
    assert "or name another folder with --data" in capsys.readouterr().err


def test_fresh_forgets_what_hosts_kept_and_nothing_else(tmp_path: Path) -> None:
    from nomospace_lab.cli.up import _forget

    folder = tmp_path / "hospital"
    folder.mkdir()
    for name in ("emergency.db", "emergency.db-wal", "authority.key", "notes.txt"):
        (folder / name).write_text("")
    _forget(tmp_path, ["hospital", "bidding"])
    assert [file.name for file in folder.iterdir()] == ["notes.txt"]


def test_a_port_is_held_from_the_start() -> None:
    """Of two that start at once one has the usual port, and the other finds another."""
    port = free_port()
    with _held_port(port) as held:
        assert held.getsockname()[1] == port
        with pytest.raises(PortTaken, match=f"port {port} is taken"), _held_port(port):
            pass
    with _held_port(None) as first, _held_port(None) as second:
        assert first.getsockname()[1] != second.getsockname()[1] != PORT
