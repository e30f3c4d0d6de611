"""Code that picks the rules to try for an event, in the order of the text.

The first cut is by functor of the event's main argument (the message, the obligation). Where
many rules share a functor, a second cut goes by an argument, or an argument's argument, in which
most of them have different constants. A rule with a variable at the cut stays in every branch.
Each cut is one look-up in a dictionary, so a thousand rules cost as much as two.

A branch knows its own rules apart from those that every branch has, and tries both in the order of
the text. Short lists are written out as code; where all of them together would be more than
`CHAINED_MAX`, a loop goes through the two lists instead, or a law with as many branches as common
rules would have code that grows with the square of its text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from nomospace.law.emit.writer import Constants
from nomospace.law.tree import LawTree, Rule
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

INLINE_MAX: Final = 4
"""Up to so many functors, with one rule each, the rules' code stands in the dispatch itself."""
CHAIN_MAX: Final = 4
"""Up to so many rules are simply tried one after another."""
CHAINED_MAX: Final = 4_000
"""How many rules the written lists of a law name in all."""

PARAMETERS = "S, x, y, z, st, ob, now, u"
MAIN: Final = {
    "sent": 1,
    "arrived": 1,
    "submitted": 1,
    "obligationDue": 0,
    "exception": 0,
    "moved": 0,
}
Path: TypeAlias = tuple[int, ...]
Rules: TypeAlias = list[tuple[int, Rule]]
Merged: TypeAlias = tuple[str, tuple[int, ...], int]
"""A list of rules that is no code: its name, a branch's own rules, and the number of the list with
those that all branches have."""
Entry: TypeAlias = tuple[int, Callable[..., object]]
"""A rule's number, and its function."""


class DispatchCode:
    """Writes `on_<event>` for each kind of event that a law has rules for."""

    def __init__(self, law: LawTree, constants: Constants, bodies: dict[int, list[str]]) -> None:
        self.constants = constants
        self.bodies = bodies  # the code of the rules that were compiled, by their number
        self.by_event: dict[str, Rules] = {}
        for index, rule in enumerate(law.rules):
            self.by_event.setdefault(rule.event, []).append((index, rule))
        self.events = list(self.by_event)
        self.lines: list[str] = []
        self.tables: list[tuple[str, dict[object, str]]] = []
        self.merged: list[Merged] = []
        self.shared: list[tuple[int, ...]] = []
        """What several branches have in common, once."""
        self.called: set[int] = set()
        """The rules that are functions of their own; the code of others stands in the dispatch."""
        self._shared: list[Rules] = []
        self._chains: dict[tuple[int, ...], str] = {}
        self._chained = 0
        self._picks: dict[str, list[str]] = {}

    def write(self) -> list[str]:
        self.lines += [f"def nothing({PARAMETERS}): return None"]
        for event, rules in self.by_event.items():
            self._event(event, rules)
        return self.lines

    def _table(self, table: dict[object, str]) -> str:
        name = f"t{len(self.tables)}"
        self.tables.append((name, table))
        return name

    def _event(self, event: str, rules: Rules) -> None:
        main = MAIN.get(event)
        if main is None:
            call = f"{self._chain(rules, [])}({PARAMETERS})"
            self.lines.append(f"def on_{event}({PARAMETERS}): return {call}")
            return
        atoms: dict[str, Rules] = {}
        functors: dict[str, Rules] = {}
        others: Rules = []
        for entry in rules:
            kind, key = _outline(entry[1].args[main])
            if kind == "atom":
                atoms.setdefault(key, []).append(entry)
            elif kind == "compound":
                functors.setdefault(key, []).append(entry)
            else:
                others.append(entry)
        x = "xyz"[main]
        rest = self._chain([], others)
        compounds = self._branches(functors, others, f"{x}.name", x, rest)
        strings = self._branches(atoms, others, x, x, rest)
        self.lines += [
            f"def on_{event}({PARAMETERS}):",
            f"    if {x}.__class__ is C:",
            *compounds,
            f"    if {x}.__class__ is str:",
            *strings,
            f"    return {rest}({PARAMETERS})",
        ]

    def _branches(
        self, branches: dict[str, Rules], others: Rules, key: str, x: str, rest: str
    ) -> list[str]:
        """Lines that go on with the rules for a key: a look-up, or where they are few, the code."""
        if len(branches) > INLINE_MAX:
            table = self._table({k: self._picker(v, others, x) for k, v in branches.items()})
            return _indent(_look_up(table, key, rest), 2)
        lines = [f"key = {key}"] if branches else []
        for name, rules in branches.items():
            lines.append(f"if key == {self.constants.add(name)}:")
            if len(rules) == 1 and not others and rules[0][0] in self.bodies:
                lines += self.bodies[rules[0][0]][1:]  # indented once, as in its own function
                continue
            function = self._picker(rules, others, x)
            code = self._picks.get(function, [f"return {function}({PARAMETERS})"])
            lines += _indent(code, 1)
        return _indent([*lines, f"return {rest}({PARAMETERS})"], 2)

    def _chain(self, own: Rules, others: Rules) -> str:
        """The name of a function that tries rules in the order of the text."""
        count = len(own) + len(others)
        if count == 0:
            return "nothing"
        self.called.update([number for number, _ in own], [number for number, _ in others])
        if self._chained + count > CHAINED_MAX and count > 1:
            name = f"merged{len(self.merged)}"
            if not self._shared or self._shared[-1] is not others:
                self._shared.append(others)
                self.shared.append(_numbers(others))
            self.merged.append((name, _numbers(own), len(self.shared) - 1))
            return name
        chain = _numbers(in_order(own, others))
        if len(chain) == 1:
            return f"rule{chain[0]}"
        known = self._chains.get(chain)
        if known is not None:
            return known
        self._chained += count
        name = self._chains[chain] = f"chain{len(self._chains)}"
        self.lines.append(f"def {name}({PARAMETERS}):")
        for number in chain[:-1]:
            self.lines.append(f"    r = rule{number}({PARAMETERS})")
            self.lines.append("    if r is not None: return r")
        self.lines.append(f"    return rule{chain[-1]}({PARAMETERS})")
        return name

    def _picker(self, rules: Rules, common: Rules, x: str) -> str:
        """The name of a function that cuts a list of rules down by a constant in them."""
        main = "xyz".index(x)
        path = _best_path(rules, main) if len(rules) + len(common) > CHAIN_MAX else None
        if path is None:
            return self._chain(rules, common)
        branches: dict[tuple[type, object], Rules] = {}
        without: Rules = []
        for entry in rules:
            constant = _constant_at(entry[1].args[main], path)
            if constant is None:
                without.append(entry)
            else:
                branches.setdefault(constant, []).append(entry)
        others = in_order(without, common) if without else common
        name = f"pick{len(self.tables)}"
        tables = {
            kind: self._table(
                {
                    key[1]: self._chain(found, others)
                    for key, found in branches.items()
                    if key[0] is kind
                }
            )
            for kind in (str, int)
        }
        rest = self._chain([], others)
        steps = "".join([f".args[{step}]" for step in path])
        code = [
            f"try: v = {x}{steps}",
            f"except (AttributeError, IndexError): return {rest}({PARAMETERS})",
        ]
        for kind, table in tables.items():
            code.append(f"if v.__class__ is {kind.__name__}:")
            code += _indent(_look_up(table, "v", rest), 1)
        code.append(f"return {rest}({PARAMETERS})")
        self._picks[name] = code
        self.lines += [f"def {name}({PARAMETERS}):", *_indent(code, 1)]
        return name


def _numbers(rules: Rules) -> tuple[int, ...]:
    return tuple([index for index, _ in rules])


def in_order(own: Rules, others: Rules) -> Rules:
    """Rules of two lists in the order of the text."""
    return sorted([*own, *others], key=lambda entry: entry[0]) if others else own


def try_both(own: list[Entry], others: list[Entry]) -> Callable[..., object]:
    """A ruler that tries the rules of two lists in the order of the text."""

    def merged(*event: object) -> object:
        left, right = iter(own), iter(others)
        a, b = next(left, None), next(right, None)
        while a is not None or b is not None:
            if b is None or (a is not None and a[0] < b[0]):
                assert a is not None, "one of them is there"
                ruling, a = a[1](*event), next(left, None)
            else:
                ruling, b = b[1](*event), next(right, None)
            if ruling is not None:
                return ruling
        return None

    return merged


def _look_up(table: str, key: str, rest: str) -> list[str]:
    """Lines that go on with what a table has for a key."""
    if rest != "nothing":
        return [f"return {table}.get({key}, {rest})({PARAMETERS})"]
    return [  # quicker, where a miss is a refusal
        f"try: f = {table}[{key}]",
        "except KeyError: return None",
        f"return f({PARAMETERS})",
    ]


def _indent(lines: list[str], levels: int) -> list[str]:
    return ["    " * levels + line for line in lines]


def _outline(node: Node) -> tuple[str, str]:
    if isinstance(node, Const) and isinstance(node.value, str):
        return "atom", node.value
    if isinstance(node, Struct):
        return "compound", node.name
    if isinstance(node, Variable | ListSyntax | Const):
        return "any", ""
    raise AssertionError(node)


def _constant_at(node: Node, path: Path) -> tuple[type, object] | None:
    """The atom or integer at a path, with its class, when the text has one there.

    Any other constant goes with the variables: the rule itself will look at it.
    """
    for step in path:
        if not isinstance(node, Struct) or len(node.args) <= step:
            return None
        node = node.args[step]
    if isinstance(node, Const) and node.value.__class__ in (str, int):
        return node.value.__class__, node.value
    return None


def _best_path(rules: Rules, main: int) -> Path | None:
    """The place at which most rules have an atom, and the most different ones."""
    counts: dict[Path, set[object]] = {}
    for _, rule in rules:
        node = rule.args[main]
        if not isinstance(node, Struct):
            continue
        for first, arg in enumerate(node.args):
            _count(counts, (first,), arg)
            if isinstance(arg, Struct):
                for second, inner in enumerate(arg.args):
                    _count(counts, (first, second), inner)
    chosen = max(counts, key=lambda path: len(counts[path]), default=None)
    return chosen if chosen is not None and len(counts[chosen]) > 1 else None


def _count(counts: dict[Path, set[object]], path: Path, node: Node) -> None:
    if isinstance(node, Const) and node.value.__class__ in (str, int):
        counts.setdefault(path, set()).add(node.value)
