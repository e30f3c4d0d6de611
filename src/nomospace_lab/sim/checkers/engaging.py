"""An engagement is one step: who sees the new group sees all that came with it."""

from __future__ import annotations

from typing import Any, Final

from nomospace.calls.requests import READ_ALL, Seek
from nomospace.host.system import SYSTEM
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.checkers.facts import (
    CallHistory,
    HistoryFacts,
    TupleHistory,
    facts_of,
    rivals,
    uses,
)
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import CRASHED, Happening
from nomospace_lab.sim.observed import ANSWERED, ASKED, FROZE, THAWED, VIEW

STILL_MAX_US: Final = 32 * SECOND_US
"""No host stands still for longer at a stretch, whatever becomes of its group."""


def hosts_stand_still(world: Sites) -> Verdict:
    """While a host engages it answers no call that is asked then, and that is not for long."""
    name = "hosts stand still while they engage, and not for long"
    since: dict[str, Happening] = {}
    asked: dict[int, Happening] = {}
    cases = 0
    for h in world.history:
        if h.kind == FROZE:
            since[h.who] = h
        elif h.kind in (THAWED, CRASHED):
            froze = since.pop(h.who, None)
            if froze is not None:
                cases += 1
                if h.at - froze.at > STILL_MAX_US:
                    return no(name, f"it stood still for {(h.at - froze.at) / 1e6:g} s", froze, h)
            asked = {op: one for op, one in asked.items() if one.what.host != h.who}
        elif h.kind == ASKED and h.what.host in since:
            asked[h.what.op] = h
        elif h.kind == ANSWERED and h.what.op in asked:
            question = asked[h.what.op]
            return no(name, "it answered", since[question.what.host], question, h)
    return yes(name, cases)


def tuples_come_with_the_view(world: Sites) -> Verdict:
    """Who is in a new view has the tuples that were misplaced for it among the newcomers.

    A tuple that was written before its host installed the view has crossed by the time that the
    host of its destination does: the destination holds it when it first looks.
    """
    name = "misplaced tuples migrate with the engagement"
    facts = facts_of(world)
    installed: dict[tuple[str, object], int] = {}
    for h in world.history.of(VIEW):
        installed[h.who, tuple(h.what.id)] = h.at
    waiting: dict[str, list[TupleHistory]] = {}
    for written in facts.tuples.values():
        apart = written.to not in ("", written.writer)
        if apart and written.sure and not written.ttl_us and not written.lends:
            waiting.setdefault(written.to, []).append(written)
    cases = 0
    for op in facts.ops.values():
        if not op.call.round < 0 or not op.told or op.agent not in waiting:
            continue
        view = facts.view_at(op.call.host, op.began)
        if view is None or view.at != op.began:
            continue
        for written in waiting[op.agent]:
            if _has_crossed(facts, written, op, view, installed):
                cases += 1
                if all(found.fields != written.fields for found in op.found):
                    return no(name, "it did not come along", *written.proof, view, *op.proof)
    return yes(name, cases)


def _has_crossed(
    facts: HistoryFacts,
    written: TupleHistory,
    op: CallHistory,
    view: Happening,
    installed: dict[tuple[str, object], int],
) -> bool:
    """Whether a tuple must be with its destination, which looks as it installs a view."""
    request = op.request
    assert isinstance(request, Seek)
    since, until = written.began, op.end
    here, there = facts.stay(op.agent, since), facts.stay(written.writer, since)
    if here is None or there is None or here[2] <= until or there[2] <= until:
        return False
    source = there[0]
    joined = installed.get((source, tuple(view.what.id)))
    return (
        written.space == request.space
        and here[0] == op.call.host != source
        and source in view.what.members
        # One that gave the view up meanwhile writes for itself.
        and joined is not None
        and written.ended < joined
        # Between hosts of one group a tuple is on its way at once, and may be still.
        and facts.apart(source, here[0], since, written.ended)
        # One that its host still took to be at another went there, and comes back some day.
        and not facts.listed(source, op.agent, since, until)
        and facts.shared_through(op.agent, written.space, since, until)
        and facts.shared_through(written.writer, written.space, since, until)
        and not any(use.began <= until for use in uses(written))
        and not any(one.began <= until for one in rivals(facts, written))
    )


def system_lists_everything(world: Sites) -> Verdict:
    """At the count every host's `LimeSystem` names all agents and all spaces that are shared."""
    name = "LimeSystem names every agent and every shared space"
    facts = facts_of(world)
    at = facts.counted_at
    if at is None:
        return unknown(name, "nobody counted")
    agents = list(world.where.items())
    wanted: set[tuple[Any, ...]]
    may: set[tuple[Any, ...]]
    cases = 0
    for op in facts.ops.values():
        request = op.request
        if op.call.round != 1 or not isinstance(request, Seek) or request.space != SYSTEM:
            continue
        assert request.how == READ_ALL
        cases += 1
        shown = {found.fields[1:-1] for found in op.found if found.fields[-1] == "connected"}
        if request.template.term[0] == "agent":
            wanted = may = {(agent, host) for agent, host in agents}
        else:
            opened = [(space, *one) for one in agents for space in facts.opened(one[0])]
            wanted = {one for one in opened if facts.shared_through(one[1], one[0], at, at)}
            may = {one for one in opened if facts.may_share(one[1], one[0])}
            # Dead letters have spaces that nobody opened.
            shown = {one for one in shown if (one[0], one[1]) in facts.spaces}
        wrong = (wanted - shown) | (shown - may)
        if wrong:
            odd = ", ".join(sorted(" ".join(map(str, one)) for one in wrong))
            return no(name, f"it is wrong about {odd}", *op.proof)
    return yes(name, cases)
