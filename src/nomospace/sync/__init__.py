"""The blocking face: the same hosts, agents and spaces for programs without `async`.

Every class here wraps its counterpart and every method blocks until the other is done; what they
mean is said there. All hosts of the process live in one event loop in a thread in the background,
which begins with the first and ends with the last, so hosts of one `Network` can meet.

>>> from nomospace import sync
>>> with sync.Host("ward-3") as host:
...     jobs = host.agent("nurse").space("jobs", shared=True)
...     jobs.out("job", 17)
...     with jobs.lend("job", int, lease=30) as job:
...         print("doing", job)
doing ('job', 17)

Weak listeners run in threads of their own, one firing of a reaction after the other, so they may
use blocking operations, but none that waits for a tuple. Strong listeners run inside the host's
step, in the background thread, and work through `handle.space` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, Unpack, overload

from nomospace import client
from nomospace.calls.ways import ONCE_PER_TUPLE, STRONG, WEAK
from nomospace.client.membership import Letter
from nomospace.client.reactions import (
    AnyHandle as AsyncHandle,
    Listener as AsyncListener,
    check_listener,
)
from nomospace.client.tuples import Correlation
from nomospace.sync.background import (
    Blocking,
    WouldBlock,
    asks,
    background,
    gives,
    waits,
)
from nomospace.terms.templates import Template

if TYPE_CHECKING:  # who only connects loads no host
    from nomospace.client.laws import Law
    from nomospace.sync.elsewhere import FrontSpace, RemoteHost
    from nomospace.sync.hosts import Host, Network

__all__ = [
    "Agent",
    "Host",
    "Listener",
    "Membership",
    "Network",
    "ReactionHandle",
    "RemoteHost",
    "Space",
    "Step",
    "Tuple",
    "WouldBlock",
    "connect",
]

S = TypeVar("S")
Tuple = client.Tuple
Step = client.Step
AnyHandle: TypeAlias = "ReactionHandle[Any]"
Listener = Callable[[Tuple, str, AnyHandle], None]
"""`listener(tuple, source, handle)`, a plain function."""


_LATER = {"Host": "hosts", "Network": "hosts", "RemoteHost": "elsewhere", "FrontSpace": "elsewhere"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def connect(url: str, **options: Any) -> RemoteHost:
    """A host in another process, for `with`; options as `nomospace.connect` has them.

    >>> connect("nomos+plain://127.0.0.1:7411")
    <host at nomos+plain://127.0.0.1:7411>
    """
    from nomospace.client.remote import connect as connect_async
    from nomospace.sync.elsewhere import RemoteHost

    return RemoteHost(connect_async(url, **options))


def _letters(of: client.LetterQueue) -> Iterator[Letter]:
    while (letter := background.wait(of._receive())) is not None:
        yield letter


class Membership(Blocking):
    """An agent's membership under a law; see `nomospace.client.Membership`."""

    __slots__ = ()

    _it: client.Membership
    law: client.Law
    ruling: client.DisclosedRuling | None
    number: int
    key: str
    address: str
    send = waits(client.Membership.send)
    present = waits(client.Membership.present)
    standing = waits(client.Membership.standing)
    quit = waits(client.Membership.quit)
    receive_nowait = asks(client.Membership.receive_nowait)

    def inbox(self) -> Iterator[Letter]:
        """Messages that the law delivers to this agent, oldest first; ends with the agent."""
        return _letters(self._it)

    def front(self, agent: str) -> FrontSpace:
        """The tuple space that an agent answers for, which has a space's role under this law."""
        from nomospace.sync.elsewhere import FrontSpace

        return FrontSpace(background.call(self._it.front, agent))


class Space(Blocking):
    """An agent's interface space; see `nomospace.client.Space` for what its methods mean."""

    __slots__ = ()

    _it: client.Space
    name: str
    shared: bool
    owner: str
    out = waits(client.Space.out)
    acknowledge = waits(client.Space.acknowledge)
    renew = waits(client.Space.renew)
    give_back = waits(client.Space.give_back)
    tell = waits(client.Space.tell)
    monitor = waits(client.Space.monitor)
    take = waits(client.Space.take)
    read = waits(client.Space.read)
    take_nowait = waits(client.Space.take_nowait)
    read_nowait = waits(client.Space.read_nowait)
    take_all = waits(client.Space.take_all)
    read_all = waits(client.Space.read_all)
    share = waits(client.Space.share)
    unshare = waits(client.Space.unshare)

    def out_many(
        self,
        rows: Iterable[Iterable[object]],
        *,
        to: str | None = None,
        ttl: float | None = None,
        priority: int = 0,
    ) -> None:
        """Write several tuples in one step."""
        # The rows are drawn here: a generator of the program has no business in our thread.
        drawn = [tuple(row) for row in rows]
        background.wait(self._it.out_many(drawn, to=to, ttl=ttl, priority=priority))

    @contextmanager
    def lend(
        self,
        *template: object,
        lease: float,
        timeout: float | None = None,
        at: str | None = None,
        dest: str | None = None,
    ) -> Iterator[Tuple]:
        """Take under a lease for a `with` block: acknowledged on a clean exit, else given back.

        >>> from nomospace.sync import Host
        >>> with Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     jobs.out("job", 17)
        ...     try:
        ...         with jobs.lend("job", int, lease=30) as job:
        ...             raise RuntimeError("the porter fell ill")
        ...     except RuntimeError:
        ...         print(jobs.take("job", int, lease=30).deliveries)
        2
        """
        it = self._it.take(*template, timeout=timeout, at=at, dest=dest, lease=lease)
        taken = background.wait(it.__aenter__())
        try:
            yield taken
        except BaseException as error:
            background.wait(it.__aexit__(type(error), error, error.__traceback__))
            raise
        background.wait(it.__aexit__(None, None, None))

    @overload
    def react(
        self,
        template: Iterable[object],
        listener: Listener,
        *,
        mode: str = ...,
        strength: Literal["weak"] = ...,
        at: str | None = ...,
        dest: str | None = ...,
        **sets: Unpack[Correlation],
    ) -> ReactionHandle[Space]: ...

    @overload
    def react(
        self,
        template: Iterable[object],
        listener: Listener,
        *,
        mode: str = ...,
        strength: Literal["strong"],
        at: str | None = ...,
        dest: str | None = ...,
    ) -> ReactionHandle[Step]: ...

    def react(
        self,
        template: Iterable[object],
        listener: Listener,
        *,
        mode: str = ONCE_PER_TUPLE,
        strength: str = WEAK,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> AnyHandle:
        """Run `listener(tuple, source, handle)` for tuples that match.

        >>> from queue import Queue
        >>> seen = Queue()
        >>> from nomospace.sync import Host
        >>> with Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     _ = jobs.react(("alarm", str), lambda alarm, source, handle: seen.put(alarm))
        ...     jobs.out("alarm", "fire")
        ...     seen.get(timeout=10)
        ('alarm', 'fire')
        """
        handle: AnyHandle = ReactionHandle(self)
        wrapped = _wrapped(listener, handle)

        def register() -> None:
            react: Any = self._it.react
            way = {"mode": mode, "strength": strength, "at": at, "dest": dest}
            handle._it = react(template, wrapped, **way, **sets)

        check_listener(listener, strength)
        background.call(register)
        return handle

    def reactions(self) -> list[AnyHandle]:
        """The reactions that this program has on this space, oldest first."""
        return [ReactionHandle(self, it) for it in background.call(self._it.reactions)]


class ReactionHandle(Blocking, Generic[S]):
    """A registered reaction; see `nomospace.client.ReactionHandle`."""

    __slots__ = ("_space",)

    _it: AsyncHandle
    template: Template
    mode: str
    strength: str
    at: str | None
    dest: str | None
    state: str
    fired: int
    disable = asks(client.ReactionHandle.disable)
    enable = asks(client.ReactionHandle.enable)
    remove = asks(client.ReactionHandle.remove)
    wait_registered = waits(client.ReactionHandle.wait_registered)
    wait_fired = waits(client.ReactionHandle.wait_fired)

    def __init__(self, space: Space, it: AsyncHandle | None = None) -> None:
        super().__init__(it)
        self._space = space

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReactionHandle) and self._it is other._it

    def __hash__(self) -> int:
        return hash(self._it)

    @property
    def space(self) -> S:
        """Where the listener works: the space; for a strong reaction the step that it runs in."""
        it: Any = self._it.space if self._it.strength == STRONG else self._space
        found: S = it
        return found


class Agent(Blocking):
    """An agent on a host; see `nomospace.client.Agent`."""

    __slots__ = ()

    _it: client.Agent
    id: str
    move = waits(client.Agent.move)
    close = waits(client.Agent.close)
    end = waits(client.Agent.end)
    send = waits(client.Agent.send)
    receive_nowait = asks(client.Agent.receive_nowait)
    space = gives(client.Agent.space, Space)
    adopt = gives(client.Agent.adopt, Membership)

    @property
    def system(self) -> Space:
        """The space `LimeSystem`."""
        return Space(self._it.system)

    def share(self, *spaces: Space) -> None:
        """Share several spaces in one atomic step."""
        background.wait(self._it.share(*(space._it for space in spaces)))

    def unshare(self, *spaces: Space) -> None:
        """Part several spaces in one atomic step."""
        background.wait(self._it.unshare(*(space._it for space in spaces)))

    def connected(self, agent: str) -> bool:
        """Whether an agent is connected with this one now."""
        try:
            return background.call(self._it.connected, agent)
        except client.NotYetKnown:  # a host elsewhere has been asked
            return background.wait(self._soon_connected(agent))

    async def _soon_connected(self, agent: str) -> bool:
        for _ in range(100):
            with suppress(client.NotYetKnown):
                return self._it.connected(agent)
            await asyncio.sleep(0.02)
        return self._it.connected(agent)

    def membership(self, law: Law, number: int = 1) -> Membership | None:
        """The membership under a law that the agent has adopted."""
        found = background.call(self._it.membership, law, number)
        return None if found is None else Membership(found)

    def inbox(self) -> Iterator[Letter]:
        """Plain messages to this agent, oldest first; ends with the agent."""
        return _letters(self._it.mail)


def _wrapped(listener: Listener, handle: AnyHandle) -> AsyncListener:
    @wraps(listener)  # reports name the program's own
    def wrapped(found: Tuple, source: str, it: AsyncHandle) -> None:
        handle._it = it  # it may fire before its registration has returned
        listener(found, source, handle)

    return wrapped
