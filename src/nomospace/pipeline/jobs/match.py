"""The job that matches: which tuples of an archive and of journals answer a template.

What is in the archive is read as it is. What journals have besides is laid out the same way for as
long as the job takes, in a folder for passing files. Views over the files of both are the tables
that statements ask (`archive`), on Spark or in DuckDB.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from nomospace.meaning.answers import Answers
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question
from nomospace.pipeline.archive import (
    MANIFEST,
    ArchiveManifest,
    BadArchive,
    ask_parts,
    read_manifest,
)
from nomospace.pipeline.jobs.compact import make_part, reader_for, waiting
from nomospace.pipeline.jobs.session import LOCAL, Say, check_master, session_for
from nomospace.pipeline.segments import Folders, holding, list_journal, many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class MatchEngine(StrEnum):
    """Where the question is asked: on Spark, or in this process by DuckDB."""

    SPARK = "spark"
    DUCKDB = "duckdb"


@holding
def run_match(
    folders: Folders,
    ontology: Ontology,
    question: Question,
    *,
    archive: Path | None = None,
    at: int | None = None,
    ever: bool = False,
    space: str = "",
    engine: MatchEngine = MatchEngine.SPARK,
    master: str = LOCAL,
    spark: SparkSession | None = None,
    skip_bad: bool = False,
    scratch: Path | None = None,
    prepare: Callable[[], None] = lambda: None,
    say: Say = lambda words: None,
) -> Answers:
    """The answers among the tuples that were there at a moment: `at` in microseconds, or the end.

    With `ever`, among all that began until then. `scratch` is a folder that Spark's workers see
    too, for passing files; without it, one of this machine. Raises `NoJournal`, `BadSegments`,
    `OtherOntology`, `BadArchive`, `DatabaseFailed`, and what `open_session` does.
    """
    on_spark = engine is MatchEngine.SPARK
    if on_spark and spark is None:
        check_master(master)
    if archive is not None and not (archive / MANIFEST).is_file():
        raise BadArchive(archive=str(archive), why=f"it has no {MANIFEST}; compact into it first")
    given = [folders] if isinstance(folders, str | Path) else list(folders)
    manifest = (
        ArchiveManifest(ontology.hash) if archive is None else read_manifest(archive, ontology)
    )
    todo: dict[str, str] = {}
    if given:
        # DuckDB would not notice a damaged page, and who skips bad segments must know them before.
        deep = skip_bad or not on_spark
        listing = list_journal(given, ("tuples",), deep=deep).sound(skip_bad=skip_bad)
        todo = waiting(listing, manifest)
    with (
        session_for(spark, master, wanted=on_spark, prepare=prepare, say=say) as used,
        tempfile.TemporaryDirectory(
            prefix="nomospace-match-", dir=scratch, ignore_cleanup_errors=True
        ) as passing,
    ):
        parts = [(archive / one.folder, one) for one in manifest.parts] if archive else []
        if todo:
            say(f"laying out {many(len(todo), 'segment')} not compacted yet")
            folder = Path(passing) / "part"
            parts.append((folder, make_part(todo, ontology, folder, used)))
        with closing(reader_for(used)) as database:
            return ask_parts(database, parts, ontology, question, at=at, ever=ever, space=space)
