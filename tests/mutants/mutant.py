"""What a deliberate bug is, and what has to notice it."""

from __future__ import annotations

from typing import NamedTuple


class Worlds(NamedTuple):
    """Simulated worlds of a workload, from seed 0 on."""

    workload: str
    seeds: int


class Mutant(NamedTuple):
    """A bug: its name, where it goes, and where it must show: in tests, or in simulated worlds.

    `old` stands exactly once in its file; the runner puts `new` in its place in a copy of the
    source.
    """

    name: str
    file: str
    old: str
    new: str
    judge: str | Worlds
