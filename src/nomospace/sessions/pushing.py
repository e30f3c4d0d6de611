"""What a host's steps have for clients: answers, firings and mail become pushes of their sessions.

The driver calls `outputs` with the effects of each step of the core before it commits them, and
`release` when it comes to the `Outgoing` that this left among them. The rules of sessions stand at
the head of `host_sessions`. What was taken for a client that will never know goes back: a leased
tuple by giving up the lease, another by writing it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from nomospace.calls.problems import AgentLeft, Busy
from nomospace.calls.requests import CLIENT_PROGRAM, ONCE, TAKING, Adjust, React, Seek, Settle
from nomospace.errors import NomospaceError
from nomospace.host.calls import Asked, Call, PutBack
from nomospace.host.effects import JOURNALED, Answer, Came, Effect, Fire, Halted, Left, Mail
from nomospace.host.shares import USUAL_SHARES
from nomospace.sessions.host_session import MANY, SOME, Gate, HostSession, Outgoing, Pushes
from nomospace.sessions.taken import Taken, giving_back
from nomospace.store.interface import KeptForClient
from nomospace.terms import Term
from nomospace.wire.talk import (
    pack_back,
    pack_failure,
    pack_fired,
    pack_gone,
    pack_left,
    pack_mail,
    pack_reply,
    renumbered_mail,
)

TRIM_EVERY: Final = 64
"""Answers that were seen are forgotten on disk in lots of so many, as nobody asks for them again.
Letters are at once: they would be for the next client, if the host were killed."""
TRIM_BYTES: Final = 65_536
"""And large ones."""
_ALL: Final = (1 << 63) - 1
LETTERS: Final = " letters"
"""What the key of a letterbox ends with; names of sessions are longer."""


class Pushing:
    """The part of a host's sessions that its driver brings things to."""

    def __init__(self, gate: Gate, *, first: int, base: int) -> None:
        self._gate = gate
        self._top = base
        """Above the numbers of all sessions that have ended: a new one may have the key of one."""
        self._boxes: dict[str, HostSession] = {}
        """Letters for agents that nobody speaks for just now, as sessions that nobody can name."""
        self._op = first
        self._ops: dict[int, tuple[HostSession, int, Asked]] = {}
        self._all: dict[str, HostSession] = {}
        self._of: dict[str, dict[str, HostSession]] = {}
        self._over: dict[str, None] = {}
        """Sessions whose agents have ended, the latest ones, also before that is on disk: a client
        that comes back has not heard of it, and must not begin the agent anew."""
        self._reacting: dict[tuple[str, str], HostSession] = {}
        self._awaited: dict[str, int | None] = {}
        self._coming: dict[str, None] = {}
        """Agents that have come, and whose programs are about to begin."""
        """Agents that came before their clients, and since when, as far as anybody has looked."""
        self.letters_max = USUAL_SHARES.agent_letters
        self.letter_bytes_max = USUAL_SHARES.agent_letter_bytes
        """How many firings and letters may wait in an outbox: of more, the newest are dropped."""
        self.dropped = 0
        """How many firings and letters found an outbox full."""

    # -- what the driver brings ----------------------------------------------------------------

    def outputs(
        self, effects: Sequence[Effect], persisted: bool
    ) -> tuple[list[Effect | Outgoing], tuple[KeptForClient, ...]]:
        """Turn what the effects of one step have for clients into one `Outgoing` behind the rest.

        `persisted` says whether the step must survive; then the second that this gives belongs
        into its transaction. When the driver comes to the `Outgoing`, behind whatever had to be
        written down before, it hands it to `release`. What the journal was told is left out.
        """
        ops = self._ops
        pushes: Pushes = []
        rest: list[Effect | Outgoing] = []
        one: HostSession | None = None
        answers_one = True
        for effect in effects:
            kind = type(effect)
            if type(effect) is Answer:
                asked = ops.pop(effect.op, None)
                if asked is None:
                    rest.append(effect)
                    continue
                session, seq, request = asked
                if session is not one:
                    answers_one, one = answers_one and one is None, session
                value, error = effect.value, effect.error
                taken: Taken | None = None
                if type(request) is Seek:
                    if error is None and value and request.how in TAKING:
                        taken = (request, value)
                elif error is None and type(request) is React and not session.ended:
                    session.reactions[value] = request.mode
                    self._reacting[session.agent, value] = session
                if session.ended:
                    self._afterwards(session, request, taken, effect)
                    continue
                if type(error) is AgentLeft:
                    continue  # `Left` follows, and the client asks again where the agent is now
                session.number = number = session.number + 1
                try:
                    if error is None:
                        body = pack_reply(number, seq, value)
                    else:
                        body = pack_failure(number, seq, error)
                except NomospaceError as failed:
                    # Too large to travel. What was taken goes back, and the client learns why.
                    if taken is not None:
                        self._undo(session, taken)
                        taken = None
                    body = pack_failure(number, seq, failed)
                pushes.append((session, (number, body, seq, taken)))
            elif kind in JOURNALED:
                continue
            else:
                if kind in _OTHERS:
                    answers_one = False
                    if not self._other(pushes, effect):
                        continue
                rest.append(effect)
        if pushes:
            rest.append(Outgoing(pushes, None, persisted, answers_one))
        if not persisted or not pushes:
            return rest, ()
        return rest, tuple([KeptForClient(to.key, push[0], push[1]) for to, push in pushes])

    def release(self, out: Outgoing) -> None:
        """A step is on disk, or needs not be: its pushes go out."""
        pushes, kept = out.pushes, out.kept
        # One alone goes out with others of its turn.
        if len(pushes) > 1 and out.answers_one and self._answer_all(pushes, kept):
            return
        for session, push in pushes:
            number, body, seq, taken = push
            if seq:
                session.calls.pop(seq, None)
            if session.ended:
                if taken is not None:
                    self._undo(session, taken)
                continue
            if kept:
                session.kept = number
            session.together = MANY if kept else SOME
            # It waits until it is seen, and is sent if there is a connection.
            session.outbox.append(push)
            session.weight += len(body)
            if seq:
                session.answers += 1
            link = session.link
            if link is not None and not session.clogged:
                if link.send(body):
                    session.sent = session.shown = number
                else:
                    session.clogged = True
        if out.replaced is not None:
            key, number = out.replaced
            self._gate.trim(key, _ALL if out.ended and key not in self._all else number)

    def _afterwards(
        self,
        session: HostSession,
        request: Asked,
        taken: Taken | None,
        answer: Answer,
    ) -> None:
        """A call is answered whose session is over, or that the session itself has made."""
        if taken is not None:
            self._undo(session, taken)
        elif isinstance(request, React) and answer.error is None:
            self._inside(session, Adjust(answer.value, "remove"))
        elif isinstance(request, PutBack | Settle) and answer.error is not None:
            facts = {"agent": session.agent, "space": request.space, "error": str(answer.error)}
            self._gate.note("not-put-back", facts)

    def _other(self, pushes: Pushes, effect: Effect) -> bool:
        """Push what is for clients; says whether it concerns others too."""
        if isinstance(effect, Fire):
            session = self._reacting.get((effect.agent, effect.reaction))
            if session is None:
                return True
            self._fired(pushes, session, effect)
            return False
        if isinstance(effect, Mail):
            speakers = self._of.get(effect.agent, {})
            held = effect.agent in self._coming or self._gate.held(effect.agent, effect.law)
            if not speakers and not held:
                speakers = {"": self._box(effect.agent)}
            for session in speakers.values():
                if self._full(session):
                    limit = self.letters_max
                    facts = {"agent": effect.agent, "law": effect.law, "limit": limit}
                    self._gate.note("mail-lost", facts)
                else:
                    letter = (effect.law, effect.sender, effect.message)
                    self._push(pushes, session, pack_mail, *letter)
            return True  # programs of this host may hold the same agent
        if isinstance(effect, Left):
            address = self._gate.address_of(effect.to)
            for session in self._of.get(effect.agent, {}).values():
                self._push(pushes, session, pack_left, effect.to, address)
                self._leave(session, effect.to)
            return True
        if isinstance(effect, Halted):
            if effect.ended:
                self._over |= dict.fromkeys(self._of.get(effect.agent, ()))
            return True
        assert isinstance(effect, Came), effect
        if effect.program != CLIENT_PROGRAM:
            if effect.program:
                self._coming[effect.agent] = None
            return True
        if effect.agent not in self._of:
            self._awaited[effect.agent] = None
        for session in self._of.get(effect.agent, {}).values():
            session.moved_to = ""
            if effect.error is not None:
                self._push(pushes, session, pack_back, effect.error)
        return False

    def _fired(self, pushes: Pushes, session: HostSession, fire: Fire) -> None:
        if self._full(session):
            # Nobody knows how many firings it would miss, so it must not seem to be at work.
            self._inside(session, Adjust(fire.reaction, "remove"))
            del self._reacting[session.agent, fire.reaction]
            del session.reactions[fire.reaction]
            error = Busy(what="firings that wait for a client", limit=self.letters_max)
            self._push(pushes, session, pack_gone, fire.reaction, error)
            return
        if session.reactions[fire.reaction] == ONCE:
            del self._reacting[session.agent, fire.reaction]
            del session.reactions[fire.reaction]
        self._push(pushes, session, pack_fired, fire.reaction, fire.tuple)

    def _full(self, session: HostSession) -> bool:
        waiting = len(session.outbox) - session.answers
        if waiting < self.letters_max and session.weight < self.letter_bytes_max:
            return False
        self.dropped += 1
        return True

    def _push(
        self,
        pushes: Pushes,
        session: HostSession,
        pack: Callable[..., bytes],
        *what: object,
    ) -> None:
        session.number = number = session.number + 1
        pushes.append((session, (number, pack(number, *what), 0, None)))

    # -- letters that wait for a program ---------------------------------------------------------

    def _box(self, agent: str) -> HostSession:
        """Where letters wait for whoever speaks for an agent next."""
        box = self._boxes.get(agent)
        if box is None:
            box = self._boxes[agent] = HostSession(agent + LETTERS, agent, self._top)
        return box

    def has_come(self, agent: str) -> None:
        """The program of an agent that came holds its mail, if it could begin."""
        self._coming.pop(agent, None)

    def leave_mail(self, agent: str, unread: Iterable[tuple[str, str, Term]]) -> None:
        """Let mail that a program has not read wait for whoever speaks for its agent next."""
        out = Outgoing(kept=True)
        kept: list[KeptForClient] = []
        for law, sender, message in unread:
            to = next(iter(self._of.get(agent, {}).values()), None) or self._box(agent)
            self._push(out.pushes, to, pack_mail, law, sender, message)
            kept.append(KeptForClient(to.key, to.number, out.pushes[-1][1][1]))
        if kept:
            self._gate.bring(out, kept)

    def _pass_on(self, session: HostSession) -> None:
        """Let letters that a client has not said to have go to the next one of its agent.

        They get their numbers there now, also those that wait for the disk, so that none that comes
        later overtakes them. On disk an empty row takes the place of each, in the same step in
        which it stands under its new key: a crash leaves it under one of the two.
        """
        letters = [push for push in session.outbox if not push[2]]
        for waits in self._gate.unreleased():
            letters += [push for of, push in waits.pushes if of is session and not push[2]]
            waits.pushes = [one for one in waits.pushes if one[0] is not session or one[1][2]]
        sessions = self._of.get(session.agent)
        heir = next(reversed(sessions.values())) if sessions else None
        out = Outgoing()
        kept: list[KeptForClient] = []
        for number, body, _, _ in letters:
            to = self._box(session.agent) if heir is None else heir
            letter = renumbered_mail(to.number + 1, body)
            if letter:
                to.number += 1
                out.pushes.append((to, (to.number, letter, 0, None)))
                kept += [
                    KeptForClient(to.key, to.number, letter),
                    KeptForClient(session.key, number, b""),
                ]
        if kept:
            out.kept = True
            out.replaced = (session.key, session.number)
            self._gate.bring(out, kept)

    def _answer_all(self, pushes: Pushes, kept: bool) -> bool:
        """Answers of one session go out together; false when they cannot."""
        session = pushes[0][0]
        link = session.link
        if link is None or session.ended or session.clogged or not link.ready:
            return False
        bodies: list[bytes] = []
        calls, outbox, weight, last = session.calls, session.outbox, 0, 0
        for _, push in pushes:
            outbox.append(push)
            last, body, seq, _ = push
            calls.pop(seq, None)
            bodies.append(body)
            weight += len(body)
        if kept:
            session.kept = last
        session.together = MANY if kept else SOME
        session.weight += weight
        session.answers += len(pushes)
        link.send_now(bodies)
        session.sent = session.shown = last
        return True

    def _forget(self, session: HostSession, number: int) -> None:
        """The client has everything up to a number: it needs not be kept any longer."""
        if number > session.number:
            return  # a number of another host, in a call that is asked again here
        outbox, letters, weight, answers = session.outbox, False, 0, 0
        while outbox and outbox[0][0] <= number:
            _, body, seq, _ = outbox.popleft()
            weight += len(body)
            if seq:
                answers += 1
            else:
                letters = True
        session.weight -= weight
        session.answers -= answers
        many = number - session.trimmed >= TRIM_EVERY or weight >= TRIM_BYTES
        if session.kept and (letters or many):
            self._gate.trim(session.key, number)
            session.trimmed = number
            if number >= session.kept:
                session.kept = 0

    def _leave(self, session: HostSession, to: str) -> None:
        """The agent has left: what was under way here is asked for again where it is now."""
        session.moved_to = to
        for op in session.calls.values():
            self._ops.pop(op, None)
        session.calls.clear()
        session.deferred.clear()
        for reaction in session.reactions:
            self._reacting.pop((session.agent, reaction), None)
        session.reactions.clear()

    # -- calls of the session itself -----------------------------------------------------------

    def _inside(self, session: HostSession, request: Asked) -> None:
        """Make a call in the name of a session, whose answer no client gets."""
        nobody = HostSession("", session.agent, 0)
        nobody.ended = True
        self._op = op = self._op + 1
        self._ops[op] = (nobody, 0, request)
        try:
            self._gate.tell(Call(op, session.agent, request))
        except NomospaceError as error:
            self._ops.pop(op, None)
            facts = {"agent": session.agent, "request": type(request).__name__, "error": str(error)}
            self._gate.note("not-carried-out", facts)

    def _undo(self, session: HostSession, taken: Taken) -> None:
        """Give back what was taken for a client that will never know."""
        for request in giving_back(taken):
            self._inside(session, request)


_OTHERS: Final = frozenset({Fire, Mail, Left, Came, Halted})
"""What may be for clients, besides answers."""
