"""The blocking face: the same hosts, agents and spaces for programs without `async`.

Every class here wraps its counterpart and every method blocks until the other is done; what they
mean is said there. `calls` has those that do nothing else; it is written from the async face. All
hosts of the process live in one event loop in a thread in the background, which begins with the
first and ends with the last, so hosts of one `Network` can meet.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, Unpack, overload

from nomospace import client
from nomospace.calls.ways import ONCE_PER_TUPLE, STRONG, WEAK
from nomospace.client.listening import refuse_waiting
from nomospace.client.membership import Letter
from nomospace.client.reactions import (
    LISTENER_TIMEOUT_S,
    AnyHandle as AsyncHandle,
    Listener as AsyncListener,
    check_listener,
)
from nomospace.client.tuples import Correlation
from nomospace.sync.background import HeldInBackground, WouldBlock, background
from nomospace.sync.calls import (
    AgentCalls,
    FrontCalls,
    HostCalls,
    MembershipCalls,
    ReactionCalls,
    RemoteHostCalls,
    SpaceCalls,
)

if TYPE_CHECKING:  # who only connects loads no host
    from pathlib import Path

    from nomospace import node
    from nomospace.client import fronts, remote
    from nomospace.client.laws import Law
    from nomospace.client.ontologies import Ontology
    from nomospace.protocols.pace import Pace
    from nomospace.protocols.policy import Policy

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


class Network:
    """Links between hosts of this process; see `nomospace.Network`.

    >>> net = Network()
    >>> net.connect("ward", "icu")
    >>> with Host("ward", network=net) as ward, Host("icu", network=net) as icu:
    ...     ward.wait_engaged("icu", timeout=30)
    ...     ward.view.members
    ('icu', 'ward')
    """

    def __init__(self, *, delay: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        from nomospace import node

        self._it = node.Network(delay=delay, loss=loss, seed=seed)

    def connect(self, a: object, b: object) -> None:
        """Link two hosts, by name or as they are."""
        self._it.connect(a, b)

    def connect_all(self, *hosts: object) -> None:
        """Link every host with every other."""
        self._it.connect_all(*hosts)

    def part(self, a: object, b: object) -> None:
        """Cut a link."""
        self._it.part(a, b)

    def linked(self, a: object, b: object) -> bool:
        """Whether two hosts have a link of their own."""
        return self._it.linked(a, b)


class Host(HeldInBackground, HostCalls):
    """A host in this process; see `nomospace.Host`. `with` starts it and ends it.

    >>> with Host("ward-3") as host:
    ...     host.agent("nurse")
    <agent nurse@ward-3>
    """

    _it: node.Host

    def __init__(
        self,
        name: str,
        *,
        network: Network | None = None,
        policy: Policy | None = None,
        pace: Pace | None = None,
        store: node.Store | str | Path | None = None,
        laws: Iterable[Law] = (),
        on_report: Callable[[client.Report], None] | None = None,
        listener_timeout: float = LISTENER_TIMEOUT_S,
        programs: Iterable[str] | None = None,
        trusted_publishers: Mapping[str, bytes] | None = None,
        listen: str = "",
        join: Iterable[str] | str = (),
        transport: str = "",
        trust: str | Path | None = None,
        config: str | Path = "",
    ) -> None:
        from nomospace import node
        from nomospace.protocols.pace import USUAL

        super().__init__()
        self._it = node.Host(
            name,
            network=None if network is None else network._it,
            policy=policy,
            pace=pace or USUAL,
            store=store,
            laws=laws,
            on_report=on_report,
            listener_timeout=listener_timeout,
            programs=programs,
            trusted_publishers=trusted_publishers,
            listen=listen,
            join=join,
            transport=transport,
            trust=trust,
            config=config,
        )

    def agent(self, name: str) -> Agent:
        """The agent `name@host`: new, or as it was left."""
        return Agent(background.wait(self._it.agent(name)))


class RemoteHost(HeldInBackground, RemoteHostCalls):
    """A host in another process, for `with`; see `nomospace.connect`. Made by `connect`."""

    _it: remote.RemoteHost

    def __init__(self, it: remote.RemoteHost) -> None:
        super().__init__()
        self._it = it

    def agent(self, name: str | None = None) -> Agent:
        """An agent of the host: the one of this client's identity or token, or the one named."""
        return Agent(background.wait(self._it.agent(name)))


def connect(url: str, **options: Any) -> RemoteHost:
    """A host in another process, for `with`; options as `nomospace.connect` has them.

    >>> connect("nomos+plain://127.0.0.1:7411")
    <host at nomos+plain://127.0.0.1:7411>
    """
    from nomospace.client.remote import connect as connect_async

    return RemoteHost(connect_async(url, **options))


class Agent(AgentCalls):
    """An agent on a host; see `nomospace.client.Agent`."""

    __slots__ = ()

    def __init__(self, it: client.Agent) -> None:
        self._it = it

    @property
    def system(self) -> Space:
        """The space `LimeSystem`."""
        return Space(self._it.system)

    def space(
        self,
        name: str,
        *,
        shared: bool = False,
        law: Law | None = None,
        durable: bool = True,
        ontology: Ontology | str | None = None,
        engine: str = "",
    ) -> Space:
        """Have an interface space of this name: private, or `shared` at once."""
        it = self._it.space(
            name, shared=shared, law=law, durable=durable, ontology=ontology, engine=engine
        )
        return Space(background.wait(it))

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

    def adopt(self, law: Law, *args: object, another: bool | int = False) -> Membership:
        """Adopt a law."""
        return Membership(background.wait(self._it.adopt(law, *args, another=another)))

    def membership(self, law: Law, number: int = 1) -> Membership | None:
        """The membership under a law that the agent has adopted."""
        found = background.call(self._it.membership, law, number)
        return None if found is None else Membership(found)

    def inbox(self) -> Iterator[Letter]:
        """Plain messages to this agent, oldest first; ends with the agent."""
        return _letters(self._it.mail)


def _letters(of: client.LetterQueue) -> Iterator[Letter]:
    while (letter := background.wait(of._receive())) is not None:
        yield letter


class Membership(MembershipCalls):
    """An agent's membership under a law; see `nomospace.client.Membership`."""

    __slots__ = ()

    def __init__(self, it: client.Membership) -> None:
        self._it = it

    def inbox(self) -> Iterator[Letter]:
        """Messages that the law delivers to this agent, oldest first; ends with the agent."""
        return _letters(self._it)

    def front(self, agent: str) -> FrontSpace:
        """The tuple space that an agent answers for, which has a space's role under this law."""
        return FrontSpace(background.call(self._it.front, agent))


class FrontSpace(FrontCalls):
    """A tuple space behind a front; see `nomospace.client.fronts.FrontSpace`."""

    __slots__ = ()

    def __init__(self, it: fronts.FrontSpace) -> None:
        self._it = it


class Space(SpaceCalls):
    """An agent's interface space; see `nomospace.client.Space` for what its methods mean."""

    __slots__ = ()

    def __init__(self, it: client.Space) -> None:
        self._it = it

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

    def take(
        self,
        *template: object,
        timeout: float | None = None,
        at: str | None = None,
        dest: str | None = None,
        lease: float | None = None,
        **sets: Unpack[Correlation],
    ) -> Tuple:
        """Wait for a tuple and take it. Under a lease, `acknowledge` it, or use `lend`."""
        refuse_waiting("take", self.name)
        it = self._it.take(*template, timeout=timeout, at=at, dest=dest, lease=lease, **sets)
        return background.wait(it)

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
        refuse_waiting("take", self.name)
        it = self._it.take(*template, timeout=timeout, at=at, dest=dest, lease=lease)
        taken = background.wait(it.__aenter__())
        try:
            yield taken
        except BaseException as error:
            background.wait(it.__aexit__(type(error), error, error.__traceback__))
            raise
        background.wait(it.__aexit__(None, None, None))

    def read(
        self,
        *template: object,
        timeout: float | None = None,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Tuple:
        """Wait for a tuple and leave it there."""
        refuse_waiting("read", self.name)
        it = self._it.read(*template, timeout=timeout, at=at, dest=dest, **sets)
        return background.wait(it)

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
            way: Any = {"mode": mode, "strength": strength, "at": at, "dest": dest, **sets}
            handle._it = react(template, wrapped, **way)

        check_listener(listener, strength)
        background.call(register)
        return handle

    def reactions(self) -> list[AnyHandle]:
        """The reactions that this program has on this space, oldest first."""
        handles = []
        for it in background.call(self._it.reactions):
            handle: AnyHandle = ReactionHandle(self)
            handle._it = it
            handles.append(handle)
        return handles


class ReactionHandle(ReactionCalls, Generic[S]):
    """A registered reaction; see `nomospace.client.ReactionHandle`."""

    __slots__ = ("_space",)

    _it: AsyncHandle

    def __init__(self, space: Space) -> None:
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


def _wrapped(listener: Listener, handle: AnyHandle) -> AsyncListener:
    @wraps(listener)  # reports name the program's own
    def wrapped(found: Tuple, source: str, it: AsyncHandle) -> None:
        handle._it = it  # it may fire before its registration has returned
        listener(found, source, handle)

    return wrapped
