"""Sets of tuples that lie on several hosts: found in mirrors, collected host by host.

What is seen. While an agent here waits for several tuples together, in a space that other hosts
share too, this host keeps a *mirror* of what they hold there (`mirroring` is their end). The tuples
of all mirrors and of this host are the facts that a set is looked for in (`Wide`), so a waiting
operation is served by the tuple that completes its set, wherever that is written. Mirrors are
bounded (`SEEN_MAX`, `SEEN_BYTES_MAX`); past that, those who wait are told so.

How a set is taken. Its tuples are collected host by host, in the order of the hosts' names:

    asking host                          hosts that hold tuples of the set
    ----------- Fetch(ids) ----------->  still there, all of them?
    <-- Transfer(Given) / Denied ------  removed and given in one step; or: somebody was quicker

What has come is in *escrow*: nobody sees it. Only when all have come is the operation answered, in
one step; for a take on a lease they are then lent from this host, by one lease. If a host denies,
if contact with one is lost, or if the operation ends, all that is in escrow goes back to where its
holders are. Nobody waits for a tuple that another has in escrow, so there is no deadlock; and since
all go through the hosts in one order, of those who are in each other's way one always gets through.

Escrow is on disk as the tuple it is: one of this host as it was all along, one of another as a
tuple whose holder is elsewhere. So after a crash nothing has to be undone. The first lies in its
space again, the second is in limbo and goes to its holder when that one is met (`holding`).

A read is answered from the mirrors. They are what the others last told: of two tuples that it shows
together the one may have gone just before the other came.

A reaction to sets looks in the same facts: at all there are when it is registered and when a host
is met, and then at those that a tuple completes. It fires once for each set, and takes nothing.

Under a law the manager of every host that holds tuples of a set rules on the whole answer, host by
host as they are collected, and each is told what the ones before it have let go. For a read they
are asked in the same way, and nothing is given. A set that one of them keeps is not tried again for
that operation. Sets of this host alone are left to its space, and reactions fire for no others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from nomospace.errors import LimitReached, NomospaceError, Unavailable
from nomospace.host.effects import TAKEN
from nomospace.host.linda import answer_of
from nomospace.host.mirroring import Reflection, Wide
from nomospace.host.operations import Op, ask_of, gathered_of
from nomospace.host.part import GroupFollower
from nomospace.host.residents import record_of
from nomospace.protocols import spaces as frames
from nomospace.space import Gathering, Record, TupleId
from nomospace.space.asking import in_scope
from nomospace.terms import Term

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


SEEN_MAX: Final = 200_000
"""How many tuples of other hosts may be mirrored for one space."""
SEEN_BYTES_MAX: Final = 256 << 20
"""How many bytes their fields may have."""
KEPT_MAX: Final = 1_000
"""How many sets laws may keep from one operation; then it is told so."""
ATTEMPTS_MAX: Final = 10_000
"""How many sets may be under way; then reactions to them are disabled."""
FIRINGS: Final = -(1 << 40)
"""From here down are the numbers of firings whose sets managers are asked about."""
LINGER_US: Final = 10_000_000
"""How long mirrors are kept up when nobody waits: who takes one set often waits for the next."""


class TooManySeen(Unavailable):
    """Other hosts hold more of a space than can be looked through for tuples that belong together.

    `why` says whose limit it is.
    """

    code = "space.too-many-seen"
    words = (
        "sets in space {space!r} cannot be looked for across hosts: {why}; "
        "name your own host with at=, or use a space with fewer objects"
    )
    space: str
    why: str


@dataclass(slots=True, eq=False)
class Attempt:
    """A set that is being collected. `escrow` is what has come, `missing` what was asked for.

    Under a law `answer` is what the managers asked so far have let go, and for a read `escrow` has
    the tuples as they were seen.
    """

    number: int
    wide: Wide
    one: Op
    gathering: Gathering
    escrow: dict[TupleId, Record] = field(default_factory=dict)
    answer: Term = None
    asked: str = ""
    missing: dict[TupleId, None] = field(default_factory=dict)
    broken: bool = False
    reaction: frames.Key | None = None
    then: Callable[[Term, bool], None] | None = None
    """For a reaction: who is told what the managers let go, or that it may be tried again."""
    todo: deque[tuple[str, tuple[frames.Id, ...]]] = field(init=False)

    def __post_init__(self) -> None:
        sites: dict[str, list[frames.Id]] = {}
        for id in self.gathering.ids:
            found = self.wide.find(id)
            assert found is not None, "facts lie somewhere"
            sites.setdefault(found[0], []).append(id)
        self.todo = deque([(site, tuple(ids)) for site, ids in sorted(sites.items())])


class Collecting(GroupFollower):
    """The sets of tuples that operations of this host's agents wait for across hosts."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._wides: dict[tuple[str, str, str], Wide] = {}
        self.timed = self._wides
        self._mirrors: dict[frames.Key, tuple[Wide | None, str]] = {}
        self._attempts: dict[int, Attempt] = {}  # by the number of the operation
        self._next_number = 1

    def _number(self) -> int:
        self._next_number += 1
        return self._next_number - 1

    # -- who waits ---------------------------------------------------------------------------

    def spread(self, one: Op, sites: Mapping[str, None]) -> None:
        """Let an operation wait for sets of what lies at these hosts, and at no others."""
        host, seek = self._host, one.seek
        peers = [site for site in sites if site != self._step.name]
        space = self._spaces.shared(seek.space)
        key_of_wide = seek.space, seek.at, seek.dest
        wide = self._wides.get(key_of_wide)
        if wide is not None and wide.space is not space:  # it was another one of that name
            self._close(wide)
            wide = None
        if wide is None:
            if not peers and one.fires is None:
                return
            scope = ask_of(seek).scope
            wide = self._wides[key_of_wide] = Wide(
                self._step.name, seek.space, seek.at, scope, space
            )
        for peer in [peer for peer in wide.mirrors if peer not in peers]:
            host.group.tell(peer, frames.Unmirror(wide.mirrors[peer].key))
            self._lose(wide, peer)
        for peer in peers:
            if peer not in wide.mirrors and host.group.has_room(peer):
                key: frames.Key = (self._step.life, self._number(), 0)
                wide.mirrors[peer] = Reflection(key)
                self._mirrors[key] = (wide, peer)
                host.group.tell(peer, frames.Mirror(key, seek.space, one.law))
        wide.ends_at = None
        if one.number not in wide.ops:
            wide.ops[one.number] = (one, wide.sets.wait(ask_of(seek), one.number, one.number))
            wide.unlooked[one.number] = None

    def leave(self, one: Op) -> None:
        """An operation is over: what was collected for it goes back."""
        attempt = self._attempts.get(one.number)
        if attempt is not None:
            self._undo(attempt)
        wide = self._wides.get((one.seek.space, one.seek.at, one.seek.dest))
        known = wide.ops.pop(one.number, None) if wide is not None else None
        if wide is None or known is None:
            return
        wide.unlooked.pop(one.number, None)
        wide.sets.cancel(known[1], one.number)
        if not wide.ops:
            wide.ends_at = self._step.now + LINGER_US

    def next_deadline(self) -> int | None:
        """When mirrors that nobody needs are given up next."""
        return min([w.ends_at for w in self._wides.values() if w.ends_at is not None], default=None)

    def tick(self) -> None:
        """Give up mirrors that nobody has needed for a while."""
        for wide in list(self._wides.values()):
            if wide.ends_at is not None and wide.ends_at <= self._step.now:
                self._close(wide)

    def _close(self, wide: Wide) -> None:
        """See no further than this host."""
        del self._wides[wide.name, wide.at, wide.scope[1]]
        for peer, mirror in wide.mirrors.items():
            del self._mirrors[mirror.key]
            self._host.group.tell(peer, frames.Unmirror(mirror.key))
        if wide.local is not None:
            wide.local.ignore(wide)

    def look_again(self, one: Op) -> None:
        """An operation is free again, and has not looked at what came meanwhile."""
        wide = self._wides.get((one.seek.space, one.seek.at, one.seek.dest))
        if wide is not None and one.number in wide.ops:
            wide.unlooked[one.number] = None

    # -- what is seen ------------------------------------------------------------------------

    def hear_mirrored(self, peer: str, body: frames.Mirrored) -> None:
        """A peer shows or tells which tuples it has."""
        wide, known = self._mirrors.get(body.key, (None, ""))
        if wide is None or known != peer:
            return
        mirror = wide.mirrors[peer]
        if body.why:
            self._fail(wide, TooManySeen(space=wide.name, why=f"of host {peer}, {body.why}"))
            return
        for writer, count in body.gone:
            wide.forget(mirror, (writer, count))
        wide.show(mirror, [record_of(row) for row in body.rows], more=body.more)
        if wide.seen > SEEN_MAX:
            why = f"other hosts have more than {SEEN_MAX:,} tuples"
            self._fail(wide, TooManySeen(space=wide.name, why=why))
        elif wide.bytes > SEEN_BYTES_MAX:
            why = f"what other hosts have is more than {SEEN_BYTES_MAX:,} bytes"
            self._fail(wide, TooManySeen(space=wide.name, why=why))

    def _fail(self, wide: Wide, error: NomospaceError) -> None:
        for one, _ in list(wide.ops.values()):
            self._refuse(one, error)
        self._close(wide)

    def _refuse(self, one: Op, error: NomospaceError) -> None:
        if one.fires is not None:
            one.fires(error, None)
        else:
            self._host.seeking.refuse(one, error)

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: nothing is seen of it, and what was asked of it is over."""
        for wide in self._wides.values():
            if peer in wide.mirrors:
                self._lose(wide, peer)

    def _lose(self, wide: Wide, peer: str) -> None:
        mirror = wide.mirrors.pop(peer)
        del self._mirrors[mirror.key]
        for id in list(mirror.rows):
            wide.forget(mirror, id)
        for attempt in self._attempts.values():
            if attempt.wide is wide and peer in (
                attempt.asked,
                *[site for site, _ in attempt.todo],
            ):
                attempt.broken = True  # undone when the group stands still

    # -- finding -----------------------------------------------------------------------------

    def settle(self) -> None:
        """End a step: serve those whose set is there now."""
        while self._wides:
            broken = [attempt for attempt in self._attempts.values() if attempt.broken]
            for attempt in broken:
                if self._attempts.get(attempt.one.number) is attempt:
                    self._give_up(attempt)
            restless = [one for one in self._wides.values() if one.fresh or one.unlooked]
            for wide in restless:
                self._look(wide)
            if not broken and not restless:
                return

    def _look(self, wide: Wide) -> None:
        """Let those who wait look at what is new, and those who are new at everything."""
        fresh, wide.fresh = wide.fresh, {}
        unlooked, wide.unlooked = wide.unlooked, {}
        for number in unlooked:
            if number in wide.ops:
                one = wide.ops[number][0]
                if one.fires is not None:
                    self._fire(wide, one, partial(wide.sets.every, ask_of(one.seek)))
                else:
                    self._try(wide, one, partial(wide.sets.first, ask_of(one.seek)))
        for id, record in fresh.items():
            if wide.known.get(id) is not record:
                continue
            for group in list(wide.sets.touched(record)):
                for number in list(group.waiters):
                    if id in wide.known and number in wide.ops and number not in unlooked:
                        one = wide.ops[number][0]
                        if one.fires is not None:
                            self._fire(wide, one, partial(wide.sets.completions, group, record))
                        else:
                            self._try(wide, one, partial(wide.sets.completed, group, record))

    def _fire(self, wide: Wide, one: Op, ask: Callable[[], list[Gathering]]) -> None:
        """Tell a reaction of sets that are there now."""
        assert one.fires is not None
        try:
            found = ask()
        except LimitReached as error:
            one.fires(error, None)
            return
        for each in found:
            records = [wide.known[id] for id in each.ids if id in wide.known]
            late = any(0 < record.expires <= self._step.now for record in records)
            if one.number in wide.ops and not late and len(records) == len(each.ids):
                elsewhere = one.law and not wide.is_here(each.ids)
                managers = partial(self._ask_managers, wide, one, each) if elsewhere else None
                one.fires(gathered_of(each, records), managers)

    def _ask_managers(
        self,
        wide: Wide,
        one: Op,
        found: Gathering,
        answer: Term,
        reaction: frames.Key,
        then: Callable[[Term, bool], None],
    ) -> None:
        """Have the managers of all hosts that hold tuples of a set rule on a reaction's firing."""
        assert one.fires is not None
        if len(self._attempts) >= ATTEMPTS_MAX:
            why = f"managers are asked about {ATTEMPTS_MAX:,} of them"
            one.fires(TooManySeen(space=wide.name, why=why), None)
            return
        number = self._number()
        asking = replace(one, number=FIRINGS - number)
        attempt = Attempt(number, wide, asking, found, answer=answer, reaction=reaction, then=then)
        self._attempts[attempt.one.number] = attempt
        self._advance(attempt)

    def _try(self, wide: Wide, one: Op, ask: Callable[[], Gathering | None]) -> None:
        """Serve an operation with the set that is found for it, unless it is busy."""
        if one.claim is not None:
            return
        try:
            while (found := ask()) is not None:
                late = [id for id in found.ids if 0 < wide.known[id].expires <= self._step.now]
                for id in late:
                    wide.leave_out(id)
                if not late:
                    break
        except LimitReached as error:
            self._refuse(one, error)
            return
        if found is not None and one.law and self._barred(wide, one, found):
            found = self._another(wide, one)
        if found is None:
            return
        if one.takes or one.law:
            self._begin(wide, one, found)
        else:
            records = [wide.known[id] for id in found.ids]
            self._host.seeking.conclude(one, gathered_of(found, records))

    def _another(self, wide: Wide, one: Op) -> Gathering | None:
        """A set that may be tried for an operation under a law, if it costs not too much to say."""
        with suppress(LimitReached):
            for found in wide.sets.every(ask_of(one.seek)):
                if not self._barred(wide, one, found):
                    return found
        return None

    def _barred(self, wide: Wide, one: Op, found: Gathering) -> bool:
        """Whether a law has kept a set, or it is late, or lies at this host alone."""
        if found.ids in one.kept or wide.is_here(found.ids):
            return True
        return any(0 < wide.known[id].expires <= self._step.now for id in found.ids)

    # -- collecting --------------------------------------------------------------------------

    def _begin(self, wide: Wide, one: Op, found: Gathering) -> None:
        attempt = Attempt(self._number(), wide, one, found)
        self._attempts[one.number] = attempt
        records = {id: wide.known[id] for id in found.ids}
        if one.law:
            answer = gathered_of(found, list(records.values()))
            attempt.answer = answer_of(one.message, (answer,), all_=False)
        if one.takes:
            wide.reserve(found.ids)
        else:
            attempt.escrow = records
        self._host.claiming.occupy(one, found.ids[0])
        self._advance(attempt)

    def _advance(self, attempt: Attempt) -> None:
        """Collect from one host after the other; with all in escrow, answer."""
        host, wide, one = self._host, attempt.wide, attempt.one
        while attempt.todo:
            site, ids = attempt.todo.popleft()
            if site != self._step.name:
                attempt.asked = site
                attempt.missing = dict.fromkeys(ids)
                key = (self._step.life, attempt.one.number, attempt.number)
                law, answer = one.law, attempt.answer
                reaction = attempt.reaction
                fetch = frames.Fetch(key, wide.name, ids, law, answer, one.takes, reaction)
                host.group.tell(site, fetch)
                if one.takes:
                    self._keep(attempt)
                return
            assert wide.local is not None
            found = [wide.local.get(id) for id in ids]
            records = [one for one in found if one is not None and in_scope(one, wide.scope)]
            if len(records) < len(ids):  # somebody was quicker
                self._give_up(attempt)
                return
            if one.law:
                agent, answer = one.agent, attempt.answer
                attempt.answer = host.governed.let_go(wide.name, one.law, agent, answer)
                if self._attempts.get(one.number) is not attempt:
                    return
                if attempt.answer is None:
                    self._give_up(attempt, kept=True)
                    return
            for record in records if one.takes else ():
                wide.local.took(record, self._step.now)
                wide.local.remove(record)
                attempt.escrow[record.id] = record
        self._finish(attempt)

    def let_go(self, peer: str, body: frames.Shown) -> None:
        """A peer's manager lets a set be read."""
        attempt = self._attempt(peer, body.key)
        if attempt is not None and not attempt.one.takes:
            attempt.answer, attempt.asked = body.message, ""
            self._advance(attempt)

    def _keep(self, attempt: Attempt) -> None:
        """Have what waits in escrow on disk, where its holder would have it."""
        name = attempt.wide.name
        for record in attempt.escrow.values():
            if not record.kept and self._spaces.keeps(name, record.cur):
                self._step.keep(name, record)

    def given(self, peer: str, what: frames.Given) -> None:
        """Tuples of a set come; back they go when it is not collected any more."""
        attempt = self._attempt(peer, what.key)
        ids = [(row.writer, row.count) for row in what.rows]
        records = [record_of(row) for row in what.rows]
        if attempt is not None and not all(in_scope(one, attempt.wide.scope) for one in records):
            self._give_up(attempt)
            attempt = None
        if attempt is None or not all(id in attempt.missing for id in ids):
            for row in what.rows:
                self._host.group.give(peer, frames.Returned(what.space, what.law, row))
            return
        mirror = attempt.wide.mirrors.get(peer)
        for id, record in zip(ids, records, strict=True):
            del attempt.missing[id]
            attempt.escrow[id] = record
            if mirror is not None:
                attempt.wide.forget(mirror, id)
        attempt.answer = what.message
        if attempt.missing:
            self._keep(attempt)
        else:
            attempt.asked = ""
            self._advance(attempt)

    def denied(self, peer: str, body: frames.Denied) -> None:
        """Somebody was quicker, or the law there keeps the set; the wait goes on."""
        attempt = self._attempt(peer, body.key)
        if attempt is not None and body.kept:
            self._give_up(attempt, kept=True)
        elif attempt is not None:
            mirror = attempt.wide.mirrors.get(peer)
            if mirror is not None:
                attempt.wide.forget(mirror, (body.id[0], body.id[1]))
            self._give_up(attempt)

    def _attempt(self, peer: str, key: frames.Key) -> Attempt | None:
        """The attempt for which a peer answers, unless that is over."""
        life, number, which = key
        attempt = self._attempts.get(int(number)) if life == self._step.life else None
        if attempt is None or attempt.number != which or attempt.asked != peer or attempt.broken:
            return None
        return attempt

    def _finish(self, attempt: Attempt) -> None:
        """All have come: answer with the set, in this step."""
        host, one, name = self._host, attempt.one, attempt.wide.name
        if attempt.then is not None:
            self._end(attempt)
            attempt.then(attempt.answer, False)
            return
        if one.law and host.governing.find(one.agent, one.law) is None:
            self._give_up(attempt, kept=True)  # it has quit its community
            return
        self._end(attempt)
        records = [attempt.escrow[id] for id in attempt.gathering.ids]
        us, gathering, lease = one.seek.lease_us, attempt.gathering, ""
        if us:
            space = attempt.wide.space
            lease = host.lending.lend(name, space, records, us, one.agent, gathering.fields)
        else:
            for record in records if one.takes else ():
                self._step.forget(name, record)
                self._step.trace(TAKEN, name, record, one.agent)
        host.seeking.conclude(one, gathered_of(gathering, records, lease), attempt.answer)

    def _give_up(self, attempt: Attempt, *, kept: bool = False) -> None:
        """Not all can be had: give back what has come, and let the operation wait on."""
        one = attempt.one
        self._undo(attempt)
        if attempt.then is not None:
            attempt.then(None, not kept)
            return
        if kept:
            one.kept[attempt.gathering.ids] = None
            if len(one.kept) > KEPT_MAX:
                why = f"laws have kept {KEPT_MAX:,} of them"
                self._refuse(one, TooManySeen(space=attempt.wide.name, why=why))
                return
        self._host.claiming.resume_wait(one)

    def _end(self, attempt: Attempt) -> None:
        del self._attempts[attempt.one.number]
        if attempt.one.takes:
            attempt.wide.release(attempt.gathering.ids)

    def _undo(self, attempt: Attempt) -> None:
        """Put what is in escrow back where its holders are."""
        self._end(attempt)
        for record in attempt.escrow.values() if attempt.one.takes else ():
            self._host.placing.place(attempt.wide.name, attempt.one.law, record)
