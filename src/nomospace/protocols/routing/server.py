"""The server of a domain: knows where its agents are, and the way to those that left.

For every agent that is or was registered here there is a record:

| record  | told                           | follows                                     | then   |
| ------- | ------------------------------ | ------------------------------------------- | ------ |
| -,ENDED | `Register`, a birth            | `RecordAck`                                 | HERE   |
| -,GONE  | `Register` with a ticket       | `RecordAck`                                 | HERE   |
| HERE    | `Migrating` from its site      | `MayGo` with a ticket                       | MOVING |
| MOVING  | `AgentMigrated` in the domain  | the queue, to the new site; `RecordAck`     | HERE   |
| MOVING  | `AgentMigrated` from elsewhere | the queue, to the other server; `RecordAck` | GONE   |
| MOVING  | `Stayed`                       | the queue, to the old site; `RecordAck`     | HERE   |
| HERE    | `AgentEnded`                   | `AgentEnded` to its home                    | ENDED  |
| MOVING  | `AgentEnded`                   | the queue fails; `AgentEnded` to its home   | ENDED  |

What does not fit the record is answered with `Refuse` and a reason. A ticket is a function of
agent, epoch and site that only servers can compute (`tickets`), so a site can show one only for a
move that a server let happen, to itself.

A post goes to the site of a HERE record, into the queue of a MOVING one, along a GONE one or a
newer guess, and else to its agent's home; it fails at a home that has no record.

The paper's server (Figure 4) locks all of itself for each migration and each post that it passes
on. So strangers wait for each other, and two servers can do so for ever. Here only mail for a
moving agent waits. Without the lock an `update` may belong to any post, so it carries the post's id
and is believed only by servers that passed that post on, from the site that they passed it to or
from a server that is named as one: nobody else draws an agent's mail to itself.
"""

from __future__ import annotations

import msgspec

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.frames import (
    AgentEnded,
    AgentMigrated,
    Astray,
    Frame,
    Hint,
    MayGo,
    Migrating,
    NotPrimary,
    Post,
    PostReturned,
    QueueFull,
    RecordAck,
    Refuse,
    Register,
    SeekAgent,
    Stayed,
    Update,
)
from nomospace.protocols.routing.interface import (
    ENDED as WHY_ENDED,
    EXISTS,
    FULL,
    NO_TICKET,
    NOT_HERE,
    NOT_HOME,
    STALE,
    UNKNOWN,
    Effect,
    Noted,
    PersistChange,
    TransmitFrame,
)
from nomospace.protocols.routing.records import ENDED, GONE, HERE, MOVING, LocationRecord
from nomospace.protocols.routing.seats import LIFE_BITS
from nomospace.protocols.routing.server_memory import ServerMemory, record_put


def _is_birth(record: LocationRecord, src: str) -> bool:
    """Whether a record is what the birth of an agent at a site made, and no move since."""
    return record.kind is HERE and record.where == src and not record.epoch % (1 << LIFE_BITS)


class DomainServer(ServerMemory):
    """One domain's server, as a core: told frames, answers with effects.

    >>> from nomospace.protocols.routing.places import Places
    >>> server = DomainServer("q", "lab", Places({"lab": ("q",)}))
    >>> server.hear("s1", Register("lab", "ann@lab", 0), now=0)[-1].frame
    RecordAck(domain='lab', agent='ann@lab', epoch=0, strays=(), term=0)
    >>> server.hear("s2", Migrating("lab", "ann@lab", 0, "s3"), now=0)[-1].frame
    Refuse(domain='lab', agent='ann@lab', epoch=0, why='notHere', term=0)
    >>> server.hear("s1", Migrating("lab", "ann@lab", 0, "s2"), now=0)[-1].frame
    MayGo(domain='lab', agent='ann@lab', epoch=0, ticket='ann@lab/1/s2', term=0)
    """

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        """Act on a frame from a daemon or another server."""
        out: list[Effect] = []
        if isinstance(frame, SeekAgent):
            self._route(self.places.sound(frame.post, self.limits.passes_max), out)
        elif isinstance(frame, Update):
            self._learn(src, frame, out)
        elif isinstance(frame, Migrating):
            self._migrating(src, frame, out)
        elif isinstance(frame, AgentMigrated):
            self._migrated(src, frame, out)
        elif isinstance(frame, Register):
            if frame.ticket:
                self._enrol(src, frame, out)
            else:
                self._bear(src, frame, out)
        elif isinstance(frame, Stayed):
            self._stayed(src, frame, out)
        elif isinstance(frame, AgentEnded):
            self._ended(src, frame, out)
        elif isinstance(frame, Hint) and self.places.is_server(src):
            self._guess(frame.agent, frame.site, frame.epoch)
        elif isinstance(frame, NotPrimary) and self.places.serves(src, frame.domain):
            out += self.primary(frame.domain, frame.site, frame.term)
        else:
            out.append(Noted("not for a server", (src, frame)))
        return out

    def primary(self, domain: str, site: str, term: int) -> list[Effect]:
        """Take in which site is the primary of a domain since a term."""
        if not self._primaries.learn(domain, site, term):
            return []
        return [PersistChange(written.PrimaryLearnt(domain, site, term))]

    # -- records -------------------------------------------------------------------------------

    def _bear(self, src: str, register: Register, out: list[Effect]) -> None:
        agent = register.agent
        record = self._records.get(agent)
        if not self.places.holds(src, self.domain):
            self._refuse(src, register, NOT_HOME, out)
        elif record is not None and _is_birth(record, src):
            out.append(TransmitFrame(src, RecordAck(self.domain, agent, record.epoch)))
        elif self.places.home(agent) != self.domain or (
            record is not None and record.kind is not ENDED
        ):
            self._refuse(src, register, EXISTS, out)
        elif record is None and len(self._records) >= self.limits.records_max:
            self._refuse(src, register, FULL, out)
        else:
            if record is not None:
                self._forget_tomb(agent, out)
            epoch = self._life << LIFE_BITS
            strays = tuple(self._strays.pop(agent, ()))
            self._stray_count -= len(strays)
            self._put(agent, LocationRecord(HERE, src, epoch), out)
            out.append(TransmitFrame(src, RecordAck(self.domain, agent, epoch, strays)))

    def _enrol(self, src: str, register: Register, out: list[Effect]) -> None:
        agent, epoch = register.agent, register.epoch
        record = self._records.get(agent)
        if not self.places.holds(src, self.domain):
            self._refuse(src, register, NOT_HOME, out)
        elif register.ticket != self._tickets(agent, epoch, src):
            self._refuse(src, register, NO_TICKET, out)
        elif record is not None and record.epoch >= epoch:
            self._again(src, register, record, src, out)
        else:
            self._put(agent, LocationRecord(HERE, src, epoch), out)
            out.append(TransmitFrame(src, RecordAck(self.domain, agent, epoch)))

    def _migrating(self, src: str, leave: Migrating, out: list[Effect]) -> None:
        agent, epoch = leave.agent, leave.epoch
        record = self._records.get(agent)
        if record == LocationRecord(MOVING, src, epoch, self._tickets(agent, epoch + 1, leave.to)):
            out.append(TransmitFrame(src, MayGo(self.domain, agent, epoch, record.ticket)))
        elif record is None or record.kind is not HERE or record.where != src:
            self._refuse(src, leave, NOT_HERE, out)
        elif record.epoch != epoch:
            self._refuse(src, leave, STALE, out)
        else:
            ticket = self._tickets(agent, epoch + 1, leave.to)
            self._put(agent, LocationRecord(MOVING, src, epoch, ticket), out)
            out.append(TransmitFrame(src, MayGo(self.domain, agent, epoch, ticket)))

    def _migrated(self, src: str, came: AgentMigrated, out: list[Effect]) -> None:
        agent, epoch = came.agent, came.epoch
        record = self._records.get(agent)
        near = came.there == self.domain
        if record is None or record.kind is not MOVING:
            self._again(src, came, record, src if near else came.there, out)
        elif (
            came.ticket != record.ticket
            or came.ticket != self._tickets(agent, epoch, src)
            or epoch != record.epoch + 1
            or not self.places.knows(came.there)
        ):
            self._refuse(src, came, NO_TICKET, out)
        elif near:
            self._put(agent, LocationRecord(HERE, src, epoch), out)
            out.append(TransmitFrame(src, RecordAck(self.domain, agent, epoch)))
        else:
            self._put(agent, LocationRecord(GONE, came.there, epoch), out)
            out.append(TransmitFrame(src, RecordAck(self.domain, agent, epoch)))
            self._tell(came, src, out)

    def _stayed(self, src: str, stayed: Stayed, out: list[Effect]) -> None:
        agent, epoch = stayed.agent, stayed.epoch
        record = self._records.get(agent)
        if record is None or record.kind is not MOVING:
            self._again(src, stayed, record, src, out)
        elif record.where != src or stayed.ticket != record.ticket or epoch != record.epoch + 1:
            self._refuse(src, stayed, NO_TICKET, out)
        else:
            self._put(agent, LocationRecord(HERE, src, epoch), out)
            out.append(TransmitFrame(src, RecordAck(self.domain, agent, epoch)))

    def _again(
        self,
        src: str,
        told: Register | AgentMigrated | Stayed,
        record: LocationRecord | None,
        where: str,
        out: list[Effect],
    ) -> None:
        """What is told has been done before (after a standby took over), or is not so."""
        done = record is not None and record.kind in (HERE, GONE)
        if done and record is not None and (record.where, record.epoch) == (where, told.epoch):
            out.append(TransmitFrame(src, RecordAck(self.domain, told.agent, told.epoch)))
        else:
            self._refuse(src, told, STALE, out)

    def _ended(self, src: str, ended: AgentEnded, out: list[Effect]) -> None:
        agent, epoch = ended.agent, ended.epoch
        record = self._records.get(agent)
        home = self.places.home(agent)
        tomb = LocationRecord(ENDED, "", epoch, got=ended.got[-self.limits.buried_max :])
        if record is None or record.kind is ENDED:
            out.append(Noted("end refused", (src, ended)))
        elif record.kind is GONE:  # its last server tells its home, which need not know that one
            if epoch >= record.epoch and self.places.may_serve(src):
                self._put(agent, tomb, out)
            else:
                out.append(Noted("end refused", (src, ended)))
        elif record.where != src or record.epoch != epoch:
            out.append(Noted("end refused", (src, ended)))
        else:
            self._put(agent, tomb, out)
            if home is not None and home != self.domain:
                told = AgentEnded(home, agent, epoch, tomb.got)
                out.append(TransmitFrame(self._primaries.site(home), told))

    def _put(self, agent: str, record: LocationRecord, out: list[Effect]) -> None:
        """Change a record; mail that waited for the end of a move goes on by the new one."""
        self._records[agent] = record
        out.append(PersistChange(record_put(agent, record)))
        if record.kind is ENDED:
            self._tombs[agent] = None
            self._guesses.pop(agent, None)
            self._forget_tombs(out)
        if record.kind is not MOVING and agent in self._queues:
            for post in self._queues.pop(agent):
                self._route(post, out)

    def _forget_tombs(self, out: list[Effect]) -> None:
        """Above the limit the oldest grave is levelled, and who is born after is of a new life."""
        if len(self._tombs) > self.limits.tombs_max:
            self._forget_tomb(next(iter(self._tombs)), out)

    def _forget_tomb(self, agent: str, out: list[Effect]) -> None:
        self._redo(change := written.Forgotten(agent, self._life + 1))
        out.append(PersistChange(change))

    def _refuse(
        self,
        src: str,
        told: Register | Migrating | AgentMigrated | Stayed,
        why: str,
        out: list[Effect],
    ) -> None:
        out.append(Noted("refused", (src, told, why)))
        out.append(TransmitFrame(src, Refuse(self.domain, told.agent, told.epoch, why)))

    # -- posts ---------------------------------------------------------------------------------

    def _route(self, post: Post, out: list[Effect]) -> None:
        target = post.target
        record = self._records.get(target)
        if post.passes >= self.limits.passes_max:
            out.append(Noted("astray", (post.id, post.way)))
            out.append(TransmitFrame(post.origin, Astray(self.stopped(post))))
        elif record is None:
            self._route_unknown(post, out)
        elif record.kind is HERE:
            self._pass_to_site(post, record.where, record.epoch, out)
        elif record.kind is GONE:
            guess = self._guesses.get(target)
            if guess is not None and guess[1] >= record.epoch:
                self._guesses.move_to_end(target)
                self._pass_to_site(post, guess[0], guess[1], out)
            else:
                self._pass_to_server(post, record.where, out)
        elif record.kind is MOVING:
            self._queue(post, out)
        elif record.had(post.sender, post.n):  # another primary has passed it on before
            out.append(Noted("repeat dropped", post.id))
        else:
            self._fail(post, WHY_ENDED, out)

    def _route_unknown(self, post: Post, out: list[Effect]) -> None:
        target = post.target
        guess = self._guesses.get(target)
        home = self.places.home(target)
        if guess is not None:
            self._guesses.move_to_end(target)
            self._pass_to_site(post, guess[0], guess[1], out)
        elif home is None or home == self.domain:
            if home is not None and not post.why:
                self._note_stray(post, out)
            self._fail(post, UNKNOWN, out)
        else:
            self._pass_to_server(post, home, out)

    def _pass_to_site(self, post: Post, site: str, epoch: int, out: list[Effect]) -> None:
        """Send a post to the site where its agent is or may be, to be told if it is."""
        self._remember(post, site)
        out.append(TransmitFrame(site, self._passed_on(post, site)))

    def _pass_to_server(self, post: Post, domain: str, out: list[Effect]) -> None:
        site = self._primaries.site(domain)
        self._remember(post, site)
        out.append(TransmitFrame(site, SeekAgent(domain, self._passed_on(post, site))))

    def _passed_on(self, post: Post, site: str) -> Post:
        way = post.way
        if self.domain in way:  # it came round: who gets it now answers to this server
            way = way[: way.index(self.domain)]
        on = post if site == self.site else post.sent_on(self.site)
        return msgspec.structs.replace(on, way=(*way, self.domain), passes=post.passes + 1)

    def _queue(self, post: Post, out: list[Effect]) -> None:
        queue = self._queues.setdefault(post.target, [])
        if len(queue) >= self.limits.queue_max:
            out.append(TransmitFrame(post.origin, QueueFull(self.stopped(post))))
        else:
            queue.append(post)
            out.append(PersistChange(written.Queued(post)))

    def stopped(self, post: Post) -> Post:
        """A post as it goes back to its origin to wait there, with a way that ends here."""
        on = post if post.origin == self.site else post.sent_on(self.site)
        return msgspec.structs.replace(on, way=(*post.way, self.domain))

    def _fail(self, post: Post, why: str, out: list[Effect]) -> None:
        if post.why:
            out.append(Noted("failure lost with its sender", (post.id, post.why)))
        else:
            out.append(TransmitFrame(post.origin, PostReturned(post, why)))

    def _note_stray(self, post: Post, out: list[Effect]) -> None:
        """Remember a post that nobody will ever get, so that nobody waits for it.

        Should an agent of this name be born, later posts of the sender must not wait for the
        numbers that failed. Births happen only here, so these are all that did.
        """
        self._redo(change := written.StrayNoted(post.to, post.sender, post.n))
        out.append(PersistChange(change))
        if self._stray_count > self.limits.strays_max:
            self._redo(gone := written.StraysForgotten(next(iter(self._strays)), self._life + 1))
            out.append(PersistChange(gone))

    # -- guesses -------------------------------------------------------------------------------

    def _learn(self, src: str, update: Update, out: list[Effect]) -> None:
        """Believe where the agent of a post that was passed on is, and tell who is before."""
        passed_to = self._passed.get(update.post)
        if (
            passed_to is None
        ):  # a life before has passed it on, or it is long ago: it is a hint only
            return
        believed = src == passed_to or self.places.is_server(src)
        sound = update.way and self.places.is_way(update.way, self.limits.passes_max)
        if not (believed and sound):
            out.append(Noted("update refused", (src, update)))
            return
        del self._passed[update.post]
        self._guess(update.agent, update.site, update.epoch)
        way = update.way[:-1]
        site = self._primaries.site(way[-1]) if way else update.origin
        out.append(
            TransmitFrame(
                site,
                Update(update.post, update.agent, update.site, update.epoch, update.origin, way),
            )
        )

    def _tell(self, came: AgentMigrated, site: str, out: list[Effect]) -> None:
        """Eager policy: tell an agent's home, and who lately wrote to it, of its new domain."""
        if came.tell is None:
            return
        home = self.places.home(came.agent)
        if home is not None and home not in (self.domain, came.there):
            hint = Hint(home, came.agent, site, came.epoch)
            out.append(TransmitFrame(self._primaries.site(home), hint))
        hint = Hint("", came.agent, site, came.epoch)
        out += [TransmitFrame(writer, hint) for writer in came.tell[: self.limits.writers_max]]
