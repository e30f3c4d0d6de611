"""Frames in envelopes, for a carrier that nobody has to trust: a message server.

The carrier may read, forge, repeat, hold back and reorder what it carries. So each envelope names
its sender, its receiver (nobody: all), the sender's life and a counter, and is signed by the
sender's host key over all of it and the name of the net. A host opens an envelope when

- it knows the sender's certificate, and the signature is by its key;
- it is for this host, or for all;
- its counter is new in the sender's present life. Counters may arrive out of order within
  `WINDOW`; each counts once.

Two hosts that do not know each other yet begin with a question: `Who`, with a number drawn for it,
and `Iam`, signed, with that number, the certificate, the life and where the counter stands. Because
the number is fresh, so is the answer: old envelopes that somebody kept cannot be passed off as new,
also not to a host that has just started and remembers nothing. What came before the answer is
dropped; all that speaks over links sends again.

Frames larger than the carrier takes are cut into parts, each an envelope. They are put together in
order; at most one frame of a sender is under way, and `PARTS_BYTES_MAX` bytes in all.

Without keys (on the loopback, for trials) the same is done without signatures.

All of this is plain data: bytes in and out, `now` in seconds handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec

from nomospace.client.agent import NAME_MAX
from nomospace.errors import NomospaceError, PeerError
from nomospace.trust.certificates import CERTIFICATE_BYTES_MAX, HostCertificate
from nomospace.trust.keys import SecretKey
from nomospace.wire import FRAME_BYTES_MAX
from nomospace.wire.framing import LENGTH_BYTES, join, split

WINDOW: Final = 1_024
"""How far behind the highest counter an envelope may come."""
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
"""How many strangers are told in a second who this host is; each answer costs a signature."""
SIGNATURE_BYTES: Final = 64
NONCE_BYTES: Final = 16

_Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=NAME_MAX)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_Nonce: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=NONCE_BYTES)]


@dataclass(eq=False, kw_only=True)
class BadEnvelope(PeerError):
    """An envelope that is not opened."""

    code: ClassVar[str] = "node.bad-envelope"
    sender: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"an envelope that says it is from {self.sender!r} is dropped: {self.why}"


class Envelope(msgspec.Struct, frozen=True, array_like=True, tag="envelope"):
    """Frames, or a part of one."""

    sender: _Name
    to: _Name
    life: _Count
    counter: _Count
    part: _Count
    parts: _Count
    payload: bytes


class Who(msgspec.Struct, frozen=True, array_like=True, tag="who"):
    """Tell me who you are, and this number with it."""

    sender: _Name
    to: _Name
    nonce: _Nonce


class Iam(msgspec.Struct, frozen=True, array_like=True, tag="iam"):
    """Who I am; what I have sent up to `counter` is old."""

    sender: _Name
    to: _Name
    life: _Count
    counter: _Count
    nonce: _Nonce
    certificate: Annotated[bytes, msgspec.Meta(max_length=CERTIFICATE_BYTES_MAX)]


_decoder: Final[msgspec.msgpack.Decoder[Envelope | Who | Iam]] = msgspec.msgpack.Decoder(
    Envelope | Who | Iam
)
_encode: Final = msgspec.msgpack.Encoder().encode


class Sender:
    """What is known of a host that has said who it is."""

    __slots__ = ("certificate", "heard_at", "high", "key", "life", "next_part", "parts", "seen")

    def __init__(
        self, life: int, counter: int, certificate: HostCertificate | None, now: float
    ) -> None:
        self.life = life
        self.key = None if certificate is None else certificate.key
        self.certificate = certificate
        self.heard_at = now
        self.high = counter
        self.seen = (1 << WINDOW) - 1
        """One bit for each counter from `high` down: whether it was seen."""
        self.parts: list[bytes] = []
        self.next_part = (0, 0)
        """The counter and the number of the part that goes on with the frame under way."""

    def is_new(self, counter: int) -> bool:
        """Whether a counter is new; it is not any more."""
        ahead = counter - self.high
        if ahead > 0:
            self.seen = ((self.seen << min(ahead, WINDOW)) | 1) & ((1 << WINDOW) - 1)
            self.high = counter
            return True
        bit = 1 << -ahead
        if -ahead >= WINDOW or self.seen & bit:
            return False
        self.seen |= bit
        return True

    def held(self) -> int:
        """How many bytes of a frame under way are kept."""
        return sum(map(len, self.parts))


class Mailroom:
    """Packs and opens the envelopes of one host.

    `key` signs, `certificate` is what others check it by, `check` checks theirs and `again` those
    that were checked before; without a key nothing is signed. `nonce` draws `NONCE_BYTES` that
    nobody can foresee.

    >>> ann = Mailroom("ann", net="nomos", life=1, nonce=lambda: b"fresh")
    >>> bob = Mailroom("bob", net="nomos", life=1, nonce=lambda: b"other")
    >>> [data] = ann.pack("bob", [b"frame"], 1_000_000)
    >>> _, _, [(to, question)] = bob.open(data, now=0.0)  # who are you?
    >>> _, _, [(to, answer)] = ann.open(question, now=0.0)
    >>> bob.open(answer, now=0.0)
    ('ann', [], [])
    >>> bob.open(ann.pack("bob", [b"frame"], 1_000_000)[0], now=0.0)
    ('ann', [b'frame'], [])
    """

    def __init__(
        self,
        name: str,
        *,
        net: str,
        life: int,
        nonce: Callable[[], bytes],
        key: SecretKey | None = None,
        certificate: bytes = b"",
        check: Callable[[bytes], HostCertificate] | None = None,
        again: Callable[[HostCertificate], None] | None = None,
    ) -> None:
        self.name = name
        self._domain = f"nomos-envelope/1\0{net}\0".encode()
        self._life = life
        self._nonce = nonce
        self._counter = 0
        self._check = check
        self._again = again
        self._senders: dict[str, Sender] = {}
        self._asked: dict[str, tuple[bytes, float]] = {}
        self._parts_bytes = 0
        self._answered = (0, 0)
        self.renew(key, certificate)

    def renew(self, key: SecretKey | None, certificate: bytes) -> None:
        """Sign with another key from now on."""
        assert (key is None) == (self._check is None), "a key and a check belong together"
        self._key = key
        self._certificate = certificate

    def neighbours(self, now: float) -> tuple[str, ...]:
        """The hosts that were heard lately."""
        return tuple(
            name for name, sender in self._senders.items() if now - sender.heard_at <= PRESENT_S
        )

    # -- packing -----------------------------------------------------------------------------

    def pack(self, to: str, frames: list[bytes], bytes_max: int) -> list[bytes]:
        """Frames to a host (or, with an empty name, to all) in envelopes of at most `bytes_max`."""
        room = max(ROOM_MIN, bytes_max - OVERHEAD)
        made: list[bytes] = []
        batch: list[bytes] = []
        size = 0
        for frame in frames:
            length = LENGTH_BYTES + len(frame)
            if batch and size + length > room:
                made += self._parcel(to, join(batch), room)
                batch, size = [], 0
            batch.append(frame)
            size += length
        if batch:
            made += self._parcel(to, join(batch), room)
        return made

    def _parcel(self, to: str, payload: bytes, room: int) -> list[bytes]:
        parts = -(-len(payload) // room)
        made = []
        for part in range(parts):
            self._counter += 1
            piece = payload[part * room : (part + 1) * room]
            made.append(
                self._seal(Envelope(self.name, to, self._life, self._counter, part, parts, piece))
            )
        return made

    def ask(self, to: str, now: float) -> bytes | None:
        """The question to a host who it is; nothing when it was asked a moment ago."""
        if len(self._asked) >= SENDERS_MAX and to not in self._asked:
            old = [name for name, (_, at) in self._asked.items() if now - at >= ASK_S]
            for name in old:
                del self._asked[name]
            if len(self._asked) >= SENDERS_MAX:
                return None
        asked = self._asked.get(to)
        if asked is not None and now - asked[1] < ASK_S:
            return None
        nonce = self._nonce()
        self._asked[to] = (nonce, now)
        return self._seal(Who(self.name, to, nonce))

    def _seal(self, message: Envelope | Who | Iam) -> bytes:
        body = _encode(message)
        if self._key is None:
            return b"\0" + body
        return bytes([SIGNATURE_BYTES]) + self._key.sign(self._domain + body) + body

    # -- opening -----------------------------------------------------------------------------

    def open(self, data: bytes, now: float) -> tuple[str, list[bytes], list[tuple[str, bytes]]]:
        """The sender, its frames, and what is to be sent back to whom; raises `BadEnvelope`."""
        mark = data[0] if data else -1
        if mark not in (0, SIGNATURE_BYTES):
            raise BadEnvelope(sender="", what="garbage", why="it is no envelope of ours")
        signature, body = data[1 : 1 + mark], memoryview(data)[1 + mark :]
        try:
            message = _decoder.decode(body)
        except msgspec.MsgspecError as error:
            why = f"it cannot be read ({error})"
            raise BadEnvelope(sender="", what="garbage", why=why) from None
        sender = message.sender
        if sender == self.name or message.to not in ("", self.name):
            return sender, [], []
        if self._key is not None and not signature:
            raise BadEnvelope(sender=sender, what="unsigned", why="it is not signed")
        if isinstance(message, Who):
            return sender, [], self._answer(message, now)
        if isinstance(message, Iam):
            self._learn(message, signature, body, now)
            return sender, [], []
        return self._take_in(message, signature, body, now)

    def _answer(self, question: Who, now: float) -> list[tuple[str, bytes]]:
        second, count = self._answered
        self._answered = (int(now), count + 1 if second == int(now) else 1)
        if self._answered[1] > ANSWERS_MAX:
            return []
        to = question.sender
        answer = Iam(self.name, to, self._life, self._counter, question.nonce, self._certificate)
        return [(to, self._seal(answer))]

    def _learn(self, message: Iam, signature: bytes, body: memoryview, now: float) -> None:
        sender = message.sender
        asked = self._asked.get(sender)
        if asked is None or asked[0] != message.nonce or message.to != self.name:
            why = "it answers a question that was not asked"
            raise BadEnvelope(sender=sender, what="replayed", why=why)
        certificate: HostCertificate | None = None
        if self._check is not None:
            try:
                certificate = self._check(message.certificate)
            except NomospaceError as error:
                raise BadEnvelope(
                    sender=sender, what="certificate-refused", why=str(error)
                ) from None
            if certificate.subject != sender:
                why = f"its certificate is about {certificate.subject!r}"
                raise BadEnvelope(sender=sender, what="name-mismatch", why=why)
            if not certificate.key.signed(self._domain + body, signature):
                why = "the signature is not by the key of its certificate"
                raise BadEnvelope(sender=sender, what="forged", why=why)
        known = self._senders.get(sender)
        if known is not None and message.life < known.life:
            why = "it is of an earlier life of that host"
            raise BadEnvelope(sender=sender, what="replayed", why=why)
        del self._asked[sender]
        self._forget(sender)
        if len(self._senders) >= SENDERS_MAX:
            self._forget(min(self._senders, key=lambda name: self._senders[name].heard_at))
        self._senders[sender] = Sender(message.life, message.counter, certificate, now)

    def _take_in(
        self, message: Envelope, signature: bytes, body: memoryview, now: float
    ) -> tuple[str, list[bytes], list[tuple[str, bytes]]]:
        name = message.sender
        sender = self._senders.get(name)
        if sender is None or message.life > sender.life:
            question = self.ask(name, now)
            return name, [], [] if question is None else [(name, question)]
        if sender.key is not None and not sender.key.signed(self._domain + body, signature):
            # If its key was renewed, the answer to a fresh question will tell: see `ask`.
            why = "the signature is not by the key that this host is known by"
            raise BadEnvelope(sender=name, what="forged", why=why)
        if message.life < sender.life or not sender.is_new(message.counter):
            why = "it was opened already, or is of an earlier life"
            raise BadEnvelope(sender=name, what="replayed", why=why)
        sender.heard_at = now
        payload = message.payload
        if message.parts != 1:
            whole = self._assemble(sender, message)
            if whole is None:
                return name, [], []
            payload = whole
        try:
            return name, split(payload, FRAME_BYTES_MAX), []
        except PeerError as error:
            raise BadEnvelope(sender=name, what="bad-frame", why=str(error)) from None

    def _assemble(self, sender: Sender, message: Envelope) -> bytes | None:
        """Add a part; the whole when it was the last. A gap drops what was there."""
        if message.part == 0:
            self._drop_parts(sender)
        elif sender.next_part != (message.counter, message.part):
            self._drop_parts(sender)
            return None
        size = sender.held() + len(message.payload)
        if (
            size > FRAME_BYTES_MAX + LENGTH_BYTES
            or self._parts_bytes + len(message.payload) > PARTS_BYTES_MAX
        ):
            self._drop_parts(sender)
            why = "it carries more than a frame may have, or too many frames are under way"
            raise BadEnvelope(sender=message.sender, what="too-large", why=why)
        sender.parts.append(message.payload)
        self._parts_bytes += len(message.payload)
        sender.next_part = (message.counter + 1, message.part + 1)
        if message.part + 1 < message.parts:
            return None
        whole = b"".join(sender.parts)
        self._drop_parts(sender)
        return whole

    def _drop_parts(self, sender: Sender) -> None:
        self._parts_bytes -= sender.held()
        sender.parts = []
        sender.next_part = (0, 0)

    def _forget(self, name: str) -> None:
        sender = self._senders.pop(name, None)
        if sender is not None:
            self._drop_parts(sender)

    def check_again(self) -> list[BadEnvelope]:
        """Forget the hosts whose certificates count no longer, and say why."""
        refused = []
        for name, sender in list(self._senders.items()):
            try:
                if self._again is not None and sender.certificate is not None:
                    self._again(sender.certificate)
            except NomospaceError as error:
                self._forget(name)
                refused.append(BadEnvelope(sender=name, what="certificate-refused", why=str(error)))
        return refused
