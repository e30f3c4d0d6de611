"""Agents and communities that an operator has suspended, and what waits for them.

While an agent is suspended its calls are refused, and what it waited for is called off; leases run
on. Nothing is ruled on at its controllers: obligations wait, and what arrives is kept, durably and
in order, as *held events*. A law can be suspended too: then this holds for every membership under
it, and the managers of its spaces answer nothing. What agents of other hosts wait for, and react
to, in such a space is kept in memory, and looked for on `Resume`: nobody would ask again.

After `Resume` the held events are ruled on, some in each step, and the members count as suspended
until theirs are through. So a suspension changes when a law rules, and never in which order. After
a crash the same goes on: what is held, and who is suspended, is on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from nomospace.calls.addresses import owner_of
from nomospace.calls.problems import Suspended
from nomospace.control import Event, Membership
from nomospace.host.calls import Resume, Suspend
from nomospace.host.changes import Durable, EventHeld, EventServed, Suspension
from nomospace.host.effects import Halted
from nomospace.host.holding import ENDED_IN_STEP
from nomospace.host.part import HostPart
from nomospace.protocols.spaces import Key, ReactWatch, Watch
from nomospace.terms.values import weight

if TYPE_CHECKING:
    from nomospace.host.ports import Home, HostParts

HELD_EVENTS_MAX: Final = 1_000
"""How many events are held for one membership; letters past that go back to their senders."""
HELD_BYTES_MAX: Final = 16 << 20
"""From this many bytes of held events on, no more are held for one membership."""
SERVED_IN_STEP: Final = 64
"""How many held events are ruled on in one step, after a suspension."""
POSTPONED_MAX: Final = 100_000
"""How many waits of other hosts' agents are kept for laws that are suspended here."""
HELD: Final = ("arrived", "exception", "disconnected", "reconnected", "certified", "revoked")
"""The events that wait for the end of a suspension."""


class Suspending(HostPart):
    """Who is suspended at one host."""

    def __init__(self, host: HostParts, durable: Durable) -> None:
        super().__init__(host)
        self._suspended = dict(durable.suspended)
        self._numbers = dict(durable.held.numbers)
        self._held = {key: dict(held) for key, held in durable.held.waiting.items() if held}
        """By membership (agent and law), what waits for it, by number."""
        self._bytes = {key: sum(map(_bytes, held.values())) for key, held in self._held.items()}
        """How much that is."""
        self._resuming = dict.fromkeys(key for key in self._held if self._is_free(key))
        self.timed = self._resuming
        self.concerned = bool(self._suspended or self._held)
        """Whether anybody has been suspended; while nobody was, nothing else needs to be asked."""
        """Those whose suspension is over."""
        self._postponed: dict[tuple[str, type, Key], Watch | ReactWatch] = {}
        self._left = set(self._resuming)
        """Those that an earlier life left events for, and that may be asked meanwhile."""

    def refusal(self, agent: str, law: str = "") -> Suspended | None:
        """Why an agent, or its membership under a law, can do nothing now."""
        if not self._suspended and not self._held:
            return None
        for name in (owner_of(agent), law):
            found = self._suspended.get(name)
            if found is not None:
                return Suspended(name=name, since=found.since, why=found.why)
        key = _key(agent, law)
        if law and key in self._held and key not in self._left:
            return Suspended(name=agent, since=self._step.now, why="being resumed")
        return None

    def holds(self, home: Home) -> bool:
        """Whether what comes for a membership has to wait here."""
        if not self._suspended and not self._held:
            return False
        return _key(*home) in self._held or self.refusal(*home) is not None

    def stays(self, agent: str) -> Suspended | None:
        """Why an agent may not move: it must not take what is suspended to where nobody knows."""
        if not self._suspended and not self._held:
            return None
        mine = self._host.governing.memberships(agent)
        found = [self.refusal(one.home, one.law.hash) for one in mine] or [self.refusal(agent)]
        return next((one for one in found if one is not None), None)

    def all(self) -> tuple[Suspension, ...]:
        """Everyone that is suspended."""
        return tuple(self._suspended.values())

    # -- what operators say ----------------------------------------------------------------

    def suspend(self, event: Suspend) -> None:
        """Suspend an agent or a law; doing it twice only changes the reason."""
        host, name = self._host, event.name
        before = self._suspended.get(name)
        since = self._step.now if before is None else before.since
        self.concerned = True
        found = self._suspended[name] = Suspension(name, since, event.why)
        self._step.write_down(found)
        self._step.note("suspended", name=name, why=event.why)
        error = Suspended(name=name, since=since, why=event.why)

        def some() -> bool:
            if self._suspended.get(name) is not found:  # it was resumed meanwhile
                return False
            if "@" not in name:
                return host.seeking.end_under(name, error, ENDED_IN_STEP)
            waits = host.seeking.end(name, error, ENDED_IN_STEP)
            return waits or host.reacting.end(name, ENDED_IN_STEP)

        host.looking.in_pieces(name, some)
        if "@" in name:
            host.governed.end(name, error)
            host.deciding.end(name, error)
            self._step.order(Halted(name, error))
        host.governing.wait_for_resume(self._members(name))

    def resume(self, event: Resume) -> None:
        """End a suspension: obligations may fire again, and what is held is ruled on."""
        if self._suspended.pop(event.name, None) is None:
            return
        host = self._host
        self._step.write_down(Suspension(event.name, 0))
        self._step.note("resumed", name=event.name)
        for member in self._members(event.name):
            host.governing.note_due(member)
        if "@" not in event.name:
            self._take_up(event.name)
        self._resuming.update(dict.fromkeys(key for key in self._held if self._is_free(key)))
        host.deciding.resume()

    def _members(self, name: str) -> Iterator[Membership]:
        for member in self._host.governing.members():
            if name in (owner_of(member.home), member.law.hash):
                yield member

    # -- other hosts -----------------------------------------------------------------------

    def postpones(self, peer: str, body: Watch | ReactWatch) -> bool:
        """Whether what another host would wait for here must wait until its law is resumed."""
        if not self._suspended or body.law not in self._suspended:
            return False
        if len(self._postponed) < POSTPONED_MAX:
            key = body.key
            self._postponed[peer, body.__class__, key] = body
        return True

    def unwatch(self, peer: str, kind: type[Watch | ReactWatch], key: Key) -> None:
        """Another host waits for it no longer."""
        if self._postponed:
            self._postponed.pop((peer, kind, key), None)

    def lost(self, peer: str) -> None:
        """Contact with a host is lost: when it is back it asks anew."""
        for ticket in [ticket for ticket in self._postponed if ticket[0] == peer]:
            del self._postponed[ticket]

    def _take_up(self, law: str) -> None:
        """A law is resumed: look for what other hosts wait for under it."""
        host = self._host
        host.serving.look_again(law)
        for ticket, body in [one for one in self._postponed.items() if one[1].law == law]:
            del self._postponed[ticket]
            if isinstance(body, Watch):
                host.serving.hear_watch(ticket[0], body)
            else:
                host.reacting.hear_react(ticket[0], body)

    # -- events ----------------------------------------------------------------------------

    def hold(self, member: Membership, event: Event) -> bool:
        """Keep an event for a membership that is suspended; false when it cannot be kept."""
        home = member.home, member.law.hash
        if event.kind not in HELD or "@" not in member.home or self.full(home):
            return False
        key, number = _key(*home), self.keep(home, event)
        self._held.setdefault(key, {})[number] = event
        self._bytes[key] = self._bytes.get(key, 0) + _bytes(event)
        return True

    def keep(self, home: Home, event: Event) -> int:
        """Have an event on disk until it is `served`; its number."""
        key = _key(*home)
        number = self._numbers[key] = self._numbers.get(key, 0) + 1
        self._step.write_down(EventHeld(key, number, event))
        return number

    def served(self, home: Home, number: int) -> None:
        """An event is ruled on, and so are all that came before it."""
        self._step.write_down(EventServed(_key(*home), number))

    def full(self, home: Home) -> bool:
        """Whether no more can be held for a membership."""
        if not self._held or (held := self._held.get(key := _key(*home))) is None:
            return False
        return len(held) >= HELD_EVENTS_MAX or self._bytes[key] >= HELD_BYTES_MAX

    def next_deadline(self) -> int | None:
        """At once, while there are events of a suspension that is over."""
        return self._step.now if self._resuming else None

    def stops(self, home: Home) -> bool:
        """Whether a membership may decide nothing: its agent, or its law, is suspended."""
        if not self._suspended:
            return False
        return owner_of(home[0]) in self._suspended or home[1] in self._suspended

    def _is_free(self, key: str) -> bool:
        return not self.stops(_home(key))

    def tick(self) -> None:
        """Rule on some of the events whose suspension is over."""
        governing, cases = self._host.governing, self._host.deciding.cases
        for _ in range(SERVED_IN_STEP):
            ready = (key for key in self._resuming if _home(key) not in cases)
            key = next(ready, None)
            if key is None:
                return
            if not self._is_free(key):  # it was suspended again meanwhile
                del self._resuming[key]
                continue
            held = self._held[key]
            number = next(iter(held))
            event = held.pop(number)
            self._bytes[key] -= _bytes(event)
            if not held:
                del self._held[key], self._bytes[key], self._resuming[key]
                self._left.discard(key)
            home = _home(key)
            member = governing.find(*home)
            if member is not None:
                governing.rule_held(member, event, number)
            else:
                self.served(home, number)


def _bytes(event: Event) -> int:
    """What an event weighs."""
    return weight(event.args)


def _key(home: str, law: str) -> str:
    """A membership as the disk names it: a hash has no space in it."""
    return f"{home} {law}"


def _home(key: str) -> Home:
    home, _, law = key.rpartition(" ")
    return home, law
