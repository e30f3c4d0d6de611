"""Groups are agreed on: no agent sees half an engagement, and all come to rest in one view."""

from __future__ import annotations

from typing import Final

from nomospace.calls.requests import READ_ALL, Seek
from nomospace.host.system import SYSTEM
from nomospace_lab.sim.checkers import Checker, Verdict, no, yes
from nomospace_lab.sim.checkers.facts import facts_of
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import CRASHED, CUT, JOINED, RESTARTED, Happening
from nomospace_lab.sim.observed import ANSWERED, ASKED, LINKED, UNLINKED, VIEW

CALM_US: Final = 3 * SECOND_US
"""So long before the count no view may change any more."""


def views_agree(world: Sites) -> Verdict:
    """Hosts that install a view of the same id have the same members; ids of a host only grow."""
    name = "views are agreed on, and their ids only grow"
    first: dict[tuple[int, str], Happening] = {}
    last: dict[str, Happening] = {}
    cases = 0
    for h in world.history.of(VIEW):
        cases += 1
        viewed = h.what
        other = first.setdefault(viewed.id, h)
        if other.what.members != viewed.members:
            return no(name, "one id, two groups", other, h)
        if h.who not in viewed.members:
            return no(name, f"{h.who} is not in the view it installs", h)
        before = last.get(h.who)
        if before is not None and tuple(before.what.id) >= tuple(viewed.id):
            return no(name, f"{h.who} goes back to an older view", before, h)
        last[h.who] = h
    return yes(name, cases)


def system_shows_the_view(world: Sites) -> Verdict:
    """At every instant `LimeSystem` shows the hosts of one installed view as connected."""
    name = "no agent sees half an engagement"
    current: dict[str, tuple[tuple[str, ...], Happening | None]] = {}
    looking: dict[int, tuple[Happening, list[tuple[tuple[str, ...], Happening | None]]]] = {}
    cases = 0
    for h in world.history:
        if h.kind == VIEW:
            now = current[h.who] = (h.what.members, h)
            for asked, seen in looking.values():
                if asked.what.host == h.who:
                    seen.append(now)
        elif h.kind == RESTARTED:
            current[h.who] = ((h.who,), h)
        elif h.kind == CRASHED:
            looking = {op: look for op, look in looking.items() if look[0].what.host != h.who}
        elif h.kind == ASKED and _looks_at_hosts(h):
            host = h.what.host
            looking[h.what.op] = (h, [current.get(host, ((host,), None))])
        elif h.kind == ANSWERED and h.what.op in looking:
            asked, seen = looking.pop(h.what.op)
            if h.what.error is not None:
                continue
            cases += 1
            shown = tuple(sorted(f.fields[1] for f in h.what.value if f.fields[2] == "connected"))
            if all(shown != members for members, _ in seen):
                story = [view for _, view in seen if view is not None]
                says = f"it shows {', '.join(shown)} as connected, which is no view of its host"
                return no(name, says, *story, asked, h)
    return yes(name, cases)


def _looks_at_hosts(h: Happening) -> bool:
    request = h.what.request
    return (
        isinstance(request, Seek)
        and request.space == SYSTEM
        and request.how == READ_ALL
        and request.template.term[0] == "host"
    )


def comes_to_rest(world: Sites) -> Verdict:
    """After the healing all hosts are up and in one view; calls that do not wait are over."""
    name = "the world comes to rest"
    if not world.quiet or world.healed_at is None:
        return no(name, "the world never reached its end", *list(world.history)[-3:])
    down = [site.name for site in world.sites.values() if not site.up]
    if down:
        return no(name, f"{', '.join(down)} never came back")
    away = [agent for agent, host in world.where.items() if host is None]
    if away:
        return no(name, f"{', '.join(away)} never arrived")
    facts = facts_of(world)
    end = facts.counted_at or world.end_us
    for op in facts.ops.values():
        if not op.waits and op.end > end and op.began < end - CALM_US:
            return no(name, "it was never answered", *op.proof)
    last = {
        host: [h for h in views if h.kind == VIEW and h.at <= end][-1:]
        for host, views in facts.views.items()
    }
    everybody = tuple(sorted(world.sites))
    ids = set()
    for host in everybody if len(everybody) > 1 else ():
        view = last.get(host, [])
        if not view or view[0].what.members != everybody:
            return no(name, f"{host} does not end in a group with everybody", *view)
        if view[0].at > end - CALM_US:
            return no(name, f"{host} was still engaging at the end", *view)
        ids.add(tuple(view[0].what.id))
        if len(ids) > 1:
            return no(name, "hosts end in different views", *view)
    return yes(name, len(everybody))


def was_hard(*, calls: int, changes: int, crashes: int) -> Checker:
    """The world had at least so much of everything: an easy world proves little."""

    def check(world: Sites) -> Verdict:
        name = "the world was hard enough"
        healed_at = world.healed_at or world.end_us
        counts = {
            "calls": (calls, sum(h.what.round == 0 for h in world.history.of(ASKED))),
            "changes of the topology": (
                changes,
                sum(h.at < healed_at for h in world.history.of(LINKED, UNLINKED, CUT, JOINED)),
            ),
            "crashes": (crashes, sum(h.at < healed_at for h in world.history.of(CRASHED))),
        }
        for what, (least, count) in counts.items():
            if count < least:
                return no(name, f"only {count} {what}, at least {least} are wanted")
        return yes(name, 1)

    return check
