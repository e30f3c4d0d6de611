"""Which terms may fit which patterns, and which patterns take in which others.

Variables count as holes here, whatever a clause says about them elsewhere, so "may fit" is never
denied wrongly. Patterns are kept by name and number of arguments; nothing compares all with all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nomospace.law.checks.report import Key, functor
from nomospace.terms import Span, same
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

COMPARED_MAX: Final = 64
"""With more patterns of one functor than this, the functor alone decides."""
_STEPS_MAX: Final = 2_000


class TermShapes:
    """A collection of terms with holes. `anything` is set when one of them is a variable.

    `uses` has each with its place, and what is done with it there.
    """

    def __init__(self) -> None:
        self.uses: list[tuple[Node, Span, str]] = []
        self.by_functor: dict[Key, list[Node]] = {}
        self.anything = False
        self.others = False  # lists and numbers, which are not told apart

    def add(self, node: Node, span: Span, how: str = "") -> None:
        """Put a term in."""
        self.uses.append((node, span, how))
        key = functor(node)
        if isinstance(node, Variable):
            self.anything = True
        elif key is None:
            self.others = True
        else:
            self.by_functor.setdefault(key, []).append(node)

    def fits(self, node: Node) -> bool:
        """Whether any of the terms may be equal to a node."""
        key = functor(node)
        if self.anything:
            return True
        if isinstance(node, Variable):
            return bool(self.by_functor) or self.others
        if key is None:
            return self.others
        found = self.by_functor.get(key, ())
        return len(found) > COMPARED_MAX or any(may_fit(node, other) for other in found)


def may_fit(*pairs: Node) -> bool:
    """Whether two nodes, or several pairs of them, may be equal for some values.

    >>> may_fit(Const("a", (0, 1)), Const("b", (0, 1)))
    False
    """
    pending = list(zip(pairs[::2], pairs[1::2], strict=True))
    steps = 0
    while pending:
        steps += 1
        if steps > _STEPS_MAX:
            return True
        x, y = pending.pop()
        if isinstance(x, Variable) or isinstance(y, Variable):
            continue
        if isinstance(x, Struct) and isinstance(y, Struct):
            if x.name != y.name or len(x.args) != len(y.args):
                return False
            pending.extend(zip(x.args, y.args, strict=True))
        elif isinstance(x, ListSyntax) and isinstance(y, ListSyntax):
            if (len(x.items) > len(y.items) and y.tail is None) or (
                len(y.items) > len(x.items) and x.tail is None
            ):
                return False
            pending.extend(zip(x.items, y.items, strict=False))
        elif not (isinstance(x, Const) and isinstance(y, Const) and same(x.value, y.value)):
            return False
    return True


def takes_in(general: Iterable[Node], special: Iterable[Node], fixed: Iterable[str]) -> bool:
    """Whether every term that fits `special` fits `general`, pair by pair.

    Variables of `general` take anything, the same thing each time, but for `fixed` ones.
    """
    held = set(fixed)
    taken: dict[str, Node] = {}
    pending = list(zip(general, special, strict=True))
    steps = 0
    while pending:
        steps += 1
        if steps > _STEPS_MAX:
            return False
        x, y = pending.pop()
        if isinstance(x, Variable):
            if x.name == "_":
                continue
            if x.name in held:
                if not (isinstance(y, Variable) and y.name == x.name):
                    return False
                continue
            before = taken.setdefault(x.name, y)
            if before is not y and not alike(before, y):
                return False
        elif isinstance(x, Struct) and isinstance(y, Struct):
            if x.name != y.name or len(x.args) != len(y.args):
                return False
            pending.extend(zip(x.args, y.args, strict=True))
        elif isinstance(x, ListSyntax) and isinstance(y, ListSyntax):
            if len(x.items) > len(y.items) or (
                x.tail is None and (y.tail is not None or len(x.items) != len(y.items))
            ):
                return False
            count = len(x.items)
            pending.extend(zip(x.items, y.items[:count], strict=True))
            if x.tail is not None:
                rest: Node = ListSyntax(y.items[count:], y.tail, y.span)
                if count == len(y.items) and y.tail is not None:
                    rest = y.tail
                pending.append((x.tail, rest))
        elif not (isinstance(x, Const) and isinstance(y, Const) and same(x.value, y.value)):
            return False
    return True


def alike(left: Node, right: Node) -> bool:
    """Whether two nodes are the same text, layout apart. `_` is like nothing."""
    return "_" not in (names := list(tokens(left))) and names == list(tokens(right))


def tokens(*nodes: Node) -> Iterator[object]:
    """A flat form of nodes: equal forms are equal nodes. Only variables come as plain text."""
    pending: list[Node] = list(reversed(nodes))
    while pending:
        item = pending.pop()
        if isinstance(item, Const):
            yield item.value.__class__, repr(item.value)
        elif isinstance(item, Variable):
            yield item.name
        elif isinstance(item, Struct):
            yield item.name, len(item.args)
            pending.extend(reversed(item.args))
        else:
            yield len(item.items), item.tail is not None
            if item.tail is not None:
                pending.append(item.tail)
            pending.extend(reversed(item.items))
