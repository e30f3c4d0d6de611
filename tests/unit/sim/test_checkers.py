"""Each checker that holds everywhere can say no, on a history that was tampered with."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from nomospace.control import arrived, carrying, sent
from nomospace.law import load
from nomospace.terms import Term, t
from nomospace_lab.sim import START_US, Checker, Crash, Happening, Verdict, World, WorldAgent
from nomospace_lab.sim.checkers.messages import (
    arrivals_were_sent,
    orders_are_carried_out,
    strangers_are_barred,
)
from nomospace_lab.sim.checkers.obligations import fire_once
from nomospace_lab.sim.checkers.quiet import comes_to_rest, was_hard
from nomospace_lab.sim.checkers.replay import rulings_replay
from nomospace_lab.sim.checkers.state import survives_crashes
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.history import BARRED, CRASHED, DELIVERED, RESTARTED, RULED, SENT
from nomospace_lab.sim.workloads import EVERYWHERE

LAW = load(
    """
    law(duties).
    initialCS([count(0)]).
    sent(_, promise(S), _) :- do(imposeObligation(keep(S), S)), do(incr(count(_), 1)).
    sent(_, pardon, _) :- do(repealObligation(keep(_))).
    sent(_, hello, _) :- do(forward).
    sent(_, hello, _) :- do(deliver(Self, never, Self)).
    obligationDue(keep(S)) :- do(-count(_)), do(+count(S)).
    arrived(_, _, _) :- do(deliver).
    """
)
OTHER = load("law(other). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")


def say(agent: WorldAgent, message: Term, to: str) -> None:
    agent.me.send(message, to)


@pytest.fixture
def world() -> World:
    """A short, honest history with a crash, obligations, messages and a stranger."""
    world = World(0)
    for id in ("ann@x", "bob@y"):
        world.join(id, LAW)
    world.join("eve@y", OTHER)
    world.plan([Crash(START_US + 5 * SECOND_US, "x", 5 * SECOND_US)], heal_at_us=None)
    for second, message in (
        (1, t.promise(3)),
        (2, t.promise(6)),
        (3, t.promise(60)),
        (12, "hello"),
        (13, "hello"),
        (30, "pardon"),
    ):
        world.act(second, "ann@x", say, message, "bob@y")
    world.act(20, "eve@y", say, "hello", "ann@x")
    world.run()
    for check in EVERYWHERE:
        assert check(world).answer == "yes"
    return world


def rulings(world: World, kind: str) -> list[int]:
    """Where in the history the rulings on events of a kind stand."""
    return [n for n, h in enumerate(world.history) if h.kind == RULED and h.what.event.kind == kind]


def places(world: World, kind: str) -> list[int]:
    return [n for n, h in enumerate(world.history) if h.kind == kind]


def change(world: World, place: int, **fields: object) -> None:
    """Tamper with the object of a happening."""
    h = world.history.happenings[place]
    world.history.happenings[place] = Happening(
        h.at, h.kind, h.who, msgspec.structs.replace(h.what, **fields)
    )


def repeat(world: World, place: int) -> None:
    world.history.happenings.insert(place + 1, world.history.happenings[place])


def fire_twice(world: World) -> None:
    repeat(world, rulings(world, "obligationDue")[0])


def fire_early(world: World) -> None:
    place = rulings(world, "obligationDue")[0]
    change(world, place, at=world.history.happenings[place].what.at - 1)


def fire_late(world: World) -> None:
    place = rulings(world, "obligationDue")[0]
    change(world, place, at=world.history.happenings[place].what.at + 1)


def never_fire(world: World) -> None:
    del world.history.happenings[rulings(world, "obligationDue")[0]]


def never_impose(world: World) -> None:
    place = rulings(world, "sent")[0]
    change(world, place, delta=())


def lose_a_term(world: World) -> None:
    (place,) = places(world, RESTARTED)
    h = world.history.happenings[place]
    member = msgspec.structs.replace(h.what[0], state=())
    world.history.happenings[place] = Happening(h.at, h.kind, h.who, (member, *h.what[1:]))


def lose_an_obligation(world: World) -> None:
    (place,) = places(world, RESTARTED)
    h = world.history.happenings[place]
    member = msgspec.structs.replace(h.what[0], obligations=h.what[0].obligations[1:])
    world.history.happenings[place] = Happening(h.at, h.kind, h.who, (member, *h.what[1:]))


def lose_a_member(world: World) -> None:
    (place,) = places(world, RESTARTED)
    h = world.history.happenings[place]
    world.history.happenings[place] = Happening(h.at, h.kind, h.who, ())


def forget_the_crash(world: World) -> None:
    del world.history.happenings[places(world, CRASHED)[0]]


def rule_by_another(world: World) -> None:
    change(world, rulings(world, "sent")[-1], rule="#1")


def order_something_else(world: World) -> None:
    change(world, rulings(world, "arrived")[0], operations=())


def miss_a_change(world: World) -> None:
    change(world, rulings(world, "sent")[0], unmet=(0,))


def skip_an_obligation(world: World) -> None:
    first, second = rulings(world, "obligationDue")
    happenings = world.history.happenings
    happenings[first], happenings[second] = happenings[second], happenings[first]


def stop_for_no_reason(world: World) -> None:
    change(world, rulings(world, "sent")[0], stopped="budget")


def keep_another_state(world: World) -> None:
    world.where["ann@x"].members["ann@x"].state.add("smuggled")


def send_unasked(world: World) -> None:
    place = places(world, SENT)[0]
    change(world, place, id=("ann@x", 99, 0))


def send_something_else(world: World) -> None:
    change(world, places(world, SENT)[0], message="goodbye")


def send_before_the_ruling(world: World) -> None:
    happenings = world.history.happenings
    place = places(world, SENT)[0]
    happenings.insert(0, happenings.pop(place))


def forget_to_send(world: World) -> None:
    del world.history.happenings[places(world, SENT)[0]]


def deliver_twice(world: World) -> None:
    repeat(world, places(world, DELIVERED)[0])


def rule_twice(world: World) -> None:
    repeat(world, rulings(world, "arrived")[0])
    repeat(world, rulings(world, "arrived")[-1])


def rule_on_what_nobody_sent(world: World) -> None:
    change(world, rulings(world, "arrived")[0], event=arrived("ann@x", "bye", "bob@y"))


def rule_for_another(world: World) -> None:
    change(world, rulings(world, "arrived")[0], event=arrived("ann@x", "hello", "ann@x"))


def let_another_law_in(world: World) -> None:
    change(world, rulings(world, "arrived")[0], law=OTHER.hash)


def bar_a_friend(world: World) -> None:
    (place,) = places(world, BARRED)
    h = world.history.happenings[place]
    packet = msgspec.structs.replace(h.what[0], law=LAW.hash)
    world.history.happenings[place] = Happening(h.at, h.kind, h.who, (packet, h.what[1]))


def go_on_for_ever(world: World) -> None:
    world.quiet = False


def sleep_on_an_obligation(world: World) -> None:
    world.where["ann@x"].members["ann@x"].handle(sent("ann@x", t.promise(9), "bob@y"), now=0)


def stay_down(world: World) -> None:
    world.hosts["y"].up = False


TAMPERINGS: list[tuple[Checker, Callable[[World], None]]] = [
    *[(fire_once, how) for how in (fire_twice, fire_early, fire_late, never_fire, never_impose)],
    (survives_crashes, lose_a_term),
    (survives_crashes, lose_an_obligation),
    (survives_crashes, lose_a_member),
    (survives_crashes, forget_the_crash),
    (rulings_replay, fire_twice),
    (rulings_replay, rule_by_another),
    (rulings_replay, order_something_else),
    (rulings_replay, miss_a_change),
    (rulings_replay, skip_an_obligation),
    (rulings_replay, fire_early),
    (rulings_replay, stop_for_no_reason),
    (rulings_replay, keep_another_state),
    (orders_are_carried_out, send_unasked),
    (orders_are_carried_out, send_something_else),
    (orders_are_carried_out, send_before_the_ruling),
    (orders_are_carried_out, forget_to_send),
    (orders_are_carried_out, deliver_twice),
    (arrivals_were_sent, rule_twice),
    (arrivals_were_sent, rule_on_what_nobody_sent),
    (arrivals_were_sent, rule_for_another),
    (arrivals_were_sent, let_another_law_in),
    (strangers_are_barred, bar_a_friend),
    (comes_to_rest, go_on_for_ever),
    (comes_to_rest, sleep_on_an_obligation),
    (comes_to_rest, stay_down),
]


@pytest.mark.parametrize(
    ("check", "tamper"), TAMPERINGS, ids=[f"{c.__name__}-{h.__name__}" for c, h in TAMPERINGS]
)
def test_a_checker_sees_what_was_tampered_with(
    world: World, check: Checker, tamper: Callable[[World], None]
) -> None:
    tamper(world)
    verdict: Verdict = check(world)
    assert verdict.answer == "no", verdict
    assert verdict.says
    assert len(verdict.proof) <= 3


def test_an_easy_world_is_not_hard_enough(world: World) -> None:
    assert was_hard(messages=2, crashes=1, cuts=0, lost=0)(world).answer == "yes"
    for least in ({"messages": 50}, {"crashes": 2}, {"cuts": 1}, {"lost": 1}):
        asked = {"messages": 2, "crashes": 1, "cuts": 0, "lost": 0, **least}
        assert was_hard(**asked)(world).answer == "no", least


def test_a_proof_can_be_read(world: World) -> None:
    fire_twice(world)
    told = str(fire_once(world))
    assert told.startswith("no: obligations fire exactly once and on time")
    assert "keep(3) ended twice at ann@x" in told
    assert "sent('ann@x',promise(3),'bob@y')" in told


def test_the_replay_does_not_lean_on_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model keeps its own state: a controller that forgets to change its own is seen."""
    real = carrying._change

    def careless(name: str, *rest: Any) -> bool:
        return True if name == "incr" else real(name, *rest)

    monkeypatch.setattr(carrying, "_change", careless)
    world = World(0)
    world.join("ann@x", LAW)
    world.act(1, "ann@x", say, t.promise(3), "ann@x")
    world.run(until_us=START_US + 2 * SECOND_US)
    assert rulings_replay(world).answer == "no"
