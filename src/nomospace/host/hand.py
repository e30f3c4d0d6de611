"""The short way: tuples that an agent writes, reads and takes without a step of the core.

A plain write into a shared space without a law, where nobody waits, and a plain read or take of
what lies there, change that space and what is on disk, and nothing else: nobody has to hear of
them. `Host.at_hand` gives a `Hand` where that is so. Whatever is done with it is what a `Call`
would have done; `None` says nothing, and the same has to be told as a `Call`.
"""

from __future__ import annotations

from nomospace.host.changes import Change, TupleGone, TuplePut
from nomospace.host.residents import Interface, Resident, row_of
from nomospace.host.shares import CHECK_EVERY
from nomospace.space import Record, Space
from nomospace.terms import Term


class Hand:
    """A space at hand. It is good until its host is told something.

    >>> from nomospace.host import Arrive, Call, Host, Open, Share
    >>> host = Host("ward", life=1, now=0)
    >>> for event in [Arrive("ann@ward"), *[
    ...     Call(1, "ann@ward", request) for request in (Open("jobs"), Share(("jobs",)))
    ... ]]:
    ...     _ = host.handle(event, now=0)
    >>> hand = host.at_hand("ann@ward", "jobs")
    >>> record, change = hand.write(("job", 17))
    >>> change.row.fields
    ('job', 17)
    >>> hand.take(record)
    TupleGone(space='jobs', id=('ann@ward', 1))
    """

    __slots__ = ("_durable", "_resident", "space")

    def __init__(self, resident: Resident, interface: Interface, space: Space) -> None:
        self.space = space
        self._resident = resident
        self._durable = interface.durable

    def write(self, fields: tuple[Term, ...]) -> tuple[Record, Change | None] | None:
        """Put a new tuple into the space, and say what must be on disk before anyone hears of it.

        `None` when somebody waits for tuples here, or its writer's are to be counted. Raises
        `SpaceFull`, and has done nothing then.
        """
        space, resident = self.space, self._resident
        if not space.quiet or resident.full:
            return None
        agent, count = resident.id, resident.count + 1
        if not count % CHECK_EVERY:  # its tuples are counted on the long way
            return None
        record = Record(fields, agent, count, agent, agent)
        space.put(record, now=0)  # the time matters to those who wait, and nobody does
        resident.count = count
        if not self._durable:
            return record, None
        record.kept = True
        return record, TuplePut(space.name, row_of(record))

    def take(self, record: Record) -> Change | None:
        """Take a tuple of the space out of it; what must be on disk before anyone hears of it."""
        self.space.remove(record)
        if not record.kept:
            return None
        record.kept = False
        return TupleGone(self.space.name, record.id)
