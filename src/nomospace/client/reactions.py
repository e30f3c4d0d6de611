"""Reactions as a program holds them: the handle, and how listeners are run.

A weak reaction's listener runs some time after its tuple was found, for one firing after the
other; firings of different reactions do not wait for each other. An `async def` runs in the event
loop, a plain function in a thread, so that it cannot hold the loop. In virtual time, where there
are no threads, it runs in the loop. A strong reaction's listener runs inside the host's step that
detected the tuple, so it is a plain function, and what it does through `handle.space` is part of
that step (LIME 2.2.4).

A listener that fails harms nobody: what it raises is reported, and the reaction goes on. An `async`
one is cancelled after the host's `listener_timeout`. A plain one cannot be stopped; `listening`
says what is done about it. A listener that falls behind by `FIRINGS_MAX` firings has its reaction
disabled and reported: the tuples are still in the space, and `enable` reacts to them anew.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from contextvars import copy_context
from types import coroutine
from typing import Any, Final, Generic, TypeAlias, TypeVar

from nomospace.calls.answers import Found
from nomospace.calls.requests import React
from nomospace.calls.ways import ONCE, STRONG, Mode, Strength
from nomospace.client.connection import Closed, Connection, Firing, Report
from nomospace.client.listening import (
    LIMIT_S,
    LISTENER,
    ListenerOverran,
    ListenerRun,
    WaitingInListener,
    late,
    stack_of,
)
from nomospace.client.tuples import Tuple, agent_id, as_tuple, as_tuples
from nomospace.errors import CallerError
from nomospace.terms.templates import Template, freeze_tuple

FIRINGS_MAX: Final = 10_000
"""How many firings of one reaction may wait for its listener."""
LISTENER_TIMEOUT_S: Final = 30.0
"""How long a weak listener may take by default."""

S = TypeVar("S")
Word = TypeVar("Word", Mode, Strength)
Listener = Callable[[Tuple, str, "AnyHandle"], "Awaitable[None] | None"]
"""`listener(tuple, source, handle)`."""
AnyHandle: TypeAlias = "ReactionHandle[Any]"
"""The handle of a reaction, weak or strong."""


class BadListener(CallerError):
    """Something was given as a listener that cannot be one."""

    code = "client.bad-listener"
    words = "{given} cannot listen: {why}"
    given: str
    why: str


class NoSuchWay(CallerError):
    """A mode or a strength of reactions that there is not."""

    code = "client.no-such-way"
    what: str
    given: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.given} is no {self.what} of a reaction; use {' or '.join(self.known)}"


class OutsideStep(CallerError):
    """A strong reaction's space was used while its listener was not running."""

    code = "client.outside-step"
    words = (
        "the step on {space!r} is over; handle.space of a strong reaction works only "
        "while its listener runs, afterwards use the space itself"
    )
    space: str


class ListenerBehind(CallerError):
    """So many firings wait for a listener that its reaction was disabled."""

    code = "client.listener-behind"
    words = (
        "{firings:,} firings wait for the listener, so its reaction is disabled; make "
        "the listener quicker, then enable the reaction: it reacts to all that is there"
    )
    firings: int


class Step:
    """The step that a strong listener runs in: operations that do not wait, all part of the step.

    >>> from nomospace import sync
    >>> def promote(job, source, handle):
    ...     if handle.space.take_nowait("job", *job[1:]) is not None:
    ...         handle.space.out("urgent", *job[1:])
    >>> with sync.Host("ward-3") as host:
    ...     jobs = host.agent("nurse").space("jobs", shared=True)
    ...     _ = jobs.react(("job", int), promote, strength="strong", at="ward-3")
    ...     jobs.out("job", 17)
    ...     jobs.read_all("job", int), jobs.read_all("urgent", int)
    ([], [('urgent', 17)])
    """

    __slots__ = ("_firing", "_home", "name")

    def __init__(self, name: str, home: Step | None = None) -> None:
        self.name = name
        self._home = self if home is None else home
        self._firing: Firing | None = None

    def sibling(self, name: str) -> Step:
        """Another space of the same agent, in the same step."""
        return Step(name, self._home)

    def out(self, *fields: object, to: str | None = None) -> None:
        """Write a tuple."""
        frozen = freeze_tuple(fields)
        self._do("out", frozen, agent_id("to", to))

    def take_nowait(self, *template: object) -> Tuple | None:
        """Take a tuple of this host, or give `None`."""
        found = self._do("take_nowait", Template.of(template))
        return None if found is None else as_tuple(found)

    def read_nowait(self, *template: object) -> Tuple | None:
        """Read a tuple of this host, or give `None`."""
        found = self._do("read_nowait", Template.of(template))
        return None if found is None else as_tuple(found)

    def take_all(self, *template: object) -> list[Tuple]:
        """Take every tuple of this host that matches."""
        return as_tuples(self._do("take_all", Template.of(template)))

    def read_all(self, *template: object) -> list[Tuple]:
        """Read every tuple of this host that matches."""
        return as_tuples(self._do("read_all", Template.of(template)))

    def take(self, *template: object, **options: object) -> Tuple:
        """Refused: it would wait, and a listener must not. Raises `WaitingInListener`."""
        raise WaitingInListener(operation="take", space=self.name)

    def read(self, *template: object, **options: object) -> Tuple:
        """Refused: it would wait, and a listener must not. Raises `WaitingInListener`."""
        raise WaitingInListener(operation="read", space=self.name)

    def _do(self, operation: str, *args: object) -> Any:
        firing = self._home._firing
        if firing is None:
            raise OutsideStep(space=self.name)
        if (error := late()) is not None:
            raise error
        return getattr(firing, operation)(*args, space=self.name)


class ReactionHandle(Generic[S]):
    """A registered reaction: what it watches for, how often it fired, and how to stop it.

    >>> import asyncio, nomospace as ns
    >>> async def program():
    ...     async with ns.Host("ward-3") as host:
    ...         jobs = await (await host.agent("nurse")).space("jobs", shared=True)
    ...         alarms = jobs.react(("alarm", ns.ANY), lambda alarm, source, handle: print(alarm))
    ...         await jobs.out("alarm", "fire")
    ...         await alarms.wait_fired()
    ...         alarms.remove()
    ...         await jobs.out("alarm", "smoke")
    ...         return alarms.fired, alarms.state
    >>> asyncio.run(program())
    ('alarm', 'fire')
    (1, 'removed')
    """

    __slots__ = ("_busy", "_connection", "_forget", "_id", "_listener", "_loop", "_queue",
                 "_ready", "_task", "_threaded", "_timeout", "_watchers", "at", "dest",
                 "error", "fired", "mode", "space", "state", "strength", "template")  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        space: S,
        request: React,
        listener: Listener,
        *,
        timeout_s: float,
        forget: Callable[[AnyHandle], None],
    ) -> None:
        self.space = space
        """Where the listener works: the space; for a strong reaction the step that it runs in."""
        self.template = request.template
        self.mode = request.mode
        self.strength = request.strength
        self.at = request.at
        self.dest = request.dest
        self.fired = 0
        """How often the listener was run."""
        self.state = "enabled"
        """`enabled`, `disabled` or `removed`."""
        self.error: BaseException | None = None
        """Why the host did not register it, when it did not."""
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._threaded = not inspect.iscoroutinefunction(listener) and getattr(
            self._loop, "has_threads", True
        )
        self._timeout = timeout_s
        self._forget = forget
        self._id: str | None = None
        self._busy = False  # the listener is at work
        self._queue: deque[Found] = deque()
        self._task: asyncio.Task[None] | asyncio.Handle | None = None
        self._ready: list[asyncio.Future[None]] = []
        self._watchers: list[asyncio.Future[None]] = []

    def __repr__(self) -> str:
        return f"<{self.strength} reaction to {self.template!r}, {self.state}, fired {self.fired}>"

    # -- what a program does ---------------------------------------------------------------

    def disable(self) -> None:
        """Let it sleep: its listener is not run until `enable`. Firings that wait are dropped."""
        if self.state == "enabled" and self._in_loop(self.disable):
            self.state = "disabled"
            self._queue.clear()
            self._adjust("disable")

    def enable(self) -> None:
        """Wake it. It forgets what it reacted to, so it reacts to all that matches now (LIME)."""
        if self.state == "disabled" and self._in_loop(self.enable):
            self.state = "enabled"
            self._adjust("enable")

    def remove(self) -> None:
        """Take it out of the space; it never fires again. Removing twice is harmless."""
        if self.state != "removed" and self._in_loop(self.remove):
            self._end()
            self._adjust("remove")

    async def wait_registered(self) -> None:
        """Wait until the host has registered it; raises what the host refused it with.

        A reaction is always registered before the agent's next operation. Waiting is of use only
        while the group changes, or when the law of its space rules on it later.
        """
        if self._id is None and self.error is None:
            future = asyncio.get_running_loop().create_future()
            self._ready.append(future)
            await future
        if self.error is not None:
            raise self.error

    async def wait_fired(self, count: int = 1) -> None:
        """Wait until the listener has been run so many times in all, and has ended.

        Raises `Closed` when the reaction is removed before.
        """
        while self.fired < count:
            if self.state == "removed" and not self._busy:
                raise Closed(what=f"the reaction to {self.template!r}")
            future = asyncio.get_running_loop().create_future()
            self._watchers.append(future)
            await future

    # -- what the connection tells (`connection.Ear`) -----------------------------------------

    def on_registered(self, reaction: str) -> None:
        """The host registered it under this id."""
        self._id = reaction
        self._wake(self._ready)
        # What the program asked for meanwhile; disabled and enabled again is as it was.
        if self.state != "enabled":
            self._adjust("disable" if self.state == "disabled" else "remove")

    def on_refused(self, error: BaseException) -> None:
        """The host did not register it."""
        self.error = error
        self._end()
        self._wake(self._ready)

    def on_fired(self, found: Found) -> None:
        """A weak reaction fired: its listener has one more firing to run for."""
        if self.state != "enabled":
            return
        queue = self._queue
        if len(queue) >= FIRINGS_MAX:
            self.disable()
            self._report("a reaction was disabled", ListenerBehind(firings=FIRINGS_MAX))
            return
        queue.append(found)
        if self._task is None:
            self._task = asyncio.get_running_loop().call_soon(self._next)

    def on_strong(self, firing: Firing) -> None:
        """A strong reaction fires: run the listener now, inside the host's step."""
        if self.state != "enabled":
            return  # disabled or removed by its own listener earlier in this step
        step = self.space
        assert isinstance(step, Step)
        step._firing = firing
        self._begin()
        try:
            result = self._call(firing.tuple)
        finally:
            step._firing = None
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            self._failed(BadListener(given=_name(self._listener), why=_PLAIN))
        self._done()

    # -- inside ----------------------------------------------------------------------------

    def _in_loop(self, then: Callable[[], None]) -> bool:
        """Whether this is the loop's thread; else (a listener's) let it be done there, soon."""
        if asyncio._get_running_loop() is self._loop:
            return True
        self._loop.call_soon_threadsafe(then)
        return False

    def _adjust(self, what: str) -> None:
        if self._id is not None:
            self._connection.adjust(self._id, what)

    def _end(self) -> None:
        self.state = "removed"
        self._queue.clear()
        if not self._busy:
            self._forget(self)
            self._wake(self._watchers)

    def _begin(self) -> None:
        """The listener is about to be run for one firing."""
        self._busy = True
        if self.mode == ONCE:
            self._end()

    def _call(self, found: Found) -> object:
        """Run the listener in this thread and report what goes wrong; an `async` one gives its
        coroutine.
        """
        run = ListenerRun(self._who, LIMIT_S)
        result, told = None, False
        try:
            result = run.hold(self._listener, as_tuple(found), found.source, self)
        except Exception as error:
            self._failed(error)
            told = isinstance(error, ListenerOverran)
        run.active = False
        if not told and (overran := run.overran()) is not None:
            self._failed(overran)
        return result

    def _next(self) -> None:
        """Run a weak listener for the oldest firing; one callback of the loop for each."""
        self._task = None
        if not self._queue:
            return
        found = self._queue.popleft()
        self._begin()
        if self._threaded:
            self._task = asyncio.ensure_future(self._finish(self._in_thread, found))
            return
        result = self._call(found)
        if inspect.isawaitable(result):
            self._task = asyncio.ensure_future(self._finish(self._in_time, result))
            return
        self._done()
        self._go_on()

    async def _finish(self, listen: Callable[[Any], Awaitable[None]], given: object) -> None:
        try:
            await listen(given)
        except Exception as error:
            self._failed(error)
        finally:
            self._task = None
        self._done()
        self._go_on()

    async def _in_time(self, result: Awaitable[None]) -> None:
        """Await an `async` listener within its time."""
        run = ListenerRun(self._who, LIMIT_S, asyncio.current_task())
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                await _held(run, result, self._failed)
        except TimeoutError as error:
            raise (ListenerOverran(limit_s=self._timeout) if limit.expired() else error) from None
        finally:
            run.active = False

    async def _in_thread(self, found: Found) -> None:
        """Run a plain listener in a thread. One past its limit is reported, and waited for."""
        ended: asyncio.Future[tuple[object, Exception | None]] = self._loop.create_future()
        run = ListenerRun(self._who, self._timeout)

        def settle(result: object, raised: Exception | None) -> None:
            if not ended.done():  # else its agent was closed
                ended.set_result((result, raised))

        def work() -> None:
            LISTENER.set(run)
            result = raised = None
            try:
                result = self._listener(as_tuple(found), found.source, self)
            except Exception as error:
                raised = error
            finally:
                run.active = False
                with suppress(RuntimeError):  # the loop has ended, and nobody waits
                    self._loop.call_soon_threadsafe(settle, result, raised)

        name, context = f"listener of {getattr(self.space, 'name', '')}", copy_context()
        thread = threading.Thread(target=context.run, args=(work,), name=name, daemon=True)
        thread.start()
        await asyncio.wait([ended], timeout=self._timeout)
        if told := not ended.done():
            self._failed(ListenerOverran(limit_s=self._timeout, stack=stack_of(thread.ident)))
        result, raised = await ended
        if raised is not None and not (told and isinstance(raised, ListenerOverran)):
            self._failed(raised)
        if inspect.isawaitable(result):
            await self._in_time(result)

    def _go_on(self) -> None:
        if self._queue and self._task is None:
            self._task = asyncio.get_running_loop().call_soon(self._next)

    def _done(self) -> None:
        self.fired += 1
        self._busy = False
        if self.state == "removed":
            self._forget(self)
        self._wake(self._watchers)

    def _failed(self, error: BaseException) -> None:
        self._report("a listener failed", error)

    def _report(self, what: str, error: BaseException) -> None:
        facts = {
            "agent": self._connection.agent,
            "space": getattr(self.space, "name", ""),
            "reaction": self._id or "",
            "listener": _name(self._listener),
        }
        self._connection.report(Report(what, facts, error))

    def _who(self) -> str:
        space = getattr(self.space, "name", "")
        return f"{_name(self._listener)} of {self._connection.agent} on {space!r}"

    def stop(self) -> None:
        """Its agent is closed: run nothing any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._busy = False
        self._end()

    @staticmethod
    def _wake(futures: list[asyncio.Future[None]]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(None)
        futures.clear()


@coroutine
def _held(
    run: ListenerRun, listening: Awaitable[None], failed: Callable[[ListenerOverran], None]
) -> Generator[Any, None, None]:
    """Await an `async` listener, under the watch whenever it holds the event loop."""
    steps: Any = listening.__await__()
    step: Callable[[Any], Any] = steps.send
    given: Any = None
    while True:
        try:
            awaited = run.hold(step, given)
        except StopIteration:
            return
        finally:
            if (overran := run.overran()) is not None:
                failed(overran)
        try:
            yield awaited
            step, given = steps.send, None
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as error:
            step, given = steps.throw, error


_PLAIN: Final = "a strong reaction's listener runs inside a step, so it is no `async def`"


def check_listener(listener: object, strength: str) -> None:
    """Raise `BadListener` when this cannot listen with this strength."""
    if not callable(listener):
        raise BadListener(given=repr(listener)[:60], why="a listener is a function")
    if strength == STRONG and inspect.iscoroutinefunction(listener):
        raise BadListener(given=_name(listener), why=_PLAIN)


def read_way(words: type[Word], given: str) -> Word:
    """The mode or the strength that a user names; raises `NoSuchWay` when it is none."""
    try:
        return words(given)
    except ValueError:
        known = tuple([one.value for one in words])
        what = words.__name__.lower()
        raise NoSuchWay(what=what, given=repr(given)[:60], known=known) from None


def _name(listener: object) -> str:
    return str(getattr(listener, "__qualname__", type(listener).__qualname__))
