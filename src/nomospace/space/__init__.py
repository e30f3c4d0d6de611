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
from nomospace.space.engine import Space as Space
from nomospace.space.outcomes import (
    Fired as Fired,
    Gathered as Gathered,
    Outcome as Outcome,
    Woken as Woken,
)
from nomospace.space.reactions import Reaction as Reaction
from nomospace.space.records import Record as Record, TupleId as TupleId
from nomospace.space.search import (
    Search as Search,
    SetSearch as SetSearch,
    Unfinished as Unfinished,
)
from nomospace.space.seen import SeenIds as SeenIds
from nomospace.space.watchers import (
    OFFER as OFFER,
    READ as READ,
    TAKE as TAKE,
    WaiterKind as WaiterKind,
)
from nomospace.terms.budget import Slice as Slice
