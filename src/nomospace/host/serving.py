"""What a host does for the operations of other hosts' agents; `claiming` is the other end.

A waiting operation is watched for with a waiter of kind `OFFER`: it is told of a match, the tuple
stays free, and the watch sleeps until the claim comes. Giving is one step: the tuple leaves the
space and becomes a transfer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from nomospace.calls.problems import CorrelationTooDear, TooManyFound
from nomospace.errors import LimitReached, NomospaceError
from nomospace.host.effects import TAKEN
from nomospace.host.linda import answer_of
from nomospace.host.operations import (
    READ_MAX,
    TAKEN_MAX,
    Chosen,
    Look,
    check_found,
    chosen,
    found_of,
    gathered_of,
)
from nomospace.host.part import GroupFollower
from nomospace.host.residents import row_of
from nomospace.protocols import spaces as frames
from nomospace.protocols.transfers import Transfer
from nomospace.space import OFFER, Record, Search, SetQuestion as SetsAsk, Slice, Space, Unfinished
from nomospace.space.asking import in_scope
from nomospace.space.search import FIRST_UNITS_MAX
from nomospace.terms import Term
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts
    from nomospace.host.residents import Level

WATCHES_MAX: Final = 1_000_000
"""How many operations of other hosts may be watched for."""


class Watched:
    """An operation of another host that is watched for here."""

    __slots__ = ("level", "look", "template", "watch")

    def __init__(self, level: Level, template: Template, watch: frames.Watch) -> None:
        self.level = level
        self.template = template
        self.watch = watch
        self.look: Look | None = None


class Serving(GroupFollower):
    """The operations of other hosts that are watched for and served here."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._watched: dict[tuple[str, frames.Key], Watched] = {}
        self._asked: dict[tuple[str, frames.Key], Look] = {}

    def _level(self, peer: str, space: str, law: str) -> Level | None:
        level = self._spaces.levels.get(space)
        if level is None or level.law != law or not level.sharers:
            return None
        return None if self._host.group.doubts(peer, law) else level

    def hear_watch(self, peer: str, body: frames.Watch) -> None:
        """Watch for an operation of another host."""
        host = self._host
        level = self._level(peer, body.space, body.law)
        if level is None or len(self._watched) >= WATCHES_MAX:
            return
        if body.law and host.suspending.postpones(peer, body):
            return
        template = Template.from_term(tuple(body.pattern))
        if body.law and not host.governed.admits(body.space, body.law, body.agent, body.message):
            return
        host.digests.watched(peer, level, template)
        ticket = (peer, body.key)
        if ticket in self._watched:
            return
        watched = self._watched[ticket] = Watched(level, template, body)
        at, dest = body.at or None, body.dest or None
        level.space.wait(ticket, template, OFFER, at=at, dest=dest)
        self._look(ticket, watched)

    def look_again(self, law: str) -> None:
        """A law rules again: offer what it may have kept while it was suspended."""
        for ticket, watched in list(self._watched.items()):
            if watched.watch.law == law and watched.level.space.is_armed(ticket):
                self._look(ticket, watched)

    def _look(
        self, ticket: tuple[str, frames.Key], watched: Watched, but: frames.Id | None = None
    ) -> None:
        """Offer what there is for a watch that waits, but not one tuple."""
        space, watch = watched.level.space, watched.watch
        at, dest = watch.at or None, watch.dest or None
        host = self._host
        try:
            record = space.find(
                watched.template, at=at, dest=dest, now=self._step.now, slice=host.looking.slice
            )
            self._found(ticket, watched, but, [] if record is None else [record])
        except Unfinished as cut:
            self._unpark(watched)
            found = partial(self._found, ticket, watched, but)
            failed = partial(self.overran, ticket)
            watched.look = host.looking.park(Look(ticket[0], space, cut.search, found, failed))
        except LimitReached as error:
            self.overran(ticket, error)

    def _unpark(self, watched: Watched) -> None:
        look, watched.look = watched.look, None
        if look is not None:
            self._host.looking.drop(look)

    def _found(
        self,
        ticket: tuple[str, frames.Key],
        watched: Watched,
        but: frames.Id | None,
        records: list[Record],
    ) -> None:
        """A search for a watch has come to its end; it may have been told of another meanwhile."""
        watched.look = None
        if records and records[0].id != but and watched.level.space.is_armed(ticket):
            watched.level.space.disarm(ticket)
            self._offer(ticket[0], watched, records[0])

    def overran(self, ticket: tuple[str, frames.Key], error: NomospaceError) -> None:
        """To look for a watch costs too much: whoever waits is told."""
        peer, key = ticket
        self._unwatch(peer, key)
        self._host.group.tell(peer, frames.Shown(key, why=str(error)))

    def woken(self, space: Space, ticket: tuple[str, frames.Key], record: Record) -> None:
        """A space has a tuple for a watch."""
        watched = self._watched.get(ticket)
        if watched is None:
            return
        if space.get(record.id) is record:
            self._offer(ticket[0], watched, record)
        else:  # whoever was woken before took it, or it went home
            space.rearm(ticket)
            self._look(ticket, watched)

    def _offer(self, peer: str, watched: Watched, record: Record) -> None:
        """Tell a peer of a tuple: offer it to a take, or give it at once, show it to a read."""
        watch = watched.watch
        if watch.takes and not watch.sole:
            self._host.group.tell(peer, frames.TupleOffer(watch.key, record.id))
        elif not self._give(peer, watched, record):  # the watch goes on for the next to come
            watched.level.space.rearm((peer, watch.key))

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: nothing is watched for it any more."""
        self._host.suspending.lost(peer)
        for key in [key for key in self._watched if key[0] == peer]:
            self._unwatch(*key)
        for ticket in [ticket for ticket in self._asked if ticket[0] == peer]:
            self._host.looking.drop(self._asked.pop(ticket))

    def hear_unwatch(self, peer: str, body: frames.Unwatch) -> None:
        """Watch no longer."""
        self._host.suspending.unwatch(peer, frames.Watch, body.key)
        self._unwatch(peer, body.key)

    def _unwatch(self, peer: str, key: frames.Key) -> None:
        watched = self._watched.pop((peer, key), None)
        if watched is not None:
            self._unpark(watched)
            watched.level.space.cancel((peer, key))

    def hear_claim(self, peer: str, body: frames.Claim) -> None:
        """Give an offered tuple, or say that it is gone and watch on."""
        host = self._host
        key = body.key
        watched = self._watched.get((peer, key))
        if watched is None:
            host.group.tell(peer, frames.Denied(key, body.id))
            return
        watch, space = watched.watch, watched.level.space
        record = space.get(body.id)
        if (
            record is not None
            and not 0 < record.expires <= self._step.now
            and in_scope(record, (watch.at, watch.dest))  # else it has moved since it was offered
            and self._give(peer, watched, record)
        ):
            return
        host.group.tell(peer, frames.Denied(key, body.id))
        space.rearm((peer, key))
        self._look((peer, key), watched, but=body.id)

    def _give(self, peer: str, watched: Watched, record: Record) -> bool:
        """Give or show a tuple for a watch, which is over then; false if a law keeps it."""
        watch, level, message = watched.watch, watched.level, None
        if watch.law:
            answer = answer_of(watch.message, (found_of(record),), all_=False)
            message = self._host.governed.let_go(level.name, level.law, watch.agent, answer)
            if message is None:
                return False
        self._unwatch(peer, watch.key)
        if watch.takes:
            self._hand_over(peer, watch.key, watch, level.space, [record], message)
        else:
            self._host.group.tell(peer, frames.Shown(watch.key, (row_of(record),), message))
        return True

    def let_go(self, peer: str, body: frames.Fetch) -> Term:
        """Rule on a set that a peer collects, for an operation that has arrived here as well."""
        if body.reaction is not None:
            return self._host.reacting.let_go(peer, body)
        watched = self._watched.get((peer, (*body.key[:2], 0)))
        if watched is None or (watched.watch.space, watched.watch.law) != (body.space, body.law):
            return None
        return self._host.governed.let_go(body.space, body.law, watched.watch.agent, body.answer)

    def hear_ask(self, peer: str, body: frames.Ask) -> None:
        """Read or take at once for another host."""
        host = self._host
        key = body.key
        ticket = peer, key
        level = self._level(peer, body.space, body.law)
        if level is None or (
            body.law and not host.governed.admits(body.space, body.law, body.agent, body.message)
        ):
            host.group.tell(peer, frames.Shown(key))
            return
        template = Template.from_term(tuple(body.pattern))
        found = partial(self._answer, ticket, body, template)
        failed = partial(self._fail, ticket)
        most = TAKEN_MAX if body.takes else READ_MAX
        search = Search(template, body.at or None, body.dest or None, every=body.all, most=most)
        try:
            found(level.space.go_on(search, now=self._step.now, slice=host.looking.slice))
        except Unfinished:
            look = Look(peer, level.space, search, found, failed)
            self._asked[ticket] = host.looking.park(look)
        except LimitReached as error:
            failed(error)

    def _fail(self, ticket: tuple[str, frames.Key], error: NomospaceError) -> None:
        self._asked.pop(ticket, None)
        self._host.group.tell(ticket[0], frames.Shown(ticket[1], why=str(error)))

    def _answer(
        self,
        ticket: tuple[str, frames.Key],
        body: frames.Ask,
        template: Template,
        records: list[Record],
    ) -> None:
        """Answer another host with what was found, in the step in which it was."""
        host, (peer, key) = self._host, ticket
        self._asked.pop(ticket, None)
        level = self._level(peer, body.space, body.law)
        sizes: tuple[int, ...] = ()
        message = None
        if level is None:  # nobody shares it any more
            records = []
        else:
            founds = tuple([found_of(record) for record in records])
            if body.sets is not None:
                ask = SetsAsk(template, *body.sets, (body.at, body.dest))
                sets = self._sets(level.space, body, ask, records)
                sizes = tuple([len(its) for _, its in sets])
                founds += tuple([gathered_of(*one) for one in sets])
                records += [record for _, its in sets for record in its]
            try:
                check_found(founds)
            except TooManyFound as error:
                self._fail(ticket, error)
                return
            if body.law:
                answer = answer_of(body.message, founds, all_=body.all)
                message = host.governed.let_go(level.name, level.law, body.agent, answer)
                if message is None:
                    records, sizes = [], ()
        rows = tuple([row_of(record) for record in records])
        if len(rows) > 1:  # it would be tried for ever; one alone always fits
            whole = Transfer(0, frames.Given(key, body.space, body.law, rows, message, sizes))
            if why := host.group.too_much(whole):
                host.group.tell(peer, frames.Shown(key, why=why))
                return
        if not records or not body.takes:
            host.group.tell(peer, frames.Shown(key, rows, message, "", sizes))
            return
        assert level is not None, "what was found lies there"
        self._hand_over(peer, key, body, level.space, records, message, sizes)

    def _sets(
        self, space: Space, body: frames.Ask, ask: SetsAsk, singles: list[Record]
    ) -> list[Chosen]:
        """The sets that answer, besides what answers alone; no two that are taken overlap."""
        now = self._step.now
        slice = Slice(FIRST_UNITS_MAX)
        try:
            if body.all:
                look = ask.correlate == "always" or not singles
                found = space.sets.gather_all(ask, now=now, slice=slice) if look else []
            else:
                one = None if singles else space.sets.gather(ask, now=now, slice=slice)
                found = [] if one is None else [one]
        except Unfinished:
            raise CorrelationTooDear(limit=FIRST_UNITS_MAX) from None
        return chosen(space, singles, found, takes=body.takes)

    def _hand_over(
        self,
        peer: str,
        key: frames.Key,
        body: frames.Watch | frames.Ask,
        space: Space,
        records: list[Record],
        message: Term,
        sizes: tuple[int, ...] = (),
    ) -> None:
        """Lend tuples to a peer's agent, or give them for good: removed and sent in one step."""
        host = self._host
        if body.lease_us:
            leases = tuple(
                [
                    host.lending.lend(body.space, space, (r,), body.lease_us, body.agent)
                    for r in records
                ]
            )
            rows = tuple([row_of(record) for record in records])
            host.group.tell(peer, frames.Lent(key, rows, leases, message))
            return
        rows = tuple([row_of(record) for record in records])
        for record in records:
            space.took(record, self._step.now)
            space.remove(record)
            self._step.forget(body.space, record)
            self._step.trace(TAKEN, body.space, record, body.agent)
        host.group.give(peer, frames.Given(key, body.space, body.law, rows, message, sizes))
