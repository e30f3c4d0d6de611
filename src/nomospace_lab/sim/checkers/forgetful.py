"""What a host without a store holds is lost when it ends, and only that.

These judge worlds of `Sites` in which some hosts forget, and come back under their names. Agents
send each other `note(N)`, and write tuples `("gift", N)` for each other, with numbers that are used
once. Between two hosts that have not forgotten since, everything comes exactly once, and in order;
nothing that a host still has is ever doubled.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from nomospace.calls.requests import Out, Seek
from nomospace.terms.values import Term
from nomospace_lab.sim.checkers import Checker, Verdict, no, yes
from nomospace_lab.sim.checkers.mail import NoteTimes
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import CRASHED, Happening
from nomospace_lab.sim.observed import ANSWERED, ASKED, NOTED, UNTOLD

GIFT: Final = "gift"
CENSUS: Final = 1
"""The round of questions that asks for all gifts."""


class ForgetTimes:
    """When hosts forgot all they had; in the order of the history, as much may be at one moment."""

    def __init__(self, world: Sites) -> None:
        self.place = {id(h): place for place, h in enumerate(world.history)}
        self._ends: dict[str, list[int]] = {}
        for h in world.history.of(CRASHED):
            if world.sites[h.who].forgets:
                self._ends.setdefault(h.who, []).append(self.place[id(h)])

    def number(self, agent: str, at: Happening) -> int:
        """How often the host of an agent had forgotten all when something happened."""
        return bisect_right(self._ends.get(agent.partition("@")[2], []), self.place[id(at)])

    def last(self, agent: str, at: Happening) -> bool:
        """Whether the host of an agent has forgotten nothing since something happened."""
        return self.number(agent, at) == len(self._ends.get(agent.partition("@")[2], []))


def mail_of_the_living(world: Sites) -> Verdict:
    """A note comes once, unless an end of it has forgotten; to one birth never twice."""
    name = "mail between hosts that have not forgotten since arrives exactly once"
    notes, births, cases = NoteTimes(world), ForgetTimes(world), 0
    for number, sent in notes.sent.items():
        to = notes.to[number]
        came, failed = notes.arrived.get(number, []), notes.failed.get(number, [])
        lives = [births.number(to, h) for h in came]
        if len(dict.fromkeys(lives)) < len(lives):
            return no(name, f"note {number} arrived twice in one birth", sent, *came)
        if any(h.who != to for h in came):
            return no(name, f"note {number} arrived at another", sent, *came)
        if births.last(sent.who, sent) and births.last(to, sent):
            cases += 1
            if len(came) != 1 or failed:
                return no(name, f"note {number} to {to} never arrived", sent, *came, *failed)
    for number, arrivals in notes.arrived.items():
        if number not in notes.sent:
            return no(name, f"note {number} was never sent", *arrivals)
    return yes(name, cases)


def mail_in_order(world: Sites) -> Verdict:
    """What one birth of an agent sends to one birth of another arrives in the order of sending."""
    name = "mail of each pair arrives in order"
    notes, births = NoteTimes(world), ForgetTimes(world)
    place = {number: at for at, number in enumerate(notes.sent)}
    last: dict[tuple[str, int, str, int], tuple[int, Happening]] = {}
    arrivals = [(h, number) for number, came in notes.arrived.items() for h in came]
    arrivals.sort(key=lambda one: births.place[id(one[0])])
    for h, number in arrivals:
        sent = notes.sent[number]
        sender = (sent.who, births.number(sent.who, sent))
        pair = (*sender, h.who, births.number(h.who, h))
        if pair in last and last[pair][0] > place[number]:
            return no(name, f"note {number} came too late", sent, last[pair][1], h)
        last[pair] = (place[number], h)
    return yes(name, len(arrivals))


def gifts_of_the_living(world: Sites) -> Verdict:
    """A tuple is nowhere twice, and with whom it is for, unless an end of it has forgotten."""
    name = "tuples between hosts that have not forgotten since are neither lost nor doubled"
    births, cases = ForgetTimes(world), 0
    wrote: dict[Term, Happening] = {}
    seen: dict[Term, list[tuple[str, Happening]]] = {}
    asked: dict[int, Happening] = {}
    for h in world.history.of(ASKED, ANSWERED, UNTOLD):
        if h.kind == ASKED:
            asked[h.what.op] = h
            continue
        question = asked[h.what.op]
        request = question.what.request
        if isinstance(request, Out) and h.what.error is None:
            wrote[request.fields[1]] = question
        elif isinstance(request, Seek) and question.what.round == CENSUS:
            for found in h.what.value or ():
                seen.setdefault(found.fields[1], []).append((question.who, h))
    for number, question in wrote.items():
        found = seen.get(number, [])
        if len(found) > 1:
            return no(name, f"gift {number!s} is doubled", question, *[h for _, h in found])
        to = question.what.request.to
        if births.last(question.who, question) and births.last(to, question):
            cases += 1
            if [who for who, _ in found] != [to]:
                held = ", ".join(who for who, _ in found) or "nobody"
                return no(name, f"gift {number!s} for {to} is with {held}", question)
    return yes(name, cases)


def was_forgetful(*, births: int) -> Checker:
    """Hosts came back so often, having forgotten all; each time that others found out is a case."""

    def check(world: Sites) -> Verdict:
        name = "the world was hard enough"
        crashed = sum(world.sites[h.who].forgets for h in world.history.of(CRASHED))
        found = sum(h.what[0] == "peer-reborn" for h in world.history.of(NOTED))
        if crashed < births:
            return no(name, f"only {crashed} births were over, at least {births} are wanted")
        return yes(name, found)

    return check
