"""One connection: batches out, whole frames in, bounds on both."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from nomospace.errors import PeerError
from nomospace.node.framed import BUFFER_BYTES_MAX, FRAME_S, Framed
from nomospace.wire.framing import join
from nomospace_lab.testing.loop import run


class FakeTransport(asyncio.Transport):
    """Keeps what is written; says how much has not gone out."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.unsent = 0
        self.ended = ""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


class Recorder(Framed):
    def __init__(self, loop: asyncio.AbstractEventLoop, *, bytes_max: int = 1_000) -> None:
        super().__init__(loop, bytes_max=bytes_max)
        self.story: list[Any] = []

    def opened(self) -> None:
        self.known()
        self.story.append("opened")

    def heard(self, frames: list[bytes]) -> None:
        self.story.append(frames)

    def failed(self, error: PeerError) -> None:
        self.story.append(error.code)

    def closed(self, error: Exception | None) -> None:
        self.story.append("closed")


def connected() -> tuple[Recorder, FakeTransport]:
    one, transport = Recorder(asyncio.get_running_loop()), FakeTransport()
    one.connection_made(transport)
    return one, transport


def test_a_turn_is_one_write() -> None:
    async def program() -> None:
        one, transport = connected()
        for frame in (b"a", b"bb", b""):
            assert one.send(frame)
        assert transport.written == []
        await asyncio.sleep(0)
        assert transport.written == [join([b"a", b"bb", b""])]
        one.send(b"later")
        await asyncio.sleep(0)
        assert transport.written[1:] == [join([b"later"])]
        assert (one.frames_out, one.bytes_out) == (4, sum(map(len, transport.written)))

    run(program())


def test_a_slow_reader_is_waited_for_up_to_a_bound() -> None:
    async def program() -> None:
        one, transport = connected()
        one.pause_writing()
        transport.unsent = BUFFER_BYTES_MAX // 2
        sent = 0
        while one.send(b"x" * 100_000):
            sent += 1
        assert BUFFER_BYTES_MAX // 2 <= sent * 100_000 <= BUFFER_BYTES_MAX // 2 + 100_000
        assert one.dropped == 1
        await asyncio.sleep(0)
        assert transport.written == []
        transport.unsent = 0
        one.resume_writing()
        await asyncio.sleep(0)
        assert transport.written == [join([b"x" * 100_000] * sent)]
        # Paused in the turn of the write: it waits for the next resume.
        one.send(b"y")
        one.pause_writing()
        await asyncio.sleep(0)
        assert len(transport.written) == 1
        one.connection_lost(None)
        assert one.dropped == 2
        assert one.story == ["opened", "closed"]

    run(program())


def test_frames_come_whole_however_they_are_cut() -> None:
    async def program() -> None:
        one, transport = connected()
        stream = join([b"one", b"", b"three" * 50])
        for place in range(len(stream)):
            one.data_received(stream[place : place + 1])
        assert [frame for part in one.story[1:] for frame in part] == [b"one", b"", b"three" * 50]
        one.data_received(struct.pack(">I", 1_001))
        assert one.story[-1] == "wire.bad-frame"
        assert transport.ended == "aborted"

    run(program())


def test_a_frame_that_was_begun_must_end() -> None:
    async def program() -> None:
        one, _ = connected()
        loop = asyncio.get_running_loop()
        assert not one.overdue(loop.time() + 10 * FRAME_S)  # an idle connection is none
        one.data_received(join([b"whole"]) + b"\0")
        assert not one.overdue(loop.time() + FRAME_S)
        await asyncio.sleep(FRAME_S / 2)
        one.data_received(b"\0")  # more of the same frame buys no time
        assert one.overdue(loop.time() + FRAME_S / 2 + 1)
        one.data_received(b"\0\1x")
        assert not one.overdue(loop.time() + 10 * FRAME_S)

    run(program())


def test_what_was_sent_goes_out_before_the_end() -> None:
    async def program() -> None:
        one, transport = connected()
        one.send(b"last")
        one.finish()
        assert (transport.written, transport.ended) == ([join([b"last"])], "closed")
        one.send(b"too late")
        await asyncio.sleep(0)
        assert len(transport.written) == 1
        assert one.dropped == 1

    run(program())


class Greeted(Recorder):
    """Knows who the other side is by its first frame, if that is a greeting."""

    def opened(self) -> None:
        pass

    def heard(self, frames: list[bytes]) -> None:
        if frames == [b"hello"]:
            self.known()
        self.story += frames


def test_a_stranger_sends_little_and_whoever_is_known_may_follow_up_at_once() -> None:
    async def program() -> None:
        one = Greeted(asyncio.get_running_loop(), bytes_max=200_000)
        one.connection_made(FakeTransport())
        large = bytes(150_000)
        one.data_received(join([b"hello", large, b"x"]))  # in one read, as links do
        assert one.story == [b"hello", large, b"x"]

    run(program())


def test_a_stranger_that_sends_too_much_is_dropped() -> None:
    async def program() -> None:
        whole = join([bytes(70_000)])
        for pieces in ([whole[:4]], [join([bytes(10_000)])] * 7, [join([bytes(60_000)])] * 2):
            one, transport = Greeted(asyncio.get_running_loop(), bytes_max=200_000), FakeTransport()
            one.connection_made(transport)
            for piece in pieces:
                one.data_received(piece)
            assert transport.ended == "aborted"
            assert one.story[-1] == "wire.bad-frame"

    run(program())
