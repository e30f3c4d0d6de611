"""The network of a world: what becomes of a packet, decided by chance from a seed.

Each link (an ordered pair of hosts) has its delay, its loss and its share of repeats. Packets may
overtake each other unless a link keeps order. A partition cuts every link between its two sides,
for packets under way as well. Inside one host nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

LOCAL_DELAY_US: Final = 50
"""Between two controllers on one host."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """What a link does to packets."""

    delay_min_us: int = 1_000
    delay_max_us: int = 80_000
    loss: float = 0.0
    repeats: float = 0.0
    keeps_order: bool = False

    def __post_init__(self) -> None:
        assert 0 <= self.delay_min_us <= self.delay_max_us, "a delay is a range"
        assert 0 <= self.loss <= 1, "loss is a share"
        assert 0 <= self.repeats <= 1, "repeats are a share"

    def __str__(self) -> str:
        return (
            f"delay {self.delay_min_us / 1000:g} to {self.delay_max_us / 1000:g} ms, "
            f"loss {self.loss:.0%}, repeats {self.repeats:.0%}"
        )


class SimNetwork:
    """Links, partitions and chance. It carries nothing itself: the world asks for each packet."""

    def __init__(self, rng: Random, link: Link | None = None) -> None:
        self._rng = rng
        self.fair = self.usual = link or Link()  # what links are like when nothing ails them
        self._links: dict[tuple[str, str], Link] = {}
        self._cuts: list[frozenset[str]] = []
        self._latest: dict[tuple[str, str], int] = {}

    def set_link(self, source: str, target: str, link: Link | None) -> None:
        """Give one link a nature of its own, or (`None`) the usual one again."""
        if link is None:
            self._links.pop((source, target), None)
        else:
            self._links[source, target] = link

    def cut(self, side: Iterable[str]) -> None:
        """Part some hosts from all others, until `join` is told the same side."""
        self._cuts.append(frozenset(side))

    def join(self, side: Iterable[str]) -> None:
        """End one partition; others that overlap it stay."""
        self._cuts.remove(frozenset(side))

    def heal(self) -> None:
        """End all partitions, special links, loss and repeats; in fair weather only delay stays."""
        self._cuts.clear()
        self._links.clear()
        self.usual = self.fair = replace(self.fair, loss=0.0, repeats=0.0)

    def parted(self, source: str, target: str) -> bool:
        """Whether a partition lies between two hosts."""
        return bool(self._cuts) and any((source in side) != (target in side) for side in self._cuts)

    def arrivals(self, source: str, target: str, *, now: int) -> list[int]:
        """When a packet sent now arrives: never (lost), once, or more than once.

        >>> network = SimNetwork(Random(1), Link(delay_min_us=10, delay_max_us=10))
        >>> network.arrivals("a", "b", now=100)
        [110]
        >>> network.cut(["a"])
        >>> network.arrivals("a", "b", now=100)
        []
        """
        if source == target:
            return [now + LOCAL_DELAY_US]
        if self.parted(source, target):
            return []
        link = self._links.get((source, target), self.usual)
        rng = self._rng
        if link.loss and rng.random() < link.loss:
            return []
        copies = 2 if link.repeats and rng.random() < link.repeats else 1
        span = link.delay_max_us - link.delay_min_us
        when = [now + link.delay_min_us + int(rng.random() * (span + 1)) for _ in range(copies)]
        if link.keeps_order:
            latest = self._latest.get((source, target), 0)
            when = sorted([max(latest, at) for at in when])
            self._latest[source, target] = when[-1]
        return when
