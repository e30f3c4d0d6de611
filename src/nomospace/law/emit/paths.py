"""What is passed along a path of a rule while its code is written: where a failure leads, the
ruling so far, and how a helper may call itself again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import msgspec

from nomospace.law.emit.symbols import Ref, Scope, Shape, Symbol
from nomospace.law.tree import Goal


class CodePlace(msgspec.Struct, frozen=True):
    """Where code is written: the statement that fails here, and the flag of the region, if any."""

    fail: str
    flag: str | None = None


TOP = CodePlace("return None")


class Operations(msgspec.Struct, frozen=True):
    """The ruling so far on this path: a linked list made at run time, then symbols."""

    base: str | None = None
    pending: tuple[Symbol, ...] = ()


class Again(msgspec.Struct, frozen=True):
    """How the last clause of a helper may call itself: set its parameters and go round."""

    variant: tuple[str, int, tuple[bool, ...]]
    parameters: list[str]
    blocks: int


Done: TypeAlias = Callable[[Scope, Operations, CodePlace], None]
Point: TypeAlias = tuple[Scope, Operations]
"""What is known where the goals of a region have succeeded, and the ruling so far."""


class CodePath(NamedTuple):
    """A path through a rule: the goals to come, what is known, and where success leads (`done`)."""

    goals: tuple[Goal, ...]
    scope: Scope
    ops: Operations
    at: CodePlace
    done: Done

    def through(self, *goals: Goal) -> CodePath:
        """The path with other goals before its own."""
        return CodePath(goals + self.goals, self.scope, self.ops, self.at, self.done)

    def behind(self) -> CodePath:
        """The path without its first goal."""
        return CodePath(self.goals[1:], self.scope, self.ops, self.at, self.done)

    def copy(self, fail: str) -> CodePath:
        """A path of its own, from which a failure leads elsewhere."""
        at = CodePlace(fail, self.at.flag)
        return CodePath(self.goals, self.scope.copy(), self.ops, at, self.done)


def names_in(scope: Scope, ops: Operations) -> set[str]:
    """The Python names that what is known here stands on."""
    found: set[str] = set()
    pending: list[Symbol] = [*scope.names.values(), *scope.holes.values(), *ops.pending]
    while pending:
        item = pending.pop()
        if isinstance(item, Ref):
            if not item.constant:
                found.add(item.expr)
        elif isinstance(item, Shape):
            pending.extend(item.args)
            if item.tail is not None:
                pending.append(item.tail)
    if ops.base is not None:
        found.add(ops.base)
    return found
