"""Getting a peer: one folder each, outside the source tree, kept for the next run.

A folder is filled beside its place and renamed into it, so an interrupted installation is never
taken for a whole one. Versions are pinned by the tables of peers; what a peer itself depends on
is left to the installer.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nomospace.errors import Unavailable

INSTALL_S_MAX = 300
REASON_LENGTH_MAX = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerPackage:
    """A package to install, with what else it needs.

    `besides` are packages that it imports without declaring them; `needs` looks for what no
    package brings, and gives the lack and its remedy.
    """

    name: str
    version: str
    driver: Path
    besides: tuple[str, ...] = ()
    needs: Callable[[], tuple[str, str] | None] = lambda: None

    @property
    def requirements(self) -> tuple[str, ...]:
        """The pinned requirements, as pip reads them."""
        return (f"{self.name}=={self.version}", *self.besides)


class PeerMissing(Unavailable):
    """A peer cannot be measured on this machine."""

    code = "bench.peer-missing"
    peer: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.why}; {self.remedy}" if self.remedy else self.why


def cache_folder() -> Path:
    """Where peers are kept: `$XDG_CACHE_HOME/nomospace/peers`, or the same under `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "nomospace" / "peers"


def install(peer: PeerPackage, cache: Path, say: Callable[[str], None]) -> Path:
    """The folder with a peer's packages, filled on the first call; `PeerMissing` when it fails."""
    lack = peer.needs()
    if lack is not None:
        raise PeerMissing(peer=peer.name, why=lack[0], remedy=lack[1])
    home = cache / f"{peer.name}-{peer.version}-{sys.implementation.cache_tag}"
    if home.is_dir():
        return home
    say(f"installing {peer.name} {peer.version} into {home}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".installing-") as scratch:
            filled = Path(scratch) / "packages"
            _fill(peer, filled)
            try:
                filled.rename(home)
            except OSError:
                if not home.is_dir():  # else another run was quicker, and its folder will do
                    raise
    except OSError as error:
        why = f"its folder cannot be written: {error}"
        raise PeerMissing(
            peer=peer.name, why=why, remedy="set XDG_CACHE_HOME to a folder that can be"
        ) from error
    return home


def _fill(peer: PeerPackage, target: Path) -> None:
    command = [*_installer(peer), "--target", str(target), *peer.requirements]
    remedy = f"see what it says to: {' '.join(command)}"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        why = f"installing it took longer than {INSTALL_S_MAX} s"
        raise PeerMissing(peer=peer.name, why=why, remedy=remedy) from None
    if done.returncode != 0:
        why = f"installing it failed: {_reason(done.stderr or done.stdout)}"
        raise PeerMissing(peer=peer.name, why=why, remedy=remedy)


def _installer(peer: PeerPackage) -> list[str]:
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if importlib.util.find_spec("pip") is not None:
        quiet = [
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
            "--no-warn-script-location",
        ]
        return [sys.executable, "-m", "pip", "install", *quiet]
    raise PeerMissing(
        peer=peer.name,
        why="there is neither uv nor pip to install it with",
        remedy=f"run: {sys.executable} -m ensurepip",
    )


def _reason(log: str) -> str:
    """The line of an installer's log that says most: the last error, else the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    told = [line for line in lines if "Error: " in line or line.startswith("ERROR: ")]
    return (told or lines or ["no reason given"])[-1][:REASON_LENGTH_MAX]
