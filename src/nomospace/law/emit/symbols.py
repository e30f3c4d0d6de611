"""What the compiler knows of a value while it writes code.

Events and control states are ground, so at any point of a rule a value is one of three things,
and the compiler knows which:

- `Ref`: ground, and held by a Python name or a constant of the program;
- `Hole`: an unbound variable, which the scope may bind later on;
- `Shape`: a compound or a list with at least one hole in it.

A scope is what is known at one point of a rule. It is copied where paths part, so each path of a
rule has its own knowledge, and unification becomes one-way matching.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec


class Uncompilable(Exception):
    """A rule uses variables in a way that only the interpreter handles."""


class Ref(msgspec.Struct, frozen=True):
    """A ground value: the Python expression (a name) that holds it.

    `value` is set when it is a constant; `kind` is the Python class when that is known.
    """

    expr: str
    constant: bool = False
    kind: type | None = None


class Hole:
    """An unbound variable; one object for one variable."""

    __slots__ = ()


@dataclass(slots=True, frozen=True)
class Shape:
    """A compound (`name` set) or a list (`name` None), with a hole somewhere inside.

    `late` says that a list was written before its tail was known, so nobody has paid for making it.
    """

    name: str | None
    args: tuple[Symbol, ...]
    tail: Symbol | None = None
    late: bool = field(default=False, compare=False)


Symbol: TypeAlias = "Ref | Hole | Shape"


class Sensed(msgspec.Struct, frozen=True):
    """A term of the control state that a path has found: the names that hold it and its parts."""

    bucket: str
    place: str
    item: str
    name: str
    parts: tuple[str, ...]


class Scope(msgspec.Struct):
    """What is known at one point: variables by name, what holes have become, terms at hand."""

    names: dict[str, Symbol] = {}
    holes: dict[Hole, Symbol] = {}
    sensed: tuple[Sensed, ...] = ()
    made: dict[tuple[str, tuple[str, ...]], str] = {}
    """Compounds that exist already, by functor and the expressions of their arguments."""
    short: tuple[tuple[str, str], ...] = ()
    """Values that the code has asked whether they are short texts, and who has the answer."""

    def copy(self) -> Scope:
        return Scope(dict(self.names), dict(self.holes), self.sensed, dict(self.made), self.short)

    def lookup(self, name: str) -> Symbol:
        """The symbol of a variable, a new hole for a new one."""
        if name == "_":
            return Hole()
        found = self.names.get(name)
        if found is None:
            found = self.names[name] = Hole()
        return found

    def settle(self, symbol: Symbol) -> Symbol:
        """A symbol with bound holes replaced, at its top."""
        while isinstance(symbol, Hole) and symbol in self.holes:
            symbol = self.holes[symbol]
        return symbol

    def holes_in(self, symbol: Symbol) -> list[Hole]:
        """The unbound variables of a symbol, in the order of the text."""
        found: list[Hole] = []
        if isinstance(symbol, Ref):
            return found
        pending: list[Symbol] = [symbol]
        while pending:
            item = self.settle(pending.pop())
            if isinstance(item, Hole):
                if item not in found:
                    found.append(item)
            elif isinstance(item, Shape):
                if item.tail is not None:
                    pending.append(item.tail)
                pending.extend(reversed(item.args))
        return found
