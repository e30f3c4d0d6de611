"""The daemon: each thing it is told, and all that follows."""

from typing import Any

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.frames import (
    AgentEnded,
    AgentMigrated,
    Astray,
    Frame,
    Hint,
    MayGo,
    Migrating,
    NotPrimary,
    Post,
    PostReturned,
    QueueFull,
    RecordAck,
    Refuse,
    Register,
    SeekAgent,
    Stayed,
    Update,
)
from nomospace.protocols.routing.interface import (
    BUSY,
    ENDED,
    EXISTS,
    NOT_HERE,
    NOT_HOME,
    OVERTAKEN,
    UNKNOWN,
    UNSETTLED,
    AgentRefused,
    Created,
    DeliverPost,
    Effect,
    Go,
    MoveSettled,
    Noted,
    PersistChange,
    PostFailed,
    TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.places import Places
from nomospace.protocols.routing.residents import HERE
from nomospace.protocols.routing.seats import LIFE_BITS, Seat

PLACES = Places({"lab": ("q", "q2"), "ward": ("r",)})
ANN, BOB, EVE = "ann@lab", "bob@lab", "eve@lab"


def daemon(*agents: str, **limits: Any) -> Daemon:
    made = Daemon("s", "lab", PLACES, limits=RoutingLimits(**limits))
    for agent in agents:
        made.create(agent, now=0)
        assert Created(agent) in made.hear("q", RecordAck("lab", agent, 0), now=0)
    return made


def seen(effects: list[Effect]) -> list[Effect]:
    """What others than the disk notice."""
    return [effect for effect in effects if not isinstance(effect, PersistChange)]


def post(n: int, *, sender: str = BOB, to: str = ANN, origin: str = "t", **more: Any) -> Post:
    return Post(sender, to, n, f"m{n}", origin, **more)


def heard(core: Daemon, frame: Frame, src: str = "q", now: int = 1) -> list[Effect]:
    return seen(core.hear(src, frame, now=now))


# -- birth and end -----------------------------------------------------------------------------


def test_a_birth_is_written_down_then_registered() -> None:
    core = daemon()
    assert core.create(ANN, now=0) == [
        PersistChange(written.SeatPut(ANN, "CREATING", Seat(0, "lab"))),
        TransmitFrame("q", Register("lab", ANN, 0)),
    ]
    assert core.create(ANN, now=0) == [AgentRefused(ANN, EXISTS)]
    assert core.hear("q", RecordAck("lab", ANN, 0), now=1) == [
        PersistChange(written.SeatPut(ANN, "HERE", Seat(0, "lab"))),
        Created(ANN),
    ]


def test_agents_are_born_in_their_own_domain() -> None:
    assert daemon().create("ann@ward", now=0) == [AgentRefused("ann@ward", NOT_HOME)]
    assert daemon().create("ann@mars", now=0) == [AgentRefused("ann@mars", UNKNOWN)]
    assert daemon().create("ann", now=0) == [AgentRefused("ann", UNKNOWN)]


def test_mail_that_overtakes_the_answer_to_a_birth_waits_for_it() -> None:
    core = daemon()
    core.create(ANN, now=0)
    assert heard(core, post(1)) == []
    assert heard(core, RecordAck("lab", ANN, 0)) == [Created(ANN), DeliverPost(ANN, post(1))]


def test_mail_for_one_whose_birth_is_refused_goes_back_to_the_server() -> None:
    core = daemon()
    core.create(ANN, now=0)
    core.hear("t", post(1), now=0)
    assert heard(core, Refuse("lab", ANN, 0, EXISTS)) == [
        AgentRefused(ANN, EXISTS),
        TransmitFrame("q", SeekAgent("lab", post(1, hops=1, path=("s",)))),
    ]
    assert core.phase(ANN) is None


def test_the_newborn_does_not_wait_for_what_failed_before() -> None:
    core = daemon()
    core.create(ANN, now=0)
    core.hear("q", RecordAck("lab", ANN, 0, ((BOB, 2), (BOB, 1), (EVE, 2))), now=0)
    assert heard(core, post(3)) == [DeliverPost(ANN, post(3))]
    assert heard(core, post(3, sender=EVE)) == []
    assert heard(core, post(1, sender=EVE)) == [
        DeliverPost(ANN, post(1, sender=EVE)),
        DeliverPost(ANN, post(3, sender=EVE)),
    ]


def test_an_end_is_told_to_the_server_and_mail_that_waits_fails() -> None:
    core = daemon(ANN)
    core.hear("t", post(2), now=0)
    assert core.end(ANN, now=1) == [
        PersistChange(written.SeatGone(ANN)),
        TransmitFrame("q", AgentEnded("lab", ANN, 0)),
        TransmitFrame("t", PostReturned(post(2), ENDED)),
    ]
    assert core.end(ANN, now=1) == [AgentRefused(ANN, NOT_HERE)]


def test_an_end_tells_what_the_agent_had_got() -> None:
    core = daemon(buried_max=1)
    core.arrive(ANN, Seat(1, "lab", got=((EVE, 7),)), "a ticket", now=0)
    core.hear("t", post(1), now=0)
    core.end(ANN, now=1)
    assert core.hear("t", post(1), now=1) == [Noted("repeat dropped", post(1).id)]
    assert heard(core, post(2)) == [TransmitFrame("t", PostReturned(post(2), ENDED))]
    told = AgentEnded("lab", ANN, 1, ((BOB, 1),))
    assert heard(core, RecordAck("lab", ANN, 1)) == [TransmitFrame("q", told)]


def test_an_end_of_a_later_life_tells_nothing_that_it_cannot_know() -> None:
    core = daemon()
    epoch = (1 << LIFE_BITS) + 1
    core.arrive(ANN, Seat(epoch, "lab", got=((BOB, 7),)), "a ticket", now=0)
    core.end(ANN, now=1)
    assert heard(core, post(1)) == [TransmitFrame("t", PostReturned(post(1), ENDED))]
    told = AgentEnded("lab", ANN, epoch)
    assert heard(core, RecordAck("lab", ANN, epoch)) == [TransmitFrame("q", told)]


def test_an_end_before_the_last_move_is_finished_waits_for_that() -> None:
    core = daemon()
    core.arrive(ANN, Seat(1, "lab"), "a ticket", now=0)
    assert seen(core.end(ANN, now=1)) == []
    assert heard(core, post(1)) == [TransmitFrame("t", PostReturned(post(1), ENDED))]
    assert core.send(ANN, BOB, "late", now=1) == [
        PostFailed(Post(ANN, BOB, 0, "late", "s"), NOT_HERE)
    ]
    assert heard(core, RecordAck("lab", ANN, 1)) == [TransmitFrame("q", AgentEnded("lab", ANN, 1))]


# -- sending -----------------------------------------------------------------------------------


def test_between_two_agents_here_nobody_else_is_asked() -> None:
    core = daemon(ANN, BOB)
    assert core.send(ANN, BOB, "hello", now=1) == [
        PersistChange(written.Sent(ANN, BOB, 1)),
        PersistChange(written.LastGot(BOB, ANN, 1)),
        DeliverPost(BOB, Post(ANN, BOB, 1, "hello", "s")),
    ]


def test_without_a_guess_the_server_is_asked_and_with_one_the_site() -> None:
    core = daemon(ANN)
    assert core.send(ANN, BOB, "one", now=1) == [
        PersistChange(written.Sent(ANN, BOB, 1)),
        TransmitFrame("q", SeekAgent("lab", Post(ANN, BOB, 1, "one", "s", hops=1))),
    ]
    assert heard(core, Update((ANN, BOB, 1), BOB, "t", 0, "s", ())) == []
    assert core.send(ANN, BOB, "two", now=1) == [
        PersistChange(written.Sent(ANN, BOB, 2)),
        TransmitFrame("t", Post(ANN, BOB, 2, "two", "s", hops=1)),
    ]


def test_only_an_agent_here_can_send_and_only_to_a_domain_that_there_is() -> None:
    core = daemon(ANN)
    assert core.send(BOB, ANN, "x", now=1) == [PostFailed(Post(BOB, ANN, 0, "x", "s"), NOT_HERE)]
    mars = core.send(ANN, "bob@mars", "x", now=1)
    assert mars == [PostFailed(Post(ANN, "bob@mars", 0, "x", "s"), UNKNOWN)]
    assert seen(core.send(ANN, "bob@mars", "x", now=1)) == mars, "no number was used up"


def test_older_and_foreign_updates_are_not_believed() -> None:
    core = daemon(ANN)
    core.send(ANN, BOB, "one", now=1)
    forged = Update((ANN, BOB, 2), BOB, "evil", 9, "s", ())
    assert heard(core, forged) == []
    unasked = Update((ANN, BOB, 1), BOB, "evil", 9, "s", ())
    assert heard(core, unasked, src="evil") == [Noted("update refused", ("evil", unasked))]
    heard(core, Update((ANN, BOB, 1), BOB, "t", 3, "s", ()))
    heard(core, Update((ANN, BOB, 1), BOB, "u", 2, "s", ()))
    assert core.guess(BOB) == "t"


def test_hints_are_believed_from_servers_and_with_the_eager_policy_only() -> None:
    core = daemon(ANN)
    hint = Hint("", BOB, "u", 9)
    assert heard(core, hint) == [Noted("hint refused", ("q", hint))]
    assert core.guess(BOB) is None
    core.eager = True
    assert heard(core, hint, src="evil") == [Noted("not from a server", ("evil", hint))]
    assert core.guess(BOB) is None
    assert heard(core, hint) == []
    assert core.guess(BOB) == "u"


def test_an_update_is_believed_from_the_site_that_the_post_was_sent_to() -> None:
    core = daemon(ANN)
    core.send(ANN, BOB, "one", now=1)
    heard(core, Update((ANN, BOB, 1), BOB, "t", 0, "s", ()))
    core.send(ANN, BOB, "two", now=2)  # to t, which serves no domain that is named
    moved = Update((ANN, BOB, 2), BOB, "u", 1, "s", ())
    assert heard(core, moved, src="u") == [Noted("update refused", ("u", moved))]
    assert heard(core, moved, src="t") == []
    assert core.guess(BOB) == "u"


def test_guesses_are_bounded_and_the_one_used_longest_ago_goes() -> None:
    core = daemon(ANN, guesses_max=2)
    core.eager = True
    for epoch, peer in enumerate(("a@lab", "b@lab", "c@lab")):
        if peer == "c@lab":
            core.send(ANN, "a@lab", "used", now=1)
        heard(core, Hint("", peer, "t", epoch))
    assert [core.guess(peer) for peer in ("a@lab", "b@lab", "c@lab")] == ["t", None, "t"]


def test_a_failure_goes_after_a_sender_that_moved() -> None:
    core = daemon()
    failed = Post(ANN, BOB, 1, "x", "s", ("lab",), 2, 1)
    back = Post(ANN, BOB, 1, "x", "s", (), 3, 0, UNKNOWN)
    assert heard(core, PostReturned(failed, UNKNOWN)) == [
        TransmitFrame("q", SeekAgent("lab", back))
    ]
    there = Daemon("t", "lab", PLACES)
    there.arrive(ANN, Seat(1, "lab"), "a ticket", now=0)
    assert heard(there, back) == [PostFailed(back, UNKNOWN)]


# -- order -------------------------------------------------------------------------------------


def test_posts_are_delivered_by_their_numbers_and_repeats_dropped() -> None:
    core = daemon(ANN)
    assert core.hear("t", post(2), now=1) == [PersistChange(written.PostKept(post(2)))]
    assert heard(core, post(2)) == [Noted("repeat dropped", (BOB, ANN, 2))]
    assert core.hear("t", post(1), now=1) == [
        PersistChange(written.LastGot(ANN, BOB, 1)),
        DeliverPost(ANN, post(1)),
        PersistChange(written.LastGot(ANN, BOB, 2)),
        DeliverPost(ANN, post(2)),
    ]
    assert heard(core, post(1)) == [Noted("repeat dropped", (BOB, ANN, 1))]


def test_too_many_that_came_early_wait_at_their_origin_and_the_next_never_does() -> None:
    core = daemon(ANN, early_max=1)
    core.hear("t", post(3), now=1)
    assert heard(core, post(2)) == [TransmitFrame("t", QueueFull(post(2)))]
    assert heard(core, post(1)) == [DeliverPost(ANN, post(1))]
    assert heard(core, post(2)) == [DeliverPost(ANN, post(2)), DeliverPost(ANN, post(3))]


def test_the_way_of_a_post_is_told_where_it_was_delivered() -> None:
    core = daemon(ANN)
    told = Update((BOB, ANN, 1), ANN, "s", 0, "t", ("ward", "lab"))
    assert heard(core, post(1, way=("ward", "lab"))) == [
        DeliverPost(ANN, post(1, way=("ward", "lab"))),
        TransmitFrame("q", told),
    ]
    assert heard(core, post(2, way=("mars",))) == [DeliverPost(ANN, post(2))], "a way to nowhere"


def test_a_sender_of_a_later_life_begins_anew() -> None:
    core = daemon(ANN)
    life = 1 << LIFE_BITS
    core.hear("t", post(1), now=1)
    core.hear("t", post(3), now=1)
    assert heard(core, post(life + 2)) == [DeliverPost(ANN, post(3))]
    assert heard(core, post(life + 1)) == [
        DeliverPost(ANN, post(life + 1)),
        DeliverPost(ANN, post(life + 2)),
    ]


def test_a_receiver_of_a_later_life_begins_with_what_comes_first() -> None:
    core = daemon()
    core.create(ANN, now=0)
    core.hear("q", RecordAck("lab", ANN, 1 << LIFE_BITS), now=0)
    assert heard(core, post(6)) == [DeliverPost(ANN, post(6))]
    assert heard(core, post(5)) == [TransmitFrame("t", PostReturned(post(5), OVERTAKEN))]
    assert core.send(ANN, BOB, "x", now=1)[0] == PersistChange(
        written.Sent(ANN, BOB, (1 << LIFE_BITS) + 1)
    )


# -- moving ------------------------------------------------------------------------------------


def test_a_move_within_the_domain_takes_the_seat_along() -> None:
    core, there = daemon(ANN), Daemon("t", "lab", PLACES)
    core.send(ANN, BOB, "x", now=0)
    core.hear("t", post(1), now=0)
    core.hear("t", post(3), now=0)
    assert seen(core.depart(ANN, "t", now=1)) == [TransmitFrame("q", Migrating("lab", ANN, 0, "t"))]
    seat = Seat(1, "lab", ((BOB, 1),), ((BOB, 1),), (post(3),))
    assert heard(core, MayGo("lab", ANN, 0, "a ticket")) == [Go(ANN, "t", "a ticket", seat)]
    assert core.gone(ANN, "an older ticket", now=2) == [Noted("late", (ANN, "an older ticket"))]
    assert core.gone(ANN, "a ticket", now=2) == [PersistChange(written.SeatGone(ANN))]
    assert there.arrive(ANN, seat, "a ticket", now=2) == [
        PersistChange(written.SeatPut(ANN, "CONFIRMING", seat, "", "a ticket")),
        TransmitFrame("q", AgentMigrated("lab", ANN, 1, "a ticket", "lab")),
    ]
    assert there.depart(ANN, "s", now=2) == [AgentRefused(ANN, UNSETTLED)]
    assert heard(there, RecordAck("lab", ANN, 1)) == [MoveSettled(ANN)]
    assert heard(there, post(2)) == [DeliverPost(ANN, post(2)), DeliverPost(ANN, post(3))]
    assert there.send(ANN, BOB, "y", now=3)[0] == PersistChange(written.Sent(ANN, BOB, 2))


def test_a_move_to_another_domain_registers_there_first() -> None:
    there = Daemon("u", "ward", PLACES)
    arrived = seen(there.arrive(ANN, Seat(1, "lab"), "a ticket", now=0))
    assert arrived == [TransmitFrame("r", Register("ward", ANN, 1, "a ticket"))]
    assert heard(there, post(1), src="t") == [DeliverPost(ANN, post(1))], "it runs already"
    migrated = AgentMigrated("lab", ANN, 1, "a ticket", "ward")
    assert heard(there, RecordAck("ward", ANN, 1), src="r") == [TransmitFrame("q", migrated)]
    assert heard(there, RecordAck("lab", ANN, 1)) == [MoveSettled(ANN)]
    assert seen(there.depart(ANN, "s", now=2)) == [
        TransmitFrame("r", Migrating("ward", ANN, 1, "s")),
    ]


def test_eager_hosts_name_who_wrote_lately() -> None:
    there = Daemon("u", "ward", PLACES, eager=True, limits=RoutingLimits(writers_max=2))
    there.arrive(ANN, Seat(1, "lab"), "a ticket", now=0)
    for n, site in enumerate(("a", "b", "b", "c"), start=1):
        there.hear(site, post(n, origin=site), now=0)
    migrated = AgentMigrated("lab", ANN, 1, "a ticket", "ward", ("b", "c"))
    assert heard(there, RecordAck("ward", ANN, 1), src="r") == [TransmitFrame("q", migrated)]


def test_mail_for_one_who_is_away_goes_to_the_server_and_comes_back_if_it_stays() -> None:
    core = daemon(ANN)
    core.depart(ANN, "t", now=1)
    assert heard(core, post(1)) == [DeliverPost(ANN, post(1))], "it has not left yet"
    core.hear("q", MayGo("lab", ANN, 0, "a ticket"), now=1)
    assert heard(core, post(2)) == [
        TransmitFrame("q", SeekAgent("lab", post(2, hops=1, path=("s",))))
    ]
    assert core.send(ANN, BOB, "x", now=1) == [PostFailed(Post(ANN, BOB, 0, "x", "s"), NOT_HERE)]
    assert seen(core.stay(ANN, now=2)) == [TransmitFrame("q", Stayed("lab", ANN, 1, "a ticket"))]
    assert heard(core, post(2)) == [DeliverPost(ANN, post(2))]
    assert heard(core, RecordAck("lab", ANN, 1)) == [MoveSettled(ANN)]


def test_one_who_gives_a_move_up_before_it_may_go_says_so_when_it_may() -> None:
    core = daemon(ANN)
    core.depart(ANN, "t", now=1)
    assert seen(core.stay(ANN, now=1)) == []
    assert core.stay(ANN, now=1) == [AgentRefused(ANN, UNSETTLED)]
    told = heard(core, MayGo("lab", ANN, 0, "a ticket"))
    assert told == [TransmitFrame("q", Stayed("lab", ANN, 1, "a ticket"))]
    assert heard(core, RecordAck("lab", ANN, 1)) == [MoveSettled(ANN)]


def test_a_refused_move_leaves_the_agent_where_it_is() -> None:
    core = daemon(ANN)
    core.depart(ANN, "t", now=1)
    assert heard(core, Refuse("lab", ANN, 0, NOT_HERE)) == [AgentRefused(ANN, NOT_HERE)]
    assert core.phase(ANN) is HERE


def test_one_who_claims_an_agent_and_is_refused_does_not_have_it() -> None:
    core = daemon()
    core.arrive(ANN, Seat(5, "lab"), "forged", now=0)
    core.hear("t", post(2), now=0)
    assert heard(core, Refuse("lab", ANN, 5, "noTicket")) == [
        AgentRefused(ANN, "noTicket"),
        TransmitFrame("q", SeekAgent("lab", post(2, hops=1, path=("s",)))),
    ]
    assert core.phase(ANN) is None


def test_an_agent_does_not_come_twice_nor_from_nowhere() -> None:
    core = daemon(ANN, BOB)
    assert core.arrive(ANN, Seat(3, "lab"), "x", now=0) == [AgentRefused(ANN, EXISTS)]
    core.depart(BOB, "t", now=0)
    core.hear("q", MayGo("lab", BOB, 0, "x"), now=0)
    assert core.arrive(BOB, Seat(0, "lab"), "x", now=0) == [AgentRefused(BOB, "stale")]
    assert core.arrive(EVE, Seat(1, "mars"), "x", now=0) == [AgentRefused(EVE, UNKNOWN)]


def test_only_the_server_of_the_domain_is_believed() -> None:
    core = daemon(ANN)
    core.depart(ANN, "t", now=0)
    frames: tuple[Frame, ...] = (
        MayGo("lab", ANN, 0, "x"),
        Refuse("lab", ANN, 0, "x"),
        RecordAck("lab", ANN, 0),
        NotPrimary("lab", "q2", 3),
    )
    for frame in frames:
        assert heard(core, frame, src="r") == [Noted("not from a server", ("r", frame))]
    foreign = MayGo("ward", ANN, 0, "x")
    assert heard(core, foreign, src="r") == [Noted("leave refused", (foreign,))]
    stolen = PostReturned(post(1, sender=ANN, origin="t"), UNKNOWN)
    assert heard(core, stolen) == [Noted("not from here", ("q", stolen))]


def test_a_new_primary_is_learnt_once_and_kept() -> None:
    core = daemon(ANN)
    learnt = [PersistChange(written.PrimaryLearnt("lab", "q2", 1))]
    assert core.hear("q", NotPrimary("lab", "q2", 1), now=1) == learnt
    assert core.hear("q", NotPrimary("lab", "q", 0), now=1) == []
    assert core.hear("q", NotPrimary("lab", "evil", 2), now=1) == []
    again = Daemon("s", "lab", PLACES)
    again.restore(core.changes(), now=2)
    assert seen(again.depart(ANN, "t", now=2))[0] == TransmitFrame(
        "q2", Migrating("lab", ANN, 0, "t")
    )


# -- back-pressure -----------------------------------------------------------------------------


def test_a_post_that_came_back_waits_twice_as_long_each_time() -> None:
    core = daemon(ANN, pause_min=10, pause_max=30)
    back = Post(ANN, BOB, 1, "x", "s", ("ward",), 3, 2)
    core.send(ANN, BOB, "x", now=0)
    pauses = []
    now = 0
    for _ in range(4):
        assert core.hear("r", QueueFull(back), now=now) == [PersistChange(written.PostHeld(back))]
        due = core.next_deadline()
        assert due is not None
        pauses.append(due - now)
        assert seen(core.tick(now=due - 1)) == []
        retried = Post(ANN, BOB, 1, "x", "s", (), 4)
        assert core.tick(now=due) == [
            PersistChange(written.PostsReleased(BOB)),
            TransmitFrame("r", SeekAgent("ward", retried)),
        ]
        now = due + 1
    assert pauses == [10, 20, 30, 30]
    due = core.next_deadline()
    assert due is not None
    assert core.tick(now=due) == []
    assert core.next_deadline() is None, "nothing came back: the pause is forgotten"


def test_later_posts_wait_behind_one_that_came_back() -> None:
    core = daemon(ANN, pause_min=10)
    first = Post(ANN, BOB, 1, "one", "s")
    core.send(ANN, BOB, "one", now=0)
    core.hear("q", Astray(first), now=0)
    held = PersistChange(written.PostHeld(Post(ANN, BOB, 2, "two", "s")))
    assert core.send(ANN, BOB, "two", now=1) == [PersistChange(written.Sent(ANN, BOB, 2)), held]
    assert retried(core, now=10) == [1, 2]


def retried(core: Daemon, *, now: int) -> list[int]:
    frames = [each.frame for each in core.tick(now=now) if isinstance(each, TransmitFrame)]
    return [frame.post.n for frame in frames if isinstance(frame, SeekAgent)]


def test_posts_that_came_back_out_of_order_are_tried_in_order() -> None:
    core = daemon(ANN, pause_min=10)
    for n in (2, 3, 1):
        core.hear("q", QueueFull(Post(ANN, BOB, n, "x", "s")), now=0)
    assert retried(core, now=10) == [1, 2, 3]


def test_a_daemon_that_keeps_too_many_takes_no_more() -> None:
    core = daemon(ANN, held_max=1)
    core.send(ANN, BOB, "one", now=0)
    core.hear("q", QueueFull(Post(ANN, BOB, 1, "one", "s")), now=0)
    full = core.send(ANN, EVE, "two", now=0)
    assert full == [PostFailed(Post(ANN, EVE, 0, "two", "s"), BUSY)]


# -- copies ------------------------------------------------------------------------------------


def test_a_copy_is_equal_and_apart() -> None:
    core = daemon(ANN, BOB)
    core.send(ANN, EVE, "x", now=0)
    core.hear("t", post(2), now=0)
    core.hear("q", QueueFull(Post(ANN, EVE, 1, "x", "s")), now=0)
    twin = core.copy()
    before = core.state()
    assert twin.state() == before
    assert hash(twin.state()) == hash(before)
    twin.hear("t", post(1), now=1)
    twin.send(ANN, BOB, "y", now=1)
    twin.tick(now=10**9)
    twin.depart(BOB, "t", now=1)
    assert twin.state() != before
    assert core.state() == before


def test_what_has_no_answer_is_asked_of_a_new_primary_again_and_the_old_one_is_not_believed() -> (
    None
):
    core = daemon(ANN, BOB)
    core.create(EVE, now=1)
    core.depart(BOB, "s2", now=1)
    asked = core.primary("lab", "q2", 4)
    assert [e for e in asked if isinstance(e, TransmitFrame)] == [
        TransmitFrame("q2", Migrating("lab", BOB, 0, "s2")),
        TransmitFrame("q2", Register("lab", EVE, 0)),
    ]
    assert core.primary("lab", "q2", 4) == [], "no news"
    before = core.state()
    late: list[Frame] = [
        RecordAck("lab", EVE, 0, term=3),
        MayGo("lab", BOB, 0, "t", term=3),
        Refuse("lab", EVE, 0, EXISTS),
    ]
    for frame in late:
        assert [type(each) for each in core.hear("q", frame, now=2)] == [Noted]
    assert core.state() == before
    assert Created(EVE) in core.hear("q2", RecordAck("lab", EVE, 0, term=4), now=2)


def test_a_failure_that_is_said_again_is_told_once() -> None:
    core = daemon(ANN)
    core.send(ANN, "x@lab", "hello", now=1)
    back = PostReturned(Post(ANN, "x@lab", 1, "hello", "s"), UNKNOWN)
    first = core.hear("q", back, now=2)
    assert [type(each) for each in first] == [PersistChange, PostFailed]
    assert [type(each) for each in core.hear("q2", back, now=3)] == [Noted]
    again = Daemon("s", "lab", PLACES)
    again.restore(core.changes(), now=4)
    assert [type(each) for each in again.hear("q2", back, now=5)] == [Noted]
