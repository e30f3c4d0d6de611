"""The version that this one is run beside: a tree of its own, for processes of its own.

`EARLIER` has its commit. What it needs of that tree comes out of the clone's history into the
user's cache, once. It runs with the packages of this tree's environment, which must be those of
its lock: when the lock has changed so that they are not, `EARLIER` moves on too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Final

from nomospace_lab.bench.peers.install import cache_folder

ROOT: Final = Path(__file__).resolve().parents[2]
COMMIT: Final = (Path(__file__).parent / "EARLIER").read_text("utf-8").strip()
PARTS: Final = ("src", "tests/nursery.py", "requirements.lock")
GIT_S: Final = 60.0
COMMAND_S: Final = 120.0


@cache
def earlier() -> Path:
    """The tree of the earlier version."""
    home = cache_folder().parent / "versions" / COMMIT
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as made:
            tree = Path(made) / "tree"
            with tarfile.open(fileobj=BytesIO(_archived())) as archive:
                archive.extraction_filter = lambda member, path: member  # not known before 3.11.4
                archive.extractall(tree)
            try:
                tree.rename(home)
            except OSError:
                assert home.is_dir(), f"{home} cannot be made"  # else another process was quicker
    locks = [(tree / "requirements.lock").read_bytes() for tree in (home, ROOT)]
    assert locks[0] == locks[1], f"{COMMIT} has another lock; name a later commit in EARLIER"
    return home


def _archived() -> bytes:
    git = shutil.which("git")
    assert git is not None, "git is missing, which has the earlier version; install it"
    command = [git, "-c", "safe.directory=*", "-C", str(ROOT), "archive", COMMIT, *PARTS]
    done = subprocess.run(command, capture_output=True, check=False, timeout=GIT_S)
    assert done.returncode == 0, (
        f"this clone has no commit {COMMIT}, which hosts of this version are run beside; if it is "
        f"shallow, say: git fetch --unshallow ({done.stderr.decode(errors='replace').strip()})"
    )
    return done.stdout


def python(
    *arguments: str, old: bool, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What Python does and says with the earlier version, or with this one."""
    tree = earlier() if old else ROOT
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        capture_output=True,
        check=False,
        text=True,
        timeout=COMMAND_S,
    )
