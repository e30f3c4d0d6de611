"""A hundred generated cases on every database, against the brute-force reading.

Cases whose plans have many networks take a database long, each being a statement or two; they are
left to the command (`python -m tests.models.match_databases`), which takes every case.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import pytest

from nomospace.meaning.facts import Facts
from nomospace.meaning.planner import make_plan
from tests.models.match_cases import ENGINES, Case, case, differs
from tests.models.match_databases import DATABASES

CASES = 100
NETWORKS_MAX = 6


def small_cases() -> Iterator[Case]:
    """Cases with some networks, but not many."""
    for seed in count(10_000):
        made = case(seed)
        known = Facts.of(made.facts, made.ontology).known()
        if 0 < len(make_plan(made.question, made.ontology, known).networks) <= NETWORKS_MAX:
            yield made


@pytest.mark.parametrize("kind", DATABASES)
def test_databases_give_the_answers_of_the_oracle(kind: str) -> None:
    for made in islice(small_cases(), CASES):
        assert not (told := differs(made, ENGINES[kind])), f"{made}\n{told}"
