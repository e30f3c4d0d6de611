"""A host with a store in virtual time: its core, the sessions of its clients, and its disk.

What the core does waits for the disk as on a real host: what must survive is written in groups, and
nobody hears of it before. A crash may come at any moment; the one that matters most comes between
the disk and the answer (`Server.trap`). What was not on disk is lost then, with its answers.

Connections keep the order of what they carry until they are cut. Some of what was under way at that
moment still arrives, the rest never does, and the two ends notice one after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from nomospace.calls.requests import Request
from nomospace.host.calls import Arrive, Attended, Event, Tick, Unattended
from nomospace.host.core import Host
from nomospace.host.effects import Effect, Halted, Persist
from nomospace.sessions.host_session import SOME, HostSession, Outgoing
from nomospace.sessions.host_sessions import HostSessions
from nomospace.store.interface import KeptForClient, Step
from nomospace.store.memory import MemoryStore
from nomospace.wire.common_calls import goes_along, read_common
from nomospace.wire.talk import (
    BYE,
    SEEN,
    VERSION,
    WINDOW,
    HostWelcome,
    read_call,
    unpack_frame,
)
from nomospace_lab.sim.clock import SECOND_US, VirtualClock

GRACE_US: Final = 30 * SECOND_US
"""How long sessions wait for their clients in these worlds."""
DISK_US: Final = (50, 4_000)
"""How long the disk takes."""
DELAY_US: Final = (100, 30_000)
"""How long frames are on their way: what is sent meanwhile comes along."""
NOTICE_US: Final = (1_000, 3_000_000)
"""When an end notices that its connection is gone."""
SESSION_ROW: Final = 1 << 62
"""Sessions themselves are kept under such numbers, above those of all pushes."""
CLOGS: Final = 0.02
"""The share of frames to a client after which its connection takes no more for a while."""


class Wire:
    """One connection of a client to the server; the server's end is the session's link."""

    def __init__(
        self, server: Server, hear: Callable[[list[Any]], None], lost: Callable[[], None]
    ) -> None:
        self._server = server
        self._clock, self._rng = server.clock, server.rng
        self._hear, self._lost = hear, lost
        self._up: list[bytes] = []
        self._down: list[Any] = []
        self.open = True
        self.session: HostSession | None = None
        self._clogged = False
        self.shown: list[bytes] = []
        """All that was handed to it for the client."""

    # -- the server's end ------------------------------------------------------------------------

    def send(self, body: bytes) -> bool:
        if self._clogged:
            return False
        self.shown.append(body)
        self._put_down(body)
        if self._rng.random() < CLOGS:
            self._clogged = True
            self._clock.after(self._rng.randrange(50_000), self._unclog)
        return True

    @property
    def ready(self) -> bool:
        return not self._clogged

    def send_now(self, bodies: list[bytes]) -> None:
        self.shown += bodies
        for body in bodies:
            self._put_down(body)

    def drop(self) -> None:
        self._up.clear()  # nothing is heard any more, but what was sent arrives
        self.cut(all_arrives=True)

    def welcome(self, welcome: HostWelcome) -> None:
        self._put_down(welcome)

    def _unclog(self) -> None:
        self._clogged = False
        sessions = self._server.sessions
        if self.session is not None and self.session.link is self and sessions is not None:
            sessions.go_on(self.session)

    def _put_down(self, what: Any) -> None:
        if self.open:
            self._down.append(what)
            if len(self._down) == 1:
                self._clock.after(self._rng.randrange(*DELAY_US), self._bring_down)

    # -- on the way ------------------------------------------------------------------------------

    def put_up(self, body: bytes) -> None:
        """The client sends a frame."""
        if self.open:
            self._up.append(body)
            if len(self._up) == 1:
                self._clock.after(self._rng.randrange(*DELAY_US), self._bring_up)

    def _bring_down(self) -> None:
        frames, self._down = self._some(self._down)
        if self._down:
            self._clock.after(self._rng.randrange(*DELAY_US), self._bring_down)
        if frames:
            self._hear(frames)

    def _bring_up(self) -> None:
        frames, self._up = self._some(self._up)
        if self._up:
            self._clock.after(self._rng.randrange(*DELAY_US), self._bring_up)
        if frames and self.session is not None:
            self._server.hear(self, self.session, frames)

    def _some(self, frames: list[Any]) -> tuple[list[Any], list[Any]]:
        """What comes at once, and what comes later: all, most often."""
        many = len(frames)
        if many > 1 and self.open and self._rng.random() < 0.3:
            many = self._rng.randrange(1, many)
        return frames[:many], frames[many:]

    def cut(self, *, all_arrives: bool = False) -> None:
        """The connection breaks: of what is under way some arrives, and the rest is lost."""
        if not self.open:
            return
        self.open = False
        rng, clock = self._rng, self._clock
        if not all_arrives:
            del self._up[rng.randint(0, len(self._up)) :]
            del self._down[rng.randint(0, len(self._down)) :]
        self._bring_up()
        self._bring_down()
        clock.after(rng.randrange(*NOTICE_US), self._server.lost, self)
        clock.after(rng.randrange(*NOTICE_US), self._lost)


class Server:
    """A host that serves clients, in the time of a simulated world."""

    def __init__(self, name: str, clock: VirtualClock, rng: Random) -> None:
        self.name = name
        self.clock = clock
        self.rng = rng
        self.store = MemoryStore()
        self.core: Host | None = None
        self.sessions: HostSessions | None = None
        self.notes: list[tuple[str, Mapping[str, object]]] = []
        self.wires: list[Wire] = []
        self.trap = False
        """Whether it crashes when the next steps are on disk, before anybody hears of them."""
        self.on_crash: Callable[[], None] = lambda: None
        self._life = 0
        self._steps: list[Step] = []
        self._trims: list[tuple[str, int]] = []
        self._last = self._kept = 0
        self._behind: deque[tuple[int, Sequence[Effect | Outgoing]]] = deque()
        self._inbox: deque[Event] = deque()
        self._stepping = False
        self._writing = False
        self.restored: dict[str, list[bytes]] = {}
        """What it found on disk for each session: nobody knows what of it was sent."""

    def now(self) -> int:
        """What its clock shows."""
        return self.clock.now

    def _later(self, delay_us: int, act: Callable[..., None], *args: Any) -> None:
        """Do something after a while."""
        self.clock.after(delay_us, act, *args)

    # -- its lives -------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin with what is on disk."""
        beginning = self.store.begin()
        self._life = beginning.life
        for one in beginning.outbox:
            if one.body and one.number < SESSION_ROW:
                self.restored.setdefault(one.agent, []).append(one.body)
        now = self.now()
        self.core = Host(
            self.name,
            life=beginning.life,
            birth=beginning.birth,
            now=now,
            durable=beginning.durable,
        )
        first = self.rng.getrandbits(20) << 32
        self.sessions = HostSessions(self, life=beginning.life, first=first, grace_us=GRACE_US)
        self.sessions.restore(beginning.outbox, now=now)
        self.tell(Tick())
        self._later(SECOND_US, self._sweep, self._life)

    def crash(self, down_us: int) -> None:
        """Lose all but the disk, and come back after a while."""
        if self.core is None:
            return
        self.core = self.sessions = None
        self.trap = False
        self._steps, self._trims = [], []
        self._writing = False
        self._behind.clear()
        self._inbox.clear()
        self._kept = self._last
        self.on_crash()
        wires, self.wires = self.wires, []
        for wire in wires:
            wire.cut()
        self._later(down_us, self.start)

    def _sweep(self, life: int) -> None:
        if self.core is not None and life == self._life:
            assert self.sessions is not None
            self.sessions.expire(now=self.now())
            self._later(SECOND_US, self._sweep, life)

    # -- connections -----------------------------------------------------------------------------

    def let_in(self, wire: Wire, agent: str, key: str, seen: int) -> bool:
        """A client is there; false when nobody answers."""
        sessions = self.sessions
        if sessions is None or not wire.open:
            return False
        self.wires.append(wire)
        session, known = sessions.open(
            f"{agent} {key}", agent, wire, seen=seen, alongside=False, now=self.now()
        )
        wire.session = session
        grace_s = GRACE_US / SECOND_US
        wire.welcome(HostWelcome(VERSION, self.name, self._life, agent, known, grace_s, WINDOW))
        sessions.resend(session)
        return True

    def lost(self, wire: Wire) -> None:
        """The server notices that a connection is gone."""
        if wire in self.wires:  # else it was one of an earlier life
            self.wires.remove(wire)
            if self.sessions is not None and wire.session is not None:
                self.sessions.lost(wire.session, wire, now=self.now())

    def hear(self, wire: Wire, session: HostSession, frames: list[bytes]) -> None:
        """Frames came from a client, as `node.client_link` hears them."""
        at = 0
        while at < len(frames) and self.sessions is not None and session.link is wire:
            at = self._hear_plain(session, frames, at)
            if at < len(frames):
                self._hear_one(session, frames[at])
                at += 1

    def _hear_plain(self, session: HostSession, frames: list[bytes], at: int) -> int:
        """Plain calls from a place on are told a few at a time; the place where that ended."""
        while at < len(frames) and self.sessions is not None:
            asked: list[tuple[int, int, Request]] = []
            for data in frames[at : at + SOME]:
                call = read_common(data)
                if call is None:
                    frame = unpack_frame(data)
                    if not goes_along(frame):
                        break
                    call = read_call(frame, _no_laws)
                asked.append(call)
            if not asked:
                break
            at += self.sessions.ask_many(session, asked)
        return at

    def _hear_one(self, session: HostSession, data: bytes) -> None:
        sessions, frame = self.sessions, unpack_frame(data)
        assert sessions is not None, "it is up"
        if frame[0] == SEEN:
            sessions.seen(session, frame[1])
        elif frame[0] == BYE:
            sessions.end(session)
        else:
            number, seen, request = read_call(frame, _no_laws)
            if session.outbox and session.outbox[0][0] <= seen:
                sessions.seen(session, seen)
            sessions.ask(session, number, request)

    # -- what sessions ask of it (`sessions.host_session.Gate`) -----------------------------------

    def tell(self, event: Event) -> None:
        if self._stepping:
            self._inbox.append(event)
            return
        self._tell_some((event,))

    def _tell_some(self, events: Sequence[Event]) -> int:
        self._stepping = True
        try:
            done = self._step(events)
            while self._inbox:
                self._step((self._inbox.popleft(),))
        finally:
            self._stepping = False
        core = self.core
        assert core is not None, "it is up"
        due = core.next_deadline()
        if due is not None:
            self._later(due - self.now(), self._wake, self._life)
        return done

    def _step(self, events: Sequence[Event]) -> int:
        sessions, core = self.sessions, self.core
        assert core is not None, "it is up"
        done, effects = core.handle_many(events, now=self.now())
        if not effects:
            return done
        first = effects[0]
        todo: Sequence[Effect | Outgoing] = effects
        kept: tuple[KeptForClient, ...] = ()
        if sessions is not None:
            todo, kept = sessions.outputs(effects, isinstance(first, Persist))
        if isinstance(first, Persist):
            self._behind.append((self._last + 1, todo))
            self._put(Step(first.changes, kept))
        elif self._behind:
            self._behind.append((self._last, todo))
        else:
            self._do(todo)
        return done

    def _wake(self, life: int) -> None:
        if self.core is not None and life == self._life:
            due = self.core.next_deadline()
            if due is not None and due <= self.now():
                self.tell(Tick())

    def tell_many(self, calls: Sequence[Event]) -> int:
        if self._stepping:
            self.tell(calls[0])
            return 1
        return self._tell_some(calls)

    def seat(self, agent: str, *, follows: str | None) -> None:
        assert self.core is not None, "it is up"
        if not self.core.has(agent):
            self.tell(Arrive(agent))
        elif self.core.spaces.is_away(agent):
            self.tell(Attended(agent))

    def vacate(self, agent: str) -> None:
        self.tell(Unattended((agent,)))

    def keep(self, kept: Sequence[KeptForClient]) -> None:
        self._put(Step((), tuple(kept)))

    def bring(self, out: Outgoing, kept: Sequence[KeptForClient]) -> None:
        self._behind.append((self._last + 1, [out]))
        self._put(Step((), tuple(kept)))

    def unreleased(self) -> Iterator[Outgoing]:
        for _, effects in self._behind:
            yield from [effect for effect in effects if isinstance(effect, Outgoing)]

    def trim(self, key: str, number: int) -> None:
        self._trims.append((key, number))
        self._write_soon()

    def note(self, what: str, facts: Mapping[str, object]) -> None:
        self.notes.append((what, facts))

    def here(self, agent: str) -> bool:
        return self.core is not None and self.core.has(agent)

    def held(self, agent: str, law: str) -> bool:
        return False

    def address_of(self, host: str) -> str:
        return ""

    # -- its disk --------------------------------------------------------------------------------

    def _put(self, step: Step) -> None:
        self._last += 1
        self._steps.append(step)
        self._write_soon()

    def _write_soon(self) -> None:
        if not self._writing:
            self._writing = True
            self._later(self.rng.randrange(*DISK_US), self._flush, self._life)

    def _flush(self, life: int) -> None:
        if life != self._life or self.core is None:
            return
        self._writing = False
        steps, self._steps = self._steps, []
        self.store.commit(steps, at=self.now())
        trims, self._trims = self._trims, []
        for key, number in trims:
            self.store.trim(key, number)
        self._kept += len(steps)
        if self.trap:
            self.crash(self.rng.randrange(SECOND_US // 5, 3 * SECOND_US))
            return
        while self._behind and self._behind[0][0] <= self._kept:
            self._do(self._behind.popleft()[1])

    def _do(self, effects: Sequence[Effect | Outgoing]) -> None:
        for effect in effects:
            if isinstance(effect, Outgoing):
                assert self.sessions is not None, "it is up"
                self.sessions.release(effect)
            elif isinstance(effect, Halted) and self.sessions is not None:
                self.sessions.halt(effect.agent, effect.error, ended=effect.ended)


def _no_laws(law: Any) -> Any:
    raise AssertionError(f"nobody is under a law here: {law}")
