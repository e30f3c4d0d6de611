"""Revocation lists: which certificates of an authority count no longer.

An authority signs the whole list (an X.509 CRL) each time it grows, with a number that grows too.
A list that is older than the one at hand, or that has the same number and says something else, is
refused: who can replace a file must not be able to make a revoked certificate good again. Once
revoked is revoked for ever; the day that the list gives is for people.

A list speaks for one authority, known by its key. It does not grow stale: how soon a host hears of
a revocation is how soon it is given the new list, by its operator or by a host that has it.

An authority may name deputies: keys that certify hosts, their controllers and agents in its place,
for so long and until it takes that back. So its own key can stay away from all machines that serve,
and be replaced by another, while the two stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from nomospace.errors import CallerError, PeerError
from nomospace.trust.der import parse
from nomospace.trust.keys import PublicKey, SecretKey
from nomospace.trust.moments import microseconds, moment

REVOKED_MAX: Final = 100_000
"""How many certificates of one authority can be revoked."""
LIST_BYTES_MAX: Final = 16_000_000
"""The largest file that is read as a revocation list, in bytes."""
AUTHORITIES_MAX: Final = 1_000
"""How many authorities a host keeps lists of."""


class NotARevocationList(PeerError):
    """Bytes that are no revocation list of the authority in question."""

    code = "trust.not-a-revocation-list"
    words = "this is no revocation list to go by: {why}; get it from the authority again"
    why: str


class RevocationsRolledBack(PeerError):
    """A revocation list that forgets what an earlier one has said."""

    code = "trust.revocations-rolled-back"
    number: int
    known: int

    def __str__(self) -> str:
        if self.number < self.known:
            return (
                f"revocation list number {self.number} is older than number {self.known}, which is "
                "known here; get the newest from the authority"
            )
        return (
            f"revocation list number {self.number} says other things than the list number "
            f"{self.known} that is known here; ask the authority which of its lists is true"
        )


class TooManyRevoked(CallerError):
    """A revocation list would grow past its limit."""

    code = "trust.too-many-revoked"
    count: int

    def __str__(self) -> str:
        return (
            f"a revocation list of {self.count:,} certificates is above the limit of "
            f"{REVOKED_MAX:,}; begin a new authority, and give certificates shorter lives"
        )


@dataclass(frozen=True)
class RevocationList:
    """A list whose signature was checked: serials, and when each was revoked."""

    authority: PublicKey
    number: int
    revoked: Mapping[int, int]
    signed: bytes = field(default=b"", repr=False, compare=False)
    """As it was read, for others to check."""


@dataclass(frozen=True)
class Deputy:
    """What an authority has said of another key: it certifies in its place, until then."""

    key: PublicKey
    authority: PublicKey
    serial: int
    not_before: int
    not_after: int
    hosts_only: bool
    """Whether it is good for hosts and their controllers alone."""


def make_list(
    authority: x509.Certificate,
    key: SecretKey,
    revoked: Mapping[int, int],
    *,
    number: int,
    now: int,
) -> bytes:
    """Sign a list, as PEM. It says that it holds as long as the authority itself does."""
    if len(revoked) > REVOKED_MAX:
        raise TooManyRevoked(count=len(revoked))
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.subject)
        .last_update(moment(now))
        .next_update(authority.not_valid_after_utc)
        .add_extension(x509.CRLNumber(number), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public.loaded), critical=False
        )
    )
    for serial, at in revoked.items():
        entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(moment(at))
        builder = builder.add_revoked_certificate(entry.build())
    return builder.sign(key.loaded, algorithm=None).public_bytes(Encoding.PEM)


def read_list(data: bytes, authority: PublicKey) -> RevocationList:
    """Read a list (PEM or DER) that this authority signed; raises `NotARevocationList`."""
    if len(data) > LIST_BYTES_MAX:
        raise NotARevocationList(why=f"{len(data):,} bytes are too many")
    try:
        found = parse(data, "X509 CRL", x509.load_der_x509_crl)
        if not authority.signed(found.tbs_certlist_bytes, found.signature):
            raise NotARevocationList(why=f"the authority {authority.fingerprint} did not sign it")
        number = found.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
        if len(found) > REVOKED_MAX:
            raise NotARevocationList(why=f"it has {len(found):,} entries")
        revoked = {one.serial_number: microseconds(one.revocation_date_utc) for one in found}
    except NotARevocationList:
        raise
    except x509.ExtensionNotFound:
        raise NotARevocationList(why="it has no number") from None
    except Exception as error:  # the parser has many ways to say no to a stranger's bytes
        raise NotARevocationList(why=f"it cannot be read ({str(error)[:80]})") from None
    return RevocationList(authority, number, revoked, data)


class Revocations:
    """The newest lists that are known, one for each authority, and their deputies.

    >>> nothing = Revocations()
    >>> nothing.revoked(SecretKey.from_seed(bytes(32)).public, 17)
    False
    """

    __slots__ = ("_deputies", "_lists")

    def __init__(self) -> None:
        self._lists: dict[bytes, RevocationList] = {}
        self._deputies: dict[tuple[bytes, bytes], Deputy] = {}

    def __iter__(self) -> Iterator[RevocationList]:
        return iter(self._lists.values())

    def learn(self, offered: RevocationList) -> None:
        """Go by a newer list; the same one again changes nothing.

        Raises `RevocationsRolledBack` and goes on with the list at hand.
        """
        raw = offered.authority.raw
        known = self._lists.get(raw)
        if known is None and len(self._lists) >= AUTHORITIES_MAX:
            raise NotARevocationList(why=f"{AUTHORITIES_MAX:,} authorities are known already")
        if known is not None:
            now, before = offered.revoked.keys(), known.revoked.keys()
            same = offered.number == known.number
            if offered.number < known.number or not now >= before or (same and now != before):
                raise RevocationsRolledBack(number=offered.number, known=known.number)
        self._lists[raw] = offered

    def appoint(self, deputies: Iterable[Deputy]) -> None:
        """Go by these deputies, and by no others."""
        self._deputies = {(one.authority.raw, one.key.identifier): one for one in deputies}

    def deputy(self, authority: PublicKey, identifier: bytes, *, now: int) -> Deputy | None:
        """The deputy of an authority whose key this identifies, if it counts now."""
        found = self._deputies.get((authority.raw, identifier))
        if found is None or not found.not_before <= now <= found.not_after:
            return None
        return None if self.revoked(authority, found.serial) else found

    def revoked(self, authority: PublicKey, serial: int) -> bool:
        """Whether an authority has taken a certificate back."""
        known = self._lists.get(authority.raw)
        return known is not None and serial in known.revoked

    def number(self, authority: PublicKey) -> int | None:
        """The number of the list at hand."""
        known = self._lists.get(authority.raw)
        return None if known is None else known.number
