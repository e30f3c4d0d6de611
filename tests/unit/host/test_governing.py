"""Operations on governed spaces: whose answer is whose, what moves along, what nobody else ends."""

from typing import Any

import pytest

from nomospace import laws
from nomospace.calls.problems import (
    AgentLeft,
    Cancelled,
    LeaseLapsed,
    OtherLaw,
    PrivateSpace,
    Refused,
)
from nomospace.calls.requests import (
    ONCE,
    READ_ALL,
    STRONG,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    Adopt,
    Cancel,
    Open,
    Out,
    OutMany,
    React,
    Reactions,
    Seek,
    Settle,
    Share,
    Tell,
)
from nomospace.calls.ways import Strength
from nomospace.host.calls import Arrive, Certified, Revoked, Speak
from nomospace.law import CompiledLaw, load
from nomospace.terms import show, t
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

LAW = load("law(open).\nR1. sent(_, _, _) :- do(forward).\nR2. arrived(_, _, _) :- do(deliver).\n")
SLOW = load(
    """\
law(slow).
R1. sent(_, M, TS) :- not(tupleSpace@CS), do(+held(M, TS)), do(imposeObligation(go, 5)).
R2. obligationDue(go) :- held(M, TS)@CS, do(-held(M, TS)), do(forward(Self, M, TS)).
R3. sent(_, _, _) :- tupleSpace@CS, do(forward).
R4. arrived(_, _, _) :- do(deliver).
"""
)
JOB = Template.of(("job", ANY))
MINUTE = 60_000_000


def member(net: Hosts, agent: str, law: CompiledLaw = LAW, *, shared: bool = True) -> str:
    net.agent(agent)
    net.do(agent, Adopt(law))
    net.do(agent, Open("jobs", law))
    if shared:
        net.do(agent, Share(("jobs",)))
    return agent


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab", laws=[LAW, SLOW])
    member(net, "ann@a")
    member(net, "bob@b")
    net.settle()
    return net


def test_of_two_calls_alike_each_gets_the_tuple_that_it_was_served(net: Hosts) -> None:
    """While the first claims a tuple of another host, the second is served here."""
    first = net.call("bob@b", Seek("jobs", TAKE, JOB))
    net.run(1)
    net.out("ann@a", "job", 1)
    net.run(0.03)  # it is offered, and the claim is under way
    second = net.call("bob@b", Seek("jobs", TAKE, JOB))
    net.out("bob@b", "job", 2)
    assert first not in net.answers
    assert net.value(second).source == "bob@b"
    net.run(1)
    assert net.value(first).source == "ann@a"


def test_a_call_that_ended_is_not_answered_again(net: Hosts) -> None:
    """Parting a space ends what waits on it, for the controller too."""
    parted = net.call("bob@b", Seek("jobs", TAKE, JOB))
    net.do("bob@b", Share(("jobs",), shared=False))
    assert isinstance(net.answers[parted].error, PrivateSpace)
    net.do("bob@b", Share(("jobs",)))
    again = net.call("bob@b", Seek("jobs", TAKE, JOB))
    net.out("ann@a", "job", 1)
    net.run(1)
    assert net.value(again).fields == ("job", 1)


def test_nothing_to_write_is_written_at_once(net: Hosts) -> None:
    assert net.do("ann@a", OutMany("jobs", ())) is None


def test_two_reactions_alike_fire_both(net: Hosts) -> None:
    one, two = (net.do("bob@b", React("jobs", JOB)) for _ in range(2))
    net.run(1)
    for number in (1, 2):
        net.out("ann@a", "job", number)
    net.out("bob@b", "job", 3)
    net.run(1)
    for reaction in (one, two):
        assert sorted(net.firings(reaction)) == [("job", 1), ("job", 2), ("job", 3)]


def test_firings_of_one_step_keep_what_is_hidden(net: Hosts) -> None:
    for number in (1, 2, 3):
        net.out("bob@b", "job", number)
    net.do("bob@b", React("jobs", JOB))
    assert [one.found.count for one in net.fired] == [1, 2, 3]
    assert {one.found.writer for one in net.fired} == {"bob@b"}


@pytest.mark.parametrize("strength", ["weak", STRONG])
def test_a_private_space_has_reactions_too(strength: str) -> None:
    net = Hosts("a", laws=[LAW])
    member(net, "ann@a", shared=False)
    met: list[Any] = []
    request = React("jobs", JOB, strength=Strength(strength), at="a", listener=met.append)
    net.do("ann@a", request)
    net.out("ann@a", "job", 1)
    assert len(met) + len(net.fired) == 1


def test_what_a_law_holds_is_called_off_when_its_agent_leaves() -> None:
    net = Hosts("a", laws=[SLOW])
    member(net, "ann@a", SLOW)
    op = net.call("ann@a", Out("jobs", ("job", 1)))
    net.move("ann@a", "a")
    assert isinstance(net.answers[op].error, AgentLeft)


def test_what_a_law_holds_can_be_called_off() -> None:
    net = Hosts("a", laws=[SLOW])
    member(net, "ann@a", SLOW)
    op = net.call("ann@a", Seek("jobs", TAKE, JOB))
    assert net.do("ann@a", Cancel(op)) is True
    assert isinstance(net.answers[op].error, Cancelled)


def test_an_agent_goes_on_where_its_space_has_had_no_manager() -> None:
    """The space comes along with the agent, and so it has a manager there from then on."""
    net = Hosts("ab", laws=[LAW])
    member(net, "ann@a")
    net.settle()
    net.out("ann@a", "job", 1)
    net.move("ann@a", "b")
    assert net.seek("ann@a", TAKE_NOWAIT, "job", ANY) == ("job", 1)


def test_what_was_written_under_a_key_is_not_ruled_on_again() -> None:
    """A law that lets two through would refuse the third, though it is the first one again."""
    two = load(
        """\
law(two).
initialCS([left(2)]).
R1. sent(_, out(_, _), _) :- left(N)@CS, N > 0, do(incr(left(N), -1)), do(forward).
R2. sent(_, M, _) :- not(M = out(_, _)), do(forward).
R3. arrived(_, _, _) :- do(deliver).
"""
    )
    net = Hosts("a", laws=[two])
    member(net, "ann@a", two)
    for _ in range(3):
        net.do("ann@a", Out("jobs", ("job", 1), once="a"))
        net.do("ann@a", OutMany("jobs", (("job", 2),), once="b"))
    net.run(1)
    assert net.held("ann@a", "job", ANY) == [("job", 1), ("job", 2)]
    with pytest.raises(Refused):
        net.do("ann@a", Out("jobs", ("job", 3), once="c"))


def test_a_reaction_that_moves_is_ruled_on_where_it_comes(net: Hosts) -> None:
    net.do("ann@a", React("jobs", JOB))
    net.run(1)
    net.move("ann@a", "b")
    came = [show(ruling.event.term) for name, ruling in net.ruled if name == "b"]
    reacts = [term for term in came if term.startswith("arrived('ann@a',react(")]
    assert len(reacts) == 2  # from afar, and where it has come to


def test_a_law_may_turn_a_reaction_away_where_it_comes() -> None:
    """Its manager there is another one, and says no."""
    once = load(
        """\
law(first).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, react(_, _), _) :- tupleSpace@CS, not(one@CS), do(+one), do(deliver).
R3. arrived(_, M, _) :- not(M = react(_, _)), do(deliver).
"""
    )
    net = Hosts("ab", links="", laws=[once])
    member(net, "ann@a", once)
    member(net, "bob@b", once)
    net.do("bob@b", React("jobs", JOB))
    net.do("ann@a", React("jobs", JOB, mode=ONCE))
    net.move("ann@a", "b")
    assert net.do("ann@a", Reactions()) == ()
    net.out("bob@b", "job", 1)
    assert [one.agent for one in net.fired] == ["bob@b"]


def test_a_traveller_keeps_its_space_private_where_the_name_has_another_law(net: Hosts) -> None:
    net.agent("zoe@b", "post")
    net.do("ann@a", Open("post", LAW))
    net.do("ann@a", Share(("post",)))
    net.do("ann@a", Out("post", ("job", 1)))
    net.move("ann@a", "b")
    assert "not-shared" in [note.what for _, note in net.notes]
    assert net.seek("zoe@b", READ_ALL, ANY, ANY, space="post") == []
    assert net.seek("ann@a", READ_ALL, ANY, ANY, space="post") == [("job", 1)]
    with pytest.raises(OtherLaw):
        net.do("ann@a", Share(("post",)))


def test_dead_letters_stay_under_their_law(net: Hosts) -> None:
    with pytest.raises(OtherLaw):
        net.do("ann@a", Open("jobs.dead"))
    net.do("ann@a", Open("post.dead"))
    with pytest.raises(OtherLaw):
        net.do("ann@a", Open("post", LAW))


def test_dead_letters_of_a_governed_space_can_be_read(net: Hosts) -> None:
    net.out("ann@a", "job", 1)
    for _ in range(5):
        net.ask("bob@b", Seek("jobs", TAKE, JOB, lease_us=1_000_000))
        net.run(2)
    assert net.seek("ann@a", TAKE_ALL, ANY, ANY, space="jobs.dead") == [("job", 1)]


def test_a_lease_is_ended_by_its_taker_only() -> None:
    """Whoever guesses its name, here or elsewhere, in this space or by way of another."""
    net = Hosts("ab")
    for agent in ("ann@a", "eve@a", "bob@b", "pat@b"):
        net.agent(agent, "jobs", "other")
    net.settle()
    net.out("ann@a", "job", 1)
    lease = net.ask("bob@b", Seek("jobs", TAKE, JOB, lease_us=MINUTE)).lease
    for agent, space in (("eve@a", "jobs"), ("pat@b", "jobs"), ("bob@b", "other")):
        for done in (True, False):
            with pytest.raises(LeaseLapsed):
                net.ask(agent, Settle(space, lease, done))
    net.ask("bob@b", Settle("jobs", lease, done=True))
    assert net.held("ann@a", "job", ANY) == []


def test_a_lease_goes_on_when_its_taker_moves(net: Hosts) -> None:
    """The host that lent the tuple shows it to the law, at the taker's new host."""
    member(net, "pat@b")
    net.run(1)
    net.do("pat@b", Out("jobs", ("note", 1)))
    seek = Seek("jobs", TAKE_NOWAIT, Template.of(("note", ANY)), lease_us=MINUTE)
    lease = net.ask("bob@b", seek).lease
    net.move("bob@b", "a")
    net.ask("bob@b", Settle("jobs", lease, done=False))
    assert net.held("pat@b", "note", ANY) == [("note", 1)]


def test_who_has_the_name_of_a_space_is_no_agent() -> None:
    """Its manager's mail would be that agent's."""
    net = Hosts("a")
    net.tell("a", Arrive("jobs"))
    assert [note.what for _, note in net.notes] == ["not-an-agent"]
    assert net.hosts["a"].agents == ()


def test_operators_speak_for_what_is_here(net: Hosts) -> None:
    net.tell("a", Speak("jobs", LAW.hash, "hello", "bob@b"))
    net.run(1)
    assert [(mail.agent, mail.sender, mail.message) for mail in net.mail] == [
        ("bob@b", "jobs", "hello")
    ]
    net.tell("a", Speak("jobs", SLOW.hash, "hello", "bob@b"))
    net.tell("a", Certified("bob@b", LAW.hash, "admin", ()))
    net.tell("a", Revoked("ann@a", SLOW.hash, "admin", ()))
    assert [note.what for _, note in net.notes[-3:]] == [
        "no-such-space",
        "no-such-member",
        "no-such-member",
    ]


def test_certificates_are_events_of_the_member() -> None:
    law = load(laws.text("sb"), "sb.law")
    net = Hosts("a", laws=[law])
    member(net, "ann@a", law)
    role = t.role("serviceProvider")
    net.tell("a", Certified("ann@a", law.hash, "admin", (role,)))
    net.tell("a", Revoked("ann@a", law.hash, "admin", (role,)))
    assert [ruling.rule for _, ruling in net.ruled[-2:]] == ["R9", "R9a"]


def test_reasons_are_told_of_some_refusals_a_second(net: Hosts) -> None:
    """An agent that floods its controller with what is refused costs it no explanations."""
    strict = load("law(strict).\nR1. sent(_, yes, _) :- do(forward).\n")
    net.do("ann@a", Adopt(strict))
    told = [net.do("ann@a", Tell(strict.hash, "no", "ann@a")).explain() for _ in range(30)]
    whole = [story for story in told if "R1: its head does not match" in story]
    assert len(whole) == 20
    assert all("Refused" in story for story in told)
    net.run(1.1)
    assert "R1" in net.do("ann@a", Tell(strict.hash, "no", "ann@a")).explain()


def test_many_who_ask_for_dear_reasons_at_once_hear_one_each(net: Hosts) -> None:
    """In a twentieth of a second a host explains little: others would wait for it."""
    dear = load(
        "law(dear).\nR1. sent(_, no, _) :- count(150), fail, do(forward).\n"
        "count(0).\ncount(N) :- N > 0, K is N - 1, count(K).\n"
    )
    names = [f"ann{number}@a" for number in range(6)]
    for name in names:
        net.agent(name)
        net.do(name, Adopt(dear))

    def whole(name: str) -> bool:
        return "R1: did not fire" in net.do(name, Tell(dear.hash, "no", name)).explain()

    assert all(whole(name) for name in names)  # the first of each is told, however many
    assert not any(whole(name) for name in names)
    net.run(0.06)
    assert [whole(name) for name in names] == [True] * 4 + [False] * 2
