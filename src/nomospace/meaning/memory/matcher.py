"""Running plans: all answers to a question, the first, or those that tuples bring."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import combinations, islice
from sys import maxsize
from typing import Any, Final, TypeVar

from nomospace.errors import LimitReached
from nomospace.meaning.answers import Answers, MeaningAnswer, in_order
from nomospace.meaning.assign import QuestionAssigner
from nomospace.meaning.facts import FactRow, Facts
from nomospace.meaning.memory.compiling import Compiler, Loops, in_turn
from nomospace.meaning.plan import CORRELATION, EXACT, SEMANTIC, Plan, TupleNetwork, why_cut
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import ClassField, Question, object_test
from nomospace.terms.budget import Slice

T = TypeVar("T")
ROWS_MAX: Final = 20_000_000
"""How many rows of networks are looked at for one question, repeats and sets that are too large
among them; beyond it the answers are cut."""
_AT_ONCE: Final = 10_000
"""So many rows are made before limits are looked at."""
_FEW_AT_ONCE: Final = 256
"""The same where others are to have their turn soon."""
_AT_ONCE_UNITS: Final = 1 << 40
LOOKED_MAX: Final = 2_000
"""Sets with one least tuple that are looked at for the least of them."""
LOOPS_UNITS: Final = 4_000
"""What it costs to make the loops of a network: a millisecond."""
_ROW_UNITS: Final = 4
_JUDGED_UNITS: Final = 200
_FEW: Final = 64
"""Where a network has a node with fewer tuples than this, `first` starts there."""


class MatchTooDear(LimitReached):
    """To find all answers among some tuples would cost too much at once."""

    code = "limits.match"
    what: str = "looking for all answers, in units,"
    advice: str = "give fewer tuples, name objects by their ids, or ask for fewer classes"


class Matcher:
    """A question asked of facts, again and again while they change.

    The plan and the loops made from it are kept for as long as they are good (`Facts.version`).

    >>> from nomospace.meaning.facts import Fact
    >>> from nomospace.meaning.question import parse_template
    >>> from nomospace.terms import obj
    >>> facts = Facts.of([
    ...     Fact("t1", (obj("Car", "A"), obj("Tax", "x"))),
    ...     Fact("t2", (obj("Car", "A"), obj("Loan", "y"))),
    ... ])
    >>> matcher = Matcher(parse_template("(Car, Tax, Loan)"), facts)
    >>> [answer.tuples for answer in matcher.all().items]
    [('t1', 't2')]
    >>> matcher.first().why
    't1 and t2 share Car A'
    """

    sets_max: int = maxsize
    """Past so many sets no more are looked for."""

    def __init__(self, question: Question, facts: Facts) -> None:
        self.question = question
        self.facts = facts
        self.assigner = QuestionAssigner(question, facts.ontology)
        self._planner: Planner | None = None
        self._version = -1
        self._ready: dict[int, list[ReadyNetwork]] = {}

    @property
    def planner(self) -> Planner:
        """The planner for the facts as they are."""
        if self._planner is None or self._version != self.facts.version:
            self._planner = self.planned()
            self._version = self.facts.version
            self._ready.clear()
        return self._planner

    def planned(self) -> Planner:
        """A planner for the facts as they are."""
        return Planner(self.question, self.facts.ontology, self.facts.known())

    @property
    def plan(self) -> Plan:
        """The whole plan for the facts as they are."""
        return self.planner.plan()

    def ready(self, size: int) -> list[ReadyNetwork]:
        """The networks for sets of a size, or for single tuples (0), ready to run."""
        planner = self.planner
        found = self._ready.get(size)
        if found is None:
            networks = planner.sets(size) if size else planner.singles
            found = [ReadyNetwork(self.question, network, self.facts) for network in networks]
            self._ready[size] = found
        return found

    def all(self, units: int = maxsize) -> Answers:
        """Every answer, sorted by the ids of its tuples; `MatchTooDear` past so many units."""
        return self._whole(self.all_in_slices(), Slice(units))

    def all_in_slices(self, *, alone: bool = True) -> Generator[None, None, Answers]:
        """The same, stopping whenever the slice of the facts is used up.

        Between two slices the facts must not change (`Facts.changes`). Tuples that answer `alone`
        may be left out of the answers, not out of what is looked for.
        """
        self.assigner.problems.clear()
        found: dict[tuple[FactRow, ...], str] = {}
        for one in self.ready(0):
            for rows in one.rows():
                if rows is None:
                    yield
                else:
                    found[rows] = one.network.kind
        cut = (yield from self._sets(found)) if self._asks_sets(alone=bool(found)) else ""
        if not alone:
            found = {rows: kind for rows, kind in found.items() if kind == CORRELATION}
        return self._answers(found, cut)

    def _whole(self, steps: Generator[None, None, T], slice: Slice, *, only: bool = True) -> T:
        """All slices of a piece of work, one after the other, or the `only` one that it has."""
        began = slice.left
        outer, self.facts.slice = self.facts.slice, slice
        try:
            while True:
                next(steps)
                if only:
                    raise MatchTooDear(limit=began)
                slice.renew()
        except StopIteration as end:
            done: T = end.value
            return done
        finally:
            self.facts.slice = outer

    def alone(self, rows: Iterable[FactRow]) -> dict[FactRow, str]:
        """Those of some tuples that answer by themselves, each with the kind of its answer."""
        given = shaped(rows)
        return {
            found[0]: one.network.kind
            for one in self.ready(0)
            for found in one.rows_with(given)
            if found is not None
        }

    def brought(self, rows: Iterable[FactRow], *, alone: bool) -> Answers:
        """The answers of `all` that hold at least one of some tuples, found from these outwards.

        `alone` says whether any tuple of the facts, among these or not, answers by itself: where
        one does, `auto` looks for no sets. Problems are those of sets that were looked at.
        """
        self.assigner.problems.clear()
        new = dict.fromkeys(rows)
        found: dict[tuple[FactRow, ...], str] = {}
        found.update([((row,), kind) for row, kind in self.alone(new).items()])
        cut = ""
        if self._asks_sets(alone=alone):
            cut = self._whole(self._sets(found, new), Slice(maxsize))
        return self._answers(found, cut)

    def _asks_sets(self, *, alone: bool) -> bool:
        correlate = self.question.correlate
        return correlate == "always" or (correlate == "auto" and not alone)

    def _answers(self, found: dict[tuple[FactRow, ...], str], cut: str) -> Answers:
        limit = self.question.limit
        if len(found) > limit:
            cut = f"there are more than {limit:,} answers"
        assigner = self.assigner
        answers = [
            MeaningAnswer(kind, rows, assigner) for rows, kind in islice(found.items(), limit)
        ]
        if self.facts.ids_in_order:
            answers.sort(key=_answer_orders)  # the same, and numbers compare quicker than ids
        else:
            in_order(answers)
        return Answers(answers, cut, tuple(assigner.problems))

    def _sets(
        self, found: dict[tuple[FactRow, ...], str], new: dict[FactRow, None] | None = None
    ) -> Generator[None, None, str]:
        """Add the sets that are minimal: those of one size come after all that are smaller.

        With `new`, only those that hold one of these; `found` then has no smaller ones of which
        all tuples are old, and each set is looked into for such.
        """
        limit = min(self.question.limit, len(found) + self.sets_max)
        given = None if new is None else shaped(new)
        judged: dict[tuple[FactRow, ...], bool] = {}
        looked = 0
        facts = self.facts  # whose slice is another one after each pause
        at_once = _AT_ONCE if facts.slice.left > _AT_ONCE_UNITS else _FEW_AT_ONCE
        for size in range(1, self.question.max_set + 1):
            sizes = sorted({len(rows) for rows in found if len(rows) < size})
            for one in self.ready(size):
                facts.slice.left -= LOOPS_UNITS
                if facts.slice.left < 0:
                    yield
                every: Iterator[Any] = one.rows() if given is None else one.rows_with(given)
                while some := list(islice(every, at_once)):
                    if facts.slice.left < 0:
                        some = [rows for rows in some if rows is not None]
                        yield
                    facts.slice.left -= len(some) * _ROW_UNITS
                    looked += len(some)
                    if looked > ROWS_MAX:
                        return f"more than {ROWS_MAX:,} ways to join tuples were looked at"
                    if sizes:
                        some = [rows for rows in some if not _has_smaller(rows, sizes, found)]
                    if new is not None:
                        some = [rows for rows in some if not self._has_old(rows, new, judged)]
                    if one.network.computations:
                        fresh = dict.fromkeys([rows for rows in some if rows not in found])
                        some = [rows for rows in fresh if self._is_answer(rows)]
                    found.update(dict.fromkeys(some, CORRELATION))
                    if len(found) > limit:
                        return f"there are more than {limit:,} answers"
        return why_cut(self.question, self.planner.complete)

    def _has_old(
        self,
        rows: tuple[FactRow, ...],
        new: dict[FactRow, None],
        judged: dict[tuple[FactRow, ...], bool],
    ) -> bool:
        """Whether those tuples of a set that are not new answer without the others."""
        old = tuple([row for row in rows if row not in new])
        found = judged.get(old)
        if found is None:
            found = judged[old] = self.assigner.may_serve(old) and any(
                self.assigner.least(part, single=single) is not None
                for size in range(1, len(old) + 1)
                for part in combinations(old, size)
                for single in ((True, False) if size == 1 else (False,))
            )
        return found

    def _is_answer(self, rows: tuple[FactRow, ...]) -> bool:
        """The last word on a set that computes; the loops themselves are right for all others."""
        self.facts.slice.left -= _JUDGED_UNITS
        return self.assigner.least(rows, single=False) is not None

    # The first.

    def first(self) -> MeaningAnswer | None:
        """What `any` gives: exact before semantic before sets, the smallest set, the least ids.

        Nothing is computed beyond it: tuples are tried in their order as the least of an answer.
        Where very many sets have one least tuple, it is the least of the first `LOOKED_MAX`.
        """
        return self._whole(self.first_in_slices(), Slice(), only=False)

    def first_in_slices(self) -> Generator[None, None, MeaningAnswer | None]:
        """The same, stopping as `all_in_slices` does."""
        self.assigner.problems.clear()
        for kind in (EXACT, SEMANTIC):
            networks = [one for one in self.ready(0) if one.network.kind == kind]
            rows = yield from self._least(networks)
            if rows is not None:
                return MeaningAnswer(kind, rows, self.assigner)
        if self.question.correlate != "never":
            for size in range(1, self.question.max_set + 1):
                rows = yield from self._least(self.ready(size))
                if rows is not None:
                    return MeaningAnswer(CORRELATION, rows, self.assigner)
        return None

    def _least(
        self, networks: list[ReadyNetwork]
    ) -> Generator[None, None, tuple[FactRow, ...] | None]:
        """The least row of networks of one size.

        Where a network has few tuples at some node all its rows are made; otherwise each tuple in
        turn is taken for the least of a set, at every node it may stand at, until one is.
        """
        best: tuple[FactRow, ...] | None = None
        starts: list[tuple[ReadyNetwork, int]] = []
        for one in networks:
            start = one.start()
            if one.compiler.count(start) < _FEW:
                self.facts.slice.left -= one.price(start)
                if self.facts.slice.left < 0:
                    yield
                best = yield from self._less(best, one, one.rows())
            else:
                starts += [(one, at) for at in range(one.network.size)]
        if not starts:
            return best
        by_form: dict[int, list[tuple[ReadyNetwork, Loops]]] = {}
        for one, at in starts:
            self.facts.slice.left -= one.price(at)
            if self.facts.slice.left < 0:
                yield
            for form in one.compiler.forms(at):
                by_form.setdefault(form, []).append((one, one.loops(at)))
        for row in in_turn([self.facts.by_form[form] for form in by_form]):
            if best is not None and best[0].order < row.order:
                return best
            for one, loops in by_form[row.form]:
                best = yield from self._less(best, one, loops((row,)), row)
            if best is not None and best[0] is row:
                return best
        return best

    def _less(
        self,
        best: tuple[FactRow, ...] | None,
        one: ReadyNetwork,
        every: Iterator[tuple[FactRow, ...] | None],
        first: FactRow | None = None,
    ) -> Generator[None, None, tuple[FactRow, ...] | None]:
        """The least of rows and of the best yet; with `first`, of those that begin with it."""
        looked = 0
        doubted = False
        for rows in every:
            if rows is None:
                yield
                if not doubted and not looked:
                    doubted = True
                    if (yield from one.hopeless()):
                        break
                continue
            self.facts.slice.left -= _ROW_UNITS
            if first is not None and rows[0] is not first:
                continue
            if one.network.computations and not self._is_answer(rows):
                continue
            if best is None or _orders(rows) < _orders(best):
                best = rows
            looked += 1
            if looked >= LOOKED_MAX:
                break
        return best

    # What one tuple brings.

    def with_row(self, row: FactRow, size: int) -> Iterator[tuple[str, tuple[FactRow, ...]] | None]:
        """The sets of a size, and their kinds, that satisfy the question and hold a tuple.

        For whoever waits: a set that was not there before the tuple must hold it. They are unsorted
        and may repeat, and may hold a smaller one. `None` among them is where the slice of the
        facts is used up.
        """
        for one in self.ready(size):
            for at in range(one.network.size):
                if row.form in one.compiler.forms(at):
                    for rows in one.loops(at)((row,)):
                        if rows is None:
                            yield None
                        elif not one.network.computations or self._is_answer(rows):
                            yield one.network.kind, rows


class ReadyNetwork:
    """A network with its loops, each made when it is first run."""

    def __init__(self, question: Question, network: TupleNetwork, facts: Facts) -> None:
        self.network = network
        self.compiler = Compiler(question, network, facts)
        self._loops: dict[int, Loops] = {}

    def loops(self, start: int) -> Loops:
        """The loops from a start node."""
        found = self._loops.get(start)
        if found is None:
            found = self._loops[start] = self.compiler.loops(start)
        return found

    def price(self, start: int) -> int:
        """What it costs to make the loops from a start node, unless they are there."""
        return 0 if start in self._loops else LOOPS_UNITS

    def start(self) -> int:
        """The node with the fewest tuples."""
        compiler = self.compiler
        return min(
            self.network.order, key=lambda node: (compiler.count(node), not compiler.tested(node))
        )

    def hopeless(self) -> Generator[None, None, bool]:
        """Whether a predicate holds of no tuple that could serve: then there are no rows at all.

        Joins do not see that before they have joined everything else.
        """
        facts = self.compiler.facts
        for need in self.network.needs:
            asks, node = need.asks, need.node
            if node is None or not isinstance(asks, ClassField) or not asks.predicate:
                continue
            test = object_test(asks)
            assert test is not None, "it has a predicate"
            rows = in_turn([facts.by_form[form] for form in self.compiler.forms(node)])
            for row in facts.paced(rows, self.compiler.price(node)):
                if row is None:
                    yield
                elif any(
                    name in need.classes and test(value)
                    for name, value in zip(facts.shapes[row.form], row.seen, strict=True)
                ):
                    break
            else:
                return True
        return False

    def rows(self) -> Iterator[tuple[FactRow, ...] | None]:
        """All its rows, from the node with the fewest tuples."""
        start = self.start()
        return self.loops(start)(self.compiler.start_rows(start))

    def rows_with(self, given: dict[int, list[FactRow]]) -> Iterator[tuple[FactRow, ...] | None]:
        """Its rows that hold at least one of some tuples (`shaped`), from each node in turn.

        One that holds several comes several times.
        """
        for at in range(self.network.size):
            start = [row for form in self.compiler.forms(at) for row in given.get(form, ())]
            if start:
                yield from self.loops(at)(start)


def shaped(rows: Iterable[FactRow]) -> dict[int, list[FactRow]]:
    """Tuples by the numbers of their shapes."""
    found: dict[int, list[FactRow]] = {}
    for row in rows:
        found.setdefault(row.form, []).append(row)
    return found


def _has_smaller(
    rows: tuple[FactRow, ...], sizes: list[int], found: dict[tuple[FactRow, ...], str]
) -> bool:
    return any(part in found for size in sizes for part in combinations(rows, size))


def _answer_orders(answer: MeaningAnswer) -> tuple[int, ...]:
    return tuple([row.order for row in answer.rows])


def _orders(rows: tuple[FactRow, ...]) -> list[int]:
    return [row.order for row in rows]
