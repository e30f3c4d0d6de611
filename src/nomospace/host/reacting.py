"""Reactions: strong ones in the step that brings the tuple, weak ones across the group.

A strong reaction watches one host or one agent, and is active only while that is this host (or on
it); elsewhere it sleeps until its agent comes there (LIME 2.2.4). Its listener runs inside the
space's step.

A weak reaction has a watchdog here and at every engaged host that shares the space; each tells of
the tuples it meets, and the reaction fires for those it has not met. Watchdogs come and go with
the group; what a reaction has met stays with it, wherever its agent goes, so each tuple fires it
once however often tuples, agents and hosts move (LIME 4.2, Figure 7). A watchdog is sent what the
reaction has met, so that it need not tell it again.

A reaction that is disabled and enabled forgets, and is a generation of its own: what watchdogs of
an older one still tell is not heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.calls import problems, requests
from nomospace.calls.answers import Found, Listed
from nomospace.errors import NomospaceError
from nomospace.host.calls import Call
from nomospace.host.effects import Fire
from nomospace.host.index import Index
from nomospace.host.linda import firing_of
from nomospace.host.looking import Scan
from nomospace.host.operations import Carried, Firing, Op, Registered, check_meaning, check_sets
from nomospace.host.part import GroupFollower
from nomospace.host.residents import SYSTEM, Interface, Resident, check_template, record_of, row_of
from nomospace.host.shares import TooManyReactions
from nomospace.protocols.spaces import DirectoryChanged, Key, Reacted, ReactWatch, UnreactWatch
from nomospace.space import Reaction, Record, SeenIds, Space
from nomospace.terms import Term
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.host.operations import AskManagers
    from nomospace.host.ports import HostParts
    from nomospace.host.residents import Level
    from nomospace.protocols.spaces import Fetch

INSIDE_FROM: Final = 1 << 62
"""Calls that listeners make have numbers from here on; they are answered inside the step."""


class Reacting(GroupFollower):
    """The reactions of one host's agents, and the watchdogs it keeps for other hosts."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._registered: dict[str, Registered] = {}
        self._of_agent: Index[Registered] = Index()
        self._on_space: Index[Registered] = Index()
        self._at_agent: Index[Registered] = Index()  # those for what one agent holds
        self._watchdogs: dict[tuple[str, Key], tuple[Level, str, Term]] = {}
        self._next = 1
        self._next_inside = INSIDE_FROM

    # -- the agents' calls -----------------------------------------------------------------

    def react(self, op: int, resident: Resident, request: requests.React) -> None:
        """Register a reaction, under the law of its space if it has one."""
        check(request)
        if request.space == SYSTEM:
            register = partial(self.register, op, resident, "", request)
            self._host.looking.in_pieces(resident.id, self._host.system.fill, register, op)
            return
        interface = resident.interface(request.space)
        if request.template.meant:
            check_meaning(request.template, interface)
        check_template(interface, request.template)
        if request.sets is not None and interface.engine:
            raise problems.NotInMemory(space=request.space, what="sets of tuples were reacted to")
        if interface.law:
            self._host.governed.submit(op, resident, interface, request)
        else:
            self.register(op, resident, "", request)

    def register(
        self, op: int, resident: Resident, law: str, request: requests.React, message: Term = None
    ) -> None:
        """Register a reaction that no law stands against any more."""
        host = self._host
        share = self._step.shares.agent_reactions
        if self._of_agent.count(resident.id) >= share:
            raise TooManyReactions(
                what=f"the number of reactions of {resident.id}",
                limit=share,
                advice="remove some, or let one with a wider template do the work of many",
            )
        host.looking.watch(resident.id, request.template.price)
        host.looking.unwatch(resident.id, request.template.price)  # it may; `_add` counts it
        id = f"{resident.id}#{self._step.name}.{self._step.life}.{self._next}"
        self._next += 1
        one = Registered(id, resident.id, law, request, message)
        self._add(one)
        self._step.answer(op, id)
        self._spread(one)

    def _add(self, one: Registered) -> None:
        self._host.looking.watch(one.agent, one.request.template.price, check=False)
        self._registered[one.id] = one
        self._of_agent.add(one.agent, one.id, one)
        self._on_space.add(one.request.space, one.id, one)
        if "@" in one.request.at:
            self._at_agent.add(one.request.at, one.id, one)

    def adjust(self, op: int, resident: Resident, request: requests.Adjust) -> None:
        """Disable, enable or remove a reaction; told whether that changed anything."""
        one = self._registered.get(request.reaction)
        if one is None or one.agent != resident.id:
            raise problems.BadReaction(what="id", given=request.reaction)
        if request.what == "remove" and one.law:
            self._host.governed.unreact(op, one, partial(self._removed, op, one))
        else:
            self._step.answer(op, self._adjust(one, request))

    def _removed(self, op: int, one: Registered) -> None:
        self.drop(one)
        self._step.answer(op, True)

    def _adjust(self, one: Registered, request: requests.Adjust) -> bool:
        if request.what == "remove":
            self.drop(one)
        elif request.what == "disable":
            if not one.enabled:
                return False
            one.enabled = False
            self._withdraw(one)
        elif request.what == "enable":
            if one.enabled:
                return False
            one.enabled = True
            one.seen = SeenIds()
            one.met.clear()
            one.generation += 1
            self._spread(one)
        else:
            raise problems.BadReaction(
                what="adjustment", given=request.what, known=("disable", "enable", "remove")
            )
        return True

    def list_for(self, op: int, resident: Resident, request: requests.Reactions) -> None:
        """Tell an agent its reactions."""
        self._step.answer(op, self.of(resident.id))

    def of(self, agent: str) -> tuple[Listed, ...]:
        """The reactions of an agent, oldest first."""
        return tuple([_listed(one) for one in self._of_agent.of(agent)])

    def find(self, agent: str, space: str, pattern: Term) -> list[Registered]:
        """The governed reactions of an agent on a space through a template."""
        return [
            one
            for one in self._of_agent.of(agent)
            if one.request.space == space and one.request.template.term == pattern
        ]

    def end(self, agent: str, most: int) -> bool:
        """Forget some reactions of an agent; whether there are more."""
        mine = self._of_agent.of(agent)
        for one in mine[:most]:
            self.drop(one)
        return len(mine) > most

    def drop(self, one: Registered) -> None:
        """Forget a reaction, here and everywhere."""
        if self._registered.pop(one.id, None) is not None:
            self._host.looking.unwatch(one.agent, one.request.template.price)
        self._of_agent.drop(one.agent, one.id)
        self._on_space.drop(one.request.space, one.id)
        self._at_agent.drop(one.request.at, one.id)
        self._withdraw(one)

    def inside(self, agent: str, request: requests.Request) -> Any:
        """Carry out what a listener asks, in the running step; raises what went wrong."""
        host = self._host
        self._next_inside += 1
        op = self._next_inside
        with host.looking.uncut(), host.deciding.uncut():
            host.calls.call(Call(op, agent, request))
            host.governing.drain(force=True)
        answer = self._step.answered(op)
        if answer is None:
            with host.deciding.uncut():
                host.seeking.cancel(agent, op, 0, _heed_not)
            self._step.answered(op)
            raise problems.WaitingInListener(what=type(request).__name__.lower())
        if answer.error is not None:
            raise answer.error
        return answer.value

    # -- where a reaction is registered ----------------------------------------------------

    def respread(self) -> None:
        """The group changed: have watchdogs where there may be a match now."""
        self._spread_all(list(self._registered.values()))

    def followed(self, peer: str, news: DirectoryChanged, spaces: Iterable[str]) -> None:
        self.follow(spaces, (*news.went, *news.came))

    def follow(self, spaces: Iterable[str], agents: Iterable[str]) -> None:
        """Do the same for spaces that a peer shares from now on or no more, and agents that moved.

        All other reactions are not looked at: there may be very many.
        """
        concerned = {one.id: one for space in spaces for one in self._on_space.of(space)}
        for agent in agents:
            concerned.update({one.id: one for one in self._at_agent.of(agent)})
        self._spread_all(concerned.values())

    def _spread_all(self, some: Iterable[Registered]) -> None:
        for one in some:
            if self._registered.get(one.id) is one:  # else it fired for good meanwhile
                self._spread(one)

    def rehome(self, agent: str, space: str) -> None:
        """An interface space was shared or parted: its reactions go along."""
        for one in self._of_agent.of(agent):
            if one.request.space == space:
                self._withdraw(one)
                self._spread(one)

    def _home(self, one: Registered) -> Space | None:
        """The space of this host that a reaction watches now, if any."""
        host, request = self._host, one.request
        if request.space == SYSTEM:
            return host.system.looked_at()
        resident = self._spaces.residents.get(one.agent)
        interface: Interface | None = resident.spaces.get(request.space) if resident else None
        if interface is None:
            return None
        at = request.at
        if at and at != self._step.name and at not in self._spaces.residents:
            return None
        return self._spaces.shared(request.space) if interface.shared else interface.private

    def _peers(self, one: Registered) -> dict[str, None]:
        """The peers that should have a watchdog now."""
        host, request = self._host, one.request
        if request.strength == requests.STRONG or request.space == SYSTEM:
            return {}
        resident = self._spaces.residents.get(one.agent)
        if resident is None or not resident.spaces[request.space].shared:
            return {}
        speaks = resident.spaces[request.space].ontology
        only = None
        if not (request.at or request.sets):
            only = host.partitioning.watched(request.space, request.template)
        return {
            peer: None
            for peer, directory in host.group.entries.items()
            if (only is None or peer in only)
            and (request.at in ("", peer) or directory.has_agent(request.at))
            and directory.shares(request.space, one.law, ontology=speaks)
        }

    def _spread(self, one: Registered) -> None:
        if not one.enabled:
            return
        host, request = self._host, one.request
        home = self._home(one)
        if home is not one.home:
            if one.home is not None:
                one.home.unreact(one.id)
            one.home = home
            if home is not None:
                reaction = Reaction(
                    one.id,
                    request.template,
                    request.mode,
                    at=request.at if "@" in request.at else None,
                    dest=request.dest or None,
                    listener=self._listener(one) if request.strength == requests.STRONG else None,
                    seen=one.seen,
                )
                told = home.react(reaction, now=self._step.now, slice=host.looking.slice)
                host.outcomes.happened(request.space, home, told)
                if reaction.search is not None:
                    host.looking.park(Scan(host, one.agent, request.space, home, reaction))
                if self._registered.get(one.id) is not one or not one.enabled:
                    return
        peers = self._peers(one)
        if request.sets is not None:
            self._spread_sets(one, peers)
        for peer in [peer for peer in one.sites if peer not in peers]:
            del one.sites[peer]
            host.group.tell(peer, UnreactWatch(self._key(one)))
        for peer in peers:
            if peer not in one.sites:
                one.sites[peer] = None
                host.group.tell(
                    peer,
                    ReactWatch(
                        self._key(one),
                        request.space,
                        one.law,
                        one.agent,
                        request.template.term,
                        request.mode,
                        request.at if "@" in request.at else "",
                        request.dest,
                        one.seen.spans(),
                        one.message,
                    ),
                )

    def _spread_sets(self, one: Registered, peers: dict[str, None]) -> None:
        """Look for sets where the space is shared."""
        here = one.home is not None and one.home is self._spaces.shared(one.request.space)
        sites = {self._step.name: None} if here else {}
        sites.update(peers)
        if one.sets is None and sites:
            self._next += 1
            one.sets = Op(-self._next, 0, one.agent, one.law, _seek_of(one.request))
            one.sets.fires = partial(self._met, one)
        if one.sets is not None and sites:
            self._host.collecting.spread(one.sets, sites)
        elif one.sets is not None:
            self._host.collecting.leave(one.sets)

    def _met(self, one: Registered, found: Found | NomospaceError, ask: AskManagers | None) -> None:
        """Tuples that answer together are there; or too many, and the reaction is disabled."""
        if isinstance(found, NomospaceError):
            self._step.note("reaction-stopped", agent=one.agent, reaction=one.id, why=str(found))
            one.enabled = False
            self._withdraw(one)
        elif one.enabled and one.meet(found.members):
            if ask is None:
                self._tell(one, found)
            else:
                then = partial(self._released, one, found)
                ask(firing_of(one.message, found), self._key(one), then)

    def _released(self, one: Registered, found: Found, message: Term, again: bool) -> None:
        """Managers have let a firing go, or one has kept it, or it may be tried `again`."""
        if again:
            one.part(found.members)
        elif message is not None and one.enabled and self._registered.get(one.id) is one:
            self._host.governed.react_arrived(one, message, found)

    def let_go(self, peer: str, body: Fetch) -> Term:
        """Rule on a peer's firing for a set of which tuples lie here; its watch has arrived."""
        assert body.reaction is not None
        known = self._watchdogs.get((peer, body.reaction))
        if known is None or (known[0].law, known[0].space.name) != (body.law, body.space):
            return None
        return self._host.governed.let_go(body.space, body.law, known[1], body.answer)

    def _key(self, one: Registered) -> Key:
        return (self._step.life, one.id, one.generation)

    def _withdraw(self, one: Registered) -> None:
        if one.home is not None:
            one.home.unreact(one.id)
            one.home = None
        if one.sets is not None:
            self._host.collecting.leave(one.sets)
        for peer in one.sites:
            self._host.group.tell(peer, UnreactWatch(self._key(one)))
        one.sites.clear()

    # -- firing ----------------------------------------------------------------------------

    def _listener(self, one: Registered) -> Callable[[Reaction, Record], None]:
        def listen(_: Reaction, record: Record) -> None:
            found = _found(record)
            if one.law:
                shown = self._host.governed.shown(one, found)
                if shown is None:
                    return
                found = shown
            self._count(one)
            if one.request.listener is not None:
                ask = partial(self.inside, one.agent)
                one.request.listener(Firing(ask, one.request.space, one.id, found))

        return listen

    def _count(self, one: Registered) -> None:
        one.fired += 1
        if one.request.mode == requests.ONCE:
            self.drop(one)

    def fired(self, name: str, reaction: Reaction, record: Record) -> None:
        """A reaction without a listener met a tuple: a weak one of an agent here, or a watchdog."""
        host = self._host
        if isinstance(reaction.id, tuple):
            peer, key = reaction.id
            known = self._watchdogs.get((peer, key))
            if known is None:
                return
            level, agent, message = known
            if level.law:
                firing = firing_of(message, _found(record))
                message = host.governed.let_go(name, level.law, agent, firing)
                if message is None:
                    return
            host.group.tell(peer, Reacted(key, row_of(record), message))
            return
        one = self._registered.get(str(reaction.id))
        if one is not None:
            self._tell(one, _found(record))

    def _tell(self, one: Registered, found: Found) -> None:
        """Let a weak reaction fire for what was met here, if no law stands against it."""
        governed = self._host.governed
        if one.law:
            firing = firing_of(one.message, found)
            shown = governed.let_go(one.request.space, one.law, one.agent, firing)
            if shown is not None:
                governed.react_arrived(one, shown, found)
        else:
            self.fire(one, found)

    def fire(self, one: Registered, found: Found) -> None:
        """Let a weak reaction fire."""
        if self._registered.get(one.id) is not one:
            return
        self._count(one)
        self._step.order(Fire(one.agent, one.id, found))

    def ran_away(self, reaction: Reaction) -> None:
        """A space has stopped a reaction: for its agent it is disabled, and may be enabled."""
        one = self._registered.get(str(reaction.id))
        if one is not None and one.enabled:
            one.enabled = False
            self._withdraw(one)

    # -- watchdogs for other hosts ---------------------------------------------------------

    def hear_react(self, peer: str, body: ReactWatch) -> None:
        """Keep a watchdog for a peer's reaction."""
        host = self._host
        level = self._spaces.levels.get(body.space)
        key = body.key
        if level is None or level.law != body.law or not level.sharers:
            return
        if (peer, key) in self._watchdogs or host.group.doubts(peer, body.law):
            return
        if body.law and host.suspending.postpones(peer, body):
            return
        if body.law and not host.governed.admits(body.space, body.law, body.agent, body.message):
            return
        self._watchdogs[peer, key] = (level, body.agent, body.message)
        spans = {
            writer: [(low, high) for low, high in pairs] for writer, pairs in body.spans.items()
        }
        reaction = Reaction(
            (peer, key),
            Template.from_term(tuple(body.pattern)),
            body.mode,
            at=body.at or None,
            dest=body.dest or None,
            seen=SeenIds(spans),
        )
        told = level.space.react(reaction, now=self._step.now, slice=host.looking.slice)
        host.outcomes.happened(body.space, level.space, told)
        if reaction.search is not None:
            host.looking.park(Scan(host, peer, body.space, level.space, reaction))

    def hear_unreact(self, peer: str, body: UnreactWatch) -> None:
        """Keep a watchdog no longer."""
        self._host.suspending.unwatch(peer, ReactWatch, body.key)
        self._unwatch(peer, body.key)

    def _unwatch(self, peer: str, key: Key) -> None:
        known = self._watchdogs.pop((peer, key), None)
        if known is not None:
            known[0].space.unreact((peer, key))

    def hear_reacted(self, peer: str, body: Reacted) -> None:
        """A watchdog met a tuple."""
        life, id, generation = body.key
        one = self._registered.get(str(id)) if life == self._step.life else None
        if one is None or one.generation != generation or not one.enabled:
            return
        if peer not in one.sites:
            return
        row = body.row
        if (row.writer, row.count) in one.seen:
            return
        if one.request.mode == requests.ONCE_PER_TUPLE:
            one.seen.add((row.writer, row.count))
        found = _found(record_of(row))
        if one.law:
            self._host.governed.react_arrived(one, body.message, found)
        else:
            self.fire(one, found)

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: its watchdogs here go, and those there are gone."""
        for key in [key for key in self._watchdogs if key[0] == peer]:
            self._unwatch(*key)
        for one in self._registered.values():
            one.sites.pop(peer, None)

    # -- moving ----------------------------------------------------------------------------

    def pack(self, agent: str) -> tuple[Carried, ...]:
        """Take an agent's reactions out, with what they have met."""
        carried: list[Carried] = []
        for one in self._of_agent.of(agent):
            self.drop(one)
            carried.append(
                Carried(
                    one.id,
                    one.request,
                    one.enabled,
                    one.fired,
                    one.seen.spans(),
                    one.law,
                    one.message,
                    tuple(one.met),
                )
            )
        return tuple(carried)

    def unpack(self, agent: str, carried: tuple[Any, ...]) -> None:
        """Register an agent's reactions where it has come to."""
        for one in carried:
            space = one.request.space
            if one.law and not self._host.governed.admits(space, one.law, agent, one.message):
                continue  # the space has a manager of its own here, and it says no
            here = Registered(one.id, agent, one.law, one.request, one.message)
            here.enabled, here.fired, here.seen = one.enabled, one.fired, SeenIds(one.spans)
            here.met = {tuple([(id[0], id[1]) for id in ids]): None for ids in one.met}
            self._add(here)
            self._spread(here)


def check(request: requests.React) -> None:
    """Refuse a reaction that cannot be."""
    if request.strength == requests.STRONG and not request.at and request.space != SYSTEM:
        raise problems.UnboundStrong
    if request.dest and "@" not in request.dest:
        raise problems.NotAnAgent(given=request.dest)
    if request.sets is not None:
        if request.strength == requests.STRONG or request.space == SYSTEM:
            raise problems.BadReaction(
                what="strength to sets", given=request.strength, known=(requests.WEAK,)
            )
        check_sets(_seek_of(request))


def _seek_of(request: requests.React) -> requests.Seek:
    """What a reaction asks of several tuples together: all sets, whatever answers alone."""
    assert request.sets is not None
    sets = msgspec.structs.replace(request.sets, correlate="always")
    space, template, at, dest = request.space, request.template, request.at, request.dest
    return requests.Seek(space, requests.READ, template, at, dest, sets=sets)


def _listed(one: Registered) -> Listed:
    """A reaction as its agent sees it."""
    its = one.request
    where = (its.space, its.template, its.mode, its.strength, its.at, its.dest)
    return Listed(one.id, *where, one.enabled, one.fired)


def _heed_not(called_off: bool) -> None:
    """It does not matter whether it was."""


def _found(record: Record) -> Found:
    return Found(record.fields, record.writer, record.count, record.cur, record.deliveries)
