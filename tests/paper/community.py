"""A community for the papers' tests: members joined by a wire without delay, in virtual time.

It drives `control.Membership` directly. Messages are written as text, and read back as text, so
that a test shows what the papers show.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from nomospace import laws
from nomospace.control import (
    TICK,
    Deliver,
    Effect,
    Event,
    Forward,
    Membership,
    RecordRuling,
    Ruling,
    adopt,
    arrived,
    certificate,
    sent,
)
from nomospace.law import CompiledLaw, load
from nomospace.law.bag import Bag
from nomospace.law.budget import Units
from nomospace.law.interpret import Outcome
from nomospace.terms import Term, show, term

EVALUATORS = ("compiled", "interpreted")
EVENTS_MAX = 10_000
"""How many events one event may cause: a test that goes on for ever is a failed test."""


class Interpreted(CompiledLaw):
    """A law whose rulings the interpreter gives, whatever the compiler would say."""

    def act(
        self,
        event: str,
        home: str,
        args: tuple[Term, ...],
        state: Bag,
        obligations: Bag,
        now: int,
        units: Units,
    ) -> Outcome:
        return self.interpreter.rule(event, home, args, state, obligations, now, units)


@cache
def law_of(text: str, evaluator: str) -> CompiledLaw:
    """A law by its text or by the name of a shipped one, made ready once for all tests."""
    law = load(laws.text(text) if text in laws.NAMES else text)
    if evaluator == "interpreted":
        law = Interpreted(law.tree, law.hash, law.warnings)
    return law


class Letter(NamedTuple):
    """What an agent was handed, or what went over the wire: when (in seconds), from whom, what."""

    at: float
    sender: str
    message: str


class Community:
    """Members of one law. `text` is a law's text or the name of a shipped one."""

    def __init__(self, text: str, evaluator: str = "compiled") -> None:
        self.law = law_of(text, evaluator)
        self.members: dict[str, Membership] = {}
        self.now = 0
        self.rulings: list[Ruling] = []
        self.wire: list[tuple[Letter, str]] = []
        self._inbox: dict[str, list[Letter]] = {}

    # -- what happens ----------------------------------------------------------------------

    def join(self, *homes: str, args: Iterable[str] = (), manager: bool = False) -> None:
        """Agents adopt the law; a space's manager is given its role by its host."""
        given = tuple([term(arg) for arg in args])
        for home in homes:
            member, effects = adopt(self.law, home, given, now=self.now, manager=manager)
            self.members[home] = member
            self._inbox[home] = []
            self._carry(home, effects)
            self._settle()

    def send(self, home: str, message: str, to: str | tuple[str, ...]) -> Ruling:
        """An agent sends a message; the ruling on its `sent` event."""
        return self.tell(home, sent(home, term(message), to))

    def certify(self, home: str, role: str, *, issuer: str = "admin", subject: str = "") -> Ruling:
        """An agent presents a certificate that has checked out."""
        shown = certificate(issuer, subject or home, (term(f"role({role})"),))
        return self.tell(home, Event("certified", (shown,)))

    def revoke(self, home: str, role: str) -> Ruling:
        """A certificate that was accepted is revoked."""
        shown = certificate("admin", home, (term(f"role({role})"),))
        return self.tell(home, Event("revoked", (shown,)))

    def tell(self, home: str, event: Event) -> Ruling:
        """An event at a home, with all that follows from it at this instant."""
        before = len(self.rulings)
        self._carry(home, self.members[home].handle(event, now=self.now))
        self._settle()
        return next(ruling for ruling in self.rulings[before:] if ruling.event is event)

    def advance(self, seconds: float) -> None:
        """Time passes; obligations fire each at its own time."""
        until = self.now + round(seconds * 1_000_000)
        while (due := self._next_deadline()) is not None and due <= until:
            self.now = max(self.now, due)
            self._settle()
        self.now = until

    def _next_deadline(self) -> int | None:
        return min(
            (d for m in self.members.values() if (d := m.next_deadline()) is not None), default=None
        )

    def _settle(self) -> None:
        for _ in range(EVENTS_MAX):
            due = [
                h
                for h, m in self.members.items()
                if (d := m.next_deadline()) is not None and d <= self.now
            ]
            if not due:
                return
            self._carry(due[0], self.members[due[0]].handle(TICK, now=self.now))
        raise AssertionError("obligations without end")

    def _carry(self, home: str, effects: Iterable[Effect]) -> None:
        todo = deque((home, effect) for effect in effects)
        for _ in range(EVENTS_MAX):
            if not todo:
                return
            at, effect = todo.popleft()
            if isinstance(effect, RecordRuling):
                self.rulings.append(effect.ruling)
            elif isinstance(effect, Deliver):
                self._inbox[at].append(self._letter(effect))
            elif isinstance(effect, Forward):
                self.wire.append((self._letter(effect), effect.to))
                if effect.to in self.members:
                    event = arrived(effect.sender, effect.message, effect.to)
                    caused = self.members[effect.to].handle(event, now=self.now)
                    todo.extend((effect.to, one) for one in caused)
        raise AssertionError("messages without end")

    def _letter(self, effect: Deliver | Forward) -> Letter:
        return Letter(self.now / 1_000_000, effect.sender, show(effect.message))

    # -- what can be seen ------------------------------------------------------------------

    def read(self, home: str) -> list[Letter]:
        """What an agent has been handed since it was last asked."""
        found, self._inbox[home] = self._inbox[home], []
        return found

    def messages(self, home: str) -> list[str]:
        """`read`, only what was said."""
        return [letter.message for letter in self.read(home)]

    def state(self, home: str) -> list[str]:
        """The control state of a member, oldest term first."""
        return [show(one) for _, one in self.members[home].state.items()]

    def pending(self, home: str) -> list[tuple[float, str]]:
        """Pending obligations of a member and when they are due, in seconds."""
        return [(due / 1_000_000, show(one)) for due, one in self.members[home].pending()]

    def sent_to(self, to: str) -> list[Letter]:
        """All that has gone over the wire to one member or space."""
        return [letter for letter, there in self.wire if there == to]
