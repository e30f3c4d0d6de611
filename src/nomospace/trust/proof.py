"""An agent proves to its host who it is: a challenge, and an answer that only its key can give.

The host draws a nonce for the connection and sends it; the agent signs it together with its own
id, the host's name and the channel; the host checks the signature with the key in the agent's
identity certificate. The channel is the hash of the certificate that the host has shown in TLS, and
each side takes it from its own end of the connection, never from the other's words: an answer that
somebody has relayed from another connection does not fit. A nonce serves for one answer.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from nomospace.errors import PeerError
from nomospace.trust.certificates import AgentCertificate, check_certificate
from nomospace.trust.keys import PublicKey, SecretKey, signed_parts
from nomospace.trust.revocation import Revocations

NONCE_BYTES: Final = 32

_HEADING: Final = b"nomospace proof 1\n"


class NotProven(PeerError):
    """An answer to a challenge that the agent's key did not give."""

    code = "trust.not-proven"
    words = (
        "the answer was not signed with the key of {agent!r} for this connection; use "
        "the agent.key that belongs to the agent.pem, and connect to the host directly"
    )
    agent: str


def channel_of(host_certificate: bytes) -> bytes:
    """What binds a proof to a connection: the hash of the host's certificate (DER).

    Empty for a connection without TLS, which only the loopback has.
    """
    return sha256(host_certificate).digest() if host_certificate else b""


def prove(key: SecretKey, *, agent: str, host: str, channel: bytes, nonce: bytes) -> bytes:
    """The answer of an agent to a host's challenge."""
    return key.sign(_signed(agent, host, channel, nonce))


def check_proof(
    certificate: bytes,
    answer: bytes,
    *,
    agent: str,
    host: str,
    channel: bytes,
    nonce: bytes,
    issuer: PublicKey,
    revocations: Revocations,
    now: int,
) -> AgentCertificate:
    """The certificate of an agent that has proven to be `agent`.

    Raises a kind of `BadCertificate`, or `NotProven`.

    >>> from nomospace.trust.authority import make_authority
    >>> admin = make_authority("admin", SecretKey.from_seed(bytes(32)), serial=1, now=0, days=9)
    >>> key = SecretKey.from_seed(bytes(31) + b"1")
    >>> pem = admin.issue_agent("ann@ward-1", key.public, serial=2, now=0, days=9)
    >>> facts = dict(agent="ann@ward-1", host="ward-1", channel=b"", nonce=bytes(32))
    >>> answer = prove(key, **facts)
    >>> known = dict(issuer=admin.public, revocations=Revocations(), now=5)
    >>> check_proof(pem, answer, **facts, **known).subject
    'ann@ward-1'
    """
    found = check_certificate(
        certificate,
        AgentCertificate,
        issuer=issuer,
        now=now,
        revocations=revocations,
        subject=agent,
    )
    if not found.key.signed(_signed(agent, host, channel, nonce), answer):
        raise NotProven(agent=agent)
    return found


def _signed(agent: str, host: str, channel: bytes, nonce: bytes) -> bytes:
    assert len(nonce) == NONCE_BYTES, "a nonce is drawn for each connection"
    return signed_parts(_HEADING, agent.encode(), host.encode(), channel, nonce)
