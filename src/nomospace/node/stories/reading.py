"""Windows on the journal of one host: of what its store has, and of what segments have.

The host does not stand still meanwhile: records are read a page at a time. Segments are read by a
process of its own, for Arrow is large, and only where the store begins too late.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from nomospace.node.journaling import on_segments, pages
from nomospace.node.stories.window import Window
from nomospace.store.journal import SMALL, EventRecord, Record, decode_record

if TYPE_CHECKING:
    from nomospace.node.serve import Server
    from nomospace.store.interface import Store

RECORDS_MAX: Final = 10_000
"""How many records before a moment, and after it, a window has."""
TUPLE_RECORDS_MAX: Final = 50_000
"""How many of the newest records a tuple is looked for in."""
SEALED_S: Final = 60.0
"""How long segments may be searched."""
KEPT_S: Final = 20.0
"""How long a window is kept for the next question about the same moment."""
WINDOWS_MAX: Final = 3
_PAGE: Final = 100
PAGE_BYTES: Final = 1 << 18
"""After so many bytes of records others have their turn."""
LARGE_BYTES_MAX: Final = 1 << 21
"""How many bytes the large records of a window have (`SMALL`), besides the two at its middle."""


class WindowReader:
    """Reads windows of one host's journal."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept: dict[int, tuple[float, Window]] = {}
        self._lock = asyncio.Lock()

    async def record(self, number: int) -> Record | None:
        """A record by its number, from the store or a segment."""
        store = self._server.store
        found = store.journal(number - 1, 1)
        if found and found[0].seq == number:
            return decode_record(found[0].record)
        if number > store.last_record:
            return None
        async for seq, record in self._sealed(f"--record={number}"):
            if seq == number:
                return record
        return None

    async def window(self, around: int) -> Window:
        """The records around a moment."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            self._kept = {at: one for at, one in self._kept.items() if one[0] > now}
            if around in self._kept:
                window = self._kept.pop(around)[1]
                await self._read_on(window)
            else:
                window = await self._read(around)
            while len(self._kept) >= WINDOWS_MAX:
                del self._kept[next(iter(self._kept))]
            self._kept[around] = (asyncio.get_running_loop().time() + KEPT_S, window)
            return window

    async def _read(self, around: int) -> Window:
        window, store = Window(), self._server.store
        middle = await _place(store, around)
        begin = window.read = max(0, middle - RECORDS_MAX)
        window.end = middle + RECORDS_MAX
        first = await self._read_on(window)
        if first != begin + 1 and store.last_record:  # the rest, if anybody has it, was sealed
            upto = first - 1 if first else store.last_record
            asked = (f"--around={around}", f"--upto={upto}", f"--most={RECORDS_MAX}")
            async for seq, record in self._sealed(*asked):
                _add(window, seq, record)
        return window

    def edges(self, window: Window) -> tuple[int, int]:
        """When a window begins, if there are records before it, and ends, if there are later ones.

        0 where there are none: they never were, or are kept no longer.
        """
        first, last, store = window.first, window.last, self._server.store
        if first is None or last is None:
            return 0, 0
        before = 1 < first[0] <= window.end - 2 * RECORDS_MAX + 1
        return first[1] * before, last[1] * (store.last_record > window.end)

    async def _read_on(self, window: Window) -> int:
        """Have in a window what the store has of it by now; the first record of that."""
        store, first = self._server.store, 0
        some = pages(store, window.read, window.end, most=_PAGE, bytes_max=PAGE_BYTES)
        async for page in some:
            first = first or page[0].seq
            for entry in page:
                large = len(entry.record)
                if large <= SMALL or 0 <= entry.seq - window.end + RECORDS_MAX <= 1:
                    large = 0
                window.large += large
                if not large or window.large <= LARGE_BYTES_MAX:
                    _add(window, entry.seq, decode_record(entry.record))
            window.read = page[-1].seq
        return first

    async def of_tuple(self, id: str) -> list[tuple[int, Record]]:
        """What became of a tuple, the oldest first."""
        found = {seq: record async for seq, record in self._sealed(f"--tuple={id}")}
        store = self._server.store
        newest = store.last_record
        after = max(0, newest - TUPLE_RECORDS_MAX)
        writer, _, count = id.rpartition("#")
        async for page in pages(store, after, newest, most=10 * _PAGE, bytes_max=PAGE_BYTES):
            for entry in page:
                record = decode_record(entry.record)
                if (
                    getattr(record, "writer", None) == writer
                    and str(getattr(record, "count", "")) == count
                ):
                    found[entry.seq] = record
        return sorted(found.items())

    async def _sealed(self, *asked: str) -> AsyncIterator[tuple[int, Record]]:
        """What segments have of what is asked for."""
        folder = self._server.config.journal.folder
        if not folder:
            return
        large = f"--large={4 * LARGE_BYTES_MAX}"
        told, _ = await on_segments(folder, *asked, large, seconds=SEALED_S)
        for number, line in enumerate(told.decode().splitlines()):
            seq, _, body = line.partition(" ")
            yield int(seq), decode_record(bytes.fromhex(body))
            if number % _PAGE == 0:
                await asyncio.sleep(0)


def _add(window: Window, number: int, record: Record) -> None:
    told = (number, _at(record))
    window.first = min(window.first or told, told)
    window.last = max(window.last or told, told)
    window.add(number, record)


async def _place(store: Store, at: int) -> int:
    """The last record of a store that is not later than a moment, or near it."""
    low, high = 0, store.last_record
    while low < high:
        middle = (low + high + 1) // 2
        entries = store.journal(middle - 1, 1)
        if not entries:
            high = middle - 1
        elif _at(decode_record(entries[0].record)) <= at:
            low = max(middle, entries[0].seq)
        else:
            high = middle - 1
        await asyncio.sleep(0)
    return low


def _at(record: Record) -> int:
    return record.ruling.at if isinstance(record, EventRecord) else record.at
