"""Streams: once and in order inside a session, whatever the links do, and nothing outside it."""

import random

import pytest

from nomospace.protocols import streams as room
from nomospace.protocols.streams import RETRY_US, Ack, Data, Streams

SESSION = (1, "a")


def pair() -> tuple[Streams, Streams]:
    here, there = Streams(), Streams()
    here.open("b", SESSION)
    there.open("a", SESSION)
    return here, there


def test_bodies_are_numbered_from_one_and_acknowledged() -> None:
    here, there = pair()
    first, second = here.send("b", "one", now=0), here.send("b", "two", now=0)
    assert (first, second) == (Data(SESSION, 1, 0, "one"), Data(SESSION, 2, 0, "two"))
    assert there.receive("a", first, now=1) == (["one"], Ack(SESSION, 1))
    assert there.receive("a", second, now=1) == (["two"], Ack(SESSION, 2))
    assert not here.idle()
    assert here.receive("b", Ack(SESSION, 2), now=2) == ([], None)
    assert here.idle()
    assert here.next_deadline() is None


def test_what_overtook_waits_for_what_comes_before_it() -> None:
    here, there = pair()
    one, two, three = [here.send("b", n, now=0) for n in (1, 2, 3)]
    assert there.receive("a", three, now=1) == ([], Ack(SESSION, 0))
    assert there.receive("a", two, now=1) == ([], Ack(SESSION, 0))
    assert there.receive("a", one, now=1) == ([1, 2, 3], Ack(SESSION, 3))


def test_a_repeat_is_acknowledged_and_not_delivered() -> None:
    here, there = pair()
    one = here.send("b", 1, now=0)
    there.receive("a", one, now=1)
    assert there.receive("a", one, now=2) == ([], Ack(SESSION, 1))


def test_data_carries_the_acknowledgement_of_the_other_direction() -> None:
    here, there = pair()
    there.receive("a", here.send("b", "ping", now=0), now=1)
    pong = there.send("a", "pong", now=1)
    assert pong == Data(SESSION, 1, 1, "pong")
    assert here.receive("b", pong, now=2)[0] == ["pong"]
    assert here.idle()


def test_what_is_not_acknowledged_is_sent_again_after_a_while() -> None:
    here, _ = pair()
    frames = [here.send("b", n, now=0) for n in (1, 2)]
    assert here.next_deadline() == RETRY_US
    assert here.retries(now=RETRY_US - 1) == []
    assert here.retries(now=RETRY_US) == [("b", frame) for frame in frames]
    assert here.next_deadline() == 2 * RETRY_US
    here.receive("b", Ack(SESSION, 1), now=RETRY_US + 5)
    assert here.next_deadline() == 2 * RETRY_US + 5  # there was a sign of life
    assert here.retries(now=2 * RETRY_US + 5) == [("b", frames[1])]


def test_a_burst_of_retries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BURST_MAX", 3)
    here, _ = pair()
    for n in range(10):
        here.send("b", n, now=0)
    assert [frame.body for _, frame in here.retries(now=RETRY_US) if isinstance(frame, Data)] == [
        0,
        1,
        2,
    ]


def test_a_receiver_keeps_only_so_much_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "AHEAD_MAX", 2)
    here, there = pair()
    frames = [here.send("b", n, now=0) for n in (1, 2, 3, 4)]
    for frame in (frames[3], frames[1]):  # the fourth is too far ahead
        there.receive("a", frame, now=1)
    assert there.receive("a", frames[0], now=1) == ([1, 2], Ack(SESSION, 2))


def test_full_is_said_before_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "QUEUE_MAX", 2)
    here, _ = pair()
    said = []
    for n in range(3):
        said.append(here.full("b"))
        here.send("b", n, now=0)
    assert said == [False, False, True]
    assert not here.full("nobody")
    here.receive("b", Ack(SESSION, 3), now=1)
    assert not here.full("b")


def test_frames_of_another_session_are_not_heard() -> None:
    """Not in either direction, and not acknowledged: the other end sends again when both agree."""
    here, there = pair()
    old = here.send("b", "old", now=0)
    here.open("b", (2, "a"))
    new = here.send("b", "new", now=0)
    assert there.receive("a", new, now=1) == ([], None)
    assert there.receive("a", old, now=1) == (["old"], Ack(SESSION, 1))
    assert here.receive("b", Ack(SESSION, 1), now=2) == ([], None)
    assert not here.idle()  # the old acknowledgement is not for the new message
    there.open("a", (2, "a"))
    assert there.receive("a", new, now=3) == (["new"], Ack((2, "a"), 1))


def test_opening_again_forgets_what_was_under_way_and_closing_too() -> None:
    here, _ = pair()
    here.send("b", "lost", now=0)
    here.open("b", (2, "a"))
    assert here.idle()
    here.send("b", "lost too", now=0)
    here.close("b")
    here.close("b")
    assert "b" not in here
    assert here.idle()
    assert list(here) == []
    assert here.receive("b", Ack((2, "a"), 1), now=1) == ([], None)


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_lost_doubled_or_overtaken(seed: int) -> None:
    """Over a link that loses, doubles and shuffles, both ways at once."""
    rng = random.Random(seed)
    ends = dict(zip("ab", pair(), strict=True))
    got: dict[str, list[int]] = {"a": [], "b": []}
    wire: list[tuple[str, Data | Ack]] = []
    now = sent = 0
    while not (sent == 40 and all(end.idle() for end in ends.values())):
        now += RETRY_US // 4
        assert now < 400 * RETRY_US, "it never ends"
        for name, other in ("ab", "ba"):
            frames = [frame for _, frame in ends[name].retries(now=now)]
            if sent < 40:
                frames.append(ends[name].send(other, sent, now=now))
            wire += [(other, frame) for frame in frames for _ in range(rng.choice((0, 1, 1, 2)))]
        sent = min(sent + 1, 40)
        rng.shuffle(wire)
        for _ in range(rng.randrange(len(wire) + 1)):
            name, frame = wire.pop()
            other = "b" if name == "a" else "a"
            bodies, reply = ends[name].receive(other, frame, now=now)
            got[name] += bodies
            if reply is not None and rng.random() < 0.7:
                wire.append((other, reply))
    assert got == {"a": list(range(40)), "b": list(range(40))}
