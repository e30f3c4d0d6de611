"""Hosts of these tests are born alike, so that what they number can be told beforehand."""

import pytest

from nomospace.node import local
from nomospace.protocols.births import BEFORE


@pytest.fixture(autouse=True)
def _born_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "draw_birth", lambda name: BEFORE)
