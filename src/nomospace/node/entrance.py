"""A client before it is known: its hello, and the proof that it is asked for.

Nobody gets further without proof of who it is, which a `Door` judges: the certificate shown in the
TLS handshake, a certificate with a signed challenge, or a token; on a port without certificates a
name is believed, if the door does. Until then a client may send `STRANGER_BYTES_MAX` in all.
"""

from __future__ import annotations

import secrets
from typing import Final, Protocol

from nomospace.calls.problems import NotAnOperator, NotLetIn, NotYourAgent
from nomospace.errors import PeerError
from nomospace.node.principals import Door, Principal
from nomospace.wire.framing import STRANGER_BYTES_MAX, BadFrame, Framer, Versions
from nomospace.wire.talk import SELF, VERSIONS, Challenge, ClientHello, Proof, unpack_entry

NONCE_BYTES: Final = 32


class OtherVersion(PeerError):
    """A client and a host do not speak the same version."""

    code = "node.other-version"
    theirs: Versions
    ours: Versions

    def __str__(self) -> str:
        older = "the client" if self.theirs < self.ours else "the host"
        return f"the client speaks version {self.theirs}, this host {self.ours}; upgrade {older}"


class IncomingConnection(Protocol):
    """A connection that came in, as the port tells of it (see `listen.Arrival`)."""

    @property
    def certificate(self) -> bytes | None: ...
    @property
    def ip(self) -> str: ...
    def proven(self) -> None: ...
    def ended(self) -> None: ...


class Entrance:
    """What one client has said until it is known. `shown` is its certificate from TLS, if any."""

    __slots__ = ("_bytes", "_door", "_host", "_nonce", "_shown", "hello")

    def __init__(self, door: Door, host: str, shown: bytes | None) -> None:
        self._door = door
        self._host = host
        self._shown = shown
        self._bytes = 0
        self._nonce = b""
        self.hello: ClientHello | None = None

    def hear(self, framer: Framer, data: bytes) -> Principal | Challenge | None:
        """Who it is now, a challenge that it has to sign first, or nothing: more is to come.

        Raises what the door has against it, and `BadFrame`.
        """
        self._bytes += len(data)
        frame = framer.feed_one(data)
        if frame is None:
            if self._bytes > STRANGER_BYTES_MAX:
                raise BadFrame(why=f"more than {STRANGER_BYTES_MAX:,} bytes came before a proof")
            return None
        said, hello = unpack_entry(frame), self.hello
        if isinstance(said, ClientHello) and hello is None:
            self.hello = said
            return self._judge(said)
        if isinstance(said, Proof) and hello is not None:
            return self._door.by_signature(
                hello.certificate, self._host, self._nonce, said.signature
            )
        raise BadFrame(why="a client says hello once, and proves itself when asked")

    def _judge(self, hello: ClientHello) -> Principal | Challenge:
        if not VERSIONS.common(hello.versions):
            raise OtherVersion(theirs=hello.versions, ours=VERSIONS)
        if hello.token:
            return self._door.by_token(hello.token)
        if hello.certificate:
            self._nonce = secrets.token_bytes(NONCE_BYTES)
            return Challenge(self._host, self._nonce)
        shown = self._shown
        return self._door.nobody() if shown is None else self._door.by_handshake(shown)

    def agent_for(self, principal: Principal, domain: str) -> str:
        """The agent that it is to be; empty for an operator without one.

        Raises why it may not be that.
        """
        hello = self.hello
        assert hello is not None, "it has said hello"
        agent = hello.agent
        if agent == SELF:
            if not principal.agents and not principal.anyone:
                raise NotLetIn(why=f"{principal.name} acts as no agent: it has not that scope")
            if len(principal.agents) != 1:
                raise NotLetIn(why=f"{principal.name} is not one agent; name the one to be")
            agent = principal.agents[0]
        elif agent and "@" not in agent:
            agent = f"{agent}@{domain}"
        if not agent:
            if not principal.operator:
                raise NotAnOperator(proved=principal.name)
            return ""
        if not principal.may_be(agent):
            raise NotYourAgent(agent=agent, proved=principal.name)
        session = hello.session
        if not 16 <= len(session) <= 64 or not session.isprintable() or " " in session:
            raise BadFrame(why="a session has a name of 16 to 64 printable characters, no spaces")
        return agent
