"""Sets of tuples that answer a question together, looked for in one space, in slices.

`correlating` knows which tuples answer together; here its facts are kept to what lies in the space
and has not expired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nomospace.meaning.ontology import Ontology
from nomospace.space.asking import EVERYONE, Gathering, Scope, SetQuestion
from nomospace.space.records import Record, TupleId
from nomospace.space.search import FACT_UNITS, SetSearch, Unfinished
from nomospace.space.store import SpaceRecords
from nomospace.space.stored import EngineRecords
from nomospace.terms.budget import Slice

if TYPE_CHECKING:
    from nomospace.space.correlating import Correlating, QuestionGroup

SCOPES_MAX: Final = 16
"""Agents whose tuples are kept as facts of their own while nobody waits for sets of them."""
FACTS_AT_ONCE: Final = 64
"""Tuples that are facts as soon as one waits for sets; more are taken in slice by slice."""


class SetSearches:
    """The sets of tuples in one space, for those who ask."""

    __slots__ = ("_in_memory", "_ontology", "_store")

    def __init__(self, store: EngineRecords, ontology: Ontology) -> None:
        self._in_memory = isinstance(store, SpaceRecords)
        self._store = store
        self._ontology = ontology

    def gather(self, ask: SetQuestion, *, now: int, slice: Slice | None = None) -> Gathering | None:
        """The set of tuples that answers a question together before all others, if one does.

        Only sets: a single tuple that answers is for `Space.find`. None of them is lent out, or
        past its expiry at `now`. Raises `BadQuestion` for one that means nothing, `Unfinished` when
        it takes more than is left of a slice, and `CorrelationTooDear` past what one may cost.
        """
        found = self.go_on(SetSearch(ask), now=now, slice=slice)
        return found[0] if found else None

    def gather_all(
        self, ask: SetQuestion, *, now: int, slice: Slice | None = None
    ) -> list[Gathering]:
        """All sets that answer a question together, in the order of their tuples' ids."""
        return self.go_on(SetSearch(ask, every=True), now=now, slice=slice)

    def go_on(self, search: SetSearch, *, now: int, slice: Slice | None = None) -> list[Gathering]:
        """Go on with looking for sets: the first, or every one."""
        if slice is None:
            while True:
                try:
                    return self.go_on(search, now=now, slice=Slice())
                except Unfinished:
                    continue
        began = slice.left
        facts = self.facts(search.ask.scope, slice)
        if not facts.whole:
            self._take_in(facts, slice)
        if not facts.whole:
            search.pay(began - slice.left)
            raise Unfinished(search=search)
        while True:
            found = facts.go_on(search, slice)
            search.pay(began - slice.left)
            began = slice.left
            if found is None:
                raise Unfinished(search=search)
            if self._are_current(facts, found, now):
                return found
            search.steps = None

    def complete(self, ask: SetQuestion) -> int:
        """Up to how many tuples sets are looked for: fewer than asked for where plans grow large.

        What is left out would take a plan of too many joins: ask for fewer fields of one class, or
        with a key.
        """
        return self.facts(ask.scope).complete(ask)

    def completed(
        self, facts: Correlating, group: QuestionGroup, record: Record, now: int
    ) -> Gathering | None:
        """The set with a tuple in it that answers a question with which someone waits."""
        while (found := facts.completed(group, record)) is not None:
            if self._are_current(facts, [found], now):
                break
        return found

    def records(self, gathering: Gathering) -> tuple[Record, ...]:
        """The tuples of a set."""
        return tuple([self._at(id) for id in gathering.ids])

    def facts(self, scope: Scope = EVERYONE, slice: Slice | None = None) -> Correlating:
        """The tuples as facts; they are taken in when sets are first looked for, in a slice."""
        known = self._store.sets
        facts = known.get(scope)
        if facts is None:
            from nomospace.space.correlating import Correlating  # the planner with it: on use

            idle = [one for one, its in known.items() if one != EVERYONE and not its.waits]
            for one in idle[: max(0, len(idle) - SCOPES_MAX + 1)]:
                del known[one]
            # None are looked for among tuples that lie in the store.
            whole = not self._in_memory
            facts = known[scope] = Correlating(self._ontology, whole=whole, scope=scope)
            if self._in_memory:
                self._take_in(facts, slice or Slice(FACTS_AT_ONCE * FACT_UNITS))
        return facts

    def _take_in(self, facts: Correlating, slice: Slice) -> None:
        """Go on taking tuples in as facts, as far as a slice goes."""
        for record in self._store.objects.everything(facts.after):
            if slice.left <= 0:
                return
            slice.left -= facts.take_in(record)
        facts.whole = True

    def _are_current(self, facts: Correlating, found: list[Gathering], now: int) -> bool:
        """Whether no tuple in what was found is past its expiry; one that is, is a fact no more."""
        late = [
            one for each in found for id in each.ids if 0 < (one := self._at(id)).expires <= now
        ]
        for record in late:
            facts.drop(record)
        return not late

    def _at(self, id: TupleId) -> Record:
        record = self._store.get(id)
        assert record is not None, "facts are what lies in the space"
        return record
