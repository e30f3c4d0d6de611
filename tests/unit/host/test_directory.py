"""The directory of a group changes line by line, and is what the hosts say of themselves."""

from random import Random

import pytest

from nomospace.calls.requests import Cancel, Out, Share
from nomospace.host import group as grouping
from nomospace.host.calls import Arrive, Depart, Tick
from nomospace.host.changes import Durable
from nomospace.host.core import Host
from nomospace.host.directory import Directory, News
from nomospace.host.system import SYSTEM
from nomospace.protocols import streams, transfers
from nomospace.protocols.spaces import DirectoryChanged, DirectoryEntry, Migrated, Sharing, Watch
from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts

ANN, BOB, CAT = "ann@a", "bob@b", "cat@c"


def engaged(names: str = "abc") -> Hosts:
    net = Hosts(names)
    for agent in (ANN, BOB, CAT)[: len(names)]:
        net.agent(agent, "jobs")
    net.settle()
    return net


def lines(host: Host) -> tuple[object, object]:
    """A host's own lines, in any order."""
    agents, spaces = host.spaces.lines()
    return set(agents), {(one.name, one.law, frozenset(one.agents)) for one in spaces}


def known(directory: Directory) -> tuple[object, object]:
    """The same of a peer's."""
    shared: dict[tuple[str, str], set[str]] = {}
    for one in directory.sharings():
        shared.setdefault((one.space, one.law), set()).add(one.agent)
    spaces = {(space, law, frozenset(agents)) for (space, law), agents in shared.items()}
    return set(directory.agents), spaces


def shown(net: Hosts, agent: str) -> set[tuple[object, ...]]:
    """Who is there, by the system space that an agent sees."""
    rows = net.seek(agent, "read_all", "agent", ANY, ANY, "connected", space=SYSTEM)
    rows += net.seek(agent, "read_all", "space", ANY, ANY, ANY, "connected", space=SYSTEM)
    return set(rows)


# -- lines that change ---------------------------------------------------------------------------


def test_only_the_difference_is_told() -> None:
    """Who went and came back in one step has not changed, whatever it was doing meanwhile."""
    news = News()
    news.agent(ANN, was=True)
    news.agent(BOB, was=True)
    news.agent(CAT, was=False)
    news.space("jobs", ANN, was=("", ""))
    news.space("mail", ANN, was=("a law", ""))
    ties = {"jobs": ("", ""), "mail": ("another", "")}
    told = news.tell(7, is_here={ANN}.__contains__, tie_of=lambda space, agent: ties[space])
    mail = (Sharing("mail", "another", ANN),), (Sharing("mail", "a law", ANN),)
    assert told == DirectoryChanged(7, (), (BOB,), *mail)
    news.agent(ANN, was=True)
    assert news.tell(8, is_here={ANN}.__contains__, tie_of=lambda space, agent: None) is None


def test_a_space_counts_as_new_or_gone_only_with_its_first_and_last_agent() -> None:
    directory = Directory(DirectoryEntry((ANN, BOB)))
    jobs = [Sharing("jobs", "", agent) for agent in (ANN, BOB)]
    assert directory.change(DirectoryChanged(1, shared=(jobs[0],))) == ["jobs"]
    assert directory.change(DirectoryChanged(2, shared=(jobs[1],))) == []
    assert directory.change(DirectoryChanged(3, parted=(jobs[0],))) == []
    assert not directory.shares("jobs", "", ANN)
    assert directory.shares("jobs", "", BOB)
    other = Sharing("jobs", "a law", ANN)
    assert directory.change(DirectoryChanged(4, parted=(jobs[1],), shared=(other,))) == ["jobs"]
    assert not directory.shares("jobs", "")
    assert directory.shares("jobs", "a law")
    assert not directory.shares("jobs", "a law", ontology="an ontology")
    spoken = Sharing("jobs", "a law", ANN, "an ontology")
    assert directory.change(DirectoryChanged(5, parted=(other,), shared=(spoken,))) == ["jobs"]
    assert directory.shares("jobs", "a law", ontology="an ontology")
    assert directory.change(DirectoryChanged(6, parted=(spoken,))) == ["jobs"]
    assert known(directory) == ({ANN, BOB}, set())


def test_lines_that_make_no_sense_do_no_harm() -> None:
    """A peer says that somebody left who was never there, and has one name under two laws."""
    directory = Directory(DirectoryEntry((ANN,)))
    never = Sharing("jobs", "", BOB)
    assert directory.change(DirectoryChanged(1, went=(BOB,), parted=(never,))) == []
    two = (Sharing("jobs", "", ANN), Sharing("jobs", "a law", ANN))
    assert directory.change(DirectoryChanged(2, shared=two)) == ["jobs"]
    assert known(directory) == ({ANN}, {("jobs", "a law", frozenset({ANN}))})


# -- what a change concerns ------------------------------------------------------------------


def test_a_take_is_watched_for_where_its_space_is_shared_later() -> None:
    net = engaged("ab")
    net.do(BOB, Share(("jobs",), shared=False))
    net.run(0.5)
    op = net.begin(ANN, "take", "job", ANY)
    net.run(0.5)
    assert net.messages(Watch) == []
    net.out(BOB, "job", 1)
    net.do(BOB, Share(("jobs",)))
    net.run(0.5)
    assert net.messages(Watch) == ["ab"]
    assert net.got(op) == ("job", 1)


def test_a_take_at_an_agent_follows_it_from_peer_to_peer() -> None:
    net = engaged()
    op = net.begin(ANN, "take", "job", ANY, at=CAT)
    net.run(0.5)
    for to in ("b", "a", "c", "b"):
        net.move(CAT, to, seconds=0.3)
        net.run(0.5)
    net.out(CAT, "job", 1)
    net.run(0.5)
    assert net.got(op) == ("job", 1)


@pytest.mark.parametrize("strength", ["weak", "strong"])
def test_a_reaction_at_an_agent_follows_it(strength: str) -> None:
    """A strong one is active only while the agent is here."""
    net = engaged()
    seen: list[object] = []
    if strength == "weak":
        net.react(ANN, "job", ANY, at=CAT, then=lambda found: seen.append(found.fields[1]))
    else:
        listener = lambda firing: seen.append(firing.tuple.fields[1])  # noqa: E731
        net.strong(ANN, "job", ANY, at=CAT, listener=listener)
    for number, to in enumerate("bac"):
        net.move(CAT, to)
        net.run(0.5)
        net.out(CAT, "job", number)
        net.run(0.5)
    assert sorted(seen, key=str) == ([0, 1, 2] if strength == "weak" else [0, 1])


def test_a_tuple_goes_after_its_agent_that_comes_to_a_peer() -> None:
    net = engaged()
    net.do(BOB, Share(("jobs",), shared=False))
    net.run(0.5)
    net.out(ANN, "for bob", to=BOB)
    net.run(0.5)
    assert net.messages(Migrated) == []
    net.do(BOB, Share(("jobs",)))
    net.run(0.5)
    assert net.messages(Migrated) == ["ab"]
    assert net.held(BOB, str) == [("for bob",)]


@pytest.mark.parametrize("first", ["b", "c"])
def test_an_agent_is_where_it_was_said_to_be_last(first: str) -> None:
    """It moves from b to c; the two hosts' words reach a in either order, and c's counts."""
    net = engaged()
    group = net.hosts["a"].group
    words = {
        "b": DirectoryChanged(group.entries["b"].edition + 1, went=(BOB,)),
        "c": DirectoryChanged(group.entries["c"].edition + 1, came=(BOB,)),
    }
    group.hear_announced(first, words.pop(first))
    assert group.where.get(BOB) == (None if first == "b" else "c")
    [(peer, word)] = words.items()
    group.hear_announced(peer, word)
    assert group.where[BOB] == "c"
    net.tell("a", Tick())
    assert ("agent", BOB, "c", "connected") in shown(net, ANN)
    group.hear_announced("c", DirectoryChanged(group.entries["c"].edition + 1, went=(BOB,)))
    assert BOB not in group.where
    net.tell("a", Tick())
    assert ("agent", BOB, "c", "connected") not in shown(net, ANN)


def test_what_an_entry_had_is_not_applied_again_and_what_is_missing_is_noted() -> None:
    net = engaged("ab")
    group = net.hosts["a"].group
    edition = group.entries["b"].edition
    group.hear_announced("b", DirectoryChanged(edition, went=(BOB,)))
    assert group.where == {BOB: "b"}
    net.tell("a", Tick())
    assert [note.what for _, note in net.notes if note.what != "view"] == []
    group.hear_announced("b", DirectoryChanged(edition + 2, went=(BOB,)))
    net.tell("a", Tick())
    assert group.where == {BOB: "b"}
    assert [note.what for _, note in net.notes if note.what != "view"] == ["directory-gap"]


# -- while the group changes ---------------------------------------------------------------------


def third(net: Hosts) -> None:
    """A host c comes near, and the group begins to change."""
    net.disks["c"] = Durable()
    net.hosts["c"] = Host("c", life=1, now=net.now)
    net.join("bc ac")


def test_a_change_just_before_the_group_changes_counts_once() -> None:
    """The word of it comes to a host that stands still, and then the entry that has it too."""
    net = engaged("ab")
    eve = "eve@b"
    seen = net.react(ANN, "agent", eve, ANY, ANY, space=SYSTEM)
    third(net)
    net.until(lambda: net.hosts["a"].frozen)
    assert not net.hosts["b"].frozen
    net.tell("b", Arrive(eve))
    net.until(lambda: "b" in net.hosts["a"].group._held)
    assert net.firings(seen) == []
    net.settle()
    assert net.firings(seen) == [("agent", eve, "b", "connected")]
    assert net.hosts["a"].group.where == {BOB: "b", eve: "b"}
    assert net.hosts["a"].group.entries["b"].edition == net.hosts["b"].group._edition
    assert [note.what for _, note in net.notes if note.what != "view"] == []


@pytest.mark.parametrize("seed", range(12))
def test_every_directory_is_what_its_host_says_of_itself(seed: int) -> None:
    """Agents come, go, share and part while links break and heal; then all is compared."""
    rng = Random(seed)
    net = Hosts("abc")
    agents = [net.agent(f"x{n}@{rng.choice('abc')}", "jobs") for n in range(5)]
    on_their_way: list[str] = []
    pairs = ["ab", "ac", "bc"]

    def act() -> None:
        """One deed of one agent, or something happens to a link."""
        what = rng.choice(["move", "move", "come", "share", "share", "cut", "join", "quick"])
        there = [one for host in net.hosts.values() for one in host.agents]
        here = [one for one in agents if one in there and one not in on_their_way]
        if what in ("cut", "join"):
            pair = rng.choice(pairs)
            linked = frozenset(pair) in net.links
            if linked == (what == "cut"):
                (net.cut if linked else net.join)(pair)
        elif what == "come" and on_their_way:
            agent = on_their_way.pop()
            net.until(lambda: agent in net.bundles)
            net.tell(rng.choice("abc"), Arrive(agent, net.bundles.pop(agent)))
        elif what == "move" and here:
            on_their_way.append(agent := rng.choice(here))
            net.tell(net.home(agent), Depart(agent))
        elif what == "share" and here:
            net.call(rng.choice(here), Share(("jobs",), shared=rng.random() < 0.5))
        elif what == "quick":
            eve = f"eve{rng.random()}@{(name := rng.choice('abc'))}"
            net.tell(name, Arrive(eve))
            net.tell(name, Depart(eve))

    for _ in range(60):
        act()
        net.run(rng.choice([0.0, 0.01, 0.1, 1.0]))
    net.join(" ".join(pairs))
    net.run(20)
    net.settle()
    assert [note for _, note in net.notes if note.what in ("directory-gap", "bad-message")] == []
    for name, host in net.hosts.items():
        for peer, directory in host.group.entries.items():
            assert known(directory) == lines(net.hosts[peer])
            assert directory.edition == net.hosts[peer].group._edition
        there = {one: peer for peer in net.hosts for one in net.hosts[peer].agents if peer != name}
        assert host.group.where == there
        if host.agents:
            before = shown(net, host.agents[0])
            host.system.respread()
            net.tell(name, Tick())
            assert shown(net, host.agents[0]) == before
            assert {row[1:3] for row in before if row[0] == "agent"} == {
                (agent, peer) for peer in net.hosts for agent in net.hosts[peer].agents
            }


def test_more_than_a_host_holds_is_not_acknowledged_and_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grouping, "HELD_MAX", 3)
    net = engaged("ab")
    third(net)
    net.until(lambda: net.hosts["a"].frozen)
    for number in range(10):
        net.hosts["b"].group.tell("a", {"word": number})
    net.tell("b", Tick())
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, len(net.hosts["a"].group._held.get("b", ())))

    net.after_each.append(look)
    net.settle()
    net.run(2)
    assert most == 3
    bad = [note.facts["kind"] for name, note in net.notes if note.what == "bad-message"]
    assert bad == ["dict"] * 10


# -- when there is no room -----------------------------------------------------------------------


def test_tuples_that_found_no_room_go_when_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "PENDING_MAX", 4)
    net = engaged("ab")
    net.do(BOB, Share(("jobs",), shared=False))
    net.run(0.5)
    for number in range(11):
        net.out(ANN, "job", number, to=BOB)
    net.do(BOB, Share(("jobs",)))
    net.until(lambda: bool(net.messages(Migrated)))
    assert net.messages(Migrated) == ["ab"] * 4
    net.run(2)
    assert net.held(BOB, "job", ANY) == [("job", number) for number in range(11)]


def test_a_watch_that_found_no_room_is_set_when_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "QUEUE_MAX", 4)
    net = engaged("ab")
    net.out(BOB, "job", 99)  # so that his host may hold what she waits for
    ops = [net.begin(ANN, "take", "job", number) for number in range(9)]
    assert net.messages(Watch) == ["ab"] * 4
    net.do(ANN, Cancel(ops[0]))
    net.run(2)
    assert len(net.messages(Watch)) >= 8
    for number in range(9):
        net.do(BOB, Out("jobs", ("job", number)))
    net.run(2)
    assert [net.got(op) for op in ops[1:]] == [("job", number) for number in range(1, 9)]
