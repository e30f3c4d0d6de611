"""Checkers of mail and moves on small histories made by hand: each can say no, and why."""

from typing import Any

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.problems import MoveRefused
from nomospace.calls.requests import TAKE, Move, Out, Seek
from nomospace.control import Event, Ruling, arrived, sent
from nomospace.terms import Compound
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.checkers import Checker
from nomospace_lab.sim.checkers.mail import (
    mail_arrives_once,
    mail_keeps_order,
    obligations_keep_time,
    one_place,
    refused_stay,
    takes_survive_moves,
    was_hard,
)
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import CRASHED, RESTARTED, RULED
from nomospace_lab.sim.observed import (
    ANSWERED,
    ASKED,
    CAME,
    FROZE,
    LEFT,
    THAWED,
    Answered,
    ObservedCall,
)

ANN, BOB = "ann@a", "bob@b"
JOB = Seek("jobs", TAKE, Template.of(("job", ANY)))
Line = tuple[int, str, str, Any]


class Told:
    """A history in the making: rulings are numbered for each agent."""

    def __init__(self) -> None:
        self.world = Sites(1)
        self.world.where = {ANN: "a", BOB: "b"}
        self._seq: dict[str, int] = {}

    def add(self, at: int, kind: str, who: str, what: Any = None) -> None:
        self.world.history.add(at, kind, who, what)

    def rule(self, at: int, who: str, event: Event, *, seq: int = 0, does: Any = ()) -> None:
        self._seq[who] = seq or self._seq.get(who, 0) + 1
        self.add(at, RULED, who, Ruling(self._seq[who], at, who, "law", event, "R1", does))

    def send(self, number: int, to: str = BOB) -> None:
        operation = (Compound("forward", (ANN, note(number), to)),)
        self.rule(number, ANN, sent(ANN, note(number), to), does=operation)

    def arrive(self, number: int, who: str = BOB) -> None:
        self.rule(100 + number, who, arrived(ANN, note(number), who))

    def fail(self, number: int, why: str, to: str = BOB) -> None:
        operation = Compound("forward", (ANN, note(number), to))
        self.rule(100 + number, ANN, Event("exception", (operation, why)))

    def ask(self, at: int, op: int, request: Any, *, who: str = ANN, host: str = "a") -> None:
        self.add(at, ASKED, who, ObservedCall(op, host, request))

    def answer(self, at: int, op: int, value: Any = None, error: Any = None) -> None:
        self.add(at, ANSWERED, ANN, Answered(op, "a", value, error))

    def says(self, check: Checker) -> str:
        verdict = check(self.world)
        return verdict.says if verdict.answer == "no" else f"{verdict.answer} {verdict.cases}"


def note(number: int) -> Compound:
    return Compound("note", (number,))


@pytest.fixture
def told() -> Told:
    return Told()


# -- mail --------------------------------------------------------------------------------------


def test_mail_that_arrives(told: Told) -> None:
    for number in (1, 2):
        told.send(number)
        told.arrive(number)
    assert told.says(mail_arrives_once) == "yes 2"
    assert told.says(mail_keeps_order) == "yes 2"


def test_mail_that_is_lost(told: Told) -> None:
    told.send(1)
    assert told.says(mail_arrives_once) == "note 1 to bob@b never arrived"


def test_mail_that_comes_twice(told: Told) -> None:
    told.send(1)
    told.arrive(1)
    told.arrive(1)
    assert told.says(mail_arrives_once) == "note 1 arrived more than once"


def test_mail_at_the_wrong_door(told: Told) -> None:
    told.send(1)
    told.arrive(1, ANN)
    assert told.says(mail_arrives_once) == "note 1 to bob@b arrived at ann@a"


def test_mail_that_nobody_sent(told: Told) -> None:
    told.arrive(1)
    assert told.says(mail_arrives_once) == "note 1 was never sent"


@pytest.mark.parametrize(
    ("why", "says"),
    [
        ("busy", "yes 1"),
        ("notHere", "note 1 to bob@b never arrived"),
        ("unknownDestination", "note 1 to bob@b never arrived"),
    ],
)
def test_mail_may_fail_only_where_too_much_waits(told: Told, why: str, says: str) -> None:
    told.send(1)
    told.fail(1, why)
    assert told.says(mail_arrives_once) == says


def test_mail_that_fails_twice_or_fails_and_arrives(told: Told) -> None:
    told.send(1)
    told.fail(1, "busy")
    told.arrive(1)
    assert told.says(mail_arrives_once) == "note 1 arrived and failed"
    told.fail(1, "busy")
    assert told.says(mail_arrives_once) == "note 1 failed more than once"


def test_mail_to_nobody(told: Told) -> None:
    told.send(1, "nobody@b")
    says = "note 1 went to nobody, and its sender was not told"
    assert told.says(mail_arrives_once) == says
    told.fail(1, "unknownDestination", "nobody@b")
    assert told.says(mail_arrives_once) == "yes 1"


def test_mail_that_overtakes(told: Told) -> None:
    for number in (1, 2):
        told.send(number)
    for number in (2, 1):
        told.arrive(number)
    assert told.says(mail_keeps_order) == "bob@b got note 1 too late"


# -- places ------------------------------------------------------------------------------------


def test_one_who_came_twice(told: Told) -> None:
    told.add(1, CAME, ANN, "a")
    told.add(2, CAME, ANN, "b")
    assert told.says(one_place) == "ann@a is in two places"


def test_one_who_left_where_it_was_not(told: Told) -> None:
    told.add(1, CAME, ANN, "a")
    told.add(2, LEFT, ANN, "b")
    assert told.says(one_place) == "ann@a left where it was not"


def test_one_who_vanished(told: Told) -> None:
    told.add(1, CAME, ANN, "a")
    told.add(2, LEFT, ANN, "a")
    assert told.says(one_place) == "ann@a ends at no host"


def test_a_controller_that_forked(told: Told) -> None:
    told.rule(1, ANN, Event("moved", ("a", "b")))
    told.rule(2, ANN, Event("moved", ("a", "b")), seq=1)
    assert told.says(one_place) == "rulings of ann@a are not one line"


def test_one_who_is_where_it_says() -> None:
    world = Sites(1)
    world.site("a")
    world.arrive(ANN, "a")
    verdict = one_place(world)
    assert (verdict.answer, verdict.cases) == ("yes", 1)


def test_one_who_was_refused_and_is_gone(told: Told) -> None:
    error = MoveRefused(agent=ANN, to="b", why="closed")
    told.add(1, CAME, ANN, "a")
    told.ask(2, 1, Move("b"))
    told.answer(3, 1, error=error)
    assert told.says(refused_stay) == "yes 1"
    told.ask(4, 2, Move("b"))
    told.add(5, LEFT, ANN, "a")
    told.answer(6, 2, error=error)
    assert told.says(refused_stay) == "ann@a is not where it was"


# -- obligations -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stops", "due", "says"),
    [
        ([], 10, "yes 1"),
        ([], 9, "1 µs early"),
        ([], 12, "2 µs late"),
        ([(2, LEFT, ANN, "a"), (5, CAME, ANN, "b")], 13, "yes 1"),
        ([(2, LEFT, ANN, "a"), (5, CAME, ANN, "b")], 10, "3 µs early"),
        ([(8, CRASHED, "a", None), (12, RESTARTED, "a", None)], 12, "yes 1"),
        ([(8, CRASHED, "b", None), (12, RESTARTED, "b", None)], 12, "2 µs late"),
        ([(8, FROZE, "a", None), (12, THAWED, "a", None)], 12, "yes 1"),
    ],
)
def test_obligations(told: Told, stops: list[Line], due: int, says: str) -> None:
    told.add(0, CAME, ANN, "a")
    told.rule(0, ANN, Event("adopted", ((),)))
    for stop in stops:
        told.add(*stop)
    told.rule(due, ANN, Event("obligationDue", ("beat",)))
    assert told.says(obligations_keep_time(10)) == says


# -- takes -------------------------------------------------------------------------------------


def job(number: int) -> Found:
    return Found(("job", number), BOB, number, BOB)


def begin(told: Told) -> None:
    told.add(0, CAME, ANN, "a")
    told.ask(1, 1, Out("jobs", ("job", 1)), who=BOB)
    told.ask(2, 2, JOB)


def test_a_take_that_moved_is_served(told: Told) -> None:
    begin(told)
    told.add(3, LEFT, ANN, "a")
    told.add(4, CAME, ANN, "b")
    assert told.says(takes_survive_moves) == "it was never served"
    told.answer(5, 2, job(1))
    assert told.says(takes_survive_moves) == "yes 1"


def test_a_tuple_that_is_taken_twice(told: Told) -> None:
    begin(told)
    told.ask(2, 3, JOB)
    told.answer(5, 2, job(1))
    told.answer(6, 3, job(1))
    assert told.says(takes_survive_moves) == "it was taken twice"


def test_a_tuple_that_nobody_wrote(told: Told) -> None:
    begin(told)
    told.answer(5, 2, job(9))
    assert told.says(takes_survive_moves) == "nobody wrote it"


def test_a_crash_ends_a_take_where_its_agent_is(told: Told) -> None:
    begin(told)
    told.add(3, CRASHED, "b")
    assert told.says(takes_survive_moves) == "it was never served"
    told.add(3, CRASHED, "a")
    assert told.says(takes_survive_moves) == "yes 0"


# -- hardness ----------------------------------------------------------------------------------


def test_an_easy_world(told: Told) -> None:
    told.send(1)
    says = told.says(was_hard(messages=2, moves=0, crashes=0))
    assert says == "only 1 notes, at least 2 are wanted"
    told.add(1, CAME, ANN, "a")
    says = told.says(was_hard(messages=1, moves=1, crashes=0))
    assert says == "only 0 moves, at least 1 are wanted"
