"""Plain calls: one tuple that an agent writes, reads or takes, where nobody else is concerned.

Most of what busy agents ask for is this: a write into a shared space without a law where nobody
waits, a read or a take of what lies there, under a lease too, or that a tuple which this host lent
is done with. It changes that space and what is on disk, and nobody has to hear of it.
`PlainCalls.serve` is the branch of a step that does it with few looks. Whatever
it does is what the other parts would have done; what it leaves alone is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nomospace.calls.answers import Found
from nomospace.calls.problems import SpaceFull
from nomospace.calls.requests import BULK, TAKING, Out, Seek, Settle
from nomospace.errors import NomospaceError
from nomospace.host.calls import Call, Event
from nomospace.host.changes import TupleGone, TuplePut
from nomospace.host.effects import TAKEN, WRITTEN, Answer, Traced
from nomospace.host.operations import found_of
from nomospace.host.part import HostPart
from nomospace.host.residents import Interface, Partition, Resident, row_of
from nomospace.host.shares import CHECK_EVERY, is_large
from nomospace.space import Record, Space, Unfinished
from nomospace.space.records import COMMON
from nomospace.terms import MISSING

PLAIN: Final = (Seek, Out, Settle)
"""What a plain call asks for."""


class PlainCalls(HostPart):
    """The branch for plain calls of one host.

    >>> from nomospace.calls.requests import TAKE, Open, Out, Seek, Share
    >>> from nomospace.host.calls import Arrive, Call
    >>> from nomospace.host.core import Host
    >>> from nomospace.terms.templates import Template
    >>> host = Host("ward", life=1, now=0)
    >>> for event in [Arrive("ann@ward"), *[
    ...     Call(1, "ann@ward", request) for request in (Open("jobs"), Share(("jobs",)))
    ... ]]:
    ...     _ = host.handle(event, now=0)
    >>> take = Seek("jobs", TAKE, Template.of(("job", int)))
    >>> calls = [Call(2, "ann@ward", Out("jobs", ("job", 17))), Call(3, "ann@ward", take)]
    >>> done, effects = host.handle_many(calls, now=0)
    >>> done, [type(effect).__name__ for effect in effects], effects[2].value.fields
    (2, ['Persist', 'Answer', 'Answer'], ('job', 17))
    """

    lent = False
    """Whether something was lent by the calls just served: it is due back some time."""

    def serve(self, events: Sequence[Event]) -> int:
        """Do the plain calls that some facts begin with; how many.

        The first fact that is none, or a call that finds nothing, has to go the way of all others:
        nothing of it was done.
        """
        host, step = self._host, self._step
        self.lent = False
        agent = name = ""
        resident: Resident | None = None
        interface: Interface | None = None
        space: Space | None = None
        part: Partition | None = None
        taken: list[int] = []
        done, many = 0, len(events) > 1
        now, traces, orders = step.now, step.traces, step.orders
        for event in events:
            if type(event) is not Call:
                break
            request: Any = event.request
            kind = type(request)
            if kind not in PLAIN:
                break
            if space is None or event.agent != agent or request.space != name:
                if taken and space is not None and space.waits is not None:
                    space.waits.took_many(taken, now)
                taken = []
                agent, name = event.agent, request.space
                resident = self._spaces.residents.get(agent)
                if resident is None:
                    break
                if host.suspending.concerned and host.suspending.refusal(agent) is not None:
                    break
                interface = resident.spaces.get(name)
                if interface is None or interface.law or not interface.shared:
                    break
                level = self._spaces.levels[name]
                space, part = level.space, level.partition
                if space.observed:
                    break
            value: Found | None = None
            if kind is Seek:
                template, how = request.template, request.how
                if how in BULK or request.at or request.dest or request.sets is not None:
                    break
                record = None
                if template.plain:
                    record = space.first(template, now=now)
                elif template.meant:
                    break
                if record is None:
                    record = self._find(space, request)
                    if record is None:
                        break
                fields, writer, count = record.fields, record.writer, record.count
                if how not in TAKING:
                    value = found_of(record)
                elif request.lease_us:
                    lease = host.lending.lend(name, space, (record,), request.lease_us, agent)
                    value, self.lent = found_of(record, lease), True
                else:
                    value = Found(fields, writer, count, record.cur, record.deliveries)
                    if record.rare is not COMMON:
                        value = found_of(record)
                    if not record.deliveries:
                        taken.append(record.order)
                    space.remove(record)
                    if record.kept:
                        record.kept = False
                        step.changes.append(TupleGone(name, (writer, count)))
                    if traces:
                        orders.append(Traced(TAKEN, name, fields, writer, count, agent))
            elif kind is Settle:
                if not host.lending.acknowledge(agent, request):
                    break
            else:
                assert resident is not None, "it was found with the space"
                assert interface is not None, "as this"
                holder = agent
                if part is not None:
                    holder = part.keeper
                    key = part.key.of_tuple(request.fields)
                    if key is MISSING or part.homes.home(key) != step.name:
                        break
                record = _write(space, resident, request, now, holder)
                if record is None:
                    break
                if interface.durable if part is None else self._spaces.keeps(name, holder):
                    record.kept = True
                    step.changes.append(TuplePut(name, row_of(record)))
                if traces:
                    traced = Traced(WRITTEN, name, record.fields, agent, record.count, agent)
                    orders.append(traced)
            if event.op > 0:
                orders.append(Answer(event.op, value))
            done += 1
            if value is not None and many and is_large(value.fields):
                break  # its answer is written in one piece: others have their turn before the next
        if taken and space is not None and space.waits is not None:
            space.waits.took_many(taken, now)
        return done

    def _find(self, space: Space, seek: Seek) -> Record | None:
        """The oldest tuple for a template, if one lies here and that is soon known."""
        host = self._host
        try:
            return space.find(seek.template, now=self._step.now, slice=host.looking.slice)
        except Unfinished as cut:  # there is time for it on the way of all others
            space.give_up(cut.search)
        except NomospaceError:  # which says why, too
            pass
        return None


def _write(space: Space, resident: Resident, out: Out, now: int, holder: str) -> Record | None:
    """Put a tuple into a space that is for its holder, and stays; `None` for others."""
    if out.to or out.ttl_us or out.once or resident.full or not space.quiet:
        return None
    agent, count, fields = resident.id, resident.count + 1, out.fields
    if not count % CHECK_EVERY or is_large(fields):  # its tuples are to be counted
        return None
    record = Record(fields, agent, count, holder, holder)
    record.rare = ((), out.priority) if out.priority else COMMON
    try:
        space.put(record, now=now)
    except SpaceFull:
        return None
    resident.count = count
    return record
