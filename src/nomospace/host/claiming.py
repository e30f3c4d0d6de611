"""What passes between hosts for the reads and takes of this host's agents, as they see it.

An operation that does not wait is asked of one other host, and over when that answers. For one that
waits there come offers (`seeking` says how), of which one at a time is claimed:

    asking host                      host with a match
    <---------- Offer -------------  there is one; it stays free
    ----------- Claim ------------>  still there?
    <-- Transfer(Given) / Denied --  removed and given in one step; or: somebody was quicker

Further offers are kept, and while a claim is out the waiter here sleeps, so that no tuple is taken
in vain. Should the operation be over when its tuple comes (it was called off, or contact broke and
it was served elsewhere), the tuple goes back as a transfer. `serving` is the other end.

Of a set that another host found only the tuples travel. What it answers with, and why, is found
again here (`composed`): by this host's reading, which is that of every host that shares the space.

Answers to operations with tuples of this host: read, taken or lent, under law or without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter

from nomospace.calls.answers import Found
from nomospace.calls.problems import Busy, TooManyFound, TooMuch
from nomospace.calls.requests import BULK, WAITING
from nomospace.errors import NomospaceError
from nomospace.host.effects import TAKEN
from nomospace.host.operations import Op, ask_of, check_found, chosen, found_of, gathered_of
from nomospace.host.part import HostPart
from nomospace.host.residents import SYSTEM, record_of, row_of
from nomospace.meaning.ontology import Ontology
from nomospace.protocols import spaces as frames
from nomospace.space import Gathering, Record, SetQuestion, SetSearch, Slice, Space
from nomospace.space.search import FIRST_UNITS_MAX
from nomospace.terms import Term


class Claiming(HostPart):
    """What other hosts are asked for, offer and give."""

    def ask(self, site: str, one: Op) -> None:
        """Ask another host for what it has now; the operation is over when it answers."""
        host, seeking = self._host, self._host.seeking
        seek, sets = one.seek, one.seek.sets
        if one.law and host.group.doubts(site, one.law):
            self._host.answering.nothing(one)
            return
        if not host.group.has_room(site):
            raise Busy(what=f"what waits for host {site}", limit=100_000)
        one.asked = site
        seeking.open(one)
        host.group.tell(
            site,
            frames.Ask(
                seeking.key(one),
                seek.space,
                one.law,
                one.agent,
                one.takes,
                seek.how in BULK,
                seek.template.term,
                seek.at if "@" in seek.at else "",
                seek.dest,
                seek.lease_us,
                one.message,
                None if sets is None else (sets.correlate, sets.key, sets.max_set),
            ),
        )

    def ask_next(self, one: Op, founds: tuple[Found, ...] = ()) -> bool:
        """Look at the next host that may have what an operation asks for; false if none is left.

        So goes one that does not wait and says the key of a partitioned space, from the home on.
        """
        seeking = self._host.seeking
        for place, site in enumerate(one.rest, 1):
            here = site == self._step.name
            if not here and site not in self._host.group.entries:
                continue
            known = (*one.known, *founds)
            again = Op(0, one.op, one.agent, one.law, one.seek, one.call)
            again.rest, again.known = one.rest[place:], known
            if here:
                seeking.look_in(again, self._spaces.shared(one.seek.space))
                return True
            again.number = seeking.number()
            try:
                self.ask(site, again)
            except NomospaceError as error:
                seeking.give_up(again, error)
            return True
        return False

    def answer_all(self, one: Op, founds: tuple[Found, ...]) -> None:
        """Answer with all that was found; what is read may lie at further hosts too."""
        if one.rest and not one.takes and self.ask_next(one, founds):
            return
        found = {(each.writer, each.count): each for each in (*one.known, *founds)}
        self._step.answer(one.op, tuple(found.values()) if one.known else founds)

    def hear_shown(self, peer: str, body: frames.Shown) -> None:
        """A peer shows what it found, or that it found nothing."""
        seeking = self._host.seeking
        if body.key[2]:
            self._host.collecting.let_go(peer, body)
            return
        one = seeking.known(body.key)
        if one is None or not one.concerns(peer):
            return
        one.sites.pop(peer, None)
        if body.why:
            seeking.refuse(one, TooMuch(host=peer, why=body.why))
            return
        seeking.close(one)
        founds, _ = self._told(one, body.rows, body.sets)
        self._answer(one, body.message, founds)

    def hear_offer(self, peer: str, body: frames.TupleOffer) -> None:
        """A peer has a tuple for a waiting take."""
        seeking = self._host.seeking
        one = seeking.known(body.key)
        if one is None or peer not in one.sites:
            return
        one.offers.append((peer, body.id))
        if one.claim is None:
            self.claim_next(one)

    def occupy(self, one: Op, id: frames.Id) -> None:
        """A set is collected for an operation: like a claim of this host's, nothing goes beside."""
        seeking = self._host.seeking
        one.claim = (self._step.name, id)
        if self._step.name in one.sites:
            seeking.waiting_space(one).disarm(one.number)

    def resume_wait(self, one: Op) -> None:
        """Nothing came of what an operation was busy with: it waits on, if it is not over."""
        if self._host.seeking.goes_on(one):
            self.claim_next(one)

    def claim_next(self, one: Op) -> None:
        """Claim the next offer; without one, wait here again."""
        host, seeking = self._host, self._host.seeking
        one.claim = None
        here = self._step.name in one.sites
        if one.offers:
            one.claim = peer, id = one.offers.popleft()
            if here:
                seeking.waiting_space(one).disarm(one.number)
            host.group.tell(peer, frames.Claim(seeking.key(one), id))
            return
        if one.seek.sets is not None:
            host.collecting.look_again(one)
        if not here:
            return
        space = seeking.waiting_space(one)
        if seeking.attempt(one, space):
            seeking.close(one)
        else:
            space.rearm(one.number)

    def hear_denied(self, peer: str, body: frames.Denied) -> None:
        """Another agent was quicker; the wait goes on."""
        seeking = self._host.seeking
        if body.key[2]:
            self._host.collecting.denied(peer, body)
            return
        one = seeking.known(body.key)
        if one is not None and one.claim == (peer, body.id):
            self.claim_next(one)

    def given(self, peer: str, what: frames.Given) -> None:
        """Tuples come for a take; back they go when it is over."""
        host, seeking = self._host, self._host.seeking
        if what.key[2]:
            host.collecting.given(peer, what)
            return
        one = seeking.known(what.key)
        wanted = (
            one is not None
            and one.takes
            and (peer in (one.asked, one.sole) or (one.claim and one.claim[0] == peer))
            and (not one.law or host.governing.find(one.agent, one.law) is not None)
        )
        if one is None or not wanted:
            for row in what.rows:
                host.group.give(peer, frames.Returned(what.space, what.law, row))
            return
        one.sites.pop(peer, None)
        seeking.close(one)
        message, (founds, unread) = what.message, self._told(one, what.rows, what.sets)
        if unread and one.law:  # what the law has let go is not what there is
            message, founds, unread = None, (), list(what.rows)
        for row in unread:
            host.group.give(peer, frames.Returned(what.space, what.law, row))
        self._answer(one, message, founds)

    def _told(
        self, one: Op, rows: tuple[frames.Row, ...], sizes: tuple[int, ...]
    ) -> tuple[tuple[Found, ...], list[frames.Row]]:
        """What a peer found, as its finder gets it; and the tuples of sets that answer nothing."""
        seeking = self._host.seeking
        singles, sets = apart([record_of(row) for row in rows], sizes)
        founds = [self._host.answering.found(one, record) for record in singles]
        unread: list[frames.Row] = []
        if sets and one.seek.sets is not None:
            ontology = seeking.waiting_space(one).ontology
            read = composed(ontology, ask_of(one.seek), sets)
            for gathering, its in zip(read, sets, strict=True):
                if gathering is None:
                    unread += [row_of(record) for record in its]
                else:
                    by_id = {record.id: record for record in its}
                    founds.append(gathered_of(gathering, [by_id[id] for id in gathering.ids]))
        return tuple(founds), unread

    def hear_lent(self, peer: str, body: frames.Lent) -> None:
        """Tuples come under a lease; what is not wanted any more is given back."""
        host, seeking = self._host, self._host.seeking
        one = seeking.known(body.key)
        if one is None or not one.concerns(peer):
            for lease in body.leases:
                host.group.tell(peer, frames.LeaseSettled(None, lease, False))
            return
        one.sites.pop(peer, None)
        seeking.close(one)
        founds = tuple(
            [
                self._host.answering.found(one, record_of(row), lease)
                for row, lease in zip(body.rows, body.leases, strict=True)
            ]
        )
        if one.law:
            for found in founds:
                host.lending.borrow(found.lease, one.agent, found.fields)
        self._answer(one, body.message, founds)

    def _answer(self, one: Op, message: Term, founds: tuple[Found, ...]) -> None:
        """Tell an agent what was found elsewhere; under a law its controller does."""
        host = self._host
        if not founds and one.rest and self.ask_next(one):
            return
        if one.law:
            host.governed.deliver(one, message, founds)
        elif one.seek.how in BULK:
            self.answer_all(one, founds)
        else:
            self._step.answer(one.op, founds[0] if founds else None)


def apart(rows: Sequence[Record], sizes: Sequence[int]) -> tuple[list[Record], list[list[Record]]]:
    """Tuples that answer alone, and the sets that come after them.

    >>> one, two, three = [Record((number,), "ann@a", number, "", "") for number in (1, 2, 3)]
    >>> singles, sets = apart([one, two, three], [2])
    >>> singles == [one], sets == [[two, three]]
    (True, True)
    """
    first = max(0, len(rows) - sum(sizes))
    return list(rows[:first]), list(_cut(rows[first:], sizes))


def _cut(rows: Sequence[Record], sizes: Sequence[int]) -> Iterator[list[Record]]:
    at = 0
    for size in sizes:
        yield list(rows[at : at + size])
        at += size


def composed(
    ontology: Ontology, ask: SetQuestion, sets: Sequence[Sequence[Record]]
) -> list[Gathering | None]:
    """What each set answers with; nothing for one that does not, as it is read here.

    Nor for any of them where that costs too much to tell.
    """
    from nomospace.space.correlating import Correlating  # the planner with it: on use

    records = {record.id: record for one in sets for record in one}
    correlating = Correlating(ontology)
    for record in records.values():
        correlating.add(record)
    found = correlating.go_on(SetSearch(ask, every=True), Slice(FIRST_UNITS_MAX)) or []
    known = {frozenset(gathering.ids): gathering for gathering in found}
    return [known.get(frozenset([record.id for record in one])) for one in sets]


class LocalAnswers(HostPart):
    """The answers of one host to operations of its agents."""

    def serve(
        self,
        one: Op,
        space: Space,
        records: list[Record],
        sets: Sequence[Gathering] = (),
    ) -> bool:
        """Answer an operation with tuples of this host, or sets of them; false if a law keeps them.

        What is taken leaves in this step: all tuples of a set, or none of them.
        """
        host, seek = self._host, one.seek
        if one.law and host.governing.find(one.agent, one.law) is None:
            return False  # it has quit its community: nobody there could be given the tuple
        founds = tuple([self.found(one, record) for record in records])
        pairs = chosen(space, records, sets, takes=one.takes) if sets else []
        if pairs:
            founds += tuple([gathered_of(*pair) for pair in pairs])
        if seek.how in BULK:
            try:
                check_found(founds)
            except TooManyFound as error:
                host.seeking.give_up(one, error)
                return True
        ruled = host.governed.release(one, founds) if one.law else None
        if ruled is not None and ruled.message is None:
            if seek.how not in WAITING:
                host.governed.keep(one, ruled)
            return False
        if one.takes:
            if seek.lease_us:
                lend = partial(host.lending.lend, seek.space, space)
                us, agent = seek.lease_us, one.agent
                founds = (
                    *[self.found(one, r, lend((r,), us, agent)) for r in records],
                    *[gathered_of(g, its, lend(its, us, agent, g.fields)) for g, its in pairs],
                )
            else:
                for record in chain(records, *map(itemgetter(1), pairs)):
                    space.took(record, self._step.now)
                    space.remove(record)
                    self._step.forget(seek.space, record)
                    self._step.trace(TAKEN, seek.space, record, one.agent)
        if ruled is not None:
            host.governed.deliver(one, ruled.message, founds, ruled.ruling.seq)
        elif seek.how in BULK:
            host.claiming.answer_all(one, founds)
        else:
            self._step.answer(one.op, founds[0])
        return True

    def found(self, one: Op, record: Record, lease: str = "") -> Found:
        """A tuple as its finder gets it, with how it answers where that needs words."""
        if not one.seek.template.meant:
            return found_of(record, lease)
        return found_of(record, lease, self._explained(one, record))

    def _explained(self, one: Op, record: Record) -> str:
        """How a tuple answers: by this host's reading, which is that of every host that shares."""
        seek = one.seek
        if seek.space == SYSTEM:
            return self._host.system.why(seek.template, record.fields)
        interface = self._spaces.interface(one.agent, seek.space)
        return "" if interface is None else interface.private.why(seek.template, record.fields)

    def nothing(self, one: Op) -> None:
        """There is no match where an operation that does not wait has looked."""
        if one.rest and self._host.claiming.ask_next(one):
            return
        if one.law:
            self._host.governed.nothing(one)
        else:
            self._step.answer(one.op, one.known if one.seek.how in BULK else None)
