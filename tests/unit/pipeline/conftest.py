import pytest

from tests.unit.pipeline.made import Journals


@pytest.fixture(scope="session")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Journals:
    return Journals(tmp_path_factory.mktemp("journals"))
