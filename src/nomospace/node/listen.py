"""The one port of a host: it takes connections in and finds out who they are for.

Peers and clients come to the same port. With certificates it speaks TLS 1.3 only, and the name of
the protocol agreed on in the handshake (ALPN) says which it is: `nomos-host/1`, which must show the
certificate of a host, or `nomos-client/1`, which may show one. Without certificates (on loopback
addresses only) the first frame is that very name, and a peer is who it says it is.

A connection is a *stranger* until whoever it was handed to calls `Arrival.proven`: the first good
frame has come. Strangers cost as little as can be, and one address cannot keep out others:

- One that sends nothing costs a file descriptor: no task, no timer, no TLS state before its first
  byte is there. After `stranger_s` it is dropped, whatever it has sent by then.
- There are at most `strangers_max` of them, and `strangers_per_address_max` from one address. Who
  comes when there are that many pushes out the one that has waited longest, of those that have sent
  nothing if there are any: one of its own address, or else of the address with the most.
- At most `proving_max` of them are heard at once, of one address `proving_per_address_max`. Each
  may send `STRANGER_BYTES_MAX` (see `wire.framing`), so all together a stated sum, TLS besides.
  Others wait for their turn with what they have sent in the kernel's hands, and addresses take
  turns. While some wait, who is heard has `hurry_s` and is then pushed out; an honest client needs
  some milliseconds. `BEGUN_MAX` are begun in `TURN_S`, as the first step of TLS costs half a
  millisecond of everybody's time; without TLS `PLAIN_MAX`.
- `connections_max` and `per_address_max` bound all connections; who is proven is never pushed out.

A `Port` is all of that and knows nothing of what is spoken on it; `Listener` is the port of peers
and clients. HTTP has ports of its own (`services.web_port`), where a connection is proven while a
request with a good token is under way, and a stranger again when it rests.

Every refusal is told to `on_note`, with its kind, the address and the reason.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from nomospace.calls.problems import NotLetIn
from nomospace.errors import NomospaceError, Unavailable
from nomospace.node.addresses import Address
from nomospace.node.binding import bind_all
from nomospace.node.identity import CLIENT_ALPN, HOST_ALPN, Identity
from nomospace.node.notes import Notes, OnNote
from nomospace.trust.certificates import HostCertificate
from nomospace.wire.framing import STRANGER_BYTES_MAX, BadFrame, join
from nomospace.wire.opening import read_preface
from nomospace.wire.talk import pack_refusal

ACCEPTS_MAX: Final = 8
"""How many connections are taken in before others have a turn again, and a pause of `TURN_S`."""
BACKLOG: Final = 1_024
"""How many connections the machine keeps that have not been taken in."""
PAUSE_S: Final = 0.2
"""How long nobody is taken in when the machine has no descriptors left."""
SWEEP_S: Final = 0.25
"""How often strangers are looked after."""
BEGUN_MAX: Final = 1
"""How many strangers begin to be heard over TLS before others have a turn again, """
PLAIN_MAX: Final = 4
"""or without it, which costs less, """
TURN_S: Final = 0.002
"""and after how long the next may."""
TLS_FIRST_BYTE: Final = 0x16


class PortUnavailable(Unavailable):
    """The port cannot be had."""

    code = "node.cannot-listen"
    words = "cannot listen on {address}: {why}; free it or give another --listen"
    address: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PortLimits:
    """What a port bears."""

    connections_max: int = 10_000
    per_address_max: int = 4_000
    strangers_max: int = 1_000
    strangers_per_address_max: int = 500
    stranger_s: float = 5.0
    proving_max: int = 256
    proving_per_address_max: int = 64
    hurry_s: float = 1.0


class Arrival:
    """A connection that came in, as the one it is handed to sees it.

    Whoever gets it calls `proven` when the first good frame has come, and `ended` when the
    connection is lost; `rest`, where a connection may stay though nothing is asked of it.
    """

    def __init__(self, listener: Port, sock: socket.socket, ip: str, due: float) -> None:
        self._listener = listener
        self.ip = ip
        self.due = due
        self.begun_at = 0.0
        """When it began to be heard."""
        self.kind = ""
        """`nomos-host/1` or `nomos-client/1`."""
        self.certificate: bytes | None = None
        """What it showed (DER), and the handshake proved it has the key of."""
        self.host: HostCertificate | None = None
        """The certificate of the host that it is; `None` for a client, or without certificates."""
        self.proved = False
        self.sock: socket.socket | asyncio.Transport = sock
        self.task: asyncio.Task[None] | None = None
        self.shaking = False
        """Whether the task has begun: from then on its transport answers for the socket."""

    def proven(self) -> None:
        """It has said something sensible: it is no stranger any more."""
        self._listener._prove(self)

    def rest(self) -> None:
        """Nothing is under way: it is a stranger again, who has just come."""
        self._listener._rest(self)

    def ended(self) -> None:
        """It is gone; saying so twice is harmless."""
        self._listener._forget(self)

    def refuse(self, what: str, **facts: object) -> None:
        """Drop it and note why."""
        self._listener._refuse(self, what, **facts)


def _say(sock: socket.socket, error: NomospaceError) -> None:
    """Tell whoever speaks another protocol than this port does, if it can be told at once."""
    with suppress(OSError):
        sock.recv(STRANGER_BYTES_MAX)  # one that is closed on what it has not read is reset
        sock.send(join([pack_refusal(error)]))


Receive = Callable[[Arrival], asyncio.Protocol]
"""Makes the protocol of a connection that came in."""


class _Gate(asyncio.Protocol):
    """Stands at a connection until it is known what it is for."""

    def __init__(self, listener: Listener, arrival: Arrival) -> None:
        self._listener = listener
        self._arrival = arrival
        self._transport: asyncio.Transport
        self._said = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are kin by shape only
        self._arrival.sock = self._transport
        if self._listener._identity is not None:
            self._listener._settle(self._arrival, self._transport)

    def data_received(self, data: bytes) -> None:
        # Only a port without certificates: with them the handshake has settled it before any data.
        self._said = said = self._said + data
        try:
            found = read_preface(said)
        except BadFrame as error:
            self._arrival.refuse("garbage", why=error.why)
            return
        if found is not None:
            opening, end = found
            self._arrival.kind = opening.protocol
            self._listener._hand_over(self._arrival, self._transport, said[end:])

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrival.ended()


class Port(ABC):
    """Takes connections in at an address, and gives each the protocol that `_protocol` makes.

    `tls` gives what encrypts them, asked anew for each; without it nothing is encrypted. `start`
    begins, `stop` drops strangers and takes nobody in any more; those who are proven belong to
    their owners.
    """

    def __init__(
        self,
        address: Address,
        *,
        tls: Callable[[], ssl.SSLContext] | None,
        on_note: OnNote | None = None,
        limits: PortLimits | None = None,
    ) -> None:
        self._asked = address
        self._tls = tls
        self._limits = limits or PortLimits()
        self._on_note = on_note
        self._sockets: list[socket.socket] = []
        self._strangers: dict[Arrival, None] = {}
        self._strangers_from: dict[str, dict[Arrival, None]] = {}
        self._proving: dict[Arrival, None] = {}
        """Strangers that are heard, in the order they began."""
        self._proving_from: dict[str, dict[Arrival, None]] = {}
        self._waiting: dict[str, dict[Arrival, socket.socket]] = {}
        """Strangers that have begun to send and wait for their turn, by address; the address whose
        turn is next stands first."""
        self._next_turn: asyncio.TimerHandle | None = None
        self._turns = PLAIN_MAX if tls is None else BEGUN_MAX
        self._turns_left = self._turns
        """How many may begin before the next pause."""
        self._count_from: dict[str, int] = {}
        self._known: dict[Arrival, None] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self.notes: Notes
        self.accepted = 0

    @property
    def address(self) -> Address:
        """Where it listens, with the port that the machine chose where 0 was asked for."""
        if not self._sockets:
            return self._asked
        host, port = self._sockets[0].getsockname()[:2]
        # A name stays: certificates are made for names.
        return Address(self._asked.host if not self._asked.anywhere else host, port)

    @property
    def bound(self) -> tuple[Address, ...]:
        """All places that it listens at, as numbers."""
        return tuple([Address(*sock.getsockname()[:2]) for sock in self._sockets])

    @property
    def advertised(self) -> str:
        """What to tell others: without a machine where it listens on all, for they see which."""
        address = self.address
        return f":{address.port}" if address.anywhere else str(address)

    @property
    def connections(self) -> int:
        """How many connections there are, strangers among them."""
        return len(self._known)

    @property
    def strangers(self) -> int:
        """How many connections have not proved themselves yet."""
        return len(self._strangers)

    async def start(self, on_bound: Callable[..., None] | None = None) -> None:
        """Take the port and begin to listen; raises `PortUnavailable`.

        `on_bound` is told the addresses (`bound`) before anybody can connect to them.
        """
        self._loop = loop = asyncio.get_running_loop()
        self.notes = Notes(self._on_note, loop.time)
        try:
            self._sockets = await self._bind()
            if on_bound is not None:
                on_bound(*self.bound)
            for sock in self._sockets:
                sock.listen(BACKLOG)
        except OSError as error:
            self._close()
            why = error.strerror or str(error)
            raise PortUnavailable(address=str(self._asked), why=why) from error
        for sock in self._sockets:
            loop.add_reader(sock.fileno(), self._accept, sock)
        self._sweeper = loop.call_later(SWEEP_S, self._sweep)

    async def _bind(self) -> list[socket.socket]:
        found = await self._loop.getaddrinfo(
            *self._asked, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return bind_all(found, several=self._asked.port != 0)

    async def stop(self) -> None:
        """Take nobody in any more, and drop who has not proved itself."""
        for timer in (self._sweeper, self._next_turn):
            if timer is not None:
                timer.cancel()
        self._sweeper = self._next_turn = None
        self._close()
        tasks = [arrival.task for arrival in self._strangers if arrival.task is not None]
        for arrival in list(self._strangers):
            self._drop(arrival)
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)

    def _close(self) -> None:
        for sock in self._sockets:
            self._loop.remove_reader(sock.fileno())
            sock.close()
        self._sockets = []

    # -- taking in ---------------------------------------------------------------------------

    def _accept(self, listening: socket.socket) -> None:
        pause_s = TURN_S
        for _ in range(ACCEPTS_MAX):
            try:
                sock, place = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                self.notes("no-descriptors", why=error.strerror)
                if self._strangers:
                    self._drop(next(iter(self._strangers)))
                pause_s = PAUSE_S
                break
            sock.setblocking(False)
            self._admit(sock, place[0])
        self._loop.remove_reader(listening.fileno())  # the machine keeps who comes
        self._loop.call_later(pause_s, self._again, listening)

    def _again(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening.fileno(), self._accept, listening)

    def _admit(self, sock: socket.socket, ip: str) -> Arrival | None:
        limits = self._limits
        crowd: dict[Arrival, None] | None = None
        mine = self._strangers_from.get(ip, {})
        if (
            self._count_from.get(ip, 0) >= limits.per_address_max
            or len(mine) >= limits.strangers_per_address_max
        ):
            crowd = mine
        elif (
            len(self._strangers) >= limits.strangers_max
            or len(self._known) >= limits.connections_max
        ):
            crowd = max(self._strangers_from.values(), key=len, default={})
        if crowd is not None:
            idle = (one for one in crowd if one not in self._proving)
            oldest = next(idle, None) or next(iter(crowd), None)
            if oldest is None:
                sock.close()
                self.notes("too-many", ip=ip, connections=len(self._known))
                return None
            oldest.refuse("pushed-out", why="too many connections have not said who they are")
        self.accepted += 1
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        arrival = Arrival(self, sock, ip, self._loop.time() + limits.stranger_s)
        self._known[arrival] = None
        self._strangers[arrival] = None
        self._strangers_from.setdefault(ip, {})[arrival] = None
        self._count_from[ip] = self._count_from.get(ip, 0) + 1
        self._loop.add_reader(sock.fileno(), self._first, arrival, sock)
        return arrival

    def _first(self, arrival: Arrival, sock: socket.socket) -> None:
        """The first byte is there, or the end."""
        self._loop.remove_reader(sock.fileno())
        try:
            byte = sock.recv(1, socket.MSG_PEEK)
        except OSError:
            byte = b""
        if not byte:
            self._drop(arrival)
        elif self._tls is not None and byte[0] != TLS_FIRST_BYTE:
            _say(sock, NotLetIn(why="this host speaks TLS, so its address is nomos://…"))
            arrival.refuse("plain-text", why="this port speaks TLS 1.3 only")
        elif self._tls is None and byte[0] == TLS_FIRST_BYTE:
            _say(sock, NotLetIn(why="this host does not speak TLS"))
            arrival.refuse("tls-on-plain", why="this port has no certificate: use nomos+plain://")
        else:
            self._waiting.setdefault(arrival.ip, {})[arrival] = sock
            self._take_turns()

    # -- who is heard ------------------------------------------------------------------------

    def _take_turns(self) -> None:
        """Begin to hear whom there is room for: the addresses in turn, each in its order."""
        while self._waiting and self._turns_left:
            ip = next((ip for ip in self._waiting if self._has_room(ip)), None)
            if ip is None:
                self._turns_left = 0
                break
            queue = self._waiting.pop(ip)
            arrival = next(iter(queue))
            sock = queue.pop(arrival)
            if queue:
                self._waiting[ip] = queue  # behind all other addresses
            self._turns_left -= 1
            arrival.begun_at = self._loop.time()
            self._proving[arrival] = None
            self._proving_from.setdefault(ip, {})[arrival] = None
            arrival.task = self._loop.create_task(self._shake_hands(arrival, sock))
        if self._turns_left < self._turns and self._next_turn is None:
            self._next_turn = self._loop.call_later(TURN_S, self._turn)

    def _turn(self) -> None:
        self._next_turn = None
        self._turns_left = self._turns
        self._take_turns()

    def _has_room(self, ip: str) -> bool:
        """Whether one more of an address may be heard; one that takes too long makes room."""
        limits = self._limits
        mine = self._proving_from.get(ip, {})
        if len(mine) >= limits.proving_per_address_max:
            crowd = mine
        elif len(self._proving) >= limits.proving_max:
            crowd = self._proving
        else:
            return True
        oldest = next(iter(crowd))
        if self._loop.time() - oldest.begun_at < limits.hurry_s:
            return False
        oldest.refuse("pushed-out", why="others wait, and it took too long to say who it is")
        return True

    async def _shake_hands(self, arrival: Arrival, sock: socket.socket) -> None:
        arrival.shaking = True
        tls = self._tls
        try:
            await self._loop.connect_accepted_socket(
                lambda: self._protocol(arrival),
                sock,
                ssl=None if tls is None else tls(),
                ssl_handshake_timeout=None if tls is None else self._limits.stranger_s,
            )
        except ssl.SSLCertVerificationError as error:
            self._shook_in_vain(arrival, "certificate-refused", error.verify_message)
        except ssl.SSLError as error:
            self._shook_in_vain(arrival, "handshake-failed", error.reason or str(error))
        except OSError as error:
            self._shook_in_vain(arrival, "handshake-failed", error.strerror or str(error))
        finally:
            arrival.task = None

    @abstractmethod
    def _protocol(self, arrival: Arrival) -> asyncio.Protocol:
        """What speaks on a connection; it tells the arrival its transport, as `sock`."""

    def _shook_in_vain(self, arrival: Arrival, what: str, why: str) -> None:
        if arrival in self._known:  # its transport has closed the socket
            self.notes(what, ip=arrival.ip, why=why or "the other side ended it")
            self._forget(arrival)

    # -- the books ---------------------------------------------------------------------------

    def _prove(self, arrival: Arrival) -> None:
        if not arrival.proved and arrival in self._known:
            arrival.proved = True
            self._no_stranger(arrival)

    def _rest(self, arrival: Arrival) -> None:
        if arrival in self._known:
            self._no_stranger(arrival)
            arrival.proved = False
            arrival.due = self._loop.time() + self._limits.stranger_s
            self._strangers[arrival] = None
            self._strangers_from.setdefault(arrival.ip, {})[arrival] = None

    def _no_stranger(self, arrival: Arrival) -> None:
        if self._strangers.pop(arrival, arrival) is None:
            _leave(self._strangers_from, arrival)
            if self._proving.pop(arrival, arrival) is None:
                _leave(self._proving_from, arrival)
            else:
                _leave(self._waiting, arrival)

    def _forget(self, arrival: Arrival) -> None:
        if self._known.pop(arrival, arrival) is None:
            self._no_stranger(arrival)
            self._count_from[arrival.ip] -= 1
            if not self._count_from[arrival.ip]:
                del self._count_from[arrival.ip]

    def _drop(self, arrival: Arrival) -> None:
        held = arrival.sock
        if isinstance(held, socket.socket):
            if arrival.task is not None:
                arrival.task.cancel()  # the transport under way closes the socket
            if not arrival.shaking:
                self._loop.remove_reader(held.fileno())
                held.close()
        else:
            held.abort()
        self._forget(arrival)

    def _refuse(self, arrival: Arrival, what: str, **facts: object) -> None:
        if arrival in self._known:
            self.notes(what, ip=arrival.ip, **facts)
            self._drop(arrival)

    def _sweep(self) -> None:
        now = self._loop.time()
        for arrival in list(self._strangers):
            if arrival.due > now:
                break  # they stand in the order they came
            arrival.refuse("too-slow", why="it did not say who it is in time")
        self.notes.settle(now)
        self._sweeper = self._loop.call_later(SWEEP_S, self._sweep)


class Listener(Port):
    """Listens on an address and hands connections to `on_host` and `on_client`.

    Without an `identity` nothing is encrypted and nobody proved, which is allowed on loopback
    addresses only.
    """

    def __init__(
        self,
        address: str,
        *,
        identity: Identity | None,
        on_host: Receive,
        on_client: Receive,
        on_note: OnNote | None = None,
        limits: PortLimits | None = None,
    ) -> None:
        asked = Address.parse(address)
        if identity is None:
            asked.check_loopback()
        super().__init__(
            asked,
            tls=None if identity is None else lambda: identity.papers.serving,
            on_note=on_note,
            limits=limits,
        )
        self._identity = identity
        self._receive = {HOST_ALPN: on_host, CLIENT_ALPN: on_client}

    def _protocol(self, arrival: Arrival) -> asyncio.Protocol:
        return _Gate(self, arrival)

    def _settle(self, arrival: Arrival, transport: asyncio.Transport) -> None:
        """The handshake is over: what it is for, and whether it may."""
        identity = self._identity
        assert identity is not None
        tls = transport.get_extra_info("ssl_object")
        arrival.certificate = tls.getpeercert(binary_form=True)
        arrival.kind = tls.selected_alpn_protocol() or ""
        if arrival.kind not in self._receive:
            arrival.refuse("no-protocol", why="the handshake named no protocol of ours (ALPN)")
            return
        if arrival.kind == HOST_ALPN:
            try:
                arrival.host = identity.check_host(arrival.certificate)
            except NomospaceError as error:
                arrival.refuse("certificate-refused", why=str(error))
                return
        self._hand_over(arrival, transport, b"")

    def _hand_over(self, arrival: Arrival, transport: asyncio.Transport, rest: bytes) -> None:
        protocol = self._receive[arrival.kind](arrival)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if rest:
            protocol.data_received(rest)


def _leave(crowds: dict[str, dict[Arrival, Any]], arrival: Arrival) -> None:
    """Take one out of the crowd of its address, if it is there."""
    crowd = crowds.get(arrival.ip, {})
    crowd.pop(arrival, None)
    if not crowd:
        crowds.pop(arrival.ip, None)
