"""Checkers: one question each to the history of a world, answered yes, no or unknown.

A no comes with the smallest history that proves it. A yes says how many cases were looked at, so
that a property that was never put to the test is seen. Unknown means that the history ends before
the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nomospace_lab.sim.history import Happening


@dataclass(frozen=True)
class Verdict:
    """What a checker says of its property, how many cases it saw, and the proof of a no."""

    property: str
    answer: Literal["yes", "no", "unknown"]
    cases: int = 0
    says: str = ""
    proof: tuple[Happening, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.answer}: {self.property} ({self.cases} cases)"]
        if self.says:
            lines.append(f"  {self.says}")
        lines.extend(f"    {happening}" for happening in self.proof)
        return "\n".join(lines)


Checker: TypeAlias = Callable[[Any], Verdict]
"""It knows the kind of world that it judges."""


def yes(property: str, cases: int) -> Verdict:
    """The property holds in every case."""
    return Verdict(property, "yes", cases)


def no(property: str, says: str, *proof: Happening) -> Verdict:
    """The property does not hold, as a few happenings prove."""
    return Verdict(property, "no", 1, says, proof)


def unknown(property: str, says: str) -> Verdict:
    """The history does not tell."""
    return Verdict(property, "unknown", 0, says)
