"""A host in a process of its own, for tests of the commands that speak with one."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import pytest

from nomospace.cli import main
from tests import nursery
from tests.parity.processes import PACE

READY_S: Final = 60.0
"""How long a host may take to be ready: these machines are shared."""
SOON_S: Final = 60.0

Say = pytest.CaptureFixture[str]


@contextmanager
def running(folder: Path, *arguments: str, from_nothing: bool = False) -> Iterator[str]:
    """`nomospace host run …` on a free port; its URL. It is ended kindly, and must end well.

    It starts `from_nothing` as for a shell, or else as a fork (`tests.nursery`).
    """
    given = ["host", "run", *PACE, *arguments, "--json", "--listen", "127.0.0.1:0"]
    if "--trust" not in arguments:
        given.append("--insecure")
    path = folder / f"{arguments[0]}.log"
    with path.open("ab") as log:
        start = _from_nothing if from_nothing else nursery.start
        child = start(given, folder=folder, log=log)
    with child:
        try:
            assert child.stdout is not None
            ready, _, _ = select.select([child.stdout], [], [], READY_S)
            line = child.stdout.readline() if ready else b""
            assert line, f"a host did not start:\n{path.read_text()[-3_000:]}"
            yield str(json.loads(line)["url"])
            child.send_signal(signal.SIGTERM)
            assert child.wait(60) == 0, path.read_text()[-3_000:]
        finally:
            child.kill()


def _from_nothing(arguments: list[str], *, folder: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "nomospace.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=folder,
        preexec_fn=nursery.end_with_parent,  # noqa: PLW1509 (it calls the kernel and no more)
    )


@contextmanager
def command(folder: Path, *arguments: str) -> Iterator[nursery.Child]:
    """A command in a process of its own, killed with the block if it has not ended."""
    with (folder / "command.log").open("ab") as log:
        child = nursery.start(list(arguments), folder=folder, log=log)
    with child:
        yield child


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that hosts bring about by themselves."""
    until = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < until, f"not so within {SOON_S:g} s"
        time.sleep(0.05)


class Cli:
    """Runs commands against one host, in this process."""

    def __init__(self, capsys: Say, url: str) -> None:
        self._capsys = capsys
        self.url = url

    def run(self, *words: str, code: int = 0) -> str:
        """What a command prints: on stdout when it went well, and on stderr otherwise."""
        words = (*words[:2], "--host", self.url, *words[2:])
        got = main(list(words))
        told = self._capsys.readouterr()
        assert got == code, (words, told)
        return told.out if code == 0 else told.err

    def data(self, *words: str) -> list[Any]:
        """What it prints for programs, line by line."""
        words = (*words[:2], "--json", *words[2:])
        return [json.loads(line) for line in self.run(*words).splitlines()]
