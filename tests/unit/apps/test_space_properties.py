"""Each property of the worlds with a space can fail: a law with one rule spoilt is caught by it."""

from typing import Any

import pytest

from nomospace.host.governed import Governed
from nomospace.host.lending import Lending
from nomospace.host.seeking import Seeking
from nomospace.host.serving import Serving
from nomospace_lab.apps.bidding import world as bidding
from nomospace_lab.apps.congestion import world as congestion
from nomospace_lab.apps.messages import world as messages
from nomospace_lab.apps.wall import world as wall
from nomospace_lab.sim import Checker
from nomospace_lab.sim.checkers.ruled import four_rulings
from tests.unit.apps.spoil import spoilt

SEEDS = 10
A_REQUEST = "= [requester(C), service(_)]"
A_BID = "= [offerFor(_, _), fee(_), provider(P), contact(_)],"
CHOOSE = "( chosen(K, Mine)@CS -> Mine == C ; do(+chosen(K, C)) ),"

SPOILT: list[tuple[str, Checker, str, str]] = [
    ("mp", messages.letters_name_their_writer, "from(X), to(_)]", "from(_), to(_)]"),
    ("mp", messages.letters_reach_their_reader, "from(_), to(Y)]", "from(_), to(_)]"),
    ("mp", messages.the_last_letter_arrives, "tupleSpace@CS, do(forward)", "fail, do(forward)"),
    ("sb", bidding.nothing_is_forged, f"writes(Op, T), T {A_REQUEST}", "writes(Op, _)"),
    ("sb", bidding.nothing_is_forged, f"{A_BID} serviceProvider@CS,", A_BID),
    ("sb", bidding.requests_are_for_providers, f"removal(Op, P), P {A_REQUEST}", "removal(Op, _)"),
    (
        "sb",
        bidding.requests_are_for_providers,
        "P = [requester(_), service(_)], serviceProvider@CS,",
        "P = P,",
    ),
    ("sb", bidding.bids_are_for_their_client, "P = [offerFor(C, _),", "P = [offerFor(_, _),"),
    ("sb", bidding.lost_roles_show_nothing, "do(deliver(TS, none(Op), Self))", "do(deliver)"),
    (
        "sb",
        bidding.lost_roles_show_nothing,
        "do(forward(Self, unreact(P), TS))",
        "do(forward(Self, unreact(P), TS)), do(deliver)",
    ),
    ("sb", bidding.deals_are_made, "tupleSpace@CS, do(forward)", "fail, do(forward)"),
    ("cc", congestion.the_pace_is_kept, "T >= Last + DT ->", "T >= Last ->"),
    ("cc", congestion.the_pace_is_kept, "sendMessage(TS), T + DT", "sendMessage(TS), T"),
    ("cc", congestion.the_pace_is_kept, "sendMessage(TS), T + DT", "sendMessage(TS), T + DT + 1"),
    ("cc", congestion.the_pace_is_kept, "not(waiting(TS, _)@CS),", "true,"),
    ("cc", congestion.the_pace_is_kept, "max(T, Last + DT)", "T + DT + 1"),
    (
        "cc",
        congestion.delays_are_the_spaces,
        "( delay(TS, Old)@CS ->",
        "do(deliver), ( delay(TS, Old)@CS ->",
    ),
    ("cc", congestion.delays_are_the_spaces, "not(aboutDelay(M)).", "true."),
    ("cc", congestion.held_back_is_answered, "do(forward(Self, M, TS)),", "true,"),
    ("cw", wall.nobody_sees_two_sides, CHOOSE, "true,"),
    ("cw", wall.the_first_access_chooses, "-> Mine == C ;", "-> Mine = Mine ;"),
    ("cw", wall.writers_know_nothing_else, "not(beyond(K, C)),", "true,"),
    ("cw", wall.the_last_fact_is_found, "tupleSpace@CS, do(forward)", "fail, do(forward)"),
]
HOMES: dict[str, tuple[Any, str]] = {
    "mp": (messages, "law_mp"),
    "sb": (bidding, "law_sb"),
    "cc": (congestion, "law_cc"),
    "cw": (wall, "law_cw"),
}


@pytest.mark.parametrize(
    ("name", "check", "old", "new"), SPOILT, ids=[f"{law}-{c.__name__}" for law, c, _, _ in SPOILT]
)
def test_a_spoilt_law_is_caught(
    name: str, check: Checker, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = spoilt(name, {old: new})
    module, function = HOMES[name]
    monkeypatch.setattr(module, function, lambda: law)
    assert caught(module, check), f"{SEEDS} worlds under a spoilt law, and all is well"


def caught(module: Any, check: Checker) -> bool:
    """Whether a checker says no to one of some worlds."""
    for seed in range(SEEDS):
        world = module.build(seed)
        world.run()
        if check(world).answer == "no":
            return True
    return False


def test_a_host_that_lets_anyone_end_a_lease_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lending, "_may_settle", lambda *_: True)
    assert caught(messages, messages.what_is_others_stays)


def test_hosts_that_do_not_look_at_the_law_of_a_space_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sites, level, governed = Seeking._sites, Serving._level, messages.law_mp().hash

    def all_sites(self: Seeking, seek: Any, law: str) -> dict[str, None]:
        return {**sites(self, seek, law), **sites(self, seek, governed)}

    def any_level(self: Serving, peer: str, space: str, law: str) -> Any:
        return level(self, peer, space, law) or level(self, peer, space, governed)

    monkeypatch.setattr(Seeking, "_sites", all_sites)
    monkeypatch.setattr(Serving, "_level", any_level)
    assert caught(messages, messages.another_law_is_another_space)


@pytest.mark.parametrize("module", [messages, bidding, congestion, wall])
def test_a_host_that_admits_without_a_ruling_is_caught(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Governed, "admits", lambda *_: True)
    assert caught(module, four_rulings)


@pytest.mark.parametrize("module", [messages, bidding, congestion, wall])
def test_a_host_that_answers_without_a_ruling_is_caught(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Governed, "let_go", lambda *asked: asked[-1])
    assert caught(module, four_rulings)
