"""The physical side of the game: a field, bodies that walk on it, and two flags.

Nothing here knows of spaces or hosts. A player has a `Body`: it asks it where it is, as one asks a
receiver of satellites, tells it where to walk, and uses its eyes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import dist
from random import Random
from typing import Final, TypeAlias

Place: TypeAlias = tuple[float, float]

SPEED_MAX: Final = 2.0
"""Nobody walks faster, in metres a second."""
SEES_M: Final = 15.0
"""From how far a flag is seen."""


@dataclass(frozen=True)
class Ground:
    """A field of some metres with a flag of each team on it."""

    width: float
    height: float
    flags: dict[str, Place] = field(default_factory=dict)

    @property
    def middle(self) -> Place:
        """The middle of the field."""
        return (self.width / 2, self.height / 2)

    def flag_places(self, team: str) -> tuple[Place, Place]:
        """Two corners of where the flag of a team may lie: red's on the left, blue's on the right.

        >>> Ground(90.0, 50.0).flag_places("blue")
        ((60.0, 0.0), (90.0, 50.0))
        """
        third = self.width / 3
        left = 0.0 if team == "red" else 2 * third
        return (left, 0.0), (left + third, self.height)

    def near_flag(self, team: str, rng: Random) -> Place:
        """A place by chance where the flag of a team may lie."""
        (left, top), (right, bottom) = self.flag_places(team)
        return (rng.uniform(left, right), rng.uniform(top, bottom))

    def anywhere(self, rng: Random) -> Place:
        """A place by chance."""
        return (rng.uniform(0, self.width), rng.uniform(0, self.height))


class Body:
    """Somebody who walks: where it is, and where it is going.

    >>> body = Body(Ground(100, 50, {"red": (6.0, 20.0)}), (6.0, 0.0))
    >>> body.go((6.0, 40.0))
    >>> body.walk(3)
    >>> body.at, body.sees("red"), body.sees("blue")
    ((6.0, 6.0), (6.0, 20.0), None)
    """

    def __init__(self, ground: Ground, at: Place) -> None:
        self.ground = ground
        self.at = at
        self.target = at

    def go(self, target: Place) -> None:
        """Walk to a place from now on."""
        self.target = target

    @property
    def arrived(self) -> bool:
        """Whether it is where it wanted to go."""
        return self.at == self.target

    def walk(self, seconds: float) -> None:
        """Let some time pass."""
        way = dist(self.at, self.target)
        step = SPEED_MAX * seconds
        if way <= step:
            self.at = self.target
            return
        (x, y), (tx, ty) = self.at, self.target
        self.at = (x + (tx - x) * step / way, y + (ty - y) * step / way)

    def sees(self, team: str) -> Place | None:
        """Where the flag of a team is, if it can be seen from here."""
        flag = self.ground.flags.get(team)
        return flag if flag is not None and dist(self.at, flag) <= SEES_M else None
