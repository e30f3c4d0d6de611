"""How a host reaches others, whatever the wires are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from nomospace.node.fencing import PeerTokens

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


class Wires(Protocol):
    """Links with a life of their own (`tcp.TcpLinks`, `nats.NatsLinks`).

    With `tokens` they refuse whom another process has taken over.
    """

    tokens: PeerTokens | None

    def join(self, name: str, hear: Hear) -> None: ...
    def leave(self, name: str) -> None: ...
    def transmit(self, sender: str, to: str | None, frame: object) -> None: ...
    def neighbours(self) -> tuple[str, ...]: ...
    def counts(self) -> dict[str, int]: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


@runtime_checkable
class Dialled(Protocol):
    """Links that others dial: they tell them where."""

    advertise: tuple[str, ...]
