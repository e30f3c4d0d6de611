"""Each property of the worlds with a space can fail: a law with one rule spoilt is caught by it."""

from typing import Any

import pytest

from nomospace.apps.bidding import world as bidding
from nomospace.apps.congestion import world as congestion
from nomospace.apps.messages import world as messages
from nomospace.apps.tuplespace import ANY, matches
from nomospace.apps.wall import world as wall
from nomospace.sim import Checker
from nomospace.terms import Term, t
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
    for seed in range(SEEDS):
        world = module.build(seed)
        world.run()
        if check(world).answer == "no":
            return
    pytest.fail(f"{SEEDS} worlds under a spoilt law, and all is well")


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ((1, "a"), (1, "a"), True),
        ((1, "a"), (1.0, "a"), False),
        ((ANY, ANY), (1, (2, 3)), True),
        ((ANY,), (1, 2), False),
        ((t.formal("int"),), (True,), False),
        ((t.formal("int"),), (4,), True),
        ((t.formal("list"),), ((),), True),
        ((t.fee(t.formal("str")),), (t.fee("x"),), True),
        ((t.fee(ANY),), (t.price(1),), False),
        (ANY, (1, 2), True),
    ],
)
def test_a_template_fits_by_shape_type_and_value(pattern: Term, value: Term, fits: bool) -> None:
    assert matches(pattern, value) is fits
