"""The interpreter: what a law means, said as plainly as we can. The compiler is held to it.

It is a machine with a list of goals to do, a stack of choices to come back to, and a trail of
variables to unbind on the way back. It has no recursion of its own, so a law may recurse as
far as its budget goes. It also tells the story of an evaluation, for explanations.

The meaning, in short: rules are tried in the order of the text, the first that has a solution
gives the ruling. `do` adds an operation to the ruling and is taken back on backtracking. The
control state is read as it was when the event came. An operation's variables have the values
they have when the rule has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from nomospace.law.arithmetic import COMPARE, arith1, arith2, calculate, seconds
from nomospace.law.bag import Bag
from nomospace.law.budget import COPIED_A_UNIT, Stop, Units, left_of, same_for, spend
from nomospace.law.holes import (
    LIST,
    OPEN_PARTS_FREE,
    OPEN_PARTS_MAX,
    OpenTerm,
    build,
    fresh,
    identical,
    is_bound,
    make,
    open_size,
    resolve,
    unifier,
    unify,
)
from nomospace.law.prelude import BUILTINS, NESTED_MAX, OPERATIONS_MAX, SPINE_ENOUGH, UNITS_MAX
from nomospace.law.prices import (
    INTERPRETED,
    WORDS_A_UNIT,
    call_price,
    collect_price,
    match_price,
    node_weight,
    weight,
)
from nomospace.law.runtime import (
    ECHOED,
    SOLUTIONS,
    UNSET,
    candidates,
    delete_matching,
    equals,
    everything,
    finish,
)
from nomospace.law.tree import (
    ClockGoal,
    Compare,
    Conj,
    Const,
    Disj,
    Do,
    Fail,
    FindAll,
    Goal,
    If,
    Is,
    LawTree,
    ListSyntax,
    Node,
    Not,
    PredicateCall,
    Rule,
    Same,
    Sense,
    Struct,
    ThisLaw,
    Toll,
    TrueGoal,
    Unify,
    Variable,
    goals_in,
)
from nomospace.terms import Span, Term, Var, undo

Env: TypeAlias = dict[str, Any]
"""Variables of one clause by name: a `Var`, or a term for `Self`, `Msg` and `Peer`."""
Outcome: TypeAlias = tuple[int, tuple[Any, ...]] | None
"""Number of the rule (from 0) and the operations, or `None` when no rule has a solution."""


@dataclass(slots=True)
class _Commit:
    """Stands after a condition: throw away the choices made since, then go on."""

    height: int


@dataclass(slots=True)
class _Collect:
    """Stands after the goal of a findall: keep a copy of the template, then ask for more."""

    template: Node
    found: list[Term]


@dataclass(slots=True)
class _Bind:
    """Make a pattern equal to a value."""

    pattern: Node
    value: Term


UNPAID: Final = 10**15
"""More units than anything takes that costs nothing."""
Work: TypeAlias = "tuple[Any, Env, Work] | None"
"""A linked list of goals to do, each with the variables it is about."""


@dataclass(slots=True)
class _Choice:
    """A point to come back to: each `next` binds and gives the work to go on with."""

    alternatives: Iterator[Work]
    trail: int
    operations: int
    path: int


@dataclass(slots=True)
class Trace:
    """The story of one rule: the goals on the way to success, or the furthest goal tried.

    The furthest is one of the rule's own goals: what goes on inside a negation, a findall or a
    helper is that goal's business. `visible` has the ids of these goals. `tried` has the place of
    every goal that was tried, for coverage.
    """

    rule: Rule
    held: list[tuple[Goal, Env]] = field(default_factory=list)
    furthest: Goal | None = None
    furthest_env: Env = field(default_factory=dict)
    matched: bool = False
    tried: set[Span] = field(default_factory=set)
    visible: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.visible = {id(goal) for goal in goals_in(self.rule.body)}
        for goal in goals_in(self.rule.body):
            if isinstance(goal, Not | FindAll):
                self.visible -= {id(inner) for inner in goals_in(goal.goal)}


class Interpreter:
    """Evaluates events under one law. Holds nothing between events."""

    def __init__(self, law: LawTree, hash: str) -> None:
        self.law = law  # with its prices in it
        self.hash = hash
        self.left: frozenset[int] = frozenset()
        """Rules that the compiler leaves to the interpreter, by number: units cost more there."""
        self.call_prices = {key: call_price(clauses) for key, clauses in law.helpers.items()}
        self._entered = [weight(rule.body) // WORDS_A_UNIT for rule in law.rules]
        self.by_event: dict[str, list[tuple[int, Rule]]] = {}
        for index, rule in enumerate(law.rules):
            self.by_event.setdefault(rule.event, []).append((index, rule))

    def rule(
        self,
        event: str,
        home: str,
        args: tuple[Term, ...],
        state: Bag,
        obligations: Bag,
        now: int,
        units: Units,
        traces: list[Trace] | None = None,
        rate: int | None = None,
    ) -> Outcome:
        """The ruling on an event: the first rule with a solution, and its operations.

        Raises `Stop` when the evaluation goes past a bound or an operation cannot be. With `rate`,
        each unit counts so many times in every rule.
        """
        for index, _ in self.by_event.get(event, ()):
            outcome = self.one(index, home, args, state, obligations, now, units, traces, rate)
            if outcome is not None:
                return outcome
        return None

    def one(
        self,
        index: int,
        home: str,
        args: tuple[Term, ...],
        state: Bag,
        obligations: Bag,
        now: int,
        units: Units,
        traces: list[Trace] | None = None,
        rate: int | None = None,
    ) -> Outcome:
        """The ruling of one rule alone."""
        if rate is None:
            rate = INTERPRETED if index in self.left else 1
        if rate == 1:
            return self._one(index, home, args, state, obligations, now, units, traces)
        # The rule has a purse of its own, and what it spends there is paid for at the rate.
        own = _purse(units, rate)
        left = left_of(own)
        try:
            entry = self._entered[index]
            return self._one(index, home, args, state, obligations, now, own, traces, entry)
        finally:
            units[0] += (left - left_of(own)) * rate

    def _one(
        self,
        index: int,
        home: str,
        args: tuple[Term, ...],
        state: Bag,
        obligations: Bag,
        now: int,
        units: Units,
        traces: list[Trace] | None,
        entry: int = 0,
    ) -> Outcome:
        rule = self.law.rules[index]
        trace = None
        if traces is not None:
            trace = Trace(rule)
            traces.append(trace)
        specials = special_values(rule.event, home, args)
        run = _Run(self, state, obligations, now, units, specials, trace)
        operations = run.solve(rule, args, entry)
        if operations is None:
            return None
        message = None
        if rule.event in ("sent", "arrived", "submitted"):
            message = (args[0], args[1], args[2])
        return index, tuple([finish(op, home, message, units) for op in operations])


def _purse(units: Units, rate: int) -> Units:
    """What is left of a budget, and of the part of it at hand, at a rate."""
    left = left_of(units) // rate
    if len(units) == 1:
        return [UNITS_MAX - left]
    part = min(left, max(0, (UNITS_MAX - units[0]) // rate))
    return [UNITS_MAX - part, left - part, units[2], max(1, units[3] // rate), left - part]


def special_values(event: str, home: str, args: tuple[Term, ...]) -> Env:
    """`Self`, and `Msg` and `Peer` on events that have them."""
    if event == "sent":
        return {"Self": home, "Msg": args[1], "Peer": args[2]}
    if event in ("arrived", "submitted"):
        return {"Self": home, "Msg": args[1], "Peer": args[0]}
    return {"Self": home}


class _Run:
    """One rule on one event."""

    def __init__(
        self,
        interpreter: Interpreter,
        state: Bag,
        obligations: Bag,
        now: int,
        units: Units,
        specials: Env,
        trace: Trace | None,
    ) -> None:
        self.interpreter = interpreter
        self.state = state
        self.obligations = obligations
        self.now = now
        self.units = units
        self.specials = specials
        self.trace = trace
        self.trail: list[Var] = []
        self.choices: list[_Choice] = []
        self.operations: list[Term] = []
        self.path: list[tuple[Goal, Env]] = []

    def solve(self, rule: Rule, args: tuple[Term, ...], entry: int) -> list[Term] | None:
        env = dict(self.specials)
        heads = [build(node, env) for node in rule.args]
        later = [(build(variable, env), build(node, env)) for variable, node in rule.later]
        if not self.attempt_all(tuple(heads), args, [-UNPAID]):  # heads are free
            return None
        for stand_in, head in later:
            if not self.attempt(stand_in, head):
                return None
        if self.trace is not None:
            self.trace.matched = True
        if entry:
            spend(self.units, entry)
        work: Work = (rule.body, env, None)
        while work is not None:
            goal, env, rest = work
            if self.trace is not None:
                self._note(goal, env)
            step = _STEPS.get(goal.__class__)
            assert step is not None
            after = step(self, goal, env, rest)
            if after is _FAILED:
                after = self._backtrack()
                if after is _FAILED:
                    return None
            work = after
        if self.trace is not None:
            self.trace.held = self.path
        return [resolve(operation) for operation in self.operations]

    def _note(self, goal: Any, env: Env) -> None:
        if goal.__class__ in (Conj, Disj, If, Toll, _Commit, _Collect, _Bind):
            return
        self.path.append((goal, env))
        assert self.trace is not None
        self.trace.tried.add(goal.span)
        if id(goal) not in self.trace.visible:
            return
        furthest = self.trace.furthest
        if furthest is None or goal.span.start >= furthest.span.start:
            self.trace.furthest = goal
            self.trace.furthest_env = {k: resolve(v) for k, v in env.items()}

    def _backtrack(self) -> Any:
        while self.choices:
            choice = self.choices[-1]
            undo(self.trail, choice.trail)
            del self.operations[choice.operations :]
            del self.path[choice.path :]
            try:
                return next(choice.alternatives)
            except StopIteration:
                self.choices.pop()
        return _FAILED

    def choose(self, alternatives: Iterator[Work]) -> None:
        self.choices.append(
            _Choice(alternatives, len(self.trail), len(self.operations), len(self.path))
        )

    def attempt(self, a: Term, b: Term) -> bool:
        """Unify; on failure leave nothing bound."""
        mark = len(self.trail)
        if unify(a, b, self.trail, self.units):
            return True
        undo(self.trail, mark)
        return False

    def attempt_all(
        self, pairs_a: Sequence[object], pairs_b: Sequence[Term], units: Units | None = None
    ) -> bool:
        """Unify pair by pair; on failure leave nothing bound."""
        mark = len(self.trail)
        for a, b in zip(pairs_a, pairs_b, strict=True):
            if not unify(a, b, self.trail, units or self.units):
                undo(self.trail, mark)
                return False
        return True

    def build(self, node: Node, env: Env) -> Any:
        """The value of a node in this clause. `[H|T]` costs one unit per 100 items of T.

        What a value with holes has besides the parts that the text writes costs too.
        """
        if isinstance(node, ListSyntax | Struct):
            cost = list_cost(node, env)
            if cost:
                spend(self.units, cost)
        value = build(node, env)
        if value.__class__ is OpenTerm:
            most = node_weight(node) + OPEN_PARTS_MAX
            size = open_size(value, most)
            if size > most:
                raise Stop("tooLarge")
            more = OPEN_PARTS_MAX - most + size
            if more > OPEN_PARTS_FREE:
                spend(self.units, more // OPEN_PARTS_FREE)
        return value


def list_cost(node: Node, env: Env) -> int:
    """Units for making the lists that a node writes out with a tail: `[H|T]` copies T."""
    cost = 0
    pending: list[Node] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, Struct):
            pending.extend(item.args)
        elif isinstance(item, ListSyntax):
            pending.extend(item.items)
            if isinstance(item.tail, Variable) and item.tail.name in env:
                tail = resolve(env[item.tail.name])
                if tail.__class__ is tuple:
                    cost += len(tail) // COPIED_A_UNIT
                elif is_bound(tail):
                    raise Stop("typeError")  # a list ends in a list
            elif isinstance(item.tail, Variable):
                continue
            elif item.tail is not None:
                pending.append(item.tail)
    return cost


class _Failed:
    __slots__ = ()


_FAILED: Any = _Failed()
_NESTED = "#nested"
"""How deep the call of a clause is nested, kept with its variables."""


# -- one function a goal: gives the work to go on with, or _FAILED ---------------------------


def _true(run: _Run, goal: TrueGoal, env: Env, rest: Work) -> Any:
    return rest


def _fail(run: _Run, goal: Fail, env: Env, rest: Work) -> Any:
    return _FAILED


def _conj(run: _Run, goal: Conj, env: Env, rest: Work) -> Any:
    for part in reversed(goal.goals):
        rest = (part, env, rest)
    return rest


def _disj(run: _Run, goal: Disj, env: Env, rest: Work) -> Any:
    def ways() -> Iterator[Work]:
        for part in goal.goals:
            spend(run.units, 1)
            yield part, env, rest

    run.choose(ways())
    return _FAILED


def _toll(run: _Run, goal: Toll, env: Env, rest: Work) -> Any:
    spend(run.units, goal.units)
    return rest


def _if(run: _Run, goal: If, env: Env, rest: Work) -> Any:
    height = len(run.choices)
    otherwise: list[Work] = [] if goal.otherwise is None else [(goal.otherwise, env, rest)]
    run.choose(iter(otherwise))
    return goal.condition, env, (_Commit(height), env, (goal.then, env, rest))


def _not(run: _Run, goal: Not, env: Env, rest: Work) -> Any:
    height = len(run.choices)
    # `true` stands for what follows, so that the work is never empty.
    run.choose(iter([(TrueGoal(goal.span), env, rest)]))
    return goal.goal, env, (_Commit(height), env, (Fail(goal.span), env, None))


def _commit(run: _Run, goal: _Commit, env: Env, rest: Work) -> Any:
    del run.choices[goal.height :]
    return rest


def _findall(run: _Run, goal: FindAll, env: Env, rest: Work) -> Any:
    found: list[Term] = []

    def when_done() -> Iterator[Work]:
        yield _Bind(goal.result, make(LIST, tuple(found))), env, rest

    run.choose(when_done())
    return goal.goal, env, (_Collect(goal.template, found), env, None)


def _collect(run: _Run, goal: _Collect, env: Env, rest: Work) -> Any:
    spend(run.units, collect_price(goal.template))
    goal.found.append(fresh(run.build(goal.template, env)))
    return _FAILED


def _bind(run: _Run, goal: _Bind, env: Env, rest: Work) -> Any:
    return rest if run.attempt(run.build(goal.pattern, env), goal.value) else _FAILED


def _sense(run: _Run, goal: Sense, env: Env, rest: Work) -> Any:
    pattern = run.build(goal.pattern, env)
    bag = run.obligations if goal.obligations else run.state

    def found() -> Iterator[Work]:
        for parts, values in _sensed(bag, pattern, run.units):
            if run.attempt_all(parts, values):
                yield TrueGoal(goal.span), env, rest

    run.choose(found())
    return _FAILED


_Lined: TypeAlias = tuple[Sequence[Any], Sequence[Term]]
"""Parts of a pattern, and of a term, that are yet to be made equal."""


def _sensed(bag: Bag, pattern: object, units: Units) -> Iterator[_Lined]:
    """The candidates of a pattern, oldest first, one unit each.

    A candidate is a term that agrees with the pattern in every argument that is bound there.
    """
    if pattern.__class__ is not OpenTerm and pattern.__class__ is not Var:
        for _ in equals(bag, pattern, units):
            yield (), ()
        return
    found: Iterable[Term]
    if pattern.__class__ is Var:
        found = everything(bag, units)
    elif pattern.name.__class__ is not str:
        found = bag.of("#tuple")
    else:
        yield from _sensed_compounds(bag, pattern, units)
        return
    for term in found:
        spend(units, 1)
        yield (pattern,), (term,)


def _sensed_compounds(bag: Bag, pattern: Any, units: Units) -> Iterator[_Lined]:
    bucket = bag.buckets.get(f"{pattern.name}/{len(pattern.args)}")
    if bucket is None:
        return
    bound = tuple([at for at, arg in enumerate(pattern.args) if is_bound(arg)])
    wanted = tuple([pattern.args[at] for at in bound])
    others = [at for at, arg in enumerate(pattern.args) if not is_bound(arg)]
    unbound = [pattern.args[at] for at in others]
    some = candidates(bucket, bound, wanted, units) if bound else bucket
    for term in some.values():
        args = term.args
        for at, value in zip(bound, wanted, strict=True):
            if not same_for(units, value, args[at]):
                break
        else:
            spend(units, 1)
            yield unbound, [args[at] for at in others]


def _clock(run: _Run, goal: ClockGoal, env: Env, rest: Work) -> Any:
    return rest if run.attempt(run.build(goal.time, env), seconds(run.now)) else _FAILED


def _this_law(run: _Run, goal: ThisLaw, env: Env, rest: Work) -> Any:
    law = run.interpreter
    fits = run.attempt(run.build(goal.name, env), law.law.name) and run.attempt(
        run.build(goal.hash, env), law.hash
    )
    return rest if fits else _FAILED


def _unify(run: _Run, goal: Unify, env: Env, rest: Work) -> Any:
    left, right = run.build(goal.left, env), run.build(goal.right, env)
    if goal.negated:
        mark = len(run.trail)
        equal = unify(left, right, run.trail, run.units)
        undo(run.trail, mark)
        return _FAILED if equal else rest
    return rest if run.attempt(left, right) else _FAILED


def _same(run: _Run, goal: Same, env: Env, rest: Work) -> Any:
    left, right = run.build(goal.left, env), run.build(goal.right, env)
    return rest if identical(left, right, run.units) != goal.negated else _FAILED


def _compare(run: _Run, goal: Compare, env: Env, rest: Work) -> Any:
    left = evaluate(goal.left, env, run.units)
    right = evaluate(goal.right, env, run.units)
    return rest if COMPARE[goal.operator](left, right) else _FAILED


def _is(run: _Run, goal: Is, env: Env, rest: Work) -> Any:
    value = evaluate(goal.expression, env, run.units)
    return rest if run.attempt(run.build(goal.result, env), value) else _FAILED


def evaluate(node: Node, env: Env, units: Units) -> int | float:
    """The number an expression of the law's text stands for, without recursion."""
    done: list[Any] = []
    todo: list[tuple[Node, bool]] = [(node, False)]
    while todo:
        item, ready = todo.pop()
        if isinstance(item, Variable):
            done.append(calculate(build(item, env), units))
        elif isinstance(item, Const):
            done.append(calculate(item.value, units))
        elif isinstance(item, ListSyntax):
            raise Stop("typeError")
        elif not ready:
            todo.append((item, True))
            todo.extend((part, False) for part in reversed(item.args))
        elif len(item.args) == 2:
            right, left = done.pop(), done.pop()
            done.append(arith2(item.name, left, right, units))
        else:
            done.append(arith1(item.name, done.pop()))
    result: int | float = done[0]
    return result


def _do(run: _Run, goal: Do, env: Env, rest: Work) -> Any:
    run.operations.append(run.build(goal.operation, env))
    if len(run.operations) > OPERATIONS_MAX:
        raise Stop("tooLarge")
    return rest


def _call(run: _Run, goal: PredicateCall, env: Env, rest: Work) -> Any:
    args = tuple([run.build(node, env) for node in goal.args])
    clauses = run.interpreter.law.helpers.get((goal.name, len(args)))
    if clauses is not None:
        spend(run.units, run.interpreter.call_prices[goal.name, len(args)])
        is_last = rest is None or rest[1] is not env
        nested = env.get(_NESTED, 0) + (0 if is_last else 1)
        if nested > NESTED_MAX:
            raise Stop("budget")

        def bodies() -> Iterator[Work]:
            for clause in clauses:
                own = {**run.specials, _NESTED: nested}
                heads = tuple([_head(run, node, own) for node in clause.args])
                if run.attempt_all(heads, args):
                    yield clause.body, own, rest

        run.choose(bodies())
        return _FAILED
    return _builtin(run, goal, args, env, rest)


def _head(run: _Run, node: Node, env: Env) -> Any:
    """The value of a helper's argument as its clause has it; the call has paid for its size."""
    cost = list_cost(node, env)
    if cost:
        spend(run.units, cost)
    return build(node, env)


def _builtin(run: _Run, goal: PredicateCall, args: tuple[Term, ...], env: Env, rest: Work) -> Any:
    args = tuple([resolve(arg) for arg in args])
    builtin = BUILTINS[goal.name, len(args)]
    ground = [is_bound(arg) for arg in args]
    if not any(all(ground[at] for at in needs) for needs in builtin.needs):
        if goal.name in SPINE_ENOUGH:
            return _open_list_builtin(run, goal, args, ground, env, rest)
        raise Stop("notGround")
    if goal.name == "delete":
        left = delete_matching(args[0], _matcher(run, goal, args[1]), run.units)
        return rest if left is not None and run.attempt(args[2], left) else _FAILED
    given = tuple([arg if is_given else UNSET for arg, is_given in zip(args, ground, strict=True)])
    echoed = ECHOED.get(goal.name, ())
    told = [at for at in range(len(args)) if not ground[at] or at not in echoed]
    asked = [args[at] for at in told]

    def answers() -> Iterator[Work]:
        for answer in SOLUTIONS[goal.name](given, run.units):
            if run.attempt_all(asked, [answer[at] for at in told]):
                yield TrueGoal(goal.span), env, rest

    run.choose(answers())
    return _FAILED


def _open_list_builtin(
    run: _Run, goal: PredicateCall, args: tuple[Any, ...], ground: list[bool], env: Env, rest: Work
) -> Any:
    """A list built-in on lists of known length with unbound items: their items are unified."""
    is_list = [arg.__class__ is OpenTerm and arg.name is LIST for arg in args]
    builtin = BUILTINS[goal.name, len(args)]
    known = [a or b for a, b in zip(ground, is_list, strict=True)]
    if not any(all(known[at] for at in needs) for needs in builtin.needs):
        raise Stop("notGround")
    given = [
        arg.args if open_list else arg if bound else UNSET
        for arg, open_list, bound in zip(args, is_list, ground, strict=True)
    ]
    if goal.name == "delete":
        left = delete_matching(given[0], _unifier(run, goal, args[1]), run.units)
        assert left is not None
        return rest if run.attempt(args[2], make(LIST, left)) else _FAILED

    def answers() -> Iterator[Work]:
        for answer in SOLUTIONS[goal.name](tuple(given), run.units):
            values = tuple([make(LIST, v) if v.__class__ is tuple else v for v in answer])
            if run.attempt_all(args, values):
                yield TrueGoal(goal.span), env, rest

    run.choose(answers())
    return _FAILED


def _unifier(run: _Run, goal: PredicateCall, pattern: object) -> Callable[[Any], bool]:
    return unifier(pattern, match_price(goal.args[1]), run.trail, run.units)


def _matcher(run: _Run, goal: PredicateCall, pattern: Term) -> Callable[[Term], bool]:
    if is_bound(pattern):
        return lambda item: same_for(run.units, item, pattern)
    return _unifier(run, goal, pattern)


_STEPS: dict[type, Any] = {
    TrueGoal: _true,
    Toll: _toll,
    Fail: _fail,
    Conj: _conj,
    Disj: _disj,
    If: _if,
    Not: _not,
    _Commit: _commit,
    FindAll: _findall,
    _Collect: _collect,
    _Bind: _bind,
    Sense: _sense,
    ClockGoal: _clock,
    ThisLaw: _this_law,
    Unify: _unify,
    Same: _same,
    Compare: _compare,
    Is: _is,
    Do: _do,
    PredicateCall: _call,
}
"""What each goal does."""

__all__ = ["Env", "Interpreter", "Outcome", "Trace", "special_values"]
