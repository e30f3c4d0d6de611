"""Frames in envelopes, for a carrier that nobody has to trust: a message server.

The carrier and whoever listens on it may read, forge, repeat, hold back and reorder what it
carries. So two hosts first agree on keys that only they have, and all frames are sealed with them
(`trust.channels`). What others see is who speaks to whom, when, and how much.

Two hosts meet in two words. `Who`, the question: a number drawn for it, a share of a key drawn for
it, and the asker's certificate, signed. `Iam`, the answer: the same of the other side, with the
number that was asked with, signed. Because both numbers are fresh, so are the keys: old words that
somebody kept cannot be passed off as new, also not to a host that has just started and remembers
nothing. The asker then sends an empty envelope, by which the other knows that its answer has come.
From then on no message costs an operation with a public key.

An envelope says who sends it, which session it belongs to (the keys of one agreement), and its
number in that session, and is opened if it was sealed for that session under that number. Numbers
may arrive out of order within a window (`peer_sessions`); each counts once. An envelope of a
session that is not known is dropped, and its sender asked who it is; all that speaks over links
sends again.

What is for all is sealed for each host that is known, one by one. In the open, for all who listen,
a host only says that it is there (`Here`): its name and its life, for those who do not know it yet.

Frames larger than the carrier takes are cut into parts, each an envelope. They are put together in
order; at most one frame of a session is under way, and `PARTS_BYTES_MAX` bytes in all.

Without keys (on the loopback, for trials) the same is done without signatures and seals: then
everybody can read it, and speak for anybody.

All of this is plain data: bytes in and out, `now` in seconds handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Annotated, Final, TypeAlias

import msgspec

from nomospace.calls.addresses import NAME_MAX
from nomospace.errors import NomospaceError, PeerError
from nomospace.node.identity import Identity
from nomospace.node.peer_sessions import KnownHost, PeerSession
from nomospace.node.peering import LINK_VERSION, LINK_VERSIONS
from nomospace.trust.certificates import CERTIFICATE_BYTES_MAX, HostCertificate
from nomospace.trust.channels import (
    ID_BYTES,
    SECRET_BYTES,
    SHARE_BYTES,
    Channel,
    Half,
    InTheOpen,
    NotForUs,
)
from nomospace.wire.framing import FRAME_BYTES_MAX, LENGTH_BYTES, Versions, join, split

SENDERS_MAX: Final = 1_000
"""How many hosts are known at once, and how many are asked at once."""
ASK_S: Final = 1.0
"""How long to wait before the same host is asked again who it is."""
PRESENT_S: Final = 5.0
"""A host that was heard within this time is a neighbour."""
PARTS_BYTES_MAX: Final = 64 << 20
"""How many bytes of frames that are not whole yet are kept, of all senders together."""
OVERHEAD: Final = 2_048
"""What an envelope adds to what is in it, at most."""
ROOM_MIN: Final = 1_024
"""The least that goes into an envelope, however little the carrier says it takes."""
ANSWERS_MAX: Final = 200
"""How many questions are asked in a second, and how many answered: each costs some operations with
public keys, and anyone can bring them about."""
SESSIONS_MAX: Final = 4
"""How many sessions with one host are kept: both may have asked, and envelopes be under way."""
HERE_S: Final = 0.5
"""How often a host says that it is there, at most."""
LATELY_S: Final = 60.0
"""What is for all goes to hosts that were heard within this time."""
SIGNATURE_BYTES: Final = 64
NONCE_BYTES: Final = 16

_Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=NAME_MAX)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_Nonce: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=NONCE_BYTES)]
_Share: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=SHARE_BYTES)]
_Certificate: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=CERTIFICATE_BYTES_MAX)]


class BadEnvelope(PeerError):
    """An envelope that is not opened."""

    code = "node.bad-envelope"
    words = "an envelope that says it is from {sender!r} is dropped: {why}"
    sender: str
    what: str
    why: str


class Here(msgspec.Struct, frozen=True, array_like=True, tag="here"):
    """I am there: whoever does not know me, and speaks a version that I do, may ask."""

    sender: _Name
    life: _Count
    version: _Count = LINK_VERSIONS.oldest
    newest: _Count = 0

    @property
    def versions(self) -> Versions:
        """The versions that it speaks, from `version` to `newest`."""
        return Versions.said(self.version, self.newest)


class Who(msgspec.Struct, frozen=True, array_like=True, tag="who"):
    """Tell me who you are; this is who I am."""

    sender: _Name
    to: _Name
    life: _Count
    nonce: _Nonce
    share: _Share
    certificate: _Certificate
    newest: _Count = 0
    """The newest version of links that it speaks; it was left out before version 3."""
    token: _Count = 0
    """What grows when another process takes the host over (`fencing`); 0 where none can."""


class Iam(msgspec.Struct, frozen=True, array_like=True, tag="iam"):
    """Who I am, in answer to the question with the nonce `asked`."""

    sender: _Name
    to: _Name
    life: _Count
    asked: _Nonce
    nonce: _Nonce
    share: _Share
    certificate: _Certificate
    newest: _Count = 0
    token: _Count = 0


class Envelope(msgspec.Struct, frozen=True, array_like=True, tag="envelope"):
    """Frames or a part of one, sealed: `_part`, and the payload."""

    sender: _Name
    session: Annotated[bytes, msgspec.Meta(max_length=ID_BYTES)]
    number: _Count
    sealed: bytes


_part: Final = Struct(">II")
"""Which part of how many."""

_decoder: Final[msgspec.msgpack.Decoder[Envelope | Here | Who | Iam]] = msgspec.msgpack.Decoder(
    Envelope | Here | Who | Iam
)
_encode: Final = msgspec.msgpack.Encoder().encode

Opened: TypeAlias = tuple[str, list[bytes], list[tuple[str, bytes]]]
"""The sender, its frames, and what is to be sent back to whom."""


class Mailroom:
    """Packs and opens the envelopes of one host.

    The key of `identity` signs, and it checks the certificates of others; without one nothing is
    signed or sealed. `draw` gives so many bytes that nobody can foresee.

    >>> from itertools import count
    >>> numbers = count(1)
    >>> draw = lambda size: next(numbers).to_bytes(size, "big")
    >>> ann = Mailroom("ann", None, net="nomos", life=1, draw=draw)
    >>> bob = Mailroom("bob", None, net="nomos", life=1, draw=draw)
    >>> [(to, question)] = ann.pack("bob", [b"frame"], 1_000_000, now=0.0)  # who are you?
    >>> _, _, [(to, answer)] = bob.open(question, now=0.0)
    >>> _, _, [(to, confirmed)] = ann.open(answer, now=0.0)
    >>> bob.open(confirmed, now=0.0)
    ('ann', [], [])
    >>> [(to, data)] = ann.pack("bob", [b"frame"], 1_000_000, now=0.0)
    >>> bob.open(data, now=0.0)
    ('ann', [b'frame'], [])
    """

    def __init__(
        self,
        name: str,
        identity: Identity | None,
        *,
        net: str,
        life: int,
        draw: Callable[[int], bytes],
    ) -> None:
        self.name = name
        self._domain = f"nomos-envelope/2\0{net}\0".encode()
        self._life = life
        self._draw = draw
        self._identity = identity
        self._known: dict[str, KnownHost] = {}
        self._asked: dict[str, tuple[bytes, float, Half | None]] = {}
        self._parts_bytes = 0
        self._asking = self._answering = (0, 0)
        """A second, and how many were asked and answered in it."""
        self._said_at: float | None = None
        self.token = 0
        """What this host says of itself when hosts meet."""
        self.refuses: Callable[[str, int], str] = lambda name, token: ""
        """Why a host with a token is not met; empty when it is."""
        self.dropped = 0
        """How many frames were not packed, since no session with their receiver was there."""

    def neighbours(self, now: float) -> tuple[str, ...]:
        """The hosts that were heard lately."""
        return tuple(
            name
            for name, known in self._known.items()
            if known.using is not None and now - known.heard_at <= PRESENT_S
        )

    def version(self, name: str) -> int:
        """The version of links that is spoken with a host: the oldest, as long as none is known."""
        known = self._known.get(name)
        session = None if known is None else _usable(known)
        return LINK_VERSIONS.oldest if session is None else session.version

    # -- packing -----------------------------------------------------------------------------

    def pack(
        self, to: str, frames: list[bytes], bytes_max: int, now: float
    ) -> list[tuple[str, bytes]]:
        """Frames to a host (or, with an empty name, to all) in envelopes of at most `bytes_max`.

        Gives to whom, and what; nobody's name stands for all who listen. A host that no session is
        with is asked who it is, and the frames are dropped.
        """
        room = max(ROOM_MIN, bytes_max - OVERHEAD)
        payloads = _batches(frames, room)
        if to:
            known = self._known.get(to)
            session = None if known is None else _usable(known)
            if session is None:
                self.dropped += len(frames)
                question = self.ask(to, now)
                return [] if question is None else [(to, question)]
            return [(to, data) for data in self._parcels(session, payloads, room)]
        made: list[tuple[str, bytes]] = []
        if self._said_at is None or now - self._said_at >= HERE_S:
            made.append(("", self.here(now)))
        for name, known in self._known.items():
            session = _usable(known)
            if session is not None and now - known.heard_at <= LATELY_S:
                made += [(name, data) for data in self._parcels(session, payloads, room)]
        return made

    def _parcels(self, session: PeerSession, payloads: list[bytes], room: int) -> Iterable[bytes]:
        for payload in payloads:
            parts = max(1, -(-len(payload) // room))
            for part in range(parts):
                piece = payload[part * room : (part + 1) * room] if parts > 1 else payload
                yield self._enclose(session, part, parts, piece)

    def _enclose(self, session: PeerSession, part: int, parts: int, piece: bytes) -> bytes:
        session.number = number = session.number + 1
        channel = session.channel
        sealed = channel.seal(number, _part.pack(part, parts) + piece)
        return b"\0" + _encode(Envelope(self.name, channel.id, number, sealed))

    def here(self, now: float) -> bytes:
        """What tells others that this host is there."""
        self._said_at = now
        return b"\0" + _encode(Here(self.name, self._life, *LINK_VERSIONS))

    def ask(self, to: str, now: float) -> bytes | None:
        """The question to a host who it is; nothing when it was asked a moment ago."""
        if len(self._asked) >= SENDERS_MAX and to not in self._asked:
            self._asked = {name: one for name, one in self._asked.items() if now - one[1] < ASK_S}
            if len(self._asked) >= SENDERS_MAX:
                return None
        asked = self._asked.get(to)
        if asked is not None and now - asked[1] < ASK_S:
            return None
        self._asking, count = _one_more(self._asking, now)
        if count > ANSWERS_MAX:
            return None
        nonce, half = self._draw(NONCE_BYTES), self._half()
        self._asked[to] = (nonce, now, half)
        share = b"" if half is None else half.share
        return self._sign(Who(self.name, to, self._life, nonce, share, *self._said))

    def _half(self) -> Half | None:
        return None if self._identity is None else Half(self._draw(SECRET_BYTES))

    @property
    def _said(self) -> tuple[bytes, int, int]:
        """What both words end with: the certificate, the newest version, the token."""
        certificate = b"" if self._identity is None else self._identity.papers.certificate.der
        return certificate, LINK_VERSION, self.token

    def _sign(self, word: Who | Iam) -> bytes:
        body = _encode(word)
        if self._identity is None:
            return b"\0" + body
        signature = self._identity.papers.key.sign(self._domain + body)
        return bytes([SIGNATURE_BYTES]) + signature + body

    # -- opening -----------------------------------------------------------------------------

    def open(self, data: bytes, now: float) -> Opened:
        """The sender, its frames, and what is to be sent back to whom; raises `BadEnvelope`."""
        mark = data[0] if data else -1
        if mark not in (0, SIGNATURE_BYTES):
            raise BadEnvelope(sender="", what="garbage", why="it is no envelope of ours")
        signature, body = data[1 : 1 + mark], memoryview(data)[1 + mark :]
        try:
            message = _decoder.decode(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            why = f"it cannot be read ({error}); this host speaks version {LINK_VERSIONS}"
            raise BadEnvelope(sender="", what="garbage", why=why) from None
        sender = message.sender
        if sender == self.name:
            return sender, [], []
        if isinstance(message, Envelope):
            return self._take_in(message, now)
        if isinstance(message, Here):
            if not LINK_VERSIONS.common(message.versions):
                why = f"it speaks version {message.versions}, this host {LINK_VERSIONS}"
                raise BadEnvelope(sender=sender, what="other-version", why=why)
            known = self._known.get(sender)
            if known is not None and known.sessions and message.life <= known.life:
                return sender, [], []
            return self._wonder(sender, now)
        if message.to != self.name:
            return sender, [], []
        if isinstance(message, Who):
            return sender, [], self._answer(message, signature, body, now)
        return sender, [], self._learn(message, signature, body, now)

    def _wonder(self, sender: str, now: float) -> Opened:
        """Ask who somebody is that there is no session with."""
        question = self.ask(sender, now)
        return sender, [], [] if question is None else [(sender, question)]

    def _proved(
        self, message: Who | Iam, signature: bytes, body: memoryview
    ) -> HostCertificate | None:
        """The certificate of whoever said a word, checked; `None` without keys."""
        sender = message.sender
        if self._identity is None:
            return None
        if not signature:
            raise BadEnvelope(sender=sender, what="unsigned", why="it is not signed")
        try:
            certificate = self._identity.check_host(message.certificate)
        except NomospaceError as error:
            why = str(error)
            raise BadEnvelope(sender=sender, what="certificate-refused", why=why) from None
        if certificate.subject != sender:
            why = f"its certificate is about {certificate.subject!r}"
            raise BadEnvelope(sender=sender, what="name-mismatch", why=why)
        if not certificate.key.signed(self._domain + body, signature):
            why = "the signature is not by the key of its certificate"
            raise BadEnvelope(sender=sender, what="forged", why=why)
        return certificate

    def _answer(
        self, question: Who, signature: bytes, body: memoryview, now: float
    ) -> list[tuple[str, bytes]]:
        self._answering, count = _one_more(self._answering, now)
        if count > ANSWERS_MAX:
            return []
        certificate = self._proved(question, signature, body)
        to, half, nonce = question.sender, self._half(), self._draw(NONCE_BYTES)
        share = b"" if half is None else half.share
        answer = Iam(self.name, to, self._life, question.nonce, nonce, share, *self._said)
        self._begin(question, answer, half, certificate, now)
        return [(to, self._sign(answer))]

    def _learn(
        self, answer: Iam, signature: bytes, body: memoryview, now: float
    ) -> list[tuple[str, bytes]]:
        sender = answer.sender
        asked = self._asked.get(sender)
        if asked is None or asked[0] != answer.asked:
            why = "it answers a question that was not asked"
            raise BadEnvelope(sender=sender, what="replayed", why=why)
        certificate = self._proved(answer, signature, body)
        nonce, _, half = asked
        share = b"" if half is None else half.share
        question = Who(self.name, sender, self._life, nonce, share, b"")
        session = self._begin(question, answer, half, certificate, now)
        del self._asked[sender]
        self._confirm(self._known[sender], session, now)
        return [(sender, self._enclose(session, 0, 1, b""))]

    def _begin(
        self,
        question: Who,
        answer: Iam,
        half: Half | None,
        certificate: HostCertificate | None,
        now: float,
    ) -> PeerSession:
        """Have the session that a question and its answer have made."""
        asking = question.sender == self.name
        theirs = answer if asking else question
        name, life = theirs.sender, theirs.life
        known = self._known.get(name)
        if known is not None and life < known.life:
            why = "it is of an earlier life of that host"
            raise BadEnvelope(sender=name, what="replayed", why=why)
        refused = self.refuses(name, theirs.token)
        if refused:
            raise BadEnvelope(sender=name, what="taken-over", why=refused)
        # All that both have said, but the certificates: what they prove is in the signatures.
        said = [question.sender, answer.sender, question.life, answer.life]
        both = self._domain + _encode([*said, question.nonce, answer.nonce])
        channel: Channel | InTheOpen = InTheOpen(both)
        if half is not None:
            try:
                channel = half.agree(theirs.share, both, first=asking)
            except NotForUs as error:
                raise BadEnvelope(sender=name, what="garbage", why=str(error)) from None
        if known is None:
            if len(self._known) >= SENDERS_MAX:
                self._forget(min(self._known, key=lambda name: self._known[name].heard_at))
            known = self._known[name] = KnownHost(now)
        spoken = LINK_VERSIONS.common(Versions.said(LINK_VERSIONS.oldest, theirs.newest))
        session = PeerSession(channel, life, certificate, spoken)
        for id, one in list(known.sessions.items()):
            if len(known.sessions) < SESSIONS_MAX:
                break
            if one is not known.using:
                self._drop_parts(known.sessions.pop(id))
        known.sessions[channel.id] = session
        return session

    def _confirm(self, known: KnownHost, session: PeerSession, now: float) -> None:
        """The other side has shown that it has a session: go by it from now on."""
        session.confirmed = True
        known.heard_at = now
        known.using = session
        if session.life > known.life:
            known.life = session.life
            for id, one in list(known.sessions.items()):
                if one.life < known.life:
                    self._drop_parts(known.sessions.pop(id))

    def _take_in(self, message: Envelope, now: float) -> Opened:
        name = message.sender
        known = self._known.get(name)
        session = None if known is None else known.sessions.get(message.session)
        if known is None or session is None:
            return self._wonder(name, now)
        try:
            inside = session.channel.open(message.number, message.sealed)
        except NotForUs as error:
            raise BadEnvelope(sender=name, what="forged", why=str(error)) from None
        if len(inside) < _part.size:
            raise BadEnvelope(sender=name, what="garbage", why="it breaks off")
        part, parts = _part.unpack_from(inside)
        if not session.is_new(message.number):
            why = "it was opened already, or is too old"
            raise BadEnvelope(sender=name, what="replayed", why=why)
        if session.confirmed:
            known.heard_at = now
        else:
            self._confirm(known, session, now)
        payload = inside[_part.size :]
        if parts != 1:
            whole = self._assemble(name, session, message.number, part, parts, payload)
            if whole is None:
                return name, [], []
            payload = whole
        try:
            return name, split(payload, FRAME_BYTES_MAX), []
        except PeerError as error:
            raise BadEnvelope(sender=name, what="bad-frame", why=str(error)) from None

    def _assemble(
        self, name: str, session: PeerSession, number: int, part: int, parts: int, payload: bytes
    ) -> bytes | None:
        """Add a part; the whole when it was the last. A gap drops what was there."""
        if part == 0:
            self._drop_parts(session)
        elif session.next_part != (number, part):
            self._drop_parts(session)
            return None
        size = session.held() + len(payload)
        if (
            size > FRAME_BYTES_MAX + LENGTH_BYTES
            or self._parts_bytes + len(payload) > PARTS_BYTES_MAX
        ):
            self._drop_parts(session)
            why = "it carries more than a frame may have, or too many frames are under way"
            raise BadEnvelope(sender=name, what="too-large", why=why)
        session.parts.append(payload)
        self._parts_bytes += len(payload)
        session.next_part = (number + 1, part + 1)
        if part + 1 < parts:
            return None
        whole = b"".join(session.parts)
        self._drop_parts(session)
        return whole

    def _drop_parts(self, session: PeerSession) -> None:
        self._parts_bytes -= session.held()
        session.parts = []
        session.next_part = (0, 0)

    def _forget(self, name: str) -> None:
        for session in self._known.pop(name).sessions.values():
            self._drop_parts(session)

    def check_again(self) -> list[BadEnvelope]:
        """Forget the hosts of which a certificate counts no longer, and say why.

        One that has another certificate, which counts, will say so when it is asked.
        """
        refused: list[BadEnvelope] = []
        identity = self._identity
        if identity is None:
            return refused
        for name, known in list(self._known.items()):
            try:
                for session in known.sessions.values():
                    if session.certificate is not None:
                        identity.check_again(session.certificate)
            except NomospaceError as error:
                self._forget(name)
                refused.append(BadEnvelope(sender=name, what="certificate-refused", why=str(error)))
        return refused


def _one_more(count: tuple[int, int], now: float) -> tuple[tuple[int, int], int]:
    """Count one more in a second; the count, and how many that makes."""
    made = count[1] + 1 if count[0] == int(now) else 1
    return (int(now), made), made


def _usable(known: KnownHost) -> PeerSession | None:
    """The session to send by: the one the other side has shown last, else the newest."""
    if known.using is not None:
        return known.using
    return next(reversed(known.sessions.values()), None)


def _batches(frames: list[bytes], room: int) -> list[bytes]:
    """Frames together, as many as fit into one envelope."""
    made: list[bytes] = []
    batch: list[bytes] = []
    size = 0
    for frame in frames:
        length = LENGTH_BYTES + len(frame)
        if batch and size + length > room:
            made.append(join(batch))
            batch, size = [], 0
        batch.append(frame)
        size += length
    if batch:
        made.append(join(batch))
    return made
