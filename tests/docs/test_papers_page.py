"""The page about the papers has every section, and says truly where each is shown to run."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.repo.rooms import ROOT, imported

PAGE: Final = ROOT / "docs" / "papers.md"
SECTIONS: Final = {
    "000": "1 2 3 3.1 3.2 3.3 3.4 3.5 3.6 4 4.1 4.2 5 6 7",
    "001": "1 2 2.1 2.2 3 3.1 3.2 3.3 4 4.1 5 5.1 5.2 5.3 5.4 6",
    "002": "1 2 2.1 2.2 2.2.1 2.2.2 2.2.3 2.2.4 2.2.5 3 3.1 3.2 4 4.1 4.2 5 5.1 5.2 6 6.1 6.2 6.3"
    " 7",
    "003": "1 2 3 3.1 3.2 4 4.1 4.2 5 6 7",
    "004": "1 2 2.1 2.2 2.3 3 4 4.1 4.2 4.3 5 6 7",
}
"""All sections of each paper, but for thanks and references."""
REAL: Final = "real hosts"
NOWHERE: Final = "–"
PLACES: Final = (REAL, "one process", "simulated world", NOWHERE)
CORES: Final = ("control", "host", "protocols", "scenarios", "services", "sessions", "space")
"""Rooms that a test reaches hosts without, if it uses them as their users do."""
STARTS: Final = (
    "tests.nursery",
    "tests.real.hosts",
    "tests.browser.machines",
    "nomospace_lab.bench",
)
"""What starts hosts as processes."""


class Row(NamedTuple):
    """A row of the page: a paper, sections, and where they run by which tests."""

    paper: str
    sections: tuple[str, ...]
    place: str
    tests: tuple[Path, ...]


def _rows() -> list[Row]:
    found = []
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        paper = re.match(r".*\((\d{3})\)\n", part)
        for line in part.splitlines() if paper else ():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| ") and cells[0][0].isdigit():
                assert paper is not None
                links = re.findall(r"\]\(\.\./(tests/[^)#]+\.py)\)", cells[4])
                tests = tuple([ROOT / link for link in links])
                found.append(Row(paper[1], tuple(cells[0].split(", ")), cells[3], tests))
    return found


ROWS: Final = _rows()


@cache
def _imports(path: Path) -> frozenset[str]:
    """All that a module imports, with what the test modules among that import."""
    found: dict[str, None] = {}
    for _, name in imported(ast.parse(path.read_text("utf-8"))):
        found[name] = None
        helper = ROOT / f"{name.replace('.', '/')}.py"
        if name.startswith("tests.") and helper.exists() and helper != path:
            found.update(dict.fromkeys(_imports(helper)))
    return frozenset(found)


def _on_real_hosts(test: Path) -> bool:
    """Whether a test starts hosts as processes, and itself reaches for no core."""
    own = [name for _, name in imported(ast.parse(test.read_text("utf-8")))]
    uses_core = any(f"{name}.".startswith(f"nomospace.{room}.") for name in own for room in CORES)
    starts = any(
        name == at or name.startswith(f"{at}.") for name in _imports(test) for at in STARTS
    )
    return starts and not uses_core


@pytest.mark.parametrize("paper", SECTIONS)
def test_every_section_has_a_row(paper: str) -> None:
    rows = [section for row in ROWS if row.paper == paper for section in row.sections]
    assert list(dict.fromkeys(rows)) == SECTIONS[paper].split()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.paper} {row.sections[-1]}")
def test_where_it_runs_is_where_its_tests_run(row: Row) -> None:
    assert row.place in PLACES
    assert bool(row.tests) is (row.place != NOWHERE)
    real = [test for test in row.tests if _on_real_hosts(test)]
    assert bool(real) is (row.place == REAL), [test.name for test in real]


def test_the_guard_tells_real_hosts_from_others() -> None:
    assert _on_real_hosts(ROOT / "tests" / "parity" / "test_groups.py")
    assert not _on_real_hosts(ROOT / "tests" / "real" / "test_attacks.py"), "it imports a core"
    assert not _on_real_hosts(ROOT / "tests" / "paper" / "test_002_2_1_linda.py")
