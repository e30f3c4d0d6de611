"""Who still needs records of a journal's folder: nothing of what they need is let go.

    FOLDER/holds/audit              a name that somebody has chosen (`journal hold`): until released
    FOLDER/holds/reading 17 3fa1    a program that reads: while it has the file locked, so until its
                                    end, however that comes

Each file has a number: all records after it are held. A program that cannot write there (the folder
may be a copy, or another user's) goes on without; what it misses then it is told.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from nomospace.errors import CallerError
from nomospace.store.private import make_folder, open_file

HOLDS: Final = "holds"
"""The folder with the names of those who still need records, and after which."""
READING: Final = "reading "
"""What names of programs begin with."""
LOCK: Final = ".lock"
"""What is locked while a folder is changed."""
HOLD_S: Final = 30.0
"""How long others wait for a host that seals just now."""
LOOK_S: Final = 0.02


class SealingAlready(CallerError):
    """A process would have a folder that another one seals into, and does not let go of."""

    code = "store.sealing-already"
    words = "another process seals into {folder} just now; give each host a folder of its own"
    folder: str


def lock(folder: Path, file: IO[str] | IO[bytes], how: int, wait_s: float) -> None:
    """Lock a folder by its file; raises `SealingAlready` when another has it for so long."""
    until = time.monotonic() + wait_s
    while True:
        try:
            return fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise SealingAlready(folder=str(folder)) from None
        time.sleep(LOOK_S)


def holds(folder: Path) -> dict[str, int]:
    """Who still needs records of a folder, and after which; programs that ended are forgotten."""
    found: dict[str, int] = {}
    for path in sorted((folder / HOLDS).glob("*")):
        with suppress(FileNotFoundError):  # it has just ended
            if path.name.startswith(READING) and _ended(path):
                continue
            try:
                found[path.name] = int(path.read_text())
            except ValueError:
                found[path.name] = 0  # whoever it is may need them all
    return found


def _ended(path: Path) -> bool:
    """Whether a program has ended; then its file goes, while nobody else can lock it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        path.unlink()
        return True


@contextmanager
def reading(folder: Path) -> Iterator[Callable[[int], None]]:
    """Hold all that a folder has while a program reads it.

    Gives what the program says how far it has come with: it needs only what is after that record.
    Raises `SealingAlready`.
    """
    try:
        file = _locked(folder)
    except OSError:
        yield lambda _: None
        return

    def need(after: int) -> None:
        # As long as any number, so that whoever reads meanwhile reads one of the two.
        file.seek(0)
        file.write(b"%020d" % after)
        file.flush()

    with file:
        need(0)
        try:
            # Who lets go of something just now has looked before: it is over when the lock is free.
            with suppress(OSError), (folder / LOCK).open("rb") as shared:
                lock(folder, shared, fcntl.LOCK_SH, HOLD_S)
            yield need
        finally:
            Path(file.name).unlink(missing_ok=True)


def _locked(folder: Path) -> IO[bytes]:
    """A file of this program's own, locked."""
    make_folder(folder / HOLDS)
    while True:
        name = f"{READING}{os.getpid()} {secrets.token_hex(4)}"
        file = open_file(folder / HOLDS / name, "w+b")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # somebody took it for that of a program which has ended
