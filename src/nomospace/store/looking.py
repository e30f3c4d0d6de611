"""Looking the tables over, one after the other: what cannot be read, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from nomospace.store.backlog import decode_part
from nomospace.store.blocks import COUNT_ALL
from nomospace.store.interface import StoreDamaged, StoreFinding
from nomospace.store.loading import StoreReader
from nomospace.wire.changes import decode_change, decode_row, decode_ruling, decode_snapshot

Faults: TypeAlias = Callable[[], Iterator[StoreFinding]]


def looks(reader: StoreReader) -> Iterator[tuple[str, Faults]]:
    """Tables, and what finds the faults of each when it is called."""
    for table, sql, decode in _BODIES:
        yield table, partial(_faults, reader, table, sql, decode)
    yield "tuples", partial(_tuple_faults, reader)
    yield "blocks", partial(_block_faults, reader)
    yield "rulings", partial(_lone_rulings, reader)
    yield "journal", partial(_lost_rulings, reader)


def _lost_rulings(reader: StoreReader) -> Iterator[StoreFinding]:
    """Rulings that a membership rests on; what else cannot be read is found beside."""
    try:
        reader.members(reader.number("SELECT needed FROM state") or 0)
    except StoreDamaged as error:
        if error.table in ("journal", "members") and "missing" in error.why:
            yield StoreFinding(error.table, error.key, error.why)


def _lone_rulings(reader: StoreReader) -> Iterator[StoreFinding]:
    for home, law in reader.ask(
        "SELECT DISTINCT home, law FROM rulings r WHERE NOT EXISTS"
        " (SELECT 1 FROM members m WHERE m.home = r.home AND m.law = r.law)"
    ):
        yield StoreFinding("rulings", f"{home} under {law}", "its membership is missing")


def _faults(
    reader: StoreReader, table: str, sql: str, decode: Callable[[bytes], object]
) -> Iterator[StoreFinding]:
    for *key, blob in reader.ask(sql):
        words = " ".join(map(str, key))
        try:
            reader.read(table, words, decode, blob)
        except StoreDamaged as error:
            yield StoreFinding(table, words, error.why)


def _tuple_faults(reader: StoreReader) -> Iterator[StoreFinding]:
    for table in ("tuples", "stored"):
        for n, space, writer, count, blob in reader.ask(
            f"SELECT n, space, writer, count, body FROM {table} ORDER BY space, n"
        ):
            words = f"{n} ({writer}#{count} in {space})"
            try:
                row = reader.read(table, words, decode_row, blob)
            except StoreDamaged as error:
                yield StoreFinding(table, words, error.why)
                continue
            if (row.writer, row.count) != (writer, count):
                yield StoreFinding(table, words, "its columns do not fit its body")


def _block_faults(reader: StoreReader) -> Iterator[StoreFinding]:
    for space, agent, block in reader.ask(
        "SELECT space, agent, block FROM (SELECT space, agent, block, written, held FROM blocks"
        " UNION ALL SELECT space, agent, block, -written, -held FROM"
        f" ({COUNT_ALL}) counted) both_ways"
        " GROUP BY space, agent, block HAVING sum(written) <> 0 OR sum(held) <> 0"
    ):
        words = f"{block} of {agent} in {space}"
        yield StoreFinding("blocks", words, "it does not count the tuples that there are")


_BODIES: Final[tuple[tuple[str, str, Callable[[bytes], object]], ...]] = (
    ("programs", "SELECT agent, body FROM programs ORDER BY agent", decode_change),
    ("programs", "SELECT agent, 'state', state FROM programs ORDER BY agent", decode_change),
    ("spaces", "SELECT agent, space, body FROM spaces ORDER BY agent, space", decode_change),
    ("members", "SELECT home, law, body FROM members ORDER BY home, law", decode_snapshot),
    ("rulings", "SELECT home, law, seq, body FROM rulings ORDER BY home, law, seq", decode_ruling),
    ("given", "SELECT book, peer, number, body FROM given ORDER BY book, peer", decode_change),
    ("routing", "SELECT core, n, body FROM routing WHERE body IS NOT NULL", decode_change),
    ("laws", "SELECT hash, body FROM laws ORDER BY hash", decode_change),
    ("outbox", "SELECT agent, number, body FROM outbox ORDER BY agent, number", bytes),
    ("backlog", "SELECT n, body FROM backlog ORDER BY n", decode_part),
    ("journal", "SELECT seq, body FROM journal ORDER BY seq", bytes),
)
"""Every table with bodies, its keys, and what reads a body."""
