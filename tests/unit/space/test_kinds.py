"""Kinds never deny a tuple that lies in its space, cost little, and are the same everywhere."""

from random import Random

import pytest

from nomospace.space import Record, Space, kinds as module
from nomospace.space.kinds import KINDS_MAX, Kinds, asked_kind, many_kind, width_kind
from nomospace.terms import Term, obj, t
from nomospace.terms.templates import ANY, Template, between

HUGE = 2**70
FIRSTS: tuple[object, ...] = (
    *("job", "mail", "", "long" * 50, 0, 1, -1, HUGE, True, False, None, b"", b"job"),
    *(0.0, -0.0, 1.0, t.room(1), t.room(2), t.room(1, 2), t.job(1)),
    *((), (1, 2), ("job",), t.f(t.g(1)), {"a": 1}, obj("Car", colour="red")),
)
PATTERNS: tuple[object, ...] = (
    *(ANY, str, int, float, bool, between(0, 5), t.room(ANY), t.room(int), (ANY, ANY), {"a": ANY}),
    *[first for first in FIRSTS if not isinstance(first, dict)],
)


class Hearer:
    """What a peer knows that is told all news."""

    def __init__(self, space: Space) -> None:
        self.noted = 0
        kinds = space.follow_kinds(self._note)
        assert kinds is not None
        self.kinds: Kinds = kinds
        self.known = set(kinds.whole())

    def _note(self) -> None:
        self.noted += 1

    def hear(self) -> None:
        came, gone = self.kinds.news()
        self.known -= {*gone}
        self.known |= {*came}

    def may_have(self, template: Template) -> bool:
        return asked_kind(template) in self.known or many_kind(template.arity) in self.known


def templates() -> list[Template]:
    found = [Template.of([first, *[ANY] * more]) for first in PATTERNS for more in (0, 1, 3)]
    return [template for template in found if not template.meant]


@pytest.mark.parametrize("seed", range(8))
def test_what_lies_there_is_never_denied(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    if seed % 2:
        monkeypatch.setattr(module, "FIRSTS_MAX", 6)
        monkeypatch.setattr(module, "KINDS_MAX", 9)
        monkeypatch.setattr(module, "PAUSE_MIN", 2)
    space = Space("jobs")
    asked = templates()
    here: list[Record] = []
    lent: list[Record] = []

    def put(count: int) -> None:
        fields = (rng.choice(FIRSTS), *["x"] * rng.choice((0, 1, 1, 3)))
        record = Record(Template.of(fields).term, "ann", count, "ann", "ann")
        space.put(record, now=count)
        here.append(record)

    for count in range(20):
        put(count)
    hearer = Hearer(space)
    for count in range(20, 320):
        step = rng.random()
        if step < 0.35:
            put(count)
        elif step < 0.75 and here:
            space.remove(here.pop(rng.randrange(len(here))))
        elif step < 0.8 and here:
            record = here.pop(rng.randrange(len(here)))
            space.lend(record, "bob", count + 1_000)
            lent.append(record)
        elif step < 0.85 and lent:
            record = lent.pop()
            space.give_back(record.id, "bob", now=count)
            here.append(record)
        else:
            hearer.kinds.sweep()
        hearer.hear()
        for template in asked:
            if any(template.matches(record.fields) for record in here):
                assert hearer.may_have(template), (template, count)
        assert hearer.known == {*hearer.kinds.whole()}
    for record in here:
        space.remove(record)
    for _ in range(2_000):
        hearer.kinds.sweep()
    hearer.hear()
    assert not hearer.known


def test_what_does_not_lie_there_is_mostly_denied() -> None:
    space = Space("jobs")
    firsts: tuple[Term, ...] = ("job", t.room(1), 17)
    for count, first in enumerate(firsts):
        space.put(Record((first, count), "ann", count, "ann", "ann"), now=0)
    hearer = Hearer(space)
    held = [("job", ANY), (t.room(2), ANY), (17, 3), (ANY, 9), (str, ANY)]
    absent = [("mail", ANY), (t.hall(1), ANY), (18, 3), (ANY,), ("job",), (True, 1)]
    assert [hearer.may_have(Template.of(one)) for one in held] == [True] * len(held)
    assert [hearer.may_have(Template.of(one)) for one in absent] == [False] * len(absent)


def test_of_many_first_fields_only_that_they_are_many_is_told_until_they_are_few_for_long() -> None:
    space = Space("jobs")
    hearer = Hearer(space)
    records = [Record((count, "x"), "ann", count, "ann", "ann") for count in range(2 * KINDS_MAX)]
    for record in records:
        space.put(record, now=0)
    hearer.hear()
    assert hearer.known == {width_kind(2), many_kind(2)}
    noted = hearer.noted
    assert noted <= module.FIRSTS_MAX + 1
    for record in records[1:]:
        space.remove(record)
    for _ in range(module.PAUSE_MIN):
        hearer.hear()
        assert hearer.known == {width_kind(2), many_kind(2)}
        hearer.kinds.sweep()
    hearer.hear()
    assert hearer.known == {width_kind(2), asked_kind(Template.of((0, ANY)))}


def test_of_very_many_broken_numbers_not_all_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are all of one kind, so no other bound ends the look."""
    monkeypatch.setattr(module, "LOOKED_MAX", 10)
    for count, known in ((10, {width_kind(2), asked_kind(Template.of((0.5, ANY)))}),
                         (11, {width_kind(2), many_kind(2)})):  # fmt: skip
        space = Space("jobs")
        for number in range(count):
            space.put(Record((number + 0.5, 1), "ann", number, "ann", "ann"), now=0)
        assert Hearer(space).known == known


def test_a_kind_that_is_there_is_noted_once() -> None:
    space = Space("jobs")
    hearer = Hearer(space)
    for count in range(100):
        record = Record(("job", count), "ann", count, "ann", "ann")
        space.put(record, now=0)
        space.remove(record)
    assert hearer.noted == 1
    space.ignore_kinds()
    space.put(Record(("mail", 1), "ann", 100, "ann", "ann"), now=0)
    assert hearer.noted == 1


def test_a_kind_is_the_same_number_in_every_process_and_version() -> None:
    asked = [("job", ANY), (17, ANY), (True,), (t.room(ANY), 1, 2), (HUGE,), (ANY, "job")]
    assert [asked_kind(Template.of(one)) for one in asked] == [
        0xDE4CFDC03F7F06EE,
        0xE7BF8EF9657D50A5,
        0x880FBE207EF5F9B4,
        0xCF24AC14F83BD5A6,
        0xDAA57A6751760BD5,
        5,
    ]
