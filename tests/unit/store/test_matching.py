"""Questions by meaning, asked of databases: who does the work, what is kept, what fails."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlglot

from nomospace.meaning.answers import Answers
from nomospace.meaning.facts import Fact
from nomospace.meaning.functions import Functions
from nomospace.meaning.ontology import PLAIN, Dependence, Input, Ontology, OntologyClass, Tie
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import Question, parse_template, question_of
from nomospace.meaning.sql import networks, tables as tables_of_meaning
from nomospace.meaning.sql.building import StatementBuilder, groups
from nomospace.meaning.sql.dialects import DIALECTS, Statement
from nomospace.meaning.sql.layout import Row
from nomospace.meaning.sql.networks import TooManyFields
from nomospace.meaning.sql.tables import Kept, Key, Remembered
from nomospace.store import matching_sqlite
from nomospace.store.matching import Database, DatabaseFailed, StoredFactTables
from nomospace.store.matching_duckdb import DuckdbDatabase
from nomospace.store.matching_postgres import PostgresDatabase
from nomospace.store.matching_sqlite import SqliteDatabase
from nomospace.terms import Template, a, between, obj
from tests.unit.meaning.sql.databases import DATABASES, database

CARS = Ontology(
    "cars",
    [
        OntologyClass("Car", ("Automobile",), properties={"price": "Price", "maker": "string"}),
        OntologyClass("SportsCar", parents=("Car",)),
        OntologyClass("Price", properties={"amount": "number"}),
        OntologyClass("CarInsurance"),
        OntologyClass("CarFinance"),
    ],
)
WANTED = "(Car where price.amount < 5000, CarInsurance, CarFinance)"


def some(count: int) -> list[Fact]:
    """Cars that are insured and financed, each by tuples of its own; every other one is dear."""
    facts: list[Fact] = []
    for at in range(count):
        car = obj("SportsCar", f"c{at}", price=obj("Price", amount=4000 + at % 2 * 9000))
        facts.append(Fact(f"a{at:04}", (car, obj("CarInsurance", f"i{at}"))))
        facts.append(Fact(f"b{at:04}", (car, obj("CarFinance", f"f{at}"))))
    return facts


def opened(made: Database, facts: Sequence[Fact], ontology: Ontology = CARS) -> StoredFactTables:
    tables = StoredFactTables(ontology, made)
    tables.add(facts)
    return tables


def sets(answers: Answers) -> list[tuple[str, ...]]:
    return [answer.tuples for answer in answers.items]


class Counted(SqliteDatabase):
    """Counts the rows that leave the database, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.statements: list[Statement] = []

    def run(self, statement: Statement) -> None:
        self.statements.append(statement)
        super().run(statement)

    def ask(self, statement: Statement) -> list[Row]:
        found = super().ask(statement)
        self.rows += len(found)
        return found


def test_joins_run_in_the_database_and_python_sees_answers_only() -> None:
    made = Counted()
    tables = opened(made, some(400))
    tables.known()
    made.rows = 0
    answers = tables.answers(parse_template(WANTED, CARS))
    assert len(answers.items) == 200
    fixed = 20  # questions of one row: statistics, whether there is anything of a kind
    assert made.rows <= 200 + 400 + fixed  # the sets, and the tuples in them
    (joined,) = [one for one in made.statements if 'INTO "found_correlation_2"' in one.sql]
    assert joined.sql.count("INNER JOIN") == 3
    made.script(['CREATE TABLE "found_correlation_2" (m0, m1)', *sources(made.statements)])
    plan = made.ask(Statement(f"EXPLAIN QUERY PLAN {joined.sql}", joined.params))
    searched = [row[3] for row in plan if "USING" in row[3] and "INDEX" in row[3]]
    assert len(searched) >= 3, plan  # each further field is looked up, none is scanned for


def sources(statements: Sequence[Statement]) -> list[str]:
    """The tables that a question made and dropped, made again and empty."""
    names = {one.sql.split('"')[1] for one in statements if 'INTO "source_' in one.sql}
    made = [f'CREATE TABLE "{name}" (tuple, pos, same)' for name in sorted(names)]
    return [*made, *(f'CREATE INDEX "{name}_t" ON "{name}" (tuple)' for name in sorted(names))]


@pytest.mark.parametrize("kind", DATABASES)
def test_questions_of_the_same_connection(kind: str) -> None:
    with database(kind) as made:
        tables = opened(made, some(6))
        assert sets(tables.answers(parse_template(WANTED, CARS))) == [
            ("a0000", "b0000"),
            ("a0002", "b0002"),
            ("a0004", "b0004"),
        ]
        first = tables.first(parse_template(WANTED, CARS))
        assert first is not None
        assert first.why == "SportsCar is a Car; a0000 and b0000 share SportsCar c0"
        assert tables.first(parse_template("(Price)", CARS)) is None
        tables.add([Fact("c", (obj("Automobile", "c0"), obj("CarInsurance"), obj("CarFinance")))])
        assert sets(tables.answers(parse_template("(Car, CarFinance, CarInsurance)", CARS))) == [
            ("c",)
        ]


@pytest.mark.parametrize("kind", DATABASES)
def test_texts_that_databases_find_hard(kind: str) -> None:
    names = ["\0", "\1", "a\0b", "it's", 'say "x"', "%s", ":p0", "$p0", "日本", "😀", "\\", ""]
    facts = [Fact(f"t{name}", (obj("Thing ' \0\"", name, p=name), name)) for name in names]
    with database(kind) as made:
        tables = opened(made, facts, PLAIN)
        for name in names:
            wanted = question_of(Template.of([obj("Thing ' \0\"", name), name]))
            (found,) = tables.answers(wanted).items
            assert found.tuples == (f"t{name}",)
            assert found.fields == (obj("Thing ' \0\"", name, p=name), name)


@pytest.mark.parametrize("kind", DATABASES)
def test_objects_without_ids_and_equal_properties(kind: str) -> None:
    facts = [
        Fact("t1", (obj("Car", "A", doors=3),)),
        Fact("t2", (obj("Car", doors=3),)),
        Fact("t3", (obj("Car", doors=3.0),)),
        Fact("t4", (obj("Car", 1),)),
        Fact("t5", (obj("Car", 1.0),)),
        Fact("t6", (obj("Car", True),)),
    ]
    with database(kind) as made:
        tables = opened(made, facts)
        asked = {
            ("t1", "t2"): obj("Car", doors=3),
            ("t3",): obj("Car", doors=3.0),
            ("t4",): obj("Car", 1),
            ("t5",): obj("Car", 1.0),
            ("t6",): obj("Car", True),
        }
        for expected, wanted in asked.items():
            found = tables.answers(question_of(Template.of([wanted])))
            assert [one for (one,) in sets(found)] == list(expected)


@pytest.mark.parametrize("kind", DATABASES)
def test_properties_that_a_mapping_renames(kind: str) -> None:
    joined = Ontology("both", [OntologyClass("Auto")], renames={"Auto": {"preis": "price"}})
    with database(kind) as made:
        tables = opened(made, [Fact("t1", (obj("Auto", "A", preis=4500),))], joined)
        (found,) = tables.answers(parse_template("(Auto where price < 5000)", joined)).items
        assert found.fields == (obj("Auto", "A", preis=4500),)  # as it was written


def test_a_cut_is_told() -> None:
    with database("sqlite") as made:
        tables = opened(made, some(6))
        question = parse_template("(Car)", CARS, limit=4)
        answers = tables.answers(question)
        assert len(answers.items) == 4
        assert answers.cut == "there are more than 4 answers"
        assert tables.answers(question._replace(limit=12)).cut == ""


class CountedLooks(Remembered[Key, Kept]):
    """Counts how often something was at hand, and how often it was not."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.hits = 0
        self.misses = 0

    def get(self, key: Key) -> Kept | None:
        found = super().get(key)
        self.hits += found is not None
        self.misses += found is None
        return found

    @property
    def told(self) -> tuple[int, int, int]:
        return self.hits, self.misses, len(self._kept)


def test_plans_and_tuples_are_kept_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_of_meaning, "Remembered", CountedLooks)
    monkeypatch.setattr(tables_of_meaning, "PLANS_MAX", 2)
    monkeypatch.setattr(tables_of_meaning, "TUPLES_MAX", 3)
    with database("sqlite") as made:
        tables = opened(made, some(2))
        asked = [parse_template(f"(Car = c{at})", CARS) for at in (0, 0, 1, 0)]
        for question in asked:
            assert len(tables.answers(question).items) == 2
        plans, rows = tables.plans, tables.rows
        assert isinstance(plans, CountedLooks)
        assert isinstance(rows, CountedLooks)
        assert plans.told == (2, 2, 2)
        assert rows.told == (3, 5, 3)
        tables.add([Fact("c", (obj("Car", "c0"),))])
        assert plans.told == (2, 2, 0)
        assert len(tables.answers(asked[0]).items) == 3


@pytest.mark.parametrize("kind", DATABASES)
def test_what_only_python_can_tell_is_told_by_python(kind: str) -> None:
    """Functions of users and patterns run on what the database has joined."""
    functions = Functions()
    functions.register("half")(lambda value: value / 2)
    made_of = Dependence("Offer", "price", "half", (Input("Price", ("amount",)),), ())
    shop = Ontology(
        "shop",
        [OntologyClass("Price"), OntologyClass("Offer", depends={"price": (made_of,)})],
        functions=functions,
    )
    facts = [
        Fact("t1", (obj("Price", "p", amount=8), 7)),
        Fact("t2", (obj("Price", "q", amount=9), 99)),
        Fact("t3", (obj("Price", "r", amount="many"), "x")),
    ]
    with database(kind) as made:
        tables = opened(made, facts, shop)
        found = tables.answers(parse_template("(Offer where price < 4.2)", shop))
        assert sets(found) == [("t1",)]
        assert found.items[0].fields == (obj("Offer", price=4.0),)
        assert [text[:38] for text in found.problems] == ["dependence function half raised TypeEr"]
        ranged = question_of(Template.of([a("Price"), between(1, 9)]))
        assert sets(tables.answers(ranged)) == [("t1",)]
        assert sets(tables.answers(question_of(Template.of([obj("Offer", price=4.5)])))) == [
            ("t2",)
        ]
        assert not tables.answers(question_of(Template.of([obj("Offer", price=4)]))).items


def test_a_join_of_too_many_fields_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "ATOMS_MAX", 3)
    with database("sqlite") as made:
        tables = opened(made, [Fact("t1", (obj("Car", "A"), 1, 2, 3))])
        with pytest.raises(TooManyFields, match="over 3 fields"):
            tables.answers(parse_template("(Car, int, int, int)", CARS))
        assert len(tables.answers(parse_template("(Car, int)", CARS)).items) == 1  # it goes on


def test_a_computed_object_tied_to_others_in_a_database() -> None:
    tie = Tie(Input("Trip", ("ship",)), "=", Input("End", ("ship",)))
    other = Tie(Input("End", ("ship",)), "=", Input("Start", ("ship",)))
    steps = Dependence(
        "Trip", "time", "minus", (Input("End", ("at",)), Input("Start", ("at",))), (tie, other)
    )
    ships = Ontology(
        "ships",
        [
            OntologyClass("Start"),
            OntologyClass("End"),
            OntologyClass("Trip", depends={"time": (steps,)}),
        ],
    )
    facts = [
        Fact("t1", (obj("Start", "s1", ship="x", at=3),)),
        Fact("t2", (obj("End", "e1", ship="x", at=9.5),)),
        Fact("t3", (obj("Start", "s2", ship="y", at=3),)),
        Fact("t4", (obj("End", "e2", ship="z", at=3),)),
    ]
    for kind in DATABASES:
        with database(kind) as made:
            tables = opened(made, facts, ships)
            (found,) = tables.answers(parse_template("(Trip where time > 6)", ships)).items
            assert found.tuples == ("t1", "t2")
            assert found.fields == (obj("Trip", ship="x", time=6.5),)
            assert not tables.answers(parse_template("(Trip where time > 7)", ships)).items


def test_a_statement_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    monkeypatch.setattr(matching_sqlite, "STATEMENT_S", 0.05)
    made = SqliteDatabase()
    with pytest.raises(DatabaseFailed, match="sqlite did not answer: interrupted"):
        made.ask(Statement(endless))
    made.close()


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(DatabaseFailed, match="postgres did not answer"):
        PostgresDatabase("postgresql://nobody@127.0.0.1:1/none")


def test_closing_twice_is_harmless() -> None:
    for made in (SqliteDatabase(), DuckdbDatabase()):
        made.close()
        made.close()


def test_a_question_that_differs_only_in_the_kind_of_a_number() -> None:
    """1 and 1.0 are equal to Python; a plan kept for the one must not serve the other."""
    with database("sqlite") as made:
        tables = opened(
            made, [Fact("t1", (obj("Car", "A"), 1)), Fact("t2", (obj("Car", "A"), 1.0))]
        )
        wanted: list[Question] = [parse_template(f"(Car, {text})", CARS) for text in ("1", "1.0")]
        assert [sets(tables.answers(one)) for one in wanted] == [[("t1",)], [("t2",)]]


def test_a_further_dialect_needs_no_further_builder() -> None:
    """The statements for Spark are those of the others in its own words, and it can read them."""
    with database("sqlite") as made:
        tables = opened(made, some(2))
        planner = Planner(parse_template(WANTED, CARS, correlate="always"), CARS, tables.known())
        builder = StatementBuilder(
            planner, tables.layout, tables.held.open_paths, DIALECTS["spark"]
        )
        written: list[str] = []
        for group in groups(planner):
            for network in group.networks:
                gathering = builder.gather(group, network)
                written += [filling.sql for _, filling in gathering.sources] + [gathering.rows.sql]
            written.append(builder.answers(group, (), 10).sql)
    assert len(written) >= 3
    for sql in written:
        assert sqlglot.parse_one(sql, read="spark").sql("spark") == sql
        assert '"' not in sql  # names are in backticks
