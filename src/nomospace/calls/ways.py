"""How agents look for tuples and react to them: closed sets of words.

They are strings, and stand so on the wire, in stores and in what users write.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class PlainWord(StrEnum):
    """One of a closed set of words; shown as the string that it is."""

    __repr__ = str.__repr__


class Way(PlainWord):
    """How a `Seek` looks for tuples."""

    TAKE = "take"
    READ = "read"
    TAKE_NOWAIT = "take_nowait"
    READ_NOWAIT = "read_nowait"
    TAKE_ALL = "take_all"
    READ_ALL = "read_all"


class Mode(PlainWord):
    """How often a reaction fires."""

    ONCE = "once"
    ONCE_PER_TUPLE = "once-per-tuple"


class Strength(PlainWord):
    """When a reaction fires: in the step that brings the tuple, or some time later."""

    STRONG = "strong"
    WEAK = "weak"


TAKE: Final = Way.TAKE
READ: Final = Way.READ
TAKE_NOWAIT: Final = Way.TAKE_NOWAIT
READ_NOWAIT: Final = Way.READ_NOWAIT
TAKE_ALL: Final = Way.TAKE_ALL
READ_ALL: Final = Way.READ_ALL

WAYS: Final = tuple(Way)
WAITING: Final = (TAKE, READ)
TAKING: Final = (TAKE, TAKE_NOWAIT, TAKE_ALL)
BULK: Final = (TAKE_ALL, READ_ALL)

ONCE: Final = Mode.ONCE
ONCE_PER_TUPLE: Final = Mode.ONCE_PER_TUPLE
STRONG: Final = Strength.STRONG
WEAK: Final = Strength.WEAK

PRIORITY_MAX: Final = 100
"""The highest priority of a tuple; the lowest is as far below 0."""
DEAD: Final = ".dead"
"""Dead letters of space `jobs` lie in space `jobs.dead`."""
