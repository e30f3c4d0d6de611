"""Envelopes through a carrier that reads, forges, repeats, reorders and loses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random

import msgspec
import pytest

from nomospace.node import envelopes as module
from nomospace.node.envelopes import (
    ANSWERS_MAX,
    ASK_S,
    LATELY_S,
    SENDERS_MAX,
    SESSIONS_MAX,
    BadEnvelope,
    Here,
    Mailroom,
    Who,
)
from nomospace.node.identity import Identity
from nomospace.node.peer_sessions import WINDOW
from nomospace.node.peering import LINK_VERSIONS
from tests.trust_folder import TrustFolder

MAX = 1 << 20


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> TrustFolder:
    made = TrustFolder(tmp_path_factory.mktemp("trust"))
    for name in ("ann", "bob", "eve"):
        made.host(name)
    return made


def fresh(seed: int = 1) -> Callable[[int], bytes]:
    return Random(seed).randbytes


SEEDS = count(1)


def room(
    trust: TrustFolder | None, name: str, *, life: int = 1, files: str = "", net: str = "nomos"
) -> Mailroom:
    draw = fresh(next(SEEDS))
    identity = None if trust is None else Identity(trust.folder, files or name)
    return Mailroom(name, identity, draw=draw, life=life, net=net)


def acquaint(one: Mailroom, other: Mailroom, now: float = 0.0) -> None:
    """One asks the other who it is; from then on both can send."""
    question = one.ask(other.name, now)
    assert question is not None
    _, _, [(to, answer)] = other.open(question, now)
    assert to == one.name
    _, _, [(to, confirmed)] = one.open(answer, now)
    assert to == other.name
    assert other.open(confirmed, now) == (one.name, [], [])


def pack(
    sender: Mailroom, to: str, *frames: bytes, now: float = 0.0, room: int = MAX
) -> list[bytes]:
    """Envelopes for one host."""
    made = sender.pack(to, list(frames), room, now)
    assert all(receiver == to for receiver, _ in made)
    return [data for _, data in made]


def send(sender: Mailroom, receiver: Mailroom, *frames: bytes, now: float = 0.0) -> list[bytes]:
    """Frames that arrive."""
    return [
        frame
        for data in pack(sender, receiver.name, *frames, now=now)
        for frame in receiver.open(data, now)[1]
    ]


@pytest.fixture(params=["sealed", "clear"])
def pair(request: pytest.FixtureRequest, trust: TrustFolder) -> tuple[Mailroom, Mailroom]:
    with_trust = trust if request.param == "sealed" else None
    ann, bob = room(with_trust, "ann"), room(with_trust, "bob")
    acquaint(bob, ann)
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
    for one, other in ((ann, bob), (bob, ann)):  # one question is enough for both directions
        [data] = pack(one, other.name, *frames)
        assert other.open(data, 1.0) == (one.name, frames, [])
        assert refused(other, data) == "replayed"
    assert bob.neighbours(5.0) == ("ann",)
    assert bob.neighbours(7.0) == ()


def test_what_is_for_all_is_sealed_for_each(trust: TrustFolder) -> None:
    ann, bob, eve = (room(trust, name) for name in ("ann", "bob", "eve"))
    acquaint(ann, bob)
    acquaint(ann, eve)
    (all, here), *rest = ann.pack("", [b"a secret"], MAX, 0.0)
    assert all == ""
    assert here == ann.here(0.0)
    assert {to for to, _ in rest} == {"bob", "eve"}
    assert not any(b"secret" in data for _, data in rest)
    for to, data in rest:
        assert {"bob": bob, "eve": eve}[to].open(data, 0.0)[1] == [b"a secret"]
    assert len(ann.pack("", [b"x"], MAX, 0.1)) == 2, "who is there is not told that often"
    # Who knows it has no question; who does not, has.
    assert bob.open(here, 0.0) == ("ann", [], [])
    cid = room(trust, "bob", life=2)
    assert cid.open(here, 0.0)[2][0][0] == "ann"
    # Hosts that were not heard for long get nothing.
    assert [to for to, _ in ann.pack("", [b"x"], MAX, LATELY_S + 1)] == [""]


def test_nobody_else_can_read_what_is_sent(trust: TrustFolder) -> None:
    ann, bob, eve = (room(trust, name) for name in ("ann", "bob", "eve"))
    words = [ann.ask("bob", 0.0) or b""]
    words += [data for _, data in bob.open(words[0], 0.0)[2]]
    words += [data for _, data in ann.open(words[1], 0.0)[2]]
    bob.open(words[2], 0.0)
    [data] = pack(ann, "bob", b"a secret")
    [again] = pack(ann, "bob", b"a secret")
    assert data != again
    assert b"secret" not in data
    for word in (*words, data):  # one that hears all of it, and is a good host otherwise
        assert outcome(eve, word) == ""
    assert bob.open(data, 0.0)[1] == [b"a secret"]
    assert eve._known == {}


def test_envelopes_may_come_out_of_order_but_each_counts_once() -> None:
    ann, bob = room(None, "ann"), room(None, "bob")
    acquaint(bob, ann)
    sent = [pack(ann, "bob", b"%d" % n)[0] for n in range(WINDOW)]
    Random(3).shuffle(sent)
    opened = [bob.open(data, 0.0)[1][0] for data in sent]
    assert sorted(opened, key=int) == [b"%d" % n for n in range(WINDOW)]
    for data in sent:
        assert refused(bob, data) == "replayed"
    late = pack(ann, "bob", b"late")[0]
    for _ in range(WINDOW):
        send(ann, bob, b"x")
    assert refused(bob, late) == "replayed"


def test_who_is_not_known_is_asked_first_and_not_too_often(trust: TrustFolder) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    [question] = pack(ann, "bob", b"1", b"2")
    assert ann.dropped == 2
    assert pack(ann, "bob", b"3", now=ASK_S / 2) == []
    [later] = pack(ann, "bob", b"3", now=ASK_S)  # again, with another number
    _, _, [(_, answer)] = bob.open(question, 0.0)
    assert refused(ann, answer) == "replayed"  # that question is no longer open
    _, _, [(_, answer)] = bob.open(later, 0.0)
    [(_, confirmed)] = ann.open(answer, ASK_S)[2]
    assert bob.open(confirmed, ASK_S) == ("ann", [], [])
    assert send(ann, bob, b"4", now=2.0) == [b"4"]


def test_both_may_ask_at_once(trust: TrustFolder) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    mine, theirs = ann.ask("bob", 0.0), bob.ask("ann", 0.0)
    assert mine is not None
    assert theirs is not None
    [(_, one)] = bob.open(mine, 0.0)[2]
    [(_, other)] = ann.open(theirs, 0.0)[2]
    back = ann.open(one, 0.0)[2] + bob.open(other, 0.0)[2]
    for sender, receiver in ((ann, bob), (bob, ann)):
        assert send(sender, receiver, b"x") == [b"x"]
    for to, data in back:
        assert {"ann": ann, "bob": bob}[to].open(data, 0.0)[1] == []
    for sender, receiver in ((ann, bob), (bob, ann)):
        assert send(sender, receiver, b"y") == [b"y"]


def test_an_old_envelope_is_not_new_to_a_host_that_forgot_everything(trust: TrustFolder) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(bob, ann)
    kept = pack(ann, "bob", b"pay")[0]
    question = bob.ask("ann", 5.0)
    assert question is not None
    kept_answer = ann.open(question, 5.0)[2][0][1]
    assert bob.open(kept, 0.0)[1] == [b"pay"]
    again = room(trust, "bob", life=2)
    assert again.open(kept, 10.0)[1] == []  # asked for: nobody knows ann yet
    assert refused(again, kept_answer, 10.0) == "replayed"
    acquaint(again, ann, 20.0)
    assert again.open(kept, 20.0)[1] == []  # of a session that is not this host's


def test_a_question_that_is_repeated_gains_nothing(trust: TrustFolder) -> None:
    """Who kept it gets an answer that it cannot use, and takes nobody's place."""
    ann, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(bob, ann)
    kept = bob.ask("ann", 5.0)
    assert kept is not None
    [(_, answer)] = ann.open(kept, 5.0)[2]
    [(_, confirmed)] = bob.open(answer, 5.0)[2]
    ann.open(confirmed, 5.0)
    for n in range(2 * SESSIONS_MAX):
        [(_, answer)] = ann.open(kept, 6.0)[2]
        assert refused(bob, answer, 6.0) == "replayed"
        assert send(ann, bob, b"%d" % n, now=6.0) == [b"%d" % n]
    assert len(ann._known["bob"].sessions) == SESSIONS_MAX


def test_a_later_life_takes_over_and_the_earlier_is_refused(trust: TrustFolder) -> None:
    first, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(first, bob)
    second = room(trust, "ann", life=2)
    assert bob.open(second.here(1.0), 1.0)[2]  # who are you now?
    acquaint(second, bob, 2.0)
    assert send(second, bob, b"x", now=2.0) == [b"x"]
    assert send(bob, second, b"x", now=2.0) == [b"x"]
    assert bob.open(pack(first, "bob", b"x")[0], 3.0)[1] == []
    question = first.ask("bob", 9.0)
    assert question is not None
    assert refused(bob, question, 9.0) == "replayed"


@pytest.mark.parametrize("place", [0, 1, 12, 20, 25, 30, -20, -1])
def test_what_was_altered_on_the_way_is_not_opened(trust: TrustFolder, place: int) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(bob, ann)
    data = bytearray(pack(ann, "bob", b"frame")[0])
    data[place] ^= 1
    assert outcome(bob, bytes(data)) in ("forged", "garbage", "")
    data[place] ^= 1
    assert bob.open(bytes(data), 0.0)[1] == [b"frame"]


def test_the_many_ways_to_pretend(trust: TrustFolder) -> None:
    ann, bob = room(trust, "ann"), room(trust, "bob")
    acquaint(bob, ann)
    # Another host asks in ann's name, with its own certificate.
    eve = room(trust, "ann", files="eve")
    asked = eve.ask("bob", 0.0)
    assert asked is not None
    assert refused(bob, asked) == "name-mismatch"
    # It answers so.
    question = bob.ask("ann", 10.0)
    assert question is not None
    assert refused(bob, eve.open(question, 10.0)[2][0][1], 10.0) == "name-mismatch"
    # It has ann's certificate, which anyone may see, and not her key.
    assert eve._identity is not None
    assert ann._identity is not None
    eve._identity.papers.certificate = ann._identity.papers.certificate
    question = bob.ask("ann", 20.0)
    assert question is not None
    assert refused(bob, eve.open(question, 20.0)[2][0][1], 20.0) == "forged"
    asked = eve.ask("bob", 20.0)
    assert asked is not None
    assert refused(bob, asked, 20.0) == "forged"
    # It puts a share of its own into what she has signed.
    asked = ann.ask("bob", 20.0)
    assert asked is not None
    share = msgspec.msgpack.decode(asked[65:])[5]
    assert refused(bob, asked.replace(share, bytes(32)), 20.0) == "forged"
    # No signature at all.
    asked = room(None, "ann").ask("bob", 0.0)
    assert asked is not None
    assert refused(bob, asked) == "unsigned"
    # What is sealed in eve's own session is not ann's.
    eve = room(trust, "eve")
    acquaint(eve, bob)
    mine = msgspec.msgpack.decode(pack(eve, "bob", b"x")[0][1:])
    hers = msgspec.msgpack.decode(pack(ann, "bob", b"x")[0][1:])
    stolen = b"\0" + msgspec.msgpack.encode([*hers[:3], hers[3] + 9, mine[4]])
    assert refused(bob, stolen) == "forged"
    # What was meant for eve is not for bob; what was said in another net counts for nothing.
    for_eve = ann.ask("eve", 0.0)
    assert for_eve is not None
    assert bob.open(for_eve, 0.0) == ("ann", [], [])
    elsewhere = room(trust, "ann", net="other").ask("bob", 0.0)
    assert elsewhere is not None
    assert refused(bob, elsewhere) == "forged"
    # One's own words come back.
    assert bob.open(bob.here(0.0), 0.0) == ("bob", [], [])


def test_shares_that_are_none_make_no_session(trust: TrustFolder) -> None:
    """A point that gives everybody the same key would let everybody read."""
    here = Identity(trust.folder, "ann")
    bob = room(trust, "bob")
    for share in (bytes(32), b"", b"short"):
        body = msgspec.msgpack.encode(
            Who("ann", "bob", 1, b"n" * 16, share, here.papers.certificate.der)
        )
        signed = here.papers.key.sign(b"nomos-envelope/2\0nomos\0" + body)
        assert refused(bob, bytes([64]) + signed + body) == "garbage"
    assert bob._known == {}


def test_a_renewed_key_is_learnt_and_a_revoked_one_forgotten(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path)
    for name in ("ann", "bob"):
        trust.host(name)
    here, there = Identity(trust.folder, "bob"), Identity(trust.folder, "ann")
    ann = Mailroom("ann", there, net="nomos", life=1, draw=fresh())
    bob = Mailroom("bob", here, net="nomos", life=1, draw=fresh(2))
    acquaint(ann, bob)
    trust.host("ann")
    assert there.poll()
    assert send(ann, bob, b"x") == [b"x"]  # the session is as good as it was
    acquaint(ann, bob, 5.0)
    assert send(ann, bob, b"x", now=5.0) == [b"x"]
    assert bob.check_again() == []
    trust.revoke("ann")
    assert here.poll()
    [error] = bob.check_again()
    assert "was revoked" in error.why
    assert bob.open(pack(ann, "bob", b"x")[0], 9.0)[1] == []
    assert [to for to, _ in bob.pack("", [b"x"], MAX, 9.0)] == [""], "nothing goes to it either"
    question = bob.ask("ann", 20.0)
    assert question is not None
    assert refused(bob, ann.open(question, 20.0)[2][0][1], 20.0) == "certificate-refused"
    question = ann.ask("bob", 30.0)
    assert question is not None
    assert refused(bob, question, 30.0) == "certificate-refused"


def test_large_frames_go_in_parts(pair: tuple[Mailroom, Mailroom]) -> None:
    ann, bob = pair
    big = Random(1).randbytes(100_000)
    sent = pack(ann, "bob", b"small", big, b"after", room=10_000)
    assert len(sent) == 15
    assert max(map(len, sent)) <= 10_000
    got = [frame for data in sent for frame in bob.open(data, 0.0)[1]]
    assert got == [b"small", big, b"after"]
    assert bob._parts_bytes == 0
    # A part that is lost takes the frame with it, and only that.
    sent = pack(ann, "bob", big, b"after", room=10_000)
    del sent[4]
    got = [frame for data in sent for frame in bob.open(data, 0.0)[1]]
    assert got == [b"after"]
    assert bob._parts_bytes == 0


def test_parts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = room(None, "ann"), room(None, "bob")
    acquaint(ann, bob)
    monkeypatch.setattr(module, "FRAME_BYTES_MAX", 50_000)
    sent = pack(ann, "bob", b"x" * 100_000, room=10_000)
    whats = []
    for data in sent:
        whats.append(outcome(bob, data))
        assert bob._parts_bytes <= 50_004
    assert "too-large" in whats
    monkeypatch.setattr(module, "PARTS_BYTES_MAX", 10_000)
    assert bob.open(pack(ann, "bob", b"x" * 30_000, room=10_000)[0], 0.0)[1] == []
    cid = room(None, "cid")
    acquaint(cid, bob)
    assert refused(bob, pack(cid, "bob", b"x" * 30_000, room=10_000)[0]) == "too-large"


def test_garbage_is_garbage(pair: tuple[Mailroom, Mailroom]) -> None:
    ann, bob = pair
    rng = Random(5)
    good = pack(ann, "bob", b"frame")[0]
    for n in range(300):
        data = rng.randbytes(rng.randrange(200)) if n % 2 else good[: rng.randrange(len(good))]
        assert outcome(bob, data) in ("garbage", "forged", "unsigned", "replayed", "bad-frame", "")
    assert bob.open(good, 0.0)[1] == [b"frame"]


def test_strangers_cannot_make_a_host_remember_or_sign_without_end() -> None:
    bob = room(None, "bob")
    for n in range(SENDERS_MAX + 100):
        bob.open(room(None, f"x{n}").here(0.0), n / ANSWERS_MAX / 10)
    assert len(bob._asked) == ANSWERS_MAX
    assert bob.ask("late", 0.9) is None
    assert bob.ask("late", 1.0) is not None
    ann = room(None, "ann")
    questions = [room(None, f"x{n}").ask("ann", 0.0) for n in range(ANSWERS_MAX + 50)]
    assert sum(len(ann.open(asked, 0.5)[2]) for asked in questions if asked) == ANSWERS_MAX
    assert questions[0] is not None
    assert ann.open(questions[0], 1.5)[2]


def test_a_host_is_asked_who_it_is_only_if_it_speaks_a_version_of_ours() -> None:
    bob, ours = room(None, "bob"), LINK_VERSIONS
    there = Here("ann", 1, ours.oldest, ours.newest + 5)
    assert bob.open(b"\0" + msgspec.msgpack.encode(there), 0.0)[2]
    for versions in ((1, 0), (98, 99)):
        word = b"\0" + msgspec.msgpack.encode(Here("eve", 1, *versions))
        with pytest.raises(BadEnvelope, match=f"speaks version {versions[0]}.*this host {ours}"):
            bob.open(word, 0.0)
