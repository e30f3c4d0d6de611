"""Writes Python source line by line, and keeps the constants that the source refers to.

No text of a law ever gets into the source: values become constants `k0, k1, …` of the program's
namespace, variables become names `v0, v1, …`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nomospace.law.emit.symbols import Ref, Uncompilable

LINES_MAX = 1_500
"""The most lines of code for one rule; a rule with more paths than that is interpreted."""
BLOCKS_MAX = 17
"""Python allows 20 loops inside each other; a rule that needs more is interpreted."""
CODE_CHARS_MAX = 2_000_000
"""How much code a whole law is worth; rules for which none is left are interpreted."""


class Constants:
    """Values that generated code refers to by name."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._known: dict[tuple[type, Any], str] = {}

    def add(self, value: object) -> str:
        """The name of a constant; equal values of one class share it."""
        key = None
        if value.__class__ in (str, int, bytes, bool):
            key = (value.__class__, value)
            known = self._known.get(key)
            if known is not None:
                return known
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        if key is not None:
            self._known[key] = name
        return name

    def ref(self, value: object) -> Ref:
        return Ref(self.add(value), True, value.__class__)


class CodeBudget:
    """How much code a law may still have. All its functions share it.

    Each way through a rule is written out, so a short text can stand for very much code.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = CODE_CHARS_MAX


class Writer:
    """Source of one function, with the indentation it is at."""

    def __init__(self, room: CodeBudget) -> None:
        self.room = room
        self.lines: list[str] = []
        self.depth = 0
        self.blocks = 0
        self._count = 0
        self._names = 0

    def fresh(self, prefix: str = "v") -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def line(self, text: str, *, worth: int = 1) -> None:
        """Write a line; it counts as so many.

        Which rules are compiled decides what they cost. So code that is written in fewer lines than
        it was, or in more, counts as many as ever.
        """
        self.room.left -= 4 * self.depth + len(text)
        self._count += worth
        if self._count > LINES_MAX or self.depth > 90 or self.room.left < 0:
            raise Uncompilable("too many paths")
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A loop: one of the twenty that Python lets stand inside each other."""
        self.line(head)
        self.blocks += 1
        if self.blocks > BLOCKS_MAX:
            raise Uncompilable("loops nest too deep")
        with self.indented():
            yield
        self.blocks -= 1

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """A function inside this one; its loops are counted anew."""
        self.line(head)
        outer, self.blocks = self.blocks, 0
        with self.indented():
            yield
        self.blocks = outer
