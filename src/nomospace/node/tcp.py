"""Links between hosts over TCP: TLS 1.3 with certificates on both sides, or bare on the loopback.

Which host dials does not matter: two hosts have one live connection. Where there are two (both
dialled at once, or one end has not noticed that the old one is dead) both ends keep the same one:
that of the later life of the other, then the one that the lesser name dialled, then its last call.

Seeds (`--join`) are dialled for ever, others when they are wanted. Peers tell each other the
addresses they know, so that a frame for a host that is no neighbour makes this one dial it; up to
`PENDING_FRAMES_MAX` frames wait for that. Addresses are hints: whoever answers has to show the
certificate of the name that was wanted.

Frames may get lost here: when a reader is slow for too long, when a connection ends, when nobody
knows an address. All that speaks over links sends again, and the engagement protocol decides by
its own hellos who is there; the end of a connection says nothing to it.

Bounds: `PEERS_MAX` connections, `DIALS_MAX` calls at once, the address book's own, and `framed`'s
for what waits to be sent.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import ssl
from collections.abc import Iterable
from random import Random
from typing import Final

import msgspec

from nomospace.errors import CallerError, NomospaceError, PeerError
from nomospace.node.addresses import BadHostAddress, Place
from nomospace.node.book import HOSTS_MAX, AddressBook
from nomospace.node.clock import wall_us
from nomospace.node.identity import Identity
from nomospace.node.listen import Arrival
from nomospace.node.loops import held
from nomospace.node.notes import Notes, OnNote
from nomospace.node.peering import (
    HELLO_S,
    KNOWN_MAX,
    LINK_VERSIONS,
    PING,
    PING_S,
    SILENT_S,
    Greeting,
    KnownAddresses,
    Peer,
    decode_word,
    encode_word,
)
from nomospace.node.wires import OwnLinks
from nomospace.wire.frames import decode_frame, encode_frame, since

PEERS_MAX: Final = HOSTS_MAX
"""The most connections to other hosts."""
DIALS_MAX: Final = 16
"""The most calls at once."""
DIAL_S: Final = 5.0
"""How long a call may take, its handshake included."""
PENDING_HOSTS_MAX: Final = 64
PENDING_FRAMES_MAX: Final = 256
"""Frames that wait while one host is dialled."""
TICK_S: Final = 1.0
"""How often connections are looked after, and their certificates looked at again."""
NONCE_BYTES: Final = 32
STOP_S: Final = 1.0
"""How long a stop waits for what was sent to go out."""


class TcpLinks(OwnLinks):
    """The links of one host. `join` names seeds; `Listener(on_host=links.accept)` brings callers.

    `life` grows with every start of the host; the machine's clock does by default. Without
    certificates `key` is what all hosts of one user have: who calls has to prove that it is one of
    them, with the nonce that it is greeted with.
    """

    def __init__(
        self,
        name: str,
        *,
        identity: Identity | None,
        seeds: Iterable[str] = (),
        on_note: OnNote | None = None,
        life: int | None = None,
        seed: int | None = None,
        key: bytes = b"",
    ) -> None:
        super().__init__(name, identity, on_note)
        self._key = key
        self._seeds = tuple(self._checked(address) for address in seeds)
        self._life = wall_us() if life is None else life
        self._book = AddressBook(Random(seed))
        self._peers: dict[str, Peer] = {}
        self._all: dict[Peer, None] = {}
        self._dials: dict[asyncio.Task[None], None] = {}
        self._pending: dict[str, list[bytes]] = {}
        self._calls = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._running = False

    # -- what hosts use ----------------------------------------------------------------------

    def address_of(self, host: str) -> str:
        """Where another host listens, as far as its peers know; empty when they do not."""
        return self._book.address_of(host)

    def neighbours(self) -> tuple[str, ...]:
        """The hosts that a connection leads to."""
        return tuple(self._peers)

    def transmit(self, sender: str, to: str | None, frame: object) -> None:
        """Send a frame to a host, or to all that are connected; it may get lost."""
        if to is None:
            if self._peers:
                data = self._encode(frame)
                if data is not None:
                    for peer in self._peers.values():
                        peer.send(data)
            return
        linked = self._peers.get(to)
        if linked is None:
            self._hold(to, frame)
            return
        if since(frame) > linked.version:
            self._counts["dropped"] += 1
            return
        try:
            linked.send(encode_frame(frame))
        except CallerError as error:
            self._too_large(error)

    def counts(self) -> dict[str, int]:
        """Frames and bytes in and out, and frames dropped, since the start."""
        total = dict(self._counts)
        for peer in self._all:
            for what in total:
                total[what] += getattr(peer, what)
        return total

    # -- its life ----------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to dial; the hosts that were named come when they come."""
        self._loop = asyncio.get_running_loop()
        self._notes = Notes(self._on_note, self._loop.time)
        self._running = True
        for address in self._seeds:
            self._book.add_seed(address, now=self._loop.time())
        self._tick()

    async def stop(self) -> None:
        """End all connections; what was sent has up to `STOP_S` to go out."""
        if not self._running:
            return
        self._running = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in list(self._dials):
            task.cancel()
        if self._dials:
            await asyncio.wait(list(self._dials), timeout=STOP_S)
        for peer in list(self._all):
            peer.finish()
        until = self._loop.time() + STOP_S
        while self._all and self._loop.time() < until:
            await asyncio.sleep(0.005)
        for peer in list(self._all):
            peer.abort()

    def hint(self, address: str) -> None:
        """Somebody may be there; dial it once it is our turn."""
        try:
            self._book.hint(self._checked(address), now=self._loop.time())
        except CallerError:
            return
        self._arm()

    def accept(self, arrival: Arrival) -> asyncio.Protocol:
        """A host dialled us: for the `Listener`."""
        return Peer(self._loop, self, arrival=arrival)

    # -- dialling ----------------------------------------------------------------------------

    def _checked(self, text: str) -> str:
        place = Place.parse(text)
        if self.identity is None:
            place.address.check_loopback()
        if place.address.port == 0:
            raise BadHostAddress(text=text[:80], why="nobody listens on port 0")
        return str(place)

    def _arm(self) -> None:
        """Set the timer: to the next call, and to the next look after all connections."""
        if not self._running:
            return
        now = self._loop.time()
        due = self._book.next_due() if len(self._dials) < DIALS_MAX else None
        at = now + TICK_S if due is None else min(now + TICK_S, max(due, now))
        if self._timer is None or at < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._loop.time()
        if self.identity is not None:
            self.identity.poll()
            self._check_again(self.identity)
        for peer in list(self._all):
            self._look_after(peer, now)
        for address in self._book.take_due(now, DIALS_MAX - len(self._dials)):
            self._calls += 1
            task = held(self._loop.create_task(self._dial(address, self._calls)), self._dials)
            task.add_done_callback(lambda _: self._arm())
        self._notes.settle(now)
        self._arm()

    async def _dial(self, address: str, call: int) -> None:
        place = Place.parse(address)
        try:
            async with asyncio.timeout(DIAL_S):
                await self._loop.create_connection(
                    lambda: Peer(self._loop, self, dialled=address, call=call),
                    *place.address,
                    ssl=None if self.identity is None else self.identity.dialling(place.worker),
                )
        except ssl.SSLCertVerificationError as error:
            self._unreached(address, "certificate-refused", error.verify_message)
        except ssl.SSLError as error:
            self._unreached(address, "handshake-failed", error.reason or str(error))
        except (OSError, TimeoutError):
            self._unreached(address)  # nobody is there: that is no news

    def _unreached(self, address: str, what: str = "", why: str = "") -> None:
        if what:
            self._notes(what, address=address, why=why)
        name = self._book.expected(address)
        dropped = self._pending.pop(name, ())
        self._counts["dropped"] += len(dropped)
        self._book.failed(address, now=self._loop.time())
        self._arm()

    def _hold(self, to: str, frame: object) -> None:
        """Keep a frame for a host that has to be dialled first, if anyone knows where it is."""
        held = self._pending.get(to)
        if held is None:
            room = len(self._pending) < PENDING_HOSTS_MAX
        else:
            room = len(held) < PENDING_FRAMES_MAX
        told = since(frame) <= LINK_VERSIONS.oldest  # else it may be too new for that host
        if not (told and room and self._running and self._book.want(to, now=self._loop.time())):
            self._counts["dropped"] += 1
            return
        data = self._encode(frame)
        if data is not None:
            self._pending.setdefault(to, []).append(data)
        self._arm()

    # -- what connections tell ---------------------------------------------------------------

    def opened(self, peer: Peer) -> None:
        """A connection is there: greet."""
        self._all[peer] = None
        if not self._running or len(self._all) > PEERS_MAX:
            self.complain(peer, "too-many", f"there are {len(self._all):,} links")
            return
        if not self._key:
            self._greet(peer)
        elif not peer.dialled:  # else the other side greets first
            peer.nonce = secrets.token_bytes(NONCE_BYTES)
            self._greet(peer)

    def _greet(self, peer: Peer, proof: bytes = b"") -> None:
        oldest, newest = LINK_VERSIONS
        name, life, call = self.name, self._life, peer.call
        places = self.advertise
        token = 0 if self.tokens is None else self.tokens.own
        greeting = Greeting(oldest, name, life, call, places, peer.nonce, proof, newest, token)
        peer.send(encode_word(greeting))

    def _prove(self, nonce: bytes, name: str) -> bytes:
        """What shows that a caller of this name has the key, on this connection alone."""
        return hmac.digest(self._key, nonce + name.encode(), "sha256")

    def greeted(self, peer: Peer, greeting: Greeting) -> None:
        """The other side has said who it is: it becomes the link to that host, or not."""
        name = peer.name
        if self._key and peer.dialled:
            self._greet(peer, self._prove(greeting.nonce, self.name))
        elif self._key and not hmac.compare_digest(greeting.proof, self._prove(peer.nonce, name)):
            self.complain(peer, "not-let-in", "it is no host of the user who runs this one")
            return
        if not peer.version:
            older = "it" if greeting.versions < LINK_VERSIONS else "this host"
            why = (
                f"it speaks version {greeting.versions}, this host {LINK_VERSIONS}; upgrade {older}"
            )
            self.complain(peer, "other-version", why)
            return
        if name == self.name:
            if peer.life == self._life:
                if peer.dialled:  # else the other end, which is ours too, ends it
                    self._book.retire(peer.dialled)
                    peer.abort()
            else:
                self.complain(peer, "name-twice", f"another host runs as {name!r}")
            return
        refused = "" if self.tokens is None else self.tokens.refused(name, greeting.token)
        if refused:
            self.complain(peer, "taken-over", refused)
            return
        if peer.dialled:
            expected = self._book.expected(peer.dialled)
            if expected and expected != name and peer.dialled not in self._seeds:
                self._book.forget(expected)
                self.complain(peer, "name-mismatch", f"{expected!r} was wanted, {name!r} answered")
                return
            self._book.reached(peer.dialled, name)
        other = self._peers.get(name)
        if other is not None and self._rank(other) > self._rank(peer):
            if other.life > peer.life:
                self._notes("name-twice", host=name, why="an earlier life of it called")
            peer.finish()
            return
        self._peers[name] = peer
        peer.linked = True
        if other is not None:
            other.linked = False
            other.finish()
        self._introduce(peer, greeting)
        for data in self._pending.pop(name, ()):
            peer.send(data)
        if other is None:
            self._notes("link-up", host=name, address=peer.dialled or peer.seen_at())

    def _rank(self, peer: Peer) -> tuple[int, bool, int]:
        lesser_dialled = (self.name < peer.name) == bool(peer.dialled)
        return peer.life, lesser_dialled, peer.call

    def _introduce(self, peer: Peer, greeting: Greeting) -> None:
        """Tell a new neighbour whom we know, and the others where it is."""
        addresses: list[str] = []
        for text in greeting.addresses:
            try:
                seen = (
                    f"[{peer.seen_at()}]{text}" if ":" in peer.seen_at() else peer.seen_at() + text
                )
                addresses.append(self._checked(seen if text.startswith(":") else text))
            except CallerError:
                continue
        news = self._book.learn(peer.name, peer.life, tuple(addresses), sure=True)
        known = [told for told in self._book.known() if told[0] != peer.name]
        for start in range(0, len(known), KNOWN_MAX):
            peer.send(encode_word(KnownAddresses(tuple(known[start : start + KNOWN_MAX]))))
        if news and addresses:
            self._tell([(peer.name, peer.life, tuple(addresses))], besides=peer)

    def _tell(self, hosts: list[tuple[str, int, tuple[str, ...]]], *, besides: Peer) -> None:
        data = encode_word(KnownAddresses(tuple(hosts)))
        for peer in self._peers.values():
            if peer is not besides:
                peer.send(data)

    def heard(self, peer: Peer, frames: list[bytes]) -> None:
        """Frames came from a host that has greeted."""
        hear = self._hear
        for data in frames:
            try:
                if data and not data[0]:
                    self._word(peer, data)
                elif hear is not None:
                    hear(peer.name, decode_frame(data))
            except (PeerError, msgspec.MsgspecError, RecursionError) as error:
                self.complain(peer, "bad-frame", str(error))
                return

    def _word(self, peer: Peer, data: bytes) -> None:
        word = decode_word(data)
        if isinstance(word, KnownAddresses):
            news: list[tuple[str, int, tuple[str, ...]]] = []
            for name, life, addresses in word.hosts:
                try:
                    found = tuple(self._checked(address) for address in addresses)
                except CallerError:
                    continue
                if name != self.name and self._book.learn(name, life, found, sure=False):
                    news.append((name, life, found))
            if news:
                self._tell(news, besides=peer)

    def complain(self, peer: Peer, what: str, why: str) -> None:
        """Drop a connection and note why."""
        self._notes(what, host=peer.proved or peer.name, address=self._place(peer), why=why)
        peer.abort()

    def _place(self, peer: Peer) -> str:
        return peer.dialled or (peer.arrival.ip if peer.arrival is not None else "")

    def lost(self, peer: Peer) -> None:
        """A connection is gone."""
        self._all.pop(peer, None)
        for what in self._counts:
            self._counts[what] += getattr(peer, what)
        now = self._loop.time()
        if self._peers.get(peer.name) is peer:
            del self._peers[peer.name]
            self._notes("link-down", host=peer.name, address=self._place(peer))
            self._book.lost(peer.name, now=now)
        elif peer.dialled and not peer.linked and peer.name not in self._peers:
            # It was dropped before it became a link: by us, or by the other side, silently.
            self._book.failed(peer.dialled, now=now)
        self._arm()

    # -- looking after them ------------------------------------------------------------------

    def _look_after(self, peer: Peer, now: float) -> None:
        if peer.overdue(now):
            self.complain(peer, "slow-frame", "a frame was begun and not finished in time")
        elif not peer.name:
            if now - peer.made_at > HELLO_S and peer.dialled:
                self.complain(peer, "too-slow", "it did not greet in time")
        elif now - peer.heard_at > SILENT_S:
            self.complain(peer, "silent", f"nothing was heard for {SILENT_S:g} s")
        elif now - peer.sent_at > PING_S:
            peer.send(PING)

    def _check_again(self, identity: Identity) -> None:
        """Certificates run out and are taken back, authorities change: who may speak no longer?"""
        for peer in list(self._all):
            try:
                if peer.certificate is not None:
                    identity.check_again(peer.certificate)
            except NomospaceError as error:
                self.complain(peer, "certificate-refused", str(error))
