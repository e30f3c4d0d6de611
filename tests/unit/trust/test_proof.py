"""Proofs: who answers a challenge has the key, is who the certificate says, and speaks here."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.trust.certificates import (
    AgentCertificate,
    BadCertificate,
    CertificateExpired,
    CertificateRevoked,
    UntrustedIssuer,
    WrongPurpose,
    WrongSubject,
    read_claim,
)
from nomospace.trust.moments import DAY
from nomospace.trust.proof import NotProven, channel_of, check_proof, prove
from nomospace.trust.revocation import Revocations, read_list
from tests.unit.trust.parties import (
    ADMIN,
    ANN,
    BOB,
    HOST,
    MALLORY,
    NOW,
    agent,
    controller,
    host,
    role,
)

CHANNEL = channel_of(read_claim(host()).der)
FACTS: dict[str, Any] = {
    "agent": "ann@ward-1",
    "host": "ward-1",
    "channel": CHANNEL,
    "nonce": bytes(range(32)),
}
ANSWER = prove(ANN, **FACTS)


def check(
    certificate: bytes = agent(), answer: bytes = ANSWER, now: int = NOW, **other: Any
) -> AgentCertificate:
    return check_proof(
        certificate,
        answer,
        **{**FACTS, "issuer": ADMIN.public, "revocations": Revocations(), "now": now, **other},
    )


def test_an_agent_proves_who_it_is() -> None:
    assert check().subject == "ann@ward-1"
    assert len(CHANNEL) == 32
    assert channel_of(b"") == b""


@pytest.mark.parametrize(
    "other",
    [
        {"nonce": bytes(32)},
        {"host": "ward-2"},
        {"channel": channel_of(read_claim(host(serial=21)).der)},
        {"channel": b""},
        {"host": "ward-1" + CHANNEL[:1].hex(), "channel": CHANNEL[1:]},
    ],
    ids=["replayed", "another-host", "relayed", "without-tls", "shifted"],
)
def test_an_answer_is_for_one_challenge_only(other: dict[str, Any]) -> None:
    with pytest.raises(NotProven, match="not signed with the key of 'ann@ward-1'"):
        check(**other)


def test_another_key() -> None:
    with pytest.raises(NotProven):
        check(answer=prove(BOB, **FACTS))
    with pytest.raises(NotProven):
        check(answer=b"")


def test_somebody_elses_certificate() -> None:
    """Ann, with her own key and certificate, cannot be bob; nor with bob's certificate."""
    as_bob = {**FACTS, "agent": "bob@ward-1"}
    with pytest.raises(WrongSubject, match="not about 'bob@ward-1'"):
        check(answer=prove(ANN, **as_bob), agent="bob@ward-1")
    his = ADMIN.issue_agent("bob@ward-1", BOB.public, serial=41, now=NOW, days=1)
    with pytest.raises(NotProven):
        check(his, prove(ANN, **as_bob), agent="bob@ward-1")


@pytest.mark.parametrize(
    ("certificate", "error"),
    [
        (role(), WrongPurpose),
        (host(), WrongPurpose),
        (controller(), WrongPurpose),
        (agent(MALLORY), UntrustedIssuer),
    ],
)
def test_certificates_that_are_no_identity(certificate: bytes, error: type[BadCertificate]) -> None:
    with pytest.raises(error):
        check(certificate)
    with pytest.raises(error):
        check(certificate, prove(HOST, **FACTS))


def test_out_of_time_and_revoked() -> None:
    with pytest.raises(CertificateExpired):
        check(now=NOW + 11 * DAY)
    revocations = Revocations()
    revocations.learn(read_list(ADMIN.revoke({40: NOW}, number=1, now=NOW), ADMIN.public))
    with pytest.raises(CertificateRevoked):
        check(revocations=revocations)
