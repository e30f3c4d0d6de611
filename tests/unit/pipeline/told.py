"""Journals of tuples for tests: what became of which tuple when, as a host seals it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.store.interface import JournalEntry
from nomospace.store.journal import TupleRecord, encode_record
from nomospace.store.parquet import row_of
from nomospace.store.segments import Rows, add_segment
from nomospace.terms import Term
from nomospace.wire.segments import Manifest
from nomospace.wire.values import pack_term

CARS = Ontology(
    "cars",
    [
        OntologyClass("Car", ("Automobile",), properties={"maker": "string", "price": "number"}),
        OntologyClass("Tax"),
        OntologyClass("Loan"),
    ],
)
WRITER = "ann@ward"


class Told(NamedTuple):
    """Something that befell a tuple, which is the `number`-th of its writer."""

    at: int
    number: int
    fields: tuple[Term, ...]
    op: str = "written"
    space: str = "cars"


def seal(folder: Path, segments: Iterable[Sequence[Told]], host: str = "ward-1") -> Path:
    """A journal with these segments."""
    manifest, seq = Manifest(), 0
    for segment in segments:
        rows: Rows = {}
        first = seq + 1
        for one in segment:
            seq += 1
            body = pack_term(one.fields)
            record = TupleRecord(host, one.at, one.space, WRITER, one.number, one.op, WRITER, body)
            table, row = row_of(JournalEntry(seq, encode_record(record)))
            rows.setdefault(table, []).append(row)
        manifest = add_segment(folder, manifest, rows, first, seq)
    return folder
