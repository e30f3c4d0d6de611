"""Questions by meaning to the parts of an archive, whatever database reads their files.

| what is not read | how it is known |
| --- | --- |
| files that began after the moment that is asked about | the manifest has the times of each file |
| files of other spaces | the manifest has the spaces of each file, where they are few |
| classes that no statement names | each class has files of its own |
| anything, to count how often objects recur | the manifest has it, of a class that one part has |

Of files that are read, Parquet's own statistics spare what they can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from nomospace.meaning.answers import Answers
from nomospace.meaning.facts import KnownFacts
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import ClassField, Question
from nomospace.meaning.sql.building import statistics
from nomospace.meaning.sql.dialects import prepared
from nomospace.meaning.sql.layout import Layout, SqlTable
from nomospace.meaning.sql.predicates import has_elements
from nomospace.meaning.sql.tables import Database, FactTables
from nomospace.meaning.sql.values import Params
from nomospace.pipeline.archive import ENDS, ArchivePart, BadArchive, merged, tables_of
from nomospace.wire.values import unpack_fields

STATEMENT_S: Final = 3_600.0
"""How long a database may work on one statement."""


class RowBounds(NamedTuple):
    """Which rows count: begun by a moment (`None`: ever), of a space (empty: any), not ended.

    `ended` are files of `ends`; a tuple that they name, within the same bounds, is gone.
    """

    at: int | None = None
    space: str = ""
    ended: tuple[str, ...] = ()


class ArchiveReader(Database, Protocol):
    """A database that can have files of an archive as its tables."""

    def have(self, table: SqlTable, files: Sequence[str], bounds: RowBounds) -> None:
        """Have the rows of files that are within bounds as a table."""


def ask_parts(
    database: ArchiveReader,
    parts: Sequence[tuple[Path, ArchivePart]],
    ontology: Ontology,
    question: Question,
    *,
    at: int | None = None,
    ever: bool = False,
    space: str = "",
) -> Answers:
    """The answers among the tuples of parts, each with its folder.

    Those count that were there at a moment (`at`, in microseconds; without it, at the end), or with
    `ever` all that had begun by then; of one space, or without a name of all.
    """
    whole = merged(part for _, part in parts)
    if whole.layout < 2 and any(
        has_elements(asks.predicate) for asks in question.fields if isinstance(asks, ClassField)
    ):
        folder = next(folder for folder, part in parts if part.layout < 2)
        why = "it was made before questions looked into arrays; compact into a new folder"
        raise BadArchive(archive=str(folder.parent), why=why)
    tables = FactTables(ontology, database, unpack_fields)
    ended = () if ever else files_of(parts, ENDS.name, at, space)
    for name, table in tables_of([whole], ontology).items():
        if name != ENDS.name:
            database.have(table, files_of(parts, name, at, space), RowBounds(at, space, ended))
    opened = {name: dict.fromkeys(paths) for name, paths in whole.classes.items()}
    shapes = whole.known_shapes()
    counted = recurring(database, [part for _, part in parts], ontology)
    known = KnownFacts(
        tuple(shapes.items()),
        {name: holders for name, (holders, _) in counted.items() if holders > 1},
        frozenset(name for name, (_, forms) in counted.items() if forms > 1),
    )
    tables.tell(opened, shapes, known)
    return tables.answers(question)


def files_of(
    parts: Sequence[tuple[Path, ArchivePart]], table: str, at: int | None = None, space: str = ""
) -> tuple[str, ...]:
    """The files of a table that may have rows of a time and a space."""
    return tuple(
        [
            str(folder / file.name)
            for folder, part in parts
            for file in part.tables.get(table, ())
            if file.may_have(at, space)
        ]
    )


def recurring(
    database: Database, parts: Sequence[ArchivePart], ontology: Ontology
) -> Mapping[str, tuple[int, int]]:
    """Of each class: in how many tuples one object stands at most, and in how many forms.

    A part knows that of its own tuples. Where several have a class, one object may stand in all of
    them: then the database counts, which has their tables.
    """
    layout = Layout(ontology)
    found: dict[str, tuple[int, int]] = {}
    for name in dict.fromkeys(name for part in parts for name in part.classes):
        told = [part.recurring.get(name) for part in parts if name in part.classes]
        known = told[0] if len(told) == 1 else None
        if known is None:
            counts = prepared(statistics(layout.table(name)), database.dialect, Params())
            ((holders, forms),) = database.ask(counts)
            known = holders, forms
        found[name] = known
    return found


def counted(
    database: ArchiveReader, folder: Path, part: ArchivePart, ontology: Ontology
) -> ArchivePart:
    """A part that tells how often its objects recur: a database that has no tables counts."""
    known = tables_of([part], ontology)
    for name in part.tables:
        database.have(known[name], files_of([(folder, part)], name), RowBounds())
    found = dict(recurring(database, [part], ontology))
    return msgspec.structs.replace(part, recurring=found)
