"""One Spark session for all tests that ask for one, started when the first does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nomospace.pipeline.jobs.session import open_session
from tests.unit.pipeline.made import Journals


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = open_session("local[2]", name="tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Journals:
    return Journals(tmp_path_factory.mktemp("journals"))
