"""The tables of the store engine catch up: rows go and come, and blocks count them.

A tuple lies in the tree of `stored`, in those of its first two fields, and in few others; to have
one more for who wrote it and one for who holds it would cost a page of the disk each time that one
is taken. Instead `blocks` has for every thousand orders who wrote tuples there and who holds some.
It is small, so that many tuples share its pages. What an agent has written or holds is found by
looking through these blocks, and how many tuples a space has is a sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from nomospace.protocols.spaces import Row
from nomospace.space.tables import marks_of
from nomospace.store.backlog import Backlog
from nomospace.store.guarded import guard
from nomospace.store.schema import BLOCK, Params, SqlRow, StoredKey

SIZES: Final = (512, 64, 8, 1)
"""So many rows one statement has; the largest that fits is next."""
_Ask = Callable[[str, Params], Iterable[SqlRow]]
_CarryOut = Callable[[list[tuple[str, list[Params]]]], None]

COUNT_ALL: Final = f"""
SELECT space, agent, block, sum(written) AS written, sum(held) AS held, min(number) AS low,
    max(number) AS high
FROM (
    SELECT space, writer AS agent, n / {BLOCK} AS block, 1 AS written, 0 AS held, count AS number
    FROM stored
    UNION ALL SELECT space, coalesce(cur, writer), n / {BLOCK}, 0, 1, NULL FROM stored
) one GROUP BY space, agent, block
"""
"""What `blocks` has, counted from the tuples."""


class _Block(msgspec.Struct):
    """What has changed in the tuples of an agent in a block."""

    written: int = 0
    held: int = 0
    low: int | None = None
    high: int | None = None


class _Blocks:
    """What has changed in all blocks."""

    def __init__(self) -> None:
        self._by_key: defaultdict[tuple[str, str, int], _Block] = defaultdict(_Block)

    def count(self, key: StoredKey, writer: str, cur: str, change: int) -> _Block:
        """A tuple has come, or gone; the block of who wrote it."""
        space, block = key[0], key[1] // BLOCK
        by_writer = self._by_key[space, writer, block]
        by_writer.written += change
        holder = by_writer if cur == writer else self._by_key[space, cur, block]
        holder.held += change
        return by_writer

    def rows(self) -> list[Params]:
        """What `block counted` takes."""
        return [
            (*key, one.written, one.held, one.low, one.high) for key, one in self._by_key.items()
        ]


def catch_up(late: Backlog, ask: _Ask, carry_out: _CarryOut) -> None:
    """Let the tables have what a backlog has of the store engine, inside a transaction."""
    blocks = _Blocks()
    for space, orders in _by_space(late.left):
        at = 0
        for size in SIZES:
            while len(orders) - at >= size:
                chunk = orders[at : at + size]
                for n, writer, cur in ask(_GONE[size], (space, *chunk)):
                    blocks.count((space, n), writer, cur or writer, -1)
                at += size
    rows: list[Params] = []
    for key in sorted(late.lying):
        row, body = late.lying[key]
        block, count = blocks.count(key, row.writer, row.cur, 1), row.count
        if block.low is None or count < block.low:
            block.low = count
        if block.high is None or count > block.high:
            block.high = count
        rows.append(stored_params(key, row, body))
    runs: list[tuple[str, list[Params]]]
    runs = [("tuple stored", rows), ("block counted", blocks.rows())]
    if late.left:
        runs.append(("blocks over", [()]))
    carry_out(runs)


def _by_space(left: Iterable[StoredKey]) -> Iterator[tuple[str, list[int]]]:
    by_space: dict[str, list[int]] = {}
    for space, n in left:
        by_space.setdefault(space, []).append(n)
    for space, orders in by_space.items():
        orders.sort()
        yield space, orders


_GONE: Final = {
    size: f"DELETE FROM stored WHERE space = ? AND n IN ({', '.join('?' * size)})"
    " RETURNING n, writer, cur"
    for size in SIZES
}


def stored_params(key: StoredKey, row: Row, body: bytes) -> Params:
    """What `tuple stored` takes for a tuple of the store engine."""
    marks, deep = marks_of(row.fields)
    return (
        *(*key, row.writer, row.count, len(row.fields), *marks, 1 if deep else None),
        None if row.cur == row.writer else row.cur,
        None if row.dest == row.cur else row.dest,
        row.expires or None,
        guard(body),
    )
