"""Who a client may be: the judgement at a host's door, and what follows from it.

A `Door` is shown a proof and says who brought it. `door.TrustDoor` goes by certificates and tokens;
`OpenDoor` is for a port without certificates, which only this machine can reach: whoever shows the
host's own token may use any name.

A judgement does not hold for ever: tokens are taken back, certificates run out, an authority is
replaced. So whoever keeps something open for a principal (a connection, a stream, a session of the
console) has its host's `Standings` watch it, and is told at once of what has changed:

    def told(now: Principal | NotLetIn) -> None:
        if isinstance(now, NotLetIn):
            close(now)               # say why, then end
        else:
            mine.principal = now     # other agents, other scopes: ask it again what it may

    standing = server.standings.watch(principal, told)
    ...
    standing.end()                   # when the connection is gone; again is harmless

`told` may be called from then on until `end`, never within `watch`, and after a `NotLetIn` no more.
What only lasts for one request needs none of this: its token is judged when it is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from hmac import compare_digest
from typing import Final, Protocol

import msgspec

from nomospace.calls.problems import NotLetIn
from nomospace.node.clock import wall_us


class Principal(msgspec.Struct, frozen=True):
    """Who a client has proved to be: the agents that it may speak for, and whether it may look
    into the host. `anyone` may speak for every agent.

    `proof` is what its door judges it by again, and nobody else looks into; `until` is the last
    moment it counts, in microseconds. Without a proof it counts as long as the host runs.
    """

    name: str
    agents: tuple[str, ...] = ()
    operator: bool = False
    anyone: bool = False
    proof: Hashable | None = None
    until: int | None = None

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

    def again(self, principal: Principal) -> Principal:
        """One that was let in, as it would be judged now."""

    def kept(self, principal: Principal) -> str:
        """What one that was let in with a token is judged by after a restart: no secret."""

    def by_kept(self, kept: str) -> Principal:
        """Who one is that an earlier life of this host has let in, as it would be judged now."""

    def changed(self) -> bool:
        """Whether what it judges by may be other than when this was asked last; it is cheap."""


OWN: Final = "own"
"""Stands for the host's own token, which is another in each of its lives."""


class OpenDoor:
    """The door of a port without certificates: who shows `token` is who they say they are.

    All users of a machine reach its loopback; the token is what the host's own user can read
    (`client.own_tokens`). Without a `token` everyone is let in, as hosts inside a test do.
    """

    def __init__(self, token: str = "") -> None:
        self.token = token
        self._seen = token

    def nobody(self) -> Principal:
        """Anyone, where no token is asked for."""
        if self.token:
            raise NotLetIn(
                why="this host asks for the token that it made at its start, which programs of "
                "the user who started it find by themselves"
            )
        return Principal("anyone", operator=True, anyone=True)

    def by_token(self, token: str) -> Principal:
        """Anyone, for the host's own token."""
        if not self.token:
            raise NotLetIn(why="this port is not encrypted, and a token must not be shown on it")
        if not compare_digest(token.encode(), self.token.encode()):
            raise NotLetIn(why="this token is not the one that the host has printed at its start")
        return Principal("anyone", operator=True, anyone=True, proof=hash(token))

    def by_handshake(self, certificate: bytes) -> Principal:
        """Nobody comes here with a handshake."""
        raise NotLetIn(why="this port has no certificates")

    def by_signature(
        self, certificate: str, host: str, nonce: bytes, signature: bytes
    ) -> Principal:
        """Nobody can be held against an authority here."""
        raise NotLetIn(why="this port knows no authority")

    def again(self, principal: Principal) -> Principal:
        """Who was believed is believed, as long as the token is the same."""
        if principal.proof not in (None, hash(self.token)):
            raise NotLetIn(why="this host has another token now")
        return principal

    def kept(self, principal: Principal) -> str:
        """That it was let in."""
        return OWN

    def by_kept(self, kept: str) -> Principal:
        """Whoever has shown the token of an earlier life could read the one of this one too."""
        if kept != OWN:
            raise NotLetIn(why="this host had certificates when this was let in")
        return self.by_token(self.token) if self.token else self.nobody()

    def changed(self) -> bool:
        """Whether it has another token."""
        seen, self._seen = self._seen, self.token
        return seen != self.token


PrincipalListener = Callable[[Principal | NotLetIn], None]
"""Is told that a principal is another now, or none any more."""

SLICE: Final = 256
"""How many proofs are judged again before others have a turn."""


class WatchedPrincipal:
    """One who is watched. Made by `Standings.watch`."""

    __slots__ = ("_standings", "principal", "told")

    def __init__(self, standings: Standings, principal: Principal, told: PrincipalListener) -> None:
        self._standings = standings
        self.principal = principal
        self.told = told

    def end(self) -> None:
        """Watch it no more; saying so twice is harmless."""
        self._standings._forget(self)


class Standings:
    """All who were let in and are still there. Each proof is judged once, however many show it.

    `look` is to be called twice a second or so: it judges all again when something has changed that
    the door goes by, or the time of one of them is up. `now` gives microseconds, UTC.
    """

    def __init__(self, door: Door, now: Callable[[], int] | None = None) -> None:
        self.door = door
        self._now = now or wall_us
        self._by: dict[Hashable, dict[WatchedPrincipal, None]] = {}
        self._due: int | None = None
        """When the first of them ends."""

    def __len__(self) -> int:
        return sum(map(len, self._by.values()))

    def watch(self, principal: Principal, told: PrincipalListener) -> WatchedPrincipal:
        """Tell somebody of all that changes about a principal, until what is returned ends."""
        standing = WatchedPrincipal(self, principal, told)
        if principal.proof is not None:
            self._by.setdefault(principal.proof, {})[standing] = None
            self._note_end(principal)
        return standing

    async def look(self) -> None:
        """Judge again whoever must be."""
        changed = self.door.changed()  # asked each time: it says so once
        if not (changed or (self._due is not None and self._now() > self._due)):
            return
        self._due = None
        for count, proof in enumerate(list(self._by), 1):
            self._judge(proof)
            if not count % SLICE:
                await asyncio.sleep(0)

    def _judge(self, proof: Hashable) -> None:
        """Judge all who have shown this; once, since the answer is the same."""
        crowd = self._by.get(proof)
        if not crowd:
            return
        before = next(iter(crowd)).principal
        try:
            now: Principal | NotLetIn = self.door.again(before)
        except NotLetIn as error:
            now = error
        for standing in list(crowd):
            if isinstance(now, NotLetIn):
                standing.end()
                standing.told(now)
            elif now != standing.principal:
                standing.principal = now
                standing.told(now)
        if isinstance(now, Principal):
            self._note_end(now)

    def _note_end(self, principal: Principal) -> None:
        if principal.until is not None and (self._due is None or principal.until < self._due):
            self._due = principal.until

    def _forget(self, standing: WatchedPrincipal) -> None:
        proof = standing.principal.proof
        crowd = self._by.get(proof) if proof is not None else None
        if crowd is not None:
            crowd.pop(standing, None)
            if not crowd:
                del self._by[proof]
