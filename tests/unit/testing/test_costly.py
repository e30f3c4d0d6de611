"""The search for what costs more than its price finds it, and says so."""

from __future__ import annotations

from random import Random

import pytest

from nomospace.testing.costly import Case, Search, cases, climb, measure
from nomospace.testing.costly.__main__ import picture


def _work(size: int) -> int:
    """Memory of the square of a size, at the price of the size. Time would be luck."""
    bytes(200 * size * size)
    return size


FAKE = Case(
    "fake",
    make=lambda rng: rng.randint(1, 10),
    mutate=lambda rng, size: min(120, size + rng.randint(1, 40)),
    run=_work,
    show=str,
    free_ns=1e15,
    free_bytes=10_000.0,
)


def test_the_search_climbs_to_what_costs_most_beside_its_price() -> None:
    search = climb(FAKE, 1, lambda found: found.tried >= 40)
    assert search.tried == 40
    assert search.worst[0][1] > 40
    assert search.worst[0][0].times >= search.worst[-1][0].times


def test_a_picture_has_a_point_for_each_input() -> None:
    search = climb(FAKE, 2, lambda found: found.tried >= 5)
    assert picture([search]).count("<circle") == 5


@pytest.mark.parametrize("name", ["law", "explanation"])
def test_each_kind_makes_and_changes_inputs_that_can_be_measured(name: str) -> None:
    kind, rng = cases()[name], Random(3)
    made = kind.mutate(rng, kind.make(rng))
    search = Search(kind)
    search.add(measure(kind, made), made)
    assert search.worst[0][0].price > 0
    assert kind.show(made)
