"""How one run of a bench was asked for, and what it has to say besides its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from nomospace.errors import CallerError
from nomospace_lab.bench.measure import Sample, interleave
from nomospace_lab.bench.peers.install import PeerPackage, cache_folder

ROUNDS_MAX = 1_000
SCALE_MIN = 0.01
STORED_MIN = 20_000

P = TypeVar("P", bound=PeerPackage)


class UnknownPeer(CallerError):
    """A peer was asked for that this bench does not have."""

    code = "bench.unknown-peer"
    names: tuple[str, ...]
    known: tuple[str, ...]

    def __str__(self) -> str:
        asked = ", ".join(map(repr, self.names))
        return f"no peer is called {asked}; choose all, none, or some of: {', '.join(self.known)}"


class BadRounds(CallerError):
    """A number of rounds was asked for that cannot be run."""

    code = "bench.rounds"
    words = f"{{rounds}} rounds cannot be run; give a number from 1 to {ROUNDS_MAX:,}"
    rounds: int


class BadScale(CallerError):
    """A share of an experiment's time was asked for that cannot be run."""

    code = "bench.scale"
    words = f"a scale of {{scale:g}} cannot be run; give one from {SCALE_MIN:g} to 1"
    scale: float


class BadStored(CallerError):
    """A space was to have fewer tuples than a bench takes from it."""

    code = "bench.stored"
    words = f"{{stored}} tuples in the store are too few; give {STORED_MIN:,} or more"
    stored: int


@dataclass(slots=True)
class BenchRun:
    """The options of one run. `quick` shortens every batch: fit for a look, not for a claim.

    `full` asks for the whole of what is otherwise measured in part, `plot` for a folder of plots.
    `scale` shortens experiments that take their time: 0.1 is a tenth of it. `stored` asks
    for the rows about a space in the store alone, with so many tuples in it.
    """

    rounds: int = 7
    peers: tuple[str, ...] | None = None
    quick: bool = False
    full: bool = False
    plot: Path | None = None
    scale: float = 1.0
    stored: int = 0
    cache: Path = field(default_factory=cache_folder)
    say: Callable[[str], None] = lambda _line: None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= ROUNDS_MAX:
            raise BadRounds(rounds=self.rounds)
        if self.stored and self.stored < STORED_MIN:
            raise BadStored(stored=self.stored)
        if not SCALE_MIN <= self.scale <= 1.0:
            raise BadScale(scale=self.scale)
        if self.quick:
            self.rounds = min(self.rounds, 3)

    @property
    def batch_s(self) -> float:
        """How long one contestant is measured in one round."""
        return 0.01 if self.quick else 0.05

    def interleave(self, contestants: dict[str, Sample]) -> dict[str, float]:
        """Measure all in turn; the best figure of each, in nanoseconds a call."""
        return interleave(contestants, rounds=self.rounds, batch_s=self.batch_s)

    def wanted(self, peers: Iterable[P]) -> list[P]:
        """Those of a bench's peers that were asked for: all of them unless `--peers` says else."""
        table = {peer.name: peer for peer in peers}
        if self.peers is None:
            return list(table.values())
        unknown = tuple(name for name in self.peers if name not in table)
        if unknown:
            raise UnknownPeer(names=unknown, known=tuple(table))
        return [table[name] for name in self.peers]
