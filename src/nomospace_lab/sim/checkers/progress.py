"""Once all is healed, what could happen has happened; and reactions keep their modes throughout.

These look at the first count of a world: who holds what when everything has settled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nomospace.calls.requests import ONCE, STRONG, React, Seek
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.checkers.facts import (
    CallHistory,
    HistoryFacts,
    ReactionLife,
    TupleHistory,
    facts_of,
    uses,
)
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites

SETTLE_US: Final = 5 * SECOND_US
"""What must have happened by the count must have been possible for so long before."""


def _at_rest(facts: HistoryFacts, at: int) -> Iterator[tuple[TupleHistory, CallHistory, str]]:
    """Tuples in shared spaces at the count, each with the call that counted it and its host."""
    for written in facts.tuples.values():
        for op in written.counted.get(1, ()):
            settled = written.ended < at - SETTLE_US
            if settled and facts.shared_through(op.agent, written.space, at - SETTLE_US, at):
                yield written, op, op.call.host


def misplaced_come_home(world: Sites) -> Verdict:
    """A tuple whose destination is there and shares its space is with its destination."""
    name = "misplaced tuples are home after the healing"
    facts = facts_of(world)
    at = facts.counted_at
    if at is None:
        return unknown(name, "nobody counted the tuples")
    cases = 0
    for written, op, _ in _at_rest(facts, at):
        if not written.to or written.to not in world.where:
            continue
        stay = facts.stay(written.to, at)
        if stay is None or stay[1] > at - SETTLE_US:
            continue
        if facts.shared_through(written.to, written.space, at - SETTLE_US, at):
            cases += 1
            if op.agent != written.to:
                return no(name, f"it is for {written.to}, who is there", *written.proof, *op.proof)
    return yes(name, cases)


def waiters_are_served(world: Sites) -> Verdict:
    """Nobody waits at the count for a tuple that is in a space it shares."""
    name = "every waiter with a match is served"
    facts = facts_of(world)
    at = facts.counted_at
    if at is None:
        return unknown(name, "nobody counted the tuples")
    resting = list(_at_rest(facts, at))
    cases = 0
    for op in facts.seeks():
        if not op.waits or op.began > at - SETTLE_US:
            continue
        cases += 1
        request = op.request
        assert isinstance(request, Seek)
        if op.end < at or not facts.shared_through(op.agent, request.space, at - SETTLE_US, at):
            continue
        for written, counted, host in resting:
            if (
                written.space == request.space
                and request.at in ("", host, counted.agent)
                and request.dest in ("", written.to or written.writer)
                and not any(lend.end > at - 2 * SETTLE_US for lend in written.lends)
                and request.template.matches(written.fields)
            ):
                return no(name, "it waits for what is there", *written.proof, *op.proof)
    return yes(name, cases)


def reactions_fire_once(world: Sites) -> Verdict:
    """A reaction fires once, or once for each tuple, until it is enabled again, which forgets.

    A reaction that is there at the count has fired for every match that is there too.
    """
    name = "reactions fire exactly once, each by its mode"
    facts = facts_of(world)
    cases = 0
    for watch in facts.watches:
        cases += len(watch.fired)
        verdict = _too_often(name, facts, watch)
        if verdict is not None:
            return verdict
    at = facts.counted_at
    if at is None:
        return unknown(name, "nobody counted the tuples")
    resting = list(_at_rest(facts, at))
    for watch in facts.watches:
        if watch.over < at or watch.asleep or not _has_settled(facts, watch, at):
            continue
        since = watch.enabled_at[-1]
        fired = {h.what.found.fields for h in watch.fired if h.at >= since}
        if watch.request.mode == ONCE and fired:
            continue
        for written, counted, host in resting:
            if not _is_for(watch.request, written, counted.agent, host):
                continue
            cases += 1
            if written.fields in fired:
                continue
            story = (*watch.registered.proof, *written.proof, *counted.proof)
            return no(name, "it did not fire for what is there", *story)
    return yes(name, cases)


def _too_often(name: str, facts: HistoryFacts, watch: ReactionLife) -> Verdict | None:
    seen: dict[object, int] = {}
    for h in watch.fired:
        fields = h.what.found.fields
        key = None if watch.request.mode == ONCE else fields
        seen[key] = seen.get(key, 0) + 1
        periods = sum(at <= h.at for at in watch.enabled_at)
        same = [one for one in watch.fired if key is None or one.what.found.fields == fields]
        if seen[key] > periods:
            return no(name, "it fired too often", *watch.registered.proof, *same)
        if not watch.request.template.matches(fields):
            return no(name, "its template does not match", *watch.registered.proof, h)
        written = facts.tuples.get(fields)
        if written is not None:
            for use in uses(written):
                if use.end < watch.registered.began:
                    says = "the tuple was used up before it was registered"
                    return no(name, says, *use.proof, *watch.registered.proof, h)
    return None


def _has_settled(facts: HistoryFacts, watch: ReactionLife, at: int) -> bool:
    stay = facts.stay(watch.agent, at)
    return (
        stay is not None
        and max(stay[1], *watch.enabled_at) < at - SETTLE_US
        and facts.shared_through(watch.agent, watch.request.space, at - SETTLE_US, at)
        # A strong one for a place where its agent is not sleeps until it comes there.
        and (watch.request.strength != STRONG or watch.request.at in (stay[0], watch.agent))
    )


def _is_for(request: React, written: TupleHistory, holder: str, host: str) -> bool:
    return (
        written.space == request.space
        and request.at in ("", host, holder)
        and request.dest in ("", written.to or written.writer)
        and request.template.matches(written.fields)
    )
