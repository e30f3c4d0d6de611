"""The door of a host with an identity: whom its clients have proved to be.

Three proofs are taken: a certificate of an agent shown in the TLS handshake, the same certificate
with a challenge signed by its key, and a token that this host's operator has issued. All are held
against the host's own authority, its list of revocations and its file of tokens, as these are now.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from nomospace.errors import NomospaceError
from nomospace.node.identity import Identity
from nomospace.node.principals import NotLetIn, Principal
from nomospace.trust.certificates import read_claim
from nomospace.trust.proof import channel_of, check_proof
from nomospace.trust.tokens import Tokens, read_tokens

TOKENS: Final = "tokens.toml"
TOKENS_BYTES_MAX: Final = 16 * 1024 * 1024


class TrustDoor:
    """Judges proofs by the files of a trust folder."""

    def __init__(self, identity: Identity, now: Callable[[], int]) -> None:
        self._identity = identity
        self._now = now
        self._file = identity.folder / TOKENS
        self._stamp: tuple[int, int, int] | None = None
        self._tokens = Tokens()

    def nobody(self) -> Principal:
        """Nobody comes in without a proof."""
        raise NotLetIn(why="nothing was shown that proves who this is")

    def by_token(self, token: str) -> Principal:
        """Who one is that shows a token."""
        try:
            found = self._known().check(token, now=self._now())
        except NomospaceError as error:
            raise NotLetIn(why=str(error)) from None
        return Principal(f"token {found.id}", found.agents, operator=found.operates)

    def by_handshake(self, certificate: bytes) -> Principal:
        """Who one is whose certificate (DER) the TLS handshake has proved."""
        try:
            agent = self._identity.agent_of(certificate)
        except NomospaceError as error:
            raise NotLetIn(why=str(error)) from None
        return Principal(agent, (agent,))

    def by_signature(
        self, certificate: str, host: str, nonce: bytes, signature: bytes
    ) -> Principal:
        """Who one is that shows a certificate (PEM) and has signed a challenge of this host."""
        identity = self._identity
        pem = certificate.encode()
        try:
            agent = check_proof(
                pem,
                signature,
                agent=read_claim(pem).subject,
                host=host,
                channel=channel_of(identity.certificate.der),
                nonce=nonce,
                issuer=identity.authority,
                revocations=identity.revocations,
                now=self._now(),
            ).subject
        except NomospaceError as error:
            raise NotLetIn(why=str(error)) from None
        return Principal(agent, (agent,))

    def _known(self) -> Tokens:
        """The tokens as the file has them now."""
        stamp = _stamp(self._file)
        if stamp != self._stamp:
            self._stamp = stamp
            self._tokens = Tokens()
            if stamp is not None and stamp[1] <= TOKENS_BYTES_MAX:
                self._tokens = read_tokens(self._file.read_text("utf-8"))
        return self._tokens


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
