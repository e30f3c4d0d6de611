"""Code that picks the rules to try for an event, in the order of the text.

The first cut is by functor of the event's main argument (the message, the obligation). Where
many rules share a functor, a second cut goes by an argument, or an argument's argument, in which
most of them have different constants. A rule with a variable at the cut stays in every branch.
Each cut is one look-up in a dictionary, so a thousand rules cost as much as two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from nomospace.law.emit.writer import Constants
from nomospace.law.tree import Const, Law, Listing, Node, Rule, Struct, Variable

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

    def __init__(self, law: Law, constants: Constants) -> None:
        self.constants = constants
        self.by_event: dict[str, list[tuple[int, Rule]]] = {}
        for index, rule in enumerate(law.rules):
            self.by_event.setdefault(rule.event, []).append((index, rule))
        self.events = list(self.by_event)
        self.lines: list[str] = []
        self._tables: list[tuple[str, dict[Any, str]]] = []
        self._chains: dict[tuple[int, ...], str] = {}

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
        by_functor = self._table({k: self._picker(v, x) for k, v in functors.items()})
        by_atom = self._table({k: self._picker(v, x) for k, v in atoms.items()})
        self.lines += [
            f"def on_{event}({PARAMETERS}):",
            f"    if {x}.__class__ is C:",
            f"        return {by_functor}.get({x}.name, {rest})({PARAMETERS})",
            f"    if {x}.__class__ is str:",
            f"        return {by_atom}.get({x}, {rest})({PARAMETERS})",
            f"    return {rest}({PARAMETERS})",
        ]

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
        branches: dict[Any, list[tuple[int, Rule]]] = {}
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
        table = self._table({key: self._chain(found) for key, found in branches.items()})
        rest, whole = self._chain(others), self._chain(rules)  # before: they write lines too
        self.lines.append(f"def {name}({PARAMETERS}):")
        self.lines.append(f"    v = {x}")
        for step in path:
            self.lines.append(f"    if v.__class__ is not C or len(v.args) <= {step}:")
            self.lines.append(f"        return {rest}({PARAMETERS})")
            self.lines.append(f"    v = v.args[{step}]")
        self.lines.append("    if v.__class__ is not str:")
        self.lines.append(f"        return {whole}({PARAMETERS})")
        self.lines.append(f"    return {table}.get(v, {rest})({PARAMETERS})")
        return name


def _outline(node: Node) -> tuple[str, Any]:
    if isinstance(node, Const) and isinstance(node.value, str):
        return "atom", node.value
    if isinstance(node, Struct):
        return "compound", node.name
    if isinstance(node, Variable | Listing | Const):
        return "any", None
    raise AssertionError(node)


def _constant_at(node: Node, path: Path) -> str | None:
    """The atom at a path, when the text has one there."""
    for step in path:
        if not isinstance(node, Struct) or len(node.args) <= step:
            return None
        node = node.args[step]
    return node.value if isinstance(node, Const) and isinstance(node.value, str) else None


def _best_path(rules: list[tuple[int, Rule]], main: int) -> Path | None:
    """The place at which most rules have an atom, and the most different ones."""
    counts: dict[Path, dict[str, int]] = {}
    for _, rule in rules:
        node = rule.args[main]
        if not isinstance(node, Struct):
            continue
        for first, arg in enumerate(node.args):
            _count(counts, (first,), arg)
            if isinstance(arg, Struct):
                for second, inner in enumerate(arg.args):
                    _count(counts, (first, second), inner)
    best: Callable[[Path], int] = lambda path: len(counts[path])  # noqa: E731
    chosen = max(counts, key=best, default=None)
    return chosen if chosen is not None and len(counts[chosen]) > 1 else None


def _count(counts: dict[Path, dict[str, int]], path: Path, node: Node) -> None:
    if isinstance(node, Const) and isinstance(node.value, str):
        found = counts.setdefault(path, {})
        found[node.value] = found.get(node.value, 0) + 1
