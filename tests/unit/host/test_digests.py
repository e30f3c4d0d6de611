"""Only hosts are asked that may hold a match, by the digests they tell; none is passed over."""

import pytest

from nomospace.calls.requests import Cancel, Seek, Sets, Share
from nomospace.calls.ways import Way
from nomospace.host import digests as module
from nomospace.protocols.spaces import DirectoryChanged, SpaceDigest, Unwatch, Watch
from nomospace.space.kinds import ANYTHING, FIRSTS_MAX
from nomospace.terms.templates import ANY, Template, a
from tests.paper.hosts import Hosts

ANN, BOB, CAT = "ann@a", "bob@b", "cat@c"
AGENTS = {"a": ANN, "b": BOB, "c": CAT, "d": "dan@d"}
FIELDS = DirectoryChanged.__struct_fields__
OLDER = FIELDS[: FIELDS.index("digests")]
"""What hosts know of a change that know of no digests."""
SECONDS = 10.0
"""Longer than a kind of which nothing is there is kept."""


def engaged(names: str = "abc") -> Hosts:
    net = Hosts(names)
    for name in names:
        net.agent(AGENTS[name], "jobs")
    net.settle()
    return net


def acquainted(names: str = "abc") -> Hosts:
    """Hosts of which the first has waited, so that it knows what the others hold: nothing."""
    net = engaged(names)
    net.do(ANN, Cancel(net.begin(ANN, "take", "job", ANY)))
    net.run(0.5)
    net.said.clear()
    return net


def digests(net: Hosts) -> list[tuple[str, SpaceDigest]]:
    """What was told of spaces, and from whom to whom."""
    return [
        (one.src + one.dst, digest)
        for one in net.said
        if isinstance(one.body, DirectoryChanged)
        for digest in one.body.digests
    ]


def test_who_waits_first_asks_all_and_is_told_what_they_hold_and_then_asks_nobody_in_vain() -> None:
    net = engaged()
    net.out(CAT, "mail", 1)
    first = net.begin(ANN, "take", "job", ANY)
    net.run(0.5)
    assert sorted(net.messages(Watch)) == ["ab", "ac"]
    told = dict(digests(net))
    assert told["ba"] == SpaceDigest("jobs", (), whole=True)
    assert len(told["ca"].came) == 2
    net.said.clear()
    ops = [net.begin(ANN, "take", "job", number) for number in range(5)]
    ops.append(net.begin(ANN, "read", "mail", 2))
    assert net.messages(Watch) == ["ac"]
    assert net.hosts["a"].digests.spared == 5 + 5 + 1
    net.do(ANN, Cancel(first))
    net.said.clear()
    for op in ops:
        net.do(ANN, Cancel(op))
    assert net.messages(Unwatch) == ["ac"]


@pytest.mark.parametrize("template", [("job", ANY), (ANY, 17), (str, int), ("job", 17)])
def test_a_kind_that_comes_is_told_in_its_step_and_who_waits_for_it_is_served(
    template: tuple[object, ...],
) -> None:
    net = acquainted()
    waits = net.begin(ANN, "take", *template)
    other = net.begin(ANN, "take", "mail", ANY)
    assert net.messages(Watch) == []
    net.out(BOB, "job", 17)
    assert [pair for pair, _ in digests(net)] == ["ba"]
    net.run(0.5)
    assert net.got(waits) == ("job", 17)
    assert net.messages(Watch) == ["ab"]
    net.said.clear()
    net.do(ANN, Cancel(other))
    assert net.messages(Unwatch) == []


def test_a_queue_of_one_kind_costs_no_news() -> None:
    net = acquainted()
    net.out(BOB, "job", 0)
    net.run(0.5)
    net.said.clear()
    for number in range(20):
        assert net.seek(ANN, "take", "job", ANY) == ("job", number)
        net.run(0.5)
        net.out(BOB, "job", number + 1)
    assert digests(net) == []
    assert set(net.messages(Watch)) == {"ab"}


def test_a_kind_is_gone_some_time_after_its_last_tuple_and_comes_again() -> None:
    net = acquainted("ab")
    net.out(BOB, "job", 1)
    net.out(BOB, "job", 2)
    net.seek(BOB, "take", "job", 1)
    net.run(SECONDS)
    assert [one.gone for _, one in digests(net)] == [()]
    net.said.clear()
    net.seek(BOB, "take", "job", 2)
    net.run(SECONDS)
    ((_, gone),) = digests(net)
    assert not gone.came
    waits = net.begin(ANN, "read", "job", ANY)
    assert net.messages(Watch) == []
    net.said.clear()
    net.out(BOB, "job", 3)
    ((_, came),) = digests(net)
    assert sorted(came.came) == sorted(gone.gone)
    net.run(0.5)
    assert net.got(waits) == ("job", 3)


def test_a_tuple_that_comes_back_from_a_lease_is_news_again() -> None:
    net = engaged("ab")
    net.out(BOB, "job", 1)
    lease_us = int((SECONDS + 3) * 1e6)
    net.ask(BOB, Seek("jobs", Way.TAKE, Template.of(("job", 1)), lease_us=lease_us))
    net.do(ANN, Cancel(net.begin(ANN, "take", "mail", ANY)))
    net.run(0.5)
    net.said.clear()
    waits = net.begin(ANN, "take", "job", ANY)
    net.run(SECONDS)
    assert net.messages(Watch) == []
    net.run(SECONDS)
    assert net.got(waits) == ("job", 1)


def test_tuples_that_become_shared_are_news() -> None:
    net = acquainted()
    net.do(CAT, Share(("jobs",), shared=False))
    net.run(0.5)
    net.out(CAT, "job", 1)
    waits = net.begin(ANN, "take", "job", ANY)
    net.run(0.5)
    assert net.messages(Watch) == []
    net.do(CAT, Share(("jobs",)))
    net.run(0.5)
    assert net.got(waits) == ("job", 1)


def test_a_tuple_that_comes_by_a_transfer_is_news() -> None:
    net = acquainted()
    waits = net.begin(ANN, "read", "job", ANY, at="c")
    net.out(BOB, "job", 1, to=CAT)
    net.run(0.5)
    assert net.got(waits) == ("job", 1)
    assert ("ca", "jobs") in [(pair, one.space) for pair, one in digests(net)]


def test_a_host_that_restarts_or_parts_is_known_anew() -> None:
    net = acquainted("ab")
    waits = net.begin(ANN, "take", "job", ANY)
    net.cut("ab")
    net.run(SECONDS)
    net.out(BOB, "job", 1)
    net.stop("b")
    net.start("b")
    net.join("ab")
    net.settle()
    net.run(0.5)
    assert net.got(waits) == ("job", 1)


def test_a_space_that_is_shared_no_more_is_told_of_no_more() -> None:
    net = acquainted("ab")
    net.do(BOB, Share(("jobs",), shared=False))
    assert [one for _, one in digests(net)] == [SpaceDigest("jobs", (ANYTHING,), whole=True)]
    net.run(0.5)
    net.do(BOB, Share(("jobs",)))
    net.run(0.5)
    waits = net.begin(ANN, "take", "job", ANY)
    assert net.messages(Watch) == ["ab"]
    net.out(BOB, "job", 1)
    net.run(0.5)
    assert net.got(waits) == ("job", 1)


def test_who_shares_the_space_no_more_is_told_nothing() -> None:
    net = acquainted("ab")
    net.do(ANN, Share(("jobs",), shared=False))
    net.run(0.5)
    net.out(BOB, "job", 1)
    assert [one.came for _, one in digests(net)] == [(ANYTHING,)]
    net.out(BOB, "mail", 1)
    assert len(digests(net)) == 1


def test_who_waits_no_more_hears_no_more_and_is_told_again_when_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "UNASKED_MAX", 3)
    net = acquainted("ab")
    waits = net.begin(ANN, "take", "job", ANY)
    for number in range(3):
        net.out(BOB, f"kind {number}", number)
    net.do(ANN, Cancel(waits))
    net.run(0.5)
    net.out(BOB, "kind 3", 3)
    net.out(BOB, "kind 4", 4)
    *_, (_, last) = digests(net)
    assert len(digests(net)) == 4
    assert last.came == (ANYTHING,)
    net.run(0.5)
    assert net.seek(ANN, "take", "kind 4", ANY) == ("kind 4", 4)


def test_very_many_kinds_are_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNASKED_MAX", 1_000)
    net = acquainted("ab")
    for number in range(400):
        net.out(BOB, number, "answer")
    assert len(digests(net)) == FIRSTS_MAX + 1
    net.run(0.5)
    net.said.clear()
    for number in (3, 399):
        assert net.seek(ANN, "take", number, ANY) == (number, "answer")
    net.begin(ANN, "take", 1_000, ANY)
    net.begin(ANN, "take", "mail", 1, 2)
    assert net.messages(Watch) == ["ab"] * 3


def test_digests_that_an_older_host_on_the_way_left_out_are_not_missed() -> None:
    net = acquainted("ab")
    waits = net.begin(ANN, "take", "job", ANY)
    hear = net.hosts["a"].group.hears[DirectoryChanged]

    def without(peer: str, body: DirectoryChanged) -> None:
        hear(peer, DirectoryChanged(*[getattr(body, one) for one in OLDER]))

    net.hosts["a"].group.hears[DirectoryChanged] = without
    net.out(BOB, "job", 1)
    net.run(0.5)
    assert net.got(waits) == ("job", 1)


def test_who_asks_for_classes_or_sets_of_tuples_asks_everybody() -> None:
    net = acquainted()
    for template, sets in (((a("Car"),), None), (("job", a("Car")), Sets())):
        net.call(ANN, Seek("jobs", Way.READ, Template.of(template), sets=sets))
        net.run(0.5)
        assert sorted(net.messages(Watch)) == ["ab", "ac"]
        net.said.clear()


def test_reactions_are_had_everywhere_so_that_none_misses_what_is_taken_at_once() -> None:
    net = acquainted("ab")
    met = net.react(ANN, "job", ANY)
    net.run(0.5)
    net.out(BOB, "job", 1)
    net.seek(BOB, "take", "job", 1)
    net.run(0.5)
    assert net.firings(met) == [("job", 1)]
