"""The people of a hospital under law AP (`001_…` sections 2 and 4), by the thousand.

| who | how many | what they do |
| --- | --- | --- |
| mediators | 1 in 400 | pass alarms on to some of their subscribers |
| facility managers | 1 in 100 | put experts on duty, three at a time; block laymen now and then |
| experts | 1 in 8 | publish, subscribe, and, on duty, acknowledge: mostly in time |
| rogues | 1 in 50 | notify, block and acknowledge without a right to, and publish nonsense |
| laymen | the rest | publish, the same alarm again and again when they are nervous |
"""

from __future__ import annotations

from typing import Final

from nomospace.control import certified
from nomospace.terms import Compound, Term, t
from nomospace.terms.values import parts_of
from nomospace_lab.apps.hospital.alarms import META, carried, publish, subscribe
from nomospace_lab.apps.hospital.people import KINDS
from nomospace_lab.apps.traffic.drive import MOVES, Traffic

MINUTE_US: Final = 60_000_000
PAUSE_US: Final = 9 * MINUTE_US
"""A person does something about as often."""
NOTIFIED_MAX: Final = 4
"""A mediator passes an alarm on to so many at most; who is on duty comes first."""
ROOMS: Final = 40


class Someone:
    """Anyone in the hospital: shows certificates, and does something from time to time."""

    def __init__(self, world: TrafficHospital, home: str, *roles: Term) -> None:
        self.world = world
        self.home = home
        self.roles = roles

    def begin(self) -> None:
        """Join, show what one is, and begin to work."""
        traffic = self.world.traffic
        traffic.join(self.home, self)
        for role in self.roles:
            traffic.tell(self.home, certified("admin", self.home, (t.role(role),)))
        self.pause()

    def pause(self) -> None:
        traffic = self.world.traffic
        traffic.after(traffic.rng.expovariate(1 / PAUSE_US), self._again)

    def _again(self) -> None:
        rng = self.world.traffic.rng
        if len(self.world.traffic.hosts) > 1 and rng.random() < MOVES:
            self.world.traffic.move(self.home, rng.choice(self.world.traffic.hosts))
        else:
            self.act()
        self.pause()

    def act(self) -> None:
        """Do what one does."""

    def receive(self, sender: str, message: Term) -> None:
        """Take notice of a message."""

    def send(self, message: Term, to: Term) -> None:
        self.world.traffic.send(self.home, message, to)

    def mediator(self) -> str:
        return self.world.traffic.rng.choice(self.world.mediators)


class Layman(Someone):
    """Publishes; one in five is nervous and publishes the same thing again within minutes."""

    def act(self) -> None:
        rng = self.world.traffic.rng
        alarm = publish(rng.choice(KINDS), f"trouble in room {rng.randrange(ROOMS)}")
        to = self.mediator()
        self.send(alarm, to)
        if rng.random() < 0.2:
            delay = rng.uniform(0.3, 7) * MINUTE_US
            self.world.traffic.after(delay, lambda: self.send(alarm, to))


class TrafficExpert(Someone):
    """Subscribes to what it knows, publishes, and acknowledges when it is on duty."""

    def __init__(self, world: TrafficHospital, home: str, kind: str) -> None:
        super().__init__(world, home, t.expert(kind))
        self.kind = kind
        self.manager = ""

    def act(self) -> None:
        rng = self.world.traffic.rng
        if rng.random() < 0.3:
            self.send(subscribe(t.kind(self.kind)), self.mediator())
        else:
            text = f"trouble in room {rng.randrange(ROOMS)}"
            self.send(publish(rng.choice((self.kind, *KINDS)), text), self.mediator())

    def receive(self, sender: str, message: Term) -> None:
        """Acknowledge a layman's alarm: after a minute or so, sometimes too late, or never."""
        if type(message) is Compound and message.name == "inspectorOnDuty":
            self.manager = sender
            return
        alarm = carried(message, "notify")
        rng = self.world.traffic.rng
        if alarm is None or alarm.status == "expert" or not self.manager or rng.random() < 0.1:
            return
        delay = rng.expovariate(1 / (4 * MINUTE_US))
        answer = t.ack(alarm.term)
        self.world.traffic.after(delay, lambda: self.send(answer, self.manager))


class TrafficMediator(Someone):
    """Passes alarms on."""

    def __init__(self, world: TrafficHospital, home: str) -> None:
        super().__init__(world, home, "mediator")
        self.subscribers: dict[Term, dict[str, None]] = {}

    def receive(self, sender: str, message: Term) -> None:
        """Keep a subscription, or notify some of those who subscribed."""
        if type(message) is not Compound:
            return
        if message.name == "subscribe":
            for criterion in parts_of(parts_of(message.args[0])[0]):
                if type(criterion) is Compound and criterion.name == "kind":
                    self.subscribers.setdefault(criterion.args[0], {})[sender] = None
            return
        alarm = carried(message, "publish")
        known = list(self.subscribers.get(alarm.kind, ())) if alarm is not None else []
        if alarm is not None and known:
            some = self.world.traffic.rng.sample(known, min(len(known), NOTIFIED_MAX))
            self.send(t.notify(alarm.term), tuple(some))


class Manager(Someone):
    """Puts experts on duty, and sometimes blocks a layman."""

    def __init__(self, world: TrafficHospital, home: str) -> None:
        super().__init__(world, home, "facilityManager")

    def act(self) -> None:
        rng = self.world.traffic.rng
        if rng.random() < 0.7 and self.world.experts:
            for expert in rng.sample(self.world.experts, min(3, len(self.world.experts))):
                duty = t.inspectorOnDuty(t.kind(expert.kind), t.med(self.mediator()))
                self.send(duty, expert.home)
        else:
            self.send(t.blockLay(rng.choice(KINDS)), self.world.anyone())


class TrafficRogue(Someone):
    """Does what it has no right to."""

    def act(self) -> None:
        rng = self.world.traffic.rng
        kind = rng.choice(KINDS)
        forged = t.alarm(
            t.kind(kind), t.time(0), t.informer(self.home), t.status("expert"), t.text("flood")
        )
        tried: list[tuple[Term, str]] = [
            (t.notify(forged), self.world.anyone()),
            (t.publish(forged), self.mediator()),
            (t.blockLay(kind), self.world.anyone()),
            ("blockLay", self.world.anyone()),
            (t.ack(forged), self.world.anyone()),
            (subscribe(t.kind(META)), self.mediator()),
        ]
        message, to = rng.choice(tried)
        self.send(message, to)


class TrafficHospital:
    """Everybody who is there."""

    def __init__(self, traffic: Traffic, agents: int) -> None:
        self.traffic = traffic
        self.homes: list[str] = []
        mediators = [TrafficMediator(self, self._home("m")) for _ in range(max(1, agents // 400))]
        managers = [Manager(self, self._home("f")) for _ in range(max(1, agents // 100))]
        kinds = (*KINDS, META)
        self.mediators = [one.home for one in mediators]
        self.experts = [
            TrafficExpert(self, self._home("e"), kinds[i % len(kinds)])
            for i in range(max(1, agents // 8))
        ]
        rogues = [TrafficRogue(self, self._home("r")) for _ in range(agents // 50)]
        rest = max(0, agents - len(self.homes))
        laymen = [Layman(self, self._home("l")) for _ in range(rest)]
        for one in (*mediators, *managers, *self.experts, *rogues, *laymen):
            traffic.after(traffic.rng.uniform(0, PAUSE_US), one.begin)

    def anyone(self) -> str:
        return self.traffic.rng.choice(self.homes)

    def _home(self, letter: str) -> str:
        host = self.traffic.hosts[len(self.homes) % len(self.traffic.hosts)]
        self.homes.append(f"{letter}{len(self.homes)}@{host}")
        return self.homes[-1]
