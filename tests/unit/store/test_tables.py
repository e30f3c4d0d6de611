"""Tables of the store engine: every database answers as the dictionary does."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from nomospace.host.changes import TupleGone, TuplePut
from nomospace.protocols.spaces import Row
from nomospace.space import Record
from nomospace.space.records import FIRST_ORDER
from nomospace.space.tables import TupleTables, Wanted, wanted_for
from nomospace.store import tables
from nomospace.store.interface import Step, Store
from nomospace.store.memory import MemoryStore
from nomospace.terms import Term, t
from nomospace.terms.templates import ANY, Template
from tests.unit.store.engines import SQL, MakeEngine, engines

__all__ = ["engines"]

AGENTS = ("ann@x", "bob@x")
VALUES = (0, 1, 1.0, -0.0, 0.0, True, None, "job", "é", b"x", 2**70, (1, 2), t.at(1, 2), t.at("x"))
TEMPLATES = [
    Template.of(patterns)
    for patterns in (
        ("job", ANY, ANY),
        ("job", 1, ANY),
        ("job", 1.0, 0.0),
        (ANY, t.at(1, ANY), ANY),
        (ANY, ANY),
        (ANY, [1, 2]),
        (ANY, 2**70, None),
    )
]


def changes(rng: Random) -> list[TuplePut | TupleGone]:
    """What a host could write down of a space: tuples come, change hands and go."""
    made: list[TuplePut | TupleGone] = []
    lying: dict[int, tuple[Row, int]] = {}
    for count in range(1, 200):
        if lying and rng.random() < 0.4:
            row, order = lying.pop(rng.choice(list(lying)))
            made.append(TupleGone("s", (row.writer, row.count), order))
            continue
        fields = tuple([rng.choice(VALUES) for _ in range(rng.choice((2, 3, 3)))])
        cur, dest = rng.choice(AGENTS), rng.choice(AGENTS)
        row = Row(fields, rng.choice(AGENTS), count, cur, dest, rng.choice((0, 0, count)))
        lying[count] = (row, FIRST_ORDER + count)
        made.append(TuplePut("s", *lying[count]))
    return made


def walk(tables: TupleTables, wanted: Wanted, after: int, upto: int) -> list[Record]:
    """All that is wanted, found a few rows at a time; what expires is given in one page."""
    found: list[Record] = []
    while after < upto:
        rows = tables.rows("s", wanted, after, upto, 200 if wanted.due else 7)
        assert rows.looked <= 200
        found, after = [*found, *rows.records], rows.upto
    return found


def answers(store: Store, after: int) -> list[object]:
    """What the tables say to everything that a space may ask."""
    ours = store.tables
    last = ours.last()
    asked = [wanted_for(one, at, None) for one in TEMPLATES for at in (None, *AGENTS)]
    asked += [Wanted(), Wanted(2), Wanted(deep=True), Wanted(due=99), Wanted(at="bob@x")]
    asked += [Wanted(dest="ann@x", astray=True), Wanted(3, dest="ann@x")]
    found: list[object] = [last, ours.applied, ours.writers("s"), ours.writers("other")]
    found += [ours.soonest("s", 50), ours.misplaced("s"), ours.get("s", ("ann@x", 0))]
    for wanted in asked:
        rows = walk(ours, wanted, after, last - 1)
        found.append([(one.order, one.fields, one.cur, one.dest, one.kept) for one in rows])
        for one in rows[:1]:
            again = ours.get("s", one.id)
            assert again is not None
            assert again.order == one.order
    return found


@pytest.mark.parametrize("kind", SQL)
def test_a_database_answers_as_the_dictionary_does(kind: str, engines: MakeEngine) -> None:
    engine, plain = engines(kind), MemoryStore()
    store = engine.open()
    store.begin()
    plain.begin()
    steps = [Step((change,)) for change in changes(Random(3))]
    for one in (store, plain):
        one.commit(steps, at=1)
    store.begin()  # its tables catch up
    after = FIRST_ORDER + 20
    assert answers(store, after)[2:] == answers(plain, after)[2:]
    assert store.begin(tuples=True).durable.tuples == {}, "a host is not told these"
    kept = [step for step in store.dump() if isinstance(step, Step)]
    copy = MemoryStore()
    copy.begin()
    copy.commit(kept, at=2)
    assert answers(copy, after)[2:] == answers(plain, after)[2:]


@pytest.mark.parametrize("kind", SQL)
def test_tables_say_how_far_they_are(kind: str, engines: MakeEngine) -> None:
    store = engines(kind).open()
    store.begin()
    row = Row(("job", 1), "ann@x", 1, "ann@x", "ann@x")
    store.commit([Step((TuplePut("s", row, FIRST_ORDER + 1),))], at=1)
    assert store.tables.applied == 0, "it was put off"
    assert store.tables.rows("s", Wanted(), 0, 1 << 60, 9) == ([], 1 << 60, 0)
    many = [
        TuplePut("s", Row(("job", n), "ann@x", n, "ann@x", "ann@x"), FIRST_ORDER + n)
        for n in range(2, 2_100)
    ]
    store.commit([Step(tuple(many))], at=2)
    assert store.tables.applied == 2_099
    found = store.tables.rows("s", wanted_for(Template.of(("job", 7)), None, None), 0, 1 << 60, 9)
    assert [one.fields for one in found.records] == [("job", 7)]


@pytest.mark.parametrize("kind", SQL)
def test_a_query_looks_at_no_more_rows_than_it_may(kind: str, engines: MakeEngine) -> None:
    """Two values that many tuples have, and none has both: no index leads to that."""
    store = engines(kind).open()
    store.begin()
    many = [
        TuplePut("s", Row(("job", n % 2, n % 2), "ann@x", n, "ann@x", "ann@x"), FIRST_ORDER + n)
        for n in range(1, 2_100)
    ]
    store.commit([Step(tuple(many))], at=1)
    for template in (Template.of((ANY, 0, 1)), Template.of((ANY, ANY))):
        found = store.tables.rows("s", wanted_for(template, None, None), 0, 1 << 60, 50)
        assert found.records == []
        assert found.looked == 50
        assert FIRST_ORDER < found.upto <= FIRST_ORDER + 100


@pytest.mark.parametrize("kind", SQL)
@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        (lambda n: ("job", n, n % 999), (ANY, ANY, 998)),
        (lambda n: (n % 999, n, "x"), (998, ANY, ANY)),
        (lambda n: (n % 999, "job", "x"), (998, "job", ANY)),  # all have the second value
    ],
    ids=["third", "first", "first of two"],
)
def test_another_field_than_the_second_gets_an_index_once_searches_need_it(
    kind: str,
    fields: Callable[[int], tuple[Term, ...]],
    asked: tuple[Any, ...],
    engines: MakeEngine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "VAIN_MAX", 1_000)
    engine = engines(kind)
    store = engine.open()
    store.begin()
    many = [
        TuplePut("s", Row(fields(n), "ann@x", n, "ann@x", "ann@x"), FIRST_ORDER + n)
        for n in range(1, 2_100)
    ]
    store.commit([Step(tuple(many))], at=1)
    wanted = wanted_for(Template.of(asked), None, None)
    found = store.tables.rows("s", wanted, 0, 1 << 60, 1_500)
    assert ([one.count for one in found.records], found.looked) == ([998], 1_500)
    store.commit([Step((TupleGone("s", ("ann@x", 998), FIRST_ORDER + 998),))], at=2)
    store.begin()
    for _ in range(2):
        store.tables.rows("s", wanted, 0, 1 << 60, 1_500)  # tells which of two indexes to use
        found = store.tables.rows("s", wanted, 0, 1 << 60, 1_500)
        assert ([one.count for one in found.records], found.looked) == ([1_997], 1)
        store.close()
        store = engine.open()
        store.begin()
