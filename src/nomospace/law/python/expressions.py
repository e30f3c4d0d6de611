"""Terms and arithmetic: what stands between the brackets of a Python law.

A name that begins with a capital or `_` is a logic variable, any other name is text, a call is
a compound, a list is a list. One underscore at the end of a name is dropped, so that words of
Python and of this language can be terms too: `in_([X])` is the term `in([X])`.

Arithmetic inside a term is computed, as a reader of Python expects: `do(add(count(N + 1)))`
becomes `Value is N + 1, do(+count(Value))`. A call that could be read as a computation or as a
term (`length(L)`, `max(A, B)`, a helper's name) is refused there, with both ways out.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import Final

from nomospace.law.arithmetic import FUNCTIONS
from nomospace.law.prelude import BUILTINS
from nomospace.law.python.reading import Names, Reading
from nomospace.law.tree import Goal, Is
from nomospace.terms import INT_BITS_MAX, Span
from nomospace.terms.syntax import SPELT_VALUES
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

RESULTS: Final = {
    key for key in BUILTINS if key not in (("member", 2), ("between", 3), ("sub_atom", 5))
}
"""Built-ins that give their last argument: `N = length(L)` is `length(L, N)`."""
WORDS: Final = {("do", 1), ("require", 1), ("unify", 2), ("findall", 2), ("thisLaw", 2)}
"""Calls that mean something in a body and so are no terms."""
OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "mod",  # both have the sign of the divisor
    ast.Pow: "**",
}
_TAKEN_NAMES: Final = {
    "cs": "the control state is asked with cs.has(…); it is no value",
    "CS": "the control state is asked with cs.has(…); it is no value",
    "law": 'for the text, write "law"',
    "Law": "Law(…) opens the file; take another name for a variable",
    **{
        name: f'for the value, write {value!r}; for the text, write "{name}"'
        for name, value in SPELT_VALUES.items()
    },
}
_NO_TERM: Final[dict[type[ast.expr], tuple[str, str]]] = {
    ast.Attribute: ("attributes are not part of the language", "known are cs.has(…) and the like"),
    ast.Await: ("there is nothing to await in a law", "it rules on one event at a time"),
    ast.BoolOp: ("a condition cannot stand where a term is wanted", "decide with if"),
    ast.Compare: ("a condition cannot stand where a term is wanted", "decide with if"),
    ast.Dict: ("a dictionary is no term", "write a list of compounds, such as [price(3)]"),
    ast.DictComp: ("there are no comprehensions", "gather with L = findall(T, condition)"),
    ast.GeneratorExp: ("there are no comprehensions", "gather with L = findall(T, condition)"),
    ast.IfExp: ("there is no conditional expression", "use if and else on lines of their own"),
    ast.JoinedStr: ("there are no f-strings", "put text together with T = atom_concat(A, B)"),
    ast.Lambda: ("there are no lambdas", "write a helper: def name(X): return …"),
    ast.ListComp: ("there are no comprehensions", "gather with L = findall(T, condition)"),
    ast.NamedExpr: ("':=' is not part of the language", "use = on a line of its own"),
    ast.Set: ("a set is no term", "write a list"),
    ast.SetComp: ("there are no comprehensions", "gather with L = findall(T, condition)"),
    ast.Starred: ("a star can only stand at the end of a list", "as in [First, *Rest]"),
    ast.Subscript: ("there are no subscripts", "take an item with X = nth0(I, L)"),
    ast.Tuple: ("a tuple is no term", "write a list: [a, b]"),
    ast.Yield: ("there is nothing to yield in a law", "it rules on one event at a time"),
    ast.YieldFrom: ("there is nothing to yield in a law", "it rules on one event at a time"),
}  # fmt: skip


def is_variable(name: str) -> bool:
    """Whether a name is that of a logic variable."""
    return name[0] == "_" or "A" <= name[0] <= "Z"


def is_arithmetic(node: ast.expr) -> bool:
    """Whether an expression is a computation by its form: an operator, or a known function."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd) and not _is_number(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return (node.func.id, len(node.args)) in FUNCTIONS
    return isinstance(node, ast.BinOp)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


class Expressions:
    """Translates the terms of one function; knows which variables stand on the path so far."""

    def __init__(self, reading: Reading, names: Names) -> None:
        self.reading = reading
        self.names = names  # all names of the function
        self.seen: set[str] = set()  # variables that stand above on this path
        self.gone: set[str] = set()  # variables of a loop above, not known outside it
        self.results: set[str] = set()  # of a helper's head, and not used yet: it may give them

    # -- terms -----------------------------------------------------------------------------

    def term(self, node: ast.expr, before: list[Goal] | None) -> Node:
        """The term an expression stands for.

        What must be computed first goes to `before`; where that is `None` (patterns, the
        preamble) a computation is refused.
        """
        self.reading.grow()
        span = self.reading.span(node)
        if isinstance(node, ast.Constant):
            return self._constant(node.value, span)
        if isinstance(node, ast.Name):
            return self._name(node.id, span)
        if isinstance(node, ast.List):
            return self._list(node, before, span)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._compound(node, node.func.id, before, span)
        if isinstance(node, ast.UnaryOp) and _is_number(node.operand):
            return self._signed(node, span)
        if is_arithmetic(node):
            return self._computed(node, before, span)
        return self._no_term(node, span)

    def terms(self, nodes: Iterable[ast.expr], before: list[Goal] | None) -> tuple[Node, ...]:
        """Several terms."""
        return tuple([self.term(node, before) for node in nodes])

    def _constant(self, value: object, span: Span) -> Node:
        if isinstance(value, float):
            if math.isfinite(value):
                return Const(value or 0.0, span)
            self.reading.fault("python-value", "the number is infinite", span, "numbers are finite")
        elif isinstance(value, int) and value.bit_length() > INT_BITS_MAX:
            self.reading.fault(
                "python-value",
                f"the number has {value.bit_length():,} bits",
                span,
                f"integers have at most {INT_BITS_MAX:,} bits",
            )
        elif isinstance(value, str) and not _encodable(value):
            self.reading.fault(
                "python-value", "the text holds half a surrogate pair", span, "write it as \\U…"
            )
        elif value is None or isinstance(value, bool | int | str | bytes):
            return Const(value, span)
        else:
            self.reading.fault(
                "python-value",
                f"{value!r} is no value of a law",
                span,
                "use None, True, False, numbers, text, bytes, lists and compounds",
            )
        return _broken(span)

    def _name(self, name: str, span: Span) -> Node:
        if name in _TAKEN_NAMES:
            self.reading.fault(
                "python-name", f"{name} cannot stand for a term", span, _TAKEN_NAMES[name]
            )
            return _broken(span)
        if not self.plain_name(name, span):
            return _broken(span)
        return self.variable(name, span) if is_variable(name) else Const(_spelt(name), span)

    def plain_name(self, name: str, span: Span) -> bool:
        """Whether a name may be used at all; Python folds other letters, and text must not."""
        if not name.isascii():
            self.reading.fault(
                "python-name",
                f"the name {name} has letters other than a to z",
                span,
                f'if text was meant, write "{name}"',
            )
        elif name.startswith("__"):
            self.reading.fault(
                "python-name",
                f"the name {name} begins with two underscores",
                span,
                "Python keeps such names for itself; take another",
            )
        else:
            return True
        return False

    def variable(self, name: str, span: Span) -> Variable:
        """A variable where it is used."""
        if name in self.gone:
            self.reading.fault(
                "python-loop",
                f"{name} belongs to the loop above and has no value after it",
                span,
                "gather with L = findall(T, condition), or take another name",
            )
        if name != "_":
            self.seen.add(name)
        self.results.discard(name)
        return Variable(name, span)

    def _list(self, node: ast.List, before: list[Goal] | None, span: Span) -> Node:
        last = node.elts[-1] if node.elts else None
        if not isinstance(last, ast.Starred):
            return ListSyntax(self.terms(node.elts, before), None, span)
        items = node.elts[:-1]
        if not items:
            self.reading.fault(
                "python-term",
                "a list with a star needs an item before it",
                span,
                "as in [X, *Rest]",
            )
        tail = self.term(last.value, before)
        found = self.terms(items, before)
        if isinstance(tail, ListSyntax):  # [a, *[b, c]] is [a, b, c]
            return ListSyntax(found + tail.items, tail.tail, span)
        if isinstance(tail, Variable):
            return ListSyntax(found, tail, span)
        self.reading.fault(
            "python-term", "only a list can follow the star", last, "as in [First, *Rest]"
        )
        return _broken(span)

    def _compound(self, node: ast.Call, name: str, before: list[Goal] | None, span: Span) -> Node:
        args = self.arguments(node)
        if not self.plain_name(name, self.reading.span(node.func)):
            return _broken(span)
        if is_variable(name):
            self.reading.fault(
                "python-call",
                f"{name} is a variable, not the name of a term",
                node.func,
                "names of terms begin with a small letter",
            )
            return _broken(span)
        if not args:
            if not node.args and not node.keywords:
                help = f"write {name} without brackets"
                self.reading.fault("python-term", f"{name}() has no argument", span, help)
            return _broken(span)
        meaning = self._meaning(name, len(args))
        if meaning is not None:
            what, help = meaning
            self.reading.fault(
                "python-term",
                f"{name}(…) is {what}, so it cannot stand in a term",
                span,
                f"{help}; for the term, write {name}_(…)",
            )
        return Struct(_spelt(name), self.terms(args, before), span)

    def _meaning(self, name: str, count: int) -> tuple[str, str] | None:
        """What a call means besides a term, and how to have it; `None` when it is just a term."""
        key, longer = (name, count), (name, count + 1)
        if key in FUNCTIONS:
            return (
                "a function of arithmetic",
                f"for its value, write N = {name}(…) on a line before",
            )
        if key in WORDS:
            return "a word of the language", "it stands on a line of its own"
        if key in self.reading.helper_names or longer in self.reading.helper_names:
            return "a helper of this law", f"to call it, write {name}(…) on a line before"
        if longer in RESULTS:
            return "a built-in", f"for its value, write N = {name}(…) on a line before"
        if key in BUILTINS:
            return (
                "a built-in",
                f"to call it, write {name}(…) in if, in require(…) or on a line before",
            )
        return None

    def arguments(self, call: ast.Call) -> list[ast.expr]:
        """The arguments of a call, which may only be plain ones."""
        for keyword in call.keywords:
            self.reading.fault(
                "python-call",
                f"the argument {keyword.arg or '**'} cannot be given by name here",
                keyword,
                "give arguments by their order",
            )
        plain = [arg for arg in call.args if not isinstance(arg, ast.Starred)]
        for arg in call.args:
            if isinstance(arg, ast.Starred):
                self.reading.fault(
                    "python-call", "a star cannot stand among arguments", arg, "pass a list"
                )
        return plain

    def _signed(self, node: ast.UnaryOp, span: Span) -> Node:
        assert isinstance(node.operand, ast.Constant)
        if isinstance(node.op, ast.USub):
            return self._constant(-node.operand.value, span)  # type: ignore[operator]  # a number
        if isinstance(node.op, ast.UAdd):
            return self._constant(node.operand.value, span)
        return self._no_term(node, span)

    def _computed(self, node: ast.expr, before: list[Goal] | None, span: Span) -> Node:
        if before is None:
            self.reading.fault(
                "python-pattern",
                "nothing is computed in a pattern or in the preamble",
                span,
                "use a variable here and compare it in the body",
            )
            return _broken(span)
        expression = self.arithmetic(node, before)
        value = Variable(self.names.fresh("Value"), span)
        before.append(self.reading.made(Is(value, expression, span)))
        return value

    def _no_term(self, node: ast.expr, span: Span) -> Node:
        words, help = _NO_TERM.get(
            type(node),
            ("this is not part of the language", "terms are values, names, calls, lists"),
        )
        if isinstance(node, ast.Call):
            words = "only names can be called in a term"
            help = "cs.has(…) and its like are conditions: use them in if or require(…)"
        code = "python-attribute" if isinstance(node, ast.Attribute) else "python-expression"
        self.reading.fault(code, words, span, help)
        return _broken(span)

    # -- arithmetic ------------------------------------------------------------------------

    def arithmetic(self, node: ast.expr, before: list[Goal]) -> Node:
        """An arithmetic expression, as `is`, comparisons, times and amounts take it."""
        self.reading.grow()
        span = self.reading.span(node)
        if _is_number(node) or (isinstance(node, ast.UnaryOp) and _is_number(node.operand)):
            return self.term(node, before)
        if isinstance(node, ast.Name) and is_variable(node.id):
            return self._name(node.id, span)
        if isinstance(node, ast.BinOp):
            return self._binary(node, before, span)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            sign = "-" if isinstance(node.op, ast.USub) else "+"
            return Struct(sign, (self.arithmetic(node.operand, before),), span)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and is_arithmetic(node):
            args = [self.arithmetic(arg, before) for arg in self.arguments(node)]
            return Struct(node.func.id, tuple(args), span) if args else _broken(span)
        self._no_number(node, span)
        return _broken(span)

    def _binary(self, node: ast.BinOp, before: list[Goal], span: Span) -> Node:
        left = self.arithmetic(node.left, before)
        right = self.arithmetic(node.right, before)
        if isinstance(node.op, ast.FloorDiv):
            return self._floor_division(left, right, before, span)
        name = OPERATORS.get(type(node.op))
        if name is None:
            self.reading.fault(
                "python-arithmetic",
                "this operator is not part of the language",
                span,
                "arithmetic has + - * / // % **",
            )
            return _broken(span)
        return Struct(name, (left, right), span)

    def _floor_division(self, left: Node, right: Node, before: list[Goal], span: Span) -> Node:
        """`//` rounds down in Python and towards zero in a law: (A - A mod B) // B is exact."""
        left, right = (self._once(side, before) for side in (left, right))
        whole = Struct("-", (left, Struct("mod", (left, right), span)), span)
        return Struct("//", (whole, right), span)

    def _once(self, node: Node, before: list[Goal]) -> Node:
        if isinstance(node, Const | Variable):
            return node
        value = Variable(self.names.fresh("Value"), node.span)
        before.append(self.reading.made(Is(value, node, node.span)))
        return value

    def _no_number(self, node: ast.expr, span: Span) -> None:
        help = "numbers, variables, + - * / // % ** and functions such as max(A, B)"
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = "text is no number"
            help = "text is put together with T = atom_concat(A, B) and compared with =="
        elif isinstance(node, ast.Name):
            words = f"{node.id} is text, no number"
            help = "a variable begins with a capital"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            words = f"{node.func.id}(…) is no function of arithmetic"
            help = "give its value a name on a line before: N = …"
        else:
            words = "this cannot be computed"
        self.reading.fault("python-arithmetic", words, span, help)


def _spelt(name: str) -> str:
    """A name without the one underscore that keeps it apart from a word with a meaning."""
    return name[:-1] if name.endswith("_") and len(name) > 1 else name


def _encodable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _broken(span: Span) -> Const:
    """Stands where a fault was noted, so that the reading can go on."""
    return Const("error", span)
