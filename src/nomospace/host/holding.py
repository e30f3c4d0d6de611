"""Who holds what: the agents of a host, their interface spaces, the host-level spaces.

An agent's interface space is private at first: a space of its own. When it is shared, its tuples
lie in the host-level space of that name together with those of the other agents here (LIME 2.2,
4.2), each marked with the agent that holds it. Sharing and parting move tuples between the two.

What agents write is in `writing`, and where a tuple belongs in `placing`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from nomospace.calls import problems
from nomospace.calls.requests import End, Share
from nomospace.errors import CallerError
from nomospace.host.calls import Arrive, Attended, Bundle, CarriedSpace, Depart, Unattended
from nomospace.host.changes import AgentCame, AgentWent, Durable, TuplePut
from nomospace.host.directory import News, Tie
from nomospace.host.effects import EXPIRED, MOVED, Halted, Packed
from nomospace.host.opening import check_tie
from nomospace.host.part import HostPart
from nomospace.host.residents import (
    ENGINES,
    SYSTEM,
    Interface,
    Level,
    Resident,
    is_keeper,
    record_of,
    row_of,
)
from nomospace.host.shares import few_bytes
from nomospace.host.step import without_frames
from nomospace.protocols.spaces import DirectoryChanged, Row
from nomospace.space import Record

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

DELIVERIES_MAX: Final = 5
"""A tuple that came back from so many leases goes to the dead letters of its space."""
LIFE_STEP: Final = 1 << 32
"""How far an agent's counter jumps when its host starts again, so that no number comes twice."""
ERA_STEP: Final = 1 << 22
"""How far an agent's counter begins above one of an era before: nobody writes so much in one, and
no count is too large for programs that have only floating numbers."""
MOVED_IN_STEP: Final = 1_000
"""How many tuples one step moves when a space is shared or parted, or lets go when their agent
ends; the rest follows in later ones, and the call is answered with the last."""
SPACE_PRICE: Final = 50
"""As how many tuples a space counts for that."""
ENDED_IN_STEP: Final = 500
"""How many operations, or reactions, of an agent that ends or is suspended end in one step."""


class Holding(HostPart):
    """The agents and spaces of one host."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self.timed = self._spaces.timed
        self._news = News()
        self.unannounced = self._news.touched
        """Agents whose lines in the directory have changed, and the peers do not know."""

    # -- agents ----------------------------------------------------------------------------

    def arrive(self, event: Arrive) -> None:
        """An agent comes, new or with all that it carries; its spaces are shared again."""
        host, agent = self._host, event.agent
        if "@" not in agent:  # such names are the spaces' own, and their managers'
            self._step.note("not-an-agent", error=problems.NotAnAgent(given=agent))
            return
        if agent in self._spaces.residents:
            self._step.note("agent-exists", error=problems.AgentExists(agent=agent))
            return
        # Above all that a former birth of this host can have counted for an agent of this name.
        self.unpack(
            agent, event.bundle or Bundle(agent, self._step.name, self._step.era * ERA_STEP)
        )
        if event.bundle is None:
            self._spaces.residents[agent].born = True
            host.posting.create(agent)

    def unpack(self, agent: str, bundle: Bundle) -> None:
        """Let an agent go on here with all that it carries; its spaces are shared again."""
        host = self._host
        resident = self._spaces.residents[agent] = Resident(agent, bundle.count)
        self._news.agent(agent, was=False)
        self._step.write_down(AgentCame(agent, bundle.count))
        host.governing.unpack(agent, bundle.memberships, bundle.origin)
        for text in bundle.ontologies:
            host.speaking.admit(text)
        for its in bundle.spaces:
            tie = (its.law, its.ontology)
            interface = self.make_interface(
                resident, its.name, tie, durable=its.durable, engine=its.engine
            )
            for row in its.rows:
                record = record_of(row)
                interface.private.put(record, now=self._step.now)
                if its.durable:
                    self._step.keep(its.name, record)
                self._step.trace(MOVED, its.name, record, agent)
                if row.expires:
                    self._spaces.timed[interface.private] = its.name
        for its in bundle.spaces:
            if not its.shared:
                continue
            try:
                self.share(resident, (its.name,), shared=True)
            except CallerError as error:  # it stays private, until here is room for it
                self._step.note("not-shared", agent=agent, error=without_frames(error))
        host.placing.release(agent)
        host.reacting.unpack(agent, bundle.reactions)
        host.reacting.follow((), (agent,))
        host.seeking.follow((), (agent,))
        for waiting in bundle.waiting:
            host.seeking.resume(resident, waiting)

    def enter(self, keeper: str) -> Resident:
        """Have the keeper of this host's shares among the residents; its spaces say the rest."""
        resident = self._spaces.residents[keeper] = Resident(keeper)
        self._news.agent(keeper, was=False)
        return resident

    def attend(self, event: Attended) -> None:
        """A program speaks for an agent here again."""
        self._set_away(event.agent, False)

    def unattend(self, event: Unattended) -> None:
        """No program speaks for some agents here any more; all that is theirs stays."""
        for agent in event.agents:
            self._set_away(agent, True)

    def _set_away(self, agent: str, away: bool) -> None:
        resident = self._spaces.residents.get(agent)
        if resident is not None and resident.away is not away:
            self._news.presence(agent, was=resident.away)
            resident.away = away

    def end(self, op: int, resident: Resident, request: End) -> None:
        """An agent ends: all that is its own leaves with it (LIME 2.1, 4.2), after a last word.

        Not before its tuples were taken out of spaces that lie in the store.
        """
        host, agent = self._host, resident.id
        if self._spaces.residents.get(agent) is not resident:
            raise problems.NoSuchAgent(agent=agent, host=self._step.name)
        if stays := self._stays_in(agent):
            raise problems.StaysInStore(space=stays)
        if suspended := host.suspending.stays(agent):
            raise suspended
        member = next(iter(host.governing.memberships(agent)), None)
        if member is not None:  # that may take several steps
            host.governing.leave(member, op, lambda _: self.end(op, resident, request))
            return
        resident.ending = True
        host.moving.end(agent, str(problems.HasEnded(agent=agent)))
        drop = partial(self._drop_some, resident, list(resident.spaces))
        host.looking.in_pieces(agent, drop, partial(self._end, op, resident), op)

    def _drop_some(self, resident: Resident, left: list[str]) -> bool:
        """Let some of what an agent that ends has go with it; whether there may be more."""
        agent = resident.id
        if self._host.seeking.end(agent, problems.HasEnded(agent=agent), ENDED_IN_STEP):
            return True
        if self._host.reacting.end(agent, ENDED_IN_STEP):
            return True
        while left:
            name = left[-1]
            interface = resident.spaces[name]
            level = None if interface.engine else self._spaces.levels.get(name)
            for space in (interface.private, *(() if level is None else (level.space,))):
                mine = space.held_by(agent, MOVED_IN_STEP)
                for record in mine:
                    space.remove(record)
                    self._step.forget(name, record)
                    self._step.trace(EXPIRED, name, record, agent)
                if len(mine) == MOVED_IN_STEP:
                    return True
            left.pop()  # what comes there now goes at the end
        return False

    def _end(self, op: int, resident: Resident) -> None:
        """The last step of an agent: what is left of it goes."""
        host, agent = self._host, resident.id
        if self._spaces.residents.get(agent) is not resident:
            raise problems.NoSuchAgent(agent=agent, host=self._step.name)
        error = problems.HasEnded(agent=agent)
        host.deciding.finish(agent)  # its controllers rule no more
        host.seeking.end(agent, error)
        host.governed.end(agent, error)
        for its in self.pack(agent).spaces:
            for row in its.rows:
                self._step.trace(EXPIRED, its.name, record_of(row), agent)
        host.posting.end(agent)
        self._step.answer(op)
        self._step.order(Halted(agent, error, ended=True))

    def depart(self, event: Depart) -> None:
        """An agent leaves with its spaces: made private, and taken along."""
        host, agent = self._host, event.agent
        resident = self._spaces.residents.get(agent)
        if resident is None:
            self._step.note(
                "no-such-agent", error=problems.NoSuchAgent(agent=agent, host=self._step.name)
            )
            return
        if why := "it ends" if resident.ending else self.stays(agent):
            self._step.note("stays", agent=agent, why=why)
            return
        host.deciding.finish(agent)
        host.seeking.end(agent)
        host.governed.end(agent)
        self._step.order(Packed(self.pack(agent)))

    def pack(self, agent: str) -> Bundle:
        """Take an agent out of this host, with all that is its own."""
        host = self._host
        resident = self._spaces.residents[agent]
        for name in resident.spaces:
            if (level := self._spaces.levels.get(name)) is not None:
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
                self._step.forget(name, record)
            self._spaces.timed.pop(interface.private, None)
            carried.append(
                CarriedSpace(
                    name,
                    name in shared,
                    interface.law,
                    rows,
                    interface.durable,
                    interface.ontology,
                    interface.engine,
                )
            )
        memberships = host.governing.pack(agent)
        homes = dict.fromkeys(one.home for one in memberships if one.home != agent)
        del self._spaces.residents[agent]
        self._news.agent(agent, was=True)
        self._step.write_down(AgentWent(agent, tuple(homes)))
        host.reacting.follow((), (agent,))
        host.seeking.follow((), (agent,))
        return Bundle(
            agent,
            self._step.name,
            resident.count,
            tuple(carried),
            reactions,
            memberships,
            waiting,
            host.speaking.texts(its.ontology for its in carried),
        )

    # -- interface spaces ------------------------------------------------------------------

    def stays(self, agent: str) -> str:
        """Why an agent cannot leave with its spaces; empty when it can."""
        name = self._stays_in(agent)
        return str(problems.StaysInStore(space=name)) if name else ""

    def _stays_in(self, agent: str) -> str:
        """A space in the store where an agent holds tuples, if there is one."""
        for name, interface in self._spaces.residents[agent].spaces.items():
            level = self._spaces.levels.get(name) if interface.engine else None
            if level is not None and level.space.held_by(agent, 1):
                return name
        return ""

    def fits(self, name: str, tie: Tie) -> bool:
        """Whether a space can be shared here: one name has one law on a host, and one ontology."""
        level = self._spaces.levels.get(name)
        return level is None or level.tie == tie or not level.sharers

    def make_interface(
        self, resident: Resident, name: str, tie: Tie, *, durable: bool, engine: str = ""
    ) -> Interface:
        """Give an agent a private space, written down."""
        law, ontology = tie
        if law:
            self._host.governing.manager(name, law)
        speaks = self._host.speaking.get(ontology)
        interface = resident.spaces[name] = Interface(name, tie, durable, speaks, engine)
        self._step.opened(resident.id, interface)
        return interface

    def share_for(self, op: int, resident: Resident, request: Share) -> None:
        """Share or part several spaces for a call; answered when all their tuples are there.

        Where there are very many they follow in later steps, the oldest first.
        """
        host, names, shared = self._host, request.spaces, request.shared
        for name in names:
            if not shared and name != SYSTEM and resident.interface(name).engine:
                raise problems.StaysInStore(space=name)
        self._begin_sharing(resident, names, shared=shared)
        todo = [resident.interface(name) for name in reversed(names)]

        def move() -> bool:
            left = MOVED_IN_STEP
            while todo and left > 0 and self._spaces.residents.get(resident.id) is resident:
                one = todo[-1]
                left -= SPACE_PRICE + len(one.private)
                # A later call may want it otherwise by now.
                if one.shared == shared and self.shift(resident, one):
                    return True
                todo.pop()
            return left <= 0 and bool(todo)

        host.looking.in_pieces(resident.id, move, partial(self._step.answer, op), op)

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
            raise problems.ReadOnly(space=SYSTEM)
        interfaces = [resident.interface(name) for name in names]
        for one in interfaces:
            if shared and one.partition is not None and not is_keeper(resident.id):
                self._host.partitioning.check_room(one.name)
            level = self._spaces.levels.get(one.name)
            if not shared or level is None or not level.sharers:
                continue
            check_tie(one.name, level.tie, one.tie)
            if level.engine != one.engine:
                why = f"here it is shared with the engine {level.engine or ENGINES[0]!r}"
                raise problems.OtherEngine(space=one.name, given=one.engine or ENGINES[0], why=why)
        for interface in interfaces:
            if interface.shared == shared:
                continue
            if not shared:
                self._host.looking.finish(interface.name, self._spaces.levels[interface.name].space)
            interface.shared = shared
            self._step.opened(resident.id, interface)
            if shared:
                self._merge(resident, interface)
            else:
                self._part(resident, interface)

    def _merge(self, resident: Resident, interface: Interface) -> None:
        """A private space becomes part of the host-level one."""
        name, agent = interface.name, resident.id
        level = self._spaces.levels.get(name)
        if level is None or (level.tie, level.engine) != (interface.tie, interface.engine):
            self._leave_level(name)
            level = self._make_level(interface)
        level.sharers[agent] = None
        self._news.space(name, agent, was=None)
        if level.partition is not None and not is_keeper(agent):
            self._host.partitioning.keep(interface)
        self._host.reacting.rehome(agent, name)

    def _make_level(self, interface: Interface) -> Level:
        self._spaces.drop_idle()
        speaks = self._host.speaking.get(interface.ontology)
        engine = self._step.engine if interface.engine else None
        name = interface.name
        host = self._step.name
        level = self._spaces.levels[name] = Level(name, interface.tie, speaks, engine, host=host)
        self._spaces.watch(level, self._step.now)
        if level.space.next_deadline() is not None:
            self._spaces.timed[level.space] = name
        return level

    def _leave_level(self, name: str) -> None:
        """Nobody shares a space any more: what those who did have left there follows them."""
        level = self._spaces.levels.get(name)
        if level is not None and len(level.space):
            for resident in self._spaces.residents.values():
                interface = resident.spaces.get(name)
                if interface is not None and not interface.shared:
                    self._shift_all(resident, interface)

    def _part(self, resident: Resident, interface: Interface) -> None:
        """An agent shares a space no longer."""
        name, agent = interface.name, resident.id
        level = self._spaces.levels[name]
        del level.sharers[agent]
        if not level.sharers:
            self._spaces.unshared[name] = level
        self._news.space(name, agent, was=level.tie)
        self._host.reacting.rehome(agent, name)

    def shift(self, resident: Resident, interface: Interface) -> bool:
        """Move some tuples of an agent to where its others are; whether there may be more."""
        level = self._spaces.levels.get(interface.name)
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
            self._host.placing.move_home(level, record)
        return len(strays) == MOVED_IN_STEP

    def _shift_in(self, resident: Resident, interface: Interface, level: Level) -> bool:
        """Tuples of a private space go to the host-level one, as one step of it."""
        host, name, agent = self._host, interface.name, resident.id
        held = interface.private.held_by(agent, MOVED_IN_STEP)
        mine = few_bytes(held)
        for record in mine:  # what is lent out comes back there, and is placed anew then
            interface.private.remove(record)
        stay: list[Record] = []
        for record in mine:
            if level.partition is not None:
                host.partitioning.aim(level, record)
            if not host.placing.send_on(name, level, record):
                stay.append(record)
                if record.expires:
                    self._spaces.timed[level.space] = name
                if record.cur != agent:  # it is home with an agent here
                    host.placing.keep_as_holder(name, record)
        if stay:
            host.outcomes.happened(
                name, level.space, level.space.put_many(stay, now=self._step.now)
            )
        return len(held) == MOVED_IN_STEP or len(mine) < len(held)

    def _shift_away(self, resident: Resident, interface: Interface, level: Level) -> bool:
        """Tuples that an agent holds leave the host-level space with it."""
        host, name, private = self._host, interface.name, interface.private
        held = level.space.held_by(resident.id, MOVED_IN_STEP)
        mine = few_bytes(held)
        for record in mine:
            level.space.remove(record)
        if any(record.expires for record in mine):
            self._spaces.timed[private] = name
        if mine:
            host.outcomes.happened(name, private, private.put_many(mine, now=self._step.now))
        return len(held) == MOVED_IN_STEP or len(mine) < len(held)

    # -- time ------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """When a lease lapses or a tuple expires next."""
        due = [space.next_deadline() for space in self._spaces.timed]
        return min([at for at in due if at is not None], default=None)

    def tick(self) -> None:
        """Let leases lapse and tuples expire."""
        now = self._step.now
        for space, name in list(self._spaces.timed.items()):
            due = space.next_deadline()
            if due is None:
                del self._spaces.timed[space]
            elif due <= now:
                self._host.outcomes.happened(name, space, space.lapse(now=now))

    # -- the directory ---------------------------------------------------------------------

    def news(self, edition: int) -> DirectoryChanged | None:
        """What has changed in the lines since this was last asked, as an edition; if anything."""
        return self._news.tell(
            edition,
            is_here=self._spaces.residents.__contains__,
            tie_of=self._spaces.tie_of,
            is_away=self._spaces.is_away,
        )

    # -- starting again --------------------------------------------------------------------

    def restore(self, durable: Durable) -> None:
        """Bring back what an earlier life wrote down."""
        now = self._step.now
        for agent, count in durable.agents.items():
            # What was not durable may have been numbered further than the disk knows.
            self._spaces.residents[agent] = Resident(agent, count + LIFE_STEP)
        for (agent, name), opened in durable.spaces.items():
            if is_keeper(agent) and agent not in self._spaces.residents:
                self._spaces.residents[agent] = Resident(agent)
            tie = (opened.law, opened.ontology)
            speaks = self._host.speaking.get(opened.ontology)
            interface = Interface(name, tie, opened.durable, speaks, opened.engine)
            interface.shared = opened.shared
            self._spaces.residents[agent].spaces[name] = interface
            if opened.shared:
                level = self._spaces.levels.get(name) or self._make_level(interface)
                level.sharers[agent] = None
        for name, rows in durable.tuples.items():
            for row in rows.values():
                self._restore_row(name, row, now)

    def load(self, rows: tuple[TuplePut, ...]) -> None:
        """Bring tuples back that an earlier life wrote down."""
        now = self._step.now
        for put in rows:
            self._restore_row(put.space, put.row, now)

    def _restore_row(self, name: str, row: Row, now: int) -> None:
        if not row.cur:
            self._host.lending.restore_settled(row)
            return
        record = record_of(row)
        record.kept = True
        interface = self._spaces.interface(record.cur, name)
        if row.lent is not None and (interface is not None or name in self._spaces.levels):
            space = (
                self._spaces.shared(name) if interface is None else self._spaces.space_of(interface)
            )
            self._host.lending.restore(name, space, record, row)
        elif interface is None:
            law = self._spaces.levels[name].law if name in self._spaces.levels else ""
            self._host.placing.keep_in_limbo(name, law, record)
        else:
            space = self._spaces.space_of(interface)
            if record.expires:
                self._spaces.timed[space] = name
            space.put(record, now=now)
