"""The courier: a parcel that is lost comes again, however much goes on meanwhile."""

from __future__ import annotations

from itertools import pairwise

from nomospace.protocols.births import BEFORE, BirthNews, Births
from nomospace.protocols.courier import PAUSE_MAX_US, PAUSE_MIN_US, Courier, Parcel
from nomospace.protocols.transfers import Transfers

EVERY_US = PAUSE_MIN_US // 2


def test_a_lost_parcel_comes_again_while_others_keep_coming() -> None:
    """Each later parcel is answered with the receipt of the last one before the gap."""
    here, there = Courier(Transfers(), now=0), Courier(Transfers(), now=0)
    here.send("b", "lost on its way", now=0)
    came: list[str] = []
    now = 0
    for turn in range(20):
        now += EVERY_US
        _, frame = here.send("b", f"parcel {turn}", now=now)
        for again in (frame, *[frame for _, frame in here.tick(now=now)]):
            placed, receipt = there.receive("a", again, now=now)
            came += [what for _, what in placed]
            assert receipt is not None
            here.book.taken("b", receipt.number)
            here.receive("b", receipt, now=now)
    assert came == ["lost on its way", *[f"parcel {turn}" for turn in range(20)]]


def test_news_of_the_peer_puts_the_next_try_off() -> None:
    here = Courier(Transfers(), now=0)
    for _ in range(2):
        here.send("b", "parcel", now=0)
    assert here.next_deadline() == PAUSE_MIN_US
    _, receipt = Courier(Transfers(), now=0).receive("a", here.send("b", "late", now=0)[1], now=0)
    assert receipt is not None
    here.receive("b", receipt, now=100)
    assert here.next_deadline() == 100 + PAUSE_MIN_US
    here.receive("b", receipt, now=200)  # the same again is no news
    assert here.next_deadline() == 100 + PAUSE_MIN_US


def test_a_parcel_comes_again_and_again_while_the_peer_is_silent() -> None:
    """After pauses that double, up to a limit: a host that is away for a day costs little."""
    here = Courier(Transfers(), now=0)
    _, frame = here.send("b", "a parcel", now=0)
    tries = [0]
    for _ in range(8):
        due = here.next_deadline()
        assert due is not None
        assert here.tick(now=due) == [("b", frame)]
        tries.append(due)
    pauses = [later - sooner for sooner, later in pairwise(tries)]
    doubled = [min(PAUSE_MIN_US << n, PAUSE_MAX_US) for n in range(8)]
    assert pauses == doubled


def test_what_waits_under_other_births_goes_out_at_once() -> None:
    """And what had come early, for the births before, is void."""
    births = Births(BEFORE)
    here = Courier(Transfers(), births=births, now=0)
    births.learn("b", BirthNews(50, BEFORE, anew=False))
    here.send("b", "a parcel", now=0)
    assert here.receive("b", Parcel(2, "early", 50, BEFORE), now=0)[0] == []
    births.learn("b", BirthNews(70, BEFORE, anew=True))
    here.book.renew("b")
    here.renewed("b", now=5)
    assert here.tick(now=5) == [("b", Parcel(1, "a parcel", BEFORE, 70))]
    assert here.receive("b", Parcel(1, "first", 70, BEFORE), now=6)[0] == [(1, "first")]
