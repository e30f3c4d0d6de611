"""Deputies: keys that certify in the place of an authority, for a time and until taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nomospace.trust.authority import Authority, make_authority
from nomospace.trust.certificates import (
    AgentCertificate,
    Certificate,
    CertificateRevoked,
    HostCertificate,
    RoleCertificate,
    UntrustedIssuer,
    check_again,
    check_certificate,
    read_deputy,
)
from nomospace.trust.keys import SecretKey
from nomospace.trust.moments import DAY
from nomospace.trust.revocation import Revocations, read_list

NOW = 1_700_000_000_000_000
ROOT, OTHER, DEPUTY, BEARER = [SecretKey.from_seed(bytes([n]) * 32) for n in range(4)]
ADMIN = make_authority("admin", ROOT, serial=1, now=NOW, days=100)
RENEWER = make_authority("renewer", DEPUTY, serial=2, now=NOW, days=100)


def named(by: Authority = ADMIN, *, hosts_only: bool = True, days: float = 10) -> Revocations:
    """What a host goes by that has heard of one deputy."""
    pem = by.name_deputy(
        "renewer", DEPUTY.public, hosts_only=hosts_only, serial=7, now=NOW, days=days
    )
    known = Revocations()
    known.appoint([read_deputy(pem, [by.public])])
    return known


def host(by: Authority = RENEWER) -> bytes:
    return by.issue_host("ward", BEARER.public, addresses=(), serial=3, now=NOW, days=50)


def checked(pem: bytes, known: Revocations, now: int = NOW) -> HostCertificate:
    return check_certificate(
        pem, HostCertificate, issuer=ADMIN.public, now=now, revocations=known, subject="ward"
    )


def refused(error: type[Exception], known: Revocations, now: int) -> None:
    for ask in (_whole(known, now), _again(known, now)):
        with pytest.raises(error):
            ask()


def _whole(known: Revocations, now: int) -> Callable[[], Certificate]:
    return lambda: checked(host(), known, now)


def _again(known: Revocations, now: int) -> Callable[[], None]:
    found = checked(host(), named())
    return lambda: check_again(found, issuer=ADMIN.public, now=now, revocations=known)


def test_what_a_deputy_has_signed_counts_as_long_as_the_deputy_does() -> None:
    found = checked(host(), named())
    assert (found.subject, found.issuer, found.signer) == ("ward", ADMIN.public, DEPUTY.public)
    refused(UntrustedIssuer, named(), NOW + 11 * DAY)
    refused(UntrustedIssuer, Revocations(), NOW)


def test_a_deputy_that_was_taken_back_counts_no_longer() -> None:
    known = named()
    known.learn(read_list(ADMIN.revoke({7: NOW}, number=1, now=NOW), ADMIN.public))
    refused(UntrustedIssuer, known, NOW)


def test_a_deputy_takes_back_what_it_has_signed() -> None:
    known = named()
    known.learn(read_list(RENEWER.revoke({3: NOW}, number=1, now=NOW), RENEWER.public))
    refused(CertificateRevoked, known, NOW)


def test_a_deputy_for_hosts_certifies_no_agent_and_none_certifies_roles() -> None:
    agent = RENEWER.issue_agent("ann@ward", BEARER.public, serial=4, now=NOW, days=5)
    role = RENEWER.issue_role("ann@ward", BEARER.public, ("chief",), serial=5, now=NOW, days=5)
    with pytest.raises(UntrustedIssuer):
        check_certificate(
            agent, AgentCertificate, issuer=ADMIN.public, now=NOW, revocations=named()
        )
    found = check_certificate(
        agent, AgentCertificate, issuer=ADMIN.public, now=NOW, revocations=named(hosts_only=False)
    )
    assert found.subject == "ann@ward"
    with pytest.raises(UntrustedIssuer):
        check_certificate(
            role,
            RoleCertificate,
            issuer=ADMIN.public,
            now=NOW,
            revocations=named(hosts_only=False),
        )


def test_nobody_else_names_a_deputy() -> None:
    stranger = make_authority("admin", OTHER, serial=9, now=NOW, days=100)
    pem = stranger.name_deputy(
        "renewer", DEPUTY.public, hosts_only=True, serial=7, now=NOW, days=10
    )
    with pytest.raises(UntrustedIssuer):
        read_deputy(pem, [ADMIN.public])
    refused(UntrustedIssuer, named(stranger), NOW)
