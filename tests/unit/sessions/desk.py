"""A host's end of sessions with everything around it played by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nomospace.calls.answers import Found
from nomospace.calls.problems import AgentAway
from nomospace.calls.requests import (
    Seek,
)
from nomospace.calls.ways import Way
from nomospace.errors import Unavailable
from nomospace.host.calls import Asked, Call, Event
from nomospace.host.effects import Effect
from nomospace.sessions.host_session import HostSession, Outgoing
from nomospace.sessions.host_sessions import HostSessions
from nomospace.store.interface import KeptForClient
from nomospace.terms.templates import ANY, Template
from nomospace.wire import talk

ANN = "ann@ward"
FOUND = Found(("job", 1), ANN, 1, ANN)
TAKE = Seek("jobs", Way.TAKE, Template.of(("job", ANY)))
LEASED = Seek("jobs", Way.TAKE, Template.of(("job", ANY)), lease_us=5)


class Gate:
    """A host's driver that does nothing by itself."""

    def __init__(self) -> None:
        self.told: list[Event] = []
        self.kept: list[KeptForClient] = []
        self.trimmed: list[tuple[str, int]] = []
        self.notes: list[str] = []
        self.trouble: Unavailable | None = None
        self.has_agent = True
        self.waiting: list[Outgoing] = []
        self.vacated: list[str] = []
        self.release: Callable[[Outgoing], None]

    def tell(self, event: Event) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.told.append(event)

    def tell_many(self, calls: Sequence[Call]) -> int:
        self.tell(calls[0])
        return 1

    def seat(self, agent: str, *, follows: str | None) -> None:
        if not self.has_agent:
            raise AgentAway(agent=agent, host="ward")

    def vacate(self, agent: str) -> None:
        self.vacated.append(agent)

    def keep(self, kept: Sequence[KeptForClient]) -> None:
        for one in kept:
            others = [
                old for old in self.kept if (old.agent, old.number) != (one.agent, one.number)
            ]
            self.kept = [*others, one]

    def bring(self, out: Outgoing, kept: Sequence[KeptForClient]) -> None:
        self.keep(kept)
        if self.waiting:
            self.waiting.append(out)
        else:
            self.release(out)

    def unreleased(self) -> list[Outgoing]:
        return self.waiting

    def trim(self, key: str, number: int) -> None:
        self.trimmed.append((key, number))
        self.kept = [one for one in self.kept if one.agent != key or one.number > number]

    def note(self, what: str, facts: Mapping[str, object]) -> None:
        self.notes.append(what)

    def here(self, agent: str) -> bool:
        return self.has_agent

    def held(self, agent: str, law: str) -> bool:
        return False

    def address_of(self, host: str) -> str:
        return f"{host}:7411"

    @property
    def requests(self) -> list[Asked]:
        """What was asked of the core so far, once."""
        told, self.told = self.told, []
        return [event.request for event in told if isinstance(event, Call)]


class Wire:
    """A connection."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []
        self.clogged = False
        self.dropped = False

    def send(self, body: bytes) -> bool:
        if self.clogged:
            return False
        self.sent.append(talk.unpack_frame(body))
        return True

    @property
    def ready(self) -> bool:
        return not self.clogged

    def send_now(self, bodies: list[bytes]) -> None:
        for body in bodies:
            assert self.send(body)

    def drop(self) -> None:
        self.dropped = True


class Desk:
    """Sessions with their gate, and the driver's part in a few words."""

    def __init__(self, life: int = 1, **options: Any) -> None:
        self.gate = Gate()
        self.sessions = HostSessions(self.gate, life=life, first=100, **options)
        self.gate.release = self.sessions.release

    def open(self, key: str = "k", *, seen: int = 0, **options: Any) -> tuple[HostSession, Wire]:
        wire = Wire()
        options.setdefault("alongside", False)
        session, _ = self.sessions.open(key, ANN, wire, seen=seen, now=0, **options)
        self.sessions.resend(session)
        return session, wire

    def step(self, *effects: Effect, persisted: bool = False, release: bool = True) -> list[Any]:
        """One step of the core; what is left of its effects."""
        todo, kept = self.sessions.outputs(effects, persisted)
        self.gate.kept += kept
        if release:
            for effect in todo:
                if isinstance(effect, Outgoing):
                    self.sessions.release(effect)
        return todo

    def op(self) -> int:
        """The number of the last call that the core was told."""
        calls = [event for event in self.gate.told if isinstance(event, Call)]
        return calls[-1].op
