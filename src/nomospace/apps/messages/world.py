"""Worlds of secure message passing: letters in a shared space, and one who would read them all."""

from __future__ import annotations

from functools import cache
from typing import Final

from nomospace import laws
from nomospace.apps.tuplespace import ANY, TupleSpace, answer, field, operation
from nomospace.law import CompiledLaw, load
from nomospace.sim.checkers import Verdict, no, unknown, yes
from nomospace.sim.checkers.quiet import was_hard
from nomospace.sim.clock import SECOND_US
from nomospace.sim.history import DELIVERED, SENT
from nomospace.sim.network import Link
from nomospace.sim.workloads import workload
from nomospace.sim.world import Agent, World
from nomospace.terms import Compound, t

POST: Final = "post@office"
WRITERS: Final = ("ann@north", "bob@south", "cat@north", "dan@south")
THIEF: Final = "thief@south"
LAST: Final = "the last letter"
HEAL_S: Final = 1200


class Writer(Agent):
    """Writes letters, and reads those that came."""

    def write(self, to: str, text: str) -> None:
        """Put a letter into the space."""
        self.me.send(t.out((t.msg(text), Compound("from", (self.me.id,)), t.to(to))), POST)

    def read(self, how: str = "in") -> None:
        """Get a letter to oneself."""
        mine = (t.msg(ANY), Compound("from", (ANY,)), t.to(self.me.id))
        self.me.send(Compound(how, (mine,)), POST)


class Thief(Writer):
    """Reads, takes and forges what is not its own, if it can."""

    def steal(self) -> None:
        """Try every way to others' letters."""
        me = self.me
        victim, other = me.rng.sample(WRITERS, 2)
        for to in (victim, ANY):
            letter = (t.msg(ANY), Compound("from", (ANY,)), t.to(to))
            for how in ("in", "rd", "inp", "rdp", "rdg"):
                me.send(Compound(how, (letter,)), POST)
        me.send(t.rdg((ANY, ANY, ANY)), POST)
        me.send(t.rdg(ANY), POST)
        forged = (t.msg("pay the thief"), Compound("from", (other,)), t.to(victim))
        me.send(t.out(forged), POST)


@cache
def law_mp() -> CompiledLaw:
    """Law MP as it is shipped."""
    return load(laws.text("mp"), "mp.law")


def letters_name_their_writer(world: World) -> Verdict:
    """No letter in the space is forged."""
    name = "letters name their true writer"
    cases = 0
    for h in world.history.of(SENT):
        writing = operation(h.what.message)
        if writing is not None and writing[0] == "out" and h.what.to == POST:
            cases += 1
            if field(writing[1], "from") != h.who:
                return no(name, f"{h.who} wrote it", h)
    return yes(name, cases)


def letters_reach_their_reader(world: World) -> Verdict:
    """Nobody but its addressee is shown a letter."""
    name = "letters are seen by their addressee only"
    cases = 0
    for h in world.history.of(DELIVERED):
        shown = answer(h.what.message)
        for letter in shown[1] if shown is not None else ():
            cases += 1
            if field(letter, "to") != h.who:
                return no(name, f"{h.who} got a letter to {field(letter, 'to')}", h)
    return yes(name, cases)


def the_last_letter_arrives(world: World) -> Verdict:
    """Once the faults are over, a letter finds its reader."""
    name = "after the healing a letter finds its reader"
    if not world.quiet or world.healed_at is None:
        return unknown(name, "the history ends before the last letter has settled")
    for h in world.history.of(DELIVERED):
        shown = answer(h.what.message)
        if shown is None or h.who != WRITERS[1] or h.at < world.healed_at:
            continue
        if any(field(letter, "msg") == LAST for letter in shown[1]):
            return yes(name, 1)
    return no(name, f"{WRITERS[1]} never got {LAST}", *list(world.history)[-2:])


@workload(
    "messages",
    "letters through a shared space under law MP, and a thief",
    checkers=(
        was_hard(messages=50),
        letters_name_their_writer,
        letters_reach_their_reader,
        the_last_letter_arrives,
    ),
)
def build(seed: int) -> World:
    """A post office, its customers, a thief and faults."""
    world = World(seed, link=Link(loss=0.02, repeats=0.02))
    rng = world.rng("population")
    for name in ("office", "north", "south"):
        world.host(name, skew_us=rng.randint(-SECOND_US, SECOND_US))
    world.join(POST, law_mp(), TupleSpace, manager=True)
    for writer in WRITERS:
        world.join(writer, law_mp(), Writer)
    world.join(THIEF, law_mp(), Thief)
    for number in range(60):
        writer, reader = rng.sample(WRITERS, 2)
        how = rng.choice(("in", "in", "rd", "inp", "rdg"))
        world.act(rng.uniform(5, HEAL_S), writer, Writer.write, reader, f"letter {number}")
        world.act(rng.uniform(5, HEAL_S), reader, Writer.read, how)
    for _ in range(4):
        world.act(rng.uniform(30, HEAL_S), THIEF, Thief.steal)
    world.act(HEAL_S + 10, WRITERS[0], Writer.write, WRITERS[1], LAST)
    world.act(HEAL_S + 20, WRITERS[1], Writer.read, "rdg")
    world.act(HEAL_S + 30, WRITERS[1], Writer.read, "in")
    world.trouble(from_s=30, heal_s=HEAL_S)
    return world
