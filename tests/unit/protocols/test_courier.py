"""The courier: a parcel that is lost comes again, however much goes on meanwhile."""

from __future__ import annotations

from nomospace.protocols.courier import PAUSE_MIN_US, Courier
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
    _, receipt = Courier(Transfers(got={"a": 0}), now=0).receive(
        "a", here.send("b", "late", now=0)[1], now=0
    )
    assert receipt is not None
    here.receive("b", receipt, now=100)
    assert here.next_deadline() == 100 + PAUSE_MIN_US
    here.receive("b", receipt, now=200)  # the same again is no news
    assert here.next_deadline() == 100 + PAUSE_MIN_US
