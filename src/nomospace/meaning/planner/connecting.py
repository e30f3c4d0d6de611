"""Needs spread over tuples, and the trees that make the tuples hang together.

A *group* is the needs that one tuple serves. Groups that ties join hang together already. The rest
is joined by hubs, objects that tuples share, and by *bridges*, tuples that serve nothing and hold
the objects of two hubs or more. A tree grows from the first group: each move joins one more group,
or a bridge, which must then lead on. The same tree can grow in many orders; it is kept once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sys import maxsize
from typing import Final, NamedTuple

from nomospace.meaning.facts import KnownFacts, Shape
from nomospace.meaning.joining import JoinedSets
from nomospace.meaning.plan import Hub, Need, tie_links
from nomospace.meaning.planner.deriving import Derivation
from nomospace.meaning.planner.placing import placements

STATES_MAX: Final = 20_000
"""How many growing trees a plan looks at."""


class Effort:
    """Counts growing trees, over all of a plan, and the steps that it takes to find them.

    A step is some ten microseconds. Who cannot wait sets a limit to them.
    """

    def __init__(self, steps_max: int = maxsize) -> None:
        self.states = 0
        self.steps_left = steps_max

    def one_more(self) -> bool:
        """Whether another tree may be looked at."""
        self.states += 1
        return self.states <= STATES_MAX

    def step(self) -> bool:
        """Whether another step may be taken."""
        self.steps_left -= 1
        return self.steps_left >= 0

    @property
    def spent(self) -> bool:
        """Whether something could not be looked at."""
        return self.states > STATES_MAX or self.steps_left < 0


_HUB: Final = 1_000
"""Where a need goes that is left to a hub: beyond every group."""


class JoinTree(NamedTuple):
    """Groups, so many bridges after them, and the hubs that join all."""

    groups: tuple[tuple[int, ...], ...]
    floating: tuple[int, ...]
    """Needs that a hub's object serves."""
    bridges: int
    hubs: tuple[Hub, ...]


class _Growing(NamedTuple):
    hubs: tuple[tuple[str, frozenset[int]], ...]
    bridges: int
    inside: frozenset[int]
    dangling: int | None


class Fitting:
    """Remembers which shapes have room for needs and hubs in one tuple."""

    def __init__(self, known: KnownFacts, effort: Effort) -> None:
        self.known = known
        self.effort = effort
        self.shapes: list[Shape] = [shape for shape, _ in known.shapes]
        self._with: dict[object, set[int]] = {}
        for number, shape in enumerate(self.shapes):
            for kind in shape:
                self._with.setdefault(kind, set()).add(number)
        self.shared = sorted([name for name, count in known.shared.items() if count > 1])
        self._fits: dict[tuple[tuple[Need, ...], tuple[str, ...]], tuple[int, ...]] = {}

    def fits(self, needs: Sequence[Need], hubs: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the shapes that have room."""
        asked = (tuple(needs), tuple(sorted(hubs)))
        found = self._fits.get(asked)
        if found is None:
            able = self._able(*asked)
            self.effort.steps_left -= len(able) // 4
            found = self._fits[asked] = tuple(
                [
                    number
                    for number in able
                    if any(True for _ in placements(self.shapes[number], *asked))
                ]
            )
        return found

    def _able(self, needs: tuple[Need, ...], hubs: tuple[str, ...]) -> list[int]:
        """The shapes that have all classes that are asked for, if perhaps not often enough."""
        wanted: list[tuple[str, ...]] = [(name,) for name in hubs]
        wanted += [need.classes for need in needs if need.classes]
        able = set(range(len(self.shapes)))
        for names in wanted:
            able &= set().union(*[self._with.get(name, ()) for name in names])
        return sorted(able)


class Connector:
    """Makes the trees for one derivation."""

    def __init__(self, derivation: Derivation, fitting: Fitting, effort: Effort) -> None:
        self.derivation = derivation
        self.fitting = fitting
        self.effort = effort
        varying = fitting.known.varying
        stable = {name for name in fitting.shared if name not in varying}
        self.needs = tuple(
            [
                need._replace(apart=tuple([name for name in need.classes if name in stable]))
                if need.number not in derivation.tied
                else need
                for need in derivation.needs
            ]
        )
        last: dict[object, int] = {}
        self._alike: list[int | None] = []
        for need in self.needs:
            asked = (need.asks, need.classes) if need.field is not None else need.number
            self._alike.append(last.get(asked))
            last[asked] = need.number

    def spread(
        self, least: int, most: int, hubs: Sequence[str] = ()
    ) -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]:
        """Every way to spread needs over so many tuples, and to leave some to hubs.

        With `hubs`, every tuple must have room for these besides.
        """
        yield from self._spread((), (), (), (least, most), tuple(hubs))

    def _spread(
        self,
        chosen: tuple[int, ...],
        groups: tuple[tuple[int, ...], ...],
        floating: tuple[int, ...],
        count: tuple[int, int],
        hubs: tuple[str, ...],
    ) -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]:
        number = len(chosen)
        left = len(self.needs) - number
        if len(groups) + left < count[0] or not self.effort.step():
            return
        if left == 0:
            yield groups, floating
            return
        # Of needs that ask for the same, a later one is never in an earlier group: to exchange them
        # would give the same sets.
        alike = self._alike[number]
        least = 0 if alike is None else chosen[alike]
        for at, group in enumerate(groups):
            larger = (*group, number)
            if at >= least and self.fits(larger, hubs):
                changed = (*groups[:at], larger, *groups[at + 1 :])
                yield from self._spread((*chosen, at), changed, floating, count, hubs)
        if least < _HUB and len(groups) < count[1] and self.fits((number,), hubs):
            more = (*chosen, len(groups))
            yield from self._spread(more, (*groups, (number,)), floating, count, hubs)
        if self.needs[number].apart:
            more = (*chosen, _HUB)
            yield from self._spread(more, groups, (*floating, number), count, hubs)

    def fits(self, group: Sequence[int], hubs: Sequence[str]) -> tuple[int, ...]:
        """The shapes of a tuple that serves a group and holds the objects of hubs."""
        return self.fitting.fits([self.needs[number] for number in group], hubs)

    # Sets under a key.

    def keyed(self, class_name: str, size: int) -> Iterator[JoinTree]:
        """Sets of so many tuples which all hold one object of a class."""
        if size > self.fitting.known.shared.get(class_name, 1):
            return
        hub = Hub(class_name, tuple(range(size)))
        for groups, floating in self.spread(size, size, [class_name]):
            yield JoinTree(groups, floating, 0, (hub,))
        if size == 1:  # a tuple that holds the key object, which serves everything
            for _, floating in self.spread(0, 0, [class_name]):
                yield JoinTree(((),), floating, 0, (hub,))

    # Sets that hang together by any objects.

    def trees(self, size: int) -> Iterator[JoinTree]:
        """Sets of so many tuples, joined by objects they share, by bridges and by ties."""
        if size > self.fitting.known.tuples:
            return
        if size == 1:
            for groups, floating in self.spread(1, 1):
                if not floating:
                    yield JoinTree(groups, floating, 0, ())
            return
        for groups, floating in self.spread(2, size):
            yield from self._joined(groups, floating, size - len(groups))

    def _joined(
        self, groups: tuple[tuple[int, ...], ...], floating: tuple[int, ...], bridges: int
    ) -> Iterator[JoinTree]:
        clusters = self._clusters(groups)
        far = self._distances(groups)
        seen: set[object] = set()
        colors = _Colors()
        todo = [_Growing((), 0, clusters[0], None)]
        while todo:
            state = todo.pop()
            if state.dangling is None and len(state.inside) == len(groups) + state.bridges:
                if state.bridges < bridges:
                    continue
                hubs = sorted((Hub(name, tuple(sorted(nodes))) for name, nodes in state.hubs))
                yield JoinTree(groups, floating, state.bridges, tuple(hubs))
                continue
            for grown in self._grown(state, groups, clusters, far, bridges - state.bridges):
                if not self.effort.step():
                    return
                form = _form(grown, len(groups), colors)
                if form not in seen:
                    seen.add(form)
                    if not self.effort.one_more():
                        return
                    todo.append(grown)

    def _clusters(self, groups: tuple[tuple[int, ...], ...]) -> list[frozenset[int]]:
        """For each group those that ties join it with, itself included."""
        place = {number: at for at, group in enumerate(groups) for number in group}
        joined = JoinedSets(tie_links(self.derivation.computations, place))
        roots = [joined.find(("node", at)) for at in range(len(groups))]
        return [frozenset(at for at, other in enumerate(roots) if other == root) for root in roots]

    def _distances(self, groups: tuple[tuple[int, ...], ...]) -> dict[str, int]:
        """How many bridges it takes at least from an object of a class to some group."""
        shared = self.fitting.shared
        far = {c: 0 for c in shared if any(self.fits(group, (c,)) for group in groups)}
        edge = list(far)
        steps = 0
        while edge:
            steps += 1
            edge = [
                name
                for name in shared
                if name not in far and any(self.fits((), (name, near)) for near in edge)
            ]
            far.update(dict.fromkeys(edge, steps))
        return far

    def _grown(
        self,
        state: _Growing,
        groups: tuple[tuple[int, ...], ...],
        clusters: list[frozenset[int]],
        far: dict[str, int],
        left: int,
    ) -> Iterator[_Growing]:
        new = len(groups) + state.bridges  # the number of the next bridge
        outside = [at for at in range(len(groups)) if at not in state.inside]
        most = self.fitting.known.shared
        starts: list[tuple[str, int | None, int]] = []
        nodes = sorted(state.inside) if state.dangling is None else [state.dangling]
        for node in nodes:
            held = [name for name, members in state.hubs if node in members]
            group = groups[node] if node < len(groups) else ()
            starts += [(c, node, -1) for c in far if self.fits(group, [*held, c])]
        if state.dangling is None:
            starts += [
                (name, None, at)
                for at, (name, members) in enumerate(state.hubs)
                if len(members) < most[name]
            ]
        for name, start, hub in starts:
            for other in outside:
                if self.fits(groups[other], [name]):
                    hubs = _with(state.hubs, name, start, hub, other)
                    yield _Growing(hubs, state.bridges, state.inside | clusters[other], None)
            if left > 0 and any(
                far[onward] < left and self.fits((), (name, onward)) for onward in far
            ):
                hubs = _with(state.hubs, name, start, hub, new)
                yield _Growing(hubs, state.bridges + 1, state.inside | {new}, new)


def _with(
    hubs: tuple[tuple[str, frozenset[int]], ...], name: str, node: int | None, hub: int, other: int
) -> tuple[tuple[str, frozenset[int]], ...]:
    """Hubs with another node in one of them, or in a new one beside a node."""
    if node is None:
        return (*hubs[:hub], (name, hubs[hub][1] | {other}), *hubs[hub + 1 :])
    return (*hubs, (name, frozenset((node, other))))


class _Colors:
    """Numbers for things that are compared often: equal things have equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def of(self, thing: object) -> int:
        """The number of a thing."""
        return self._numbers.setdefault(thing, len(self._numbers))


def _form(state: _Growing, groups: int, colors: _Colors) -> object:
    """What is equal for two trees that differ only in the numbers of their bridges.

    Bridges are told apart by what hangs on them, from the outside in, as often as a tree is deep.
    """
    if not state.bridges:
        return frozenset(state.hubs)
    bridges = range(groups, groups + state.bridges)
    color = {node: node for node in range(groups)}
    color.update({node: colors.of(("bridge", node == state.dangling)) + groups for node in bridges})
    around: list[object] = []
    for _ in range(state.bridges + 1):
        around = [
            (name, tuple(sorted([color[node] for node in members]))) for name, members in state.hubs
        ]
        hubs = [colors.of(hub) for hub in around]
        for node in bridges:
            mine = [hub for hub, one in zip(hubs, state.hubs, strict=True) if node in one[1]]
            color[node] = colors.of((color[node], tuple(sorted(mine)))) + groups
    return tuple(sorted([colors.of(hub) for hub in around]))
