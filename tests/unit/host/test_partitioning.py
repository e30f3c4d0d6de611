"""Partitioned spaces: one host is asked, shares move, and nothing is missed, doubled or lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from nomospace.calls.partition import (
    KEY_BYTES_MAX,
    AtHomeElsewhere,
    BadPartition,
    KeyTooLarge,
    NoKey,
    OtherPartition,
)
from nomospace.calls.problems import OtherEngine
from nomospace.calls.requests import (
    READ_ALL,
    TAKE,
    Adopt,
    End,
    Open,
    Out,
    OutMany,
    Seek,
    Settle,
    Share,
)
from nomospace.host import partitioning
from nomospace.host.calls import Arrive, Drain
from nomospace.host.residents import keeper_of
from nomospace.host.shares import Shares, TooManySpaces, TooManyTuples
from nomospace.law import load
from nomospace.protocols.homes import Homes
from nomospace.protocols.spaces import Ask, Migrated, ReactWatch, Watch
from nomospace.terms import ANY, freeze
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts

AGENTS = {"a": "ann@a", "b": "bob@b", "c": "cat@c", "d": "dan@d"}
ECHO = load("law(echo). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")


def joins(net: Hosts, host: str, *, space: str = "jobs", partition: str = "1") -> str:
    agent = AGENTS[host]
    net.tell(host, Arrive(agent))
    net.do(agent, Open(space, partition=partition))
    net.do(agent, Share((space,)))
    return agent


def shards(names: str = "abc", *, links: str | None = None) -> Hosts:
    net = Hosts(names, links)
    net.settle()
    for host in names:
        joins(net, host)
    net.run(1)
    return net


def lies(net: Hosts, host: str, space: str = "jobs") -> list[tuple[Any, ...]]:
    """What lies at a host, whoever holds it."""
    return [one.fields for one in net.hosts[host].spaces.shared(space).oldest(10_000)]


def key_at(host: str, hosts: str = "abc", *, but: int = -1) -> int:
    """A number that is at home at a host."""
    homes = Homes(dict.fromkeys(hosts, 1.0))
    return next(key for key in range(1_000) if homes.home(key) == host and key != but)


def per_step(
    net: Hosts, host: str, monkeypatch: pytest.MonkeyPatch, part: Any, name: str
) -> list[int]:
    """How often each step of a host calls something from now on."""
    steps: list[int] = [0]
    called, handle = getattr(part, name), net.hosts[host].handle

    def counted(*arguments: Any) -> Any:
        steps[-1] += 1
        return called(*arguments)

    def handled(event: Any, *, now: int) -> Any:
        steps.append(0)
        return handle(event, now=now)

    monkeypatch.setattr(part, name, counted)
    monkeypatch.setattr(net.hosts[host], "handle", handled)
    return steps


def asked(net: Hosts, kind: type, since: int) -> list[str]:
    """The hosts that were asked something from a moment on."""
    return [said.dst for said in net.said if said.at >= since and isinstance(said.body, kind)]


def settled(net: Hosts) -> bool:
    states = [host.partitioning.state("jobs") for host in net.hosts.values()]
    return all(state is None or (state[3] and not state[4]) for state in states)


def test_each_tuple_lies_at_its_home_and_a_keyed_operation_asks_that_host_alone() -> None:
    net = shards()
    for number in range(30):
        net.out("ann@a", "job", number)
    net.run(1)
    homes = Homes(dict.fromkeys("abc", 1.0))
    for host in "abc":
        assert [homes.home(fields[1]) for fields in lies(net, host)] == [host] * len(
            lies(net, host)
        )
    assert sum(len(lies(net, host)) for host in "abc") == 30
    there, elsewhere, here = key_at("b"), key_at("c"), key_at("a")
    since = net.now
    assert net.seek("ann@a", "take", "job", there) == ("job", there)
    assert asked(net, Watch, since) == ["b"]
    assert net.seek("ann@a", "take_nowait", "job", elsewhere) == ("job", elsewhere)
    assert net.seek("ann@a", "take_nowait", "job", elsewhere) is None
    assert net.seek("ann@a", "read_all", "job", there) == []
    assert asked(net, Ask, since) == ["c", "c", "b"]
    since = net.now
    assert net.seek("ann@a", "take", "job", here) == ("job", here)
    assert not [said for said in net.said if said.at > since]
    op = net.begin("ann@a", "take", "job", there)  # and one that waits is served on arrival
    net.out("cat@c", "job", there)
    net.until(lambda: op in net.answers)
    assert net.got(op) == ("job", there)


def test_a_host_alone_is_settled() -> None:
    net = shards("a")
    net.out("ann@a", "job", 1)
    assert settled(net)


def test_without_the_key_all_are_asked_as_ever() -> None:
    net = shards()
    net.out("ann@a", "job", key_at("c"))
    net.run(1)
    since = net.now
    assert net.seek("bob@b", "take", "job", int) == ("job", key_at("c"))
    assert sorted(asked(net, Watch, since)) == ["a", "c"]


def test_what_lies_with_the_keeper_stays_when_its_writer_leaves_or_parts() -> None:
    net = shards()
    here = key_at("a")
    net.out("ann@a", "job", here)
    net.do("ann@a", Share(("jobs",), shared=False))
    assert lies(net, "a") == [("job", here)]
    net.move("ann@a", "b")
    net.run(1)
    assert lies(net, "a") == [("job", here)]
    assert net.hosts["a"].agents == ()
    assert net.seek("cat@c", "take", "job", here) == ("job", here)
    lines = net.seek("cat@c", "read_all", ANY, ANY, ANY, "connected", space="LimeSystem")
    assert all(field[0] != "@" for line in lines for field in line[1:])


def test_large_tuples_are_moved_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Private ones that are shared, and those of a share that goes to another host."""
    monkeypatch.setattr("nomospace.host.shares.MOVED_BYTES", 10_000)
    net = Hosts("ab")
    net.settle()
    net.tell("a", Arrive("ann@a"))
    net.do("ann@a", Open("jobs", partition="1"))
    for key in range(20):
        net.do("ann@a", Out("jobs", ("job", key, "x" * 6_000)))
    steps = per_step(net, "a", monkeypatch, net.hosts["a"].placing, "send_on")
    net.ask("ann@a", Share(("jobs",)))
    net.run(1)
    assert (sum(steps), max(steps)) == (20, 2)
    joins(net, "b")
    net.run(5)
    both = lies(net, "a") + lies(net, "b")
    assert sorted(fields[1] for fields in both) == list(range(20))
    assert lies(net, "b")
    assert settled(net)


def test_one_step_looks_through_one_space_when_the_homes_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An agent that shares a thousand spaces would have its peers look through all in one step."""
    net = Hosts("ab")
    net.settle()
    spaces = [f"jobs{number}" for number in range(8)]
    for space in spaces:
        joins(net, "a", space=space)
        net.do("ann@a", Out(space, ("job", 1)))
    steps = per_step(net, "a", monkeypatch, net.hosts["a"].partitioning, "_sweep_some")
    net.tell("b", Arrive("bob@b"))
    for space in spaces:
        net.do("bob@b", Open(space, partition="1"))
    net.do("bob@b", Share(tuple(spaces)))
    net.run(2)
    assert sum(steps) >= 8
    assert max(steps) == 1


def test_private_tuples_go_home_when_the_space_is_shared() -> None:
    net = Hosts("ab")
    net.settle()
    joins(net, "b")
    net.tell("a", Arrive("ann@a"))
    net.do("ann@a", Open("jobs", partition="1"))
    rows = tuple([("job", number) for number in range(20)])
    net.do("ann@a", OutMany("jobs", rows))
    assert net.seek("ann@a", "read_nowait", "job", 3) == ("job", 3)
    net.do("ann@a", Share(("jobs",)))
    net.run(2)
    assert settled(net)
    assert sorted(lies(net, "a") + lies(net, "b")) == list(rows)
    assert {fields[1] for fields in lies(net, "b")} == {
        number for number in range(20) if Homes({"a": 1.0, "b": 1.0}).home(number) == "b"
    }


def test_a_share_moves_to_who_joins_while_takers_find_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitioning, "SWEPT_IN_STEP", 4)
    monkeypatch.setattr(partitioning, "UNDER_WAY_MAX", 3)
    net = shards("abcd", links="ab bc ac")
    for number in range(90):
        net.out("ann@a", "job", number)
    net.run(1)
    ops = [net.begin("bob@b", "take", "job", number) for number in range(30)]
    net.join("ad bd cd")
    found: list[Any] = []

    def takes(number: int) -> None:
        net.call("cat@c", Seek("jobs", TAKE, Template.of(("job", number))), found.append)

    for number in range(30, 60):
        takes(number)
        net.run(0.1)
    net.settle()
    net.until(lambda: settled(net) and len(found) == 30 and all(op in net.answers for op in ops))
    assert sorted(answer.value.fields[1] for answer in found) == list(range(30, 60))
    left = [fields[1] for host in "abcd" for fields in lies(net, host)]
    assert sorted(left) == list(range(60, 90))
    homes = Homes(dict.fromkeys("abcd", 1.0))
    assert all(homes.home(fields[1]) == "d" for fields in lies(net, "d"))
    assert len(lies(net, "d")) > 2


def test_who_is_not_settled_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    net = shards("abcd", links="ab bc ac")
    for number in range(60):
        net.out("ann@a", "job", number)
    net.run(1)
    monkeypatch.setattr(partitioning, "UNDER_WAY_MAX", 0)  # nothing moves
    net.join("ad bd cd")
    net.settle()
    old, new = Homes(dict.fromkeys("abc", 1.0)), Homes(dict.fromkeys("abcd", 1.0))
    astray = [n for n in range(60) if new.home(n) == "d" and old.home(n) == "b"]
    since = net.now
    assert net.seek("ann@a", "take_nowait", "job", astray[0]) == ("job", astray[0])
    assert asked(net, Ask, since)[0] == "d"  # the home first
    assert asked(net, Ask, since)[-1] == "b"
    assert net.seek("dan@d", "take", "job", astray[1]) == ("job", astray[1])
    both = net.seek("bob@b", "read_all", "job", astray[2])
    assert both == [("job", astray[2])]
    state = net.hosts["a"].partitioning.state("jobs")
    assert state is not None
    assert state[1] == ("a", "b", "c", "d")
    assert not state[3]
    monkeypatch.setattr(partitioning, "UNDER_WAY_MAX", 100)
    net.cut("ad bd cd")
    net.settle()
    net.join("ad bd cd")
    net.settle()
    net.until(lambda: settled(net))
    assert sorted(f[1] for h in "abcd" for f in lies(net, h)) == sorted(
        set(range(60)) - set(astray[:2])
    )


def test_hosts_that_part_keep_what_they_hold() -> None:
    net = shards("ab")
    for number in range(20):
        net.out("ann@a", "job", number)
    net.run(1)
    before = {host: sorted(lies(net, host)) for host in "ab"}
    net.cut("ab")
    net.settle()
    assert {host: sorted(lies(net, host)) for host in "ab"} == before
    assert settled(net)
    gone = next(number for number in range(20) if ("job", number) in before["b"])
    net.out("ann@a", "job", gone)  # alone, it is at home here
    assert net.seek("ann@a", "take_nowait", "job", gone) == ("job", gone)
    net.out("ann@a", "job", gone)
    net.join("ab")
    net.settle()
    net.until(lambda: settled(net))
    assert net.seek("ann@a", "read_all", "job", gone) == [("job", gone)] * 2


@pytest.mark.parametrize("host", ["a", "b"])
def test_a_host_that_starts_again_has_its_share_and_looks_through_it(host: str) -> None:
    net = shards("ab")
    for number in range(20):
        net.out("ann@a", "job", number)
    net.run(1)
    before = sorted(lies(net, host))
    net.stop(host)
    net.run(10)
    net.start(host)
    net.settle()
    net.until(lambda: settled(net))
    assert sorted(lies(net, host)) == before
    other = "b" if host == "a" else "a"
    assert net.seek(AGENTS[other], "take_nowait", *before[0]) == before[0]


def test_a_host_that_is_drained_has_no_share_until_it_has_one_again() -> None:
    net = shards()
    for number in range(30):
        net.out("ann@a", "job", number)
    net.run(1)
    assert lies(net, "b")
    net.tell("b", Drain())
    net.until(lambda: settled(net) and not lies(net, "b"))
    assert net.hosts["b"].partitioning.held() == 0
    net.stop("b")
    net.start("b")
    net.settle()
    net.until(lambda: settled(net))
    net.out("bob@b", "job", key_at("b"))
    net.run(1)
    assert not lies(net, "b")
    net.tell("b", Drain(drained=False))
    net.until(lambda: settled(net) and len(lies(net, "b")) > 0)
    assert sum(len(lies(net, host)) for host in "abc") == 31


def test_leases_and_reactions_are_where_the_tuple_is() -> None:
    net = shards()
    there = key_at("b")
    since = net.now
    net.react("ann@a", "job", there)
    net.run(0.5)
    assert asked(net, ReactWatch, since) == ["b"]
    net.out("cat@c", "job", there)
    net.until(lambda: len(net.fired) == 1)
    found = net.ask("ann@a", Seek("jobs", TAKE, Template.of(("job", there)), lease_us=2_000_000))
    assert found.source == keeper_of("b")
    assert net.seek("cat@c", "take_nowait", "job", there) is None
    net.run(3)
    again = net.ask("cat@c", Seek("jobs", TAKE, Template.of(("job", there)), lease_us=2_000_000))
    assert again.deliveries == 2
    net.ask("cat@c", Settle("jobs", again.lease))
    assert not any(lies(net, host) for host in "abc")
    assert len(net.fired) == 1


def test_a_tuple_that_was_lent_while_its_home_changed_goes_there_when_it_is_back() -> None:
    net = shards("ab", links="")
    number = key_at("b", "ab")
    net.out("ann@a", "job", number)
    net.ask("ann@a", Seek("jobs", TAKE, Template.of(("job", number)), lease_us=30_000_000))
    net.join("ab")
    net.settle()
    assert settled(net)
    net.run(30)
    assert lies(net, "b") == [("job", number)]


def test_dead_letters_stay_where_they_died() -> None:
    net = shards("ab")
    there = key_at("b", "ab")
    net.out("ann@a", "job", there)
    for _ in range(5):
        found = net.ask(
            "ann@a", Seek("jobs", TAKE, Template.of(("job", there)), lease_us=1_000_000)
        )
        net.ask("ann@a", Settle("jobs", found.lease, done=False))
    net.run(1)
    net.do("ann@a", Open("jobs.dead"))
    net.do("ann@a", Share(("jobs.dead",)))
    assert net.seek("ann@a", "take", "job", there, space="jobs.dead") == ("job", there)


def test_once_writes_are_once_wherever_the_agent_and_its_tuples_go() -> None:
    net = shards()
    there = key_at("b")
    net.do("ann@a", Out("jobs", ("job", there), once="k1"))
    net.do("ann@a", Out("jobs", ("job", there), once="k1"))
    net.move("ann@a", "c")
    net.do("ann@a", Out("jobs", ("job", there), once="k1"))
    net.tell("b", Drain())
    net.run(2)
    net.do("ann@a", Out("jobs", ("job", there), once="k1"))
    net.run(1)
    assert sum(len(lies(net, host)) for host in "abc") == 1
    with pytest.raises(NoKey):
        net.do("ann@a", Out("jobs", ("job",), once="k2"))
    net.do("ann@a", Out("jobs", ("job", 5), once="k2"))  # the first was not written
    net.run(1)
    assert sum(len(lies(net, host)) for host in "abc") == 2


def test_under_a_law_the_manager_of_the_home_rules_on_what_is_found() -> None:
    net = Hosts("abc", laws=(ECHO,))
    net.settle()
    for host in "abc":
        agent = AGENTS[host]
        net.tell(host, Arrive(agent))
        net.do(agent, Adopt(ECHO))
        net.do(agent, Open("jobs", ECHO, partition="1"))
        net.do(agent, Share(("jobs",)))
    net.run(1)
    there = key_at("b")
    net.out("ann@a", "job", there)
    net.run(1)
    assert lies(net, "b") == [("job", there)]
    since = len(net.ruled)
    op = net.begin("cat@c", "take", "job", there)
    net.until(lambda: op in net.answers)
    assert net.got(op) == ("job", there)
    assert ("b", "jobs") in [(at, one.home) for at, one in net.ruled[since:]]
    assert not [at for at, _ in net.ruled[since:] if at == "a"]
    assert net.seek("cat@c", "take_nowait", "job", there) is None
    assert net.seek("cat@c", "read_all", "job", there) == []


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Out("jobs", ("job",)), NoKey),
        (OutMany("jobs", (("job", 1), ("job",))), NoKey),
        (Out("jobs", ("job", "x" * KEY_BYTES_MAX)), KeyTooLarge),
        (OutMany("jobs", (("job", 1), ("job", ("x" * KEY_BYTES_MAX,)))), KeyTooLarge),
        (Out("jobs", ("job", 1), to="bob@b"), AtHomeElsewhere),
        (Seek("jobs", TAKE, Template.of(("job",))), NoKey),
        (Seek("jobs", READ_ALL, Template.of(("job",))), NoKey),
        (Open("jobs", partition="0"), OtherPartition),
        (Open("new", partition="first"), BadPartition),
        (Open("new", partition="999"), BadPartition),
        (Open("new", partition="1", engine="store"), OtherEngine),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_done(request_: Any, error: type) -> None:
    net = shards("ab")
    with pytest.raises(error) as raised:
        net.do("ann@a", request_)
    assert "space" in str(raised.value) or "partition" in str(raised.value)
    assert not lies(net, "a")
    assert not lies(net, "b")


def test_another_partition_at_an_engaged_host_is_an_error_and_none_is_that_one() -> None:
    net = Hosts("ab")
    net.settle()
    joins(net, "b")
    net.run(1)
    net.tell("a", Arrive("ann@a"))
    with pytest.raises(OtherPartition) as raised:
        net.do("ann@a", Open("jobs", partition="0.vin"))
    assert "partitioned by field 1 at host b" in str(raised.value)
    net.do("ann@a", Open("jobs"))
    net.do("ann@a", Share(("jobs",)))
    net.run(1)
    assert net.hosts["a"].partitioning.state("jobs") is not None
    with pytest.raises(OtherPartition):
        net.do("ann@a", Open("jobs", partition="0"))


def test_groups_that_disagree_have_two_spaces_and_say_so() -> None:
    net = Hosts("ab", links="")
    joins(net, "a")
    joins(net, "b", partition="0")
    net.out("ann@a", "job", 1)
    net.join("ab")
    net.settle()
    assert net.seek("bob@b", "read_all", "job", ANY, at="a") == []
    assert net.seek("ann@a", "take_nowait", "job", 1) == ("job", 1)
    state = net.hosts["a"].partitioning.state("jobs")
    assert state is not None
    assert state[1] == ("a",)
    assert state[5] == ("b",)
    [note] = [note for at, note in net.notes if at == "a" and note.what == "partitioned-otherwise"]
    assert note.facts["peer"] == "b"


def test_a_property_of_a_field_may_be_the_key() -> None:
    net = Hosts("ab")
    net.settle()
    for host in "ab":
        joins(net, host, partition="0.vin")
    net.run(1)
    for number in range(8):
        net.out("ann@a", freeze({"vin": number, "make": "Fiat"}))
    with pytest.raises(NoKey):
        net.out("ann@a", freeze({"make": "Fiat"}))
    net.run(1)
    assert lies(net, "a")
    assert lies(net, "b")
    since = net.now
    for number in range(8):
        assert net.seek("ann@a", "take", {"vin": number}) is not None
    assert len(asked(net, Watch, since)) < 8


def test_what_is_shipped_is_shipped_once() -> None:
    net = shards("ab", links="")
    for number in range(20):
        net.out("ann@a", "job", number)
    net.join("ab")
    net.settle()
    net.until(lambda: settled(net))
    homes = Homes({"a": 1.0, "b": 1.0})
    moved = [said.body.row.fields for said in net.said if isinstance(said.body, Migrated)]
    away = [("job", number) for number in range(20) if homes.home(number) == "b"]
    assert Counter(moved) == Counter(away)


def test_hosts_of_more_capacity_have_more() -> None:
    assert net_shares({"a": 3.0, "b": 1.0})["a"] > 2 * net_shares({"a": 3.0, "b": 1.0})["b"]
    even = Homes(dict.fromkeys("abcd", 1.0))
    more = Homes({**dict.fromkeys("abcd", 1.0), "e": 1.0})
    for slot in range(500):  # only what the newcomer wins has moved
        assert more.of_slot(slot) in (even.of_slot(slot), "e")


def net_shares(weights: dict[str, float]) -> dict[str, int]:
    return Homes(weights).shares()


def test_a_host_keeps_shares_of_so_many_spaces() -> None:
    net = Hosts("a")
    net.hosts["a"].step.shares = Shares(kept_spaces=2)
    for name in ("one", "two"):
        joins(net, "a", space=name)
    ann = AGENTS["a"]
    net.do(ann, Open("three", partition="1"))
    with pytest.raises(TooManySpaces, match="partitioned spaces at this host"):
        net.do(ann, Share(("three",)))
    net.do(ann, Share(("two",), False))
    net.do(ann, Share(("two",)))  # which it keeps
    net.do(ann, Out("two", ("job", 1)))
    net.do(ann, Open("plain"))
    net.do(ann, Share(("plain",)))


def test_what_an_agent_has_left_with_the_keeper_counts_as_its_own() -> None:
    net = Hosts("a")
    net.hosts["a"].step.shares = Shares(agent_tuples=4)
    ann = joins(net, "a", space="one")
    net.do(ann, OutMany("one", (("job", 1), ("job", 2), ("job", 3))))
    net.do(ann, End())
    joins(net, "a", space="two")
    with pytest.raises(TooManyTuples):
        net.do(ann, OutMany("two", (("job", 1), ("job", 2))))
    net.do(ann, OutMany("two", (("job", 1),)))
