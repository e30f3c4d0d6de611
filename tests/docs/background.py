"""What a shell does for the console of a page: hosts in the background, and variables.

| command | what happens |
| --- | --- |
| `./nomospace host run … &` | it is started on a free port, and commands go to it |
| `kill %1` | it is ended, and must end well |
| `export NAME=VALUE`, `export NAME=$(./nomospace …)` | the variable is set, for this page |
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import pytest

from tests import nursery
from tests.unit.cli.running import running

EXPORT: Final = re.compile(r"export (\w+)=\$\((.*)\)")
"""A variable that is set to what a command prints."""
_PLAIN: Final = re.compile(r"export (\w+)=([^$]*)")
_START: Final = "./nomospace host run "
_USUAL: Final = re.compile(r"nomos(\+plain)?://127\.0\.0\.1:7420")
"""Where pages say that their hosts are."""


_popen: Any = subprocess.Popen
_RUN: Final = [sys.executable, "-m", "nomospace.cli", "host", "run"]


class Started(subprocess.Popen[bytes]):
    """What a program of a page starts: a host is a fork (`tests.nursery`), which is soon there."""

    def __new__(cls, command: Any, *more: Any, **options: Any) -> Any:
        """Not one of these, ever."""
        if not isinstance(command, list) or command[: len(_RUN)] != _RUN:
            return _popen(command, *more, **options)
        with ExitStack() as files:
            log = options.get("stderr") or files.enter_context(Path("hosts.log").open("ab"))
            return nursery.start(command[3:], folder=Path.cwd(), log=log)


class Background:
    """The background of one page; leaving it ends its host."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._patch = monkeypatch
        self._hosts = ExitStack()
        self._url = ""

    def __enter__(self) -> Self:
        self._patch.setattr(subprocess, "Popen", Started)
        return self

    def __exit__(self, *_: object) -> None:
        self._hosts.close()

    def told(self, command: str) -> str:
        """A command with the address that the host has here."""
        return _USUAL.sub(self._url, command) if self._url else command

    def does(self, command: str) -> bool:
        """Whether a command is one for the shell; then it is done."""
        if command.startswith(_START) and command.endswith(" &"):
            words = shlex.split(command.removeprefix(_START).removesuffix(" &"))
            self._url = self._hosts.enter_context(running(self._folder, *words))
            self.export("NOMOSPACE_HOST", self._url)
        elif command == "kill %1":
            self._hosts.close()
            self._url = ""
        elif found := _PLAIN.fullmatch(command):
            self.export(found[1], found[2])
        else:
            return False
        return True

    def export(self, name: str, value: str) -> None:
        """Set a variable, until the page is over."""
        self._patch.setenv(name, value)
