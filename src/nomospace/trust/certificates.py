"""Certificates: what they say, and what must hold before any of it is believed.

All are X.509 with Ed25519 keys, signed by an authority or a deputy of it. Whom one is about stands
in its subject alternative name, as a URI; what it is good for, there and in its extended key usage:

| kind | URI | good for |
| --- | --- | --- |
| host | `nomos:host/<name>` | TLS, on both ends |
| controller | `nomos:controller/<host>` | sealing messages of a community (`seals`) |
| agent | `nomos:agent/<id>` | TLS as a client, and answering a challenge (`proof`) |
| role | `nomos:agent/<id>` | telling a law what its bearer is: terms in an extension of our own |

A certificate has exactly one such URI. `read_claim` reads one and believes nothing; a
`UncheckedCertificate` is good for showing. `check_certificate` believes it when the authority's key
signed it, it is of the kind that is asked for, it is in its time, it is not revoked, and, where the
caller knows whom to expect, it is about them. Authorities are known by their keys, since that is
how laws name them (001_…, 3.3 and 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import ClassVar, Final, Literal, TypeVar
from urllib.parse import quote, unquote

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from nomospace.errors import CallerError, LawError, PeerError
from nomospace.terms import Term, show, term
from nomospace.trust.der import parse
from nomospace.trust.keys import PublicKey
from nomospace.trust.moments import microseconds, shown
from nomospace.trust.revocation import Deputy, Revocations

CERTIFICATE_BYTES_MAX: Final = 16_384
"""The largest certificate that is read, in bytes: that takes up to a microsecond for each."""
ATTRIBUTES_BYTES_MAX: Final = 2_048
"""The most that a role certificate says of its bearer, in bytes: terms take longer to read."""
ATTRIBUTES_OPEN_MAX: Final = 200
"""How many brackets its attributes may open: what is nested takes longest."""

# An arc of our own below 2.25, where anybody may stand under a UUID.
_ARC: Final = "2.25.53640430194877021616704924439737694434"
ATTRIBUTES_OID: Final = x509.ObjectIdentifier(f"{_ARC}.1")
CONTROLLER_OID: Final = x509.ObjectIdentifier(f"{_ARC}.2")
ROLE_OID: Final = x509.ObjectIdentifier(f"{_ARC}.3")

Kind = Literal["authority", "host", "controller", "agent", "role"]
_SCHEME: Final = "nomos:"
_UTF8_STRING: Final = 0x0C


class BadCertificate(PeerError):
    """A certificate that is not believed; the kinds below say why."""

    code = "trust.bad-certificate"


class NotACertificate(BadCertificate):
    """Bytes that are no certificate of ours."""

    code = "trust.not-a-certificate"
    words = "this is no certificate to go by: {why}; `nomospace trust issue` makes them"
    why: str


class UntrustedIssuer(BadCertificate):
    """A certificate that the authority in question did not sign."""

    code = "trust.untrusted-issuer"
    words = (
        "the {about} says it is by {issuer!r}, but was not signed by "
        "{authority}; have it issued by that authority"
    )
    about: str
    issuer: str
    authority: str


class WrongPurpose(BadCertificate):
    """A certificate of one kind where another is needed."""

    code = "trust.wrong-purpose"
    words = "the {about} is none of kind {wanted!r}; present one that is"
    about: str
    wanted: str


class CertificateExpired(BadCertificate):
    """A certificate after its last day."""

    code = "trust.certificate-expired"
    about: str
    not_after: int

    def __str__(self) -> str:
        return (
            f"the {self.about} ran out on {shown(self.not_after)}; "
            "have it renewed (`nomospace trust issue … --renew`)"
        )


class CertificateNotYetValid(BadCertificate):
    """A certificate before its first day."""

    code = "trust.certificate-not-yet-valid"
    about: str
    not_before: int

    def __str__(self) -> str:
        return (
            f"the {self.about} does not count before {shown(self.not_before)}; "
            "wait, or set the clock of this machine"
        )


class CertificateRevoked(BadCertificate):
    """A certificate that its authority has taken back."""

    code = "trust.certificate-revoked"
    words = "the {about} (serial {serial}) was revoked; have a new one issued"
    about: str
    serial: str
    """In hexadecimal digits, as `nomospace trust show` has it: it is too long for a number of the
    wire."""


class WrongSubject(BadCertificate):
    """A certificate about somebody else."""

    code = "trust.wrong-subject"
    words = "the {about} is not about {wanted!r}; present one that is"
    about: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What a certificate says that was checked, and the key that signed it."""

    kind: ClassVar[Kind]
    subject: str
    key: PublicKey
    issuer: PublicKey
    serial: int
    not_before: int
    not_after: int
    der: bytes = field(repr=False)
    deputy: PublicKey | None = None
    """The key that signed it, where the issuer's deputy did."""

    @property
    def signer(self) -> PublicKey:
        """The key that signed it."""
        return self.deputy or self.issuer

    @property
    def about(self) -> str:
        """The certificate in a few words."""
        return f"{self.kind} certificate of {self.subject!r}"


@dataclass(frozen=True, kw_only=True)
class HostCertificate(Certificate):
    """This key is that of host `subject`, found at these addresses."""

    kind: ClassVar[Kind] = "host"
    addresses: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ControllerCertificate(Certificate):
    """What this key seals, a controller at host `subject` has ruled on."""

    kind: ClassVar[Kind] = "controller"


@dataclass(frozen=True, kw_only=True)
class AgentCertificate(Certificate):
    """This key is that of agent `subject`."""

    kind: ClassVar[Kind] = "agent"


@dataclass(frozen=True, kw_only=True)
class RoleCertificate(Certificate):
    """Agent `subject`, whose key this is, has these attributes."""

    kind: ClassVar[Kind] = "role"
    attributes: tuple[Term, ...]


C = TypeVar("C", bound=Certificate)


@dataclass(frozen=True, kw_only=True)
class UncheckedCertificate:
    """What a certificate says, before anything of it is believed."""

    kind: Kind
    subject: str
    issuer: str
    key: PublicKey
    serial: int
    not_before: int
    not_after: int
    addresses: tuple[str, ...]
    attributes: tuple[Term, ...]
    signer: bytes
    """What the issuer's key is known by (`PublicKey.identifier`); empty if it does not say."""
    der: bytes = field(repr=False)
    x509: x509.Certificate = field(repr=False)

    @property
    def about(self) -> str:
        """The certificate in a few words."""
        return f"{self.kind} certificate of {self.subject!r}"

    def signed_by(self, authority: PublicKey) -> bool:
        """Whether an authority's key signed it."""
        return authority.signed(self.x509.tbs_certificate_bytes, self.x509.signature)


def check_certificate(
    data: bytes | UncheckedCertificate,
    kind: type[C],
    *,
    issuer: PublicKey,
    now: int,
    revocations: Revocations,
    subject: str | None = None,
) -> C:
    """A certificate that counts now, of this kind, by this issuer, about `subject` if one is given.

    The signature comes first: nothing that a stranger wrote is looked at further. Raises one of the
    kinds of `BadCertificate`.
    """
    claim = data if isinstance(data, UncheckedCertificate) else read_claim(data)
    about = claim.about
    deputy: PublicKey | None = None
    if not claim.signed_by(issuer):
        deputy = _deputy(kind.kind, claim.signer, issuer, now, revocations)
        if deputy is None or not claim.signed_by(deputy):
            authority = f"the authority with fingerprint {issuer.fingerprint}"
            raise UntrustedIssuer(about=about, issuer=claim.issuer, authority=authority)
    if claim.kind != kind.kind:
        raise WrongPurpose(about=about, wanted=kind.kind)
    _check_now(claim, signer=deputy or issuer, now=now, revocations=revocations)
    if subject is not None and claim.subject != subject:
        raise WrongSubject(about=about, wanted=subject)
    found = ("issuer", "deputy")
    said = {one.name: getattr(claim, one.name) for one in fields(kind) if one.name not in found}
    return kind(issuer=issuer, deputy=deputy, **said)


def check_again(
    certificate: Certificate, *, issuer: PublicKey, now: int, revocations: Revocations
) -> None:
    """Raise a kind of `BadCertificate` unless one that was checked before still counts.

    Its signature is not looked at: it was good, so it is as long as who signed it is the issuer or
    its deputy. That makes this cheap enough to ask of every connection as often as one likes.
    """
    signer = certificate.signer
    if signer != issuer and not _deputy(
        certificate.kind, signer.identifier, issuer, now, revocations
    ):
        authority = f"the authority with fingerprint {issuer.fingerprint}"
        former = f"authority {signer.fingerprint}"
        raise UntrustedIssuer(about=certificate.about, issuer=former, authority=authority)
    _check_now(certificate, signer=signer, now=now, revocations=revocations)


def _deputy(
    kind: Kind, identifier: bytes, issuer: PublicKey, now: int, revocations: Revocations
) -> PublicKey | None:
    """The key of an authority's deputy that is good for certificates of a kind.

    None is for roles: a law names the keys that it goes by in these.
    """
    found = revocations.deputy(issuer, identifier, now=now)
    good = ("host", "controller") if found is None or found.hosts_only else _DEPUTED
    return None if found is None or kind not in good else found.key


_DEPUTED: Final = ("host", "controller", "agent")


def read_deputy(data: bytes, authorities: Iterable[PublicKey]) -> Deputy:
    """What one of these authorities has said of a deputy; raises a kind of `BadCertificate`."""
    claim = read_claim(data)
    if claim.kind != "authority":
        raise WrongPurpose(about=claim.about, wanted="authority")
    for authority in authorities:
        if claim.signed_by(authority):
            usage = _extension(claim.x509.extensions, x509.ExtendedKeyUsage)
            return Deputy(
                key=claim.key,
                authority=authority,
                serial=claim.serial,
                not_before=claim.not_before,
                not_after=claim.not_after,
                hosts_only=usage is not None,
            )
    known = "an authority of this folder"
    raise UntrustedIssuer(about=claim.about, issuer=claim.issuer, authority=known)


def _check_now(
    certificate: Certificate | UncheckedCertificate,
    *,
    signer: PublicKey,
    now: int,
    revocations: Revocations,
) -> None:
    """Raise unless it is in its time and was not taken back."""
    if now > certificate.not_after:
        raise CertificateExpired(about=certificate.about, not_after=certificate.not_after)
    if now < certificate.not_before:
        raise CertificateNotYetValid(about=certificate.about, not_before=certificate.not_before)
    if revocations.revoked(signer, certificate.serial):
        raise CertificateRevoked(about=certificate.about, serial=f"{certificate.serial:x}")


def read_claim(data: bytes) -> UncheckedCertificate:
    """Read a certificate (PEM or DER) and believe nothing; raises `NotACertificate`.

    >>> read_claim(b"-----BEGIN CERTIFICATE-----")
    Traceback (most recent call last):
    nomospace.trust.certificates.NotACertificate: this is no certificate to go by: it cannot ...
    """
    if len(data) > CERTIFICATE_BYTES_MAX:
        raise NotACertificate(why=f"{len(data):,} bytes are too many")
    try:
        return _read(parse(data, "CERTIFICATE", x509.load_der_x509_certificate))
    except NotACertificate:
        raise
    except Exception as error:  # the parser has many ways to say no to a stranger's bytes
        raise NotACertificate(why=f"it cannot be read ({str(error)[:80]})") from None


def _read(found: x509.Certificate) -> UncheckedCertificate:
    key = found.public_key()
    if not isinstance(key, Ed25519PublicKey):
        raise NotACertificate(why="its key is not an Ed25519 key")
    if found.serial_number <= 0:
        raise NotACertificate(why="its serial is not above zero")
    kind, name, addresses = _whom(found.extensions)
    by = _extension(found.extensions, x509.AuthorityKeyIdentifier)
    return UncheckedCertificate(
        kind=kind,
        subject=name or _common_name(found.subject),
        issuer=_common_name(found.issuer),
        key=PublicKey(key.public_bytes_raw()),
        serial=found.serial_number,
        not_before=microseconds(found.not_valid_before_utc),
        not_after=microseconds(found.not_valid_after_utc),
        addresses=addresses,
        attributes=_attributes(found.extensions) if kind == "role" else (),
        signer=b"" if by is None else by.key_identifier or b"",
        der=found.public_bytes(Encoding.DER),
        x509=found,
    )


# -- names -------------------------------------------------------------------------------------


def uri_of(kind: Kind, subject: str) -> str:
    """Whom a certificate is about, as it writes it.

    >>> uri_of("host", "ward-3"), uri_of("role", "ann@ward/3")
    ('nomos:host/ward-3', 'nomos:agent/ann@ward%2F3')
    """
    word = "agent" if kind == "role" else kind
    return f"{_SCHEME}{word}/{quote(subject, safe='@')}"


def _whom(extensions: x509.Extensions) -> tuple[Kind, str, tuple[str, ...]]:
    """The kind of a certificate, the name of whom it is about, and its addresses."""
    basic = _extension(extensions, x509.BasicConstraints)
    if basic is not None and basic.ca:
        return "authority", "", ()
    names = _extension(extensions, x509.SubjectAlternativeName)
    usage = _extension(extensions, x509.ExtendedKeyUsage)
    if names is None or usage is None:
        raise NotACertificate(why="it does not say whom it is about, or what it is good for")
    uris = [
        uri
        for uri in names.get_values_for_type(x509.UniformResourceIdentifier)
        if uri.startswith(_SCHEME)
    ]
    if len(uris) != 1:
        raise NotACertificate(why=f"it has {len(uris)} {_SCHEME} names, not one")
    word, _, rest = uris[0].removeprefix(_SCHEME).partition("/")
    name = unquote(rest, errors="strict") if rest.isascii() else ""
    kind = _PURPOSES.get((word, ROLE_OID in usage, CONTROLLER_OID in usage))
    # One name is written in one way: what is checked here and what others read is the same.
    if kind is None or not name or uri_of(kind, name) != uris[0]:
        raise NotACertificate(why=f"nothing of ours is good for what {uris[0][:80]!r} says")
    if kind in ("host", "agent") and ExtendedKeyUsageOID.CLIENT_AUTH not in usage:
        raise NotACertificate(why=f"it is about a {kind}, and not good for one")
    return (
        kind,
        name,
        (
            *names.get_values_for_type(x509.DNSName),
            *[str(address) for address in names.get_values_for_type(x509.IPAddress)],
        ),
    )


_PURPOSES: Final[dict[tuple[str, bool, bool], Kind]] = {
    ("host", False, False): "host",
    ("controller", False, True): "controller",
    ("agent", False, False): "agent",
    ("agent", True, False): "role",
}
"""The kind of a certificate, by the word in its URI and our two usages."""

E = TypeVar("E", bound=x509.ExtensionType)


def _extension(extensions: x509.Extensions, kind: type[E]) -> E | None:
    try:
        return extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""


# -- attributes --------------------------------------------------------------------------------


def attributes_extension(attributes: tuple[Term, ...]) -> x509.UnrecognizedExtension:
    """What a role certificate says, as a list of the law language in a DER UTF8String.

    >>> attributes_extension((term("role(doctor)"),)).value
    b'\\x0c\\x0e[role(doctor)]'
    """
    text = show(attributes).encode()
    size = len(text)
    octets = b"" if size < 0x80 else size.to_bytes((size.bit_length() + 7) // 8, "big")
    length = bytes([0x80 | len(octets)]) + octets if octets else bytes([size])
    return x509.UnrecognizedExtension(ATTRIBUTES_OID, bytes([_UTF8_STRING]) + length + text)


def too_long(attributes: bytes) -> str | None:
    """Which limit attributes, as they are written, go past; `None` if none.

    >>> too_long(b"[" * 201 + b"]" * 201)
    'more than 200 brackets'
    """
    if len(attributes) > ATTRIBUTES_BYTES_MAX:
        return f"more than {ATTRIBUTES_BYTES_MAX:,} bytes"
    if attributes.count(b"[") + attributes.count(b"(") > ATTRIBUTES_OPEN_MAX:
        return f"more than {ATTRIBUTES_OPEN_MAX} brackets"
    return None


def _attributes(extensions: x509.Extensions) -> tuple[Term, ...]:
    try:
        found = extensions.get_extension_for_oid(ATTRIBUTES_OID).value
        assert isinstance(found, x509.UnrecognizedExtension), "the identifier is our own"
        data = found.value
        text = data[2:] if data[1] < 0x80 else data[2 + (data[1] & 0x7F) :]
        if (over := too_long(text)) is not None:
            raise NotACertificate(why=f"its attributes have {over}")
        attributes = term(text.decode())
    except (x509.ExtensionNotFound, LawError, CallerError, UnicodeDecodeError, IndexError):
        raise NotACertificate(why="its attributes cannot be read") from None
    # One list is written in one way, so what was read back is exactly what was signed.
    if not isinstance(attributes, tuple) or attributes_extension(attributes).value != data:
        raise NotACertificate(why="its attributes are not a list in the form of ours")
    return attributes
