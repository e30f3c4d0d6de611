"""Strong listeners that fail or never come to an end: whoever wrote them, the host goes on."""

from typing import Any

import pytest

from nomospace.calls.problems import NotAnAgent, NotOpen, ReadOnly
from nomospace.calls.requests import Adjust, Open, Reactions
from nomospace.errors import NomospaceError
from nomospace.host.operations import Firing
from nomospace.host.system import SYSTEM
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, EVE = "ann@a", "eve@a"
JOB = Template.of(("job", ANY))


@pytest.fixture
def net() -> Hosts:
    net = Hosts("a")
    net.agent(ANN, "jobs")
    net.agent(EVE, "jobs", "other")
    return net


def notes(net: Hosts) -> list[str]:
    return [note.what for _, note in net.notes]


def test_a_listener_that_raises_is_noted_and_nothing_else_suffers(net: Hosts) -> None:
    met: list[int] = []

    def broken(firing: Firing) -> None:
        firing.out(("half", firing.tuple.fields[1]))
        raise ValueError("broken")

    net.strong(ANN, "job", ANY, at="a", listener=broken)
    net.strong(EVE, "job", ANY, at="a", listener=lambda f: met.append(f.tuple.fields[1]))
    waiting = net.begin(EVE, "read", "job", ANY)
    net.out(ANN, "job", 1)
    net.out(ANN, "job", 2)
    assert met == [1, 2]
    assert net.got(waiting) == ("job", 1)
    assert notes(net) == ["listener-failed", "listener-failed"]  # it stays registered
    facts = net.notes[0][1].facts
    assert facts["tuple"] == ("job", 1)
    assert isinstance(facts["error"], ValueError)
    assert net.held(ANN, "half", ANY) == [("half", 1), ("half", 2)]  # what it did, it did


def test_a_listener_gets_the_error_of_its_own_operation(net: Hosts) -> None:
    told: list[type[NomospaceError]] = []

    def listener(firing: Firing) -> None:
        with pytest.raises(NomospaceError) as caught:
            firing.out(("x",), to="no agent")
        told.append(caught.type)
        with pytest.raises(NomospaceError) as caught:
            firing.out(("x",), space="nowhere")
        told.append(caught.type)
        with pytest.raises(NomospaceError) as caught:
            firing.take_nowait(JOB, space=SYSTEM)
        told.append(caught.type)

    net.strong(ANN, "job", ANY, at="a", listener=listener)
    net.out(EVE, "job", 1)
    assert told == [NotAnAgent, NotOpen, ReadOnly]
    assert notes(net) == []


def test_a_listener_has_every_operation_that_does_not_wait(net: Hosts) -> None:
    seen: list[Any] = []

    def listener(firing: Firing) -> None:
        seen.append(firing.reaction)
        seen.append((firing.tuple.fields, firing.tuple.writer, firing.tuple.source))
        firing.out(("note", 1), space="other")
        firing.out(("note", 2), space="other")
        note = Template.of(("note", ANY))
        seen.append(firing.read_nowait(note, space="other").fields)  # type: ignore[union-attr]
        seen.append([one.fields for one in firing.read_all(note, space="other")])
        seen.append(firing.take_nowait(note, space="other").fields)  # type: ignore[union-attr]
        seen.append([one.fields for one in firing.take_all(note, space="other")])
        seen.append(firing.take_nowait(note, space="other"))

    reaction = net.strong(EVE, "job", ANY, at="a", listener=listener)
    net.out(ANN, "job", 1)
    assert seen == [
        reaction,
        (("job", 1), ANN, ANN),
        ("note", 1),
        [("note", 1), ("note", 2)],
        ("note", 1),
        [("note", 2)],
        None,
    ]
    assert net.disks["a"].tuples["other"] == {}


def test_a_reaction_that_runs_away_is_stopped_and_the_others_are_not(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.space.steps.FIRINGS_MAX", 50)
    met: list[int] = []

    def endless(firing: Firing) -> None:
        firing.take_nowait(Template.of(("spin", ANY)))
        number: Any = firing.tuple.fields[1]
        firing.out(("spin", number + 1))

    runaway = net.strong(ANN, "spin", ANY, at="a", listener=endless)
    net.strong(EVE, "job", ANY, at="a", listener=lambda f: met.append(f.tuple.fields[1]))
    net.out(EVE, "spin", 0)
    net.out(EVE, "job", 1)
    assert met == [1]
    assert notes(net) == ["reaction-ran-away"]
    assert net.notes[0][1].facts["reaction"] == runaway
    assert len(net.seek(EVE, "read_all", "spin", ANY)) == 1
    net.out(EVE, "spin", 1_000)  # it rests now
    assert net.seek(EVE, "read_nowait", "spin", 1_000) == ("spin", 1_000)


def test_who_ran_away_is_shown_disabled_and_can_be_enabled(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.space.steps.FIRINGS_MAX", 50)
    tame = False

    def endless(firing: Firing) -> None:
        if not tame:
            firing.out(("spin", 0))

    runaway = net.strong(ANN, "spin", ANY, at="a", listener=endless)
    net.out(EVE, "spin", 0)
    assert [one.enabled for one in net.do(ANN, Reactions())] == [False]
    tame = True
    assert net.do(ANN, Adjust(runaway, "enable"))
    assert [one.enabled for one in net.do(ANN, Reactions())] == [True]
    fired = net.do(ANN, Reactions())[0].fired
    net.out(EVE, "spin", 1)
    assert net.do(ANN, Reactions())[0].fired == fired + 1


def test_one_that_ran_away_stays_stopped_where_its_agent_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomospace.space.steps.FIRINGS_MAX", 50)
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.settle()
    net.strong(ANN, "spin", ANY, at=ANN, listener=lambda f: f.out(("spin", 0)))
    net.out(ANN, "spin", 0)
    count = len(net.held(ANN, "spin", ANY))
    net.move(ANN, "b")
    assert len(net.held(ANN, "spin", ANY)) == count


def test_weak_reactions_are_not_stopped_for_what_another_brought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They came first, met every tuple, and bring nothing themselves: the runaway is the other."""
    monkeypatch.setattr("nomospace.space.steps.FIRINGS_MAX", 50)
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent("bob@b", "jobs")
    net.settle()
    weak = [net.react(agent, "spin", ANY) for agent in (ANN, "bob@b")]
    net.run(0.5)
    runaway = net.strong(ANN, "spin", ANY, at=ANN, listener=lambda f: f.out(("spin", 0)))
    net.out(ANN, "spin", 0)
    net.run(0.5)
    assert [note.facts["reaction"] for _, note in net.notes if note.what != "view"] == [runaway]
    net.out(ANN, "spin", 1)
    net.run(0.5)
    for one in weak:
        assert net.firings(one)[-1] == ("spin", 1)
        assert len(net.firings(one)) == len(net.held(ANN, "spin", ANY))


def test_listeners_of_system_tuples_may_write_elsewhere(net: Hosts) -> None:
    net.strong(
        ANN,
        "space",
        ANY,
        ANY,
        ANY,
        "connected",
        space=SYSTEM,
        listener=lambda f: f.out(("shared", f.tuple.fields[1]), space="jobs"),
    )
    net.agent("new@a", "fresh")
    assert ("shared", "fresh") in net.held(ANN, "shared", ANY)
    assert notes(net) == []


def test_a_listener_of_a_private_space_works_in_it() -> None:
    net = Hosts("a")
    net.agent(ANN)
    net.do(ANN, Open("jobs"))
    net.strong(ANN, "job", ANY, at=ANN, listener=lambda f: f.out(("seen", f.tuple.fields[1])))
    net.out(ANN, "job", 1)
    assert net.seek(ANN, "read_all", ANY, ANY) == [("job", 1), ("seen", 1)]
