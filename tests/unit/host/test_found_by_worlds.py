"""Bugs that simulated worlds found in hosts, each as the smallest world that shows it."""

from nomospace.calls.requests import (
    READ_ALL,
    STRONG,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    Open,
    Out,
    OutMany,
    React,
    Seek,
    Settle,
    Share,
)
from nomospace.host.effects import Answer
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.firings import Inside
from nomospace_lab.sim.network import Link

JOB = Template.of(("job", ANY))
LEASE = 5 * SECOND_US


def world(*hosts: str, linked: bool = True) -> Sites:
    """Hosts with an agent each that shares `jobs`, engaged when they are linked."""
    made = Sites(7, link=Link(delay_min_us=1_000, delay_max_us=5_000))
    for host in hosts:
        made.site(host)
        join(made, f"a@{host}", host)
    if linked:
        for other in hosts[1:]:
            made.connect(hosts[0], other)
        made.pass_s(8)
    return made


def join(made: Sites, agent: str, host: str, *, shared: bool = True) -> None:
    made.arrive(agent, host)
    made.call(agent, Open("jobs"))
    if shared:
        made.call(agent, Share(("jobs",)))


def held(made: Sites, agent: str) -> list[int]:
    answer = made.ask(agent, Seek("jobs", READ_ALL, JOB, at=agent))
    return sorted(found.fields[1] for found in answer.value)


def lend(made: Sites, agent: str) -> str:
    return str(made.ask(agent, Seek("jobs", TAKE_NOWAIT, JOB, "x", lease_us=LEASE)).value.lease)


def test_a_lease_is_settled_when_the_host_that_lent_says_so() -> None:
    made = world("x", "y")
    made.ask("a@x", Out("jobs", ("job", 1)))
    lease = lend(made, "a@y")
    made.pass_s(6)  # it lapses
    late = made.ask("a@y", Settle("jobs", lease))
    assert late.error is not None
    assert late.error.code == "space.lease-lapsed"
    assert held(made, "a@x") == [1]
    assert made.ask("a@y", Settle("jobs", lend(made, "a@y"))).error is None
    assert held(made, "a@x") == []


def test_an_acknowledgement_to_a_host_out_of_reach_is_in_doubt() -> None:
    made = world("x", "y")
    made.ask("a@x", Out("jobs", ("job", 1)))
    lease = lend(made, "a@y")
    told: list[Answer] = []
    made.part("x", "y")
    made.call("a@y", Settle("jobs", lease), told.append)
    made.pass_s(40)
    assert told[0].error is not None
    assert told[0].error.code == "host.in-doubt"
    assert held(made, "a@x") == [1]


def test_what_comes_back_from_a_lease_goes_home() -> None:
    made = world("x", "y", linked=False)
    made.ask("a@x", Out("jobs", ("job", 1), to="a@y"))
    lend(made, "a@x")
    made.connect("x", "y")
    made.pass_s(20)
    assert held(made, "a@y") == [1]


def test_what_was_lent_from_a_private_space_comes_back_when_it_is_shared() -> None:
    made = world("x", linked=False)
    join(made, "b@x", "x", shared=False)
    made.ask("b@x", Out("jobs", ("job", 1)))
    lend(made, "b@x")
    made.ask("b@x", Share(("jobs",)))
    made.pass_s(8)
    assert held(made, "b@x") == [1]
    assert made.ask("a@x", Seek("jobs", TAKE_NOWAIT, JOB)).value.fields == ("job", 1)


def test_an_agent_that_leaves_takes_what_it_lent_itself() -> None:
    made = world("x", "y")
    join(made, "b@x", "x", shared=False)
    made.ask("b@x", Out("jobs", ("job", 1)))
    lend(made, "b@x")
    assert made.move("b@x", "y")
    made.pass_s(8)
    assert held(made, "b@x") == [1]


def test_sharing_writes_down_who_holds_what_now() -> None:
    made = world("x", linked=False)
    join(made, "b@x", "x", shared=False)
    made.ask("b@x", Out("jobs", ("job", 1), to="a@x"))
    assert held(made, "b@x") == [1]
    made.ask("b@x", Share(("jobs",)))
    assert held(made, "a@x") == [1]
    made.power_cycle()
    assert (held(made, "a@x"), held(made, "b@x")) == ([1], [])


def test_a_private_space_has_nothing_elsewhere() -> None:
    made = world("x", "y")
    join(made, "b@x", "x", shared=False)
    made.ask("b@x", Out("jobs", ("job", 1)))
    assert made.ask("b@x", Seek("jobs", TAKE_ALL, JOB, at="y")).value == ()
    assert held(made, "b@x") == [1]


def test_of_two_leased_takes_each_gets_one_of_two_tuples() -> None:
    made = world("x", linked=False)
    told: list[Answer] = []
    for _ in range(2):
        made.call("a@x", Seek("jobs", TAKE, JOB, lease_us=LEASE), told.append)
    made.call("a@x", OutMany("jobs", (("job", 1), ("job", 2))))
    made.pass_s(1)
    assert sorted(answer.value.fields[1] for answer in told) == [1, 2]


def test_a_claim_on_a_space_that_is_parted_does_not_hold_its_take_up() -> None:
    """Whenever the parting comes, the take is served from elsewhere."""
    served: list[int] = []
    for delay_us in range(0, 20_000, 1_000):
        made = world("x", "y", "z")
        told: list[Answer] = []
        made.call("a@x", Seek("jobs", TAKE, JOB), told.append)
        made.pass_s(1)
        made.call("a@y", Out("jobs", ("job", 1)))
        made.clock.after(delay_us, made.call, "a@y", Share(("jobs",), shared=False))
        made.pass_s(2)
        made.call("a@z", Out("jobs", ("job", 2)))
        made.pass_s(2)
        [answer] = told
        served.append(answer.value.fields[1])
        left = held(made, "a@y") + held(made, "a@z")
        assert sorted([answer.value.fields[1], *left]) == [1, 2]
    assert set(served) == {1, 2}


def test_what_a_listener_takes_as_it_comes_home_is_gone_for_good() -> None:
    made = world("x", linked=False)
    join(made, "b@x", "x", shared=False)

    def grab_all(inside: Inside) -> None:
        for number in (1, 2):
            inside.take_nowait("jobs", Template.of(("job", number)))

    made.ask("b@x", React("jobs", JOB, strength=STRONG, at="b@x", listener=grab_all))
    made.ask("a@x", OutMany("jobs", (("job", 1), ("job", 2)), to="b@x"))
    assert held(made, "a@x") == [1, 2]
    made.ask("b@x", Share(("jobs",)))
    assert (held(made, "a@x"), held(made, "b@x")) == ([], [])
    made.power_cycle()
    assert (held(made, "a@x"), held(made, "b@x")) == ([], [])
