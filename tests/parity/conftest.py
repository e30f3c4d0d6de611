"""Each test of this folder runs once for each driver."""

import asyncio
import itertools
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from nomospace.client import Agent, Space
from nomospace_lab.testing.loop import run
from tests.parity.processes import Real, Schemas
from tests.parity.worlds import Simulated, World
from tests.servers import shared_nats, shared_postgres

Story: TypeAlias = Callable[[World], Coroutine[Any, Any, None]]
Play: TypeAlias = Callable[[Story], None]

STORY_S = 60.0
"""No story takes longer, on a busy machine either."""

_worlds = itertools.count(1)


async def _tell(story: Story, world: World) -> None:
    try:
        async with asyncio.timeout(STORY_S):
            await story(world)
    finally:
        await world.close()


def _simulated(story: Story) -> None:
    async def play() -> None:
        world = Simulated()
        try:
            await story(world)
        finally:
            await world.close()

    run(play())


def _tcp_sqlite(story: Story) -> None:
    asyncio.run(_tell(story, Real()))


def _nats_postgres(story: Story) -> None:
    stores = Schemas(shared_postgres().url, f"w{os.getpid()}_{next(_worlds)}")
    asyncio.run(_tell(story, Real(stores, nats_port=shared_nats().port)))


DRIVERS: dict[str, Play] = {
    "sim": _simulated,
    "tcp-sqlite": _tcp_sqlite,
    "nats-postgres": _nats_postgres,
}
STORED = ("sim", "tcp-sqlite", "nats-postgres")
"""Drivers of which stories about spaces are played with the store engine, too."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each story with each driver; those of `test_spaces` and `test_once` with both engines."""
    if "play" in metafunc.fixturenames:
        ways = [(driver, "") for driver in DRIVERS]
        if metafunc.module.__name__.endswith(("test_spaces", "test_once")):
            ways += [(driver, "store") for driver in STORED]
        ids = [f"{driver}-{engine}".rstrip("-") for driver, engine in ways]
        metafunc.parametrize("play", ways, ids=ids, indirect=True)


@pytest.fixture
def play(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Plays a story in a world of its own; spaces that it shares have the engine of the case."""
    driver, engine = request.param
    if engine:
        opened = Agent.space

        async def space(self: Agent, name: str, *, shared: bool = False, **given: Any) -> Space:
            if shared:
                given.setdefault("engine", engine)
            return await opened(self, name, shared=shared, **given)

        monkeypatch.setattr(Agent, "space", space)
    return DRIVERS[driver]
