"""Tuples are written, seen and taken as one space would have it, whatever hosts and links do.

Each checker reasons from the outside, with intervals: what a call did happened between its asking
and its answer. It says no only to what no order of events within those intervals allows, so a no
is always a bug; a bug may hide where intervals overlap.
"""

from __future__ import annotations

from typing import Final

from nomospace.calls.answers import Found
from nomospace.calls.requests import READ_ALL, READ_NOWAIT, TAKE_NOWAIT, Seek
from nomospace.calls.ways import DEAD
from nomospace.host.system import SYSTEM
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.checkers.facts import (
    CallHistory,
    HistoryFacts,
    TupleHistory,
    Use,
    facts_of,
    rivals,
    uses,
)
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import Happening
from nomospace_lab.sim.observed import value_text

MOVED_US: Final = 3 * SECOND_US
"""How long a tuple may be under way between hosts that nothing happens to."""
SLACK_US: Final = 8 * SECOND_US
"""How far a deadline may be off: clocks differ, and hosts stand still while they engage."""


def _story(*parts: tuple[Happening, ...]) -> tuple[Happening, ...]:
    """Happenings in order of time, each once."""
    found: dict[int, Happening] = {id(h): h for part in parts for h in part}
    return tuple(sorted(found.values(), key=lambda h: h.at))


def none_is_lost(world: Sites) -> Verdict:
    """Every tuple that was written and not used up is in one place, the same in every count."""
    name = "no tuple is lost or doubled"
    facts = facts_of(world)
    rounds = sorted({op.call.round for op in facts.ops.values() if op.call.round > 0})
    if not rounds:
        return unknown(name, "nobody counted the tuples")
    late = [op for op in facts.ops.values() if op.call.round > 0 and not op.told]
    if late:
        return unknown(name, f"{late[0].agent} was asked what it holds and did not say")
    if facts.unwritten:
        h, found = facts.unwritten[0]
        return no(name, f"nobody wrote {value_text(found)}", h)
    when = {r: max(op.end for op in facts.ops.values() if op.call.round == r) for r in rounds}
    cases = 0
    for written in facts.tuples.values():
        used = uses(written)
        before: str | None = None
        for round in rounds:
            cases += 1
            holders = written.counted.get(round, [])
            verdict = _count(written, used, holders, when[round])
            holder = holders[0].agent if holders else None
            if not verdict and before and holder and holder != before:
                verdict = f"it went from {before} to {holder} without a reason"
            before = holder
            if verdict:
                parts = [op.proof for op in holders]
                parts += [use.proof for use in used]
                parts += [op.proof for op in written.lends]
                return no(name, f"{verdict} in count {round}", *_story(written.proof, *parts))
    return yes(name, cases)


def _count(written: TupleHistory, used: list[Use], holders: list[CallHistory], at: int) -> str:
    """What is wrong with the places in which a tuple was found; nothing when all is well."""
    if len(holders) > 1:
        return f"it is in {len(holders)} places"
    if holders:
        if used:
            return "it was used up and is still there"
        if written.ttl_us and written.ended + written.ttl_us + SLACK_US < at:
            return "it outlived its time"
        return ""
    expired = written.ttl_us and written.began + written.ttl_us - SLACK_US < at
    gone = used or expired or written.doubtful
    return "it is nowhere" if written.sure and not gone else ""


def one_taker(world: Sites) -> Verdict:
    """Of all takes of a tuple one counts; of leases, one acknowledgement, and one at a time."""
    name = "each taken tuple has exactly one taker"
    facts = facts_of(world)
    cases = 0
    for written in facts.tuples.values():
        used = uses(written)
        cases += len(used)
        if len(used) > 1:
            lent = [op.proof for op in written.lends]
            parts = _story(written.proof, *[use.proof for use in used], *lent)
            return no(name, f"it was used up {len(used)} times", *parts)
        for lend in written.lends:
            cases += 1
            rival = _rival(facts, written, lend)
            if rival is not None:
                says = f"{rival.agent} got what {lend.agent} had under a lease"
                return no(name, says, *_story(written.proof, lend.proof, rival.proof))
    return yes(name, cases)


def _rival(facts: HistoryFacts, written: TupleHistory, lend: CallHistory) -> CallHistory | None:
    """Another call that got a tuple while it was certainly lent."""
    request = lend.request
    assert isinstance(request, Seek)
    until = lend.began + request.lease_us - SLACK_US
    if not lend.told or until <= lend.end:
        return None
    lease = next(found.lease for found in lend.found if found.fields == written.fields)
    for op in facts.ops.values():
        if getattr(op.request, "lease", None) == lease:
            until = min(until, op.began)
    for crashes in facts.crashes.values():
        until = min([until, *[h.at for h in crashes if h.at >= lend.began]])
    for agent in (lend.agent, written.writer, written.to):
        for _, _, left in facts.stays.get(agent, ()):
            if left >= lend.began:
                until = min(until, left)
    for op in (*written.takes, *written.lends, *written.reads):
        if op is not lend and op.began > lend.end and op.end < until:
            return op
    return None


def answered_once(world: Sites) -> Verdict:
    """A call is answered once at most, and only calls are answered."""
    name = "a call is answered at most once"
    facts = facts_of(world)
    if facts.strays:
        return no(name, "nobody asked for this", facts.strays[0])
    for op in facts.ops.values():
        if op.more:
            return no(name, f"{1 + len(op.more)} answers to one call", *op.proof)
    return yes(name, len(facts.ops))


def tuples_keep_their_names(world: Sites) -> Verdict:
    """A tuple has one id wherever it is seen, and no other tuple has it."""
    name = "a tuple keeps its id"
    facts = facts_of(world)
    ids: dict[tuple[str, int], tuple[Found, Happening]] = {}
    names: dict[object, tuple[Found, Happening]] = {}
    for op in facts.ops.values():
        request = op.request
        if not isinstance(request, Seek) or request.space == SYSTEM:
            continue
        for found in op.found:
            assert op.ended is not None
            here = (found, op.ended)
            other, h = ids.setdefault((found.writer, found.count), here)
            if other.fields != found.fields:
                return no(
                    name, f"two tuples are number {found.count} of {found.writer}", h, here[1]
                )
            other, h = names.setdefault(found.fields, here)
            if (other.writer, other.count) != (found.writer, found.count):
                return no(name, "one tuple has two ids", h, here[1])
    return yes(name, len(ids))


def takes_are_linearizable(world: Sites) -> Verdict:
    """What calls find fits one order of all writes and takes of a space.

    A tuple is found only from when its write began, and by no call that began after it was used
    up; it is what was asked for. And a call that does not wait misses nothing that was certainly
    there from its beginning to its end.
    """
    name = "takes are linearizable per space"
    facts = facts_of(world)
    there = _Certainty(facts)
    cases = 0
    for op in facts.seeks():
        for found in op.found:
            cases += 1
            written = facts.tuples.get(found.fields)
            if written is not None:
                says = _misfit(op, found, written)
                if says:
                    used = [use.proof for use in uses(written)]
                    return no(name, says, *_story(written.proof, op.proof, *used))
        missed = there.missed(op)
        cases += there.looked
        if missed is not None:
            used = [use.proof for use in uses(missed)]
            return no(name, "it was there all the time", *_story(missed.proof, op.proof, *used))
    return yes(name, cases)


def _misfit(op: CallHistory, found: Found, written: TupleHistory) -> str:
    """Why a call cannot have found a tuple; nothing when it can."""
    request = op.request
    assert isinstance(request, Seek)
    if written.space != request.space.removesuffix(DEAD):
        return f"it is in {written.space}, not in {request.space}"
    if not request.template.matches(found.fields):
        return "the template does not match it"
    if "@" in request.at and found.source != request.at:
        return f"it was held by {found.source}, not by {request.at}"
    if request.dest and (written.to or written.writer) != request.dest:
        return f"it is for {written.to or written.writer}, not for {request.dest}"
    if op.end < written.began:
        return "it was not written yet"
    if written.ttl_us and written.ended + written.ttl_us + SLACK_US < op.began:
        return "it had expired"
    for use in uses(written):
        if use.end < op.began:
            return "it was used up before"
    return ""


class _Certainty:
    """Which tuples were certainly where a call looked, all the time it did."""

    def __init__(self, facts: HistoryFacts) -> None:
        self._facts = facts
        self._by_space: dict[str, list[TupleHistory]] = {}
        self.looked = 0
        for written in facts.tuples.values():
            # One with an end may end, one that was lent may be away.
            if not written.ttl_us and written.sure and not written.lends:
                self._by_space.setdefault(written.space, []).append(written)

    def missed(self, op: CallHistory) -> TupleHistory | None:
        """A tuple that a call did not find although it was there."""
        self.looked = 0
        request = op.request
        if not isinstance(request, Seek) or op.waits or not op.done:
            return None
        host = op.call.host
        if request.space in self._facts.parted:
            return self._missed_by_key(op, request)
        if request.at not in ("", host, op.agent) or request.dest:
            return None
        single = request.how in (TAKE_NOWAIT, READ_NOWAIT)
        if single and op.found:
            return None
        got = {found.fields for found in op.found}
        for written in self._by_space.get(request.space, ()):
            if written.ended <= op.began and request.template.matches(written.fields):
                if request.at == op.agent and written.writer != op.agent:
                    continue
                if written.fields in got or not self._there(written, op, host):
                    continue
                return written
        self.looked = 1
        return None

    def _missed_by_key(self, op: CallHistory, request: Seek) -> TupleHistory | None:
        """The same for a call that says the key of a partitioned space, while nothing moves."""
        facts, since, until = self._facts, op.began - MOVED_US, op.end
        shared = facts.shared_through
        keyed = any(place == facts.parted[request.space] for place, _ in request.template.equal)
        looks = keyed and not request.at and (not op.found or request.how == READ_ALL)
        if not looks or not shared(op.agent, request.space, op.began, until):
            return None
        got = {found.fields for found in op.found}
        for written in self._by_space.get(request.space, ()):
            if (
                written.ended <= since
                and written.fields not in got
                and request.template.matches(written.fields)
                and facts.shared_through(
                    written.writer, written.space, written.began, written.ended
                )
                and not any(use.began <= until and use.proof != op.proof for use in uses(written))
                and not any(
                    one.began <= until and one.end >= written.began
                    for one in rivals(facts, written)
                    if one is not op
                )
                and facts.calm(request.space, since, until)
            ):
                return written
        self.looked = 1
        return None

    def _there(self, written: TupleHistory, op: CallHistory, host: str) -> bool:
        facts, since, until = self._facts, op.began, op.end
        if any(use.began <= until and use.proof != op.proof for use in uses(written)):
            return False
        stay = facts.stay(written.writer, since)
        if stay is None or stay[0] != host or stay[2] <= until:
            return False
        if written.writer != op.agent and not (
            facts.shared_through(written.writer, written.space, since, until)
            and facts.shared_through(op.agent, written.space, since, until)
        ):
            return False
        if written.to not in ("", written.writer):
            # One for another agent is here while that one is certainly nowhere near.
            its = facts.stay(written.to, written.began)
            if its is None or its[2] <= until or its[0] == host:
                return False
            if stay[1] > written.began:  # its holder has come from elsewhere, and may have met it
                return False
            if facts.listed(host, written.to, written.began, until):
                return False
            if not facts.apart(host, its[0], written.began, until):
                return False
        settled = stay[1] <= written.began  # it never was elsewhere
        for rival in rivals(facts, written):
            away = not settled or rival.call.host != host
            # What a take elsewhere was given and could not use any more comes back later.
            if away and rival.began <= until and rival.end >= written.began:
                return False
        return True
