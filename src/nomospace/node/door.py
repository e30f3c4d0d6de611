"""The door of a host with an identity: whom its clients have proved to be.

Three proofs are taken: a certificate of an agent shown in the TLS handshake, the same certificate
with a challenge signed by its key, and a token that this host's operator has issued. All are held
against the host's own authority, its list of revocations and its file of tokens, as these are now.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from nomospace.calls.problems import NotLetIn
from nomospace.errors import NomospaceError
from nomospace.node.identity import Identity, stamp_of
from nomospace.node.principals import Principal
from nomospace.trust.certificates import AgentCertificate, read_claim
from nomospace.trust.proof import channel_of, check_proof
from nomospace.trust.tokens import BadTokensFile, StoredToken, Tokens, read_tokens

TOKENS: Final = "tokens.toml"
TOKENS_BYTES_MAX: Final = 16 * 1024 * 1024


class Bearing(NamedTuple):
    """The token that somebody has shown: its id, and the hash of its secret."""

    id: str
    digest: bytes


class TrustDoor:
    """Judges proofs by the files of a trust folder.

    A file of tokens that cannot be read lets nobody in, and says why; who is in already stays by
    what it said before, until it can be read again.
    """

    def __init__(self, identity: Identity, now: Callable[[], int]) -> None:
        self._identity = identity
        self._now = now
        self._file = identity.folder / TOKENS
        self._stamp: tuple[int, int, int] | None = None
        self._tokens = Tokens()
        self._trouble: NomospaceError | None = None
        self._changed = False
        identity.watchers.append(self._doubt)

    def nobody(self) -> Principal:
        """Nobody comes in without a proof."""
        raise NotLetIn(why="nothing was shown that proves who this is")

    def by_token(self, token: str) -> Principal:
        """Who one is that shows a token."""
        self._read()
        try:
            if self._trouble is not None:
                raise self._trouble
            return _bearer(self._tokens.check(token, now=self._now()))
        except NomospaceError as error:
            raise NotLetIn(why=str(error)) from None

    def by_handshake(self, certificate: bytes) -> Principal:
        """Who one is whose certificate (DER) the TLS handshake has proved."""
        try:
            return _agent(self._identity.check_agent(certificate))
        except NomospaceError as error:
            raise NotLetIn(why=str(error)) from None

    def by_signature(
        self, certificate: str, host: str, nonce: bytes, signature: bytes
    ) -> Principal:
        """Who one is that shows a certificate (PEM) and has signed a challenge of this host."""
        identity = self._identity
        pem = certificate.encode()
        try:
            found = check_proof(
                pem,
                signature,
                agent=read_claim(pem).subject,
                host=host,
                channel=channel_of(identity.papers.certificate.der),
                nonce=nonce,
                issuer=identity.papers.authority,
                revocations=identity.revocations,
                now=self._now(),
            )
        except NomospaceError as error:
            raise NotLetIn(why=str(error)) from None
        return _agent(found)

    def again(self, principal: Principal) -> Principal:
        """One that was let in, as it would be judged now. No signature is checked: each was good,
        and is as long as the key behind it is the same.
        """
        proof = principal.proof
        try:
            if isinstance(proof, AgentCertificate):
                self._identity.check_again(proof)
                return principal
            assert isinstance(proof, Bearing), "whoever is let in here has shown something"
            self._read()
            return _bearer(self._tokens.check_again(proof.id, proof.digest, now=self._now()))
        except NomospaceError as error:
            raise NotLetIn(why=str(error)) from None

    def kept(self, principal: Principal) -> str:
        """The id of its token, and the hash of the secret."""
        proof = principal.proof
        return f"{proof.id} {proof.digest.hex()}" if isinstance(proof, Bearing) else ""

    def by_kept(self, kept: str) -> Principal:
        """The bearer of a token that was shown to an earlier life, if it still counts."""
        id, _, digest = kept.partition(" ")
        try:
            proof = Bearing(id, bytes.fromhex(digest))
        except ValueError:
            raise NotLetIn(why="this was let in by no token") from None
        return self.again(Principal(id, proof=proof))

    def changed(self) -> bool:
        """Whether the identity or the file of tokens has changed since this was asked."""
        self._read()
        changed, self._changed = self._changed, False
        return changed

    def _doubt(self) -> None:
        self._changed = True

    def _read(self) -> None:
        """Have the tokens as the file has them now."""
        stamp = stamp_of(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        self._changed = True
        self._trouble = None
        try:
            self._tokens = _tokens(self._file) if stamp is not None else Tokens()
        except (NomospaceError, OSError, UnicodeDecodeError) as error:
            self._trouble = (
                error if isinstance(error, NomospaceError) else BadTokensFile(why=str(error))
            )
            if self._identity.on_note is not None:
                self._identity.on_note("tokens-not-read", file=TOKENS, why=str(self._trouble))


def _tokens(file: Path) -> Tokens:
    with file.open("rb") as opened:
        data = opened.read(TOKENS_BYTES_MAX + 1)
    if len(data) > TOKENS_BYTES_MAX:
        raise BadTokensFile(why=f"it has more than {TOKENS_BYTES_MAX:,} bytes")
    return read_tokens(data.decode("utf-8"))


def _bearer(token: StoredToken) -> Principal:
    return Principal(
        f"token {token.id}",
        token.acts,
        operator=token.operates,
        proof=Bearing(token.id, token.digest),
        until=token.not_after,
    )


def _agent(found: AgentCertificate) -> Principal:
    return Principal(found.subject, (found.subject,), proof=found, until=found.not_after)
