"""Bundles: only what a trusted publisher signed, whole and under its name, is opened."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from nomospace.errors import NomospaceError
from nomospace.trust.bundles import (
    BUNDLE_BYTES_MAX,
    BadSignature,
    BundleAltered,
    BundleTooLarge,
    NotABundle,
    NotAKey,
    PublisherKey,
    UnknownPublisher,
    WrongName,
    make_bundle,
    open_bundle,
)

ACME = PublisherKey("acme", bytes(range(32)))
MALLORY = PublisherKey("acme", bytes(range(1, 33)))  # says that it is acme
SOURCE = "class Courier: pass\n"
BUNDLE = make_bundle("courier", SOURCE, ACME)
TRUSTED = {"acme": ACME.public}


def changed(place: int, value: object, bundle: bytes = BUNDLE) -> bytes:
    parts = msgspec.msgpack.decode(bundle)
    parts[place] = value
    return msgspec.msgpack.encode(parts)


def test_what_a_trusted_publisher_signed_is_opened() -> None:
    assert open_bundle(BUNDLE, trusted=TRUSTED) == SOURCE
    assert open_bundle(BUNDLE, trusted=TRUSTED, name="courier") == SOURCE
    assert make_bundle("courier", SOURCE, ACME) == BUNDLE


def test_a_publisher_that_is_not_trusted() -> None:
    with pytest.raises(UnknownPublisher, match="'acme' is not trusted here"):
        open_bundle(BUNDLE, trusted={"other": ACME.public})


def test_another_key_than_the_publishers() -> None:
    with pytest.raises(BadSignature, match="did not sign this bundle of 'courier'"):
        open_bundle(make_bundle("courier", SOURCE, MALLORY), trusted=TRUSTED)


def test_a_source_that_was_changed() -> None:
    with pytest.raises(BundleAltered, match="'courier' was changed"):
        open_bundle(changed(3, "import os\n"), trusted=TRUSTED)


def test_a_source_changed_together_with_its_digest() -> None:
    other = msgspec.msgpack.decode(make_bundle("courier", "import os\n", MALLORY))
    mixed = changed(4, other[4], changed(3, other[3]))
    with pytest.raises(BadSignature):
        open_bundle(mixed, trusted=TRUSTED)


def test_another_name_than_the_one_that_was_signed() -> None:
    with pytest.raises(BadSignature):
        open_bundle(changed(2, "guard"), trusted=TRUSTED, name="guard")


def test_another_name_than_the_one_that_was_wanted() -> None:
    with pytest.raises(WrongName, match="of program 'courier', not 'guard'"):
        open_bundle(BUNDLE, trusted=TRUSTED, name="guard")


def test_the_border_between_two_parts_cannot_be_moved() -> None:
    one = PublisherKey("ac", ACME.secret)
    two = make_bundle("mecourier", SOURCE, one)
    mixed = changed(5, msgspec.msgpack.decode(two)[5])
    with pytest.raises(BadSignature):
        open_bundle(mixed, trusted=TRUSTED)


def test_the_size_is_limited_on_both_sides() -> None:
    with pytest.raises(BundleTooLarge, match=f"limit of {BUNDLE_BYTES_MAX:,}"):
        make_bundle("courier", "#" * BUNDLE_BYTES_MAX, ACME)
    with pytest.raises(BundleTooLarge):
        open_bundle(b"\x00" * (BUNDLE_BYTES_MAX + 1), trusted=TRUSTED)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_key_of_another_length(length: int) -> None:
    with pytest.raises(NotAKey, match=f"not {length}"):
        PublisherKey("acme", bytes(length))
    with pytest.raises(NotAKey):
        open_bundle(BUNDLE, trusted={"acme": bytes(length)})


def test_a_key_does_not_show_its_secret() -> None:
    assert repr(ACME) == "PublisherKey(publisher='acme')"


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x90", msgspec.msgpack.encode(["other", 1])])
def test_other_bytes_are_no_bundle(data: bytes) -> None:
    with pytest.raises(NotABundle):
        open_bundle(data, trusted=TRUSTED)


@settings(deadline=None, max_examples=100)
@given(place=st.integers(0, len(BUNDLE) - 1), bit=st.integers(0, 7))
def test_no_single_bit_may_change(place: int, bit: int) -> None:
    spoilt = bytearray(BUNDLE)
    spoilt[place] ^= 1 << bit
    with pytest.raises(NomospaceError):
        open_bundle(bytes(spoilt), trusted=TRUSTED)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=200))
def test_no_bytes_do_harm(data: bytes) -> None:
    with pytest.raises(NomospaceError):
        open_bundle(data, trusted=TRUSTED)
