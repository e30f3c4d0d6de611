"""A whole `.law.py` text: the preamble, the rules with their heads, the helpers."""

from __future__ import annotations

import ast
from difflib import get_close_matches
from typing import Final

from nomospace.law import tree
from nomospace.law.arithmetic import FUNCTIONS
from nomospace.law.parse import GOAL_DEPTH_MAX, RULES_MAX
from nomospace.law.prelude import BUILTINS
from nomospace.law.python.expressions import WORDS, Expressions, is_variable
from nomospace.law.python.reading import SIZE_MAX, Names, PythonLawTooLarge, Reading
from nomospace.law.python.statements import Statements, refuse
from nomospace.terms import Diagnostic, Source, Span, Term, Var
from nomospace.terms.text import from_node
from nomospace.terms.tokens import ListSyntax, Node, Struct, Variable

HOME: Final = -1
HEADS: Final[dict[str, tuple[str, tuple[int | str, ...]]]] = {
    "sent": ("sent", (HOME, 0, "to")),
    "arrived": ("arrived", ("sender", 0, HOME)),
    "obligation_due": ("obligationDue", (0,)),
    "certified": ("certified", ("issuer", "subject", "attributes")),
    "exception": ("exception", (0, 1)),
    "adopted": ("adopted", (0,)),
    "disconnected": ("disconnected", ()),
    "reconnected": ("reconnected", ()),
    "quit": ("quit", ()),
    "submitted": ("submitted", ("origin", 0, HOME)),
    "moved": ("moved", ("origin", "to")),
    "revoked": ("revoked", ("issuer", "subject", "attributes")),
}
"""Decorators: the event of each, and what its arguments are. A number is an argument by order,
a word one by name (`_` when it is left out), `HOME` is `Self`."""
CERTIFICATES: Final = ("certified", "revoked")
"""Events whose arguments make one list, and must all be given: they decide whom a law trusts."""

_KEYWORDS: Final = {
    "initial": "initialCS",
    "authorities": "authority",
    "controller_authority": "cAuthority",
    "clear_messages": "clearMessages",
    "disclose": "disclose",
}
_WRITE_LAW: Final = 'begin with law = Law("name", initial=[…])'
_GOAL_WORDS: Final = {name for name, _ in WORDS} | {
    "fail",
    "true",
    "false",
    "clock",
    "Law",
    "law",
    "cs",
}


def parse_python(source: Source) -> tuple[tree.LawTree, list[Diagnostic]]:
    """Read a law written in restricted Python. With any error, the law is not whole.

    The text is parsed by Python's own parser and its tree is translated; nothing of it is run.

    >>> law, faults = parse_python(Source('law = Law("open")\\n@law.arrived(M)\\n'
    ...                                   'def all_may_come(cs):\\n    do(deliver)\\n'))
    >>> law.name, law.rules[0].name, faults
    ('open', 'all_may_come', [])
    """
    return _Translation(source).law_and_faults()


class _Translation:
    def __init__(self, source: Source) -> None:
        self.reading = Reading(source)
        self.law = tree.LawTree(source, "", (), {}, language="python")
        self.rules: list[tree.Rule] = []
        self.defined: dict[str, tuple[Span, bool]] = {}  # functions; whether more clauses may come

    def law_and_faults(self) -> tuple[tree.LawTree, list[Diagnostic]]:
        reading, law = self.reading, self.law
        statements = reading.statements()
        try:
            self._translate(statements)
        except PythonLawTooLarge:
            reading.fault(
                "python-size",
                f"the law comes to more than {SIZE_MAX:,} goals and terms",
                Span(0, 1),
                "split it; early returns inside nested ifs copy what follows them",
            )
        except RecursionError:  # the caller left too little of Python's stack
            reading.fault(
                "python-nesting", "the law is nested too deep to be read here", Span(0, 1)
            )
        law.rules = tuple(self.rules)
        law.helpers = {key: tuple(clauses) for key, clauses in reading.helpers.items()}
        if len(law.rules) + sum(map(len, law.helpers.values())) > RULES_MAX:
            reading.fault(
                "python-too-long",
                f"a law has at most {RULES_MAX:,} rules and helpers",
                Span(0, 1),
                "split it",
            )
        reading.faults.sort(key=lambda fault: fault.span)
        return law, reading.faults

    def _translate(self, statements: list[ast.stmt]) -> None:
        reading = self.reading
        if statements and _is_docstring(statements[0]):
            del statements[0]
        if not (statements and self._is_law(statements[0])) and not reading.syntax_faults:
            where = reading.span(statements[0]) if statements else Span(0, 1)
            reading.fault("python-law", "the law does not begin with its name", where, _WRITE_LAW)
        functions = [item for item in statements if isinstance(item, ast.FunctionDef)]
        for function in functions:
            reading.names.add(function.name)
            self._announce(function)
        for statement in statements:
            if isinstance(statement, ast.FunctionDef):
                self._function(statement)
            elif self._is_law(statement):
                assert isinstance(statement, ast.Assign)
                self._preamble(statement)
            elif not (isinstance(statement, ast.Assign) and statement is statements[0]):
                refuse(reading, statement)
        self._check_calls()

    # -- preamble --------------------------------------------------------------------------

    @staticmethod
    def _is_law(statement: ast.stmt) -> bool:
        return (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Call)
            and isinstance(statement.value.func, ast.Name)
            and statement.value.func.id == "Law"
        )

    def _preamble(self, statement: ast.Assign) -> None:
        reading, law, call = self.reading, self.law, statement.value
        assert isinstance(call, ast.Call)
        target = statement.targets[0]
        if len(statement.targets) > 1 or not (isinstance(target, ast.Name) and target.id == "law"):
            reading.fault("python-law", "the law must be called law", target, _WRITE_LAW)
        span = reading.span(statement)
        if "law" in law.preamble_spans:
            reading.fault(
                "python-law",
                "Law(…) stands twice",
                span,
                "a file holds one law",
                (("the first is here", law.preamble_spans["law"]),),
            )
            return
        law.preamble_spans["law"] = span
        if len(call.args) == 1:
            law.name = self._text(call.args[0], "the name of the law, as text")
        else:
            reading.fault("python-law", f"Law takes 1 name, not {len(call.args)}", call, _WRITE_LAW)
        for keyword in call.keywords:
            self._keyword(keyword)

    def _keyword(self, keyword: ast.keyword) -> None:
        reading, law, value = self.reading, self.law, keyword.value
        word = _KEYWORDS.get(keyword.arg or "")
        if word is None or word in law.preamble_spans:
            words = f"{keyword.arg} stands twice" if word else f"Law has no {keyword.arg or '**'}"
            reading.fault("python-law", words, keyword, f"Law knows {', '.join(_KEYWORDS)}")
            return
        law.preamble_spans[word] = reading.span(keyword)
        if word == "initialCS":
            self._initial(value)
        elif word == "authority":
            self._authorities(value)
        elif word == "cAuthority":
            law.controller_authority = self._text(value, 'a key such as "ed25519:…"')
        elif word == "disclose":
            law.disclose = self._text(value, '"all", "rules" or "none"')
            if law.disclose not in ("all", "rules", "none"):
                reading.fault(
                    "python-law", "disclose is unknown", value, 'it is "all", "rules" or "none"'
                )
        elif isinstance(value, ast.Constant) and isinstance(value.value, bool):
            law.clear_messages = value.value
            if not value.value:
                del law.preamble_spans[word]  # as if it had been left out
        else:
            reading.fault("python-law", "clear_messages is True or False", value, "leave it out")

    def _text(self, node: ast.expr, wanted: str) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        self.reading.fault("python-law", f"expected {wanted}", node, "write it in quotes")
        return ""

    def _authorities(self, node: ast.expr) -> None:
        if not isinstance(node, ast.Dict):
            self.reading.fault(
                "python-law",
                "authorities need a dictionary",
                node,
                'as in authorities={"admin": "ed25519:…"}',
            )
            return
        found: dict[str, tree.LawAuthority] = {}
        for name_node, key_node in zip(node.keys, node.values, strict=True):
            if name_node is None:
                self.reading.fault("python-law", "** cannot stand here", key_node, "name them all")
                continue
            name = self._text(name_node, "the name of an authority, as text")
            key = self._text(key_node, 'a key such as "ed25519:…"')
            if name in found:
                self.reading.fault(
                    "python-law", f"the authority {name} stands twice", name_node, "keep one"
                )
            found[name] = tree.LawAuthority(name, key)
        self.law.authorities = tuple(found.values())

    def _initial(self, node: ast.expr) -> None:
        reading = self.reading
        if not isinstance(node, ast.List):
            reading.fault(
                "python-law", "initial needs a list of terms", node, "as in initial=[quota(3)]"
            )
            return
        known = len(reading.faults)
        variables: dict[str, Var] = {}
        value: Term = from_node(Expressions(reading, Names()).term(node, None), variables)
        if variables:
            reading.fault(
                "python-law",
                "a variable cannot stand in the preamble",
                node,
                "begin names with a small letter, or write text in quotes",
            )
            return
        if not isinstance(value, tuple):
            return
        for item in value if len(reading.faults) == known else ():
            if item == "tupleSpace" or getattr(item, "name", None) in ("clock", "obligation"):
                reading.fault(
                    "python-law",
                    "initial holds a term that is reserved",
                    node,
                    "tupleSpace is given to a space's manager by its host; clock and obligation "
                    "are not kept in the control state",
                )
        self.law.initial = value

    # -- functions -------------------------------------------------------------------------

    def _announce(self, function: ast.FunctionDef) -> None:
        """Note a helper's name before bodies are read, so that they know it for one."""
        takes_state = _takes_state(function)
        if not function.decorator_list:
            count = len(function.args.args) - takes_state
        else:
            decorator = function.decorator_list[0]
            if self._law_word(decorator) != "helper" or not isinstance(decorator, ast.Call):
                return
            count = len(decorator.args)
        self.reading.helper_names.setdefault((function.name, count), takes_state)

    @staticmethod
    def _law_word(decorator: ast.expr) -> str | None:
        """`sent` of `@law.sent(…)` or `@law.sent`."""
        func = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            return func.attr if func.value.id == "law" else None
        return None

    def _function(self, function: ast.FunctionDef) -> None:
        reading = self.reading
        decorators = function.decorator_list
        for extra in decorators[1:]:
            reading.fault(
                "python-decorator", "one decorator is enough", extra, "write a function for each"
            )
        decorator = decorators[0] if decorators else None
        word = self._law_word(decorator) if decorator is not None else "helper"
        if word != "helper" and word not in HEADS:
            assert decorator is not None
            near = get_close_matches(word or "", [*HEADS, "helper"], n=1)
            reading.fault(
                "python-decorator",
                "this decorator is unknown",
                decorator,
                f"did you mean @law.{near[0]}(…)?" if near else f"after @law. come {_words()}",
            )
            return
        if decorator is not None and not isinstance(decorator, ast.Call):
            reading.fault(
                "python-decorator",
                f"@law.{word} needs brackets",
                decorator,
                f"write @law.{word}(…); with nothing to say, @law.{word}()",
            )
            return
        assert word is not None
        names = Names(node.id for node in ast.walk(function) if isinstance(node, ast.Name))
        for parameter in function.args.args:
            names.add(parameter.arg)
        kind = "helper" if word == "helper" else "rule"
        body = Statements(reading, function.name, kind, names)
        body.has_state = _takes_state(function)
        self._signature(function, kind, decorator is not None)
        if word == "helper":
            self._helper(function, decorator, body)
        else:
            assert isinstance(decorator, ast.Call)
            self._rule(function, decorator, word, body)

    def _signature(self, function: ast.FunctionDef, kind: str, decorated: bool) -> None:
        """Check name and parameters: plain names, `cs` first, then variables."""
        reading, given = self.reading, function.args
        span = reading.span(function)
        at_name = Span(span.start, span.start + len("def ") + len(function.name))
        Expressions(reading, Names()).plain_name(function.name, at_name)
        more_clauses = kind == "helper" and decorated
        if function.name in self.defined:
            first, first_more = self.defined[function.name]
            if not (more_clauses and first_more):
                reading.fault(
                    "python-label",
                    f"{function.name} is defined twice",
                    at_name,
                    "a helper of several clauses has @law.helper(…) on each; rules need names "
                    "of their own",
                    (("the first is here", first),),
                )
        self.defined.setdefault(function.name, (at_name, more_clauses))
        unwanted: list[ast.expr | ast.arg] = [
            *given.posonlyargs, *given.kwonlyargs, *given.defaults,
            *(default for default in given.kw_defaults if default is not None),
            *(arg for arg in (given.vararg, given.kwarg) if arg is not None),
            *(arg.annotation for arg in given.args if arg.annotation is not None),
            *((function.returns,) if function.returns is not None else ()),
        ]  # fmt: skip
        for item in unwanted:
            reading.fault(
                "python-parameters",
                "parameters are plain names",
                item,
                "no stars, no defaults, no annotations: def name(cs, X, Y)",
            )
        if kind == "rule" and not _takes_state(function):
            reading.fault(
                "python-parameters",
                "a rule takes the control state",
                at_name,
                f"write def {function.name}(cs)",
            )
        told: set[str] = set()
        for parameter in given.args[_takes_state(function) :]:
            self._parameter(parameter, told, kind == "helper" and not decorated)

    def _parameter(self, parameter: ast.arg, told: set[str], in_head: bool) -> None:
        name = parameter.arg
        if not is_variable(name) or not name.isascii() or name.startswith("__"):
            words, help = f"the parameter {name} is no variable", "variables begin with a capital"
        elif name in told:
            words, help = f"the parameter {name} stands twice", "give each a name of its own"
        elif in_head and name in tree.SPECIAL:
            words, help = f"{name} has a meaning of its own", "take another name"
        else:
            told.add(name)
            return
        self.reading.fault("python-parameters", words, parameter, help)

    def _body(self, function: ast.FunctionDef, body: Statements, span: Span) -> tree.Goal:
        statements = function.body
        if _is_docstring(statements[0]):
            statements = statements[1:]
        goal = body.body(statements, span)
        deep = _goal_too_deep(goal)
        if deep is not None:
            self.reading.fault(
                "python-nesting",
                f"goals are nested more than {GOAL_DEPTH_MAX} deep",
                deep.span,
                "move the inner part into a helper",
            )
        return goal

    # -- helpers ---------------------------------------------------------------------------

    def _helper(
        self, function: ast.FunctionDef, decorator: ast.expr | None, body: Statements
    ) -> None:
        reading, name = self.reading, function.name
        span = reading.span(function)
        head_span = span
        args: tuple[Node, ...]
        if decorator is None:
            own = function.args.args[_takes_state(function) :]
            args = tuple([body.variable(arg.arg, reading.span(arg)) for arg in own])
            head_span = Span(span.start, reading.span(own[-1]).end if own else span.start + 4)
        else:
            assert isinstance(decorator, ast.Call)
            args = body.terms(body.arguments(decorator), None)
            head_span = reading.span(decorator)
            span = Span(self._at_sign(head_span), span.end)
        body.results = body.seen - set(tree.SPECIAL)
        key = name, len(args)
        if is_variable(name) and not name.startswith("__"):
            words = "names of helpers begin with a small letter"
        elif key in BUILTINS or (name, len(args) + 1) in BUILTINS or key in FUNCTIONS:
            words = f"{name} is a built-in"
        elif name in tree.EVENTS or name in tree.PREAMBLE or name in _GOAL_WORDS or name in HEADS:
            words = f"{name} is a word of the language"
        else:
            words = ""
        if words:
            reading.fault(
                "python-label",
                f"a helper cannot be called {name}: {words}",
                head_span,
                "take another name",
            )
        if reading.helper_names.get(key, body.has_state) != body.has_state:
            reading.fault(
                "python-cs",
                f"some clauses of {name} take cs and some do not",
                head_span,
                "give it to all of them",
            )
        goal = self._body(function, body, span)
        reading.helpers.setdefault(key, []).append(tree.Clause(name, args, goal, span, head_span))

    def _check_calls(self) -> None:
        """A helper that takes `cs` is called with it, any other predicate without."""
        for name, count, with_state, span in self.reading.calls:
            takes = self.reading.helper_names.get((name, count))
            if takes and not with_state:
                words, help = f"{name} takes cs", f"write {name}(cs, …)"
            elif with_state and not takes:
                words, help = f"{name} does not take cs", f"write {name}(…) without it"
            else:
                continue
            self.reading.fault("python-cs", words, span, help)

    # -- rules -----------------------------------------------------------------------------

    def _rule(
        self, function: ast.FunctionDef, decorator: ast.Call, word: str, body: Statements
    ) -> None:
        reading = self.reading
        head_span = reading.span(decorator)
        span = Span(self._at_sign(head_span), reading.span(function).end)
        args = self._head(decorator, word, body, head_span)
        goal = self._body(function, body, span)
        self.rules.append(
            tree.Rule(
                function.name,
                len(self.rules) + 1,
                HEADS[word][0],
                args,
                goal,
                span,
                head_span,
                ast.get_docstring(function) or "",
            )
        )

    def _at_sign(self, decorator: Span) -> int:
        at = self.reading.source.text.rfind("@", 0, decorator.start)
        return at if at >= 0 else decorator.start

    def _head(
        self, decorator: ast.Call, word: str, body: Statements, span: Span
    ) -> tuple[Node, ...]:
        """The arguments of an event, from those of its decorator."""
        reading = self.reading
        _, slots = HEADS[word]
        count = sum(isinstance(slot, int) and slot != HOME for slot in slots)
        if len(decorator.args) != count:
            reading.fault(
                "python-pattern",
                f"@law.{word} takes {count} by order, not {len(decorator.args)}",
                span,
                f"write {_usage(word)}",
            )
            return tuple([Variable("_", span) for _ in range(tree.EVENTS[HEADS[word][0]])])
        named: dict[str, ast.expr] = {}
        for keyword in decorator.keywords:
            if keyword.arg not in slots or keyword.arg in named:
                twice = keyword.arg in named
                reading.fault(
                    "python-pattern",
                    f"{keyword.arg} stands twice"
                    if twice
                    else f"@law.{word} has no {keyword.arg or '**'}",
                    keyword,
                    f"write {_usage(word)}",
                )
            elif keyword.arg is not None:
                named[keyword.arg] = keyword.value
        if word in CERTIFICATES:
            return self._certificate(word, named, body, span)
        args: list[Node] = []
        for slot in slots:
            if slot == HOME:
                args.append(Variable("Self", span))
            elif isinstance(slot, int):
                args.append(self._pattern(decorator.args[slot], word, slot, body))
            elif slot in named:
                args.append(body.term(named[slot], None))
            else:
                args.append(Variable("_", span))
        return tuple(args)

    @staticmethod
    def _pattern(node: ast.expr, word: str, slot: int, body: Statements) -> Node:
        if word == "exception" and slot == 0:  # an operation, under its name in Python
            operation = body.operation(node, None)
            if operation is not None:
                return operation
        return body.term(node, None)

    def _certificate(
        self, word: str, named: dict[str, ast.expr], body: Statements, span: Span
    ) -> tuple[Node, ...]:
        parts: list[Node] = []
        for name in ("issuer", "subject", "attributes"):
            if name not in named:
                self.reading.fault(
                    "python-pattern",
                    f"@law.{word} does not say {name}",
                    span,
                    f"write {_usage(word)}; where any will do, {name}=_",
                )
                continue
            value = body.term(named[name], None)
            parts.append(Struct(name, (value,), self.reading.span(named[name])))
        return (ListSyntax(tuple(parts), None, span),)


def _words() -> str:
    return ", ".join([*HEADS, "helper"])


def _usage(word: str) -> str:
    """How a decorator is written: `@law.sent(pattern, to=Y)`."""
    patterns = {"exception": ["operation", "why"], "obligation_due": ["obligation"]}
    _, slots = HEADS[word]
    count = sum(isinstance(slot, int) and slot != HOME for slot in slots)
    shown = patterns.get(word, ["pattern"] * count)
    letters = {"to": "Y", "sender": "X", "origin": "X"}
    names = [
        f"{slot}={letters.get(slot, slot[0].upper())}" for slot in slots if isinstance(slot, str)
    ]
    return f"@law.{word}({', '.join([*shown, *names])})"


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _takes_state(function: ast.FunctionDef) -> bool:
    given = function.args.args
    return bool(given) and given[0].arg == "cs"


def _goal_too_deep(goal: tree.Goal) -> tree.Goal | None:
    """A goal below `GOAL_DEPTH_MAX` levels, if there is one."""
    pending = [(goal, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > GOAL_DEPTH_MAX:
            return item
        pending.extend((inner, depth + 1) for inner in tree.subgoals(item))
    return None
