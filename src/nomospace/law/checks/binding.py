"""Which variables have values where they are needed, on every path through every clause.

Each rule is walked path by path, as evaluation would go: a fork for each alternative, nothing
learnt inside `not`, a condition's opposite known in its else part. Helper predicates are walked
once for each *pattern* they are called with (which arguments are ground, free or maybe, and
whether the event has a message), until nothing new is learnt.

What is found is put in words by `checks.findings`. Operations take the values of the moment
their rule has succeeded, so a variable of a `do` may get its value after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from nomospace.law import tree
from nomospace.law.checks import guards
from nomospace.law.checks.findings import Log, WalkFindings, gather, tell
from nomospace.law.checks.known import (
    FREE,
    GROUND,
    MAYBE,
    CheckWork,
    Fit,
    KnownValues,
    PathCondition,
    TooMuchToFollow,
    ValueMark,
    join,
)
from nomospace.law.checks.operations import needs
from nomospace.law.checks.report import HOME, MESSAGE_EVENTS, PEER, CheckReport, Key, listed
from nomospace.law.prelude import BUILTINS, SPINE_ENOUGH, Builtin
from nomospace.terms import Span
from nomospace.terms.tokens import Node, Variable

PATHS_MAX: Final = 16
"""More paths than this through one clause are joined into one."""
PATTERNS_MAX: Final = 24
"""More patterns than this of one predicate are taken as one in which everything is maybe."""

Paths: TypeAlias = list[KnownValues]


class Pattern(NamedTuple):
    """How a helper is called. `marks` has a mark for each argument."""

    key: Key
    marks: tuple[ValueMark, ...]
    message: bool


class CallSummary(NamedTuple):
    """What a call has done when it succeeds.

    `owed` are the arguments that every way through puts into an operation and leaves free:
    the caller must give them a value.
    """

    marks: tuple[ValueMark, ...]
    owed: frozenset[int]


Unit: TypeAlias = "int | Pattern"
"""What is walked at once: a rule, by its place, or a helper under a pattern."""


def check(report: CheckReport) -> None:
    """Walk all clauses and report what was found."""
    walker = _Walker(report)
    try:
        walker.walk_all()
    except TooMuchToFollow:
        # What was found in rules that are done is so; about the rest nothing is said.
        walker.logs = {unit: walker.logs[unit] for unit in range(walker.done)}
    tell(report, walker.logs.values())


class _Walker:
    """Walks units until what is known about helpers does not change any more."""

    def __init__(self, report: CheckReport) -> None:
        self.report = report
        self.law = report.law
        self.logs: dict[Unit, Log] = {}
        self.summaries: dict[Pattern, CallSummary | None] = {}
        self.patterns: dict[Key, int] = {}
        self.waiting: dict[Pattern, dict[Unit, None]] = {}
        self.queue: list[Unit] = []
        self.queued: set[Unit] = set()
        self.done = 0  # so many rules are walked for good
        self.work = CheckWork()
        # of the unit being walked
        self.unit: Unit = 0
        self.log: Log = {}
        self.message = True
        self.silent = 0  # above 0 nothing is logged
        self.negated = 0  # above 0 a condition may well never hold

    # -- units -----------------------------------------------------------------------------

    def walk_all(self) -> None:
        for number in range(len(self.law.rules)):
            self._walk(number)
            self._settle()
            self.done = number + 1
        for key, clauses in self.law.helpers.items():
            if key not in self.patterns:  # never called: take it as called with values
                self._pattern(key, tuple(GROUND for _ in clauses[0].args), True)
                self._settle()

    def _settle(self) -> None:
        while self.queue:
            unit = self.queue.pop()
            self.queued.discard(unit)
            self._walk(unit)

    def _enqueue(self, unit: Unit) -> None:
        if unit not in self.queued:
            self.queued.add(unit)
            self.queue.append(unit)

    def _walk(self, unit: Unit) -> None:
        self.unit = unit
        self.log = self.logs[unit] = {}
        if isinstance(unit, int):
            self._walk_rule(self.law.rules[unit])
        else:
            self._walk_helper(unit)

    def _walk_rule(self, rule: tree.Rule) -> None:
        known = KnownValues(self.work)
        self.message = rule.event in MESSAGE_EVENTS
        self._specials(known)
        known.ground(*rule.args)
        if self.message:
            for name, at in (("Self", HOME[rule.event]), ("Msg", 1), ("Peer", PEER[rule.event])):
                trial = known.copy()
                if trial.unify(Variable(name, rule.head_span), rule.args[at]) is not Fit.NEVER:
                    known = trial
        for path in self.run(rule.body, [known]):
            for variable in path.owed:
                self._need_now(path, variable, "when the operation is carried out")

    def _specials(self, known: KnownValues) -> None:
        known.values["Self"] = known.values["CS"] = GROUND
        if self.message:
            known.values["Msg"] = known.values["Peer"] = GROUND

    def _walk_helper(self, pattern: Pattern) -> None:
        self.message = pattern.message
        summary: CallSummary | None = self.summaries[pattern]
        for clause in self.law.helpers[pattern.key]:
            known = KnownValues(self.work)
            self._specials(known)
            for node, mark in zip(clause.args, pattern.marks, strict=True):
                if mark is MAYBE:
                    known.blur(node)
            for node, mark in zip(clause.args, pattern.marks, strict=True):
                if mark is GROUND:
                    known.ground(node)
            for path in self.run(clause.body, [known]):
                summary = _either(summary, self._result(clause, pattern, path))
        if summary != self.summaries[pattern]:
            self.summaries[pattern] = summary
            for unit in self.waiting[pattern]:
                self._enqueue(unit)

    def _result(self, clause: tree.Clause, pattern: Pattern, path: KnownValues) -> CallSummary:
        """What one way through a helper has done to its arguments."""
        open_at = [path.open_names(node) for node in clause.args]
        marks: list[ValueMark] = []
        for at, (node, before) in enumerate(zip(clause.args, pattern.marks, strict=True)):
            after = _mark_of(path, at, node, open_at)
            marks.append(MAYBE if after is FREE and before is not FREE else after)
        owed: set[int] = set()
        for variable in path.owed:
            missing = path.open_names(variable)
            theirs = {at for at, names in enumerate(open_at) if names.keys() & missing.keys()}
            owed |= theirs
            if not theirs:  # nobody outside can give it a value any more
                self._need_now(path, variable, "when the operation is carried out")
        return CallSummary(tuple(marks), frozenset(at for at in owed if marks[at] is FREE))

    def _pattern(self, key: Key, marks: tuple[ValueMark, ...], message: bool) -> Pattern:
        pattern = Pattern(key, marks, message)
        if pattern not in self.summaries:
            count = self.patterns.get(key, 0)
            if count >= PATTERNS_MAX:
                pattern = Pattern(key, tuple(MAYBE for _ in marks), message)
            if pattern not in self.summaries:
                self.patterns[key] = count + 1
                self.summaries[pattern] = None
                self.waiting[pattern] = {}
                self._enqueue(pattern)
        return pattern

    # -- noting ----------------------------------------------------------------------------

    def note(self, node: object, kind: str, level: int, span: Span, *words: object) -> None:
        if self.silent or (kind == "guard" and self.negated):
            return
        gather(self.log, (id(node), kind), WalkFindings(level, level, span, words))

    def _need_now(self, known: KnownValues, variable: Variable, where: str) -> None:
        mark, blamed = known.mark(variable)
        name = "_" if blamed is None else blamed.name
        self.note(variable, "need", mark.value, variable.span, variable.name, name, where)

    def _need(self, known: KnownValues, where: str, *nodes: Node) -> None:
        """Nodes must be ground here; after this they are taken to be, to report once."""
        for variable in tree.variables_in(*nodes):
            self._need_now(known, variable, where)
        known.ground(*nodes)

    # -- goals: each takes the paths that reach it and gives those that leave it ------------

    def run(self, goal: tree.Goal, paths: Paths) -> Paths:
        if self.work.left < 0:
            raise TooMuchToFollow
        if len(paths) > PATHS_MAX:
            paths = [join(paths)]
        step: Callable[[_Walker, Any, Paths], Paths] = _STEPS[goal.__class__]
        return step(self, goal, paths) if paths else paths

    def conj(self, goal: tree.Conj, paths: Paths) -> Paths:
        for part in goal.goals:
            paths = self.run(part, paths)
            if not paths:
                break
        return paths

    def disj(self, goal: tree.Disj, paths: Paths) -> Paths:
        return [
            left for part in goal.goals for left in self.run(part, [path.copy() for path in paths])
        ]

    def if_(self, goal: tree.If, paths: Paths) -> Paths:
        then = self.run(goal.then, self.run(goal.condition, [path.copy() for path in paths]))
        if goal.otherwise is None:
            return then
        self.silent += 1
        paths = self.oppose(goal.condition, paths)
        self.silent -= 1
        return then + self.run(goal.otherwise, paths)

    def not_(self, goal: tree.Not, paths: Paths) -> Paths:
        if goal.goal.__class__ in (*_TESTS, tree.Fail, tree.TrueGoal):
            return self.oppose(goal.goal, paths)
        self.negated += 1
        self.run(goal.goal, [path.copy() for path in paths])
        self.negated -= 1
        return paths

    def oppose(self, goal: tree.Goal, paths: Paths) -> Paths:
        """The paths on which a goal fails. Nothing is learnt where a goal is not plain."""
        if goal.__class__ in _TESTS:
            return self.test(goal, paths, False)
        return [] if isinstance(goal, tree.TrueGoal) else paths

    def test(self, goal: tree.Goal, paths: Paths, holds: bool = True) -> Paths:
        """The paths on which a plain condition, or its opposite, may hold."""
        one = _TESTS[goal.__class__]
        return [path for path in paths if one(self, goal, path, holds)]

    def findall(self, goal: tree.FindAll, paths: Paths) -> Paths:
        self.negated += 1
        for path in paths:
            inner = self.run(goal.goal, [path.copy()])
            if all(left.mark(goal.template)[0] is GROUND for left in inner):
                path.ground(goal.result)
            else:
                path.blur(goal.result)
        self.negated -= 1
        return paths

    def true(self, goal: tree.TrueGoal, paths: Paths) -> Paths:
        return paths

    def fail(self, goal: tree.Fail, paths: Paths) -> Paths:
        return []

    def clock(self, goal: tree.ClockGoal, paths: Paths) -> Paths:
        for path in paths:
            path.ground(goal.time)
        return paths

    def this_law(self, goal: tree.ThisLaw, paths: Paths) -> Paths:
        for path in paths:
            path.ground(goal.name, goal.hash)
        return paths

    def is_(self, goal: tree.Is, paths: Paths) -> Paths:
        for path in paths:
            self._need(path, "in arithmetic", goal.expression)
            path.ground(goal.result)
        return paths

    def do(self, goal: tree.Do, paths: Paths) -> Paths:
        wanted = needs(goal.operation)
        for path in paths:
            for variable in tree.variables_in(*wanted.ground, *wanted.numbers):
                self._owe(path, variable, path.mark(variable)[0])
            for node in wanted.named:
                if isinstance(node, Variable):
                    mark = path.ref(node)[1]
                    self._owe(path, node, GROUND if mark is None else mark)
        return paths

    def _owe(self, path: KnownValues, variable: Variable, mark: ValueMark) -> None:
        if mark is GROUND:
            self.note(variable, "need", 0, variable.span, variable.name, "_", "")
        else:
            path.owe(variable)

    def sense(self, goal: tree.Sense, path: KnownValues, holds: bool) -> bool:
        wild: frozenset[str] = frozenset()
        if holds:
            path.ground(goal.pattern)
        else:
            names = path.open_names(goal.pattern)
            wild = frozenset(name for name, mark in names.items() if mark is FREE)
        return self._guard(goal, path, PathCondition(goal, holds, wild))

    def compare(self, goal: tree.Compare, path: KnownValues, holds: bool) -> bool:
        self._need(path, "in a comparison", goal.left, goal.right)
        return self._guard(goal, path, PathCondition(goal, holds))

    def unify(self, goal: tree.Unify, path: KnownValues, holds: bool) -> bool:
        if goal.negated == holds:
            return self._differ(goal, path, holds)
        if path.unify(goal.left, goal.right) is Fit.NEVER:
            self._refute(goal, guards.latest_about(path, goal.left, goal.right))
            return False
        return self._guard(goal, path, PathCondition(goal, holds))

    def _differ(self, goal: tree.Unify, path: KnownValues, holds: bool) -> bool:
        """The two sides must not unify."""
        free = _free_side(path, goal)
        if path.copy().unify(goal.left, goal.right) is Fit.SURELY:
            if free is None:
                self._refute(goal, guards.latest_about(path, goal.left, goal.right), holds)
            elif not self.negated:
                outcome = "never" if goal.negated else "always"
                self.note(goal, "same", 2, goal.span, self.report.text(goal.span), free, outcome)
            return False
        self.note(goal, "same", 0, goal.span)
        return self._guard(goal, path, PathCondition(goal, holds))

    def same(self, goal: tree.Same, path: KnownValues, holds: bool) -> bool:
        free = _free_side(path, goal)
        if free is not None:
            if guards.identical(path, goal.left, goal.right):
                return goal.negated != holds
            outcome = "always" if goal.negated else "never"
            self.note(goal, "same", 2, goal.span, self.report.text(goal.span), free, outcome)
            return goal.negated == holds
        self.note(goal, "same", 0, goal.span)
        if goal.negated == holds:
            return self._guard(goal, path, PathCondition(goal, holds))
        if path.unify(goal.left, goal.right) is Fit.NEVER:
            self._refute(goal, guards.latest_about(path, goal.left, goal.right))
            return False
        return self._guard(goal, path, PathCondition(goal, holds))

    def _guard(self, goal: tree.Goal, path: KnownValues, guard: PathCondition) -> bool:
        never, other = guards.refuted(path, guard)
        if never:
            self._refute(goal, other, guard.holds)
            return False
        self.note(goal, "guard", 0, goal.span)
        guards.keep(path, guard)
        return True

    def _refute(self, goal: tree.Goal, other: PathCondition | None, holds: bool = True) -> None:
        shown = self._words(goal, holds)
        if other is None:
            self.note(goal, "guard", 2, goal.span, shown, None, None)
        else:
            words = self._words(other.goal, other.holds)
            self.note(goal, "guard", 2, goal.span, shown, words, other.goal.span)

    def _words(self, goal: tree.Goal, holds: bool) -> str:
        text = self.report.text(goal.span)
        return text if holds else f"not({text})"

    # -- calls -----------------------------------------------------------------------------

    def call(self, goal: tree.PredicateCall, paths: Paths) -> Paths:
        key = goal.name, len(goal.args)
        if key in self.law.helpers:
            return [path for path in paths if self._call_helper(goal, key, path)]
        builtin = BUILTINS.get(key)
        for path in paths:
            if builtin is not None:
                self._call_builtin(goal, builtin, path)
            else:  # reported as unknown; nothing more follows from it
                path.ground(*goal.args)
        return paths

    def _call_builtin(self, goal: tree.PredicateCall, builtin: Builtin, path: KnownValues) -> None:
        """A built-in needs all of one mode's arguments ground, and makes what it binds ground."""
        worst: list[tuple[ValueMark, Variable | None, Node | None]] = []
        open_items = False
        for mode in builtin.needs:
            blamed: tuple[ValueMark, Variable | None, Node | None] = (GROUND, None, None)
            for at in mode:
                mark, variable = path.mark(goal.args[at])
                if goal.name in SPINE_ENOUGH and path.ref(goal.args[at])[1] is not FREE:
                    open_items = open_items or mark is not GROUND
                    continue  # its items may be unbound, and stay so
                if mark.value > blamed[0].value:
                    blamed = mark, variable, goal.args[at]
            worst.append(blamed)
        mark, variable, node = min(worst, key=lambda one: one[0].value)
        if mark is GROUND:
            self.note(goal, "need", 0, goal.span)
        else:
            assert variable is not None
            assert node is not None
            modes = listed(
                [
                    listed([self.report.text(goal.args[at].span) for at in mode])
                    for mode in builtin.needs
                ],
                "or",
            )
            where = f"where {goal.name}/{len(goal.args)} needs {modes}"
            name = node.name if isinstance(node, Variable) else variable.name
            self.note(goal, "need", mark.value, node.span, name, variable.name, where)
        for at in builtin.binds:
            node = goal.args[at]
            if open_items and at not in _NUMBERS.get(goal.name, ()):
                path.blur(node)
            else:
                path.ground(node)

    def _call_helper(self, goal: tree.PredicateCall, key: Key, path: KnownValues) -> bool:
        marks = self._marks(goal.args, path)
        pattern = self._pattern(key, marks, self.message)
        self.waiting[pattern][self.unit] = None
        summary = self.summaries[pattern]
        if summary is None:  # it never succeeds, as far as is known
            return False
        for at in sorted(summary.owed):
            node = goal.args[at]
            if isinstance(node, Variable):
                path.owe(node)
        for node, before, after in zip(goal.args, pattern.marks, summary.marks, strict=True):
            if after is GROUND:
                path.ground(node)
            elif not (before is FREE and after is FREE):
                path.blur(node)
        return True

    def _marks(self, args: tuple[Node, ...], path: KnownValues) -> tuple[ValueMark, ...]:
        """How a call's arguments stand. An argument is free only if no other shares it."""
        open_at = [path.open_names(node) for node in args]
        return tuple(_mark_of(path, at, node, open_at) for at, node in enumerate(args))


_NUMBERS: Final = {"length": (1,), "nth0": (0,)}
"""What a list built-in gives a value whatever the items are."""


def _mark_of(
    path: KnownValues, at: int, node: Node, open_at: list[dict[str, ValueMark]]
) -> ValueMark:
    """How one of several arguments stands, of which all open variables are given."""
    if not open_at[at]:
        return GROUND
    if path.ref(node)[1] is not FREE:
        return MAYBE
    name = next(iter(open_at[at]))
    shared = any(name in names for other, names in enumerate(open_at) if other != at)
    return MAYBE if shared else FREE


def _free_side(path: KnownValues, goal: tree.Unify | tree.Same) -> str | None:
    """The name of a side that is a variable without a value."""
    for node in (goal.left, goal.right):
        if isinstance(node, Variable) and path.ref(node)[1] is FREE:
            return node.name
    return None


def _either(one: CallSummary | None, two: CallSummary) -> CallSummary:
    """What is so after either of two ways through a helper."""
    if one is None:
        return two
    marks = tuple(a if a is b else MAYBE for a, b in zip(one.marks, two.marks, strict=True))
    return CallSummary(marks, one.owed & two.owed)


_TESTS: Final[dict[type, Callable[..., bool]]] = {
    tree.Compare: _Walker.compare,
    tree.Same: _Walker.same,
    tree.Sense: _Walker.sense,
    tree.Unify: _Walker.unify,
}
"""Plain conditions, of which the opposite is known too."""
_STEPS: Final[dict[type, Callable[[_Walker, Any, Paths], Paths]]] = {
    **dict.fromkeys(_TESTS, _Walker.test),
    tree.PredicateCall: _Walker.call,
    tree.ClockGoal: _Walker.clock,
    tree.Conj: _Walker.conj,
    tree.Disj: _Walker.disj,
    tree.Do: _Walker.do,
    tree.Fail: _Walker.fail,
    tree.FindAll: _Walker.findall,
    tree.If: _Walker.if_,
    tree.Is: _Walker.is_,
    tree.Not: _Walker.not_,
    tree.ThisLaw: _Walker.this_law,
    tree.TrueGoal: _Walker.true,
}
