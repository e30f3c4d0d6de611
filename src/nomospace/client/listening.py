"""Who runs inside a listener: waiting there is an error (LIME 2.2.4).

A listener that waits for a tuple may wait for one that only its own end could bring. A context
variable holds the listener's run. Tasks that a listener starts inherit it, and may wait: only the
listener itself may not.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar

from nomospace.errors import CallerError


@dataclass(eq=False, kw_only=True)
class WaitingInListener(CallerError):
    """A listener used an operation that waits."""

    code: ClassVar[str] = "client.waiting-in-listener"
    operation: str
    space: str

    def __str__(self) -> str:
        return (
            f"{self.operation} on {self.space!r} waits, and a listener must not; use "
            f"{self.operation}_nowait, register another reaction, or start a task that waits"
        )


class Run:
    """One run of a listener. `task` is the task that runs it; a plain listener has none."""

    __slots__ = ("active", "task")

    def __init__(self, task: asyncio.Task[Any] | None = None) -> None:
        self.active = True
        self.task = task


LISTENER: ContextVar[Run | None] = ContextVar("nomospace_listener", default=None)


def refuse_waiting(operation: str, space: str) -> None:
    """Raise `WaitingInListener` when a listener itself is asking."""
    run = LISTENER.get()
    if run is None or not run.active:
        return
    if run.task is None or run.task is asyncio.current_task():
        raise WaitingInListener(operation=operation, space=space)
