"""Nodes: what the reader makes of a text, each with its span."""

from __future__ import annotations

from typing import TypeAlias

from nomospace.terms.source import Span
from nomospace.terms.values import Atomic


class Const:
    """A number, a string, `true`, `false`, `null` or bytes."""

    __slots__ = ("span", "value")

    def __init__(self, value: Atomic, span: Span) -> None:
        self.value = value
        self.span = span


class Variable:
    """A name that begins with a capital or `_`; `_` alone is a new variable each time."""

    __slots__ = ("name", "span")

    def __init__(self, name: str, span: Span) -> None:
        self.name = name
        self.span = span


class Struct:
    """`name(arg, …)`, or an operator with its operands."""

    __slots__ = ("args", "depth", "name", "span")

    def __init__(self, name: str, args: tuple[Node, ...], span: Span, depth: int = 0) -> None:
        self.name = name
        self.args = args
        self.span = span
        self.depth = depth or 1 + max(map(depth_of, args))


class ListSyntax:
    """`[item, …]` or `[item, … | tail]`."""

    __slots__ = ("depth", "items", "span", "tail")

    def __init__(self, items: tuple[Node, ...], tail: Node | None, span: Span) -> None:
        self.items = items
        self.tail = tail
        self.span = span
        self.depth = 1 + max(map(depth_of, items), default=0)
        if tail is not None:
            self.depth = max(self.depth, depth_of(tail))


Node: TypeAlias = Const | Variable | Struct | ListSyntax


def depth_of(node: Node) -> int:
    """How many levels a node has."""
    return node.depth if isinstance(node, Struct | ListSyntax) else 1
