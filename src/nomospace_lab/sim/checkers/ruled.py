"""Nothing reaches a tuple of a governed space without a ruling, whatever way it is tried.

An operation on a governed space is a message, so four rulings stand between an agent and a tuple:

    at the agent's controller        `sent(Agent, Op, Space)`, which forwards it, now or later
    at the manager, on the tuple's   `arrived(Agent, Op, Space)`, which delivers it
      host                           `sent(Space, Answer, Agent)`, which forwards the answer
    at the agent's controller        `arrived(Space, Answer, Agent)`, which delivers it

The history of a world has what agents were told (answers, firings, mail) and, apart from that, the
rulings as they stood on disk. `four_rulings` joins the two: whoever was shown a tuple must have all
four, in this order, and an answer that was ruled on once is told once. `rulings_replay` then asks
whether each ruling follows from its law. Laws that change a tuple on its way are not for this file:
an answer is looked for as it was told.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from nomospace.calls.answers import Found
from nomospace.calls.requests import BULK, Open, Out, OutMany, React, Seek
from nomospace.control import Ruling
from nomospace.host.effects import Mail
from nomospace.host.linda import HOWS, show as message_of
from nomospace.host.system import SYSTEM
from nomospace.terms import Compound, Term, same, show
from nomospace.terms.values import as_compound, parts_of
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.checkers.replay import ORACLE_EVERY, Model
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import DELIVERED, RULED, Happening
from nomospace_lab.sim.observed import ANSWERED, ASKED, CAME, FIRED, LEFT, UNTOLD, value_text

AT: Final = " at "
"""Between a space's name and its host's, where the history names a manager."""

Story: TypeAlias = list[tuple[int, Happening]]
"""Happenings with their places in the history."""


class Sight(NamedTuple):
    """An agent was shown a tuple: by which operation, in which space, and how it was told."""

    h: Happening
    place: int  # in the history
    space: str
    operation: Term  # as laws see it; for a firing or mail about one, `None` when unknown
    how: str  # of a `Seek`, else "react"
    found: Found
    answer: Term  # the whole answer, as laws see it

    @property
    def agent(self) -> str:
        """Who was shown it."""
        return self.h.who

    @property
    def fields(self) -> tuple[Term, ...]:
        """The tuple."""
        return self.found.fields


def sights(world: Sites) -> Iterator[Sight]:
    """All that agents were shown of any space but the system's: by answers, firings and mail."""
    asked: dict[int, Happening] = {}
    reactions: dict[str, React] = {}
    happenings = list(world.history)
    for h in happenings:  # a strong reaction may fire before its own registration is answered
        if h.kind == ASKED:
            asked[h.what.op] = h
        elif h.kind in (ANSWERED, UNTOLD) and h.what.op in asked:
            request = asked[h.what.op].what.request
            if isinstance(request, React) and h.what.error is None:
                reactions[h.what.value] = request
    for place, h in enumerate(happenings):
        if h.kind == ANSWERED and h.what.op in asked:
            request = asked[h.what.op].what.request
            if isinstance(request, Seek) and request.space != SYSTEM and h.what.error is None:
                yield from _answered(h, place, request)
        elif h.kind == FIRED:
            react = reactions.get(h.what.reaction)
            if react is not None and react.space != SYSTEM:
                found = h.what.found
                answer = Compound("reacted", (react.template.term, found.fields))
                operation = message_of(react)
                yield Sight(h, place, react.space, operation, "react", found, answer)
        elif h.kind == DELIVERED:
            yield from _mailed(h, place, h.what)


def _answered(h: Happening, place: int, request: Seek) -> Iterator[Sight]:
    value, bulk = h.what.value, request.how in BULK
    if value is None:
        return
    message = message_of(request)
    shown = tuple([found.fields for found in value]) if bulk else value.fields
    answer = Compound("found", (message, shown))
    for found in value if bulk else (value,):
        yield Sight(h, place, request.space, message, request.how, found, answer)


def _mailed(h: Happening, place: int, mail: Mail) -> Iterator[Sight]:
    """An answer that no call waits for any more is mail."""
    message = mail.message
    if type(message) is not Compound or len(message.args) != 2 or "@" in mail.sender:
        return
    operation, shown = message.args
    if message.name == "reacted":
        found = Found(parts_of(shown), "", 0, "")
        yield Sight(h, place, mail.sender, None, "react", found, message)
    elif message.name == "found":
        how = HOWS[as_compound(operation).name]
        for fields in parts_of(shown) if how in BULK else (shown,):
            found = Found(parts_of(fields), "", 0, "")
            yield Sight(h, place, mail.sender, operation, how, found, message)


def forwards(ruling: Ruling) -> Iterator[tuple[Term, str]]:
    """The messages that a ruling lets go, and to whom."""
    for op in ruling.operations:
        if type(op) is Compound and op.name in ("forward", "multicast"):
            _, message, to = op.args
            for one in (to,) if type(to) is str else parts_of(to):
                yield message, str(one)


def delivers(ruling: Ruling) -> Iterator[tuple[Term, str]]:
    """The messages that a ruling hands to its home, and from whom."""
    for op in ruling.operations:
        if type(op) is Compound and op.name == "deliver":
            yield op.args[1], str(op.args[0])


class _Rulings:
    """The rulings of a world, by what they let pass."""

    def __init__(self, world: Sites) -> None:
        self.law: dict[tuple[str, str], str] = {}  # agent and space: the law it is open under
        self._passed: dict[tuple[str, ...], Story] = {}
        self._homes: dict[str, tuple[list[int], list[str]]] = {}
        self._lent: dict[tuple[str, str], None] = {}  # manager and tuple
        asked: dict[int, Happening] = {}
        since: dict[str, int] = {}
        for place, h in enumerate(world.history):
            if h.kind == RULED:
                self._ruled(place, h)
            elif h.kind == ASKED and isinstance(h.what.request, Open):
                asked[h.what.op] = h
            elif h.kind in (ANSWERED, UNTOLD) and h.what.op in asked and h.what.error is None:
                opened = asked[h.what.op].what.request
                if opened.law is not None:
                    self.law.setdefault((h.who, opened.space), opened.law.hash)
            elif h.kind == LEFT:
                since[h.who] = place
            elif h.kind == CAME:
                # What an agent brings along is there a moment before it is known to have come.
                places, hosts = self._homes.setdefault(h.who, ([], []))
                places.append(since.get(h.who, 0))
                hosts.append(h.what)

    def _ruled(self, place: int, h: Happening) -> None:
        ruling: Ruling = h.what
        passed = self._passed
        for message, to in forwards(ruling):
            key = (h.who, ruling.law, "forward", to, show(message))
            passed.setdefault(key, []).append((place, h))
            if AT in h.who and _lends(message):
                self._lent[h.who, show(parts_of(message)[1])] = None
        if ruling.event.kind == "arrived":
            for message, sender in delivers(ruling):
                key = (h.who, ruling.law, "deliver", sender, show(message))
                passed.setdefault(key, []).append((place, h))

    def before(self, place: int, *key: str) -> Story:
        """What passed before a place in the history, oldest first."""
        return [one for one in self._passed.get(key, ()) if one[0] < place]

    def held(self, found: Found, manager: str, place: int) -> bool:
        """Whether a tuple was at a manager's host: with its holder, or left behind on loan."""
        places, hosts = self._homes.get(found.source, ([], []))
        at = bisect_right(places, place) - 1
        with_holder = at >= 0 and hosts[at] == manager.partition(AT)[2]
        return not found.source or with_holder or (manager, show(found.fields)) in self._lent


def _lends(message: Term) -> bool:
    """Whether an answer gives a tuple out under a lease."""
    if type(message) is not Compound or message.name != "found":
        return False
    options = parts_of(message.args[0])[1:]
    return any(as_compound(one).name == "lease" for given in options for one in parts_of(given))


def four_rulings(world: Sites) -> Verdict:
    """Whoever was shown a tuple of a governed space has passed all four rulings, in order."""
    name = "nothing reaches a tuple of a governed space without a ruling"
    rulings = _Rulings(world)
    told: Counter[tuple[str, str, str, str]] = Counter()
    counted = -1
    cases = 0
    for sight in sights(world):
        law = rulings.law.get((sight.agent, sight.space))
        if law is None:
            continue
        cases += 1
        answer = show(sight.answer)
        key = (sight.agent, law, sight.space, answer)
        if counted != sight.place:  # the tuples of one answer are told together
            counted = sight.place
            told[key] += 1
        wrong = _broken(rulings, sight, law, answer, told[key], tuple(world.sites))
        if wrong is not None:
            return no(name, *wrong)
    return yes(name, cases)


def _broken(
    rulings: _Rulings, sight: Sight, law: str, answer: str, times: int, hosts: tuple[str, ...]
) -> tuple[Any, ...] | None:
    """What is missing between an agent and a tuple that it was shown, with the proof."""
    agent, space, found = sight.agent, sight.space, sight.found
    shown = value_text(found)
    delivered = rulings.before(sight.place, agent, law, "deliver", space, answer)
    if len(delivered) < times:
        return f"{agent} was shown {shown}, which its controller never delivered", sight.h
    last, arrival = delivered[-1]  # an earlier one may have been lost in a crash
    released: Story = []
    for host in hosts:
        released += rulings.before(last, f"{space}{AT}{host}", law, "forward", agent, answer)
    if len(released) < times:
        return f"no manager of {space} let go what {agent} was shown", arrival, sight.h
    for place, release in released:
        held = rulings.held(found, release.who, place)
        if held and _was_asked(rulings, sight, law, place, release.who):
            return None
    says = f"no manager on the host of {shown} had let {agent} in"
    return says, released[0][1], arrival, sight.h


def _was_asked(rulings: _Rulings, sight: Sight, law: str, place: int, manager: str) -> bool:
    """Whether the operation of a sight had passed both ends before its answer was let go."""
    if sight.operation is None:  # mail about a reaction: of which one it does not say
        return True
    operation = show(sight.operation)
    for arrival, _ in rulings.before(place, manager, law, "deliver", sight.agent, operation):
        if rulings.before(arrival, sight.agent, law, "forward", sight.space, operation):
            return True
    return False


def writes_are_ruled(world: Sites) -> Verdict:
    """Whatever was written into a governed space has passed both ends of the law."""
    name = "nothing is written into a governed space without a ruling"
    rulings = _Rulings(world)
    asked = {h.what.op: h for h in world.history.of(ASKED)}
    cases = 0
    for place, h in enumerate(world.history):
        if h.kind not in (ANSWERED, UNTOLD) or h.what.error is not None or h.what.op not in asked:
            continue
        request = asked[h.what.op].what.request
        law = rulings.law.get((h.who, getattr(request, "space", "")))
        if law is None or not isinstance(request, Out | OutMany):
            continue
        rows = (request.fields,) if isinstance(request, Out) else request.rows
        for fields in rows:
            cases += 1
            message = show(message_of(Out(request.space, fields, request.to, request.ttl_us)))
            manager = f"{request.space}{AT}{h.what.host}"
            arrivals = rulings.before(place, manager, law, "deliver", h.who, message)
            sent = [
                one
                for at, _ in arrivals
                for one in rulings.before(at, h.who, law, "forward", request.space, message)
            ]
            if not sent:
                return no(name, f"{h.who} wrote past the law", asked[h.what.op], h)
    return yes(name, cases)


def rulings_replay(world: Sites) -> Verdict:
    """Each membership's rulings come out the same from its recorded events, and none is missing."""
    name = "rulings follow from their events"
    homes: dict[tuple[str, str], list[Happening]] = {}
    for h in world.history.of(RULED):
        homes.setdefault((h.who, h.what.law), []).append(h)
    cases = 0
    for (who, hash), rulings in homes.items():
        law = world.laws[hash]
        home, _, host = who.partition(AT)
        model = Model(law, home, (*law.initial, "tupleSpace") if host else law.initial)
        previous: tuple[Happening, ...] = ()
        for number, h in enumerate(rulings, 1):
            cases += 1
            if h.what.seq != number:
                return no(name, f"{who}: ruling {h.what.seq} follows {number - 1}", *previous, h)
            wrong = model.differs(h.what, oracle=cases % ORACLE_EVERY == world.seed % ORACLE_EVERY)
            if wrong is not None:
                return no(name, f"{who}, ruling {h.what.seq}: {wrong}", *previous, h)
            previous = (h,)
        at = host or world.where[home]
        if at is None:
            continue  # under way: what it carries is on no disk
        state = world.sites[at].disk.members[home, hash].restore(law).state
        if not same(tuple(state), tuple(model.state)):
            says = f"{who} holds {show(tuple(state))}, the model {show(tuple(model.state))}"
            return no(name, says, *previous)
    return yes(name, cases)
