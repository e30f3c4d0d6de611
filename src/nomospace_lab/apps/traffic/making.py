"""Traffic from a seed: the same law, numbers and seed give the same journals, byte for byte.

Only how long rulings took is measured, where a clock is handed in, and differs from run to run.

A large community has several sites: hospitals under one law, each with hosts and people of its own,
who do not write to those of others. A site is made without knowing of the rest, so that each can be
made in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from nomospace.law import CompiledLaw
from nomospace_lab.apps.traffic.chatter import Chatter
from nomospace_lab.apps.traffic.drive import JournalWord, Traffic
from nomospace_lab.apps.traffic.hospital import TrafficHospital

BEGINNING_US: Final = 1_767_225_600_000_000
"""The first of January 2026: a made-up time should look like one."""


def make_traffic(
    law: CompiledLaw,
    *,
    events: int,
    agents: int,
    seed: int,
    hosts: int = 1,
    site: int = 0,
    timer: Callable[[], int] = lambda: 0,
) -> Iterator[JournalWord]:
    """What the journals of one site's hosts say, until there are so many events.

    >>> from nomospace import laws
    >>> from nomospace.law import load
    >>> told = list(make_traffic(load(laws.text("ap")), events=500, agents=40, seed=1))
    >>> sum(one.what.__class__.__name__ == "Ruling" for one in told)
    500
    """
    names = tuple([f"ward-{site * hosts + number + 1}" for number in range(hosts)])
    rng = Random(f"{seed}/{site}") if site else Random(seed)
    traffic = Traffic(law, rng, hosts=names, now=BEGINNING_US, timer=timer)
    people = TrafficHospital if law.name == "ap" else Chatter
    people(traffic, agents)
    return traffic.run(events)
