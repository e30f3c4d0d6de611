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

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from nomospace.law import tree
from nomospace.law.emit.inline import renamed
from nomospace.law.emit.operations import OperationCode
from nomospace.law.emit.paths import TOP, Again, CodePath, CodePlace, Operations, Point, names_in
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

    def goals(self, path: CodePath) -> None:
        """Write code for the goals of a path and what follows; it always ends in a jump."""
        if not path.goals:
            path.done(path.scope, path.ops, path.at)
            return
        builder = self.builder
        builder.row += 1
        try:
            if builder.row > ROW_MAX:
                raise Uncompilable("too many goals one behind the other")
            self._goal(path.goals[0], path.behind())
        except UnreachableCode:
            return
        finally:
            builder.row -= 1

    def _goal(self, goal: tree.Goal, path: CodePath) -> None:
        """Write code for a goal, and for the goals of the path behind it."""
        if isinstance(goal, tree.Conj):
            self.goals(path.through(*goal.goals))
        elif isinstance(goal, tree.TrueGoal):
            self.goals(path)
        elif isinstance(goal, tree.Toll):
            self.plain.spend(goal.units)
            self.goals(path)
        elif isinstance(goal, tree.Fail):
            self.w.line(path.at.fail)
        elif isinstance(goal, tree.Disj):
            self._disj(goal, path)
        elif isinstance(goal, tree.If):
            self._if(goal, path)
        elif isinstance(goal, tree.Not):
            flag, _ = self._region(goal.goal, path)
            self.w.line(f"if {flag}: {path.at.fail}")
            self.goals(path)
        elif isinstance(goal, tree.FindAll):
            self._findall(goal, path)
        elif isinstance(goal, tree.Sense):
            self._sense(goal, path)
        elif isinstance(goal, tree.PredicateCall):
            self._call(goal, path)
        else:
            ops = self.plain.simple(goal, path.scope, path.ops, path.at)
            self.goals(path._replace(ops=ops))

    # -- where paths part ------------------------------------------------------------------

    def _disj(self, goal: tree.Disj, path: CodePath) -> None:
        for alternative in goal.goals:
            with self.w.block("while True:"):
                self.plain.spend()
                self.goals(path.through(alternative).copy("break"))
            self._after_block(path)
        self.w.line(path.at.fail)

    def _after_block(self, path: CodePath) -> None:
        if path.at.flag is not None:
            self.w.line(f"if {path.at.flag}: break")

    def _if(self, goal: tree.If, path: CodePath) -> None:
        flag, points = self._region(goal.condition, path)
        for number, (scope, ops) in enumerate(points, 1):
            self.w.line(f"if {flag} == {number}:")
            with self.w.indented():
                self.goals(path.through(goal.then)._replace(scope=scope, ops=ops))
        if goal.otherwise is None:
            self.w.line(path.at.fail)
        else:
            self.goals(path.through(goal.otherwise))

    def _region(self, goal: tree.Goal, path: CodePath) -> tuple[str, list[Point]]:
        """Write code for the first solution of a goal.

        Gives the name of a flag, 0 when there is none, else the number (from 1) of the place
        where it was found, and what is known at each of these places.
        """
        points: list[Point] = []
        flag = self.w.fresh("c")
        scope, ops = path.scope, path.ops
        if self.calls_helper(goal):
            self._region_function(goal, scope, ops, flag, points)
            return flag, points

        def found(inner: Scope, inner_ops: Operations, at: CodePlace) -> None:
            points.append((inner, inner_ops))
            self.w.line(f"{flag} = {len(points)}")
            self.w.line("break")

        self.w.line(f"{flag} = 0")
        with self.w.block("while True:"):
            self.goals(CodePath((goal,), scope.copy(), ops, CodePlace("break", flag), found))
        return flag, points

    def _region_function(
        self, goal: tree.Goal, scope: Scope, ops: Operations, flag: str, points: list[Point]
    ) -> None:
        before = names_in(scope, ops)
        carried: list[list[str]] = []

        def found(inner: Scope, inner_ops: Operations, at: CodePlace) -> None:
            names = sorted(names_in(inner, inner_ops) - before)
            # Terms at hand inside the function are not at hand outside.
            inner.made, inner.sensed = dict(scope.made), scope.sensed
            inner.short = scope.short
            points.append((inner, inner_ops))
            carried.append(names)
            self.w.line(f"return ({len(points)}, {''.join(f'{name}, ' for name in names)})")

        result = self._function(CodePath((goal,), scope.copy(), ops, TOP, found))
        self.w.line(f"if {result} is BUDGET: return BUDGET")
        self.w.line(f"{flag} = 0 if {result} is None else {result}[0]")
        for number, names in enumerate(carried, 1):
            if names:
                self.w.line(f"if {flag} == {number}: _, {', '.join(names)} = {result}")

    def _function(self, path: CodePath) -> str:
        """Write goals of a region as a function, and call it; the name that has its result.

        The last call of a region is not the clause's, and hands on to the region.
        """
        function, result = self.w.fresh("q"), self.w.fresh("r")
        apart, self.apart = self.apart, True
        try:
            with self.w.function(f"def {function}():"):
                self.goals(path)
        finally:
            self.apart = apart
        self.w.line(f"{result} = {function}()")
        return result

    def calls_helper(self, goal: tree.Goal) -> bool:
        return any(
            isinstance(inner, tree.PredicateCall)
            and (inner.name, len(inner.args)) in self.builder.helpers
            and (inner.name, len(inner.args)) not in self.builder.leaves
            for inner in tree.goals_in(goal)
        )

    def _findall(self, goal: tree.FindAll, path: CodePath) -> None:
        scope = path.scope
        found = self.w.fresh("f")
        self.w.line(f"{found} = []")

        def collect(inner: Scope, inner_ops: Operations, inside: CodePlace) -> None:
            self.plain.spend(collect_price(goal.template))
            template = self.terms.written(goal.template, inner)
            if inner.holes_in(template):
                raise Uncompilable("findall collects unbound variables")
            self.w.line(f"{found}.append({self.terms.expr(template, inner)})")
            self.w.line(inside.fail)

        each = CodePath((goal.goal,), scope.copy(), path.ops, TOP, collect)
        if self.calls_helper(goal.goal):
            result = self._function(each)
            self.w.line(f"if {result} is not None: return {result}")
        else:
            with self.w.block("while True:"):
                self.goals(each._replace(at=CodePlace("break")))
        value = self.w.fresh()
        self.w.line(f"{value} = tuple({found})")
        result_symbol = self.terms.written(goal.result, scope)
        self.terms.unify(result_symbol, Ref(value, False, tuple), scope, path.at.fail)
        self.goals(path)

    # -- the control state -----------------------------------------------------------------

    def _sense(self, goal: tree.Sense, path: CodePath) -> None:
        terms, scope = self.terms, path.scope
        pattern = terms.written(goal.pattern, scope, wholes=False)
        bag = "ob" if goal.obligations else "st"
        item = self.w.fresh()
        if isinstance(pattern, Ref) and pattern.constant and pattern.kind is Compound:
            value = terms.constants.namespace[pattern.expr]
            parts = tuple([terms.constants.ref(arg) for arg in value.args])
            pattern = Shape(value.name, parts)
        if isinstance(pattern, Shape) and pattern.name is not None:
            self.plain.sense_compound(pattern, bag, item, scope, path.at)
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
                self.plain.loop(f"for {item} in {bag}.buckets.get({key}, ()):")
                self.plain.spend()
            else:
                self.plain.loop(f"for {item} in equals({bag}, {value.expr}, u):")
        self._in_loop(path)

    def _in_loop(self, path: CodePath) -> None:
        """Write the rest of the goals inside a loop that was begun, and end it."""
        self.goals(path._replace(at=CodePlace("continue", path.at.flag)))
        self.plain.end_loop()
        self._after_block(path)
        self.w.line(path.at.fail)

    # -- predicates ------------------------------------------------------------------------

    def _call(self, goal: tree.PredicateCall, path: CodePath) -> None:
        symbols = [self.terms.written(node, path.scope) for node in goal.args]
        key = goal.name, len(goal.args)
        if key in self.builder.leaves:
            self._leaf(key, symbols, path)
        elif key in self.builder.helpers:
            self._helper(goal.name, symbols, path)
        elif goal.name == "delete":
            self.plain.delete(symbols, match_price(goal.args[1]), path.scope, path.at)
            self.goals(path)
        else:
            self._builtin(goal.name, symbols, path)

    def _builtin(self, name: str, symbols: list[Symbol], path: CodePath) -> None:
        terms, scope = self.terms, path.scope
        builtin = BUILTINS[name, len(symbols)]
        bound = [not scope.holes_in(symbol) for symbol in symbols]
        if not any(all(bound[index] for index in needs) for needs in builtin.needs):
            if name in SPINE_ENOUGH and any(isinstance(s, Shape) for s in symbols):
                raise Uncompilable("a list built-in on a list with unbound items")
            self.w.line("raise Stop('notGround')")
            return
        given = [
            terms.value(symbol, scope).expr if is_bound else "UNSET"
            for symbol, is_bound in zip(symbols, bound, strict=True)
        ]
        if name == "member":
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
            function = terms.constants.add(name)
            call = f"SOLUTIONS[{function}](({''.join(f'{part}, ' for part in given)}), u)"
            self.plain.loop(f"for {answer} in {call}:")
            for index, symbol in enumerate(symbols):
                part = self.w.fresh()
                if bound[index]:
                    if index not in ECHOED.get(name, ()):
                        self.w.line(f"{part} = {answer}[{index}]")
                        condition = terms.differs(Ref(given[index]), Ref(part))
                        self.w.line(f"if {condition}: continue")
                else:
                    self.w.line(f"{part} = {answer}[{index}]")
                    terms.match(symbol, Ref(part), scope, "continue")
        self._in_loop(path)

    def _leaf(self, key: tuple[str, int], symbols: list[Symbol], path: CodePath) -> None:
        """Write a helper that calls no other out, each clause with the rest of the goals."""
        self.plain.spend(self.builder.call_prices[key])
        if self.in_helper and (path.goals or self.apart):
            self.w.line("if d >= NESTED_MAX: raise Stop('budget')")
        clauses = self.builder.helpers[key]
        names = path.scope.names
        keep = {name for name in ("Self", "Msg", "Peer") if isinstance(names.get(name), Ref)}
        for clause in clauses:
            self.leaf_count += 1
            nodes, body = renamed(clause, self.leaf_count, keep)
            if len(clauses) == 1:
                self._leaf_clause(nodes, symbols, path.through(body))
                return
            with self.w.block("while True:"):
                self._leaf_clause(nodes, symbols, path.through(body).copy("break"))
            self._after_block(path)
        self.w.line(path.at.fail)

    def _leaf_clause(self, nodes: tuple[Node, ...], symbols: list[Symbol], path: CodePath) -> None:
        try:
            heads = [self.terms.head(node, path.scope) for node in nodes]
            for head, symbol in zip(heads, symbols, strict=True):
                self.terms.unify(head, symbol, path.scope, path.at.fail)
        except UnreachableCode:
            return
        self.goals(path)

    def _helper(self, helper: str, symbols: list[Symbol], path: CodePath) -> None:
        """Call a helper with the rest of the goals as its continuation."""
        assert path.at.flag is None, "a region with helper calls is a function"
        terms, scope, ops = self.terms, path.scope, path.ops
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
        variant = (helper, len(symbols), tuple(mode))
        self.variants.add(variant)
        function, effectful = self.builder.variant(variant)
        # How deep the call is: a clause's own last call is as deep as the clause.
        is_last = not path.goals and not self.apart
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
                self.goals(path._replace(scope=inner, ops=inner_ops, at=TOP))
            passed.append(continuation)
        self.w.line(f"{result} = {function}({', '.join(passed)})")
        self.w.line(f"if {result} is not None: return {result}")
        self.w.line(path.at.fail)

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
