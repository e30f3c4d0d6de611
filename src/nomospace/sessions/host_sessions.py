"""Sessions: what a host remembers of the clients that speak for its agents.

A client is a program in another process. Connections break and hosts are killed, and no operation
of it may be lost or done twice. So:

- The client numbers its calls. A call that comes again is known while it is under way, and as long
  as its answer waits to be seen; then it is not done again.
- All that the host has for a client (answers, firings, mail) is a numbered *push* in the session's
  outbox, and stays there until the client says that it has seen it. Numbers only grow, through
  crashes too: their upper part is the number of the host's life.
- A push that belongs to a step which must survive is kept in the transaction of that very step
  (`outputs` gives it to the driver), and is sent when the step is on disk (`release`). So a host
  that is killed forgets an operation and its answer together, or neither.
- Refusals of the session itself (the store is full, say) change nothing. They are pushes without a
  number: one that gets lost is asked for again.

A session outlives its connection by its time (`Shares.session_s`). An agent may have several, and
each gets its mail; one that comes to stay ends those of the same agent that nobody holds any more.
When a session ends, what it waits for is called off, its reactions go, and a tuple that it took but
was never sent goes back to its space. Letters that its client has not said to have are for the next
one of the agent: they wait in a letterbox, as do those that come while nobody speaks for the agent
at all, on its way from host to host say. An agent whose last session has ended is shown as
departed; all else that it has stays. (So a letter may come again to a program that is started
again, if the one before died with it in its hands. It is never lost.)

This file knows no sockets: `SessionLink` is how it writes to whoever is connected, and `Gate` is
what it asks of the host's driver. What the driver brings in return is in `pushing`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from nomospace.calls.problems import HasEnded
from nomospace.calls.requests import (
    CLIENT_PROGRAM,
    Cancel,
    Launch,
    Move,
    Request,
    Save,
    Seek,
)
from nomospace.errors import CallerError, NomospaceError, PeerError, Unavailable
from nomospace.host.calls import Abandoned, Absent, Call, Present
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.sessions.host_session import (
    CALLS_MAX,
    MANY,
    OUTBOX_BYTES_MAX,
    Gate,
    HostSession,
    Outgoing,
    Push,
    SessionKept,
    SessionLink,
)
from nomospace.sessions.pushing import Pushing
from nomospace.store.interface import KeptForClient
from nomospace.wire.framing import BadFrame
from nomospace.wire.talk import LIFE_BITS, answered_call, moved_to, pack_failure, pack_refusal

RETURN_US: Final = 10_000_000
"""How long clients have after a host's start to come back, before their laws hear of it."""
SESSIONS_MAX: Final = 10_000
"""How many sessions a host has."""

SEEN_MAX: Final = 1 << (LIFE_BITS - 1)
"""Above so many pushes of a life, what a client says to have seen is not believed."""

_OPENED: Final = 1 << 62
"""The number under which a session itself is kept: above those of all pushes."""


class TooManySessions(Unavailable):
    """A host has as many sessions as it bears."""

    code = "node.too-many-sessions"
    words = "this host has {limit:,} sessions and takes no more; try again later"
    limit: int


class WindowBroken(PeerError):
    """A client made more calls at once than it was allowed."""

    code = "node.window-broken"
    words = "{agent} has more than {limit:,} calls under way; wait for answers"
    agent: str
    limit: int


class NotForClients(CallerError):
    """A client asked for something that only programs inside the host may do."""

    code = "node.not-for-clients"
    words = "{what} is for programs that run inside a host; launch one there"
    what: str


class HostSessions(Pushing):
    """The sessions of one host. `first` is where the numbers of its calls begin."""

    def __init__(
        self,
        gate: Gate,
        *,
        life: int,
        first: int,
        grace_us: int | None = None,
        sessions_max: int = SESSIONS_MAX,
        shares: Shares = USUAL_SHARES,
    ) -> None:
        self._base = life << LIFE_BITS
        super().__init__(gate, first=first, base=self._base)
        self.letters_max = shares.agent_letters
        self.letter_bytes_max = shares.agent_letter_bytes
        self._grace_us = shares.session_s * 1_000_000 if grace_us is None else grace_us
        self._max = sessions_max
        self._absent: dict[str, HostSession] = {}
        """Sessions without a connection, those that have been so longest first."""
        self._away: dict[str, None] = {}
        """Agents whose laws know that their programs have gone away."""
        self._expected: dict[str, int] = {}
        """Agents whose programs were there when the host's last life ended, and until when they
        have to come back before they count as gone."""
        self._stopped = False

    @property
    def all(self) -> Collection[HostSession]:
        """Every session, connected or not, as they are now."""
        return self._all.values()

    def clients_of(self, agent: str) -> int:
        """How many clients speak for an agent, connected or not."""
        return len(self._of.get(agent, ()))

    @property
    def grace_us(self) -> int:
        """How long a session waits for its client to come back."""
        return self._grace_us

    # -- beginning and end -------------------------------------------------------------------

    def restore(self, outbox: Iterable[KeptForClient], *, now: int) -> None:
        """Take up the sessions of an earlier life; their clients have yet to come back."""
        pushes: dict[str, list[tuple[KeptForClient, int]]] = {}
        opened: dict[str, SessionKept] = {}
        for one in outbox:
            try:
                if not one.body:  # a letter that went elsewhere
                    pushes.setdefault(one.agent, []).append((one, 0))
                elif one.number == _OPENED:
                    opened[one.agent] = msgspec.msgpack.decode(one.body, type=SessionKept)
                else:
                    pushes.setdefault(one.agent, []).append((one, answered_call(one.body)))
            except (msgspec.MsgspecError, BadFrame) as error:
                self._gate.note("push-unreadable", {"session": one.agent, "why": str(error)})
        for key, who in opened.items():
            session = self._add(HostSession(key, who.agent, self._base, alongside=who.alongside))
            for one, seq in sorted(pushes.pop(key, ()), key=lambda pair: pair[0].number):
                if not one.body:
                    continue
                session.high = max(session.high, seq)
                session.kept = one.number
                # Whether it was sent nobody knows, so nothing in it is ever given back.
                session.outbox.append((one.number, one.body, seq, None))
                session.weight += len(one.body)
                session.answers += seq > 0
                place = None if seq else moved_to(one.body)
                if place is not None:  # its client does not know, or has not followed it yet
                    session.moved_to = "" if self._gate.here(who.agent) else place
            session.absent_since = now
            self._absent[key] = session
            if who.away:
                self._away[who.agent] = None
            elif not session.moved_to:
                self._expected[who.agent] = now + RETURN_US
        for agent in self._away:
            self._expected.pop(agent, None)
        for key, left in pushes.items():  # letterboxes, and sessions that had ended
            left.sort(key=lambda pair: pair[0].number)
            old = HostSession(
                key, key.partition(" ")[0], left[-1][0].number if left else self._base
            )
            old.outbox.extend([(one.number, one.body, seq, None) for one, seq in left if one.body])
            self._pass_on(old)
            self._gate.trim(key, old.number)

    def open(
        self,
        key: str,
        agent: str,
        link: SessionLink,
        *,
        seen: int,
        alongside: bool,
        now: int,
        follows: str | None = None,
    ) -> tuple[HostSession, bool]:
        """Begin a session, or go on with one; says whether it was known.

        Pushes after the one that the client has `seen` last are sent again with `resend`. A client
        that `follows` its agent, from the host of that name, is let in when the agent has come.
        Raises `TooManySessions`, `HasEnded`, and what the host has against the agent.
        """
        session = self._all.get(key)
        known = session is not None
        if session is None:
            if key in self._over:
                raise HasEnded(agent=agent)
            self._gate.seat(agent, follows=follows)
            if not alongside:
                for other in list(self._of.get(agent, {}).values()):
                    if other.link is None and not other.alongside:
                        self.end(other)
            if len(self._all) >= self._max:
                self._make_room()
            # A host without a store, under its old name, may find a client that has seen more.
            ours = self._base < seen < self._base + SEEN_MAX
            number = max(self._top, seen) if ours else self._top
            session = self._add(HostSession(key, agent, number, alongside=alongside))
            self._keep(session)
            box = self._boxes.pop(agent, None)
            if box is not None:
                self._close_box(box)
        else:
            self.seen(session, seen)
            if key not in self._over and not (session.moved_to and session.outbox):
                # Its agent may have left, and its client have seen that, in an earlier life of
                # this host or in this one: no call could be answered here.
                self._gate.seat(agent, follows=follows)
            if session.link is not None:
                session.link.drop()
        session.link = link
        session.sent = 0
        session.clogged = True  # until `resend`: the client has to be welcomed first
        if session.absent_since is not None:
            session.absent_since = None
            del self._absent[key]
        self._expected.pop(agent, None)
        if agent in self._away:
            del self._away[agent]
            self._tell(Present(agent))
        return session, known

    def _keep(self, session: HostSession) -> None:
        """Have a session on disk as it is: with whether its agent is away."""
        agent = session.agent
        body = msgspec.msgpack.encode(SessionKept(agent, session.alongside, agent in self._away))
        self._gate.keep((KeptForClient(session.key, _OPENED, body),))

    def _close_box(self, box: HostSession) -> None:
        """Somebody speaks for an agent again, and gets the letters that have waited."""
        self._top = max(self._top, box.number)
        self._pass_on(box)

    def _make_room(self) -> None:
        """End the session that has waited longest for its client."""
        oldest = next(iter(self._absent.values()), None)
        if oldest is None:
            raise TooManySessions(limit=self._max)
        self._gate.note("session-pushed-out", {"agent": oldest.agent, "limit": self._max})
        self.end(oldest)

    def _add(self, session: HostSession) -> HostSession:
        self._all[session.key] = session
        self._of.setdefault(session.agent, {})[session.key] = session
        return session

    def resend(self, session: HostSession) -> None:
        """Send what a client that is back has not seen."""
        self._send(session, list(session.outbox))

    def go_on(self, session: HostSession) -> None:
        """The connection is clogged no more: send what has waited since."""
        self._send(session, [push for push in session.outbox if push[0] > session.sent])

    def _send(self, session: HostSession, pushes: list[Push]) -> None:
        link = session.link
        if link is None:
            return
        session.clogged = False
        for number, body, _, _ in pushes:
            if not link.send(body):
                session.clogged = True
                return
            session.sent = number
            if number > session.shown:
                session.shown = number

    def lost(self, session: HostSession, link: SessionLink, *, now: int) -> None:
        """A connection is gone; the session waits for the next one."""
        if session.link is not link or session.ended:
            return
        session.link = None
        session.absent_since = now
        self._absent[session.key] = session
        if not session.moved_to:
            self._gone(session.agent)

    def _gone(self, agent: str) -> None:
        """Tell an agent's laws that its program has gone, if no connection of it is left."""
        sessions = self._of.get(agent, {}).values()
        if self._stopped or any(one.link is not None for one in sessions):
            return
        self._away[agent] = None
        self._tell(Absent(agent))

    def stop(self) -> None:
        """The host ends: connections that end with it are no doing of their clients."""
        self._stopped = True

    def _tell(self, event: Absent | Present) -> None:
        if not self._stopped:
            with suppress(Unavailable):  # a store that is full: the law learns nothing of it
                self._gate.tell(event)
                for session in self._of.get(event.agent, {}).values():
                    self._keep(session)

    def end(self, session: HostSession) -> None:
        """A session is over: its client said so, or never came back."""
        if session.ended:
            return
        session.ended = True
        self._top = max(self._top, session.number)
        del self._all[session.key]
        self._absent.pop(session.key, None)
        of = self._of[session.agent]
        del of[session.key]
        if not of:
            del self._of[session.agent]
        link, session.link = session.link, None
        if link is not None:
            link.drop()
        self._forget_all(session, ended=True)
        for reaction in session.reactions:
            self._reacting.pop((session.agent, reaction), None)
        # None is asked for, when its answer only waits for the disk.
        asked = {op: self._ops.get(op) for op in session.calls.values()}
        waits = tuple([op for op, one in asked.items() if one and isinstance(one[2], Seek)])
        if waits or session.reactions:
            self._abandon(Abandoned(session.agent, waits, tuple(session.reactions)))
        for number, _, _, taken in session.outbox:
            if number > session.shown and taken is not None:
                self._undo(session, taken)
        if not of and not session.moved_to:
            self._pass_on(session)
            self._gate.vacate(session.agent)
        session.outbox.clear()

    def _forget_all(self, session: HostSession, *, ended: bool = False) -> None:
        """Nothing of a session is wanted any more, once all that was kept of it is on disk."""
        self._gate.bring(Outgoing(replaced=(session.key, session.number), ended=ended), ())

    def _abandon(self, event: Abandoned) -> None:
        try:
            self._gate.tell(event)
        except NomospaceError as error:
            facts = {"agent": event.agent, "request": "Abandoned", "error": str(error)}
            self._gate.note("not-carried-out", facts)

    def halt(self, agent: str, error: NomospaceError, *, ended: bool = False) -> None:
        """End all sessions of an agent that is suspended, or `ended`; its clients are told why."""
        for session in list(self._of.get(agent, {}).values()):
            if ended and session.key not in self._over:
                continue  # it is of another agent, which has its name since
            if session.link is not None:
                session.link.send(pack_refusal(error))
            self.end(session)
        if ended:
            while len(self._over) > self._max:
                del self._over[next(iter(self._over))]
            for known in (self._away, self._expected, self._awaited):
                known.pop(agent, None)
            box = self._boxes.pop(agent, None)
            if box is not None:
                self._top = max(self._top, box.number)
                self._forget_all(box)

    def expire(self, *, now: int) -> None:
        """End the sessions whose clients have stayed away too long."""
        for agent, until in list(self._expected.items()):
            if until > now:
                break  # the others have as long
            del self._expected[agent]
            self._gone(agent)
        for agent, since in list(self._awaited.items()):
            if agent in self._of:
                del self._awaited[agent]
            elif since is None:
                self._awaited[agent] = now
            elif now - since >= self._grace_us:
                del self._awaited[agent]
                self._gate.vacate(agent)
        for session in list(self._absent.values()):
            assert session.absent_since is not None
            if now - session.absent_since < self._grace_us:
                return  # the others have waited less
            self._gate.note("session-lapsed", {"agent": session.agent})
            self.end(session)

    # -- what clients say --------------------------------------------------------------------

    def seen(self, session: HostSession, number: int) -> None:
        """The client has everything up to a number."""
        self._forget(session, number)
        self._go_on_deferred(session)

    def _go_on_deferred(self, session: HostSession) -> None:
        """Begin calls that have waited until the outbox is lighter."""
        while session.deferred and session.weight <= OUTBOX_BYTES_MAX:
            self._begin(session, *session.deferred.popleft())

    def ask_many(self, session: HostSession, asked: Sequence[tuple[int, int, Request]]) -> int:
        """Some calls of the client, with what it had seen: do as many as make one step; how many.

        As `ask` does. They are calls that the core gets as they are.
        """
        seq, seen, request = asked[0]
        if session.outbox and session.outbox[0][0] <= seen:
            self._forget(session, seen)
            if session.deferred:
                self._go_on_deferred(session)
        calls, high = session.calls, session.high
        if (
            seq <= high
            or session.moved_to
            or session.deferred
            or session.weight > OUTBOX_BYTES_MAX
            or len(calls) + session.answers > CALLS_MAX - MANY
        ):
            self.ask(session, seq, request)
            return 1
        op = self._op
        told: list[Call] = []
        for seq, _, request in asked:
            if seq <= high:
                break
            op += 1
            high = seq
            calls[seq] = op
            self._ops[op] = (session, seq, request)
            told.append(Call(op, session.agent, request))
        self._op = op
        try:
            done = self._gate.tell_many(told)
        except NomospaceError as error:
            first = self._ops.pop(told[0].op, None) is not None
            self._untell(session, asked, told, 0 if first else 1)
            if not first:
                raise  # it was answered, and what went wrong is something else
            session.high = asked[0][0]
            self.refuse(session, asked[0][0], error)
            return 1
        if done < len(told):
            high = asked[done - 1][0]
            self._untell(session, asked, told, done)
        session.high = high
        return done

    def _untell(
        self,
        session: HostSession,
        asked: Sequence[tuple[int, int, Request]],
        told: Sequence[Call],
        done: int,
    ) -> None:
        """Calls from a place on were not begun."""
        for at in range(done, len(told)):
            self._ops.pop(told[at].op, None)
            session.calls.pop(asked[at][0], None)

    def ask(self, session: HostSession, seq: int, request: Request) -> None:
        """A call of the client: do it, unless it is known. Raises `WindowBroken`."""
        if seq <= session.high and session.knows(seq):
            return
        if session.moved_to:
            return  # it is asked again where the agent is now
        if seq > session.high:
            session.high = seq
        if len(session.calls) + session.answers + len(session.deferred) >= CALLS_MAX:
            raise WindowBroken(agent=session.agent, limit=CALLS_MAX)
        if session.deferred or session.weight > OUTBOX_BYTES_MAX:
            session.deferred.append((seq, request))
            return
        self._begin(session, seq, request)

    def _begin(self, session: HostSession, seq: int, request: Request) -> None:
        kind = request.__class__
        if kind in _TRANSLATED:
            translated = self._translated(session, seq, request)
            if translated is None:
                return
            request = translated
        self._op = op = self._op + 1
        session.calls[seq] = op
        self._ops[op] = (session, seq, request)
        try:
            self._gate.tell(Call(op, session.agent, request))
        except NomospaceError as error:
            if self._ops.pop(op, None) is None:
                raise  # it was answered, and what went wrong is something else
            del session.calls[seq]
            self.refuse(session, seq, error)

    def _translated(self, session: HostSession, seq: int, request: Request) -> Request | None:
        """A call as the core is to have it; `None` when it is refused."""
        if isinstance(request, Cancel):
            return Cancel(session.calls.get(request.op, 0))
        if isinstance(request, Move):
            # What it waits for and its reactions end here, and its client asks for them there.
            return Move(request.to, CLIENT_PROGRAM)
        self.refuse(session, seq, NotForClients(what=type(request).__name__.lower()))
        return None

    def refuse(self, session: HostSession, seq: int, error: NomospaceError) -> None:
        """Answer a call that has done nothing with an error, outside of all numbers."""
        if session.link is not None:
            session.link.send(pack_failure(0, seq, error))


_TRANSLATED: Final = frozenset({Cancel, Move, Launch, Save})
"""Calls that the core does not get as they are."""
