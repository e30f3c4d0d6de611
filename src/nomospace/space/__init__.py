"""The tuple space engine: tuples, indexes, waiters, leases, reactions run to a bounded fixed point.

A pure core by direct calls: a host puts, finds and removes, and is told what that brought about.

>>> from nomospace.space import TAKE, Record, Space
>>> from nomospace.terms.templates import Template
>>> space = Space("jobs")
>>> space.wait("bob's", Template.of(("job", int)), TAKE)
>>> [woken] = space.put(Record(("job", 17), "ann", 1, "ann", "ann"), now=0)
>>> woken.ticket, woken.record.fields, len(space)
("bob's", ('job', 17), 0)
"""

from nomospace.space.asking import Gathering, SetQuestion
from nomospace.space.engine import IdTaken, Space, SpaceFull
from nomospace.space.leases import Lease
from nomospace.space.outcomes import (
    DeadLetter,
    Dear,
    Expired,
    Fired,
    Gathered,
    Lapsed,
    ListenerFailed,
    Outcome,
    Overran,
    Ranaway,
    Woken,
)
from nomospace.space.reactions import ONCE, ONCE_PER_TUPLE, Mode, Reaction
from nomospace.space.records import Record, TupleId
from nomospace.space.search import Search, SearchTooLong, SetSearch, Unfinished
from nomospace.space.seen import SeenIds
from nomospace.space.sets import SetSearches
from nomospace.space.steps import FIRINGS_MAX
from nomospace.space.store import Looker, NotInSpace, TupleTwice
from nomospace.space.watchers import OFFER, READ, TAKE
from nomospace.terms.budget import Slice

__all__ = [
    "FIRINGS_MAX",
    "OFFER",
    "ONCE",
    "ONCE_PER_TUPLE",
    "READ",
    "TAKE",
    "DeadLetter",
    "Dear",
    "Expired",
    "Fired",
    "Gathered",
    "Gathering",
    "IdTaken",
    "Lapsed",
    "Lease",
    "ListenerFailed",
    "Looker",
    "Mode",
    "NotInSpace",
    "Outcome",
    "Overran",
    "Ranaway",
    "Reaction",
    "Record",
    "Search",
    "SearchTooLong",
    "SeenIds",
    "SetQuestion",
    "SetSearch",
    "SetSearches",
    "Slice",
    "Space",
    "SpaceFull",
    "TupleId",
    "TupleTwice",
    "Unfinished",
    "Woken",
]
