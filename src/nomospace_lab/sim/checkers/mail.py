"""Mail finds agents wherever they are, and agents that move are in one place.

These judge worlds of `Sites` whose agents send each other `note(N)`, with a number that is used
once, under a law that forwards and delivers, and that ask their hosts to move. What was sent and
what arrived is what rulings on disk say; where an agent is, is what the disks say: a step that a
crash undid never was, and one that nobody was told of was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nomospace.calls.addresses import owner_of
from nomospace.calls.answers import Found
from nomospace.calls.requests import TAKE, End, Move, Out, Seek
from nomospace.control import Ruling
from nomospace.terms import Compound, Term
from nomospace.terms.values import as_compound, parts_of
from nomospace_lab.sim.checkers import Checker, Verdict, no, yes
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import (
    CRASHED,
    CUT,
    PAUSED,
    RESTARTED,
    RESUMED,
    RULED,
    Happening,
)
from nomospace_lab.sim.observed import ANSWERED, ASKED, CAME, FROZE, LEFT, THAWED, UNTOLD

NOTE: Final = "note"
BUSY: Final = "busy"
"""The one reason for which a note to an agent may fail: too many wait at its sender's host."""
REFUSED: Final = "host.move-refused"


class NoteTimes:
    """All notes of a world: when they were sent, when they arrived, when they failed."""

    def __init__(self, world: Sites) -> None:
        self.sent: dict[int, Happening] = {}
        self.to: dict[int, str] = {}
        self.arrived: dict[int, list[Happening]] = {}
        self.failed: dict[int, list[Happening]] = {}
        for h in world.history.of(RULED):
            ruling: Ruling = h.what
            kind, args = ruling.event.kind, ruling.event.args
            if kind == "exception" and as_compound(args[0]).name == "forward":
                if (number := _number(parts_of(args[0])[1])) is not None:
                    self.failed.setdefault(number, []).append(h)
            elif kind in ("sent", "arrived") and (number := _number(args[1])) is not None:
                if kind == "arrived":
                    self.arrived.setdefault(number, []).append(h)
                elif ruling.forwards:
                    self.sent[number] = h
                    self.to[number] = str(args[2])


def _number(message: Term) -> int | None:
    if type(message) is Compound and message.name == NOTE:
        return int(str(message.args[0]))
    return None


def mail_arrives_once(world: Sites) -> Verdict:
    """Every note to an agent that there is arrives once; one to nobody fails once."""
    name = "mail arrives exactly once, or its sender is told"
    notes, mortals = NoteTimes(world), _mortals(world)
    for number, sent in notes.sent.items():
        to = notes.to[number]
        came, failed = notes.arrived.get(number, []), notes.failed.get(number, [])
        if len(came) > 1:
            return no(name, f"note {number} arrived more than once", sent, *came)
        if len(failed) > 1:
            return no(name, f"note {number} failed more than once", sent, *failed)
        if came and failed:
            return no(name, f"note {number} arrived and failed", sent, *came, *failed)
        if failed and failed[0].who != sent.who:
            return no(name, f"{failed[0].who} was told of a note of {sent.who}", sent, *failed)
        gone = owner_of(sent.who) in mortals  # nobody is left to be told
        if owner_of(to) not in world.where:
            if not failed and not gone:
                return no(name, f"note {number} went to nobody, and its sender was not told", sent)
        elif came and came[0].who != to:
            return no(name, f"note {number} to {to} arrived at {came[0].who}", sent, *came)
        elif owner_of(to) in mortals:
            if not came and not failed and not gone:
                return no(name, f"note {number} to {to} vanished with it", sent)
        elif not came and not gone and (not failed or failed[0].what.event.args[1] != BUSY):
            return no(name, f"note {number} to {to} never arrived", sent, *failed)
    for number, arrivals in notes.arrived.items():
        if number not in notes.sent:
            return no(name, f"note {number} was never sent", *arrivals)
    return yes(name, len(notes.sent))


def _mortals(world: Sites) -> dict[str, None]:
    """The agents that were told to end."""
    return {h.who: None for h in world.history.of(ASKED) if isinstance(h.what.request, End)}


def mail_keeps_order(world: Sites) -> Verdict:
    """What one agent sends to another arrives in the order it was sent, whatever their moves."""
    name = "mail of each pair arrives in order"
    notes = NoteTimes(world)
    place = {number: at for at, number in enumerate(notes.sent)}
    last: dict[tuple[str, str], Happening] = {}
    cases = 0
    for h in world.history.of(RULED):
        event = h.what.event
        number = _number(event.args[1]) if event.kind == "arrived" else None
        if number is None or number not in place:
            continue
        cases += 1
        pair = (event.args[0], h.who)
        before = last.get(pair)
        if before is not None and place[_number(before.what.event.args[1]) or 0] > place[number]:
            return no(name, f"{h.who} got note {number} too late", notes.sent[number], before, h)
        last[pair] = h
    return yes(name, cases)


def one_place(world: Sites) -> Verdict:
    """An agent is at one host or on its way; its controllers' rulings are one line; all end up."""
    name = "no agent is in two places, and none vanishes"
    at: dict[str, Happening] = {}
    ruled: dict[tuple[str, str], Happening] = {}
    mortals = _mortals(world)
    cases = 0
    for h in world.history.of(CAME, LEFT, RULED):
        if h.kind == RULED:
            before = ruled.get((h.who, h.what.law))
            if "@" in h.what.home and before is not None and h.what.seq != before.what.seq + 1:
                return no(name, f"rulings of {h.who} are not one line", before, h)
            ruled[h.who, h.what.law] = h
            continue
        cases += h.kind == CAME
        was = at.get(h.who)
        if was is not None and was.kind == h.kind:
            return no(name, f"{h.who} is in two places", was, h)
        if was is not None and h.kind == LEFT and was.what != h.what:
            return no(name, f"{h.who} left where it was not", was, h)
        at[h.who] = h
    for agent, h in at.items():
        here = [
            site.name
            for site in world.sites.values()
            if site.core is not None and agent in site.core.agents
        ]
        if agent in mortals and not here and h.kind == LEFT:
            continue
        if here != [h.what] or h.kind == LEFT:
            return no(name, f"{agent} ends at {', '.join(here) or 'no host'}", h)
    return yes(name, cases)


def refused_stay(world: Sites) -> Verdict:
    """An agent that is told that it may not move is where it was when it asked."""
    name = "who may not move goes on where it was"
    asked: dict[int, Happening] = {}
    at: dict[str, str] = {}
    left: dict[str, int] = {}
    cases = 0
    for h in world.history.of(ASKED, ANSWERED, CAME, LEFT):
        if h.kind == CAME:
            at[h.who] = h.what
        elif h.kind == LEFT:
            at.pop(h.who, None)
            left[h.who] = h.at
        elif h.kind == ASKED and isinstance(h.what.request, Move):
            asked[h.what.op] = h
        elif h.kind == ANSWERED and h.what.op in asked and _says(h, REFUSED):
            question = asked[h.what.op]
            cases += 1
            # One who asked twice may be told so in the very step in which it leaves.
            if at.get(h.who) != question.what.host and left.get(h.who) != h.at:
                return no(name, f"{h.who} is not where it was", question, h)
    return yes(name, cases)


def _says(answered: Happening, code: str) -> bool:
    return answered.what.error is not None and answered.what.error.code == code


def obligations_keep_time(period_us: int) -> Checker:
    """An obligation that is imposed again whenever it falls due keeps its period across moves.

    On the way between hosts time stands still for it. It is late only by the time that its host
    was down, or stood still because its group changed.
    """

    def check(world: Sites) -> Verdict:
        name = "obligations keep the time they have left"
        stops = Stops(world)
        last: dict[str, Happening] = {}
        cases = 0
        for h in world.history.of(RULED):
            if h.what.event.kind == "adopted" and "@" in h.who:
                last[h.who] = h
            elif h.what.event.kind == "obligationDue" and h.who in last:
                cases += 1
                before, last[h.who] = last[h.who], h
                away, stopped = stops.between(owner_of(h.who), before.at, h.at)
                ran = h.at - before.at - away
                if ran < period_us:
                    return no(name, f"{period_us - ran} µs early", before, h)
                if ran - stopped > period_us:
                    return no(name, f"{ran - stopped - period_us} µs late", before, h)
        return yes(name, cases)

    return check


_STOPS: Final = {CRASHED: RESTARTED, FROZE: THAWED, PAUSED: RESUMED}
"""What lets a host stand still, and what ends that."""


class Stops:
    """When agents were on their way, and when hosts were down or stood still."""

    def __init__(self, world: Sites) -> None:
        self._stays: dict[str, list[tuple[int, str | None]]] = {}
        self._stopped: dict[str, list[tuple[int, int]]] = {}
        since: dict[tuple[str, str], int] = {}
        for h in world.history.of(CAME, LEFT, *_STOPS, *_STOPS.values()):
            if h.kind in (CAME, LEFT):
                host = h.what if h.kind == CAME else None
                self._stays.setdefault(h.who, []).append((h.at, host))
            elif h.kind in _STOPS:
                since.setdefault((h.who, _STOPS[h.kind]), h.at)
                if h.kind == CRASHED:  # whatever it stood still for is over
                    for other in (THAWED, RESUMED):
                        self._stop(h.who, since.pop((h.who, other), h.at), h.at)
            elif (h.who, h.kind) in since:
                self._stop(h.who, since.pop((h.who, h.kind)), h.at)

    def _stop(self, host: str, begin: int, end: int) -> None:
        self._stopped.setdefault(host, []).append((begin, end))

    def between(self, agent: str, begin: int, end: int) -> tuple[int, int]:
        """How long an agent was on its way between two moments, and its hosts stood still."""
        away = stopped = 0
        for a, b, host in self._spans(agent, end):
            a, b = max(a, begin), min(b, end)
            if a >= b:
                continue
            if host is None:
                away += b - a
            else:
                periods = self._stopped.get(host, ())
                stopped += sum(max(0, min(b, up) - max(a, down)) for down, up in periods)
        return away, stopped

    def _spans(self, agent: str, end: int) -> Iterator[tuple[int, int, str | None]]:
        stays = self._stays.get(agent, [])
        for place, (since, host) in enumerate(stays):
            yield since, stays[place + 1][0] if place + 1 < len(stays) else end, host


def takes_survive_moves(world: Sites) -> Verdict:
    """A take that waits goes on at its agent's next host: it is served, and no tuple twice.

    A crash of the host where it waits ends it.
    """
    name = "a take under way survives its agent's moves, and gets its tuple once"
    waiting: dict[int, Happening] = {}
    at: dict[str, str] = {}
    taken: dict[tuple[Term, ...], Happening] = {}
    written: dict[tuple[Term, ...], Happening] = {}
    moved: dict[int, None] = {}
    cases = 0
    for h in world.history.of(ASKED, ANSWERED, UNTOLD, CAME, LEFT, CRASHED):
        if h.kind == CAME:
            at[h.who] = h.what
        elif h.kind == LEFT:
            at.pop(h.who, None)
            moved.update(dict.fromkeys(op for op, asked in waiting.items() if asked.who == h.who))
        elif h.kind == CRASHED:
            waiting = {op: asked for op, asked in waiting.items() if at.get(asked.who) != h.who}
        elif h.kind == ASKED:
            if isinstance(h.what.request, Seek) and h.what.request.how == TAKE:
                waiting[h.what.op] = h
            elif isinstance(h.what.request, Out):
                written[h.what.request.fields] = h
        elif isinstance(found := h.what.value, Found):
            waiting.pop(h.what.op, None)
            cases += h.what.op in moved
            if found.fields not in written:
                return no(name, "nobody wrote it", h)
            if found.fields in taken:
                return no(name, "it was taken twice", taken[found.fields], h)
            taken[found.fields] = h
        elif h.what.error is not None:
            waiting.pop(h.what.op, None)
    for asked in waiting.values():
        return no(name, "it was never served", asked)
    return yes(name, cases)


def was_hard(*, messages: int, moves: int, crashes: int) -> Checker:
    """The world had at least so much of everything: an easy world proves little."""

    def check(world: Sites) -> Verdict:
        name = "the world was hard enough"
        healed_at = world.healed_at or world.end_us
        before = [h for h in world.history if h.at < healed_at]
        came = [h.who for h in world.history.of(CAME)]
        counts = {
            "notes": (messages, len(NoteTimes(world).sent)),
            "moves": (moves, len(came) - len(dict.fromkeys(came))),
            "crashes": (crashes, sum(h.kind == CRASHED for h in before)),
            "partitions": (1, sum(h.kind == CUT for h in before)),
        }
        for what, (least, count) in counts.items():
            if count < least:
                return no(name, f"only {count} {what}, at least {least} are wanted")
        return yes(name, 1)

    return check
