"""The event loop in the background that the blocking face waits for, in a thread of its own.

`waits`, `gives` and `asks` make a method of the blocking face of one of the async face, with its
signature and its docstring: the first two wait for a coroutine, the third calls a plain function in
its thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar

from nomospace import client
from nomospace.client.listening import late
from nomospace.errors import CallerError

T = TypeVar("T")
H = TypeVar("H")
P = ParamSpec("P")
R = TypeVar("R")


class WouldBlock(CallerError):
    """A blocking operation was used where it would block the hosts themselves."""

    code = "sync.would-block"
    words = (
        "this runs in the hosts' own thread, which a blocking operation would stop; in a "
        "strong listener use handle.space, in `async` programs use nomospace.Host"
    )


class Background:
    """The event loop in the background. It lives while anyone holds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def hold(self) -> None:
        with self._lock:
            self._holders += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name="nomospace", daemon=True
                )
                self._thread.start()

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders or self._loop is None:
                return
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    def wait(self, work: Coroutine[object, None, T]) -> T:
        """Run a coroutine in the background and block until it is done."""
        loop = self._loop
        if loop is None:
            work.close()
            raise client.Closed(what="the last host of this process")
        error = WouldBlock() if threading.current_thread() is self._thread else late()
        if error is not None:
            work.close()
            raise error
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C: nothing must go on waiting for a tuple that nobody wants
            raise

    def call(self, function: Callable[..., T], *args: object, **options: object) -> T:
        """Call a plain function in the background thread; at once when this is that thread."""
        if threading.current_thread() is self._thread:
            return function(*args, **options)

        async def work() -> T:
            return function(*args, **options)

        return self.wait(work())


background: Final = Background()
"""That of this process."""


def waits(
    method: Callable[Concatenate[H, P], Coroutine[object, None, T]],
) -> Callable[Concatenate[Blocking, P], T]:
    """The method that blocks until this one of its counterpart is done, by the name it has there.

    Counterparts of other hosts have their own of some.
    """
    return gives(method, lambda found: found)


def gives(
    method: Callable[Concatenate[H, P], Coroutine[object, None, T]], made: Callable[[T], R]
) -> Callable[Concatenate[Blocking, P], R]:
    """As `waits`; it gives what is made of the other's answer: what blocks for that."""

    @wraps(method)
    def give(self: Blocking, /, *args: P.args, **options: P.kwargs) -> R:
        mine: Callable[P, Coroutine[object, None, T]] = getattr(self._it, method.__name__)
        return made(background.wait(mine(*args, **options)))

    return give


def asks(method: Callable[Concatenate[H, P], T]) -> Callable[Concatenate[Blocking, P], T]:
    """The method that calls this one of its counterpart in the background thread."""

    @wraps(method)
    def ask(self: Blocking, /, *args: P.args, **options: P.kwargs) -> T:
        mine: Callable[P, T] = getattr(self._it, method.__name__)
        return background.call(mine, *args, **options)

    return ask


def made_by(
    make: Callable[P, T],
) -> Callable[[Callable[[H, T], None]], Callable[Concatenate[H, P], None]]:
    """Let a constructor take what makes its counterpart, instead of the counterpart."""

    def takes(init: Callable[[H, T], None]) -> Callable[Concatenate[H, P], None]:
        def begin(self: H, /, *args: P.args, **options: P.kwargs) -> None:
            init(self, make(*args, **options))

        return begin

    return takes


class Blocking:
    """Blocks for its counterpart `_it`, whose attributes it has as far as it annotates them."""

    __slots__ = ("_it",)

    _it: Any

    def __init__(self, it: object) -> None:
        self._it = it

    def __repr__(self) -> str:
        return repr(self._it)

    if not TYPE_CHECKING:  # types know what is annotated, and nothing else

        def __getattr__(self, name: str) -> object:
            if not name.startswith("_"):
                for kind in type(self).__mro__:
                    if name in getattr(kind, "__annotations__", ()):
                        return getattr(self._it, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class HeldInBackground(Blocking):
    """Something that lives in the event loop in the background, from `with` to its end."""

    def __init__(self, it: object) -> None:
        super().__init__(it)
        self._open = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin; starting twice is harmless."""
        if self._open:
            return
        background.hold()
        try:
            background.wait(self._it.__aenter__())
        except BaseException:
            background.release()
            raise
        self._open = True

    def close(self) -> None:
        """End; closing twice is harmless."""
        if not self._open:
            return
        self._open = False
        try:
            background.wait(self._it.close())
        finally:
            background.release()
