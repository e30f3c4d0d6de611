"""What goes wrong in a world, and when: a schedule made from a seed.

A crash comes either between two events or in the middle of one, after a number of steps (a write
to disk, an order carried out, a note that it was). Every fault ends by itself, and all end when
the world heals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

from nomospace_lab.sim.clock import MINUTE_US, SECOND_US
from nomospace_lab.sim.network import Link

CRASHES_MIN: Final = 2
TRAP_US: Final = MINUTE_US
"""A host that has found nothing to do for so long crashes without having done any steps."""


@dataclass(frozen=True)
class Crash:
    """A host loses all but its disk; `steps` into its next work, or at once when zero."""

    at: int
    host: str
    down_us: int
    steps: int = 0


@dataclass(frozen=True)
class Pause:
    """A host stands still with all that it has; what comes for it meanwhile waits."""

    at: int
    host: str
    for_us: int


@dataclass(frozen=True)
class Cut:
    """Some hosts are parted from the rest."""

    at: int
    side: tuple[str, ...]
    for_us: int


@dataclass(frozen=True)
class Storm:
    """All links are worse for a while."""

    at: int
    link: Link
    for_us: int


Fault: TypeAlias = Crash | Pause | Cut | Storm


def schedule(
    rng: Random,
    hosts: Sequence[str],
    *,
    start_us: int,
    end_us: int,
    crashes: int = CRASHES_MIN,
    cuts: int = 1,
    storms: int = 1,
) -> list[Fault]:
    """Faults between two moments: at least so many of each kind, in order of time.

    Further crashes come at any time, and have no effect on a host that is down already.
    """
    span = end_us - start_us
    window = span // max(crashes, 1)
    assert window >= 6 * TRAP_US, "each crash needs some minutes of its own"

    def moment() -> int:
        return start_us + int(rng.random() * span * 0.8)

    found: list[Fault] = []
    for number in range(crashes + rng.randrange(3)):
        steps = rng.randrange(1, 9) if rng.random() < 0.6 else 0
        down_us = int(rng.uniform(2, 700)) * SECOND_US
        at = moment()
        if number < crashes:
            # The host must be up again, and its trap sprung, before the next one is due.
            at = start_us + number * window + int(rng.random() * window / 3)
            down_us = min(down_us, window // 3)
        found.append(Crash(at, rng.choice(hosts), down_us, steps))
    for _ in range(cuts + rng.randrange(2)):
        side = tuple(sorted(rng.sample(list(hosts), rng.randrange(1, len(hosts)))))
        found.append(Cut(moment(), side, int(rng.uniform(5, 240)) * SECOND_US))
    for _ in range(storms + rng.randrange(2)):
        link = Link(
            delay_max_us=rng.choice((200_000, 2_000_000, 20_000_000)),
            loss=rng.uniform(0.05, 0.5),
            repeats=rng.uniform(0, 0.2),
        )
        found.append(Storm(moment(), link, int(rng.uniform(10, 300)) * SECOND_US))
    return sorted(found, key=lambda fault: fault.at)
