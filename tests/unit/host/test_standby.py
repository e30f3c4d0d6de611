"""A domain with a standby: the primary dies under load, and mail goes on through the other."""

from nomospace.calls.requests import Adopt, Move, Tell
from nomospace.host.calls import Arrive, Primary
from nomospace.law import load
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
