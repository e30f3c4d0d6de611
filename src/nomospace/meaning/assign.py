"""Which objects of a set of tuples serve which fields of a template: the least choice.

A set may serve a template in several ways; one is the answer's. Choices are compared field by
field, in the template's order: the template's own class comes first, then the tuple's id, then the
position. Of ways to compute an object the one with the earlier functions comes first, then that
whose inputs, in the order in which the functions name their classes, are less by the same rule.

This is also the last word on whether tuples are an answer at all: `QuestionAssigner.least` finds
nothing in tuples that do not serve every field, or do not hang together. It looks at a handful of
tuples at a time and tries all choices in order; finding the tuples is the engines' work.

How an object is computed ("Semantic Tuplespace", Definitions 1, 8 and 9):

- a class can be computed when each property that has functions gets a value from one of them;
- each class that the chosen functions name stands for one object, an object of the set or, where
  the set has none of that class, a computed one; at least one class must be named;
- properties of the computed object that a `when` sets equal to something get that value; then every
  comparison of every `when` must hold. A function without a value is no choice;
- a field is computed only when no object of the set is accepted by it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import product
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from nomospace.meaning.facts import FactRow, object_key, value_at
from nomospace.meaning.joining import JoinedSets
from nomospace.meaning.ontology import Dependence, Input, Ontology, Operand, Tie
from nomospace.meaning.question import (
    ClassField,
    Field,
    Question,
    TypeField,
    object_test,
    value_test,
)
from nomospace.terms.conditions import Test, holds
from nomospace.terms.objects import MISSING, Missing, Object, class_of, is_object
from nomospace.terms.values import ObjectTerm, Term

PROBLEMS_MAX: Final = 100
"""How many different problems are reported of one question."""


class ServingField(NamedTuple):
    """A field of a tuple that serves."""

    row: FactRow
    at: int

    @property
    def value(self) -> Term:
        """As questions see it."""
        return self.row.seen[self.at]

    @property
    def key(self) -> Term:
        """What makes an object the same as another of its class; `None` for a plain value."""
        return self.row.keys[self.at]


class Made(NamedTuple):
    """A computed object that serves."""

    class_name: str
    value: Term
    steps: tuple[Dependence, ...]
    inputs: tuple[tuple[str, Choice], ...]
    """The object of each class that the steps name."""


Choice: TypeAlias = ServingField | Made
Assignment: TypeAlias = tuple[Choice, ...]
"""What serves each field of the template, in its order."""


class _Asked(NamedTuple):
    """A field of the template, ready to be tried."""

    field: Field
    names: Container[str]
    """The class names it accepts, as tuples may write them; empty for a plain field."""
    canonical: str
    test: Test | None
    computable: bool


class QuestionAssigner:
    """Finds the least assignment of a question in tuples.

    >>> from nomospace.meaning.ontology import PLAIN
    >>> from nomospace.meaning.facts import Fact, Facts
    >>> from nomospace.meaning.question import parse_template
    >>> from nomospace.terms import obj
    >>> facts = Facts.of([Fact("t1", (obj("Car", "A"), 7)), Fact("t2", (obj("Car", "A"), "x"))])
    >>> assigner = QuestionAssigner(parse_template("(Car, int, str)"), PLAIN)
    >>> found = assigner.least(list(facts.rows.values()), single=False)
    >>> [(one.row.id, one.at) for one in found]
    [('t1', 0), ('t1', 1), ('t2', 1)]
    """

    def __init__(self, question: Question, ontology: Ontology) -> None:
        self.question = question
        self.ontology = ontology
        self.problems: dict[str, None] = {}
        """What went wrong without stopping it: functions that raised."""
        self.fields = tuple([self._asked(field) for field in question.fields])
        self.positional = question.positional

    def _report(self, problem: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems[problem] = None

    def _asked(self, field: Field) -> _Asked:
        if not isinstance(field, ClassField):
            return _Asked(field, frozenset(), "", value_test(field), computable=False)
        canonical = self.ontology.canonical(field.class_name) or field.class_name
        return _Asked(
            field,
            self.ontology.accepting(field.class_name),
            canonical,
            object_test(field),
            computable=field.id is MISSING and bool(self.ontology.depends(canonical)),
        )

    def least(
        self, rows: Sequence[FactRow], *, single: bool, hang: bool = False
    ) -> Assignment | None:
        """The least assignment, or none where the tuples are no answer.

        `single` is for one tuple by itself, an exact or semantic answer: different fields are
        enough, where a set needs different objects, and nothing is computed. With `hang` the
        tuples are known to be an answer; then only ties are looked at, which depend on the choice.
        """
        rows = sorted(rows, key=attrgetter("id"))
        if self.positional:
            return self._positional(rows[0]) if single and len(rows) == 1 else None
        keyed = self.question.key is not None
        if keyed and not single and not hang and not self._keyed(rows):
            return None
        choices: list[list[ServingField] | None] = []
        for asked in self.fields:
            direct = self.direct(asked, rows)
            if direct:
                choices.append(direct)
            elif single or not asked.computable:
                return None
            else:
                choices.append(None)
        ties = not single and not keyed and None in choices
        if not (single or hang or keyed or ties or self.hangs(rows, ())):
            return None  # only ties can join what shares nothing, and only computing brings ties
        for found in self._complete(choices, rows, [], single):
            if not ties or self.hangs(rows, found):
                return found
        return None

    def may_serve(self, rows: Sequence[FactRow]) -> bool:
        """Quickly: whether tuples, or some of them, have something for every field."""
        return all(asked.computable or self.direct(asked, rows) for asked in self.fields)

    def _positional(self, row: FactRow) -> Assignment | None:
        if len(row.seen) != len(self.fields):
            return None
        for asked, value in zip(self.fields, row.seen, strict=True):
            if is_object(value) and asked.field != TypeField("any"):
                return None
            assert asked.test is not None
            if not asked.test(value):
                return None
        return tuple([ServingField(row, at) for at in range(len(row.seen))])

    def direct(self, asked: _Asked, rows: Sequence[FactRow]) -> list[ServingField]:
        """The fields of tuples, least first, that a template's field accepts."""
        own: list[ServingField] = []
        other: list[ServingField] = []
        names, named, test = asked.names, bool(asked.canonical), asked.test
        for row in rows:
            keys = row.keys
            for at, value in enumerate(row.seen):
                if (keys[at] is None) is named:
                    continue  # a plain value where an object is asked for, or the other way round
                if named and class_of(value) not in names:
                    continue
                if test is None or test(value):
                    mine = not named or self._canonical(class_of(value)) == asked.canonical
                    (own if mine else other).append(ServingField(row, at))
        return own + other

    def _canonical(self, name: str) -> str:
        return self.ontology.canonical(name) or name

    def identity(self, value: ObjectTerm) -> tuple[str, Term]:
        """What makes an object the same as another: its class and its key."""
        return self._canonical(value.args[0]), object_key(value)

    # Trying.

    def _complete(
        self,
        choices: list[list[ServingField] | None],
        rows: Sequence[FactRow],
        chosen: list[Choice],
        single: bool,
    ) -> Iterator[Assignment]:
        number = len(chosen)
        if number == len(choices):
            yield tuple(chosen)
            return
        direct = choices[number]
        asked = self.fields[number]
        found: Iterator[Choice] | list[ServingField]
        if direct is not None:
            found = direct
        else:
            found = self.computed(asked.canonical, rows, asked.test)
        for choice in found:
            if isinstance(choice, ServingField) and not self._differs(choice, chosen, single):
                continue
            chosen.append(choice)
            yield from self._complete(choices, rows, chosen, single)
            chosen.pop()

    def _differs(self, choice: ServingField, chosen: list[Choice], single: bool) -> bool:
        """Whether a choice goes with those for the fields before it."""
        key = choice.key
        for before in chosen:
            if isinstance(before, Made):
                continue
            if before.row is choice.row:
                if before.at == choice.at:
                    return False
                if key is None and before.at > choice.at and before.key is None:
                    return False
            if key is not None and not single and before.key == key:
                mine, its = class_of(choice.value), class_of(before.value)
                if self.ontology.same_class(mine, its):
                    return False
        return True

    # Computing.

    def computed(
        self, class_name: str, rows: Sequence[FactRow], test: Test | None = None
    ) -> Iterator[Made]:
        """The ways to compute an object of a class from tuples, least first."""
        depends = self.ontology.depends(class_name)
        for steps in product(*depends.values()):
            names = tuple(dict.fromkeys(name for step in steps for name in step.inputs))
            if not names:
                continue  # it would come from nothing, and go with every tuple
            inputs = [self._inputs(name, rows) for name in names]
            if not all(inputs):
                continue
            for bound in product(*inputs):
                value = self._value(class_name, steps, dict(zip(names, bound, strict=True)))
                if value is not None and (test is None or test(value)):
                    yield Made(class_name, value, steps, tuple(zip(names, bound, strict=True)))

    def _inputs(self, name: str, rows: Sequence[FactRow]) -> list[Choice]:
        asked = self._asked(ClassField(name))
        found: list[Choice] = [*self.direct(asked, rows)]
        if not found and asked.computable:
            found = [*self.computed(asked.canonical, rows)]
        return found

    def _value(
        self, class_name: str, steps: tuple[Dependence, ...], bound: dict[str, Choice]
    ) -> Term | None:
        """The object that functions make of their inputs, if they do and every tie holds."""
        properties: dict[str, Term] = {}
        for step in steps:
            given = [_operand(side, step.owner, properties, bound) for side in step.arguments]
            value = self.ontology.functions.apply(step.function, given, report=self._report)
            if value is MISSING:
                return None
            properties[step.property] = value
        ties = [(step.owner, tie) for step in steps for tie in step.when]
        for owner, tie in ties:
            for name, other in tie.gives(owner):
                found = _operand(other, owner, properties, bound)
                if found is not MISSING:
                    properties.setdefault(name, found)
        for owner, tie in ties:
            left = _operand(tie.left, owner, properties, bound)
            if not holds(left, tie.sign, _operand(tie.right, owner, properties, bound)):
                return None
        return Object(class_name, None, properties).term

    # Hanging together.

    def shares(self, rows: Sequence[FactRow]) -> dict[tuple[str, Term], list[FactRow]]:
        """The objects that tuples hold, each with those that hold it."""
        held: dict[tuple[str, Term], list[FactRow]] = {}
        for row in rows:
            for value, key in zip(row.seen, row.keys, strict=True):
                if key is not None:
                    holders = held.setdefault((self._canonical(class_of(value)), key), [])
                    if not holders or holders[-1] is not row:
                        holders.append(row)
        return held

    def _keyed(self, rows: Sequence[FactRow]) -> bool:
        """Whether all tuples hold one same object of the key's class."""
        assert self.question.key is not None
        names = self.ontology.accepting(self.question.key)
        return any(
            len(holders) == len(rows) and identity[0] in names
            for identity, holders in self.shares(rows).items()
        )

    def hangs(self, rows: Sequence[FactRow], assignment: Assignment) -> bool:
        """Whether the tuples are joined by the objects they share and the ties in use."""
        joined = JoinedSets[int]()
        for holders in self.shares(rows).values():
            for other in holders[1:]:
                joined.join(holders[0].order, other.order)
        for choice in assignment:
            if isinstance(choice, Made):
                for left, right, _ in tied(choice):
                    joined.join(_vertex(left), _vertex(right))
        return len({joined.find(row.order) for row in rows}) == 1


def tied(made: Made) -> Iterator[tuple[Choice, Choice, Tie]]:
    """The comparisons that tie two objects of a computation, that of its inputs included."""
    bound = dict(made.inputs)
    for _, choice in made.inputs:
        if isinstance(choice, Made):
            yield from tied(choice)
    for step in made.steps:
        named: dict[str, Choice] = {**bound, step.owner: made}
        for tie in step.when:
            if isinstance(tie.left, Input) and isinstance(tie.right, Input):
                left, right = named[tie.left.class_name], named[tie.right.class_name]
                if left is not right:
                    yield left, right, tie


def _vertex(choice: Choice) -> int:
    """A number for what a tie hangs on: orders of rows are positive, so others are negative."""
    return choice.row.order if isinstance(choice, ServingField) else -id(choice)


def _operand(
    side: Operand, owner: str, properties: dict[str, Term], bound: dict[str, Choice]
) -> Term | Missing:
    if not isinstance(side, Input):
        return side.value
    if side.class_name == owner:
        if side.path[0] not in properties:
            return MISSING
        return value_at(properties[side.path[0]], side.path[1:])
    return value_at(bound[side.class_name].value, side.path)
