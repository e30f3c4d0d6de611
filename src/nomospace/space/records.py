"""What lies in a space: a tuple, and what rides along with it hidden from programs.

A record knows who wrote it (its id), who holds it now and whom it is for (LIME 2.2.2: a tuple whose
holder is not the one it is for is *misplaced*), when it expires, and how often it was lent out.
It belongs to one space at a time, which keeps its place in `order`.

Orders lie in bands, one for each priority, the higher ones before. So whatever goes by order, in
memory and in tables, meets the highest first and the oldest among equals, and what has no priority
lies in one band and costs nothing more.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from nomospace.calls.ways import PRIORITY_MAX
from nomospace.terms import Term

TupleId: TypeAlias = tuple[str, int]
"""The writing agent and its counter."""
LeaseEnds: TypeAlias = tuple[tuple[str, int, str], ...]
COMMON: Final[tuple[LeaseEnds, int]] = ((), 0)


BAND: Final = 1 << 44
"""So many orders there are for each priority."""
FIRST_ORDER: Final = 256 * BAND
"""Where the orders of tuples without a priority begin."""
LEAST_ORDER: Final = FIRST_ORDER - PRIORITY_MAX * BAND
"""No tuple has a lower one."""


def arrival(order: int) -> int:
    """The place in the order of arrival that an order stands for, whatever the priority.

    >>> arrival(FIRST_ORDER + 7 - 5 * BAND) == FIRST_ORDER + 7
    True
    """
    return FIRST_ORDER + order % BAND


class Record(msgspec.Struct, gc=False, eq=False):
    """A tuple in a space. Two records are the same only when they are one object.

    Unknown to the garbage collector: a space holds a million, and none can be part of a cycle.

    >>> Record(("job", 17), "ann@ward", 3, "ann@ward", "bob@ward").id
    ('ann@ward', 3)
    """

    fields: tuple[Term, ...]
    writer: str
    count: int
    cur: str
    """The agent that holds it."""
    dest: str
    """The agent it is for: the holder's own name, unless it is misplaced."""
    expires: int = 0
    """When it goes by itself, in microseconds; 0 is never."""
    deliveries: int = 0
    """How often it was lent out."""
    order: int = 0
    """Its place in its space, by priority and arrival; negative while it is lent, else 0."""
    kept: bool = False
    """Whether its host has written it down; for the host's own use."""
    rare: tuple[LeaseEnds, int] = COMMON
    """How its last leases ended (whose, when, and why), and its `priority`: together, as few have
    any, and all would have eight bytes more for each."""

    @property
    def priority(self) -> int:
        """It is found before all that have a lower one."""
        return self.rare[1]

    @property
    def id(self) -> TupleId:
        """Its name for good, wherever it goes."""
        return self.writer, self.count

    @property
    def misplaced(self) -> bool:
        """Whether it is for another agent than the one that holds it."""
        return self.cur != self.dest


class Lease(msgspec.Struct, frozen=True, gc=False):
    """Who has a tuple on loan, and until when: it is neither found nor lost."""

    record: Record
    taker: str
    until: int
