"""From text to a `LawTree`: clauses are sorted into preamble, rules and helpers, bodies into goals.

Nothing is raised while reading: faults are gathered so that an author sees them all at once.
What a law means beyond its form (unbound variables, unknown predicates, rules that cannot be
reached) is the business of `law.checks`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Final

from nomospace.law import tree
from nomospace.law.arithmetic import COMPARE
from nomospace.terms import TERM_DEPTH_MAX, Diagnostic, Source, Span, Term, Var
from nomospace.terms.syntax import Reader
from nomospace.terms.text import from_node
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable, inner_nodes

GOAL_DEPTH_MAX: Final = 60
"""How deep conditionals, disjunctions, negations and findall may nest."""
COMMENT_MAX: Final = 2_000
"""How much of a rule's comment is kept."""
RULES_MAX: Final = 20_000
"""How many rules and helper clauses a law may have."""


_PLAIN_GOALS: Final[dict[tuple[str, int], Callable[[tuple[Node, ...], Span], tree.Goal]]] = {
    ("true", 0): lambda args, span: tree.TrueGoal(span),
    ("fail", 0): lambda args, span: tree.Fail(span),
    ("clock", 1): lambda args, span: tree.ClockGoal(args[0], span),
    ("thisLaw", 2): lambda args, span: tree.ThisLaw(args[0], args[1], span),
    ("=", 2): lambda args, span: tree.Unify(args[0], args[1], False, span),
    ("\\=", 2): lambda args, span: tree.Unify(args[0], args[1], True, span),
    ("==", 2): lambda args, span: tree.Same(args[0], args[1], False, span),
    ("\\==", 2): lambda args, span: tree.Same(args[0], args[1], True, span),
    ("is", 2): lambda args, span: tree.Is(args[0], args[1], span),
    ("do", 1): lambda args, span: tree.Do(args[0], span),
}
"""Goals without goals or conditions of their own."""


def parse(source: Source) -> tuple[tree.LawTree, list[Diagnostic]]:
    """Read a law. The faults are in the order of the text; with any, the law is not whole."""
    return _Parser(source).parse()


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Diagnostic] = []
        self.rules: list[tree.Rule] = []
        self.helpers: dict[tuple[str, int], list[tree.Clause]] = {}
        self.labelled: dict[tuple[str, int], str] = {}  # helper heads that carry a label
        self.law = tree.LawTree(source, "", (), {})

    def fault(
        self,
        code: str,
        message: str,
        span: Span,
        help: str = "",
        related: tuple[tuple[str, Span], ...] = (),
    ) -> None:
        self.faults.append(Diagnostic(code, message, span, help, related))

    def parse(self) -> tuple[tree.LawTree, list[Diagnostic]]:
        reader = Reader(self.source)
        clauses = reader.clauses()
        self.faults += reader.faults
        label: Variable | None = None
        for node in clauses:
            if isinstance(node, Variable):
                if label is not None:
                    self._lonely(label)
                label = node
                continue
            if node is not None:
                self._clause(node, label)
            label = None
        if label is not None:
            self._lonely(label)
        if len(self.rules) + sum(map(len, self.helpers.values())) > RULES_MAX:
            self.fault("law-too-long", f"a law has at most {RULES_MAX:,} clauses", Span(0, 1))
        self._unknown_events()
        law = self.law
        for rule in self.rules:
            rule.comment = comment_after(self.source.text, rule.span)
        law.rules = tuple(self.rules)
        law.helpers = {key: tuple(found) for key, found in self.helpers.items()}
        law.name = law.name or "unnamed"
        self.faults.sort(key=lambda fault: fault.span)
        return law, self.faults

    def _lonely(self, label: Variable) -> None:
        self.fault(
            "syntax-label",
            f"the label {label.name} has no rule after it",
            label.span,
            "a lone capital name and a full stop label the rule that follows",
        )

    # -- clauses ---------------------------------------------------------------------------

    def _clause(self, node: Node, label: Variable | None) -> None:
        head, body = node, None
        if isinstance(node, Struct) and node.name == ":-":
            if len(node.args) != 2:
                self.fault("syntax-clause", "':-' needs a head and a body", node.span)
                return
            head, body = node.args
        name_and_args = _callable(head)
        if name_and_args is None:
            self.fault(
                "syntax-head",
                "a clause begins with an event, a predicate or a preamble word",
                head.span,
                "for example: sent(X, M, Y) :- do(forward).",
            )
            return
        name, args = name_and_args
        start = label.span.start if label is not None else node.span.start
        span = Span(start, node.span.end)
        if body is None and label is None and tree.PREAMBLE.get(name) == len(args):
            self._preamble(name, args, node.span)
            return
        if (
            name in tree.PREAMBLE
            and name not in tree.EVENTS
            and (name, len(args)) not in self.helpers
        ):
            self._wrong_preamble(name, len(args), head.span, body is not None or label is not None)
            return
        goal: tree.Goal = tree.TrueGoal(head.span) if body is None else self._goal(body)
        if span.end - span.start > TERM_DEPTH_MAX:  # a shorter text cannot hold a deeper term
            self._check_depth(args, goal)
        if tree.EVENTS.get(name) == len(args):
            self.rules.append(
                tree.Rule(
                    label.name if label is not None else None,
                    len(self.rules) + 1,
                    name,
                    args,
                    goal,
                    span,
                    head.span,
                )
            )
            return
        if name in tree.EVENTS:
            arity = tree.EVENTS[name]
            self.fault(
                "unknown-event",
                f"the event {name} has {tree.arguments(arity)}, not {len(args)}",
                head.span,
                f"write {name}({', '.join('XMYZ'[:arity])})" if arity else f"write {name}",
            )
            return
        if label is not None:
            self.labelled.setdefault((name, len(args)), label.name)
        self.helpers.setdefault((name, len(args)), []).append(
            tree.Clause(
                name, args, goal, span, head.span, label.name if label is not None else None
            )
        )

    def _wrong_preamble(self, name: str, arity: int, span: Span, with_body: bool) -> None:
        if with_body and tree.PREAMBLE[name] == arity:
            self.fault(
                "preamble-form", f"{name} is a word of the preamble: no label, no body", span
            )
        else:
            self.fault(
                "preamble-form",
                f"{name} of the preamble has {tree.arguments(tree.PREAMBLE[name])}, not {arity}",
                span,
            )

    def _check_depth(self, args: tuple[Node, ...], body: tree.Goal) -> None:
        """Chains of `,` count as one level to the reader, since goals are; in a term they nest."""
        pending = [(node, 1) for node in args]
        for goal in tree.goals_in(body):
            pending += [(node, 1) for node in tree.nodes_of(goal)]
        while pending:
            node, depth = pending.pop()
            if depth > TERM_DEPTH_MAX:
                self.fault(
                    "syntax-depth", f"the term has more than {TERM_DEPTH_MAX:,} levels", node.span
                )
                return
            pending += [(part, depth + 1) for part in inner_nodes(node)]

    def _unknown_events(self) -> None:
        """A head that is no event is a helper if something calls it; a labelled one is a rule."""
        bodies = [rule.body for rule in self.rules]
        bodies += [clause.body for clauses in self.helpers.values() for clause in clauses]
        called = {
            (goal.name, len(goal.args))
            for body in bodies
            for goal in tree.goals_in(body)
            if isinstance(goal, tree.PredicateCall)
        }
        for key, clauses in self.helpers.items():
            if key in called:
                continue
            name, arity = key
            near = get_close_matches(name, tree.EVENTS, n=1, cutoff=0.75)
            if key in self.labelled or (near and tree.EVENTS[near[0]] == arity):
                help = (
                    f"did you mean {near[0]}?" if near else f"events are {', '.join(tree.EVENTS)}"
                )
                for clause in clauses:
                    self.fault(
                        "unknown-event", f"{name}/{arity} is no event", clause.head_span, help
                    )

    # -- preamble --------------------------------------------------------------------------

    def _preamble(self, name: str, args: tuple[Node, ...], span: Span) -> None:
        law = self.law
        if name in law.preamble_spans and name not in ("authority", "portal"):
            self.fault(
                "preamble-twice",
                f"{name} stands twice in the preamble",
                span,
                "keep one of them",
                (("the first is here", law.preamble_spans[name]),),
            )
            return
        law.preamble_spans[name] = span
        if name == "clearMessages":
            law.clear_messages = True
        elif name in ("portal", "refines", "protectedCS"):
            self.fault(
                "preamble-later",
                f"{name} is not supported yet",
                span,
                "portals and refinement come in a later release; leave the clause out",
            )
        elif name == "initialCS":
            self._initial(args[0])
        elif name == "authority":
            key = self._text(args[1], 'a key such as "ed25519:…"')
            who = self._text(args[0], "a name")
            if any(a.name == who for a in law.authorities):
                self.fault("preamble-twice", f"the authority {who} stands twice", span)
            law.authorities += (tree.LawAuthority(who, key),)
        elif name == "cAuthority":
            law.controller_authority = self._text(args[0], 'a key such as "ed25519:…"')
        elif name == "law":
            law.name = self._text(args[0], "a name")
        else:
            word = self._text(args[0], "all, rules or none")
            if word not in ("all", "rules", "none"):
                self.fault(
                    "preamble-form", f"disclose({word}) is unknown", span, "all, rules, none"
                )
            law.disclose = word

    def _initial(self, node: Node) -> None:
        value = self._ground(node)
        if value is None:
            return
        if not isinstance(value, tuple):
            self.fault("preamble-form", "initialCS needs a list of terms", node.span)
            return
        for item in value:
            if item == "tupleSpace" or getattr(item, "name", None) in ("clock", "obligation"):
                self.fault(
                    "reserved-term",
                    "initialCS holds a term that is reserved",
                    node.span,
                    "tupleSpace is given to a space's manager by its host; clock and obligation "
                    "are not kept in the control state",
                )
        self.law.initial = value

    def _ground(self, node: Node) -> Term | None:
        variables: dict[str, Var] = {}
        value = from_node(node, variables)
        if variables:
            self.fault(
                "preamble-form",
                "a variable cannot stand in the preamble",
                node.span,
                "write it in lower case or in quotes if a string was meant",
            )
            return None
        return value

    def _text(self, node: Node, wanted: str) -> str:
        if isinstance(node, Const) and isinstance(node.value, str):
            return node.value
        self.fault("preamble-form", f"expected {wanted} here", node.span)
        return ""

    # -- goals -----------------------------------------------------------------------------

    def _goal(self, node: Node, depth: int = 0) -> tree.Goal:
        if depth > GOAL_DEPTH_MAX:
            self.fault(
                "goal-depth",
                f"goals are nested more than {GOAL_DEPTH_MAX} deep",
                node.span,
                "move the inner part into a helper predicate",
            )
            return tree.Fail(node.span)
        if isinstance(node, Variable | ListSyntax):
            what = f"the variable {node.name}" if isinstance(node, Variable) else "a list"
            self.fault("syntax-goal", f"{what} is no goal", node.span, "there is no call/1")
            return tree.Fail(node.span)
        found = _callable(node)
        if found is None:
            self.fault("syntax-goal", "a number or text is no goal", node.span)
            return tree.Fail(node.span)
        name, args = found
        span = node.span
        plain = _PLAIN_GOALS.get((name, len(args)))
        if plain is not None:
            return plain(args, span)
        if name in (",", ";") and len(args) == 2:
            return self._chain(name, node, depth)
        if name == "->" and len(args) == 2:
            return tree.If(
                self._goal(args[0], depth + 1), self._goal(args[1], depth + 1), None, span
            )
        if name in ("not", "\\+") and len(args) == 1:
            return tree.Not(self._goal(args[0], depth + 1), span)
        if name == "@" and len(args) == 2:
            return self._sense(args[0], args[1], span)
        if name in COMPARE and len(args) == 2:
            return tree.Compare(name, args[0], args[1], span)
        if name == "findall" and len(args) == 3:
            return tree.FindAll(args[0], self._goal(args[1], depth + 1), args[2], span)
        return tree.PredicateCall(name, args, span)

    def _chain(self, name: str, node: Node, depth: int) -> tree.Goal:
        """`a, b, c` or `a ; b ; c`, which nest to the right, as one flat goal."""
        parts: list[Node] = []
        rest = node
        while isinstance(rest, Struct) and rest.name == name and len(rest.args) == 2:
            parts.append(rest.args[0])
            rest = rest.args[1]
        parts.append(rest)
        if name == ",":
            return tree.Conj(tuple(self._goal(part, depth + 1) for part in parts), node.span)
        return self._alternatives(parts, node.span, depth)

    def _alternatives(self, parts: list[Node], span: Span, depth: int) -> tree.Goal:
        """`(a -> b ; c -> d ; e)`: an alternative with an arrow decides for all after it."""
        plain: list[tree.Goal] = []
        for index, part in enumerate(parts):
            arrow = isinstance(part, Struct) and part.name == "->" and len(part.args) == 2
            if arrow and index + 1 < len(parts):
                assert isinstance(part, Struct)
                rest = parts[index + 1 :]
                otherwise = (
                    self._goal(rest[0], depth + 1)
                    if len(rest) == 1
                    else self._alternatives(rest, Span(rest[0].span.start, span.end), depth + 1)
                )
                chosen = tree.If(
                    self._goal(part.args[0], depth + 1),
                    self._goal(part.args[1], depth + 1),
                    otherwise,
                    Span(part.span.start, span.end),
                )
                plain.append(chosen)
                break
            plain.append(self._goal(part, depth + 1))
        return plain[0] if len(plain) == 1 else tree.Disj(tuple(plain), span)

    def _sense(self, pattern: Node, state: Node, span: Span) -> tree.Goal:
        if not (isinstance(state, Variable) and state.name == "CS"):
            self.fault(
                "syntax-sense", "only the control state can be sensed", state.span, "write …@CS"
            )
        if isinstance(pattern, Struct) and len(pattern.args) == 1:
            if pattern.name == "clock":
                return tree.ClockGoal(pattern.args[0], span)
            if pattern.name == "obligation":
                return tree.Sense(pattern.args[0], True, span)
        if isinstance(pattern, Const) and not isinstance(pattern.value, str):
            self.fault("syntax-sense", "a number is never in a control state", pattern.span)
        return tree.Sense(pattern, False, span)


def comment_after(text: str, clause: Span) -> str:
    """The comment of a clause, as one line of words: behind it, or below it and further in.

    >>> comment_after("a :- b.  % Only once,\\n    % and never again.\\n% Another.", Span(0, 6))
    'Only once, and never again.'
    """
    words = []
    margin = clause.start - text.rfind("\n", 0, clause.start) - 1
    rest = text[clause.end : clause.end + COMMENT_MAX].lstrip(" \t.")
    for number, line in enumerate(rest.split("\n")):
        stripped = line.lstrip()
        if number == 0 and not stripped:
            continue
        if not stripped.startswith("%") or (number and len(line) - len(stripped) <= margin):
            break
        words.append(stripped.lstrip("%").strip())
    return " ".join(words)


def _callable(node: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Name and arguments of something that can head a clause or be a goal."""
    if isinstance(node, Struct):
        return node.name, node.args
    if isinstance(node, Const):
        if isinstance(node.value, str):
            return node.value, ()
        if node.value is True:
            return "true", ()
        if node.value is False:
            return "fail", ()
    return None
