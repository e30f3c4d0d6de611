"""One function a goal: what it does with the machine, and the work to go on with, or `FAILED`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from nomospace.law import tree
from nomospace.law.arithmetic import COMPARE, arith1, arith2, calculate, seconds
from nomospace.law.bag import Bag
from nomospace.law.budget import Stop, Units, same_for, spend
from nomospace.law.holes import (
    LIST,
    OpenTerm,
    Value,
    build,
    fresh,
    identical,
    is_bound,
    make,
    resolve,
    unifier,
    unify,
)
from nomospace.law.machine import (
    FAILED,
    NESTED,
    BindStep,
    CollectStep,
    CommitStep,
    Env,
    Machine,
    StepResult,
    Work,
    list_cost,
)
from nomospace.law.prelude import BUILTINS, NESTED_MAX, OPERATIONS_MAX, SPINE_ENOUGH
from nomospace.law.prices import collect_price, match_price
from nomospace.law.runtime import (
    ECHOED,
    SOLUTIONS,
    UNSET,
    candidates,
    delete_matching,
    equals,
    everything,
)
from nomospace.terms import Term, undo
from nomospace.terms.tokens import Const, ListSyntax, Node, Variable
from nomospace.terms.values import parts_of

_Next: TypeAlias = Work | Literal[StepResult.FAILED]


def _true(machine: Machine, goal: tree.TrueGoal, env: Env, rest: Work) -> _Next:
    return rest


def _fail(machine: Machine, goal: tree.Fail, env: Env, rest: Work) -> _Next:
    return FAILED


def _conj(machine: Machine, goal: tree.Conj, env: Env, rest: Work) -> _Next:
    for part in reversed(goal.goals):
        rest = (part, env, rest)
    return rest


def _disj(machine: Machine, goal: tree.Disj, env: Env, rest: Work) -> _Next:
    def ways() -> Iterator[Work]:
        for part in goal.goals:
            spend(machine.units, 1)
            yield part, env, rest

    machine.choose(ways())
    return FAILED


def _toll(machine: Machine, goal: tree.Toll, env: Env, rest: Work) -> _Next:
    spend(machine.units, goal.units)
    return rest


def _if(machine: Machine, goal: tree.If, env: Env, rest: Work) -> _Next:
    height = len(machine.choices)
    otherwise: list[Work] = [] if goal.otherwise is None else [(goal.otherwise, env, rest)]
    machine.choose(iter(otherwise))
    return goal.condition, env, (CommitStep(height), env, (goal.then, env, rest))


def _not(machine: Machine, goal: tree.Not, env: Env, rest: Work) -> _Next:
    height = len(machine.choices)
    # `true` stands for what follows, so that the work is never empty.
    machine.choose(iter([(tree.TrueGoal(goal.span), env, rest)]))
    return goal.goal, env, (CommitStep(height), env, (tree.Fail(goal.span), env, None))


def _commit(machine: Machine, goal: CommitStep, env: Env, rest: Work) -> _Next:
    del machine.choices[goal.height :]
    return rest


def _findall(machine: Machine, goal: tree.FindAll, env: Env, rest: Work) -> _Next:
    found: list[Value] = []

    def when_done() -> Iterator[Work]:
        yield BindStep(goal.result, make(LIST, tuple(found))), env, rest

    machine.choose(when_done())
    return goal.goal, env, (CollectStep(goal.template, found), env, None)


def _collect(machine: Machine, goal: CollectStep, env: Env, rest: Work) -> _Next:
    spend(machine.units, collect_price(goal.template))
    goal.found.append(fresh(machine.build(goal.template, env)))
    return FAILED


def _bind(machine: Machine, goal: BindStep, env: Env, rest: Work) -> _Next:
    return rest if machine.attempt(machine.build(goal.pattern, env), goal.value) else FAILED


def _sense(machine: Machine, goal: tree.Sense, env: Env, rest: Work) -> _Next:
    pattern = machine.build(goal.pattern, env)
    bag = machine.obligations if goal.obligations else machine.state

    def found() -> Iterator[Work]:
        for parts, values in _sensed(bag, pattern, machine.units):
            if machine.attempt_all(parts, values):
                yield tree.TrueGoal(goal.span), env, rest

    machine.choose(found())
    return FAILED


_Lined: TypeAlias = tuple[Sequence[Value], Sequence[Term]]
"""Parts of a pattern, and of a term, that are yet to be made equal."""


def _sensed(bag: Bag, pattern: Value, units: Units) -> Iterator[_Lined]:
    """The candidates of a pattern, oldest first, one unit each.

    A candidate is a term that agrees with the pattern in every argument that is bound there.
    """
    if is_bound(pattern):
        for _ in equals(bag, pattern, units):
            yield (), ()
        return
    found: Iterable[Term]
    if type(pattern) is not OpenTerm:
        found = everything(bag, units)
    elif type(pattern.name) is not str:
        found = bag.of("#tuple")
    else:
        yield from _sensed_compounds(bag, pattern, units)
        return
    for term in found:
        spend(units, 1)
        yield (pattern,), (term,)


def _sensed_compounds(bag: Bag, pattern: OpenTerm, units: Units) -> Iterator[_Lined]:
    bucket = bag.buckets.get(f"{pattern.name}/{len(pattern.args)}")
    if bucket is None:
        return
    bound = tuple([at for at, arg in enumerate(pattern.args) if is_bound(arg)])
    wanted = tuple([arg for arg in pattern.args if is_bound(arg)])
    others = [at for at, arg in enumerate(pattern.args) if not is_bound(arg)]
    unbound = [pattern.args[at] for at in others]
    some = candidates(bucket, bound, wanted, units) if bound else bucket
    for term in some.values():
        args = parts_of(term)
        for at, value in zip(bound, wanted, strict=True):
            if not same_for(units, value, args[at]):
                break
        else:
            spend(units, 1)
            yield unbound, [args[at] for at in others]


def _clock(machine: Machine, goal: tree.ClockGoal, env: Env, rest: Work) -> _Next:
    return rest if machine.attempt(machine.build(goal.time, env), seconds(machine.now)) else FAILED


def _this_law(machine: Machine, goal: tree.ThisLaw, env: Env, rest: Work) -> _Next:
    fits = machine.attempt(machine.build(goal.name, env), machine.law.name) and machine.attempt(
        machine.build(goal.hash, env), machine.hash
    )
    return rest if fits else FAILED


def _unify(machine: Machine, goal: tree.Unify, env: Env, rest: Work) -> _Next:
    left, right = machine.build(goal.left, env), machine.build(goal.right, env)
    if goal.negated:
        mark = len(machine.trail)
        equal = unify(left, right, machine.trail, machine.units)
        undo(machine.trail, mark)
        return FAILED if equal else rest
    return rest if machine.attempt(left, right) else FAILED


def _same(machine: Machine, goal: tree.Same, env: Env, rest: Work) -> _Next:
    left, right = machine.build(goal.left, env), machine.build(goal.right, env)
    return rest if identical(left, right, machine.units) != goal.negated else FAILED


def _compare(machine: Machine, goal: tree.Compare, env: Env, rest: Work) -> _Next:
    left = evaluate(goal.left, env, machine.units)
    right = evaluate(goal.right, env, machine.units)
    return rest if COMPARE[goal.operator](left, right) else FAILED


def _is(machine: Machine, goal: tree.Is, env: Env, rest: Work) -> _Next:
    value = evaluate(goal.expression, env, machine.units)
    return rest if machine.attempt(machine.build(goal.result, env), value) else FAILED


def evaluate(node: Node, env: Env, units: Units) -> int | float:
    """The number an expression of the law's text stands for, without recursion."""
    done: list[int | float] = []
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
    return done[0]


def _do(machine: Machine, goal: tree.Do, env: Env, rest: Work) -> _Next:
    machine.operations.append(machine.build(goal.operation, env))
    if len(machine.operations) > OPERATIONS_MAX:
        raise Stop("tooLarge")
    return rest


def _call(machine: Machine, goal: tree.PredicateCall, env: Env, rest: Work) -> _Next:
    args = tuple([machine.build(node, env) for node in goal.args])
    clauses = machine.law.helpers.get((goal.name, len(args)))
    if clauses is not None:
        spend(machine.units, machine.call_prices[goal.name, len(args)])
        is_last = rest is None or rest[1] is not env
        nested = env.get(NESTED, 0)
        assert isinstance(nested, int)
        nested += 0 if is_last else 1
        if nested > NESTED_MAX:
            raise Stop("budget")

        def bodies() -> Iterator[Work]:
            for clause in clauses:
                own: Env = {**machine.specials, NESTED: nested}
                heads = tuple([_head(machine, node, own) for node in clause.args])
                if machine.attempt_all(heads, args):
                    yield clause.body, own, rest

        machine.choose(bodies())
        return FAILED
    return _builtin(machine, goal, args, env, rest)


def _head(machine: Machine, node: Node, env: Env) -> Value:
    """The value of a helper's argument as its clause has it; the call has paid for its size."""
    cost = list_cost(node, env)
    if cost:
        spend(machine.units, cost)
    return build(node, env)


def _builtin(
    machine: Machine, goal: tree.PredicateCall, args: tuple[Value, ...], env: Env, rest: Work
) -> _Next:
    args = tuple([resolve(arg) for arg in args])
    builtin = BUILTINS[goal.name, len(args)]
    ground = [is_bound(arg) for arg in args]
    if not any(all(ground[at] for at in needs) for needs in builtin.needs):
        if goal.name in SPINE_ENOUGH:
            return _open_list_builtin(machine, goal, args, ground, env, rest)
        raise Stop("notGround")
    if goal.name == "delete":
        left = delete_matching(args[0], _matcher(machine, goal, args[1]), machine.units)
        return rest if left is not None and machine.attempt(args[2], left) else FAILED
    given = tuple([arg if is_given else UNSET for arg, is_given in zip(args, ground, strict=True)])
    echoed = ECHOED.get(goal.name, ())
    told = [at for at in range(len(args)) if not ground[at] or at not in echoed]
    asked = [args[at] for at in told]

    def answers() -> Iterator[Work]:
        for answer in SOLUTIONS[goal.name](given, machine.units):
            if machine.attempt_all(asked, [answer[at] for at in told]):
                yield tree.TrueGoal(goal.span), env, rest

    machine.choose(answers())
    return FAILED


def _open_list_builtin(
    machine: Machine,
    goal: tree.PredicateCall,
    args: tuple[Any, ...],
    ground: list[bool],
    env: Env,
    rest: Work,
) -> _Next:
    """A list built-in on lists of known length with unbound items: their items are unified."""
    is_list = [type(arg) is OpenTerm and arg.name is LIST for arg in args]
    builtin = BUILTINS[goal.name, len(args)]
    known = [a or b for a, b in zip(ground, is_list, strict=True)]
    if not any(all(known[at] for at in needs) for needs in builtin.needs):
        raise Stop("notGround")
    given = [
        arg.args if open_list else arg if bound else UNSET
        for arg, open_list, bound in zip(args, is_list, ground, strict=True)
    ]
    if goal.name == "delete":
        left = delete_matching(given[0], _unifier(machine, goal, args[1]), machine.units)
        assert left is not None
        return rest if machine.attempt(args[2], make(LIST, left)) else FAILED

    def answers() -> Iterator[Work]:
        for answer in SOLUTIONS[goal.name](tuple(given), machine.units):
            values = tuple([make(LIST, v) if type(v) is tuple else v for v in answer])
            if machine.attempt_all(args, values):
                yield tree.TrueGoal(goal.span), env, rest

    machine.choose(answers())
    return FAILED


def _unifier(machine: Machine, goal: tree.PredicateCall, pattern: Value) -> Callable[[Value], bool]:
    return unifier(pattern, match_price(goal.args[1]), machine.trail, machine.units)


def _matcher(machine: Machine, goal: tree.PredicateCall, pattern: Value) -> Callable[[Term], bool]:
    if is_bound(pattern):
        return lambda item: same_for(machine.units, item, pattern)
    return _unifier(machine, goal, pattern)


STEPS: dict[type, Any] = {
    tree.TrueGoal: _true,
    tree.Toll: _toll,
    tree.Fail: _fail,
    tree.Conj: _conj,
    tree.Disj: _disj,
    tree.If: _if,
    tree.Not: _not,
    CommitStep: _commit,
    tree.FindAll: _findall,
    CollectStep: _collect,
    BindStep: _bind,
    tree.Sense: _sense,
    tree.ClockGoal: _clock,
    tree.ThisLaw: _this_law,
    tree.Unify: _unify,
    tree.Same: _same,
    tree.Compare: _compare,
    tree.Is: _is,
    tree.Do: _do,
    tree.PredicateCall: _call,
}
"""What each goal does."""
