"""A watch over plain listeners: one that does not return is interrupted.

A plain listener runs in the event loop's own thread, a strong one in the middle of a host's step;
while it runs, nothing else does. `Guard.call` runs it under a limit. Past the limit a thread that
watches raises an exception inside the listener. It cannot reach a listener that is held in C code,
such as `time.sleep`, before that returns.

The exception must never strike inside the host's step itself, where it would leave half a change
behind. So the operations that a strong listener may do are wrapped in `enter` and `leave`: in
between the watch only notes that time is up, and `leave` raises.
"""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

from nomospace.errors import CallerError

T = TypeVar("T")

LIMIT_S: Final = 1.0
"""How long a plain listener may run."""
_ROUND_S: Final = 0.1
"""How often the watch looks, while there is anything to look at."""
_QUIET_ROUNDS_MAX: Final = 50
"""After how many rounds with nothing to watch the watch goes to sleep."""


@dataclass(eq=False, kw_only=True)
class ListenerOverran(CallerError):
    """A listener did not return in time and was interrupted."""

    code: ClassVar[str] = "client.listener-overran"
    limit_s: float

    def __str__(self) -> str:
        return (
            f"the listener was stopped after {self.limit_s:g} s; make it short, or make it "
            "`async def` (a weak one may be) and let it await"
        )


class _Overran(BaseException):
    """Raised inside a listener; no `except Exception` of its own can hold it."""


_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)


class Guard:
    """The watch over one thread's listeners. Its lock makes striking and disarming exclusive."""

    __slots__ = (
        "__weakref__",
        "_deadline",
        "_ident",
        "_late",
        "_limit",
        "_lock",
        "_shield",
        "_struck",
    )

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._ident = threading.get_ident()
        self._deadline: float | None = None
        self._limit = LIMIT_S
        self._shield = 0
        self._struck = False
        self._late = False

    def call(self, limit_s: float, function: Callable[..., T], *args: Any) -> T:
        """Run a function under the limit; raises `ListenerOverran` when it took longer."""
        outer, outer_limit = self._deadline, self._limit
        try:
            with self._lock:
                self._deadline = time.monotonic() + limit_s
                self._limit = limit_s
            if not _watch.awake:
                _watch.wake()
            try:
                return function(*args)
            finally:
                self._disarm(outer, outer_limit)
        except _Overran as error:
            self._disarm(outer, outer_limit)
            raise ListenerOverran(limit_s=limit_s) from error

    def enter(self) -> None:
        """From here on the watch must not strike: a host's step is at work."""
        with self._lock:
            if self._struck:
                _raise_in(self._ident, ctypes.py_object())  # it has not struck yet: take it back
                raise _Overran
            self._shield += 1

    def leave(self) -> None:
        """The host's step is done; raises when time ran out meanwhile."""
        with self._lock:
            self._shield -= 1
            if self._late and not self._shield:
                raise _Overran

    def look(self, now: float) -> bool:
        """Strike if time is up. Whether there is anything to watch."""
        with self._lock:
            if self._deadline is None:
                return False
            if now >= self._deadline:
                if self._shield:
                    self._late = True
                else:
                    self._struck = True
                    self._deadline = now + self._limit  # a listener that caught it gets another
                    _raise_in(self._ident, _Overran)
            return True

    def _disarm(self, outer: float | None, outer_limit: float) -> None:
        with self._lock:
            self._deadline = outer
            self._limit = outer_limit
            self._late = False
            if self._struck:
                self._struck = False
                _raise_in(self._ident, ctypes.py_object())


class _Watch:
    """The thread that looks at all guards, and sleeps while none has anything to watch."""

    def __init__(self) -> None:
        self.awake = False
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None
        self._own = threading.local()
        self._guards: weakref.WeakSet[Guard] = weakref.WeakSet()  # a guard dies with its thread

    def guard(self) -> Guard:
        """The guard of the thread that asks."""
        found: Guard | None = getattr(self._own, "guard", None)
        if found is None:
            found = self._own.guard = Guard()
            with self._lock:
                self._guards.add(found)
        return found

    def guards(self) -> list[Guard]:
        """The guards of all threads that are alive and have asked for one."""
        with self._lock:
            return list(self._guards)

    def wake(self) -> None:
        with self._lock:
            self.awake = True
            self._bell.set()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="listeners", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        quiet = 0
        while True:
            time.sleep(_ROUND_S)
            now = time.monotonic()
            watched = sum(guard.look(now) for guard in self.guards())
            quiet = 0 if watched else quiet + 1
            if quiet > _QUIET_ROUNDS_MAX:
                # `awake` goes down first: who arms in between rings the bell again.
                self.awake = False
                if not any(guard.look(now) for guard in self.guards()):
                    self._bell.clear()
                    if not self.awake:
                        self._bell.wait()
                self.awake = True
                quiet = 0


_watch: Final = _Watch()


def guard() -> Guard:
    """The guard of this thread.

    >>> guard().call(1.0, "job {}".format, 17)
    'job 17'
    """
    return _watch.guard()
