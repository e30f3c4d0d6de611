from random import Random

import pytest

from nomospace.space import Record, Space, composites as module
from nomospace.space.composites import OrderRun
from nomospace.terms.templates import ANY, Template, between, same, where


@pytest.mark.parametrize("seed", range(3))
def test_a_run_is_a_sorted_list(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RUN_MAX", 4)
    rng, run, held = Random(seed), OrderRun(), list[tuple[float, int]]()
    for order in range(600):
        if held and rng.random() < 0.45:
            value, number = held.pop(rng.randrange(len(held)))
            run.drop(value, number)
        else:
            value = rng.choice((float("inf"), *map(float, range(9))))
            held.append((value, order))
            run.add(value, order)
        low, high = sorted((rng.randrange(10), rng.randrange(10)))
        expected = sorted(number for value, number in held if low <= value <= high)
        assert sorted(run.between(low, high)) == expected
        assert run.size == len(held)


def crowd(count: int = 20_000) -> Space:
    """Fields of ten and a hundred values; no two tuples have all the same."""
    space = Space("s")
    for i in range(count):
        fields = ("at", i % 10, i // 10 % 10, i // 100, 10**400 if i == 77 else i % 100)
        space.put(Record(fields, "ann", i, "ann", "ann"), now=0)
    return space


@pytest.mark.parametrize(
    "template",
    [
        Template.of((ANY, 3, 4, ANY, 57)),
        Template.of(("at", 3, 4, between(150, 151), ANY)),
        Template.of(("at", 3, where("> 3 and < 5"), 17, int)),
        Template.of((str, same("x"), same("x"), 150, ANY)),
        Template.of((ANY, ANY, ANY, ANY, where("> 1000"))),
        Template.of((ANY, 5, 5, 5, 5)),
    ],
    ids=str,
)
def test_a_search_in_vain_gets_an_index_and_the_same_answers(template: Template) -> None:
    space = crowd()
    everyone = Template.of((ANY,) * 5)
    expected = [r.id for r in space.find_all(everyone) if template.matches(r.fields)]
    for _ in range(40):
        assert [record.id for record in space.find_all(template)] == expected
    assert space.stats()["building"] == 0
    assert space.stats()["composites"] == 1
    shelf = space._store.shelf(5)
    assert shelf is not None
    looked = list(shelf.candidates(template, None, None))
    assert len(looked) <= max(len(expected), 200)
    first = space.find(template)
    assert (first and first.id) == (expected[0] if expected else None)


def test_one_who_asks_for_a_holder_finds_what_has_moved() -> None:
    space = crowd(8_000)
    template = Template.of((ANY, 3, 4, ANY, ANY))
    for _ in range(40):
        assert space.find(template, at="bob") is None
        assert space.find(template, dest="bob") is None
    moved = space.find_all(template)[7:9]
    for record in moved:
        space.relocate(record, "bob", now=0)
    for _ in range(40):
        assert space.find_all(template, at="bob") == moved
    assert len(space.find_all(template, at="ann")) == 80 - 2
    assert space.find_all(template, dest="ann")[7:9] == moved


def test_there_is_a_limit_to_how_many_there_are() -> None:
    space = crowd(5_000)
    for at in range(100):
        names = [same("x") if (at >> bit) & 1 else ANY for bit in range(5)]
        template = Template.of((*names[:1], where(f"> {at + 10}"), *names[2:]))
        for _ in range(3):
            space.find(template)
    stats = space.stats()
    assert stats["composites"] + stats["building"] <= module.COMPOSITES_MAX


def test_a_single_field_gets_no_index_of_its_own() -> None:
    space = crowd(3_000)
    assert space.find(Template.of(("at", ANY, ANY, ANY, [1, 2]))) is None
    template = Template.of((ANY, 3, ANY, ANY, ANY))
    assert len(space.find_all(template)) == 300
    assert space.stats()["composites"] + space.stats()["building"] == 0
