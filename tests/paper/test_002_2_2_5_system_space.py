"""`002_…` sections 2.2.5 and 3.2: who is there, told by `LimeSystem` and `isConnected`."""

from typing import Any

import pytest

from nomospace.calls.problems import ReadOnly
from nomospace.calls.requests import READ_ALL, Open, Out, OutMany, Seek, Share
from nomospace.host.calls import Arrive, Call, Depart, Tick
from nomospace.host.core import Host
from nomospace.host.effects import Answer
from nomospace.host.operations import Firing
from nomospace.host.system import SYSTEM
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, BOB, CAT = "ann@a", "bob@b", "cat@c"


def system(net: Hosts, agent: str, *pattern: Any) -> list[tuple[Any, ...]]:
    return sorted(net.seek(agent, "read_all", *pattern, space=SYSTEM))


def test_every_agent_is_bound_to_the_system_space() -> None:
    """2.2.5: permanently, without opening it, and it says who, where and what they share."""
    net = Hosts("a")
    net.agent(ANN)
    assert system(net, ANN, "host", ANY, ANY) == [("host", "a", "connected")]
    assert system(net, ANN, "agent", ANY, ANY, ANY) == [("agent", ANN, "a", "connected")]
    net.do(ANN, Open("jobs"))
    net.do(ANN, Share(("jobs",)))
    assert system(net, ANN, "space", ANY, ANY, ANY, ANY) == [
        ("space", "jobs", ANN, "a", "connected")
    ]


def test_only_hosts_write_it() -> None:
    """2.2.5, 4.1: there is no `out` and no `in` on it, for anyone."""
    net = Hosts("a")
    net.agent(ANN)
    fields = ("host", "z", "connected")
    for request in (Out(SYSTEM, fields), OutMany(SYSTEM, (fields,)), Share((SYSTEM,), False)):
        with pytest.raises(ReadOnly):
            net.do(ANN, request)
    for how in ("take", "take_nowait", "take_all"):
        with pytest.raises(ReadOnly):
            net.seek(ANN, how, "host", ANY, ANY, space=SYSTEM)
    assert system(net, ANN, "host", ANY, ANY) == [("host", "a", "connected")]


def test_an_engagement_shows_everybody_to_everybody() -> None:
    """2.2.5, 4.2: hosts, agents and shared spaces of the whole group, the same for all."""
    net = Hosts("abc", links="ab bc")
    net.agent(ANN, "jobs")
    net.agent(BOB)
    net.agent(CAT, "jobs", "mail")
    net.settle()
    lines = [
        ("agent", ANN, "a", "connected"),
        ("agent", BOB, "b", "connected"),
        ("agent", CAT, "c", "connected"),
        ("host", "a", "connected"),
        ("host", "b", "connected"),
        ("host", "c", "connected"),
        ("space", "jobs", ANN, "a", "connected"),
        ("space", "jobs", CAT, "c", "connected"),
        ("space", "mail", CAT, "c", "connected"),
    ]
    for agent in (ANN, BOB, CAT):
        seen = [one for n in (3, 4, 5) for one in system(net, agent, *[ANY] * n)]
        assert sorted(seen) == lines


def test_a_departure_is_told_once_and_so_is_a_return() -> None:
    """2.2.5, 5.2: one can react to departures and to arrivals; the status says which it is."""
    net = Hosts("abc")
    net.agent(ANN, "jobs")
    net.agent(BOB)
    net.agent(CAT, "jobs")
    reaction = net.react(ANN, ANY, CAT, ANY, ANY, space=SYSTEM)
    net.settle()
    net.cut("ac bc")
    net.settle()
    assert system(net, ANN, "host", ANY, "departed") == [("host", "c", "departed")]
    assert system(net, ANN, "space", "jobs", ANY, ANY, ANY) == [
        ("space", "jobs", ANN, "a", "connected"),
        ("space", "jobs", CAT, "c", "departed"),
    ]
    net.join("bc")
    net.settle()
    assert system(net, ANN, "host", ANY, "departed") == []
    assert [fields[3] for fields in net.firings(reaction)] == [
        "connected",
        "departed",
        "connected",
    ]


def test_an_agent_that_leaves_departs_and_one_that_moves_is_elsewhere() -> None:
    """2.2.5: for mobile agents, on which host they reside."""
    net = Hosts("ab")
    net.agent(ANN)
    net.agent(BOB)
    net.agent("eve@a")
    net.settle()
    net.move("eve@a", "b")
    net.run(0.5)
    for agent in (ANN, BOB):
        assert system(net, agent, "agent", "eve@a", ANY, "connected") == [
            ("agent", "eve@a", "b", "connected")
        ]
    net.tell("b", Depart("eve@a"))
    net.run(0.5)
    for agent in (ANN, BOB):
        assert system(net, agent, "agent", "eve@a", ANY, ANY) == [
            ("agent", "eve@a", "b", "departed")
        ]


def test_a_parted_space_departs_and_a_private_one_is_never_shown() -> None:
    """4.1: private spaces do not appear."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB)
    shown: list[tuple[Any, ...]] = []

    def note(firing: Firing) -> None:
        shown.append(firing.tuple.fields)

    for agent in (ANN, BOB):
        net.strong(agent, "space", ANY, ANY, ANY, ANY, space=SYSTEM, listener=note)
    net.do(ANN, Open("secret"))
    net.settle()
    net.out(ANN, "hidden", space="secret")
    net.do(ANN, Share(("jobs",), shared=False))
    net.run(0.5)
    assert system(net, BOB, "space", ANY, ANY, ANY, ANY) == [
        ("space", "jobs", ANN, "a", "departed")
    ]
    assert {fields[1] for fields in shown} == {"jobs"}


def test_one_can_wait_for_somebody_to_come() -> None:
    """2.2.5: the abstractions are the same: a read that waits is served by an arrival."""
    net = Hosts("ab", links="")
    net.agent(ANN)
    net.agent(BOB)
    waiting = net.begin(ANN, "read", "agent", BOB, ANY, "connected", space=SYSTEM)
    net.run(5)
    assert net.got(waiting) is None
    net.join("ab")
    net.settle()
    assert net.got(waiting) == ("agent", BOB, "b", "connected")


def test_is_connected_answers_for_oneself_only() -> None:
    """3.2: a κ b from the perspective of a: same host, direct link, or through others."""
    net = Hosts("abcd", links="ab bc")
    net.agent(ANN)
    net.agent("eve@a")
    net.agent(BOB)
    net.agent(CAT)
    net.agent("dan@d")
    net.settle()
    ann = net.hosts["a"]
    connected = [ann.connected(x) for x in (ANN, "eve@a", BOB, CAT, "dan@d", "no@where")]
    assert connected == [True, True, True, True, False, False]
    assert net.hosts["c"].connected(ANN)
    assert not net.hosts["d"].connected(ANN)
    net.cut("bc")
    net.settle()
    assert not ann.connected(CAT)
    assert not net.hosts["c"].connected(ANN)


@pytest.mark.parametrize(("how", "nothing"), [("take_nowait", None), ("read_nowait", None)])
def test_a_probe_does_not_tell_no_tuple_from_not_there(how: str, nothing: None) -> None:
    """2.2.5: it fails alike when ω has no match and when ω is not part of the group."""
    net = Hosts("abc", links="ab")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.out(CAT, "job", 1)
    net.settle()
    assert net.seek(ANN, how, "job", int, at=BOB) is nothing
    assert net.seek(ANN, how, "job", int, at=CAT) is nothing
    assert net.seek(ANN, how.replace("nowait", "all"), "job", int, at="b") == []
    assert net.seek(ANN, how.replace("nowait", "all"), "job", int, at="c") == []


def test_the_system_space_changes_in_the_step_of_the_engagement() -> None:
    """4.2: it is kept at each host and brought up to date with the group, never half."""
    net = Hosts("abc", links="ab")
    net.agent(ANN, "jobs")
    net.agent(BOB)
    net.agent(CAT, "jobs")
    net.settle()
    hosts: list[list[str]] = []
    connected = Template.of((ANY, ANY, ANY, "connected"))

    def look() -> None:
        space = net.hosts["b"].system.looked_at()
        found = space.find_all(connected)
        hosts.append(sorted(str(record.fields[1]) for record in found))

    net.after_each.append(look)
    net.join("bc")
    net.settle()
    assert [one for n, one in enumerate(hosts) if n == 0 or one != hosts[n - 1]] == [
        [ANN, BOB],
        [ANN, BOB, CAT],
    ]


def test_who_departed_before_anybody_looked_is_shown_as_departed() -> None:
    """2.2.5: a host shows what became of its group, though nobody asked while it was so."""
    net = Hosts("abc")
    net.agent(ANN)
    net.agent(BOB)
    net.agent(CAT, "jobs")
    net.settle()
    net.cut("ac bc")
    net.settle()
    net.tell("b", Depart(BOB))
    net.settle()
    departed = [one for n in (3, 4, 5) for one in system(net, ANN, *[ANY] * (n - 1), "departed")]
    assert sorted(departed) == [
        ("agent", BOB, "b", "departed"),
        ("agent", CAT, "c", "departed"),
        ("host", "c", "departed"),
        ("space", "jobs", CAT, "c", "departed"),
    ]
    net.join("ac bc")
    net.settle()
    assert system(net, ANN, "agent", ANY, ANY, "departed") == [("agent", BOB, "b", "departed")]


def test_many_lines_are_first_shown_in_several_steps() -> None:
    """No step of a host grows with its group: who looks first waits until all lines are there."""
    host, answers = Host("a", life=1, now=0), list[Answer]()
    for number in range(2_000):
        host.handle(Arrive(f"a{number}@a"), now=0)
    look = Call(7, "a0@a", Seek(SYSTEM, READ_ALL, Template.of(("agent", ANY, "a", ANY))))
    effects, steps = host.handle(look, now=0), 1
    while not answers:
        answers += [one for one in effects if isinstance(one, Answer) and one.op == 7]
        effects, steps = host.handle(Tick(), now=0), steps + 1
        assert steps < 100
    assert steps > 3
    assert len(answers[0].value) == 2_000
