"""A well-behaved client that goes on with its work while others misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.real.hosts import RealHost, caller
from tests.real.trust import Trust

PAUSE_S = 0.005


class Steady:
    """Writes and takes, one after the other; `longest_s` is the longest that one of them took.

    `behind_s` is the most processor time that its host has used while one of them waited: seconds
    of the clock say more about the machine, if it is busy.
    """

    def __init__(self) -> None:
        self.done = 0
        self.longest_s = 0.0
        self.behind_s = 0.0


@asynccontextmanager
async def steady(host: RealHost, trust: Trust | None) -> AsyncIterator[Steady]:
    """Such a client at work, from before the block to after it."""
    work = Steady()
    token = "" if trust is None else trust.token(f"steady@{host.name}")
    async with caller(host, trust, token=token) as client:
        agent = await client.agent("steady")
        space = await agent.space("steady", shared=True)
        await space.take_all("job", int)  # what one before it was cut off from taking
        loop = asyncio.get_running_loop()

        async def go_on() -> None:
            while True:
                begun, used_s = loop.time(), host.processor_s
                await space.out("job", work.done)
                assert await space.take("job", int, timeout=60) == ("job", work.done)
                work.longest_s = max(work.longest_s, loop.time() - begun)
                work.behind_s = max(work.behind_s, host.processor_s - used_s)
                work.done += 1
                await asyncio.sleep(PAUSE_S)

        task = asyncio.create_task(go_on())
        try:
            yield work
            before = work.done
            while work.done < before + 3 and not task.done():  # it is at work after the block too
                await asyncio.sleep(PAUSE_S)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if task.done() and not task.cancelled():
            await task
