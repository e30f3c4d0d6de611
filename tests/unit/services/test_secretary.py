"""The roll of a community; and a host that asks its secretary."""

import pytest

from nomospace.calls.requests import Adopt, Tell
from nomospace.control import ReservedRole, SpaceRoll
from nomospace.host.calls import Arrive, Call
from nomospace.host.changes import Durable
from nomospace.host.core import Host
from nomospace.host.effects import Answer, Persist
from nomospace.law import load
from nomospace.services import secretary as secretary_of
from nomospace.services.secretary import (
    BadRoll,
    HasQuit,
    Joined,
    MemberElsewhere,
    NoSuchMember,
    NotOnRoll,
    OneMembership,
    OtherController,
    RollFull,
    Secretary,
)
from nomospace.terms import Term, show, term

LAW = load(
    """
    law(sb).
    initialCS([client]).
    R1. sent(_, bid(X), _) :- serviceProvider@CS, do(+made(X)), do(forward).
    """
)
ANN, BOB = "ann@x", "bob@x"


def _admit(secretary: Secretary, agent: str, host: str) -> tuple[Term, ...]:
    joined, initial = secretary.admit(agent, host, now=7)
    if joined is not None:
        secretary.apply(joined)
    return initial


def test_roles_come_from_the_roll() -> None:
    secretary = Secretary("h")
    secretary.apply(secretary.enrol(ANN, ["serviceProvider", "grade( 3 )"]))
    assert _admit(secretary, ANN, "x") == ("serviceProvider", term("grade(3)"))
    assert _admit(secretary, BOB, "x") == ()
    assert secretary.members == (ANN, BOB)


def test_one_membership_at_one_host_at_a_time() -> None:
    secretary = Secretary("h")
    _admit(secretary, ANN, "x")
    with pytest.raises(MemberElsewhere, match="at host x"):
        secretary.admit(ANN, "y", now=8)
    assert secretary.admit(ANN, "x", now=8) == (None, ())  # it asks again after a crash
    moved = secretary.move(ANN, "y", now=9)
    assert moved == Joined(ANN, "y", 9)
    secretary.apply(moved)
    assert secretary.where(ANN) == "y"
    assert secretary.quit(ANN, "x") is None  # the host it has left says nothing about it any more


def test_a_further_membership_wants_its_address_on_the_roll() -> None:
    secretary = Secretary("h")
    name, _, domain = ANN.partition("@")
    further = f"{name}~2@{domain}"
    _admit(secretary, ANN, "x")
    with pytest.raises(OneMembership, match=further):
        secretary.admit(further, "x", now=8)
    secretary.apply(secretary.enrol(further, ["deputy"]))
    assert _admit(secretary, further, "x") == ("deputy",)
    assert secretary.members == (ANN, further)


def test_who_has_quit_does_not_come_back_with_a_clean_slate() -> None:
    for returns in (False, True):
        secretary = Secretary("h", returns=returns)
        _admit(secretary, ANN, "x")
        gone = secretary.quit(ANN, "x")
        assert gone is not None
        secretary.apply(gone)
        with pytest.raises(NoSuchMember):
            secretary.where(ANN)
        if returns:
            _admit(secretary, ANN, "y")
        else:
            with pytest.raises(HasQuit):
                secretary.admit(ANN, "x", now=9)
            secretary.apply(secretary.strike(ANN))
            _admit(secretary, ANN, "y")
        assert secretary.where(ANN) == "y"


def test_closed_communities_and_assigned_controllers() -> None:
    secretary = Secretary("h", closed=True)
    secretary.apply(secretary.enrol(ANN, controller="trusted"))
    with pytest.raises(NotOnRoll):
        secretary.admit(BOB, "trusted", now=0)
    with pytest.raises(OtherController, match="host trusted"):
        secretary.admit(ANN, "laptop", now=0)
    assert _admit(secretary, ANN, "trusted") == ()


@pytest.mark.parametrize(
    ("agent", "initial"),
    [
        (ANN, ["tupleSpace"]),
        (ANN, ["'tupleSpace'"]),
        (ANN, ["role(X)"]),
        (ANN, ["role("]),
        (ANN, ["a"] * 65),
        (ANN, ["'" + "a" * 10_000 + "'"]),
        ("ann", []),
        ("", []),
    ],
)
def test_entries_that_no_roll_can_have(agent: str, initial: list[str]) -> None:
    with pytest.raises(BadRoll):
        Secretary("h").enrol(agent, initial)


def test_the_roll_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secretary_of, "MEMBERS_MAX", 1)
    secretary = Secretary("h")
    _admit(secretary, ANN, "x")
    with pytest.raises(RollFull):
        secretary.enrol(BOB)
    with pytest.raises(RollFull):
        secretary.admit(BOB, "x", now=0)


def test_its_changes_make_the_same_roll() -> None:
    secretary = Secretary("h")
    secretary.apply(secretary.enrol(ANN, ["a"], "x"))
    for agent in (ANN, BOB, "eve@x"):
        _admit(secretary, agent, "x")
    gone = secretary.quit("eve@x", "x")
    assert gone is not None
    secretary.apply(gone)
    again = Secretary("h", secretary.changes())
    assert (again.roll, again.members) == (secretary.roll, secretary.members)
    with pytest.raises(HasQuit):
        again.admit("eve@x", "x", now=0)


# -- at a host -------------------------------------------------------------------------------


def _adopting(secretary: Secretary) -> tuple[Host, Durable]:
    def enrols(agent: str, law: str) -> tuple[Term, ...]:
        assert law == LAW.hash
        return _admit(secretary, agent, "x")

    return Host("x", life=1, now=0, enrols=enrols), Durable()


def _call(host: Host, durable: Durable, op: int, agent: str, request: Adopt | Tell) -> Answer:
    answers = []
    for effect in host.handle(Call(op, agent, request), now=op):
        if isinstance(effect, Persist):
            for change in effect.changes:
                durable.apply(change)
        elif isinstance(effect, Answer):
            answers.append(effect)
    assert len(answers) == 1
    return answers[0]


def test_a_member_begins_with_what_the_roll_has_for_it_and_has_it_after_a_crash() -> None:
    secretary = Secretary(LAW.hash, closed=True)
    secretary.apply(secretary.enrol(ANN, ["serviceProvider"]))
    host, durable = _adopting(secretary)
    for agent in (ANN, BOB):
        for effect in host.handle(Arrive(agent), now=0):
            if isinstance(effect, Persist):
                for change in effect.changes:
                    durable.apply(change)
    assert _call(host, durable, 1, ANN, Adopt(LAW)).error is None
    assert isinstance(_call(host, durable, 2, BOB, Adopt(LAW)).error, NotOnRoll)
    ruling = _call(host, durable, 3, ANN, Tell(LAW.hash, term("bid(5)"), ANN)).value
    assert ruling.rule == "R1"
    again = Host("x", life=2, now=9, durable=durable, laws={LAW.hash: LAW})
    assert list(again.governing.member(ANN, LAW.hash).state) == [
        "client",
        "serviceProvider",
        term("made(5)"),
    ]


def test_a_faulty_secretary_cannot_make_an_agent_the_manager_of_a_space() -> None:
    host = Host("x", life=1, now=0, enrols=lambda _agent, _law: ("tupleSpace",))
    host.handle(Arrive(ANN), now=0)
    answer = _call(host, Durable(), 1, ANN, Adopt(LAW))
    assert isinstance(answer.error, ReservedRole)


def test_who_is_on_the_roll_as_a_space_holds_its_role_and_manages_none() -> None:
    """A front (`000_…` 4): its law lets it answer, and no space is its own for that."""
    secretary = Secretary(LAW.hash)
    secretary.apply(secretary.enrol(ANN, ["vip"], space=True))
    assert (secretary.is_space(ANN), secretary.is_space(BOB)) == (True, False)
    host = Host("x", life=1, now=0, enrols=lambda _agent, _law: SpaceRoll(("vip",)))
    host.handle(Arrive(ANN), now=0)
    assert _call(host, Durable(), 1, ANN, Adopt(LAW)).error is None
    state = [show(one) for one in host.governing.member(ANN, LAW.hash).state]
    assert state[-2:] == ["vip", "tupleSpace"]
    assert not host.governing.managed()
