"""Who a client may be: the judgement at a host's door, and what follows from it.

A `Door` is shown a proof and says who brought it. `door.TrustDoor` goes by certificates and tokens;
`OpenDoor` is for a port without certificates, which only this machine can reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from nomospace.errors import CallerError


@dataclass(eq=False, kw_only=True)
class NotLetIn(CallerError):
    """A client did not prove who it is."""

    code: ClassVar[str] = "node.not-let-in"
    why: str

    def __str__(self) -> str:
        return (
            f"not let in: {self.why}; connect with identity=… or token=… "
            "(`nomospace trust issue` makes them)"
        )


class Principal(msgspec.Struct, frozen=True):
    """Who a client has proved to be: the agents that it may speak for, and whether it may look
    into the host. `anyone` may speak for every agent.
    """

    name: str
    agents: tuple[str, ...] = ()
    operator: bool = False
    anyone: bool = False

    def may_be(self, agent: str) -> bool:
        """Whether it may speak for an agent."""
        return self.anyone or agent in self.agents


class Door(Protocol):
    """Judges proofs. Every method raises `NotLetIn` with what is wrong with one."""

    def nobody(self) -> Principal:
        """Who one is that shows nothing."""

    def by_token(self, token: str) -> Principal:
        """Who one is that shows a token."""

    def by_handshake(self, certificate: bytes) -> Principal:
        """Who one is whose certificate (DER) the TLS handshake has proved."""

    def by_signature(
        self, certificate: str, host: str, nonce: bytes, signature: bytes
    ) -> Principal:
        """Who one is that shows a certificate (PEM) and has signed a challenge of this host."""


class OpenDoor:
    """The door of a port without certificates: everyone is who they say they are."""

    def nobody(self) -> Principal:
        """Anyone."""
        return Principal("anyone", operator=True, anyone=True)

    def by_token(self, token: str) -> Principal:
        """Tokens prove nothing where nothing is encrypted."""
        raise NotLetIn(why="this port is not encrypted, and a token must not be shown on it")

    def by_handshake(self, certificate: bytes) -> Principal:
        """Nobody comes here with a handshake."""
        raise NotLetIn(why="this port has no certificates")

    def by_signature(
        self, certificate: str, host: str, nonce: bytes, signature: bytes
    ) -> Principal:
        """Nobody can be held against an authority here."""
        raise NotLetIn(why="this port knows no authority")
