"""Ten generated cases on every database, against the brute-force reading.

Cases whose plans have many networks take a database long, each being a statement or two; they are
left to the command (`python -m tests.models.match_databases`), which takes every case.
"""

from __future__ import annotations

from itertools import count, islice

import pytest

from tests.models.match_cases import ENGINES, case, differs
from tests.models.match_databases import DATABASES, small

CASES = 10
NETWORKS_MAX = 6


@pytest.mark.parametrize("kind", DATABASES)
def test_databases_give_the_answers_of_the_oracle(kind: str) -> None:
    cases = (made for made in map(case, count(10_000)) if small(made, NETWORKS_MAX))
    for made in islice(cases, CASES):
        assert not (told := differs(made, ENGINES[kind])), f"{made}\n{told}"
