"""Ports for servers that must know theirs before they listen, or keep it through a restart.

A port that the system picks (`:0`) and that is let go again may be picked at once for somebody
else: for a test in another process, or as the near end of any connection. So ports are taken from
below the range that the system picks from, and each is locked to the process that got it until
that process ends. The lock of a port is the byte of that number in a file all test processes share.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import IO, Final

import pytest

FIRST: Final = 20_000
"""Below lie the ports that programs, ours among them, have by default."""
BEYOND: Final = 32_768
"""The first port that Linux picks by itself; other systems begin later still."""

_given: set[int] = set()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has, and that no other caller gets while we live."""
    span = BEYOND - FIRST
    start = os.getpid() * 97 % span  # neighbours begin apart, so that they seldom meet
    for step in range(span):
        port = FIRST + (start + step) % span
        if port not in _given and _lock(port):
            _given.add(port)
            if _unused(port):
                return port
    pytest.fail(f"no port of {FIRST} to {BEYOND - 1} is free; see who listens with: ss -tln")


def _lock(port: int) -> bool:
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        return False
    return True


def _unused(port: int) -> bool:
    with closing(socket.socket()) as sock:
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@cache
def _locks() -> IO[bytes]:
    """The file of locks, of this user; open as long as we live, or the locks would be let go."""
    return (Path(tempfile.gettempdir()) / f"nomospace-ports-{os.getuid()}").open("ab")
