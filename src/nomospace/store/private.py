"""Files and folders for their owner alone, from their first byte on.

What a host keeps shows what its agents keep to themselves. So whatever is written here is made with
the right mode, whatever the process's umask is; a mode set afterwards would come too late for who
has opened the file in between. What an earlier version has left readable for others is narrowed.

Other programs that a command starts go by the umask (`cli`): Spark and child processes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

FILE: Final = 0o600
FOLDER: Final = 0o700
OTHERS: Final = 0o077
"""The rights of all but the owner."""


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing. They are on disk; others stay as is."""
    missing = []
    place = path
    while not place.exists():
        missing.append(place)
        place = place.parent
    for one in reversed(missing):
        with suppress(FileExistsError):  # somebody else was quicker
            one.mkdir(mode=FOLDER)
        sync(one.parent)
    if not path.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def open_file(path: Path, mode: str, **how: Any) -> IO[Any]:
    """`open`, for a file of the owner's alone. One that is there and shows more is narrowed."""
    return open(path, mode, opener=_opener, **how)


def _opener(path: str, flags: int) -> int:
    opened = os.open(path, flags | os.O_CLOEXEC, FILE)
    try:
        if _shows(os.fstat(opened)):
            os.fchmod(opened, FILE)
    except OSError:
        os.close(opened)
        raise
    return opened


def make_file(path: Path) -> None:
    """See that a file is there before somebody opens it who knows no modes, such as SQLite.

    One that is there is not opened: that would end the locks that this process has on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE))
    except FileExistsError:
        narrow([path])


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name to write a file under: it gets its own when the block ends, or nothing is left of it.

    It is on disk then, whole and under its name, also if the power goes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, suppress(ValueError), whole(Path(folder, "a")) as new:
    ...     _ = new.write_text("half of i")
    ...     int(new.read_text())
    """
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.unlink(missing_ok=True)
        yield beside
        sync(beside)
        beside.replace(path)
        sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """See that a file, or what a folder lists, is on disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def narrow(paths: Iterable[Path]) -> list[Path]:
    """Take from others what they may do with files of this user; those that this has changed."""
    changed = []
    for path in paths:
        with suppress(OSError):
            found = path.lstat()
            if _shows(found):
                path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)
                changed.append(path)
    return changed


def _shows(found: os.stat_result) -> bool:
    """Whether others may do anything with a file that is this user's."""
    mine = found.st_uid == os.geteuid()
    return mine and stat.S_ISREG(found.st_mode) and bool(found.st_mode & OTHERS)
