"""Processes that a bench measures: hosts, and parts of experiments that talk in lines of JSON."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from nomospace.errors import Unavailable

END_S: Final = 10.0
"""How long a process has to say why it failed."""


class PartFailed(Unavailable):
    """A process of a bench ended before its time."""

    code = "bench.part-failed"
    words = "the {part} of the bench failed; it said:\n{said}"
    part: str
    said: str


class ChildProcess:
    """A child process. It says things in lines of JSON and is told things in lines."""

    def __init__(self, name: str, module: str, *arguments: str) -> None:
        self.name = name
        # A file, not a pipe: nobody would read a pipe, and a process that logs much would stand.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 (open as long as it lives)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def hear(self) -> Any:
        """What it says next; raises `PartFailed` when it has ended instead."""
        assert self._process.stdout is not None, "it was asked for"
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate(timeout=END_S)
            raise PartFailed(part=self.name, said=self.said()[-2_000:])
        return msgspec.json.decode(line)

    def said(self) -> str:
        """What it has logged."""
        self._said.seek(0)
        return self._said.read()

    def say(self, line: str) -> None:
        """Tell it something."""
        assert self._process.stdin is not None, "it was asked for"
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """End it, and see that it is gone."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._said.close()


@contextmanager
def ended(part: ChildProcess) -> Iterator[ChildProcess]:
    """A part that is ended with its block."""
    try:
        yield part
    finally:
        part.end()


def host_flags(trust: Path | None, join: str = "") -> Sequence[str]:
    """How the hosts of a bench are run: on the loopback, in memory, quietly."""
    safety = ["--insecure"] if trust is None else ["--trust", str(trust)]
    friends = ["--join", join] if join else []
    return ["--listen", "127.0.0.1:0", "--store", "memory", *safety, *friends]


def host_process(name: str, trust: Path | None, join: str = "") -> ChildProcess:
    """`nomospace host run`; what it says first has its `address` and its `url`."""
    flags = host_flags(trust, join)
    return ChildProcess(f"host {name}", "nomospace.cli", "host", "run", name, "--json", *flags)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
