"""Seals: a controller answers for the messages that it has ruled on, many with one signature.

A message of a community is worth what the controller is worth that let it through (001_…, 3.3), so
the sending controller signs it and the receiving one checks. A signature costs more than all the
rest of a message; so what leaves in one turn is signed at once. The digests are the leaves of a
Merkle tree, the root is signed, and each message gets a seal of its own: certificate, signature,
its place, and the hashes that lead from it to the root. A seal says all that is needed to check it,
whichever way the message goes and however long it waits; of a batch that came together, only the
first costs a check of a signature, since the roots that checked out are remembered.

A digest covers the post's id (sender, receiver, number), the law's hash, the sender that the ruling
named, and the message. So a seal cannot be moved to another message, receiver, law or number; that
a number is not taken twice is the business of those who count them. Leaves, inner nodes and roots
are hashed under headings of their own: none can be shown as another.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, TypeVar

import msgspec

from nomospace.errors import CallerError, PeerError
from nomospace.terms import Term, encode
from nomospace.trust.certificates import (
    BadCertificate,
    ControllerCertificate,
    check_again,
    check_certificate,
    read_claim,
)
from nomospace.trust.keys import PublicKey, SecretKey
from nomospace.trust.revocation import Revocations

BATCH_MAX: Final = 1_024
"""How many messages share a signature at most; a longer list is sealed in parts."""
SEAL_BYTES_MAX: Final = 4_096
"""The largest seal that is read, in bytes."""
ROOTS_MAX: Final = 4_096
"""How many signatures that checked out a verifier remembers; the oldest is forgotten first."""
CONTROLLERS_MAX: Final = 4_096
"""How many certificates that checked out a verifier remembers; the oldest is forgotten first."""
DIGEST_BYTES: Final = 32

K = TypeVar("K")
V = TypeVar("V")

_POST: Final = b"nomospace post 1\n"
_ROOT: Final = b"nomospace seal 1\n"
_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"


class NotAuthentic(PeerError):
    """A message that no controller of the law's authority answers for.

    `reason` is a lasting word for the journal: the code of what is wrong with the certificate, or
    `trust.no-seal`, `trust.bad-seal`, `trust.wrong-signature`; of a host, `trust.no-papers`.
    """

    code = "trust.not-authentic"
    words = "the message is not authentic: {why}; it was dropped"
    reason: str
    why: str


class CannotSeal(CallerError):
    """A key and a certificate that cannot seal messages together."""

    code = "trust.cannot-seal"
    words = (
        "these files cannot seal messages: {why}; give the controller.pem and the "
        "controller.key that `nomospace trust issue controller` has made"
    )
    why: str


def digest_post(post: tuple[str, str, int], law: str, sender: str, message: Term) -> bytes:
    """What a seal is about: one message, under one law, from one agent to another, numbered.

    >>> one = digest_post(("ann@x", "bob@y", 7), "ab12", "ann@x", "hello")
    >>> other = digest_post(("ann@x", "bob@y", 8), "ab12", "ann@x", "hello")
    >>> len(one), one == other
    (32, False)
    """
    return sha256(_POST + encode((*post, law, sender, message))).digest()


class _Seal(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=1):
    certificate: bytes
    signature: bytes
    count: int
    place: int
    path: bytes


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Seal)


class Signer:
    """A controller's key at work.

    >>> from nomospace.trust.authority import make_authority
    >>> admin = make_authority("admin", SecretKey.from_seed(bytes(32)), serial=1, now=0, days=9)
    >>> key = SecretKey.from_seed(bytes(31) + b"1")
    >>> pem = admin.issue_controller("ward-1", key.public, serial=2, now=0, days=9)
    >>> digests = [digest_post(("ann@x", "bob@y", n), "ab12", "ann@x", "hello") for n in range(3)]
    >>> seals = Signer(key, pem).seal(digests)
    >>> Verifier(admin.public, Revocations()).check(digests[1], seals[1], now=5).subject
    'ward-1'
    """

    __slots__ = ("_der", "_key", "host", "not_after")

    def __init__(self, key: SecretKey, certificate: bytes) -> None:
        claim = read_claim(certificate)
        if claim.kind != "controller":
            raise CannotSeal(why=f"the certificate is the {claim.about}")
        if claim.key != key.public:
            raise CannotSeal(why="the key is not that of the certificate")
        self._key = key
        self._der = claim.der
        self.host: Final = claim.subject
        self.not_after: Final = claim.not_after

    def seal(self, digests: Sequence[bytes]) -> list[bytes]:
        """A seal for each digest, in order."""
        made: list[bytes] = []
        for start in range(0, len(digests), BATCH_MAX):
            made += self._batch(digests[start : start + BATCH_MAX])
        return made

    def _batch(self, digests: Sequence[bytes]) -> list[bytes]:
        assert all(len(digest) == DIGEST_BYTES for digest in digests), "digests are of digest_post"
        level = [sha256(_LEAF + digest).digest() for digest in digests]
        count = len(level)
        paths = [b""] * count
        width = 1  # how many leaves hang below a node of the level
        while len(level) > 1:
            last = len(level) - 1
            for leaf in range(count):
                beside = leaf // width ^ 1
                if beside <= last:
                    paths[leaf] += level[beside]
            # A node without a neighbour goes up as it is.
            above = [sha256(_NODE + level[at] + level[at + 1]).digest() for at in range(0, last, 2)]
            level = above if last % 2 else [*above, level[last]]
            width *= 2
        signature = self._key.sign(_signed(count, level[0]))
        return [
            _ENCODER.encode(_Seal(self._der, signature, count, place, path))
            for place, path in enumerate(paths)
        ]


class Verifier:
    """Checks seals under one authority of controllers: the law's `cAuthority`.

    `revocations` may learn more while the verifier is at work: what is remembered is that a
    signature was good, never that a certificate still counts.
    """

    __slots__ = ("_authority", "_controllers", "_revocations", "_roots")

    def __init__(self, authority: PublicKey, revocations: Revocations) -> None:
        self._authority = authority
        self._revocations = revocations
        self._controllers: dict[bytes, ControllerCertificate] = {}
        self._roots: dict[tuple[bytes, bytes, bytes], None] = {}

    def check(self, digest: bytes, seal: bytes, *, now: int) -> ControllerCertificate:
        """The controller that answers for a message; raises `NotAuthentic`."""
        if not seal:
            raise NotAuthentic(reason="trust.no-seal", why="it has no seal")
        if len(seal) > SEAL_BYTES_MAX:
            raise NotAuthentic(reason="trust.bad-seal", why=f"its seal has {len(seal):,} bytes")
        try:
            found = _DECODER.decode(seal)
        except msgspec.MsgspecError:
            raise NotAuthentic(reason="trust.bad-seal", why="its seal cannot be read") from None
        controller = self.controller(found.certificate, now=now)
        root = _root(digest, found)
        if root is None:
            why = "the path in its seal leads nowhere"
            raise NotAuthentic(reason="trust.bad-seal", why=why)
        signed = _signed(found.count, root)
        seen = (found.certificate, found.signature, signed)
        if seen not in self._roots:
            if not controller.key.signed(signed, found.signature):
                why = f"the controller of {controller.subject!r} did not sign it as it is"
                raise NotAuthentic(reason="trust.wrong-signature", why=why)
            _remember(self._roots, seen, None, ROOTS_MAX)
        return controller

    def controller(self, der: bytes, *, now: int) -> ControllerCertificate:
        """What a certificate says of a controller, if it counts; raises `NotAuthentic`."""
        known = self._controllers.get(der)
        try:
            if known is not None:
                by = self._revocations
                check_again(known, issuer=self._authority, now=now, revocations=by)
                return known
            found = check_certificate(
                der,
                ControllerCertificate,
                issuer=self._authority,
                now=now,
                revocations=self._revocations,
            )
        except BadCertificate as error:
            raise NotAuthentic(reason=error.code, why=str(error)) from None
        _remember(self._controllers, der, found, CONTROLLERS_MAX)
        return found


def _remember(cache: dict[K, V], key: K, value: V, limit: int) -> None:
    if len(cache) >= limit:
        del cache[next(iter(cache))]
    cache[key] = value


def _signed(count: int, root: bytes) -> bytes:
    return _ROOT + count.to_bytes(4, "big") + root


def _root(digest: bytes, seal: _Seal) -> bytes | None:
    """The root that a path leads to; none if it is not as long as the leaf's place says."""
    place, last, path = seal.place, seal.count - 1, seal.path
    if not 0 <= place <= last < BATCH_MAX:
        return None
    node = sha256(_LEAF + digest).digest()
    at = 0
    while last:
        if place % 2:
            node = sha256(_NODE + path[at : at + DIGEST_BYTES] + node).digest()
            at += DIGEST_BYTES
        elif place < last:
            node = sha256(_NODE + node + path[at : at + DIGEST_BYTES]).digest()
            at += DIGEST_BYTES
        place, last = place // 2, last // 2
    return node if at == len(path) else None
