"""Code that picks the rules to try for an event, in the order of the text.

The first cut is by functor of the event's main argument (the message, the obligation). Where
many rules share a functor, a second cut goes by an argument, or an argument's argument, in which
most of them have different constants. A rule with a variable at the cut stays in every branch.
Each cut is one look-up in a dictionary, so a thousand rules cost as much as two.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from nomospace.law.emit.writer import Constants
from nomospace.law.tree import Const, Law, Listing, Node, Rule, Struct, Variable

INLINE_MAX: Final = 4
"""Up to so many functors, with one rule each, the rules' code stands in the dispatch itself."""
CHAIN_MAX: Final = 4
"""Up to so many rules are simply tried one after another."""

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


class DispatchCode:
    """Writes `on_<event>` for each kind of event that a law has rules for."""

    def __init__(self, law: Law, constants: Constants, bodies: dict[int, list[str]]) -> None:
        self.constants = constants
        self.bodies = bodies  # the code of the rules that were compiled, by their number
        self.by_event: dict[str, list[tuple[int, Rule]]] = {}
        for index, rule in enumerate(law.rules):
            self.by_event.setdefault(rule.event, []).append((index, rule))
        self.events = list(self.by_event)
        self.lines: list[str] = []
        self._tables: list[tuple[str, dict[Any, str]]] = []
        self._chains: dict[tuple[int, ...], str] = {}
        self._picks: dict[str, list[str]] = {}

    def write(self) -> list[str]:
        self.lines += [f"def nothing({PARAMETERS}): return None"]
        for event, rules in self.by_event.items():
            self._event(event, rules)
        return self.lines

    def link(self, namespace: dict[str, Any]) -> None:
        """Turn the names of functions in the tables into the functions."""
        for name, table in self._tables:
            namespace[name] = {key: namespace[function] for key, function in table.items()}

    def _table(self, table: dict[Any, str]) -> str:
        name = f"t{len(self._tables)}"
        self._tables.append((name, table))
        return name

    def _event(self, event: str, rules: list[tuple[int, Rule]]) -> None:
        main = MAIN.get(event)
        if main is None:
            self.lines.append(f"def on_{event}({PARAMETERS}): return {self._call(rules)}")
            return
        atoms: dict[Any, list[tuple[int, Rule]]] = {}
        functors: dict[str, list[tuple[int, Rule]]] = {}
        keys = [_outline(rule.args[main]) for _, rule in rules]
        for kind, key in keys:
            if kind == "atom":
                atoms.setdefault(key, [])
            elif kind == "compound":
                functors.setdefault(key, [])
        others: list[tuple[int, Rule]] = []
        for entry, (kind, key) in zip(rules, keys, strict=True):
            if kind == "atom":
                atoms[key].append(entry)
            elif kind == "compound":
                functors[key].append(entry)
            else:
                for branch in (*atoms.values(), *functors.values(), others):
                    branch.append(entry)
        x = "xyz"[main]
        rest = self._picker(others, x)
        compounds = self._branches(functors, f"{x}.name", x, rest)
        strings = self._branches(atoms, x, x, rest)
        self.lines += [
            f"def on_{event}({PARAMETERS}):",
            f"    if {x}.__class__ is C:",
            *compounds,
            f"    if {x}.__class__ is str:",
            *strings,
            f"    return {rest}({PARAMETERS})",
        ]

    def _branches(
        self, branches: dict[str, list[tuple[int, Rule]]], key: str, x: str, rest: str
    ) -> list[str]:
        """Lines that go on with the rules for a key: a look-up, or where they are few, the code."""
        if len(branches) > INLINE_MAX:
            table = self._table({k: self._picker(v, x) for k, v in branches.items()})
            return _indent(_look_up(table, key, rest), 2)
        lines = [f"key = {key}"] if branches else []
        for name, rules in branches.items():
            lines.append(f"if key == {self.constants.add(name)}:")
            if len(rules) == 1 and rules[0][0] in self.bodies:
                lines += self.bodies[rules[0][0]][1:]  # indented once, as in its own function
                continue
            function = self._picker(rules, x)
            code = self._picks.get(function, [f"return {function}({PARAMETERS})"])
            lines += _indent(code, 1)
        return _indent([*lines, f"return {rest}({PARAMETERS})"], 2)

    def _call(self, rules: list[tuple[int, Rule]]) -> str:
        return f"{self._chain(rules)}({PARAMETERS})"

    def _chain(self, rules: list[tuple[int, Rule]]) -> str:
        """The name of a function that tries rules in order."""
        numbers = tuple([index for index, _ in rules])
        if not numbers:
            return "nothing"
        if len(numbers) == 1:
            return f"rule{numbers[0]}"
        name = self._chains.get(numbers)
        if name is None:
            name = self._chains[numbers] = f"chain{len(self._chains)}"
            self.lines.append(f"def {name}({PARAMETERS}):")
            for number in numbers[:-1]:
                self.lines.append(f"    r = rule{number}({PARAMETERS})")
                self.lines.append("    if r is not None: return r")
            self.lines.append(f"    return rule{numbers[-1]}({PARAMETERS})")
        return name

    def _picker(self, rules: list[tuple[int, Rule]], x: str) -> str:
        """The name of a function that cuts a list of rules down by a constant in them."""
        main = "xyz".index(x)
        path = _best_path(rules, main) if len(rules) > CHAIN_MAX else None
        if path is None:
            return self._chain(rules)
        branches: dict[tuple[type, Any], list[tuple[int, Rule]]] = {}
        for _, rule in rules:
            constant = _constant_at(rule.args[main], path)
            if constant is not None:
                branches.setdefault(constant, [])
        others: list[tuple[int, Rule]] = []
        for entry in rules:
            constant = _constant_at(entry[1].args[main], path)
            if constant is not None:
                branches[constant].append(entry)
            else:
                for branch in (*branches.values(), others):
                    branch.append(entry)
        name = f"pick{len(self._tables)}"
        tables = {
            kind: self._table(
                {key[1]: self._chain(found) for key, found in branches.items() if key[0] is kind}
            )
            for kind in (str, int)
        }
        rest = self._chain(others)
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


def _outline(node: Node) -> tuple[str, Any]:
    if isinstance(node, Const) and isinstance(node.value, str):
        return "atom", node.value
    if isinstance(node, Struct):
        return "compound", node.name
    if isinstance(node, Variable | Listing | Const):
        return "any", None
    raise AssertionError(node)


def _constant_at(node: Node, path: Path) -> tuple[type, Any] | None:
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


def _best_path(rules: list[tuple[int, Rule]], main: int) -> Path | None:
    """The place at which most rules have an atom, and the most different ones."""
    counts: dict[Path, set[Any]] = {}
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


def _count(counts: dict[Path, set[Any]], path: Path, node: Node) -> None:
    if isinstance(node, Const) and node.value.__class__ in (str, int):
        counts.setdefault(path, set()).add(node.value)
