"""Puts a program together: a function for each rule, one for each helper as it is called, and
one for each event that picks the rules to try.

Each rule is a function `(S, x, y, z, st, ob, now, u)`: home, up to three arguments of the event,
control state, obligations, time and units. It gives `(number of the rule, operations)` or `None`.
A rule that cannot be compiled gets a function of the same form that asks the interpreter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, Final, TypeAlias

import msgspec

from nomospace.law import tree
from nomospace.law.emit.body import BodyCode
from nomospace.law.emit.dispatch import MAIN, DispatchCode, Merged, try_both
from nomospace.law.emit.inline import leaves
from nomospace.law.emit.paths import TOP, Again, CodePath, CodePlace, Operations
from nomospace.law.emit.sizes import SizeBound, bound_of, either
from nomospace.law.emit.support import NAMESPACE
from nomospace.law.emit.symbols import Hole, Ref, Scope, Shape, Symbol, Uncompilable
from nomospace.law.emit.terms import UnreachableCode
from nomospace.law.emit.writer import CodeBudget, Constants
from nomospace.law.prices import call_price
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

Ruler: TypeAlias = Callable[..., Any]
Variant: TypeAlias = tuple[str, int, tuple[bool, ...]]
"""A helper as it is called: name, arity, and which arguments are bound."""

FAIL = TOP.fail
ARGUMENTS = ("x", "y", "z")
MESSAGE_EVENTS = ("sent", "arrived", "submitted")
COUNTING: Final = ("-", "incr", "dcr")
"""Operations that a rule may carry out by itself, on what it has sensed."""


FRAMES_MAX: Final = 20_000
"""Python frames that writing a rule may take: some for each goal of a row."""
PIECE_CHARS: Final = 50_000
"""Code is compiled in pieces of about this size: compiling takes memory, loading takes time."""
LATE_CHARS_MAX: Final = 50_000
"""A law of no more code may have its rules compiled as they are first asked, some ten milliseconds
in all. That of a larger law would keep others waiting, so it is compiled when it is loaded."""


class LawCode(msgspec.Struct):
    """A law's rules, compiled: all that is needed to have them as functions in another process."""

    pieces: list[CodeType]
    constants: dict[str, Any]
    tables: list[tuple[str, dict[object, str]]]
    merged: list[Merged]
    shared: list[tuple[int, ...]]
    events: list[str]
    compiled: list[bool]
    """Of each rule whether it is; the interpreter carries out the others."""
    late: dict[str, str] = {}
    """Functions that are to be compiled when they are first called, and their text."""
    bounds: list[SizeBound | None] = []
    """Of each rule how large a ruling of it may be (`emit.sizes`)."""

    def link(self, fallback: Callable[[int], Ruler]) -> dict[str, Ruler]:
        """The rulers by event. `fallback` makes an interpreted rule."""
        names: dict[str, Any] = {**NAMESPACE, **self.constants}
        for index, good in enumerate(self.compiled):
            if not good:
                names[f"rule{index}"] = fallback(index)
        for piece in self.pieces:
            exec(piece, names)
        shared = [[(number, names[f"rule{number}"]) for number in one] for one in self.shared]
        for name, own, others in self.merged:
            rules = [(number, names[f"rule{number}"]) for number in own]
            names[name] = try_both(rules, shared[others])
        tables: list[dict[object, Ruler]] = []
        for name, text in self.late.items():
            names[name] = _late(name, text, names, tables)
        for name, table in self.tables:
            names[name] = {key: names[function] for key, function in table.items()}
            tables.append(names[name])
        return {event: names[f"on_{event}"] for event in self.events}


def _late(
    name: str, text: str, names: dict[str, Ruler], tables: list[dict[object, Ruler]]
) -> Ruler:
    """A function that is compiled when it is first called, and then stands wherever this does."""

    def compile_first(*case: object) -> object:
        if names[name] is compile_first:
            exec(compile(text, f"<law's {name}>", "exec"), names)
        made = names[name]
        for table in tables:
            for key, function in table.items():
                if function is compile_first:
                    table[key] = made
        return made(*case)

    return compile_first


class _Compiled(msgspec.Struct):
    """A function that was written, and the helpers it stands on."""

    lines: list[str] = []
    bounds: list[SizeBound | None] = []
    uses: set[Variant] = set()
    failed: bool = False


class LawBuilder:
    """Compiles one law.

    With `acting`, a rule that can carry its own change of state out does so and gives
    `(number, operations, change)`; the others give `(number, operations)` as ever.
    """

    def __init__(self, law: tree.LawTree, hash: str, *, acting: bool = False) -> None:
        self.law = law
        self.acting = acting
        self.acts = False  # whether any rule does
        self.name = law.name
        self.hash = hash
        self.helpers = law.helpers
        self.namespace: dict[str, Any] = {}
        self.constants = Constants(self.namespace)
        self.room = CodeBudget()
        self.effectful = _effectful(law)
        self.leaves = leaves(law)
        self.current_effectful = False
        self.row = 0
        """How many goals, one behind the other, are being written."""
        self.context = _context(law)
        self.call_prices = {key: call_price(clauses) for key, clauses in law.helpers.items()}
        self._variants: dict[Variant, _Compiled] = {}
        self._variant_names: dict[Variant, str] = {}

    def build(self, lately: bool = False) -> LawCode:
        """The code of all rules.

        With `lately`, the rules and helpers of a law that is not large are compiled by Python when
        they are first called: of most laws a process asks a few rules.
        """
        limit = sys.getrecursionlimit()
        # Which rules are compiled must not depend on who asks: `ROW_MAX` bounds the recursion.
        sys.setrecursionlimit(max(limit, FRAMES_MAX))
        try:
            rules = self._rules()
        finally:
            sys.setrecursionlimit(limit)
        if self.acting and not self.acts:  # then none need know at which places terms stand
            return LawBuilder(self.law, self.hash).build(lately)
        self._spread_failure()
        late: dict[str, str] = {}
        functions: list[list[str]] = []
        for variant, compiled in self._variants.items():
            if not compiled.failed and not self._broken(compiled):
                functions.append(compiled.lines)
            else:
                self._variants[variant].failed = True
        done = [not compiled.failed and not self._broken(compiled) for compiled in rules]
        bodies = {index: rule.lines for index, rule in enumerate(rules) if done[index]}
        dispatch = DispatchCode(self.law, self.constants, bodies)
        written = _functions(dispatch.write())
        # What stands in the dispatch itself is no function besides.
        functions += [lines for index, lines in bodies.items() if index in dispatch.called]
        if lately and not dispatch.merged and sum(map(_size, functions)) <= LATE_CHARS_MAX:
            late = {_name(lines): "\n".join(lines) for lines in functions}
            functions = []
        functions += written
        return LawCode(
            self._pieces(functions),
            self.namespace,
            dispatch.tables,
            dispatch.merged,
            dispatch.shared,
            dispatch.events,
            done,
            late,
            [either(rule.bounds) if good else None for rule, good in zip(rules, done, strict=True)],
        )

    def _rules(self) -> list[_Compiled]:
        """The code of each rule; none where rules are to act and a glance shows that none does."""
        if self.acting:
            glance = LawBuilder(self.law, self.hash, acting=True)
            for index, rule in enumerate(self.law.rules):
                if glance.may_act(rule):
                    glance._rule(index, rule)
                    if glance.acts:
                        break
            else:
                return []
        return [self._rule(index, rule) for index, rule in enumerate(self.law.rules)]

    def may_act(self, rule: tree.Rule) -> bool:
        """Whether a rule, or a helper written out in it, may carry its change of state out.

        Then it takes away what it senses, or counts it.
        """
        senses = changes = False
        for goal in tree.goals_in(rule.body):
            if isinstance(goal, tree.PredicateCall) and (goal.name, len(goal.args)) in self.helpers:
                return True
            if isinstance(goal, tree.Do):
                operation = goal.operation
                changes |= isinstance(operation, Variable) or (
                    isinstance(operation, Struct) and operation.name in COUNTING
                )
            senses |= isinstance(goal, tree.Sense)
        return senses and changes

    def _pieces(self, functions: list[list[str]]) -> list[CodeType]:
        pieces, lines, size = [], list[str](), 0
        for number, function in enumerate(functions, start=1):
            lines += function
            size += _size(function)
            if size >= PIECE_CHARS or number == len(functions):
                pieces.append(compile("\n".join(lines), f"<law {self.hash[:12]}>", "exec"))
                lines, size = [], 0
        return pieces

    def _broken(self, compiled: _Compiled) -> bool:
        return any(self._variants[variant].failed for variant in compiled.uses)

    def _spread_failure(self) -> None:
        """A helper that stands on one that could not be compiled cannot be used either."""
        changed = True
        while changed:
            changed = False
            for compiled in self._variants.values():
                if not compiled.failed and self._broken(compiled):
                    compiled.failed = changed = True

    # -- rules -----------------------------------------------------------------------------

    def _rule(self, index: int, rule: tree.Rule) -> _Compiled:
        code = BodyCode(self)
        compiled = _Compiled(uses=code.variants)
        scope, has_message = _event_scope(rule.event)
        if has_message:
            code.operations.message = ARGUMENTS
            code.operations.sender_is_home = rule.event == "sent"

        def done(inner: Scope, ops: Operations, at: CodePlace) -> None:
            compiled.bounds.append(self._success(code, index, inner, ops))

        self.current_effectful = False
        try:
            code.w.line(f"def rule{index}(S, x, y, z, st, ob, now, u):")
            with code.w.indented():
                if {"m", "p"} & set(self.context) and code.calls_helper(rule.body):
                    if not has_message:
                        raise Uncompilable("a helper names Msg or Peer, and there is none")
                    code.w.line(f"m, p = y, {'z' if rule.event == 'sent' else 'x'}")
                try:
                    self._head(code, rule, scope)
                    code.goals(CodePath((rule.body,), scope, Operations(), TOP, done))
                except UnreachableCode:
                    pass
        except Uncompilable:
            compiled.failed = True
        compiled.lines = code.w.lines
        return compiled

    def _head(self, code: BodyCode, rule: tree.Rule, scope: Scope) -> None:
        """Match the arguments of the event.

        Taking apart a value of the wrong kind or length raises inside the `try`, which costs
        nothing when all is well and saves a test for each part.
        """
        w, terms = code.w, code.terms
        nested = any(isinstance(node, Struct | ListSyntax) for node in rule.args)
        lines_before = len(w.lines)
        if nested:
            w.line("try:")
            w.depth += 1
            terms.guarded = True
        kinds = {"sent": ("x",), "arrived": ("z",), "submitted": ("z",)}.get(rule.event, ())
        terms.free = True
        terms.given = dict.fromkeys(ARGUMENTS[: len(rule.args)], "")
        symbols = [terms.symbol(node, scope) for node in rule.args]
        later = [(terms.symbol(a, scope), terms.symbol(b, scope)) for a, b in rule.later]
        for position, (node, name) in enumerate(zip(rule.args, ARGUMENTS, strict=False)):
            symbol = symbols[position]
            value = Ref(name, False, str if name in kinds else None)
            if position == MAIN.get(rule.event) and _chosen_by(node, symbol):
                # The dispatch has looked at the functor, or at the atom, already.
                if isinstance(symbol, Shape):
                    terms.match_arguments(symbol, name, scope, FAIL)
            else:
                terms.match(symbol, value, scope, FAIL)
        terms.free = False
        if nested:
            terms.guarded = False
            if len(w.lines) == lines_before + 1:
                w.line("pass")
            w.depth -= 1
            w.line("except (AttributeError, ValueError): return None")
        for stand_in, head in later:
            terms.unify(stand_in, terms.few_parts(head, scope), scope, FAIL)

    def _success(
        self, code: BodyCode, index: int, scope: Scope, ops: Operations
    ) -> SizeBound | None:
        """Write the end of a path; how large its ruling may be, where that has to be known."""
        if ops.base is None:
            code.operations.general = False
            bound = bound_of(ops.pending, code.operations.message, scope, code.terms)
            made = [code.operations.finish(symbol, scope) for symbol in ops.pending]
            change = code.operations.change(ops.pending, scope) if self.acting else None
            if change is not None:
                self.acts = True
                parts = "".join([f"{expr}, " for expr, _ in made])
                code.w.line(f"return ({index}, ({parts}), {change})")
                return 0, 0  # it is not measured
            if all(constant for _, constant in made):
                values = tuple([self.namespace[expr] for expr, _ in made])
                code.w.line(f"return {self.constants.add((index, values))}")
            else:
                parts = "".join([f"{expr}, " for expr, _ in made])
                code.w.line(f"return ({index}, ({parts}))")
            return None if code.operations.general else bound
        base = code.flush(ops, scope)
        message = "None"
        if code.operations.message is not None:
            message = f"({', '.join(code.operations.message)})"
        found, one = code.w.fresh("f"), code.w.fresh("f")
        code.w.line(f"{found} = []")
        code.w.line(f"for {one} in flatten({base}): {found}.append(finish({one}, S, {message}, u))")
        code.w.line(f"return ({index}, tuple({found}))")
        return None

    # -- helpers ---------------------------------------------------------------------------

    def variant(self, variant: Variant) -> tuple[str, bool]:
        """The function of a helper for one calling pattern, and whether it adds operations."""
        effectful = variant[:2] in self.effectful
        known = self._variant_names.get(variant)
        if known is None:
            known = self._variant_names[variant] = f"helper{len(self._variant_names)}"
            outer = self.current_effectful
            self.current_effectful = effectful
            self._variants[variant] = _Compiled()  # while it is being written, it is taken as good
            self._variants[variant] = self._helper(variant, known, effectful)
            self.current_effectful = outer
        return known, effectful

    def _helper(self, variant: Variant, name: str, effectful: bool) -> _Compiled:
        code = BodyCode(self)
        compiled = _Compiled(uses=code.variants)
        mode = variant[2]
        given = [f"a{index}" for index, bound in enumerate(mode) if bound]
        code.in_helper = True
        parameters = [*given, *self.context, "d", "u", *(["o"] if effectful else []), "k"]
        try:
            code.w.line(f"def {name}({', '.join(parameters)}):")
            with code.w.indented():
                clauses = self.helpers[variant[:2]]
                with code.w.block("while True:"):
                    code.w.line(f"u[0] = n = u[0] + {self.call_prices[variant[:2]]}")
                    code.w.line("if n > UNITS_MAX and used_up(u) or d > NESTED_MAX: return BUDGET")
                    for clause in clauses[:-1]:
                        with code.w.block("while True:"):
                            self._clause(code, clause, mode, effectful, CodePlace("break"))
                    # Nothing is left to try after the last clause: a call of itself at its end
                    # goes round the loop instead of one deeper.
                    code.again = Again(variant, given, code.w.blocks)
                    self._clause(code, clauses[-1], mode, effectful, TOP)
        except Uncompilable:
            compiled.failed = True
        compiled.lines = code.w.lines
        return compiled

    def _clause(
        self,
        code: BodyCode,
        clause: tree.Clause,
        mode: tuple[bool, ...],
        effectful: bool,
        at: CodePlace,
    ) -> None:
        scope = Scope({"Self": Ref("S", False, str), "Msg": Ref("m"), "Peer": Ref("p")})
        outs: list[Symbol] = [Hole() for bound in mode if not bound]
        operations = Operations("o") if effectful else Operations()

        def done(inner: Scope, ops: Operations, at: CodePlace) -> None:
            parts = []
            for out in outs:
                if inner.holes_in(out):
                    raise Uncompilable("a helper may leave an argument unbound")
                parts.append(code.terms.value(out, inner).expr)
            if effectful:
                parts.append(code.flush(ops, inner))
            result = code.w.fresh("r")
            code.w.line(f"{result} = k({', '.join(parts)})")
            code.w.line(f"if {result} is not None: return {result}")
            code.w.line(at.fail)

        code.tail = lambda inner: [inner.settle(out) for out in outs]
        try:
            remaining = iter(outs)
            symbols = [code.terms.head(node, scope) for node in clause.args]
            for index, (symbol, bound) in enumerate(zip(symbols, mode, strict=True)):
                if bound:
                    code.terms.match(symbol, Ref(f"a{index}"), scope, at.fail)
                else:
                    code.terms.unify(next(remaining), symbol, scope, at.fail)
            code.goals(CodePath((clause.body,), scope, operations, at, done))
        except UnreachableCode:
            pass


def _size(function: list[str]) -> int:
    return sum(map(len, function))


def _name(function: list[str]) -> str:
    """The name of a function, by its first line."""
    return function[0][len("def ") : function[0].index("(")]


def _functions(lines: list[str]) -> Iterator[list[str]]:
    """Lines of code by the function that they belong to."""
    begin = 0
    for at, line in enumerate(lines):
        if line.startswith("def ") and at > begin:
            yield lines[begin:at]
            begin = at
    yield lines[begin:]


def _chosen_by(node: Node, symbol: Symbol) -> bool:
    """Whether the dispatch picks a rule by this argument alone, down to its name."""
    if isinstance(node, Struct):
        return isinstance(symbol, Shape) and symbol.name is not None
    return isinstance(node, Const) and isinstance(node.value, str)


def _event_scope(event: str) -> tuple[Scope, bool]:
    """What is known when an event of a kind comes, and whether it has a message."""
    names: dict[str, Symbol] = {"Self": Ref("S", False, str)}
    if event in MESSAGE_EVENTS:
        names["Msg"] = Ref("y")
        names["Peer"] = Ref("z" if event == "sent" else "x")
    return Scope(names), event in MESSAGE_EVENTS


def _context(law: tree.LawTree) -> list[str]:
    """What helpers need of the event and the state. Each call hands it on, so only what is used."""
    needed: set[str] = set()
    for clauses in law.helpers.values():
        for clause in clauses:
            nodes = list(clause.args)
            for goal in tree.goals_in(clause.body):
                nodes += tree.nodes_of(goal)
                if isinstance(goal, tree.Sense):
                    needed.add("ob" if goal.obligations else "st")
                elif isinstance(goal, tree.ClockGoal):
                    needed.add("now")
            for variable in tree.variables_in(*nodes):
                name = {"Self": "S", "Msg": "m", "Peer": "p"}.get(variable.name)
                if name is not None:
                    needed.add(name)
    return [name for name in ("S", "m", "p", "st", "ob", "now") if name in needed]


def _effectful(law: tree.LawTree) -> set[tuple[str, int]]:
    """Helpers that do something, themselves or through others."""
    found: set[tuple[str, int]] = set()
    changed = True
    while changed:
        changed = False
        for key, clauses in law.helpers.items():
            if key in found:
                continue
            for clause in clauses:
                for goal in tree.goals_in(clause.body):
                    if isinstance(goal, tree.Do) or (
                        isinstance(goal, tree.PredicateCall)
                        and (goal.name, len(goal.args)) in found
                    ):
                        found.add(key)
                        changed = True
    return found


assert max(tree.EVENTS.values()) <= len(ARGUMENTS)
