"""Role certificates at a host: what counts under a law, and when it ends."""

from __future__ import annotations

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from nomospace.control import certified
from nomospace.law import load
from nomospace.terms import term
from nomospace.trust import presented as room
from nomospace.trust.certificates import (
    ROLE_OID,
    BadCertificate,
    CertificateExpired,
    CertificateRevoked,
    NotACertificate,
    UntrustedIssuer,
    WrongPurpose,
    attributes_extension,
)
from nomospace.trust.moments import DAY, SECOND, moment
from nomospace.trust.presented import (
    Accepted,
    Presented,
    SerialReused,
    TooManyCertificates,
    claimed,
    reason_of,
)
from nomospace.trust.revocation import (
    RevocationList,
    Revocations,
    RevocationsRolledBack,
    read_list,
)
from tests.unit.trust.parties import (
    ADMIN,
    MALLORY,
    NOW,
    agent,
    authority,
    controller,
    host,
    key,
    role,
)

LAW = load(f"""
    law(ward).
    authority(board, placeholder).
    authority(admin, "{ADMIN.public.text}").
    sent(X, M, Y) :- do(forward).
    """)
AUTHORITIES = {one.name: one.key for one in LAW.tree.authorities}
ANN = "ann@ward-1"


def show(shown: Presented, data: bytes, who: str = ANN, law: str = LAW.hash) -> Accepted:
    return shown.present(who, law, data, AUTHORITIES, now=NOW)


def a_list(number: int, *serials: int) -> RevocationList:
    made = ADMIN.revoke(dict.fromkeys(serials, NOW), number=number, now=NOW)
    return read_list(made, ADMIN.public)


def fresh() -> Presented:
    return Presented(Revocations())


def test_a_certificate_counts_under_the_name_that_the_law_has_for_its_issuer() -> None:
    accepted = show(fresh(), role())
    assert (accepted.issuer, accepted.subject) == ("admin", ANN)
    assert accepted.term == certified("admin", ANN, (term("role(doctor)"),)).args[0]


def test_of_two_names_with_one_key_the_first_counts() -> None:
    names = {"second": MALLORY.public.text, "first": ADMIN.public.text, "x": ADMIN.public.text}
    assert fresh().present(ANN, "l", role(), names, now=NOW).issuer == "first"


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"no certificate", NotACertificate, "invalidCertificate"),
        (role(MALLORY), UntrustedIssuer, "invalidCertificate"),
        (agent(), WrongPurpose, "invalidCertificate"),
        (controller(), WrongPurpose, "invalidCertificate"),
        (host(), WrongPurpose, "invalidCertificate"),
        (role(now=NOW - 20 * DAY), CertificateExpired, "invalidCertificate"),
        (role(serial=99), CertificateRevoked, "revoked"),
    ],
)
def test_what_does_not_count(data: bytes, error: type[BadCertificate], reason: str) -> None:
    shown = fresh()
    shown.revoke(a_list(1, 99))
    with pytest.raises(error) as caught:
        show(shown, data)
    assert reason_of(caught.value) == reason
    assert shown.held(ANN, LAW.hash) == ()
    assert shown.next_deadline() is None


def test_a_law_that_names_nobody() -> None:
    with pytest.raises(UntrustedIssuer, match=r"that the law names \(it names none\)"):
        fresh().present(ANN, "l", role(), {}, now=NOW)
    with pytest.raises(UntrustedIssuer, match=r"that the law names \(admin\)"):
        fresh().present(ANN, "l", role(), {"admin": "admin_key"}, now=NOW)


def test_what_a_refused_certificate_says_of_itself() -> None:
    forged = claimed(role(MALLORY, attribute="role(king)"))
    assert forged == term("[issuer(admin), subject('ann@ward-1'), attributes([role(king)])]")
    assert claimed(b"") == "unreadable"


def test_a_certificate_about_somebody_else_says_so() -> None:
    """Laws tell it from one of their own by `subject(Self)`; its holder is not its subject."""
    accepted = show(fresh(), role(name="bob@ward-1"))
    assert (accepted.agent, accepted.subject) == (ANN, "bob@ward-1")
    assert accepted.term == certified("admin", "bob@ward-1", (term("role(doctor)"),)).args[0]


# -- ends --------------------------------------------------------------------------------------


def test_certificates_run_out_in_order_each_once() -> None:
    shown = fresh()
    late = show(shown, role(serial=1, days=9))
    soon = show(shown, role(serial=2, days=2), who="bob@ward-1")
    middle = show(shown, role(serial=3, days=5))
    assert shown.next_deadline() == soon.not_after + 1
    assert shown.expire(now=soon.not_after) == []
    assert shown.expire(now=soon.not_after + 1) == [soon]
    assert shown.expire(now=soon.not_after + 1) == []
    assert shown.next_deadline() == middle.not_after + 1
    assert shown.expire(now=NOW + 20 * DAY) == [middle, late]
    assert shown.next_deadline() is None
    assert shown.held(ANN, LAW.hash) == ()


def test_revoked_once() -> None:
    shown = fresh()
    one, two = show(shown, role(serial=1)), show(shown, role(serial=2))
    assert shown.revoke(a_list(1, 7)) == []
    assert shown.revoke(a_list(2, 7, 1)) == [one]
    assert shown.revoke(a_list(2, 7, 1)) == []
    assert shown.held(ANN, LAW.hash) == (two,)
    assert shown.expire(now=NOW + 20 * DAY) == [two]
    with pytest.raises(CertificateRevoked):
        show(shown, role(serial=1))


def test_a_list_that_others_have_learnt_before_ends_certificates_too() -> None:
    revocations = Revocations()
    shown = Presented(revocations)
    one = show(shown, role(serial=1))
    offered = a_list(1, 1)
    revocations.learn(offered)
    assert shown.revoke(offered) == [one]


def test_a_list_of_another_authority_ends_nothing_of_this_one() -> None:
    shown = fresh()
    show(shown, role(serial=1))
    theirs = read_list(MALLORY.revoke({1: NOW}, number=1, now=NOW), MALLORY.public)
    assert shown.revoke(theirs) == []


def test_a_list_that_was_rolled_back() -> None:
    shown = fresh()
    shown.revoke(a_list(2, 50))
    with pytest.raises(RevocationsRolledBack):
        shown.revoke(a_list(1))
    with pytest.raises(CertificateRevoked):
        show(shown, role())


def test_one_certificate_of_two_members() -> None:
    shown = fresh()
    both = [show(shown, role()), show(shown, role(), who="bob@ward-1")]
    third = show(shown, role(), law="other")
    shown.forget("bob@ward-1", LAW.hash)
    shown.forget("bob@ward-1", LAW.hash)
    assert shown.revoke(a_list(1, 50)) == [both[0], third]


def test_a_membership_that_ended_hears_nothing_more() -> None:
    shown = fresh()
    show(shown, role(serial=1))
    show(shown, role(serial=2))
    shown.forget(ANN, LAW.hash)
    assert shown.next_deadline() is None
    assert shown.revoke(a_list(1, 1, 2)) == []


def test_shown_again_it_counts_again_and_ends_once() -> None:
    shown = fresh()
    first, again = show(shown, role()), show(shown, role())
    assert first == again
    assert shown.held(ANN, LAW.hash) == (first,)
    assert shown.expire(now=NOW + 20 * DAY) == [first]


# -- attacks and limits ------------------------------------------------------------------------


def test_a_serial_that_was_used_twice() -> None:
    shown = fresh()
    first = show(shown, role())
    with pytest.raises(SerialReused, match="has serial 32, which another certificate") as caught:
        show(shown, role(attribute="role(king)"))
    assert reason_of(caught.value) == "invalidCertificate"
    with pytest.raises(SerialReused):
        show(shown, role(days=11), who="bob@ward-1")
    assert shown.held(ANN, LAW.hash) == (first,)


def test_the_same_serial_of_two_authorities_is_no_reuse() -> None:
    shown = fresh()
    other = authority("board", 9)
    show(shown, role())
    found = shown.present(ANN, LAW.hash, role(other), {"board": other.public.text}, now=NOW)
    assert found.issuer == "board"


def test_a_member_has_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "HELD_MAX", 2)
    shown = fresh()
    show(shown, role(serial=1))
    show(shown, role(serial=2))
    with pytest.raises(TooManyCertificates, match="has 2 certificates accepted"):
        show(shown, role(serial=3))
    show(shown, role(serial=2))
    show(shown, role(serial=3), who="bob@ward-1")


# -- restarts and moves ------------------------------------------------------------------------


def test_what_was_kept_is_checked_again() -> None:
    before = fresh()
    kept = [show(before, role(serial=n, days=days)) for n, days in [(1, 9), (2, 2), (3, 9)]]
    after = fresh()
    after.revoke(a_list(1, 3))
    later = NOW + 5 * DAY
    ended = after.restore(kept, lambda law: {LAW.hash: AUTHORITIES}[law], now=later)
    assert ended == [kept[1], kept[2]]
    assert after.held(ANN, LAW.hash) == (kept[0],)
    assert after.next_deadline() == kept[0].not_after + 1


def test_a_host_that_writes_more_into_it_than_the_certificate_says() -> None:
    """A certificate that came along on a move says what it says, whoever brought it."""
    true = show(fresh(), role())
    forged = msgspec.structs.replace(true, attributes=(term("role(king)"),), not_after=2 * NOW)
    here = fresh()
    assert here.restore([forged], lambda law: AUTHORITIES, now=NOW) == []
    assert here.held(ANN, LAW.hash) == (true,)
    nothing = msgspec.structs.replace(true, certificate=role(MALLORY))
    assert fresh().restore([nothing], lambda law: AUTHORITIES, now=NOW) == [nothing]


def unnamed() -> bytes:
    """A role certificate by admin that does not say which key signed it."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    uri = x509.UniformResourceIdentifier(f"nomos:agent/{ANN}")
    builder = x509.CertificateBuilder(
        name, name, MALLORY.public.loaded, 7, moment(NOW), moment(2 * NOW)
    )
    for extension, critical in (
        (x509.SubjectAlternativeName([uri]), False),
        (x509.ExtendedKeyUsage([ROLE_OID]), False),
        (attributes_extension((term("role(doctor)"),)), True),
    ):
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(key(1).loaded, algorithm=None).public_bytes(Encoding.DER)


@pytest.mark.parametrize(("before", "counts"), [(7, True), (8, False)])
def test_few_keys_are_tried_on_a_certificate_that_names_none(before: int, counts: bool) -> None:
    others = {f"a{n}": key(100 + n).public.text for n in range(before)}
    law = {**others, "admin": ADMIN.public.text}
    if counts:
        assert fresh().present(ANN, "ab", unnamed(), law, now=NOW + SECOND).issuer == "admin"
    else:
        with pytest.raises(UntrustedIssuer):
            fresh().present(ANN, "ab", unnamed(), law, now=NOW + SECOND)


def test_of_very_many_authorities_the_one_that_is_named_is_tried() -> None:
    others = {f"a{n}": key(100 + n).public.text for n in range(40)}
    law = {**others, "admin": ADMIN.public.text}
    assert fresh().present(ANN, "ab", role(), law, now=NOW).issuer == "admin"
    del law["admin"]
    with pytest.raises(UntrustedIssuer):
        fresh().present(ANN, "ab", role(), law, now=NOW)
