"""The registry of workloads: a name, a builder of worlds, and what must hold in them.

>>> from nomospace_lab.sim.world import World
>>> @workload("nothing", "An empty world.", checkers=())
... def build(seed: int) -> World:
...     return World(seed)
>>> find("nothing").build(7).seed
7
>>> del registry["nothing"]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from nomospace.errors import CallerError
from nomospace_lab.sim.checkers import Checker
from nomospace_lab.sim.checkers.messages import (
    arrivals_were_sent,
    orders_are_carried_out,
    strangers_are_barred,
)
from nomospace_lab.sim.checkers.obligations import fire_once
from nomospace_lab.sim.checkers.quiet import comes_to_rest
from nomospace_lab.sim.checkers.replay import rulings_replay
from nomospace_lab.sim.checkers.state import survives_crashes
from nomospace_lab.sim.simulation import Simulation

Builder: TypeAlias = Callable[[int], Simulation]

EVERYWHERE: Final[tuple[Checker, ...]] = (
    comes_to_rest,
    survives_crashes,
    fire_once,
    rulings_replay,
    orders_are_carried_out,
    arrivals_were_sent,
    strangers_are_barred,
)
"""What must hold in every world of agents behind controllers, whatever its law."""


class UnknownWorkload(CallerError):
    """No workload has this name."""

    code = "sim.unknown-workload"
    name: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"there is no workload {self.name!r}; there are {', '.join(self.known) or 'none'}"


@dataclass(frozen=True)
class Workload:
    """Worlds of one kind. `module` registers it: another process imports that to find it."""

    name: str
    about: str
    build: Builder
    checkers: tuple[Checker, ...]
    module: str


registry: Final[dict[str, Workload]] = {}


def workload(
    name: str,
    about: str,
    *,
    checkers: tuple[Checker, ...],
    everywhere: tuple[Checker, ...] = EVERYWHERE,
) -> Callable[[Builder], Builder]:
    """Register a builder of worlds; `checkers` come besides those that hold everywhere."""

    def register(build: Builder) -> Builder:
        registry[name] = Workload(name, about, build, everywhere + checkers, build.__module__)
        return build

    return register


def find(name: str) -> Workload:
    """The workload of that name; raises `UnknownWorkload`."""
    found = registry.get(name)
    if found is None:
        raise UnknownWorkload(name=name, known=tuple(sorted(registry)))
    return found
