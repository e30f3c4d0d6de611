"""From files to the exact bytes of X.509 in them.

A parser may forgive bytes that are not quite as they should be, and check the signature of what it
made of them. We take a certificate or a list only in the one form in which it is written, signature
included: what was signed, what is read and what is kept are the same bytes, and nobody can make a
second certificate that counts out of one that does.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ObjectIdentifier, SignatureAlgorithmOID

# A bit string of 64 bytes with no bit unused: a signature of Ed25519.
_SIGNATURE: Final = b"\x03\x41\x00"


class Signed(Protocol):
    """A certificate or a list, as `cryptography` has them."""

    @property
    def signature(self) -> bytes:
        """The signature under it."""

    @property
    def signature_algorithm_oid(self) -> ObjectIdentifier:
        """What it says the signature is; not part of what is signed."""

    def public_bytes(self, encoding: Encoding) -> bytes:
        """The bytes that it would write."""


X = TypeVar("X", bound=Signed)


def parse(data: bytes, label: str, load: Callable[[bytes], X]) -> X:
    """What stands in a file, PEM or DER; of several PEM blocks with this label, the first.

    Raises ValueError, or whatever else the parser comes up with.

    >>> parse(b"-----BEGIN X-----", "X", str)
    Traceback (most recent call last):
    ValueError: the PEM block has no end
    """
    begin, end = f"-----BEGIN {label}-----".encode(), f"-----END {label}-----".encode()
    _, mark, rest = data.partition(begin)
    if mark:
        body, closed, _ = rest.partition(end)
        if not closed:
            raise ValueError("the PEM block has no end")
        data = b64decode(b"".join(body.split()), validate=True)
    found = load(data)
    if (
        found.signature_algorithm_oid != SignatureAlgorithmOID.ED25519
        or not data.endswith(_SIGNATURE + found.signature)
        or found.public_bytes(Encoding.DER) != data
    ):
        raise ValueError("it is not in the one form that is signed")
    return found
