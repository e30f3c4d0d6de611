"""The clockwork: members, what is on its way between them, what falls due, and what is told of it.

At each moment one thing happens: a message arrives, an obligation falls due, a person does
something. What the controller orders of it is put on the agenda: a forwarded message arrives a few
milliseconds later, a delivered one is in its person's hands at once. Agents move between hosts now
and then; on their way they hear nothing, and their obligations wait, as with real hosts.

A message to another host goes by its addressee's home, which knows where the agent is: one hop to
those who are at home, or whose home it comes from, two where the home passes it on. How long a
ruling took is what the clock says that is handed in; without one, nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from random import Random
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from nomospace.control import (
    TICK,
    Deliver,
    Effect,
    Event,
    Forward,
    Membership,
    RecordRuling,
    Ruling,
    Snapshot,
    arrived,
    first_state,
    sent,
)
from nomospace.law import CompiledLaw
from nomospace.terms import Term

CHECKPOINT_EVERY: Final = 1_000
"""So many rulings of a member, and its whole state is told again, as hosts do."""
LATENCY_US: Final = (800, 40_000)
"""How long a message is on its way, at least and at most."""
MOVE_US: Final = (20_000, 900_000)
"""How long an agent is on its way."""
MOVES: Final = 0.02
"""The share of what people do that is to go to another host, where there are several."""
WAITING_MAX: Final = 10_000
"""How many messages wait for an agent on its way; what comes then is lost, as in a mailbox."""

Deed: TypeAlias = Callable[[], None]


class JournalWord(NamedTuple):
    """What the journal of a host has to say: a ruling, or a whole state."""

    host: str
    at: int
    what: Ruling | Snapshot
    hops: int = 0
    took_ns: int = 0


class TrafficPerson(Protocol):
    """Whoever is behind a member."""

    def receive(self, sender: str, message: Term) -> None:
        """A message was delivered."""


class TrafficMember:
    """A membership, where it is, and who is behind it."""

    __slots__ = ("away", "controller", "due", "host", "person", "since", "waiting")

    def __init__(self, controller: Membership, host: str, person: TrafficPerson) -> None:
        self.controller = controller
        self.host = host
        self.person = person
        self.due: int | None = None
        self.since = 0
        self.away = False
        self.waiting: deque[tuple[Event, int]] = deque(maxlen=WAITING_MAX)


class Traffic:
    """A community at work; iterate over `run` for what its journals say.

    >>> from nomospace.law import load
    >>> law = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
    >>> traffic = Traffic(law, Random(1), hosts=("ward",), now=0)
    >>> class Silent:
    ...     def receive(self, sender, message): pass
    >>> traffic.join("ann@ward", Silent()); traffic.join("bob@ward", Silent())
    >>> traffic.at(5, lambda: traffic.send("ann@ward", "hi", "bob@ward"))
    >>> [told.what.event.kind for told in traffic.run(10) if isinstance(told.what, Ruling)]
    ['adopted', 'adopted', 'sent', 'arrived']
    """

    def __init__(
        self,
        law: CompiledLaw,
        rng: Random,
        *,
        hosts: tuple[str, ...],
        now: int,
        timer: Callable[[], int] = lambda: 0,
    ) -> None:
        self.law = law
        self.rng = rng
        self.hosts = hosts
        self.now = now
        self.members: dict[str, TrafficMember] = {}
        self._timer = timer
        self._agenda: list[tuple[int, int, Any, Any]] = []
        self._count = 0
        self._told: list[JournalWord] = []

    # -- what people do ----------------------------------------------------------------------------

    def join(self, home: str, person: TrafficPerson, args: tuple[Term, ...] = ()) -> None:
        """Let an agent adopt the law, at its home."""
        host = home.rpartition("@")[2]
        controller = Membership(self.law, home, state=first_state(self.law))
        self.members[home] = member = TrafficMember(controller, host, person)
        self._told.append(JournalWord(host, self.now, controller.snapshot()))
        self.tell(home, Event("adopted", (args,)))
        assert member.controller is controller

    def send(self, home: str, message: Term, to: Term) -> None:
        """An agent sends a message."""
        self.tell(home, sent(home, message, to))

    def tell(self, home: str, event: Event, hops: int = 0) -> None:
        """Let a member's controller rule on an event, or keep it until its agent has arrived."""
        member = self.members[home]
        if member.away:
            member.waiting.append((event, hops))
        else:
            self._handle(member, event, hops)

    def at(self, when: int, deed: Deed) -> None:
        """Do something at a moment."""
        self._put(when, None, deed)

    def after(self, delay_us: float, deed: Deed) -> None:
        """Do something later."""
        self._put(self.now + int(delay_us), None, deed)

    def move(self, home: str, to: str) -> None:
        """Let an agent move to another host; nothing happens while it is on its way."""
        member = self.members[home]
        if member.away or member.host == to or member.controller.ended:
            return
        carried = member.controller.snapshot().shifted(-self.now)
        member.away = True
        member.due = None
        self.after(self.rng.uniform(*MOVE_US), lambda: self._arrive(member, carried, to))

    # -- time --------------------------------------------------------------------------------------

    def run(self, rulings: int) -> Iterator[JournalWord]:
        """What the journals say, until there are so many rulings or nothing is left to happen."""
        made = 0
        agenda, members = self._agenda, self.members
        while True:
            if self._told:
                told, self._told = self._told, []
                for one in told:
                    yield one
                    made += type(one.what) is Ruling
                    if made >= rulings:
                        return
            if not agenda:
                return
            when, _, home, what = heappop(agenda)
            self.now = max(self.now, when)
            if home is None:
                what()
            elif what is TICK:
                member = members[home]
                if member.due == when and not member.away:
                    self._handle(member, TICK)
            else:
                self.tell(home, *what)

    def _put(self, when: int, home: str | None, what: Any) -> None:
        self._count += 1
        heappush(self._agenda, (when, self._count, home, what))

    def _arrive(self, member: TrafficMember, carried: Snapshot, to: str) -> None:
        origin, member.host, member.away = member.host, to, False
        snapshot = carried.shifted(self.now)
        member.controller = Membership.restore(self.law, snapshot)
        self._told.append(JournalWord(to, self.now, snapshot))
        self._handle(member, Event("moved", (origin, to)))
        while member.waiting and not member.away:
            self._handle(member, *member.waiting.popleft())

    def _way(self, origin: str, to: str) -> int:
        """How many hops a message takes from a host to an agent, by the agent's home."""
        home, there = to.rpartition("@")[2], self.members[to].host
        return (origin != home) + (home != there) if origin != there else 0

    def _handle(self, member: TrafficMember, event: Event | Any, hops: int = 0) -> None:
        controller = member.controller
        began = self._timer()
        effects: list[Effect] = controller.handle(event, now=self.now)
        took_ns = self._timer() - began
        for effect in effects:
            kind = effect.__class__
            if kind is RecordRuling:
                assert isinstance(effect, RecordRuling)
                self._told.append(JournalWord(member.host, self.now, effect.ruling, hops, took_ns))
                hops = took_ns = 0  # an exception follows of itself
                member.since += 1
            elif kind is Forward:
                assert isinstance(effect, Forward)
                if effect.to in self.members:
                    way = self.now + self.rng.randint(*LATENCY_US)
                    news = arrived(effect.sender, effect.message, effect.to)
                    self._put(way, effect.to, (news, self._way(member.host, effect.to)))
            elif kind is Deliver:
                assert isinstance(effect, Deliver)
                member.person.receive(effect.sender, effect.message)
        if member.since >= CHECKPOINT_EVERY:
            member.since = 0
            self._told.append(JournalWord(member.host, self.now, controller.snapshot()))
        due = controller.next_deadline()
        if due is not None and due != member.due:
            self._put(due, controller.home, TICK)
        member.due = due
