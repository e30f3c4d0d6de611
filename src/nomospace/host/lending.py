"""Leases: a tuple that is lent comes back by itself unless its taker says that it is done.

The lease runs at the host that holds the tuple, by that host's clock. A taker elsewhere tells that
host, and is answered when the word counted; a tuple is given back by whoever has no use for it, and
by the lapse of the lease. Leases are on disk with their tuples: a host that starts again goes on
with them, and those that ran out while it was down lapse then.

A word on a lease waits for its host when that is out of reach, and is said again when it is back:
hosts are restarted, and work that was done is done. The host that lent knows a word that it has
heard before, on disk too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from nomospace.calls.problems import AgentLeft, Busy, DelayTooLong, InDoubt, LeaseLapsed
from nomospace.calls.requests import Settle
from nomospace.errors import NomospaceError
from nomospace.host.changes import TupleGone, TuplePut
from nomospace.host.effects import ACKNOWLEDGED, LAPSED, LENT, RENEWED, RETURNED, TAKEN
from nomospace.host.holding import DELIVERIES_MAX
from nomospace.host.linda import settled_term
from nomospace.host.part import GroupFollower
from nomospace.host.residents import Resident, row_of
from nomospace.protocols.spaces import Key, LeaseClosed, LeaseSettled, Row
from nomospace.space import Record, Space, TupleId
from nomospace.terms import Term

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

Fields: TypeAlias = tuple[Term, ...]

SETTLING_MAX: Final = 100_000
"""How many words on leases may be on their way to other hosts, or wait for them."""
AGENT_PARKED_MAX: Final = 2_000
"""How many words of one agent may wait for hosts that are away: whoever makes leases up, which name
hosts that nobody knows, leaves room for others."""
SETTLED_MAX: Final = 10_000
"""Of so many leases that were ended from afar it is remembered how; the oldest go first."""
MET_MAX: Final = 100_000
"""So many hosts are known as those that have been met; past that anyone may have been."""
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
SETTLED_LEASES: Final = ".settled"
"""Where it is on disk how leases were ended from afar: no agent is the holder of such rows."""
_LEASE: Final = re.compile(r"[^/]+/[0-9]+/[0-9]+")
"""Host, life, number."""


def _noted(lease: str) -> TupleId:
    """The number under which it is on disk how a lease was ended."""
    host_and_life, _, number = lease.rpartition("/")
    return host_and_life, int(number)


class Settling(NamedTuple):
    """An agent's word on a lease, on its way to the host that lent the tuple."""

    op: int
    agent: str
    peer: str
    request: Settle
    asks: bool
    """Whether the tuple is asked for, which the law wants to see before the word."""
    doubt: bool = False
    """Whether it was said before, and contact was lost before the answer came."""


class Lease(NamedTuple):
    """Tuples that are lent from here, one or a set. Names can be guessed: only its taker ends it.

    All of a set come back together, and all are done with at once.
    """

    space: Space
    ids: tuple[TupleId, ...]
    agent: str
    fields: Fields
    """What the taker was answered with."""


class Lending(GroupFollower):
    """The leases on tuples of one host, and what its agents say about leases elsewhere."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._leases: dict[str, Lease] = {}  # lent here, by the lease's name
        self._lapsing: dict[str, Lease] = {}  # sets of which some have lapsed and some are yet to
        self._settling: dict[int, Settling] = {}  # told to other hosts, not confirmed yet
        self._parked: dict[int, tuple[int, Settling]] = {}  # wait for their hosts: until when
        self._parked_of: dict[str, int] = {}  # how many of them, by agent
        self.timed = self._parked
        self._borrowed: dict[str, tuple[str, Fields]] = {}  # lent by peers, under a law: to whom
        self._settled: dict[str, LeaseSettled] = {}  # ended from afar: by which word
        self._met: dict[str, None] = {}  # the hosts that were in the group since this one began
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
        step, now = self._step, self._step.now
        lease = f"{step.name}/{step.life}/{self._next_lease}"
        self._next_lease += 1
        space.deliveries_max = DELIVERIES_MAX
        self._spaces.timed[space] = name
        until = now + lease_us
        for record in records:
            space.took(record, now)
            space.lend(record, lease, until, new=record.order <= 0)
            if record.kept or self._spaces.keeps(name, record.cur):
                self._keep(name, record, lease, agent, until)
            step.trace_lease(LENT, name, record, agent, lease, until)
        ids = tuple([(record.writer, record.count) for record in records])
        self._leases[lease] = Lease(space, ids, agent, fields or records[0].fields)
        return lease

    def _keep(self, name: str, record: Record, lease: str, agent: str, until: int) -> None:
        """Have a tuple on disk as one that is lent."""
        record.kept = True
        self._step.write_down(TuplePut(name, row_of(record, (lease, agent, until))))

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
        record.rare = ((*record.rare[0], end)[-HISTORY_MAX:], record.priority)

    def settle(self, op: int, resident: Resident, request: Settle) -> None:
        """An agent acknowledges a tuple under a lease, gives it back, or renews the lease."""
        if request.delay_us > DELAY_US_MAX:
            raise DelayTooLong(delay_s=request.delay_us / 1e6)
        if len(request.why) > WHY_CHARS_MAX:
            request = replace(request, why=request.why[:WHY_CHARS_MAX])
        interface = resident.interface(request.space)
        if interface.law and not request.done:
            fields = self._fields_of(request.lease, resident.id, request.space)
            if fields is None:  # this host was started again, or its agent came with the lease
                self._tell(op, resident.id, request, asks=True)
                return
            then = partial(self._settle_for, op, resident, request)
            message = settled_term(request, fields)
            self._host.governed.settling(op, resident, interface, message, then)
        else:
            self._settle_for(op, resident, request)

    def acknowledge(self, agent: str, request: Settle) -> bool:
        """Do so without further looks, if the lease runs and is of this host; whether it was."""
        known = self._leases.get(request.lease)
        plain = request.done and not request.renew_us and not request.delay_us
        if known is None or not plain or not self._may_settle(known, agent, request.space):
            return False
        self._acknowledged(request.lease, known)
        return True

    def _acknowledged(self, lease: str, known: Lease) -> None:
        """What was lent is done with."""
        step, space = self._step, known.space
        del self._leases[lease]
        for id in known.ids:
            record = space.settle(id, lease)
            assert record is not None, "a lease that lapsed is not known any more"
            step.forget(space.name, record)
            step.trace_lease(ACKNOWLEDGED, space.name, record, known.agent, lease)
            step.trace(TAKEN, space.name, record, known.agent)

    def _settle_for(self, op: int, resident: Resident, request: Settle) -> None:
        """Do so: no law stands against it."""
        if request.lease.partition("/")[0] != self._step.name:
            taker, _ = self._borrowed.get(request.lease, ("", ()))
            if taker == resident.id and not request.renew_us:
                del self._borrowed[request.lease]
            self._tell(op, resident.id, request)
            return
        known = self._leases.get(request.lease)
        if known is None or not self._may_settle(known, resident.id, request.space):
            raise LeaseLapsed(lease=request.lease)
        self._settle(request.lease, request)
        self._step.answer(op)

    # -- words to other hosts ------------------------------------------------------------------

    def _tell(self, op: int, agent: str, request: Settle, *, asks: bool = False) -> None:
        """Let the host that lent a tuple know: only that one knows whether the lease still runs."""
        peer = request.lease.partition("/")[0]
        born = self._spaces.residents[agent].born and len(self._met) < MET_MAX
        never = peer == self._step.name or (born and peer not in self._met)
        if never or not _LEASE.fullmatch(request.lease):
            raise LeaseLapsed(lease=request.lease)
        if len(self._settling) + len(self._parked) >= SETTLING_MAX:
            raise Busy(what="words on leases under way", limit=SETTLING_MAX)
        if self._parked_of.get(agent, 0) >= AGENT_PARKED_MAX:
            what = f"what {agent} has to say about leases of hosts that are away"
            raise Busy(what=what, limit=AGENT_PARKED_MAX)
        number = self._next_settling
        self._next_settling += 1
        self._say(number, Settling(op, agent, peer, request, asks))

    def _say(self, number: int, one: Settling) -> None:
        """Say it now, or when its host is back."""
        if one.peer not in self._host.group.entries:
            self._park(number, one)
            return
        self._settling[number] = one
        word = one.request
        space = "" if one.asks else word.space
        rest = (word.renew_us, word.delay_us, word.why)
        key = (self._step.life, number, 0)
        settled = LeaseSettled(key, word.lease, word.done, one.agent, space, *rest)
        self._host.group.tell(one.peer, settled)

    def _park(self, number: int, one: Settling) -> None:
        """Let a word wait for its host."""
        self._parked[number] = (self._step.now + self._step.shares.lease_word_s * 1_000_000, one)
        self._parked_of[one.agent] = self._parked_of.get(one.agent, 0) + 1

    def _unpark(self, number: int) -> Settling:
        """A word waits no longer."""
        _, one = self._parked.pop(number)
        self._parked_of[one.agent] -= 1
        if not self._parked_of[one.agent]:
            del self._parked_of[one.agent]
        return one

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: words to it wait, and are said again when it is back."""
        for number in [n for n, one in self._settling.items() if one.peer == peer]:
            self._park(number, self._settling.pop(number)._replace(doubt=True))

    def respread(self) -> None:
        """The group has changed: say what waited for hosts that are here now."""
        entries = self._host.group.entries
        if len(self._met) < MET_MAX:
            self._met.update(dict.fromkeys(entries))
        for number in [n for n, (_, one) in self._parked.items() if one.peer in entries]:
            self._say(number, self._unpark(number))

    def next_deadline(self) -> int | None:
        """When the first word is given up that waits for its host; they are in their order."""
        return next(iter(self._parked.values()))[0] if self._parked else None

    def tick(self) -> None:
        """Give up words whose hosts were away too long."""
        while (due := self.next_deadline()) is not None and due <= self._step.now:
            one = self._unpark(next(iter(self._parked)))
            if one.doubt and not one.asks:
                self._step.fail(one.op, InDoubt(peer=one.peer))
            else:
                self._step.fail(one.op, LeaseLapsed(lease=one.request.lease))

    def hear_closed(self, _peer: str, body: LeaseClosed) -> None:
        """The host that lent a tuple says whether the agent's word still counted."""
        life, number, _ = body.key
        one = self._settling.pop(int(number), None) if life == self._step.life else None
        if one is None:
            return
        resident = self._spaces.residents.get(one.agent)
        if not body.counts or resident is None:  # who lent knows all words that have counted
            self._step.fail(one.op, LeaseLapsed(lease=one.request.lease))
        elif one.asks:
            self.borrow(one.request.lease, one.agent, body.fields)
            try:
                self.settle(one.op, resident, one.request)
            except NomospaceError as error:
                self._step.fail(one.op, error)
        else:
            self._step.answer(one.op)

    def borrow(self, lease: str, agent: str, fields: Fields) -> None:
        """A peer lent a tuple of a governed space: its law will want to see it given back."""
        self._borrowed[lease] = (agent, fields)
        if len(self._borrowed) > BORROWED_MAX:
            del self._borrowed[next(iter(self._borrowed))]

    def end(self, agent: str) -> None:
        """The agent leaves; nobody waits for the word on its leases any more."""
        for number in [n for n, one in self._settling.items() if one.agent == agent]:
            self._step.fail(self._settling.pop(number).op, AgentLeft(agent=agent))
        for number in [n for n, (_, one) in self._parked.items() if one.agent == agent]:
            self._step.fail(self._unpark(number).op, AgentLeft(agent=agent))

    # -- what is lent here -----------------------------------------------------------------------

    def _fields_of(self, lease: str, agent: str, space: str) -> Fields | None:
        """The tuple that an agent has under a lease, as the law of its space is to see it."""
        known = self._leases.get(lease)
        if known is None:
            taker, fields = self._borrowed.get(lease, ("", ()))
            return fields if taker == agent else None
        return known.fields if self._may_settle(known, agent, space) else None

    def _may_settle(self, known: Lease, agent: str, space: str) -> bool:
        """Whether a lease runs and is an agent's, on a tuple of the space that it names.

        The law that gave the tuple out is then the law that saw it given back. A lease is over at
        its end, also before the host has heard the time.
        """
        return (
            known.agent == agent
            and known.space.name == space
            and known.space.is_lent(known.ids[0], self._step.now)
        )

    def _settle(self, lease: str, word: Settle | LeaseSettled) -> bool:
        """Do as an agent says with a lease; false when it is over."""
        host, now = self._host, self._step.now
        known = self._leases.get(lease)
        if known is None:
            return False
        if word.done and not word.renew_us:
            self._acknowledged(lease, known)
            return True
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
        if not body.space:
            self._show(peer, body.key, body)
            return
        known = self._leases.get(body.lease)
        runs = known is not None and self._may_settle(known, body.agent, body.space)
        counts = runs and self._settle(body.lease, body)
        if counts and not body.renew_us:
            self._remember(body, body.key)
        elif not counts:
            counts = self._is_repeated(body)
        self._host.group.tell(peer, LeaseClosed(body.key, counts))

    def _remember(self, body: LeaseSettled, key: Key) -> None:
        """Know by which word a lease was ended, in later lives too: it may be said again."""
        fields = (body.lease, body.agent, body.done, *key)
        self._step.write_down(TuplePut(SETTLED_LEASES, Row(fields, *_noted(body.lease), "", "")))
        self._settled[body.lease] = body
        if len(self._settled) > SETTLED_MAX:
            oldest = next(iter(self._settled))
            del self._settled[oldest]
            self._step.write_down(TupleGone(SETTLED_LEASES, _noted(oldest)))

    def restore_settled(self, row: Row) -> None:
        """Know so from an earlier life."""
        lease, agent, done, *key = row.fields
        self._settled[str(lease)] = LeaseSettled(
            cast("Key", tuple(key)), str(lease), bool(done), str(agent)
        )

    def _is_repeated(self, body: LeaseSettled) -> bool:
        """Whether a word has counted before: contact was lost, or its host died, and says it again.

        A second word of the same life is another one, and too late.
        """
        known = self._settled.get(body.lease)
        if known is None or (known.agent, known.done) != (body.agent, body.done):
            return False
        assert known.key is not None, "somebody asked"
        assert body.key is not None, "somebody asks"
        return known.key == body.key or known.key[0] != body.key[0]

    def _show(self, peer: str, key: Key, body: LeaseSettled) -> None:
        """Say what an agent of a peer has under a lease, to that peer and to no other."""
        known, lines = self._leases.get(body.lease), self._host.group.entries.get(peer)
        fields = None
        # One who has just moved may still stand in the lines of its former host, too.
        if known is not None and lines is not None and lines.has_agent(body.agent):
            fields = self._fields_of(body.lease, body.agent, known.space.name)
        self._host.group.tell(peer, LeaseClosed(key, fields is not None, fields or ()))
