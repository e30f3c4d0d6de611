"""The port of a worker: what becomes of a connection that a sibling does not take."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from nomospace.node import worker_port
from nomospace.node.worker_port import WorkerListener
from nomospace.node.workers import WorkerPart
from nomospace.wire.framing import CLIENT, preface


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    """Those that a test makes, closed at its end."""
    made: list[socket.socket] = []
    yield made
    for sock in made:
        sock.close()


def stuck(made: list[socket.socket]) -> socket.socket:
    """A way to a sibling that takes nothing more."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    made += (near, far)
    near.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            near.send(b"\0")
    return near


def test_a_connection_that_nobody_takes_is_dropped_in_time(
    sockets: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_port, "PASSING_S", 0.05)
    notes: list[tuple[str, object]] = []

    def note(what: str, /, **facts: object) -> None:
        notes.append((what, facts.get("why")))

    listening = socket.create_server(("127.0.0.1", 0))
    inbox, nobody = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    sockets += (listening, inbox, nobody)
    listening.setblocking(False)
    inbox.setblocking(False)
    part = WorkerPart(
        number=1,
        names=("ward", "ward.2"),
        domain="ward",
        spread=2,
        token="",
        listening=[listening],
        inbox=inbox,
        outboxes={"ward.2": stuck(sockets)},
        respread=False,
        alive=0,
        tell=lambda *_: None,
    )

    async def story() -> None:
        port = WorkerListener(
            "127.0.0.1:0",
            identity=None,
            on_host=lambda _: asyncio.Protocol(),
            on_client=lambda _: asyncio.Protocol(),
            on_note=note,
        )
        port.share(part)
        await port.start()
        try:
            reader, writer = await asyncio.open_connection(*port.address)
            with closing(writer):
                writer.write(preface(CLIENT, "ward.2"))
                with suppress(ConnectionResetError):
                    assert await asyncio.wait_for(reader.read(), 30) == b""
            assert not port._passing, "nobody is waited for any more"
        finally:
            await port.stop()

    asyncio.run(story())
    assert ("not-passed", "it takes no connections") in notes
