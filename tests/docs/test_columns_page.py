"""The page of the journal's columns has them all, in order, with their types and values."""

import re
from typing import Final

import pytest

from nomospace.host import effects
from nomospace.law.tree import EVENTS
from nomospace.pipeline.audit.words import _STOPPED
from nomospace.wire.segments import AT_AGAIN, JOURNAL_VERSION, TABLES
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "pipeline" / "columns.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0].strip("`"): part for part in TEXT.split("\n## ")[1:]}
COMMON: Final = ("version", "host", "seq", "at", AT_AGAIN)


def columns(section: str) -> dict[str, str]:
    """The columns that a section names, with their types."""
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \| ", SECTIONS[section], re.MULTILINE))


def values(section: str, head: str) -> list[str]:
    """The values that a table of a section names, whose first column is headed so."""
    _, _, table = SECTIONS[section].partition(f"\n\n| `{head}` |")
    named = [line.split("|")[1] for line in table.split("\n\n")[0].splitlines()[2:]]
    return [word for cell in named for word in re.findall(r"`(\w+)`", cell)]


@pytest.mark.parametrize("table", TABLES)
def test_columns(table: str) -> None:
    told = columns("In every table") | columns(table)
    assert told == TABLES[table]
    assert list(columns(table)) == [name for name in TABLES[table] if name not in COMMON]


def test_values() -> None:
    assert list(columns("In every table")) == list(COMMON)
    assert f"form: {JOURNAL_VERSION} |" in TEXT
    assert sorted(values("events", "event")) == sorted([*EVENTS, "noted"])
    assert values("events", "stopped") == list(_STOPPED)
    assert values("tuples", "op") == [
        effects.WRITTEN,
        effects.TAKEN,
        effects.EXPIRED,
        effects.MOVED,
    ]
    assert values("leases", "op") == [
        effects.LENT,
        effects.RENEWED,
        effects.RETURNED,
        effects.ACKNOWLEDGED,
        effects.LAPSED,
    ]
