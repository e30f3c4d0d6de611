"""A live space against the brute-force reading of what counts as an answer, as tuples come and go.

The cases are those that all engines are held to (`match_cases`). Tuples are put in one by one and
some are taken out; after each step the space is asked what the oracle says of the tuples there are.
Then the same with agents that wait: they are woken by the very tuple that completes an answer.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from nomospace.meaning.facts import Fact
from nomospace.meaning.question import ClassField, LiteralField, Question, TypeField
from nomospace.space import READ, TAKE, Gathered, Record, SetQuestion, Space, Woken
from nomospace.terms import MISSING, Compound, a, obj
from nomospace.terms.templates import Template
from tests.models.match_cases import Case, case
from tests.models.matching import Oracle

SEEDS = range(150)
FIELDS_MAX = 12
"""In all tuples together: the oracle looks at every choice of them, after every step."""


def template_of(question: Question) -> Template | None:
    """A question as a live template; none where a live template has other words for it."""
    fields: list[Any] = []
    for field in question.fields:
        match field:
            case ClassField(name, id, predicate):
                if id is not MISSING and predicate:
                    return None  # an object is given by its id, or by a predicate
                fields.append(a(name, predicate) if id is MISSING else obj(name, id))
            case LiteralField(value):
                fields.append(value)
            case TypeField(kind):
                if kind == "any":
                    return None  # which beside classes may be an object in a live space
                fields.append(Compound("formal", (kind,)))
    return None if question.positional else Template.of(fields)


class Live:
    """A space with the facts of a case, and the oracle's view of it."""

    def __init__(self, made: Case, template: Template) -> None:
        self.case = made
        self.template = template
        question = made.question
        self.ask = SetQuestion(template, question.correlate, question.key or "", question.max_set)
        self.space = Space("s", made.ontology)
        self.there: dict[str, Record] = {}

    @property
    def is_cut(self) -> bool:
        """Whether the plan would have more networks than a live space makes: it says so."""
        return self.space.sets.complete(self.ask) < self.case.question.max_set

    def put(self, count: int, fact: Fact) -> list[Any]:
        record = Record(fact.fields, "t", count, "t", "t")
        self.there[f"t/{count}"] = record
        return list(self.space.put(record, now=0))

    def remove(self, id: str) -> None:
        self.space.remove(self.there.pop(id))

    def oracle(self, correlate: str | None = None) -> Oracle:
        question = self.case.question
        if correlate is not None:
            question = question._replace(correlate=correlate)
        facts = [Fact(id, record.fields) for id, record in self.there.items()]
        return Oracle(question, self.case.ontology, facts)


def lives() -> list[Any]:
    found = []
    for seed in SEEDS:
        made = case(seed)
        template = template_of(made.question)
        width = sum(len(fact.fields) for fact in made.facts)
        if template is not None and width <= FIELDS_MAX:
            found.append(pytest.param(made, template, id=str(seed)))
    return found


LIVES = lives()


def ids_of(found: Any) -> tuple[str, ...]:
    return tuple(sorted(f"{writer}/{count}" for writer, count in found))


def test_there_are_enough() -> None:
    assert len(LIVES) > 75


@pytest.mark.parametrize(("made", "template"), LIVES)
def test_what_a_space_answers_is_what_the_oracle_says(made: Case, template: Template) -> None:
    rng, live = Random(made.seed), Live(made, template)
    correlates = made.question.correlate != "never"
    for count, fact in enumerate(made.facts, 1):
        live.put(count, fact)
        if rng.random() < 0.3:
            live.remove(rng.choice(list(live.there)))
        if live.is_cut:
            return
        expected = live.oracle().first()
        single = live.space.find(template)
        if expected is not None and expected.kind != "correlation":
            assert single is not None
            assert f"t/{single.count}" == expected.tuples[0]
            continue
        assert single is None
        if not correlates:
            continue
        found = live.space.sets.gather(live.ask, now=0)
        assert (found and ids_of(found.ids)) == (expected and expected.tuples)
        if found is not None and expected is not None:
            assert found.fields == expected.fields
        sets = [one for one in live.oracle().answers() if one.kind == "correlation"]
        everything = live.space.sets.gather_all(live.ask, now=0)
        assert [ids_of(one.ids) for one in everything] == [one.tuples for one in sets]


@pytest.mark.parametrize(("made", "template"), LIVES)
def test_a_waiting_read_wakes_with_the_tuple_that_completes_its_answer(
    made: Case, template: Template
) -> None:
    live = Live(made, template)
    ask = live.ask if made.question.correlate != "never" else None
    live.space.wait("reader", template, READ, ask=ask)
    for count, fact in enumerate(made.facts, 1):
        told = live.put(count, fact)
        if live.is_cut:
            return
        answers = {one.tuples: one for one in live.oracle("always").answers()}
        if ask is None:
            answers = {ids: one for ids, one in answers.items() if one.kind != "correlation"}
        assert bool(told) is bool(answers)
        if not told:
            continue
        (woken,) = told
        if isinstance(woken, Woken):
            assert answers[f"t/{woken.record.count}",].kind != "correlation"
        else:
            assert isinstance(woken, Gathered)
            expected = answers[ids_of(woken.gathering.ids)]
            assert woken.gathering.fields == expected.fields
        return


@pytest.mark.parametrize(("made", "template"), LIVES)
def test_waiting_takes_leave_nothing_that_would_answer(made: Case, template: Template) -> None:
    """Each tuple is in at most one answer, sets leave whole, and nobody waits in vain."""
    rng, live = Random(made.seed), Live(made, template)
    ask = live.ask if made.question.correlate != "never" else None
    takers = 3
    for number in range(takers):
        live.space.wait(number, template, TAKE, ask=ask)
    for count, fact in enumerate(made.facts, 1):
        before = live.oracle("always" if ask is not None else "never")
        before.facts[f"t/{count}"] = Fact(f"t/{count}", fact.fields)
        possible = {one.tuples for one in before.answers()}
        for woken in live.put(count, fact):
            takers -= 1
            if isinstance(woken, Woken):
                gone: tuple[str, ...] = (f"t/{woken.record.count}",)
            else:
                assert isinstance(woken, Gathered)
                gone = ids_of(woken.gathering.ids)
                assert [record.order for record in woken.records] == [0] * len(gone)
            assert gone in possible
            assert f"t/{count}" in gone
            for id in gone:
                del live.there[id]
        if live.is_cut:
            return
        if takers:
            assert live.oracle("always" if ask is not None else "never").answers() == []
        if live.there and rng.random() < 0.2:
            live.remove(rng.choice(list(live.there)))
    assert len(live.space) == len(live.there)
    assert live.space.stats()["waiters"] == takers
