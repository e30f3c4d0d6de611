"""Each checker of a world of hosts can say no, on a history written by hand."""

from collections.abc import Callable

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.requests import (
    ONCE,
    ONCE_PER_TUPLE,
    READ,
    READ_ALL,
    READ_NOWAIT,
    TAKE,
    TAKE_NOWAIT,
    Adjust,
    Open,
    Out,
    React,
    Seek,
    Settle,
    Share,
)
from nomospace.host.system import SYSTEM
from nomospace.terms.templates import Template
from nomospace_lab.sim.census import AGENTS, SHARES
from nomospace_lab.sim.checkers import yes
from nomospace_lab.sim.checkers.engaging import (
    hosts_stand_still,
    system_lists_everything,
    tuples_come_with_the_view,
)
from nomospace_lab.sim.checkers.progress import (
    misplaced_come_home,
    reactions_fire_once,
    waiters_are_served,
)
from nomospace_lab.sim.checkers.spaces import (
    answered_once,
    none_is_lost,
    one_taker,
    takes_are_linearizable,
    tuples_keep_their_names,
)
from nomospace_lab.sim.checkers.views import (
    comes_to_rest,
    system_shows_the_view,
    views_agree,
    was_hard,
)
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import LOOK
from nomospace_lab.sim.history import CRASHED, RESTARTED
from nomospace_lab.sim.observed import (
    ANSWERED,
    CAME,
    FROZE,
    LEFT,
    THAWED,
    VIEW,
    Answered,
    Viewed,
)
from nomospace_lab.sim.simulation import START_US
from tests.unit.sim.tale import ALL, ANN, BOB, HOMES, Tale


@pytest.fixture
def tale() -> Tale:
    return Tale()


# -- none is lost --------------------------------------------------------------------------


def test_a_tuple_in_its_place_is_fine(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    assert tale.answers(none_is_lost) == "unknown"
    tale.count((one,), ())
    assert tale.answers(none_is_lost) == "yes"


def test_a_tuple_that_is_nowhere_is_lost(tale: Tale) -> None:
    tale.write(ANN, 1)
    tale.count((), ())
    verdict = none_is_lost(tale.world)
    assert verdict.answer == "no"
    assert [h.what.op for h in verdict.proof] == [5, 5], "its write, and nothing else"


def test_a_tuple_in_two_places_is_doubled(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.count((one,), (one,))
    assert tale.answers(none_is_lost) == "no"


def test_a_taken_tuple_must_be_gone_also_after_the_power_was(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, one)
    tale.count((), ())
    assert tale.answers(none_is_lost) == "yes"
    tale.count((one,), (), round=2)
    assert tale.answers(none_is_lost) == "no"


def test_a_take_that_was_on_disk_and_never_told_took_its_tuple(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    op = tale.ask(BOB, Seek("jobs", TAKE, ALL))
    tale.answer(op, one, told=False)
    tale.add(CRASHED, "y")
    tale.count((), ())
    assert tale.answers(none_is_lost) == "yes"


def test_a_write_without_an_answer_may_have_been_or_not(tale: Tale) -> None:
    tale.ask(ANN, Out("jobs", ("job", 1)))
    tale.add(CRASHED, "x")
    tale.count((), ())
    assert tale.answers(none_is_lost) == "yes"
    tale.count((Found(("job", 1), ANN, 1, ANN),), (), round=2)
    assert tale.answers(none_is_lost) == "yes"


def test_a_tuple_from_nowhere_is_a_no(tale: Tale) -> None:
    tale.count((Found(("job", 9), ANN, 9, ANN),), ())
    assert tale.answers(none_is_lost) == "no"


def test_an_expired_tuple_may_be_gone_and_must_be_in_the_end(tale: Tale) -> None:
    one = tale.write(ANN, 1, ttl_us=30 * SECOND_US)
    tale.count((), ())
    assert tale.answers(none_is_lost) == "yes"
    tale.count((one,), (), round=2)
    assert tale.answers(none_is_lost) == "no"


def test_a_power_cut_moves_no_tuple(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.count((one,), ())
    tale.count((), (one,), round=2)
    assert tale.answers(none_is_lost) == "no"


def test_a_count_that_was_not_answered_says_nothing(tale: Tale) -> None:
    tale.write(ANN, 1)
    tale.ask(ANN, Seek("jobs", READ_ALL, ALL, at=ANN), round=1)
    assert tale.answers(none_is_lost) == "unknown"


# -- one taker -----------------------------------------------------------------------------


def test_two_takers_are_one_too_many(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, one)
    assert tale.answers(one_taker) == "yes"
    tale.take(ANN, one)
    assert tale.answers(one_taker) == "no"


def lent(one: Found, name: str) -> Found:
    return Found(one.fields, one.writer, one.count, one.source, 1, name)


def test_one_acknowledgement_counts(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, lent(one, "l1"), lease_us=30 * SECOND_US)
    tale.take(ANN, lent(one, "l2"), lease_us=90 * SECOND_US)
    tale.did(ANN, Settle("jobs", "l2"))
    assert tale.answers(one_taker) == "yes"
    tale.did(BOB, Settle("jobs", "l1"))
    assert tale.answers(one_taker) == "no"


def test_what_is_lent_is_nobody_elses(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, lent(one, "l1"), lease_us=300 * SECOND_US)
    tale.take(ANN, one, TAKE_NOWAIT)
    assert tale.answers(one_taker) == "no"


def test_what_was_given_back_is_free(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, lent(one, "l1"), lease_us=300 * SECOND_US)
    tale.did(BOB, Settle("jobs", "l1", done=False))
    tale.take(ANN, one, TAKE_NOWAIT)
    assert tale.answers(one_taker) == "yes"


def test_a_crash_ends_leases(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, lent(one, "l1"), lease_us=300 * SECOND_US)
    tale.add(CRASHED, "x")
    tale.take(ANN, one, TAKE_NOWAIT)
    assert tale.answers(one_taker) == "yes"


# -- answers -------------------------------------------------------------------------------


def test_a_second_answer_is_a_no(tale: Tale) -> None:
    op = tale.did(ANN, Out("jobs", ("job", 1)))
    assert tale.answers(answered_once) == "yes"
    tale.answer(op)
    assert tale.answers(answered_once) == "no"


def test_an_answer_after_the_crash_is_a_no(tale: Tale) -> None:
    op = tale.ask(ANN, Seek("jobs", TAKE, ALL))
    tale.add(CRASHED, "x")
    tale.answer(op)
    assert tale.answers(answered_once) == "no"


def test_an_answer_to_nobody_is_a_no(tale: Tale) -> None:
    tale.add(ANSWERED, ANN, Answered(77, "x", None, None))
    assert tale.answers(answered_once) == "no"


def test_one_tuple_one_id(tale: Tale) -> None:
    one, two = tale.write(ANN, 1), tale.write(ANN, 2)
    tale.take(BOB, one, READ)
    tale.take(BOB, two, READ)
    assert tale.answers(tuples_keep_their_names) == "yes"
    tale.take(BOB, Found(one.fields, ANN, 5, ANN), READ)
    assert tale.answers(tuples_keep_their_names) == "no"


def test_one_id_one_tuple(tale: Tale) -> None:
    one, two = tale.write(ANN, 1), tale.write(ANN, 2)
    tale.take(BOB, one, READ)
    tale.take(BOB, Found(two.fields, ANN, 1, ANN), READ)
    assert tale.answers(tuples_keep_their_names) == "no"


# -- linearizable --------------------------------------------------------------------------


def test_a_read_after_the_take_is_a_no(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, one)
    assert tale.answers(takes_are_linearizable) == "yes"
    tale.take(ANN, one, READ_NOWAIT)
    assert tale.answers(takes_are_linearizable) == "no"


def test_a_read_beside_the_take_is_fine(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    read = tale.ask(ANN, Seek("jobs", READ, ALL))
    tale.take(BOB, one)
    tale.answer(read, one)
    assert tale.answers(takes_are_linearizable) == "yes"


def test_a_take_before_the_write_is_a_no(tale: Tale) -> None:
    tale.take(BOB, Found(("job", 1), ANN, 1, ANN))
    tale.write(ANN, 1)
    assert tale.answers(takes_are_linearizable) == "no"


def test_missing_what_was_there_all_the_time_is_a_no(tale: Tale) -> None:
    tale.write(ANN, 1)
    tale.take(ANN, None, TAKE_NOWAIT)
    assert tale.answers(takes_are_linearizable) == "no"


def test_a_bulk_read_that_misses_one_is_a_no(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.write(ANN, 2)
    tale.take(ANN, (one,), READ_ALL)
    assert tale.answers(takes_are_linearizable) == "no"


def _moved_away(tale: Tale) -> None:
    tale.add(LEFT, ANN, "x")
    tale.add(CAME, ANN, "y")


def _wanted_elsewhere(tale: Tale) -> None:
    tale.ask(BOB, Seek("jobs", TAKE, ALL))


def _parted(tale: Tale) -> None:
    tale.did(ANN, Share(("jobs",), shared=False))


@pytest.mark.parametrize("excuse", [_moved_away, _wanted_elsewhere, _parted])
def test_what_may_have_been_away_may_be_missed(tale: Tale, excuse: Callable[[Tale], None]) -> None:
    HOMES["cat@x"] = "x"
    try:
        tale.add(CAME, "cat@x", "x")
        tale.did("cat@x", Open("jobs"))
        tale.did("cat@x", Share(("jobs",)))
        tale.write(ANN, 1)
        excuse(tale)
        tale.take("cat@x", None, READ_NOWAIT)
        assert tale.answers(takes_are_linearizable) == "yes"
    finally:
        del HOMES["cat@x"]


def test_what_does_not_match_is_a_no(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.did(BOB, Seek("jobs", READ, Template.of(("job", 2))), one)
    assert tale.answers(takes_are_linearizable) == "no"


def test_what_another_holds_is_a_no(tale: Tale) -> None:
    one = tale.write(ANN, 1)
    tale.take(BOB, one, READ, at=BOB)
    assert tale.answers(takes_are_linearizable) == "no"


# -- views ---------------------------------------------------------------------------------


def test_one_id_with_two_groups_is_a_no(tale: Tale) -> None:
    tale.add(VIEW, "x", Viewed((1, "x"), ("x", "y")))
    tale.add(VIEW, "y", Viewed((1, "x"), ("x", "y")))
    assert tale.answers(views_agree) == "yes"
    tale.add(VIEW, "z", Viewed((1, "x"), ("x", "y", "z")))
    assert tale.answers(views_agree) == "no"


def test_views_never_go_back_not_even_after_a_crash(tale: Tale) -> None:
    tale.add(VIEW, "x", Viewed((2, "x"), ("x",)))
    tale.add(CRASHED, "x")
    tale.add(RESTARTED, "x")
    tale.add(VIEW, "x", Viewed((1, "y"), ("x", "y")))
    assert tale.answers(views_agree) == "no"


def test_a_view_without_oneself_is_a_no(tale: Tale) -> None:
    tale.add(VIEW, "x", Viewed((2, "y"), ("y", "z")))
    assert tale.answers(views_agree) == "no"


def hosts(*names: str) -> tuple[Found, ...]:
    return tuple(Found(("host", name, "connected"), "", 0, "") for name in names)


def test_the_system_space_shows_one_view(tale: Tale) -> None:
    tale.did(ANN, LOOK, hosts("x"))
    tale.add(VIEW, "x", Viewed((1, "x"), ("x", "y")))
    tale.did(ANN, LOOK, hosts("y", "x"))
    op = tale.ask(ANN, LOOK)
    tale.add(VIEW, "x", Viewed((2, "x"), ("x", "y", "z")))
    tale.answer(op, hosts("x", "y"))
    assert tale.answers(system_shows_the_view) == "yes"
    tale.did(ANN, LOOK, hosts("x", "z"))
    assert tale.answers(system_shows_the_view) == "no"


def test_after_a_restart_a_host_is_alone(tale: Tale) -> None:
    tale.add(VIEW, "x", Viewed((1, "x"), ("x", "y")))
    tale.add(CRASHED, "x")
    tale.add(RESTARTED, "x")
    tale.did(ANN, LOOK, hosts("x", "y"))
    assert tale.answers(system_shows_the_view) == "no"


def test_an_easy_world_proves_little(tale: Tale) -> None:
    tale.add(CRASHED, "x")
    tale.world.end_us = tale.now + 1
    assert tale.answers(was_hard(calls=4, changes=0, crashes=1)) == "yes"
    assert tale.answers(was_hard(calls=5, changes=0, crashes=1)) == "no"
    assert tale.answers(was_hard(calls=4, changes=1, crashes=1)) == "no"
    assert tale.answers(was_hard(calls=4, changes=0, crashes=2)) == "no"


def test_a_world_without_an_end_does_not_rest(tale: Tale) -> None:
    assert tale.answers(comes_to_rest) == "no"


def _resting(tale: Tale) -> Tale:
    tale.world.site("x")
    tale.world.site("y")
    for host in ("x", "y"):
        tale.add(VIEW, host, Viewed((1, "x"), ("x", "y")))
    tale.world.healed_at = START_US
    tale.world.quiet = True
    return tale


def test_a_world_in_one_view_rests(tale: Tale) -> None:
    _resting(tale).count((), ())
    assert tale.answers(comes_to_rest) == "yes"


def test_a_call_without_an_answer_is_no_rest(tale: Tale) -> None:
    _resting(tale).ask(ANN, Seek("jobs", TAKE_NOWAIT, ALL))
    tale.count((), ())
    assert tale.answers(comes_to_rest) == "no"


def test_two_views_are_no_rest(tale: Tale) -> None:
    _resting(tale).add(VIEW, "y", Viewed((2, "y"), ("y",)))
    tale.count((), ())
    assert tale.answers(comes_to_rest) == "no"


# -- progress ------------------------------------------------------------------------------


def test_a_misplaced_tuple_whose_owner_is_there_is_a_no(tale: Tale) -> None:
    tale.world.where.update(HOMES)
    one = tale.write(ANN, 1, to=BOB)
    tale.count((), (one,))
    assert tale.answers(misplaced_come_home) == "yes"
    other = Tale()
    other.world.where.update(HOMES)
    one = other.write(ANN, 1, to=BOB)
    other.count((one,), ())
    assert other.answers(misplaced_come_home) == "no"


def test_a_misplaced_tuple_waits_for_its_owner_to_share(tale: Tale) -> None:
    tale.world.where.update(HOMES)
    tale.did(BOB, Share(("jobs",), shared=False))
    one = tale.write(ANN, 1, to=BOB)
    tale.count((one,), ())
    assert tale.answers(misplaced_come_home) == "yes"


@pytest.mark.parametrize(
    ("at", "dest", "answer"),
    [("", "", "no"), (ANN, "", "no"), ("x", ANN, "no"), (BOB, "", "yes"), ("", BOB, "yes")],
)
def test_waiting_for_what_is_there_is_a_no(tale: Tale, at: str, dest: str, answer: str) -> None:
    one = tale.write(ANN, 1)
    tale.ask(BOB, Seek("jobs", TAKE, ALL, at, dest))
    tale.count((one,), ())
    assert tale.answers(waiters_are_served) == answer


def test_waiting_for_what_is_private_is_fine(tale: Tale) -> None:
    tale.did(ANN, Share(("jobs",), shared=False))
    one = tale.write(ANN, 1)
    tale.ask(BOB, Seek("jobs", TAKE, ALL))
    tale.count((one,), ())
    assert tale.answers(waiters_are_served) == "yes"


def test_once_per_tuple_is_once_for_each(tale: Tale) -> None:
    tale.did(BOB, React("jobs", ALL, ONCE_PER_TUPLE), "r1")
    one, two = tale.write(ANN, 1), tale.write(ANN, 2)
    tale.fire(BOB, "r1", one)
    tale.count((one, two), ())
    assert tale.answers(reactions_fire_once) == "no", "not for the second one"
    tale.history.happenings.insert(-4, tale.history.happenings[-5])
    tale.fire(BOB, "r1", two)
    assert tale.answers(reactions_fire_once) == "no", "twice for the first one"


def test_a_firing_each_is_fine_and_enabling_forgets(tale: Tale) -> None:
    tale.did(BOB, React("jobs", ALL, ONCE_PER_TUPLE), "r1")
    one = tale.write(ANN, 1)
    tale.fire(BOB, "r1", one)
    tale.did(BOB, Adjust("r1", "enable"), True)
    tale.fire(BOB, "r1", one)
    tale.count((one,), ())
    assert tale.answers(reactions_fire_once) == "yes"


def test_a_reaction_that_was_enabled_again_must_fire_again(tale: Tale) -> None:
    tale.did(BOB, React("jobs", ALL, ONCE_PER_TUPLE), "r1")
    one = tale.write(ANN, 1)
    tale.fire(BOB, "r1", one)
    tale.did(BOB, Adjust("r1", "enable"), True)
    tale.count((one,), ())
    assert tale.answers(reactions_fire_once) == "no"


def test_once_is_once(tale: Tale) -> None:
    tale.did(BOB, React("jobs", ALL, ONCE), "r1")
    one, two = tale.write(ANN, 1), tale.write(ANN, 2)
    tale.fire(BOB, "r1", one)
    tale.count((one, two), ())
    assert tale.answers(reactions_fire_once) == "yes"
    again = Tale()
    again.did(BOB, React("jobs", ALL, ONCE), "r1")
    for number in (1, 2):
        again.fire(BOB, "r1", again.write(ANN, number))
    again.count((), ())
    assert again.answers(reactions_fire_once) == "no"


def test_a_reaction_dies_with_its_host(tale: Tale) -> None:
    tale.did(BOB, React("jobs", ALL, ONCE_PER_TUPLE), "r1")
    tale.add(CRASHED, "y")
    one = tale.write(ANN, 1)
    tale.count((one,), ())
    assert tale.answers(reactions_fire_once) == "yes"


def test_enabling_what_is_enabled_forgets_nothing(tale: Tale) -> None:
    tale.did(BOB, React("jobs", ALL, ONCE_PER_TUPLE), "r1")
    one = tale.write(ANN, 1)
    tale.fire(BOB, "r1", one)
    tale.did(BOB, Adjust("r1", "enable"), False)
    tale.fire(BOB, "r1", one)
    tale.count((one,), ())
    assert tale.answers(reactions_fire_once) == "no"


# -- engaging ------------------------------------------------------------------------------


def test_an_answer_from_a_host_that_stands_still_is_a_no(tale: Tale) -> None:
    early = tale.ask(ANN, Seek("jobs", TAKE_NOWAIT, ALL))
    tale.add(FROZE, "x", wait_s=0)
    tale.answer(early)
    held = tale.ask(ANN, Seek("jobs", TAKE_NOWAIT, ALL), wait_s=1)
    tale.add(THAWED, "x", wait_s=1)
    tale.answer(held)
    assert tale.answers(hosts_stand_still) == "yes"
    tale.add(FROZE, "x")
    tale.take(ANN, None, TAKE_NOWAIT)
    assert tale.answers(hosts_stand_still) == "no"


def test_a_host_that_stands_still_for_a_minute_is_a_no(tale: Tale) -> None:
    tale.add(FROZE, "x")
    tale.add(THAWED, "x", wait_s=60)
    assert tale.answers(hosts_stand_still) == "no"


def _engage(tale: Tale, *held: Found) -> None:
    """Both hosts install a view; bob, at the first, looks at what he holds."""
    tale.add(VIEW, "y", Viewed((1, "x"), ("x", "y")))
    look = Seek("jobs", READ_ALL, ALL, at=BOB)
    tale.did(BOB, look, held, round=-1, wait_s=0)
    tale.add(VIEW, "x", Viewed((1, "x"), ("x", "y")))


def test_a_misplaced_tuple_comes_with_the_view(tale: Tale) -> None:
    one = tale.write(ANN, 1, to=BOB)
    _engage(tale, one)
    assert tuples_come_with_the_view(tale.world).cases == 1
    assert tale.answers(tuples_come_with_the_view) == "yes"


def test_a_misplaced_tuple_that_comes_later_is_a_no(tale: Tale) -> None:
    tale.write(ANN, 1, to=BOB)
    _engage(tale)
    assert tale.answers(tuples_come_with_the_view) == "no"


def _wanted_by_ann(tale: Tale) -> None:
    tale.ask(ANN, Seek("jobs", TAKE, ALL))


@pytest.mark.parametrize("excuse", [_wanted_by_ann, _parted, _moved_away])
def test_what_may_not_have_been_there_need_not_come(
    tale: Tale, excuse: Callable[[Tale], None]
) -> None:
    tale.write(ANN, 1, to=BOB)
    excuse(tale)
    _engage(tale)
    assert tuples_come_with_the_view(tale.world) == yes(
        "misplaced tuples migrate with the engagement", 0
    )


def test_a_tuple_for_somebody_far_away_stays_where_it_was_written(tale: Tale) -> None:
    tale.write(ANN, 1, to=BOB)
    tale.take(ANN, None, READ_NOWAIT)
    assert tale.answers(takes_are_linearizable) == "no"


def test_a_tuple_for_somebody_in_the_group_may_be_on_its_way(tale: Tale) -> None:
    tale.add(VIEW, "x", Viewed((1, "x"), ("x", "y")))
    tale.write(ANN, 1, to=BOB)
    tale.take(ANN, None, READ_NOWAIT)
    assert tale.answers(takes_are_linearizable) == "yes"


@pytest.mark.parametrize(
    ("agents", "shares", "answer"),
    [
        ((ANN, BOB), (ANN, BOB), "yes"),
        ((ANN,), (ANN, BOB), "no"),
        ((ANN, BOB), (BOB,), "no"),
    ],
)
def test_the_system_space_names_everybody(
    tale: Tale, agents: tuple[str, ...], shares: tuple[str, ...], answer: str
) -> None:
    tale.world.where.update(HOMES)
    assert tale.answers(system_lists_everything) == "unknown"
    for template, lines in (
        (AGENTS, [("agent", one, HOMES[one], "connected") for one in agents]),
        (SHARES, [("space", "jobs", one, HOMES[one], "connected") for one in shares]),
    ):
        found = tuple(Found(line, "", 0, "") for line in lines)
        tale.did(ANN, Seek(SYSTEM, READ_ALL, template), found, round=1)
    assert tale.answers(system_lists_everything) == answer
