"""The lease of a host that several processes stand for; worlds of them are in `tests/sim`."""

import pytest

from nomospace.protocols.lease import (
    DRIFT,
    Fate,
    FutureToken,
    HeldLease,
    LeaseStand,
    LeaseWatch,
    OlderStore,
    OtherHostsStore,
    commit_fate,
    hold_us,
)

HELD = LeaseStand(token=3, number=7, host="ward", holder="m1 77", leased=3, beat=9, hold_us=1_000)


def _changed(**news: object) -> LeaseStand:
    fields = {name: getattr(HELD, name) for name in HELD.__struct_fields__}
    return LeaseStand(**{**fields, **news})


def test_a_commit_counts_once_and_under_its_token_alone() -> None:
    assert commit_fate(HELD, 3, 8) is Fate.OPEN
    assert commit_fate(HELD, 3, 7) is commit_fate(HELD, 3, 2) is Fate.DONE
    for number in (6, 7, 8, 9):
        assert commit_fate(HELD, 2, number) is Fate.TAKEN_OVER
        assert commit_fate(HELD, 4, number) is Fate.OLDER
    assert commit_fate(HELD, 3, 9) is Fate.OLDER


def test_nobody_may_take_a_lease_while_its_holder_may_answer() -> None:
    """Whenever the renewal was asked for, done and seen, in that order."""
    for asked, seen in ((0, 0), (0, 5), (100, 900)):
        lease, watch = HeldLease(3, hold_us=1_000, asked_at=asked), LeaseWatch("ward")
        assert not watch.saw(HELD, now=seen)
        for now in range(seen, seen + 1_200, 7):
            assert not (watch.saw(HELD, now=now) and lease.holds(now))
        assert watch.saw(HELD, now=seen + 1_000 + 1_000 // DRIFT)


def test_a_lease_that_is_renewed_is_waited_for_anew() -> None:
    watch = LeaseWatch("ward")
    assert not watch.saw(HELD, now=0)
    assert not watch.saw(_changed(beat=10), now=1_019)
    assert not watch.saw(_changed(beat=10), now=2_038)
    assert watch.saw(_changed(beat=10), now=2_039)


def test_a_lease_that_nobody_has_is_taken_at_once() -> None:
    assert LeaseWatch("ward").saw(LeaseStand(), now=5)
    assert LeaseWatch("ward").saw(_changed(holder=""), now=5)


@pytest.mark.parametrize(
    ("stand", "error"),
    [
        (_changed(host="icu"), OtherHostsStore),
        (_changed(leased=4), FutureToken),
        (_changed(token=2, leased=2), OlderStore),
        (_changed(number=6), OlderStore),
        (_changed(beat=8), OlderStore),
    ],
)
def test_what_cannot_be_is_refused(stand: LeaseStand, error: type[Exception]) -> None:
    watch = LeaseWatch("ward")
    watch.saw(HELD, now=0)
    with pytest.raises(error, match=r"store|database|lease"):
        watch.saw(stand, now=5_000)


def test_the_time_to_take_over_leaves_some_to_load_the_host() -> None:
    assert hold_us(10.0) == 4_000_000
    assert hold_us(2.0) == 800_000


@pytest.mark.parametrize("less", [{"number": 6}, {"beat": 8}, {"token": 2, "leased": 2}])
def test_one_commit_that_a_dying_primary_showed_is_not_missed(less: dict[str, int]) -> None:
    watch = LeaseWatch("ward")
    watch.saw(HELD, now=0)
    watch.saw(_changed(**less), now=500, failed_over=True)
    with pytest.raises(OlderStore):
        watch.saw(_changed(number=HELD.number - 3), now=501, failed_over=True)
