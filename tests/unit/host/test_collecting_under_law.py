"""Sets of tuples of several hosts under a law: whoever holds a tuple of one rules on it."""

from __future__ import annotations

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.requests import (
    React,
    Seek,
    Sets,
)
from nomospace.calls.ways import Way
from nomospace.host import collecting
from nomospace.host.collecting import TooManySeen
from nomospace.law import load
from nomospace.protocols.spaces import Fetch, Mirror, Mirrored
from nomospace.terms import obj, show
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts
from tests.unit.host.speakers import (
    ANN,
    BOB,
    CAT,
    ECHO,
    WANTED,
    begin,
    financed,
    insured,
    left,
    speakers,
)

GUARDED = load(
    """law(guarded).
    kept. sent(jobs, found(Op, [C, I, object('Finance', 'f-hot', P)]), X) :- true.
    sent(X, M, Y) :- do(forward).
    arrived(X, M, Y) :- do(deliver)."""
)
"""Managers keep a set with hot finance."""


def answers_ruled_on(net: Hosts) -> list[tuple[str, str]]:
    """Where answers were ruled on: the host, and whose controller or manager it was."""
    return [(at, one.home) for at, one in net.ruled if "found(" in show(one.event.args)]


@pytest.mark.parametrize("how", ["take", "read"])
def test_under_a_law_every_manager_with_a_tuple_of_the_set_rules_on_it(how: str) -> None:
    net = speakers(ECHO)
    op = begin(net, ANN, how)
    net.out(BOB, *insured("x"))
    net.run(2)
    assert op not in net.answers
    net.out(CAT, *financed("x"))
    net.until(lambda: op in net.answers)
    found: Found = net.value(op)
    assert found.fields == (obj("SportsCar", "x"), obj("Insurance", "i-x"), obj("Finance", "f-x"))
    assert [one.source for one in found.members] == [BOB, CAT]
    assert answers_ruled_on(net) == [("b", "jobs"), ("c", "jobs"), ("a", ANN)]
    net.run(2)
    assert len(left(net, BOB, CAT)) == (0 if how == "take" else 2)


@pytest.mark.parametrize("how", ["take", "read"])
def test_a_set_that_a_law_keeps_stays_and_is_not_asked_for_again(how: str) -> None:
    net = speakers(GUARDED)
    net.out(ANN, *insured("hot"))
    net.out(CAT, *financed("hot"))
    op = begin(net, BOB, how)
    net.run(5)
    assert op not in net.answers
    assert net.messages(Fetch) == ["ba"], "once"
    assert left(net, ANN, CAT) == [insured("hot"), financed("hot")]
    net.out(ANN, *insured("x"))
    net.out(CAT, *financed("x"))
    net.until(lambda: op in net.answers)
    assert net.value(op).fields[2] == obj("Finance", "f-x")
    net.out(ANN, *insured("x"))
    net.out(CAT, *financed("x"))
    op = begin(net, ANN, how)
    net.until(lambda: op in net.answers)
    assert net.value(op).fields[2] == obj("Finance", "f-x"), "the next one that it may have"


REACTED = load(
    """law(reacted).
    kept. sent(jobs, reacted(Pattern, [C, I, object('Finance', 'f-hot', P)]), X) :- true.
    sent(X, M, Y) :- do(forward).
    arrived(X, M, Y) :- do(deliver)."""
)


def test_a_reaction_under_a_law_fires_for_sets_that_every_manager_lets_go() -> None:
    net = speakers(REACTED)
    reaction: str = net.do(ANN, React("jobs", Template.of(WANTED), sets=Sets()))
    for car in ("hot", "x"):
        net.out(BOB, *insured(car))
        net.out(CAT, *financed(car))
    net.until(lambda: bool(net.firings(reaction)))
    net.run(5)
    fields = (obj("SportsCar", "x"), obj("Insurance", "i-x"), obj("Finance", "f-x"))
    assert net.firings(reaction) == [fields], "once, and never for what one of them keeps"
    assert sorted(net.messages(Fetch)) == ["ab", "ab", "ac"]
    ruled = [(at, one.home) for at, one in net.ruled if "f-x" in show(one.event.args)]
    assert ruled[-3:] == [("b", "jobs"), ("c", "jobs"), ("a", ANN)]
    net.out(ANN, *insured("y"))  # the own host holds one of the next set
    net.out(CAT, *financed("y"))
    net.until(lambda: len(net.firings(reaction)) == 2)
    assert net.messages(Fetch)[3:] == ["ac"]
    assert len(left(net, ANN, BOB, CAT)) == 6


def test_a_reaction_whose_managers_are_lost_fires_when_they_are_back() -> None:
    net = speakers(ECHO)
    reaction: str = net.do(ANN, React("jobs", Template.of(WANTED), sets=Sets()))
    net.out(BOB, *insured("x"))
    net.out(CAT, *financed("x"))
    net.until(lambda: bool(net.messages(Fetch)))
    net.cut("ab ac")  # what was asked is lost
    net.run(60)
    assert net.firings(reaction) == []
    net.join("ab ac")
    net.until(lambda: bool(net.firings(reaction)))
    net.run(5)
    assert len(net.firings(reaction)) == 1


def test_a_host_that_a_law_doubts_is_shown_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    net = speakers(ECHO)
    group = net.hosts["c"].group
    monkeypatch.setattr(group, "doubts", lambda peer, law: peer == "a" and law == ECHO.hash)
    net.out(CAT, *insured("x"))
    net.out(CAT, *financed("x"))
    op = begin(net, ANN)
    net.run(3)
    assert op not in net.answers
    assert net.messages(Mirror) == ["ab", "ac"]
    assert net.messages(Mirrored) == []
    op = begin(net, BOB)
    net.until(lambda: op in net.answers)


def test_who_does_not_wait_is_kept_from_a_set_too() -> None:
    net = speakers(GUARDED)
    seek = Seek("jobs", Way.TAKE_NOWAIT, Template.of(WANTED), "b", sets=Sets())
    for one in (insured("hot"), financed("hot")):
        net.out(BOB, *one)
    assert net.ask(ANN, seek) is None
    assert left(net, BOB) == [insured("hot"), financed("hot")]


def test_laws_may_keep_so_many_sets_from_one_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "KEPT_MAX", 2)
    net = speakers(GUARDED)
    op = begin(net, BOB)
    for _ in range(3):
        net.out(ANN, *insured("hot"))
        net.out(CAT, *financed("hot"))
        net.run(1)
    with pytest.raises(TooManySeen, match="laws have kept 2 of them"):
        net.value(op)
