"""The role certificates that members have shown, until each runs out or is taken back.

A certificate counts under a law when an authority that the law names has issued it; the member's
controller then rules on `certified([issuer(I), subject(S), attributes(As)])`, with the authority's
name in that law (001_…, 4). `Presented` keeps what was accepted and says when a `revoked` event
must follow: at the end of its time, when its authority revokes it, and when a host finds after a
restart or a move that it counts no longer. Each accepted certificate ends once.

A certificate may be about another agent than the one that shows it: laws tell the two apart by
`subject(Self)`. Whoever makes events of these must carry the subject along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from heapq import heappop, heappush
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from nomospace.errors import CallerError
from nomospace.terms import Compound, Term
from nomospace.trust.certificates import (
    BadCertificate,
    CertificateRevoked,
    RoleCertificate,
    UncheckedCertificate,
    UntrustedIssuer,
    check_certificate,
    read_claim,
)
from nomospace.trust.keys import NotAPublicKey, PublicKey
from nomospace.trust.revocation import RevocationList, Revocations

HELD_MAX: Final = 64
"""How many certificates one member may have accepted at a time, under one law."""

KEYS_MAX: Final = 4_096
"""How many keys that laws name are kept as they were read."""
TRIED_MAX: Final = 8
"""How many keys of authorities are tried on one certificate: each takes 0.1 ms."""

Authorities: TypeAlias = Mapping[str, str]
"""The authorities of a law: their names, and their keys as the law's text has them."""


class TooManyCertificates(CallerError):
    """A member shows more certificates than are kept for it."""

    code = "trust.too-many-certificates"
    agent: str

    def __str__(self) -> str:
        return (
            f"{self.agent} has {HELD_MAX} certificates accepted already; let one run out, or have "
            "several attributes put in one certificate"
        )


class SerialReused(BadCertificate):
    """Two certificates of one authority with the same serial."""

    code = "trust.serial-reused"
    words = (
        "the {about} has serial {serial}, which another certificate of its "
        "authority has; neither could be revoked alone, so have it issued anew"
    )
    about: str
    serial: str
    """In hexadecimal digits."""


class Accepted(msgspec.Struct, frozen=True, array_like=True, tag="accepted"):
    """A certificate that counts for a member: what its law hears of it, and until when.

    `authority` is the key that signed it, `certificate` the whole of it, for those who check again.
    """

    agent: str
    law: str
    issuer: str
    subject: str
    attributes: tuple[Term, ...]
    authority: bytes
    serial: int
    not_after: int
    certificate: bytes

    @property
    def term(self) -> Term:
        """The certificate as laws see it."""
        return _shown(self.issuer, self.subject, self.attributes)


def as_event(
    data: bytes | UncheckedCertificate,
    authorities: Authorities,
    *,
    revocations: Revocations,
    now: int,
) -> tuple[str, RoleCertificate]:
    """The name under which a law knows the issuer of a role certificate, and what it says.

    Of two names with one key the first counts. A placeholder is nobody's key. A law may name very
    many authorities: only the key that the certificate names is tried, and where it names none, the
    first `TRIED_MAX`. Raises a kind of `BadCertificate`; `reason_of` has the word for the law, and
    `claimed` the certificate.
    """
    claim = data if isinstance(data, UncheckedCertificate) else read_claim(data)
    left = TRIED_MAX
    for name, text in authorities.items():
        key, identifier = _key_of(text)
        if key is None or (claim.signer and claim.signer != identifier):
            continue
        left -= 1
        if left < 0:
            break
        if claim.signed_by(key):
            found = check_certificate(
                claim, RoleCertificate, issuer=key, now=now, revocations=revocations
            )
            return name, found
    named = ", ".join(islice(authorities, TRIED_MAX)) or "it names none"
    if len(authorities) > TRIED_MAX:
        named += f", … {len(authorities) - TRIED_MAX:,} more"
    authority = f"an authority that the law names ({named})"
    raise UntrustedIssuer(about=claim.about, issuer=claim.issuer, authority=authority)


@lru_cache(maxsize=KEYS_MAX)
def _key_of(text: str) -> tuple[PublicKey | None, bytes]:
    """The key that a law's text names, and what certificates know it by; none for a placeholder."""
    try:
        key = PublicKey.read(text)
    except NotAPublicKey:
        return None, b""
    return key, key.identifier


def reason_of(error: BadCertificate) -> str:
    """The second argument of `exception(certify(C), Why)`."""
    return "revoked" if isinstance(error, CertificateRevoked) else "invalidCertificate"


def claimed(data: bytes | UncheckedCertificate) -> Term:
    """The first one's C: what a certificate says of itself, true or not.

    >>> claimed(b"no certificate at all")
    'unreadable'
    """
    try:
        claim = data if isinstance(data, UncheckedCertificate) else read_claim(data)
    except BadCertificate:
        return "unreadable"
    return _shown(claim.issuer, claim.subject, claim.attributes)


def _shown(issuer: str, subject: str, attributes: tuple[Term, ...]) -> Term:
    return (
        Compound("issuer", (issuer,)),
        Compound("subject", (subject,)),
        Compound("attributes", (attributes,)),
    )


_Issued: TypeAlias = tuple[bytes, int]
_Home: TypeAlias = tuple[str, str]


class Presented:
    """The accepted certificates of a host's members.

    >>> from nomospace.terms import term
    >>> from nomospace.trust.authority import make_authority
    >>> from nomospace.trust.keys import SecretKey
    >>> admin = make_authority("ca", SecretKey.from_seed(bytes(32)), serial=1, now=0, days=90)
    >>> key = SecretKey.from_seed(bytes(31) + b"1").public
    >>> role = (term("role(doctor)"),)
    >>> pem = admin.issue_role("ann@x", key, role, serial=2, now=0, days=1)
    >>> shown = Presented(Revocations())
    >>> shown.present("ann@x", "ab12", pem, {"admin": admin.public.text}, now=5).term
    (term('issuer(admin)'), term("subject('ann@x')"), term('attributes([role(doctor)])'))
    >>> shown.next_deadline() == 86_400_000_001
    True
    >>> [ended.subject for ended in shown.expire(now=86_400_000_001)]
    ['ann@x']
    """

    __slots__ = ("_deadlines", "_held", "_homes", "_revocations")

    def __init__(self, revocations: Revocations) -> None:
        self._revocations = revocations
        self._held: dict[_Issued, dict[_Home, Accepted]] = {}
        self._homes: dict[_Home, dict[_Issued, None]] = {}
        self._deadlines: list[tuple[int, _Issued]] = []

    def present(
        self,
        agent: str,
        law: str,
        data: bytes | UncheckedCertificate,
        authorities: Authorities,
        *,
        now: int,
    ) -> Accepted:
        """A member shows a certificate, and it counts; `certified` must follow.

        Shown again it counts again, and still ends once: a law may have dropped a role for its own
        reasons, and take it back. Raises a kind of `BadCertificate`, or `TooManyCertificates`.
        """
        issuer, found = as_event(data, authorities, revocations=self._revocations, now=now)
        issued: _Issued = (found.issuer.raw, found.serial)
        holders = self._held.get(issued, {})
        if any(one.certificate != found.der for one in holders.values()):
            about = f"certificate of {found.subject!r}"
            raise SerialReused(about=about, serial=f"{found.serial:x}")
        home = (agent, law)
        if home not in holders and len(self._homes.get(home, ())) >= HELD_MAX:
            raise TooManyCertificates(agent=agent)
        if not holders:
            heappush(self._deadlines, (found.not_after + 1, issued))
        says = (found.subject, found.attributes)
        accepted = Accepted(agent, law, issuer, *says, *issued, found.not_after, found.der)
        self._held.setdefault(issued, holders)[home] = accepted
        self._homes.setdefault(home, {})[issued] = None
        return accepted

    def _drop(self, issued: _Issued, home: _Home) -> Accepted:
        """Let go of one; its deadline is passed over when its time comes."""
        ended = self._held[issued].pop(home)
        if not self._held[issued]:
            del self._held[issued]
        del self._homes[home][issued]
        if not self._homes[home]:
            del self._homes[home]
        return ended

    # -- ends ------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """When the next certificate runs out."""
        while self._deadlines and self._deadlines[0][1] not in self._held:
            heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def expire(self, *, now: int) -> list[Accepted]:
        """Certificates that have run out; `revoked` must follow for each."""
        ended: list[Accepted] = []
        while (due := self.next_deadline()) is not None and due <= now:
            _, issued = heappop(self._deadlines)
            ended += [self._drop(issued, home) for home in list(self._held[issued])]
        return ended

    def revoke(self, offered: RevocationList) -> list[Accepted]:
        """Go by a newer list; `revoked` must follow for each certificate that this ends.

        Raises `RevocationsRolledBack` and goes on with the list at hand.
        """
        self._revocations.learn(offered)
        raw, taken_back = offered.authority.raw, offered.revoked
        gone = [issued for issued in self._held if issued[0] == raw and issued[1] in taken_back]
        return [self._drop(issued, home) for issued in gone for home in list(self._held[issued])]

    def forget(self, agent: str, law: str) -> None:
        """A membership has ended: nothing follows from its certificates any more."""
        for issued in list(self._homes.get((agent, law), ())):
            self._drop(issued, (agent, law))

    # -- restarts and moves ----------------------------------------------------------------

    def held(self, agent: str, law: str) -> tuple[Accepted, ...]:
        """What counts for a member, in the order in which it was shown."""
        home = (agent, law)
        return tuple([self._held[issued][home] for issued in self._homes.get(home, ())])

    def restore(
        self,
        kept: Iterable[Accepted],
        authorities: Callable[[str], Authorities],
        *,
        now: int,
    ) -> list[Accepted]:
        """Take back what an earlier life of this host, or the host a member came from, accepted.

        Everything is checked again, under the authorities of its law as they stand in its text
        here. Those that count no longer are given back: `revoked` must follow for each.
        """
        ended: list[Accepted] = []
        for one in kept:
            try:
                self.present(one.agent, one.law, one.certificate, authorities(one.law), now=now)
            except (BadCertificate, TooManyCertificates):
                ended.append(one)
        return ended
