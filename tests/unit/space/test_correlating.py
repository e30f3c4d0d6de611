"""Several tuples that answer together in one space, as they come and go."""

from __future__ import annotations

from random import Random

import pytest

from nomospace.calls.problems import CorrelationTooDear
from nomospace.meaning.memory.matcher import LOOPS_UNITS
from nomospace.meaning.question import BadQuestion
from nomospace.space import OFFER, READ, TAKE, Gathered, Record, SetQuestion, Space, Woken
from nomospace.space.search import SetSearch, Unfinished
from nomospace.terms import Term, a, obj
from nomospace.terms.budget import Slice
from nomospace.terms.templates import Template, same as same_as
from nomospace.terms.values import parts_of
from nomospace_lab.apps.correlation.papers import CARS, WANTED, papers_of

TEMPLATE = Template.of(WANTED)
ASK = SetQuestion(TEMPLATE)


class Kept:
    """A space, and tuples of one agent."""

    def __init__(self) -> None:
        self.space = Space("papers", CARS)
        self.count = 0

    def put(self, *fields: Term, expires: int = 0, now: int = 1) -> list[object]:
        self.count += 1
        record = Record(fields, "ann", self.count, "ann", "ann", expires)
        return list(self.space.put(record, now=now))


@pytest.fixture
def kept() -> Kept:
    return Kept()


def car(id: str, *others: str) -> tuple[Term, ...]:
    return (obj("Van", id), *[obj(name, id) for name in others])


@pytest.mark.parametrize("seed", range(2))
def test_of_very_many_sets_that_come_piece_by_piece_each_is_taken_once(
    kept: Kept, seed: int
) -> None:
    """One question waits all the while, and its plan serves tuples of every shape and number."""
    rng = Random(seed)
    papers = {f"car{n}": papers_of(f"car{n}", rng) for n in range(120)}
    pieces = [fields for tuples in papers.values() for fields in tuples]
    near = [pieces[n : n + 9] for n in range(0, len(pieces), 9)]  # few sets are open at a time
    taken: list[str] = []
    ticket = 0
    kept.space.wait(ticket, TEMPLATE, TAKE, ask=ASK)
    for some in near:
        rng.shuffle(some)
        for fields in some:
            for told in kept.put(*fields):
                assert isinstance(told, Gathered | Woken)
                served = told.records if isinstance(told, Gathered) else (told.record,)
                held = [field for one in served for field in one.fields if field != "whole"]
                ids = {str(parts_of(field)[1]) for field in held}
                (car_id,) = ids
                assert len(served) == len(papers[car_id])
                taken.append(car_id)
                ticket += 1
                kept.space.wait(ticket, TEMPLATE, TAKE, ask=ASK)
    assert sorted(taken) == sorted(papers)
    assert len(kept.space) == 0


def test_who_reads_goes_before_who_takes_and_who_takes_before_whom_it_is_offered(
    kept: Kept,
) -> None:
    kept.space.wait("offered", TEMPLATE, OFFER, ask=ASK)
    kept.space.wait("first", TEMPLATE, TAKE, ask=ASK)
    kept.space.wait("second", TEMPLATE, TAKE, ask=ASK)
    kept.space.wait("reader", TEMPLATE, READ, ask=ASK)
    kept.put(*car("c1", "Insurance"))
    told = kept.put(*car("c1", "Finance"))
    assert [one.ticket for one in told if isinstance(one, Gathered)] == ["reader", "first"]
    assert len(kept.space) == 0
    kept.space.cancel("second")
    kept.put(*car("c2", "Insurance"))
    (offer,) = kept.put(*car("c2", "Finance"))
    assert isinstance(offer, Gathered)
    assert offer.ticket == "offered"
    assert len(kept.space) == 2
    assert kept.put(*car("c3", "Insurance")) == kept.put(*car("c3", "Finance")) == []  # it sleeps
    kept.space.rearm("offered")
    kept.put(*car("c4", "Insurance"))
    assert len(kept.put(*car("c4", "Finance"))) == 1


def test_a_single_tuple_serves_first(kept: Kept) -> None:
    kept.space.wait("taker", TEMPLATE, TAKE, ask=ASK)
    kept.put(*car("c1", "Insurance"))
    (told,) = kept.put(*car("c2", "Insurance", "Finance"))
    assert isinstance(told, Woken)
    assert kept.put(*car("c1", "Finance")) == []


def test_lent_and_expired_tuples_are_part_of_no_set(kept: Kept) -> None:
    kept.put(*car("c1", "Insurance"))
    kept.put(*car("c1", "Finance"), expires=5)
    assert kept.space.sets.gather(ASK, now=4) is not None
    assert kept.space.sets.gather(ASK, now=5) is None
    kept.put(*car("c1", "Finance"))
    record = kept.space.oldest(1)[0]
    kept.space.lend(record, "bob", 100)
    assert kept.space.sets.gather(ASK, now=6) is None
    kept.space.wait("taker", TEMPLATE, TAKE, ask=ASK)
    (told,) = [
        one for one in kept.space.give_back(record.id, "bob", now=7) if isinstance(one, Gathered)
    ]
    assert [one.count for one in told.records] == [3, 1]


def test_a_question_with_an_id_is_looked_at_only_for_what_hangs_together_with_it(
    kept: Kept,
) -> None:
    template = Template.of((obj("Car", "c1"), a("Insurance"), a("Finance")))
    kept.put(obj("Van", "c1"), obj("Deal", "d1"))
    kept.space.wait("taker", template, TAKE, ask=SetQuestion(template))
    sets = kept.space.sets.facts()
    looked_at: list[int] = []
    completed = sets.completed
    sets.completed = lambda *given: (looked_at.append(kept.count), completed(*given))[1]  # type: ignore[func-returns-value,method-assign]
    kept.put(*car("c2", "Insurance"))
    kept.put(obj("Deal", "d9"), obj("Insurance", "i9"))
    assert looked_at == []
    kept.put(obj("Deal", "d1"), obj("Broker", "b1"))
    kept.put(obj("Broker", "b1"), obj("Insurance", "i1"))  # three links away
    (told,) = kept.put(*car("c1", "Finance"))
    assert looked_at == [4, 5, 6]
    assert isinstance(told, Gathered)
    assert len(told.records) == 4


def test_past_its_reach_a_question_is_looked_at_for_everything(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.space.correlating.REACH_MAX", 4)
    template = Template.of((obj("Car", "c1"), a("Insurance"), a("Finance")))
    kept.space.wait("taker", template, TAKE, ask=SetQuestion(template))
    for n in range(6):
        kept.put(obj("Van", "c1"), obj("Deal", f"d{n}"))
    kept.put(obj("Deal", "d5"), obj("Insurance", "i1"))
    (told,) = kept.put(*car("c1", "Finance"))
    assert isinstance(told, Gathered)
    assert kept.space.sets.facts()._watched == {}


def test_classes_that_somebody_makes_up_are_forgotten(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.space.correlating.SHAPES_MIN", 5)
    kept.space.wait("taker", TEMPLATE, TAKE, ask=ASK)
    kept.put(*car("c1", "Insurance"))
    for n in range(50):
        kept.put(obj(f"Made{n}", "x"), n)
        kept.space.remove(kept.space.oldest(2)[1])
    assert len(kept.space.sets.facts()._facts.shapes) <= 11
    assert len(kept.put(*car("c1", "Finance"))) == 1


def test_questions_that_differ_in_ids_share_a_plan(kept: Kept) -> None:
    kept.put(*car("c1", "Insurance"))
    kept.put(*car("c2", "Finance"))
    for n in range(20):
        template = Template.of((obj("Car", f"c{n}"), a("Insurance"), a("Finance")))
        assert kept.space.sets.gather(SetQuestion(template), now=1) is None
        kept.space.wait(n, template, TAKE, ask=SetQuestion(template))
    assert len(kept.space.sets.facts()._models) == 1
    (first,) = kept.put(*car("c1", "Finance"))
    (second,) = kept.put(*car("c2", "Insurance"))
    assert isinstance(first, Gathered)
    assert isinstance(second, Gathered)
    assert (first.ticket, second.ticket) == (1, 2)


def test_what_means_nothing_is_refused_where_it_is_asked(kept: Kept) -> None:
    tied = SetQuestion(Template.of((a("Car"), same_as("x"), same_as("x"))))
    with pytest.raises(BadQuestion, match="no meaning beside classes"):
        kept.space.sets.gather(tied, now=1)
    with pytest.raises(BadQuestion):
        kept.space.wait("w", tied.template, TAKE, ask=tied)
    assert kept.space.stats()["waiters"] == 0


def test_a_question_with_very_many_ways_to_join_is_planned_in_few_steps(kept: Kept) -> None:
    """It would take a tenth of a second at once, and nothing between would have its turn."""
    asked = [a("Bus", "price != null"), int, obj("Car", "c1"), a("Shop"), int, a("Bus"), a("Shop")]
    ask = SetQuestion(Template.of(asked), "always")
    for shape in ("CC", "SSSS", "CC", "CVB", "CC", "SSSS", "CC"):
        names = {"C": "Car", "S": "Shop", "V": "Van", "B": "Bus"}
        kept.put(*[obj(names[one], f"{one}0") for one in shape], "a", 1)
    assert kept.space.sets.gather(ask, now=1) is None
    assert kept.space.sets.complete(ask) < 6


def test_making_the_loops_of_a_plan_is_paid_for(kept: Kept) -> None:
    for n in range(100):
        kept.put(obj("Van", f"v{n}"), obj("Tax", f"t{n}"))
        kept.put(obj("Van", f"v{n}"), obj("Loan", f"l{n}"))
    ask = SetQuestion(Template.of([a("Tax", "price = 1"), a("Loan")]), "always")
    for every in (False, True):
        slice = Slice(10**6)
        space = Space("papers")
        for record in kept.space.objects():
            space.put(Record(record.fields, "ann", record.count, "ann", "ann"), now=1)
        space.sets.go_on(SetSearch(ask, every=every), now=1, slice=slice)
        assert 10**6 - slice.left >= LOOPS_UNITS


def test_the_first_question_takes_tuples_in_slice_by_slice(kept: Kept) -> None:
    for n in range(240):
        kept.put(obj("Van", f"v{n % 16}"), obj("Bus", f"b{n % 11}"))
    search, slices = SetSearch(SetQuestion(Template.of([a("Van"), a("Tax")]), "always")), 1
    while True:
        try:
            assert kept.space.sets.go_on(search, now=1, slice=Slice(4_000)) == []
        except Unfinished:
            slices += 1
            continue
        break
    assert slices >= 4


def test_what_tuples_cost_to_take_in_hangs_on_how_large_they_are(kept: Kept) -> None:
    for n in range(40):
        kept.put(obj("Van", f"v{n}", text="x" * 16_000))
    search, slices = SetSearch(SetQuestion(Template.of([a("Van"), a("Tax")]), "always")), 0
    while True:
        try:
            kept.space.sets.go_on(search, now=1, slice=Slice(4_000))
        except Unfinished:
            slices += 1
            continue
        break
    assert slices >= 5


def test_of_very_many_sets_no_more_are_looked_for_than_are_told(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = Template.of((obj("Van", "A"), a("Tax"), a("Loan")))
    ask = SetQuestion(template, "always")
    for number in range(6):
        kept.put(obj("Van", "A"), obj("Tax", f"x{number}"))
        kept.put(obj("Van", "A"), obj("Loan", f"y{number}"))
        kept.put(obj("Van", "A"), obj("Tax", f"t{number}"), obj("Loan", f"z{number}"))
    every = kept.space.sets.gather_all(ask, now=1)
    assert len(every) == 36
    monkeypatch.setattr("nomospace.space.alike.BoundedMatcher.sets_max", 36)
    assert kept.space.sets.gather_all(ask, now=1) == every  # those that answer alone do not count
    monkeypatch.setattr("nomospace.space.alike.BoundedMatcher.sets_max", 35)
    with pytest.raises(CorrelationTooDear, match="the number of sets that answer"):
        kept.space.sets.gather_all(ask, now=1)
