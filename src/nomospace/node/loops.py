"""The event loop of a host's process: uvloop where there is one; and how its tasks end."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final, TypeVar

T = TypeVar("T")

SWITCH_S: Final = 0.0005
"""How long a thread may wait for the interpreter: the keeper's, to say that it is done."""


def run_loop(main: Coroutine[object, None, None]) -> None:
    """Run a program to its end.

    The collector is told to look at all objects seldom: tuples and frames cannot form cycles, and
    a full look at a million of them would stop the host for half a second. It looks at new ones
    often, and at few of them at a time: that takes no longer in sum, and stops nobody.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 350_000)
    try:
        import uvloop
    except ImportError:  # it is an extra, and there is none for Windows
        asyncio.run(main)
    else:
        uvloop.run(main)


def held(task: asyncio.Task[T], among: dict[asyncio.Task[T], None]) -> asyncio.Task[T]:
    """A task that is kept until it has ended: the loop alone would let go of it."""
    among[task] = None
    task.add_done_callback(lambda task: among.pop(task, None))
    return task


async def cancelled(*tasks: asyncio.Task[None] | None) -> None:
    """End tasks, and wait until they have ended; raises what one had failed with."""
    ending = [task for task in tasks if task is not None]
    for task in ending:
        task.cancel()
    for task in ending:
        with suppress(asyncio.CancelledError):
            await task
