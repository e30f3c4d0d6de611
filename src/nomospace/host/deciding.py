"""Rulings that take longer than a slice, and what waits for them.

A law may use a hundred thousand units on one event, and a host has one loop. So a ruling is begun
in the step that brings its event, with a slice of these units. Nearly all need less. What is not
decided then is parked here; the host wants to hear the time at once, whoever drives it serves what
has come in before, and each tick is a slice (`control.deciding`). When it is decided, that step
writes down and carries out what the first one would have.

While a member decides, what comes to it waits in order: its obligations too. What a client asks is
forgotten in a crash, and asked again; all else is kept as *held events* (`suspending`), and ruled
on after a restart. Rulings that a step cannot go on without (whether a space gives a tuple away)
do not wait: they are made at once, and what is being decided there begins anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from nomospace.calls.addresses import owner_of
from nomospace.calls.problems import Busy
from nomospace.control import Decision, Event, Membership, Ruling, Undecided
from nomospace.errors import NomospaceError
from nomospace.host.outstanding import Pending
from nomospace.host.part import HostPart
from nomospace.terms.values import weight

if TYPE_CHECKING:
    from nomospace.host.ports import Home, HostParts

SLICE_UNITS: Final = 4_000
"""The units that one ruling may take in one step: 1 to 6 ms."""
STEP_UNITS: Final = 10_000
"""The units after which a step lets no more obligations fall due, and a tick goes on with no
other ruling. After twice as many, messages that a step causes wait for a later one."""
RULING_UNITS: Final = 50
"""What a ruling counts at the least: writing it down takes about as long."""
ACTIVE_MAX: Final = 8
"""How many members decide at a time; each may take some megabytes. Others wait for their turn."""
WAITING_MAX: Final = 1_000
"""How many events may wait for one member that decides."""
WAITING_BYTES_MAX: Final = 16_777_216
"""How many bytes they may have."""
WAITING_ALL_MAX: Final = 20_000
"""How many events may wait for all members of a host that decide."""
WAITING_ALL_BYTES_MAX: Final = 67_108_864
"""How many bytes they may have."""
RESTARTS_MAX: Final = 3
"""How many times a ruling begins anew for others that cannot wait; then it is made at once."""


@dataclass(slots=True, eq=False)
class Case:
    """A member that decides: on the first of its events."""

    home: Home
    member: Membership
    events: deque[Pending] = field(default_factory=deque)
    bytes: int = 0  # of their events
    decision: Decision | None = None
    restarts: int = 0
    took_ns: int = 0


class Deciding(HostPart):
    """The members of one host that decide."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._slice = SLICE_UNITS
        self.slice = SLICE_UNITS
        """The units that a ruling may take in this step; 0 for all that there are."""
        self.step = STEP_UNITS
        """The units that each step begins with."""
        self.left = STEP_UNITS
        """What is left of them in this one."""
        self.cases: dict[Home, Case] = {}
        self.timed = self.cases
        self._active: deque[Case] = deque()
        self._line: deque[Case] = deque()
        self._paused: list[Case] = []
        self._count = self._bytes = 0

    @contextmanager
    def uncut(self) -> Iterator[None]:
        """Rule to the end for a listener: it is part of the step that it runs in."""
        outer, self.slice = self.slice, 0
        try:
            yield
        finally:
            self.slice = outer

    @property
    def late(self) -> bool:
        """Whether this step has taken far too long, so that what can wait does."""
        return self.left < -self.step and self.slice > 0

    def stays(self, agent: str) -> str:
        """Why an agent cannot leave now; empty when it can."""
        mine = self._host.governing.memberships(agent) if self.cases else ()
        if any((one.home, one.law.hash) in self.cases for one in mine):
            return "its law is deciding on what came before; move again in a moment"
        return ""

    def full(self, home: Home) -> bool:
        """Whether nothing more can wait for a member."""
        case = self.cases.get(home)
        return case is not None and (
            len(case.events) >= WAITING_MAX
            or case.bytes >= WAITING_BYTES_MAX
            or self._count >= WAITING_ALL_MAX
            or self._bytes >= WAITING_ALL_BYTES_MAX
        )

    # -- what comes in -----------------------------------------------------------------------

    def begin(self, member: Membership, about: Undecided, pending: Pending | None) -> None:
        """A member could not decide in this step; `pending` is the event that it was told."""
        home = (member.home, member.law.hash)
        case = self.cases[home] = Case(home, member)
        self._line.append(case)
        self._decide(case, about)
        if pending is not None:
            self._add(case, pending)

    def wait(self, member: Membership, pending: Pending) -> None:
        """Let an event wait for its turn; raises `Busy` for a call past the bound."""
        home = (member.home, member.law.hash)
        if not self.full(home):
            case = self.cases.get(home)
            if case is None:
                case = self.cases[home] = Case(home, member)
                self._line.append(case)
                self._host.governing.wait_for_resume((member,))
            self._add(case, pending)
        elif not pending.durable:
            raise Busy(what=f"what waits for the law to rule on at {home[0]}", limit=WAITING_MAX)
        else:
            self._step.note("too-much-to-decide", home=home[0], law=home[1])

    def _add(self, case: Case, pending: Pending) -> None:
        if pending.durable and not pending.number:
            pending.number = self._host.suspending.keep(case.home, pending.event)
        case.events.append(pending)
        self._weigh(case, pending, 1)

    def _weigh(self, case: Case, pending: Pending, by: int) -> None:
        """Count an event that waits, or one that waits no more."""
        size = by * weight(pending.event.args)
        case.bytes += size
        self._bytes += size
        self._count += by

    def _decide(self, case: Case, about: Undecided) -> None:
        """Go on with a decision; one on an obligation comes before what else waits."""
        case.decision = Decision(case.member, about, slice=self._slice)
        if about.place is not None:
            case.events.appendleft(Pending(about.event))
            self._weigh(case, case.events[0], 1)

    def overtake(self, home: Home) -> None:
        """An event is ruled on at once: what is being decided begins anew after it."""
        case = self.cases.get(home)
        if case is not None and case.decision is not None:
            case.restarts += 1
            case.decision.give_up()

    # -- slices ------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """At once, while a member decides."""
        return self._step.now if self._active or self._line else None

    def tick(self) -> None:
        """Go on for a slice, or for several short rulings; members take turns."""
        enough = max(0, self.left - self._slice)
        while self.left > enough:
            while self._line and len(self._active) < ACTIVE_MAX:
                self._active.append(self._line.popleft())
            if not self._active:
                return
            case = self._active[0]
            if self._host.suspending.stops(case.home):
                self._active.popleft()
                if case.decision is not None:
                    case.decision.give_up()
                self._paused.append(case)
                continue
            self._active.rotate(-1)
            self._go_on(case)

    def resume(self) -> None:
        """Somebody is suspended no more: whoever still is will be found out."""
        self._line.extend(self._paused)
        self._paused.clear()

    def _go_on(self, case: Case) -> None:
        """A slice for one member."""
        governing, member = self._host.governing, case.member
        pending = case.events[0]
        if case.decision is None:
            found = governing.attempt(member, pending.event, pending.came)
            if isinstance(found, Undecided):
                self._decide(case, found)
                return
            ruling = found
        else:
            began = self._step.stopwatch()
            effects = case.decision.go_on(now=self._step.now)
            while effects is None and case.restarts >= RESTARTS_MAX:
                effects = case.decision.go_on(now=self._step.now)
            case.took_ns += self._step.stopwatch() - began
            self.left -= self._slice
            if effects is None:
                return
            case.decision = None
            case.restarts = 0
            ruling = governing.decided(member, effects, pending.event, pending.came, case.took_ns)
            case.took_ns = 0
        self._next(case)
        if not case.events:
            self._end(case)
        self._tell(pending, ruling)
        if member.ended and self.cases.get(case.home) is case:
            self._end(case)

    def _tell(self, pending: Pending, ruling: Ruling) -> None:
        if pending.then is not None:
            try:
                pending.then(ruling)
            except NomospaceError as error:
                self._step.fail(pending.op, error)
        self._host.governing.drain(share=pending.share)

    def _end(self, case: Case) -> None:
        """Nothing is left to decide for a member; or it has quit, and rules on nothing more."""
        del self.cases[case.home]
        for line in (self._active, self._line, self._paused):
            if case in line:
                line.remove(case)
        self._host.governing.note_due(case.member)
        while case.events:
            pending = self._next(case)
            self._tell(pending, no_ruling(case.member, pending.event, self._step.now))

    def _next(self, case: Case) -> Pending:
        """An event waits no more."""
        pending = case.events.popleft()
        self._weigh(case, pending, -1)
        if pending.number:
            self._host.suspending.served(case.home, pending.number)
        return pending

    # -- those who leave ---------------------------------------------------------------------

    def end(self, agent: str, error: NomospaceError) -> None:
        """Answer the calls of an agent that wait; what arrived for it waits on."""
        for case in [case for case in self.cases.values() if owner_of(case.home[0]) == agent]:
            calls = [one for one in case.events if one.then is not None and not one.durable]
            if case.decision is not None and case.events[0] in calls:
                case.decision.give_up()
                case.decision = None
            for one in calls:
                case.events.remove(one)
                self._weigh(case, one, -1)
                self._step.fail(one.op, error)
            if not case.events:
                self._end(case)

    def finish(self, agent: str) -> None:
        """Decide all that waits for an agent in this step: it is taken out of its host."""
        for case in [case for case in self.cases.values() if owner_of(case.home[0]) == agent]:
            while self.cases.get(case.home) is case:
                self._go_on(case)


def no_ruling(member: Membership, event: Event, now: int) -> Ruling:
    """What is said of an event that nobody rules on: nothing, and nothing is written down."""
    return Ruling(member.seq, now, member.home, member.law.hash, event, None)
