"""A process that has less than its user: limits of memory and files, and Landlock where there is.

Landlock (Linux 5.13) lets a process take from itself, for good, what it does not need: files other
than those it names, connections, signals to other processes. So a program that was admitted can
read Python and its own code, write in a folder of its own, and nothing else: not its host's keys,
not its store. Elsewhere it is kept from them by nothing but what its publisher answers for.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""The system calls, the same on every kind of machine."""
_PR_SET_NO_NEW_PRIVS: Final = 38
_READ: Final = 0b1101
"""Execute, read files, list folders."""
_FILE: Final = 0b0111 | 1 << 14 | 1 << 15
"""What can be done with a file: execute, write, read, truncate, control a device."""
_RIGHTS: Final = (0, 13, 14, 15, 15, 16)
"""How many rights about files each version knows; later ones no more than the last."""
_NET: Final = 0b11
_SCOPES: Final = 0b11
FILES_MAX: Final = 64
"""How many files a program may have open."""
FILE_BYTES_MAX: Final = 64 << 20
"""The largest file that it may write."""


def limit(memory: int) -> None:
    """Bound what this process may have."""
    with suppress(ValueError, OSError):  # not every system bounds addresses
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))


def version() -> int:
    """The version of Landlock here; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE, None, 0, 1)))


def confine(home: Path, readable: Iterable[str], *, network: bool) -> bool:
    """Keep this process from all files but its home and those it may read; whether that is so.

    Without `network` it makes no connection over TCP and waits for none.
    """
    known = version()
    if not known:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    files = (1 << _RIGHTS[min(known, len(_RIGHTS) - 1)]) - 1
    handled = struct.pack(
        "=QQQ",
        files,
        _NET if known >= 4 and not network else 0,
        _SCOPES if known >= 6 else 0,
    )[: 8 if known < 4 else 16 if known < 6 else 24]
    rules = libc.syscall(_CREATE, handled, len(handled), 0)
    if rules < 0:
        return False
    try:
        for place, rights in [(str(home), files), *[(one, _READ) for one in readable]]:
            _allow(libc, rules, place, rights & files)
        for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
            _allow(libc, rules, device, 0b0110)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return int(libc.syscall(_RESTRICT, rules, 0)) == 0
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, place: str, rights: int) -> None:
    """Let a place be used; one that is not there is left out."""
    with suppress(OSError):
        at = os.open(place, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
        try:
            if not Path(place).is_dir():
                rights &= _FILE
            libc.syscall(_ADD, rules, 1, struct.pack("=Qi", rights, at), 0)
        finally:
            os.close(at)
