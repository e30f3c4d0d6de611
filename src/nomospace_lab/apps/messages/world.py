"""Worlds of secure message passing: letters in a shared space, and those who would read them all.

A thief is a member of the community and tries every operation there is. A burglar has a host of
its own, engaged with the others, and a space of the same name there: under no law, or under one
that lets everything pass. That is another space, and it finds in it what it put there itself.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final

from nomospace import laws
from nomospace.law import CompiledLaw, load
from nomospace.terms import Compound, t
from nomospace.terms.templates import ANY, Template
from nomospace_lab.apps.governed import (
    CALM_S,
    CHANGES_MIN,
    CRASHES_MIN,
    GOVERNED,
    GovernedWorld,
    field,
)
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.checkers.ruled import sights
from nomospace_lab.sim.checkers.views import was_hard
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.observed import ANSWERED, ASKED
from nomospace_lab.sim.requests import (
    ONCE,
    ONCE_PER_TUPLE,
    READ,
    READ_ALL,
    READ_NOWAIT,
    STRONG,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    WEAK,
    Adjust,
    Adopt,
    Answer,
    Cancel,
    Found,
    Open,
    Out,
    React,
    Request,
    Seek,
    Settle,
    Share,
    Tell,
    Way,
)
from nomospace_lab.sim.workloads import workload

POST: Final = "post"
HOSTS: Final = ("north", "south", "east")
WRITERS: Final = ("ann@north", "bob@south", "cat@east", "dan@north", "eva@south")
ROAMER: Final = WRITERS[-1]
THIEF: Final = "thief@south"
HUT: Final = "hut"
BURGLAR: Final = "burglar@hut"
LAST: Final = "the last letter"
LETTERS: Final = 45
HEAL_S: Final = 40
END_S: Final = HEAL_S + CALM_S + 8
LEASE_US: Final = 4 * SECOND_US
HOWS: Final = (TAKE, READ, TAKE_NOWAIT, READ_NOWAIT, TAKE_ALL, READ_ALL)

LAX: Final = """\
law(lax).
initialCS([]).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
"""


@cache
def law_mp() -> CompiledLaw:
    """Law MP as it is shipped."""
    return load(laws.text("mp"), "mp.law")


@cache
def law_lax() -> CompiledLaw:
    """A law under which everybody may do everything."""
    return load(LAX, "lax.law")


def letter(text: str, sender: str, to: str) -> tuple[Compound, ...]:
    """A letter as law MP has it."""
    return (t.msg(text), Compound("from", (sender,)), t.to(to))


def letters_to(reader: object) -> Template:
    """The template of all letters to somebody."""
    return Template.of((t.msg(ANY), Compound("from", (ANY,)), t.to(reader)))


class Writers:
    """Those who write letters and read those that came."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng

    def write(self, writer: str, to: str, text: str) -> None:
        """Put a letter into the space; it stays here, or goes to whom it is for."""
        place = to if self.rng.random() < 0.3 else ""
        self.world.call(writer, Out(POST, letter(text, writer, to), to=place))

    def read(self, reader: str, how: Way) -> None:
        """Get letters to oneself; what does not wait asks some host."""
        at = "" if how in (TAKE, READ) else self.rng.choice(("", *HOSTS))
        self.world.call(reader, Seek(POST, how, letters_to(reader), at))

    def borrow(self, reader: str) -> None:
        """Take a letter under a lease; keep it, or give it back."""
        done = self.rng.random() < 0.5
        wait_us = int(self.rng.uniform(0.2, 1.3) * LEASE_US)

        def got(answer: Answer) -> None:
            if isinstance(answer.value, Found):
                settle = Settle(POST, answer.value.lease, done)
                self.world.clock.after(wait_us, self.world.call, reader, settle)

        seek = Seek(POST, TAKE, letters_to(reader), lease_us=LEASE_US)
        self.world.call(reader, seek, got)

    def watch(self, reader: str) -> None:
        """React to letters to oneself, from afar or on the own host."""
        strength = self.rng.choice((WEAK, WEAK, STRONG))
        at = reader if strength == STRONG else ""
        mode = self.rng.choice((ONCE, ONCE_PER_TUPLE))
        self.world.call(reader, React(POST, letters_to(reader), mode, strength, at))


class Thief:
    """Reads, takes, forges and ends what is not its own, if it can."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self._forged = 0

    def steal(self, law: CompiledLaw) -> None:
        """Try some of all the ways to others' letters."""
        others = self._ends_of_others()
        tried = self.rng.sample(self.ways(law), 12)
        tried += self.rng.sample(others, min(len(others), 4))
        for request in tried:
            self.world.call(THIEF, request)

    def ways(self, law: CompiledLaw) -> list[Request]:
        """Every way to others' letters there is."""
        rng = self.rng
        victim, other = rng.sample(WRITERS, 2)
        at = rng.choice(("", victim, *HOSTS))
        self._forged += 1
        forged = letter(f"pay the thief {self._forged}", other, victim)
        templates = (
            letters_to(victim),
            letters_to(ANY),
            Template.of((ANY, ANY, ANY)),
            Template.of((t.msg(ANY), ANY, ANY)),
            Template.of((t.msg(ANY), Compound("from", (victim,)), t.to(str))),
        )
        ways: list[Request] = []
        for template in templates:
            for how in HOWS:
                ways.append(Seek(POST, how, template, at))
                ways.append(Tell(law.hash, Compound(_WORDS[how], (template.term,)), POST))
            ways.append(Seek(POST, TAKE_NOWAIT, template, at, lease_us=LEASE_US))
            ways.append(React(POST, template, ONCE_PER_TUPLE, WEAK, at))
            ways.append(React(POST, template, ONCE, STRONG, THIEF))
            ways.append(React(POST, template, ONCE, STRONG, self.world.where[THIEF] or THIEF))
            ways += [
                Tell(law.hash, Compound(word, (template.term,)), POST)
                for word in ("cancel", "unreact", "returned", "react")
            ]
            ways.append(Tell(law.hash, t.cancel(Compound("in", (template.term,))), POST))
        ways += [
            Out(POST, forged),
            Tell(law.hash, t.out(forged), POST),
            Tell(law.hash, t.found(t.rdp(letters_to(victim).term), forged), victim),
            Tell(law.hash, t.reacted(letters_to(victim).term, forged), victim),
            Open(POST),
            Open(POST, law_lax()),
            Share((POST,), shared=False),
            Share((POST,)),
        ]
        return ways

    def _ends_of_others(self) -> list[Request]:
        """Calls, reactions and leases of others, as if their names had been guessed."""
        world = self.world
        found: list[Request] = [Cancel(op) for op in list(world.waiting())[-3:]]
        for h in list(world.history)[-400:]:
            if h.kind == ANSWERED and isinstance(h.what.value, Found) and h.what.value.lease:
                found += [Settle(POST, h.what.value.lease, done) for done in (True, False)]
            elif h.kind == ANSWERED and isinstance(h.what.value, str) and "#" in h.what.value:
                found.append(Adjust(h.what.value, "remove"))
        return found


class Burglar:
    """Has a space of the same name on its own host, and asks it for everything."""

    def __init__(self, world: Sites, rng: Random, law: CompiledLaw | None) -> None:
        self.world = world
        self.rng = rng
        self.law = law
        self._baits = 0

    def break_in(self) -> None:
        """Open the space, and share it with whoever has one of that name."""
        self.world.arrive(BURGLAR, HUT)
        if self.law is not None:
            self.world.call(BURGLAR, Adopt(self.law))
        self.world.call(BURGLAR, Open(POST, self.law))
        self.world.call(BURGLAR, Share((POST,)))

    def loot(self) -> None:
        """Look for all that has the shape of a letter, here and everywhere."""
        rng, world = self.rng, self.world
        template = rng.choice((letters_to(ANY), Template.of((ANY, ANY, ANY))))
        at = rng.choice(("", *HOSTS, *WRITERS))
        world.call(BURGLAR, Seek(POST, rng.choice(HOWS), template, at))
        world.call(BURGLAR, React(POST, template, ONCE_PER_TUPLE, WEAK, at))
        self._baits += 1
        bait = ("bait", self._baits, "for nobody")
        world.call(BURGLAR, Out(POST, bait, to=rng.choice(("", *WRITERS))))


_WORDS: Final = dict(zip(HOWS, ("in", "rd", "inp", "rdp", "ing", "rdg"), strict=True))


def letters_name_their_writer(world: Sites) -> Verdict:
    """No letter in the space is forged, neither where it is written nor where it is seen."""
    name = "letters name their true writer"
    cases = 0
    asked = {h.what.op: h for h in world.history.of(ASKED)}
    for h in world.history.of(ANSWERED):
        request = asked[h.what.op].what.request if h.what.op in asked else None
        if isinstance(request, Out) and h.what.error is None and h.who != BURGLAR:
            cases += 1
            if field(request.fields, "from") != h.who:
                return no(name, f"{h.who} wrote it", asked[h.what.op], h)
    for sight in sights(world):
        sender = field(sight.fields, "from")
        if sender is not None:
            cases += 1
            if sight.found.writer and sender != sight.found.writer:
                return no(name, f"{sight.found.writer} wrote it", sight.h)
            if str(field(sight.fields, "msg")).startswith("pay the thief"):
                return no(name, f"{sight.agent} was shown a forged letter", sight.h)
    return yes(name, cases)


def letters_reach_their_reader(world: Sites) -> Verdict:
    """Nobody but its addressee is shown a letter: by no answer, no firing and no mail."""
    name = "letters are seen by their addressee only"
    cases = 0
    for sight in sights(world):
        to = field(sight.fields, "to")
        if to is not None:
            cases += 1
            if to != sight.agent:
                return no(name, f"{sight.agent} got a letter to {to!s}", sight.h)
    return yes(name, cases)


def another_law_is_another_space(world: Sites) -> Verdict:
    """A space of the same name under another law, or under none, shares nothing with this one."""
    name = "under another law it is another space"
    cases = 0
    for sight in sights(world):
        bait = sight.fields[0] == "bait"
        cases += bait
        if bait != (sight.agent == BURGLAR):
            return no(name, f"{sight.agent} was shown it", sight.h)
    return yes(name, cases)


def what_is_others_stays(world: Sites) -> Verdict:
    """The thief ends no call, no reaction and no lease of anybody else."""
    name = "nobody ends what is another's"
    asked = {h.what.op: h for h in world.history.of(ASKED)}
    mine: set[str] = set()
    cases = 0
    for h in world.history.of(ANSWERED):
        request = asked[h.what.op].what.request if h.what.op in asked else None
        if h.who != THIEF:
            continue
        if isinstance(request, React) and h.what.error is None:
            mine.add(h.what.value)
        ended = h.what.error is None and h.what.value is not False
        if isinstance(request, Cancel | Adjust | Settle):
            cases += 1
            own = isinstance(request, Adjust) and request.reaction in mine
            own = own or (isinstance(request, Cancel) and asked[request.op].who == THIEF)
            if ended and not own:
                return no(name, "it had its way", asked[h.what.op], h)
    return yes(name, cases)


def the_last_letter_arrives(world: Sites) -> Verdict:
    """Once the faults are over, a letter finds its reader on another host."""
    name = "after the healing a letter finds its reader"
    if not world.quiet or world.healed_at is None:
        return unknown(name, "the history ends before the last letter has settled")
    for sight in sights(world):
        if sight.agent == WRITERS[1] and field(sight.fields, "msg") == LAST:
            return yes(name, 1)
    return no(name, f"{WRITERS[1]} never got {LAST}", *list(world.history)[-2:])


@workload(
    "messages",
    "letters through a shared space under law MP, a thief and a burglar",
    checkers=(
        was_hard(calls=100, changes=CHANGES_MIN, crashes=CRASHES_MIN),
        letters_name_their_writer,
        letters_reach_their_reader,
        another_law_is_another_space,
        what_is_others_stays,
        the_last_letter_arrives,
    ),
    everywhere=GOVERNED,
)
def build(seed: int) -> Sites:
    """Hosts with their writers, a thief among them and a burglar next door, and faults."""
    law = law_mp()
    community = GovernedWorld(seed, law, POST, laws=(law_lax(),))
    world, rng = community.world, community.rng
    community.hosts(*HOSTS, HUT)
    community.join(*WRITERS, THIEF)
    burglar = Burglar(world, world.rng("burglar"), rng.choice((None, law_lax())))
    burglar.break_in()
    writers = Writers(world, world.rng("writers"))
    for number in range(LETTERS):
        writer, reader = rng.sample(WRITERS, 2)
        text = f"letter {number}"
        community.act(rng.uniform(1, HEAL_S), writers.write, writer, reader, text)
        how = rng.choice((TAKE, TAKE, READ, TAKE_NOWAIT, READ_ALL, TAKE_ALL))
        community.act(rng.uniform(1, HEAL_S), writers.read, reader, how)
    for writer in WRITERS:
        community.act(rng.uniform(1, HEAL_S), writers.watch, writer)
        community.act(rng.uniform(1, HEAL_S), writers.borrow, writer)
    thief = Thief(world, world.rng("thief"))
    for _ in range(5):
        community.act(rng.uniform(3, HEAL_S + CALM_S), thief.steal, law)
        community.act(rng.uniform(3, HEAL_S + CALM_S), burglar.loot)
    community.roam(ROAMER, until_s=HEAL_S, times=3)
    community.act(HEAL_S + CALM_S, writers.write, WRITERS[0], WRITERS[1], LAST)
    last = Template.of((t.msg(LAST), Compound("from", (ANY,)), t.to(WRITERS[1])))
    community.act(HEAL_S + CALM_S + 2, world.call, WRITERS[1], Seek(POST, TAKE, last))
    community.trouble(heal_s=HEAL_S, end_s=END_S)
    return world
