"""Stores of older versions, and what brings them up to date.

Up to version 7 tuples of the store engine lay in `tuples`, with columns and indexes of their own
there. Its backlog named them by who had written them, which only that table can find; so it is
settled here, and ends with the conversion. Up to version 9 a mark was a checksum alone, so that no
two were neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from nomospace.space.records import LEAST_ORDER
from nomospace.space.tables import COLUMNS, marks_of
from nomospace.store import schema
from nomospace.store.backlog import Backlog, CommitPart, Put
from nomospace.store.blocks import COUNT_ALL
from nomospace.store.guarded import Altered, guarded_row
from nomospace.store.interface import KeptForClient
from nomospace.store.loading import StoreReader
from nomospace.store.schema import INDEXES, STORED, Params, TupleKey
from nomospace.wire.changes import BadRecord, decode_row

if TYPE_CHECKING:
    from nomospace.store.sql import SqlStore

_OldPart: TypeAlias = tuple[
    list[tuple[str, int]], list[KeptForClient], list[TupleKey], list[tuple[int, str, bytes]]
]
_decode = msgspec.msgpack.Decoder(_OldPart).decode

_INDEXES: Final = ("f0", "f1", "f2", "cur", "space", "deep", "astray", "due")
_COLUMNS: Final = ("width", "f0", "f1", "f2", "deep", "cur", "dest", "expires")
_MOVE: Final = """
INSERT INTO stored (space, n, writer, count, width, f0, f1, f2, deep, cur, dest, expires, body)
SELECT space, n, writer, count, width, f0, f1, f2, deep, CASE WHEN cur <> writer THEN cur END,
    CASE WHEN dest <> cur THEN dest END, CASE WHEN expires > 0 THEN expires END, body
FROM tuples WHERE width IS NOT NULL ORDER BY space, n
"""

_NEXT: Final = (
    "SELECT space, n, body FROM stored WHERE (space, n) > (?, ?) ORDER BY space, n LIMIT 5000"
)


def convert(store: SqlStore, *, found: bool) -> None:
    """Bring the tables to version 8, inside a transaction; `found`: they have those columns."""
    late, replaced = _old_backlog(store)
    for key in replaced:
        store._do("DELETE FROM tuples WHERE space = ? AND writer = ? AND count = ?", key)
    store._script(STORED.strip().rstrip(";"))
    if found:
        store._do(_MOVE)
        store._do("DELETE FROM tuples WHERE width IS NOT NULL")
        for name in _INDEXES:
            store._do(f"DROP INDEX IF EXISTS tuples_{name}")
        for name in _COLUMNS:
            store._do(f"ALTER TABLE tuples DROP COLUMN {name}")
        store._do(f"INSERT INTO blocks (space, agent, block, written, held, low, high) {COUNT_ALL}")
    store._script(INDEXES)
    store._catch_up(late)


def mark_anew(store: SqlStore) -> None:
    """Bring the marks of the tuples to version 10, inside a transaction.

    A tuple that cannot be read keeps those that it has; `nomospace doctor` tells of it.
    """
    for column in range(COLUMNS):
        store._do(f"DROP INDEX IF EXISTS stored_f{column}")
    last: Params = ("", 0)
    while rows := list(store._ask_inside(_NEXT, last)):
        last = rows[-1][:2]
        made: list[Params] = []
        for space, n, blob in rows:
            with suppress(Altered, BadRecord):
                made.append((*marks_of(guarded_row(blob).fields)[0], space, n))
        store._carry_out([("tuple marked", made)])
    store._script(INDEXES)


def _old_backlog(store: SqlStore) -> tuple[Backlog, list[TupleKey]]:
    """What was put off, and the tuples that the tables may have and must not have any more."""
    reader, late = StoreReader(store.where, store._ask_inside), Backlog()
    gone: dict[TupleKey, None] = {}
    lying: dict[TupleKey, Put] = {}
    for n, blob in list(reader.ask("SELECT n, body FROM backlog ORDER BY n")):
        trims, kept, left, puts = reader.read("backlog", str(n), _decode_old, blob)
        part = CommitPart(trims, kept, dict.fromkeys(left))
        for place, space, body in puts:
            row = decode_row(body)
            key = (space, row.writer, row.count)
            if place < LEAST_ORDER:
                part.puts[key] = (place, row, body)
            else:
                part.gone[key] = None
        for key in (*part.gone, *part.puts):
            lying.pop(key, None)
        for place, space, body in puts:
            if place >= LEAST_ORDER:
                row = decode_row(body)
                lying[space, row.writer, row.count] = (place, row, body)
        gone.update(part.gone)
        late.add(part)
    late.lying.update({(key[0], n): (row, body) for key, (n, row, body) in lying.items()})
    return late, list(gone)


def _decode_old(data: bytes) -> _OldPart:
    try:
        if data[:1] != b"\x01":
            raise ValueError("it has another version")
        part: _OldPart = _decode(data[1:])
    except ValueError as error:
        raise BadRecord(what="part of the backlog", why=str(error)) from None
    return part


def _from_7(store: SqlStore) -> None:
    names = [name for (_, name, *_) in store._ask_inside("PRAGMA table_info(tuples)")]
    convert(store, found="width" in names)


def _from_7_in_postgres(store: SqlStore) -> None:
    columns = store._ask_inside(
        "SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema()"
        " AND table_name = 'tuples' AND column_name = 'width'"
    )
    convert(store, found=bool(list(columns)))


def _script(text: str) -> Callable[[SqlStore], None]:
    return lambda store: store._script(text)


_COLUMNS_4: Final = ("arity", "f0", "f1", "f2", "f3", "doc")
"""What a tuple was found by in version 4; an index on them goes with them."""
_TUPLES_OF_4: Final = f"""
ALTER TABLE tuples RENAME TO tuples_4;
DROP INDEX tuples_id;
{schema.TUPLES};
INSERT INTO tuples (n, space, writer, count, body)
    SELECT n, space, writer, count, body FROM tuples_4 ORDER BY n;
DROP TABLE tuples_4
"""

SQLITE_STEPS: Final[dict[int, Callable[[SqlStore], None]]] = {
    # Version 0 had no note of clocks.
    0: _script("ALTER TABLE state ADD COLUMN clock TEXT NOT NULL DEFAULT ''"),
    # Version 1 wrote every tuple and push into its table at once, with an index on its fields.
    1: _script(f"{schema.BACKLOG};DROP INDEX IF EXISTS tuples_fields"),
    # Version 2 knew nothing of births.
    2: _script(f"{schema.BIRTH};{schema.BIRTHS}"),
    # Version 3 knew no suspensions, and would take them for damage.
    3: lambda _: None,
    # Version 4 had columns to find tuples by, which no command asked.
    4: _script(_TUPLES_OF_4),
    # Version 5 had all tuples in memory.
    5: lambda _: None,
    # Version 6 wrote every ruling twice.
    6: _script(schema.LOGS),
    # Version 7 had the tuples of the store engine among all others.
    7: _from_7,
    8: lambda _: None,  # its tables are the same
    9: mark_anew,
    10: lambda _: None,  # its backlog is read as it is
}
"""What brings a SQLite file from each older version to the next, inside one transaction."""
POSTGRES_STEPS: Final = {
    **SQLITE_STEPS,
    4: _script(
        f"ALTER TABLE tuples {', '.join([f'DROP COLUMN IF EXISTS {name}' for name in _COLUMNS_4])}"
    ),
    7: _from_7_in_postgres,
    # Version 8 had no lease.
    8: _script(schema.LEASE),
}
"""The same for a schema of PostgreSQL, where version 1 was the first."""
