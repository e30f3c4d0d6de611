"""Code that only goes on or fails: goals with one solution, arithmetic, and the heads of loops.

What follows a goal, and where paths part, is `emit.body`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomospace.law.bag import INDEX_FROM
from nomospace.law.emit.paths import CodePlace, Operations
from nomospace.law.emit.support import HIGH
from nomospace.law.emit.symbols import Hole, Ref, Scope, Sensed, Shape, Symbol, Uncompilable
from nomospace.law.emit.terms import TermCode, UnreachableCode
from nomospace.law.emit.writer import BLOCKS_MAX, Writer
from nomospace.law.prelude import UNITS_MAX
from nomospace.law.tree import ClockGoal, Compare, Do, Goal, Is, Same, ThisLaw, Unify
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

if TYPE_CHECKING:
    from nomospace.law.emit.build import LawBuilder


class PlainCode:
    """Writes goals that need nothing of what follows them."""

    def __init__(self, builder: LawBuilder, writer: Writer, terms: TermCode) -> None:
        self.builder = builder
        self.w = writer
        self.terms = terms

    def simple(self, goal: Goal, scope: Scope, ops: Operations, at: CodePlace) -> Operations:
        """Goals with at most one solution, in straight-line code."""
        terms = self.terms
        if isinstance(goal, Do):
            symbol = terms.written(goal.operation, scope, wholes=False)
            return Operations(ops.base, (*ops.pending, symbol))
        if isinstance(goal, ClockGoal):
            symbol = terms.written(goal.time, scope)
            now = self.w.fresh()
            self.w.line(f"{now} = now / 1000000 if now % 1000000 else now // 1000000")
            terms.numbers.add(now)
            terms.match(symbol, Ref(now), scope, at.fail)
        elif isinstance(goal, ThisLaw):
            for node, value in ((goal.name, self.builder.name), (goal.hash, self.builder.hash)):
                symbol = terms.written(node, scope)
                terms.unify(symbol, terms.constants.ref(value), scope, at.fail)
        elif isinstance(goal, Unify):
            left = terms.written(goal.left, scope)
            right = terms.written(goal.right, scope)
            if goal.negated:
                self._not_unify(left, right, scope, at)
            else:
                terms.unify(left, right, scope, at.fail)
        elif isinstance(goal, Same):
            self._same(goal, scope, at)
        elif isinstance(goal, Compare):
            left_name = self._number(goal.left, scope, inline=isinstance(goal.right, Const))
            right_name = self._number(goal.right, scope)
            operator = {"=<": "<=", "=:=": "==", "=\\=": "!="}.get(goal.operator, goal.operator)
            self.w.line(f"if not {left_name} {operator} {right_name}: {at.fail}")
        else:
            assert isinstance(goal, Is)
            value = self._number(goal.expression, scope)
            number = Ref(value, value in terms.constants.namespace)
            terms.unify(terms.written(goal.result, scope), number, scope, at.fail)
        return ops

    def _same(self, goal: Same, scope: Scope, at: CodePlace) -> None:
        terms = self.terms
        left = terms.written(goal.left, scope)
        right = terms.written(goal.right, scope)
        open_left, open_right = scope.holes_in(left), scope.holes_in(right)
        if open_left or open_right:
            if isinstance(left, Hole) and isinstance(right, Hole):
                equal = left is right
            elif bool(open_left) != bool(open_right):
                equal = False  # one is ground, the other is not
            else:
                raise Uncompilable("two partial values are compared")
            if equal == goal.negated:
                self.w.line(at.fail)
                raise UnreachableCode
            return
        condition = terms.differs(terms.value(left, scope), terms.value(right, scope))
        if goal.negated:
            condition = "True" if condition is None else f"not {condition}"
        if condition is not None:
            self.w.line(f"if {condition}: {at.fail}")

    def _not_unify(self, left: Symbol, right: Symbol, scope: Scope, at: CodePlace) -> None:
        if not scope.holes_in(left) and not scope.holes_in(right):
            condition = self.terms.differs(
                self.terms.value(left, scope), self.terms.value(right, scope)
            )
            self.w.line(at.fail if condition is None else f"if not {condition}: {at.fail}")
            return
        flag = self.w.fresh("c")
        self.w.line(f"{flag} = 0")
        with self.w.block("while True:"):
            try:
                self.terms.unify(left, right, scope.copy(), "break")
                self.w.line(f"{flag} = 1")
                self.w.line("break")
            except UnreachableCode:
                pass
        self.w.line(f"if {flag}: {at.fail}")

    def _number(self, node: Node, scope: Scope, *, inline: bool = False) -> str:
        """Write code that evaluates an expression; the name that holds its value.

        With `inline`, a variable's value may be an expression instead, to be used once.
        """
        if isinstance(node, Const) and node.value.__class__ in (int, float):
            return self.terms.constants.add(node.value)
        if isinstance(node, Const | Variable):
            symbol = self.terms.symbol(node, scope)
            name = self.w.fresh()
            if isinstance(symbol, Ref):
                x = symbol.expr
                number = f"{x} if {x}.__class__ is int else calculate({x}, u)"
                if inline:
                    return f"({number})"
                self.w.line(f"{name} = {number}")
                return name
            if isinstance(symbol, Hole):
                self.w.line("raise Stop('notGround')")
                raise UnreachableCode
            made = self.terms.value(symbol, scope).expr
            self.w.line(f"{name} = calculate({made}, u)")
            return name
        if isinstance(node, ListSyntax):
            self.w.line("raise Stop('typeError')")
            raise UnreachableCode
        assert isinstance(node, Struct)
        small = self._small(node, scope)
        if small is not None:
            return small
        operands = ", ".join([self._number(arg, scope) for arg in node.args])
        name = self.w.fresh()
        function = "arith2" if len(node.args) == 2 else "arith1"
        units = ", u" if len(node.args) == 2 else ""
        self.w.line(
            f"{name} = {function}({self.terms.constants.add(node.name)}, {operands}{units})"
        )
        return name

    def _small(self, node: Struct, scope: Scope) -> str | None:
        """`_number` of a sum, a difference or a product of values at hand: without a call.

        Small integers cost nothing and give no error. All others go the general way.
        """
        if node.name not in ("+", "-", "*") or len(node.args) != 2:
            return None
        if not all(isinstance(arg, Const | Variable) for arg in node.args):
            return None
        parts: list[str] = []
        tests: list[str] = []
        general: list[str] = []
        for arg in node.args:
            symbol = self.terms.symbol(arg, scope)
            if not isinstance(symbol, Ref):
                return None
            x = symbol.expr
            parts.append(x)
            if symbol.constant:
                value = self.terms.constants.namespace[x]
                if type(value) is not int or abs(value) >= HIGH:
                    return None
                general.append(x)
            else:
                tests += [f"{x}.__class__ is int", f"LOW < {x} < HIGH"]
                general.append(f"calculate({x}, u)")
        if not tests:
            return None
        name, operator = self.w.fresh(), self.terms.constants.add(node.name)
        self.w.line(
            f"{name} = {parts[0]} {node.name} {parts[1]} if {' and '.join(tests)} "
            f"else arith2({operator}, {general[0]}, {general[1]}, u)",
            worth=1 + len(tests) // 2,
        )
        return name

    def sense_compound(
        self, pattern: Shape, bag: str, item: str, scope: Scope, at: CodePlace
    ) -> None:
        terms = self.terms
        key = terms.constants.add(f"{pattern.name}/{len(pattern.args)}")
        args: list[Symbol] = []
        bound: list[int] = []
        for index, arg in enumerate(pattern.args):
            symbol = terms.whole(terms.few_parts(arg, scope), scope)
            if not scope.holes_in(symbol):
                bound.append(index)
            args.append(symbol)
        shapes = [terms.settled(arg, scope) for arg in pattern.args]
        bucket = self.w.fresh("b")
        self.w.line(f"{bucket} = {bag}.buckets.get({key})")
        self.w.line(f"if {bucket} is None: {at.fail}")
        parts = [self.w.fresh() for _ in args]
        places = self.builder.acting and bag == "st"
        walk = bucket if places else f"{bucket}.values()"
        if bound:
            for index in bound:
                terms.ask_short(args[index], shapes[index], scope)
            positions = terms.constants.add(tuple(bound))
            wanted = "".join([f"{terms.expr(args[index], scope)}, " for index in bound])
            found = f"candidates({bucket}, {positions}, ({wanted}), u)"
            if not places:
                found += ".values()"
            walk = f"{walk} if len({bucket}) <= {INDEX_FROM} else {found}"
        if places:
            place = self.w.fresh("n")
            self.loop(f"for {place} in {walk}:")
            self.w.line(f"{item} = {bucket}[{place}]")
            assert pattern.name is not None
            sensed = Sensed(bucket, place, item, pattern.name, tuple(parts))
            scope.sensed = (*scope.sensed, sensed)
        else:
            self.loop(f"for {item} in {walk}:")
        if len(parts) == 1:
            self.w.line(f"{parts[0]} = {item}.args[0]")
        else:
            self.w.line(f"{', '.join(parts)} = {item}.args")
        for index in bound:
            terms.match_whole(args[index], Ref(parts[index]), shapes[index], scope, "continue")
        self.spend()
        for index, arg in enumerate(args):
            if index not in bound:
                terms.match(arg, Ref(parts[index]), scope, "continue")

    def delete(self, symbols: list[Symbol], price: int, scope: Scope, at: CodePlace) -> None:
        terms = self.terms
        items, unwanted, left = symbols
        if scope.holes_in(items):
            if isinstance(items, Shape):
                raise Uncompilable("a list built-in on a list with unbound items")
            self.w.line("raise Stop('notGround')")
            raise UnreachableCode
        source = terms.value(items, scope).expr
        pattern = terms.pattern_expr(unwanted, scope, as_open=True)
        name = self.w.fresh()
        matcher = f"matching({pattern}, {price}, u)"
        if not scope.holes_in(unwanted):
            matcher = f"equal_to({pattern}, u)"
        self.w.line(f"{name} = delete_matching({source}, {matcher}, u)")
        self.w.line(f"if {name} is None: {at.fail}")
        terms.unify(left, Ref(name, False, tuple), scope, at.fail)

    def loop(self, head: str) -> None:
        self.w.line(head)
        self.w.depth += 1
        self.w.blocks += 1
        if self.w.blocks > BLOCKS_MAX:
            raise Uncompilable("loops nest too deep")

    def end_loop(self) -> None:
        self.w.depth -= 1
        self.w.blocks -= 1

    def spend(self, count: int = 1) -> None:
        self.w.line(f"u[0] = n = u[0] + {count}")
        self.w.line(f"if n > {UNITS_MAX} and used_up(u): raise ending(u)")
