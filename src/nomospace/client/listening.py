"""Runs of listeners: what one must not do, and what happens when it takes too long.

A listener that waits for a tuple may wait for one that only its own end could bring, so waiting
there is an error (LIME 2.2.4). A context variable holds the listener's run. Tasks that a listener
starts inherit it, and may wait: only the listener itself may not.

Nothing stops a Python function from outside without risk to the interpreter. A listener that runs
past its limit is told so by the operations that it calls: they raise `ListenerOverran` from then
on. While it holds the event loop, and with it all that runs there, a thread that watches writes a
warning with its stack to the log; when it returns, it is reported.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Final, TypeVar

from nomospace.errors import CallerError

T = TypeVar("T")

LIMIT_S: Final = 1.0
"""How long a listener may hold the event loop."""
_ROUND_S: Final = 0.1
"""How often the watch looks, while listeners run."""
_FRAMES_MAX: Final = 20
"""How many of the innermost calls of a listener are shown."""

_HELD: Final = "the listener %s has held its event loop for %.1f s; it is here:\n%s"
_log = logging.getLogger("nomospace.listeners")


class WaitingInListener(CallerError):
    """A listener used an operation that waits."""

    code = "client.waiting-in-listener"
    words = (
        "{operation} on {space!r} waits, and a listener must not; use "
        "{operation}_nowait, register another reaction, or start a task that waits"
    )
    operation: str
    space: str


class ListenerOverran(CallerError):
    """A listener ran past its limit; `stack` is where it was, as far as anyone looked."""

    code = "client.listener-overran"
    words = (
        "the listener took longer than {limit_s:g} s; make it short, or make it "
        "`async def` (a weak one may be) and let it await"
    )
    limit_s: float
    stack: str = ""


@dataclass(slots=True, eq=False)
class ListenerRun:
    """One run of a listener. `task` is the task that runs it; a plain listener has none."""

    who: Callable[[], str]
    limit_s: float
    task: asyncio.Task[object] | None = None
    active: bool = True
    started: float = field(default_factory=monotonic)
    named: int = 0  # how often the watch has named it
    stack: str = ""

    def overran(self) -> ListenerOverran | None:
        """The error to raise or report, when its time is up."""
        if monotonic() - self.started < self.limit_s:
            return None
        return ListenerOverran(limit_s=self.limit_s, stack=self.stack)

    def hold(self, function: Callable[..., T], *args: object) -> T:
        """Call a part of the listener that holds the event loop, while the watch looks on."""
        thread = threading.get_ident()
        outer = _holding.get(thread)
        self.started = monotonic()
        self.named = 0
        _holding[thread] = self
        if not _watched.is_set():
            _watch()
        token = LISTENER.set(self)
        try:
            return function(*args)
        finally:
            LISTENER.reset(token)
            if outer is None:
                del _holding[thread]
            else:
                _holding[thread] = outer


LISTENER: ContextVar[ListenerRun | None] = ContextVar("nomospace_listener", default=None)


def refuse_waiting(operation: str, space: str) -> None:
    """Raise `WaitingInListener` when a listener itself is asking."""
    run = LISTENER.get()
    if run is None or not run.active:
        return
    if run.task is None or run.task is asyncio.current_task():
        raise WaitingInListener(operation=operation, space=space)


def late() -> ListenerOverran | None:
    """What an operation raises when a plain listener asks for it whose time is up."""
    run = LISTENER.get()
    if run is None or run.task is not None or not run.active:
        return None
    return run.overran()


def stack_of(thread: int | None) -> str:
    """What a thread is doing, the innermost call last; empty when it has ended."""
    frame = sys._current_frames().get(thread or 0)
    shown = traceback.extract_stack(frame)[-_FRAMES_MAX:] if frame else []
    return "".join(traceback.format_list(shown))


# -- the watch: one thread for all listeners of the process, asleep while none runs ---------------

_holding: Final[dict[int, ListenerRun]] = {}
"""The listener that holds each thread."""
_watched: Final = threading.Event()
_starting: Final = threading.Lock()
_NAME: Final = "watch over listeners"


def _watch() -> None:
    _watched.set()
    with _starting:
        if not any(thread.name == _NAME for thread in threading.enumerate()):
            threading.Thread(target=_look, name=_NAME, daemon=True).start()


def _look() -> None:
    while _watched.wait():
        sleep(_ROUND_S)
        _name_late()
        if not _holding:
            _watched.clear()
            if _holding:  # one began in between, and saw the watch awake
                _watched.set()


def _name_late() -> None:
    """Name those that hold their thread too long: at their limit, then as they double it."""
    for thread, run in _holding.copy().items():
        held_s = monotonic() - run.started
        if held_s >= run.limit_s * 2**run.named and _holding.get(thread) is run:
            run.named += 1
            run.stack = stack_of(thread)
            _log.warning(_HELD, run.who(), held_s, run.stack)
