"""The shipped laws are in order: they load, they stand formatted, and they are packaged."""

import pytest

from nomospace import laws
from nomospace.law import load
from nomospace.law.format import format_law


def test_every_law_that_is_shipped_is_named() -> None:
    folder = laws.path("mp").parent
    assert sorted(path.stem for path in folder.glob("*.law")) == list(laws.NAMES)


@pytest.mark.parametrize("name", laws.NAMES)
def test_a_shipped_law_has_no_fault_but_placeholder_keys(name: str) -> None:
    law = load(laws.text(name), f"{name}.law")
    assert law.name == name
    assert {fault.code for fault in law.warnings} <= {"placeholder-key"}
    assert len({rule.name for rule in law.tree.rules}) == len(law.tree.rules)
    assert not any(rule.name.startswith("#") for rule in law.tree.rules)
    assert all(law.compiled_rules), "a rule is left to the interpreter, which is many times slower"


@pytest.mark.parametrize("name", laws.NAMES)
def test_a_shipped_law_stands_formatted(name: str) -> None:
    text = laws.text(name)
    assert format_law(text, f"{name}.law") == text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_a_law_that_is_not_shipped() -> None:
    with pytest.raises(laws.UnknownLaw, match="choose one of ap, cc, cw, mp, sb"):
        laws.text("../errors")
