"""The checkers of rulings say no to a history in which a ruling is missing, late or another's."""

from collections.abc import Iterator
from functools import cache

import msgspec
import pytest

from nomospace import laws
from nomospace.law import load
from nomospace.terms import Compound, show, t
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.checkers.ruled import four_rulings, rulings_replay, sights, writes_are_ruled
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import RULED, Happening, History
from nomospace_lab.sim.observed import ANSWERED, FIRED
from nomospace_lab.sim.requests import (
    READ_ALL,
    STRONG,
    TAKE,
    Adopt,
    Answer,
    Open,
    Out,
    React,
    Seek,
    Share,
)

ANN, BOB = "ann@x", "bob@y"
MP = load(laws.text("mp"), "mp.law")
TO_BOB = Template.of((t.msg(ANY), Compound("from", (ANY,)), t.to(BOB)))
CHAIN = (
    (BOB, f"sent('{BOB}',in("),
    ("post at x", f"arrived('{BOB}',in("),
    ("post at x", "sent(post,found(in("),
    (BOB, "arrived(post,found(in("),
)
"""The four rulings on bob's take of a letter that lies at ann's host: who, and how each begins."""


@cache
def told() -> tuple[Happening, ...]:
    """A letter of ann's to bob, which fires bob's reactions, is read by him and then taken."""
    return tuple(world().history)


def world() -> Sites:
    sites = Sites(5, laws=(MP,), observe=False)
    for agent in (ANN, BOB):
        host = agent.partition("@")[2]
        sites.site(host)
        sites.arrive(agent, host)
        for request in (Adopt(MP), Open("post", MP), Share(("post",))):
            sites.call(agent, request)
    sites.connect("x", "y")
    sites.pass_s(8)
    sites.call(BOB, React("post", TO_BOB))
    sites.call(BOB, React("post", TO_BOB, strength=STRONG, at=BOB))
    sites.pass_s(1)
    for number, to in ((1, ""), (2, BOB)):
        letter = (t.msg(number), Compound("from", (ANN,)), t.to(BOB))
        assert sites.ask(ANN, Out("post", letter, to=to)).error is None
    sites.pass_s(1)
    assert len(sites.ask(BOB, Seek("post", READ_ALL, TO_BOB, at="x")).value) == 1
    taken: Answer = sites.ask(BOB, Seek("post", TAKE, Template.of(_first())))
    assert taken.value.source == ANN
    return sites


def _first() -> tuple[object, ...]:
    return (t.msg(1), Compound("from", (ANY,)), t.to(BOB))


def changed(happenings: list[Happening]) -> Sites:
    sites = world()
    sites.history = History(happenings)
    return sites


def places(who: str, begins: str) -> list[int]:
    return [
        place
        for place, h in enumerate(told())
        if h.kind == RULED and h.who == who and show(h.what.event.term).startswith(begins)
    ]


def test_a_history_as_it_was_is_fine() -> None:
    sites = world()
    verdict = four_rulings(sites)
    assert verdict.answer == "yes", str(verdict)
    assert verdict.cases == len(list(sights(sites))) == 5  # three firings, a read, a take
    assert writes_are_ruled(sites).cases == 2
    assert rulings_replay(sites).answer == "yes"


@pytest.mark.parametrize(("who", "begins"), CHAIN)
def test_each_of_the_four_rulings_is_missed(who: str, begins: str) -> None:
    [place] = places(who, begins)
    without = [h for at, h in enumerate(told()) if at != place]
    assert four_rulings(changed(without)).answer == "no"


@pytest.mark.parametrize(("who", "begins"), CHAIN)
def test_a_ruling_that_lets_nothing_pass_does_not_count(who: str, begins: str) -> None:
    [place] = places(who, begins)
    history = list(told())
    h = history[place]
    history[place] = Happening(h.at, h.kind, h.who, msgspec.structs.replace(h.what, operations=()))
    assert four_rulings(changed(history)).answer == "no"


@pytest.mark.parametrize("first", range(3))
def test_the_four_rulings_are_wanted_in_order(first: int) -> None:
    [one], [two] = places(*CHAIN[first]), places(*CHAIN[first + 1])
    history = list(told())
    history[one], history[two] = history[two], history[one]
    assert four_rulings(changed(history)).answer == "no"


def test_the_manager_of_another_host_does_not_count() -> None:
    def elsewhere(h: Happening) -> Happening:
        return Happening(h.at, h.kind, "post at y" if h.who == "post at x" else h.who, h.what)

    assert four_rulings(changed([elsewhere(h) for h in told()])).answer == "no"


@pytest.mark.parametrize("strength", ["weak", STRONG])
def test_a_firing_needs_them_too(strength: str) -> None:
    fires = [at for at, h in enumerate(told()) if h.kind == FIRED and h.what.strength == strength]
    for who, begins in (("post at", "sent(post,reacted("), (BOB, "arrived(post,reacted(")):
        ruled = [
            at
            for at, h in enumerate(told())
            if at < fires[-1]
            and h.kind == RULED
            and h.who.startswith(who)
            and show(h.what.event.term).startswith(begins)
        ]
        without = [h for at, h in enumerate(told()) if at != ruled[-1]]
        assert four_rulings(changed(without)).answer == "no"


def test_an_answer_that_is_told_twice_needs_two_rulings() -> None:
    history = list(told())
    last = next(h for h in reversed(history) if h.kind == ANSWERED)
    assert four_rulings(changed([*history, last])).answer == "no"


def _outs() -> Iterator[int]:
    for who, begins in ((ANN, f"sent('{ANN}',out("), ("post at x", f"arrived('{ANN}',out(")):
        yield from places(who, begins)


@pytest.mark.parametrize("number", range(4))
def test_a_write_needs_a_ruling_at_both_ends(number: int) -> None:
    place = list(_outs())[number]
    without = [h for at, h in enumerate(told()) if at != place]
    assert writes_are_ruled(changed(without)).answer == "no"


def test_a_ruling_that_is_missing_or_other_than_its_law_says_is_seen() -> None:
    [place] = places(*CHAIN[0])
    history = list(told())
    verdict = rulings_replay(changed(history[:place] + history[place + 1 :]))
    assert verdict.answer == "no"
    assert "follows" in verdict.says
    h = history[place]
    history[place] = Happening(h.at, h.kind, h.who, msgspec.structs.replace(h.what, rule="R1"))
    verdict = rulings_replay(changed(history))
    assert verdict.answer == "no"
    assert "ruled by R1, not by R2" in verdict.says
