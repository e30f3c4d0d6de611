"""Matchers for a live space: their plans are bounded, and shared by questions that are alike.

A plan may need hundreds of networks where a template asks for one class many times. No write may
wait for that: sets are looked for up to the size at which `NETWORKS_MAX` networks are enough, and
`complete` says up to which.

A thousand agents may each wait for the papers of a car of their own. What is planned and compiled
for one of them is right for all but for the ids, which loops look up by name; so a question is
planned with places for its ids, and each matcher has the same code with ids of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from nomospace.meaning.facts import Facts, id_key
from nomospace.meaning.memory.compiling import Loops
from nomospace.meaning.memory.matcher import Matcher, ReadyNetwork
from nomospace.meaning.plan import TupleNetwork
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import ClassField, Field, Question
from nomospace.terms import MISSING, Compound, Term
from nomospace.terms.values import parts_of

NETWORKS_MAX: Final = 64
"""Networks that a live space plans for one question, of all sizes together."""
STEPS_MAX: Final = 300
"""Steps of looking for them that it takes: less than ten milliseconds, and nobody waits longer."""
PLACE: Final = "place of an id"
"""The name of the term that stands for an id, with its number; no wire carries it."""


def without_ids(question: Question) -> tuple[Question, tuple[Term, ...]]:
    """A question with places instead of ids, and the ids.

    >>> from nomospace.meaning.question import parse_template
    >>> alike, ids = without_ids(parse_template("(Car = c1, Tax)"))
    >>> alike == without_ids(parse_template("(Car = c2, Tax)"))[0], ids
    (True, ('c1',))
    """
    ids: list[Term] = []
    fields: list[Field] = []
    for field in question.fields:
        if isinstance(field, ClassField) and field.id is not MISSING:
            ids.append(field.id)
            field = field._replace(id=Compound(PLACE, (len(ids) - 1,)))
        fields.append(field)
    return question._replace(fields=tuple(fields)), tuple(ids)


def _place_of(standing: Term) -> int:
    """The number in a term that stands for an id."""
    number = parts_of(standing)[0]
    assert isinstance(number, int)
    return number


SETS_MAX: Final = 2_500
"""The most sets that a question for all of them is answered with: they are told in one step."""


class BoundedMatcher(Matcher):
    """A matcher whose plan is cut where it would be too large, and that finds so many sets."""

    sets_max = SETS_MAX

    def __init__(self, question: Question, facts: Facts) -> None:
        super().__init__(question, facts)
        self.complete = question.max_set
        """Up to which size all sets are found; at most what was asked for."""
        self._counted = -1

    def planned(self) -> Planner:
        """A planner that gives up early."""
        return Planner(
            self.question,
            self.facts.ontology,
            self.facts.known(),
            steps_max=STEPS_MAX,
            networks_max=NETWORKS_MAX,
        )

    def ready(self, size: int) -> list[ReadyNetwork]:
        """The networks for sets of a size; none for sizes that are cut."""
        if self._counted != self.facts.version:
            self._counted = self.facts.version
            self.complete = self.question.max_set
        if size > self.complete:
            return []
        found = super().ready(size)
        if size > 1 and sum([len(self._ready.get(n, ())) for n in range(size + 1)]) > NETWORKS_MAX:
            self.complete = size - 1
            return []
        return found


class Alike(BoundedMatcher):
    """A matcher that has its plan and its loops from another, made for places of ids."""

    def __init__(
        self, question: Question, facts: Facts, model: BoundedMatcher, ids: tuple[Term, ...]
    ) -> None:
        super().__init__(question, facts)
        self._model = model
        self._ids = ids
        self._bound: dict[int, list[ReadyNetwork]] = {}
        self._bound_version = -1

    @property
    def planner(self) -> Planner:
        """The planner of all questions like this one."""
        return self._model.planner

    def ready(self, size: int) -> list[ReadyNetwork]:
        """The networks for sets of a size, with the ids of this question."""
        if self._bound_version != self.facts.version:
            self._bound_version = self.facts.version
            self._bound.clear()
        found = self._bound.get(size)
        if found is None:
            models = self._model.ready(size)
            self.complete = self._model.complete
            found = self._bound[size] = [self._bind(one) for one in models]
        return found

    def _bind(self, model: ReadyNetwork) -> ReadyNetwork:
        needs = tuple(
            [
                need._replace(asks=asks._replace(id=self._ids[_place_of(asks.id)]))
                if isinstance(asks := need.asks, ClassField) and asks.id is not MISSING
                else need
                for need in model.network.needs
            ]
        )
        return _Bound(self.question, model.network._replace(needs=needs), self.facts, model)


class _Bound(ReadyNetwork):
    """A network with ids, whose loops are those of the network with places for them."""

    def __init__(
        self, question: Question, network: TupleNetwork, facts: Facts, model: ReadyNetwork
    ) -> None:
        super().__init__(question, network, facts)
        self._from = model

    def loops(self, start: int) -> Loops:
        """The loops from a start node."""
        found = self._loops.get(start)
        if found is None:
            shared: Any = self._from.loops(start)
            names = dict(shared.__globals__)
            for need in self.network.needs:
                if isinstance(need.asks, ClassField) and need.asks.id is not MISSING:
                    names[f"I{need.number}"] = id_key(need.asks.id)
            for node in range(self.network.size):
                if f"A{node}" in names:
                    names[f"A{node}"] = self._start(node)
            made: Any = FunctionType(shared.__code__, names)
            found = self._loops[start] = made
        return found

    def _start(self, node: int) -> Callable[[], list[Any]]:
        return lambda: list(self.compiler.start_rows(node))
