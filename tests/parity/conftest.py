"""Each test of this folder runs once for each driver."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from nomospace.testing.loop import run
from tests.parity.worlds import Simulated, World

Story: TypeAlias = Callable[[World], Coroutine[Any, Any, None]]
Play: TypeAlias = Callable[[Story], None]


def _simulated(story: Story) -> None:
    async def play() -> None:
        world = Simulated()
        try:
            await story(world)
        finally:
            await world.close()

    run(play())


DRIVERS: dict[str, Play] = {"sim": _simulated}


@pytest.fixture(params=list(DRIVERS))
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a story in a world of its own."""
    return DRIVERS[request.param]
