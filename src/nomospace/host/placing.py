"""Where a tuple belongs: with its holder, or on the way to the agent that it is for.

A tuple belongs where its holder is. `place` puts it there, and sends one that is for another agent
on to it when that agent is here or engaged and shares the space; otherwise it waits, misplaced,
with its holder (LIME 2.2.3). A tuple whose holder moved on while it was away (out on a claim, or
lent) is kept in *limbo*, seen by nobody, until its holder is met again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from nomospace.calls.partition import untied
from nomospace.calls.ways import DEAD
from nomospace.host.changes import AgentCame, TuplePut
from nomospace.host.directory import Directory
from nomospace.host.effects import EXPIRED, MOVED
from nomospace.host.part import GroupFollower
from nomospace.host.residents import (
    Interface,
    Level,
    Resident,
    is_keeper,
    record_of,
    row_of,
)
from nomospace.protocols.spaces import DirectoryChanged, Handed, Migrated, Returned
from nomospace.space import Record, Space

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class Placing(GroupFollower):
    """The tuples of one host on their way to where they belong."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._limbo: dict[str, list[tuple[str, str, Record]]] = {}

    def release(self, agent: str) -> None:
        """An agent has come: place what was in limbo for it."""
        for space, law, record in self._limbo.pop(agent, []):
            self.place(space, law, record)

    def keep_in_limbo(self, name: str, law: str, record: Record) -> None:
        """Have a tuple whose holder is nowhere to be found."""
        self._limbo.setdefault(record.cur, []).append((name, law, record))

    def put(self, resident: Resident, interface: Interface, record: Record, how: str = "") -> None:
        """Put a tuple where its holder's tuples are; `how` it came, if it was not here before."""
        host, name = self._host, interface.name
        if interface.shared:
            level = self._spaces.levels[name]
            if level.partition is not None:
                host.partitioning.aim(level, record)
            if record.cur != record.dest and self.send_on(name, level, record):
                if how:
                    self._step.trace(how, name, record, resident.id)
                if not is_keeper(resident.id):
                    self._step.write_down(AgentCame(resident.id, resident.count))
                return
            space = level.space
        else:
            space = interface.private
        if record.expires:
            self._spaces.timed[space] = name
        space.check_room(1)  # before it is on disk; and there before a listener takes it away
        if interface.durable if record.cur == resident.id else self._spaces.keeps(name, record.cur):
            self._step.keep(name, record)
        if how:
            self._step.trace(how, name, record, resident.id)
        host.outcomes.happened(name, space, space.put(record, now=self._step.now))

    def keep_as_holder(self, name: str, record: Record) -> None:
        """Have a tuple on disk if, and only if, the agent that holds it now would."""
        if self._spaces.keeps(name, record.cur):
            self._step.keep(name, record)
        else:
            self._step.forget(name, record)

    def send_on(self, name: str, level: Level, record: Record) -> bool:
        """Let a misplaced tuple go where it is for: to an agent here (it stays), or to a peer."""
        dest = record.dest
        if dest == record.cur:
            return False
        if dest in level.sharers:
            record.cur = dest
            return False
        group = self._host.group
        peer = group.where.get(dest)
        reached = peer is not None and self._shares(group.entries[peer], level, dest)
        if peer is None or not reached or not group.has_room(peer):
            if level.partition is not None:
                self._host.partitioning.unannounced[name] = None  # it is a stray here
            return False
        self._step.forget(name, record)
        self._host.group.give(peer, Migrated(name, level.law, row_of(record)))
        return True

    def move_home(self, level: Level, record: Record) -> None:
        """The agent that a misplaced tuple is for has come: it holds the tuple from now on."""
        if record.order <= 0:  # a listener took it as another one came home
            return
        # Before the step: a listener may take the tuple in it, and that is written down after.
        if self._spaces.keeps(level.name, record.dest):
            record.kept = True
            row = msgspec.structs.replace(row_of(record), cur=record.dest)
            self._step.write_down(TuplePut(level.name, row))
        else:
            self._step.forget(level.name, record)
        outcomes = level.space.relocate(record, record.dest, now=self._step.now)
        self._host.outcomes.happened(level.name, level.space, outcomes)

    def place(self, name: str, law: str, record: Record) -> None:
        """Put a tuple where its holder is; into limbo when nobody knows where that is."""
        host = self._host
        holder = self._spaces.residents.get(record.cur)
        interface = self._spaces.interface(record.cur, name)
        if holder is not None and interface is not None:
            space = self._spaces.space_of(interface)
            space.make_room(1)
            self.put(holder, interface, record, MOVED)
            return
        peer = host.group.where.get(record.cur)
        if peer is not None:
            self._step.forget(name, record)
            host.group.give(peer, Handed(name, law, row_of(record)))
            return
        self._step.keep(name, record)
        self.keep_in_limbo(name, law, record)

    def owes(self) -> list[str]:
        """The agents that there are tuples for, which they do not hold, or hold from elsewhere."""
        levels = self._spaces.levels.values()
        return [*[dest for level in levels for dest in level.space.misplaced()], *self._limbo]

    def respread(self) -> None:
        for peer in self._host.group.entries:
            self.relieved(peer)

    def relieved(self, peer: str) -> None:
        self.ship(peer, self._host.group.entries[peer])

    def ship(self, peer: str, lines: Directory) -> None:
        """Send a peer every tuple that is for its agents, or held by them."""
        for level in self._spaces.levels.values():
            for dest in level.space.misplaced():
                if self._shares(lines, level, dest):
                    self._ship_to(peer, level, dest)
        for agent in [agent for agent in self._limbo if lines.has_agent(agent)]:
            self._hand_to(peer, agent)

    def followed(self, peer: str, news: DirectoryChanged, spaces: Iterable[str]) -> None:
        """Send a peer what is for the agents that have come there, or held by them."""
        for one in news.shared:
            level = self._spaces.levels.get(one.space)
            if level is not None and level.tie == (one.law, one.ontology):
                self._ship_to(peer, level, one.agent)
        for agent in news.came:
            self._hand_to(peer, agent)

    @staticmethod
    def _shares(lines: Directory, level: Level, agent: str) -> bool:
        """Whether an agent of a peer shares what is a host-level space here."""
        return lines.shares(level.name, level.law, agent, ontology=level.ontology)

    def _ship_to(self, peer: str, level: Level, dest: str) -> None:
        if is_keeper(dest):
            self._host.partitioning.ship(level, dest)
            return
        for record in level.space.misplaced_for(dest):
            if not self._host.group.has_room(peer):
                return
            self.ship_one(peer, level, record)

    def ship_one(self, peer: str, level: Level, record: Record) -> None:
        """Send a peer a tuple that lies here."""
        level.space.remove(record)
        self._step.forget(level.name, record)
        self._host.group.give(peer, Migrated(level.name, level.law, row_of(record)))

    def _hand_to(self, peer: str, agent: str) -> None:
        host = self._host
        for name, law, record in self._limbo.pop(agent, []):
            self._step.forget(name, record)
            host.group.give(peer, Handed(name, law, row_of(record)))

    def migrated(self, peer: str, what: Migrated) -> None:
        """A tuple came for an agent here; back it goes when the agent is here no more."""
        level = self._spaces.levels.get(what.space)
        row = what.row
        if level is None or level.law != what.law or row.dest not in level.sharers:
            self._host.group.give(peer, Returned(what.space, what.law, row))
            return
        record = record_of(row)
        record.cur = record.dest
        self.place(what.space, what.law, record)

    def returned(self, peer: str, what: Returned) -> None:
        """A tuple that was given comes back to its holder."""
        self.place(what.space, what.law, record_of(what.row))

    def handed(self, peer: str, what: Handed) -> None:
        """A tuple follows its holder here."""
        self.place(what.space, what.law, record_of(what.row))

    def expired(self, name: str, record: Record) -> None:
        """A tuple's time is over."""
        self._step.forget(name, record)
        self._step.trace(EXPIRED, name, record, record.cur)
        self._step.note("expired", space=name, tuple=_written(record))

    def died(self, name: str, record: Record) -> None:
        """A tuple came back from a lease once too often: to the dead letters of its holder."""
        host = self._host
        self._step.forget(name, record)
        holder = self._spaces.residents.get(record.cur)
        interface = self._spaces.interface(record.cur, name)
        law = interface.law if interface is not None else ""
        if holder is not None and interface is not None and name + DEAD not in holder.spaces:
            tie = interface.law, untied(interface.ontology)[0]  # dead letters stay where they are
            host.holding.make_interface(holder, name + DEAD, tie, durable=interface.durable)
            if interface.shared and host.holding.fits(name + DEAD, tie):
                host.holding.share(holder, (name + DEAD,), shared=True)
        facts = {"tuple": _written(record), "deliveries": record.deliveries}
        self._step.note("dead-letter", space=name, **facts)
        record.deliveries = 0
        self.place(name + DEAD, law, record)

    def came_back(self, name: str, space: Space, record: Record) -> None:
        """A lent tuple lies in its space again; its holder may have left meanwhile."""
        holder = self._spaces.residents.get(record.cur)
        interface = self._spaces.interface(record.cur, name)
        level = self._spaces.levels.get(name)
        if level is not None and level.space is space and level.partition is not None:
            self._host.partitioning.aim_again(level, record)  # its home may be another by now
        if holder is None or interface is None or (space is interface.private) == interface.shared:
            law = self._spaces.levels[name].law if name in self._spaces.levels else ""
            space.remove(record)
            self._step.forget(name, record)
            self.place(name, law, record)
        elif interface.shared and record.cur != record.dest:
            space.remove(record)  # whom it is for may have come meanwhile
            self.put(holder, interface, record)
        elif interface.durable:
            self._step.keep(name, record)


def _written(record: Record) -> str:
    """A tuple's id as it is written everywhere, `ann@ward#17`."""
    return f"{record.writer}#{record.count}"
