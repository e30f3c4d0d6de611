from collections.abc import Callable

import pytest

from tests.paper.community import EVALUATORS, Community

Found = Callable[[str], Community]


@pytest.fixture(params=EVALUATORS)
def found(request: pytest.FixtureRequest) -> Found:
    """Found a community under a law, with the compiled law and with the interpreter."""
    return lambda text: Community(text, request.param)
