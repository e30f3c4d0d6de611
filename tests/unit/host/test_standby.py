"""A domain with a standby: one of the two dies under load, and mail goes on through the other."""

from typing import Any

import pytest

from nomospace.calls.problems import NotItsServer, NotOnRecord
from nomospace.calls.requests import Adopt, End, Move, SendPlain, Tell
from nomospace.host.calls import Arrive, Primary, Promote, Tick
from nomospace.host.core import Host
from nomospace.host.posting import OtherStore
from nomospace.law import load
from nomospace.protocols.routing.elected import ElectedServer
from nomospace.protocols.routing.frames import NotPrimary
from nomospace.terms import t
from nomospace.terms.values import parts_of
from tests.paper.hosts import Hosts

LAW = load("law(open). sent(_,_,_) :- do(forward). arrived(_,_,_) :- do(deliver).", "open.law")
SERVERS = {"lab": ("p", "q")}


def test_the_standby_takes_over_under_load_and_the_old_primary_becomes_the_standby() -> None:
    net = Hosts("abpq", laws=[LAW], domain="lab", servers=SERVERS)
    for agent, host in (("ann@lab", "a"), ("bob@lab", "b")):
        net.tell(host, Arrive(agent))
        net.settle()
        net.do(agent, Adopt(LAW))
    for number in range(5):
        net.call("ann@lab", Tell(LAW.hash, t.hello(number), "bob@lab"))
    net.run(0.02)
    net.stop("p")
    for host in "abq":
        net.tell(host, Primary("lab", "q", 1))
    for number in range(5, 10):
        net.call("ann@lab", Tell(LAW.hash, t.hello(number), "bob@lab"))
    net.settle()
    net.call("bob@lab", Move("a"))
    net.settle()
    assert "bob@lab" in net.hosts["a"].agents
    net.start("p")
    net.settle()
    got = [parts_of(letter.message)[0] for letter in net.mail if letter.agent == "bob@lab"]
    assert got == list(range(10))


def promote(net: Hosts, host: str, domain: str = "lab") -> object:
    """What an operator is answered who has a host take over."""
    net.tell(host, Promote(domain, op=900))
    answer = net.answers.pop(900)
    return answer.error or answer.value


def come(net: Hosts, agent: str, host: str) -> None:
    net.tell(host, Arrive(agent))
    net.settle()
    net.do(agent, Adopt(LAW))


def heard(net: Hosts, agent: str) -> list[object]:
    return [parts_of(letter.message)[0] for letter in net.mail if letter.agent == agent]


def test_a_standby_that_is_promoted_serves_the_domain_while_its_primary_is_gone_for_good() -> None:
    net = Hosts("abpq", laws=[LAW], domain="lab", servers=SERVERS)
    come(net, "ann@lab", "a")
    net.stop("p")
    net.tell("b", Arrive("bob@lab"))  # the dead primary is asked for its record
    net.do("bob@lab", Adopt(LAW))
    early = net.call("bob@lab", Tell(LAW.hash, t.hello(0), "ann@lab"))
    net.call("ann@lab", Tell(LAW.hash, t.hello(1), "bob@lab"))
    net.run(5)
    assert heard(net, "bob@lab") == []
    assert early not in net.answers
    assert promote(net, "q") == "p"  # nobody else is told: the standby tells them
    net.settle()
    net.call("ann@lab", Tell(LAW.hash, t.hello(2), "bob@lab"))
    net.settle()
    assert not net.answers[early].value.refused
    assert heard(net, "ann@lab") == [0]
    net.call("bob@lab", Move("a"))
    net.settle()
    assert "bob@lab" in net.hosts["a"].agents
    come(net, "cleo@lab", "b")
    net.call("cleo@lab", Tell(LAW.hash, t.hello(3), "bob@lab"))
    net.settle()
    assert heard(net, "bob@lab") == [2, 3]  # the first came before it was on record


def test_a_host_that_comes_later_hears_who_has_taken_over() -> None:
    net = Hosts("abpq", "ap aq pq", laws=[LAW], domain="lab", servers=SERVERS)
    net.settle()
    net.stop("p")
    promote(net, "q")
    net.settle()
    net.join("ab bq")
    net.settle()
    come(net, "bob@lab", "b")
    come(net, "ann@lab", "a")
    net.call("ann@lab", Tell(LAW.hash, t.hello(1), "bob@lab"))
    net.settle()
    assert heard(net, "bob@lab") == [1]


def test_a_primary_that_is_promoted_goes_on_alone_and_its_standby_follows_when_it_is_back() -> None:
    net = Hosts("abpq", laws=[LAW], domain="lab", servers=SERVERS)
    come(net, "ann@lab", "a")
    net.stop("q")
    net.tell("b", Arrive("bob@lab"))
    net.run(5)  # its record waits for the standby
    assert promote(net, "p") == "q"
    net.settle()
    net.do("bob@lab", Adopt(LAW))
    net.start("q")
    net.settle()
    net.stop("p")
    promote(net, "q")
    net.settle()
    net.call("ann@lab", Tell(LAW.hash, t.hello(1), "bob@lab"))
    net.settle()
    assert heard(net, "bob@lab") == [1]
    net.start("p")
    net.settle()
    come(net, "cleo@lab", "b")
    net.call("cleo@lab", Tell(LAW.hash, t.hello(2), "bob@lab"))
    net.settle()
    assert heard(net, "bob@lab") == [1, 2]


@pytest.mark.parametrize(
    ("host", "domain", "why"),
    [
        ("a", "lab", "it is served by p and q"),
        ("a", "a", "it is served by a already"),
        ("q", "moon", "it is served by moon"),
    ],
)
def test_who_cannot_be_promoted_is_told_why(host: str, domain: str, why: str) -> None:
    net = Hosts("apq", laws=[LAW], domain="lab", servers=SERVERS)
    error = promote(net, host, domain)
    assert isinstance(error, NotItsServer)
    assert str(error) == f"{host} cannot serve domain {domain!r} alone: {why}"


def test_two_that_were_cut_off_take_over_from_each_other() -> None:
    net = Hosts("abpq", laws=[LAW], domain="lab", servers=SERVERS)
    come(net, "ann@lab", "a")
    net.cut("pq ap bp")
    promote(net, "q")
    come(net, "bob@lab", "b")
    net.join("pq ap bp")
    net.settle()
    assert promote(net, "p") == "q"  # it has followed, and knows the agent that came meanwhile
    net.settle()
    net.stop("q")
    promote(net, "p")
    net.call("ann@lab", Tell(LAW.hash, t.hello(1), "bob@lab"))
    come(net, "cleo@lab", "b")
    assert heard(net, "bob@lab") == [1]


def test_what_a_new_agent_sends_waits_for_its_record_and_not_for_ever() -> None:
    net = Hosts("apq", laws=[LAW], domain="lab", servers=SERVERS)
    net.settle()
    net.stop("p")
    net.tell("a", Arrive("ann@lab"))
    net.do("ann@lab", Adopt(LAW))
    sent = [
        net.call("ann@lab", Tell(LAW.hash, t.hello(1), "ann@lab")),
        net.call("ann@lab", SendPlain("hello", "ann@lab")),
    ]
    net.call("ann@lab", Move("q"))  # that is refused, and what waits for the record waits on
    net.run(9)
    assert not any(op in net.answers for op in sent)
    net.run(2)
    for op in sent:
        error = net.answers[op].error
        assert isinstance(error, NotOnRecord)
        assert "p, which serves domain 'lab', has not answered for 10 s" in str(error)


def test_what_waited_for_the_old_primary_is_not_told_to_it_as_well() -> None:
    """An agent that has ended meanwhile would be born again when the old primary is back."""
    net = Hosts("apq", laws=[LAW], domain="lab", servers=SERVERS)
    net.settle()
    net.stop("p")
    net.tell("a", Arrive("ann@lab"))  # its birth waits for the primary
    net.hosts["a"].posting.parcel("p", NotPrimary("moon", "p", 1))  # and something else does
    net.tell("a", Tick())
    net.run(1)
    net.stop("a")
    net.start("a")
    net.settle()
    promote(net, "q")
    net.settle()
    net.stop("a")  # what was moved on is on disk
    net.start("a")
    net.settle()
    assert net.hosts["a"].posting.courier.send("p", "next", now=net.now)[0] == 3
    net.stop("a")
    net.start("a")
    net.settle()
    net.do("ann@lab", End())
    net.settle()
    net.start("p")
    net.settle()
    come(net, "bob@lab", "a")
    net.call("bob@lab", SendPlain("hello", "ann@lab"))
    net.settle()
    told = [letter.message for letter in net.mail if letter.agent == "bob@lab"]
    assert [parts_of(one)[2] for one in told] == ["ended"]


THREE = {"lab": ("p", "q", "r")}


def test_three_choose_another_server_and_the_old_one_follows() -> None:
    net = Hosts("abpqr", laws=[LAW], domain="lab", servers=THREE)
    come(net, "ann@lab", "a")
    net.stop("p")
    net.tell("b", Arrive("bob@lab"))  # the dead primary is asked for its record
    net.do("bob@lab", Adopt(LAW))
    early = net.call("bob@lab", Tell(LAW.hash, t.hello(0), "ann@lab"))
    net.run(12)
    assert not net.answers[early].value.refused
    assert heard(net, "ann@lab") == [0]
    net.call("bob@lab", Move("a"))
    net.run(5)
    assert "bob@lab" in net.hosts["a"].agents
    net.start("p")
    net.run(12)
    servers = [net.hosts[host].posting.server("lab") for host in "pqr"]
    assert [one.leader for one in servers if isinstance(one, ElectedServer)] == ["q", "q", "q"]
    assert net.hosts["p"].posting.knows("bob@lab")


def test_the_minority_of_three_serves_nothing_new_and_what_it_had_taken_in_goes_on() -> None:
    net = Hosts("abpqr", laws=[LAW], domain="lab", servers=THREE)
    come(net, "ann@lab", "a")
    net.cut("pq pr ap bq br ab aq ar")  # b and p on one side
    net.join("bp")
    net.tell("b", Arrive("bob@lab"))
    net.do("bob@lab", Adopt(LAW))
    lone = net.call("bob@lab", SendPlain("hello", "bob@lab"))
    net.join("aq ar")
    net.tell("a", Arrive("cleo@lab"))
    net.do("cleo@lab", Adopt(LAW))
    served = net.call("cleo@lab", SendPlain("hello", "ann@lab"))
    net.run(30)
    assert isinstance(net.answers[lone].error, NotOnRecord)
    assert net.answers[served].error is None
    net.join("pq pr ap bq br ab")
    net.run(30)
    assert net.hosts["p"].posting.knows("bob@lab")
    assert net.hosts["q"].posting.knows("bob@lab")
    net.call("cleo@lab", SendPlain("late", "bob@lab"))
    net.run(5)
    assert [letter.message for letter in net.mail if letter.agent == "bob@lab"] == ["late"]


def test_an_operator_cannot_promote_one_of_three() -> None:
    net = Hosts("apqr", laws=[LAW], domain="lab", servers=THREE)
    error = promote(net, "q")
    assert isinstance(error, NotItsServer)
    assert str(error).endswith("it is served by p and q and r, which choose among themselves")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("pqr", "pq", "'lab' had 3 servers or more"),
        ("pqr", "p", "'lab' had 3 servers or more"),
        ("pq", "p", "'lab' had 2 servers or more"),
        ("p", "qp", "it has served 'lab' alone, so is named first there"),
    ],
)
def test_servers_that_would_lose_what_they_had_do_not_start(
    before: str, after: str, words: str
) -> None:
    net = Hosts(f"a{before}", laws=[LAW], domain="lab", servers={"lab": tuple(before)})
    come(net, "ann@lab", "a")
    given: dict[str, Any] = {"life": 2, "now": net.now, "durable": net.disks["p"], "domain": "lab"}
    Host("p", servers={"lab": tuple(before)}, **given)
    with pytest.raises(OtherStore) as caught:
        Host("p", servers={"lab": tuple(after)}, **given)
    assert words in str(caught.value)
    assert "start it with the name, the domain and the [servers] that it had" in str(caught.value)
