"""Pages of documentation as the tests read them: prose, and fenced blocks with their marks."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.repo.rooms import ROOT

_FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

GUIDE = ROOT / "docs" / "laws" / "guide.md"
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    GUIDE,
    *sorted((ROOT / "docs" / "agents").glob("*.md")),
    *sorted((ROOT / "docs" / "spaces").glob("*.md")),
    *sorted((ROOT / "docs" / "hosts").glob("*.md")),
    *sorted((ROOT / "docs" / "meaning").glob("*.md")),
    *sorted((ROOT / "docs" / "pipeline").glob("*.md")),
    ROOT / "docs" / "tutorials" / "budget.md",
    ROOT / "docs" / "tutorials" / "queue.md",
    *sorted((ROOT / "docs" / "design").glob("*.md")),
)
"""The pages whose examples `test_examples` runs; pages with a form of their own have tests of
their own."""


class Block(NamedTuple):
    """A fenced block: "```law quota.law" is in `law` and belongs in the file `quota.law`."""

    language: str
    file: str
    text: str
    line: int  # of its first line in the page


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2].strip(), found[3], text.count("\n", 0, found.start(3)) + 1)
        for found in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def name(page: Path) -> str:
    """A page as people call it."""
    return str(page.relative_to(ROOT))
