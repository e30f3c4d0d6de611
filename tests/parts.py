"""What the tests want of the system, looked for and got before they begin.

    python -m tests.parts [ARGUMENTS OF PYTEST]

The browser tests want Chromium, and Playwright, which drives it, wants a library for its node;
those of versions want git. Who may use the system's package manager gets them by it; for others
Playwright downloads a Chromium.
What cannot be had so is named with the command that brings it; its tests fail, all others run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playwright._impl._driver import compute_driver_executable

ROOT: Final = Path(__file__).resolve().parents[1]
WANTING: Final = (ROOT / "tests/browser", ROOT / "tests/docs", ROOT / "tests/versions")
"""The folders whose tests use Playwright, or git."""
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
GET_S: Final = 600
"""How long getting something may take."""


def chromium() -> str | None:
    """A Chromium of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def missing() -> Iterator[str]:
    """The packages of Debian that bring what is missing here."""
    if shutil.which("git") is None:
        yield "git"
    if chromium() is None and not _downloaded():
        yield "chromium"
    node, *_ = compute_driver_executable()
    if subprocess.run([node, "--version"], capture_output=True, check=False).returncode:
        yield "libatomic1"


def install(packages: list[str]) -> str:
    """The one command that brings packages."""
    return f"apt-get install -y --no-install-recommends {' '.join(packages)}"


def get(packages: list[str]) -> None:
    """Get packages as far as this user may."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _do(f"apt-get update -q && {install(packages)}")
    elif packages == ["chromium"]:
        _do(f"{sys.executable} -m playwright install chromium")


def wanted(arguments: list[str]) -> bool:
    """Whether pytest, told this, may run tests that want any of it.

    >>> wanted([]), wanted(["-k", "law"]), wanted(["tests/unit/law", "-x"]), wanted(["tests"])
    (True, True, False, True)
    """
    words = [argument.partition("::")[0] for argument in arguments]
    paths = [ROOT / word for word in words if word and (ROOT / word).exists()]
    return not paths or any(
        path.is_relative_to(folder) or folder.is_relative_to(path)
        for path in paths
        for folder in WANTING
    )


def _downloaded() -> bool:
    """Whether Playwright has a Chromium of its own."""
    return any((Path.home() / ".cache/ms-playwright").glob("chromium*"))


def _do(command: str) -> None:
    print(f"the tests want more of the system: {command}", file=sys.stderr, flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            ["sh", "-c", command], timeout=GET_S, check=False, capture_output=True, env=environment
        )
    except subprocess.TimeoutExpired:
        print(f"it took longer than {GET_S} s and was given up", file=sys.stderr)
        return
    if done.returncode:
        print(done.stderr.decode(errors="replace")[-2_000:], file=sys.stderr)


def main(arguments: list[str]) -> None:
    """Get what is missing; say what still is."""
    if not wanted(arguments) or not (packages := list(missing())):
        return
    get(packages)
    if packages := list(missing()):
        said = f"{' and '.join(packages)} are missing, and tests will fail; get them with"
        print(f"{said}: sudo {install(packages)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
