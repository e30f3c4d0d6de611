"""What the people of a live application are at: tasks that go on until they are stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from nomospace.client import Closed

_log = logging.getLogger(__name__)


class Tasks:
    """Work under way, each under a name.

    One that raises ends alone, and is logged; so is none whose host has ended before it.

    >>> async def program():
    ...     tasks = Tasks()
    ...     tasks.spawn(asyncio.sleep(60), "sleeps")
    ...     await tasks.stop()
    ...     return len(tasks)
    >>> asyncio.run(program())
    0
    """

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], None] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin with something."""
        task = asyncio.create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Closed):
            _log.error("%s: it ends here", task.get_name(), exc_info=error)

    async def stop(self) -> None:
        """End everything, and wait until it has ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
