"""What links over TCP and over NATS have in common: whose they are, who hears, what is counted."""

from __future__ import annotations

import asyncio

from nomospace.client import check_name
from nomospace.errors import CallerError
from nomospace.node.fencing import PeerTokens
from nomospace.node.identity import Identity, NotItsName
from nomospace.node.links import Hear
from nomospace.node.network import NameTaken
from nomospace.node.notes import Notes, OnNote
from nomospace.wire.frames import encode_frame


class OwnLinks:
    """The links of one host; `advertise` is where others can dial it. Raises `NotItsName`."""

    advertise: tuple[str, ...] = ()

    def __init__(self, name: str, identity: Identity | None, on_note: OnNote | None) -> None:
        self.name = check_name("a host", name)
        if identity is not None and identity.name != name:
            raise NotItsName(name=name, certified=identity.name)
        self.identity = identity
        self.tokens: PeerTokens | None = None
        """What this host knows of its own token, and of its peers'; set before `start`."""
        self._on_note = on_note
        self._hear: Hear | None = None
        self._notes: Notes
        self._loop: asyncio.AbstractEventLoop
        counted = ("frames_in", "frames_out", "bytes_in", "bytes_out", "dropped")
        self._counts = dict.fromkeys(counted, 0)

    def join(self, name: str, hear: Hear) -> None:
        """The host of this process hears with this function."""
        if name != self.name or self._hear is not None:
            raise NameTaken(name=name)
        self._hear = hear

    def leave(self, name: str) -> None:
        """The host of this process hears no more."""
        if name == self.name:
            self._hear = None

    def _encode(self, frame: object) -> bytes | None:
        """A frame as it travels; nothing, and a note, when it is larger than a frame may be."""
        try:
            return encode_frame(frame)
        except CallerError as error:
            self._too_large(error)
            return None

    def _too_large(self, error: CallerError) -> None:
        self._counts["dropped"] += 1
        self._notes("frame-dropped", why=str(error))
