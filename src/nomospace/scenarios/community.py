"""One community in virtual time: its members, what they send each other, what falls due.

No network, no loss, no seed: a forwarded message arrives at once, and time passes only when it is
told to. That is the world of `nomospace law run` and `law test`, where an author wants to see
what a law says and nothing else.

The order, at one instant: obligations due (by due time, then by imposition, across all members);
then the event that was told; then the `arrived` events that it caused, first caused first; an
exception directly after the ruling it follows from; then obligations that these made due at once.
What an obligation forwards arrives right after it, as with an event that was told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Final

import msgspec

from nomospace.control import (
    Effect,
    Event,
    Explanation,
    Forward,
    Membership,
    RecordRuling,
    ReservedRole,
    Ruling,
    arrived,
    explain,
)
from nomospace.errors import CallerError, LawError
from nomospace.law import CompiledLaw
from nomospace.law.arithmetic import seconds
from nomospace.terms import Compound, Term, show

# What a community is told and what it tells is made of these; its users need not know `control`.

CAUSED_MAX: Final = 10_000
"""How many events one event may cause at its instant before the run is stopped."""


class Runaway(LawError):
    """One event caused others without end."""

    code = "sim.runaway"
    home: str
    event: str
    at: int
    limit: int = CAUSED_MAX

    def __str__(self) -> str:
        return (
            f"{self.event[:200]} at {self.home}, time {seconds(self.at)}, caused more than "
            f"{self.limit:,} events at one instant; look for rules that answer each other, or for "
            "an obligation that imposes itself again without delay"
        )


class StateTooLate(CallerError):
    """A starting state came after the first event of its member."""

    code = "sim.already-member"
    words = (
        "{home} has had its first event, and its control state now follows from its "
        "rulings; set a starting state before that event"
    )
    home: str


class TimeBack(CallerError):
    """An event is told that lies before what has already happened."""

    code = "sim.time-back"
    at: int
    now: int

    def __str__(self) -> str:
        return f"time goes back, from {seconds(self.now)} to {seconds(self.at)}; sort by time"


class CommunityRuling(msgspec.Struct, frozen=True, gc=False):
    """A ruling, the control state right after it, and what it orders besides its record."""

    ruling: Ruling
    state: tuple[Term, ...]
    effects: tuple[Effect, ...]


class _Cause(msgspec.Struct):
    """What set events going at an instant, and how many they are so far."""

    home: str
    event: Event
    at: int
    count: int = -1  # it does not count itself

    def count_one(self) -> None:
        self.count += 1
        if self.count > CAUSED_MAX:
            raise Runaway(home=self.home, event=show(self.event.term, limit=200), at=self.at)


class _Mail(msgspec.Struct):
    """A message on its way: where to, and whose ruling on what sent it."""

    forward: Forward
    origin: str
    while_excepting: bool


class Community:
    """The members of one law's community, in virtual time.

    A home becomes a member silently with the first event it is told or that arrives for it, with
    the law's initial control state or the one that `set_state` gave it. In a `closed` community
    mail alone makes nobody a member: it is an exception at its sender's. `tell` and `advance` are
    generators: what they yield has happened, and nothing happens further than they are read.

    >>> from nomospace.control import sent
    >>> from nomospace.law import load
    >>> law = load("law(l). R1. sent(X,M,Y) :- do(forward). R2. arrived(X,M,Y) :- do(+got(M)).")
    >>> world = Community(law)
    >>> for happening in world.tell("a@w", sent("a@w", "hi", "b@w"), at=0):
    ...     print(happening.ruling.home, happening.ruling.rule, happening.state)
    a@w R1 ()
    b@w R2 (term('got(hi)'),)
    """

    def __init__(self, law: CompiledLaw, *, isolated: bool = False, closed: bool = False) -> None:
        self.law = law
        self.isolated = isolated
        self.closed = closed
        self.now: int | None = None
        self._members: dict[str, Membership] = {}
        self._starts: dict[str, tuple[Term, ...]] = {}
        self._issuers = [Compound("issuer", (a.name,)) for a in law.tree.authorities]
        self._due: list[tuple[int, int, Membership, int, _Cause]] = []
        self._impositions = 0

    # -- members ---------------------------------------------------------------------------

    @property
    def members(self) -> Mapping[str, Membership]:
        """Every home that has had an event, by its id; `ended` tells who has quit."""
        return self._members

    def set_state(self, home: str, terms: Iterable[Term]) -> None:
        """Give a home another control state to start with than the law's."""
        if home in self._members:
            raise StateTooLate(home=home)
        self._starts[home] = tuple(terms)
        if self.closed:
            self._member(home)

    def _member(self, home: str) -> Membership:
        member = self._members.get(home)
        if member is None:
            member = Membership(self.law, home, state=self._starts.get(home))
            self._members[home] = member
        return member

    def explain(self, ruling: Ruling) -> Explanation:
        """Why a ruling is as it is, with all facts; raises `TooOld` for one long past."""
        return explain(self._members[ruling.home], ruling, disclose="all")

    # -- events ----------------------------------------------------------------------------

    def tell(self, home: str, event: Event, *, at: int) -> Iterator[CommunityRuling]:
        """An event at a home: all that is due before it, the event, and all that it causes.

        A home that has quit hears nothing any more, until it adopts the law anew.
        """
        yield from self.advance(at)
        if event.kind == "certified":
            event = self._checked(event)
        elif event.kind == "adopted":
            self._adopting(home, event)
        cause = _Cause(home, event, at)
        member = self._member(home)
        if not member.ended:
            yield from self._ensue(cause, member, member.rule_on(event, now=at))
            yield from self.advance(at)

    def _checked(self, event: Event) -> Event:
        """A certificate counts when the law names its issuer; another is an exception."""
        (certificate,) = event.args
        if type(certificate) is tuple and certificate and certificate[0] in self._issuers:
            return event
        return Event("exception", (Compound("certify", (certificate,)), "invalidCertificate"))

    def _adopting(self, home: str, event: Event) -> None:
        (args,) = event.args
        if args == "tupleSpace" or (type(args) is tuple and "tupleSpace" in args):
            raise ReservedRole(role="tupleSpace")
        member = self._members.get(home)
        if member is not None and member.ended:
            self._starts.pop(home, None)
            del self._members[home]

    # -- time ------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """When the next obligation of any member is due, or `None`."""
        while self._due:
            due, _, member, place, _ = self._due[0]
            if member.owes(place):
                return due
            heappop(self._due)
        return None

    def advance(self, to: int) -> Iterator[CommunityRuling]:
        """Let time pass: obligations fall due, each at its own time with all that it causes."""
        if self.now is not None and to < self.now:
            raise TimeBack(at=to, now=self.now)
        while True:
            due = self.next_deadline()
            if due is None or due > to:
                break
            # One imposed for a time that is past falls due at once.
            now = due if self.now is None else max(due, self.now)
            self.now = now
            _, _, member, place, cause = heappop(self._due)
            effects = member.fire(place, now=now)
            if cause.at < now:
                first = effects[0]
                assert isinstance(first, RecordRuling)
                cause = _Cause(member.home, first.ruling.event, now)
            yield from self._ensue(cause, member, effects)
        self.now = to

    # -- what follows ----------------------------------------------------------------------

    def _ensue(
        self, cause: _Cause, member: Membership, effects: list[Effect]
    ) -> Iterator[CommunityRuling]:
        """What a member's rulings bring about, at this very instant."""
        mail: deque[_Mail] = deque()
        while True:
            for happening in self._happenings(member, effects, cause):
                cause.count_one()
                self._post(happening, mail)
                yield happening
            if not mail:
                return
            item = mail.popleft()
            member, effects = self._bring(item, cause.at)

    def _bring(self, item: _Mail, now: int) -> tuple[Membership, list[Effect]]:
        """A message at its destination; or, when nobody is there any more, an exception."""
        forward = item.forward
        there = self._members.get(forward.to) if self.closed else self._member(forward.to)
        if there is not None and not there.ended:
            event = arrived(forward.sender, forward.message, forward.to)
            return there, there.rule_on(event, now=now)
        origin = self._members[item.origin]
        if item.while_excepting or origin.ended:
            return origin, []
        operation = Compound("forward", (forward.sender, forward.message, forward.to))
        event = Event("exception", (operation, "unknownDestination"))
        return origin, origin.rule_on(event, now=now)

    def _happenings(
        self, member: Membership, effects: list[Effect], cause: _Cause
    ) -> list[CommunityRuling]:
        """The rulings in some effects, each with the state after it and its own effects."""
        found: list[tuple[Ruling, list[Effect]]] = []
        for effect in effects:
            if isinstance(effect, RecordRuling):
                found.append((effect.ruling, []))
                self._impose(member, effect.ruling, cause)
            else:
                found[-1][1].append(effect)
        happenings: list[CommunityRuling] = []
        for index, (ruling, orders) in enumerate(found):
            last = index + 1 == len(found)
            state = member.state if last else member.before(found[index + 1][0].seq)[0]
            happenings.append(CommunityRuling(ruling, tuple(state), tuple(orders)))
            if ruling.event.kind == "quit":
                member.ended = True
        return happenings

    def _impose(self, member: Membership, ruling: Ruling, cause: _Cause) -> None:
        for kind, place, _, due in ruling.delta:
            if kind == "due":
                self._impositions += 1
                assert type(due) is int
                heappush(self._due, (due, self._impositions, member, place, cause))

    def _post(self, happening: CommunityRuling, mail: deque[_Mail]) -> None:
        if self.isolated:
            return
        excepting = happening.ruling.event.kind == "exception"
        for effect in happening.effects:
            # Past the limit the run stops, so that much mail and no more is worth keeping.
            if isinstance(effect, Forward) and len(mail) <= CAUSED_MAX:
                mail.append(_Mail(effect, happening.ruling.home, excepting))
