"""Who is refused because another process has taken over: a host's part in that.

A host that others may take over has a token, which grows with every takeover (the life of its
store). It says so to peers and clients, and they refuse a lower one than they have heard. A peer
remembers that through its restarts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from nomospace.store.interface import Store
from nomospace.wire.admin import AdminFinding

if TYPE_CHECKING:
    from nomospace.node.local import Host

_NAME: Final = "token of "
"""Before a peer's name: what its token is kept under."""


class StandingPart(Protocol):
    """The part of a process that stands for a host with others (`standby`, `pairing`)."""

    @property
    def store(self) -> Store: ...
    async def wait(self) -> None: ...
    def link_life(self, now: int) -> int: ...
    def serves(self, host: Host) -> None: ...
    async def watch(self) -> None: ...
    def lost(self, error: BaseException) -> None: ...
    def findings(self) -> list[AdminFinding]: ...
    def figures(self) -> dict[str, float]: ...
    async def close(self) -> None: ...


class PeerTokens:
    """The token of a host, 0 where nobody else can take over, and those it has heard of peers."""

    def __init__(self, host: Host, standing: StandingPart | None) -> None:
        keeper = host.keeper
        fenced = keeper is not None and getattr(keeper.store, "fenced", False)
        self.own = host.life if fenced or standing is not None else 0
        self._host = host

    def refused(self, peer: str, token: int) -> str:
        """Why a peer with this token is not spoken to; empty when it is, and it is remembered."""
        known = int(self._host.small.get(_NAME + peer, b"0"))
        if token < known:
            return f"it has the token {token}, and another process of {peer} has {known}"
        if token > known:
            self._host.keep_small(_NAME + peer, b"%d" % token)
        return ""
