"""The guide to Python laws: its laws are read, agree with their twins, and no code is missing."""

import re
from itertools import pairwise

import pytest

from nomospace.law.checks import check
from nomospace.law.parse import parse
from nomospace.law.python import CODES, parse_python
from nomospace.law.python.reading import NESTING_MAX, PYTHON_BYTES_MAX
from nomospace.law.python.translate import HEADS
from nomospace.terms import Source
from tests.repo.rooms import ROOT
from tests.unit.law.shapes import law_shape

GUIDE = (ROOT / "docs" / "laws" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|prolog) law\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
TWINS = [
    (first[1], second[1])
    for first, second in pairwise(BLOCKS)
    if (first[0], second[0]) == ("python", "prolog")
]


@pytest.mark.parametrize("text", PYTHON)
def test_its_laws_have_no_errors(text: str) -> None:
    source = Source(text, "docs/laws/python.md")
    law, faults = parse_python(source)
    found = faults or [each for each in check(law) if each.severity == "error"]
    assert not found, "\n".join(fault.render(source) for fault in found)


@pytest.mark.parametrize(("python", "prolog"), TWINS)
def test_twins_are_the_same_law(python: str, prolog: str) -> None:
    law, _ = parse_python(Source(python))
    twin, faults = parse(Source(prolog))
    assert not faults
    assert law_shape(law) == law_shape(twin)


def test_it_has_laws_and_twins() -> None:
    assert (len(PYTHON), len(TWINS)) == (3, 2)


def test_it_names_every_code_decorator_and_limit() -> None:
    for code, title in CODES.items():
        assert f"| `{code}` | {title} |" in GUIDE
    for word in (*HEADS, "helper"):
        assert f"`@law.{word}(" in GUIDE
    assert f"{PYTHON_BYTES_MAX:,} bytes and {NESTING_MAX} levels" in GUIDE
