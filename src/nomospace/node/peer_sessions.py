"""The sessions of hosts that speak in envelopes: what two have agreed on, and its numbers."""

from __future__ import annotations

from typing import Final

from nomospace.trust.certificates import HostCertificate
from nomospace.trust.channels import Channel, InTheOpen

WINDOW: Final = 1_024
"""How far behind the highest counter an envelope may come."""


class PeerSession:
    """What two hosts have agreed on once, and where its numbers stand."""

    def __init__(
        self,
        channel: Channel | InTheOpen,
        life: int,
        certificate: HostCertificate | None,
        version: int,
    ) -> None:
        self.channel = channel
        self.life = life
        self.certificate = certificate
        self.version = version
        """The newest version of links that both speak."""
        self.confirmed = False
        """Whether the other side is known to have it too."""
        self.number = 0
        """The last number of this side."""
        self.high = 0
        """The highest number of the other side, """
        self.seen = (1 << WINDOW) - 1
        """and one bit for each from there down: whether it was seen."""
        self.parts: list[bytes] = []
        self.next_part = (0, 0)
        """The number and the part that go on with the frame under way."""

    def is_new(self, number: int) -> bool:
        """Whether a number of the other side is new; it is not any more."""
        ahead = number - self.high
        if ahead > 0:
            self.seen = ((self.seen << min(ahead, WINDOW)) | 1) & ((1 << WINDOW) - 1)
            self.high = number
            return True
        bit = 1 << -ahead if -ahead < WINDOW else 0
        if not bit or self.seen & bit:
            return False
        self.seen |= bit
        return True

    def held(self) -> int:
        """How many bytes of a frame under way are kept."""
        return sum(map(len, self.parts))


class KnownHost:
    """A host that is known, and the sessions with it, the oldest first."""

    def __init__(self, now: float) -> None:
        self.life = 0
        self.heard_at = now
        self.sessions: dict[bytes, PeerSession] = {}
        self.using: PeerSession | None = None
        """The session that the other side has shown last that it has."""
