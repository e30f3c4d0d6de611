"""The daemon of a site: takes posts from its agents, finds a way, and delivers in order.

Every agent with a seat here is in a phase. Deliveries stop only while it is not here:

| phase       | told                   | follows                               | then        |
| ----------- | ---------------------- | ------------------------------------- | ----------- |
| -           | `create`               | `Register` at the home server         | CREATING    |
| CREATING    | `RecordAck`            | `Created`, what came early            | HERE        |
| HERE        | `depart`               | `Migrating` at the server             | LEAVING     |
| LEAVING     | `MayGo`                | `Go` with the seat                    | AWAY        |
| LEAVING     | `stay`                 | nothing: the answer is under way      | CANCELLING  |
| CANCELLING  | `MayGo`                | `Stayed` at the server                | STAYING     |
| AWAY        | `stay`                 | `Stayed` at the server                | STAYING     |
| AWAY        | `gone`                 | nothing                               | -           |
| -, AWAY     | `arrive`, same domain  | `AgentMigrated` at the server         | CONFIRMING  |
| -, AWAY     | `arrive`, other domain | `Register` at this domain's server    | REGISTERING |
| REGISTERING | `RecordAck`            | `AgentMigrated` at the server it left | CONFIRMING  |
| CONFIRMING  | `RecordAck`            | `MoveSettled`                         | HERE        |
| STAYING     | `RecordAck`            | `MoveSettled`                         | HERE        |

A `Refuse` puts one who would leave back to HERE, and takes the seat from one who claims to have
come. A post for an agent that is not here goes to this domain's server, with its origin unchanged.

This is the paper's daemon (Figure 5), with three additions: posts are numbered for each pair of
agents and delivered by their numbers, so order survives moves; a post that found a full queue waits
at its origin, for a pause that doubles; and an update is believed only about a post that was sent,
from the site that it was sent to or a server that is named as one. Hints are believed from named
servers, and only with the eager policy, without which nobody has cause to send one.
"""

from __future__ import annotations

import msgspec

from nomospace.protocols.routing import changes as written, order
from nomospace.protocols.routing.daemon_memory import DaemonMemory, phase_put, seat_puts
from nomospace.protocols.routing.frames import (
    AgentEnded,
    AgentMigrated,
    Asked,
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
    ALREADY_HERE,
    BUSY,
    ENDED,
    EXISTS,
    NOT_HERE,
    NOT_HOME,
    STALE,
    UNKNOWN,
    UNSETTLED,
    AgentRefused,
    Created,
    Effect,
    Go,
    MoveSettled,
    Noted,
    PersistChange,
    PostFailed,
    TransmitFrame,
)
from nomospace.protocols.routing.residents import (
    AWAY,
    CANCELLING,
    CONFIRMING,
    CREATING,
    HERE,
    LEAVING,
    REGISTERING,
    STAYING,
    ResidentPhase,
    RoutedAgent,
)
from nomospace.protocols.routing.seats import Seat, floor_of


class Daemon(DaemonMemory):
    """One site's daemon, as a core: told events, answers with effects.

    `eager` asks for the policy of the paper's section 5: after a move across domains the home of
    the agent and the sites that lately wrote to it are told, and need not find out.

    >>> from nomospace.protocols.routing.places import Places
    >>> places = Places({"lab": ("q",)})
    >>> daemon = Daemon("s1", "lab", places)
    >>> daemon.create("ann@lab", now=0)[-1]
    TransmitFrame(site='q', frame=Register(domain='lab', agent='ann@lab', epoch=0, ticket=''))
    >>> daemon.hear("q", RecordAck("lab", "ann@lab", 0), now=1)[-1]
    Created(agent='ann@lab')
    >>> sent = daemon.send("ann@lab", "bob@lab", "hello", now=2)[-1]
    >>> sent.site, sent.frame.post.id  # no guess: the server finds bob
    ('q', ('ann@lab', 'bob@lab', 1))
    """

    SHORTCUT = True
    """Whether a post between two agents here is delivered without asking anybody."""

    # -- what the host asks --------------------------------------------------------------------

    def send(self, sender: str, to: str, body: object, *, now: int) -> list[Effect]:
        """Take a post from an agent here and bring it on its way.

        It gets the next number of its pair, which is written down: after a crash no number is
        given twice. What is refused here (number 0) was never sent.
        """
        resident = self._residents.get(sender)
        if resident is None or not resident.runs:
            return [PostFailed(Post(sender, to, 0, body, self.site), NOT_HERE)]
        if self.waits.count >= self._limits.held_max:
            return [PostFailed(Post(sender, to, 0, body, self.site), BUSY)]
        guess = self._guesses.get(to)
        if guess is None and to not in self._residents and self._places.home(to) is None:
            return [PostFailed(Post(sender, to, 0, body, self.site), UNKNOWN)]
        sent = resident.sent
        if sent is None:
            sent = resident.sent = {}
        n = sent[to] = sent.get(to, 0) + 1 if to in sent else floor_of(resident.epoch) + 1
        out: list[Effect] = [PersistChange(written.Sent(sender, to, n))]
        if self.waits.count and self.waits.queues(to):  # it would only overtake those before it
            self._hold(Post(sender, to, n, body, self.site), now, out)
        elif guess is not None and to not in self._residents:
            self._guesses.move_to_end(to)
            self._remember((sender, to, n), guess[0])
            out.append(TransmitFrame(guess[0], Post(sender, to, n, body, self.site, (), 1)))
        else:
            self._route(Post(sender, to, n, body, self.site), now, out)
        return out

    def create(self, agent: str, *, now: int) -> list[Effect]:
        """Register a new agent with the home that its id names, which must be this domain."""
        if agent in self._residents:
            return [AgentRefused(agent, EXISTS)]
        home = self._places.home(agent)
        if home != self._domain:
            return [AgentRefused(agent, UNKNOWN if home is None else NOT_HOME)]
        resident = self._residents[agent] = RoutedAgent(CREATING, Seat(0, self._domain))
        return [
            PersistChange(written.SeatPut(agent, CREATING.value, resident.seat())),
            self._ask_server(agent, resident),
        ]

    def end(self, agent: str, *, now: int) -> list[Effect]:
        """End an agent here: its server forgets where it is, and whoever writes to it is told.

        While its last move is not finished the end waits for that, and posts fail at once.
        """
        resident = self._residents.get(agent)
        if resident is None or resident.phase is AWAY or resident.ending:
            return [AgentRefused(agent, NOT_HERE)]
        out: list[Effect] = []
        if resident.phase in (HERE, LEAVING, CANCELLING):
            self._bury(agent, resident, out)
            return out
        resident.ending = True
        out.append(PersistChange(phase_put(agent, resident)))
        return out

    def depart(self, agent: str, to_site: str, *, now: int) -> list[Effect]:
        """Ask the server to queue an agent's mail, so that it can leave."""
        resident = self._residents.get(agent)
        if resident is None or resident.phase is AWAY:
            return [AgentRefused(agent, NOT_HERE)]
        if resident.phase is not HERE:
            return [AgentRefused(agent, UNSETTLED)]
        if to_site == self.site:
            return [AgentRefused(agent, ALREADY_HERE)]
        out: list[Effect] = []
        resident.to = to_site
        self._enter(agent, resident, LEAVING, out)
        out.append(self._ask_server(agent, resident))
        return out

    def gone(self, agent: str, ticket: str, *, now: int) -> list[Effect]:
        """Forget the seat of an agent that another site has now, by the ticket of that move.

        Late news of an earlier move does not touch one who came back and left again.
        """
        resident = self._residents.get(agent)
        if resident is None or resident.phase is not AWAY or resident.ticket != ticket:
            return [Noted("late", (agent, ticket))]
        del self._residents[agent]
        return [PersistChange(written.SeatGone(agent))]

    def stay(self, agent: str, *, now: int) -> list[Effect]:
        """Keep an agent that would have left, with the seat it had."""
        resident = self._residents.get(agent)
        if resident is None or resident.phase not in (LEAVING, AWAY):
            return [AgentRefused(agent, NOT_HERE if resident is None else UNSETTLED)]
        out: list[Effect] = []
        if resident.phase is LEAVING:
            self._enter(agent, resident, CANCELLING, out)
        else:
            self._say_stayed(agent, resident, out)
        return out

    def arrive(self, agent: str, seat: Seat, ticket: str, *, now: int) -> list[Effect]:
        """Seat an agent that was handed over, and tell the servers that must know."""
        before = self._residents.get(agent)
        if not self._places.knows(seat.domain):
            return [AgentRefused(agent, UNKNOWN)]
        if before is not None and before.phase is not AWAY:
            return [AgentRefused(agent, EXISTS)]
        if before is not None and before.epoch >= seat.epoch:
            return [AgentRefused(agent, STALE)]
        self._guesses.pop(agent, None)
        phase = CONFIRMING if seat.domain == self._domain else REGISTERING
        resident = self._residents[agent] = RoutedAgent(phase, seat)
        resident.ticket = ticket
        return [
            PersistChange(written.SeatPut(agent, phase.value, seat, "", ticket)),
            self._ask_server(agent, resident),
        ]

    def primary(self, domain: str, site: str, term: int) -> list[Effect]:
        """Take in which site is the primary of a domain since a term, and ask it what waits."""
        if not self._primaries.learn(domain, site, term):
            return []
        out: list[Effect] = [PersistChange(written.PrimaryLearnt(domain, site, term))]
        for agent, resident in self._residents.items():
            asked = self._asked_for(agent, resident)
            if asked is not None and asked.domain == domain:
                out.append(TransmitFrame(site, asked))
        return out

    def term(self, domain: str) -> int:
        """The term of the primary of a domain, as far as is known here."""
        return self._primaries.term(domain)

    def tick(self, *, now: int) -> list[Effect]:
        """Try those posts again whose pause is over."""
        out: list[Effect] = []
        for target, posts in self.waits.due(now):
            out.append(PersistChange(written.PostsReleased(target)))
            for post in posts:
                self._retry(post, now, out)
        return out

    def next_deadline(self) -> int | None:
        """When the next pause is over."""
        return self.waits.deadline

    # -- what the courier brings ---------------------------------------------------------------

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        """Act on a frame from another site, or from the server at this one."""
        out: list[Effect] = []
        passes = self._limits.passes_max
        if isinstance(frame, Post):
            self._take_in(self._places.sound(frame, passes) if frame.way else frame, now, out)
        elif isinstance(frame, Update):
            self._learn(src, frame, out)
        elif isinstance(frame, QueueFull | Astray | PostReturned):
            if frame.post.origin != self.site:
                out.append(Noted("not from here", (src, frame)))
            elif isinstance(frame, PostReturned):
                self._fail(frame.post, frame.why, now, out)
            else:
                self._hold(self._places.sound(frame.post, passes), now, out)
        elif isinstance(frame, RecordAck | Refuse | MayGo | NotPrimary | Hint):
            self._told_by_server(src, frame, now, out)
        else:
            out.append(Noted("not for a daemon", (src, frame)))
        return out

    def _told_by_server(
        self,
        src: str,
        frame: RecordAck | Refuse | MayGo | NotPrimary | Hint,
        now: int,
        out: list[Effect],
    ) -> None:
        """Believe about an agent or a domain only the server whose business it is."""
        domain = frame.domain
        if not (self._places.serves(src, domain) if domain else self._places.is_server(src)):
            out.append(Noted("not from a server", (src, frame)))
        elif isinstance(frame, RecordAck | MayGo | Refuse) and frame.term < self.term(domain):
            out.append(Noted("of an earlier primary", (src, frame)))  # the later one was asked
        elif isinstance(frame, Hint):
            if self.eager:
                self._guess(frame.agent, frame.site, frame.epoch)
            else:
                out.append(Noted("hint refused", (src, frame)))
        elif isinstance(frame, RecordAck):
            self._acknowledged(frame, now, out)
        elif isinstance(frame, MayGo):
            self._may_go(frame, out)
        elif isinstance(frame, Refuse):
            self._refused(frame, now, out)
        else:
            out += self.primary(domain, frame.site, frame.term)

    def _take_in(self, post: Post, now: int, out: list[Effect]) -> None:
        resident = self._residents.get(post.target)
        if resident is None or resident.phase is AWAY:
            self._to_seek(self._domain, post, out)
        elif post.why:
            self._tell_failed(post, post.why, resident, out)
        else:
            self._accept(post, resident, now, out)

    def _learn(self, src: str, update: Update, out: list[Effect]) -> None:
        asked = self._asked.get(update.post)
        if asked is None:  # a life before has asked, or it is long ago: nothing is lost with a hint
            return
        if not (src == asked or self._places.is_server(src)):
            out.append(Noted("update refused", (src, update)))
            return
        self._guess(update.agent, update.site, update.epoch)

    def _acknowledged(self, ack: RecordAck, now: int, out: list[Effect]) -> None:
        agent, resident = ack.agent, self._residents.get(ack.agent)
        phase = None if resident is None else resident.phase
        if resident is not None and phase is CREATING and ack.domain == self._domain:
            self._born(agent, resident, ack, now, out)
        elif resident is None or ack.epoch != resident.epoch:
            out.append(Noted("acknowledgement refused", (ack,)))
        elif phase is REGISTERING and ack.domain == self._domain:
            self._enter(agent, resident, CONFIRMING, out)
            out.append(self._ask_server(agent, resident))
        elif phase in (CONFIRMING, STAYING) and ack.domain == resident.domain:
            resident.domain = self._domain
            resident.to = resident.ticket = ""
            if resident.ending:
                self._bury(agent, resident, out)
            else:
                self._enter(agent, resident, HERE, out)
                out.append(MoveSettled(agent))
        else:
            out.append(Noted("acknowledgement refused", (ack,)))

    def _born(
        self, agent: str, resident: RoutedAgent, ack: RecordAck, now: int, out: list[Effect]
    ) -> None:
        resident.epoch = ack.epoch
        if resident.ending:
            self._bury(agent, resident, out)
            return
        posts = resident.take_early()
        if ack.strays:
            resident.early = dict.fromkeys(ack.strays)
        resident.phase = HERE
        out.append(PersistChange(written.SeatPut(agent, HERE.value, resident.seat())))
        out.append(Created(agent))
        for sender in dict.fromkeys(sender for sender, _ in ack.strays):
            order.drain(agent, resident, sender, out)
        for post in posts:
            self._accept(post, resident, now, out)

    def _may_go(self, leave: MayGo, out: list[Effect]) -> None:
        agent, resident = leave.agent, self._residents.get(leave.agent)
        if resident is None or (leave.domain, leave.epoch) != (resident.domain, resident.epoch):
            out.append(Noted("leave refused", (leave,)))
        elif resident.phase is LEAVING:
            resident.ticket = leave.ticket
            self._enter(agent, resident, AWAY, out)
            seat = resident.seat(epoch=resident.epoch + 1)
            out.append(Go(agent, resident.to, leave.ticket, seat))
        elif resident.phase is CANCELLING:
            resident.ticket = leave.ticket
            self._say_stayed(agent, resident, out)
        else:
            out.append(Noted("leave refused", (leave,)))

    def _refused(self, refuse: Refuse, now: int, out: list[Effect]) -> None:
        agent, resident = refuse.agent, self._residents.get(refuse.agent)
        if resident is None or refuse.epoch != resident.epoch or resident.phase in (HERE, AWAY):
            out.append(Noted("refusal refused", (refuse,)))
        elif resident.phase in (LEAVING, CANCELLING):
            resident.to = ""
            self._enter(agent, resident, HERE, out)
            out.append(AgentRefused(agent, refuse.why))
        else:
            del self._residents[agent]
            out.append(PersistChange(written.SeatGone(agent)))
            out.append(AgentRefused(agent, refuse.why))
            for post in resident.take_early():
                self._to_seek(self._domain, post, out)

    # -- phases --------------------------------------------------------------------------------

    def _enter(
        self, agent: str, resident: RoutedAgent, phase: ResidentPhase, out: list[Effect]
    ) -> None:
        resident.phase = phase
        out.append(PersistChange(phase_put(agent, resident)))

    def _say_stayed(self, agent: str, resident: RoutedAgent, out: list[Effect]) -> None:
        resident.epoch += 1  # the move was begun, and its ticket is used up
        self._enter(agent, resident, STAYING, out)
        out.append(self._ask_server(agent, resident))

    def _asked_for(self, agent: str, resident: RoutedAgent) -> Asked | None:
        """What a server was asked about an agent, whose phase lasts until the answer is here."""
        phase, domain = resident.phase, resident.domain
        epoch, ticket = resident.epoch, resident.ticket
        if phase in (CREATING, REGISTERING):
            return Register(self._domain, agent, epoch, ticket)
        if phase in (LEAVING, CANCELLING):
            return Migrating(domain, agent, epoch, resident.to)
        if phase is STAYING:
            return Stayed(domain, agent, epoch, ticket)
        if phase is CONFIRMING:
            tell = resident.writers if self.eager and domain != self._domain else None
            return AgentMigrated(domain, agent, epoch, ticket, self._domain, tell)
        return None

    def _ask_server(self, agent: str, resident: RoutedAgent) -> TransmitFrame:
        asked = self._asked_for(agent, resident)
        assert asked is not None, resident.phase
        return self._to_server(asked.domain, asked)

    def _bury(self, agent: str, resident: RoutedAgent, out: list[Effect]) -> None:
        del self._residents[agent]
        out.append(PersistChange(written.SeatGone(agent)))
        domain = resident.domain
        got = order.got_last(resident, self._limits.buried_max)
        out.append(self._to_server(domain, AgentEnded(domain, agent, resident.epoch, got)))
        early = resident.take_early()
        out += [TransmitFrame(post.origin, PostReturned(post, ENDED)) for post in early]

    # -- delivering ----------------------------------------------------------------------------

    def _accept(self, post: Post, resident: RoutedAgent, now: int, out: list[Effect]) -> None:
        """Deliver a post to an agent here, or keep it for its turn."""
        if resident.ending:
            if order.came_before(post, resident):
                out.append(Noted("repeat dropped", post.id))
            else:
                out.append(TransmitFrame(post.origin, PostReturned(post, ENDED)))
            return
        if resident.phase is CREATING:
            order.keep(post, resident, self._limits.early_max, out)
            return
        order.take(post, resident, self._limits.early_max, out)
        if post.way:  # it did not come by a good guess
            update = Update(post.id, post.to, self.site, resident.epoch, post.origin, post.way)
            out.append(self._to_server(post.way[-1], update))
        if self.eager:
            resident.note_writer(post.origin, self._limits.writers_max)

    # -- finding a way -------------------------------------------------------------------------

    def _route(self, post: Post, now: int, out: list[Effect]) -> None:
        target = post.target
        resident = self._residents.get(target)
        if resident is not None and resident.phase is not AWAY and self.SHORTCUT:
            self._take_in(post, now, out)
            return
        guess = self._guesses.get(target)
        if guess is None:
            self._ask(self._domain, post, out)
        else:
            self._remember(post.id, guess[0])
            self._guesses.move_to_end(target)
            out.append(TransmitFrame(guess[0], post.sent_on(self.site)))

    def _retry(self, post: Post, now: int, out: list[Effect]) -> None:
        """Go on with a post that came back, from where it was when it did."""
        way, post = post.way, msgspec.structs.replace(post, way=(), passes=0)
        if way and post.target not in self._residents:
            self._ask(way[-1], post, out)
        else:
            self._route(post, now, out)

    def _hold(self, post: Post, now: int, out: list[Effect]) -> None:
        self.waits.add(post, now)
        out.append(PersistChange(written.PostHeld(post)))

    def _fail(self, post: Post, why: str, now: int, out: list[Effect]) -> None:
        """Tell the sender, who may have moved since: then the failure goes after it."""
        if post.why:
            out.append(Noted("failure lost with its sender", (post.id, post.why)))
            return
        resident = self._residents.get(post.sender)
        if resident is not None and resident.runs:
            self._tell_failed(post, why, resident, out)
            return
        back = msgspec.structs.replace(post, why=why, origin=self.site, way=(), passes=0)
        self._route(back, now, out)

    def _tell_failed(self, post: Post, why: str, resident: RoutedAgent, out: list[Effect]) -> None:
        if (post.to, post.n) in resident.failed:
            out.append(Noted("failed before", (post.id, why)))
            return
        resident.put_failed(post.to, post.n)
        out += [PersistChange(change) for change in seat_puts(post.sender, resident)]
        out.append(PostFailed(post, why))

    def _ask(self, domain: str, post: Post, out: list[Effect]) -> None:
        """Let a server find the agent of a post from here, and hear from it where that is."""
        self._remember(post.id, self._primaries.site(domain))
        self._to_seek(domain, post, out)

    def _to_seek(self, domain: str, post: Post, out: list[Effect]) -> None:
        site = self._primaries.site(domain)
        on = post if site == self.site else post.sent_on(self.site)
        out.append(TransmitFrame(site, SeekAgent(domain, on)))

    def _to_server(self, domain: str, frame: Frame) -> TransmitFrame:
        return TransmitFrame(self._primaries.site(domain), frame)
