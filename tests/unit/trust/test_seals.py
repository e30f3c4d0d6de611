"""Seals: one signature for many messages, and none of them can be another."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from nomospace.terms import Term, t, term
from nomospace.trust import seals
from nomospace.trust.certificates import read_claim
from nomospace.trust.keys import PublicKey
from nomospace.trust.moments import DAY
from nomospace.trust.revocation import Revocations, read_list
from nomospace.trust.seals import (
    BATCH_MAX,
    SEAL_BYTES_MAX,
    CannotSeal,
    NotAuthentic,
    Signer,
    Verifier,
    digest_post,
)
from tests.unit.trust.parties import (
    ADMIN,
    ANN,
    CONTROLLER,
    HOST,
    MALLORY,
    NOW,
    agent,
    controller,
    host,
    key,
    role,
)

SIGNER = Signer(CONTROLLER, controller())


def digests(count: int) -> list[bytes]:
    return [digest_post(("ann@x", "bob@y", n), "ab12", "ann@x", t.hello(n)) for n in range(count)]


def verifier() -> Verifier:
    return Verifier(ADMIN.public, Revocations())


def changed(seal: bytes, place: int, value: object) -> bytes:
    """A seal with one part replaced: 1 certificate, 2 signature, 3 count, 4 place, 5 path."""
    parts = msgspec.msgpack.decode(seal)
    parts[place] = value
    return msgspec.msgpack.encode(parts)


def part(seal: bytes, place: int) -> Any:
    return msgspec.msgpack.decode(seal)[place]


def refused(digest: bytes, seal: bytes, reason: str, *, now: int = NOW) -> NotAuthentic:
    with pytest.raises(NotAuthentic) as caught:
        verifier().check(digest, seal, now=now)
    assert caught.value.reason == reason, caught.value
    return caught.value


# -- what is sealed checks out -----------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 127, BATCH_MAX])
def test_every_message_of_a_batch(count: int) -> None:
    made, checking = digests(count), verifier()
    for digest, seal in zip(made, SIGNER.seal(made), strict=True):
        found = checking.check(digest, seal, now=NOW)
        assert (found.subject, found.key) == ("ward-1", CONTROLLER.public)


def test_no_messages_no_seals() -> None:
    assert SIGNER.seal([]) == []


def test_more_than_a_batch_is_sealed_in_parts() -> None:
    made = digests(BATCH_MAX + 1)
    sealed = SIGNER.seal(made)
    assert part(sealed[0], 2) == part(sealed[-2], 2) != part(sealed[-1], 2)
    assert verifier().check(made[-1], sealed[-1], now=NOW).subject == "ward-1"
    assert verifier().check(made[-2], sealed[-2], now=NOW).subject == "ward-1"


def test_a_batch_costs_one_check_of_a_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    made = digests(32)
    sealed = SIGNER.seal(made)
    asked = counted(monkeypatch)
    checking = verifier()
    for digest, seal in zip(made, sealed, strict=True):
        checking.check(digest, seal, now=NOW)
    assert asked == ["certificate", "root"]
    assert len(max(sealed, key=len)) < 1_000


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which checks of signatures were made, from now on."""
    asked: list[str] = []
    real: Callable[[PublicKey, bytes, bytes], bool] = PublicKey.signed

    def signed(self: PublicKey, data: bytes, signature: bytes) -> bool:
        asked.append("root" if data.startswith(b"nomospace seal") else "certificate")
        return real(self, data, signature)

    monkeypatch.setattr(PublicKey, "signed", signed)
    return asked


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = digests(3)
    singles = [SIGNER.seal([digest])[0] for digest in made]
    monkeypatch.setattr(seals, "ROOTS_MAX", 2)
    checking = Verifier(ADMIN.public, Revocations())
    for digest, seal in zip(made, singles, strict=True):
        checking.check(digest, seal, now=NOW)
    asked = counted(monkeypatch)
    checking.check(made[2], singles[2], now=NOW)
    checking.check(made[1], singles[1], now=NOW)
    assert asked == []
    checking.check(made[0], singles[0], now=NOW)
    assert asked == ["root"]
    monkeypatch.setattr(seals, "CONTROLLERS_MAX", 1)
    other = Signer(HOST, ADMIN.issue_controller("b", HOST.public, serial=31, now=NOW, days=1))
    checking.check(made[0], other.seal(made[:1])[0], now=NOW)
    asked.clear()
    checking.check(made[0], singles[0], now=NOW)
    assert asked == ["certificate"]


# -- what a digest covers ----------------------------------------------------------------------

ONE: tuple[tuple[str, str, int], str, str, Term] = (("a@x", "b@y", 1), "ab", "a@x", t.pay(5))


@pytest.mark.parametrize(
    "other",
    [
        (("c@x", "b@y", 1), *ONE[1:]),
        (("a@x", "c@y", 1), *ONE[1:]),
        (("a@x", "b@y", 2), *ONE[1:]),
        (ONE[0], "ac", *ONE[2:]),
        (*ONE[:2], "c@x", ONE[3]),
        (*ONE[:3], t.pay(6)),
        (*ONE[:3], t.pay(5.0)),
        (*ONE[:3], t.pay("5")),
        (("a@x", "b@y1", 1), "", "aba@x", ONE[3]),
    ],
    ids=["sender", "receiver", "number", "law", "speaker", "message", "float", "text", "shifted"],
)
def test_a_seal_is_for_one_message_only(
    other: tuple[tuple[str, str, int], str, str, Term],
) -> None:
    mine, theirs = digest_post(*ONE), digest_post(*other)
    assert mine != theirs
    (seal,) = SIGNER.seal([mine])
    verifier().check(mine, seal, now=NOW)
    refused(theirs, seal, "trust.wrong-signature")


# -- attacks -----------------------------------------------------------------------------------


def test_no_seal_and_no_sense() -> None:
    (digest,) = digests(1)
    assert "has no seal" in str(refused(digest, b"", "trust.no-seal"))
    refused(digest, b"\xff", "trust.bad-seal")
    refused(digest, b"x" * (SEAL_BYTES_MAX + 1), "trust.bad-seal")
    (seal,) = SIGNER.seal([digest])
    refused(digest, seal[:-1], "trust.bad-seal")
    refused(digest, changed(seal, 0, 2), "trust.bad-seal")
    error = refused(digest, changed(seal, 1, b""), "trust.not-a-certificate")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_path_that_was_tampered_with() -> None:
    made = digests(6)
    sealed = SIGNER.seal(made)
    for place, (digest, seal) in enumerate(zip(made, sealed, strict=True)):
        path = part(seal, 5)
        for bad in (path[:-32], path + bytes(32), path[:-1], path + b"x", b"", bytes(len(path))):
            assert bad != path
            with pytest.raises(NotAuthentic):
                verifier().check(digest, changed(seal, 5, bad), now=NOW)
        for elsewhere in (-1, place ^ 1, place + 2, 6, 2**40):
            with pytest.raises(NotAuthentic):
                verifier().check(digest, changed(seal, 4, elsewhere), now=NOW)
        for count in (-1, 0, 1, 4, 5, 7, 8, 2**40):
            with pytest.raises(NotAuthentic):
                verifier().check(digest, changed(seal, 3, count), now=NOW)
        flipped = bytes([part(seal, 2)[0] ^ 1]) + part(seal, 2)[1:]
        refused(digest, changed(seal, 2, flipped), "trust.wrong-signature")


def test_the_seal_of_a_neighbour() -> None:
    made = digests(4)
    sealed = SIGNER.seal(made)
    for mine in range(4):
        for other in range(4):
            if mine != other:
                refused(made[mine], sealed[other], "trust.wrong-signature")


def test_an_inner_node_is_no_message() -> None:
    """Who knows a batch knows its inner nodes; none can be shown as a digest that was sealed."""
    made = digests(4)
    sealed = SIGNER.seal(made)
    leaves = [sha256(b"\x00" + digest).digest() for digest in made]
    inner = sha256(b"\x01" + leaves[0] + leaves[1]).digest()
    shorter = changed(changed(sealed[0], 3, 2), 5, part(sealed[0], 5)[32:])
    for shown in (leaves[0], inner, leaves[0] + leaves[1]):
        refused(shown, shorter, "trust.wrong-signature")


def test_a_root_is_remembered_for_its_own_controller_only() -> None:
    """A batch that checked out does not make another certificate's seal good."""
    (digest,) = digests(1)
    (seal,) = SIGNER.seal([digest])
    other = ADMIN.issue_controller("ward-2", HOST.public, serial=31, now=NOW, days=1)
    checking = verifier()
    checking.check(digest, seal, now=NOW)
    taken = Signer(HOST, other).seal([digest])[0]
    checking.check(digest, taken, now=NOW)
    with pytest.raises(NotAuthentic) as caught:
        checking.check(digest, changed(seal, 1, part(taken, 1)), now=NOW)
    assert caught.value.reason == "trust.wrong-signature"


def test_a_controller_of_another_authority() -> None:
    (digest,) = digests(1)
    forged = Signer(CONTROLLER, controller(MALLORY)).seal([digest])[0]
    refused(digest, forged, "trust.untrusted-issuer")


def test_a_certificate_for_something_else() -> None:
    """A host, an agent and a role are no controllers, also with a signature that is right."""
    (digest,) = digests(1)
    for data, secret in [(host(), HOST), (agent(), ANN), (role(), ANN), (ADMIN.pem, key(1))]:
        with pytest.raises(CannotSeal, match="the certificate is the"):
            Signer(secret, data)
    signer = Signer(CONTROLLER, controller())
    signer._key = HOST
    signer._der = read_claim(host()).der
    refused(digest, signer.seal([digest])[0], "trust.wrong-purpose")


def test_a_key_that_is_not_the_certificates() -> None:
    with pytest.raises(CannotSeal, match="not that of the certificate"):
        Signer(HOST, controller())
    (digest,) = digests(1)
    signer = Signer(CONTROLLER, controller())
    signer._key = HOST
    refused(digest, signer.seal([digest])[0], "trust.wrong-signature")


def test_out_of_time_and_revoked_also_when_remembered() -> None:
    (digest,) = digests(1)
    (seal,) = SIGNER.seal([digest])
    refused(digest, seal, "trust.certificate-not-yet-valid", now=NOW - DAY)
    revocations = Revocations()
    checking = Verifier(ADMIN.public, revocations)
    checking.check(digest, seal, now=NOW)
    with pytest.raises(NotAuthentic) as caught:
        checking.check(digest, seal, now=SIGNER.not_after + 1)
    assert caught.value.reason == "trust.certificate-expired"
    checking.check(digest, seal, now=NOW)
    revocations.learn(read_list(ADMIN.revoke({30: NOW}, number=1, now=NOW), ADMIN.public))
    with pytest.raises(NotAuthentic) as caught:
        checking.check(digest, seal, now=NOW)
    assert caught.value.reason == "trust.certificate-revoked"


@settings(max_examples=100)
@given(st.data())
def test_a_seal_with_any_byte_changed(data: st.DataObject) -> None:
    made = digests(5)
    place = data.draw(st.integers(0, 4))
    seal = bytearray(SIGNER.seal(made)[place])
    at = data.draw(st.integers(0, len(seal) - 1))
    seal[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(NotAuthentic):
        verifier().check(made[place], bytes(seal), now=NOW)


def test_a_message_that_is_hard_to_write_down_has_a_digest_too() -> None:
    large = term(str(2**200))
    assert digest_post(("a@x", "b@y", 1), "ab", "a@x", large) != digest_post(*ONE)
