"""Sets of tuples that answer a template together, found now or waited for.

What counts as such a set, and how it is found, is said in `nomospace.meaning`; here the tuples of a
space are its facts. They are gathered when the space is first asked for sets, once, and kept up to
date from then on: a space that is never asked pays nothing.

A question that waits is not planned anew as tuples come. Its networks stand ready, and a new tuple
is taken for each place in them where it could be; the rest is joined from there, outwards, through
the indexes. A set that was not there before must hold the new tuple, so none is missed.

Nor are all questions looked at for each tuple. One that names an object by its id can be answered
only by tuples that hang together with that object. So the objects within its *reach* are noted: the
one it names, those that stand in a tuple with it, and so on; and a tuple that holds none of them is
none of its business. Past `REACH_MAX` objects, without an id, or where values are computed, a
question is looked at for every tuple that holds an object.

Those who ask the same question share all of this.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from sys import maxsize
from typing import Any, Final, TypeVar

from nomospace.calls.problems import CorrelationTooDear
from nomospace.meaning.answers import MeaningAnswer
from nomospace.meaning.facts import FactRow, Facts, id_key
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import CORRELATION
from nomospace.meaning.question import ClassField, Question
from nomospace.space.alike import Alike, BoundedMatcher, without_ids
from nomospace.space.asking import EVERYONE, Gathering, Name, Scope, SetQuestion, in_scope
from nomospace.space.records import Record, TupleId
from nomospace.space.search import FACT_UNITS, FIRST_UNITS_MAX, SetSearch
from nomospace.terms import MISSING, Compound, is_object
from nomospace.terms.budget import Slice
from nomospace.terms.values import weight

MATCHERS_MAX: Final = 256
"""Questions whose plans are kept ready while nobody waits with them."""
K = TypeVar("K")
ROWS_MAX: Final = 10_000
"""Sets that are looked at for the least one, where a tuple completes very many at once."""
COMPLETED_UNITS_MAX: Final = 20_000
"""What it may cost to see whether a tuple, just come, completes a set for one who waits."""
TOLD_UNITS: Final = 400
"""What it costs to tell what a set answers with, and why."""
PASSED_UNITS: Final = 4
"""What it costs to see that a tuple is none that questions are about."""
REACH_MAX: Final = 256
"""Objects that one waiting question notes."""
SHAPES_MIN: Final = 1_024
"""Shapes of tuples that are remembered even when no tuple has them."""


class QuestionGroup:
    """All who wait with one question."""

    __slots__ = ("anchor", "matcher", "name", "reach", "waiters")

    def __init__(self, name: Name, matcher: BoundedMatcher) -> None:
        self.name = name
        self.matcher = matcher
        self.anchor = _anchor(matcher.question, matcher.facts.ontology)
        self.reach: dict[Hashable, None] = {}
        self.waiters: dict[int, Hashable] = {}  # tickets by the order in which they came


class Correlating:
    """The facts of one space, and the questions that wait for sets of them."""

    def __init__(self, ontology: Ontology, *, whole: bool = True, scope: Scope = EVERYONE) -> None:
        self._ontology = ontology
        self._scope = scope
        self.whole = whole
        """Whether all tuples of the space are taken in; else those up to the one of `after`."""
        self.after = 0
        self.spent = 0
        """What it has cost to see what a tuple completes, the last time."""
        self._facts = Facts(ontology, steady=True)
        self._shapes_max = SHAPES_MIN
        self._matchers: dict[Name, BoundedMatcher] = {}
        self._models: dict[bytes, BoundedMatcher] = {}
        self._groups: dict[Name, QuestionGroup] = {}
        self._open: dict[Name, QuestionGroup] = {}  # those that are looked at for every tuple
        self._watched: dict[Hashable, dict[Name, QuestionGroup]] = {}

    # -- facts -------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        """A tuple lies in the space, or lies there again."""
        if not self.whole and record.order > self.after:
            return  # it is taken in when those before it are
        if in_scope(record, self._scope) and any(map(is_object, record.fields)):
            self._facts.add(_fact_id(record.id), record.fields)
            if len(self._facts.shapes) > self._shapes_max:
                self._refresh()

    def take_in(self, record: Record) -> int:
        """The next of the tuples that lay there before sets were first asked for; what it cost."""
        self.after = record.order
        if not in_scope(record, self._scope):
            return PASSED_UNITS
        self.add(record)
        large = [weight(field) for field in record.fields if type(field) is Compound]
        return FACT_UNITS + sum(large) // 16

    def drop(self, record: Record) -> None:
        """A tuple is gone, or cannot be part of an answer any more."""
        id = _fact_id(record.id)
        if id in self._facts.rows:
            self._facts.remove(id)

    def _refresh(self) -> None:
        """Forget shapes that no tuple has: anyone may make up classes."""
        fresh = Facts(self._ontology, steady=True)
        for row in self._facts.rows.values():
            fresh.add(row.id, row.fields)
        self._facts = fresh
        self._shapes_max = max(SHAPES_MIN, 2 * len(fresh.shapes))
        self._matchers.clear()
        self._models.clear()
        for group in self._groups.values():
            group.matcher = self._made(group.matcher.question)

    # -- asking ------------------------------------------------------------------------------

    def first(self, ask: SetQuestion) -> Gathering | None:
        """The set that answers before all others, if one does; raises `CorrelationTooDear`."""
        found = self.go_on(SetSearch(ask), Slice(FIRST_UNITS_MAX))
        if found is None:
            raise CorrelationTooDear(limit=FIRST_UNITS_MAX)
        return found[0] if found else None

    def every(self, ask: SetQuestion) -> list[Gathering]:
        """All sets that answer; raises `CorrelationTooDear`."""
        found = self.go_on(SetSearch(ask, every=True), Slice(FIRST_UNITS_MAX))
        if found is None:
            raise CorrelationTooDear(limit=FIRST_UNITS_MAX)
        return found

    def go_on(self, search: SetSearch, slice: Slice) -> list[Gathering] | None:
        """Go on with looking for sets; `None` when the slice is used up before the end."""
        facts = self._facts
        steps = search.steps
        if steps is None or search.facts is not facts or search.changes != facts.changes:
            steps = search.steps = (
                self._every(search.ask) if search.every else self._one(search.ask)
            )
            search.facts, search.changes = facts, facts.changes
        facts.slice = slice
        try:
            next(steps)
        except StopIteration as end:
            search.steps = None
            found: list[Gathering] = end.value
            return found
        finally:
            facts.slice = Slice(maxsize)
        return None

    def _one(self, ask: SetQuestion) -> Generator[None, None, list[Gathering]]:
        """The set that answers before all others; for a question that is auto, only a set."""
        found = yield from self._matcher(ask).first_in_slices()
        return [] if found is None or found.kind != CORRELATION else [_gathered(found)]

    def _every(self, ask: SetQuestion) -> Generator[None, None, list[Gathering]]:
        """All sets that answer; for a question that is auto, only where no single tuple does."""
        matcher = self._matcher(ask)
        answers = yield from matcher.all_in_slices(alone=False)
        sets, most = answers.items, matcher.sets_max
        if len(sets) > most:
            raise CorrelationTooDear(what="the number of sets that answer", limit=most)
        told: list[Gathering] = []
        for one in sets:
            self._facts.slice.left -= TOLD_UNITS
            if self._facts.slice.left < 0:
                yield
            told.append(_gathered(one))
        return told

    def complete(self, ask: SetQuestion) -> int:
        """Up to which size sets are looked for: less than was asked for where plans grow large."""
        matcher = self._matcher(ask)
        for size in range(ask.max_set + 1):
            matcher.ready(size)
        return min(matcher.complete, matcher.planner.complete)

    def _matcher(self, ask: SetQuestion) -> BoundedMatcher:
        name = ask.name
        group = self._groups.get(name)
        if group is not None:
            return group.matcher
        found = self._matchers.pop(name, None)
        if found is None:
            found = self._made(ask.question())
        _keep(self._matchers, name, found)
        return found

    def _made(self, question: Question) -> BoundedMatcher:
        """A matcher; the plan is that of all questions that differ only in ids."""
        alike, ids = without_ids(question)
        if not ids:
            return BoundedMatcher(question, self._facts)
        name = alike.name
        model = self._models.pop(name, None) or BoundedMatcher(alike, self._facts)
        _keep(self._models, name, model)
        return Alike(question, self._facts, model, ids)

    # -- waiting -----------------------------------------------------------------------------

    def wait(self, ask: SetQuestion, order: int, ticket: Hashable) -> Name:
        """Let someone wait for a set, in the turn that a number gives; raises `BadQuestion`."""
        name = ask.name
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = QuestionGroup(name, self._matcher(ask))
            self._matchers.pop(name, None)
            if group.anchor is None or not self.whole:
                self._open[name] = group
            else:
                self._watch(group, group.anchor)
                self._extend(group, self._holding(group.anchor))
        group.waiters[order] = ticket
        return name

    @property
    def waits(self) -> bool:
        """Whether someone waits with a question."""
        return bool(self._groups)

    def cancel(self, name: Name, order: int) -> None:
        """Let someone wait no longer."""
        group = self._groups[name]
        del group.waiters[order]
        if not group.waiters:
            del self._groups[name]
            self._let_go(group)
            _keep(self._matchers, name, group.matcher)

    def _let_go(self, group: QuestionGroup) -> None:
        """Look at a question for nothing any more."""
        self._open.pop(group.name, None)
        for key in group.reach:
            watching = self._watched[key]
            del watching[group.name]
            if not watching:
                del self._watched[key]
        group.reach.clear()

    def touched(self, record: Record) -> Iterator[QuestionGroup]:
        """The questions that a tuple, just come, may complete, those first that waited first."""
        row = self._facts.rows.get(_fact_id(record.id))
        if row is None or not self._groups:
            return
        found = dict(self._open)
        for key in self._keys(row):
            found.update(self._watched.get(key, {}))
        for group in sorted(found.values(), key=_turn):
            if group.name not in self._open:
                self._extend(group, (row,))
            yield group

    def completed(self, group: QuestionGroup, record: Record) -> Gathering | None:
        """The least set with a tuple in it that answers a waiting question."""
        with self._within(COMPLETED_UNITS_MAX):
            for sets in self._with(group, record):
                if sets:  # larger ones are not looked for
                    return self._told(group, min(sets, key=_orders))
        return None

    def completions(self, group: QuestionGroup, record: Record) -> list[Gathering]:
        """All sets with a tuple in them that answer a waiting question, the least first."""
        with self._within(COMPLETED_UNITS_MAX):
            return [
                self._told(group, rows)
                for sets in self._with(group, record)
                for rows in sorted(sets, key=_orders)
            ]

    def _with(self, group: QuestionGroup, record: Record) -> Iterator[list[tuple[FactRow, ...]]]:
        """For each size the sets with a tuple in them."""
        row = self._facts.rows.get(_fact_id(record.id))
        if row is None:
            return
        matcher = group.matcher
        for size in range(1, matcher.question.max_set + 1):
            sets: list[tuple[FactRow, ...]] = []
            for found in islice(matcher.with_row(row, size), ROWS_MAX):
                if found is None:
                    raise CorrelationTooDear(
                        what="looking at what one tuple completes, in units,",
                        limit=COMPLETED_UNITS_MAX,
                    )
                if found[0] == CORRELATION:
                    sets.append(found[1])
            yield sets

    def _told(self, group: QuestionGroup, rows: tuple[FactRow, ...]) -> Gathering:
        return _gathered(MeaningAnswer(CORRELATION, rows, group.matcher.assigner))

    @contextmanager
    def _within(self, units: int) -> Iterator[None]:
        """Look at facts for so many units."""
        self._facts.slice = Slice(units)
        try:
            yield
        finally:
            self.spent = units - self._facts.slice.left
            self._facts.slice = Slice(maxsize)

    # -- reach -------------------------------------------------------------------------------

    def _watch(self, group: QuestionGroup, key: Hashable) -> None:
        group.reach[key] = None
        self._watched.setdefault(key, {})[group.name] = group

    def _keys(self, row: FactRow) -> Iterator[Hashable]:
        """What the objects of a tuple are noted by: each by its class and key, and by its id."""
        for class_name, key in zip(self._facts.shapes[row.form], row.keys, strict=True):
            if key is not None:
                yield class_name, key
                yield key

    def _holding(self, anchor: Any) -> list[FactRow]:
        """The tuples that hold an object of an id, of whatever class."""
        return [row for name in self._facts.objects for row in self._facts.holding(name, anchor)]

    def _extend(self, group: QuestionGroup, rows: Iterable[FactRow]) -> None:
        """Note what hangs together with tuples that a question reaches."""
        todo = list(rows)
        while todo:
            row = todo.pop()
            for class_name, key in zip(self._facts.shapes[row.form], row.keys, strict=True):
                if key is None or (class_name, key) in group.reach:
                    continue
                if len(group.reach) >= REACH_MAX:
                    self._let_go(group)
                    self._open[group.name] = group
                    return
                self._watch(group, (class_name, key))
                todo += self._facts.holding(str(class_name), key)


def _anchor(question: Question, ontology: Ontology) -> Hashable | None:
    """The id that a question hangs on; none when it names none, or when values are computed."""
    fields = [field for field in question.fields if isinstance(field, ClassField)]
    for field in fields if ontology.computes else ():
        if any(ontology.depends(name) for name in sorted(ontology.accepted(field.class_name))):
            return None
    return next((id_key(field.id) for field in fields if field.id is not MISSING), None)


def _gathered(answer: MeaningAnswer) -> Gathering:
    ids = tuple([_tuple_id(row.id) for row in answer.rows])
    return Gathering(ids, *answer.told())


def _fact_id(id: TupleId) -> str:
    """A tuple's id as facts have it: with explanations in mind.

    >>> _fact_id(("ann@ward", 3)), _tuple_id("ann@ward/3")
    ('ann@ward/3', ('ann@ward', 3))
    """
    return f"{id[0]}/{id[1]}"


def _tuple_id(id: str) -> TupleId:
    writer, _, count = id.rpartition("/")
    return writer, int(count)


def _keep(matchers: dict[K, BoundedMatcher], name: K, matcher: BoundedMatcher) -> None:
    """Have a matcher at hand, as the last in use; the one longest unused makes room."""
    if len(matchers) >= MATCHERS_MAX:
        del matchers[next(iter(matchers))]
    matchers[name] = matcher


def _turn(group: QuestionGroup) -> int:
    return next(iter(group.waiters))


def _orders(rows: tuple[FactRow, ...]) -> list[int]:
    return [row.order for row in rows]
