"""What must hold wherever dealers compete for papers: judged from what they were given and saw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from nomospace.sim.checkers import Verdict, no, unknown, yes
from nomospace.sim.history import CRASHED, Happening, tell_as
from nomospace.sim.observed import ANSWERED, ASKED, UNTOLD
from nomospace.sim.requests import TAKE, TAKE_ALL, TAKE_NOWAIT, Found, Seek
from nomospace.terms import Term

if TYPE_CHECKING:
    from nomospace.apps.correlation.world import Market

WROTE: Final = "wrote"  # who: a clerk; what: the car, of which all papers lie in the space
SAW: Final = "saw"  # who: an auditor; what: Saw
_TAKING: Final = (TAKE, TAKE_NOWAIT, TAKE_ALL)
SETS_MIN: Final = 12
"""So many sets must have been taken, or the world proves little."""


class Saw(NamedTuple):
    """What lay on one host in one instant, and when it was asked for."""

    host: str
    asked: int
    tuples: tuple[tuple[Term, ...], ...]


def _tell_wrote(h: Happening) -> str:
    return f"{h.who} has written all papers of {h.what}"


def _tell_saw(h: Happening) -> str:
    return f"{h.who} sees {len(h.what.tuples)} tuples on {h.what.host}"


tell_as(WROTE, _tell_wrote)
tell_as(SAW, _tell_saw)


def car_of(fields: tuple[Term, ...]) -> str:
    """The car whose papers a tuple is of; every object in it has the car's id."""
    return str(next(field for field in fields if not isinstance(field, str)).args[1])


class Taken(NamedTuple):
    """An answer to a take, told or lost with its program, and the call that it answers."""

    asked: Happening
    answered: Happening
    found: Found


def takings(world: Market) -> Iterator[Taken]:
    """All that was taken, in order."""
    asked: dict[int, Happening] = {}
    for h in world.history.of(ASKED, ANSWERED, UNTOLD):
        if h.kind == ASKED:
            if isinstance(h.what.request, Seek) and h.what.request.how in _TAKING:
                asked[h.what.op] = h
        elif h.what.op in asked and h.what.value:
            value = h.what.value
            for found in value if isinstance(value, tuple) else (value,):
                yield Taken(asked[h.what.op], h, found)


def taken_once(world: Market) -> Verdict:
    """No tuple is in two answers, in whichever host's space it lay."""
    name = "each tuple is in at most one taken answer"
    taken: dict[tuple[str, int], Happening] = {}
    sets = 0
    for one in takings(world):
        found = one.found
        sets += bool(found.members)
        ids = [(member.writer, member.count) for member in found.members]
        for id in ids or [(found.writer, found.count)]:
            if id in taken:
                return no(name, f"tuple {id} was taken twice", taken[id], one.answered)
            taken[id] = one.answered
    if sets < SETS_MIN:
        return unknown(name, f"only {sets} sets were taken")
    return yes(name, len(taken))


def whole_answers(world: Market) -> Verdict:
    """An answer has all papers of one car and of no other."""
    name = "an answer is of one car, and all of its papers"
    cases = 0
    for one in takings(world):
        rows = sorted(map(repr, one.found.rows))
        car = car_of(one.found.fields)
        if rows != sorted(map(repr, world.papers[car])):
            return no(name, f"of {car} these were taken: {rows}", one.asked, one.answered)
        cases += 1
    return yes(name, cases)


def none_half_taken(world: Market) -> Verdict:
    """In whatever instant one looks: of a car whose papers were all written, all lie there or none.

    That holds for cars whose answer was lost in a crash, too.
    """
    name = "no set is half taken"
    written: dict[str, Happening] = {}
    for h in world.history.of(WROTE):
        written.setdefault(h.what, h)
    cases = 0
    for h in world.history.of(SAW):
        there: dict[str, int] = {}
        for fields in h.what.tuples:
            there[car_of(fields)] = there.get(car_of(fields), 0) + 1
        for car, count in there.items():
            before = written.get(car)
            if before is None or before.at > h.what.asked:
                continue
            cases += 1
            if count != len(world.papers[car]):
                says = f"{count} of {len(world.papers[car])} papers of {car} are there"
                return no(name, says, before, h)
    return yes(name, cases + len(written))


def all_are_served(world: Market) -> Verdict:
    """Dealers wait on every host when all is healed, so in the end nothing is left."""
    name = "whoever waits for a set that is there is served"
    last = {h.what.host: h for h in world.history.of(SAW)}
    for h in last.values():
        if h.what.tuples:
            return no(name, f"{car_of(h.what.tuples[0])} is left on {h.what.host}", h)
    if len(list(world.history.of(WROTE))) < len(world.papers):
        return unknown(name, "not all papers were written")
    return yes(name, len(last))


def was_hard(world: Market) -> Verdict:
    """Hosts crashed in the middle of it."""
    name = "the world was hard enough"
    crashes = len(list(world.history.of(CRASHED)))
    return yes(name, crashes) if crashes else unknown(name, "no host crashed")
