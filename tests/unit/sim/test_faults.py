from random import Random

import pytest

from nomospace.law import load
from nomospace_lab.sim import START_US, Crash, Cut, Link, Storm, World, WorldAgent, schedule
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.history import CRASHED, CUT, HEALED, RESTARTED

OPEN = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
HOSTS = ("a", "b", "c")
END_S = 1200


@pytest.mark.parametrize("seed", range(30))
def test_a_schedule_has_at_least_what_was_asked_for(seed: int) -> None:
    end_us = END_S * SECOND_US
    faults = schedule(Random(seed), HOSTS, start_us=0, end_us=end_us, crashes=2, cuts=2)
    assert sum(isinstance(fault, Crash) for fault in faults) >= 2
    assert sum(isinstance(fault, Cut) for fault in faults) >= 2
    assert sum(isinstance(fault, Storm) for fault in faults) >= 1
    assert all(0 <= fault.at < end_us for fault in faults)
    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)
    assert all(0 < len(f.side) < len(HOSTS) for f in faults if isinstance(f, Cut))


def test_after_two_storms_the_weather_is_fair_again() -> None:
    world = World(1, link=Link(loss=0.01))
    bad, worse = Link(loss=0.3), Link(loss=0.6)
    second = SECOND_US
    storms = (
        Storm(START_US + 10 * second, bad, 50 * second),
        Storm(START_US + 30 * second, worse, 60 * second),
    )
    world.plan(storms, heal_at_us=None)
    seen = []
    for at_s in (5, 20, 45, 70, 100):
        world.run(until_us=START_US + at_s * second)
        seen.append(world.network.usual.loss)
    assert seen == [0.01, 0.3, 0.6, 0.6, 0.01]


@pytest.mark.parametrize("seed", range(30))
def test_the_crashes_do_happen_and_all_is_whole_after_the_healing(seed: int) -> None:
    world = World(seed)
    for host in HOSTS:
        world.join(f"ann@{host}", OPEN, WorldAgent)
    world.trouble(from_s=0, heal_s=END_S)
    world.run()
    assert world.quiet
    assert world.history.count(CRASHED) >= 2
    assert world.history.count(CRASHED) == world.history.count(RESTARTED)
    assert world.history.count(CUT) >= 1
    last = [h for h in world.history if h.kind in (CRASHED, CUT, HEALED)][-1]
    assert last.kind == HEALED
    assert last.at == START_US + END_S * SECOND_US
    assert not any(world.network.parted(x, y) for x in HOSTS for y in HOSTS)
