"""What the members of the hospital do: small programs driven by deliveries and timers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nomospace.terms import Compound, Term, t
from nomospace.terms.values import parts_of
from nomospace_lab.apps.hospital.alarms import META, carried, fits, publish, subscribe
from nomospace_lab.sim.world import Program, ProgramContext, WorldAgent, WorldCertificate

KINDS: Final = ("fire", "blood", "power")
TEXTS: Final = {
    "fire": ("smoke on the stairs", "sparks in the kitchen", "a burning bin"),
    "blood": ("no O negative left", "the fridge is warm", "a broken bag"),
    "power": ("lights flicker", "the lift is stuck", "the generator is off"),
}
AGAIN_S: Final = 900
"""Subscriptions are repeated: a packet that the network lost stays lost."""


@dataclass(frozen=True)
class Person:
    """A member, and the roles that admin certified: the truth that checkers go by."""

    id: str
    roles: tuple[Term, ...] = ()
    listens_to: tuple[str, ...] = ()

    def expert_on(self, kind: str) -> bool:
        """Whether this member is certified as an expert on alarms of a kind."""
        return t.expert(kind) in self.roles

    @property
    def mediates(self) -> bool:
        """Whether this member is certified as a mediator."""
        return "mediator" in self.roles


class HospitalMember(WorldAgent):
    """Anyone: shows certificates, subscribes, and again from time to time."""

    def __init__(
        self,
        me: ProgramContext,
        person: Person,
        certificates: Sequence[WorldCertificate],
        mediators: Sequence[str],
    ) -> None:
        super().__init__(me)
        self.person = person
        self.certificates = certificates
        self.mediators = tuple(mediators)
        self.rounds_left = 2

    def start(self, *, again: bool) -> None:
        """Take up the roles; the law has forgotten none of them after a crash."""
        if not again:
            for certificate in self.certificates:
                self.me.present(certificate)
        if self.person.listens_to:
            self.me.after(self.me.rng.uniform(2, 8), self._subscribe)

    def _subscribe(self) -> None:
        self.subscribe()
        self.rounds_left -= 1
        if self.rounds_left > 0:
            self.me.after(AGAIN_S * self.me.rng.uniform(0.8, 1.2), self._subscribe)

    def subscribe(self) -> None:
        """Subscribe everywhere to all that this member listens to."""
        for kind in self.person.listens_to:
            for mediator in self.mediators:
                self.me.send(subscribe(t.kind(kind)), mediator)

    def publish(self, kind: str, text: Term, to: Sequence[str] = ()) -> None:
        """Raise an alarm at some mediators, or at all of them."""
        self.me.send(publish(kind, text), tuple(to) or self.mediators)


class Mediator(HospitalMember):
    """Publish and subscribe, with exact matching. Subscriptions are kept on disk.

    A careless one now and then notifies everybody it knows: the law at the receivers' own edges
    has to do without its help.
    """

    careless = 0.0

    def receive(self, sender: str, message: Term) -> None:
        """Keep a subscription, or pass an alarm on."""
        subscriptions: dict[str, list[tuple[Term, ...]]] = self.me.memory.setdefault("clients", {})
        if type(message) is Compound and message.name == "subscribe":
            criteria = parts_of(parts_of(message.args[0])[0])
            kept = subscriptions.setdefault(sender, [])
            if criteria not in kept:
                kept.append(criteria)
        alarm = carried(message, "publish")
        if alarm is not None:
            careless = self.careless > 0 and self.me.rng.random() < self.careless
            clients = [
                client
                for client, kept in subscriptions.items()
                if careless or any(fits(criteria, alarm) for criteria in kept)
            ]
            if clients:
                self.me.send(t.notify(alarm.term), clients)


class CarelessMediator(Mediator):
    """A certified mediator with a bug."""

    careless = 0.3


class FacilityManager(HospitalMember):
    """Puts inspectors on duty, and blocks laymen."""

    def appoint(self, inspector: str, kind: str) -> None:
        """Put an expert on duty, for every mediator."""
        for mediator in self.mediators:
            self.me.send(t.inspectorOnDuty(t.kind(kind), t.med(mediator)), inspector)

    def block(self, layman: str, kind: str | None = None) -> None:
        """Keep a layman from publishing: alarms of one kind, or all."""
        self.me.send("blockLay" if kind is None else t.blockLay(kind), layman)


class Expert(HospitalMember):
    """Hears laymen's alarms, and raises some of them again with an expert's word."""

    confirms = 0.15

    def receive(self, sender: str, message: Term) -> None:
        """Look into a layman's alarm, perhaps."""
        alarm = carried(message, "notify")
        if alarm is None or alarm.status == "expert" or alarm.kind == META:
            return
        rng = self.me.rng
        if rng.random() < self.confirms:
            text = t.confirmed(alarm.text)
            self.me.after(rng.uniform(5, 90), lambda: self.publish(alarm.kind, text))


class Inspector(Expert):
    """An expert on duty: acknowledges in time, too late, or not at all."""

    confirms = 0.05
    diligence = 0.6

    def __init__(
        self,
        me: ProgramContext,
        person: Person,
        certificates: Sequence[WorldCertificate],
        mediators: Sequence[str],
        manager: str,
    ) -> None:
        super().__init__(me, person, certificates, mediators)
        self.manager = manager

    def receive(self, sender: str, message: Term) -> None:
        """Take note of an alarm, and acknowledge it if diligent enough."""
        super().receive(sender, message)
        alarm = carried(message, "notify")
        if alarm is None or alarm.status == "expert":
            return
        rng = self.me.rng
        if rng.random() < self.diligence:
            delay_s = rng.uniform(601, 900) if rng.random() < 0.1 else rng.uniform(1, 500)
            self.me.after(delay_s, lambda: self.me.send(t.ack(alarm.term), self.manager))


class IdleInspector(Inspector):
    """An inspector who never acknowledges anything."""

    diligence = 0.0


TRICKS: Final = 9
"""How many ways to cheat a rogue knows."""


class Rogue(HospitalMember):
    """A layman who breaks every rule that its controller would let it break."""

    def flood(self, count: int) -> None:
        """Publish the same alarm as fast as it can."""
        for number in range(count):
            self.me.after(number * 0.1, lambda: self.publish("fire", "fire! fire!"))

    def cheat(self, victims: Sequence[str]) -> None:
        """Try, one after the other, all that others may do and this one may not."""
        for number in range(TRICKS):
            self.trick(number, victims)

    def trick(self, number: int, victims: Sequence[str]) -> None:
        """Try one of them; the first is a certificate that nobody issued."""
        me, mediator, victim = self.me, self.mediators[0], victims[0]
        forged = t.alarm(
            t.kind("fire"), t.time(0), t.informer(me.id), t.status("expert"), t.text("run!")
        )
        attempts: tuple[tuple[Term, str | Sequence[str]], ...] = (
            (t.publish(forged), self.mediators),
            (t.notify(forged), victims),
            (subscribe(t.kind(META)), mediator),
            (subscribe(t.status("layman"), t.kind("fire"), t.kind("blood")), mediator),
            ("blockLay", victim),
            (t.inspectorOnDuty(t.kind("fire"), t.med(me.id)), victim),
            (t.ack(forged), victim),
            (subscribe(t.kind("fire"), t.status("layman")), mediator),
        )
        assert len(attempts) == TRICKS - 1
        if number == 0:
            me.present(WorldCertificate("admin", me.id, (t.role(t.expert("fire")),)))
        else:
            me.send(*attempts[number - 1])


class Mole(WorldAgent):
    """An agent under a law of its own making, which lets it say anything."""

    def shout(self, victims: Sequence[str], kind: str = "fire") -> None:
        """Send a layman's alarm straight to people, as a mediator would."""
        term = t.alarm(
            t.kind(kind), t.time(0), t.informer(self.me.id), t.status("layman"), t.text("boo")
        )
        self.me.send(t.notify(term), tuple(victims))


def program(
    kind: type[HospitalMember],
    person: Person,
    certificates: Sequence[WorldCertificate],
    mediators: Sequence[str],
    manager: str = "",
) -> Program:
    """How to make a member's program, at the start and after each crash."""

    def make(me: ProgramContext) -> WorldAgent:
        if issubclass(kind, Inspector):
            return kind(me, person, certificates, mediators, manager)
        return kind(me, person, certificates, mediators)

    return make
