"""Which fields of a tuple of some shape can serve needs, and hold the objects of hubs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from nomospace.errors import LimitReached
from nomospace.meaning.facts import Shape
from nomospace.meaning.plan import Need
from nomospace.meaning.planner.deriving import plain_kinds

PLACEMENTS_MAX: Final = 4_000
"""Ways to place needs in one tuple that are looked at, those that are none among them."""


@dataclass(eq=False, kw_only=True)
class PlanTooDear(LimitReached):
    """A question can be served in too many ways by one tuple for a plan to be made."""

    code: ClassVar[str] = "limits.plan"
    what: str = "the number of ways in which one tuple may serve a question"
    limit: int = PLACEMENTS_MAX
    advice: str = "ask for fewer objects of one class, or write tuples with fewer of them"


class Placement(NamedTuple):
    """Positions in a tuple: one for each need, one for each hub, in the order they were given."""

    needs: tuple[int, ...]
    hubs: tuple[int, ...]


def placements(
    shape: Shape, needs: Sequence[Need], hub_classes: Sequence[str]
) -> Iterator[Placement]:
    """Every way to place needs and hubs in a shape.

    Hubs are different objects, so they stand in different fields; so do needs that are template
    fields. Plain needs keep the order of their fields. An input may stand on any field, and a need
    on that of a hub, unless it is `apart` from its class.

    >>> from nomospace.meaning.question import ClassField
    >>> car = Need(0, 0, ClassField("Car"), ("Car",), 0)
    >>> list(placements(("Car", "Car"), [car], ["Car"]))
    [Placement(needs=(0,), hubs=(0,)), Placement(needs=(1,), hubs=(0,)), \
Placement(needs=(0,), hubs=(1,)), Placement(needs=(1,), hubs=(1,))]
    >>> list(placements(("Car",), [car._replace(apart=("Car",))], ["Car"]))
    []
    """
    left = [PLACEMENTS_MAX]
    for hubs in _hubs(shape, hub_classes, ()):
        yield from _needs(shape, needs, hubs, (), left)


def _hubs(
    shape: Shape, classes: Sequence[str], chosen: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    if len(chosen) == len(classes):
        yield chosen
        return
    for at, kind in enumerate(shape):
        if kind == classes[len(chosen)] and at not in chosen:
            yield from _hubs(shape, classes, (*chosen, at))


def _needs(
    shape: Shape,
    needs: Sequence[Need],
    hubs: tuple[int, ...],
    chosen: tuple[int, ...],
    left: list[int],
) -> Iterator[Placement]:
    left[0] -= 1
    if left[0] < 0:
        raise PlanTooDear
    if len(chosen) == len(needs):
        yield Placement(chosen, hubs)
        return
    need = needs[len(chosen)]
    kinds = None if need.classes else plain_kinds(need.asks)
    least = 0
    taken: set[int] = set()
    for before, at in zip(needs, chosen, strict=False):
        if need.field is not None and before.field is not None:
            taken.add(at)
            if kinds is not None and not before.classes:
                least = max(least, at)
    for at, kind in enumerate(shape):
        if at in taken or at < least:
            continue
        if kind not in need.classes if kinds is None else kind not in kinds:
            continue
        if at in hubs and kind in need.apart:
            continue
        yield from _needs(shape, needs, hubs, (*chosen, at), left)
