"""Is there a Spark master behind a port? Asked in Spark's own words, before any Java is started.

Spark's start waits a minute and more for a master that takes its connection and says nothing. A
master is asked for a file that nobody has, as executors ask it for jars: the smallest question that
needs no Java to write, and that leaves no trace in the master's log. It answers at once that there
is no such file.

    question: length (8 bytes), 6, length of a name (4 bytes), the name
    answer:   length (8 bytes), 7 or 8, …
"""

from __future__ import annotations

import socket
import struct
from time import monotonic
from typing import Final

ANSWER_S: Final = 5.0
"""How long a master may take to say that it is one."""
_NAME: Final = b"/jars/nomospace"
_ASKED: Final = 6
_ANSWERS: Final = (7, 8)
_TLS: Final = 0x15
_HEAD: Final = struct.Struct(">qB")
_FRAME_MAX: Final = 1 << 20
"""No answer to this question is longer."""


def greet(host: str, port: int, *, connect_s: float, answer_s: float = ANSWER_S) -> str:
    """Why there is no Spark master at a port; empty when there is one.

    A master that wants TLS refuses the question in a way of its own, and counts as one.
    """
    try:
        with socket.create_connection((host, port), timeout=connect_s) as line:
            body = struct.pack(">Bi", _ASKED, len(_NAME)) + _NAME
            line.sendall(struct.pack(">q", 8 + len(body)) + body)
            said = _heard(line, answer_s)
    except (OSError, OverflowError) as error:
        return str(error)
    if not said:
        return "it closes the connection when it is asked for something"
    if len(said) < _HEAD.size:
        return "" if said[0] == _TLS else _foreign(said)
    size, kind = _HEAD.unpack(said)
    known = kind in _ANSWERS and _HEAD.size <= size <= _FRAME_MAX
    return "" if known or said[0] == _TLS else _foreign(said)


def _heard(line: socket.socket, answer_s: float) -> bytes:
    """The beginning of an answer; raises `TimeoutError` when none comes."""
    said, until = b"", monotonic() + answer_s
    while len(said) < _HEAD.size:
        left = until - monotonic()
        try:
            line.settimeout(max(left, 0.001))
            more = line.recv(_HEAD.size - len(said))
        except TimeoutError:
            if said:
                return said
            why = f"it takes the connection and says nothing for {answer_s:g} s: no Spark master"
            raise TimeoutError(why) from None
        if not more:
            return said
        said += more
    return said


def _foreign(said: bytes) -> str:
    return f"it is no Spark master: it says {said!r}"
