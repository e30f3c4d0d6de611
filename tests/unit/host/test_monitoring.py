"""Spaces that watch their load: what they tell whom, and when."""

from __future__ import annotations

import pytest

from nomospace import laws
from nomospace.calls.problems import BadMonitor, NotGoverned, Suspended
from nomospace.calls.requests import READ_NOWAIT, Adopt, Open, Out, Seek, Share
from nomospace.host.calls import MonitorSpace, PaceLimits, Resume, Speak, Suspend
from nomospace.host.monitoring import TOLD_IN_STEP, check_limits
from nomospace.law import load
from nomospace.terms import Compound, show, t
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

LAW = load(laws.text("cc"), "cc.law")
JOB = Template.of(("job", ANY))


def client(net: Hosts, agent: str) -> str:
    net.agent(agent)
    for request in (Adopt(LAW), Open("jobs", LAW), Share(("jobs",))):
        net.do(agent, request)
    return agent


def told(net: Hosts, agent: str) -> list[float]:
    """The delays that a client's controller has heeded."""
    found = [r.event.args[1] for _, r in net.ruled if r.home == agent and r.rule == "R5"]
    return [float(show(one.args[0])) for one in found if isinstance(one, Compound)]


def asks(net: Hosts, agent: str, count: int) -> None:
    for number in range(count):
        net.call(agent, Out("jobs", ("job", number)))


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab", laws=[LAW])
    for agent in ("ann@a", "bob@b"):
        client(net, agent)
    net.settle()
    net.tell("a", MonitorSpace("jobs", PaceLimits(4.0, rest=0.0), 1_000_001))
    return net


def test_who_asks_first_is_told_its_delay_and_is_slowed_when_it_asks_too_much(net: Hosts) -> None:
    asks(net, "ann@a", 1)
    net.run(2)
    assert told(net, "ann@a") == [0]
    asks(net, "ann@a", 10)
    net.run(20)
    assert told(net, "ann@a") == [0, 0.25, 0]
    net.run(60)
    assert net.hosts["a"].governed.monitoring.timed == {}  # nothing is to be looked at


def test_the_share_is_that_of_all_who_ask_from_any_host(net: Hosts) -> None:
    for agent in ("ann@a", "bob@b"):
        asks(net, agent, 1)
    net.call("bob@b", Seek("jobs", READ_NOWAIT, JOB, "a"))
    net.run(3)
    assert told(net, "bob@b") == [0]  # it was heard of where the monitor is
    for _ in range(8):
        net.call("bob@b", Seek("jobs", READ_NOWAIT, JOB, "a"))
        net.call("ann@a", Out("jobs", ("job", 1)))
    net.run(5)
    assert max(told(net, "bob@b")) == max(told(net, "ann@a")) == 0.5


def test_switched_off_it_lets_everybody_go(net: Hosts) -> None:
    net.tell("a", MonitorSpace("jobs", PaceLimits(1.0, rest=0.5), 1_000_002))
    asks(net, "ann@a", 1)
    net.run(2)
    for _ in range(3):
        net.tell("a", Speak("jobs", "", t.changeDelay(0), "ann@a"))
        asks(net, "ann@a", 5)
    net.run(1.5)
    assert told(net, "ann@a")[-1] > 0.5
    net.tell("a", MonitorSpace("jobs", None, 1_000_003))
    net.run(1)
    assert told(net, "ann@a")[-1] == 0.5
    assert net.hosts["a"].governed.monitoring.spaces == {}


def test_a_host_that_comes_back_tells_those_anew_whom_it_had_slowed(net: Hosts) -> None:
    net.tell("a", Speak("jobs", "", t.changeDelay(9), "ann@a"))
    net.stop("a")
    net.start("a")
    net.run(2)
    net.tell("a", MonitorSpace("jobs", PaceLimits(4.0, rest=0.0)))
    asks(net, "ann@a", 1)
    net.run(3)
    assert told(net, "ann@a") == [9, 0]


def test_many_clients_are_told_some_in_each_step() -> None:
    net = Hosts("a", laws=[LAW])
    agents = [client(net, f"agent{number}@a") for number in range(TOLD_IN_STEP + 8)]
    net.tell("a", MonitorSpace("jobs", PaceLimits(1.0, rest=0.0, longest=5.0), 1_000_001))
    for agent in agents:
        asks(net, agent, 1)
    net.run(2)
    assert {tuple(told(net, agent)) for agent in agents} == {(5.0,)}  # its longest


def test_what_no_space_here_can_say_or_keep(net: Hosts) -> None:
    def answer(event: MonitorSpace | Speak) -> object:
        net.tell("a", event)
        return net.answers[event.op].error

    assert isinstance(answer(Speak("other", "", "hello", "ann@a", 1_000_010)), NotGoverned)
    assert isinstance(answer(MonitorSpace("other", PaceLimits(1.0), 1_000_011)), NotGoverned)
    net.tell("a", Suspend(LAW.hash))
    assert isinstance(answer(Speak("jobs", "", "hello", "ann@a", 1_000_012)), Suspended)
    net.tell("a", Resume(LAW.hash))
    assert answer(Speak("jobs", "", t.changeDelay(1), "ann@a", 1_000_013)) is None
    assert net.value(1_000_013).rule == "R4"


@pytest.mark.parametrize(
    "limits",
    [
        PaceLimits(-1.0),
        PaceLimits(float("nan")),
        PaceLimits(1.0, rest=-1.0),
        PaceLimits(1.0, rest=2.0, longest=1.0),
        PaceLimits(1.0, longest=float("inf")),
    ],
)
def test_limits_that_nobody_can_keep(limits: PaceLimits) -> None:
    with pytest.raises(BadMonitor):
        check_limits("jobs", limits)
