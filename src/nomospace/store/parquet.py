"""Journal records as rows of Parquet tables, and back.

Terms are MessagePack, which machines read, with their canonical text beside for people. `body` is
the record's own, exact; whatever stands in other columns of events and checkpoints was taken from
it, so that a query need not know its form. `at` and `due_at` are UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pyarrow as pa

from nomospace.control import Ruling, Snapshot
from nomospace.store.interface import JournalEntry
from nomospace.store.journal import (
    CheckpointRecord,
    EventRecord,
    LawRecord,
    LeaseRecord,
    Record,
    TupleRecord,
    decode_record,
)
from nomospace.terms import Compound, Term, show
from nomospace.wire.rulings import pack_operations
from nomospace.wire.segments import AT_AGAIN, JOURNAL_VERSION, TABLES, membership
from nomospace.wire.values import pack_term

_TYPES: Final[dict[str, pa.DataType]] = {
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "string": pa.string(),
    "strings": pa.list_(pa.string()),
    "binary": pa.binary(),
    "time": pa.timestamp("us", tz="UTC"),
}
SCHEMAS: Final[dict[str, pa.Schema]] = {
    table: pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    for table, columns in TABLES.items()
}
"""The tables, by name."""
JournalRow: TypeAlias = dict[str, Any]
"""A row of one of the tables, by column."""


def _event(record: EventRecord) -> JournalRow:
    return event_row(record.ruling, record)


def event_row(ruling: Ruling, record: EventRecord) -> JournalRow:
    """The row of a ruling, by one who has it at hand besides its record."""
    kind, args = ruling.event.kind, ruling.event.args
    message, peer = _message(kind, args)
    return {
        "at": ruling.at,
        "due_at": ruling.due_at,
        "community": record.community,
        "law": ruling.law,
        "agent": ruling.home,
        "membership": membership(ruling.home, ruling.law, record.host),
        "agent_seq": ruling.seq,
        "event": kind,
        "peer": peer,
        "args": pack_term(args),
        "args_text": show(args),
        "message": pack_term(message[0]) if message else None,
        "message_text": show(message[0]) if message else None,
        "rule": ruling.rule,
        "stopped": ruling.stopped,
        "ruling": pack_operations(ruling.operations),
        "ruling_text": show(ruling.operations),
        "delta": pack_term(ruling.delta),
        "hops": record.hops,
        "took_ns": record.took_ns,
        "body": record.body,
        "path": list(record.path),
        "cause": record.cause or None,
        "causer": record.by or None,
        AT_AGAIN: ruling.at,
    }


def _message(kind: str, args: tuple[Term, ...]) -> tuple[tuple[Term, ...], str | None]:
    """The message of an event, if it has one, and the agent that it goes to or comes from."""
    if kind in ("sent", "arrived") and len(args) == 3:
        peer = args[2] if kind == "sent" else args[0]
        return args[1:2], peer if peer.__class__ is str else None
    return (args[:1] if kind == "obligationDue" else ()), None


def law_row(record: LawRecord) -> JournalRow:
    """The row of a law."""
    return {
        "at": record.at,
        "law": record.hash,
        "community": record.name,
        "text": record.text,
        AT_AGAIN: record.at,
    }


def _checkpoint(record: CheckpointRecord) -> JournalRow:
    return checkpoint_row(record.snapshot, record)


def checkpoint_row(snapshot: Snapshot, record: CheckpointRecord) -> JournalRow:
    """The row of a membership's state, by one who has it at hand besides its record."""
    return {
        "at": record.at,
        "law": snapshot.law,
        "agent": snapshot.home,
        "membership": membership(snapshot.home, snapshot.law, record.host),
        "agent_seq": snapshot.seq,
        "state_text": show(tuple([term for _, term in snapshot.state])),
        "body": record.body,
        AT_AGAIN: record.at,
    }


def tuple_row(record: TupleRecord) -> JournalRow:
    """The row of what befell a tuple."""
    fields = record.fields
    classes = [
        field.args[0]
        for field in fields
        if field.__class__ is Compound and field.name == "object" and len(field.args) == 3
    ]
    return {
        "at": record.at,
        "space": record.space,
        "tuple_id": f"{record.writer}#{record.count}",
        "writer": record.writer,
        "count": record.count,
        "op": record.op,
        "agent": record.agent,
        "classes": [name for name in classes if name.__class__ is str],
        "fields": record.body,
        "fields_text": show(fields),
        "cause": record.cause or None,
        AT_AGAIN: record.at,
    }


def lease_row(record: LeaseRecord) -> JournalRow:
    """The row of what befell a lease."""
    return {
        "at": record.at,
        "space": record.space,
        "tuple_id": f"{record.writer}#{record.count}",
        "writer": record.writer,
        "count": record.count,
        "op": record.op,
        "agent": record.agent,
        "lease": record.lease,
        "until": record.until or None,
        "why": record.why or None,
        AT_AGAIN: record.at,
    }


_ROWS: Final[dict[type, tuple[str, Callable[..., JournalRow]]]] = {
    EventRecord: ("events", _event),
    LawRecord: ("laws", law_row),
    CheckpointRecord: ("checkpoints", _checkpoint),
    TupleRecord: ("tuples", tuple_row),
    LeaseRecord: ("leases", lease_row),
}


def row_of(entry: JournalEntry) -> tuple[str, JournalRow]:
    """The table that an entry of the journal goes to, and its row."""
    record = decode_record(entry.record)
    table, make = _ROWS[record.__class__]
    row = make(record)
    row |= {"version": JOURNAL_VERSION, "host": record.host, "seq": entry.seq}
    return table, row


def remade(table: str, row: JournalRow) -> JournalRow:
    """A row, with its times as numbers, as its record says that it is; raises `BadRecord`.

    What only stands in columns (`version`, `seq`, `hops`, …) is taken from them.
    """
    record = record_of(table, row)
    _, make = _ROWS[record.__class__]
    return make(record)


def record_of(table: str, row: JournalRow) -> Record:
    """The record that a row, with its times as numbers, was made of."""
    host = row["host"]
    if table == "events":
        came = (tuple(row.get("path") or ()), row.get("cause") or 0, row.get("causer") or "")
        return EventRecord(host, row["community"], row["body"], row["hops"], row["took_ns"], *came)
    at = row["at"]
    if table == "laws":
        return LawRecord(host, at, row["law"], row["community"], row["text"])
    if table == "checkpoints":
        return CheckpointRecord(host, at, row["body"])
    of = (row["space"], row["writer"], row["count"], row["op"], row["agent"])
    if table == "leases":
        return LeaseRecord(host, at, *of, row["lease"], row["until"] or 0, row["why"] or "")
    return TupleRecord(host, at, *of, row["fields"], row.get("cause") or 0)
