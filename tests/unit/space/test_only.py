"""The short search for what only one tuple shows finds what `find` finds, or says nothing."""

from random import Random
from typing import Any

import pytest

from nomospace.space import Record, Space
from nomospace.terms.templates import ANY, Template

VALUES: list[Any] = ["job", "a", "b", 0, 1, 2, True, 1.0, None, (1, 2)]


def filled(rng: Random, many: int) -> Space:
    space = Space("jobs")
    for count in range(many):
        fields = tuple([rng.choice(VALUES) for _ in range(rng.randint(1, 3))])
        expires = rng.choice((0, 0, 4, 6))
        space.put(Record(fields, "ann", count + 1, "ann", "ann", expires), now=0)
    return space


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_find_gives(seed: int) -> None:
    rng = Random(seed)
    space = filled(rng, 12)
    hits = 0
    for _ in range(300):
        patterns = [rng.choice((*VALUES[:6], ANY, ANY)) for _ in range(rng.randint(1, 3))]
        template = Template.of(patterns)
        flat = [template.arity, *[part for place in template.equal for part in place]]
        record = space.only(flat, 1, now=5)
        hits += record is not None
        assert record is None or record is space.find(template, now=5)
    assert hits


def test_a_value_of_its_own_is_enough() -> None:
    space = Space("jobs")
    for count in range(50):
        space.put(Record(("job", count), "ann", count + 1, "ann", "ann"), now=0)
    found = space.only([2, 0, "job", 1, 17], 1, now=0)
    assert found is not None
    assert found.fields == ("job", 17)
    assert space.only([2, 0, "other", 1, 17], 1, now=0) is None
    assert space.only([2, 0, "job"], 1, now=0) is None  # many show it: that is for `find`


@pytest.mark.parametrize(
    "flat",
    [
        [2, 0, "job", 1],
        [2, -1, 1],
        [2, 2, 1],
        [2, "0", "job"],
        [2, 1.0, 1],
        [2, 1, [1]],
        [2, 1, None],
        ["2", 1, 1],
        [[], 1, 1],
        [3, 1, 1],
    ],
)
def test_it_trusts_nobody(flat: list[Any]) -> None:
    space = Space("jobs")
    space.put(Record(("job", 1), "ann", 1, "ann", "ann"), now=0)
    assert space.only(flat, 1, now=0) is None
