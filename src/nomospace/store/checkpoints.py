"""Pages move from the log of a SQLite file into the file, while commits go on.

To move a thousand pages takes tens of milliseconds: they are written all over the file, and synced.
Between two commits everybody who waits for the second would wait for that too, so a thread of its
own moves them. Two things are to be seen to:

- Checksums of pages are on disk before the pages move (`sums`), and nobody has noted those of pages
  that are committed meanwhile. So a connection stands still at the last commit that was noted:
  SQLite moves nothing that comes after the oldest reader.
- A log begins anew only when all of it has moved, which it never has while commits go on. So when
  it is long, what came meanwhile moves next, which takes less time, and so on; when little is left
  it is moved between two commits. Everybody waits for that, so it is not done each time.

Where commits come faster than their pages move, the log grows up to `LOG_FRAMES_MAX`; then they
wait for it.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from struct import Struct
from threading import Thread, get_native_id
from typing import Final

from nomospace.store.sums import PageSums

CHECKPOINT_FRAMES: Final = 1_000
"""With so many pages in the log they are moved into the file."""
LONG: Final = 2
"""A log of so many times as many is long: it is to begin anew."""
REST_FRAMES: Final = 64
"""So many are little: they are moved between two commits."""
LOG_FRAMES_MAX: Final = 16_000
"""With so many in the log no commit goes on before they have moved."""
CHECKPOINT_AGAIN: Final = 250
"""After so many more it is tried again, if somebody who reads, or a full disk, held that up."""
NICE: Final = 10
"""How far the thread stands back where commits go on at the same core."""
FREE_PAGES_MIN: Final = 1_000
FREE_PART: Final = 4
"""A file gets smaller when it has so many pages free, and more than a quarter of them."""
FREED_PAGES: Final = 100
"""Pages that are given back at a time, behind a commit: nobody waits for it long."""
_COUNTS: Final = Struct("=I76xI")
_COUNTS_AT: Final = 16
"""What SQLite's index of the log says at that place: which frame is the last, and up to which they
have moved; see its page on the format of the index."""


class Checkpoints:
    """Moves the pages of one log. All but the thread's own work is done by who commits."""

    def __init__(
        self, path: Path, sums: PageSums, connected: Callable[[], sqlite3.Connection]
    ) -> None:
        self._path = path
        self._sums = sums
        self._connected = connected
        self._index: int | None = None
        """SQLite's index of the log. To close it ends locks, so that is done last."""
        self._tried = 0
        """The last frame of the log when its pages could not be moved as they should."""
        self._still: sqlite3.Connection | None = None
        self._beside: sqlite3.Connection | None = None
        self._work: Thread | None = None

    def frames(self) -> tuple[int, int]:
        """How many pages the log has, and how many of them have moved."""
        if self._index is None:
            try:
                self._index = os.open(
                    self._path.with_name(self._path.name + "-shm"), os.O_RDONLY | os.O_CLOEXEC
                )
            except FileNotFoundError:
                return 0, 0
        told = os.pread(self._index, _COUNTS.size, _COUNTS_AT)
        return _COUNTS.unpack(told) if len(told) == _COUNTS.size else (0, 0)

    def due(self) -> bool:
        """Whether `go_on` has something to do: something was committed."""
        if self._still is None:  # early, so that no file is opened later
            with suppress(sqlite3.Error):
                self._beside, self._still = self._connected(), self._connected()
                self._beside.execute("PRAGMA synchronous = FULL")
                for connection in (self._beside, self._still):  # which open the log as they read
                    connection.execute("SELECT one FROM state").fetchone()
        frames, moved = self.frames() if self._sums.known else (0, 0)
        if self._work is not None:
            if frames < LOG_FRAMES_MAX and self._work.is_alive():
                return False
            self.settle()
        if 0 < self._tried <= frames < self._tried + CHECKPOINT_AGAIN:
            return False
        left = frames - moved
        after = moved and left and frames >= LONG * CHECKPOINT_FRAMES
        return bool(frames >= LOG_FRAMES_MAX or after or left >= CHECKPOINT_FRAMES)

    def go_on(self, writer: sqlite3.Connection) -> None:
        """See that pages move; nothing is committed meanwhile."""
        with suppress(OSError, sqlite3.Error, RuntimeError):  # or some other time
            frames, moved = self.frames()
            rest = frames >= LONG * CHECKPOINT_FRAMES and frames - moved <= REST_FRAMES
            _free_pages(writer)
            if frames >= LOG_FRAMES_MAX or (moved and rest):
                self._move(writer, self.frames()[0])
            else:
                self._begin(self.frames()[0])

    def _begin(self, frames: int) -> None:
        if self._still is None:
            return
        self._let_go()  # where the last attempt has failed in the middle
        self._still.execute("BEGIN")
        self._still.execute("SELECT one FROM state").fetchone()
        work = Thread(target=self._run, args=(frames,), name="nomospace-log", daemon=True)
        work.start()
        self._work = work

    def _run(self, frames: int) -> None:
        """The thread."""
        assert self._beside is not None, "it was made with the thread"
        if sys.platform == "linux":  # where a thread has a priority of its own
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, get_native_id(), NICE)
        self._move(self._beside, frames)

    def _move(self, connection: sqlite3.Connection, frames: int) -> None:
        """Move pages up to a frame, with checksums first; where it fails the log still has them."""
        with suppress(OSError, sqlite3.Error):
            self._sums.note(frames)
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._tried = frames if self.frames()[1] < frames else 0

    def settle(self) -> None:
        """Wait until nothing is being moved."""
        if self._work is not None:
            self._work.join()
            self._work = None
            self._let_go()

    def _let_go(self) -> None:
        """Stand still no longer."""
        if self._still is not None and self._still.in_transaction:
            with suppress(sqlite3.Error):
                self._still.execute("ROLLBACK")  # nothing was written

    def disconnect(self) -> None:
        """Close what looks at the log and moves it; the writer's connection is not among them."""
        self.settle()
        for connection in (self._still, self._beside):
            if connection is not None:
                connection.close()
        self._still = self._beside = None

    def close(self) -> None:
        """Let go of the index, when all connections are closed."""
        if self._index is not None:
            os.close(self._index)
            self._index = None


def _free_pages(writer: sqlite3.Connection) -> None:
    """Give some pages back that nothing lies on any more."""
    ((free,),) = writer.execute("PRAGMA freelist_count")
    ((pages,),) = writer.execute("PRAGMA page_count")
    if free > FREE_PAGES_MIN and FREE_PART * free > pages:
        # `execute` would give back a single page.
        writer.executescript(f"PRAGMA incremental_vacuum({FREED_PAGES})")
