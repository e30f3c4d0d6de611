"""The client's end of a session: its calls, their numbers, and what it has seen of its host.

A call is numbered, sent, and kept until its answer is there. When the connection breaks and there
is a new one, the calls without an answer are sent again: the host knows those that it has heard
(`host_sessions`), so none is lost and none is done twice. Pushes of the host carry growing numbers;
the last one seen goes along with the next call, or alone.

A host that was killed comes back with what it had written down. Reactions are not, so they have to
be registered anew, and may fire once more for tuples that are still there. When the agent moves,
its session goes on at the host where the agent is, as after such a crash.

A take that is cancelled must not swallow a tuple (`open_calls`): it is called off, and a tuple that
was given all the same is written again, also over the next connection.

This end has no socket, clock or task. Whoever drives it (`client.session_driver`, or a simulated
world) tells it what happens and carries out the orders that it returns, in their order. Answers go
straight to who asked: an `Asker`, or whoever is called with the value and the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from nomospace.calls.answers import Found
from nomospace.calls.requests import BULK, Cancel, OutMany, Request, Seek, Settle
from nomospace.errors import NomospaceError, Unavailable
from nomospace.sessions.open_calls import Asker, OpenCall, OpenCalls
from nomospace.terms import Term
from nomospace.wire import talk
from nomospace.wire.framing import BadFrame

UNRETURNED_MAX: Final = 1_000
"""How many tuples of takes that were called off too late, and that their laws let nobody put back,
are kept for the next take."""

LAPSED: Final = "space.lease-lapsed"
_REFUSED: Final = "law.refused"
_NOT_NOW: Final = ("host.busy", "store.full", "store.unavailable")
"""A host that answers so has done nothing, and may do it later."""


class SessionLost(Unavailable):
    """A host does not know a session any more; what was under way in it is in doubt."""

    code = "client.session-lost"
    words = (
        "host {host} has given up the session of {agent}, which was away for too "
        "long; this may have been done or not: look, then ask again"
    )
    agent: str
    host: str


class OutOfTime(Exception):
    """The time of a call is up while there is no host that could call it off."""


class SendFrame(msgspec.Struct, frozen=True, gc=False):
    """Send a frame to the host."""

    body: bytes


class ReactionFired(msgspec.Struct, frozen=True):
    """A reaction has fired at the host; the tuple is in the frame."""

    reaction: str
    frame: talk.Frame


class ReactionEnded(msgspec.Struct, frozen=True):
    """The host has removed a reaction."""

    reaction: str
    error: NomospaceError


class RegisterAnew(msgspec.Struct, frozen=True):
    """The host knows no reaction of this client: register them all again."""


class LetterCame(msgspec.Struct, frozen=True):
    """A community's message has come."""

    law: str
    sender: str
    message: Term


class FollowAgent(msgspec.Struct, frozen=True):
    """The agent is on its way to another host: look for it there."""

    to: str
    address: str


class StayHere(msgspec.Struct, frozen=True):
    """The agent was sent back, and is where it was: look for it nowhere else."""


class LeaveHost(msgspec.Struct, frozen=True):
    """The agent was found elsewhere: end the connection to the host that it has left."""


class NotPutBack(msgspec.Struct, frozen=True):
    """A tuple of a cancelled take could not be put back: let somebody know."""

    taking: Seek
    found: Found
    error: NomospaceError


class DropConnection(msgspec.Struct, frozen=True):
    """The host says what it must not: end the connection, and make another."""

    error: BadFrame


class EndSession(msgspec.Struct, frozen=True):
    """There will be no connection any more: whom this client proved to be counts no longer."""

    error: NomospaceError


ClientOrder: TypeAlias = (
    SendFrame
    | ReactionFired
    | ReactionEnded
    | RegisterAnew
    | LetterCame
    | FollowAgent
    | StayHere
    | LeaveHost
    | NotPutBack
    | DropConnection
    | EndSession
)
Then: TypeAlias = Callable[[object, NomospaceError | None], None]


class ClientSession(OpenCalls[ClientOrder]):
    """What a client remembers of its session at a host. Every method returns what is to be done.

    >>> session = ClientSession("ann@ward")
    >>> call = OpenCall(1, None, body=b"...")
    >>> session.begin(call)  # there is no connection yet: it waits
    False
    """

    __slots__ = ("_behind", "_left_as", "_lost_at", "_seen_at", "acked", "agent", "connected",
                 "going_to", "moving", "returning", "seen", "unreturned", "welcome")  # fmt: skip

    def __init__(self, agent: str) -> None:
        super().__init__()
        self.agent = agent
        self.welcome: talk.HostWelcome | None = None
        """What the host said when it let the client in last."""
        self.connected = False
        self.seen = 0
        """The last push of the host that was seen."""
        self.acked = 0
        """The last one that the host was told of."""
        self.going_to = ""
        """Where the agent has gone, while it has not been found there."""
        self.moving = 0
        """The call that made it go."""
        self._left_as = 0
        """The push that said so."""
        self._seen_at: dict[str, int] = {}
        """The last pushes of hosts that the agent was at before."""
        self._lost_at: int | None = None
        self._behind = False
        """Whether `resend` is to come, which sends all that is asked until then."""
        self.unreturned: list[tuple[Seek, Found]] = []
        """What takes have brought too late, and a law lets nobody put back."""
        self.returning: list[tuple[Seek, Found]] = []
        """What the host could not take back just now; it is asked again at the next tick."""

    @property
    def host(self) -> str:
        """The name of the host that the agent is at; empty before there was any."""
        return "" if self.welcome is None else self.welcome.host

    # -- calls -----------------------------------------------------------------------------------

    def begin(self, call: OpenCall) -> bool:
        """A call is made, under the next number; says whether its body goes out now."""
        self.number = call.number
        self.calls[call.number] = call
        if not self.connected or self.going_to:
            return False
        self.acked = self.seen
        call.sent = True
        return True

    def post(
        self, request: Request, then: Then, back: tuple[Seek, Found] | None = None
    ) -> list[ClientOrder]:
        """Make a call whose answer `then` is handed at once."""
        number = self.number + 1
        body = talk.pack_ask(number, self.seen, request)
        call = OpenCall(number, then, None, body, posted=True, back=back)
        return [SendFrame(body)] if self.begin(call) and not self._behind else []

    def kept_for(self, taking: Seek) -> Found | tuple[Found, ...] | None:
        """What an earlier take that asked for the same has brought too late; `None` if nothing."""
        fits = [one for one in self.unreturned if one[0] == taking]
        if taking.how not in BULK:
            del fits[1:]
        for one in fits:
            self.unreturned.remove(one)
        founds = tuple([found for _, found in fits])
        return founds if taking.how in BULK else next(iter(founds), None)

    def time_up(self, number: int) -> list[ClientOrder]:
        """The time of a call is up: the host is to call it off. Without one it is over at once."""
        call = self.calls.get(number)
        if call is None or call.asker is None or call.asker.done():
            return []
        if not self.connected or self.going_to:
            return self._out_of_time(call)
        call.late = True
        return self.post(Cancel(number), nobody)

    def _out_of_time(self, call: OpenCall) -> list[ClientOrder]:
        asker: Asker = call.asker
        if not asker.done():
            asker.set_exception(OutOfTime())
        call.asker = None
        return self._call_off(call)

    def _call_off(self, call: OpenCall) -> list[ClientOrder]:
        if not call.sent:
            del self.calls[call.number]
        elif not call.late:
            return self.post(Cancel(call.number), nobody)
        return []

    def _give_back(self, call: OpenCall, value: object) -> list[ClientOrder]:
        taking = call.taking
        assert taking is not None, "only what takes brings anything"
        taken: tuple[Found, ...] = value if isinstance(value, tuple) else (value,)
        orders: list[ClientOrder] = []
        for found in taken:  # one by one: a law may let some of them pass and others not
            orders += self._put_back(taking, found)
        return orders

    def _put_back(self, taking: Seek, found: Found) -> list[ClientOrder]:
        back: Request = OutMany(taking.space, found.rows)
        if taking.lease_us:
            back = Settle(taking.space, found.lease, False)
        return self.post(back, nobody, back=(taking, found))

    def _given_back(
        self, taking: Seek, found: Found, error: NomospaceError | None
    ) -> list[ClientOrder]:
        """A tuple is back, or not.

        Under a law that lets its taker not write it (only its author may, say) it stays with this
        agent, and is the answer to a take that asks for the same, now or later.
        """
        if error is None or error.code == LAPSED:
            return []  # a lease that is over has given it back already
        if error.code == _REFUSED:
            for call in self.calls.values():
                asker = call.asker
                if call.taking == taking and asker is not None and not asker.done():
                    asker.set_result((found,) if taking.how in BULK else found)
                    call.asker = None
                    return self._call_off(call)
            if len(self.unreturned) < UNRETURNED_MAX:
                self.unreturned.append((taking, found))
                return []
        return [NotPutBack(taking, found, error)]

    # -- connections -----------------------------------------------------------------------------

    def seen_at(self, host: str) -> int:
        """The last push of a host that was seen."""
        return self.seen if host == self.host else self._seen_at.get(host, 0)

    def lost(self, *, now: int) -> list[ClientOrder]:
        """The connection is gone. What waits goes on waiting, but for what is out of time."""
        self.connected = False
        if self._lost_at is None:
            self._lost_at = now
        return self._end_late()

    def _end_late(self) -> list[ClientOrder]:
        orders: list[ClientOrder] = []
        for call in list(self.calls.values()):
            if call.late and call.asker is not None:
                orders += self._out_of_time(call)
        return orders

    def welcomed(self, welcome: talk.HostWelcome, *, now: int) -> list[ClientOrder]:
        """A host has let the client in: go on where the last connection ended.

        After what this orders comes `attached`, then what the host has said meanwhile (`hear`), and
        then `resend`, unless the agent has yet to be found elsewhere (`going_to`).
        """
        before, self.welcome = self.welcome, welcome
        if before is None:
            self.agent = welcome.agent
            return []
        self._behind = True
        if self.going_to and welcome.host == before.host:
            self.welcome = before
            return []
        orders: list[ClientOrder] = []
        same = before.host == welcome.host and before.life == welcome.life
        if before.host != welcome.host:
            orders += self._moved(before.host, welcome.host)
        elif not welcome.known:
            # Without a trace of the session, a host that has begun anew has done nothing that
            # lasts; the same host, or one that had long given it up, may have.
            away_us = 0 if self._lost_at is None else now - self._lost_at
            if same or away_us > before.grace_s * 1e6:
                orders += self._forsake(SessionLost(agent=self.agent, host=welcome.host))
        if not same:
            for call in self.calls.values():
                call.again = call.sent
        if not same or not welcome.known:
            orders.append(RegisterAnew())
        return orders

    def attached(self) -> None:
        """Frames can be sent and heard from now on."""
        self.connected = True
        if not self.going_to:
            self._lost_at = None

    def resend(self) -> list[ClientOrder]:
        """Ask again whatever has no answer: the host knows what it has heard before."""
        if not self.connected:
            return []
        self._behind = False
        orders: list[ClientOrder] = []
        for call in self.calls.values():
            call.sent = True
            orders.append(SendFrame(call.body))
        return orders

    def _forsake(self, error: NomospaceError) -> list[ClientOrder]:
        """Nobody can say any more what became of the calls that were sent."""
        orders: list[ClientOrder] = []
        for number, call in list(self.calls.items()):
            if call.sent:
                del self.calls[number]
                orders += self._fail(call, error)
        return orders

    def acknowledge(self, *, idle: bool) -> list[ClientOrder]:
        """Tell the host what was seen, if it does not know; `idle` asks for a sign of life."""
        orders: list[ClientOrder] = []
        again, self.returning = self.returning, []
        for one in again:
            orders += self._put_back(*one)
        if self.seen <= self.acked and not idle:
            return orders
        self.acked = self.seen
        return [*orders, SendFrame(talk.pack_seen(self.seen))]

    # -- what the host says ----------------------------------------------------------------------

    def hear(self, frames: list[bytes]) -> list[ClientOrder]:
        """Frames have come from the host."""
        orders: list[ClientOrder] = []
        calls = self.calls
        for data in frames:
            answer, error = talk.read_common_answer(data), None
            try:
                if answer is None:
                    frame = talk.unpack_frame(data)
                    if not talk.FOUND <= frame[0] <= talk.FAILURE:
                        orders += self._pushed(frame[0], frame)
                        continue
                    answer, error = self._read(frame)
            except BadFrame as bad:
                return [*orders, DropConnection(bad)]
            number, seq, value = answer
            if number:
                if number <= self.seen:
                    continue
                self.seen = number
            call = calls.pop(seq, None)
            if call is None:
                continue
            asker = call.asker
            if call.posted:
                orders += self._posted(call, number, value, error)
            elif error is None and asker is not None and not asker.done():  # most often
                asker.set_result(value)
            else:
                orders += self._bring(call, value, error)
        return orders

    def _read(self, frame: talk.Frame) -> tuple[tuple[int, int, object], NomospaceError | None]:
        """An answer with its numbers, and what is wrong instead."""
        if len(frame) < 3:
            raise BadFrame(why="an answer without its numbers")
        kind, number, seq = frame[:3]
        try:
            if kind == talk.FAILURE:
                return (number, seq, None), talk.read_error(frame[3])
            read = talk.read_found if kind == talk.FOUND else talk.read_reply
            return (number, seq, read(frame)), None
        except (ValueError, IndexError) as bad:
            return (number, seq, None), BadFrame(why=f"an answer of {self.host}: {bad}")

    def _posted(
        self, call: OpenCall, number: int, value: object, error: NomospaceError | None
    ) -> list[ClientOrder]:
        """A call is answered that this end has made by itself, or for one who does not wait."""
        if call.back is not None:
            if error is not None and error.code in _NOT_NOW:
                self.returning.append(call.back)
                return []
            return self._given_back(*call.back, error)
        call.asker(value, error)
        assert self.welcome is not None, "a host has answered"
        if error is None and number and number >> talk.LIFE_BITS < self.welcome.life:
            # A reaction may have been registered just before its host was killed: it is gone.
            return [RegisterAnew()]
        return []

    def _pushed(self, kind: int, frame: talk.Frame) -> list[ClientOrder]:
        if kind == talk.REFUSAL and len(frame) == 2:
            return [EndSession(talk.read_error(frame[1]))]
        if kind not in _PUSHES:
            return []  # a sign of life
        if len(frame) < _PUSHES[kind] or frame[1].__class__ is not int:
            raise BadFrame(why="a push without its number or its parts")
        number = frame[1]
        if number <= self.seen or (kind == talk.LEFT and self.going_to):
            return []
        if kind == talk.LEFT:
            # It stays unseen until the agent is found there, so that nothing that the host it left
            # has to say about it gets lost.
            self._left_as = number
            orders = self._end_late()
            self.going_to = frame[2]
            return [*orders, FollowAgent(frame[2], frame[3])]
        self.seen = number
        if kind == talk.FIRED:
            return [ReactionFired(frame[2], frame)]
        if kind == talk.MAILED:
            return [LetterCame(frame[2], frame[3], talk.read_message(frame[4]))]
        if kind == talk.GONE:
            return [ReactionEnded(frame[2], talk.read_error(frame[3]))]
        return self._stays(talk.read_error(frame[2]))

    def _fail(self, call: OpenCall, error: NomospaceError) -> list[ClientOrder]:
        if call.back is not None:
            return self._given_back(*call.back, error)
        if call.posted:
            call.asker(None, error)
        elif call.asker is not None and not call.asker.done():
            call.asker.set_exception(error)
        return []

    # -- moving ----------------------------------------------------------------------------------

    def _moved(self, before: str, now: str) -> list[ClientOrder]:
        """The agent is where it would be, and nothing of it is where it was."""
        self.going_to = ""
        self._seen_at[before] = max(self.seen, self._left_as)
        self._left_as = 0
        self.seen = self.acked = self._seen_at.pop(now, 0)
        connected, self.connected = self.connected, False
        call = self.calls.pop(self.moving, None)
        self.moving = 0
        orders: list[ClientOrder] = [LeaveHost()] if connected else []
        if call is not None:
            orders += self._bring(call, None, None)
        for call in self.calls.values():
            call.body = talk.unseen(call.body)
        return orders

    def _stays(self, error: NomospaceError) -> list[ClientOrder]:
        """The agent was sent back, and is where it was."""
        self.going_to = ""
        self._lost_at = None
        call = self.calls.pop(self.moving, None)
        self.moving = 0
        failed = [] if call is None else self._fail(call, error)
        return [StayHere(), *failed, *self.resend(), RegisterAnew()]

    # -- the end ---------------------------------------------------------------------------------

    def end(self, error: NomospaceError, *, quiet: bool = False) -> list[ClientOrder]:
        """There will be no connection any more; who waits is told why."""
        self.connected = False
        calls, self.calls = self.calls, {}
        orders: list[ClientOrder] = [NotPutBack(*one, error) for one in self.returning]
        for call in calls.values():
            if not (call.posted and quiet):
                orders += self._fail(call, error)
        return orders


_PUSHES: Final = {talk.FIRED: 9, talk.MAILED: 5, talk.GONE: 4, talk.LEFT: 4, talk.BACK: 3}
"""The pushes that answer no call, and how many parts they have."""


def nobody(value: object, error: NomospaceError | None) -> None:
    """Is handed an answer that tells nothing new."""
