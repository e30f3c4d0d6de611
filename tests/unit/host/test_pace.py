"""Obligations that lay others at once, for ever: they have a pace, and others go on beside them."""

from __future__ import annotations

from nomospace.calls.requests import Adopt, Tell
from nomospace.host.alarms import FIRED_A_SECOND, FIRED_BURST, FIRED_IN_STEP
from nomospace.host.governing import STEP_US
from nomospace.law import load
from nomospace.pipeline.history import Replay
from nomospace.terms import show, t
from nomospace.wire.changes import encode_ruling
from tests.paper.hosts import Hosts

LAW = load(
    """\
law(loop).
R1. sent(_, again, _) :- do(imposeObligation(again, 0)).
R2. sent(_, later(N), _) :- do(imposeObligation(once(N), 5)).
R3. sent(_, M, _) :- do(deliver(Self, M, Self)).
R4. obligationDue(again) :- do(imposeObligation(again, 0)).
R5. obligationDue(once(N)) :- do(deliver(Self, N, Self)).
"""
)


def fired(net: Hosts, home: str) -> list[int]:
    """When obligations of a member fell due."""
    return [r.at for _, r in net.ruled if r.home == home and r.due_at is not None]


def test_one_that_lays_itself_at_once_fires_at_a_pace_and_survives_a_restart() -> None:
    net = Hosts("a", laws=[LAW])
    net.agent("ann@a")
    net.do("ann@a", Adopt(LAW))
    net.do("ann@a", Tell(LAW.hash, "again", "ann@a"))
    for _ in range(3):
        net.run(10)
        net.stop("a")
        net.start("a")
    seen = len(fired(net, "ann@a"))
    assert 30 * FIRED_A_SECOND - FIRED_A_SECOND <= seen <= 30 * FIRED_A_SECOND + 3 * FIRED_BURST


def test_many_that_are_due_together_fire_in_steps_and_each_once() -> None:
    count = 500
    net = Hosts("a", laws=[LAW])
    net.agent("ann@a")
    net.do("ann@a", Adopt(LAW))
    for number in range(count):
        net.do("ann@a", Tell(LAW.hash, t.later(number), "ann@a"))
    steps: list[int] = []
    seen = 0

    def look() -> None:
        nonlocal seen
        steps.append(len(net.mail) - seen)
        seen = len(net.mail)

    net.after_each.append(look)
    net.run(6)
    assert [show(one.message) for one in net.mail] == [str(number) for number in range(count)]
    assert max(steps) == FIRED_IN_STEP
    times = fired(net, "ann@a")
    assert times[-1] - times[0] == count // FIRED_IN_STEP * STEP_US


def test_a_history_with_a_pace_replays_as_it_was() -> None:
    """An event is ruled on although an obligation that was due before it has been put off."""
    net = Hosts("a", laws=[LAW])
    net.agent("ann@a")
    net.do("ann@a", Adopt(LAW))
    net.do("ann@a", Tell(LAW.hash, "again", "ann@a"))
    net.run(10)
    net.now += 1
    net.do("ann@a", Tell(LAW.hash, "hello", "ann@a"))
    net.run(1)
    rulings = [ruling for _, ruling in net.ruled if ruling.home == "ann@a"]
    hello = next(n for n, one in enumerate(rulings) if one.event.args[1:2] == ("hello",))
    due_at = rulings[hello + 1].due_at
    assert due_at is not None
    assert due_at < rulings[hello].at
    replay = Replay(LAW, recorded_law=LAW)
    for ruling in rulings:
        replay.ruling(ruling.seq, encode_ruling(ruling))
    found = replay.end()
    assert (found.same, found.changed) == (len(rulings), 0)
