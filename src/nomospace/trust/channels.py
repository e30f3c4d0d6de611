"""What two hosts say to each other over a carrier that others can read: keys that only they have.

Each side draws a secret for the occasion and shows its public half (X25519), signed with its host
key elsewhere. From both halves come two keys, one for each direction, bound to both nonces, both
names and the net: nobody who lacks one of the secrets can have them, also not who gets hold of a
host's own key later. A `Channel` then seals with AES-256-GCM, which costs less than a microsecond
for a short message; the number of a message is its nonce, so a number is used once.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from nomospace.errors import PeerError

SECRET_BYTES: Final = 32
SHARE_BYTES: Final = 32
ID_BYTES: Final = 8


class NotForUs(PeerError):
    """Bytes that the other side of a channel did not seal, or not under this number."""

    code = "trust.not-for-us"
    words = "this was not sealed with the key of this channel; it is dropped"


class Channel:
    """The keys of one side. `id` is the same on both sides, and says nothing of the keys.

    >>> ann, bob = Half(bytes(32)), Half(bytes(31) + b"1")
    >>> here = ann.agree(bob.share, b"what both have said", first=True)
    >>> there = bob.agree(ann.share, b"what both have said", first=False)
    >>> there.open(7, here.seal(7, b"a frame")), here.id == there.id
    (b'a frame', True)
    """

    __slots__ = ("_opens", "_seals", "id")

    def __init__(self, id: bytes, seals: bytes, opens: bytes) -> None:
        self.id = id
        self._seals = AESGCM(seals)
        self._opens = AESGCM(opens)

    def seal(self, number: int, data: bytes) -> bytes:
        """Seal a message under a number that no other message of this side ever has."""
        return self._seals.encrypt(number.to_bytes(12, "big"), data, None)

    def open(self, number: int, data: bytes) -> bytes:
        """What the other side has sealed under this number; raises `NotForUs`."""
        try:
            return self._opens.decrypt(number.to_bytes(12, "big"), data, None)
        except InvalidTag:
            raise NotForUs from None


class InTheOpen:
    """Stands for a channel where there are no keys: everybody can read it, and write."""

    __slots__ = ("id",)

    def __init__(self, said: bytes) -> None:
        self.id = sha256(said).digest()[:ID_BYTES]

    def seal(self, number: int, data: bytes) -> bytes:
        """The data as it is."""
        return data

    def open(self, number: int, data: bytes) -> bytes:
        """The data as it is."""
        return data


class Half:
    """One side's part of an agreement. `secret` is bytes that nobody can guess, used once."""

    __slots__ = ("_secret", "share")

    def __init__(self, secret: bytes) -> None:
        self._secret = X25519PrivateKey.from_private_bytes(secret)
        self.share = self._secret.public_key().public_bytes_raw()

    def agree(self, share: bytes, said: bytes, *, first: bool) -> Channel:
        """The channel with whoever has shown that share; `said` is what both are bound to.

        One of the two is `first`. Raises `NotForUs` for a share that is none.
        """
        try:
            common = self._secret.exchange(X25519PublicKey.from_public_bytes(share))
        except ValueError:  # not 32 bytes, or a point that gives everybody the same key
            raise NotForUs from None
        made = HKDF(SHA256(), 2 * SECRET_BYTES + ID_BYTES, salt=None, info=said).derive(common)
        one, other = made[:SECRET_BYTES], made[SECRET_BYTES : 2 * SECRET_BYTES]
        id = made[2 * SECRET_BYTES :]
        return Channel(id, one, other) if first else Channel(id, other, one)
