"""Predicates in a database mean what they mean in Python, on values of every kind."""

from __future__ import annotations

import random

import pytest

from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology, OntologyClass, operand_text
from nomospace.meaning.question import ClassField
from nomospace.meaning.sql.dialects import prepared
from nomospace.meaning.sql.layout import ELEMENTS_MAX, PATH_NAMES_MAX, ArrayTooLong, PathTooLong
from nomospace.meaning.sql.sources import Sources, WantedObjects
from nomospace.meaning.sql.values import Params
from nomospace.store.matching import StoredFactTables
from nomospace.terms import INT_BITS_MAX, Compound, Term, obj, t
from nomospace.terms.conditions import compiled, holds
from nomospace.terms.predicate import (
    Among,
    Element,
    Every,
    Literal,
    Negated,
    Operand,
    Path,
    Predicate,
    PredicateComparison,
    Some,
)
from tests.unit.meaning.sql.databases import DATABASES, database

LARGEST = 2**INT_BITS_MAX - 1
VALUES: tuple[Term, ...] = (
    None, True, False, 0, 1, -1, 1.0, 0.1, -0.5, 2**53, 2**53 + 1, -(2**53) - 1, 2**60, 2**60 + 1,
    float(2**60), 2**63, -(2**63) - 1, LARGEST, -LARGEST, LARGEST - 1, 1.7976931348623157e308,
    5e-324, 1e22, 10**22 + 1, "", "a", "A", "b", "ä", "日本", "😀", "\uffff", "a\0", "\0", "\1",
    "1", "true", "null", "it's", 'say "x"', "%s", ":p0", "\\", b"", b"\x00", b"a", (), (1,), (1.0,),
    ("a", ("b",)), (2, 2**60 + 1, None, "a"), ((1, "b"), (0.1,), ()), t.room(3), t.room(3.0),
    obj("Money", amount=3), obj("Money", "m", amount=3),
    (obj("Money", amount=3), "x", obj("Money", amount=(1, 2))),
)  # fmt: skip
LITERALS = [value for value in VALUES if isinstance(value, bool | int | float | str | None)]
PATHS: list[tuple[str, ...]] = [
    ("num",),
    ("word",),
    ("flag",),
    ("raw",),
    ("many",),
    ("open",),
    ("money",),
]
PATHS += [("money", "amount"), ("money", "unit"), ("open", "amount"), ("none",), ("num", "x")]
ELEMENTS: list[tuple[str | int | None, ...]] = [
    ("many", 0),
    ("many", 1),
    ("open", 2),
    ("open", 0, 1),
    ("open", 2, "amount", 0),
    ("open", 0, "amount"),
    ("money", "amount", 1),
    ("none", 0),
    ("many", None),
    ("open", None),
    ("open", None, "amount"),
    ("open", 0, None),
    ("money", "amount", None),
]
ONTOLOGY = Ontology(
    "shop",
    [
        OntologyClass(
            "Car",
            ("Automobile",),
            properties={
                "num": "number",
                "word": "string",
                "flag": "boolean",
                "raw": "bytes",
                "many": "list",
                "money": "Money",
            },
        ),
        OntologyClass("SportsCar", parents=("Car",), properties={"open": "integer"}),
        OntologyClass("Money", properties={"amount": "number", "unit": "string"}),
    ],
)


def some_objects(chance: random.Random) -> list[Compound]:
    found: list[Compound] = []
    for at in range(400):
        properties: dict[str, Term] = {}
        for name in ("num", "word", "flag", "raw", "many", "open"):
            if chance.random() < 0.8:
                properties[name] = chance.choice(VALUES)
        if chance.random() < 0.7:
            nested = {"amount": chance.choice(VALUES), "unit": chance.choice(VALUES)}
            properties["money"] = obj("Money", chance.choice([None, "m", 1]), **nested)
        found.append(obj(chance.choice(["Car", "Automobile", "SportsCar"]), at, **properties))
    return found


def some_predicate(chance: random.Random, depth: int = 0) -> Predicate:
    draw = chance.random()
    if depth < 2 and draw < 0.35:
        parts = tuple(some_predicate(chance, depth + 1) for _ in range(chance.randint(2, 3)))
        return Every(parts) if draw < 0.18 else Some(parts)
    if depth < 2 and draw < 0.5:
        return Negated(some_predicate(chance, depth + 1))
    left = some_path(chance) if draw < 0.95 else Literal(chance.choice(LITERALS))
    if draw < 0.6:
        return Among(left, tuple(chance.choices(LITERALS, k=3)))
    right = some_path(chance) if draw < 0.75 else Literal(chance.choice(LITERALS))
    return PredicateComparison(left, chance.choice(["=", "!=", "<", "<=", ">", ">="]), right)


def some_path(chance: random.Random) -> Path | Element:
    if chance.random() < 0.4:
        return Element(chance.choice(ELEMENTS))
    return Path(chance.choice(PATHS))


def asked(tables: StoredFactTables, text: str) -> list[tuple[str, int]]:
    params = Params()
    sources = Sources(tables.layout, tables.held.open_paths, params)
    select = sources.object_query(
        WantedObjects(("Car", "SportsCar"), [ClassField("Car", predicate=text)])
    )
    rows = tables.database.ask(prepared(select, tables.database.dialect, params))
    return sorted((row[0], row[1]) for row in rows)


@pytest.mark.parametrize("kind", DATABASES)
def test_a_predicate_is_true_of_the_same_objects(kind: str) -> None:
    chance = random.Random(7)
    objects = some_objects(chance)
    facts = [Fact(f"t{at:03}", ("x", field)) for at, field in enumerate(objects)]
    with database(kind) as made:
        tables = StoredFactTables(ONTOLOGY, made)
        tables.add(facts)
        for _ in range(100):
            text = written(some_predicate(chance))
            test = compiled(text, field=False)
            expected = [(name, 1) for name, fields in facts if test(fields[1])]
            assert asked(tables, text) == expected, text


def written(tree: Predicate | Operand) -> str:
    match tree:
        case PredicateComparison(left, sign, right):
            return f"{written(left)} {sign} {written(right)}"
        case Among(left, values):
            return f"{written(left)} in [{', '.join(written(Literal(one)) for one in values)}]"
        case Every(parts):
            return "(" + " and ".join(map(written, parts)) + ")"
        case Some(parts):
            return "(" + " or ".join(map(written, parts)) + ")"
        case Negated(part):
            return f"not {written(part)}"
        case Path(names):
            return ".".join(names)
        case Element(steps):
            text = ""
            for step in steps:
                if step is None:
                    text = f"any({text})"
                else:
                    text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
            return text
        case Literal(value):
            return operand_text(Literal(value))


@pytest.mark.parametrize("kind", DATABASES)
def test_every_two_values_compare_as_in_python(kind: str) -> None:
    """All pairs, in typed columns and in the remainder, by every sign."""
    facts = [
        Fact(f"t{one:02}{other:02}", (obj("Car", num=left, open=right),))
        for one, left in enumerate(VALUES)
        for other, right in enumerate(VALUES)
    ]
    with database(kind) as made:
        tables = StoredFactTables(ONTOLOGY, made)
        tables.add(facts)
        for sign in ("=", "!=", "<", "<=", ">", ">="):
            found = {name for name, _ in asked(tables, f"num {sign} open")}
            for one, left in enumerate(VALUES):
                for other, right in enumerate(VALUES):
                    told = f"t{one:02}{other:02}" in found
                    assert told == holds(left, sign, right), (left, sign, right)


def test_a_predicate_that_looks_too_deep_is_refused() -> None:
    path = ".".join("abcdefghi")
    with database("sqlite") as made:
        tables = StoredFactTables(ONTOLOGY, made)
        tables.add([Fact("t", (obj("Car"),))])
        with pytest.raises(PathTooLong, match="8 names"):
            asked(tables, f"{path} = 1")
    assert len(path.split(".")) == PATH_NAMES_MAX + 1


def test_what_is_too_long_to_be_looked_into_is_refused_and_not_half_answered() -> None:
    with database("sqlite") as made:
        tables = StoredFactTables(ONTOLOGY, made)
        tables.add([Fact("t", (obj("Car", many=list(range(ELEMENTS_MAX))),))])
        assert asked(tables, f"any(many) = {ELEMENTS_MAX - 1}") == [("t", 0)]
        tables.add([Fact("u", (obj("Car", many=list(range(ELEMENTS_MAX + 1)), open=[1]),))])
        for text in ("any(many) = 1", "many[0] = 0", "any(many[0]) = 2"):
            with pytest.raises(ArrayTooLong, match=r"many\[\].*--engine memory"):
                asked(tables, text)
        assert asked(tables, "num = 1 or open[0] = 1") == [("u", 0)]
