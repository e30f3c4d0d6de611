"""What every part of a host has at hand: the step, who is here with which spaces, other parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nomospace.protocols.spaces import DirectoryChanged

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class HostPart:
    """A part of one host."""

    def __init__(self, host: HostParts) -> None:
        self._host = host
        self._step = host.step
        self._spaces = host.spaces


class GroupFollower(HostPart):
    """A part that is told what becomes of the group; each wants to hear some of it."""

    def respread(self) -> None:
        """The group stands still again, and may have other members than before."""

    def relieved(self, peer: str) -> None:
        """A peer that was given as much as it can take has room again."""

    def followed(self, peer: str, news: DirectoryChanged, spaces: Iterable[str]) -> None:
        """Agents came to a peer or left it, or spaces are shared there from now on or no more."""

    def shift(self, host: str, news: DirectoryChanged) -> None:
        """Who is at a host of the group, this one among them, has changed."""

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: what was under way with it is over."""
