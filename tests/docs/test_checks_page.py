"""`docs/laws/checks.md`: a section for each code, with examples that do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from nomospace.law.checks import CODES, check
from nomospace.law.parse import parse
from nomospace.terms import Diagnostic, Source

PAGE = Path(__file__).resolve().parents[2] / "docs" / "laws" / "checks.md"
# Limits, whose examples would be as large as the limit; tests/unit/law/test_checks.py has them.
LIMITS = {"syntax-depth", "syntax-too-long", "goal-depth", "law-too-long"}
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Section(NamedTuple):
    text: str
    blocks: list[tuple[str, str]]


def sections() -> dict[str, Section]:
    parts = re.split(r"^### (\S+)\n", PAGE.read_text(), flags=re.MULTILINE)
    return {
        code: Section(text, BLOCK.findall(text))
        for code, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def findings(example: str, marks: str) -> list[Diagnostic]:
    text = example if "whole" in marks else f"law(example).\n{example}"
    law, faults = parse(Source(text))
    return faults or check(law)


def test_every_code_has_its_section_and_no_section_is_left_over() -> None:
    assert sorted(sections()) == sorted(CODES)


@pytest.mark.parametrize("code", sorted(set(CODES) - LIMITS))
def test_examples_do_what_the_page_says(code: str) -> None:
    (bad_marks, bad), (_, message), (good_marks, good) = sections()[code].blocks
    assert bad_marks.startswith("law bad")
    assert good_marks.startswith("law good")
    told = [
        f"{one.severity}: {one.message}" for one in findings(bad, bad_marks) if one.code == code
    ]
    assert message.strip() in told
    after = findings(good, good_marks)
    assert code not in [one.code for one in after]
    assert "error" not in [one.severity for one in after]
