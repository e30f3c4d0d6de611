"""Dependence functions in a database give what they give in Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from nomospace.meaning.functions import FUNCTIONS
from nomospace.meaning.sql import parts
from nomospace.meaning.sql.coding import Coded, coded
from nomospace.meaning.sql.dialects import prepared
from nomospace.meaning.sql.flat import Flat, flattened
from nomospace.meaning.sql.functions import applied
from nomospace.meaning.sql.layout import NUMBER, TEXT, SqlTable
from nomospace.meaning.sql.values import Params, ValuePlace
from nomospace.store.matching import Database
from nomospace.terms import MISSING, Term
from nomospace.terms.objects import Missing
from tests.unit.meaning.sql.databases import DATABASES, database

VALUES: tuple[Term | Missing, ...] = (
    None, True, 0, 1, -1, 2, 7, 2.5, -2.5, 0.1, 0.2, 1e10, 3.0, -0.5, 0.5, 1.005, 123456.789,
    2**40, "", "a", "b", "ä", "\0", b"a", (1,), MISSING,
)  # fmt: skip
PARTS = ("kind", "num", "ext", "text")


def ask(made: Database, name: str, inputs: list[tuple[Term | Missing, ...]]) -> list[Coded | None]:
    """What a function gives for each choice of inputs, in the order of the inputs."""
    width = len(inputs[0])
    columns = [("at", NUMBER)]
    for number in range(width):
        columns += [(f"i{number}_{part}", NUMBER if part == "num" else TEXT) for part in PARTS]
    table = SqlTable(f"inputs_{name}_{width}", tuple(columns))
    from nomospace.meaning.sql.dialects import created

    made.script(created(table, made.dialect))
    made.put(table.name, table.columns, [row(at, values) for at, values in enumerate(inputs)])
    given = [_given(number) for number in range(width)]
    select = parts.select(
        [parts.column("at"), *applied(name, given).columns("r")], parts.table(table.name)
    )
    rows = sorted(made.ask(prepared(select, made.dialect, Params())))
    return [Coded(kind, num if kind == "n" else None, None, text) if kind else None
            for _, kind, num, _, text in rows]  # fmt: skip


def _given(number: int) -> Flat:
    kind, num, ext, text = (parts.column(f"i{number}_{part}") for part in PARTS)
    return flattened((ValuePlace(kind, num, ext, text),))


def row(at: int, values: tuple[Term | Missing, ...]) -> tuple[Any, ...]:
    found: list[Any] = [float(at)]
    for value in values:
        found += (None,) * 4 if value is MISSING else coded(value)
    return tuple(found)


@pytest.mark.parametrize("kind", DATABASES)
def test_functions_give_what_they_give_in_python(kind: str) -> None:
    with database(kind) as made:
        for name in ("plus", "minus", "times", "divide", "min", "max", "concat", "round"):
            inputs = [*product(VALUES, repeat=2)]
            if name == "round":  # a database cannot tell 2 from 2.0, which are no two digits to it
                inputs = [(one, other) for one, other in inputs if other.__class__ is not float]
            for values, found in zip(inputs, ask(made, name, inputs), strict=True):
                value = FUNCTIONS.apply(name, values)
                expected = None if value is MISSING else coded(value)
                if expected is not None and expected.kind == "n":
                    assert found is not None, (name, values)
                    assert found.num == expected.num, (name, values)
                else:
                    assert (found is None) == (expected is None), (name, values, found)
                    assert found is None or found.text == (expected and expected.text), (
                        name,
                        values,
                    )


@pytest.mark.parametrize("kind", DATABASES)
def test_functions_of_more_or_fewer_inputs(kind: str) -> None:
    few: tuple[Term | Missing, ...] = (1, 2.5, -3, "a", "b", MISSING)
    with database(kind) as made:
        for name, width in (
            ("plus", 3),
            ("times", 3),
            ("min", 3),
            ("max", 4),
            ("concat", 3),
            ("round", 1),
        ):
            inputs = [*product(few, repeat=width)]
            for values, found in zip(inputs, ask(made, name, inputs), strict=True):
                value = FUNCTIONS.apply(name, values)
                expected = None if value is MISSING else coded(value)
                told = found and (found.kind, found.num, found.text if found.kind == "s" else None)
                assert told == (expected and (expected.kind, expected.num, expected.text)), values
