"""Who can hear whom: links between hosts that scripts make and break, and shapes of networks.

A link goes both ways. It carries frames as the network's weather has it; without one nothing
arrives, frames already under way included. Hosts may also have positions: then links follow from
who is in range of whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import dist
from random import Random
from typing import Final, TypeAlias

Pair: TypeAlias = tuple[str, str]
Place: TypeAlias = tuple[float, float]

SHAPES: Final = ("line", "ring", "star", "clique", "islands", "tree")


class Topology:
    """The links there are.

    >>> topology = Topology()
    >>> topology.connect("a", "b"), topology.connect("b", "c"), topology.connect("b", "a")
    (True, True, False)
    >>> topology.neighbours("b"), topology.component("a")
    (('a', 'c'), ('a', 'b', 'c'))
    >>> topology.part("a", "b"), topology.component("a")
    (True, ('a',))
    """

    def __init__(self) -> None:
        self._near: dict[str, dict[str, None]] = {}
        self._places: dict[str, Place] = {}

    def connect(self, a: str, b: str) -> bool:
        """Make a link; whether it is new."""
        assert a != b, "a host hears itself anyway"
        if self.linked(a, b):
            return False
        self._near.setdefault(a, {})[b] = None
        self._near.setdefault(b, {})[a] = None
        return True

    def part(self, a: str, b: str) -> bool:
        """Break a link; whether there was one."""
        if not self.linked(a, b):
            return False
        del self._near[a][b]
        del self._near[b][a]
        return True

    def linked(self, a: str, b: str) -> bool:
        """Whether two hosts can hear each other."""
        return b in self._near.get(a, ())

    def neighbours(self, host: str) -> tuple[str, ...]:
        """Whom a host can hear, in the order in which the links were made."""
        return tuple(self._near.get(host, ()))

    def component(self, host: str) -> tuple[str, ...]:
        """All hosts that a host can reach, over others too; itself among them, sorted."""
        found = {host: None}
        queue = [host]
        while queue:
            for near in self._near.get(queue.pop(), ()):
                if near not in found:
                    found[near] = None
                    queue.append(near)
        return tuple(sorted(found))

    def place(self, host: str, at: Place, *, range_m: float) -> tuple[list[Pair], list[Pair]]:
        """Put a host somewhere: the links that this makes and breaks, already carried out.

        >>> topology = Topology()
        >>> topology.place("a", (0, 0), range_m=10), topology.place("b", (6, 8), range_m=10)
        (([], []), ([('b', 'a')], []))
        >>> topology.place("a", (20, 0), range_m=10)
        ([], [('a', 'b')])
        """
        self._places[host] = at
        near = {o: dist(at, p) <= range_m for o, p in self._places.items() if o != host}
        made = [(host, other) for other, close in near.items() if close]
        broken = [(host, other) for other, close in near.items() if not close]
        return (
            [pair for pair in made if self.connect(*pair)],
            [pair for pair in broken if self.part(*pair)],
        )


def shape(name: str, hosts: Sequence[str], rng: Random) -> list[Pair]:
    """The links of a well-known network; `islands` are two cliques, a `tree` is a random one.

    >>> shape("line", ("a", "b", "c"), Random(0))
    [('a', 'b'), ('b', 'c')]
    >>> shape("star", ("a", "b", "c"), Random(0))
    [('a', 'b'), ('a', 'c')]
    """
    assert name in SHAPES, f"no shape {name!r}; there are {', '.join(SHAPES)}"
    if name == "line":
        return list(pairwise(hosts))
    if name == "ring":
        ends = [(hosts[-1], hosts[0])] if len(hosts) > 2 else []
        return shape("line", hosts, rng) + ends
    if name == "star":
        return [(hosts[0], other) for other in hosts[1:]]
    if name == "tree":
        return [(rng.choice(hosts[:n]), hosts[n]) for n in range(1, len(hosts))]
    if name == "islands":
        half = len(hosts) // 2
        return shape("clique", hosts[:half], rng) + shape("clique", hosts[half:], rng)
    return [(a, b) for n, a in enumerate(hosts) for b in hosts[n + 1 :]]
