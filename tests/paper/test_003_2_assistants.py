"""003 section 2: personal assistants are summoned and delegated, and their talk goes on."""

from itertools import islice
from random import Random
from typing import Any

import pytest

from nomospace.protocols.policy import Announced
from nomospace.terms import show
from nomospace_lab import apps
from nomospace_lab.apps.assistants.life import Assumptions, GoToSite, ImpossibleLife, Life, Talk
from nomospace_lab.apps.assistants.world import LAW, Office
from nomospace_lab.sim import find, play
from nomospace_lab.sim.algorithms import ALGORITHMS
from nomospace_lab.sim.checkers.mail import mail_arrives_once, mail_keeps_order
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import DELIVERED
from nomospace_lab.sim.requests import Move
from nomospace_lab.sim.routes import Routes, mean_hops, share_direct

MESSAGES = 10_000


def office() -> tuple[Office, str, str]:
    """Two departments, and two assistants of one group that are at home in one of them."""
    life = Life(Assumptions(departments=2, sites=3, people=4, peers=3, group=(2, 4)), Random(1))
    world = Sites(1, laws=(LAW,), observe=False, servers=life.servers)
    for site, department in life.sites.items():
        for other in world.sites:
            world.topology.connect(other, site)
        world.site(site, policy=Announced(), domain=department)
    made = Office(world, life)
    world.pass_s(1)
    return made, "p1@d0", "p2@d0"


@pytest.mark.parametrize("to", ["d0lab1", "d1office0"])
def test_a_stream_goes_on_while_its_receiver_is_summoned_elsewhere(to: str) -> None:
    made, ann, bob = office()
    for number in range(60):
        made.write(ann, bob)
        if number == 20:
            made.world.call(bob, Move(to))
        made.world.pass_s(0.02)
    made.world.pass_s(5)
    assert made.world.where[bob] == to
    for check in (mail_arrives_once, mail_keeps_order):
        verdict = check(made.world)
        assert (verdict.answer, verdict.cases) == ("yes", 60), str(verdict)


def test_one_is_delegated_to_experts_and_sent_back() -> None:
    made, ann, bob = office()
    home = made.world.where[bob] or ""
    for to in ("d1office0", home):
        made.world.call(bob, Move(to))
        made.world.pass_s(3)
        made.write(ann, bob)
        made.write(bob, ann)
        made.world.pass_s(1)
    told = [show(h.what.message) for h in made.world.history.of(DELIVERED) if h.who == bob]
    assert told == [f"moved({home},d1office0)", "note(1)", f"moved(d1office0,{home})", "note(3)"]


def test_the_small_world_on_hosts() -> None:
    apps.load()
    for seed in range(4):
        _, outcome = play(find("assistants"), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload assistants --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"


# -- the assumptions ---------------------------------------------------------------------------


def lived(algorithm: str, given: Assumptions) -> tuple[Routes, Life]:
    life = Life(given, Random(1))
    routes = Routes(ALGORITHMS[algorithm], life.sites, life.servers)
    for agent, site in life.home.items():
        routes.create(agent, site)
    for deed in islice(life.deeds(), MESSAGES):
        if isinstance(deed, Talk):
            routes.send(deed.sender, deed.to)
        else:
            routes.move(deed.agent, deed.site)
    return routes, life


@pytest.mark.parametrize("algorithm", ["central", "qsc", "fqsc"])
def test_one_plan_runs_on_each_algorithm(algorithm: str) -> None:
    given = Assumptions(messages_a_move=10)
    routes, life = lived(algorithm, given)
    deeds = list(islice(Life(given, Random(1)).deeds(), MESSAGES))
    assert sum(routes.hops.values()) == sum(isinstance(deed, Talk) for deed in deeds)
    assert routes.where == life.where


def test_with_many_messages_a_move_nearly_all_take_one_network_message() -> None:
    routes, _ = lived("fqsc", Assumptions())
    assert share_direct(routes.hops) >= 0.95
    assert mean_hops(routes.hops) <= 1.1


def test_people_live_as_assumed() -> None:
    given = Assumptions(messages_a_move=10)
    life = Life(given, Random(2))
    before = dict(life.where)
    moves = across = talks = 0
    for deed in islice(life.deeds(), 50_000):
        if isinstance(deed, GoToSite):
            moves += 1
            across += life.sites[before[deed.agent]] != life.sites[deed.site]
            assert before[deed.agent] != deed.site
            before[deed.agent] = deed.site
        else:
            talks += 1
            assert deed.to in life.peers[deed.sender]
    assert talks / moves == pytest.approx(given.messages_a_move, rel=0.1)
    assert across / moves == pytest.approx(given.across, rel=0.2)
    assert {len(peers) for peers in life.peers.values()} == {given.peers}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"sites": 1}, "a department needs two sites and two people at least"),
        ({"departments": 1}, "there is no other department to move to"),
        ({"peers": 160}, "there are no 160 others to talk to"),
        ({"group": (1, 3)}, "no group has from 1 to 3 people"),
        ({"group": (2, 50), "group_across": 0}, "no group has from 2 to 50 people"),
        ({"peers": 40, "group_across": 0}, "there are no 40 others to talk to"),
    ],
)
def test_lives_that_cannot_be(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ImpossibleLife, match=why):
        Assumptions(**given)
