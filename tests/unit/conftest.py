"""What tests of several rooms share."""

import pytest

from nomospace.node import local
from nomospace.protocols.births import BEFORE


@pytest.fixture
def born_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """All hosts have one birth, so that what those without a store number is known beforehand."""
    monkeypatch.setattr(local, "draw_birth", lambda name: BEFORE)
