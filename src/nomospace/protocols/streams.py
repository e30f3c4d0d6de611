"""Streams: what one host says to another arrives once and in order, while they are engaged.

A stream belongs to a *session*: the view in which two hosts met. Both ends open it when they
engage (nothing of it is there but its name until something is said) and drop it, with all that is
under way, when one of them leaves the other's group or comes back from a restart; whoever uses a
stream sets up again what must outlive it (see `transfers` for what may never be lost). Inside a
session nothing is lost, doubled or overtaken, whatever the links do: data are numbered,
acknowledged and sent again.

| told                  | state of the pair | what follows                                        |
| --------------------- | ----------------- | --------------------------------------------------- |
| `open(peer, session)` | any               | an empty stream of that session                     |
| `close(peer)`         | any               | no stream                                           |
| `send(peer, body)`    | open              | `Data`, now and every `RETRY_US` until acknowledged |
| `Data` of the session | open              | bodies in order; `Ack`                              |
| `Data` of another     | any               | nothing: the other end sends it again when we agree |
| `Ack` of the session  | open              | what it covers is forgotten                         |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from nomospace.protocols.messages import Payload

Session: TypeAlias = tuple[int, str]
"""The id of the view in which two hosts met."""

RETRY_US: Final = 400_000
"""How long an unacknowledged message waits before it is sent again."""
BURST_MAX: Final = 64
"""How many unacknowledged messages are sent again at a time."""
AHEAD_MAX: Final = 1_024
"""How far ahead of the next message a receiver keeps what overtook it."""
QUEUE_MAX: Final = 100_000
"""How many messages may wait for one peer; `full` says so before."""


class Data(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="data"):
    """One message of a stream, numbered from 1; `ack` is the last one got from the other end."""

    session: Session
    number: int
    ack: int
    body: Payload


class Ack(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ack"):
    """Everything up to here has come."""

    session: Session
    ack: int


Frame: TypeAlias = Data | Ack


class _Stream:
    """Both directions of one pair in one session."""

    __slots__ = ("ahead", "got", "retry_at", "sent", "session", "unacked")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.sent = 0
        self.got = 0
        self.unacked: deque[tuple[int, Payload]] = deque()
        self.ahead: dict[int, Payload] = {}
        self.retry_at = 0


class Streams:
    """The streams of one host, one for each peer it is engaged with.

    >>> here, there = Streams(), Streams()
    >>> here.open("b", (1, "a")); there.open("a", (1, "a"))
    >>> frame = here.send("b", "hello", now=0)
    >>> there.receive("a", frame, now=0)
    (['hello'], Ack(session=(1, 'a'), ack=1))
    >>> there.receive("a", frame, now=5)  # a repeat is acknowledged again and not delivered
    ([], Ack(session=(1, 'a'), ack=1))
    """

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._streams: dict[str, _Stream] = {}

    def open(self, peer: str, session: Session) -> None:
        """Begin an empty stream; what was under way in an older session is forgotten."""
        self._sessions[peer] = session
        self._streams.pop(peer, None)

    def close(self, peer: str) -> None:
        """End the stream to a peer, if there is one."""
        self._sessions.pop(peer, None)
        self._streams.pop(peer, None)

    def _stream(self, peer: str) -> _Stream:
        stream = self._streams.get(peer)
        if stream is None:
            stream = self._streams[peer] = _Stream(self._sessions[peer])
        return stream

    def __contains__(self, peer: str) -> bool:
        return peer in self._sessions

    def __iter__(self) -> Iterator[str]:
        return iter(self._sessions)

    def full(self, peer: str, share: int = 1) -> bool:
        """Whether as much waits for a peer as may, or one part in `share` of it."""
        stream = self._streams.get(peer)
        return stream is not None and len(stream.unacked) >= QUEUE_MAX // share

    def idle(self) -> bool:
        """Whether everything that was sent has come."""
        return not any(stream.unacked for stream in self._streams.values())

    def send(self, peer: str, body: object, *, now: int) -> Frame:
        """Number a message and keep it until the peer has it; the frame to relay now."""
        stream = self._stream(peer)
        stream.sent += 1
        if not stream.unacked:
            stream.retry_at = now + RETRY_US
        stream.unacked.append((stream.sent, body))
        return Data(stream.session, stream.sent, stream.got, body)

    def receive(self, peer: str, frame: Frame, *, now: int) -> tuple[list[Payload], Frame | None]:
        """What a frame brings, in order, and the frame to answer with."""
        if self._sessions.get(peer) != frame.session:
            return [], None
        stream = self._stream(peer)
        unacked = stream.unacked
        while unacked and unacked[0][0] <= frame.ack:
            unacked.popleft()
            stream.retry_at = now + RETRY_US
        if not isinstance(frame, Data):
            return [], None
        bodies: list[Payload] = []
        if frame.number == stream.got + 1:
            stream.got += 1
            bodies.append(frame.body)
            while stream.got + 1 in stream.ahead:
                stream.got += 1
                bodies.append(stream.ahead.pop(stream.got))
        elif stream.got < frame.number <= stream.got + AHEAD_MAX:
            stream.ahead[frame.number] = frame.body
        return bodies, Ack(stream.session, stream.got)

    def retries(self, *, now: int) -> list[tuple[str, Frame]]:
        """What must be sent again by now."""
        again: list[tuple[str, Frame]] = []
        for peer, stream in self._streams.items():
            if stream.unacked and stream.retry_at <= now:
                stream.retry_at = now + RETRY_US
                for number, body in islice(stream.unacked, BURST_MAX):
                    again.append((peer, Data(stream.session, number, stream.got, body)))
        return again

    def next_deadline(self) -> int | None:
        """When something must next be sent again."""
        due: int | None = None
        for stream in self._streams.values():  # asked for after each step, as others are
            if stream.unacked and (due is None or stream.retry_at < due):
                due = stream.retry_at
        return due
