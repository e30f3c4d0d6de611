"""Ed25519 keys: in files, in the text of laws, and as people compare them.

A law names an authority by its public key: `authority(admin, "ed25519:…")`. After the prefix stand
the key's 32 bytes, as 64 hexadecimal digits (what we print) or in base64 (43 characters, or 44 with
its padding; the URL-safe alphabet does too). Anything else is a placeholder, good for `law run` and
simulated worlds only: `PublicKey.read` refuses it.

Secret keys never show themselves: not in `repr`, not in an error.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from nomospace.errors import CallerError

PREFIX: Final = "ed25519:"
KEY_BYTES: Final = 32
KEY_PEM_BYTES_MAX: Final = 4_096
"""The largest file that is read as a secret key, in bytes."""


def signed_parts(heading: bytes, *parts: bytes) -> bytes:
    """What is signed of several parts: each with its length, so that no two lists are the same."""
    made = [heading]
    for part in parts:
        made += [len(part).to_bytes(4, "big"), part]
    return b"".join(made)


class NotAPublicKey(CallerError):
    """A text that stands where a public key should, and is none."""

    code = "trust.not-a-public-key"
    words = (
        f"{{text!r}} is no key; one is {PREFIX} and {KEY_BYTES} bytes in hexadecimal or "
        "base64, as `nomospace trust show` prints it"
    )
    text: str


class NotASecretKey(CallerError):
    """Bytes that stand where a secret key should, and are none that can be used."""

    code = "trust.not-a-secret-key"
    words = "this is no Ed25519 secret key: {why}; give a PEM file that `trust` has made"
    why: str


@dataclass(frozen=True)
class PublicKey:
    """A public key. Two are equal when their bytes are.

    >>> key = PublicKey.read("ed25519:" + "00" * 31 + "ff")
    >>> key == PublicKey.read("ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8=")
    True
    >>> key.text == "ed25519:" + "00" * 31 + "ff"
    True
    >>> PublicKey.read("controllers_key")
    Traceback (most recent call last):
    nomospace.trust.keys.NotAPublicKey: 'controllers_key' is no key; ...
    """

    raw: bytes
    loaded: Ed25519PublicKey = field(init=False, repr=False, compare=False)
    """The key as `cryptography` has it, for certificates."""

    def __post_init__(self) -> None:
        if len(self.raw) != KEY_BYTES:
            raise NotAPublicKey(text=self.raw.hex()[:80])
        object.__setattr__(self, "loaded", Ed25519PublicKey.from_public_bytes(self.raw))

    @classmethod
    def read(cls, text: str) -> PublicKey:
        """The key that a law's text names; raises `NotAPublicKey`."""
        raw = _bytes_of(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else None
        if raw is None:
            raise NotAPublicKey(text=text[:80])
        return cls(raw)

    @property
    def text(self) -> str:
        """The key as laws write it."""
        return PREFIX + self.raw.hex()

    @property
    def fingerprint(self) -> str:
        """Half of a SHA-256, for people to compare and for hosts to announce: a hint, no proof."""
        return sha256(self.raw).hexdigest()[:32]

    @property
    def identifier(self) -> bytes:
        """What certificates name the key of their issuer by: a hint, no proof."""
        return sha1(self.raw, usedforsecurity=False).digest()

    def signed(self, data: bytes, signature: bytes) -> bool:
        """Whether the owner of this key signed these bytes."""
        try:
            self.loaded.verify(signature, data)
        except InvalidSignature:
            return False
        return True

    def __repr__(self) -> str:
        return f"PublicKey({self.text!r})"


def _bytes_of(digits: str) -> bytes | None:
    """32 bytes in hexadecimal or base64, told apart by their length."""
    try:
        if len(digits) == 2 * KEY_BYTES:
            return bytes.fromhex(digits) if digits.isalnum() else None
        if len(digits.removesuffix("=")) != 43:
            return None
        plain = digits.removesuffix("=").replace("-", "+").replace("_", "/")
        return b64decode(plain + "=", validate=True)
    except (ValueError, NotBase64):
        return None


class SecretKey:
    """A secret key. It signs, and shows nothing of itself.

    >>> key = SecretKey.from_seed(bytes(32))  # elsewhere: SecretKey.generate()
    >>> key
    SecretKey(of 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29)
    >>> key.public.signed(b"a message", key.sign(b"a message"))
    True
    >>> SecretKey.from_pem(key.pem()).public == key.public
    True
    """

    __slots__ = ("loaded", "public")

    def __init__(self, loaded: Ed25519PrivateKey) -> None:
        self.loaded: Final = loaded
        """The key as `cryptography` has it, for certificates."""
        self.public: Final = PublicKey(loaded.public_key().public_bytes_raw())

    @classmethod
    def generate(cls) -> SecretKey:
        """A new key. Draws on the system's randomness, so only `cli` and `node` call it."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> SecretKey:
        """The key of 32 bytes that nobody can guess; the same bytes give the same key."""
        if len(seed) != KEY_BYTES:
            raise NotASecretKey(why=f"a seed has {KEY_BYTES} bytes, not {len(seed)}")
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def from_pem(cls, data: bytes) -> SecretKey:
        """A key from its file; raises `NotASecretKey`."""
        if len(data) > KEY_PEM_BYTES_MAX:
            raise NotASecretKey(why=f"{len(data):,} bytes are too many")
        try:
            loaded = load_pem_private_key(data, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            # What the parser says might quote the file; it is about a secret, so it is not told.
            raise NotASecretKey(why="it cannot be read as an open PEM key") from None
        if not isinstance(loaded, Ed25519PrivateKey):
            raise NotASecretKey(why="it is a key of another kind")
        return cls(loaded)

    def pem(self) -> bytes:
        """The key as a file: PKCS #8, not encrypted. Whoever reads it can sign as its owner."""
        return self.loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, data: bytes) -> bytes:
        """The signature of these bytes."""
        return self.loaded.sign(data)

    def __repr__(self) -> str:
        return f"SecretKey(of {self.public.raw.hex()})"
