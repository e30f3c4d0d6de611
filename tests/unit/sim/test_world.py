from typing import Any

import pytest

from nomospace.law import load
from nomospace.terms import Compound, Term, t
from nomospace_lab.sim import (
    START_US,
    Crash,
    Link,
    ProgramContext,
    World,
    WorldAgent,
    WorldCertificate,
)
from nomospace_lab.sim.clock import MINUTE_US, SECOND_US
from nomospace_lab.sim.faults import Fault
from nomospace_lab.sim.history import BARRED, CRASHED, DELIVERED, LOST, REPEATED, RULED, SENT
from nomospace_lab.sim.workloads import EVERYWHERE

OPEN = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
OTHER = load("law(other). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
DUTIES = load(
    """
    law(duties).
    authority(admin, key).
    sent(_, promise(S), _) :- do(imposeObligation(keep(S), S)).
    sent(X, say(M), Y) :- do(+said(M)), do(forward(X, M, Y)).
    obligationDue(keep(S)) :- do(deliver(Self, kept(S), Self)), do(+kept(S)).
    arrived(_, M, _) :- do(+got(M)), do(deliver).
    exception(What, Why) :- do(deliver(Self, failed(What, Why), Self)).
    certified([issuer(admin), subject(Self), attributes([role(R)])]) :- do(+R).
    """
)


class Ear(WorldAgent):
    """Remembers what it was told, on disk and off."""

    def __init__(self, me: ProgramContext) -> None:
        super().__init__(me)
        self.heard: list[Term] = []

    def receive(self, sender: str, message: Term) -> None:
        self.heard.append(message)
        self.me.memory.setdefault("heard", []).append(message)


def say(agent: WorldAgent, message: Term, to: str) -> None:
    agent.me.send(message, to)


def heard(world: World, id: str) -> list[Any]:
    """All that was ever delivered, through all lives of the host."""
    return [h.what.message for h in world.history.of(DELIVERED) if h.who == id]


def holds(world: World, *ids: str) -> None:
    """Every property that holds everywhere holds here."""
    for check in EVERYWHERE:
        verdict = check(world)
        assert verdict.answer == "yes", verdict


def two(law: object = DUTIES, *, link: Link | None = None, faults: tuple[Fault, ...] = ()) -> World:
    world = World(1, link=link)
    for id in ("ann@x", "bob@y"):
        world.join(id, law, Ear)  # type: ignore[arg-type]
    world.plan(faults, heal_at_us=None)
    return world


def test_a_message_passes_both_controllers() -> None:
    world = two()
    world.act(1, "ann@x", say, t.say("hello"), "bob@y")
    world.run()
    assert heard(world, "bob@y") == ["hello"]
    assert [h.who for h in world.history.of(RULED)][2:] == ["ann@x", "bob@y"]
    holds(world)


def test_a_packet_under_another_law_is_barred_and_its_sender_learns_why() -> None:
    world = World(1)
    world.join("ann@x", DUTIES, Ear)
    world.join("eve@y", OTHER, Ear)
    world.act(1, "ann@x", say, t.say("hello"), "eve@y")
    world.act(2, "eve@y", say, "boo", "ann@x")
    world.run()
    assert heard(world, "eve@y") == []
    failed = t.failed(Compound("forward", ("ann@x", "hello", "eve@y")), "lawMismatch")
    assert heard(world, "ann@x") == [failed]
    assert world.history.count(BARRED) == 2
    holds(world)


def test_a_message_to_nobody_is_an_exception() -> None:
    world = two()
    world.act(1, "ann@x", say, t.say("hello"), "nobody@z")
    world.run()
    (failed,) = heard(world, "ann@x")
    assert failed.args[1] == "unknownDestination"
    holds(world)


def test_a_packet_that_comes_twice_is_ruled_on_once() -> None:
    world = two(link=Link(repeats=1))
    for second in range(20):
        world.act(second, "ann@x", say, t.say(second), "bob@y")
    world.run()
    assert sorted(heard(world, "bob@y")) == list(range(20))
    assert world.history.count(REPEATED) == 20
    holds(world)


def test_what_comes_while_a_host_is_down_is_lost() -> None:
    world = two(faults=(Crash(START_US + SECOND_US, "y", 10 * SECOND_US),))
    world.act(5, "ann@x", say, t.say("unheard"), "bob@y")
    world.act(20, "ann@x", say, t.say("heard"), "bob@y")
    world.run()
    assert heard(world, "bob@y") == ["heard"]
    assert [h.what[1] for h in world.history.of(LOST)] == ["y is down"]
    holds(world)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_crash_in_the_middle_of_a_ruling(steps: int) -> None:
    """1: before it is on disk. 2: after that, before it is sent. 3: sent, but not noted so."""
    world = two(faults=(Crash(START_US + SECOND_US, "x", 10 * SECOND_US, steps),))
    world.act(5, "ann@x", say, t.say("hello"), "bob@y")
    world.run()
    said = t.said("hello") in world.where["ann@x"].members["ann@x"].state
    assert heard(world, "bob@y") == (["hello"] if said else [])
    assert said == (steps > 1)
    assert world.history.count(SENT) == steps - 1
    assert world.history.count(CRASHED) == 1
    holds(world)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_delivery_is_made_once_whenever_the_crash_comes(steps: int) -> None:
    world = two(faults=(Crash(START_US + SECOND_US, "y", 10 * SECOND_US, steps),))
    world.act(5, "ann@x", say, t.say("hello"), "bob@y")
    world.run()
    got = t.got("hello") in world.where["bob@y"].members["bob@y"].state
    assert heard(world, "bob@y") == (["hello"] if got else [])
    assert got == (steps == 2)
    holds(world)


def test_a_host_with_nothing_to_do_crashes_all_the_same() -> None:
    world = two(faults=(Crash(START_US + SECOND_US, "x", SECOND_US, 5),))
    world.run()
    assert world.history.count(CRASHED) == 1
    assert world.where["ann@x"].up


def test_an_obligation_that_came_due_while_the_host_was_down_fires_once_when_it_is_back() -> None:
    world = two(faults=(Crash(START_US + 10 * SECOND_US, "x", 60 * SECOND_US),))
    for seconds in (5, 30, 40, 100):
        world.act(1, "ann@x", say, t.promise(seconds), "ann@x")
    world.run()
    kept = [
        (h.what.event.args[0].args[0], h.at - START_US - SECOND_US)
        for h in world.history.of(RULED)
        if h.what.event.kind == "obligationDue"
    ]
    back = 69 * SECOND_US
    assert kept == [(5, 5 * SECOND_US), (30, back), (40, back), (100, 100 * SECOND_US)]
    holds(world)


def test_a_crash_while_an_obligation_fires_does_not_lose_or_repeat_it() -> None:
    for steps in (1, 2, 3):
        world = two(faults=(Crash(START_US + 20 * SECOND_US, "x", 15 * SECOND_US, steps),))
        world.act(1, "ann@x", say, t.promise(30), "ann@x")
        world.run()
        assert heard(world, "ann@x") == [t.kept(30)], steps
        holds(world)


def test_programs_forget_what_is_not_on_disk() -> None:
    world = two(faults=(Crash(START_US + 10 * SECOND_US, "y", SECOND_US),))
    for second in (1, 20):
        world.act(second, "ann@x", say, t.say(second), "bob@y")
    world.run()
    agent = world.where["bob@y"].agents["bob@y"]
    assert isinstance(agent, Ear)
    assert agent.heard == [20]
    assert agent.me.memory["heard"] == [1, 20]


def test_timers_of_a_crashed_host_do_not_go_off() -> None:
    world = two(faults=(Crash(START_US + 10 * SECOND_US, "x", SECOND_US),))

    def wait(agent: WorldAgent) -> None:
        agent.me.after(30, lambda: agent.me.send(t.say("from the dead"), "bob@y"))

    world.act(1, "ann@x", wait)
    world.run()
    assert heard(world, "bob@y") == []


def test_only_certificates_that_were_issued_count() -> None:
    world = two()
    real = world.issue("admin", "ann@x", t.role("chief"))
    forged = WorldCertificate("admin", "bob@y", (t.role("chief"),))
    unknown = world.issue("nobody", "bob@y", t.role("chief"))
    for id, shown in (("ann@x", real), ("bob@y", forged), ("bob@y", unknown)):
        world.act(1, id, lambda agent, shown: agent.me.present(shown), shown)
    world.run()
    assert tuple(world.where["ann@x"].members["ann@x"].state) == ("chief",)
    assert tuple(world.where["bob@y"].members["bob@y"].state) == ()
    assert [m.args[1] for m in heard(world, "bob@y")] == ["invalidCertificate"] * 2


def test_obligations_run_by_the_clock_of_their_home() -> None:
    world = World(1)
    world.host("x", skew_us=-2 * SECOND_US)
    world.join("ann@x", DUTIES, Ear)
    world.act(1, "ann@x", say, t.promise(10), "ann@x")
    world.run()
    (due,) = [h for h in world.history.of(RULED) if h.what.event.kind == "obligationDue"]
    assert due.at == START_US + 11 * SECOND_US
    assert due.what.at == due.at - 2 * SECOND_US
    holds(world)


def test_a_world_can_be_stopped_on_the_way_and_goes_on() -> None:
    world = two()
    world.act(100, "ann@x", say, t.say("hello"), "bob@y")
    world.run(until_us=START_US + MINUTE_US)
    halfway = world.quiet
    assert world.clock.now == START_US + MINUTE_US
    assert heard(world, "bob@y") == []
    world.run()
    assert (halfway, world.quiet) == (False, True)
    assert heard(world, "bob@y") == ["hello"]


def test_adding_an_agent_does_not_change_what_the_others_draw() -> None:
    small, large = World(3), World(3)
    small.join("ann@x", OPEN, Ear)
    large.join("zoe@z", OPEN, Ear)
    large.join("ann@x", OPEN, Ear)
    draws = [w.where["ann@x"].agents["ann@x"].me.rng.random() for w in (small, large)]
    assert draws[0] == draws[1]
