"""Keys: read in every form that laws may use, and silent about their secrets."""

from __future__ import annotations

import pickle
from base64 import b64encode, urlsafe_b64encode
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given, strategies as st

from nomospace.trust.keys import NotAPublicKey, NotASecretKey, PublicKey, SecretKey

RAW = bytes.fromhex("fbf0") + bytes(range(30))  # base64 of it holds both + and /


@pytest.mark.parametrize(
    "digits",
    [
        RAW.hex(),
        RAW.hex().upper(),
        b64encode(RAW).decode(),
        b64encode(RAW).decode().rstrip("="),
        urlsafe_b64encode(RAW).decode(),
    ],
)
def test_a_key_is_read_in_each_form(digits: str) -> None:
    key = PublicKey.read(f"ed25519:{digits}")
    assert key.raw == RAW
    assert key == PublicKey(RAW)
    assert PublicKey.read(key.text) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ed25519:",
        "admin_key",
        RAW.hex(),
        f"Ed25519:{RAW.hex()}",
        f"ed25519:{RAW.hex()}0",
        f"ed25519:{RAW.hex()[:-2]}",
        f"ed25519: {RAW.hex()[:-1]}",
        f"ed25519:{'zz' * 32}",
        f"ed25519:{'é' * 64}",
        f"ed25519:{'!' * 43}",
        f"ed25519:{b64encode(RAW).decode()}=",
        "ed25519:…",
    ],
)
def test_a_placeholder_is_no_key(text: str) -> None:
    with pytest.raises(NotAPublicKey, match="is no key") as caught:
        PublicKey.read(text)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@given(st.text(max_size=80))
def test_whatever_stands_in_a_law_is_a_key_or_refused(text: str) -> None:
    with suppress(NotAPublicKey):
        assert len(PublicKey.read(f"ed25519:{text}").raw) == 32


def test_a_secret_key_signs_and_shows_nothing() -> None:
    key = SecretKey.from_seed(RAW)
    signature = key.sign(b"yes")
    assert key.public.signed(b"yes", signature)
    assert not key.public.signed(b"no", signature)
    assert not key.public.signed(b"yes", signature[:-1])
    assert not SecretKey.from_seed(bytes(32)).public.signed(b"yes", signature)
    assert RAW.hex() not in repr(key)
    assert SecretKey.from_pem(key.pem()).public == key.public


def test_new_keys_differ() -> None:
    assert SecretKey.generate().public != SecretKey.generate().public


def test_what_is_no_secret_key() -> None:
    good = SecretKey.from_seed(RAW).pem()
    other = X25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    for data, why in [
        (b"", "cannot be read"),
        (good[:-40], "cannot be read"),
        (other, "another kind"),
        (good + b" " * 5_000, "too many"),
    ]:
        with pytest.raises(NotASecretKey, match=why):
            SecretKey.from_pem(data)
    with pytest.raises(NotASecretKey, match="32 bytes, not 31"):
        SecretKey.from_seed(bytes(31))
