"""Tuples that answer together and lie on several hosts: seen in mirrors, collected host by host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.problems import LeaseLapsed
from nomospace.calls.requests import (
    Cancel,
    Out,
    Seek,
    Sets,
    Settle,
    Share,
)
from nomospace.calls.ways import Way
from nomospace.host import collecting, mirroring
from nomospace.host.collecting import Collecting, TooManySeen
from nomospace.protocols.spaces import Claim, Denied, Fetch, Given, Mirror, Mirrored, Unmirror
from nomospace.protocols.transfers import Transfer
from nomospace.terms import ANY, a, obj
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts
from tests.unit.host.speakers import (
    ANN,
    BOB,
    CAT,
    ECHO,
    EVE,
    WANTED,
    begin,
    financed,
    insured,
    left,
    speaker,
    speakers,
)


@pytest.fixture
def net(request: pytest.FixtureRequest) -> Hosts:
    """Three hosts with an agent each that share a space, perhaps under a law."""
    return speakers(getattr(request, "param", None))


GOVERNED_TOO = pytest.mark.parametrize("net", [None, ECHO], ids=["plain", "law"], indirect=True)
"""With tuples of a space under no law, and of one whose law lets all pass."""


def test_a_set_on_three_hosts_is_taken(net: Hosts) -> None:
    net.out(BOB, *insured("x"))
    net.out(CAT, *financed("x"))
    op = begin(net, ANN)
    net.until(lambda: op in net.answers)
    found: Found = net.value(op)
    assert found.fields == (obj("SportsCar", "x"), obj("Insurance", "i-x"), obj("Finance", "f-x"))
    assert {(one.fields, one.writer, one.source) for one in found.members} == {
        (insured("x"), BOB, BOB),
        (financed("x"), CAT, CAT),
    }
    assert "share SportsCar x" in found.why
    assert net.messages(Fetch) == ["ab", "ac"], "one host after the other"
    net.run(2)
    assert left(net, ANN, BOB, CAT) == []


@pytest.mark.parametrize("last", [ANN, BOB, CAT])
def test_a_waiting_take_wakes_with_the_last_tuple_wherever_it_comes(net: Hosts, last: str) -> None:
    op = begin(net, ANN)
    net.out(CAT, *insured("x"))
    net.out(CAT, *financed("y"))
    net.run(5)
    assert op not in net.answers
    assert net.messages(Fetch) == [], "there is nothing to collect before the set is whole"
    net.out(last, *financed("x"))
    net.until(lambda: op in net.answers)
    net.run(1)
    assert left(net, ANN, BOB, CAT) == [financed("y")]


def test_a_set_at_one_other_host_comes_in_one_step(net: Hosts) -> None:
    net.out(BOB, *insured("x"))
    net.out(BOB, *financed("x"))
    op = begin(net, ANN)
    net.until(lambda: op in net.answers)
    assert net.messages(Fetch) == ["ab"]
    assert net.messages(Given) == ["ba"]


def test_a_waiting_read_is_answered_from_what_others_show(net: Hosts) -> None:
    op = begin(net, ANN, "read")
    net.out(BOB, *insured("x"))
    net.out(CAT, *financed("x"))
    net.until(lambda: op in net.answers)
    assert len(net.value(op).members) == 2
    assert net.messages(Fetch) == []
    assert len(left(net, BOB, CAT)) == 2


def test_a_read_is_not_answered_with_what_a_lost_host_had(net: Hosts) -> None:
    op = begin(net, ANN, "read")
    net.out(BOB, *insured("x"))
    net.run(1)
    net.cut("ab bc")
    net.settle()
    net.out(CAT, *financed("x"))
    net.run(5)
    assert op not in net.answers
    net.join("ab")
    net.until(lambda: op in net.answers)


def test_of_two_who_want_the_same_one_has_it_all_and_the_other_waits(net: Hosts) -> None:
    first, second = begin(net, ANN), begin(net, BOB)
    net.out(CAT, *insured("x"))
    net.out(ANN, *financed("x"))
    net.run(5)
    assert len(net.answers.keys() & {first, second}) == 1
    assert left(net, ANN, BOB, CAT) == []
    net.out(CAT, *insured("y"))
    net.out(BOB, *financed("y"))
    net.until(lambda: {first, second} <= net.answers.keys())


def test_of_two_at_one_host_only_one_runs_after_a_set(net: Hosts) -> None:
    first, second = begin(net, ANN), begin(net, ANN)
    net.out(BOB, *insured("x"))
    net.out(BOB, *financed("x"))
    net.run(3)
    assert first in net.answers, "who came first"
    assert second not in net.answers
    assert net.messages(Fetch) == ["ab"]


@GOVERNED_TOO
def test_who_is_denied_gives_back_what_it_has(net: Hosts) -> None:
    net.out(BOB, *insured("x"))
    net.out(CAT, *financed("x"))
    op = begin(net, ANN)
    net.until(lambda: bool(net.messages(Fetch)))
    # Before ann's host gets to c, an agent there takes the tuple.
    assert net.do(CAT, Seek("jobs", Way.TAKE_NOWAIT, Template.of([a("Car"), a("Finance")])))
    net.until(lambda: bool(net.messages(Denied)))
    net.run(2)
    assert op not in net.answers
    assert left(net, ANN, BOB, CAT) == [insured("x")]
    assert net.held(BOB, ANY, ANY) == [insured("x")], "it lies with its holder again"
    net.out(CAT, *financed("x"))
    net.until(lambda: op in net.answers)


def collected_half(net: Hosts) -> int:
    """A take that has b's tuple in escrow and waits for c, which cannot hear it."""
    net.out(BOB, *insured("x"))
    net.out(CAT, *financed("x"))
    op = begin(net, ANN)
    net.until(lambda: net.messages(Fetch) == ["ab", "ac"])
    net.cut("ac bc")
    return op


def test_what_is_in_escrow_is_seen_by_nobody(net: Hosts) -> None:
    collected_half(net)
    assert left(net, ANN, BOB) == []


def _cancelled(net: Hosts, op: int) -> None:
    assert net.do(ANN, Cancel(op))


def _lost(net: Hosts, op: int) -> None:
    net.settle()
    assert op not in net.answers


def _left(net: Hosts, op: int) -> None:
    net.move(ANN, "b")


def _crashed(net: Hosts, op: int) -> None:
    net.stop("a")
    net.run(8)
    net.start("a")


def _parted(net: Hosts, op: int) -> None:
    net.do(ANN, Share(("jobs",), shared=False))


@GOVERNED_TOO
@pytest.mark.parametrize("end", [_cancelled, _lost, _left, _crashed, _parted])
def test_half_a_set_goes_back(net: Hosts, end: Callable[[Hosts, int], None]) -> None:
    op = collected_half(net)
    end(net, op)
    net.run(10)
    assert net.held(BOB, ANY, ANY) == [insured("x")]
    assert net.held(CAT, ANY, ANY) == [financed("x")]


@GOVERNED_TOO
def test_a_tuple_of_the_own_host_goes_back_after_a_crash_too(net: Hosts) -> None:
    net.out(ANN, *insured("x"))
    net.out(CAT, *financed("x"))
    begin(net, ANN)
    net.until(lambda: net.messages(Fetch) == ["ac"])
    assert left(net, ANN) == []
    net.stop("a")
    net.run(8)
    net.start("a")
    net.run(10)
    assert left(net, ANN, CAT) == [insured("x"), financed("x")]


@GOVERNED_TOO
def test_what_comes_for_a_take_that_is_over_goes_back(net: Hosts) -> None:
    net.out(BOB, *insured("x"))
    net.out(BOB, *financed("x"))
    op = begin(net, ANN)
    net.until(lambda: bool(net.messages(Given)))
    assert net.do(ANN, Cancel(op))
    net.run(3)
    assert net.held(BOB, ANY, ANY) == [insured("x"), financed("x")]


@GOVERNED_TOO
def test_after_a_wait_goes_on_it_is_served(net: Hosts) -> None:
    op = collected_half(net)
    net.settle()
    net.join("ac")
    net.until(lambda: op in net.answers)
    net.run(2)
    assert left(net, ANN, BOB, CAT) == []


def test_a_single_tuple_goes_before_several(net: Hosts) -> None:
    op = begin(net, ANN)
    net.out(CAT, *insured("x"), obj("Finance", "f-x"))
    net.until(lambda: op in net.answers)
    assert net.value(op).members == ()


def test_a_set_that_comes_while_a_single_tuple_is_claimed_in_vain(net: Hosts) -> None:
    op = begin(net, ANN)
    net.run(1)
    net.out(BOB, *insured("x"), obj("Finance", "f-x"))
    net.until(lambda: net.messages(Claim) == ["ab"])
    assert net.do(BOB, Seek("jobs", Way.TAKE_NOWAIT, Template.of(WANTED)))
    net.out(CAT, *insured("y"))
    net.out(CAT, *financed("y"))
    net.until(lambda: op in net.answers)
    assert net.messages(Denied) == ["ba"]
    assert len(net.value(op).members) == 2


def test_a_host_alone_can_be_asked_for(net: Hosts) -> None:
    net.out(ANN, *insured("x"))
    net.out(BOB, *financed("x"))
    op = begin(net, ANN, at="b")
    net.run(3)
    assert op not in net.answers
    net.out(BOB, *insured("x"))
    net.until(lambda: op in net.answers)
    assert left(net, ANN, BOB) == [insured("x")]


@GOVERNED_TOO
@pytest.mark.parametrize(("how", "stays"), [("take_nowait", 0), ("read_nowait", 2)])
def test_who_does_not_wait_may_ask_another_host_for_a_set(net: Hosts, how: str, stays: int) -> None:
    net.out(ANN, *insured("x"))
    net.out(BOB, *insured("y"))
    assert net.ask(ANN, Seek("jobs", Way(how), Template.of(WANTED), "b", sets=Sets())) is None
    net.out(BOB, *financed("y"))
    found = net.ask(ANN, Seek("jobs", Way(how), Template.of(WANTED), "b", sets=Sets()))
    assert found.fields == (obj("SportsCar", "y"), obj("Insurance", "i-y"), obj("Finance", "f-y"))
    assert [one.fields for one in found.members] == [insured("y"), financed("y")]
    assert "share SportsCar y" in found.why
    assert len(left(net, BOB)) == stays


def test_all_sets_of_another_host(net: Hosts) -> None:
    whole = (*insured("w"), obj("Finance", "f-w"))
    for fields in (insured("x"), financed("x"), insured("y"), financed("y"), whole):
        net.out(BOB, *fields)
    net.out(BOB, obj("SportsCar", "x"), obj("Finance", "other"))

    def asked(how: str, correlate: str) -> list[str]:
        seek = Seek("jobs", Way(how), Template.of(WANTED), "b", sets=Sets(correlate=correlate))
        return [str(one.fields[2].args[1]) for one in net.ask(ANN, seek)]

    assert asked("read_all", "auto") == ["f-w"], "one answers alone"
    assert asked("read_all", "always") == ["f-w", "f-x", "other", "f-y"]
    assert asked("take_all", "always") == ["f-w", "f-x", "f-y"]
    assert left(net, BOB) == [(obj("SportsCar", "x"), obj("Finance", "other"))]


@GOVERNED_TOO
def test_a_set_that_is_none_by_this_hosts_reading_goes_back(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    net.out(BOB, *insured("y"))
    net.out(BOB, *financed("y"))
    monkeypatch.setattr("nomospace.host.claiming.composed", lambda _, __, sets: [None] * len(sets))
    seek = Seek("jobs", Way.TAKE_NOWAIT, Template.of(WANTED), "b", sets=Sets())
    assert net.ask(ANN, seek) is None
    net.run(1)
    assert left(net, BOB) == [insured("y"), financed("y")]


def test_tuples_are_shown_only_while_somebody_waits(net: Hosts) -> None:
    net.out(BOB, *insured("x"))
    net.run(1)
    assert net.messages(Mirrored) == []
    op = begin(net, ANN)
    net.run(1)
    assert net.messages(Mirror) == ["ab", "ac"]
    assert net.messages(Mirrored) == ["ba"]
    net.do(ANN, Cancel(op))
    net.run(5)
    assert net.messages(Unmirror) == [], "somebody may wait again soon"
    net.run(10)
    assert sorted(net.messages(Unmirror)) == ["ab", "ac"]
    shown = len(net.messages(Mirrored))
    net.out(BOB, *insured("y"))
    net.run(1)
    assert len(net.messages(Mirrored)) == shown


def test_who_comes_later_is_looked_at_too(net: Hosts) -> None:
    net.cut("ac bc")
    net.settle()
    op = begin(net, ANN)
    net.out(BOB, *insured("x"))
    net.out(CAT, *financed("x"))
    net.run(3)
    assert op not in net.answers
    net.join("bc")  # through b, which relays
    net.until(lambda: op in net.answers)


def test_what_is_shown_in_several_pages_is_looked_at_when_all_is_there(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "PAGE", 2)
    for fields in (insured("v"), financed("x"), insured("w"), insured("x"), insured("y")):
        net.out(BOB, *fields)
    looks: list[int] = []
    look = Collecting._try

    def counted(self: Collecting, *said: Any) -> None:
        looks.append(1)
        look(self, *said)

    monkeypatch.setattr(Collecting, "_try", counted)
    op = begin(net, ANN)
    net.until(lambda: op in net.answers)
    pages = [one.body for one in net.said if isinstance(one.body, Mirrored) and one.src == "b"]
    assert [(len(page.rows), page.more) for page in pages[:3]] == [(2, True), (2, True), (1, False)]
    assert len(looks) == 2, "when it came, and when all was shown"
    assert len(left(net, BOB)) == 3


def test_plain_tuples_are_not_shown(net: Hosts) -> None:
    begin(net, ANN)
    net.out(BOB, "job", 17)
    net.run(1)
    assert net.messages(Mirrored) == []


def test_a_tuple_that_expires_is_in_no_set(net: Hosts) -> None:
    op = begin(net, ANN)
    net.do(BOB, Out("jobs", insured("x"), ttl_us=2_000_000))
    net.run(5)
    net.out(CAT, *financed("x"))
    net.run(3)
    assert op not in net.answers


@pytest.mark.parametrize("before", [0, 4])
def test_spaces_that_are_too_large_are_not_shown(
    net: Hosts, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setattr(mirroring, "ROWS_MAX", 3)
    for number in range(before):
        net.out(BOB, *insured(f"x{number}"))
    op = begin(net, ANN)
    net.run(1)
    assert (op in net.answers) == (before > 3)
    for number in range(before, 4):
        net.out(BOB, *insured(f"x{number}"))
    net.until(lambda: op in net.answers)
    with pytest.raises(TooManySeen, match="of host b, there are more than"):
        net.value(op)


def test_a_host_shows_so_many_mirrors_and_no_more(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "MIRRORS_MAX", 1)
    near, far = begin(net, BOB, at="c"), begin(net, ANN, at="c")
    net.run(1)
    assert near not in net.answers
    with pytest.raises(TooManySeen, match="it shows 1 mirrors, which is its limit"):
        net.value(far)


@GOVERNED_TOO
def test_what_is_too_much_for_a_frame_comes_in_parts(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carries(frame: Any) -> str:
        what = frame.body.what if isinstance(frame.body, Transfer) else frame.body
        return "too long" if len(getattr(what, "rows", ())) > 1 else ""

    for host in net.hosts.values():
        monkeypatch.setattr(host, "carries", carries)
    net.out(BOB, *insured("x"))
    net.out(BOB, *financed("x"))
    op = begin(net, ANN)
    net.until(lambda: op in net.answers)
    assert net.messages(Mirrored)[:2] == ["ba", "ba"]
    assert net.messages(Given) == ["ba", "ba"]
    assert len(net.value(op).members) == 2
    assert left(net, BOB) == []


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [("SEEN_MAX", 3, "more than 3 tuples"), ("SEEN_BYTES_MAX", 100, "more than 100 bytes")],
)
def test_there_is_a_limit_to_what_is_seen(
    net: Hosts, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, says: str
) -> None:
    monkeypatch.setattr(collecting, limit, most)
    op, near = begin(net, ANN), begin(net, ANN, at="a")
    for number in range(4):
        net.out(BOB, *insured(f"x{number}"))
    net.until(lambda: op in net.answers)
    with pytest.raises(TooManySeen, match=says):
        net.value(op)
    net.out(ANN, *insured("x"))
    net.out(ANN, *financed("x"))
    assert near in net.answers, "who looks at one host is not concerned"


# -- on a lease, and of one agent ------------------------------------------------------------


def lent(net: Hosts, agent: str, lease_s: int = 30) -> Found:
    seek = Seek("jobs", Way.TAKE, Template.of(WANTED), lease_us=lease_s * 1_000_000, sets=Sets())
    op = net.call(agent, seek)
    net.until(lambda: op in net.answers)
    found: Found = net.value(op)
    return found


def settle(net: Hosts, agent: str, lease: str, *, done: bool) -> None:
    op = net.call(agent, Settle("jobs", lease, done))
    net.until(lambda: op in net.answers)
    net.value(op)
    net.run(2)


@GOVERNED_TOO
@pytest.mark.parametrize("holders", [(ANN, ANN), (ANN, BOB), (BOB, CAT), (BOB, BOB)])
def test_a_set_on_a_lease_is_done_with_or_comes_back_as_a_whole(
    net: Hosts, holders: tuple[str, str]
) -> None:
    for holder, fields in zip(holders, (insured("x"), financed("x")), strict=True):
        net.out(holder, *fields)
    net.run(1)
    found = lent(net, ANN)
    assert (len(found.members), found.deliveries) == (2, 1)
    assert left(net, ANN, BOB, CAT) == []
    settle(net, ANN, found.lease, done=False)
    assert len(left(net, *dict.fromkeys(holders))) == 2, "each is where it was"
    again = lent(net, ANN)
    assert again.deliveries == 2
    net.run(40)
    assert len(left(net, *dict.fromkeys(holders))) == 2, "it lapsed"
    with pytest.raises(LeaseLapsed):
        settle(net, ANN, again.lease, done=True)
    settle(net, ANN, lent(net, ANN).lease, done=True)
    net.run(40)
    assert left(net, ANN, BOB, CAT) == []


def test_a_set_of_what_one_agent_holds(net: Hosts) -> None:
    speaker(net, EVE)
    net.settle()
    for agent, car in ((EVE, "x"), (BOB, "y")):
        net.out(agent, *insured(car))
        net.out(agent, *financed(car))
    net.out(ANN, *insured("z"))
    net.out(EVE, *financed("z"))
    net.run(1)

    def found(how: Way, at: str) -> Found:
        op = begin(net, ANN, how, at=at)
        net.until(lambda: op in net.answers)
        one: Found = net.value(op)
        return one

    for agent, car in ((EVE, "x"), (BOB, "y")):
        assert found(Way.READ_NOWAIT, agent).fields[0] == obj("SportsCar", car)
        assert found(Way.TAKE, agent).fields[0] == obj("SportsCar", car)
    op = begin(net, ANN, at=EVE)
    net.run(5)
    assert op not in net.answers
    net.out(EVE, *insured("z"))
    net.until(lambda: op in net.answers)
    assert {one.source for one in net.value(op).members} == {EVE}


def test_a_set_of_what_is_for_one_agent(net: Hosts) -> None:
    dest = "zoe@z"  # who is nowhere: it waits with those who wrote it
    asks = Seek("jobs", Way.TAKE, Template.of(WANTED), dest=dest, sets=Sets())
    net.out(BOB, *insured("x"))
    net.out(CAT, *financed("x"))
    op = net.call(ANN, asks)
    net.run(3)
    assert op not in net.answers
    net.do(BOB, Out("jobs", insured("y"), dest))
    net.do(CAT, Out("jobs", financed("y"), dest))
    net.until(lambda: op in net.answers)
    assert net.value(op).fields[0] == obj("SportsCar", "y")


def test_a_tuple_that_changes_hands_is_a_fact_of_its_new_holder(net: Hosts) -> None:
    zoe = "zoe@b"
    net.do(BOB, Out("jobs", insured("y"), zoe))
    net.do(BOB, Out("jobs", financed("y"), zoe))
    op = begin(net, ANN, Way.READ, at=zoe)
    net.run(2)
    assert op not in net.answers
    speaker(net, zoe)
    net.until(lambda: op in net.answers)
    assert {one.source for one in net.value(op).members} == {zoe}
