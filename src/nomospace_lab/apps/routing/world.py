"""Worlds in which agents of several domains send each other numbered notes while they move.

All is real: controllers rule on every note, the hosts' daemons and servers find the way, the
handover moves the agents. Hosts crash in the middle of work, partitions and storms come and go,
doors are closed by chance (some only when the agent stands before them), and in some worlds queues
are so short that mail must go back. Then all is healed, and everything that was sent must have
come.

In half of the worlds one domain has three servers, which choose their primary, and among the faults
are crashes, pauses and partitions of these that last longer than a primary is missed. Agents are
born meanwhile. In half of these the first server is killed soon after the start, and just after it
is back the one that was elected: two must have chosen again before all else begins. Where they hear
each other late, two stand at once, and the one that is back has to choose.

In some worlds a few hosts engage, and their agents take jobs from a governed space that they
share: they move while a take waits, and still get their job, once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import combinations
from random import Random
from typing import Final

from msgspec.structs import replace

from nomospace.law import load
from nomospace.terms import Compound
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.checkers.mail import (
    NOTE,
    mail_arrives_once,
    mail_keeps_order,
    obligations_keep_time,
    one_place,
    refused_stay,
    takes_survive_moves,
    was_hard,
)
from nomospace_lab.sim.checkers.servers import (
    note_primaries,
    one_primary,
    primaries,
    servers_agree,
    two_choose,
)
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut, Fault, Pause, Storm
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import (
    DEFAULT_LIMITS,
    TAKE,
    Adopt,
    Announced,
    Answer,
    Move,
    Open,
    Out,
    Seek,
    Share,
    Tell,
)
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.workloads import workload

PERIOD_S: Final = 4
LAW: Final = load(
    f"""\
law(mail).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
R3. adopted(_) :- not(tupleSpace@CS), do(imposeObligation(beat, {PERIOD_S})).
R4. obligationDue(beat) :- do(imposeObligation(beat, {PERIOD_S})).
R5. moved(From, To) :- do(deliver(Self, moved(From, To), Self)).
""",
    "mail.law",
)
SILENCE_US: Final = SECOND_US
"""After which a server misses its primary."""
USUAL: Final = replace(DEFAULT_LIMITS, silence=SILENCE_US)
SHORT: Final = replace(
    USUAL,
    queue_max=2,
    early_max=2,
    held_max=40,
    guesses_max=3,
    passed_max=12,
    pause_max=2 * SECOND_US,
)
"""Limits that are met all the time."""
JOBS: Final = "jobs"
JOB: Final = Template.of(("job", ANY))
NOBODY: Final = "nobody"
NOWHERE: Final = "nowhere"

NOTES: Final = 310
NOTES_MIN: Final = 300
MOVES: Final = 90
MOVES_MIN: Final = 20
CALM_MOVES: Final = 3
"""What each agent moves after the healing."""
CRASHES_MIN: Final = 2
BIRTHS: Final = 4
"""Agents that are born while servers fail."""

CHOSEN_S: Final = 5
"""In which two servers have chosen a primary, though the network is not perfect."""
FIRST_STEPS: Final = 60
"""Within so many steps of its first life a server is killed that will be back soon."""
SLOW: Final = Link(delay_max_us=400_000)
"""Between servers that miss their primary before they hear that another one has."""
LOOK_US: Final = SECOND_US // 20
"""How often the script looks whether it is."""
LATER_S: Final = 9
"""How much later all else comes when the first servers are killed: then all are on record."""

BEGIN_S: Final = 0.5
HEAL_S: Final = 24
REST_S: Final = HEAL_S + 12
"""A move that was begun before the healing has ended, and nobody pauses any more."""
END_S: Final = REST_S + 8


def _us(at_s: float) -> int:
    return START_US + int(at_s * SECOND_US)


class RoutingPeople:
    """The agents of a world, and what they do next."""

    def __init__(self, world: Sites, rng: Random, homes: dict[str, str]) -> None:
        self.world = world
        self.rng = rng
        self.hosts = list(homes)
        self.agents: list[str] = []
        self.workers: list[str] = []
        self.halls: Sequence[str] = ()
        self._serial = 0
        self._jobs = 0
        self._taking: dict[str, int | None] = {}
        for number, (host, domain) in enumerate(homes.items()):
            for which in range(2):
                agent = f"{'ab'[which]}{number}@{domain}"
                self.agents.append(agent)
                world.arrive(agent, host)
                world.call(agent, Adopt(LAW))

    # -- notes -----------------------------------------------------------------------------

    def write(self, sender: str, to: str) -> None:
        """One note, if the sender can act now."""
        self._serial += 1
        note = Compound(NOTE, (self._serial,))
        self.world.call(sender, Tell(LAW.hash, note, to))

    def write_somebody(self) -> None:
        """A note from anybody who can act now to anybody, at times to nobody."""
        ready = self.world.agents()
        if not ready:
            return
        sender, to = self.rng.choice(ready), self.rng.choice(self.agents)
        if self.rng.random() < 0.02:
            to = f"{NOBODY}@{to.partition('@')[2]}"
        self.write(sender, to)

    def write_on(self, sender: str, to: str, count: int) -> None:
        """A stream of notes, one soon after the other."""
        self.write(sender, to)
        if count > 1:
            gap_us = self.rng.randrange(1_000, 150_000)
            self.world.clock.after(gap_us, self.write_on, sender, to, count - 1)

    # -- births ----------------------------------------------------------------------------

    def bear(self, agent: str, host: str) -> None:
        """A new agent comes, and tells somebody."""
        self.world.arrive(agent, host)
        self._introduce(agent)

    def _introduce(self, agent: str) -> None:
        """Let others know of a new agent once what it sends is taken: then it is on record."""
        if self.world.clock.now >= _us(REST_S):
            return
        self.world.clock.after(SECOND_US, self._introduce_again, agent)
        self.world.call(agent, Adopt(LAW))
        self._serial += 1
        note = Compound(NOTE, (self._serial,))
        known = [one for one in self.agents if one != agent]
        self.world.call(agent, Tell(LAW.hash, note, self.rng.choice(known)), self._heard_of(agent))

    def _introduce_again(self, agent: str) -> None:
        if agent not in self.agents:
            self._introduce(agent)

    def _heard_of(self, agent: str) -> Callable[[Answer], None]:
        def heard(answer: Answer) -> None:
            if answer.error is None and agent not in self.agents:
                self.agents.append(agent)

        return heard

    def write_newcomer(self, agent: str, sender: str) -> None:
        """Somebody writes to a new agent, if it is known."""
        if agent in self.agents:
            self.write(sender, agent)

    # -- moves -----------------------------------------------------------------------------

    def move(self, agent: str) -> None:
        """An agent would be elsewhere; somebody writes to it, and it to somebody, meanwhile."""
        world, rng = self.world, self.rng
        here = world.where[agent]
        there = [host for host in self._reach(agent) if host != here]
        if here is None or not there:
            return
        to = NOWHERE if rng.random() < 0.02 else rng.choice(there)
        world.call(agent, Move(to))
        if rng.random() < 0.3:
            other = rng.choice([one for one in self.agents if one != agent])
            pair = (agent, other) if rng.random() < 0.4 else (other, agent)
            self.write_on(*pair, rng.randint(2, 6))

    def move_somebody(self) -> None:
        """Any agent would be elsewhere."""
        self.move(self.rng.choice(self.agents))

    def _reach(self, agent: str) -> Sequence[str]:
        return self.halls if agent in self.workers else self.hosts

    # -- jobs ------------------------------------------------------------------------------

    def engage(self, halls: Sequence[str]) -> None:
        """Agents of these hosts share a governed space of jobs."""
        self.halls = halls
        self.workers = [agent for agent in self.agents if self.world.where[agent] in halls]
        for agent in self.workers:
            self._taking[agent] = None
            self.world.call(agent, Open(JOBS, LAW))
            self.world.call(agent, Share((JOBS,)))

    def put(self) -> None:
        """Somebody has a job to give."""
        self._jobs += 1
        self.world.call(self.rng.choice(self.workers), Out(JOBS, ("job", self._jobs)))

    def take(self, worker: str) -> None:
        """A worker that waits for none would have a job."""
        if self._taking[worker] is None:
            self._taking[worker] = self.world.call(
                worker, Seek(JOBS, TAKE, JOB), self._took(worker)
            )

    def _took(self, worker: str) -> Callable[[Answer], None]:
        def took(answer: Answer) -> None:
            self._taking[worker] = None

        return took

    def work(self) -> None:
        """A worker would have a job, and perhaps goes elsewhere before there is one."""
        clock, rng = self.world.clock, self.rng
        worker = rng.choice(self.workers)
        self.take(worker)
        go_us = rng.randrange(1, SECOND_US)
        clock.after(go_us, self.move, worker)
        clock.after(go_us + rng.randrange(SECOND_US), self.put)

    def begin_again(self, _host: str, agents: Sequence[str]) -> None:
        """What an agent waited for ended with its host."""
        for agent in agents:
            if agent in self._taking:
                self._taking[agent] = None


def _faults(rng: Random, hosts: list[str]) -> list[Fault]:
    """At least two crashes that find their host up, a partition, and bad weather."""
    found: list[Fault] = []
    window = (HEAL_S - 4) / CRASHES_MIN
    for number in range(CRASHES_MIN + rng.randrange(4)):
        sure = number < CRASHES_MIN
        at_s = 2 + number * window + rng.uniform(0, window / 3) if sure else rng.uniform(2, HEAL_S)
        steps = rng.randrange(1, 30) if rng.random() < 0.8 else 0
        down_us = int(rng.uniform(0.2, 5) * SECOND_US)
        found.append(Crash(_us(at_s), rng.choice(hosts), down_us, steps))
    for _ in range(1 + rng.randrange(2)):
        side = tuple(sorted(rng.sample(hosts, rng.randrange(1, len(hosts)))))
        for_us = int(rng.uniform(1, 8) * SECOND_US)
        found.append(Cut(_us(rng.uniform(2, HEAL_S - 9)), side, for_us))
    link = Link(
        delay_max_us=rng.choice((200_000, 1_500_000)),
        loss=rng.uniform(0.05, 0.3),
        repeats=rng.uniform(0, 0.2),
    )
    found.append(Storm(_us(rng.uniform(2, HEAL_S - 9)), link, int(rng.uniform(2, 8) * SECOND_US)))
    return sorted(found, key=lambda fault: fault.at)


def _server_faults(rng: Random, servers: Sequence[str]) -> list[Fault]:
    """One after the other some servers are away for longer than they are missed."""
    found: list[Fault] = []
    for number in range(rng.randint(2, 3)):
        at, for_us = _us(3 + 6 * number + rng.random()), int(rng.uniform(2.5, 5) * SECOND_US)
        server = rng.choice(servers[: 2 if number else 1])
        kind = rng.randrange(3)
        if kind == 0:
            found.append(Crash(at, server, for_us, rng.choice((0, rng.randrange(1, 9)))))
        elif kind == 1:
            found.append(Pause(at, server, for_us))
        else:
            found.append(Cut(at, (server,), for_us))
    return found


def _kill_again(world: Sites, rng: Random, domain: str) -> None:
    """Kill a domain's first server, and just after it is back the one that was elected."""
    down_us, steps = int(rng.uniform(0.8, 3) * SECOND_US), rng.randrange(1, FIRST_STEPS)
    world.crash(Crash(START_US, world.servers[domain][0], down_us, steps))
    _await_return(world, rng.randrange(SECOND_US), domain)


def _await_return(world: Sites, wait_us: int, domain: str) -> None:
    if world.sites[world.servers[domain][0]].life > 1:
        world.clock.after(wait_us, _kill_elected, world, domain)
    else:
        world.clock.after(LOOK_US, _await_return, world, wait_us, domain)


def _kill_elected(world: Sites, domain: str) -> None:
    for server in primaries(world, domain):
        if server.term:
            down_us = CHOSEN_S * SECOND_US
            now = world.clock.now
            world.at(now + down_us - 1, note_primaries, world, domain, now)
            world.crash(Crash(world.clock.now, server.site, down_us))


def _wear(world: Sites) -> None:
    """From now on links are never perfect. Before, all agents became known at their homes."""
    world.network.fair = world.network.usual = Link(loss=0.02, repeats=0.02)


CHECKERS: Final = (
    was_hard(messages=NOTES_MIN, moves=MOVES_MIN, crashes=CRASHES_MIN),
    mail_arrives_once,
    mail_keeps_order,
    one_place,
    refused_stay,
    obligations_keep_time(PERIOD_S * SECOND_US),
    takes_survive_moves,
    one_primary,
    two_choose,
    servers_agree,
)


@workload(
    "routing",
    "agents that move between domains while they write to each other",
    checkers=CHECKERS,
    everywhere=(),
)
def build(seed: int) -> Sites:
    """Domains of a few hosts with their agents, a script of notes and moves, faults, healing."""
    return routing_world(seed, RoutingPeople)


def routing_world(seed: int, people_of: type[RoutingPeople]) -> Sites:
    """A world of domains with these people."""
    rng = Random(f"{seed}/domains")
    domains = {
        domain: [f"{domain}{number}" for number in range(1, rng.randint(least, most) + 1)]
        for domain, least, most in (("lab", 2, 3), ("ward", 1, 2), ("shop", 1, 1))[
            : rng.randint(2, 3)
        ]
    }
    servers: dict[str, tuple[str, ...]] = {domain: (hosts[0],) for domain, hosts in domains.items()}
    if several := Random(f"{seed}/servers").random() < 0.5:
        domains["lab"] = ["lab1", "lab2", "lab3"]
        servers["lab"] = ("lab1", "lab2", "lab3")
    homes = {host: domain for domain, hosts in domains.items() for host in hosts}
    limits = SHORT if rng.random() < 0.4 else USUAL
    world = Sites(seed, laws=(LAW,), observe=False, servers=servers, limits=limits)
    halls = sorted(rng.sample(list(homes), 2)) if rng.random() < 0.25 else []
    doors = world.rng("doors")

    def admits(_agent: str, _program: str, _code: object) -> str:
        closed = world.healed_at is None and doors.random() < 0.08
        return "the door is closed" if closed else ""

    for host, domain in homes.items():
        world.site(
            host,
            skew_us=rng.randint(-SECOND_US // 2, SECOND_US // 2),
            policy=None if host in halls else Announced(),
            domain=domain,
            admits=admits,
        )
    again = world.rng("kill again")
    later_s = LATER_S if several and again.random() < 0.5 else 0
    slow = SLOW if later_s and again.random() < 0.5 else None
    for a, b in combinations(homes, 2):
        world.connect(a, b, slow if homes[a] == homes[b] == "lab" else None)

    world.at(_us(BEGIN_S), _wear, world)

    people = people_of(world, world.rng("people"), homes)
    world.on_restart = people.begin_again
    if halls:
        people.engage(halls)
        for _ in range(24):
            world.at(_us(rng.uniform(4 + later_s, HEAL_S + 6)), people.work)  # all are on record
    for _ in range(NOTES):
        world.at(_us(rng.uniform(BEGIN_S + later_s, HEAL_S)), people.write_somebody)
    for _ in range(MOVES):
        world.at(_us(rng.uniform(1 + later_s, HEAL_S)), people.move_somebody)
    faults = _faults(world.rng("faults"), list(homes))
    if several:
        if later_s:
            _kill_again(world, again, "lab")
            by_us = later_s * SECOND_US
            faults = [dataclasses.replace(fault, at=fault.at + by_us) for fault in faults]
        else:
            faults += _server_faults(world.rng("server faults"), servers["lab"])
        for number in range(BIRTHS):
            agent, host = f"n{number}@lab", rng.choice(servers["lab"])
            world.at(_us(rng.uniform(4, HEAL_S)), people.bear, agent, host)
            world.at(_us(REST_S), people.write_newcomer, agent, rng.choice(people.agents))
    world.plan(faults, heal_at_us=_us(HEAL_S))

    for agent in people.agents:
        for number in range(CALM_MOVES):
            at_s = HEAL_S + 1 + number * (REST_S - HEAL_S - 1) / CALM_MOVES
            world.at(_us(at_s + rng.random()), people.move, agent)
        world.at(_us(REST_S), people.write_on, agent, rng.choice(people.agents), 2)
    for _ in people.workers:
        for _ in range(2):  # one that was lent to a take that ended may still be on its way back
            world.at(_us(REST_S + 2), people.put)
    world.end_us = _us(END_S)
    return world
