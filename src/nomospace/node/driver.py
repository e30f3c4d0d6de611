"""The driver of a host's core in an event loop: facts in, effects out, and what has to be on disk.

It tells the core what happens and the time, and carries out its effects in order. It decides
nothing. What must survive is on disk before anything that stands after it is shown to anyone
(`keeper`); later steps queue up behind it, because what they show may rest on it. Without a store
the host forgets all when it ends. While the store cannot take anything (a full disk, a database
that is away) calls are refused with the reason, and time stands still for the core; a store that
fails otherwise ends the host: going on, it would show what it has not kept.

The core is never entered twice: what a strong listener asks for inside a step (another reaction,
say) is told to the core when the step is over.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, Protocol, cast

from nomospace.calls.problems import Busy
from nomospace.calls.requests import Cancel, LawText
from nomospace.client import Closed, Report, check_name
from nomospace.errors import NomospaceError, Unavailable
from nomospace.host.calls import (
    Abandoned,
    Asked,
    Call,
    Event,
    Heard,
    Loaded,
    MonitorSpace,
    PaceLimits,
    PutBack,
    TablesAnswered,
    Tick,
)
from nomospace.host.changes import SmallKept
from nomospace.host.core import Host as Core
from nomospace.host.effects import (
    JOURNALED,
    Answer,
    AskTables,
    Came,
    Effect,
    Halted,
    Left,
    PeerTold,
    Persist,
    Transmit,
)
from nomospace.host.moving import Coming, MayCome
from nomospace.law.program import known, remember
from nomospace.node.asking import TableAsker
from nomospace.node.clock import ClockMark, steady_us
from nomospace.node.keeper import WAITING_MAX, Keeper
from nomospace.node.links import HostLinks
from nomospace.node.local_connection import LocalClients, LocalConnection
from nomospace.node.peer_questions import PeerQuestions
from nomospace.node.telemetry import Tracing
from nomospace.node.turns import GoingOn, Turns
from nomospace.node.working import TooManyJobs, Workers
from nomospace.protocols.courier import Parcel
from nomospace.protocols.lease import HeldLease, HostLeaseEnded
from nomospace.protocols.messages import Relay, View
from nomospace.sessions.host_session import Outgoing
from nomospace.sessions.host_sessions import HostSessions
from nomospace.store.interface import KeptForClient, Step, StepRecords, Store
from nomospace.terms import Source
from nomospace.wire.admin import A, OperatorQuestion

INBOX_MAX: Final = 100_000
"""How many calls of strong listeners may wait for the end of the step they run in."""
ASIDE_S: Final = 0.05
ASIDE_MAX: Final = 2_000
"""Records of steps that are not durable are kept after so long, or when there are so many."""
READING_MAX: Final = 64
"""How many frames of other hosts may wait for the laws that they bring."""
RING_S_MIN: Final = 0.001
"""The shortest time that a timer is set for: loops that count in milliseconds take less for
nothing, and would come round and round until it is over."""
LOAD_ROWS: Final = 2_000
"""How many tuples of earlier lives are read at a time, between other things."""

_log = logging.getLogger("nomospace.host")


class Recorder(Protocol):
    """Who writes the journal of a host."""

    def records(self, effects: Iterable[object], now: int) -> StepRecords:
        """What the journal says of a step, and before it of all that was set aside."""

    def set_aside(self, effects: Iterable[object], now: int) -> int:
        """Take in what a step says that nobody waits for, or a record; how many wait now."""

    def restore(self, small: dict[str, bytes], last: int) -> None:
        """Go on counting from what was kept at the end of a store's last life; takes it away."""


class Driver(ABC):
    """Drives the core of one host, from its start to its end. `local.Host` is the rest of it."""

    def __init__(
        self,
        name: str,
        *,
        network: HostLinks | None,
        store: Store | None,
        recorder: Recorder | None,
        on_report: Callable[[Report], None] | None,
    ) -> None:
        self.name = check_name("a host", name)
        self.on_report = on_report
        self._network = network
        self._store = store
        self._recorder = recorder
        self._core: Core | None = None
        self.lease: HeldLease | None = None
        """What it may answer under, where several processes stand for it."""
        self.on_broken: Callable[[BaseException], None] = lambda _: None
        """Told before all others why the host cannot go on."""
        self._keeper: Keeper | None = None
        self._behind: deque[tuple[int, Sequence[Effect | Outgoing]]] = deque()
        """Effects that may be seen once a step is on disk, with the number of that step."""
        self._keeping = False
        """Whether records that nobody waits for are kept soon."""
        self.awaited: deque[tuple[int, asyncio.Future[None]]] = deque()
        """Who waits until a step counts (`small`)."""
        self.small: dict[str, bytes] = {}
        """What parts beside the core have kept, by name."""
        self._sessions: HostSessions | None = None
        self._now: Callable[[], int] = self._time_passed
        """Microseconds, UTC, that never go back."""
        self._loop: asyncio.AbstractEventLoop
        self._time: Callable[[], float]
        self._origin = 0
        """What the host's clock shows when the loop's shows 0."""
        self._local = LocalClients(
            self._tell,
            connected=lambda _, who: self.connected(who),
            closed=self.vacate,
            report=self._report,
            first=secrets.randbits(30) << 32,
        )
        self.on_halted: list[Callable[[str, NomospaceError], None]] = []
        """Who else is told of an agent that is suspended, or has ended: those who act as it."""
        self._tracing = Tracing(self.name)
        self.steps = 0
        """How many steps the core has made."""
        self.calls: Counter[type] = Counter()
        """How many calls agents have made, by kind."""
        self._stepping = False
        self._looking = False
        self._inbox: deque[Event] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0
        self._asker: TableAsker | None = None
        self.peer_questions = PeerQuestions(self._tell)
        self._view: View | None = None
        self.work: Workers | None = None
        """Who compiles the laws that agents from elsewhere bring, if not this loop."""
        self._reading: dict[asyncio.Task[None], None] = {}
        """Frames that wait for their laws to be read."""
        self._watchers: list[asyncio.Future[None]] = []
        """Who waits for another view of the group."""
        self.turns = Turns()
        """Whose turn it is: clients', and the core's own when it wants to go on at once."""
        self._going_on = GoingOn(self._go_on)

    # -- what the rest of a host brings --------------------------------------------------------

    @abstractmethod
    def connected(self, who: str) -> bool:
        """Whether an agent, or a host, is connected with this host now."""

    def _led_to(self, agent: str) -> str:
        """The host that a client is led to for its agent; empty when this is the one."""
        return ""

    def _address_of(self, host: str) -> str:
        """Where clients find another host; empty when that is not known."""
        return str(getattr(self._network, "address_of", lambda _: "")(host))

    @abstractmethod
    def vacate(self, agent: str) -> None:
        """A program speaks for an agent no more: unless others do, the agent has departed."""

    @abstractmethod
    def _left(self, agent: str) -> None:
        """An agent is on its way to another host, or has ended: its program here stops."""

    @abstractmethod
    def _came(self, came: Came) -> None:
        """An agent came, or was sent back: its program begins."""

    @abstractmethod
    def _end(self) -> None:
        """Stop at once, as a crash would; whoever waits is told."""

    # -- driving the core --------------------------------------------------------------------

    def _running(self) -> Core:
        """What pages of operators look at too; nobody is shown anything without the lease."""
        if self._core is None or (self.lease is not None and not self._holds(self.lease)):
            raise Closed(what=f"host {self.name}")
        return self._core

    def _time_passed(self) -> int:
        """The clock at the start, and the loop's since."""
        return self._origin + round(self._time() * 1e6)

    def _mark(self) -> ClockMark:
        return ClockMark(self._now())

    def _tell(self, event: Event) -> None:
        """Tell the core one fact and carry out what follows."""
        if self._core is None:
            raise Closed(what=f"host {self.name}")
        keeper = self._keeper
        if keeper is not None and (keeper.trouble or keeper.full) and not _ends_a_wait(event):
            self._put_off(event, keeper)
        elif not self._stepping:
            self._step((event,))
        elif len(self._inbox) >= INBOX_MAX:
            raise Busy(what="calls made inside one step", limit=INBOX_MAX)
        else:
            self._inbox.append(event)

    def _step(self, events: Sequence[Event]) -> int:
        """Have the core make a step of some facts, and carry out what follows; how many it took."""
        core = self._core
        assert core is not None, "it was looked for"
        if self.lease is not None and not self._holds(self.lease):
            raise Closed(what=f"host {self.name}")
        self._stepping = True
        if self._tracing.on:
            self._begin_span(events[0])
            events = events[:1]
        now = self._now()
        try:
            done, effects = core.handle_many(events, now=now)
            self.steps += done
            first = events[0]
            if type(first) is Call:  # and so are those that make one step with it
                if done == 1:
                    self.calls[type(first.request)] += 1
                else:
                    self.calls.update(type(e.request) for e in events[:done] if type(e) is Call)
            if effects:
                self._carry(effects, now)
            while self._inbox and self._core is not None:
                now = self._now()
                self._carry(core.handle(self._inbox.popleft(), now=now), now)
        except BaseException as error:
            # A core raises nothing that a caller could mend, and a store that fails leaves the
            # core ahead of the disk: what follows would be seen by others and then forgotten.
            self._broken(error)
            raise
        finally:
            self._stepping = False
        if self._core is None:  # the store broke under it
            raise Closed(what=f"host {self.name}")
        if core.stirred and not self._looking:
            # When it next wants to hear the time is asked once in a turn of the loop: no timer
            # could ring before the turn is over anyway.
            self._looking = True
            self._loop.call_soon(self._look)
        return done

    def _holds(self, lease: HeldLease) -> bool:
        """Whether anything may be answered; if not, the host ends."""
        late_us = steady_us() - lease.until
        if late_us >= 0:
            self._broken(HostLeaseEnded(host=self.name, late_ms=late_us // 1000))
        return late_us < 0

    def _begin_span(self, event: Event) -> None:
        if isinstance(event, Call):
            space = getattr(event.request, "space", "")
            self._tracing.begin(event.op, _named(event.request), agent=event.agent, space=space)

    def _close_spans(self, effects: list[Effect]) -> None:
        """Close the spans of calls that a step answers: so that of a take covers its wait."""
        for effect in effects:
            if isinstance(effect, Answer):
                self._tracing.end(effect.op, effect.error)

    def _put_off(self, event: Event, keeper: Keeper) -> None:
        """The store can take nothing now: refuse calls, and let all else come again."""
        if isinstance(event, Call):
            self._local.answer(Answer(event.op, None, self._why_not(keeper)))
        elif not isinstance(event, Heard | Tick):  # those come again by themselves
            raise self._why_not(keeper)

    def _why_not(self, keeper: Keeper) -> NomospaceError:
        return keeper.trouble or Busy(what="steps that wait for the disk", limit=WAITING_MAX)

    def watch(self, space: str, limits: PaceLimits) -> None:
        """Have a space watch its load, as soon as it is there; for `Operating`."""
        self._tell(MonitorSpace(space, limits))

    async def operate(self, question: OperatorQuestion[A]) -> A:
        """Carry out what an operator asks of a governed space; for `Operating`."""
        return await LocalConnection(self._local, "").operate(question)

    def _tell_or_raise(self, event: Event) -> None:
        """Tell the core a fact of a client's; raises why that cannot be just now."""
        keeper = self._keeper
        if keeper is not None and (keeper.trouble or keeper.full) and not _ends_a_wait(event):
            raise self._why_not(keeper)
        self._tell(event)

    def _tell_many(self, events: Sequence[Event]) -> int:
        """Tell the core some facts of a client's, as many as it makes one step of; how many.

        Raises why that cannot be just now.
        """
        keeper = self._keeper
        if keeper is not None and (keeper.trouble is not None or keeper.full):
            raise self._why_not(keeper)
        if self._stepping or self._core is None:
            self._tell(events[0])
            return 1
        return self._step(events)

    def _carry(self, effects: list[Effect], now: int) -> None:
        """Do what a step orders: now, or when all that it rests on is on disk."""
        if not effects:
            return
        if self._tracing.on:
            self._close_spans(effects)
        todo: Sequence[Effect | Outgoing] = effects
        keeper, first = self._keeper, effects[0]
        persists = type(first) is Persist
        told, recorder = _UNRECORDED, self._recorder
        # Before sessions take out what is for clients, and what only the journal wants.
        if recorder is not None and keeper is not None:
            if persists:
                told = recorder.records(effects, now)
            else:
                waiting = recorder.set_aside(effects, now)
                if waiting and (not self._keeping or waiting >= ASIDE_MAX):
                    self._set_aside(waiting)
        kept: tuple[KeptForClient, ...] = ()
        if self._sessions is not None:
            todo, kept = self._sessions.outputs(effects, persists)
        if keeper is None:
            self._do(todo)
            return
        if persists:
            assert isinstance(first, Persist)
            self._behind.append((keeper.last + 1, todo))
            keeper.put(Step(first.changes, kept, *told))
            return
        if self._behind:
            self._behind.append((keeper.last, todo))
        else:
            self._do(todo)

    def _set_aside(self, records: int) -> None:
        """So many records wait: they are kept soon, with others."""
        if records >= ASIDE_MAX:
            self._keep_aside()
        elif not self._keeping:
            self._keeping = True
            self._loop.call_later(ASIDE_S, self._keep_aside)

    def _keep_aside(self) -> None:
        self._keeping = False
        if self._keeper is not None and self._recorder is not None:
            records, _, counts = self._recorder.records((), self._now())
            if records:
                self._keeper.put(Step((), (), records, (), counts))

    def keep_small(self, name: str, body: bytes) -> None:
        """Keep something small through restarts, under a name; empty, no more."""
        if body:
            self.small[name] = body
        else:
            self.small.pop(name, None)
        if self._keeper is not None:
            self._keeper.put(Step((SmallKept(name, body),)))

    def _kept(self, number: int) -> None:
        """Everything up to a step is on disk: what stands behind it may be seen."""
        if self.lease is not None and not self._holds(self.lease):
            return
        behind, turns = self._behind, self.turns
        turns.gathering = not self._stepping  # else the turn that it is in sends what it answers
        try:
            while behind and behind[0][0] <= number:
                self._do(behind.popleft()[1])
            while self.awaited and self.awaited[0][0] <= number:
                if not (told := self.awaited.popleft()[1]).cancelled():
                    told.set_result(None)
        finally:
            turns.kept(number)

    def _troubled(self, trouble: Unavailable | None) -> None:
        if trouble is None:
            self._report(Report("the store takes steps again", {"host": self.name}))
            self._ring()
        else:
            self._report(Report("the store takes no steps", {"host": self.name}, trouble))

    def _broken(self, error: BaseException) -> None:
        self.on_broken(error)
        self._report(Report("a host stopped", {"host": self.name}, error))
        self._end()

    def _do(self, effects: Sequence[Effect | Outgoing]) -> None:
        for effect in effects:
            kind = type(effect)
            if type(effect) is Outgoing:
                assert self._sessions is not None
                self._sessions.release(effect)
            elif type(effect) is Answer:
                self._local.answer(effect)
            elif kind in JOURNALED:
                continue
            elif isinstance(effect, Transmit):
                if self._network is not None:
                    self._network.transmit(self.name, effect.to, effect.frame)
            elif isinstance(effect, Left):
                self._left(effect.agent)
            elif isinstance(effect, Came):
                self._came(effect)
            elif isinstance(effect, AskTables):
                self._ask_tables(effect)
            elif isinstance(effect, PeerTold):
                self.peer_questions.told(effect)
            elif isinstance(effect, Halted):
                if self._sessions is not None:
                    self._sessions.halt(effect.agent, effect.error, ended=effect.ended)
                for told in self.on_halted:
                    told(effect.agent, effect.error)
                if effect.ended:
                    self._left(effect.agent)
            else:
                self._local.take_in(cast("Effect", effect))

    def _ask_tables(self, effect: AskTables) -> None:
        assert self._store is not None, "whose tables are asked"
        if self._asker is None:
            self._asker = TableAsker(self._store.tables, self._answered, self._broken)
        self._asker.ask(effect.question)

    def _answered(self, event: TablesAnswered) -> None:
        """Rows have come; while the store is in trouble they wait with everything else."""
        if self._core is None:
            return
        keeper = self._keeper
        if keeper is not None and (keeper.trouble is not None or keeper.full):
            self._loop.call_later(ASIDE_S, self._answered, event)
            return
        with suppress(Exception):  # it is reported, and the host has stopped
            self._tell(event)

    def _look(self) -> None:
        """After a turn with events: wake who waits for another view, and set the timer."""
        self._looking = False
        core = self._core
        if core is None:
            return
        if self._watchers and core.view is not self._view:
            self._view = core.view
            watchers, self._watchers = self._watchers, []
            for future in watchers:
                if not future.done():
                    future.set_result(None)
        due = core.next_deadline()
        if due is not None and (self._timer is None or due < self._timer_due):
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            delay_s = (due - self._now()) / 1e6
            if delay_s <= 0:
                self._going_on.soon(self.turns)
            else:
                self._timer_due = due
                self._timer = self._loop.call_later(max(delay_s, RING_S_MIN), self._ring)

    def _ring(self) -> None:
        """It is time for something: it has its turn among what clients ask for."""
        self._timer = None
        self._going_on.soon(self.turns)

    def _go_on(self) -> None:
        core = self._core
        if core is None or self._timer is not None:
            return
        due = core.next_deadline()
        if due is not None and due <= self._now():
            with suppress(Exception):  # it is reported, and the host has stopped
                self._tell(Tick())
        else:  # it has moved since the timer was set
            self._look()

    def _hear(self, neighbour: str, frame: object) -> None:
        if self._core is not None:
            parcel = frame.body if frame.__class__ is Relay else frame
            # Most frames bring nobody: they are not asked for laws.
            if self.work is not None and isinstance(getattr(parcel, "what", None), _COMING):
                unread = [text for text in brought(parcel) if not self._has_read(text)]
                if unread:
                    self._hear_later(neighbour, frame, unread)
                    return
            with suppress(Exception):  # it is reported, and the host has stopped
                self._tell(Heard(neighbour, frame))

    def _has_read(self, text: LawText) -> bool:
        if self._running().laws.knows(text):
            return True
        return known(Source(text.text, text.name)) is not None

    def _hear_later(self, neighbour: str, frame: object, texts: list[LawText]) -> None:
        """Hear a frame when the laws that it brings have been read, beside the loop.

        What comes meanwhile is heard before it, as if it had been slower on its way. Where too many
        wait already it is dropped: it is sent again.
        """
        if len(self._reading) >= READING_MAX:
            return

        async def read() -> None:
            assert self.work is not None, "it was there"
            for text in texts:
                try:
                    await self.work.law(text.text, text.name, neighbour)
                except (Unavailable, TooManyJobs):
                    return
                except NomospaceError as error:  # the core says so to whoever sent it
                    remember(Source(text.text, text.name), error)
            self._hear(neighbour, frame)

        task = self._loop.create_task(read())
        self._reading[task] = None
        task.add_done_callback(lambda task: self._reading.pop(task, None))

    def _report(self, report: Report) -> None:
        if self.on_report is None:
            _log.warning("%s: %s", self.name, report, exc_info=report.error)
            return
        try:
            self.on_report(report)
        except Exception:
            _log.exception("%s: on_report failed on %s", self.name, report)

    def _load(self, after: int) -> None:
        """Tell the core some of the tuples that its earlier lives have kept; the others soon."""
        core, store = self._core, self._store
        if core is None or store is None:
            return
        try:
            rows, more = store.rows(after, LOAD_ROWS)
        except Unavailable:  # its database may be failing over: it reads on when that is back
            self._loop.call_later(ASIDE_S, self._load, after)
            return
        except BaseException as error:
            self._broken(error)
            return
        now = self._now()
        self._carry(core.handle(Loaded(tuple(rows), more is None), now=now), now)
        if more is not None:
            self._loop.call_soon(self._load, more)
        else:
            self._look()


def brought(frame: object) -> tuple[LawText, ...]:
    """The laws that a frame from another host brings along, with an agent that comes."""
    parcel = frame.body if frame.__class__ is Relay else frame
    what = parcel.what if parcel.__class__ is Parcel else None
    return what.laws if isinstance(what, _COMING) else ()


_COMING: Final = (MayCome, Coming)


def _named(request: Asked) -> str:
    """What a request is called in traces and metrics: the way of a seek, else its kind."""
    return str(getattr(request, "how", "")) or type(request).__name__.lower()


def _ends_a_wait(event: Event) -> bool:
    """Whether somebody waits no longer, or a tuple of one who did not goes back.

    That is said once, so it is taken in whatever the store.
    """
    return isinstance(event.request if type(event) is Call else event, Cancel | Abandoned | PutBack)


_UNRECORDED: Final = StepRecords((), (), {})
