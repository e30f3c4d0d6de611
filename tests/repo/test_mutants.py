"""The list of deliberate bugs fits the source as it is."""

import ast

import pytest

from tests.mutants.mutants import MUTANTS, Mutant
from tests.mutants.run import applies
from tests.repo.rooms import PACKAGE, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_once_and_stays_python(mutant: Mutant) -> None:
    assert applies(mutant), f"the text that it replaces has moved: mend it for {mutant.file}"
    assert mutant.old != mutant.new
    text = (PACKAGE / mutant.file).read_text("utf-8")
    ast.parse(text.replace(mutant.old, mutant.new))
    for selection in mutant.tests.split():
        assert (ROOT / selection).exists(), f"no such tests: {selection}"


def test_controller_and_compiler_both_have_ten_between_them() -> None:
    files = [mutant.file for mutant in MUTANTS]
    assert sum(file.startswith("control/") for file in files) >= 5
    assert sum(file.startswith("law/emit/") for file in files) >= 5
