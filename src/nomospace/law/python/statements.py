"""Statements: the body of a rule or a helper, line by line, as goals.

- `if` is `( Condition -> Then ; Else )`; without `else`, the rule goes on when it does not hold.
- An early `return` ends the body: what follows the `if` around it moves into the branches that
  do not return, so nothing is jumped over and nothing runs twice.
- `for X in L` becomes a helper that calls itself on the rest of the list. Variables from above
  are handed to it; those that appear first in the loop are new in each round.
- `N = …` names a value once. A second value under one name is refused: logic variables do not
  change. In a helper, `N = …` with `N` from the head gives the caller its value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from nomospace.law import tree
from nomospace.law.parse import GOAL_DEPTH_MAX
from nomospace.law.python.conditions import Conditions, conj
from nomospace.law.python.expressions import RESULTS, is_arithmetic, is_variable
from nomospace.law.python.reading import Names, Reading
from nomospace.terms import Span
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

ALIASES: Final = {
    "add": "+",
    "remove": "-",
    "replace": "<-",
    "impose": "imposeObligation",
    "repeal": "repealObligation",
}
"""Python's names of operations where a law has signs or longer words."""
_ARITIES: Final[dict[str, tuple[int, ...]]] = {
    **{name: arities for name, arities in tree.OPERATIONS.items() if name.isidentifier()},
    **{alias: tree.OPERATIONS[name] for alias, name in ALIASES.items()},
}
_AMOUNTS: Final = {"incr": 1, "dcr": 1, "imposeObligation": 1}  # argument that is computed

_NO_STATEMENT: Final[dict[type[ast.stmt], tuple[str, str]]] = {
    ast.AnnAssign: ("annotations are not part of the language", "write N = … without a type"),
    ast.Assert: ("there is no assert", "write require(condition)"),
    ast.AsyncFor: ("there is nothing to await in a law", "use for"),
    ast.AsyncFunctionDef: ("there is nothing to await in a law", "use def"),
    ast.AsyncWith: ("there is no with", "a law has nothing to open or close"),
    ast.AugAssign: ("a logic variable keeps its value", "take a new name: M = N + 1"),
    ast.Break: ("there is no break", "a helper that calls itself on the rest can stop early"),
    ast.ClassDef: ("there are no classes", "a law has rules and helpers only"),
    ast.Continue: ("continue stands in a loop only", "use return to end a rule"),
    ast.Delete: ("there is no del", "take a term from the state with do(remove(t))"),
    ast.FunctionDef: ("a function cannot stand inside another", "move it to the left margin"),
    ast.Global: ("there are no global variables", "keep values in the control state"),
    ast.Import: ("nothing can be imported", "a law uses only what its language has"),
    ast.ImportFrom: ("nothing can be imported", "a law uses only what its language has"),
    ast.Match: ("there is no match statement", "write @law.helper(pattern, …), a clause a case"),
    ast.Nonlocal: ("there are no outer variables", "keep values in the control state"),
    ast.Raise: ("there is no raise", "write fail() to let the rule fail"),
    ast.Try: ("there is no try", "rule on failed operations with @law.exception(op, why)"),
    ast.TryStar: ("there is no try", "rule on failed operations with @law.exception(op, why)"),
    ast.While: ("there is no while", "use for over a list, or a helper that calls itself"),
    ast.With: ("there is no with", "a law has nothing to open or close"),
}
_USAGE: Final = {
    "cs.clock": "T = cs.clock(), or cs.clock(T) as a condition",
    "do": "do(operation), a line for each",
    "fail": "fail()",
    "findall": "L = findall(T, condition)",
    "require": "require(condition); join conditions with and",
}


def refuse(reading: Reading, statement: ast.stmt) -> None:
    """Say of a statement that it has no place where it stands, and what to do."""
    words, help = _NO_STATEMENT.get(
        type(statement), ("this statement has no place here", "see the guide to Python laws")
    )
    reading.fault("python-statement", words, statement, help)


class Statements(Conditions):
    """Translates the statements of one function; `kind` is rule, helper or loop."""

    def __init__(self, reading: Reading, name: str, kind: str, names: Names) -> None:
        super().__init__(reading, names)
        self.name = name
        self.kind = kind
        self._depth = 0

    def body(self, statements: Sequence[ast.stmt], span: Span) -> tree.Goal:
        """A whole body as one goal."""
        self._check_reachable(statements)
        return conj(self.block(statements), span)

    def block(self, statements: Sequence[ast.stmt]) -> list[tree.Goal]:
        """Statements as goals, up to the first that ends the body."""
        goals: list[tree.Goal] = []
        for index, statement in enumerate(statements):
            self.reading.grow()
            if isinstance(statement, ast.If):
                rest = statements[index + 1 :]
                if rest and _may_end(statement):
                    return [*goals, self._branch(statement, rest)]
                goals.append(self._branch(statement, ()))
            elif isinstance(statement, ast.Return | ast.Continue):
                return [*goals, *self._end(statement)]
            else:
                goals += self._statement(statement)
        return goals

    def _check_reachable(self, suite: Sequence[ast.stmt]) -> None:
        """Refuse what stands behind a `return`: nobody can have meant it."""
        pending = [suite]
        while pending:
            block = pending.pop()
            for index, statement in enumerate(block):
                if isinstance(statement, ast.If):
                    pending += [statement.body, statement.orelse]
                if index + 1 < len(block) and _always_ends(statement):
                    self.reading.fault(
                        "python-unreachable",
                        "this line is never reached",
                        block[index + 1],
                        "the line before ends the body; take one of them out",
                    )
                    break

    # -- if, return ------------------------------------------------------------------------

    def _branch(self, statement: ast.If, rest: Sequence[ast.stmt]) -> tree.Goal:
        span = self.reading.span(statement)
        if self._depth >= GOAL_DEPTH_MAX:
            self.reading.fault(
                "python-nesting",
                f"more than {GOAL_DEPTH_MAX} decisions hang on one another",
                statement,
                "move the inner part into a helper",
            )
            return tree.Fail(span)
        self._depth += 1
        self.reading.grow(len(rest) + len(self.seen) // 50)
        seen, gone, results = set(self.seen), set(self.gone), set(self.results)
        condition = self.condition(statement.test)
        then = conj(self.block([*statement.body, *rest]), span)
        then_seen, then_gone, then_results = self.seen, self.gone, self.results
        # Where the condition fails, it has bound nothing.
        self.seen, self.gone, self.results = seen, gone, results
        otherwise = conj(self.block([*statement.orelse, *rest]), span)
        self.seen |= then_seen
        self.gone |= then_gone
        self.results &= then_results
        self._depth -= 1
        return self.reading.made(tree.If(condition, then, otherwise, span))

    def _end(self, statement: ast.Return | ast.Continue) -> list[tree.Goal]:
        """What a `return` or `continue` still asks for before the body ends."""
        if isinstance(statement, ast.Continue):
            if self.kind != "loop":
                refuse(self.reading, statement)
            return []
        value = statement.value
        if self.kind == "loop":
            self.reading.fault(
                "python-return",
                "a loop cannot be left with return",
                statement,
                "a helper that calls itself on the rest can stop early; continue ends one round",
            )
        elif self.kind == "helper" and value is not None:
            return self.goals(value)
        elif value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            self.reading.fault(
                "python-return",
                "a rule gives nothing back",
                value,
                "write require(condition), then return",
            )
        return []

    # -- other statements ------------------------------------------------------------------

    def _statement(self, statement: ast.stmt) -> list[tree.Goal]:
        if isinstance(statement, ast.Pass):
            return []
        if isinstance(statement, ast.Expr):
            return self._line(statement.value)
        if isinstance(statement, ast.Assign):
            return self._assignment(statement)
        if isinstance(statement, ast.For):
            return self._loop(statement)
        refuse(self.reading, statement)
        return []

    def _line(self, node: ast.expr) -> list[tree.Goal]:
        """A call on a line of its own: an order, or something that must hold."""
        if not isinstance(node, ast.Call):
            words, help = "this line does nothing", "write require(condition) or do(operation)"
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                help = "comments begin with #"
            self.reading.fault("python-statement", words, node, help)
            return []
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        span = self.reading.span(node)
        if name == "do":
            return self._do(node, span)
        if name == "require":
            args = self._counted(node, name, 1)
            return self.goals(args[0]) if args else []
        if name == "fail":
            self._counted(node, name, 0)
            return [self.reading.made(tree.Fail(span))]
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("has", "obligation"):
            self.reading.fault(
                "python-statement",
                "this line asks, and does nothing with the answer",
                node,
                "write require(…) around it, or if in front",
            )
        return self.call(node)

    def _counted(self, node: ast.Call, name: str, count: int) -> list[ast.expr]:
        args = self.arguments(node)
        if len(args) != count:
            words = f"{name} takes {tree.arguments(count)}, not {len(args)}"
            self.reading.fault("python-call", words, node, f"write {_USAGE[name]}")
            return []
        return args

    # -- assignments -----------------------------------------------------------------------

    def _assignment(self, statement: ast.Assign) -> list[tree.Goal]:
        target = statement.targets[0]
        if len(statement.targets) > 1 or not isinstance(target, ast.Name):
            self.reading.fault(
                "python-assignment",
                "a value can be given to one variable only",
                statement,
                "take lists and compounds apart with unify(…)",
            )
            return []
        span = self.reading.span(target)
        if not is_variable(target.id) or target.id in (*tree.SPECIAL, "_", "Law"):
            self.reading.fault(
                "python-assignment",
                f"{target.id} cannot be given a value",
                span,
                "variables begin with a capital; Self, Msg and Peer have their values",
            )
            return []
        if not self.plain_name(target.id, span):
            return []
        before: list[tree.Goal] = []
        result = Variable(target.id, span)
        goal = self._given(statement.value, result, before, self.reading.span(statement))
        if target.id in self.seen and target.id not in self.results:
            self.reading.fault(
                "python-assignment",
                f"{target.id} stands for a value already",
                span,
                "a logic variable has one value: take a new name, or compare with ==",
            )
        self.seen.add(target.id)
        self.results.discard(target.id)
        self.gone.discard(target.id)
        return [*before, self.reading.made(goal)]

    def _given(
        self, value: ast.expr, result: Variable, before: list[tree.Goal], span: Span
    ) -> tree.Goal:
        """The goal that binds a variable to what stands right of `=`."""
        if is_arithmetic(value):
            return tree.Is(result, self.arithmetic(value, before), span)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            name = value.func.id
            if name == "findall":
                return self._findall(value, result, span)
            if (name, len(value.args) + 1) in RESULTS:
                args = self.terms(self.arguments(value), before)
                return tree.PredicateCall(name, (*args, result), span)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            func = value.func
            if isinstance(func.value, ast.Name) and func.value.id == "cs" and func.attr == "clock":
                self.state_used(func)
                self._counted(value, "cs.clock", 0)
                return tree.ClockGoal(result, span)
        if isinstance(value, ast.Compare | ast.BoolOp) or (
            isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
        ):
            self.reading.fault(
                "python-assignment",
                "a condition has no value that could be kept",
                value,
                "decide with if, or write a helper that returns the condition",
            )
            return tree.Fail(span)
        return tree.Unify(result, self.term(value, before), False, span)

    def _findall(self, node: ast.Call, result: Variable, span: Span) -> tree.Goal:
        args = self._counted(node, "findall", 2)
        if not args:
            return tree.Fail(span)
        outside = set(self.seen)
        goals = self.goals(args[1])
        template = self.term(args[0], goals)  # what it computes is computed for each solution
        self.seen = outside
        return tree.FindAll(template, conj(goals, span), result, span)

    # -- loops -----------------------------------------------------------------------------

    def _loop(self, statement: ast.For) -> list[tree.Goal]:
        target = statement.target
        span = self.reading.span(statement)
        for unwanted in statement.orelse[:1]:
            self.reading.fault(
                "python-loop", "a loop has no else", unwanted, "write it after the loop"
            )
        if (
            not isinstance(target, ast.Name)
            or not is_variable(target.id)
            or target.id in (*tree.SPECIAL, "Law")
            or not self.plain_name(target.id, self.reading.span(target))
        ):
            self.reading.fault(
                "python-loop",
                "a loop needs a variable to run with",
                target,
                "as in for X in L, with a capital; take items apart inside with unify(…)",
            )
            return []
        if target.id in self.seen:
            self.reading.fault(
                "python-loop",
                f"{target.id} stands for a value already",
                target,
                "take a new name for the items of the list",
            )
        before: list[tree.Goal] = []
        items = self.term(statement.iter, before)
        if not isinstance(items, Variable | ListSyntax):
            self.reading.fault(
                "python-loop",
                "a loop runs over a list",
                statement.iter,
                "give the list a name first; numbers: L = findall(N, between(1, 9, N))",
            )
        goal = self._rounds(statement, target, items, span)
        return [*before, self.reading.made(goal)]

    def _rounds(self, statement: ast.For, target: ast.Name, items: Node, span: Span) -> tree.Goal:
        """Write the loop's helper, and give the call that starts it."""
        reading = self.reading
        handed = [name for name in _variables(statement.body) if name in self.seen]
        handed = [name for name in dict.fromkeys(handed) if name not in (*tree.SPECIAL, target.id)]
        inner = Statements(reading, self.name, "loop", self.names)
        inner.has_state = self.has_state
        inner.seen = {target.id, *handed}
        inner._depth = self._depth
        inner._check_reachable(statement.body)
        goals = inner.block(statement.body)
        self.gone |= inner.seen - {*handed, *tree.SPECIAL, "_"}

        stem = self.name.lstrip("_") or "loop"
        name = reading.names.fresh(f"{stem[0].lower()}{stem[1:]}_each")
        head = Span(span.start, reading.span(statement.iter).end)
        rest = Variable(self.names.fresh("Rest"), head)
        passed = tuple([Variable(each, head) for each in handed])
        again = tree.PredicateCall(name, (rest, *passed), head)
        first = Variable(target.id, reading.span(target))
        nothing = tuple([Variable("_", head) for _ in handed])
        reading.helpers[name, 1 + len(handed)] = [
            tree.Clause(
                name, (ListSyntax((), None, head), *nothing), tree.TrueGoal(head), span, head
            ),
            tree.Clause(
                name,
                (ListSyntax((first,), rest, head), *passed),
                conj([*goals, again], head),
                span,
                head,
            ),
        ]
        return tree.PredicateCall(name, (items, *passed), head)

    # -- operations ------------------------------------------------------------------------

    def _do(self, node: ast.Call, span: Span) -> list[tree.Goal]:
        args = self._counted(node, "do", 1)
        if not args:
            return []
        before: list[tree.Goal] = []
        operation = self.operation(args[0], before)
        if operation is None:
            self._no_operation(args[0])
            return []
        return [*before, self.reading.made(tree.Do(operation, span))]

    def operation(self, node: ast.expr, before: list[tree.Goal] | None) -> Node | None:
        """The term of an operation under its name in a law, or `None` when it is none."""
        span = self.reading.span(node)
        if isinstance(node, ast.Name) and 0 in _ARITIES.get(node.id, ()):
            return Const(node.id, span)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
            sign = "+" if isinstance(node.op, ast.UAdd) else "-"
            return Struct(sign, (self._changed(sign, node.operand, before),), span)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        if len(node.args) not in _ARITIES.get(node.func.id, ()) or not node.args:
            return None
        name = ALIASES.get(node.func.id, node.func.id)
        args = self.arguments(node)
        terms = [
            self._amount(arg, before)
            if _AMOUNTS.get(name) == index
            else self._changed(name, arg, before)
            for index, arg in enumerate(args)
        ]
        return Struct(name, tuple(terms), span) if terms else None

    def _changed(self, name: str, node: ast.expr, before: list[tree.Goal] | None) -> Node:
        """An argument of an operation; the time in `+obligation(O, T)` is computed by it."""
        if (
            name == "+"
            and isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and (node.func.id, len(node.args)) == ("obligation", 2)
        ):
            what, when = self.term(node.args[0], before), self._amount(node.args[1], before)
            self.arguments(node)
            return Struct("obligation", (what, when), self.reading.span(node))
        return self.term(node, before)

    def _amount(self, node: ast.expr, before: list[tree.Goal] | None) -> Node:
        if before is not None and is_arithmetic(node):
            return self.arithmetic(node, before)
        return self.term(node, before)

    def _no_operation(self, node: ast.expr) -> None:
        func = node.func if isinstance(node, ast.Call) else node
        name = func.id if isinstance(func, ast.Name) else ""
        help = f"operations are {', '.join(_ARITIES)}"
        if name not in _ARITIES:
            self.reading.fault("python-operation", "this is no operation", node, help)
            return
        counts = " or ".join(tree.arguments(count) for count in _ARITIES[name])
        found = len(node.args) if isinstance(node, ast.Call) else 0
        words, help = f"{name} takes {counts}, not {found}", f"see {name} in the guide"
        if isinstance(node, ast.Call) and not node.args and 0 in _ARITIES[name]:
            words, help = f"{name}() has no argument", f"write do({name})"
        self.reading.fault("python-operation", words, node, help)


def _may_end(statement: ast.stmt) -> bool:
    """Whether some path through a statement ends the body."""
    pending: list[ast.stmt] = [statement]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.Return | ast.Continue):
            return True
        if isinstance(item, ast.If):
            pending += [*item.body, *item.orelse]
    return False


def _always_ends(statement: ast.stmt) -> bool:
    """Whether every path through a statement ends the body."""
    if isinstance(statement, ast.If) and statement.orelse:
        return _always_ends(statement.body[-1]) and _always_ends(statement.orelse[-1])
    return isinstance(statement, ast.Return | ast.Continue)


def _variables(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Names of variables in statements, in the order of the text."""
    for statement in statements:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        names.sort(key=lambda node: (node.lineno, node.col_offset))
        yield from (node.id for node in names if is_variable(node.id))
