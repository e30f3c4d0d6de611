"""Calls on governed spaces that wait: each answer finds its own, however many there are."""

from functools import partial

import pytest

from nomospace.calls.requests import (
    READ_ALL,
    TAKE,
    TAKE_NOWAIT,
    Adopt,
    Cancel,
    Open,
    Out,
    React,
    Seek,
    Share,
)
from nomospace.calls.ways import Way
from nomospace.host.outstanding import ANSWERED, BEGUN, Outstanding, OutstandingCalls
from nomospace.law import CompiledLaw, load
from nomospace.terms import Term, t
from nomospace.terms.templates import ANY, Template
from nomospace.terms.values import as_compound
from tests.calls import calls
from tests.paper.hosts import Hosts

OPEN = load("law(open).\nR1. sent(_, _, _) :- do(forward).\nR2. arrived(_, _, _) :- do(deliver).\n")
ANEW = load(
    """\
law(anew).
R1. sent(_, in(P), TS) :- do(forward(Self, in(P), TS)).
R2. sent(_, M, _) :- not(M = in(_)), do(forward).
R3. arrived(X, in(P), _) :- tupleSpace@CS, do(deliver(X, in(P), Self)).
R4. arrived(X, found(in(P), T), _) :- do(deliver(X, found(in(P), T), Self)).
R5. arrived(_, M, _) :- not(M = in(_)), not(M = found(in(_), _)), do(deliver).
"""
)
"""A law that makes each term of a take anew."""
FIRST_HELD = load(
    """\
law(firstHeld).
R1. sent(_, in(P), TS) :- not(held(_)@CS), do(+held(in(P))), do(imposeObligation(go(TS), 5)).
R2. sent(_, _, _) :- do(forward).
R3. obligationDue(go(TS)) :- held(M)@CS, do(forward(Self, M, TS)).
R4. arrived(_, _, _) :- do(deliver).
"""
)
"""A law that lets a member's first take wait, and no other."""
JOB = Template.of(("job", ANY))


def community(law: CompiledLaw, *agents: str) -> Hosts:
    net = Hosts("".join(dict.fromkeys(agent[-1] for agent in agents)), laws=[law])
    for agent in agents:
        net.agent(agent)
        net.do(agent, Adopt(law))
        net.do(agent, Open("jobs", law))
        net.do(agent, Share(("jobs",)))
    net.settle()
    return net


@pytest.mark.parametrize("law", [OPEN, ANEW], ids=["passed on", "made anew"])
@pytest.mark.parametrize("alike", [False, True])
def test_an_answer_costs_the_same_however_many_calls_wait(law: CompiledLaw, alike: bool) -> None:
    """An answer was looked for among all calls of the agent on that space, one by one."""
    net = community(law, "ann@a")
    costs = []
    for more in (5, 400):
        for number in range(more):
            net.call("ann@a", Seek("jobs", TAKE, Template.of(("not yet", 0 if alike else number))))
        net.out("ann@a", "job", more)
        net.seek("ann@a", TAKE, "job", ANY)  # what is made once is there
        net.out("ann@a", "job", more)
        costs.append(calls(lambda: net.seek("ann@a", TAKE, "job", ANY)))
    assert costs[1] < costs[0] + 20  # it was several hundred more


def test_calling_off_costs_the_same_however_many_a_law_holds() -> None:
    slow = load("law(slow).\nR1. sent(_, M, _) :- do(+held(M)).\n")
    net = community(slow, "ann@a")
    costs = []
    for more in (5, 400):
        ops = [net.call("ann@a", Seek("jobs", TAKE, JOB)) for _ in range(more)]
        costs.append(calls(partial(net.do, "ann@a", Cancel(ops[-1]))))
    assert costs[1] < costs[0] + 20


def test_what_a_law_passes_on_is_the_call_that_it_was_shown() -> None:
    """Of two takes alike the first is held back: what the second brings is the second's."""
    net = community(FIRST_HELD, "ann@a")
    first = net.call("ann@a", Seek("jobs", TAKE, JOB))
    second = net.call("ann@a", Seek("jobs", TAKE, JOB))
    net.out("ann@a", "job", 1)
    assert (net.got(first), net.got(second)) == (None, ("job", 1))
    net.out("ann@a", "job", 2)
    net.run(6)
    assert net.got(first) == ("job", 2)


@pytest.mark.parametrize("law", [OPEN, ANEW], ids=["passed on", "made anew"])
def test_an_answer_from_another_host_is_its_call_s(law: CompiledLaw) -> None:
    net = community(law, "ann@a", "bob@b")
    waiting = [net.call("bob@b", Seek("jobs", TAKE, Template.of(("job", n)))) for n in range(3)]
    net.run(1)
    for number in (2, 0, 1):
        net.out("ann@a", "job", number)
    net.run(1)
    assert [net.got(op) for op in waiting] == [("job", n) for n in range(3)]
    assert [net.value(op).writer for op in waiting] == ["ann@a"] * 3


MADE = """\
law(made).
R1. sent(_, M, _) :- do(forward).
R2. arrived(X, found(P, T), _) :- not(tupleSpace@CS), do(deliver(X, %s, Self)).
R3. arrived(_, M, _) :- do(deliver).
"""


@pytest.mark.parametrize(
    "answer", ["found(P)", "found(P,T,T)", "found(P,7)", "found(P,f(x))", "none(P,P)"]
)
@pytest.mark.parametrize("how", [TAKE, READ_ALL])
def test_an_answer_of_no_such_form_is_mail(answer: str, how: str) -> None:
    """A law makes an answer that no caller could read: it ended the host's step with a bug."""
    net = community(load(MADE % answer), "ann@a")
    net.out("ann@a", "job", 1)
    op = net.call("ann@a", Seek("jobs", Way(how), JOB))
    assert op not in net.answers
    assert [mail.agent for mail in net.mail] == ["ann@a"]
    assert net.do("ann@a", Out("jobs", ("job", 2))) is None


def test_a_firing_of_no_such_form_is_mail() -> None:
    law = load(MADE.replace("found(P, T)", "reacted(P, T)") % "reacted(P)")
    net = community(law, "ann@a")
    net.do("ann@a", React("jobs", JOB))
    net.out("ann@a", "job", 1)
    assert [as_compound(mail.message).name for mail in net.mail] == ["reacted"]
    assert net.fired == []


def test_a_law_that_turns_a_long_answer_round_leaves_what_is_hidden() -> None:
    law = load(
        """\
law(round).
R1. sent(_, M, _) :- do(forward).
R2. arrived(X, found(rdg(P), Ts), _) :-
        reverse(Ts, Us), do(deliver(X, found(rdg(P), [[job, 0] | Us]), Self)).
R3. arrived(_, M, _) :- do(deliver).
"""
    )
    net = community(law, "ann@a")
    for number in (1, 2, 2, 3):
        net.out("ann@a", "job", number)
    founds = net.ask("ann@a", Seek("jobs", READ_ALL, JOB))
    assert [one.fields[1] for one in founds] == [0, 3, 2, 2, 1]
    assert [one.count for one in founds] == [0, 4, 2, 3, 1]


def test_a_law_s_own_operation_ends_no_call() -> None:
    law = load(
        """\
law(other).
R1. sent(_, inp(P), TS) :- do(forward(Self, rdp(P), TS)).
R2. sent(_, M, _) :- do(forward).
R3. arrived(_, M, _) :- do(deliver).
"""
    )
    net = community(law, "ann@a")
    net.out("ann@a", "job", 1)
    op = net.call("ann@a", Seek("jobs", TAKE_NOWAIT, JOB))
    assert op not in net.answers
    assert [as_compound(mail.message).name for mail in net.mail] == ["found"]
    assert net.held("ann@a", "job", ANY) == [("job", 1)]


def test_by_value_the_oldest_counts_and_of_those_one_that_was_answered() -> None:
    calls = OutstandingCalls()

    def term() -> Term:
        return t["in"](("job", 1))

    old, young, youngest = [Outstanding(n, term(), Seek("jobs", TAKE, JOB)) for n in (1, 2, 3)]
    for one in (old, young, youngest):
        calls.add(one)
    assert calls.sent(young.message) is young
    assert calls.sent(term()) is old
    assert calls.asked(term()) is None
    calls.reached(young, BEGUN)
    calls.reached(old, BEGUN)
    assert (calls.asked(term()), calls.asked(young.message)) == (old, young)
    calls.reached(young, ANSWERED)
    assert (calls.asked(term()), calls.asked(old.message)) == (young, old)
    assert calls.asked(t["in"](("job", 1.0))) is None
    assert calls.sent(term()) is youngest
    for one in (young, old, old, youngest):
        calls.remove(one)
    assert (len(calls), calls.sent(term()), calls.called(1)) == (0, None, None)
