"""A control state comes back from a crash as it was."""

from __future__ import annotations

from nomospace.terms import same, show
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.history import CRASHED, RESTARTED, Happening, MemberState
from nomospace_lab.sim.world import World


def survives_crashes(world: World) -> Verdict:
    """What a host's members hold after a restart is what they held, on disk, before the crash."""
    name = "control state survives a crash"
    crashed: dict[str, Happening] = {}
    cases = 0
    for h in world.history.of(CRASHED, RESTARTED):
        if h.kind == CRASHED:
            crashed[h.who] = h
            continue
        before = crashed.pop(h.who, None)
        if before is None:
            return no(name, f"{h.who} restarted without a crash", h)
        found: dict[str, MemberState] = {member.home: member for member in h.what}
        for must in before.what:
            cases += 1
            now = found.get(must.home)
            if now is None:
                return no(name, f"{must.home} did not come back", before, h)
            for part in ("state", "obligations"):
                old, new = getattr(must, part), getattr(now, part)
                if not same(old, new):
                    says = f"{part} of {must.home} was {show(old)} and came back as {show(new)}"
                    return no(name, says, before, h)
    return yes(name, cases)
