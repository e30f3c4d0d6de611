"""Spark finds the answers that the engine in memory finds, in an archive and beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from nomospace.meaning.answers import Answers
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question, parse_template
from nomospace.meaning.sql.dialects import Statement
from nomospace.meaning.sql.tables import DatabaseFailed
from nomospace.pipeline.java import cache_folder
from nomospace.pipeline.jobs.compact import run_compact
from nomospace.pipeline.jobs.match import MatchEngine, run_match
from nomospace.pipeline.matching import SparkDatabase
from nomospace.terms import obj
from tests.models.match_cases import case
from tests.models.match_databases import small
from tests.unit.pipeline.told import CARS, WRITER, Told, seal


def said(answers: Answers) -> list[Any]:
    return [one.to_data() for one in answers.items]


def in_memory(facts: dict[int, Any], ontology: Ontology, question: Question) -> list[Any]:
    given = [Fact(f"{WRITER}/{count}", fields) for count, fields in facts.items()]
    return said(Matcher(question, Facts.of(given, ontology)).all())


def test_moments_spaces_and_what_is_not_compacted(spark: Any, tmp_path: Path) -> None:
    """The first segment is in the archive, the second is not, and ends a tuple of the first."""
    facts: dict[int, Any] = {
        1: (obj("Automobile", "A", price=5, tags=["red", "blue"]), obj("Tax", "x")),
        2: (obj("Car", "A", price=5, tags=["red", "blue"]), obj("Loan", "y")),
        3: (obj("Car", "A", price=5, tags=["red", "blue"]), obj("Loan", "z")),
    }
    one = [Told(10, 1, facts[1]), Told(20, 2, facts[2]), Told(25, 4, facts[2], space="others")]
    two = [Told(30, 2, facts[2], "taken"), Told(40, 3, facts[3])]
    archive = tmp_path / "archive"
    done = run_compact(seal(tmp_path / "j", [one]), CARS, archive, spark=spark)
    assert (done.segments, done.tuples) == (1, 3)
    journal = seal(tmp_path / "later", [one, two])
    cars = "price < 9 and not any(tags) = 'green' and (tags[1] = 'blue' or any(tags) < 'b')"
    question = parse_template(f"(Car where {cars}, Tax, Loan)", CARS)
    folders = [journal]
    for at, ever, there in ((None, False, (1, 3)), (25, False, (1, 2)), (None, True, (1, 2, 3))):
        expected = in_memory({count: facts[count] for count in there}, CARS, question)
        assert expected
        for engine in (MatchEngine.DUCKDB, MatchEngine.SPARK)[: 1 if ever else 2]:
            found = run_match(
                folders,
                CARS,
                question,
                archive=archive,
                at=at,
                ever=ever,
                space="cars",
                engine=engine,
                spark=spark,
            )
            assert said(found) == expected
        if folders:  # from here on the archive has all, in two parts
            assert run_compact(folders, CARS, archive, spark=spark).tuples == 1
            folders = []
    assert spark.range(3).count() == 3  # the caller's session is left open, and the active one
    assert SparkSession.getActiveSession() is spark
    assert "tuples" not in [table.name for table in spark.catalog.listTables()]


def generated(seed: int) -> Any:
    """The first case from a seed on that has answers and few networks."""
    while True:
        made = case(seed)
        facts = {count: fact.fields for count, fact in enumerate(made.facts)}
        if small(made, 4) and in_memory(facts, made.ontology, made.question):
            return made, facts
        seed += 1


@pytest.mark.parametrize("seed", [0, 200])
def test_generated_cases(spark: Any, tmp_path: Path, seed: int) -> None:
    made, facts = generated(seed)
    told = [Told(count, count, fields) for count, fields in facts.items()]
    half = len(told) // 2
    journal = seal(tmp_path / "j", [told[:half], told[half:]])
    found = run_match([journal], made.ontology, made.question, spark=spark)
    assert said(found) == in_memory(facts, made.ontology, made.question)


def test_no_folder_is_left_where_one_works(spark: Any) -> None:
    """Spark makes its warehouse when tables are first named, beside whoever calls it if let."""
    spark.createDataFrame([(1,)], "one int").createOrReplaceTempView("some")
    assert spark.table("some").count() == 1
    assert str(cache_folder()) in spark.conf.get("spark.sql.warehouse.dir")


def test_what_spark_does_not_take_is_told(spark: Any) -> None:
    database = SparkDatabase(spark)
    with pytest.raises(DatabaseFailed, match="spark did not answer"):
        database.ask(Statement("SELECT nothing FROM nowhere"))
    database.close()
