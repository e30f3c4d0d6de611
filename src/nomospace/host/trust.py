"""Whom a host believes, under laws that want certified controllers: the one thing it asks outside.

Certificates are checked where keys and clocks are (`node.vouching`). A host without certificates
believes everybody.
"""

from __future__ import annotations

from typing import Protocol

from nomospace.law import CompiledLaw
from nomospace.protocols.routing.frames import Post
from nomospace.trust.seals import NotAuthentic


class Trust(Protocol):
    """What a host asks of whoever checks certificates for it."""

    def letter_objection(self, law: CompiledLaw, post: Post) -> NotAuthentic | None:
        """Why the controller that a letter comes from may not take part in a law, if it may not."""

    def own_objection(self, law: CompiledLaw) -> str:
        """Why this host's own controllers may not take part in a law; empty when they may."""

    def certificate(self) -> bytes:
        """What this host shows those whom it engages with."""

    def host_objection(
        self, law: CompiledLaw, host: str, certificate: bytes
    ) -> NotAuthentic | None:
        """Why what a host with this certificate says under a law does not count, if it does not."""


class Trusting:
    """Believes everybody, and shows nothing."""

    def letter_objection(self, _law: CompiledLaw, _post: Post) -> NotAuthentic | None:
        """Every letter counts."""
        return None

    def own_objection(self, _law: CompiledLaw) -> str:
        """Nobody would doubt this host."""
        return ""

    def certificate(self) -> bytes:
        """It has none."""
        return b""

    def host_objection(
        self, _law: CompiledLaw, _host: str, _certificate: bytes
    ) -> NotAuthentic | None:
        """Every host does."""
        return None
