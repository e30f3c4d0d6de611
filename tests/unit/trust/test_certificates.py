"""Certificates: each kind says what it was issued for, and nothing else passes for it."""

from __future__ import annotations

import pickle
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given, strategies as st

from nomospace.errors import NomospaceError
from nomospace.terms import term
from nomospace.trust.authority import Authority, CannotIssue, NotYourKey, make_authority, new_serial
from nomospace.trust.certificates import (
    ATTRIBUTES_BYTES_MAX,
    ATTRIBUTES_OID,
    CERTIFICATE_BYTES_MAX,
    ROLE_OID,
    AgentCertificate,
    BadCertificate,
    C,
    Certificate,
    CertificateExpired,
    CertificateNotYetValid,
    CertificateRevoked,
    ControllerCertificate,
    HostCertificate,
    NotACertificate,
    RoleCertificate,
    UntrustedIssuer,
    WrongPurpose,
    WrongSubject,
    check_certificate,
    read_claim,
)
from nomospace.trust.moments import DAY, SECOND, moment
from nomospace.trust.revocation import Revocations, read_list
from tests.unit.trust.parties import (
    ADMIN,
    ANN,
    CONTROLLER,
    HOST,
    MALLORY,
    NOW,
    agent,
    controller,
    host,
    key,
    role,
)

NONE = Revocations()
KINDS: dict[type[Certificate], bytes] = {
    HostCertificate: host(),
    ControllerCertificate: controller(),
    AgentCertificate: agent(),
    RoleCertificate: role(),
}


def check(data: bytes, kind: type[C], *, now: int = NOW, subject: str | None = None) -> C:
    return check_certificate(
        data, kind, issuer=ADMIN.public, now=now, revocations=NONE, subject=subject
    )


# -- what certificates say ---------------------------------------------------------------------


def test_a_host_certificate() -> None:
    found = check(host(), HostCertificate, subject="ward-1")
    assert (found.subject, found.key, found.serial) == ("ward-1", HOST.public, 20)
    assert found.addresses == ("ward-1.example", "127.0.0.1", "::1")
    assert found.issuer == ADMIN.public
    assert found.not_before <= NOW <= found.not_after < NOW + 11 * DAY


def test_the_others() -> None:
    assert check(controller(), ControllerCertificate).key == CONTROLLER.public
    assert check(agent(), AgentCertificate).subject == "ann@ward-1"
    found = check(role(attribute="expert('Öl, \"rot\"')"), RoleCertificate)
    assert (found.subject, found.key) == ("ann@ward-1", ANN.public)
    assert found.attributes == (term("expert('Öl, \"rot\"')"),)


def test_the_same_arguments_make_the_same_bytes() -> None:
    assert host() == host()
    assert new_serial() != new_serial()


@given(st.text(min_size=1, max_size=200), st.text(max_size=200))
def test_any_name_comes_back_as_it_was(name: str, domain: str) -> None:
    data = agent(name=f"{name}@{domain}")
    assert read_claim(data).subject == f"{name}@{domain}"


@given(st.lists(st.integers() | st.text(alphabet="aé'\\ü]", max_size=150), min_size=1, max_size=4))
def test_any_attributes_come_back_as_they_were(values: list[int | str]) -> None:
    said = tuple(values)
    data = ADMIN.issue_role("ann@x", ANN.public, said, serial=1, now=NOW, days=1)
    assert check(data, RoleCertificate).attributes == said


def test_der_is_read_too() -> None:
    assert read_claim(read_claim(host()).der).subject == "ward-1"


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", KINDS)
@pytest.mark.parametrize("given_kind", KINDS)
def test_a_certificate_is_good_for_its_own_kind_only(
    wanted: type[Certificate], given_kind: type[Certificate]
) -> None:
    if wanted is given_kind:
        assert type(check(KINDS[given_kind], wanted)) is wanted
    else:
        with pytest.raises(WrongPurpose, match=f"none of kind '{wanted.kind}'"):
            check(KINDS[given_kind], wanted)


def test_an_authority_is_none_of_them() -> None:
    for kind in KINDS:
        with pytest.raises(WrongPurpose, match="authority certificate of 'admin'"):
            check(ADMIN.pem, kind)


def test_a_forgery_by_another_authority_of_the_same_name() -> None:
    with pytest.raises(UntrustedIssuer, match="says it is by 'admin', but was not signed by the"):
        check(host(MALLORY), HostCertificate)
    with pytest.raises(UntrustedIssuer, match="says it is by 'admin', but was not signed by the"):
        check(role(MALLORY), RoleCertificate)


def test_a_certificate_that_signs_itself() -> None:
    mine = make_authority("ward-1", HOST, serial=1, now=NOW, days=10)
    with pytest.raises(UntrustedIssuer):
        check(mine.pem, HostCertificate)
    leaf = x509.load_pem_x509_certificate(host())
    builder = x509.CertificateBuilder(
        leaf.issuer,
        leaf.subject,
        HOST.public.loaded,
        leaf.serial_number,
        leaf.not_valid_before_utc,
        leaf.not_valid_after_utc,
        list(leaf.extensions),
    )
    own = builder.sign(HOST.loaded, algorithm=None).public_bytes(Encoding.PEM)
    with pytest.raises(UntrustedIssuer):
        check(own, HostCertificate)


def test_a_certificate_that_a_host_issued_with_its_own_key() -> None:
    """The chain ends at the authority: whoever it certified certifies nobody."""
    usurper = Authority(x509.load_pem_x509_certificate(ADMIN.pem), HOST)
    with pytest.raises(UntrustedIssuer):
        check(controller(usurper), ControllerCertificate)
    assert b"-----BEGIN CERTIFICATE" in host()
    with pytest.raises(UntrustedIssuer):
        check(controller(usurper) + host() + ADMIN.pem, ControllerCertificate)


@pytest.mark.parametrize("kind", KINDS)
def test_an_altered_certificate(kind: type[Certificate]) -> None:
    """Whatever single bit is changed, the certificate is refused, the signature's form included."""
    der = read_claim(KINDS[kind]).der
    check(der, kind)
    for place in range(len(der)):
        for bit in range(8):
            changed = bytearray(der)
            changed[place] ^= 1 << bit
            with pytest.raises(BadCertificate):
                check(bytes(changed), kind)


def test_out_of_time() -> None:
    data = host(days=10)
    # Certificates know whole seconds; the last one counts to its end.
    last = (NOW + 10 * DAY) // SECOND * SECOND
    check(data, HostCertificate, now=last)
    with pytest.raises(CertificateExpired, match=r"ran out on 2024-10-\d\d \d\d:\d\d:\d\d UTC"):
        check(data, HostCertificate, now=last + 1)
    first = (NOW - 300 * SECOND) // SECOND * SECOND
    check(data, HostCertificate, now=first)
    with pytest.raises(CertificateNotYetValid, match="set the clock"):
        check(data, HostCertificate, now=first - 1)


def test_revoked() -> None:
    revocations = Revocations()
    revocations.learn(read_list(ADMIN.revoke({20: NOW}, number=1, now=NOW), ADMIN.public))
    with pytest.raises(CertificateRevoked, match=r"\(serial 14\) was revoked") as caught:
        check_certificate(
            host(), HostCertificate, issuer=ADMIN.public, now=NOW, revocations=revocations
        )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    # A list speaks for its own authority only.
    other = host(MALLORY)
    check_certificate(
        other, HostCertificate, issuer=MALLORY.public, now=NOW, revocations=revocations
    )


def test_a_certificate_about_somebody_else() -> None:
    with pytest.raises(WrongSubject, match="of 'ann@ward-1' is not about 'bob@ward-1'"):
        check(role(), RoleCertificate, subject="bob@ward-1")


def test_one_certificate_has_one_form() -> None:
    der = read_claim(controller()).der
    claim = read_claim(der)
    unused = der[: -len(claim.x509.signature) - 1]
    # The last bits of this signature are zero, so a forgiving parser would leave them out.
    assert claim.x509.signature[-1] % 2 == 0
    with pytest.raises(NotACertificate, match="not in the one form"):
        read_claim(unused + b"\x01" + claim.x509.signature)
    with pytest.raises(NotACertificate, match="cannot be read"):
        read_claim(der + b"\x00")


def test_what_is_no_certificate() -> None:
    for data in (b"", b"\x30\x03\x02\x01\x00", b"-----BEGIN CERTIFICATE-----\nAAAA\n", HOST.pem()):
        with pytest.raises(NotACertificate, match="cannot be read"):
            read_claim(data)
    with pytest.raises(NotACertificate, match="too many"):
        read_claim(bytes(CERTIFICATE_BYTES_MAX + 1))


@given(st.binary(max_size=300))
def test_garbage_is_refused_with_a_typed_error(data: bytes) -> None:
    with pytest.raises(NotACertificate):
        read_claim(data)


# -- certificates that somebody else's tools might make ------------------------------------------


def foreign(
    uris: tuple[str, ...] = ("nomos:host/ward-1",),
    usages: tuple[x509.ObjectIdentifier, ...] = (ExtendedKeyUsageOID.CLIENT_AUTH,),
    extension: bytes | None = None,
) -> bytes:
    """A certificate in a form of its own, signed by admin."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder(
        name, name, HOST.public.loaded, 7, moment(NOW), moment(2 * NOW)
    )
    if uris:
        names = [x509.UniformResourceIdentifier(uri) for uri in uris]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if extension is not None:
        more = x509.UnrecognizedExtension(ATTRIBUTES_OID, extension)
        builder = builder.add_extension(more, critical=True)
    return builder.sign(key(1).loaded, algorithm=None).public_bytes(Encoding.DER)


def test_a_foreign_form_may_do() -> None:
    assert check(foreign(), HostCertificate, now=NOW + SECOND).subject == "ward-1"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (foreign(uris=()), "does not say whom"),
        (foreign(usages=()), "does not say whom"),
        (foreign(uris=("https://example.org",)), "0 nomos: names"),
        (foreign(uris=("nomos:host/a", "nomos:host/b")), "2 nomos: names"),
        (foreign(uris=("nomos:host/",)), "nothing of ours"),
        (foreign(uris=("nomos:king/ann",)), "nothing of ours"),
        (foreign(uris=("nomos:host/w%61rd",)), "nothing of ours"),
        (foreign(uris=("nomos:host/%ff",)), "cannot be read"),
        (foreign(uris=("nomos:host/ward-1",), usages=(ROLE_OID,)), "nothing of ours"),
        (foreign(usages=(ExtendedKeyUsageOID.SERVER_AUTH,)), "not good for one"),
        (foreign(("nomos:agent/a@b",), (ROLE_OID,)), "attributes cannot be read"),
        (foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c\x03[a]"), ""),
        (foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c\x04[ a]"), "form of ours"),
        (foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c\x01a"), "form of ours"),
        (foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c\x03[X]"), "cannot be read"),
        (foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c\x02[a"), "cannot be read"),
        (foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c"), "cannot be read"),
        (
            foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c\x82\x20\x00" + b"a" * 0x2000),
            "more than 2,048 bytes",
        ),
        (
            foreign(("nomos:agent/a@b",), (ROLE_OID,), b"\x0c\x82\x04\x00" + b"[]" * 0x200),
            "more than 200 brackets",
        ),
    ],
)
def test_forms_that_could_be_read_in_two_ways(data: bytes, why: str) -> None:
    if not why:
        assert read_claim(data).attributes == ("a",)
        return
    with pytest.raises(NotACertificate, match=why):
        read_claim(data)


def test_another_kind_of_key() -> None:
    secret = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder(name, name, secret.public_key(), 7, moment(0), moment(NOW))
    uri = x509.UniformResourceIdentifier("nomos:host/ward-1")
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = builder.add_extension(x509.SubjectAlternativeName([uri]), critical=False)
    builder = builder.add_extension(usage, critical=False)
    with pytest.raises(NotACertificate, match="not an Ed25519 key"):
        read_claim(builder.sign(key(1).loaded, algorithm=None).public_bytes(Encoding.DER))
    signed_otherwise = x509.CertificateBuilder(
        name, name, HOST.public.loaded, 7, moment(0), moment(NOW), list(builder._extensions)
    ).sign(secret, SHA256())
    with pytest.raises(NotACertificate, match="not in the one form"):
        read_claim(signed_otherwise.public_bytes(Encoding.DER))


# -- authorities -------------------------------------------------------------------------------


def test_an_authority_opens_with_its_own_key_only() -> None:
    assert Authority.open(ADMIN.pem, key(1).pem()).public == ADMIN.public
    with pytest.raises(NotYourKey, match="the key is not that of the certificate"):
        Authority.open(ADMIN.pem, HOST.pem())
    with pytest.raises(NotYourKey, match="is the host certificate of 'ward-1'"):
        Authority.open(host(), HOST.pem())


def test_what_no_authority_issues() -> None:
    def refused(why: str, call: object, *args: object, **options: object) -> None:
        assert callable(call)
        with pytest.raises(CannotIssue, match=why):
            call(*args, **{"serial": 9, "now": NOW, "days": 1, **options})

    refused("would not count for a second", ADMIN.issue_agent, "a@b", ANN.public, days=0)
    refused("1 to 401 characters", ADMIN.issue_agent, "", ANN.public)
    refused("1 to 401 characters", ADMIN.issue_agent, "a" * 402, ANN.public)
    refused("authority's own", ADMIN.issue_controller, "ward-1", ADMIN.public)
    refused("has run out", ADMIN.issue_agent, "a@b", ANN.public, now=NOW + 4000 * DAY)
    refused("needs attributes", ADMIN.issue_role, "a@b", ANN.public, ())
    large = ("é" * (ATTRIBUTES_BYTES_MAX // 2),)
    refused("needs attributes", ADMIN.issue_role, "a@b", ANN.public, large)
    nested = ((((("a",) * 200,),),),)
    assert ADMIN.issue_role("a@b", ANN.public, nested, serial=9, now=NOW, days=1)
    wide = tuple([("a",) for _ in range(500)])
    refused("more than 200 brackets", ADMIN.issue_role, "a@b", ANN.public, wide)
    long = tuple([f"{'x' * 60}.{'y' * 60}.{n}" for n in range(100)])
    refused("more than 16,384 bytes", ADMIN.issue_host, "w", HOST.public, addresses=long)
    for address in ("", "a b", "ward-1:7070", "ä.example", "a..b", "x" * 64):
        refused("without a port", ADMIN.issue_host, "w", HOST.public, addresses=(address,))
    many = tuple(f"a{n}" for n in range(101))
    refused("more than 100", ADMIN.issue_host, "w", HOST.public, addresses=many)


def test_an_authority_has_a_name_that_fits() -> None:
    assert make_authority("é" * 32, HOST, serial=1, now=NOW, days=1).name == "é" * 32
    for name in ("", "é" * 33):
        with pytest.raises(CannotIssue, match="1 to 64 bytes"):
            make_authority(name, HOST, serial=1, now=NOW, days=1)


def test_a_certificate_ends_no_later_than_its_authority() -> None:
    assert read_claim(host(days=100_000)).not_after == read_claim(ADMIN.pem).not_after


# -- as TLS sees them --------------------------------------------------------------------------


def shake(tmp_path: Path, mine: tuple[bytes, bytes], theirs: tuple[bytes, bytes]) -> str:
    """A handshake both ways in memory, with the strictest checks and revocation; what it says."""
    ends = []
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(ADMIN.pem + ADMIN.revoke({99: NOW}, number=1, now=NOW))
    for number, (side, (certificate, secret)) in enumerate(
        [(ssl.PROTOCOL_TLS_SERVER, mine), (ssl.PROTOCOL_TLS_CLIENT, theirs)]
    ):
        context = ssl.SSLContext(side)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_CRL_CHECK_LEAF
        context.load_verify_locations(trusted)
        pair = tmp_path / f"{number}.pem"
        pair.write_bytes(certificate + secret)
        context.load_cert_chain(pair)
        ends.append((context, ssl.MemoryBIO(), ssl.MemoryBIO()))
    (server, s_in, s_out), (client, c_in, c_out) = ends
    shaking = [
        server.wrap_bio(s_in, s_out, server_side=True),
        client.wrap_bio(c_in, c_out, server_hostname="ward-1.example"),
    ]
    done = [False, False]
    for _ in range(10):
        for place, end in enumerate(shaking):
            if not done[place]:
                try:
                    end.do_handshake()
                    done[place] = True
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError as error:
                    return str(error)
        c_in.write(s_out.read())
        s_in.write(c_out.read())
    assert done == [True, True]
    return "done"


def long_lived(kind: str) -> tuple[bytes, bytes]:
    """A certificate that counts today, whatever day it is, with its key."""
    times = {"now": NOW, "days": 3650}
    if kind == "host":
        where = ("ward-1.example",)
        return ADMIN.issue_host(
            "ward-1", HOST.public, addresses=where, serial=21, **times
        ), HOST.pem()
    if kind == "revoked":
        return ADMIN.issue_agent("ann@x", ANN.public, serial=99, **times), ANN.pem()
    if kind == "agent":
        return ADMIN.issue_agent("ann@x", ANN.public, serial=41, **times), ANN.pem()
    if kind == "controller":
        data = ADMIN.issue_controller("ward-1", CONTROLLER.public, serial=31, **times)
        return data, CONTROLLER.pem()
    said = (term("role(doctor)"),)
    return ADMIN.issue_role("ann@x", ANN.public, said, serial=51, **times), ANN.pem()


@pytest.mark.parametrize("kind", ["host", "agent"])
def test_tls_takes_hosts_and_agents(tmp_path: Path, kind: str) -> None:
    assert shake(tmp_path, long_lived("host"), long_lived(kind)) == "done"


@pytest.mark.parametrize("kind", ["controller", "role", "revoked"])
def test_tls_refuses_what_is_for_something_else(tmp_path: Path, kind: str) -> None:
    assert "certificate verify failed" in shake(tmp_path, long_lived("host"), long_lived(kind))


def test_an_agent_is_no_server(tmp_path: Path) -> None:
    said = shake(tmp_path, long_lived("agent"), long_lived("host"))
    assert "certificate verify failed" in said


def test_every_error_tells_its_code() -> None:
    for kind in BadCertificate.__subclasses__():
        assert issubclass(kind, NomospaceError)
        assert kind.code.startswith("trust.")
