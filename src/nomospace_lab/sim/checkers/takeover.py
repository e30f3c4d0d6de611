"""What must hold of processes that stand for one host."""

from __future__ import annotations

from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.standing import TakeoverWorld


def one_is_active(world: TakeoverWorld) -> Verdict:
    """Nobody answers, or takes the lease, while another may; no clock goes behind a commit.

    And whoever stood by took over in time.
    """
    name = "one process is active, and another in time"
    return no(name, world.faults[0]) if world.faults else yes(name, world.answered)


def the_lease_goes_over(world: TakeoverWorld) -> Verdict:
    """Somebody has the lease in the end, and serves."""
    name = "the lease goes over"
    serving = [one.place for one in world.processes if one.core is not None]
    if serving != [world.database.stand.holder]:
        return no(name, f"{serving} serve, and {world.database.stand.holder} has the lease")
    return yes(name, world.taken)
