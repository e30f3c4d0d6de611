"""A count of a whole world of `Sites`, for the checkers of what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nomospace.calls.requests import READ_ALL, Seek
from nomospace.calls.ways import DEAD
from nomospace.host.system import SYSTEM
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.federation import Sites

AGENTS: Final = Template.of(("agent", ANY, ANY, ANY))
SHARES: Final = Template.of(("space", ANY, ANY, ANY, ANY))


def count_world(world: Sites, round: int, spaces: Mapping[str, Sequence[str]], width: int) -> None:
    """Ask every agent what it holds, dead letters included, and every host who is there."""
    whole = Template.of((ANY,) * width)
    for agent, names in spaces.items():
        for name in names:
            for one in (name, name + DEAD):
                world.call(agent, Seek(one, READ_ALL, whole, at=agent), round=round)
    asked: dict[str, None] = {}
    for agent, host in world.where.items():
        if host is not None and host not in asked:
            asked[host] = None
            for template in (AGENTS, SHARES):
                world.call(agent, Seek(SYSTEM, READ_ALL, template), round=round)


def count_shares(
    world: Sites, round: int, auditors: Mapping[str, str], space: str, width: int
) -> None:
    """Have the auditor at each host say what lies there of a partitioned space."""
    whole = Template.of((ANY,) * width)
    for auditor, host in auditors.items():
        for one in (space, space + DEAD):
            world.call(auditor, Seek(one, READ_ALL, whole, at=host), round=round)
