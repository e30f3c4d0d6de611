"""Leases: a tuple that is lent comes back by itself unless its taker says that it is done.

The lease runs at the host that holds the tuple, by that host's clock. A taker elsewhere tells that
host, and is answered when the word counted; a tuple is given back by whoever has no use for it, and
by the lapse of the lease. Leases are on disk with their tuples: a host that starts again goes on
with them, and those that ran out while it was down lapse then.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from nomospace.calls.answers import Found
from nomospace.calls.problems import AgentLeft, Busy, InDoubt, LeaseLapsed
from nomospace.calls.requests import Settle
from nomospace.errors import CallerError
from nomospace.host.changes import TuplePut
from nomospace.host.effects import ACKNOWLEDGED, LAPSED, LENT, RENEWED, RETURNED, TAKEN
from nomospace.host.holding import DELIVERIES_MAX
from nomospace.host.linda import settled_term
from nomospace.host.part import HostPart
from nomospace.host.residents import Resident, row_of
from nomospace.protocols.spaces import LeaseClosed, LeaseSettled, Row
from nomospace.space import Record, Space, TupleId
from nomospace.terms import Term

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

Fields: TypeAlias = tuple[Term, ...]

SETTLING_MAX: Final = 100_000
"""How many words on leases may be on their way to other hosts."""
SETTLED_MAX: Final = 10_000
"""Of so many leases it is remembered that their takers were done; the oldest go first."""
BORROWED_MAX: Final = 100_000
"""How many tuples lent by peers are remembered for their law; the oldest go first."""


HISTORY_MAX: Final = 8
"""How many ends of leases a tuple remembers."""
WHY_CHARS_MAX: Final = 500
"""So much of a reason is kept."""
LEASE_US_MAX: Final = 3_155_760_000_000_000
"""How long a lease may be made to run: a hundred years."""
DELAY_US_MAX: Final = 7 * 86_400_000_000
"""How long a tuple may be kept back that is given back: a week."""


class DelayTooLong(CallerError):
    """A tuple was to be given back for a time too far away."""

    code = "space.delay-too-long"
    words = (
        "a tuple cannot be kept back for {delay_s:,.0f} s, at most for a week; give it back "
        "sooner, or acknowledge it and write a new one when it is time"
    )
    delay_s: float


class Settling(NamedTuple):
    """An agent's word on a lease, on its way to the host that lent the tuple."""

    op: int
    agent: str
    peer: str
    lease: str


class Lease(NamedTuple):
    """Tuples that are lent from here, one or a set. Names can be guessed: only its taker ends it.

    All of a set come back together, and all are done with at once.
    """

    space: Space
    ids: tuple[TupleId, ...]
    agent: str
    fields: Fields
    """What the taker was answered with."""


class Lending(HostPart):
    """The leases on tuples of one host, and what its agents say about leases elsewhere."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._leases: dict[str, Lease] = {}  # lent here, by the lease's name
        self._lapsing: dict[str, Lease] = {}  # sets of which some have lapsed and some are yet to
        self._settling: dict[int, Settling] = {}  # told to other hosts, not confirmed yet
        self._borrowed: dict[str, tuple[str, Fields]] = {}  # lent by peers, under a law: to whom
        self._settled: dict[str, tuple[str, int]] = {}  # done with: by whom, in which life
        self._next_lease = 1
        self._next_settling = 1

    def lend(
        self,
        name: str,
        space: Space,
        records: Sequence[Record],
        lease_us: int,
        agent: str,
        fields: Fields | None = None,
    ) -> str:
        """Lend a tuple of this host, or a set, to an agent for a while; the lease's name.

        A set answers with `fields`. Tuples of other hosts in it are lent from here, and go back to
        where their holders are.
        """
        lease = f"{self._step.name}/{self._step.life}/{self._next_lease}"
        self._next_lease += 1
        space.deliveries_max = DELIVERIES_MAX
        self._spaces.timed[space] = name
        until = self._step.now + lease_us
        for record in records:
            space.lend(record, lease, until, new=space.get(record.id) is not record)
            if self._spaces.keeps(name, record.cur):
                self._keep(name, record, lease, agent, until)
            self._step.trace_lease(LENT, name, record, agent, lease, until)
        ids = tuple([record.id for record in records])
        self._leases[lease] = Lease(space, ids, agent, fields or records[0].fields)
        return lease

    def _keep(self, name: str, record: Record, lease: str, agent: str, until: int) -> None:
        """Have a tuple on disk as one that is lent."""
        record.kept = True
        row = msgspec.structs.replace(row_of(record), lent=(lease, agent, until))
        self._step.write_down(TuplePut(name, row))

    def restore(self, name: str, space: Space, record: Record, row: Row) -> None:
        """Go on with a lease of an earlier life; one that ran out meanwhile lapses as any."""
        assert row.lent is not None, "it was lent"
        lease, agent, until = row.lent
        space.deliveries_max = DELIVERIES_MAX
        space.lend(record, lease, until, new=True, again=True)
        self._spaces.timed[space] = name
        known = self._leases.get(lease)
        ids = () if known is None else known.ids
        if lease:  # else it waits for its next taker
            self._leases[lease] = Lease(space, (*ids, record.id), agent, record.fields)

    def recall(self, space: Space) -> None:
        """End all leases of a space that goes away."""
        for lease in space.leases():
            self._settle(lease.taker, Settle(space.name, lease.taker, False))

    def lapsed(self, lease: str, record: Record) -> None:
        """A lease on a tuple ran out; one to nobody is over that kept it back for a while."""
        if not lease:
            return
        known = self._leases.pop(lease, None) or self._lapsing.pop(lease)
        self._note(record, known.agent)
        self._step.trace_lease(LAPSED, known.space.name, record, known.agent, lease)
        left = tuple([id for id in known.ids if id != record.id])
        if left:
            self._lapsing[lease] = known._replace(ids=left)

    def _note(self, record: Record, agent: str, why: str = "lapsed") -> None:
        """Let a tuple remember how a lease on it ended."""
        end = (agent, self._step.now, why)
        record.history = (*record.history, end)[-HISTORY_MAX:]

    def settle(self, op: int, resident: Resident, request: Settle) -> None:
        """An agent acknowledges a tuple under a lease, gives it back, or renews the lease."""
        if request.delay_us > DELAY_US_MAX:
            raise DelayTooLong(delay_s=request.delay_us / 1e6)
        interface = resident.interface(request.space)
        if interface.law and not request.done:
            fields = self._fields_of(request.lease, resident.id, request.space)
            if fields is None:  # its law could not see it given back; it comes back by itself
                raise LeaseLapsed(lease=request.lease)
            then = partial(self._settle_for, op, resident, request)
            message = settled_term(request, fields)
            self._host.governed.settling(op, resident, interface, message, then)
        else:
            self._settle_for(op, resident, request)

    def _settle_for(self, op: int, resident: Resident, request: Settle) -> None:
        """Do so: no law stands against it."""
        host = self._host
        where = request.lease.partition("/")[0]
        if where != self._step.name:
            if not request.renew_us and (
                self._borrowed.get(request.lease, ("", ()))[0] == resident.id
            ):
                del self._borrowed[request.lease]
            if where not in host.group.entries:
                raise LeaseLapsed(lease=request.lease)
            # Only the host that lent the tuple knows whether the lease still runs.
            if len(self._settling) >= SETTLING_MAX:
                raise Busy(what="words on leases under way", limit=SETTLING_MAX)
            number = self._next_settling
            self._next_settling += 1
            self._settling[number] = Settling(op, resident.id, where, request.lease)
            key = (self._step.life, number, 0)
            settled = LeaseSettled(
                key,
                request.lease,
                request.done,
                resident.id,
                request.space,
                request.renew_us,
                request.delay_us,
                request.why,
            )
            host.group.tell(where, settled)
            return
        if not self._may_settle(request.lease, resident.id, request.space):
            raise LeaseLapsed(lease=request.lease)
        self._settle(request.lease, request)
        self._step.answer(op)

    def borrowed(self, agent: str, found: Found) -> None:
        """A peer lent a tuple of a governed space: its law will want to see it given back."""
        self._borrowed[found.lease] = (agent, found.fields)
        if len(self._borrowed) > BORROWED_MAX:
            del self._borrowed[next(iter(self._borrowed))]

    def end(self, agent: str) -> None:
        """The agent leaves; nobody waits for the word on its leases any more."""
        for number in [n for n, one in self._settling.items() if one.agent == agent]:
            self._step.fail(self._settling.pop(number).op, AgentLeft(agent=agent))

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: whether its leases were settled in time is in doubt."""
        for number in [n for n, one in self._settling.items() if one.peer == peer]:
            self._step.fail(self._settling.pop(number).op, InDoubt(peer=peer))

    def _fields_of(self, lease: str, agent: str, space: str) -> Fields | None:
        """The tuple that an agent has under a lease, as the law of its space is to see it."""
        known = self._leases.get(lease)
        if known is None:
            taker, fields = self._borrowed.get(lease, ("", ()))
            return fields if taker == agent else None
        if not self._may_settle(lease, agent, space):
            return None
        return known.fields

    def _may_settle(self, lease: str, agent: str, space: str) -> bool:
        """Whether a lease runs and is an agent's, on a tuple of the space that it names.

        The law that gave the tuple out is then the law that saw it given back. A lease is over at
        its end, also before the host has heard the time.
        """
        known = self._leases.get(lease)
        return (
            known is not None
            and known.agent == agent
            and known.space.name == space
            and known.space.is_lent(known.ids[0], self._step.now)
        )

    def _settle(self, lease: str, word: Settle | LeaseSettled) -> bool:
        """Do as an agent says with a lease; false when it is over."""
        host, now = self._host, self._step.now
        known = self._leases.get(lease)
        if known is None:
            return False
        space, name = known.space, known.space.name
        renewed = now + min(word.renew_us, LEASE_US_MAX)
        free = now + min(word.delay_us, DELAY_US_MAX)
        if not word.renew_us:
            del self._leases[lease]
        for id in known.ids:
            record = space.lent(id)
            assert record is not None, "a lease that lapsed is not known any more"
            kept = self._spaces.keeps(name, record.cur)
            if word.renew_us:
                space.renew(id, lease, renewed)
                if kept:
                    self._keep(name, record, lease, known.agent, renewed)
                self._step.trace_lease(RENEWED, name, record, known.agent, lease, renewed)
            elif word.done:
                space.settle(id, lease)
                self._step.forget(name, record)
                self._step.trace_lease(ACKNOWLEDGED, name, record, known.agent, lease)
                self._step.trace(TAKEN, name, record, known.agent)
            else:
                why = word.why[:WHY_CHARS_MAX]
                self._note(record, known.agent, why)
                self._step.trace_lease(RETURNED, name, record, known.agent, lease, free, why)
                outcomes = space.give_back(id, lease, now=now, until=free)
                if space.get(id) is record:
                    host.placing.came_back(name, space, record)
                elif kept and space.lent(id) is record:
                    self._keep(name, record, "", "", free)
                host.outcomes.happened(name, space, outcomes)
        return True

    def hear_settled(self, peer: str, body: LeaseSettled) -> None:
        """A peer's agent is done with a tuple that was lent from here, or gives it back."""
        if body.key is None:  # nobody has had the tuple
            self._settle(body.lease, body)
            return
        life, _, _ = body.key
        counts = self._may_settle(body.lease, body.agent, body.space) and self._settle(
            body.lease, body
        )
        if counts and body.done:
            self._settled[body.lease] = (body.agent, life)
            if len(self._settled) > SETTLED_MAX:
                del self._settled[next(iter(self._settled))]
        elif body.done:
            # Its host may have been told that the word counted, and died before its agent was.
            agent, then = self._settled.get(body.lease, ("", life))
            counts = agent == body.agent and then != life
        self._host.group.tell(peer, LeaseClosed(body.key, counts))

    def hear_closed(self, _peer: str, body: LeaseClosed) -> None:
        """The host that lent a tuple says whether the agent's word still counted."""
        life, number, _ = body.key
        one = self._settling.pop(int(number), None) if life == self._step.life else None
        if one is None:
            return
        if body.counts:
            self._step.answer(one.op)
        else:
            self._step.fail(one.op, LeaseLapsed(lease=one.lease))
