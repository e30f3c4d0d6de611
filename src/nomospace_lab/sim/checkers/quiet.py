"""The world came to rest, and it was hard enough to prove something."""

from __future__ import annotations

from nomospace_lab.sim.checkers import Checker, Verdict, no, yes
from nomospace_lab.sim.clock import clock_text
from nomospace_lab.sim.history import CRASHED, CUT, LOST, SENT
from nomospace_lab.sim.world import World


def comes_to_rest(world: World) -> Verdict:
    """After the last fault and the last deed everything is done: nothing is under way or due."""
    name = "the world comes to rest"
    if not world.quiet:
        return no(
            name, f"it is still busy at {clock_text(world.clock.now)}", *list(world.history)[-3:]
        )
    late = [member for host in world.hosts.values() for member in host.members.values()]
    for member in late:
        if member.next_deadline() is not None:
            return no(name, f"{member.home} has obligations pending that nobody will wake")
    down = [host.name for host in world.hosts.values() if not host.up]
    if down:
        return no(name, f"{', '.join(down)} never came back")
    return yes(name, 1)


def was_hard(*, messages: int, crashes: int = 2, cuts: int = 1, lost: int = 1) -> Checker:
    """The world had at least so much of everything: an easy world proves little."""
    least = {SENT: messages, CRASHED: crashes, CUT: cuts, LOST: lost}
    words = {SENT: "messages", CRASHED: "crashes", CUT: "partitions", LOST: "losses"}

    def check(world: World) -> Verdict:
        name = "the world was hard enough"
        for kind, least_count in least.items():
            count = world.history.count(kind)
            if count < least_count:
                return no(name, f"only {count} {words[kind]}, at least {least_count} are wanted")
        return yes(name, 1)

    return check
