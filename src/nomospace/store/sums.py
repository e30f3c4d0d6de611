"""Checksums of a SQLite file's pages, in a file beside it: a flipped bit is found anywhere.

Bodies of rows have checksums of their own (`guarded`), which name the row. What SQLite keeps
besides, keys and the tables' own structure, has none: a bit that flips there may show a wrong key,
or hide a row. So each page has a checksum in `NAME-sums`, and a host looks at all of them before
it serves anything.

The log has checksums of its own. Pages move from it into the file at a checkpoint, and only then.
Their checksums are on disk before that begins (`PageSums.note`): until it is over the log has the
pages too, and what the log has is not looked for in the file. Where there is no file of checksums,
it is made of what is there.
"""

from __future__ import annotations

import os
import struct
from array import array
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from typing import Final
from zlib import crc32

from nomospace.store.private import open_file, whole
from nomospace.store.wal import FRAME, HEADER

END: Final = "-sums"
_HEAD: Final = struct.Struct("<8sIQI")
"""A mark, the size of pages, the life of the host that has written last, and a checksum."""
_MARK: Final = b"nomosums"
_number_at: Final = struct.Struct(">I").unpack_from
"""Which page a frame is of."""
_CHUNK: Final = 1 << 20
_BLOCK: Final = 1_024
"""So many checksums are written together."""
_FRAMES: Final = 32
"""So many frames of a log are read at a time; the host's own thread goes on while they are."""


class SumsDamaged(Exception):
    """The file of checksums is not what was written."""


class PageSums:
    """The checksums of one SQLite file; only who has its lock may use them."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self.path = database.with_name(database.name + END)
        self.life = 0
        """The life of the host that has written last, as far as this knows."""
        self._found = array("I")
        """Those of the file as it was found."""
        self.known = False
        """Whether there is a file that has those of all pages which are not in the log."""
        self._page = 0
        self._noted = 0
        self._salt = b""

    def open(self, logged: frozenset[int], page: int) -> list[int]:
        """Compare the file with what is known; gives the pages that are not what was written.

        `logged` are those that the log has. Raises `SumsDamaged`.
        """
        self._page, self._noted, self._salt = page, 0, b""
        self._found = found = self._of_file(logged)
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        head, known = data[: _HEAD.size], array("I")
        if len(head) < _HEAD.size:
            raise SumsDamaged("it is too short")
        mark, size, self.life, told = _HEAD.unpack(head)
        if mark != _MARK or told != crc32(head[:-4]) or size != page:
            raise SumsDamaged("its first bytes are altered")
        known.frombytes(data[_HEAD.size : len(data) - (len(data) - _HEAD.size) % 4])
        known.extend([0] * (len(found) - len(known)))
        self.known = True
        pairs = enumerate(zip(found, known, strict=False), 1)
        return [number for number, (now, then) in pairs if now and now != then]

    def _of_file(self, logged: frozenset[int]) -> array[int]:
        """The checksums of the pages as they are; 0 for those that the log has."""
        found, page, number = array("I"), self._page, 0
        with suppress(FileNotFoundError), self._database.open("rb") as file:
            while chunk := file.read(_CHUNK):
                view = memoryview(chunk)
                for at in range(0, len(chunk), page):
                    number += 1
                    found.append(0 if number in logged else crc32(view[at : at + page]) or 1)
        return found

    def begin(self, life: int, *, anew: bool) -> None:
        """A life begins, with the checksums that are known; `anew`, with those that were found."""
        self.life = life
        head = _HEAD.pack(_MARK, self._page, life, 0)[:-4]
        data = head + crc32(head).to_bytes(4, "little")
        found, self._found = self._found, array("I")
        if self.known and not anew:
            with open_file(self.path, "r+b") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            return
        with whole(self.path) as beside, open_file(beside, "wb") as file:
            file.write(data + found.tobytes())
        self.known = True

    def note(self, frames: int) -> None:
        """Have the checksums on disk of all pages that the log has, up to a frame."""
        if not frames or not self.path.exists():
            return
        changed: dict[int, int] = {}
        with self._database.with_name(self._database.name + "-wal").open("rb", 0) as log:
            head = log.read(HEADER)
            page, salt = int.from_bytes(head[8:12], "big"), head[16:24]
            if salt != self._salt:  # it has begun anew
                self._salt, self._noted = salt, 0
            size = FRAME + page
            frames = min(frames, (os.fstat(log.fileno()).st_size - HEADER) // size)
            # Backwards: what counts of a page is its last frame, and many have one in every commit.
            for end in range(frames, self._noted, -_FRAMES):
                first = max(self._noted, end - _FRAMES)
                log.seek(HEADER + first * size)
                data = memoryview(log.read(size * (end - first)))
                for at in range(len(data) - size, -1, -size):
                    (number,) = _number_at(data, at)
                    if number not in changed:
                        changed[number] = crc32(data[at + FRAME : at + size]) or 1
        if changed:
            self._write(changed)
        self._noted = max(self._noted, frames)  # only now: a full disk has them noted again

    def _write(self, changed: dict[int, int]) -> None:
        """Put some checksums into the file, a block at a time: most lie near others."""
        blocks: dict[int, dict[int, int]] = {}
        for number, total in changed.items():
            blocks.setdefault((number - 1) // _BLOCK, {})[(number - 1) % _BLOCK] = total
        file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            for block, totals in blocks.items():
                at, known = _HEAD.size + 4 * _BLOCK * block, array("I")
                found = os.pread(file, 4 * _BLOCK, at)
                known.frombytes(found[: len(found) // 4 * 4])
                known.extend([0] * (max(totals) + 1 - len(known)))
                for place, total in totals.items():
                    known[place] = total
                data = known.tobytes()
                if os.pwrite(file, data, at) < len(data):
                    raise OSError(ENOSPC, os.strerror(ENOSPC), str(self.path))
            os.fdatasync(file)
        finally:
            os.close(file)
