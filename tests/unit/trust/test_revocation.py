"""Revocation lists: signed, and never forgetting."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from nomospace.trust import revocation
from nomospace.trust.moments import moment
from nomospace.trust.revocation import (
    NotARevocationList,
    RevocationList,
    Revocations,
    RevocationsRolledBack,
    TooManyRevoked,
    read_list,
)
from tests.unit.trust.parties import ADMIN, MALLORY, NOW, key

AT = NOW // 1_000_000 * 1_000_000


def listed(number: int, *serials: int) -> RevocationList:
    made = ADMIN.revoke(dict.fromkeys(serials, NOW), number=number, now=NOW)
    return read_list(made, ADMIN.public)


def test_a_list_comes_back_as_it_was_made() -> None:
    assert listed(4, 20, 30) == RevocationList(ADMIN.public, 4, {20: AT, 30: AT})
    assert listed(1) == RevocationList(ADMIN.public, 1, {})


def test_der_is_read_too() -> None:
    pem = ADMIN.revoke({7: NOW}, number=1, now=NOW)
    der = x509.load_pem_x509_crl(pem).public_bytes(Encoding.DER)
    assert read_list(der, ADMIN.public).revoked == {7: AT}


def test_a_list_of_another_authority() -> None:
    forged = MALLORY.revoke({}, number=9, now=NOW)
    with pytest.raises(NotARevocationList, match="did not sign it"):
        read_list(forged, ADMIN.public)


def test_an_altered_list() -> None:
    pem = ADMIN.revoke({1234567: NOW}, number=1, now=NOW)
    der = x509.load_pem_x509_crl(pem).public_bytes(Encoding.DER)
    for place in range(len(der)):
        for bit in range(8):
            changed = bytearray(der)
            changed[place] ^= 1 << bit
            with pytest.raises(NotARevocationList):
                read_list(bytes(changed), ADMIN.public)


def test_what_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"", b"\x30\x00", ADMIN.pem):
        with pytest.raises(NotARevocationList, match="cannot be read"):
            read_list(data, ADMIN.public)
    authority = x509.load_pem_x509_certificate(ADMIN.pem)
    unnumbered = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.subject)
        .last_update(moment(NOW))
        .next_update(moment(2 * NOW))
        .sign(key(1).loaded, algorithm=None)
    )
    with pytest.raises(NotARevocationList, match="no number"):
        read_list(unnumbered.public_bytes(Encoding.DER), ADMIN.public)
    monkeypatch.setattr(revocation, "LIST_BYTES_MAX", 10)
    with pytest.raises(NotARevocationList, match="11 bytes are too many"):
        read_list(bytes(11), ADMIN.public)


def test_a_list_grows_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    large = ADMIN.revoke(dict.fromkeys(range(1, 4), NOW), number=1, now=NOW)
    monkeypatch.setattr(revocation, "REVOKED_MAX", 2)
    with pytest.raises(TooManyRevoked, match="list of 3 certificates is above the limit of 2"):
        ADMIN.revoke(dict.fromkeys(range(1, 4), NOW), number=1, now=NOW)
    with pytest.raises(NotARevocationList, match="3 entries"):
        read_list(large, ADMIN.public)


def test_newer_lists_take_the_place_of_older_ones() -> None:
    known = Revocations()
    assert known.number(ADMIN.public) is None
    for newer, serials in ((listed(1, 20), {20}), (listed(5, 20, 30, 40), {20, 30, 40})):
        for _ in range(2):
            known.learn(newer)
            assert {n for n in range(100) if known.revoked(ADMIN.public, n)} == serials
    assert known.revoked(ADMIN.public, 30)
    assert not known.revoked(ADMIN.public, 31)
    assert not known.revoked(MALLORY.public, 30)
    assert known.number(ADMIN.public) == 5
    assert [one.number for one in known] == [5]


@pytest.mark.parametrize(
    ("rolled", "why"),
    [
        (listed(3, 20, 30), "list number 3 is older than number 4"),
        (listed(4, 20), "number 4 says other things"),
        (listed(4, 20, 30, 40), "number 4 says other things"),
        (listed(5, 30), "number 5 says other things"),
    ],
)
def test_no_list_takes_a_revocation_back(rolled: RevocationList, why: str) -> None:
    known = Revocations()
    known.learn(listed(4, 20, 30))
    with pytest.raises(RevocationsRolledBack, match=why):
        known.learn(rolled)
    assert known.revoked(ADMIN.public, 20)
    assert known.revoked(ADMIN.public, 30)
    assert known.number(ADMIN.public) == 4


def test_lists_of_so_many_authorities_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revocation, "AUTHORITIES_MAX", 1)
    known = Revocations()
    known.learn(listed(1))
    with pytest.raises(NotARevocationList, match="1 authorities are known already"):
        known.learn(read_list(MALLORY.revoke({}, number=1, now=NOW), MALLORY.public))
