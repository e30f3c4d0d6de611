"""Rows of figures, the goals they are held to, and the object that `--json` prints.

A goal judges a row as a whole: ours against the floor, against the peers, or against a number.
Ratios and verdicts come from the figures as measured; only the printed ones are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Figures: TypeAlias = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a row must show; `a & b` asks for both. One that is not `judged` only informs.

    >>> (times_floor(6) & ahead_of_peers()).text
    'at most 6 times the floor, and ahead of every peer'
    """

    text: str
    holds: Callable[[BenchRow], bool]
    judged: bool = True

    def __and__(self, other: Goal) -> Goal:
        return Goal(
            f"{self.text}, and {other.text}", lambda row: self.holds(row) and other.holds(row)
        )


def times_floor(limit: float) -> Goal:
    """Ours is at most `limit` times the floor; missed when either was not measured."""

    def holds(row: BenchRow) -> bool:
        ratio = row.over_floor
        return ratio is not None and ratio <= limit

    return Goal(f"at most {limit:g} times the floor", holds)


def ahead_of_peers() -> Goal:
    """Ours is below every peer that could be measured; one that could not says why in the row."""

    def holds(row: BenchRow) -> bool:
        return row.ours is not None and all(
            row.ours < value for value in row.peers.values() if value is not None
        )

    return Goal("ahead of every peer", holds)


def at_most(limit: float, unit: str) -> Goal:
    """Ours is at most `limit`, in the row's unit."""

    def holds(row: BenchRow) -> bool:
        return row.ours is not None and row.ours <= limit

    return Goal(f"at most {limit:g} {unit}", holds)


def information() -> Goal:
    """No goal: the row is there to be read, and nothing in it to be set against the rest."""
    return Goal("none, for information", lambda _row: True, judged=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """One thing measured: ours, the floor beside it and the peers. Lower is better.

    A figure that could not be measured is `None`, and `why_null` says why, with what would mend it.

    >>> row = BenchRow(what="a call", unit="ns", ours=30.0, floor=10.0, goal=times_floor(4))
    >>> row.over_floor, row.met
    (3.0, True)
    """

    what: str
    unit: str
    ours: float | None
    goal: Goal
    floor: float | None = None
    peers: Figures = field(default_factory=dict)
    why_null: Mapping[str, str] = field(default_factory=dict)
    how: str = ""

    @property
    def met(self) -> bool:
        """Whether the goal holds for these figures."""
        return self.goal.holds(self)

    @property
    def over_floor(self) -> float | None:
        """How many times the floor ours costs."""
        return _ratio(self.ours, self.floor)

    def over_ours(self, peer: str) -> float | None:
        """How many times ours a peer costs."""
        return _ratio(self.peers[peer], self.ours)

    def as_json(self) -> dict[str, Any]:
        """The row as `nomospace bench --json` prints it."""
        return {
            "what": self.what,
            "unit": self.unit,
            "ours": rounded(self.ours),
            "floor": rounded(self.floor),
            "peers": {name: rounded(value) for name, value in self.peers.items()},
            "goal": self.goal.text,
            "met": self.met,
            "how": self.how,
            "why_null": dict(self.why_null),
        }


@dataclass(frozen=True, slots=True)
class BenchReport:
    """All rows of one bench, measured in one run on one machine."""

    name: str
    machine: Mapping[str, str | int | float]
    rows: tuple[BenchRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether every row met its goal."""
        return all(row.met for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """The object of `nomospace bench NAME --json`."""
        return {
            "name": self.name,
            "machine": dict(self.machine),
            "rows": [row.as_json() for row in self.rows],
            "notes": list(self.notes),
        }


def rounded(value: float | None) -> float | None:
    """Four significant digits: more would be noise.

    >>> rounded(0.0773519), rounded(89123.4), rounded(None)
    (0.07735, 89120.0, None)
    """
    return None if value is None else float(f"{value:.4g}")


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None
