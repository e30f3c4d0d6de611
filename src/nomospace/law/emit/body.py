"""Code for the goals of a rule or of a helper's clause.

A goal that can have several solutions becomes a loop with the rest of the rule inside it; a goal
that fails jumps: `continue` to the next solution of the innermost loop, `break` out of an
alternative, `return None` when there is nothing left to try. So every piece of code that is
written here ends in a jump, and success is a `return` from the innermost point.

Where paths part (`;`, `->`), the rest of the rule is written once for each path. That is what
lets the compiler know, on each path, which variables are bound and to what. A rule with very
many paths is left to the interpreter.

A *region* is code of which only the first solution counts: a condition, a negation. Without
helper calls it is a `while True:` block that sets a flag and breaks; with them it is a function,
since the rest of the goals then live in continuations.

A helper predicate becomes a function per calling pattern (which arguments are bound). It takes a
continuation `k` and calls it with its outputs for each solution; anything but `None` that comes
back ends the search. That way helpers can be backtracked into, and recursion costs Python frames,
which live on the heap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from nomospace.law import tree
from nomospace.law.emit.inline import renamed
from nomospace.law.emit.operations import OperationCode
from nomospace.law.emit.paths import TOP, Again, CodePlace, Done, Goals, Operations, names_in
from nomospace.law.emit.plain import PlainCode
from nomospace.law.emit.symbols import Hole, Ref, Scope, Shape, Symbol, Uncompilable
from nomospace.law.emit.terms import TermCode, UnreachableCode
from nomospace.law.emit.writer import Writer
from nomospace.law.prelude import BUILTINS, SPINE_ENOUGH
from nomospace.law.prices import collect_price, match_price
from nomospace.law.runtime import ECHOED
from nomospace.terms import Compound
from nomospace.terms.tokens import Node

if TYPE_CHECKING:
    from nomospace.law.emit.build import LawBuilder


ROW_MAX: Final = 300
"""How many goals may stand one behind the other in a rule and in all that it calls, one in the
other, for it to be compiled."""


class BodyCode:
    """Writes one function: a rule, or a helper in one calling pattern."""

    def __init__(self, builder: LawBuilder) -> None:
        self.builder = builder
        self.w = Writer(builder.room)
        self.terms = TermCode(self.w, builder.constants)
        self.plain = PlainCode(builder, self.w, self.terms)
        self.operations = OperationCode(self.w, self.terms)
        self.variants: set[tuple[str, int, tuple[bool, ...]]] = set()
        self.tail: Callable[[Scope], list[Symbol]] | None = None
        self.again: Again | None = None
        self.in_helper = False
        self.leaf_count = 0
        self.apart = False  # inside a condition, a negation or a findall

    # -- goals -----------------------------------------------------------------------------

    def goals(self, todo: Goals, scope: Scope, ops: Operations, at: CodePlace, done: Done) -> None:
        """Write code for goals and what follows; it always ends in a jump."""
        if not todo:
            done(scope, ops, at)
            return
        goal, rest = todo[0], todo[1:]
        builder = self.builder
        builder.row += 1
        try:
            if builder.row > ROW_MAX:
                raise Uncompilable("too many goals one behind the other")
            self._goal(goal, rest, scope, ops, at, done)
        except UnreachableCode:
            return
        finally:
            builder.row -= 1

    def _goal(
        self, goal: tree.Goal, rest: Goals, scope: Scope, ops: Operations, at: CodePlace, done: Done
    ) -> None:
        if isinstance(goal, tree.Conj):
            self.goals(goal.goals + rest, scope, ops, at, done)
        elif isinstance(goal, tree.TrueGoal):
            self.goals(rest, scope, ops, at, done)
        elif isinstance(goal, tree.Toll):
            self.plain.spend(goal.units)
            self.goals(rest, scope, ops, at, done)
        elif isinstance(goal, tree.Fail):
            self.w.line(at.fail)
        elif isinstance(goal, tree.Disj):
            self._disj(goal, rest, scope, ops, at, done)
        elif isinstance(goal, tree.If):
            self._if(goal, rest, scope, ops, at, done)
        elif isinstance(goal, tree.Not):
            self._not(goal.goal, rest, scope, ops, at, done)
        elif isinstance(goal, tree.FindAll):
            self._findall(goal, rest, scope, ops, at, done)
        elif isinstance(goal, tree.Sense):
            self._sense(goal, rest, scope, ops, at, done)
        elif isinstance(goal, tree.PredicateCall):
            self._call(goal, rest, scope, ops, at, done)
        else:
            ops = self.plain.simple(goal, scope, ops, at)
            self.goals(rest, scope, ops, at, done)

    # -- where paths part ------------------------------------------------------------------

    def _disj(
        self, goal: tree.Disj, rest: Goals, scope: Scope, ops: Operations, at: CodePlace, done: Done
    ) -> None:
        for alternative in goal.goals:
            with self.w.block("while True:"):
                inner = CodePlace("break", at.flag)
                self.plain.spend()
                self.goals((alternative, *rest), scope.copy(), ops, inner, done)
            self._after_block(at)
        self.w.line(at.fail)

    def _after_block(self, at: CodePlace) -> None:
        if at.flag is not None:
            self.w.line(f"if {at.flag}: break")

    def _if(
        self, goal: tree.If, rest: Goals, scope: Scope, ops: Operations, at: CodePlace, done: Done
    ) -> None:
        flag, points = self._region(goal.condition, scope, ops)
        for number, (inner, inner_ops) in enumerate(points, 1):
            self.w.line(f"if {flag} == {number}:")
            with self.w.indented():
                self.goals((goal.then, *rest), inner, inner_ops, at, done)
        if goal.otherwise is None:
            self.w.line(at.fail)
        else:
            self.goals((goal.otherwise, *rest), scope, ops, at, done)

    def _not(
        self, goal: tree.Goal, rest: Goals, scope: Scope, ops: Operations, at: CodePlace, done: Done
    ) -> None:
        flag, _ = self._region(goal, scope, ops)
        self.w.line(f"if {flag}: {at.fail}")
        self.goals(rest, scope, ops, at, done)

    def _region(
        self, goal: tree.Goal, scope: Scope, ops: Operations
    ) -> tuple[str, list[tuple[Scope, Operations]]]:
        """Write code for the first solution of a goal.

        Gives the name of a flag, 0 when there is none, else the number (from 1) of the place
        where it was found, and what is known at each of these places.
        """
        points: list[tuple[Scope, Operations]] = []
        flag = self.w.fresh("c")
        if self.calls_helper(goal):
            return self._region_function(goal, scope, ops, flag, points)

        def found(inner: Scope, inner_ops: Operations, at: CodePlace) -> None:
            points.append((inner, inner_ops))
            self.w.line(f"{flag} = {len(points)}")
            self.w.line("break")

        self.w.line(f"{flag} = 0")
        with self.w.block("while True:"):
            self.goals((goal,), scope.copy(), ops, CodePlace("break", flag), found)
        return flag, points

    def _region_function(
        self,
        goal: tree.Goal,
        scope: Scope,
        ops: Operations,
        flag: str,
        points: list[tuple[Scope, Operations]],
    ) -> tuple[str, list[tuple[Scope, Operations]]]:
        before = names_in(scope, ops)
        carried: list[list[str]] = []

        def found(inner: Scope, inner_ops: Operations, at: CodePlace) -> None:
            names = sorted(names_in(inner, inner_ops) - before)
            # Terms at hand inside the function are not at hand outside.
            inner.made, inner.sensed = dict(scope.made), scope.sensed
            points.append((inner, inner_ops))
            carried.append(names)
            self.w.line(f"return ({len(points)}, {''.join(f'{name}, ' for name in names)})")

        function, result = self.w.fresh("q"), self.w.fresh("r")
        with self.w.function(f"def {function}():"), self._apart():
            self.goals((goal,), scope.copy(), ops, TOP, found)
        self.w.line(f"{result} = {function}()")
        self.w.line(f"if {result} is BUDGET: return BUDGET")
        self.w.line(f"{flag} = 0 if {result} is None else {result}[0]")
        for number, names in enumerate(carried, 1):
            if names:
                self.w.line(f"if {flag} == {number}: _, {', '.join(names)} = {result}")
        return flag, points

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Goals of a region: its last call is not the clause's, and hands on to the region."""
        apart, self.apart = self.apart, True
        try:
            yield
        finally:
            self.apart = apart

    def calls_helper(self, goal: tree.Goal) -> bool:
        return any(
            isinstance(inner, tree.PredicateCall)
            and (inner.name, len(inner.args)) in self.builder.helpers
            and (inner.name, len(inner.args)) not in self.builder.leaves
            for inner in tree.goals_in(goal)
        )

    def _findall(
        self,
        goal: tree.FindAll,
        rest: Goals,
        scope: Scope,
        ops: Operations,
        at: CodePlace,
        done: Done,
    ) -> None:
        found = self.w.fresh("f")
        self.w.line(f"{found} = []")

        def collect(inner: Scope, inner_ops: Operations, inside: CodePlace) -> None:
            self.plain.spend(collect_price(goal.template))
            template = self.terms.written(goal.template, inner)
            if inner.holes_in(template):
                raise Uncompilable("findall collects unbound variables")
            self.w.line(f"{found}.append({self.terms.expr(template, inner)})")
            self.w.line(inside.fail)

        if self.calls_helper(goal.goal):
            function, result = self.w.fresh("q"), self.w.fresh("r")
            with self.w.function(f"def {function}():"), self._apart():
                self.goals((goal.goal,), scope.copy(), ops, TOP, collect)
            self.w.line(f"{result} = {function}()")
            self.w.line(f"if {result} is not None: return {result}")
        else:
            with self.w.block("while True:"):
                self.goals((goal.goal,), scope.copy(), ops, CodePlace("break"), collect)
        value = self.w.fresh()
        self.w.line(f"{value} = tuple({found})")
        result_symbol = self.terms.written(goal.result, scope)
        self.terms.unify(result_symbol, Ref(value, False, tuple), scope, at.fail)
        self.goals(rest, scope, ops, at, done)

    # -- the control state -----------------------------------------------------------------

    def _sense(
        self,
        goal: tree.Sense,
        rest: Goals,
        scope: Scope,
        ops: Operations,
        at: CodePlace,
        done: Done,
    ) -> None:
        terms = self.terms
        pattern = terms.written(goal.pattern, scope, wholes=False)
        bag = "ob" if goal.obligations else "st"
        item = self.w.fresh()
        inside = CodePlace("continue", at.flag)
        if isinstance(pattern, Ref) and pattern.constant and pattern.kind is Compound:
            value = terms.constants.namespace[pattern.expr]
            parts = tuple([terms.constants.ref(arg) for arg in value.args])
            pattern = Shape(value.name, parts)
        if isinstance(pattern, Shape) and pattern.name is not None:
            self.plain.sense_compound(pattern, bag, item, scope, at)
        elif isinstance(pattern, Hole):
            self.plain.loop(f"for {item} in everything({bag}, u):")
            self.plain.spend()
            scope.holes[pattern] = Ref(item)
        elif scope.holes_in(pattern):
            self.plain.loop(f"for {item} in {bag}.of('#tuple'):")
            self.plain.spend()
            whole = terms.whole(terms.few_parts(pattern, scope), scope)
            terms.match(whole, Ref(item, False, tuple), scope, "continue")
        else:
            value = terms.value(pattern, scope)
            if value.constant and value.kind is str and not terms.is_long(value):
                key = terms.constants.add(f"{terms.constants.namespace[value.expr]}/0")
                self.plain.loop(f"for {item} in {bag}.of({key}):")
                self.plain.spend()
            else:
                self.plain.loop(f"for {item} in equals({bag}, {value.expr}, u):")
        self.goals(rest, scope, ops, inside, done)
        self.plain.end_loop()
        self._after_block(at)
        self.w.line(at.fail)

    # -- predicates ------------------------------------------------------------------------

    def _call(
        self,
        goal: tree.PredicateCall,
        rest: Goals,
        scope: Scope,
        ops: Operations,
        at: CodePlace,
        done: Done,
    ) -> None:
        terms = self.terms
        symbols = [terms.written(node, scope) for node in goal.args]
        if (goal.name, len(goal.args)) in self.builder.leaves:
            self._leaf(goal, symbols, rest, scope, ops, at, done)
        elif (goal.name, len(goal.args)) in self.builder.helpers:
            self._helper(goal, symbols, rest, scope, ops, at, done)
        elif goal.name == "delete":
            self.plain.delete(symbols, match_price(goal.args[1]), scope, at)
            self.goals(rest, scope, ops, at, done)
        else:
            self._builtin(goal, symbols, rest, scope, ops, at, done)

    def _builtin(
        self,
        goal: tree.PredicateCall,
        symbols: list[Symbol],
        rest: Goals,
        scope: Scope,
        ops: Operations,
        at: CodePlace,
        done: Done,
    ) -> None:
        terms = self.terms
        builtin = BUILTINS[goal.name, len(symbols)]
        bound = [not scope.holes_in(symbol) for symbol in symbols]
        if not any(all(bound[index] for index in needs) for needs in builtin.needs):
            if goal.name in SPINE_ENOUGH and any(isinstance(s, Shape) for s in symbols):
                raise Uncompilable("a list built-in on a list with unbound items")
            self.w.line("raise Stop('notGround')")
            return
        given = [
            terms.value(symbol, scope).expr if is_bound else "UNSET"
            for symbol, is_bound in zip(symbols, bound, strict=True)
        ]
        if goal.name == "member":
            item = self.w.fresh()
            items = given[1]
            self.plain.loop(f"for {item} in {items} if {items}.__class__ is tuple else ():")
            self.plain.spend()
            wanted = Ref(given[0]) if bound[0] else symbols[0]
            if isinstance(wanted, Ref):
                condition = terms.differs(wanted, Ref(item))
                self.w.line(f"if {condition}: continue")
            else:
                terms.match(wanted, Ref(item), scope, "continue")
        else:
            answer = self.w.fresh()
            function = terms.constants.add(goal.name)
            call = f"SOLUTIONS[{function}](({''.join(f'{part}, ' for part in given)}), u)"
            self.plain.loop(f"for {answer} in {call}:")
            for index, symbol in enumerate(symbols):
                part = self.w.fresh()
                if bound[index]:
                    if index not in ECHOED.get(goal.name, ()):
                        self.w.line(f"{part} = {answer}[{index}]")
                        condition = terms.differs(Ref(given[index]), Ref(part))
                        self.w.line(f"if {condition}: continue")
                else:
                    self.w.line(f"{part} = {answer}[{index}]")
                    terms.match(symbol, Ref(part), scope, "continue")
        self.goals(rest, scope, ops, CodePlace("continue", at.flag), done)
        self.plain.end_loop()
        self._after_block(at)
        self.w.line(at.fail)

    def _leaf(
        self,
        goal: tree.PredicateCall,
        symbols: list[Symbol],
        rest: Goals,
        scope: Scope,
        ops: Operations,
        at: CodePlace,
        done: Done,
    ) -> None:
        """Write a helper that calls no other out, each clause with the rest of the goals."""
        self.plain.spend(self.builder.call_prices[goal.name, len(symbols)])
        if self.in_helper and (rest or self.apart):
            self.w.line("if d >= NESTED_MAX: raise Stop('budget')")
        clauses = self.builder.helpers[goal.name, len(symbols)]
        keep = {name for name in ("Self", "Msg", "Peer") if isinstance(scope.names.get(name), Ref)}
        for clause in clauses:
            self.leaf_count += 1
            nodes, body = renamed(clause, self.leaf_count, keep)
            if len(clauses) == 1:
                self._leaf_clause(nodes, symbols, (body, *rest), scope, ops, at, done)
                return
            inner = CodePlace("break", at.flag)
            with self.w.block("while True:"):
                self._leaf_clause(nodes, symbols, (body, *rest), scope.copy(), ops, inner, done)
            self._after_block(at)
        self.w.line(at.fail)

    def _leaf_clause(
        self,
        nodes: tuple[Node, ...],
        symbols: list[Symbol],
        goals: Goals,
        scope: Scope,
        ops: Operations,
        at: CodePlace,
        done: Done,
    ) -> None:
        try:
            heads = [self.terms.head(node, scope) for node in nodes]
            for head, symbol in zip(heads, symbols, strict=True):
                self.terms.unify(head, symbol, scope, at.fail)
        except UnreachableCode:
            return
        self.goals(goals, scope, ops, at, done)

    def _helper(
        self,
        goal: tree.PredicateCall,
        symbols: list[Symbol],
        rest: Goals,
        scope: Scope,
        ops: Operations,
        at: CodePlace,
        done: Done,
    ) -> None:
        """Call a helper with the rest of the goals as its continuation."""
        assert at.flag is None, "a region with helper calls is a function"
        terms = self.terms
        mode = []
        given = []
        outs: list[Hole] = []
        for symbol in symbols:
            settled = scope.settle(symbol)
            if not scope.holes_in(settled):
                mode.append(True)
                given.append(terms.value(settled, scope).expr)
            elif isinstance(settled, Hole) and settled not in outs:
                mode.append(False)
                outs.append(settled)
            else:
                raise Uncompilable("a helper is called with a partial value")
        variant = (goal.name, len(symbols), tuple(mode))
        self.variants.add(variant)
        function, effectful = self.builder.variant(variant)
        # How deep the call is: a clause's own last call is as deep as the clause.
        is_last = not rest and not self.apart
        depth = ("d" if is_last else "d + 1") if self.in_helper else ("0" if is_last else "1")
        last = is_last and self.tail is not None and self._passes_on(outs, effectful, ops, scope)
        again = self.again
        if (
            last
            and again is not None
            and again.variant == variant
            and again.blocks == self.w.blocks
        ):
            if effectful:
                self.w.line(f"o = {self.flush(ops, scope)}")
            if given:
                self.w.line(f"{', '.join(again.parameters)} = {', '.join(given)}")
            self.w.line("continue")
            return
        passed = [*given, *self.builder.context, depth, "u"]
        if effectful:
            passed.append(self.flush(ops, scope))
        result = self.w.fresh("r")
        if last:
            passed.append("k")
        else:
            names = [self.w.fresh("p") for _ in outs]
            inner = scope.copy()
            for hole, name in zip(outs, names, strict=True):
                inner.holes[hole] = Ref(name)
            inner_ops = ops
            if effectful:
                base = self.w.fresh("o")
                names.append(base)
                inner_ops = Operations(base, ())
            continuation = self.w.fresh("then")
            with self.w.function(f"def {continuation}({', '.join(names)}):"):
                self.goals(rest, inner, inner_ops, TOP, done)
            passed.append(continuation)
        self.w.line(f"{result} = {function}({', '.join(passed)})")
        self.w.line(f"if {result} is not None: return {result}")
        self.w.line(at.fail)

    def flush(self, ops: Operations, scope: Scope) -> str:
        """The ruling so far as a linked list, for a helper that adds to it."""
        base = ops.base or "None"
        for symbol in ops.pending:
            if scope.holes_in(symbol):
                raise Uncompilable("an operation with holes before a helper that does")
            base = f"push({base}, {self.terms.expr(symbol, scope)})"
        return base

    def _passes_on(self, outs: list[Hole], effectful: bool, ops: Operations, scope: Scope) -> bool:
        """Whether a last call gives just what this helper gives: its continuation can be ours."""
        assert self.tail is not None
        mine = self.tail(scope)
        return (
            len(mine) == len(outs)
            and all(a is b for a, b in zip(mine, outs, strict=True))
            and effectful == self.builder.current_effectful
            and (effectful or (not ops.pending and ops.base is None))
        )


__all__ = ["BodyCode"]
