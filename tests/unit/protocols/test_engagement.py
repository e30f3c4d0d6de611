"""Engagement: every transition, by its effects; what a leader does; what bounds it all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from nomospace.protocols.engagement import POLLS, Engagement
from nomospace.protocols.events import (
    TICK,
    DeliverRelayed,
    Disengage,
    Effect,
    Engage,
    Exchange,
    Exchanged,
    Floor,
    Freeze,
    Heard,
    Info,
    Installed,
    Moved,
    Thaw,
    Transmit,
)
from nomospace.protocols.messages import (
    ANSWERED,
    ASKED,
    DECIDED,
    Abort,
    Advert,
    Adverts,
    Commit,
    EngagementBody,
    Got,
    HelloFrame,
    KnownVersions,
    Nack,
    Prepare,
    Ready,
    Relay,
    View,
)
from nomospace.protocols.pace import HEARTBEAT, LOSS
from nomospace.protocols.policy import Announced, Reachable
from nomospace.protocols.rounds import (
    EXCHANGING,
    PREPARED,
    STABLE,
    TRANSITIONS,
    RoundCause,
    RoundPhase,
)
from tests.unit.protocols.bench import (
    FROZEN_MAX,
    GRACE,
    PAUSE_MAX,
    PREPARED_MAX,
    RETRY,
    ROUND,
    SETTLE,
    Bench,
    ann_leads,
    answer,
    commit,
    committed,
    proposal,
)

# -- the table, row by row ---------------------------------------------------------------------


def test_every_row_of_the_table_has_a_test_here() -> None:
    rows = {row.values[:2] for row in ROWS}
    assert rows == set(TRANSITIONS)


def play(bench: Bench, cause: RoundCause) -> list[Effect]:
    if cause is RoundCause.PREPARED_FOR:
        return bench.hear("ann", proposal((6, "ann"), "ann", "bob"))
    if cause is RoundCause.COMMITTED:
        bench.tell(Info("entry of bob"))
        return bench.hear("ann", commit((5, "ann"), {"ann": (1, "ann"), "bob": (1, "bob")}))
    if cause is RoundCause.ABORTED:
        return bench.hear("ann", Abort((5, "ann")))
    if cause is RoundCause.LEADERLESS:
        return bench.hear_hello("ann", heard=False)
    if cause is RoundCause.EXCHANGED:
        return bench.tell(Exchanged((5, "ann")))
    return bench.wait(PREPARED_MAX if bench.core.phase is PREPARED else FROZEN_MAX)


PREPARED_AGAIN = [Floor(6), Freeze((6, "ann"))]
THAWED = [Thaw((5, "ann"))]
VIEW = View((5, "ann"), ("ann", "bob"))
DIRECTORY = {"ann": "entry of ann", "bob": "entry of bob"}
ROWS = [
    pytest.param(STABLE, RoundCause.PREPARED_FOR, PREPARED_AGAIN, id="asked"),
    pytest.param(PREPARED, RoundCause.PREPARED_FOR, PREPARED_AGAIN, id="asked-again"),
    pytest.param(EXCHANGING, RoundCause.PREPARED_FOR, PREPARED_AGAIN, id="skipped"),
    pytest.param(
        PREPARED, RoundCause.COMMITTED, [Exchange(VIEW, DIRECTORY, ("ann",))], id="committed"
    ),
    pytest.param(PREPARED, RoundCause.ABORTED, THAWED, id="aborted"),
    pytest.param(PREPARED, RoundCause.LEADERLESS, THAWED, id="leaderless"),
    pytest.param(PREPARED, RoundCause.WAITED, THAWED, id="waited"),
    pytest.param(EXCHANGING, RoundCause.LEADERLESS, THAWED, id="leaderless-late"),
    pytest.param(EXCHANGING, RoundCause.WAITED, THAWED, id="waited-late"),
    pytest.param(EXCHANGING, RoundCause.EXCHANGED, [Installed(VIEW)], id="installed"),
]


@pytest.mark.parametrize(("phase", "cause", "expected"), ROWS)
def test_a_row_of_the_table(phase: RoundPhase, cause: RoundCause, expected: list[Effect]) -> None:
    bench = Bench("bob", "ann")
    bench.reach(phase)
    before = bench.core.view
    assert play(bench, cause) == expected
    assert bench.core.phase is TRANSITIONS[phase, cause]
    assert bench.core.view == (VIEW if cause is RoundCause.EXCHANGED else before)


OTHERS = [
    (phase, cause)
    for phase in RoundPhase
    for cause in RoundCause
    if (phase, cause) not in TRANSITIONS and cause not in (RoundCause.WAITED, RoundCause.LEADERLESS)
]


@pytest.mark.parametrize(("phase", "cause"), OTHERS)
def test_what_is_not_in_the_table_moves_nothing(phase: RoundPhase, cause: RoundCause) -> None:
    bench = Bench("bob", "ann")
    bench.reach(phase)
    before = bench.core.view
    effects = play(bench, cause)
    nack = [bench.says("ann", Nack((5, "ann"), (1, "bob")))]
    assert effects == (nack if (phase, cause) == (STABLE, RoundCause.COMMITTED) else [])
    assert (bench.core.phase, bench.core.view) == (phase, before)


# -- a member ----------------------------------------------------------------------------------


def test_a_host_starts_alone_above_all_it_ever_promised() -> None:
    core = Engagement("ann", life=2, now=0, floor=7)
    assert core.view == View((8, "ann"), ("ann",))
    assert core.component() == ("ann",)
    bench = Bench("ann", floor=7)
    assert bench.wait(SETTLE * 5) == [], "and has nothing to propose"


def test_ready_comes_when_the_host_has_stopped_and_again_until_its_parent_has_it() -> None:
    bench = Bench("bob", "ann")
    id = bench.reach(PREPARED)
    assert bench.wait(RETRY) == [], "the host has not stopped yet"
    ready = [bench.says("ann", answer(id, "bob", (1, "bob"), "mine"))]
    assert bench.tell(Info("mine")) == ready
    assert bench.tell(Info("other")) == [], "one entry for one freeze"
    assert bench.wait(RETRY) == ready
    bench.hear("ann", Got(id, ANSWERED))
    assert bench.wait(RETRY) == []
    asked = bench.says("ann", Got(id, ASKED))
    assert asked in bench.acks(POLLS * RETRY), "it asks for the leader's word"


def test_who_is_asked_asks_those_below_and_answers_for_them() -> None:
    bench = Bench("bob", "ann", "cat", "dan")
    id, members = (5, "ann"), ("ann", "bob", "cat", "dan", "eve")
    body = Prepare(id, 1, members, (0, 0, 1, 1, 2), 3)
    down = [bench.says(child, body) for child in ("cat", "dan")]
    assert bench.hear("cat", body) == [], "of all members only its parent may ask"
    assert bench.hear("ann", body) == [Floor(5), Freeze(id), *down]
    bench.hear("dan", Got(id, ASKED))
    assert bench.wait(RETRY) == [down[0]], "who has not said to have it is asked again"
    bench.tell(Info("entry of bob"))
    below = Ready(id, 1, {"cat": (1, "cat", 1), "eve": (1, "eve", 1)}, {"cat": 1, "eve": 2})
    assert bench.hear("cat", below) == []
    (up,) = bench.hear("dan", answer(id, "dan", (1, "dan")))
    assert isinstance(up, Transmit)
    assert isinstance(up.frame, Relay)
    assert up.to == up.frame.dst == "ann"
    assert sorted(up.frame.body.origins) == sorted(up.frame.body.entries) == [*members[1:]]
    decided = commit(id, {host: (1, host) for host in members})
    down = [bench.says(child, decided) for child in ("cat", "dan")]
    assert bench.hear("ann", decided)[:2] == down
    bench.hear("cat", Got(id, DECIDED))
    assert bench.wait(RETRY) == down[1:]
    assert bench.hear("dan", Got(id, ASKED)) == down[1:]
    assert bench.hear("zoe", Got((4, "ann"), ASKED)) == []


def test_who_goes_on_lets_those_below_go_on_too() -> None:
    bench = Bench("bob", "ann", "cat")
    id = (5, "ann")
    bench.hear("ann", Prepare(id, 1, ("ann", "bob", "cat"), (0, 0, 1), 2))
    assert bench.hear("cat", Abort(id)) == [], "what is below says nothing"
    assert bench.hear("ann", Abort(id)) == [bench.says("cat", Abort(id)), Thaw(id)]
    assert bench.hear("cat", Got(id, ASKED)) == [bench.says("cat", Abort(id))]


@pytest.mark.parametrize("parents", [(0,), (0, 7), (0, -1)])
def test_a_proposal_without_a_parent_for_each_is_dropped(parents: tuple[int, ...]) -> None:
    bench = Bench("bob", "ann")
    assert bench.hear("ann", Prepare((5, "ann"), 1, ("ann", "bob"), parents, 1)) == []
    assert bench.core.phase is STABLE


def test_what_an_earlier_life_of_a_leader_was_answered_does_not_count() -> None:
    bench, id = ann_leads("bob")
    bench.tell(Info("entry of ann"))
    late = msgspec.structs.replace(answer(id, "bob", (1, "bob")), life=0)
    assert bench.hear("bob", late) == [bench.says("bob", Abort(id))]
    assert bench.core.phase is PREPARED


def test_a_freeze_for_a_greater_proposal_wants_a_new_entry() -> None:
    bench = Bench("bob", "ann")
    bench.reach(PREPARED)
    bench.tell(Info("old"))
    bench.hear("ann", proposal((6, "ann"), "ann", "bob"))
    again = answer((6, "ann"), "bob", (1, "bob"), "new")
    assert bench.tell(Info("new")) == [bench.says("ann", again)]


def test_a_lesser_proposal_is_refused_with_what_was_promised() -> None:
    bench = Bench("bob", "ann")
    bench.reach(PREPARED)
    lesser = proposal((4, "ann"), "ann", "bob")
    assert bench.hear("ann", lesser) == [bench.says("ann", Nack((4, "ann"), (5, "ann")))]
    bench.hear("ann", Abort((4, "ann")))
    assert bench.core.phase is PREPARED, "an abort is for its own proposal"


def test_who_gave_up_waiting_says_so() -> None:
    bench = Bench("bob", "ann")
    id = bench.reach(PREPARED)
    bench.tell(Info("entry of bob"))
    bench.hear("ann", Abort(id))
    nack = [bench.says("ann", Nack(id, id))]
    assert bench.hear("ann", proposal(id, "ann", "bob")) == nack
    assert bench.hear("ann", commit(id, {"ann": (1, "ann"), "bob": (1, "bob")})) == nack


def test_repeats_of_what_is_done_are_harmless() -> None:
    bench = Bench("bob", "ann")
    id = bench.reach(EXCHANGING)
    repeats = [
        proposal(id, "ann", "bob"),
        commit(id, {"ann": (1, "ann"), "bob": (1, "bob")}),
    ]
    assert [bench.hear("ann", body) for body in repeats] == [[], []]
    bench.tell(Exchanged(id))
    assert [bench.hear("ann", body) for body in repeats] == [[], []]
    assert bench.tell(Exchanged(id)) == []
    assert bench.core.view == VIEW


def test_an_exchange_of_another_view_installs_nothing() -> None:
    bench = Bench("bob", "ann")
    bench.reach(EXCHANGING)
    assert bench.tell(Exchanged((4, "ann"))) == []
    assert bench.core.phase is EXCHANGING


def test_peers_from_the_same_view_are_not_fresh() -> None:
    bench = Bench("bob", "ann", "cat")
    bench.hear("ann", proposal((5, "ann"), "ann", "bob", "cat"))
    bench.tell(Info("entry of bob"))
    body = commit((5, "ann"), {"ann": (3, "ann"), "bob": (1, "bob"), "cat": (1, "bob")})
    (exchange,) = bench.hear("ann", body)
    assert isinstance(exchange, Exchange)
    assert exchange.fresh == ("ann",)
    assert sorted(exchange.directories) == ["ann", "bob", "cat"]


def test_a_view_that_was_skipped_is_no_view_one_comes_from() -> None:
    bench = Bench("bob", "ann")
    bench.reach(EXCHANGING)
    bench.hear("ann", proposal((6, "ann"), "ann", "bob"))
    assert bench.tell(Exchanged((5, "ann"))) == [], "too late"
    assert bench.tell(Info("e")) == [bench.says("ann", answer((6, "ann"), "bob", (1, "bob"), "e"))]


def test_a_leader_out_of_reach_is_promised_nothing() -> None:
    bench = Bench("bob", "ann")
    assert bench.hear("abe", proposal((9, "abe"), "abe", "bob")) == []
    assert bench.hear("ann", proposal((9, "ann"), "ann")) == [], "nor one that leads others"
    assert bench.core.promised == (1, "bob")


@pytest.mark.parametrize(
    "body",
    [
        proposal((9, "ann"), "ann", "bob", "cat"),
        Abort((5, "ann")),
        commit((5, "ann"), {"ann": (1, "ann"), "bob": (1, "bob")}),
    ],
)
def test_only_a_leader_speaks_for_its_proposals(body: EngagementBody) -> None:
    bench = Bench("bob", "ann", "cat")
    bench.reach(PREPARED)
    assert bench.hear("cat", body) == []
    assert bench.core.phase is PREPARED


@pytest.mark.parametrize(
    "body",
    [
        Commit((5, "ann"), 1, ("ann", "bob"), {"ann": (1, "ann", 1)}, {"ann": 1, "bob": 2}),
        Commit((5, "ann"), 1, ("ann", "bob"), {"ann": (1, "ann", 1), "bob": (1, "bob", 1)}, {}),
    ],
)
def test_a_commit_that_is_not_whole_is_dropped(body: Commit) -> None:
    bench = Bench("bob", "ann")
    bench.reach(PREPARED)
    assert bench.hear("ann", body) == []
    assert bench.core.phase is PREPARED


def test_nobody_is_frozen_for_longer_than_the_bound_whatever_is_proposed() -> None:
    bench = Bench("bob", "ann")
    bench.reach(PREPARED)
    start = bench.now
    for number in range(6, 100):
        effects = bench.wait(PREPARED_MAX // 2)
        if THAWED[0].__class__ in [effect.__class__ for effect in effects]:
            break
        bench.hear("ann", proposal((number, "ann"), "ann", "bob"))
        assert bench.core.phase is PREPARED
    assert bench.now - start <= FROZEN_MAX + PREPARED_MAX // 2
    assert bench.core.phase is STABLE


# -- a leader ----------------------------------------------------------------------------------


def test_a_host_whose_view_is_its_component_proposes_nothing() -> None:
    bench, id = ann_leads("bob")
    bench.peers = ()
    assert bench.hear_hello("bob", heard=False) == [Thaw(id)]
    assert bench.wait(3 * ROUND) == [], "it never left the view of itself alone"


def test_a_leader_waits_until_the_component_has_settled() -> None:
    bench = Bench("ann", "bob")
    assert bench.wait(SETTLE - 1) == []
    bench.peers = ("bob", "cat")
    bench.hear_hello("cat")
    bench.show("cat", (1, "cat"))
    assert bench.wait(SETTLE - 1) == []
    first, *_ = bench.wait(1)
    assert first == Floor(2)


def test_only_the_least_name_leads() -> None:
    bench = Bench("bob", "ann")
    assert bench.wait(SETTLE * 3) == []


def test_a_prepare_is_sent_again_to_those_who_are_not_ready() -> None:
    bench, id = ann_leads("bob", "cat")
    bench.hear("bob", answer(id, "bob", (1, "bob")))
    again = [bench.says("cat", proposal(id, "ann", "bob", "cat"))]
    assert [effect for effect in bench.wait(RETRY) if isinstance(effect, Transmit)] == again


def test_when_all_are_ready_everyone_gets_the_same_commit() -> None:
    bench, id = ann_leads("bob", "cat")
    assert bench.tell(Info("entry of ann")) == []
    assert bench.hear("bob", answer(id, "bob", (1, "bob"))) == []
    assert bench.hear("eve", answer(id, "eve", (1, "eve"))) == [], "who is not asked"
    body = commit(id, {host: (1, host) for host in ("ann", "bob", "cat")})
    assert bench.hear("cat", answer(id, "cat", (1, "cat"))) == [
        bench.says("bob", body),
        bench.says("cat", body),
        Exchange(View(id, body.members), body.entries, ("bob", "cat")),
    ]
    changed = answer(id, "bob", (1, "bob"), "changed")
    assert bench.hear("bob", changed) == [bench.says("bob", body)], "made once"


def test_one_who_waits_for_a_dead_proposal_is_freed() -> None:
    bench = Bench("ann", "bob")
    stray = answer((9, "ann"), "bob", (1, "bob"), "entry")
    assert bench.hear("bob", stray) == [bench.says("bob", Abort((9, "ann")))]


def test_a_proposal_that_is_not_ready_in_time_is_given_up_and_followed_by_another() -> None:
    bench, id = ann_leads("bob")
    effects = bench.wait(ROUND)
    assert effects[-2:] == [bench.says("bob", Abort(id)), Thaw(id)]
    assert bench.wait(2 * RETRY - 1) == [], "a pause"
    assert bench.wait(1)[:2] == [Floor(3), Freeze((3, "ann"))]


def test_pauses_double_up_to_a_bound() -> None:
    bench, _ = ann_leads("bob")
    starts = [bench.now]
    while len(starts) < 9:
        if any(isinstance(effect, Freeze) for effect in bench.wait(RETRY // 4)):
            starts.append(bench.now)
    pauses = [b - a - ROUND for a, b in pairwise(starts)]
    assert pauses == sorted(pauses)
    assert RETRY < pauses[0] < PAUSE_MAX
    assert pauses[-1] == pytest.approx(PAUSE_MAX, abs=RETRY)


def test_a_refusal_ends_a_proposal_and_the_next_is_greater() -> None:
    bench, id = ann_leads("bob")
    assert bench.hear("bob", Nack((1, "ann"), (9, "zoe"))) == [], "of one long gone"
    assert bench.hear("bob", Nack(id, (40, "zoe"))) == [bench.says("bob", Abort(id)), Thaw(id)]
    assert bench.wait(PAUSE_MAX)[0] == Floor(41)


def test_numbers_are_above_all_views_that_are_known() -> None:
    bench = Bench("ann", "bob")
    bench.show("bob", (70, "abe"))
    assert bench.wait(SETTLE)[0] == Floor(71)


def test_a_proposal_dies_with_its_component() -> None:
    bench, id = ann_leads("bob", "cat")
    effects = bench.hear_hello("cat", heard=False)
    assert effects == [bench.says("bob", Abort(id)), Thaw(id)], "there is no way to cat"


def test_a_greater_leader_takes_over() -> None:
    bench, id = ann_leads("bob")
    bench.hear_hello("abe")
    effects = bench.show("abe", (1, "abe"))
    assert effects == [bench.says("bob", Abort(id)), Thaw(id)]
    taken = bench.hear("abe", proposal((8, "abe"), "abe", "ann", "bob"))
    assert taken == [Floor(8), Freeze((8, "abe"))]


def test_a_commit_is_sent_again_until_the_advert_shows_the_view() -> None:
    bench, id, body = committed("bob", "cat")
    bench.tell(Exchanged(id))
    bench.show("cat", id)
    assert bench.wait(RETRY) == [bench.says("bob", body)]
    assert bench.wait(RETRY) == [], "commits are large: pauses grow"
    assert bench.wait(RETRY) == [bench.says("bob", body)]
    bench.show("bob", id)
    assert bench.wait(3 * PAUSE_MAX) == []
    assert (bench.core.phase, bench.core.view.members) == (STABLE, ("ann", "bob", "cat"))


@pytest.mark.parametrize("trouble", ["refused", "restarted"])
def test_a_member_that_cannot_follow_makes_another_proposal(trouble: str) -> None:
    bench, id, _ = committed("bob")
    bench.tell(Exchanged(id))
    if trouble == "refused":
        bench.hear("bob", Nack(id, id))
    else:
        bench.show("bob", (3, "bob"))
    effects = bench.wait(2 * RETRY)
    assert [effect for effect in effects if isinstance(effect, Freeze)] != []


def test_one_that_falls_out_of_an_agreed_view_is_asked_again() -> None:
    bench, id, _ = committed("bob")
    bench.tell(Exchanged(id))
    bench.show("bob", id)
    assert bench.show("bob", (3, "bob")) == [], "what was held in it goes on first"
    assert bench.wait(SETTLE)[:2] == [Floor(4), Freeze((4, "ann"))]


def test_members_may_be_behind_for_a_while_but_not_for_ever() -> None:
    bench, id, _ = committed("bob")
    bench.tell(Exchanged(id))
    start = bench.now
    while not any(isinstance(effect, Freeze) for effect in bench.wait(RETRY)):
        assert bench.now - start <= GRACE + PAUSE_MAX
    assert bench.now - start >= GRACE


def test_what_was_committed_and_not_seen_home_is_proposed_anew() -> None:
    """Bob may wait for what cat will never send, although all adverts show the view before."""
    bench, id, _ = committed("bob")
    bench.tell(Exchanged(id))
    bench.show("bob", id)
    bench.hear_hello("cat")
    bench.show("cat", (1, "cat"))
    bench.wait(SETTLE)
    bench.tell(Info("entry of ann"))
    bench.hear("bob", answer((3, "ann"), "bob", id))
    bench.hear("cat", answer((3, "ann"), "cat", (1, "cat")))
    assert bench.core.phase is EXCHANGING
    bench.hear_hello("abe")
    bench.show("abe", (1, "abe"))
    bench.hear("abe", proposal((8, "abe"), "abe", "ann", "bob", "cat"))
    assert bench.hear_hello("abe", heard=False) == [Thaw((8, "abe"))]
    bench.hear_hello("cat", heard=False)
    assert bench.core.component() == bench.core.view.members == ("ann", "bob")
    again = (9, "ann")
    prepare = bench.says("bob", proposal(again, "ann", "bob"))
    assert bench.wait(SETTLE) == [Floor(9), Freeze(again), prepare]
    bench.tell(Info("entry of ann"))
    bench.hear("bob", answer(again, "bob", id))
    bench.tell(Exchanged(again))
    bench.show("bob", again)
    assert bench.wait(PREPARED_MAX) == [], "once is enough"


def test_loss_of_contact_is_a_new_view_within_the_stated_bound() -> None:
    bench, id, _ = committed("bob")
    bench.tell(Exchanged(id))
    bench.show("bob", id)
    bench.hear_hello("bob")
    bench.peers = ()
    assert bench.wait(LOSS + SETTLE) == [Floor(3), Freeze((3, "ann"))]
    assert bench.tell(Info("e")) == [Exchange(View((3, "ann"), ("ann",)), {"ann": "e"}, ())]
    assert bench.tell(Exchanged((3, "ann"))) == [Installed(View((3, "ann"), ("ann",)))]


# -- announcements, positions, relays ----------------------------------------------------------


def test_disengaging_needs_no_loss_of_contact() -> None:
    bench, id, _ = committed("bob")
    bench.tell(Exchanged(id))
    bench.show("bob", id)
    core = bench.core
    effects = core.handle(Disengage(), now=bench.now)
    assert [e.frame.heard for e in effects if _hello(e)] == [{}]  # type: ignore[union-attr]
    assert core.component() == ("ann",)
    assert bench.wait(SETTLE) == [Floor(3), Freeze((3, "ann"))]
    core.handle(Engage(), now=bench.now)
    bench.hear_hello("bob")
    assert core.component() == ("ann", "bob")


def _hello(effect: Effect) -> bool:
    return isinstance(effect, Transmit) and isinstance(effect.frame, HelloFrame)


def test_an_announced_host_waits_for_its_announcement() -> None:
    bench = Bench("ann", "bob", policy=Announced())
    assert bench.wait(SETTLE * 2) == []
    bench.tell(Engage())
    bench.show("bob", (1, "bob"))
    assert bench.wait(SETTLE)[0] == Floor(2)


def test_positions_are_told_in_hellos() -> None:
    core = Engagement("ann", life=1, policy=Reachable(), now=0)
    core.handle(Moved((1.0, 2.0)), now=0)
    (effect,) = [e for e in core.handle(TICK, now=HEARTBEAT) if _hello(e)]
    assert isinstance(effect, Transmit)
    assert isinstance(effect.frame, HelloFrame)
    assert effect.frame.info == (1.0, 2.0)


def test_bodies_of_other_protocols_ride_along() -> None:
    bench = Bench("bob", "ann", "cat")
    assert bench.core.relay("bob", "note") == [DeliverRelayed("bob", "note")]
    assert bench.core.relay("ann", "note") == [Transmit("ann", Relay("bob", "ann", 7, "note"))]
    assert bench.core.relay("zoe", "note") == []
    assert bench.hear("ann", ("any", "value")) == [DeliverRelayed("ann", ("any", "value"))]
    onward = Heard("ann", Relay("ann", "cat", 3, "note"))
    assert bench.tell(onward) == [Transmit("cat", Relay("ann", "cat", 2, "note"))]
    assert bench.core.reaches("cat")
    assert not bench.core.reaches("zoe")


@pytest.mark.parametrize(
    "frame",
    [
        HelloFrame("ann", 1, 2, {"bob": 1}, (1 << 64) - 1, (1.0, 2.0)),
        KnownVersions({"ann": 3}),
        Got((2, "ann"), DECIDED),
        Adverts((Advert("ann", 3, ("bob",), (1, "ann")),)),
        Relay("ann", "bob", 3, None),
        proposal((2, "ann"), "ann", "bob"),
        answer((2, "ann"), "bob", (1, "bob")),
        Nack((2, "ann"), (3, "bob")),
        commit((2, "ann"), {"ann": (1, "ann")}),
        Abort((2, "ann")),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_every_frame_survives_the_wire(frame: Any) -> None:
    data = msgspec.msgpack.encode(frame)
    again = msgspec.msgpack.decode(data, type=type(frame))
    if isinstance(frame, HelloFrame):  # an untyped position comes back as a list
        again = msgspec.structs.replace(again, info=tuple(again.info))
    assert again == frame
