"""An authority: makes certificates about hosts, controllers and agents, and takes them back.

An authority is a key and a certificate that it signed itself. Certificates and lists go out as PEM;
keys, serials and the time come in, so the same arguments always make the same bytes. `new_serial`
and `SecretKey.generate` are where chance is drawn; only `cli` and `node` call them.

Certificates begin some minutes in the past, since clocks differ, and end no later than their
authority. All have exactly the form that `certificates` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from nomospace.errors import CallerError
from nomospace.terms import Term, freeze, show
from nomospace.terms.values import parts_of
from nomospace.trust.certificates import (
    ATTRIBUTES_BYTES_MAX,
    ATTRIBUTES_OPEN_MAX,
    CERTIFICATE_BYTES_MAX,
    CONTROLLER_OID,
    ROLE_OID,
    Kind,
    attributes_extension,
    read_claim,
    too_long,
    uri_of,
)
from nomospace.trust.keys import PublicKey, SecretKey
from nomospace.trust.moments import DAY, SECOND, moment
from nomospace.trust.revocation import make_list

BACKDATE: Final = 300 * SECOND
"""So long before it was issued a certificate counts: clocks of machines differ."""
SUBJECT_CHARS_MAX: Final = 401
"""The longest name that a certificate can be about: two names and the `@` of an agent's id."""
TITLE_BYTES_MAX: Final = 64
"""The longest name of an authority, in bytes: X.509 has no more room for a title."""
ADDRESSES_MAX: Final = 100
"""How many addresses a host certificate can have."""
_DNS_CHARS_MAX: Final = 253
_TLS: Final = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


class NotYourKey(CallerError):
    """An authority's certificate and a key that do not belong together."""

    code = "trust.not-your-key"
    words = "this is no authority: {why}; give the two files that `trust init` has made"
    why: str


class CannotIssue(CallerError):
    """A certificate that no authority of ours makes."""

    code = "trust.cannot-issue"
    words = "no certificate can be issued about {what}: {why}"
    what: str
    why: str


def new_serial() -> int:
    """A serial that no other certificate has. Draws on the system's randomness."""
    return x509.random_serial_number()


def make_authority(name: str, key: SecretKey, *, serial: int, now: int, days: float) -> Authority:
    """A new authority; its certificate is `.pem`.

    >>> key = SecretKey.from_seed(bytes(32))  # elsewhere: SecretKey.generate()
    >>> authority = make_authority("admin", key, serial=1, now=0, days=3650)
    >>> authority
    Authority('admin', ed25519:3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29)
    >>> Authority.open(authority.pem, key.pem()).name
    'admin'
    """
    if not 0 < len(name.encode()) <= TITLE_BYTES_MAX:
        why = f"an authority's name has 1 to {TITLE_BYTES_MAX} bytes"
        raise CannotIssue(what=repr(name[:80]), why=why)
    title = _title(name)
    end = now + _whole(days)
    builder = _builder(title, title, key.public, key.public, serial, now, end, authority=True)
    return Authority(builder.sign(key.loaded, algorithm=None), key)


class Authority:
    """A key that others go by, with the certificate that says so."""

    __slots__ = ("_certificate", "_key", "name", "pem", "public")

    def __init__(self, certificate: x509.Certificate, key: SecretKey) -> None:
        self._certificate = certificate
        self._key = key
        self.pem: Final = certificate.public_bytes(Encoding.PEM)
        self.name: Final = read_claim(self.pem).subject
        self.public: Final = key.public

    @classmethod
    def open(cls, certificate: bytes, key: bytes) -> Authority:
        """The authority in two PEM files.

        Raises `NotYourKey`, `NotACertificate` or `NotASecretKey`.
        """
        secret, claim = SecretKey.from_pem(key), read_claim(certificate)
        if claim.kind != "authority":
            raise NotYourKey(why=f"the certificate is the {claim.about}")
        if claim.key != secret.public:
            raise NotYourKey(why="the key is not that of the certificate")
        return cls(claim.x509, secret)

    def issue_host(
        self,
        name: str,
        key: PublicKey,
        *,
        addresses: tuple[str, ...],
        serial: int,
        now: int,
        days: float,
    ) -> bytes:
        """This key is that of a host, which is found at these addresses (names or IP addresses).

        Who dials a host by address compares it with these; hosts go by the name only.
        """
        if len(addresses) > ADDRESSES_MAX:
            raise CannotIssue(what=repr(name), why=f"it has more than {ADDRESSES_MAX} addresses")
        names = [read_address(address) for address in addresses]
        return self._issue("host", name, key, _TLS, serial, now, days, names)

    def issue_controller(
        self, host: str, key: PublicKey, *, serial: int, now: int, days: float
    ) -> bytes:
        """What this key seals, a controller at a host has ruled on.

        Only for hosts whose operator answers for them: a law trusts every controller that its
        authority has certified (000_…, 3.6).
        """
        return self._issue("controller", host, key, [CONTROLLER_OID], serial, now, days)

    def issue_agent(
        self, agent: str, key: PublicKey, *, serial: int, now: int, days: float
    ) -> bytes:
        """This key is that of an agent."""
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._issue("agent", agent, key, usages, serial, now, days)

    def issue_role(
        self,
        agent: str,
        key: PublicKey,
        attributes: tuple[Term, ...],
        *,
        serial: int,
        now: int,
        days: float,
    ) -> bytes:
        """An agent, whose key this is, has attributes: what laws see as a certificate.

        They are ground terms, in order: a rule that wants `attributes([role(R)])` matches a
        certificate with that one attribute.
        """
        terms = freeze(attributes)
        over = too_long(show(terms).encode()) if terms else "none"
        if over is not None:
            why = f"it needs attributes, of at most {ATTRIBUTES_BYTES_MAX:,} bytes and "
            why += f"{ATTRIBUTES_OPEN_MAX} brackets together, and has {over}"
            raise CannotIssue(what=repr(agent), why=why)
        # Critical: who does not know the extension, as TLS does not, refuses the certificate.
        more = [attributes_extension(parts_of(terms))]
        return self._issue("role", agent, key, [ROLE_OID], serial, now, days, more=more)

    def name_deputy(
        self,
        name: str,
        key: PublicKey,
        *,
        hosts_only: bool,
        serial: int,
        now: int,
        days: float,
    ) -> bytes:
        """This key certifies in the place of this one; `hosts_only`: hosts and controllers."""
        end = self._end(name, now, days)
        title, by = _title(name), self._certificate.subject
        builder = _builder(title, by, key, self.public, serial, now, end, authority=True)
        if hosts_only:
            usages = x509.ExtendedKeyUsage([*_TLS, CONTROLLER_OID])
            builder = builder.add_extension(usages, critical=False)
        return builder.sign(self._key.loaded, algorithm=None).public_bytes(Encoding.PEM)

    def revoke(self, revoked: Mapping[int, int], *, number: int, now: int) -> bytes:
        """The list of all certificates that count no longer, by serial, with the time of each.

        `number` must be greater than that of the list before, or nobody will go by this one.
        """
        return make_list(self._certificate, self._key, revoked, number=number, now=now)

    def _issue(
        self,
        kind: Kind,
        subject: str,
        key: PublicKey,
        usages: list[x509.ObjectIdentifier],
        serial: int,
        now: int,
        days: float,
        names: list[x509.GeneralName] | None = None,
        more: list[x509.UnrecognizedExtension] | None = None,
    ) -> bytes:
        if not 0 < len(subject) <= SUBJECT_CHARS_MAX:
            why = f"a name has 1 to {SUBJECT_CHARS_MAX} characters"
            raise CannotIssue(what=repr(subject[:80]), why=why)
        if key == self.public:
            why = "the key is the authority's own; give each its own"
            raise CannotIssue(what=repr(subject), why=why)
        end = self._end(subject, now, days)
        uri = x509.UniformResourceIdentifier(uri_of(kind, subject))
        title, by = _title(subject), self._certificate.subject
        builder = (
            _builder(title, by, key, self.public, serial, now, end, authority=False)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.SubjectAlternativeName([uri, *(names or ())]), critical=False)
        )
        for extension in more or ():
            builder = builder.add_extension(extension, critical=True)
        made = builder.sign(self._key.loaded, algorithm=None).public_bytes(Encoding.PEM)
        if len(made) > CERTIFICATE_BYTES_MAX:
            why = f"it would have more than {CERTIFICATE_BYTES_MAX:,} bytes; give fewer addresses"
            raise CannotIssue(what=repr(subject), why=why)
        return made

    def _end(self, subject: str, now: int, days: float) -> int:
        """When a certificate ends: not after its authority."""
        end = min(now + _whole(days), read_claim(self.pem).not_after)
        if end <= now:
            raise CannotIssue(what=repr(subject), why=f"the authority {self.name!r} has run out")
        return end

    def __repr__(self) -> str:
        return f"Authority({self.name!r}, {self.public.text})"


# -- the form of a certificate -----------------------------------------------------------------


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: PublicKey,
    signer: PublicKey,
    serial: int,
    now: int,
    end: int,
    *,
    authority: bool,
) -> x509.CertificateBuilder:
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.loaded)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.loaded)
        .serial_number(serial)
        .not_valid_before(moment(max(0, now - BACKDATE)))
        .not_valid_after(moment(end))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.loaded), critical=False)
        .add_extension(by, critical=False)
        .add_extension(
            x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True
        )
        .add_extension(_key_usage(authority=authority), critical=True)
    )


def _title(name: str) -> x509.Name:
    """A name for people; programs go by the URI, which is whole."""
    start = name.encode()[:TITLE_BYTES_MAX].decode(errors="ignore")
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, start)])


def _whole(days: float) -> int:
    period = int(days * DAY)
    if period < SECOND:
        raise CannotIssue(what=f"{days} days", why="it would not count for a second")
    return period


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def read_address(text: str) -> x509.GeneralName:
    """An address of a host, as its certificate has it; raises `CannotIssue`.

    >>> read_address("127.0.0.1"), read_address("ward-1.example.")
    (<IPAddress(value=127.0.0.1)>, <DNSName(value='ward-1.example')>)
    """
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        name = text.removesuffix(".")
        good = len(name) <= _DNS_CHARS_MAX and all(
            label.isascii() and label.replace("-", "a").isalnum() and len(label) <= 63
            for label in name.split(".")
        )
        if not good:
            why = "an address is a DNS name or an IP address, without a port"
            raise CannotIssue(what=repr(text[:80]), why=why) from None
        return x509.DNSName(name)
