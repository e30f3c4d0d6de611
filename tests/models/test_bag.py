"""The ordered bag against a list of places and terms, through the indexes of large buckets too."""

from __future__ import annotations

from random import Random

import pytest

from nomospace.law.bag import INDEX_FROM, Bag, key_of
from nomospace.terms import Compound, Term, Var, match, same

Held = list[tuple[int, Term]]


def draw(rng: Random) -> Term:
    """Few functors and few values, so that buckets grow and keys collide: `1`, `1.0`, `true`."""
    value = rng.choice((1, 1.0, True, 2, "a", (1,), Compound("f", (1,))))
    if rng.random() < 0.1:
        return rng.choice(("p", "q", 7, (1, 2)))
    if rng.random() < 0.2:
        return Compound("wide", (value, *(rng.randrange(2) for _ in range(5))))
    return Compound(rng.choice(("p", "p", "p", "q")), (value, rng.randrange(4)))


def pattern(rng: Random) -> Term:
    made = draw(rng)
    if not isinstance(made, Compound):
        return rng.choice((made, Var()))
    return Compound(made.name, tuple([rng.choice((arg, Var())) for arg in made.args]))


def check(rng: Random, bag: Bag, held: Held) -> None:
    wanted = pattern(rng)
    expected = [(place, term) for place, term in held if match(wanted, term)]
    assert [place for place, _ in bag.find_all(wanted, [0])] == [place for place, _ in expected]
    first = bag.find(wanted, [0])
    assert (first and first[0]) == (expected[0][0] if expected else None)
    if isinstance(wanted, Compound):
        bucket = bag.buckets.get(key_of(wanted))
        bound = tuple([at for at, arg in enumerate(wanted.args) if not isinstance(arg, Var)])
        if bucket is not None and bound:
            key = tuple([wanted.args[at] for at in bound])
            found_terms = [
                term for term in bucket.under(bound, key, [0]).values() if match(wanted, term)
            ]
            assert len(found_terms) == len(expected)


def change(rng: Random, bag: Bag, held: Held) -> None:
    roll = rng.random()
    if roll < 0.45 or not held:
        term = draw(rng)
        held.append((bag.add(term), term))
        return
    at = rng.randrange(len(held))
    place, old = held[at]
    if roll < 0.7:
        new = draw(rng)
        bag.swap(place, old, new)
        held[at] = (place, new)
        return
    if roll < 0.8:
        new = draw(rng)
        bag.swap(place, old, new)
        bag.swap(place, new, old)
        return
    bag.drop(place, old)
    if roll < 0.9:
        bag.put(place, old)
    else:
        del held[at]


@pytest.mark.parametrize("seed", range(6))
def test_a_bag_is_a_list_in_order_of_arrival(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.law.bag.SLOT_FROM", 4 + 100 * (seed % 2))
    rng = Random(seed)
    bag, held = Bag(), Held()
    largest = 0
    for _ in range(250):
        change(rng, bag, held)
        check(rng, bag, held)
        largest = max(largest, *(len(bucket) for bucket in bag.buckets.values()), 0)
        assert bag.items() == held
        assert all(same(one, term) for one, (_, term) in zip(bag, held, strict=True))
        assert len(bag) == len(held)
    assert largest > INDEX_FROM
    assert bag.copy().items() == held
