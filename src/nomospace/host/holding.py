"""Who holds what: the agents of a host, their interface spaces, the host-level spaces.

An agent's interface space is private at first: a space of its own. When it is shared, its tuples
lie in the host-level space of that name together with those of the other agents here (LIME 2.2,
4.2), each marked with the agent that holds it. Sharing and parting move tuples between the two.

A tuple belongs where its holder is. `place` puts it there, and sends one that is for another agent
on to it when that agent is here or engaged and shares the space; otherwise it waits, misplaced,
with its holder (LIME 2.2.3). A tuple whose holder moved on while it was away (out on a claim, or
lent) is kept in *limbo*, seen by nobody, until its holder is met again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from nomospace.calls.problems import AgentExists, NoSuchAgent, NotAnAgent, OtherLaw, ReadOnly
from nomospace.calls.requests import Open, Out, OutMany
from nomospace.errors import CallerError
from nomospace.host.calls import Arrive, Bundle, CarriedSpace, PutBack
from nomospace.host.changes import AgentCame, AgentWent, Durable, Opened, TupleGone, TuplePut
from nomospace.host.directory import Directory, News, Tie
from nomospace.host.effects import EXPIRED, MOVED, WRITTEN, Packed
from nomospace.host.residents import SYSTEM, Interface, Level, Resident, record_of, row_of
from nomospace.host.shares import CHECK_EVERY, LARGE, SAMPLED, TooManyRowsAtOnce, TooManyTuples
from nomospace.host.shifting import Shift
from nomospace.host.speaking import OtherOntology
from nomospace.protocols.spaces import DirectoryChanged, Handed, Migrated, Returned, SharedSpace
from nomospace.space import Record, Space
from nomospace.terms import Term
from nomospace.terms.measure import weight
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.host.ports import HostPorts

DELIVERIES_MAX: Final = 5
"""A tuple that came back from so many leases goes to the dead letters of its space."""
LIFE_STEP: Final = 1 << 32
"""How far an agent's counter jumps when its host starts again, so that no number comes twice."""
ERA_STEP: Final = 1 << 22
"""How far an agent's counter begins above one of an era before: nobody writes so much in one, and
no count is too large for programs that have only floating numbers."""
WRITTEN_ONCE: Final = ".once"
"""Behind a space's name: where an agent's keys of `out(…, once=key)` are."""
ONCE_MAX: Final = 1_000_000
"""How many such keys are remembered for an agent and a space; the oldest is forgotten first."""
MOVED_IN_STEP: Final = 1_000
"""How many tuples one step moves when a space is shared or parted; the rest follows in later ones,
and the call is answered with the last."""
DEAD: Final = ".dead"
"""Dead letters of space `jobs` lie in space `jobs.dead`."""


class Holding:
    """The agents and spaces of one host."""

    def __init__(self, host: HostPorts) -> None:
        self._host = host
        self.residents: dict[str, Resident] = {}
        self.levels: dict[str, Level] = {}
        self._limbo: dict[str, list[tuple[str, str, Record]]] = {}
        self._timed: dict[Space, str] = {}
        self.timed = self._timed
        self._news = News()
        self.unannounced = self._news.touched
        """Agents whose lines in the directory have changed, and the peers do not know."""

    # -- agents ----------------------------------------------------------------------------

    def resident(self, agent: str) -> Resident:
        """An agent of this host; raises `NoSuchAgent`."""
        found = self.residents.get(agent)
        if found is None:
            raise NoSuchAgent(agent=agent, host=self._host.name)
        return found

    def arrive(self, event: Arrive) -> None:
        """An agent comes, new or with all that it carries; its spaces are shared again."""
        host, agent = self._host, event.agent
        if "@" not in agent:  # such names are the spaces' own, and their managers'
            host.note("not-an-agent", error=NotAnAgent(given=agent))
            return
        if agent in self.residents:
            host.note("agent-exists", error=AgentExists(agent=agent))
            return
        # Above all that a former birth of this host can have counted for an agent of this name.
        self.unpack(agent, event.bundle or Bundle(agent, host.name, host.era * ERA_STEP))
        if event.bundle is None:
            host.posting.create(agent)

    def unpack(self, agent: str, bundle: Bundle) -> None:
        """Let an agent go on here with all that it carries; its spaces are shared again."""
        host = self._host
        resident = self.residents[agent] = Resident(agent, bundle.count)
        self._news.agent(agent, was=False)
        host.write_down(AgentCame(agent, bundle.count))
        host.governing.unpack(agent, bundle.memberships, bundle.origin)
        for text in bundle.ontologies:
            host.speaking.admit(text)
        for its in bundle.spaces:
            tie = (its.law, its.ontology)
            interface = self._open(resident, its.name, tie, durable=its.durable)
            for row in its.rows:
                record = record_of(row)
                interface.private.put(record, now=host.now)
                if its.durable:
                    self.keep(its.name, record)
                host.trace(MOVED, its.name, record, agent)
                if row.expires:
                    self._timed[interface.private] = its.name
        for its in bundle.spaces:
            if not its.shared:
                continue
            try:
                self.share(resident, (its.name,), shared=True)
            except CallerError as error:  # it stays private, until here is room for it
                host.note("not-shared", agent=agent, error=error)
        for space, law, record in self._limbo.pop(agent, []):
            self.place(space, law, record)
        host.reacting.unpack(agent, bundle.reactions)
        host.reacting.follow((), (agent,))
        host.seeking.follow((), (agent,))
        for waiting in bundle.waiting:
            host.seeking.resume(resident, waiting)

    def depart(self, agent: str) -> None:
        """An agent leaves with its spaces: made private, and taken along."""
        host = self._host
        resident = self.residents.get(agent)
        if resident is None:
            host.note("no-such-agent", error=NoSuchAgent(agent=agent, host=host.name))
            return
        host.deciding.finish(agent)
        host.seeking.end(agent)
        host.governed.end(agent)
        host.order(Packed(self.pack(agent)))

    def pack(self, agent: str) -> Bundle:
        """Take an agent out of this host, with all that is its own."""
        host = self._host
        resident = self.residents[agent]
        for name in resident.spaces:
            if (level := self.levels.get(name)) is not None:
                host.looking.finish(name, level.space)
        waiting = host.seeking.pack(agent) + host.governed.pack_waiting(agent)
        host.lending.end(agent)
        reactions = host.reacting.pack(agent)
        carried: list[CarriedSpace] = []
        shared = tuple([name for name, one in resident.spaces.items() if one.shared])
        self.share(resident, shared, shared=False)
        for interface in list(resident.spaces.values()):
            self._shift_all(resident, interface)  # what an earlier call has left behind
            host.lending.recall(interface.private)
        for name, interface in resident.spaces.items():
            mine = interface.private.held_by(agent)
            rows = tuple([row_of(record) for record in mine])
            for record in mine:
                self.forget(name, record)
            carried.append(
                CarriedSpace(
                    name,
                    name in shared,
                    interface.law,
                    rows,
                    interface.durable,
                    interface.ontology,
                )
            )
        memberships = host.governing.pack(agent)
        del self.residents[agent]
        self._news.agent(agent, was=True)
        host.write_down(AgentWent(agent))
        host.reacting.follow((), (agent,))
        host.seeking.follow((), (agent,))
        return Bundle(
            agent,
            host.name,
            resident.count,
            tuple(carried),
            reactions,
            memberships,
            waiting,
            host.speaking.texts(its.ontology for its in carried),
        )

    # -- interface spaces ------------------------------------------------------------------

    def open(self, resident: Resident, request: Open) -> None:
        """Give an agent a private interface space; opening it again is harmless."""
        name = request.space
        if name == SYSTEM:
            return
        law = request.law.hash if request.law is not None else ""
        if request.law is not None:
            self._host.governing.admit(resident.id, name, request.law)
        known = resident.spaces.get(name)
        if known is not None and known.law != law:
            raise OtherLaw(space=name, law=known.law, given=law)
        level = self.levels.get(name)
        here = known or (level if level is not None and level.sharers else None)
        if request.ontology is not None:
            ontology = self._host.speaking.admit(request.ontology)
        else:
            ontology = here.ontology if here is not None else ""
        if here is not None:
            self._check_tie(name, here.tie, (law, ontology))
        if known is not None:
            return
        # A tuple that dies stays under its law.
        twin = resident.spaces.get(name.removesuffix(DEAD) if name.endswith(DEAD) else name + DEAD)
        if twin is not None and twin.law != law:
            raise OtherLaw(space=name, law=twin.law, given=law)
        self._open(resident, name, (law, ontology), durable=request.durable)

    def _fits(self, name: str, tie: Tie) -> bool:
        """Whether a space can be shared here: one name has one law on a host, and one ontology."""
        level = self.levels.get(name)
        return level is None or level.tie == tie or not level.sharers

    @staticmethod
    def _check_tie(name: str, here: Tie, given: Tie) -> None:
        """Raise what is different about a space."""
        if here[0] != given[0]:
            raise OtherLaw(space=name, law=here[0], given=given[0])
        if here[1] != given[1]:
            raise OtherOntology(space=name, ontology=here[1], given=given[1])

    def _open(self, resident: Resident, name: str, tie: Tie, *, durable: bool) -> Interface:
        law, ontology = tie
        if law:
            self._host.governing.manager(name, law)
        speaks = self._host.speaking.get(ontology)
        interface = resident.spaces[name] = Interface(name, tie, durable, speaks)
        self._host.write_down(Opened(resident.id, name, law, False, durable, ontology))
        return interface

    def share_for(self, op: int, resident: Resident, names: tuple[str, ...], shared: bool) -> None:
        """Share or part several spaces for a call; answered when all their tuples are there.

        Where there are very many they follow in later steps, the oldest first.
        """
        host = self._host
        self._begin_sharing(resident, names, shared=shared)
        shift = Shift(host, op, resident, [resident.interface(name) for name in names], shared)
        if shift.move():
            host.looking.park(shift)
        else:
            host.answer(op)

    def share(self, resident: Resident, names: tuple[str, ...], *, shared: bool) -> None:
        """Share or part several spaces, all in this step."""
        self._begin_sharing(resident, names, shared=shared)
        for name in names:
            self._shift_all(resident, resident.interface(name))

    def _shift_all(self, resident: Resident, interface: Interface) -> None:
        while self.shift(resident, interface):
            pass

    def _begin_sharing(self, resident: Resident, names: tuple[str, ...], *, shared: bool) -> None:
        """Let spaces be shared or private from now on; their tuples are yet to follow."""
        if SYSTEM in names:
            raise ReadOnly(space=SYSTEM)
        interfaces = [resident.interface(name) for name in names]
        for one in interfaces:
            if shared and not self._fits(one.name, one.tie):
                self._check_tie(one.name, self.levels[one.name].tie, one.tie)
        for interface in interfaces:
            if interface.shared == shared:
                continue
            if not shared:
                self._host.looking.finish(interface.name, self.levels[interface.name].space)
            interface.shared = shared
            self._host.write_down(
                Opened(
                    resident.id,
                    interface.name,
                    interface.law,
                    shared,
                    interface.durable,
                    interface.ontology,
                )
            )
            if shared:
                self._merge(resident, interface)
            else:
                self._part(resident, interface)

    def _merge(self, resident: Resident, interface: Interface) -> None:
        """A private space becomes part of the host-level one."""
        name, agent = interface.name, resident.id
        level = self.levels.get(name)
        if level is None or level.tie != interface.tie:
            self._leave_level(name)
            speaks = self._host.speaking.get(interface.ontology)
            level = self.levels[name] = Level(name, interface.tie, speaks)
        level.sharers[agent] = None
        self._news.space(name, agent, was=None)
        self._host.reacting.rehome(agent, name)

    def _leave_level(self, name: str) -> None:
        """Nobody shares a space any more: what those who did have left there follows them."""
        level = self.levels.get(name)
        if level is not None and len(level.space):
            for resident in self.residents.values():
                interface = resident.spaces.get(name)
                if interface is not None and not interface.shared:
                    self._shift_all(resident, interface)

    def _part(self, resident: Resident, interface: Interface) -> None:
        """An agent shares a space no longer."""
        name, agent = interface.name, resident.id
        level = self.levels[name]
        del level.sharers[agent]
        self._news.space(name, agent, was=level.tie)
        self._host.reacting.rehome(agent, name)

    def shift(self, resident: Resident, interface: Interface) -> bool:
        """Move some tuples of an agent to where its others are; whether there may be more."""
        level = self.levels.get(interface.name)
        if level is None:
            return False
        if not interface.shared:
            name, waiting = interface.name, self._host.seeking
            if waiting.made_private(resident.id, name, MOVED_IN_STEP):
                return True
            return self._shift_away(resident, interface, level)
        if self._shift_in(resident, interface, level):
            return True
        strays = level.space.misplaced_for(resident.id, MOVED_IN_STEP)
        for record in strays:
            self._move_home(level, record)
        return len(strays) == MOVED_IN_STEP

    def _shift_in(self, resident: Resident, interface: Interface, level: Level) -> bool:
        """Tuples of a private space go to the host-level one, as one step of it."""
        host, name, agent = self._host, interface.name, resident.id
        mine = interface.private.held_by(agent, MOVED_IN_STEP)
        for record in mine:  # what is lent out comes back there, and is placed anew then
            interface.private.remove(record)
        stay: list[Record] = []
        for record in mine:
            if not self._send_on(name, level, record):
                stay.append(record)
                if record.expires:
                    self._timed[level.space] = name
                if record.cur != agent:  # it is home with an agent here
                    self._kept_by_holder(name, record)
        if stay:
            host.happened(name, level.space, level.space.put_many(stay, now=host.now))
        return len(mine) == MOVED_IN_STEP

    def _shift_away(self, resident: Resident, interface: Interface, level: Level) -> bool:
        """Tuples that an agent holds leave the host-level space with it."""
        host, name, private = self._host, interface.name, interface.private
        mine = level.space.held_by(resident.id, MOVED_IN_STEP)
        for record in mine:
            level.space.remove(record)
        if any(record.expires for record in mine):
            self._timed[private] = name
        if mine:
            host.happened(name, private, private.put_many(mine, now=host.now))
        return len(mine) == MOVED_IN_STEP

    # -- tuples ----------------------------------------------------------------------------

    def out(self, op: int, resident: Resident, request: Out | OutMany) -> None:
        """Write one tuple or several, under the law of the space if it has one."""
        if request.space == SYSTEM:
            raise ReadOnly(space=SYSTEM)
        interface = resident.interface(request.space)
        if request.to and "@" not in request.to:
            raise NotAnAgent(given=request.to)
        if interface.law:
            self._host.governed.out(op, resident, interface, request)
        elif request.once and not self.is_new(resident, interface, request.once):
            self._host.answer(op)
        elif isinstance(request, Out):
            self.write(resident, interface, request.fields, request.to, request.ttl_us)
            self._host.answer(op)
        else:
            self.write_many(resident, interface, request)
            self._host.answer(op)

    def is_new(self, resident: Resident, interface: Interface, key: str) -> bool:
        """Whether an agent writes to a space under a key for the first time; noted, if it does.

        The keys are tuples of a private space beside it: they are kept, carried along when the
        agent moves, and bounded as tuples are.
        """
        if self.has_written(resident, interface, key):
            return False
        name = interface.name + WRITTEN_ONCE
        keys = resident.spaces.get(name)
        if keys is None:
            keys = self._open(resident, name, ("", ""), durable=interface.durable)
        if len(keys.private) >= ONCE_MAX:
            oldest = keys.private.find(_ANY_KEY)
            assert oldest is not None, "keys are strings"
            keys.private.remove(oldest)
            self.forget(name, oldest)
        resident.count += 1
        agent = resident.id
        self._put(resident, keys, Record((key,), agent, resident.count, agent, agent))
        return True

    def has_written(self, resident: Resident, interface: Interface, key: str) -> bool:
        """Whether an agent has written to a space under a key."""
        keys = resident.spaces.get(interface.name + WRITTEN_ONCE)
        return keys is not None and keys.private.find(Template.of((key,))) is not None

    def put_back(self, op: int, resident: Resident, request: PutBack) -> None:
        """Write a tuple again that was taken for an agent which never got it.

        A law sees it as it sees a lease that is given back: its agent may well be one who could not
        have written the tuple.
        """
        interface = resident.interface(request.space)

        def put() -> None:
            self.write(resident, interface, request.fields, "", 0)
            self._host.answer(op)

        if interface.law:
            with self._host.deciding.uncut():  # until it is written nobody has the tuple
                self._host.governed.giving_back(op, resident, interface, request.fields, put)
        else:
            put()

    def write(
        self,
        resident: Resident,
        interface: Interface,
        fields: tuple[Term, ...],
        to: str,
        ttl_us: int,
    ) -> None:
        """Put a new tuple into an interface space, or send it on to the agent it is for."""
        host = self._host
        agent = resident.id
        if resident.full or not (resident.count + 1) % CHECK_EVERY or weight(fields) > LARGE:
            self._check_share(resident, 1)
        resident.count += 1
        record = Record(
            fields,
            agent,
            resident.count,
            agent,
            to or agent,
            host.now + ttl_us if ttl_us else 0,
        )
        self._put(resident, interface, record, WRITTEN)

    def _check_share(self, resident: Resident, more: int) -> None:
        """Raise `TooManyTuples` when an agent would have more than its share of tuples, or bytes.

        The bytes are those of a few tuples, times how many there are.
        """
        shares, agent = self._host.shares, resident.id
        count = size = 0
        for name, interface in resident.spaces.items():
            space = self.levels[name].space if interface.shared else interface.private
            some, few = space.written_by(agent, SAMPLED)
            if few:
                count += some
                sampled = sum([weight(record.fields) for record in few])
                size += sampled * some // len(few)
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
        if len(request.rows) > host.shares.out_rows:
            raise TooManyRowsAtOnce(
                what=f"the number of tuples in one call to {name!r}",
                limit=host.shares.out_rows,
                advice="write them in several calls",
            )
        self._check_share(resident, len(request.rows))
        expires = host.now + request.ttl_us if request.ttl_us else 0
        stay: list[Record] = []
        level = self.levels[name] if interface.shared else None
        space = level.space if level is not None else interface.private
        space.check_room(len(request.rows))
        for fields in request.rows:
            resident.count += 1
            record = Record(fields, agent, resident.count, agent, request.to or agent, expires)
            host.trace(WRITTEN, name, record, agent)
            if level is not None and self._send_on(name, level, record):
                host.write_down(AgentCame(agent, resident.count))
            else:
                stay.append(record)
        if interface.durable:
            for record in stay:
                self.keep(name, record)
        if expires:
            self._timed[space] = name
        host.happened(name, space, space.put_many(stay, now=host.now))

    def _put(self, resident: Resident, interface: Interface, record: Record, how: str = "") -> None:
        """Put a tuple where its holder's tuples are; `how` it came, if it was not here before."""
        host, name = self._host, interface.name
        if interface.shared:
            level = self.levels[name]
            if record.cur != record.dest and self._send_on(name, level, record):
                if how:
                    host.trace(how, name, record, resident.id)
                host.write_down(AgentCame(resident.id, resident.count))
                return
            space = level.space
        else:
            space = interface.private
        if record.expires:
            self._timed[space] = name
        space.check_room(1)  # before it is on disk; and there before a listener takes it away
        if interface.durable:
            self.keep(name, record)
        if how:
            host.trace(how, name, record, resident.id)
        host.happened(name, space, space.put(record, now=host.now))

    def keep(self, name: str, record: Record) -> None:
        """Have a tuple on disk as it is now."""
        record.kept = True
        self._host.write_down(TuplePut(name, row_of(record)))

    def forget(self, name: str, record: Record) -> None:
        """Have a tuple on disk no more."""
        if record.kept:
            record.kept = False
            self._host.write_down(TupleGone(name, record.id))

    def _kept_by_holder(self, name: str, record: Record) -> None:
        """Have a tuple on disk if, and only if, the agent that holds it now would."""
        if self.keeps(name, record.cur):
            self.keep(name, record)
        else:
            self.forget(name, record)

    def _send_on(self, name: str, level: Level, record: Record) -> bool:
        """Let a misplaced tuple go where it is for: to an agent here (it stays), or to a peer."""
        dest = record.dest
        if dest == record.cur:
            return False
        if dest in level.sharers:
            record.cur = dest
            return False
        peer = self._host.group.where.get(dest)
        if peer is None or not self._shares(self._host.group.entries[peer], level, dest):
            return False
        if not self._host.group.has_room(peer):
            return False
        self.forget(name, record)
        self._host.group.give(peer, Migrated(name, level.law, row_of(record)))
        return True

    def _move_home(self, level: Level, record: Record) -> None:
        """The agent that a misplaced tuple is for has come: it holds the tuple from now on."""
        if record.order <= 0:  # a listener took it as another one came home
            return
        # Before the step: a listener may take the tuple in it, and that is written down after.
        if self.keeps(level.name, record.dest):
            record.kept = True
            row = msgspec.structs.replace(row_of(record), cur=record.dest)
            self._host.write_down(TuplePut(level.name, row))
        else:
            self.forget(level.name, record)
        outcomes = level.space.relocate(record, record.dest, now=self._host.now)
        self._host.happened(level.name, level.space, outcomes)

    def keeps(self, name: str, holder: str) -> bool:
        """Whether what an agent here holds in a space is written down."""
        resident = self.residents.get(holder)
        interface = resident.spaces.get(name) if resident is not None else None
        return interface is None or interface.durable

    def place(self, name: str, law: str, record: Record) -> None:
        """Put a tuple where its holder is; into limbo when nobody knows where that is."""
        host = self._host
        holder = self.residents.get(record.cur)
        interface = holder.spaces.get(name) if holder is not None else None
        if holder is not None and interface is not None:
            space = self.levels[name].space if interface.shared else interface.private
            space.make_room(1)
            self._put(holder, interface, record, MOVED)
            return
        peer = host.group.where.get(record.cur)
        if peer is not None:
            self.forget(name, record)
            host.group.give(peer, Handed(name, law, row_of(record)))
            return
        self.keep(name, record)
        self._limbo.setdefault(record.cur, []).append((name, law, record))

    def owes(self) -> list[str]:
        """The agents that there are tuples for, which they do not hold, or hold from elsewhere."""
        levels = self.levels.values()
        return [*[dest for level in levels for dest in level.space.misplaced()], *self._limbo]

    def ship(self, peer: str, lines: Directory) -> None:
        """Send a peer every tuple that is for its agents, or held by them."""
        for level in self.levels.values():
            for dest in level.space.misplaced():
                if self._shares(lines, level, dest):
                    self._ship_to(peer, level, dest)
        for agent in [agent for agent in self._limbo if agent in lines.agents]:
            self._hand_to(peer, agent)

    def ship_news(self, peer: str, news: DirectoryChanged) -> None:
        """Send a peer what is for the agents that have come there, or held by them."""
        for one in news.shared:
            level = self.levels.get(one.space)
            if level is not None and level.tie == (one.law, one.ontology):
                self._ship_to(peer, level, one.agent)
        for agent in news.came:
            self._hand_to(peer, agent)

    @staticmethod
    def _shares(lines: Directory, level: Level, agent: str) -> bool:
        """Whether an agent of a peer shares what is a host-level space here."""
        return lines.shares(level.name, level.law, agent, ontology=level.ontology)

    def _ship_to(self, peer: str, level: Level, dest: str) -> None:
        host = self._host
        for record in level.space.misplaced_for(dest):
            if not host.group.has_room(peer):
                return
            level.space.remove(record)
            self.forget(level.name, record)
            host.group.give(peer, Migrated(level.name, level.law, row_of(record)))

    def _hand_to(self, peer: str, agent: str) -> None:
        host = self._host
        for name, law, record in self._limbo.pop(agent, []):
            self.forget(name, record)
            host.group.give(peer, Handed(name, law, row_of(record)))

    # -- transfers -------------------------------------------------------------------------

    def migrated(self, peer: str, what: Migrated) -> None:
        """A tuple came for an agent here; back it goes when the agent is here no more."""
        level = self.levels.get(what.space)
        row = what.row
        if level is None or level.law != what.law or row.dest not in level.sharers:
            self._host.group.give(peer, Returned(what.space, what.law, row))
            return
        record = record_of(row)
        record.cur = record.dest
        self.place(what.space, what.law, record)

    def returned(self, what: Returned) -> None:
        """A tuple that was given comes back to its holder."""
        self.place(what.space, what.law, record_of(what.row))

    def handed(self, what: Handed) -> None:
        """A tuple follows its holder here."""
        self.place(what.space, what.law, record_of(what.row))

    # -- time ------------------------------------------------------------------------------

    def has_timers(self, name: str, space: Space) -> None:
        """A space has a lease or a tuple that expires, and is to be told the time."""
        self._timed[space] = name

    def next_deadline(self) -> int | None:
        """When a lease lapses or a tuple expires next."""
        due = [space.next_deadline() for space in self._timed]
        known = [at for at in due if at is not None]
        return min(known) if known else None

    def tick(self) -> None:
        """Let leases lapse and tuples expire."""
        now = self._host.now
        for space, name in list(self._timed.items()):
            due = space.next_deadline()
            if due is None:
                del self._timed[space]
            elif due <= now:
                self._host.happened(name, space, space.lapse(now=now))

    def expired(self, name: str, record: Record) -> None:
        """A tuple's time is over."""
        self.forget(name, record)
        self._host.trace(EXPIRED, name, record, record.cur)
        self._host.note("expired", space=name, tuple=record.id)

    def died(self, name: str, record: Record) -> None:
        """A tuple came back from a lease once too often: to the dead letters of its holder."""
        host = self._host
        self.forget(name, record)
        holder = self.residents.get(record.cur)
        interface = holder.spaces.get(name) if holder is not None else None
        law = interface.law if interface is not None else ""
        if holder is not None and interface is not None and name + DEAD not in holder.spaces:
            self._open(holder, name + DEAD, interface.tie, durable=interface.durable)
            if interface.shared and self._fits(name + DEAD, interface.tie):
                self.share(holder, (name + DEAD,), shared=True)
        host.note("dead-letter", space=name, tuple=record.id, deliveries=record.deliveries)
        record.deliveries = 0
        self.place(name + DEAD, law, record)

    def came_back(self, name: str, space: Space, record: Record) -> None:
        """A lent tuple lies in its space again; its holder may have left meanwhile."""
        holder = self.residents.get(record.cur)
        interface = holder.spaces.get(name) if holder is not None else None
        if holder is None or interface is None or (space is interface.private) == interface.shared:
            law = self.levels[name].law if name in self.levels else ""
            space.remove(record)
            self.forget(name, record)
            self.place(name, law, record)
        elif interface.shared and record.cur != record.dest:
            space.remove(record)  # whom it is for may have come meanwhile
            self._put(holder, interface, record)
        elif interface.durable:
            self.keep(name, record)

    def census(self) -> list[tuple[Space, str, bool, tuple[str, ...]]]:
        """The spaces here: each with its law, whether it is shared, and the agents it is of."""
        lines = [
            (level.space, level.law, True, tuple(level.sharers))
            for level in self.levels.values()
            if level.sharers
        ]
        for agent, resident in self.residents.items():
            lines += [
                (one.private, one.law, False, (agent,))
                for one in resident.spaces.values()
                if not one.shared
            ]
        return lines

    # -- the directory ---------------------------------------------------------------------

    def lines(self) -> tuple[tuple[str, ...], tuple[SharedSpace, ...]]:
        """The agents here and the spaces they share."""
        spaces = [
            SharedSpace(level.name, level.law, tuple(level.sharers), level.ontology)
            for level in self.levels.values()
            if level.sharers
        ]
        return tuple(self.residents), tuple(spaces)

    def news(self, edition: int) -> DirectoryChanged | None:
        """What has changed in the lines since this was last asked, as an edition; if anything."""
        return self._news.tell(edition, is_here=self.residents.__contains__, tie_of=self._tie_of)

    def _tie_of(self, name: str, agent: str) -> Tie | None:
        """Under what an agent here shares a space; `None` when it does not."""
        level = self.levels.get(name)
        return level.tie if level is not None and agent in level.sharers else None

    def is_governed(self, name: str, space: Space) -> bool:
        """Whether a space is a host-level one that has a law."""
        level = self.levels.get(name)
        return level is not None and bool(level.law) and level.space is space

    def shares(self, name: str, agent: str) -> bool:
        """Whether an agent here shares a space."""
        return self._tie_of(name, agent) is not None

    # -- starting again --------------------------------------------------------------------

    def restore(self, durable: Durable) -> None:
        """Bring back what an earlier life wrote down."""
        now = self._host.now
        for agent, count in durable.agents.items():
            # What was not durable may have been numbered further than the disk knows.
            self.residents[agent] = Resident(agent, count + LIFE_STEP)
        for (agent, name), opened in durable.spaces.items():
            tie = (opened.law, opened.ontology)
            speaks = self._host.speaking.get(opened.ontology)
            interface = Interface(name, tie, opened.durable, speaks)
            interface.shared = opened.shared
            self.residents[agent].spaces[name] = interface
            if opened.shared:
                level = self.levels.setdefault(name, Level(name, tie, speaks))
                level.sharers[agent] = None
        for name, rows in durable.tuples.items():
            for row in rows.values():
                record = record_of(row)
                record.kept = True
                self._restore_row(name, record, now)

    def load(self, rows: tuple[TuplePut, ...]) -> None:
        """Bring tuples back that an earlier life wrote down."""
        now = self._host.now
        for put in rows:
            record = record_of(put.row)
            record.kept = True
            self._restore_row(put.space, record, now)

    def _restore_row(self, name: str, record: Record, now: int) -> None:
        holder = self.residents.get(record.cur)
        interface = holder.spaces.get(name) if holder is not None else None
        if interface is None:
            law = self.levels[name].law if name in self.levels else ""
            self._limbo.setdefault(record.cur, []).append((name, law, record))
        else:
            space = self.levels[name].space if interface.shared else interface.private
            if record.expires:
                self._timed[space] = name
            space.put(record, now=now)


_ANY_KEY: Final = Template.of((str,))
