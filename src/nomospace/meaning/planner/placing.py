"""Which fields of a tuple of some shape can serve needs, and hold the objects of hubs."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

from nomospace.errors import LimitReached
from nomospace.meaning.facts import Shape
from nomospace.meaning.plan import Need
from nomospace.meaning.planner.deriving import plain_kinds

PLACEMENTS_MAX: Final = 4_000
"""Ways to place needs in one tuple that are looked at, those that are none among them."""


class PlanTooDear(LimitReached):
    """A question can be served in too many ways by one tuple for a plan to be made."""

    code = "limits.plan"
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
        yield from _needs(shape, needs, hubs, left)


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
    shape: Shape, needs: Sequence[Need], hubs: tuple[int, ...], left: list[int]
) -> Iterator[Placement]:
    """Every way to place needs where hubs stand so; `left` has how many more may be looked at."""
    _look(left)
    if not needs:
        yield Placement((), hubs)
        return
    options = [_options(shape, need, hubs) for need in needs]
    last = len(needs) - 1
    chosen: list[int] = []
    levels = [iter(options[0])]
    while levels:
        at = next(levels[-1], None)
        if at is None:
            levels.pop()
            if chosen:
                chosen.pop()
            continue
        _look(left)
        if len(chosen) == last:
            yield Placement((*chosen, at), hubs)
            continue
        chosen.append(at)
        levels.append(iter(_free(options, needs, chosen)))


def _look(left: list[int]) -> None:
    left[0] -= 1
    if left[0] < 0:
        raise PlanTooDear


def _options(shape: Shape, need: Need, hubs: tuple[int, ...]) -> list[int]:
    """Where a need may stand, whatever else does."""
    kinds: Container[object] = need.classes or plain_kinds(need.asks)
    return [
        at
        for at, kind in enumerate(shape)
        if kind in kinds and not (at in hubs and kind in need.apart)
    ]


def _free(options: list[list[int]], needs: Sequence[Need], chosen: list[int]) -> list[int]:
    """Where the next need may stand, beside those that have their place."""
    need = needs[len(chosen)]
    found = options[len(chosen)]
    if need.field is None:
        return found
    taken = [at for one, at in zip(needs, chosen, strict=False) if one.field is not None]
    least = 0
    if not need.classes:  # plain needs keep their order
        before = zip(needs, chosen, strict=False)
        least = max([at for one, at in before if one.field is not None and not one.classes] or [0])
    return [at for at in found if at not in taken and at >= least]
