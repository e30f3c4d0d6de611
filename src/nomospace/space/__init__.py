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

from nomospace.space.asking import Gathering as Gathering, SetQuestion as SetQuestion
from nomospace.space.engine import IdTaken as IdTaken, Space as Space, SpaceFull as SpaceFull
from nomospace.space.leases import Lease as Lease
from nomospace.space.outcomes import (
    DeadLetter as DeadLetter,
    Dear as Dear,
    Expired as Expired,
    Fired as Fired,
    Gathered as Gathered,
    Lapsed as Lapsed,
    ListenerFailed as ListenerFailed,
    Outcome as Outcome,
    Overran as Overran,
    Ranaway as Ranaway,
    Woken as Woken,
)
from nomospace.space.reactions import (
    ONCE as ONCE,
    ONCE_PER_TUPLE as ONCE_PER_TUPLE,
    Mode as Mode,
    Reaction as Reaction,
)
from nomospace.space.records import Record as Record, TupleId as TupleId
from nomospace.space.search import (
    Search as Search,
    SearchTooLong as SearchTooLong,
    SetSearch as SetSearch,
    Unfinished as Unfinished,
)
from nomospace.space.seen import SeenIds as SeenIds
from nomospace.space.sets import SetSearches as SetSearches
from nomospace.space.steps import FIRINGS_MAX as FIRINGS_MAX
from nomospace.space.store import (
    Looker as Looker,
    NotInSpace as NotInSpace,
    TupleTwice as TupleTwice,
)
from nomospace.space.watchers import OFFER as OFFER, READ as READ, TAKE as TAKE
from nomospace.terms.budget import Slice as Slice
