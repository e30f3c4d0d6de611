from random import Random

import pytest

from nomospace.space import timers as module
from nomospace.space.timers import Timers


@pytest.mark.parametrize("bits", [0, 3, 18])
def test_things_fall_due_in_time(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAWER_BITS", bits)
    rng = Random(bits)
    timers: Timers[tuple[int, int]] = Timers(when=lambda thing: thing[0])
    waiting: dict[int, tuple[int, int]] = {}
    now = 0
    for number in range(3_000):
        thing = (now + rng.randrange(60), number)
        timers.add(number, thing)
        waiting[number] = thing
        if rng.random() < 0.6:
            gone = rng.choice(list(waiting))
            timers.remove(gone, waiting.pop(gone))
        if rng.random() < 0.3:
            now += rng.randrange(12)
            due = sorted(thing for thing in waiting.values() if thing[0] <= now)
            popped = []
            while (one := timers.pop(now)) is not None:
                popped.append(one)
                del waiting[one[1]]
            assert popped == due
            soonest = timers.soonest()
            first = min((when for when, _ in waiting.values()), default=None)
            assert (soonest is None) is (first is None)
            assert soonest is None or first is None or now < soonest <= first


def test_what_is_taken_back_leaves_nothing_behind() -> None:
    timers: Timers[int] = Timers(when=lambda thing: thing)
    timers.add(0, 1)
    assert timers.pop(1) == 1
    for number in range(10_000):
        timers.add(number, 1_000_000 * (number % 7))
        timers.remove(number, 1_000_000 * (number % 7))
    assert timers.soonest() is None
    assert len(timers._heap) + len(timers._numbers) < 3 * module.SLACK
