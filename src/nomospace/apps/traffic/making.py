"""Traffic from a seed: the same law, numbers and seed give the same journals, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from nomospace.apps.traffic.chatter import Chatter
from nomospace.apps.traffic.drive import Told, Traffic
from nomospace.apps.traffic.hospital import Hospital
from nomospace.law import CompiledLaw

BEGINNING_US: Final = 1_767_225_600_000_000
"""The first of January 2026: a made-up time should look like one."""


def make_traffic(
    law: CompiledLaw, *, events: int, agents: int, seed: int, hosts: int = 1
) -> Iterator[Told]:
    """What the journals of a community's hosts say, until there are so many events.

    >>> from nomospace import laws
    >>> from nomospace.law import load
    >>> told = list(make_traffic(load(laws.text("ap")), events=500, agents=40, seed=1))
    >>> sum(one.what.__class__.__name__ == "Ruling" for one in told)
    500
    """
    names = tuple([f"ward-{number + 1}" for number in range(hosts)])
    traffic = Traffic(law, Random(seed), hosts=names, now=BEGINNING_US)
    people = Hospital if law.name == "ap" else Chatter
    people(traffic, agents)
    return traffic.run(events)
