"""The handover: all that is an agent's own goes along, through crashes; refusals do no harm."""

from functools import partial
from typing import Any

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.problems import MoveRefused
from nomospace.calls.requests import (
    TAKE,
    TAKE_NOWAIT,
    Adopt,
    LawText,
    Move,
    Open,
    Out,
    React,
    Reactions,
    Seek,
    Share,
    Tell,
)
from nomospace.host.calls import Heard
from nomospace.host.core import Host
from nomospace.host.effects import Answer, Transmit
from nomospace.host.moving import ASK_US, Coming, MayCome, Unwelcome
from nomospace.law import load
from nomospace.protocols.courier import Parcel
from nomospace.protocols.policy import Announced
from nomospace.terms import Compound, show
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim import SECOND_US, START_US
from nomospace_lab.sim.checkers.mail import (
    NOTE,
    mail_arrives_once,
    mail_keeps_order,
    obligations_keep_time,
    one_place,
)
from nomospace_lab.sim.faults import Crash
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import DELIVERED, RULED
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.observed import CAME, FIRED, LEFT

PERIOD_S = 7
LAW = load(
    f"""\
law(open).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
R3. adopted(_) :- not(tupleSpace@CS), do(imposeObligation(beat, {PERIOD_S})).
R4. obligationDue(beat) :- do(imposeObligation(beat, {PERIOD_S})).
R5. moved(From, To) :- do(+moved(From, To)).
""",
    "open.law",
)
OTHER = load("law(other).\nR1. sent(_, _, _) :- do(forward).\n", "other.law")
JOB = Template.of(("job", ANY))
CALM = Link(delay_min_us=20_000, delay_max_us=20_000)


def closed(_agent: str, _program: str, _code: Any) -> str:
    return "the door is closed"


def world_of(*hosts: str, engaged: bool = False, **extra: Any) -> Sites:
    """Hosts that hear each other. Each serves a domain of its own."""
    world = Sites(1, link=CALM, laws=(LAW,), observe=False)
    for host in hosts:
        policy = None if engaged else Announced()
        world.site(host, policy=policy, admits=extra.get(host))
        for other in world.sites:
            if other != host:
                world.connect(other, host)
    return world


def member(world: Sites, agent: str) -> str:
    """An agent under the law at the host that it is named after."""
    world.arrive(agent, agent.partition("@")[2])
    world.call(agent, Adopt(LAW))
    return agent


def write(world: Sites, sender: str, number: int, to: str) -> None:
    world.call(sender, Tell(LAW.hash, Compound(NOTE, (number,)), to))


def refusal(world: Sites, agent: str, request: Move, *, within_s: float = 15) -> MoveRefused:
    error = world.ask(agent, request, within_s=within_s).error
    assert isinstance(error, MoveRefused)
    return error


def moved(world: Sites, agent: str, to: str) -> None:
    world.call(agent, Move(to))
    world.pass_s(3)
    assert world.where[agent] == to


def holds(world: Sites) -> None:
    for check in (one_place, mail_arrives_once, mail_keeps_order):
        verdict = check(world)
        assert verdict.answer == "yes", str(verdict)


# -- what goes along ---------------------------------------------------------------------------


def test_spaces_and_tuples_go_along() -> None:
    world = world_of("a", "b")
    ann = member(world, "ann@a")
    world.call(ann, Open("jobs"))
    world.call(ann, Out("jobs", ("job", 1)))
    moved(world, ann, "b")
    assert world.ask(ann, Seek("jobs", TAKE_NOWAIT, JOB)).value.fields == ("job", 1)
    assert not world.sites["a"].disk.tuples.get("jobs")


def test_a_take_that_waits_and_a_reaction_go_along() -> None:
    world = world_of("a", "b", engaged=True)
    ann, bob = member(world, "ann@a"), member(world, "bob@b")
    for agent in (ann, bob):
        world.call(agent, Open("jobs", LAW))
        world.call(agent, Share(("jobs",)))
    world.pass_s(10)
    reaction = world.ask(ann, React("jobs", JOB)).value
    answers: list[Answer] = []
    world.call(ann, Seek("jobs", TAKE, Template.of(("job", 2))), answers.append)
    moved(world, ann, "b")
    assert [one.id for one in world.ask(ann, Reactions()).value] == [reaction]
    world.call(bob, Out("jobs", ("job", 1)))
    world.call(bob, Out("jobs", ("job", 2)))
    world.pass_s(3)
    assert [answer.value.fields for answer in answers] == [("job", 2)]
    assert [h.what.found.fields for h in world.history.of(FIRED)] == [("job", 1), ("job", 2)]


def test_a_governed_take_across_hosts_survives_the_move_away_from_them() -> None:
    """It is under way at `b` and `c` while its agent goes from `a` to `c`."""
    world = world_of("a", "b", "c", engaged=True)
    for agent in (member(world, "ann@a"), member(world, "bob@b"), member(world, "cem@c")):
        world.call(agent, Open("jobs", LAW))
        world.call(agent, Share(("jobs",)))
    world.pass_s(12)
    answers: list[Answer] = []
    world.call("ann@a", Seek("jobs", TAKE, JOB), answers.append)
    world.pass_s(0.1)
    world.call("ann@a", Move("c"))
    world.pass_s(0.05)
    world.call("bob@b", Out("jobs", ("job", 1)))
    world.pass_s(5)
    assert world.where["ann@a"] == "c"
    assert [answer.value.fields for answer in answers] == [("job", 1)]


def test_the_law_rules_on_the_move_and_the_state_goes_along() -> None:
    world = world_of("a", "b", "c")
    ann = member(world, "ann@a")
    moved(world, ann, "b")
    moved(world, ann, "c")
    ruled = [h.what for h in world.history.of(RULED) if h.what.event.kind == "moved"]
    assert [(show(one.event.term), one.rule) for one in ruled] == [
        ("moved(a,b)", "R5"),
        ("moved(b,c)", "R5"),
    ]
    core = world.sites["c"].core
    assert core is not None
    state = [show(term) for term in core.governing.member(ann, LAW.hash).state]
    assert state == ["moved(a,b)", "moved(b,c)"]


def test_an_obligation_keeps_the_time_it_has_left() -> None:
    """The clocks of the hosts are an hour apart."""
    world = Sites(1, link=CALM, laws=(LAW,), observe=False)
    world.site("a", policy=Announced())
    world.site("b", policy=Announced(), skew_us=3600 * SECOND_US)
    world.connect("a", "b")
    ann = member(world, "ann@a")
    world.pass_s(PERIOD_S - 3)
    world.call(ann, Move("b"))
    world.pass_s(4 * PERIOD_S)
    verdict = obligations_keep_time(PERIOD_S * SECOND_US)(world)
    assert (verdict.answer, verdict.cases) == ("yes", 4), str(verdict)
    went, came = (
        next(h.at for h in world.history.of(kind) if h.at > START_US) for kind in (LEFT, CAME)
    )
    due = next(h.at for h in world.history.of(RULED) if h.what.event.kind == "obligationDue")
    assert due == START_US + PERIOD_S * SECOND_US + came - went


def test_a_law_that_the_host_did_not_know_comes_along_and_stays() -> None:
    world = Sites(1, link=CALM, observe=False)
    for host in "ab":
        world.site(host, policy=Announced())
    world.connect("a", "b")
    ann = member(world, "ann@a")
    moved(world, ann, "b")
    world.crash(Crash(0, "b", SECOND_US))
    world.pass_s(2)
    moved(world, ann, "a")
    moved(world, ann, "b")
    verdict = one_place(world)
    assert verdict.answer == "yes", str(verdict)


def test_the_law_may_send_as_it_rules_on_the_move() -> None:
    law = load(
        """\
law(heralds).
R1. moved(_, _) :- do(forward(Self, note(1), "bob@a")).
R2. arrived(_, _, _) :- do(deliver).
""",
        "heralds.law",
    )
    world = Sites(1, link=CALM, laws=(law,), observe=False)
    for host in "ab":
        world.site(host, policy=Announced())
    world.connect("a", "b")
    for agent in ("ann@a", "bob@a"):
        world.arrive(agent, "a")
        world.call(agent, Adopt(law))
    moved(world, "ann@a", "b")
    got = [h.what for h in world.history.of(DELIVERED)]
    assert [(one.agent, one.sender, show(one.message)) for one in got] == [
        ("bob@a", "ann@a", "note(1)")
    ]


# -- refusals ----------------------------------------------------------------------------------


def test_a_host_that_does_not_admit_it() -> None:
    world = world_of("a", "b", b=closed)
    ann = member(world, "ann@a")
    error = refusal(world, ann, Move("b", "walker"))
    assert (error.to, error.why) == ("b", "the door is closed")
    assert world.where[ann] == "a"


def test_a_host_that_changes_its_mind_sends_all_of_it_back() -> None:
    said: list[str] = []

    def at_the_door(agent: str, _program: str, _code: Any) -> str:
        said.append(agent)
        return "too late" if len(said) == 2 else ""

    world = world_of("a", "b", b=at_the_door)
    ann, bob = member(world, "ann@a"), member(world, "bob@b")
    world.call(ann, Open("jobs"))
    world.call(ann, Out("jobs", ("job", 1)))
    world.pass_s(1)
    write(world, bob, 1, ann)
    assert refusal(world, ann, Move("b")).why == "too late"
    assert not [h for h in world.history.of(RULED) if h.what.event.kind == "moved"]
    world.pass_s(2 * PERIOD_S)
    verdict = obligations_keep_time(PERIOD_S * SECOND_US)(world)
    assert (verdict.answer, verdict.cases) == ("yes", 4), str(verdict)
    assert (world.where[ann], len(said)) == ("a", 2)
    assert world.ask(ann, Seek("jobs", TAKE_NOWAIT, JOB)).value.fields == ("job", 1)
    write(world, bob, 2, ann)
    write(world, ann, 3, bob)
    world.pass_s(2)
    holds(world)
    moved(world, ann, "b")  # the third time it is welcome


def test_a_name_that_is_taken() -> None:
    world = world_of("a", "b")
    ann = member(world, "ann@a")
    world.sites["b"].disk.agents[ann] = 0  # an impostor
    world.crash(Crash(0, "b", SECOND_US))
    world.pass_s(2)
    assert refusal(world, ann, Move("b")).why == "an agent of that name is here"


def test_a_host_that_is_silent() -> None:
    world = world_of("a", "b")
    ann = member(world, "ann@a")
    world.part("a", "b")
    began = world.clock.now
    assert refusal(world, ann, Move("b")).why == "no word from b within 10 s"
    assert world.clock.now == began + ASK_US
    world.connect("a", "b")
    world.pass_s(15)  # the question arrives after all, and its answer is too late
    assert world.where[ann] == "a"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("law(open", f"law {LAW.hash[:12]} cannot be read"),
        (OTHER.tree.source.text, f"the text of law {LAW.hash[:12]} is of another law"),
    ],
)
def test_a_law_that_is_not_what_it_is_called(text: str, why: str) -> None:
    host = Host("b", life=1, now=0)
    asks = MayCome(7, "eve@a", (LawText(LAW.hash, "open.law", text),))
    effects = host.handle(Heard("a", Parcel(1, asks)), now=1)
    said = [
        e.frame.what for e in effects if isinstance(e, Transmit) and isinstance(e.frame, Parcel)
    ]
    assert said == [Unwelcome(7, why)]
    assert host.agents == ()


def test_one_that_is_about_to_move_is_not_moved_twice() -> None:
    world = world_of("a", "b", "c")
    ann = member(world, "ann@a")
    world.call(ann, Move("b"))
    assert refusal(world, ann, Move("c")).why == "it is about to move already"
    world.pass_s(3)
    assert world.where[ann] == "b"


def test_to_stay_is_to_be_there() -> None:
    world = world_of("a")
    ann = member(world, "ann@a")
    assert world.ask(ann, Move("a")).error is None


# -- mail --------------------------------------------------------------------------------------


def test_mail_on_its_way_is_not_overtaken_by_one_from_next_door() -> None:
    """The first note is held up while its sender moves to its receiver, and writes again."""
    world = world_of("a", "b", "c")
    ann, bob = member(world, "ann@a"), member(world, "bob@b")
    moved(world, bob, "c")
    world.part("a", "b")  # the way to bob's home, where the first note goes
    write(world, ann, 1, bob)
    moved(world, ann, "c")
    write(world, ann, 2, bob)
    world.pass_s(1)
    world.connect("a", "b")
    world.pass_s(15)
    holds(world)
    assert mail_keeps_order(world).cases == 2


def test_mail_goes_on_as_soon_as_a_host_is_heard_again() -> None:
    """It does not sit out the pause that has grown while there was nobody."""
    world = world_of("a", "b")
    ann, bob = member(world, "ann@a"), member(world, "bob@b")
    world.part("a", "b")
    write(world, ann, 1, bob)
    world.pass_s(60)
    world.connect("a", "b")
    world.pass_s(2)
    holds(world)


def test_a_sender_that_moved_hears_that_its_note_went_to_nobody() -> None:
    world = world_of("a", "b", "c")
    ann = member(world, "ann@a")
    world.part("a", "b")
    write(world, ann, 1, "nobody@b")
    moved(world, ann, "c")
    world.connect("a", "b")
    world.pass_s(15)
    holds(world)


def _refuses(kind: type, words: str, frame: Any) -> str:
    return words if isinstance(frame.what, kind) else ""


def test_who_is_too_heavy_for_the_wires_stays_with_all_that_it_has() -> None:
    world = world_of("a", "b")
    ann, bob = member(world, "ann@a"), member(world, "bob@b")
    world.call(ann, Open("jobs"))
    world.call(ann, Out("jobs", ("job", 1)))
    core = world.sites["a"].core
    assert core is not None
    for kind in (MayCome, Coming):  # its laws, and all of it
        words = f"this {kind.__name__} is too heavy"
        core.carries = partial(_refuses, kind, words)
        assert refusal(world, ann, Move("b")).why == words
    write(world, bob, 1, ann)
    world.pass_s(3)
    found = world.ask(ann, Seek("jobs", TAKE_NOWAIT, JOB)).value
    assert isinstance(found, Found)
    core.carries = lambda frame: ""
    moved(world, ann, "b")
    write(world, bob, 2, ann)
    world.pass_s(3)
    holds(world)


# -- crashes -----------------------------------------------------------------------------------


def crossing(host: str, step: int) -> tuple[Sites, bool]:
    """An agent moves from `a` to `b` while `cem@c` writes to it, and a host crashes at a step.

    Whether the crash came before all was over. The agent is at home in a third domain, so its
    server takes part from elsewhere.
    """
    world = world_of("a", "b", "c", "d")
    cem, dan = member(world, "cem@c"), member(world, "dan@d")
    world.call(dan, Open("jobs"))
    world.call(dan, Out("jobs", ("job", 1)))
    moved(world, dan, "a")
    if host != "d":  # who has written before knows where dan is, and leaves its home alone
        write(world, cem, 1, dan)
        world.pass_s(1)
    world.call(dan, Move("b"))
    world.sites[host].down_us = 2 * SECOND_US
    world.sites[host].steps_left = step
    for number in range(2, 8):
        write(world, cem, number, dan)
        world.pass_s(0.06)
    world.pass_s(0.6)
    untouched = world.sites[host].up and world.sites[host].life == 1
    world.sites[host].steps_left = None
    world.pass_s(25)
    write(world, cem, 8, dan)
    write(world, dan, 9, cem)
    world.pass_s(3)
    return world, not untouched


@pytest.mark.parametrize("host", ["a", "b", "c", "d"])
def test_a_crash_at_any_step_of_a_move(host: str) -> None:
    """Of either host, of its home's server and of the writer's host: at every effect there is."""
    places: dict[str | None, None] = {}
    for step in range(1, 200):
        world, crashed = crossing(host, step)
        if not crashed:
            break
        holds(world)
        here = world.where["dan@d"]
        places[here] = None
        found = world.ask("dan@d", Seek("jobs", TAKE_NOWAIT, JOB)).value
        assert isinstance(found, Found), f"step {step}"
        rows = [row for site in world.sites.values() for row in site.disk.tuples.get("jobs", ())]
        assert rows == [], f"step {step}"
    else:
        pytest.fail("a move has no end")
    assert step > (5 if host == "d" else 20)  # there was something to crash in
    # A crash where it is ends the wish to move; all others only delay it.
    assert set(places) == ({"a", "b"} if host == "a" else {"b"})
