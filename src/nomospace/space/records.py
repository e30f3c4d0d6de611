"""What lies in a space: a tuple, and what rides along with it hidden from programs.

A record knows who wrote it (its id), who holds it now and whom it is for (LIME 2.2.2: a tuple whose
holder is not the one it is for is *misplaced*), when it expires, and how often it was lent out.
It belongs to one space at a time, which keeps its place in `order`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from nomospace.terms import Term

TupleId: TypeAlias = tuple[str, int]
"""The writing agent and its counter."""


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
    """Its place in order of arrival while it lies in a space, negative while it is lent, else 0."""
    kept: bool = False
    """Whether its host has written it down; for the host's own use."""
    history: tuple[tuple[str, int, str], ...] = ()
    """How its last leases ended: whose, when, and why."""

    @property
    def id(self) -> TupleId:
        """Its name for good, wherever it goes."""
        return self.writer, self.count

    @property
    def misplaced(self) -> bool:
        """Whether it is for another agent than the one that holds it."""
        return self.cur != self.dest
