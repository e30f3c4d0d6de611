"""Links between documents lead somewhere: to a file of the repository, and to a heading in it."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import name, prose
from tests.repo.rooms import ROOT

ALL = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
_LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")


def _anchors(page: Path) -> set[str]:
    """The anchors that readers of Markdown make of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", ALL, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    lost = []
    for found in _LINK.finditer(prose(page)):
        link = found[1] or found[2]
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            lost.append(link)
    assert not lost
