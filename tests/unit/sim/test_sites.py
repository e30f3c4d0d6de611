"""A world of hosts: effects one by one, crashes between any two, frames over links, moves."""

from itertools import pairwise
from typing import Any

import pytest

from nomospace.calls.requests import (
    ONCE_PER_TUPLE,
    READ_ALL,
    STRONG,
    TAKE,
    TAKE_NOWAIT,
    Open,
    Out,
    React,
    Seek,
    Share,
)
from nomospace.host.effects import Answer
from nomospace.protocols.policy import Announced
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut
from nomospace_lab.sim.federation import LOOK, Sites
from nomospace_lab.sim.firings import Inside
from nomospace_lab.sim.history import CRASHED, RESTARTED
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.observed import ANSWERED, CAME, FIRED, LEFT, UNTOLD, VIEW
from nomospace_lab.sim.simulation import START_US

JOB = Template.of(("job", ANY))
CALM = Link(delay_min_us=1_000, delay_max_us=5_000)


def world(*hosts: str, linked: bool = True, **how: Any) -> Sites:
    """Hosts with an agent each that shares `jobs`, engaged when they are linked."""
    made = Sites(7, link=CALM, **how)
    for host in hosts:
        made.site(host)
        made.arrive(f"a@{host}", host)
        made.call(f"a@{host}", Open("jobs"))
        made.call(f"a@{host}", Share(("jobs",)))
    if linked:
        for a, b in pairwise(hosts):
            made.connect(a, b)
        made.pass_s(8)
    return made


def held(made: Sites, agent: str) -> list[int]:
    answer = made.ask(agent, Seek("jobs", READ_ALL, JOB, at=agent))
    return sorted(found.fields[1] for found in answer.value)


def away(made: Sites, agent: str) -> bool:
    return made.where[agent] is None


def shown(made: Sites, agent: str) -> list[str]:
    found = made.ask(agent, LOOK).value
    return sorted(f.fields[1] for f in found if f.fields[2] == "connected")


def test_links_make_groups_and_their_end_parts_them() -> None:
    made = world("x", "y", "z")
    assert shown(made, "a@x") == ["x", "y", "z"], "over y, x reaches z"
    made.part("x", "y")
    made.pass_s(8)
    assert shown(made, "a@x") == ["x"]
    assert shown(made, "a@z") == ["y", "z"]


def test_a_cut_stops_frames_that_are_under_way() -> None:
    made = world("x", "y")
    waiting: list[Answer] = []
    made.call("a@y", Seek("jobs", TAKE, JOB), waiting.append)
    made.pass_s(1)
    made.call("a@x", Out("jobs", ("job", 1)))  # its offer is under way now
    made.plan([Cut(made.clock.now, ("x",), 8 * SECOND_US)], heal_at_us=None)
    made.pass_s(7)
    assert not waiting
    assert held(made, "a@x") == [1]
    made.pass_s(10)
    assert waiting[0].value.fields == ("job", 1)
    assert held(made, "a@x") == []


def test_a_host_that_is_down_answers_nobody_and_comes_back_from_its_disk() -> None:
    made = world("x", linked=False)
    made.call("a@x", Out("jobs", ("job", 1)))
    made.crash(Crash(0, "x", 5 * SECOND_US))
    assert made.call("a@x", Out("jobs", ("job", 2))) is None
    assert made.agents() == []
    made.pass_s(6)
    assert made.agents() == ["a@x"]
    assert held(made, "a@x") == [1]
    assert [h.kind for h in made.history.of(CRASHED, RESTARTED)] == [CRASHED, RESTARTED]


@pytest.mark.parametrize("steps", range(1, 12))
@pytest.mark.parametrize("host", ["x", "y"])
def test_wherever_a_crash_comes_a_tuple_is_in_one_place(host: str, steps: int) -> None:
    made = world("x", "y")
    got: list[Answer] = []
    made.call("a@x", Out("jobs", ("job", 1)))
    made.crash(Crash(0, host, SECOND_US, steps))
    made.call("a@y", Seek("jobs", TAKE, JOB), got.append)
    made.pass_s(15)
    untold = [h for h in made.history.of(UNTOLD) if getattr(h.what.value, "fields", None)]
    taken = len(got) + len(untold)
    assert len(held(made, "a@x")) + len(held(made, "a@y")) + taken == 1


def test_an_answer_on_disk_is_known_even_if_nobody_was_told() -> None:
    made = world("x", linked=False)
    made.call("a@x", Out("jobs", ("job", 1)))
    made.crash(Crash(0, "x", SECOND_US, steps=2))  # after the write to disk, before the answer
    op = made.call("a@x", Seek("jobs", TAKE_NOWAIT, JOB))
    [untold] = made.history.of(UNTOLD)
    assert untold.what.op == op
    assert untold.what.value.fields == ("job", 1)
    assert not any(h.what.op == op for h in made.history.of(ANSWERED))
    made.pass_s(2)
    assert held(made, "a@x") == []


def test_a_write_that_did_not_reach_the_disk_never_was() -> None:
    made = world("x", linked=False)
    made.crash(Crash(0, "x", SECOND_US, steps=1))
    made.call("a@x", Out("jobs", ("job", 1)))
    assert not list(made.history.of(UNTOLD))
    made.pass_s(2)
    assert held(made, "a@x") == []


def test_strong_firings_are_facts_once_their_step_is_on_disk() -> None:
    made = world("x", linked=False)

    def echo(inside: Inside) -> None:
        inside.out("jobs", ("echo", inside.tuple.fields[1]))

    made.call("a@x", React("jobs", JOB, ONCE_PER_TUPLE, STRONG, "x", listener=echo))
    made.call("a@x", Out("jobs", ("job", 1)))
    [fired] = made.history.of(FIRED)
    assert fired.what.wrote == (("jobs", ("echo", 1)),)
    made.crash(Crash(0, "x", SECOND_US, steps=1))
    made.call("a@x", Out("jobs", ("job", 2)))
    assert made.history.count(FIRED) == 1


def test_an_agent_takes_its_tuples_along() -> None:
    made = world("x", "y")
    made.arrive("r@road", "x")
    made.call("r@road", Open("jobs"))
    made.call("r@road", Out("jobs", ("job", 1)))
    assert made.move("r@road", "y", travel_us=2 * SECOND_US)
    made.pass_s(1)
    assert away(made, "r@road")
    assert made.call("r@road", Out("jobs", ("job", 2))) is None, "on its way it cannot act"
    made.pass_s(2)
    assert made.where["r@road"] == "y"
    assert held(made, "r@road") == [1]
    moves = [(h.kind, h.what) for h in made.history.of(LEFT, CAME) if h.who == "r@road"]
    assert moves == [(CAME, "x"), (LEFT, "x"), (CAME, "y")]


def test_a_traveller_knocks_until_its_host_is_up() -> None:
    made = world("x", "y")
    made.arrive("r@road", "x")
    made.call("r@road", Open("jobs"))
    made.call("r@road", Out("jobs", ("job", 1)))
    made.crash(Crash(0, "y", 5 * SECOND_US))
    made.move("r@road", "y")
    made.pass_s(3)
    assert away(made, "r@road")
    made.pass_s(5)
    assert made.where["r@road"] == "y"
    assert held(made, "r@road") == [1]


def test_an_agent_cannot_leave_twice_nor_from_a_host_that_is_down() -> None:
    made = world("x", "y")
    made.crash(Crash(0, "x", SECOND_US))
    assert not made.move("a@x", "y")
    assert not made.move("nobody@x", "y")


def test_a_power_cut_takes_nothing_that_is_on_disk() -> None:
    made = world("x", "y")
    made.call("a@x", Out("jobs", ("job", 1)))
    made.call("a@y", Out("jobs", ("job", 2), to="a@x"))
    made.pass_s(1)
    made.power_cycle()
    assert held(made, "a@x") == [1, 2]
    made.pass_s(8)
    assert shown(made, "a@x") == ["x", "y"]


def test_positions_make_links() -> None:
    made = world("x", "y", linked=False)
    made.place("x", (0, 0), range_m=50)
    made.place("y", (30, 40), range_m=50)
    made.pass_s(8)
    assert shown(made, "a@x") == ["x", "y"]
    made.place("y", (31, 40), range_m=50)
    made.pass_s(8)
    assert shown(made, "a@x") == ["x"]


def test_hosts_may_wait_for_an_announcement() -> None:
    made = Sites(1, link=CALM)
    for host in ("x", "y"):
        made.site(host, policy=Announced())
        made.arrive(f"a@{host}", host)
    made.connect("x", "y")
    made.pass_s(8)
    assert shown(made, "a@x") == ["x"]
    made.engage("x")
    made.engage("y")
    made.pass_s(8)
    assert shown(made, "a@x") == ["x", "y"]
    made.disengage("y")
    made.pass_s(8)
    assert shown(made, "a@x") == ["x"]


def test_frames_can_travel_as_bytes() -> None:
    made = world("x", "y", encode=True)
    made.call("a@x", Out("jobs", ("job", 1), to="a@y"))
    made.call("a@y", React("jobs", JOB))
    made.pass_s(2)
    assert held(made, "a@y") == [1]


def test_a_view_is_looked_at_when_it_is_installed() -> None:
    made = world("x", "y")
    views = [h for h in made.history.of(VIEW) if h.who == "x"]
    looks = [h for h in made.history.of(ANSWERED) if isinstance(h.what.value, tuple)]
    assert views
    assert len(looks) >= len(views)


def test_a_world_runs_to_its_end() -> None:
    made = world("x", "y")
    made.end_us = made.clock.now + 5 * SECOND_US
    made.run(until_us=made.clock.now + SECOND_US)
    early = made.quiet
    made.run()
    assert (early, made.quiet) == (False, True)
    assert made.clock.now == made.end_us > START_US
    assert made.messages > 20
