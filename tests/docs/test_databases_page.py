"""The page about matching in databases says what the code does."""

import re

from nomospace.meaning.sql import building, layout, networks, tables
from nomospace.meaning.sql.dialects import DIALECTS
from nomospace.store import matching
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "meaning" / "databases.md").read_text("utf-8")
LIMITS = {
    "names of a path": layout.PATH_NAMES_MAX,
    "fields of tuples that one network joins": networks.ATOMS_MAX,
    "columns for properties of one class": layout.COLUMNS_MAX,
    "names of a property that has a column": layout.NESTED_MAX,
    "sets of one network that Python looks at, where it has to": building.JUDGED_MAX,
    "questions whose statements are kept": tables.PLANS_MAX,
    "tuples of answers that are kept": tables.TUPLES_MAX,
    "seconds that a statement may take": int(matching.STATEMENT_S),
}


def test_limits() -> None:
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \|$", TEXT.partition("## Limits")[2], re.MULTILINE)
    assert dict(rows) == {what: f"{value:,}" for what, value in LIMITS.items()}
    assert f"a path of over {layout.PATH_NAMES_MAX} names" in TEXT
    assert f"a join of over {networks.ATOMS_MAX} fields" in TEXT


def test_every_database_is_named() -> None:
    told = set(re.findall(r"--engine (\w+)", TEXT))
    assert told == set(DIALECTS)
