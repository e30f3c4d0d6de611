"""What one event causes is ruled on in several steps, where it is much."""

from __future__ import annotations

import pytest

from nomospace.calls.requests import Adopt, Tell
from nomospace.host.calls import Tick
from nomospace.law import load
from nomospace.terms import Term, show, t
from tests.paper.hosts import Hosts

LAW = load(
    """\
law(circle).
R1. sent(_, _, _) :- do(forward).
R2. arrived(X, ball(N), _) :- M is N + 1, do(forward(Self, ball(M), X)).
R3. arrived(X, twins, _) :- do(forward(Self, twins, X)), do(forward(Self, twins, X)).
R4. arrived(X, slow, _) :- between(1, 50, N), N >= 50, do(forward(Self, slow, X)).
R6. arrived(_, _, _) :- do(deliver).
R5. obligationDue(M) :- do(deliver(Self, M, Self)).
"""
)
MANY = 60
ALL = tuple([f"m{number}@a" for number in range(MANY)])


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.host.deciding.STEP_UNITS", 250)  # five rulings


@pytest.fixture
def net() -> Hosts:
    net = Hosts("a", laws=[LAW])
    for agent in ALL:
        net.agent(agent)
        net.do(agent, Adopt(LAW))
    net.ruled.clear()
    return net


def tell(net: Hosts, agent: str, message: Term, to: str | tuple[str, ...]) -> int:
    return net.call(agent, Tell(LAW.hash, message, to))


def ran_away(net: Hosts) -> int:
    return len([note for _, note in net.notes if note.what == "law-ran-away"])


def test_a_message_to_many_is_ruled_on_in_several_steps(net: Hosts) -> None:
    steps: list[int] = []

    def count() -> None:
        steps.append(len(net.ruled) - sum(steps))

    net.after_each.append(count)
    for number in range(3):
        assert net.value(tell(net, ALL[0], number, ALL[1:])).rule == "R1"
    net.run(1)
    assert max(steps) <= 13
    for agent in ALL[1:]:
        assert [show(one.message) for one in net.mail if one.agent == agent] == ["0", "1", "2"]
    assert ran_away(net) == 0


def test_a_crash_in_between_loses_and_doubles_nothing(net: Hosts) -> None:
    tell(net, ALL[0], "hello", ALL[1:])
    for _ in range(3):
        net.tell("a", Tick())
        net.stop("a")
        net.start("a")
    net.run(1)
    assert sorted(one.agent for one in net.mail) == sorted(ALL[1:])
    assert net.disks["a"].held.waiting.get(f"{ALL[1]} {LAW.hash}", {}) == {}


def test_whoever_is_told_later_is_served_meanwhile(net: Hosts) -> None:
    tell(net, ALL[0], "hello", ALL[1:])
    last = ALL[-1]
    assert not net.mail or all(one.agent != last for one in net.mail)
    op = tell(net, last, "mine", ALL[0])  # after what came before it, and no later
    assert op not in net.answers
    net.run(1)
    assert net.value(op).rule == "R1"
    assert [one.event.kind for _, one in net.ruled if one.home == last] == ["arrived", "sent"]


@pytest.mark.parametrize("message", [t.ball(0), "twins", "slow"])
def test_members_that_answer_each_other_for_ever_are_stopped(
    net: Hosts, message: Term, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.host.governing.CAUSED_MAX", 500)
    net.hosts["a"].deciding.slice = net.hosts["a"].deciding._slice = 20
    tell(net, ALL[0], message, ALL[1])
    net.run(5)
    assert ran_away(net) > 0
    assert len(net.ruled) <= 502
    assert not net.hosts["a"].deciding.cases
    assert net.ask(ALL[1], Tell(LAW.hash, "hi", ALL[0])).rule == "R1"
