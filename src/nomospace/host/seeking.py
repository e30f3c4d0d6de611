"""Reads and takes: here, at another host or agent, and across the whole group.

An operation that does not wait looks in one place, its own host's unless it names another. One that
waits looks here first; if nothing matches it waits here and is watched for at every engaged host
that shares the space (LIME 4.2, Figure 8) and may hold a match (`digests`):

    asking host                      host with a match
    ----------- Watch ------------>  a waiter of kind OFFER
    <---------- Offer -------------  there is one; it stays free

What becomes of offers is said in `claiming`. Where several tuples may answer together, they may lie
on several hosts: see `collecting`.

A place in `Op.sites` is a host's name; this host is one of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from nomospace.calls import problems
from nomospace.calls.answers import Found
from nomospace.calls.requests import BULK, TAKING, WAITING, Seek
from nomospace.errors import LimitReached, NomospaceError
from nomospace.host.calls import Waiting
from nomospace.host.effects import TAKEN
from nomospace.host.open_operations import CutSearch, LocalSearches, OpenOperations
from nomospace.host.operations import (
    Op,
    agent_at,
    ask_of,
    check_meaning,
    check_sets,
    gathered_of,
    watch_of,
)
from nomospace.host.outstanding import Outstanding
from nomospace.host.part import GroupFollower
from nomospace.host.residents import SYSTEM, Interface, Resident, check_template
from nomospace.protocols.spaces import DirectoryChanged, Key, Unwatch
from nomospace.space import (
    OFFER,
    READ as READ_WAITER,
    TAKE as TAKE_WAITER,
    Gathered,
    Gathering,
    Record,
    Space,
    WaiterKind,
)
from nomospace.terms import Term

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class Seeking(GroupFollower):
    """The reads and takes of one host's agents, and what other hosts ask for."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._open = OpenOperations(self._step.shares, host.looking)
        self._ops = self._open.by_number
        self.number = self._open.number
        self.open = self._open.add
        """An operation begins that is not answered in this step."""
        self._searches = LocalSearches(host, self._conclude, self.refuse)

    # -- the agents' calls -----------------------------------------------------------------

    def seek(self, op: int, resident: Resident, seek: Seek) -> None:
        """Begin a read or a take."""
        host = self._host
        if seek.dest and "@" not in seek.dest:
            raise problems.NotAnAgent(given=seek.dest)
        if seek.sets is not None:
            check_sets(seek)
        if seek.space == SYSTEM:
            if seek.how in TAKING:
                raise problems.ReadOnly(space=SYSTEM)
            one = Op(0, op, resident.id, "", seek)
            begin = partial(self.look_in, one, host.system.space)
            host.looking.in_pieces(resident.id, host.system.fill, begin, op)
            return
        interface = resident.interface(seek.space)
        if seek.template.meant:
            check_meaning(seek.template, interface)
        check_template(interface, seek.template)
        if seek.sets is not None and interface.engine:
            raise problems.NotInMemory(space=seek.space, what="sets of tuples were asked for")
        if interface.law:
            host.governed.submit(op, resident, interface, seek)
        else:
            self.begin(op, resident, interface, seek)

    def begin(
        self,
        op: int,
        resident: Resident,
        interface: Interface,
        seek: Seek,
        call: Outstanding | None = None,
    ) -> None:
        """Carry out a read or a take that no law stands against any more."""
        one = Op(0, op, resident.id, interface.law, seek, call)
        if seek.how in WAITING:
            if not interface.shared:
                raise problems.PrivateSpace(space=seek.space)
            self._wait(one)
            return
        if interface.shared and interface.partition is not None and not seek.at:
            level = self._spaces.levels[seek.space]
            sites = self._host.partitioning.sites(level, seek.template)
            if sites is not None:
                one.rest = tuple(sites)
                self._host.claiming.ask_next(one)
                return
        site = self._site(seek.at or self._step.name)
        if site == self._step.name:
            self.look_in(one, self._spaces.space_of(interface))
        elif interface.shared and site in self._sites(seek, one.law):
            one.number = self._open.number()
            self._host.claiming.ask(site, one)
        else:
            self._host.answering.nothing(one)

    def look_in(self, one: Op, space: Space) -> None:
        """Look in one space of this host; wait there when the operation does."""
        try:
            records, sets = self._searches.find(one, space)
        except CutSearch as cut:
            one.number = self._open.number()
            self._open_for(one, space, cut)
        else:
            self._answer(one, space, records, sets)

    def _open_for(self, one: Op, space: Space, cut: CutSearch) -> None:
        """Open an operation whose search goes on."""
        try:
            self.open(one)
        except NomospaceError:
            space.give_up(cut.search)
            raise
        self._park(one, space, cut)

    def _park(self, one: Op, space: Space, cut: CutSearch) -> None:
        try:
            self._searches.park(one, space, cut)
        except problems.Busy:
            self.close(one)
            raise

    def _conclude(
        self, one: Op, space: Space, records: list[Record], sets: list[Gathering]
    ) -> None:
        """Answer an operation whose search was parked, in the very step in which that ended."""
        if one.spreads:
            # It waits here by now. What it is busy with looks again when nothing comes of it.
            here = one.claim is None and self._step.name in one.sites
            if here and self._answered(one, space, records, sets):
                self.close(one)
            return
        self.close(one)
        where = self._where(one)
        if where is space:
            self._answer(one, space, records, sets)
        elif where is not None:  # the space was shared or parted meanwhile, so it is another one
            self.look_in(Op(0, one.op, one.agent, one.law, one.seek, one.call), where)
        else:
            self._host.answering.nothing(one)

    def _where(self, one: Op) -> Space | None:
        """The space of this host that an operation which does not wait looks in."""
        if one.seek.space == SYSTEM:
            return self._host.system.space
        interface = self._spaces.residents[one.agent].spaces.get(one.seek.space)
        if interface is None:
            return None
        return self.waiting_space(one) if interface.shared else interface.private

    def _answer(self, one: Op, space: Space, records: list[Record], sets: list[Gathering]) -> None:
        """Answer an operation that looks in one space with what was found there, or let it wait."""
        seek = one.seek
        if one.rest and not records and not sets:
            self._host.answering.nothing(one)
        elif seek.how in BULK:
            self._host.answering.serve(one, space, records, sets)
        elif records or sets:
            self._host.answering.serve(one, space, records, sets)  # if a law keeps it, it says so
        elif one.waits:  # only in the system space
            one.number = self._open.number()
            self.open(one)
            one.sites[self._step.name] = None
            at, dest = agent_at(seek.at), seek.dest or None
            space.wait(one.number, seek.template, READ_WAITER, at=at, dest=dest)
        else:
            self._host.answering.nothing(one)

    def attempt(self, one: Op, space: Space) -> bool:
        """Answer an operation with what there is at this host: one tuple, else several together.

        It is also over when that would cost too much: then it is answered with the limit. A search
        that takes longer than a slice goes on while the operation waits.
        """
        try:
            return self._answered(one, space, *self._searches.find(one, space))
        except CutSearch as cut:
            self._park(one, space, cut)
            return False
        except LimitReached as error:
            self.give_up(one, error)
            return True

    def _answered(
        self, one: Op, space: Space, records: list[Record], sets: list[Gathering]
    ) -> bool:
        """Answer with one tuple or one set, if there is any and no law keeps it."""
        return bool(records or sets) and self._host.answering.serve(one, space, records, sets)

    def give_up(self, one: Op, error: NomospaceError) -> None:
        """Answer an operation that is not open with what went wrong."""
        if one.law:
            self._host.governed.forget(one)
        self._step.fail(one.op, error)

    def _wait(self, one: Op) -> None:
        one.number = self._open.number()
        here = self._step.name in self._sites(one.seek, one.law)
        if here:
            space = self._spaces.shared(one.seek.space)
            try:
                records, sets = self._searches.find(one, space)
            except CutSearch as cut:
                self._open_for(one, space, cut)
            else:
                if self._answered(one, space, records, sets):
                    return
                self.open(one)
        else:
            self.open(one)
        self._spread(one, looked=here)

    def _site(self, at: str) -> str:
        """The host that a place is on: itself, or where the agent is; empty when unknown."""
        if "@" not in at:
            return at
        host = self._host
        return self._step.name if at in self._spaces.residents else host.group.where.get(at, "")

    def _sites(self, seek: Seek, law: str) -> dict[str, None]:
        """The hosts that may hold a match now."""
        host = self._host
        only = self._site(seek.at) if seek.at else None
        sites: dict[str, None] = {}
        level = self._spaces.levels.get(seek.space)
        speaks = level.ontology if level is not None else ""
        if level is not None and level.partition is not None and not (seek.at or seek.sets):
            keyed = host.partitioning.sites(level, seek.template) if level.law == law else None
            if keyed is not None:
                return {**keyed, self._step.name: None}  # to wait here, too, costs nothing
        if level is not None and level.law == law and only in (None, self._step.name):
            sites[self._step.name] = None
        peers = host.group.sharers(seek.space, law, speaks)
        sites.update(peers if only is None else dict.fromkeys({only} & peers.keys()))
        return sites

    def cancel(self, agent: str, op: int, call: int, then: Callable[[bool], None]) -> None:
        """Wait no longer; `then` is told false when the operation has been answered already."""
        host = self._host
        one = self._open.by_call.get((agent, op))
        if one is None:
            held = host.governed.cancel(agent, op)
            if held:
                self._step.fail(op, problems.Cancelled())
            then(held)
        elif one.law:
            host.governed.cancelling(one, call, partial(self._call_off, one, op, then))
        else:
            self._call_off(one, op, then, True)

    def _call_off(self, one: Op, op: int, then: Callable[[bool], None], wholly: bool) -> None:
        """End an operation, or let it go on without its caller; it may be over by now."""
        if self._open.by_call.get((one.agent, op)) is not one:
            then(False)
            return
        if wholly:
            self.close(one)
        else:
            del self._open.by_call[one.agent, op]
        self.give_up(one, problems.Cancelled())
        one.op = 0
        then(True)

    def pack(self, agent: str) -> tuple[Waiting, ...]:
        """Take the waiting operations of an agent that moves out; they go on where it comes to."""
        packed: list[Waiting] = []
        for one in self._open.of_agent.of(agent):
            self.close(one)
            if one.asked or not one.waits:
                self.give_up(one, problems.AgentLeft(agent=agent))
            elif not one.law:  # those of governed spaces go with what their controller holds
                packed.append(Waiting(one.op, one.seek))
        return tuple(packed)

    def resume(self, resident: Resident, waiting: Waiting) -> None:
        """Let an operation of an agent that came wait on here."""
        request = waiting.request
        if waiting.law:
            self._host.governed.resume(resident, waiting)
            return
        assert isinstance(request, Seek)
        try:
            self.seek(waiting.op, resident, request)
        except NomospaceError as error:
            self._step.fail(waiting.op, error)

    def count(self, agent: str) -> int:
        """How many operations of an agent wait."""
        return self._open.of_agent.count(agent)

    def end(self, agent: str, error: NomospaceError | None = None, most: int | None = None) -> bool:
        """The agent leaves: its operations end, and its tuples come back if they are under way.

        So many at most end now; whether there are more.
        """
        return self._end_some(
            self._open.of_agent.of(agent), error or problems.AgentLeft(agent=agent), most
        )

    def end_under(self, law: str, error: NomospaceError, most: int) -> bool:
        """End some operations on spaces under a law; whether there are more."""
        return self._end_some([one for one in self._ops.values() if one.law == law], error, most)

    def _end_some(self, ops: list[Op], error: NomospaceError, most: int | None) -> bool:
        for one in ops[:most]:
            self.refuse(one, error)
        return most is not None and len(ops) > most

    def made_private(self, agent: str, space: str, most: int) -> bool:
        """A space was parted: what waits on it would wait for ever.

        So many at most are told so now; whether there may be more.
        """
        mine = (
            one for one in self._open.of_agent.of(agent) if one.seek.space == space and one.waits
        )
        some = list(islice(mine, most))
        for one in some:
            self.refuse(one, problems.PrivateSpace(space=space))
        return len(some) == most

    # -- spreading over the group ----------------------------------------------------------

    def respread(self) -> None:
        """The group changed: watch where there may be a match now."""
        for one in list(self._ops.values()):
            if one.spreads and one.number in self._ops:
                self._spread(one)

    def relieved(self, peer: str) -> None:
        self.respread()

    def followed(self, peer: str, news: DirectoryChanged, spaces: Iterable[str]) -> None:
        self.follow(spaces, (*news.went, *news.came))
        for one in news.digests:
            self._spread_some(self._open.of_kinds(one.space, one.came))
        if not (news.edition or news.digests):  # what may have appeared was left out on the way
            self.respread()

    def follow(self, spaces: Iterable[str], agents: Iterable[str]) -> None:
        """Do the same for spaces that a peer shares from now on or no more, and agents that moved.

        All else that waits is not looked at: there may be very much of it.
        """
        concerned = {one.number: one for space in spaces for one in self._open.on_space.of(space)}
        for agent in agents:
            concerned.update({one.number: one for one in self._open.at_agent.of(agent)})
        self._spread_some(concerned)

    def _spread_some(self, concerned: dict[int, Op]) -> None:
        for number, one in sorted(concerned.items()):
            if number in self._ops:
                self._spread(one)

    def _spread(self, one: Op, *, looked: bool = False) -> None:
        """Wait wherever there may be a match now; `looked` says that there is none here."""
        host, seek = self._host, one.seek
        wanted = self._sites(seek, one.law)
        sole = len(wanted) == 2 and self._spaces.is_partitioned(seek.space) and not seek.sets
        for site in [site for site in one.sites if site not in wanted]:
            self._leave(one, site)
        if one.claim is not None and one.claim[0] not in (self._step.name, *one.sites):
            # Nobody there will answer the claim; a tuple already under way goes back by itself.
            self._host.claiming.claim_next(one)
            if one.number not in self._ops:
                return
        hopeful = host.digests.hopeful(one, wanted)
        if hopeful is not wanted:
            self._open.of_kind.add((seek.space, one.kind), one.number, one)
        for site in hopeful:
            if site in one.sites:
                continue
            if site == self._step.name:
                space = self._spaces.shared(seek.space)
                if one.claim is None and not looked and self.attempt(one, space):
                    self.close(one)
                    return
                one.sites[site] = None
                at, dest = agent_at(seek.at), seek.dest or None
                ask = None if seek.sets is None else ask_of(seek)
                space.wait(one.number, seek.template, self._kind(one), at=at, dest=dest, ask=ask)
                if one.claim is not None:
                    space.disarm(one.number)
            elif host.group.has_room(site):
                one.sites[site] = None
                one.sole = site if sole else one.sole
                host.group.tell(site, watch_of(one, self.key(one), sole))
        if seek.sets is not None:
            host.collecting.spread(one, wanted)

    @staticmethod
    def _kind(one: Op) -> WaiterKind:
        """How an operation waits here. What a law or a lease has a say in is only offered."""
        if not one.takes and not one.law:
            return READ_WAITER
        return TAKE_WAITER if not one.law and not one.seek.lease_us else OFFER

    def key(self, one: Op) -> Key:
        return (self._step.life, one.number, 0)

    def _leave(self, one: Op, site: str) -> None:
        """Wait no longer at a place."""
        one.sites.pop(site, None)
        if site == self._step.name:
            self.waiting_space(one).cancel(one.number)
        else:
            one.offers = deque([offer for offer in one.offers if offer[0] != site])
            self._host.group.tell(site, Unwatch(self.key(one)))

    def waiting_space(self, one: Op) -> Space:
        if one.seek.space == SYSTEM:
            return self._host.system.space
        return self._spaces.shared(one.seek.space)

    def close(self, one: Op) -> None:
        """The operation is over: nobody looks for it any more."""
        self._open.remove(one)
        self._searches.drop(one)
        for site in list(one.sites):
            self._leave(one, site)
        if one.seek.sets is not None:
            self._host.collecting.leave(one)

    # -- serving ---------------------------------------------------------------------------

    def woken(self, name: str, space: Space, ticket: Any, record: Record) -> None:
        """A space has a tuple for a waiter: of an agent here, or of another host."""
        if isinstance(ticket, tuple):
            self._host.serving.woken(space, ticket, record)
            return
        self._met(ticket, name, space, (record,))

    def overran(self, ticket: Any, error: LimitReached) -> None:
        """To test a tuple for a waiter was too dear: it waits no more."""
        if isinstance(ticket, tuple):
            self._host.serving.overran(ticket, error)
            return
        one = self._ops.get(ticket)
        if one is not None:
            one.sites.pop(self._step.name, None)  # the space has dismissed the waiter
            self.refuse(one, error)

    def gathered(self, name: str, space: Space, outcome: Gathered) -> None:
        """A space has several tuples together for a waiter of an agent here."""
        self._met(outcome.ticket, name, space, outcome.records, outcome.gathering)

    def _met(
        self,
        number: Hashable,
        name: str,
        space: Space,
        records: Sequence[Record],
        gathering: Gathering | None = None,
    ) -> None:
        """There is a tuple for an operation here, or a set of them."""
        assert isinstance(number, int), "it is the number of the operation"
        one, answering = self._ops.get(number), self._host.answering
        assert one is not None, "a waiter is cancelled when its operation ends"
        kind = self._kind(one) if name != SYSTEM else READ_WAITER
        if kind is not OFFER:
            one.sites.pop(self._step.name)  # the space has dismissed the waiter
            if kind is TAKE_WAITER:
                for record in records:
                    self._step.forget(name, record)
                    self._step.trace(TAKEN, name, record, one.agent)
            self.close(one)
            if gathering is None:
                found = answering.found(one, records[0])
            else:
                found = gathered_of(gathering, records)
            self._step.answer(one.op, found)
            return
        there = all(space.get(record.id) is record for record in records)
        alone, sets = (list(records), ()) if gathering is None else ([], (gathering,))
        if there and answering.serve(one, space, alone, sets):
            self.close(one)
        else:  # taken meanwhile, or kept by the law
            self._look_again(one, space)

    def _look_again(self, one: Op, space: Space) -> None:
        """Wait on, unless there is another tuple: it may have come while this one was looked at."""
        if one.number not in self._ops or self._step.name not in one.sites or one.claim:
            return
        if not one.law and self.attempt(one, space):
            self.close(one)
        else:
            space.rearm(one.number)

    # -- what others do to it --------------------------------------------------------------

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: what it was asked for is in doubt, what waits goes on."""
        for one in list(self._ops.values()):
            if one.asked == peer:
                self.refuse(one, problems.ContactLost(peer=peer))
                continue
            one.sites.pop(peer, None)
            one.offers = deque([offer for offer in one.offers if offer[0] != peer])
            if one.claim is not None and one.claim[0] == peer:
                self._host.claiming.claim_next(one)

    def conclude(self, one: Op, found: Found, message: Term = None) -> None:
        """Answer an operation with a set of tuples that lie on several hosts.

        `message` is what laws have let go of it.
        """
        self.close(one)
        if one.law:
            self._host.governed.deliver(one, message, (found,))
        else:
            self._step.answer(one.op, found)

    def goes_on(self, one: Op) -> bool:
        """Whether an operation is not over."""
        return one.number in self._ops

    def refuse(self, one: Op, error: NomospaceError) -> None:
        """End an operation that cannot be carried out any further."""
        self.close(one)
        self.give_up(one, error)

    def known(self, key: Key) -> Op | None:
        """The operation that a key of this host's names, if it is not over."""
        life, number, _ = key
        return self._ops.get(int(number)) if life == self._step.life else None
