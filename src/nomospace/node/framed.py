"""A stream of frames over one connection: whole frames in, one write for each turn out.

What a program sends during one turn of the event loop goes out as one write when the turn is over:
under load a hundred small frames cost one system call. What a slow reader has not taken waits in a
buffer of at most `BUFFER_BYTES_MAX` (and one frame more); past it new frames are dropped and
counted, since everything that speaks over links sends again what got lost.

A stranger may send `STRANGER_BYTES_MAX` in all until its owner calls `known`. A sender is held to
its word: a frame that was begun must be whole within `FRAME_S`, and nothing is
read of one that says it is larger than the limit. Whoever owns the connection asks `overdue` every
second or so; no connection has a timer of its own.
"""

from __future__ import annotations

import asyncio
from typing import Final, cast

from nomospace.errors import PeerError
from nomospace.wire.framing import STRANGER_BYTES_MAX, BadFrame, Framer, join

BUFFER_BYTES_MAX: Final = 4 << 20
"""How much may wait for one slow reader before frames are dropped."""
BUFFER_FRAMES_MAX: Final = 65_536
"""How many frames may wait for one slow reader."""
WRITE_HIGH: Final = 256 << 10
"""From this many unsent bytes on the transport tells us to hold back."""
FRAME_S: Final = 30.0
"""How long a frame may take from its first byte to its last."""


class Framed(asyncio.Protocol):
    """One connection. Subclasses say what to do: `opened`, `heard`, `closed`, `failed`."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, *, bytes_max: int) -> None:
        self.loop = loop
        self._bytes_max = bytes_max
        self._framer = Framer(min(bytes_max, STRANGER_BYTES_MAX))
        self._stranger = True
        self._out: list[bytes] = []
        self._waiting = 0
        self._flushing = False
        self._paused = False
        self.heard_at = self.sent_at = loop.time()
        self.begun_at: float | None = None
        """When the frame that is not whole yet was begun."""
        self.frames_in = self.frames_out = self.bytes_in = self.bytes_out = self.dropped = 0

    # -- for subclasses ----------------------------------------------------------------------

    def opened(self) -> None:
        """The connection is there."""

    def heard(self, frames: list[bytes]) -> None:
        """Whole frames came."""

    def failed(self, error: PeerError) -> None:
        """The other side broke the framing; the connection is being dropped."""

    def closed(self, error: Exception | None) -> None:
        """The connection is gone."""

    def known(self) -> None:
        """The other side has proved who it is: it may send frames of any size from now on."""
        self._stranger = False
        self._framer.widen(self._bytes_max)

    # -- sending -----------------------------------------------------------------------------

    def send(self, frame: bytes) -> bool:
        """Let a frame go out when this turn is over; False when it was dropped."""
        out = self._out
        if self._paused:
            waiting = self._waiting + self.transport.get_write_buffer_size()
            if waiting >= BUFFER_BYTES_MAX or len(out) >= BUFFER_FRAMES_MAX:
                self.dropped += 1
                return False
        elif not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)
        out.append(frame)
        self._waiting += len(frame)
        return True

    def _flush(self) -> None:
        self._flushing = False
        out = self._out
        if not out or self._paused:
            return
        self._out = []
        self._waiting = 0
        if self.transport.is_closing():
            self.dropped += len(out)
            return
        data = join(out)
        self.frames_out += len(out)
        self.bytes_out += len(data)
        self.sent_at = self.loop.time()
        self.transport.write(data)

    def finish(self) -> None:
        """End the connection when all that was sent has gone out."""
        self._flush()
        self.transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    # -- what the transport tells ------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are kin by shape only
        self.transport.set_write_buffer_limits(high=WRITE_HIGH)
        self.opened()

    def data_received(self, data: bytes) -> None:
        self.heard_at = now = self.loop.time()
        self.bytes_in += len(data)
        try:
            if self._stranger:
                if not self._hear_stranger(data):
                    return
                data = b""
            frames = self._framer.feed(data)
        except PeerError as error:
            self.abort()
            self.failed(error)
            return
        if not self._framer.held:
            self.begun_at = None
        elif frames or self.begun_at is None:
            self.begun_at = now
        if frames:
            self.frames_in += len(frames)
            self.heard(frames)

    def _hear_stranger(self, data: bytes) -> bool:
        """Take frames one by one, until it is known who sends them; whether it is."""
        while self._stranger:
            if self.transport.is_closing():
                return False
            frame = self._framer.feed_one(data)
            data = b""
            if frame is None:
                if self.bytes_in > STRANGER_BYTES_MAX:
                    why = f"more than {STRANGER_BYTES_MAX:,} bytes came before a proof"
                    raise BadFrame(why=why)
                return False
            self.frames_in += 1
            self.heard([frame])
        return not self.transport.is_closing()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._out and not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)

    def connection_lost(self, exc: Exception | None) -> None:
        self._paused = False
        self.dropped += len(self._out)
        self._out = []
        self.closed(exc)

    def overdue(self, now: float) -> bool:
        """Whether a frame was begun too long ago."""
        return self.begun_at is not None and now - self.begun_at > FRAME_S
