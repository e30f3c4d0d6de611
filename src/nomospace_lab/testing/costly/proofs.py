"""Certificates, seals and tokens that take as long to judge as can be for their bytes.

Whoever shows a certificate may have made it, with whatever a certificate can hold, and may have
written the law that names its authorities. A unit is a byte, and a key that is tried is worth
`KEY_UNITS`; what one piece of proof may cost besides is what it takes to check two signatures.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from ipaddress import IPv4Address
from random import Random
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from nomospace.errors import NomospaceError
from nomospace.trust.authority import make_authority
from nomospace.trust.certificates import (
    ATTRIBUTES_OID,
    CERTIFICATE_BYTES_MAX,
    CONTROLLER_OID,
    ROLE_OID,
    UncheckedCertificate,
    read_claim,
    uri_of,
)
from nomospace.trust.keys import SecretKey
from nomospace.trust.moments import moment
from nomospace.trust.presented import TRIED_MAX, Presented, claimed
from nomospace.trust.proof import check_proof
from nomospace.trust.revocation import Revocations
from nomospace.trust.seals import Signer, Verifier
from nomospace.trust.tokens import Tokens, make_token
from nomospace_lab.testing.costly import CostlyCase, Spent, case
from nomospace_lab.testing.costly.matching import numbers

HOW: Final = ("door", "show", "show", "seal", "token")
"""Where it is shown: at the door, to a law, on a message; a token at the door."""
KINDS: Final = ("agent", "role", "role", "controller", "host")
ATTRIBUTES: Final = ("a", "1", "f(a)", "''", "[]", "role(doctor)", "'\\\\n'", "f(g(h(1)))", "-1.5")
KEY_UNITS: Final = 100
"""What it costs to try a key of an authority on a certificate."""
SPOILT: Final = ("", "", "signed by another", "cut", "long")


@lru_cache(maxsize=2_048)
def _key(number: int) -> SecretKey:
    return SecretKey.from_seed(number.to_bytes(32))


@dataclass(frozen=True, slots=True)
class ProofCase:
    """A certificate or a token by what it is made of."""

    how: str
    kind: str
    names: int
    addresses: int
    usages: int
    titles: int
    extensions: int
    attribute: str
    attributes: int
    levels: int
    authorities: int
    """How many a law names."""
    spoilt: str
    signer: bool
    """Whether it names the key of its issuer."""
    pem: bool


def certificate(shown: ProofCase) -> bytes:
    """The certificate."""
    titles = [x509.NameAttribute(NameOID.COMMON_NAME, "n" * 30) for _ in range(shown.titles + 1)]
    usages = {"role": ROLE_OID, "controller": CONTROLLER_OID}
    names: list[x509.GeneralName] = [
        x509.UniformResourceIdentifier(uri_of(shown.kind, "ann@x")),  # type: ignore[arg-type]
        *[x509.DNSName(f"h{number}.example") for number in range(shown.names)],
        *[x509.IPAddress(IPv4Address(number)) for number in range(shown.addresses)],
    ]
    inner = ",".join([shown.attribute] * max(1, shown.attributes))
    text = ("[" * (shown.levels + 1) + inner + "]" * (shown.levels + 1)).encode()
    octets = (len(text).bit_length() + 7) // 8 if len(text) > 0x7F else 0
    head = bytes([0x80 | octets]) + len(text).to_bytes(octets) if octets else bytes([len(text)])
    more = [x509.ObjectIdentifier(f"1.3.6.1.4.1.{number + 1}") for number in range(shown.usages)]
    first = usages.get(shown.kind, ExtendedKeyUsageOID.CLIENT_AUTH)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(titles))
        .issuer_name(x509.Name(titles))
        .public_key(_key(1).public.loaded)
        .serial_number(7)
        .not_valid_before(moment(0))
        .not_valid_after(moment(10**15))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([first, *more]), critical=False)
        .add_extension(x509.UnrecognizedExtension(ATTRIBUTES_OID, b"\x0c" + head + text), True)
    )
    if shown.signer:
        by_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(_key(2).public.loaded)
        builder = builder.add_extension(by_key, False)
    for number in range(shown.extensions):
        oid = x509.ObjectIdentifier(f"1.3.6.1.4.1.99.{number}")
        builder = builder.add_extension(x509.UnrecognizedExtension(oid, b"\x05\x00"), False)
    by = _key(3 if shown.spoilt == "signed by another" else 2)
    made = builder.sign(by.loaded, algorithm=None)
    data = made.public_bytes(Encoding.PEM if shown.pem else Encoding.DER)
    if shown.spoilt == "cut":
        data = data[: len(data) * 2 // 3]
    if shown.spoilt == "long":
        data = (data + b"\n" * CERTIFICATE_BYTES_MAX)[:CERTIFICATE_BYTES_MAX]
    return data


class Judged(NamedTuple):
    """What is shown, what is done about it, and on how many keys it may be tried."""

    data: bytes
    judge: Callable[[], object]
    keys: int = 0


def _ready(shown: ProofCase) -> Judged:
    none, issuer = Revocations(), _key(2).public
    if shown.how == "token":
        text, kept = make_token(["ann@x"], identifier=bytes(8), secret=bytes(32), now=0, days=30)
        text += "." * (10 * shown.names) if shown.spoilt else ""
        tokens = Tokens([kept])
        return Judged(text.encode(), lambda: tokens.check(text, now=5))
    if shown.how == "seal" and shown.kind != "controller":
        admin = make_authority("ca", _key(2), serial=1, now=0, days=90)
        pem = admin.issue_controller("h", _key(1).public, serial=2, now=0, days=9)
        digests = [bytes([number % 250] * 32) for number in range(1 + shown.names % 1_024)]
        seal = Signer(_key(1), pem).seal(digests)[-1]
        return Judged(seal, lambda: Verifier(issuer, none).check(digests[-1], seal, now=5))
    data = certificate(shown)
    if shown.how == "seal":
        return Judged(data, lambda: Verifier(issuer, none).controller(data, now=5))
    if shown.how == "door":
        facts = {"agent": "ann@x", "host": "h"}
        return Judged(
            data,
            lambda: check_proof(
                data,
                bytes(64),
                channel=b"",
                nonce=bytes(32),
                issuer=issuer,
                revocations=none,
                now=5,
                **facts,
            ),
        )
    law = {f"n{number}": _key(number + 10).public.text for number in range(shown.authorities)}

    def show() -> object:
        """As `host.certifying` has it: what does not count is told to the law."""
        claim: bytes | UncheckedCertificate = data
        try:
            claim = read_claim(data)
            return Presented(none).present("ann@x", "law", claim, law, now=5)
        except NomospaceError:
            return claimed(claim)

    return Judged(data, show, min(shown.authorities, TRIED_MAX))


def _judge(judged: Judged) -> Spent:
    with suppress(NomospaceError):
        judged.judge()
    return Spent(len(judged.data) + KEY_UNITS * judged.keys)


def _make(rng: Random) -> ProofCase:
    few = (0, 0, 1, 10, 100)
    return ProofCase(
        how=rng.choice(HOW),
        kind=rng.choice(KINDS),
        names=rng.choice(few),
        addresses=rng.choice(few),
        usages=rng.choice(few),
        titles=rng.choice((0, 0, 5)),
        extensions=rng.choice((0, 0, 5, 50)),
        attribute=rng.choice(ATTRIBUTES),
        attributes=rng.choice((1, 5, 200, 2_000)),
        levels=rng.choice((0, 0, 0, 3, 100)),
        authorities=rng.choice((0, 1, 5, 100)),
        spoilt=rng.choice(SPOILT),
        signer=rng.random() < 0.5,
        pem=rng.random() < 0.5,
    )


def _mutate(rng: Random, one: ProofCase) -> ProofCase:
    if rng.random() < 0.4:
        other, name = (
            _make(rng),
            rng.choice(("how", "kind", "attribute", "spoilt", "signer", "pem")),
        )
        return replace(one, **{name: getattr(other, name)})
    most = {
        "names": 4_000,
        "addresses": 9_000,
        "usages": 3_000,
        "titles": 900,
        "extensions": 1_000,
        "attributes": 9_000,
        "levels": 900,
        "authorities": 1_000,
    }
    return numbers(rng, one, most, list(most))


def _show(one: ProofCase) -> str:
    return ", ".join([f"{each.name} {getattr(one, each.name)!r}" for each in fields(one)])


case(
    CostlyCase(
        "certificate",
        _make,
        _mutate,
        _judge,
        _show,
        _ready,
        unit="a byte",
        unit_ns=1_000,
        unit_bytes=50,
        free_ns=600_000,
    )
)
