"""Each property of the hospital can fail: a law with one rule spoilt is caught, and by it."""

import pytest

from nomospace_lab.apps.hospital import properties
from nomospace_lab.apps.hospital.hospital import Hospital
from nomospace_lab.apps.hospital.world import build, populate
from nomospace_lab.sim import START_US, Checker, Link
from nomospace_lab.sim.clock import HOUR_US
from nomospace_lab.sim.world import World
from tests.unit.apps.spoil import spoilt

SEEDS = 12
WHO_MAY_HEAR = "( S = expert, K \\= metaAlarm -> true ; expert(K)@CS ),"
METAS_STANDING = "( expert(metaAlarm)@CS -> S = expert ; S = layman ),"

SPOILT = {
    "everyone hears everything": (
        properties.laymen_hear_no_laymen,
        {WHO_MAY_HEAR: "true,"},
    ),
    "laymen hear metaAlarms": (
        properties.meta_alarms_go_to_experts,
        {WHO_MAY_HEAR: "true,", "; K \\= metaAlarm, delete": "; delete"},
    ),
    "anyone mediates": (
        properties.only_mediators_mediate,
        {"(Msg = subscribe(_) ; Msg = publish(_)), mediator@CS,": "(Msg = publish(_) ; true),"},
    ),
    "laymen repeat themselves": (
        properties.laymen_do_not_repeat,
        {"not(blocked(kind(K), text(X))@CS),": ""},
    ),
    "a minute is enough": (
        properties.laymen_do_not_repeat,
        {"releaseBlock(kind(K), text(X)), 5, min": "releaseBlock(kind(K), text(X)), 1, min"},
    ),
    "laymen pose as experts": (
        properties.alarms_tell_the_truth,
        {"S = layman, not(blocked@CS)": "S = expert, not(blocked@CS)"},
    ),
    "nobody is blocked": (
        properties.the_blocked_are_silent,
        {"not(blocked@CS),": "", "not(blocked(K)@CS),": ""},
    ),
    "copies lay more duties": (
        properties.neglect_brings_one_meta_alarm,
        {"not(seen(A)@CS) ->": "true ->"},
    ),
    "acknowledgements settle nothing": (
        properties.neglect_brings_one_meta_alarm,
        {"do(repealObligation(handlingExpire(A, med(_)))),": ""},
    ),
    "neglect has no consequence": (
        properties.neglect_brings_one_meta_alarm,
        {"publish(alarm(kind(metaAlarm), time(T)": "ignore(alarm(kind(metaAlarm), time(T)"},
    ),
    "inspectors have nine minutes": (
        properties.neglect_brings_one_meta_alarm,
        {"handlingExpire(A, med(M)), 10, min": "handlingExpire(A, med(M)), 9, min"},
    ),
    "metaAlarms breed": (
        properties.meta_alarms_stay_bounded,
        {METAS_STANDING: "S = layman,"},
    ),
    "inspectors are not subscribed": (
        properties.inspectors_are_subscribed,
        {"do(forward(X, subscribe(alarm([kind(K)])), M)),": ""},
    ),
    "mediators may not notify": (
        properties.the_last_alarms_arrive,
        {"R5. sent(_, notify(_), _) :- mediator@CS,": "R5. sent(_, notify(_), _) :- fail,"},
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_law_is_caught(name: str) -> None:
    check, changes = SPOILT[name]
    law = spoilt("ap", changes)
    # MetaAlarms that breed never come to rest; all else is settled when a day has passed.
    hours = 3 if name == "metaAlarms breed" else 26
    for seed in range(SEEDS):
        world = populate(Hospital(seed, law, link=Link(loss=0.02, repeats=0.02)))
        world.run(until_us=START_US + hours * HOUR_US)
        said = check(world)
        if said.answer == "no":
            assert said.says
            return
    pytest.fail(f"{SEEDS} hospitals under a spoilt law, and all is well")


@pytest.mark.parametrize("check", properties.ALL, ids=lambda check: check.__name__)
def test_every_property_has_a_spoilt_law(check: Checker) -> None:
    assert check in {spoilt for spoilt, _ in SPOILT.values()}


def test_a_history_that_ends_early_leaves_doubts() -> None:
    world = build(3)
    assert isinstance(world, World)
    world.run(until_us=START_US + HOUR_US // 6)
    for check in (properties.neglect_brings_one_meta_alarm, properties.the_last_alarms_arrive):
        assert check(world).answer == "unknown"
    assert properties.laymen_hear_no_laymen(world).answer == "yes"
