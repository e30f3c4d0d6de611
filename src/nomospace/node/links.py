"""How a host reaches others, whatever the wires are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Hear: TypeAlias = Callable[[str, Any], None]
"""Tells a host that a frame came: from which neighbour, as the wires have proved, and the frame."""


class HostLinks(Protocol):
    """What a host's driver asks of its wires (`network`, `tcp`, `nats`)."""

    def join(self, name: str, hear: Hear) -> None:
        """A host of this process is there, and hears with this function."""

    def leave(self, name: str) -> None:
        """A host of this process is gone."""

    def transmit(self, sender: str, to: str | None, frame: object) -> None:
        """Bring a frame to a host, or to all that can hear. It may get lost, and nobody waits."""
