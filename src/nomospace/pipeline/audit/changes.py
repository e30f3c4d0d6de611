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
from typing import Any, Final

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
        ("stopped", _STRING),
        ("about", _STRING),
        ("message_text", _STRING),
        ("kind", _STRING),
        ("place", _INT),
        ("what", _STRING),
        ("due_us", _INT),
    ]
)
_TOLD: Final = ("community", "membership", "agent", "us", "rule", "stopped")
_WORDS: Final = ("about", "message_text")
_EMPTY: Final = b"\x90"


def read_changes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `CHANGES` from the rows that `questions.STIRRING` finds."""
    for batch in batches:
        out: list[dict[str, Any]] = []
        for row in batch.to_pylist():
            told = {name: row[name] for name in _TOLD}
            for change in changes_of(row):
                # Only refusals are asked about by their message, and messages may be large.
                words = row if change["kind"] == "refused" else {}
                out.append({**told, **change, **{name: words.get(name) for name in _WORDS}})
        yield pa.RecordBatch.from_pylist(out, schema=CHANGES)


def changes_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What one row has to tell: its `kind`, and of an obligation its place, name and time.

    >>> from nomospace.wire.packing import pack
    >>> delta = pack([("due", 4, {"f": "pay", "a": [5]}, 17)])
    >>> list(changes_of({"event": "sent", "delta": delta, "ruling": _EMPTY}))
    [{'kind': 'imposed', 'place': 4, 'what': 'pay', 'due_us': 17}]
    """
    delta, event = row["delta"], row["event"]
    try:
        if event == "sent" and delta == _EMPTY:
            operations = tuple([thaw_operation(part) for part in unpack(row["ruling"])])
            if operations and not goes_out(operations):
                yield {"kind": "refused"}
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
            yield {"kind": told, "place": place, "what": _named(term), "due_us": due}
    except (ValueError, TypeError, KeyError, RecursionError):
        yield {"kind": "unreadable"}


def _named(term: Any) -> str:
    """An obligation by its first word; a text of any length is none."""
    if isinstance(term, dict):
        return str(term.get("f", "?"))
    return term if isinstance(term, str) and len(term) <= 40 else "?"
