"""Links: hellos, adverts, the component, and ways through it."""

import pytest

from nomospace.protocols.events import Effect, Transmit
from nomospace.protocols.links import (
    ADVERTS_MAX,
    BURST,
    DRAW_US,
    FLOOD_US,
    FORGET,
    HOPS_SPARE,
    HOSTS_MAX,
    LIVES,
    Links,
)
from nomospace.protocols.messages import Advert, Adverts, HelloFrame, KnownVersions, Relay
from nomospace.protocols.pace import BEATS_MIN, FEW, HEARTBEAT, HEARTBEAT_MIN, LOSS, LOSS_MAX, Pace
from nomospace.protocols.policy import Announced, NotAPosition, Policy, Position
from nomospace.terms import Term

ME = {"ann": 1}


def start(policy: Policy | None = None) -> Links:
    links = Links("ann", life=1, policy=policy, view=(1, "ann"), now=0)
    links.tick(0, [])
    return links


def hello(
    links: Links,
    host: str = "bob",
    *,
    life: int = 1,
    beat: int = 1,
    heard: dict[str, int] | None = None,
    digest: int | None = None,
    info: Term = None,
    loss: int = LOSS,
    now: int = 0,
) -> list[Effect]:
    """A hello of one that holds the same adverts, or others."""
    effects: list[Effect] = []
    same = links._digest if digest is None else digest
    frame = HelloFrame(host, life, beat, ME if heard is None else heard, same, info, loss)
    links.hear_hello(host, frame, now, effects)
    return effects


def known(links: Links, neighbour: str, vector: dict[str, int], now: int = 0) -> list[Effect]:
    effects: list[Effect] = []
    links.hear_known(neighbour, KnownVersions(vector), now, effects)
    return effects


def adverts(links: Links, neighbour: str, *said: Advert, now: int = 0) -> list[Effect]:
    effects: list[Effect] = []
    links.hear_adverts(neighbour, Adverts(said), now, effects)
    return effects


def says(host: str, *neighbours: str, version: int = 5) -> Advert:
    return Advert(host, version, neighbours, (1, host))


def listed(links: Links) -> tuple[str, ...]:
    return links.adverts["ann"].neighbours


def members(links: Links) -> str:
    return " ".join(links.component)


def test_a_hello_goes_to_all_with_every_heartbeat() -> None:
    links = Links("ann", life=3, view=(1, "ann"), now=10)
    for beat in (1, 2):
        effects: list[Effect] = []
        links.tick(links.deadline(), effects)
        assert effects == [Transmit(None, HelloFrame("ann", 3, beat, {}, links._digest))]
    assert links.deadline() == 10 + 2 * HEARTBEAT


def test_who_is_new_gets_a_hello_at_once_and_who_hears_us_is_linked() -> None:
    links = start()
    alone = links._digest
    assert hello(links, heard={}) == [Transmit("bob", HelloFrame("ann", 1, 2, {"bob": 1}, alone))]
    assert listed(links) == ()
    advert = Advert("ann", 7 * LIVES + 1, ("bob",), (1, "ann"))
    assert hello(links, beat=2, now=7) == [Transmit("bob", Adverts((advert,)))]


def test_a_hello_that_says_nothing_new_costs_nothing() -> None:
    links = start()
    hello(links)
    assert hello(links, beat=2, now=5) == []
    assert links.neighbours["bob"].at == 5


@pytest.mark.parametrize(("life", "beat"), [(1, 2), (1, 1), (0, 9)])
def test_a_hello_that_was_overtaken_counts_for_nothing(life: int, beat: int) -> None:
    links = start()
    hello(links, beat=2, now=5)
    assert hello(links, life=life, beat=beat, heard={}, now=9) == []
    assert listed(links) == ("bob",)
    assert links.neighbours["bob"].at == 5


def test_a_neighbour_must_hear_this_life_of_us() -> None:
    links = start()
    hello(links, heard={"ann": 0})
    assert listed(links) == ()


def test_a_neighbour_that_restarts_is_a_new_one() -> None:
    links = start()
    hello(links, beat=50)
    effects = hello(links, life=2, beat=1, heard={}, now=9)
    assert isinstance(effects[0], Transmit)
    assert isinstance(effects[0].frame, HelloFrame)
    assert effects[0].frame.heard == {"bob": 2}
    assert listed(links) == ()


def test_who_falls_silent_is_unlisted() -> None:
    links = start()
    hello(links, now=100)
    links.tick(LOSS + 99, [])
    assert listed(links) == ("bob",)
    assert links.deadline() == LOSS + 100
    links.tick(LOSS + 100, [])
    assert listed(links) == ()
    assert links.neighbours == {}


def test_a_host_keeps_the_pace_it_was_given_and_says_so() -> None:
    pace = Pace(heartbeat=100_000, loss=400_000)
    links = Links("ann", life=1, pace=pace, view=(1, "ann"), now=0)
    effects: list[Effect] = []
    links.tick(0, effects)
    assert effects == [Transmit(None, HelloFrame("ann", 1, 1, {}, links._digest, None, 400_000))]
    assert links.deadline() == 100_000


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        (400_000, 400_000),
        (20 * LOSS, 20 * LOSS),
        (10**15, LOSS_MAX),
        (-1, BEATS_MIN * HEARTBEAT_MIN),
    ],
)
def test_a_neighbour_is_gone_after_the_silence_that_it_named(said: int, counts: int) -> None:
    """Whatever the pace of the listener is; and within bounds, whatever was said."""
    links = start()
    hello(links, loss=said, now=100)
    links.tick(counts + 99, [])
    assert listed(links) == ("bob",)
    links.tick(counts + 100, [])
    assert listed(links) == ()


def test_frames_under_a_false_or_own_name_are_dropped() -> None:
    links = start()
    effects: list[Effect] = []
    assert not links.hear_hello("eve", HelloFrame("bob", 1, 1, ME, 0), 0, effects)
    assert not links.hear_hello("ann", HelloFrame("ann", 1, 1, ME, 0), 0, effects)
    assert effects == adverts(links, "eve", says("bob", "ann")) == []
    assert links.neighbours == {}


def test_neighbours_are_bounded() -> None:
    links = start()
    for number in range(HOSTS_MAX + 1):
        hello(links, f"h{number}", heard={})
    assert len(links.neighbours) == HOSTS_MAX


def test_an_edge_needs_the_word_of_both_ends() -> None:
    links = start()
    hello(links)
    adverts(links, "bob", says("bob", "ann", "cat"), says("cat"), says("dan", "bob"))
    assert members(links) == "ann bob"
    adverts(links, "bob", says("cat", "bob", version=6))
    assert members(links) == "ann bob cat"
    adverts(links, "bob", says("cat", "bob", version=4), says("cat", version=6))
    assert members(links) == "ann bob cat", "older and equal versions say nothing"
    assert links.reaches("cat")
    assert links.reaches("ann")
    assert not links.reaches("dan")


def test_news_is_passed_on_to_the_other_links_once() -> None:
    links = start()
    for name in ("bob", "cat", "dan"):
        hello(links, name)
    hello(links, "deaf", heard={})
    news = says("eve", "bob")
    passed = [Transmit("cat", Adverts((news,))), Transmit("dan", Adverts((news,)))]
    assert adverts(links, "bob", news) == passed
    assert adverts(links, "cat", news) == []


def test_news_is_not_passed_on_to_those_who_are_told_by_its_bringer() -> None:
    links = start()
    for name in ("bob", "cat", "dan"):
        hello(links, name)
    adverts(links, "bob", says("bob", "ann", "cat"))
    news = says("eve", "bob")
    assert adverts(links, "bob", news) == [Transmit("dan", Adverts((news,)))]


def test_among_many_news_waits_for_the_next_flood_and_goes_in_one_frame() -> None:
    links = start()
    for name in ("bob", "cat"):
        hello(links, name)
    names = [f"h{number:03}" for number in range(FEW)]
    adverts(links, "bob", *[says(name) for name in names])
    first, second, third = (says(name, version=6) for name in names[:3])
    assert adverts(links, "bob", first, now=5) == []
    assert adverts(links, "bob", second, now=FLOOD_US - 1) == []
    assert links.deadline() == FLOOD_US
    effects: list[Effect] = []
    links.tick(FLOOD_US, effects)
    assert effects == [Transmit("cat", Adverts((first, second)))]
    assert adverts(links, "bob", third, now=HEARTBEAT // 2) == [
        Transmit("cat", Adverts((third,)))
    ], "what comes in a quiet time goes on at once"


def test_who_has_many_links_rests_after_a_flood() -> None:
    """A quarter of a heartbeat at most, and never among a few."""
    links = start()
    for number in range(2 * BURST):
        hello(links, f"n{number:03}")
    hello(links, "new")
    rest = links.deadline()
    assert 0 < rest <= HEARTBEAT // 4
    assert len(listed(links)) < 2 * BURST
    links.tick(rest, [])
    assert len(listed(links)) == 2 * BURST + 1


def test_who_stood_still_itself_hears_the_others_before_it_takes_them_for_gone() -> None:
    links = start()
    hello(links, now=100)
    links.tick(LOSS + 100, [])
    assert listed(links) == ("bob",)
    assert links.deadline() <= LOSS + 100 + HEARTBEAT
    links.tick(LOSS + 100 + HEARTBEAT, [])
    assert listed(links) == ()


def test_the_graph_of_many_is_drawn_after_a_pause() -> None:
    links = start()
    hello(links)
    names = [f"h{number:03}" for number in range(2 * FEW)]
    adverts(links, "bob", says("bob", "ann", *names), *[says(name, "bob") for name in names])
    assert len(links.component) == 2 * FEW + 2
    adverts(links, "bob", says(names[0], version=6), now=1)
    assert links.reaches(names[0])
    links.tick(links.deadline(), [])
    assert links.deadline() < HEARTBEAT
    links.tick(DRAW_US * 2 * FEW, [])
    assert not links.reaches(names[0])


def test_who_holds_other_adverts_is_told_which_are_known() -> None:
    links = start()
    vector = {"ann": LIVES + 1}
    assert hello(links, digest=7, now=1)[1:] == [
        Transmit("bob", KnownVersions({"ann": 1})),
        Transmit("bob", Adverts((Advert("ann", LIVES + 1, ("bob",), (1, "ann")),))),
    ]
    assert hello(links, digest=7, beat=2, now=2) == [Transmit("bob", KnownVersions(vector))]


def test_among_many_who_differs_is_told_only_when_no_news_comes_any_more() -> None:
    links = start()
    hello(links)
    names = [f"h{number:03}" for number in range(FEW)]
    adverts(links, "bob", says("bob", "ann", *names), *[says(name, "bob") for name in names])
    assert hello(links, digest=7, beat=2, now=links.pace.settle - 1) == []
    told = hello(links, digest=7, beat=3, now=links.pace.settle)
    assert [type(one.frame) for one in told if isinstance(one, Transmit)] == [KnownVersions]


def test_a_neighbour_is_sent_what_it_lacks() -> None:
    links = start()
    hello(links)
    two = [says("bob", "ann", "cat"), says("cat", "bob")]
    adverts(links, "bob", *two, says("far"))
    mine = links.adverts["ann"]
    assert known(links, "bob", {}) == [Transmit("bob", Adverts((mine, *two)))]
    vector = {"ann": mine.version, "bob": 5, "cat": 5}
    assert known(links, "bob", vector) == [], "who is out of reach is no news"
    assert known(links, "bob", {**vector, "cat": 4}) == [Transmit("bob", Adverts((two[1],)))]
    assert known(links, "bob", {**vector, "far": 4}) == [
        Transmit("bob", Adverts((says("far"),)))
    ], "but older news of it may hide a life of it that is near"
    assert known(links, "eve", {}) == [], "of whom nothing was heard"


def test_many_adverts_go_in_several_frames() -> None:
    links = start()
    hello(links)
    names = [f"h{number:03}" for number in range(ADVERTS_MAX)]
    adverts(links, "bob", says("bob", "ann", *names), *[says(name, "bob") for name in names])
    parts = [
        len(effect.frame.adverts)
        for effect in known(links, "bob", {})
        if isinstance(effect, Transmit) and isinstance(effect.frame, Adverts)
    ]
    assert parts == [ADVERTS_MAX, 2]


def test_the_tree_has_for_each_the_place_of_its_parent() -> None:
    links = start()
    for name in ("bob", "cat"):
        hello(links, name)
    adverts(links, "bob", says("bob", "ann", "dan"), says("cat", "ann", "dan"))
    adverts(links, "cat", says("dan", "bob", "cat", "eve"), says("eve", "dan"))
    assert links.component == ("ann", "bob", "cat", "dan", "eve")
    assert links.tree() == ((0, 0, 0, 1, 3), 3)


def test_traces_of_an_earlier_life_are_outbid() -> None:
    links = start()
    trace = 9_000 * LIVES + 200  # of life 200, before the lives were counted anew
    hello(links)
    known(links, "bob", {"ann": trace})
    assert links.adverts["ann"].version > trace
    adverts(links, "bob", Advert("ann", 20_000 * LIVES + 200, (), (9, "ann")))
    mine = links.adverts["ann"]
    assert mine.version > 20_000 * LIVES + 200
    assert (mine.neighbours, mine.view) == (("bob",), (1, "ann"))


def test_two_lives_never_give_the_same_version() -> None:
    first, second = (Links("ann", life=life, view=(1, "ann"), now=0) for life in (1, 2))
    versions = []
    for links in (first, second):
        for number in range(5):
            links.set_view((number, "ann"), 0, [])
            versions.append(links.adverts["ann"].version)
    assert len(set(versions)) == 10


def test_the_way_is_shortest_and_least_by_name() -> None:
    links = start()
    for name in ("cat", "bob"):
        hello(links, name)
    adverts(
        links,
        "bob",
        says("bob", "ann", "eve"),
        says("cat", "ann", "eve", "fay"),
        says("eve", "bob", "cat", "gus"),
        says("fay", "cat"),
        says("gus", "eve"),
    )
    ways = {name: links.way(name, "body") for name in ("bob", "cat", "eve", "fay", "gus")}
    hops = {"bob": "bob", "cat": "cat", "eve": "bob", "fay": "cat", "gus": "bob"}
    ttl = 6 + HOPS_SPARE
    assert ways == {
        name: Transmit(hop, Relay("ann", name, ttl, "body")) for name, hop in hops.items()
    }
    assert links.way("nobody", "body") is None


def test_a_body_for_another_goes_one_hop_further_until_it_has_gone_too_far() -> None:
    links = start()
    hello(links)
    adverts(links, "bob", says("bob", "ann"))
    assert links.pass_on(Relay("cat", "bob", 2, "x")) == [
        Transmit("bob", Relay("cat", "bob", 1, "x"))
    ]
    assert links.pass_on(Relay("cat", "bob", 1, "x")) == []
    assert links.pass_on(Relay("cat", "dan", 9, "x")) == []


def test_who_is_long_out_of_reach_is_forgotten() -> None:
    links = start()
    hello(links)
    adverts(links, "bob", says("bob", "ann"), says("far"), now=10)
    for now in range(HEARTBEAT, FORGET, HEARTBEAT):
        hello(links, beat=now, now=now)
        links.tick(now, [])
    assert "far" in links.adverts
    links.tick(FORGET + HEARTBEAT, [])
    assert sorted(links.adverts) == ["ann", "bob"]
    assert sorted(links._known()) == ["ann", "bob"]


def test_adverts_are_bounded_and_those_in_reach_stay() -> None:
    links = start()
    hello(links)
    adverts(links, "bob", says("bob", "ann"), says("old"), now=1)
    links.tick(HEARTBEAT, [])
    for number in range(HOSTS_MAX):
        adverts(links, "bob", says(f"h{number}"), now=HEARTBEAT + 1)
    assert len(links.adverts) == HOSTS_MAX
    assert {"ann", "bob", f"h{HOSTS_MAX - 1}"} <= links.adverts.keys()
    assert "old" not in links.adverts


def test_a_full_group_sees_no_newcomers() -> None:
    links = start()
    hello(links)
    names = [f"h{number}" for number in range(HOSTS_MAX - 2)]
    adverts(links, "bob", says("bob", "ann", *names), *[says(name, "bob") for name in names])
    assert len(links.component) == HOSTS_MAX
    adverts(links, "bob", says("new", "bob"))
    assert "new" not in links.adverts


def test_an_unwilling_host_names_nobody_and_is_named_by_nobody() -> None:
    links = start(Announced())
    hello(links)
    assert links._hello().heard == {}
    assert listed(links) == ()
    effects: list[Effect] = []
    links.announce(True, 5, effects)
    assert isinstance(effects[0], Transmit)
    assert effects[0].to is None
    assert isinstance(effects[0].frame, HelloFrame)
    assert effects[0].frame.heard == {"bob": 1}
    assert listed(links) == ("bob",)
    links.announce(False, 6, [])
    assert listed(links) == ()
    assert hello(links, beat=2, now=7) == []


def test_positions_ride_in_hellos_and_decide_links() -> None:
    links = start(Position(range_m=100, speed_max=0, slack_m=10))
    hello(links, info=(0, 50))
    assert listed(links) == (), "it does not know where it is"
    links.move((0.0, 0.0), 1, [])
    assert links._hello().info == (0.0, 0.0)
    assert listed(links) == ("bob",)
    hello(links, beat=2, info=(0, 95), now=2)
    assert listed(links) == ("bob",), "a link is held on to"
    hello(links, beat=3, info=(0, 101), now=3)
    assert listed(links) == ()
    links.move((0.0, 5.0), 4, [])
    assert listed(links) == (), "and not taken up at once"
    links.move((0.0, 15.0), 5, [])
    assert listed(links) == ("bob",)
    with pytest.raises(NotAPosition, match="two or three"):
        links.move((1.0,), 6, [])
