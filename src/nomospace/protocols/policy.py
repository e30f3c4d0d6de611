"""When two hosts that hear each other engage: a policy decides it link by link.

A policy is a pure value. It is asked about one neighbour at a time, with what both sides know of
themselves (`info`, which rides in every hello: a position or nothing), and whether the link is
accepted now, so that it can hold on to a link a little longer than it would take a new one. A
link exists only when both ends accept it.

LIME 4.2 has two ways to form groups, by announcement and by position; both are here, besides the
plain one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import dist
from typing import Any, Final, Protocol, TypeGuard

from nomospace.errors import CallerError

SLACK_SHARE: Final = 0.05
"""How much nearer than the safe distance hosts come before they engage, as a share of it."""
AGREE_S: Final = 6.5
"""How long a group may take to install a view, at the usual pace."""
FAR_M: Final = 1e12
"""No coordinate is as large."""


class Policy(Protocol):
    """When to engage with a neighbour that is heard."""

    @property
    def willing(self) -> bool:
        """Whether a host engages from birth, or only once it announces so."""
        ...

    def accepts(self, mine: object, theirs: object, *, accepted: bool) -> bool:
        """Whether the link should be, given both infos and whether it is accepted now."""
        ...


@dataclass(frozen=True)
class Reachable:
    """Engage with everyone who is heard.

    >>> Reachable().accepts(None, None, accepted=False)
    True
    """

    willing: bool = True

    def accepts(self, mine: object, theirs: object, *, accepted: bool) -> bool:
        """Always."""
        return True


@dataclass(frozen=True)
class Announced:
    """Engage with everyone who is heard, but only between `engage` and `disengage`."""

    willing: bool = False

    def accepts(self, mine: object, theirs: object, *, accepted: bool) -> bool:
        """Always: the announcement itself is asked before."""
        return True


class NoSafeDistance(CallerError):
    """Hosts this fast can be out of range before the group has agreed that they left."""

    code = "policy.no-safe-distance"
    words = (
        "at {speed_max:g} m/s a range of {range_m:g} m leaves a safe distance of "
        "{safe_m:g} m; give a longer range, slower hosts or shorter times"
    )
    range_m: float
    speed_max: float
    safe_m: float


class NotAPosition(CallerError):
    """A host was moved to something that is no position."""

    code = "policy.not-a-position"
    words = "{position!r} is no position; give two or three finite numbers, in metres"
    position: Any


@dataclass(frozen=True, kw_only=True)
class Position:
    """Engage only within the safe distance, so that a group parts before contact can be lost.

    Two hosts that move at `speed_max` in opposite directions part at twice that speed. Say they
    were seen within the safe distance when last heard. It takes at most `detect_s` until one
    knows that they no longer are (the age a position may have: a neighbour that is silent for
    longer is dropped anyway), and at most `agree_s` more until its group has installed a view
    without the other. Meanwhile the distance has grown by at most
    `2 * speed_max * (detect_s + agree_s)`; it must still be within range, so

        safe = range - 2 * speed_max * (detect_s + agree_s)

    Links are taken up a little inside the safe distance (`slack_m`) and given up at it; otherwise
    hosts that walk along the border would join and part with every step. A host whose position is
    not known is out of reach.

    >>> policy = Position(range_m=100, speed_max=2, detect_s=3.5, agree_s=6.5, slack_m=5)
    >>> policy.safe_m
    60.0
    >>> [policy.accepts((0, 0), (58, 0), accepted=accepted) for accepted in (False, True)]
    [False, True]
    """

    range_m: float
    speed_max: float
    detect_s: float = 3.5
    agree_s: float = AGREE_S
    slack_m: float | None = None
    willing: bool = True

    def __post_init__(self) -> None:
        if not self.safe_m - self._slack > 0:  # nor for what is no number
            raise NoSafeDistance(range_m=self.range_m, speed_max=self.speed_max, safe_m=self.safe_m)

    @property
    def safe_m(self) -> float:
        """The distance from which contact lasts until the group has agreed to part."""
        return self.range_m - 2 * self.speed_max * (self.detect_s + self.agree_s)

    @property
    def _slack(self) -> float:
        return SLACK_SHARE * self.safe_m if self.slack_m is None else self.slack_m

    def accepts(self, mine: object, theirs: object, *, accepted: bool) -> bool:
        """Whether both positions are known and near enough to each other."""
        if not (is_position(mine) and is_position(theirs) and len(mine) == len(theirs)):
            return False
        limit = self.safe_m if accepted else self.safe_m - self._slack
        return dist(mine, theirs) <= limit


def is_position(value: object) -> TypeGuard[Sequence[float]]:
    """Whether a value from a peer can be a position: two or three finite numbers.

    >>> is_position((1, 2.5)), is_position((1, float("nan"))), is_position("ab")
    (True, False, False)
    """
    return (
        isinstance(value, (tuple, list))
        and 2 <= len(value) <= 3
        and all(type(part) in (int, float) and -FAR_M < part < FAR_M for part in value)
    )
