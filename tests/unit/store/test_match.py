"""Templates in the database against templates in Python: the same tuples, in the same order."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from nomospace.host.changes import TuplePut
from nomospace.protocols.spaces import Row
from nomospace.store import Step, Store
from nomospace.terms import ANY, Compound, Template, Term, a, between, obj, same_as, where
from nomospace.terms.formals import KINDS
from tests.unit.store.changing import ATOMS, any_fields, any_term
from tests.unit.store.engines import ENGINES, fresh

PREDICATES = [
    *["> 1", ">= 1 and < 9", "in [1, 'job', null]", "!= 'a'", "= null", "!= null", "= true"],
    *["not (> 0)", "= 1 or = 'b'", "< 'b'", ">= ''", "= 1.0", "> 9007199254740992"],
    *["< 1e23", "> 'a\\n'", "in [true, 2.5]", "!= true", "< 'x'", ">= 1e23 or < 0"],
]
OBJECT_PREDICATES = [
    *["price < 5", "price != null", "price = null", "not (price < 5)", "price = other"],
    *["maker.name = 'Fiat'", "maker.name > 'A' and price >= 1", "price in [1, 'x']"],
    *["other < price", "5 > price", "1 = 1.0", "1 != null", "null != null", "maker = maker"],
    *["other != price", "maker.name.more = 1", "null = price", "other = 'a' or price = 4.5"],
]


def any_object(rng: Random) -> Term:
    """Something like a car, whole or not."""
    properties: dict[str, Any] = {}
    if rng.random() < 0.8:
        properties["price"] = rng.choice([1, 4.5, 7, "x", None, True, b"a", (1,)])
    if rng.random() < 0.5:
        properties["other"] = rng.choice([1, 1.0, "x", "a", None, True, b"b", b"a", (1,), (2,)])
    if rng.random() < 0.6:
        properties["maker"] = obj("Maker", name=rng.choice(["Fiat", "VW", 3]))
    if rng.random() < 0.1:
        return Compound("object", ("Car", None, (Compound("price", (1, 2)), "price")))
    return obj(rng.choice(["Car", "Bus"]), **properties)


def any_tuple(rng: Random) -> tuple[Term, ...]:
    """The fields of a tuple, often with something in common with others."""
    if rng.random() < 0.3:
        return ("car", any_object(rng))
    if rng.random() < 0.3:
        return ("job", rng.randint(-3, 3), rng.choice(["a", "b", 1, 1.0]))
    fields = list(any_fields(rng))
    if rng.random() < 0.3:
        fields[rng.randrange(len(fields))] = rng.choice(fields)
    return tuple(fields)


def any_pattern(rng: Random, value: Term, depth: int = 2) -> Any:
    """A pattern that a value may well fit."""
    kind = rng.randrange(12)
    if kind < 3:
        return value
    if kind == 3:
        return ANY
    if kind == 4:
        return same_as(rng.choice("xy"))
    if kind == 5:
        return where(rng.choice(PREDICATES))
    if kind == 6:
        low, high = rng.choice(ENDS)
        return between(low, high)
    if kind == 7:
        return Compound("formal", (rng.choice(list(KINDS)),))
    if kind == 8:
        # A kind and a range that may have nothing in common.
        ends = rng.choice(ENDS)
        return Compound("formal", (rng.choice(["int", "float", "str"]), Compound("between", ends)))
    if kind == 9:
        predicate = rng.choice([*OBJECT_PREDICATES, ""])
        return a(rng.choice(["Car", "Bus"]), predicate)
    if depth and isinstance(value, Compound):
        return Compound(value.name, any_patterns(rng, value.args, depth - 1))
    if depth and isinstance(value, tuple):
        return any_patterns(rng, value, depth - 1)
    return any_term(rng, 1)


def any_patterns(rng: Random, values: tuple[Term, ...], depth: int) -> tuple[Any, ...]:
    """Patterns for the parts of a value."""
    return tuple([any_pattern(rng, value, depth) for value in values])


ENDS = [
    *[(0, 2), (-1, 2**64), (0.5, 1e23), (1, 1.0), (2**63, 2**80), (-(2**70), 0.1), (1e22, 10**23)],
    *[("", "b"), ("a", "x" * 65), ("a\0b", "b"), ("", "a\0"), ("x" * 64, "y"), ("é", "\U0001f601")],
]


@pytest.fixture(scope="module", params=ENGINES)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("match")
    with fresh(request.param, folder) as engine:
        store = engine.open()
        store.begin()
        rng = Random(17)
        rows = [Row(any_tuple(rng), "ann@x", n, "ann@x", "ann@x") for n in range(1, 400)] + [
            Row((atom,), "bob@x", n, "bob@x", "bob@x") for n, atom in enumerate(ATOMS)
        ]
        puts = [TuplePut("jobs", row) for row in rows]
        elsewhere = TuplePut("notes", Row(("job", 1, "a"), "ann@x", 1, "ann@x", "ann@x"))
        store.commit([Step((*puts, elsewhere))], at=1)
        yield store, rows


def expect(filled: tuple[Store, list[Row]], template: Template) -> int:
    """Compare, and say how many there were."""
    store, rows = filled
    wanted = [(row.writer, row.count) for row in rows if template.matches(row.fields)]
    found = store.match("jobs", template, 10_000)
    assert [(row.writer, row.count) for row in found] == wanted, template
    assert [row.fields for row in found] == [
        row.fields for row in rows if (row.writer, row.count) in dict.fromkeys(wanted)
    ]
    return len(wanted)


def test_templates_made_from_tuples(filled: tuple[Store, list[Row]]) -> None:
    rng = Random(4)
    hits = 0
    for _ in range(500):
        fields = rng.choice(filled[1]).fields
        hits += expect(filled, Template.of([any_pattern(rng, field) for field in fields])) > 0
    assert hits > 100


def test_every_predicate_and_range_on_every_kind(filled: tuple[Store, list[Row]]) -> None:
    for predicate in PREDICATES:
        expect(filled, Template.of([where(predicate)]))
    for low, high in ENDS:
        expect(filled, Template.of([between(low, high)]))
    for kind in KINDS:
        expect(filled, Template.of([Compound("formal", (kind,))]))
    for atom in ATOMS:
        assert expect(filled, Template.of([atom])) >= 1
    for predicate in OBJECT_PREDICATES:
        expect(filled, Template.of(["car", a("Car", predicate)]))


def test_no_more_than_were_asked_for(filled: tuple[Store, list[Row]]) -> None:
    store, rows = filled
    template = Template.of([ANY])
    assert [row.fields for row in store.match("jobs", template, 3)] == [
        row.fields for row in rows if len(row.fields) == 1
    ][:3]
    assert store.match("nowhere", template, 3) == []


def test_only_what_sql_cannot_say_is_asked_of_python(tmp_path: Path) -> None:
    with fresh("sqlite", tmp_path) as engine:
        store = engine.open()
        store.begin()
        rows = [Row(("job", n, "room"), "ann@x", n, "ann@x", "ann@x") for n in range(1, 100)]
        store.commit([Step(tuple([TuplePut("jobs", row) for row in rows]))], at=1)
        asked: list[bytes] = []
        fits = store._fits  # type: ignore[attr-defined]

        def noted(blob: bytes) -> bool:
            asked.append(blob)
            return bool(fits(blob))

        store._reader.create_function("fits", 1, noted)  # type: ignore[attr-defined]
        for patterns in (
            ["job", int, ANY],
            [same_as("x"), between(3, 5), same_as("x")],
            ["job", 17, str],
            [str, 18, "room"],
        ):
            store.match("jobs", Template.of(patterns), 10)
            assert asked == []
        assert len(store.match("jobs", Template.of(["job", where("> 3 and < 6"), ANY]), 10)) == 2
        assert len(asked) == 4  # 3 to 6: the range was narrowed first
