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
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    Self,
    TypeVar,
    Unpack,
    overload,
)

from nomospace import client
from nomospace.client.correlation import Correlation
from nomospace.client.listening import late, refuse_waiting
from nomospace.client.membership import Letter
from nomospace.client.reactions import (
    LISTENER_TIMEOUT_S,
    ONCE_PER_TUPLE,
    STRONG,
    WEAK,
    check_listener,
)
from nomospace.client.reactions import Listener as AsyncListener
from nomospace.errors import CallerError
from nomospace.terms import Term

if TYPE_CHECKING:  # who only connects loads no host
    from nomospace import node
    from nomospace.client import remote
    from nomospace.protocols.pace import Pace

T = TypeVar("T")
S = TypeVar("S")
Tuple = client.Tuple
Step = client.Step
Listener = Callable[[Tuple, str, "ReactionHandle[Any]"], None]
"""`listener(tuple, source, handle)`, a plain function."""


@dataclass(eq=False, kw_only=True)
class WouldBlock(CallerError):
    """A blocking operation was used where it would block the hosts themselves."""

    code: ClassVar[str] = "sync.would-block"

    def __str__(self) -> str:
        return (
            "this runs in the hosts' own thread, which a blocking operation would stop; in a "
            "strong listener use handle.space, in `async` programs use nomospace.Host"
        )


class _Background:
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

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
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

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call a plain function in the background thread; at once when this is that thread."""
        if threading.current_thread() is self._thread:
            return function(*args, **options)

        async def work() -> T:
            return function(*args, **options)

        return self.wait(work())


_background: Final = _Background()


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


class _Held:
    """Something that lives in the event loop in the background, from `with` to its end."""

    _it: Any

    def __init__(self) -> None:
        self._open = False

    def __repr__(self) -> str:
        return repr(self._it)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Begin; starting twice is harmless."""
        if self._open:
            return
        _background.hold()
        try:
            _background.wait(self._it.__aenter__())
        except BaseException:
            _background.release()
            raise
        self._open = True

    def close(self) -> None:
        """End; closing twice is harmless."""
        if not self._open:
            return
        self._open = False
        try:
            _background.wait(self._it.close())
        finally:
            _background.release()


class Host(_Held):
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
        policy: Any = None,
        pace: Pace | None = None,
        store: node.Store | None = None,
        laws: Iterable[Any] = (),
        on_report: Callable[[client.Report], None] | None = None,
        listener_timeout: float = LISTENER_TIMEOUT_S,
        programs: Iterable[str] | None = None,
        trusted_publishers: Mapping[str, bytes] | None = None,
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
        )

    @property
    def name(self) -> str:
        """The host's name."""
        return self._it.name

    def agent(self, name: str) -> Agent:
        """The agent `name@host`: new, or as it was left."""
        return Agent(_background.wait(self._it.agent(name)))

    def launch(
        self, program: str, *, name: str, state: Any = None, bundle: bytes | None = None
    ) -> client.Program[Any]:
        """Let the agent `name@host` run a program, in the background."""
        launched = self._it.launch(program, name=name, state=state, bundle=bundle)
        return _background.wait(launched)

    def suspend(self, name: str, why: str = "") -> None:
        """Suspend an agent or a law until `resume`."""
        _background.wait(self._it.suspend(name, why))

    def resume(self, name: str) -> None:
        """End a suspension."""
        _background.wait(self._it.resume(name))

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of the programs that may run here without bringing their code."""
        return self._it.programs

    @property
    def view(self) -> Any:
        """The group as this host sees it: `view.members` are the names of its hosts."""
        return self._it.view

    def wait_closed(self) -> None:
        """Wait until the host has ended, by `close` or because its store failed."""
        _background.wait(self._it.wait_closed())

    def law(self, law: str) -> Any:
        """A law that this host has at hand, by its hash."""
        return _background.call(self._it.law, law)

    def connected(self, who: str) -> bool:
        """Whether an agent, or (without an `@`) a host, is connected with this host now."""
        return _background.call(self._it.connected, who)

    def engage(self) -> None:
        """Join whom the policy lets this host join."""
        _background.call(self._it.engage)

    def disengage(self) -> None:
        """Leave the group by announcement, and stay alone until `engage`."""
        _background.call(self._it.disengage)

    def moved(self, x_m: float, y_m: float) -> None:
        """Tell where the host is now, in metres."""
        _background.call(self._it.moved, x_m, y_m)

    def wait_engaged(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until all these hosts are in the group of this one."""
        _background.wait(self._it.wait_engaged(*hosts, timeout=timeout))

    def wait_parted(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until none of these hosts is in the group of this one."""
        _background.wait(self._it.wait_parted(*hosts, timeout=timeout))


class RemoteHost(_Held):
    """A host in another process, for `with`; see `nomospace.connect`. Made by `connect`."""

    _it: remote.RemoteHost

    def __init__(self, it: remote.RemoteHost) -> None:
        super().__init__()
        self._it = it

    def agent(self, name: str | None = None) -> Agent:
        """An agent of the host: the one of this client's identity or token, or the one named."""
        return Agent(_background.wait(self._it.agent(name)))

    def ask(self, question: Any) -> Any:
        """Ask an operator's question (`nomospace.wire.admin`)."""
        return _background.wait(self._it.ask(question))


def connect(url: str, **options: Any) -> RemoteHost:
    """A host in another process, for `with`; options as `nomospace.connect` has them.

    >>> connect("nomos+plain://127.0.0.1:7411")
    <host at nomos+plain://127.0.0.1:7411>
    """
    from nomospace.client.remote import connect as connect_async

    return RemoteHost(connect_async(url, **options))


class Agent:
    """An agent on a host; see `nomospace.client.Agent`."""

    __slots__ = ("_it",)

    def __init__(self, it: client.Agent) -> None:
        self._it = it

    @property
    def id(self) -> str:
        """`name@domain`, unique."""
        return self._it.id

    @property
    def system(self) -> Space:
        """The space `LimeSystem`."""
        return Space(self._it.system)

    def __repr__(self) -> str:
        return repr(self._it)

    def space(
        self,
        name: str,
        *,
        shared: bool = False,
        law: Any = None,
        durable: bool = True,
        ontology: Any = None,
    ) -> Space:
        """Have an interface space of this name: private, or `shared` at once."""
        it = self._it.space(name, shared=shared, law=law, durable=durable, ontology=ontology)
        return Space(_background.wait(it))

    def share(self, *spaces: Space) -> None:
        """Share several spaces in one atomic step."""
        _background.wait(self._it.share(*(space._it for space in spaces)))

    def unshare(self, *spaces: Space) -> None:
        """Part several spaces in one atomic step."""
        _background.wait(self._it.unshare(*(space._it for space in spaces)))

    def connected(self, agent: str) -> bool:
        """Whether an agent is connected with this one now."""
        try:
            return _background.call(self._it.connected, agent)
        except client.NotYetKnown:  # a host elsewhere has been asked
            return _background.wait(self._soon_connected(agent))

    async def _soon_connected(self, agent: str) -> bool:
        for _ in range(100):
            with suppress(client.NotYetKnown):
                return self._it.connected(agent)
            await asyncio.sleep(0.02)
        return self._it.connected(agent)

    def adopt(self, law: Any, *args: object) -> Membership:
        """Adopt a law."""
        return Membership(_background.wait(self._it.adopt(law, *args)))

    def membership(self, law: Any) -> Membership | None:
        """The membership under a law that the agent has adopted."""
        found = _background.call(self._it.membership, law)
        return None if found is None else Membership(found)

    def move(self, to: str) -> None:
        """Go to another host; only agents of hosts in other processes can, and programs."""
        _background.wait(self._it.move(to))

    def close(self) -> None:
        """End this program's side of the agent; its spaces stay on the host."""
        _background.wait(self._it.close())


class Membership:
    """An agent's membership under a law; see `nomospace.client.Membership`."""

    __slots__ = ("_it",)

    def __init__(self, it: client.Membership) -> None:
        self._it = it

    @property
    def law(self) -> Any:
        """The law."""
        return self._it.law

    @property
    def ruling(self) -> Any:
        """The ruling on the adoption."""
        return self._it.ruling

    def __repr__(self) -> str:
        return repr(self._it)

    def send(self, message: Term, *, to: str | Sequence[str]) -> Any:
        """Send a message to an agent or a space; gives the ruling, refused or not."""
        return _background.wait(self._it.send(message, to=to))

    def present(self, certificate: bytes | str | Path) -> Any:
        """Present a certificate, PEM or DER, or its file: the ruling on it."""
        return _background.wait(self._it.present(certificate))

    def standing(self) -> Any:
        """Where the agent stands: its control state and what it owes, if the law discloses it."""
        return _background.wait(self._it.standing())

    def inbox(self) -> Iterator[Letter]:
        """Messages that the law delivers to this agent, oldest first; ends with the agent."""
        while True:
            letter = _background.wait(self._it._receive())
            if letter is None:
                return
            yield letter

    def receive_nowait(self) -> Letter | None:
        """The oldest message that waits, or `None`."""
        return _background.call(self._it.receive_nowait)


class Space:
    """An agent's interface space; see `nomospace.client.Space` for what its methods mean."""

    __slots__ = ("_it",)

    def __init__(self, it: client.Space) -> None:
        self._it = it

    @property
    def name(self) -> str:
        """The name that it shares with the spaces of other agents."""
        return self._it.name

    @property
    def owner(self) -> str:
        """The id of the agent whose window this is."""
        return self._it.owner

    @property
    def shared(self) -> bool:
        """Whether others see it, and it sees them."""
        return self._it.shared

    def __repr__(self) -> str:
        return repr(self._it)

    def out(
        self,
        *fields: object,
        to: str | None = None,
        ttl: float | None = None,
        once: str | None = None,
    ) -> None:
        """Write a tuple, for the agent `to` when one is named; gone after `ttl` seconds."""
        _background.wait(self._it.out(*fields, to=to, ttl=ttl, once=once))

    def out_many(
        self, rows: Iterable[Iterable[object]], *, to: str | None = None, ttl: float | None = None
    ) -> None:
        """Write several tuples in one step."""
        # The rows are drawn here: a generator of the program has no business in our thread.
        drawn = [tuple(row) for row in rows]
        _background.wait(self._it.out_many(drawn, to=to, ttl=ttl))

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
        return _background.wait(it)

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
        taken = _background.wait(it.__aenter__())
        try:
            yield taken
        except BaseException as error:
            _background.wait(it.__aexit__(type(error), error, error.__traceback__))
            raise
        _background.wait(it.__aexit__(None, None, None))

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
        return _background.wait(it)

    def acknowledge(self, taken: Tuple) -> None:
        """Say that a tuple taken under a lease is done with."""
        _background.wait(self._it.acknowledge(taken))

    def give_back(self, taken: Tuple) -> None:
        """Give a tuple taken under a lease back."""
        _background.wait(self._it.give_back(taken))

    def take_nowait(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Tuple | None:
        """Take a tuple of this host, or of the place `at`; `None` if none."""
        return _background.wait(self._it.take_nowait(*template, at=at, dest=dest, **sets))

    def read_nowait(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Tuple | None:
        """Read a tuple of this host, or of the place `at`; `None` if none."""
        return _background.wait(self._it.read_nowait(*template, at=at, dest=dest, **sets))

    def take_all(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> list[Tuple]:
        """Take every tuple that matches on this host, or at the place `at`, in one step."""
        return _background.wait(self._it.take_all(*template, at=at, dest=dest, **sets))

    def read_all(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> list[Tuple]:
        """Read every tuple that matches on this host, or at the place `at`, in one step."""
        return _background.wait(self._it.read_all(*template, at=at, dest=dest, **sets))

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
    ) -> ReactionHandle[Any]:
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
        handle: ReactionHandle[Any] = ReactionHandle(self)
        wrapped = _wrapped(listener, handle)

        def register() -> None:
            react: Any = self._it.react
            handle._it = react(template, wrapped, mode=mode, strength=strength, at=at, dest=dest)

        check_listener(listener, strength)
        _background.call(register)
        return handle

    def reactions(self) -> list[ReactionHandle[Any]]:
        """The reactions that this program has on this space, oldest first."""
        handles = []
        for it in _background.call(self._it.reactions):
            handle: ReactionHandle[Any] = ReactionHandle(self)
            handle._it = it
            handles.append(handle)
        return handles

    def share(self) -> None:
        """Join the space of this name that the other agents of the group share."""
        _background.wait(self._it.share())

    def unshare(self) -> None:
        """Part: what this agent holds stays with it, and nobody else sees it."""
        _background.wait(self._it.unshare())


class ReactionHandle(Generic[S]):
    """A registered reaction; see `nomospace.client.ReactionHandle`."""

    __slots__ = ("_it", "_space")

    _it: client.ReactionHandle[Any]

    def __init__(self, space: Space) -> None:
        self._space = space

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReactionHandle) and self._it is other._it

    def __hash__(self) -> int:
        return hash(self._it)

    def __repr__(self) -> str:
        return repr(self._it)

    @property
    def space(self) -> S:
        """Where the listener works: the space; for a strong reaction the step that it runs in."""
        it: Any = self._it.space if self._it.strength == STRONG else self._space
        found: S = it
        return found

    @property
    def template(self) -> Any:
        """What it watches for."""
        return self._it.template

    @property
    def mode(self) -> str:
        """`once` or `once-per-tuple`."""
        return self._it.mode

    @property
    def strength(self) -> str:
        """`weak` or `strong`."""
        return self._it.strength

    @property
    def at(self) -> str | None:
        """The host or agent it is bound to."""
        return self._it.at

    @property
    def dest(self) -> str | None:
        """The agent that its tuples are for."""
        return self._it.dest

    @property
    def state(self) -> str:
        """`enabled`, `disabled` or `removed`."""
        return self._it.state

    @property
    def fired(self) -> int:
        """How often the listener was run."""
        return self._it.fired

    def disable(self) -> None:
        """Let it sleep until `enable`."""
        _background.call(self._it.disable)

    def enable(self) -> None:
        """Wake it; it forgets what it reacted to."""
        _background.call(self._it.enable)

    def remove(self) -> None:
        """Take it out of the space; removing twice is harmless."""
        _background.call(self._it.remove)

    def wait_registered(self) -> None:
        """Wait until the host has registered it; raises what the host refused it with."""
        _background.wait(self._it.wait_registered())

    def wait_fired(self, count: int = 1) -> None:
        """Wait until the listener has been run so many times in all."""
        _background.wait(self._it.wait_fired(count))


def _wrapped(listener: Listener, handle: ReactionHandle[Any]) -> AsyncListener:
    @wraps(listener)  # reports name the program's own
    def wrapped(found: Tuple, source: str, it: client.ReactionHandle[Any]) -> None:
        handle._it = it  # it may fire before its registration has returned
        listener(found, source, handle)

    return wrapped
