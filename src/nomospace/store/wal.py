"""The log of a SQLite file, looked at before SQLite does: what was synced must be readable.

A log (`-wal`) is a header and frames, each a page with a checksum over all before it. SQLite reads
up to the first frame that does not fit, and takes what follows for the end of a transaction that a
power cut has torn. A flipped bit looks the same, and would take back all that was committed later.

It can be told from a power cut: with full sync a transaction is begun when the one before it is on
disk. So of what cannot be read at most one transaction may have its end. Where two have, there is
damage. What befalls the last one cannot be told from a power cut.

https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct, iter_unpack
from typing import Final, NamedTuple

HEADER: Final = 32
FRAME: Final = 24
_MAGIC: Final = 0x377F0682
_WORDS: Final = Struct(">8I")
_FRAME: Final = Struct(">6I")
_LOW: Final = 0xFFFFFFFF


class LogRead(NamedTuple):
    """What a log has."""

    damaged: int = 0
    """The first frame that cannot be read though it was synced; 0 if there is none."""
    pages: frozenset[int] = frozenset()
    """The pages of the database that it has, of transactions that have ended."""


def examine(log: bytes, page: int) -> LogRead:
    """Look a log through; `page` is the size of the database's pages.

    >>> examine(b"", 4096)
    LogRead(damaged=0, pages=frozenset())
    """
    if len(log) < HEADER:
        return LogRead()
    magic, _, _, _, first, second, *told = _WORDS.unpack_from(log)
    order = ">" if magic & 1 else "<"
    sums = _summed((0, 0), log[:24], order)
    whole = magic & ~1 == _MAGIC and list(sums) == told
    unread, ends = 0, 0
    size = FRAME + page
    pages, ended = list[int](), 0
    for number in range(1, (len(log) - HEADER) // size + 1):
        at = HEADER + (number - 1) * size
        number_of, end, one, two, *told = _FRAME.unpack_from(log, at)
        if not unread:
            sums = _summed(sums, log[at : at + 8], order)
            sums = _summed(sums, log[at + FRAME : at + size], order)
            if whole and (one, two) == (first, second) and list(sums) == told:
                pages.append(number_of)
                ended = len(pages) if end else ended
                continue
            unread = number
        # Frames of an earlier round of the log have both numbers different.
        ends += bool(end) and (one == first or two == second)
    return LogRead(unread if ends > 1 else 0, frozenset(pages[:ended]))


def _summed(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    a, b = sums
    words: Iterable[tuple[int, int]] = iter_unpack(f"{order}II", data)
    for x, y in words:
        a = a + x + b & _LOW
        b = b + y + a & _LOW
    return a, b
