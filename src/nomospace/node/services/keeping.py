"""A file that keeps the changes of a service: what was written is on disk when `write` returns.

One change a line, as JSON behind a checksum. A line that a crash has cut off at the end of the file
was never acknowledged, and is taken away on opening; so is a last line with zeros in it: a power
cut leaves them where a sector of a file that was made longer never came. A line that is wrong
anywhere else is damage: it is named with its number, and nothing is read past it. One process has
the file at a time.

>>> from tempfile import TemporaryDirectory
>>> from pathlib import Path
>>> class Said(msgspec.Struct):
...     what: str
>>> with TemporaryDirectory() as folder:
...     for word in ("a", "b"):
...         with ServiceLog(Path(folder) / "log", Said) as log:
...             print(log.begin())
...             log.write(Said(word))
[]
[Said(what='a')]
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Generic, Self, TypeVar
from zlib import crc32

import msgspec

from nomospace.errors import CallerError, Unavailable
from nomospace.store.private import make_folder, open_file, sync

LOG_BYTES_MAX: Final = 1 << 30
"""The largest file of changes that is opened or written."""

T = TypeVar("T")


class LogDamaged(CallerError):
    """A file of changes holds a line that nobody wrote."""

    code = "services.log-damaged"
    words = (
        "{path}, line {line}: {why}; bring the file back from a backup, "
        "or take the line out if what it said may be lost"
    )
    path: str
    line: int
    why: str


class LogInUse(Unavailable):
    """Another process has the file of changes."""

    code = "services.log-in-use"
    words = "{path} is in use by another process; end that one, or use another file"
    path: str


class LogUnwritable(Unavailable):
    """A change could not be written down, and so does not count."""

    code = "services.log-unwritable"
    words = "nothing can be written to {path}: {why}; make room, then try again"
    path: str
    why: str


class ServiceLog(Generic[T]):
    """The changes of one service in a file. All calls block; one thread makes them."""

    def __init__(self, path: Path, kind: object) -> None:
        self._path = path
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(kind)
        self._file: IO[bytes] | None = None
        self._size = 0
        self.lines = 0
        """How many changes the file holds, those counted that later ones have made void."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> list[T]:
        """Open the file, making it when there is none: the changes it holds, oldest first.

        Raises `LogInUse`, `LogDamaged`, `LogUnwritable`.
        """
        try:
            make_folder(self._path.parent)
            file = open_file(self._path, "a+b")
            sync(self._path.parent)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LogInUse(path=str(self._path)) from None
            changes = self._read(file)
        except BaseException:
            file.close()
            raise
        self._file = file
        return changes

    def _read(self, file: IO[bytes]) -> list[T]:
        if file.seek(0, os.SEEK_END) > LOG_BYTES_MAX:
            raise self._damaged(0, f"the file is above {LOG_BYTES_MAX:,} bytes")
        file.seek(0)
        changes: list[T] = []
        self._size = 0
        end = os.fstat(file.fileno()).st_size
        for number, line in enumerate(file, start=1):
            last = self._size + len(line) == end
            if last and b"\0" in line:
                file.truncate(self._size)
                break
            checksum, _, body = line[:-1].partition(b" ")
            sound = checksum == b"%08x" % crc32(body)
            if not line.endswith(b"\n"):
                if sound:
                    raise self._damaged(number, "its end is altered")
                file.truncate(self._size)  # a crash came in between: nobody was told that it holds
                break
            if not sound:
                raise self._damaged(number, "its checksum is not that of its words")
            try:
                changes.append(self._decoder.decode(body))
            except (msgspec.DecodeError, ValueError, RecursionError) as error:
                raise self._damaged(number, f"it is no change of this service ({error})") from None
            self._size += len(line)
        file.seek(0, os.SEEK_END)
        self.lines = len(changes)
        return changes

    def write(self, *changes: T) -> None:
        """Add changes to the file, all or none; they are on disk when this returns."""
        assert self._file is not None, "a log is begun before it is written to"
        block = b"".join([self._line(change) for change in changes])
        try:
            if self._size + len(block) > LOG_BYTES_MAX:
                raise OSError(f"the limit of {LOG_BYTES_MAX:,} bytes is reached")
            self._file.write(block)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # what was written of it must not be read as a change later
                self._file.truncate(self._size)
            raise self._unwritable(error) from error
        self._size += len(block)
        self.lines += len(changes)

    def rewrite(self, changes: Iterable[T]) -> None:
        """Let the file hold only these changes: a new file takes the old one's name at once."""
        assert self._file is not None, "a log is begun before it is rewritten"
        fresh = self._path.with_name(f"{self._path.name}.new")
        old, count, size = self._file, 0, 0
        try:
            file = open_file(fresh, "w+b")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for change in changes:
                size += file.write(self._line(change))
                count += 1
            file.flush()
            os.fsync(file.fileno())
            fresh.replace(self._path)
            sync(self._path.parent)
        except OSError as error:
            raise self._unwritable(error) from error
        self._file, self._size, self.lines = file, size, count
        old.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _line(self, change: T) -> bytes:
        body = self._encoder.encode(change)
        return b"%08x %s\n" % (crc32(body), body)

    def _damaged(self, line: int, why: str) -> LogDamaged:
        return LogDamaged(path=str(self._path), line=line, why=why)

    def _unwritable(self, error: OSError) -> LogUnwritable:
        return LogUnwritable(path=str(self._path), why=error.strerror or str(error))
