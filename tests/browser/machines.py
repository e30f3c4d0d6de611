"""`nomospace up` as it runs on a machine: a process of its own, a fork of one that is warm."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.browser.site import END_S, forks

UP_S: Final = 60.0
"""How long it may take to be there."""


@dataclass
class Machine:
    """A `nomospace up` in a process of its own."""

    url: str
    login: str

    def link(self, path: str) -> str:
        """A link that logs in and leads to a path; good once."""
        return f"{self.url}{path}?token={self.login}"


@contextmanager
def machine(folder: Path, *arguments: str) -> Iterator[Machine]:
    """`nomospace up` until the end of the block; then it must end well."""
    out = folder / "said"
    command = ["up", "--no-browser", "--port", "0", "--data", str(folder / "data"), *arguments]
    process = forks().Process(target=_run, args=(out, command), daemon=True)
    process.start()
    try:
        url, login = _address(process, out)
        yield Machine(url, login)
        process.terminate()
        process.join(END_S)
        assert process.exitcode == 0, (process.exitcode, out.read_text())
    finally:
        if process.is_alive():
            process.kill()
            process.join(END_S)


def _address(process: Any, out: Path) -> tuple[str, str]:
    """Where its console is, and the token of the first login."""
    ends = time.monotonic() + UP_S
    while True:
        said = out.read_text() if out.exists() else ""
        found = re.search(r"^Open     (.+)/\?token=(.+)\n.*\nData ", said, re.MULTILINE)
        if found is not None:
            return found[1], found[2]
        assert process.is_alive(), said
        assert time.monotonic() < ends, said
        time.sleep(0.02)


def _run(out: Path, command: list[str]) -> None:
    from nomospace.cli import main

    with out.open("w", buffering=1) as said:
        sys.stdout = sys.stderr = said
        sys.exit(main(command))
