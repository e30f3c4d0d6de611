"""New tuples: what agents write, one or several, once or again, within their share.

`placing` puts them where they belong.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from nomospace.calls.addresses import NAME_MAX, is_agent_id
from nomospace.calls.partition import KEY_BYTES_MAX, AtHomeElsewhere, KeyTooLarge, NoKey
from nomospace.calls.problems import NotAnAgent, ReadOnly
from nomospace.calls.requests import ONCE_CHARS_MAX, Out, OutMany
from nomospace.host.calls import PutBack
from nomospace.host.changes import AgentCame
from nomospace.host.effects import WRITTEN
from nomospace.host.part import HostPart
from nomospace.host.residents import SYSTEM, Interface, Resident
from nomospace.host.shares import (
    CHECK_EVERY,
    SAMPLED,
    SAMPLED_BYTES,
    TooManyRowsAtOnce,
    TooManyTuples,
    bytes_of,
    is_large,
)
from nomospace.space import Record
from nomospace.space.records import COMMON
from nomospace.terms import MISSING, Compound
from nomospace.terms.templates import Template
from nomospace.terms.values import weight

WRITTEN_ONCE: Final = ".once"
"""Behind a space's name: where an agent's keys of `out(…, once=key)` are."""
ONCE_MAX: Final = 1_000_000
"""How many such keys are remembered for an agent and a space; the oldest is forgotten first."""

_ANY_KEY: Final = Template.of((str,))


class TupleWriting(HostPart):
    """What the agents of one host write."""

    def out(self, op: int, resident: Resident, request: Out | OutMany) -> None:
        """Write one tuple or several, under the law of the space if it has one."""
        if request.space == SYSTEM:
            raise ReadOnly(space=SYSTEM)
        interface = resident.interface(request.space)
        if request.to and not is_agent_id(request.to):
            raise NotAnAgent(given=request.to[:NAME_MAX])
        if interface.partition is not None:
            self._check_key(interface, request)
        if interface.law:
            self._host.governed.out(op, resident, interface, request)
        elif request.once and not self.is_new(resident, interface, request):
            self._step.answer(op)
        elif isinstance(request, Out):
            self.write(resident, interface, request)
            self._step.answer(op)
        else:
            self.write_many(resident, interface, request)
            self._step.answer(op)

    def _check_key(self, interface: Interface, request: Out | OutMany) -> None:
        """Raise why a tuple cannot be in a partitioned space."""
        if request.to:
            raise AtHomeElsewhere(space=interface.name, to=request.to)
        key = interface.partition
        rows = (request.fields,) if isinstance(request, Out) else request.rows
        assert key is not None, "its space is partitioned"
        for fields in rows:
            found = key.of_tuple(fields)
            if found is MISSING:
                raise NoKey(space=interface.name, partition=key.text, what="tuple")
            if weight(found) > KEY_BYTES_MAX:
                raise KeyTooLarge

    def is_new(self, resident: Resident, interface: Interface, request: Out | OutMany) -> bool:
        """Whether an agent writes to a space under a key for the first time; noted, if it does.

        The keys are tuples of a private space beside it: they are kept, carried along when the
        agent moves, expire, and are bounded as tuples are.
        """
        key, now = request.once, self._step.now
        if len(key) > ONCE_CHARS_MAX:
            what, advice = "the characters of a key of `once`", "use a shorter key, such as a hash"
            raise KeyTooLarge(what=what, limit=ONCE_CHARS_MAX, advice=advice)
        if interface.partition is not None:  # a law may have made it another tuple
            self._check_key(interface, request)
        if self.has_written(resident, interface, key):
            return False
        name = interface.name + WRITTEN_ONCE
        keys = resident.spaces.get(name)
        if keys is None:
            keys = self._host.holding.make_interface(
                resident, name, ("", ""), durable=interface.durable
            )
        gone = keys.private.find(Template.of((key,)))  # its time is over: that was not noticed yet
        if gone is None and len(keys.private) >= ONCE_MAX:
            gone = keys.private.find(_ANY_KEY)
            assert gone is not None, "keys are strings"
        if gone is not None:
            keys.private.remove(gone)
            self._step.forget(name, gone)
        resident.count += 1
        agent = resident.id
        expires = 0 if request.once_lasts else now + self._step.shares.once_s * 1_000_000
        record = Record((key,), agent, resident.count, agent, agent, expires)
        self._host.placing.put(resident, keys, record)
        return True

    def has_written(self, resident: Resident, interface: Interface, key: str) -> bool:
        """Whether an agent has written to a space under a key that is still remembered."""
        keys = resident.spaces.get(interface.name + WRITTEN_ONCE)
        found = None if keys is None else keys.private.find(Template.of((key,)))
        return found is not None and not 0 < found.expires <= self._step.now

    def put_back(self, op: int, resident: Resident, request: PutBack) -> None:
        """Write a tuple again that was taken for an agent which never got it.

        A law sees it as it sees a lease that is given back: its agent may well be one who could not
        have written the tuple.
        """
        name, interface = request.space, resident.interface(request.space)
        resident.count += 1
        record = Record(request.fields, resident.id, resident.count, resident.id, resident.id, 0)
        record.rare = ((), request.priority) if request.priority else COMMON

        def put() -> None:
            self._host.placing.put(resident, interface, record, WRITTEN)
            self._step.answer(op)

        if not interface.law:
            put()
            return
        # Nobody has it while its law decides, so it is on disk before: after a crash it lies there.
        if interface.durable:
            self._step.keep(name, record)
        returned = Compound("returned", (request.fields,))
        refused = partial(self._step.forget, name, record)
        self._host.governed.settling(op, resident, interface, returned, put, refused)

    def write(self, resident: Resident, interface: Interface, out: Out) -> None:
        """Put a new tuple into an interface space, or send it on to the agent it is for."""
        agent, fields = resident.id, out.fields
        if interface.partition is not None:
            self._check_key(interface, out)
        if resident.full or not (resident.count + 1) % CHECK_EVERY or is_large(fields):
            self._check_share(resident, 1)
        resident.count += 1
        record = Record(
            fields,
            agent,
            resident.count,
            agent,
            out.to or agent,
            self._step.now + out.ttl_us if out.ttl_us else 0,
        )
        record.rare = ((), out.priority) if out.priority else COMMON
        self._host.placing.put(resident, interface, record, WRITTEN)

    def _check_share(self, resident: Resident, more: int) -> None:
        """Raise `TooManyTuples` when an agent would have more than its share of tuples, or bytes.

        The bytes are those of a few tuples, times how many there are. However many spaces it has
        and whatever lies there, so many tuples and bytes are gone through; from another space on
        each time, so that all have their turn.
        """
        shares, agent = self._step.shares, resident.id
        count = known = size = 0
        left, room = SAMPLED, [SAMPLED_BYTES]
        keeper = self._spaces.residents.get(self._host.partitioning.keeper)
        kept = {} if keeper is None else keeper.spaces  # it keeps what an agent has left there
        spaces = [self._spaces.space_of(one) for one in {**kept, **resident.spaces}.values()]
        first = resident.count % max(len(spaces), 1)
        for space in spaces[first:] + spaces[:first]:
            wanted = max(1, SAMPLED // len(spaces)) if left > 0 else 0
            some, few = space.written_by(agent, wanted)
            count += some
            sizes = [bytes_of(record.fields, room) for record in few]
            if sizes:
                left -= len(sizes)
                known += some
                size += sum(sizes) * some // len(sizes)
        size = size * count // max(known, 1)
        resident.full = count + more > shares.agent_tuples or size > shares.agent_bytes
        if not resident.full:
            return
        what, limit = f"the number of tuples of {agent}", shares.agent_tuples
        if count + more <= limit:
            what, limit = f"the bytes in tuples of {agent}", shares.agent_bytes
        raise TooManyTuples(what=what, limit=limit, advice="take some of them, or let them expire")

    def write_many(self, resident: Resident, interface: Interface, request: OutMany) -> None:
        """Put several new tuples in one atomic step: all are there before anyone is woken."""
        host, agent, name = self._host, resident.id, interface.name
        if len(request.rows) > self._step.shares.out_rows:
            raise TooManyRowsAtOnce(
                what=f"the number of tuples in one call to {name!r}",
                limit=self._step.shares.out_rows,
                advice="write them in several calls",
            )
        self._check_share(resident, len(request.rows))
        expires = self._step.now + request.ttl_us if request.ttl_us else 0
        stay: list[Record] = []
        level = self._spaces.levels[name] if interface.shared else None
        space = level.space if level is not None else interface.private
        space.check_room(len(request.rows))
        for fields in request.rows:
            resident.count += 1
            record = Record(fields, agent, resident.count, agent, request.to or agent, expires)
            record.rare = ((), request.priority) if request.priority else COMMON
            self._step.trace(WRITTEN, name, record, agent)
            if level is not None and level.partition is not None:
                host.partitioning.aim(level, record)
            if level is not None and host.placing.send_on(name, level, record):
                self._step.write_down(AgentCame(agent, resident.count))
            else:
                stay.append(record)
        if self._spaces.keeps(name, stay[0].cur if stay else agent):
            for record in stay:
                self._step.keep(name, record)
        if expires:
            self._spaces.timed[space] = name
        host.outcomes.happened(name, space, space.put_many(stay, now=self._step.now))
