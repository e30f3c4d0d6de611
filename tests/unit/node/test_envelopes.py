"""Envelopes through a carrier that reads, forges, repeats, reorders and loses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random

import pytest

from nomospace.node import envelopes as module
from nomospace.node.envelopes import (
    ANSWERS_MAX,
    ASK_S,
    SENDERS_MAX,
    WINDOW,
    BadEnvelope,
    Mailroom,
)
from nomospace.node.identity import Identity
from tests.trust_folder import TrustFolder

MAX = 1 << 20


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> TrustFolder:
    made = TrustFolder(tmp_path_factory.mktemp("trust"))
    for name in ("ann", "bob", "eve"):
        made.host(name)
    return made


def fresh() -> Callable[[], bytes]:
    numbers = count(1)
    return lambda: next(numbers).to_bytes(16, "big")


def room(
    trust: TrustFolder | None, name: str, *, life: int = 1, files: str = "", net: str = "nomos"
) -> Mailroom:
    if trust is None:
        return Mailroom(name, net=net, life=life, nonce=fresh())
    identity = Identity(trust.folder, files or name)
    return Mailroom(
        name,
        net=net,
        life=life,
        nonce=fresh(),
        key=identity.key,
        certificate=identity.certificate.der,
        check=identity.check_host,
        again=identity.check_again,
    )


def acquaint(sender: Mailroom, receiver: Mailroom, now: float = 0.0) -> None:
    """The receiver asks the sender who it is."""
    question = receiver.ask(sender.name, now)
    assert question is not None
    _, _, [(to, answer)] = sender.open(question, now)
    assert to == receiver.name
    assert receiver.open(answer, now) == (sender.name, [], [])


@pytest.fixture(params=["signed", "clear"])
def pair(request: pytest.FixtureRequest, trust: TrustFolder) -> tuple[Mailroom, Mailroom]:
    with_trust = trust if request.param == "signed" else None
    ann, bob = room(with_trust, "ann"), room(with_trust, "bob")
    acquaint(ann, bob)
    return ann, bob


def refused(receiver: Mailroom, data: bytes, now: float = 0.0) -> str:
    with pytest.raises(BadEnvelope) as caught:
        receiver.open(data, now)
    assert str(caught.value)
    return caught.value.what


def outcome(receiver: Mailroom, data: bytes) -> str:
    """Why an envelope is not opened; nothing when it was opened and held no frame."""
    try:
        assert receiver.open(data, 0.0)[1] == []
    except BadEnvelope as error:
        return error.what
    return ""


def test_frames_arrive_once_and_in_order(pair: tuple[Mailroom, Mailroom]) -> None:
    ann, bob = pair
    frames = [b"", b"one", b"x" * 1_000]
    [data] = ann.pack("bob", frames, MAX)
    assert bob.open(data, 1.0) == ("ann", frames, [])
    assert refused(bob, data) == "replayed"
    [to_all] = ann.pack("", [b"all"], MAX)
    assert bob.open(to_all, 1.0) == ("ann", [b"all"], [])
    assert bob.neighbours(5.0) == ("ann",)
    assert bob.neighbours(7.0) == ()


def test_envelopes_may_come_out_of_order_but_each_counts_once() -> None:
    ann, bob = room(None, "ann"), room(None, "bob")
    acquaint(ann, bob)
    sent = [ann.pack("bob", [b"%d" % n], MAX)[0] for n in range(WINDOW)]
    Random(3).shuffle(sent)
    opened = [bob.open(data, 0.0)[1][0] for data in sent]
    assert sorted(opened, key=int) == [b"%d" % n for n in range(WINDOW)]
    for data in sent:
        assert refused(bob, data) == "replayed"
    late = ann.pack("bob", [b"late"], MAX)[0]
    for _ in range(WINDOW):
        bob.open(ann.pack("bob", [b"x"], MAX)[0], 0.0)
    assert refused(bob, late) == "replayed"


def test_who_is_not_known_is_asked_first_and_not_too_often(trust: TrustFolder) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    [lost] = ann.pack("bob", [b"1"], MAX)
    _, frames, [(to, question)] = bob.open(lost, 0.0)
    assert (frames, to) == ([], "ann")
    assert bob.open(ann.pack("bob", [b"2"], MAX)[0], ASK_S / 2) == ("ann", [], [])
    assert bob.open(ann.pack("bob", [b"2"], MAX)[0], ASK_S)[2]  # again, with another number
    _, _, [(_, answer)] = ann.open(question, 0.0)
    assert refused(bob, answer) == "replayed"  # that question is no longer open
    acquaint(ann, bob, 3.0)
    assert refused(bob, lost) == "replayed"  # it is from before the answer


def test_an_old_envelope_is_not_new_to_a_host_that_forgot_everything(trust: TrustFolder) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(ann, bob)
    kept = ann.pack("bob", [b"pay"], MAX)[0]
    question = bob.ask("ann", 5.0)
    assert question is not None
    kept_answer = ann.open(question, 5.0)[2][0][1]
    assert bob.open(kept, 0.0)[1] == [b"pay"]
    again = room(trust, "bob", life=2)
    assert again.open(kept, 10.0)[1] == []  # asked for: nobody knows ann yet
    assert refused(again, kept_answer, 10.0) == "replayed"
    acquaint(ann, again, 20.0)
    assert refused(again, kept, 20.0) == "replayed"


def test_a_later_life_takes_over_and_the_earlier_is_refused(trust: TrustFolder) -> None:
    first, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(first, bob)
    second = room(trust, "ann", life=2)
    assert bob.open(second.pack("bob", [b"x"], MAX)[0], 1.0)[2]  # who are you now?
    acquaint(second, bob, 2.0)
    assert bob.open(second.pack("bob", [b"x"], MAX)[0], 2.0)[1] == [b"x"]
    assert refused(bob, first.pack("bob", [b"x"], MAX)[0], 2.0) == "replayed"


@pytest.mark.parametrize("place", [0, 1, 30, 70, 75, -1])
def test_what_was_altered_on_the_way_is_not_opened(trust: TrustFolder, place: int) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(ann, bob)
    data = bytearray(ann.pack("bob", [b"frame"], MAX)[0])
    data[place] ^= 1
    assert outcome(bob, bytes(data)) in ("forged", "garbage", "")


def test_the_many_ways_to_pretend(trust: TrustFolder) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(ann, bob)
    # Another host signs in ann's name, with its own key.
    eve = room(trust, "ann", files="eve")
    assert refused(bob, eve.pack("bob", [b"x"], MAX)[0]) == "forged"
    # It answers in ann's name, with its own certificate.
    question = bob.ask("ann", 10.0)
    assert question is not None
    assert refused(bob, eve.open(question, 10.0)[2][0][1], 10.0) == "name-mismatch"
    # It has ann's certificate, which anyone may see, and not her key.
    eve.renew(eve._key, ann._certificate)
    question = bob.ask("ann", 20.0)
    assert question is not None
    assert refused(bob, eve.open(question, 20.0)[2][0][1], 20.0) == "forged"
    # No signature at all.
    clear = room(None, "ann")
    assert refused(bob, clear.pack("bob", [b"x"], MAX)[0]) == "unsigned"
    # What was meant for eve is not for bob; what was said in another net counts for nothing.
    assert bob.open(ann.pack("eve", [b"x"], MAX)[0], 0.0) == ("ann", [], [])
    elsewhere = room(trust, "ann", net="other")
    assert refused(bob, elsewhere.pack("bob", [b"x"], MAX)[0]) == "forged"
    # One's own words come back.
    assert bob.open(bob.pack("", [b"x"], MAX)[0], 0.0) == ("bob", [], [])


def test_a_renewed_key_is_learnt_and_a_revoked_one_forgotten(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path)
    for name in ("ann", "bob"):
        trust.host(name)
    ann = room(trust, "ann")
    here = Identity(trust.folder, "bob")
    bob = Mailroom(
        "bob",
        net="nomos",
        life=1,
        nonce=fresh(),
        key=here.key,
        certificate=here.certificate.der,
        check=here.check_host,
        again=here.check_again,
    )
    acquaint(ann, bob)
    trust.host("ann")
    renewed = Identity(trust.folder, "ann")
    ann.renew(renewed.key, renewed.certificate.der)
    assert refused(bob, ann.pack("bob", [b"x"], MAX)[0]) == "forged"
    acquaint(ann, bob, 5.0)
    assert bob.open(ann.pack("bob", [b"x"], MAX)[0], 5.0)[1] == [b"x"]
    assert bob.check_again() == []
    trust.revoke("ann")
    assert here.poll()
    [error] = bob.check_again()
    assert "was revoked" in error.why
    assert bob.open(ann.pack("bob", [b"x"], MAX)[0], 9.0)[1] == []
    question = bob.ask("ann", 20.0)
    assert question is not None
    assert refused(bob, ann.open(question, 20.0)[2][0][1], 20.0) == "certificate-refused"


def test_large_frames_go_in_parts(pair: tuple[Mailroom, Mailroom]) -> None:
    ann, bob = pair
    big = Random(1).randbytes(100_000)
    sent = ann.pack("bob", [b"small", big, b"after"], 10_000)
    assert len(sent) == 15
    assert max(map(len, sent)) <= 10_000
    got = [frame for data in sent for frame in bob.open(data, 0.0)[1]]
    assert got == [b"small", big, b"after"]
    assert bob._parts_bytes == 0
    # A part that is lost takes the frame with it, and only that.
    sent = ann.pack("bob", [big, b"after"], 10_000)
    del sent[4]
    got = [frame for data in sent for frame in bob.open(data, 0.0)[1]]
    assert got == [b"after"]
    assert bob._parts_bytes == 0


def test_parts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = room(None, "ann"), room(None, "bob")
    acquaint(ann, bob)
    monkeypatch.setattr(module, "FRAME_BYTES_MAX", 50_000)
    sent = ann.pack("bob", [b"x" * 100_000], 10_000)
    whats = []
    for data in sent:
        whats.append(outcome(bob, data))
        assert bob._parts_bytes <= 50_004
    assert "too-large" in whats
    monkeypatch.setattr(module, "PARTS_BYTES_MAX", 10_000)
    assert bob.open(ann.pack("bob", [b"x" * 30_000], 10_000)[0], 0.0)[1] == []
    cid = room(None, "cid")
    acquaint(cid, bob)
    assert refused(bob, cid.pack("bob", [b"x" * 30_000], 10_000)[0]) == "too-large"


def test_garbage_is_garbage(pair: tuple[Mailroom, Mailroom]) -> None:
    ann, bob = pair
    rng = Random(5)
    good = ann.pack("bob", [b"frame"], MAX)[0]
    for n in range(300):
        data = rng.randbytes(rng.randrange(200)) if n % 2 else good[: rng.randrange(len(good))]
        assert outcome(bob, data) in ("garbage", "forged", "unsigned", "replayed", "bad-frame", "")
    assert bob.open(good, 0.0)[1] == [b"frame"]


def test_strangers_cannot_make_a_host_remember_or_sign_without_end() -> None:
    bob = room(None, "bob")
    for n in range(SENDERS_MAX + 100):
        bob.open(room(None, f"x{n}").pack("bob", [b"x"], MAX)[0], 0.0)
    assert len(bob._asked) == SENDERS_MAX
    assert bob.ask("late", 0.0) is None
    assert bob.ask("late", ASK_S) is not None
    ann = room(None, "ann")
    questions = [room(None, f"x{n}").ask("ann", 0.0) for n in range(ANSWERS_MAX + 50)]
    assert sum(len(ann.open(asked, 0.5)[2]) for asked in questions if asked) == ANSWERS_MAX
    assert questions[0] is not None
    assert ann.open(questions[0], 1.5)[2]
