"""What became of obligations, and refusals that say so: read from the changes that rulings made.

SQL sees that a ruling mentions obligations, not which of them it imposed or repealed; the changes
of state in a row do (`delta`). `read_changes` reads them, Arrow to Arrow, for either engine.

| kind | what happened |
| --- | --- |
| `imposed` | a ruling imposed an obligation, due at `due_us` |
| `met` | a ruling on what the agent itself sent repealed it: what was owed was done |
| `repealed` | a ruling on anything else repealed it |
| `missed` | it fell due. A law may use that as a clock: then nobody missed anything |
| `refused` | sent, not forwarded, nothing changed; though some other operation, say a notice, was |
| `unreadable` | the row's bytes are no changes, or no operations |

`place` tells the obligations of one membership apart, for as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import pyarrow as pa

from nomospace.control.events import goes_out
from nomospace.wire.packing import unpack
from nomospace.wire.values import thaw_operation

_STRING: Final[pa.DataType] = pa.string()
_INT: Final[pa.DataType] = pa.int64()
CHANGES: Final = pa.schema(
    [
        ("community", _STRING),
        ("membership", _STRING),
        ("agent", _STRING),
        ("us", _INT),
        ("rule", _STRING),
        ("about", _STRING),
        ("message_text", _STRING),
        ("kind", _STRING),
        ("place", _INT),
        ("what", _STRING),
        ("due_us", _INT),
    ]
)
_TOLD: Final = ("community", "membership", "agent", "us", "rule", "about", "message_text")

Change: TypeAlias = tuple[str, int | None, str | None, int | None]
"""A kind, and of an obligation its place, its name and when it is due."""


def read_changes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `CHANGES` from the rows that `questions.STIRRING` finds."""
    for batch in batches:
        rows: list[int] = []
        found: list[Change] = []
        columns = [batch.column(name).to_pylist() for name in ("event", "delta", "ruling")]
        for row, (event, delta, ruling) in enumerate(zip(*columns, strict=True)):
            for change in changes_of(event, delta, ruling):
                rows.append(row)
                found.append(change)
        told = batch.select(_TOLD).take(pa.array(rows, pa.int64()))
        made = zip(*found, strict=True) if found else ((), (), (), ())
        arrays = [*told.columns, *map(pa.array, map(list, made), CHANGES.types[len(_TOLD) :])]
        yield pa.RecordBatch.from_arrays(
            [array.cast(of) for array, of in zip(arrays, CHANGES.types, strict=True)],
            schema=CHANGES,
        )


def changes_of(event: str, delta: bytes, ruling: bytes | None) -> Iterator[Change]:
    """What one row has to tell.

    >>> from nomospace.wire.packing import pack
    >>> list(changes_of("sent", pack([("due", 4, {"f": "pay", "a": [5]}, 17)]), None))
    [('imposed', 4, 'pay', 17)]
    """
    try:
        if ruling is not None:  # sent, and nothing changed
            operations = tuple([thaw_operation(part) for part in unpack(ruling)])
            if operations and not goes_out(operations):
                yield "refused", None, None, None
            return
        for index, (kind, place, term, due) in enumerate(unpack(delta)):
            if kind == "due":
                told = "imposed"
            elif kind != "undue":
                continue
            elif event == "obligationDue" and index == 0:  # it is gone before its event is ruled on
                told = "missed"
            else:
                told = "met" if event == "sent" else "repealed"
            yield told, place, _named(term), due
    except (ValueError, TypeError, KeyError, RecursionError):
        yield "unreadable", None, None, None


def _named(term: object) -> str:
    """An obligation by its first word; a text of any length is none."""
    if isinstance(term, dict):
        return str(term.get("f", "?"))
    return term if isinstance(term, str) and len(term) <= 40 else "?"
