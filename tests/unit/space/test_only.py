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
        record = space.only(template, now=5)
        hits += record is not None
        assert record is None or record is space.find(template, now=5)
    assert hits


def test_a_value_of_its_own_is_enough() -> None:
    space = Space("jobs")
    for count in range(50):
        space.put(Record(("job", count), "ann", count + 1, "ann", "ann"), now=0)
    found = space.only(Template.of(("job", 17)), now=0)
    assert found is not None
    assert found.fields == ("job", 17)
    assert space.only(Template.of(("other", 17)), now=0) is None
    assert space.only(Template.of(("job", ANY)), now=0) is None  # many show it: that is for `find`
