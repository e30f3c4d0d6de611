"""What must hold wherever dealers compete for papers: judged from what they were given and saw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from nomospace.terms import Compound, Term
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.history import CRASHED, Happening, tell_as
from nomospace_lab.sim.observed import ANSWERED, ASKED, UNTOLD
from nomospace_lab.sim.requests import TAKE, TAKE_ALL, TAKE_NOWAIT, Found, Seek

if TYPE_CHECKING:
    from nomospace_lab.apps.correlation.world import CorrelationMarket

WROTE: Final = "wrote"  # who: a clerk; what: the car, and which of its papers
SAW: Final = "saw"  # who: an auditor; what: Saw
_TAKING: Final = (TAKE, TAKE_NOWAIT, TAKE_ALL)
SETS_MIN: Final = 12
"""So many sets must have been taken, or the world proves little."""
SPREAD_MIN: Final = 5
"""So many of them must have lain on several hosts."""
SOON_US: Final = 3 * SECOND_US
"""How soon a waiting take has a set that is whole: a few frames, of which some get lost."""


class Saw(NamedTuple):
    """What lay on one host in one instant, and when it was asked for."""

    host: str
    asked: int
    tuples: tuple[tuple[Term, ...], ...]


def _tell_wrote(h: Happening) -> str:
    return f"{h.who} has written paper {h.what[1]} of {h.what[0]}"


def _tell_saw(h: Happening) -> str:
    return f"{h.who} sees {len(h.what.tuples)} tuples on {h.what.host}"


tell_as(WROTE, _tell_wrote)
tell_as(SAW, _tell_saw)


def car_of(fields: tuple[Term, ...]) -> str:
    """The car whose papers a tuple is of; every object in it has the car's id."""
    return str(next(field.args[1] for field in fields if isinstance(field, Compound)))


class TakenAnswer(NamedTuple):
    """An answer to a take, told or lost with its program, and the call that it answers."""

    asked: Happening
    answered: Happening
    found: Found


def takings(world: CorrelationMarket) -> Iterator[TakenAnswer]:
    """All that was taken for good, in order."""
    asked: dict[int, Happening] = {}
    for h in world.history.of(ASKED, ANSWERED, UNTOLD):
        if h.kind == ASKED:
            request = h.what.request
            if isinstance(request, Seek) and request.how in _TAKING and not request.lease_us:
                asked[h.what.op] = h
        elif h.what.op in asked and h.what.value:
            value = h.what.value
            for found in value if isinstance(value, tuple) else (value,):
                yield TakenAnswer(asked[h.what.op], h, found)


def taken_once(world: CorrelationMarket) -> Verdict:
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


def whole_answers(world: CorrelationMarket) -> Verdict:
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


def none_half_taken(world: CorrelationMarket) -> Verdict:
    """In the end all papers of a car are in one answer, or all that were written lie there.

    So nothing is lost and nothing is there twice, whatever became of those who collected it. That
    holds for cars whose answer was lost in a crash, too.
    """
    name = "no set is half taken, and no paper is lost"
    given: dict[str, list[TakenAnswer]] = {}
    for one in takings(world):
        given.setdefault(car_of(one.found.fields), []).append(one)
    there: dict[str, list[str]] = {}
    last = _last_looks(world)
    for h in last:
        for fields in h.what.tuples:
            there.setdefault(car_of(fields), []).append(repr(fields))
    if len(last) < len(world.hosts):
        return unknown(name, "nobody looked in the end")
    for car, papers in world.papers.items():
        left, taken = sorted(there.get(car, [])), given.get(car, [])
        whole = [] if taken else sorted(map(repr, papers[: world.written(car)]))
        if left != whole:
            says = f"of {car} there are {left} in the end, and not {whole}"
            return no(name, says, *[one.answered for one in taken], *last)
    return yes(name, len(world.papers))


def _last_looks(world: CorrelationMarket) -> list[Happening]:
    """The last look into each host, if that was when all had come to rest."""
    looks = {h.what.host: h for h in world.history.of(SAW) if h.what.asked >= world.rest_at}
    return list(looks.values())


def all_are_served(world: CorrelationMarket) -> Verdict:
    """Dealers wait on every host when all is healed, so in the end all whole sets are taken."""
    name = "whoever waits for a set that is there is served"
    taken = {car_of(one.found.fields) for one in takings(world)}
    wrote = {h.what: h for h in world.history.of(WROTE)}
    cases = 0
    for car, papers in world.papers.items():
        if world.written(car) < len(papers):
            continue
        if any((car, number) not in wrote for number in range(len(papers))):
            return unknown(name, "not all papers were written")
        cases += 1
        if car not in taken:
            proof = [wrote[car, number] for number in range(len(papers))]
            return no(name, f"{car} is left", *proof)
    return yes(name, cases)


def wakes_with_the_last(world: CorrelationMarket) -> Verdict:
    """In the calm a set is taken as soon as its last tuple is there, wherever that is written."""
    name = "a waiting take wakes when the last tuple of its set comes"
    whole: dict[str, Happening] = {}
    for h in world.history.of(WROTE):  # the last one stays
        whole[h.what[0]] = h
    cases = 0
    for one in takings(world):
        car = car_of(one.found.fields)
        if car not in world.late:
            continue
        last = whole[car]
        if one.answered.at - last.at > SOON_US:
            took_s = (one.answered.at - last.at) / 1e6
            return no(name, f"it took {took_s:g} s", last, one.asked, one.answered)
        cases += 1
    return yes(name, cases)


def was_hard(world: CorrelationMarket) -> Verdict:
    """Hosts crashed in the middle of it, and sets were taken that lay on several hosts."""
    name = "hosts crashed, and sets were collected across hosts"
    crashes = len(list(world.history.of(CRASHED)))
    if not crashes:
        return unknown(name, "no host crashed")
    spread = [
        one
        for one in takings(world)
        if len({member.source.partition("@")[2] for member in one.found.members}) > 1
    ]
    if len(spread) < SPREAD_MIN:
        return unknown(name, f"only {len(spread)} sets lay on several hosts")
    return yes(name, len(spread))
