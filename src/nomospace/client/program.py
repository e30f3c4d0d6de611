"""Agents as programs: a class with an explicit state that runs on one host after another.

A `Program` names the class of its state (a `msgspec.Struct`) and says in `run` what it does. It is
registered by name (`@program("courier")`), launched on a host, and goes elsewhere with
`await self.move("site")`. What goes with it is its agent (spaces, tuples, memberships, unread
mail) and its state. What does not go is the running coroutine: Python frames cannot travel, and a
guess at them would be nobody's contract. So:

- The state is captured when `move` is called. At the destination a new instance gets it, and `run`
  begins from the top, with `origin` naming the host it came from.
- When the agent has left, nothing after `await self.move(…)` runs here: it raises `Departed`, which
  no `except Exception` catches. `finally` blocks run; the agent is not theirs any more, and every
  operation raises `Closed`. What waited in other tasks is called off, and reactions are removed.
- When the move is refused, or the destination is silent, `move` raises `MoveRefused` and the
  program goes on. A destination may refuse an agent even at the door, when it has left: then it
  comes back and `run` begins from the top here, with the error in `refused`.
- When its host crashes, the program begins again from its last durable state: that of its launch,
  of its last move or of its last `save`, whichever came last.

States go as MessagePack and are read strictly: a field of another type than the class says is
refused. Nothing is ever pickled.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
)

import msgspec

from nomospace.calls.addresses import check_name
from nomospace.client.agent import Agent
from nomospace.errors import CallerError

STATE_BYTES_MAX: Final = 1 << 20
"""The largest state of a program, in bytes as it travels."""

S = TypeVar("S", bound=msgspec.Struct)
P = TypeVar("P", bound="type[AnyProgram]")
AnyProgram: TypeAlias = "Program[Any]"
"""A program, whatever its state."""


class Departed(BaseException):
    """The agent has left this host, and its program here ends.

    It is raised by `Program.move` and is not for catching: the program goes on elsewhere.
    """


class BadProgram(CallerError):
    """A class that cannot be a program, or a name that is taken."""

    code = "client.bad-program"
    words = "{what} cannot be a program: {why}"
    what: str
    why: str


class BadState(CallerError):
    """A state that its program cannot have, or that cannot travel."""

    code = "client.bad-state"
    words = "program {program!r} cannot have this state: {why}"
    program: str
    why: str


class Program(ABC, Generic[S]):
    """An agent's behaviour, with a state that goes where the agent goes.

    >>> import asyncio, msgspec, nomospace as ns
    >>> class Trip(msgspec.Struct):
    ...     stops: list[str]
    ...     seen: list[str] = []
    >>> @ns.program("tourist")
    ... class Tourist(ns.Program[Trip]):
    ...     async def run(self) -> None:
    ...         self.state.seen.append(self.host)
    ...         while self.state.stops:
    ...             await self.move(self.state.stops.pop(0))
    ...         album = await self.agent.space("album", shared=True)
    ...         await album.out("seen", ", ".join(self.state.seen))
    >>> async def main() -> ns.Tuple:
    ...     net = ns.Network()
    ...     net.connect("rome", "oslo")
    ...     async with ns.Host("rome", network=net) as rome, ns.Host("oslo", network=net) as oslo:
    ...         await rome.wait_engaged("oslo")
    ...         album = await (await oslo.agent("ann")).space("album", shared=True)
    ...         await rome.launch("tourist", name="bob", state=Trip(["oslo"]))
    ...         return await album.take("seen", str)
    >>> from nomospace_lab.testing.loop import run
    >>> run(main())
    ('seen', 'rome, oslo')
    """

    State: ClassVar[type[msgspec.Struct] | None] = None
    """The class of the state: what stands in the brackets of `Program[…]`."""
    name: ClassVar[str] = ""
    """What it is registered as."""

    agent: Agent
    """The agent that it is: its spaces and memberships."""
    state: S
    """What goes along. `move` and `save` look at it when they are called, and at no other time."""
    host: str
    """The name of the host that it runs on."""
    origin: str = ""
    """The host that it came from in its last move; empty where it was launched."""
    refused: Exception | None = None
    """Why `origin` sent it back at the door, if it did: then it is where it had left."""
    code: bytes | None = None
    """Its bundle, if it brings its code along to hosts that do not have it."""
    maker: Maker | None = None
    """Who makes its helpers: the host that runs it."""
    mover: asyncio.Task[object] | None = None
    """The task that last called `move`, for the host: it is told by `move` that the agent left."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for base in getattr(cls, "__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Program):
                (state,) = get_args(base)
                if isinstance(state, type) and issubclass(state, msgspec.Struct):
                    cls.State = state

    @abstractmethod
    async def run(self) -> None:
        """What the program does: from the top when it is launched, has moved, or starts again.

        When it returns, the program is over; its agent and all that is the agent's stays.
        """

    async def move(self, to: str) -> None:
        """Go on at another host: `run` begins there from the top, with the state as it is now.

        Raises `Departed` when the agent has left (see the head of this module), and `MoveRefused`
        when it stays. Moving to the host where it is returns at once. A move that is cancelled is
        called off while the destination has not said yes, and else runs its course.
        """
        check_name("a host", to)
        state = encode_state(type(self), self.state)
        if to == self.host:
            return
        self.mover = asyncio.current_task()
        await self.agent.leave(to, self.name, state, self.code)

    async def save(self) -> None:
        """Make the state durable as it is now: after a crash, `run` begins from it."""
        await self.agent.save(encode_state(type(self), self.state))

    async def helper(self, name: str) -> Agent:
        """Another agent at this host, for this program: new, or as it was left.

        It is this agent's: its id is made from that of its maker, as in `bob+scout@ward`. It stays
        where it is when this program moves or ends. Raises `TooManyHelpers`.
        """
        assert self.maker is not None, "a host runs it"
        return await self.maker.helper(check_name("a helper", name))

    async def launch(self, program: str, *, name: str, state: object = None) -> str:
        """Have a helper run a program of its own, from the same code; its id."""
        assert self.maker is not None, "a host runs it"
        return await self.maker.launch(program, check_name("a helper", name), state)


class Maker(Protocol):
    """Makes agents for a program."""

    async def helper(self, name: str) -> Agent: ...
    async def launch(self, program: str, name: str, state: object) -> str: ...


# -- states ------------------------------------------------------------------------------------


def encode_state(program: type[AnyProgram], state: object) -> bytes:
    """A state as it travels. What could not be read back is refused here, not at the destination.

    Raises `BadState`.
    """
    name, kind = program.name, _state_of(program)
    if not isinstance(state, kind):
        given = type(state).__name__
        raise BadState(program=name, why=f"it is a {given}; give a {kind.__name__}")
    try:
        data = msgspec.msgpack.encode(state)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise BadState(program=name, why=f"{error}; use plain data") from None
    decode_state(program, data)
    return data


def decode_state(program: type[AnyProgram], data: object) -> Any:
    """A state that has travelled, read strictly. Raises `BadState`.

    >>> class Trip(msgspec.Struct):
    ...     stops: list[str]
    >>> class Walk(Program[Trip]):
    ...     name = "walk"
    ...     async def run(self) -> None: ...
    >>> decode_state(Walk, encode_state(Walk, Trip(["oslo"])))
    Trip(stops=['oslo'])
    >>> decode_state(Walk, msgspec.msgpack.encode({"stops": [1]}))
    Traceback (most recent call last):
    nomospace.client.program.BadState: program 'walk' cannot have this state: Expected `str`, ...
    """
    name = program.name
    if not isinstance(data, bytes):
        raise BadState(program=name, why=f"it came as {type(data).__name__}, not as bytes")
    if len(data) > STATE_BYTES_MAX:
        why = f"{len(data):,} bytes are above the limit of {STATE_BYTES_MAX:,}; keep the rest in "
        raise BadState(program=name, why=f"{why}spaces, which go along")
    try:
        return msgspec.msgpack.decode(data, type=_state_of(program), strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadState(program=name, why=str(error)) from None
    except Exception as error:  # out of the author's own `__post_init__`
        raise BadState(program=name, why=f"{type(error).__name__}: {error}") from error


def first_state(program: type[AnyProgram], state: object) -> Any:
    """The state to launch a program with: the one given, else what its class is by default."""
    if state is not None:
        return state
    try:
        return _state_of(program)()
    except TypeError as error:
        raise BadState(program=program.name, why=f"none was given, and {error}") from None


def _state_of(program: type[AnyProgram]) -> type[msgspec.Struct]:
    assert program.State is not None, "it was checked when the program was registered"
    return program.State


# -- the registry ------------------------------------------------------------------------------

Registry = dict[str, type[AnyProgram]]
_here: Final[Registry] = {}
_into: Final[ContextVar[Registry]] = ContextVar("nomospace_programs", default=_here)


def program(name: str) -> Callable[[P], P]:
    """Register a class as the program of this name: for hosts of this process to run.

    Defining the same class again (in a notebook, say) replaces it; another class of the same name
    raises `BadProgram`, as does one that does not name its state.
    """
    check_name("a program", name)

    def register(kind: P) -> P:
        registry = _into.get()
        label = getattr(kind, "__qualname__", repr(kind))
        made: Any = kind
        if not isinstance(made, type) or not issubclass(made, Program):
            raise BadProgram(what=label, why="make it a class that derives from Program[State]")
        if kind.State is None:
            raise BadProgram(
                what=label,
                why=f"name the msgspec.Struct of its state: class {label}(Program[State])",
            )
        known = registry.get(name)
        if known is not None and _place(known) != _place(kind):
            at = ".".join(_place(known))
            raise BadProgram(what=label, why=f"{at} is called {name!r} already; choose a name")
        kind.name = name
        registry[name] = kind
        return kind

    return register


def registered() -> Mapping[str, type[AnyProgram]]:
    """The programs of this process by name, as they are now and will be."""
    return MappingProxyType(_here)


@contextmanager
def registering(registry: Registry) -> Iterator[None]:
    """Register what is defined inside in a registry of one's own."""
    before = _into.set(registry)
    try:
        yield
    finally:
        _into.reset(before)


def _place(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__
