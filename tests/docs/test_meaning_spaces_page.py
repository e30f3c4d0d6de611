"""The page on spaces that match by meaning has the limits and the errors that the code has."""

import pytest

from nomospace.host.collecting import LINGER_US, SEEN_BYTES_MAX, SEEN_MAX, TooManySeen
from nomospace.host.mirroring import ROWS_MAX
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "meaning" / "spaces.md").read_text(encoding="utf-8")
LIMITS = {
    "tuples with objects in a space that one host shows to others": ROWS_MAX,
    "tuples of other hosts that are looked at for one space": SEEN_MAX,
    "their fields, in bytes": SEEN_BYTES_MAX,
}


@pytest.mark.parametrize("what", LIMITS)
def test_limits_are_those_of_the_code(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in TEXT


def test_mirrors_linger_as_long_as_is_said() -> None:
    assert LINGER_US == 10_000_000
    assert "go on telling for ten seconds" in TEXT


def test_the_error_is_listed() -> None:
    assert f"| `{TooManySeen.__name__}` | `{TooManySeen.code}` |" in TEXT
