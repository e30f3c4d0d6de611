"""The list of deliberate bugs fits the source as it is, and each has somebody to notice it."""

import ast

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import registry
from tests.crash.inside import FAULTS
from tests.mutants.mutant import Mutant, Worlds
from tests.mutants.mutants import MUTANTS
from tests.mutants.run import README, applies, judges
from tests.repo.rooms import PACKAGE, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_once_and_stays_python(mutant: Mutant) -> None:
    assert applies(mutant), f"the text that it replaces has moved: mend it for {mutant.file}"
    assert mutant.old != mutant.new
    text = (PACKAGE / mutant.file).read_text("utf-8")
    ast.parse(text.replace(mutant.old, mutant.new))


def test_all_that_judges_is_there() -> None:
    apps.load()
    for judge in judges(list(MUTANTS)):
        if isinstance(judge, Worlds):
            assert judge.workload in registry, f"no such workload: {judge.workload}"
        else:
            for selection in judge.split():
                assert (ROOT / selection).exists(), f"no such tests: {selection}"


def test_worlds_of_one_workload_are_run_once_without_a_bug() -> None:
    few, many = Worlds("federation", 2), Worlds("federation", 9)
    mutants = [Mutant("", "", "", "", judge) for judge in (few, "tests/paper", many, "tests/paper")]
    assert judges(mutants) == ["tests/paper", many]


def test_no_two_mutants_have_the_same_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("least", "kind", "places"),
    [
        (5, str, ("control/",)),
        (5, str, ("law/emit/",)),
        (10, Worlds, ("space/", "protocols/engagement.py", "protocols/links.py")),
        (10, Worlds, ("host/",)),
        (12, Worlds, ("sessions/",)),
        (10, Worlds, ("protocols/routing/", "protocols/courier.py", "host/posting.py")),
    ],
)
def test_each_part_has_its_bugs(least: int, kind: type, places: tuple[str, ...]) -> None:
    found = [one for one in MUTANTS if one.file.startswith(places) and isinstance(one.judge, kind)]
    assert len(found) >= least


def test_the_faults_of_real_hosts_are_in_the_table() -> None:
    rows = README.read_text()
    assert all(f"\n| {name} | " in rows for name in FAULTS)
