"""Spark for a checkout: installed when it is first needed, so that nothing else waits for it.

`requirements-spark.lock` goes into the environment that runs this, beside `requirements.lock`; a
copy of it there says that it did, and is written last. One installs at a time, others wait for it.
Before the first job Java's class archive is made, which every later session starts sooner for;
the tests, which start one session, do without.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nomospace.cli.checkout import NoCheckout, checkout
from nomospace.errors import Unavailable

LOCK: Final = "requirements-spark.lock"
INSTALL_S: Final = 1_800.0
"""How long an installation may take before it is given up."""
SAY_S: Final = 5.0


class NotInstalled(Unavailable):
    """Spark could not be installed."""

    code = "cli.not-installed"
    words = "Spark could not be installed: {why}; {log} says more. Then try again"
    why: str
    log: str


def is_installed() -> bool:
    """Whether this environment has the Spark of the lock, or, without a checkout, any."""
    try:
        root = checkout()
    except NoCheckout:
        from nomospace.pipeline.jobs.session import has_spark

        return has_spark()
    return _is_done(root)


def ensure_spark(*, archive: bool = True) -> None:
    """Install Spark if this is a checkout without it; raises `NotInstalled`.

    Elsewhere whoever installed nomospace sees to it: `pip install 'nomospace[spark]'`. The class
    archive takes longer to make than it saves one session.
    """
    try:
        root = checkout()
    except NoCheckout:
        return
    if not _is_done(root):
        with _alone():
            if not _is_done(root):
                _install(root)
    if archive:
        from nomospace.pipeline.jobs.session import make_archive

        make_archive(say=progress)


def need_spark() -> None:
    """Have Spark and a Java for it before work begins that would be lost without them.

    Raises `NotInstalled`, `NoSpark` or `NoJava`, each with what brings the part.
    """
    from nomospace.pipeline.java import find_java
    from nomospace.pipeline.jobs.session import NoSpark, has_spark

    ensure_spark()
    if not has_spark():
        raise NoSpark
    find_java()


def _stamp() -> Path:
    return Path(sys.prefix) / LOCK


def _is_done(root: Path) -> bool:
    try:
        return _stamp().read_bytes() == (root / LOCK).read_bytes()
    except FileNotFoundError:
        return False


@contextmanager
def _alone() -> Iterator[None]:
    with (Path(sys.prefix) / ".spark-making").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


def _install(root: Path) -> None:
    log = Path(sys.prefix) / "spark.log"
    lock = root / LOCK
    count = sum(line[:1].isalnum() for line in lock.read_text("utf-8").splitlines())
    progress(f"Spark is needed here for the first time: {count} packages from {LOCK}, some 600 MB")
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(lock),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            umask=~Path(sys.prefix).stat().st_mode & 0o777,  # as open to others as its folder is
        )
        try:
            _watch(process, log, count)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode:
        raise NotInstalled(why=f"exit code {process.returncode}", log=str(log))
    beside = _stamp().with_suffix(".part")
    shutil.copyfile(lock, beside)
    beside.replace(_stamp())
    log.unlink(missing_ok=True)


def _command(lock: Path) -> list[str]:
    uv = shutil.which("uv")
    if uv is not None:
        return [
            uv,
            "pip",
            "install",
            "--python",
            sys.executable,
            "--require-hashes",
            "-r",
            str(lock),
        ]
    pip = [sys.executable, "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    return [*pip, "--disable-pip-version-check", "--require-hashes", "-r", str(lock)]


def _watch(process: subprocess.Popen[bytes], log: Path, count: int) -> None:
    """Say now and then how far it is; raises `NotInstalled` when it takes too long."""
    began = said = time.monotonic()
    while True:
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
        else:
            return
        now = time.monotonic()
        if now - began > INSTALL_S:
            raise NotInstalled(why=f"it took longer than {INSTALL_S:.0f} s", log=str(log))
        if now - said >= SAY_S:
            said = now
            got = log.read_bytes().count(b"\nCollecting ") + 1
            progress(f"  {min(got, count)} of {count} packages, {now - began:.0f} s")


def progress(words: str) -> None:
    """A line of progress, apart from what a command prints."""
    print(words, file=sys.stderr, flush=True)
