"""A move costs the same however many other agents there are: counted in lines, not in time.

Lines show every loop of Python over other agents, their spaces, waits and reactions. What the
interpreter does inside one call in C they do not show; `nomospace bench routing` has the time.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from nomospace.calls.requests import ONCE_PER_TUPLE, WEAK, Adopt, Open, React, Seek, Share
from nomospace.calls.ways import Way
from nomospace.law import load
from nomospace.protocols.spaces import DirectoryChanged, Sharing
from nomospace.protocols.streams import Streams
from nomospace_lab.bench.pair import JOB, Pair

FEW, MANY = 10, 500
MORE = 1.1
"""How much more a move may cost beside many: dictionaries of another size, other paths of C."""

LAW = load("law(open).\nR1. sent(_, _, _) :- do(forward).\nR2. arrived(_, _, _) :- do(deliver).\n")


def own_space(pair: Pair, agent: str) -> None:
    pair.settle(agent, f"jobs-of-{agent.partition('@')[0]}")


def one_space(pair: Pair, agent: str) -> None:
    pair.settle(agent, "jobs")


def reactions(pair: Pair, agent: str) -> None:
    """Each looks at what another agent holds, and at what all of them hold."""
    pair.settle(agent, "jobs")
    name = agent.partition("@")[2]
    for at in ("", "x1@a"):
        pair.call(name, agent, React("jobs", JOB, ONCE_PER_TUPLE, WEAK, at))


def under_law(pair: Pair, agent: str) -> None:
    """Each is a member, and has a take under way that its law has seen."""
    name = agent.partition("@")[2]
    pair.settle(agent, f"jobs-of-{agent}")
    for request in (
        Adopt(LAW),
        Open("desk", LAW),
        Share(("desk",)),
        Seek("desk", Way.TAKE, JOB),
    ):
        pair.call(name, agent, request)


def beside(others: int, make: Callable[[Pair, str], None]) -> Pair:
    """Two engaged hosts with so many agents each, and ann, who has moved once already."""
    pair = Pair()
    for name in "ab":
        for number in range(others):
            make(pair, f"x{number}@{name}")
    make(pair, "ann@a")
    pair.engage()
    there_and_back(pair)
    return pair


def there_and_back(pair: Pair) -> None:
    pair.move("ann@a", "a", "b")
    pair.move("ann@a", "b", "a")


def lines(run: Callable[[Pair], None], pair: Pair) -> int:
    """How many lines are run; each turn of a loop counts anew."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)
    try:
        run(pair)
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("make", [own_space, one_space, reactions, under_law])
def test_a_move_costs_the_same_beside_many(make: Callable[[Pair, str], None]) -> None:
    floor, cost = (lines(there_and_back, beside(others, make)) for others in (FEW, MANY))
    assert floor > 1_000
    assert cost <= MORE * floor


def test_what_is_told_of_a_move_are_the_lines_of_its_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = beside(FEW, own_space)
    told: list[DirectoryChanged] = []
    send = Streams.send

    def listen(streams: Streams, peer: str, body: Any, *, now: int) -> Any:
        if isinstance(body, DirectoryChanged):
            told.append(body)
        return send(streams, peer, body, now=now)

    monkeypatch.setattr(Streams, "send", listen)
    pair.move("ann@a", "a", "b")
    lines = (Sharing("jobs-of-ann", "", "ann@a"),)
    went, came = told
    assert (went.came, went.went, went.shared, went.parted) == ((), ("ann@a",), (), lines)
    assert (came.came, came.went, came.shared, came.parted) == (("ann@a",), (), lines, ())
