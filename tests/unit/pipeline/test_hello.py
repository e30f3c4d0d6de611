"""What answers at a port is a Spark master, or it is told why not; cluster tests ask a real one."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from nomospace.pipeline.jobs import hello
from nomospace.pipeline.jobs.hello import greet
from nomospace.pipeline.jobs.session import MasterSilent, check_master

NO_FILE = struct.pack(">qB", 40, 8) + b"\0\0\0\x0f/jars/nomospace"


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port whose one caller is served in a thread."""
    ended = threading.Event()

    def work() -> None:
        line, _ = server.accept()
        with line:
            serve(line)
            ended.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            ended.set()
            thread.join(10)


def asked(line: socket.socket) -> bytes:
    size = struct.unpack(">q", line.recv(8, socket.MSG_WAITALL))[0]
    return line.recv(size - 8, socket.MSG_WAITALL)


def says(words: bytes) -> Callable[[socket.socket], None]:
    def serve(line: socket.socket) -> None:
        assert asked(line) == b"\x06\0\0\0\x0f/jars/nomospace"
        with suppress(ConnectionError):  # whoever asked has heard enough
            for at in range(len(words)):  # byte by byte: an answer may come in pieces
                line.sendall(words[at : at + 1])

    return serve


@pytest.mark.parametrize("words", [NO_FILE, b"\x15\x03\x03\0\x02\x02\x46"], ids=["spark", "tls"])
def test_a_master(words: bytes) -> None:
    with listening(says(words)) as port:
        assert greet("127.0.0.1", port, connect_s=2, answer_s=2) == ""


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request", b"SSH-2.0", b"\0" * 9])
def test_something_else(words: bytes) -> None:
    with listening(says(words)) as port:
        assert "no Spark master: it says b'" in greet("127.0.0.1", port, connect_s=2, answer_s=0.5)


def test_one_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hello.greet, "__kwdefaults__", {"answer_s": 0.2})
    with listening(lambda line: None) as port:
        expected = r"takes the connection and says nothing for 0\.2 s: no Spark master"
        with pytest.raises(MasterSilent, match=expected):
            check_master(f"spark://127.0.0.1:{port}")


def test_one_that_hangs_up() -> None:
    with listening(lambda line: line.shutdown(socket.SHUT_RDWR)) as port:
        told = greet("127.0.0.1", port, connect_s=2, answer_s=2)
        assert "closes the connection" in told or "reset" in told.lower() or "pipe" in told.lower()
