from random import Random

import pytest

from nomospace.sim import START_US, Agent, Crash, Cut, Storm, World, schedule
from nomospace.sim.clock import SECOND_US
from nomospace.sim.history import CRASHED, CUT, HEALED, RESTARTED

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


@pytest.mark.parametrize("seed", range(30))
def test_the_crashes_do_happen_and_all_is_whole_after_the_healing(seed: int) -> None:
    from nomospace.law import load

    law = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
    world = World(seed)
    for host in HOSTS:
        world.join(f"ann@{host}", law, Agent)
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
