"""The search for what costs more than its price finds it, and says so."""

from __future__ import annotations

from random import Random

import pytest

from nomospace_lab.testing.costly import (
    CostlyCase,
    CostSearch,
    Spent,
    cases,
    climb,
    cross,
    measure,
    offspring,
)
from nomospace_lab.testing.costly.__main__ import main, picture, table


def _work(size: int) -> Spent:
    """Memory of the square of a size, at the price of the size. Time would be luck."""
    bytes(200 * size * size)
    return Spent(size)


FAKE = CostlyCase(
    "fake",
    make=lambda rng: rng.randint(1, 10),
    mutate=lambda rng, size: min(120, size + rng.randint(1, 40)),
    run=_work,
    show=str,
    free_ns=1e15,
    free_bytes=10_000.0,
)


def test_the_search_climbs_to_what_costs_most_beside_its_price() -> None:
    search = climb(FAKE, 1, lambda found: found.tried >= 40, weighed=1)
    assert search.tried == 40
    assert search.worst[0][1] > 40
    assert search.worst[0][0].times >= search.worst[-1][0].times


def test_a_picture_has_a_point_for_each_input() -> None:
    search = climb(FAKE, 2, lambda found: found.tried >= 5)
    assert picture([search]).count("<circle") == 5


def test_a_table_has_a_line_for_each_kind() -> None:
    search = climb(FAKE, 2, lambda found: found.tried >= 3)
    assert table([search]).splitlines()[2].startswith("| fake | a step: 300 ns, 200 bytes | 3 |")


NAMES = (
    "body",
    "certificate",
    "correlation",
    "explanation",
    "frame",
    "law",
    "ontology",
    "predicate",
    "template",
)


def test_there_is_a_search_for_every_kind_of_work() -> None:
    assert tuple(cases()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_kind_makes_and_changes_inputs_that_can_be_measured(name: str) -> None:
    kind, rng = cases()[name], Random(4)
    made = kind.mutate(rng, kind.make(rng))
    search = CostSearch(kind)
    search.add(measure(kind, made, 1, memory=False), made)
    assert search.worst[0][0].price >= 0
    assert search.worst[0][0].slice_ns > 0
    assert kind.show(made)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_inputs_at_the_same_price(name: str) -> None:
    kind = cases()[name]

    def generation() -> list[object]:
        rng = Random(4)
        worst = [kind.make(rng) for _ in range(3)]
        return [offspring(kind, rng, worst) for _ in range(6)]

    first, second = generation(), generation()
    assert first == second
    assert kind.run(kind.ready(first[0])).price == kind.run(kind.ready(second[0])).price


def test_a_child_has_each_part_of_one_of_its_parents() -> None:
    kind, rng = cases()["frame"], Random(1)
    one, other = kind.make(rng), kind.make(rng)
    child = cross(rng, one, other)
    assert child.head in (one.head, other.head)
    assert child.parts in (one.parts, other.parts)


def test_a_kind_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["hats"])
    assert "there is no kind 'hats'; there are body, certificate, " in capsys.readouterr().err
