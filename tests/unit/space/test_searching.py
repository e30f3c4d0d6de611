"""Searches that are cut: what they find is what is there in their last step."""

from __future__ import annotations

from random import Random

import pytest

from nomospace.space import Record, Search, SearchTooLong, Slice, Space, Unfinished
from nomospace.terms import ANY, Term, a, obj, where
from nomospace.terms.templates import Template

TEMPLATES = [
    Template.of((ANY, ANY)),
    Template.of((where("> 6"), ANY)),
    Template.of((where("> 6"), "b")),
    Template.of((a("Car", "price > 2"),)),
    Template.of((a("Van", "price > 3"),)),
    Template.of((a("Car"), a("Van"))),
]


def _fields(rng: Random) -> tuple[Term, ...]:
    if rng.random() < 0.5:
        return rng.randrange(10), rng.choice("ab")
    kinds = [obj(rng.choice(("Car", "Van")), price=rng.randrange(5)) for _ in range(2)]
    return tuple(kinds[: rng.randint(1, 2)])


@pytest.mark.parametrize("seed", range(60))
def test_a_cut_search_finds_what_is_there_in_its_last_step(seed: int) -> None:
    rng = Random(seed)
    space = Space("s")
    count = 0

    def put() -> None:
        nonlocal count
        count += 1
        space.put(Record(_fields(rng), "ann", count, rng.choice("xy"), "x"), now=0)

    for _ in range(rng.randrange(60)):
        put()
    lent: list[Record] = []
    template = rng.choice(TEMPLATES)
    at = rng.choice((None, "x"))
    every = rng.random() < 0.5
    search = Search(template, at, None, every=every)
    for _ in range(10_000):
        try:
            found = space.go_on(search, now=0, slice=Slice(rng.choice((1, 10, 60))))
            break
        except Unfinished:
            pass
        lying = space.oldest(100)
        for _ in range(rng.randrange(3)):
            record = rng.choice(lying) if lying else None
            match rng.randrange(5):
                case 0:
                    put()
                case 1 if record and record.order > 0:
                    space.remove(record)
                case 2 if record and record.order > 0:
                    space.lend(record, "bob", 99)
                    lent.append(record)
                case 3 if record and record.order > 0:
                    space.relocate(record, rng.choice("xy"), now=0)
                case 4 if lent:
                    space.give_back(lent.pop(rng.randrange(len(lent))).id, "bob", now=0)
    else:
        pytest.fail("a search has an end")
    if every:
        assert found == space.find_all(template, at=at)
    else:
        assert found == [one for one in [space.find(template, at=at)] if one is not None]


def test_each_tuple_is_paid_for() -> None:
    space = Space("s")
    for count in range(1_000):
        space.put(Record((count,), "ann", count, "ann", "ann"), now=0)
    slice = Slice(100_000)
    assert space.find(Template.of((where("> 2000"),)), slice=slice) is None
    spent = 100_000 - slice.left
    assert 3_000 <= spent <= 5_000  # a candidate, its check and one comparison for each


def test_a_search_without_end_is_stopped_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.space.searching.SEARCH_UNITS_MAX", 1_000)
    space = Space("s")
    for count in range(1_000):
        space.put(Record((count,), "ann", count, "ann", "ann"), now=0)
    with pytest.raises(SearchTooLong, match="give a field"):
        space.find(Template.of((where("> 2000"),)))


def test_a_plain_search_with_few_candidates_needs_no_slice() -> None:
    space = Space("s")
    for count in range(20):
        space.put(Record(("job", count), "ann", count, "ann", "ann"), now=0)
    used_up = Slice(0)
    assert space.find(Template.of(("job", 7)), slice=used_up) is not None
    with pytest.raises(Unfinished):
        space.find(Template.of(("job", where("= 7"))), slice=used_up)
