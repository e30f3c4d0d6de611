"""The tokens of this user's own hosts on this machine, found by the address they listen at.

A host without certificates listens on the loopback, where every user of the machine can reach it.
So it makes a token at each start and lets nobody in without it. Programs of the same user need not
be told: the host puts the token into a file that only its user can read, named by the address, and
whoever dials that address looks there.

    $XDG_STATE_HOME/nomospace/hosts/127.0.0.1:7420        by default under ~/.local/state

The host holds a lock on the file as long as it lives. A file without that lock is left over from a
host that was killed, and counts for nothing: whoever listens at its address now is somebody else.

Hosts that call each other prove in the same way that they are of one user: by `link_key`, which is
made once and never sent.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from nomospace.errors import CallerError

FILES_MAX: Final = 1_000
"""How many files of hosts that were killed may lie about; the oldest are removed first."""
TOKEN_BYTES_MAX: Final = 200
"""The longest token of a host's own."""
LINK_KEY: Final = "links.key"
KEY_BYTES: Final = 32


class TokenNotKept(CallerError):
    """A host's own token cannot be put where its user's programs would find it."""

    code = "client.token-not-kept"
    words = (
        "the token cannot be kept in {place}: {why}; set XDG_STATE_HOME to a folder "
        "of yours, or give programs the token"
    )
    place: str
    why: str


def folder() -> Path:
    """Where the files are; raises `TokenNotKept` for a user without a home."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:  # as in a container whose user nobody has named
            raise TokenNotKept(place="~", why="this user has no home") from None
    return state / "nomospace" / "hosts"


def find(host: str, port: int) -> str:
    """The token of this user's host at an address; empty when none listens there."""
    try:
        with (folder() / _name(host, port)).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:  # its host lives
                return file.read(TOKEN_BYTES_MAX).decode("ascii", "replace").strip()
    except (OSError, TokenNotKept):
        pass
    return ""


def link_key() -> bytes:
    """What all hosts of this user have, and nobody else; where none can be kept, this process."""
    try:
        return _kept_key(folder().parent / LINK_KEY)
    except (OSError, TokenNotKept):
        return _key_of_process()


@cache
def _key_of_process() -> bytes:
    return os.urandom(KEY_BYTES)


def _kept_key(file: Path) -> bytes:
    """The key in a file, which is made if it is not there; several hosts may do so at once."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_name(f".{os.getpid()}-{file.name}")
    if not file.exists():
        new.unlink(missing_ok=True)
        made = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(made, os.urandom(KEY_BYTES))
        os.fsync(made)  # a file without its bytes would be a key that everybody knows
        os.close(made)
        with suppress(FileExistsError):
            os.link(new, file)  # the first to do so has made it
        new.unlink()
    return file.read_bytes()


class OwnToken:
    """One host's own token: `keep` puts it where its user finds it, `close` takes it away."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._kept: dict[Path, int] = {}

    def keep(self, host: str, port: int) -> Path:
        """Keep it for an address that the host listens at; raises `TokenNotKept`."""
        place = folder()
        file = place / _name(host, port)
        new = place / f".{os.getpid()}-{file.name}"
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sweep(place)
            new.unlink(missing_ok=True)
            held = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.write(held, f"{self.token}\n".encode())
                new.rename(file)  # whoever looks finds a whole one, and locked
            except OSError:
                os.close(held)
                raise
        except OSError as error:
            raise TokenNotKept(place=str(file), why=error.strerror or str(error)) from None
        self._kept[file] = held
        return file

    def close(self) -> None:
        """Take away what was kept; a file that another host has put in its place stays."""
        kept, self._kept = self._kept, {}
        for file, held in kept.items():
            with suppress(OSError):
                if os.path.samestat(file.stat(), os.fstat(held)):
                    file.unlink()
            os.close(held)


def _name(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _sweep(place: Path) -> None:
    """Remove the oldest files of hosts that were killed, if there are too many."""
    files = list(place.iterdir())
    if len(files) < FILES_MAX:
        return
    for file in sorted(files, key=_written)[: FILES_MAX // 2]:
        with suppress(OSError), file.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.unlink()


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
