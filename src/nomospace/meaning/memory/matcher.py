"""Running plans: all answers to a question, the first, or those that tuples bring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, islice
from typing import Final

from nomospace.meaning.answers import Answer, Answers, in_order
from nomospace.meaning.assign import Assigner
from nomospace.meaning.facts import Facts, Row
from nomospace.meaning.memory.compiling import Compiler, Loops, in_turn
from nomospace.meaning.plan import CORRELATION, EXACT, SEMANTIC, Network, Plan, why_cut
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import Question

ROWS_MAX: Final = 20_000_000
"""How many rows of networks are looked at for one question, repeats and sets that are too large
among them; beyond it the answers are cut."""
PROBLEMS_MAX: Final = 100
"""How many different problems are reported of one question."""
_AT_ONCE: Final = 10_000
"""So many rows are made before limits are looked at."""
_FEW: Final = 64
"""Where a network has a node with fewer tuples than this, `first` starts there."""


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

    def __init__(self, question: Question, facts: Facts) -> None:
        self.question = question
        self.facts = facts
        self._problems: dict[str, None] = {}
        self.assigner = Assigner(question, facts.ontology, report=self._report)
        self._planner: Planner | None = None
        self._version = -1
        self._ready: dict[int, list[Ready]] = {}

    def _report(self, problem: str) -> None:
        if len(self._problems) < PROBLEMS_MAX:
            self._problems[problem] = None

    @property
    def planner(self) -> Planner:
        """The planner for the facts as they are."""
        if self._planner is None or self._version != self.facts.version:
            self._planner = Planner(self.question, self.facts.ontology, self.facts.known())
            self._version = self.facts.version
            self._ready.clear()
        return self._planner

    @property
    def plan(self) -> Plan:
        """The whole plan for the facts as they are."""
        return self.planner.plan()

    def ready(self, size: int) -> list[Ready]:
        """The networks for sets of a size, or for single tuples (0), ready to run."""
        planner = self.planner
        found = self._ready.get(size)
        if found is None:
            networks = planner.sets(size) if size else planner.singles
            found = [Ready(self.question, network, self.facts) for network in networks]
            self._ready[size] = found
        return found

    def all(self) -> Answers:
        """Every answer, sorted by the ids of its tuples."""
        self._problems.clear()
        found = {rows: one.network.kind for one in self.ready(0) for rows in one.rows()}
        cut = self._sets(found) if self._asks_sets(alone=bool(found)) else ""
        return self._answers(found, cut)

    def alone(self, rows: Iterable[Row]) -> dict[Row, str]:
        """Those of some tuples that answer by themselves, each with the kind of its answer."""
        given = shaped(rows)
        return {row: one.network.kind for one in self.ready(0) for (row,) in one.rows_with(given)}

    def brought(self, rows: Iterable[Row], *, alone: bool) -> Answers:
        """The answers of `all` that hold at least one of some tuples, found from these outwards.

        `alone` says whether any tuple of the facts, among these or not, answers by itself: where
        one does, `auto` looks for no sets. Problems are those of sets that were looked at.
        """
        self._problems.clear()
        new = dict.fromkeys(rows)
        found: dict[tuple[Row, ...], str] = {}
        found.update([((row,), kind) for row, kind in self.alone(new).items()])
        cut = self._sets(found, new) if self._asks_sets(alone=alone) else ""
        return self._answers(found, cut)

    def _asks_sets(self, *, alone: bool) -> bool:
        correlate = self.question.correlate
        return correlate == "always" or (correlate == "auto" and not alone)

    def _answers(self, found: dict[tuple[Row, ...], str], cut: str) -> Answers:
        limit = self.question.limit
        if len(found) > limit:
            cut = f"there are more than {limit:,} answers"
        assigner = self.assigner
        answers = [Answer(kind, rows, assigner) for rows, kind in islice(found.items(), limit)]
        if self.facts.ids_in_order:
            answers.sort(key=_answer_orders)  # the same, and numbers compare quicker than ids
        else:
            in_order(answers)
        return Answers(answers, cut, tuple(self._problems))

    def _sets(self, found: dict[tuple[Row, ...], str], new: dict[Row, None] | None = None) -> str:
        """Add the sets that are minimal: those of one size come after all that are smaller.

        With `new`, only those that hold one of these; `found` then has no smaller ones of which
        all tuples are old, and each set is looked into for such.
        """
        limit = self.question.limit
        given = None if new is None else shaped(new)
        judged: dict[tuple[Row, ...], bool] = {}
        looked = 0
        for size in range(1, self.question.max_set + 1):
            sizes = sorted({len(rows) for rows in found if len(rows) < size})
            for one in self.ready(size):
                every = one.rows() if given is None else one.rows_with(given)
                while some := list(islice(every, _AT_ONCE)):
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
        self, rows: tuple[Row, ...], new: dict[Row, None], judged: dict[tuple[Row, ...], bool]
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

    def _is_answer(self, rows: tuple[Row, ...]) -> bool:
        """The last word on a set that computes; the loops themselves are right for all others."""
        return self.assigner.least(rows, single=False) is not None

    # The first.

    def first(self) -> Answer | None:
        """What `any` gives: exact before semantic before sets, the smallest set, the least ids.

        Nothing is computed beyond it: tuples are tried in their order as the least of an answer.
        """
        self._problems.clear()
        for kind in (EXACT, SEMANTIC):
            rows = self._least([one for one in self.ready(0) if one.network.kind == kind])
            if rows is not None:
                return Answer(kind, rows, self.assigner)
        if self.question.correlate != "never":
            for size in range(1, self.question.max_set + 1):
                rows = self._least(self.ready(size))
                if rows is not None:
                    return Answer(CORRELATION, rows, self.assigner)
        return None

    def _least(self, networks: list[Ready]) -> tuple[Row, ...] | None:
        """The least row of networks of one size.

        Where a network has few tuples at some node all its rows are made; otherwise each tuple in
        turn is taken for the least of a set, at every node it may stand at, until one is.
        """
        best: tuple[Row, ...] | None = None
        starts: list[tuple[Ready, int]] = []
        for one in networks:
            start = one.start()
            if one.compiler.count(start) < _FEW:
                best = _less(best, self._sound(one, one.rows()))
            else:
                starts += [(one, at) for at in range(one.network.size)]
        if not starts:
            return best
        by_form: dict[int, list[tuple[Ready, Loops]]] = {}
        for one, at in starts:
            for form in one.compiler.forms(at):
                by_form.setdefault(form, []).append((one, one.loops(at)))
        for row in in_turn([self.facts.by_form[form] for form in by_form]):
            if best is not None and best[0].order < row.order:
                return best
            for one, loops in by_form[row.form]:
                sets = (rows for rows in loops((row,)) if rows[0] is row)
                best = _less(best, self._sound(one, sets))
            if best is not None and best[0] is row:
                return best
        return best

    def _sound(self, one: Ready, rows: Iterable[tuple[Row, ...]]) -> Iterator[tuple[Row, ...]]:
        if not one.network.computations:
            yield from rows
            return
        for found in rows:
            if self._is_answer(found):
                yield found

    # What one tuple brings.

    def with_row(self, row: Row, size: int) -> Iterator[tuple[str, tuple[Row, ...]]]:
        """The sets of a size, and their kinds, that satisfy the question and hold a tuple.

        For whoever waits: a set that was not there before the tuple must hold it. They are unsorted
        and may repeat, and may hold a smaller one.
        """
        for one in self.ready(size):
            for at in range(one.network.size):
                if row.form in one.compiler.forms(at):
                    for rows in self._sound(one, one.loops(at)((row,))):
                        yield one.network.kind, rows


class Ready:
    """A network with its loops, each made when it is first run."""

    def __init__(self, question: Question, network: Network, facts: Facts) -> None:
        self.network = network
        self.compiler = Compiler(question, network, facts)
        self._loops: dict[int, Loops] = {}

    def loops(self, start: int) -> Loops:
        """The loops from a start node."""
        found = self._loops.get(start)
        if found is None:
            found = self._loops[start] = self.compiler.loops(start)
        return found

    def start(self) -> int:
        """The node with the fewest tuples."""
        return min(self.network.order, key=self.compiler.count)

    def rows(self) -> Iterator[tuple[Row, ...]]:
        """All its rows, from the node with the fewest tuples."""
        start = self.start()
        return self.loops(start)(self.compiler.start_rows(start))

    def rows_with(self, given: dict[int, list[Row]]) -> Iterator[tuple[Row, ...]]:
        """Its rows that hold at least one of some tuples (`shaped`), from each node in turn.

        One that holds several comes several times.
        """
        for at in range(self.network.size):
            start = [row for form in self.compiler.forms(at) for row in given.get(form, ())]
            if start:
                yield from self.loops(at)(start)


def shaped(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Tuples by the numbers of their shapes."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.form, []).append(row)
    return found


def _has_smaller(
    rows: tuple[Row, ...], sizes: list[int], found: dict[tuple[Row, ...], str]
) -> bool:
    return any(part in found for size in sizes for part in combinations(rows, size))


def _less(
    best: tuple[Row, ...] | None, others: Iterable[tuple[Row, ...]]
) -> tuple[Row, ...] | None:
    for rows in others:
        if best is None or _orders(rows) < _orders(best):
            best = rows
    return best


def _answer_orders(answer: Answer) -> tuple[int, ...]:
    return tuple([row.order for row in answer.rows])


def _orders(rows: tuple[Row, ...]) -> list[int]:
    return [row.order for row in rows]
