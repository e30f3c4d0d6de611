"""Writes terms, patterns and expressions of generated laws, as text.

A writer keeps a `ClauseScope`: which variables of the clause have values, and of what shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from nomospace.terms import quote, show
from nomospace_lab.testing.generate.shapes import (
    AGENT,
    AGENTS_LIST,
    ANY,
    ATOMS_LIST,
    NUMBER,
    NUMBERS,
    NUMBERS_LIST,
    TermSort,
    draw,
    random_shape,
)

ODDITY: Final = 0.01
"""How often a part that should have one shape is written with another."""


@dataclass(slots=True)
class Vocabulary:
    """The terms that a law is about. `counter` names facts with one number in them."""

    messages: tuple[TermSort, ...]
    facts: tuple[TermSort, ...]
    obligations: tuple[TermSort, ...]
    counter: TermSort


@dataclass(slots=True)
class ClauseScope:
    """The variables of a clause at one point of it."""

    message: bool
    bound: dict[str, TermSort] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)  # without a value, or perhaps without
    names: list[int] = field(default_factory=lambda: [0])
    owed: list[str] = field(default_factory=list)  # goals that give an operation its values
    acts: bool = True  # whether operations may stand here

    def branch(self, *, acts: bool = True) -> ClauseScope:
        """The same variables, to learn others on a way that may not be taken."""
        return ClauseScope(
            self.message, dict(self.bound), list(self.open), self.names, [], self.acts and acts
        )

    def of(self, shape: TermSort) -> list[str]:
        """The variables that have values of a shape."""
        if shape is ANY:
            return list(self.bound)
        return [name for name, known in self.bound.items() if known == shape]


class TermWriter:
    """Writes terms from a vocabulary."""

    def __init__(self, rng: Random, words: Vocabulary) -> None:
        self.rng = rng
        self.words = words

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    # -- variables and terms -----------------------------------------------------------------

    def new(self, scope: ClauseScope) -> str:
        """A variable that the clause has not used."""
        scope.names[0] += 1
        return f"{self.rng.choice('ABKLNPQTVXZ')}{scope.names[0]}" + ("'" * self.chance(0.05))

    def bind(self, scope: ClauseScope, shape: TermSort) -> str:
        """A new variable that has a value from here on."""
        name = self.new(scope)
        scope.bound[name] = shape
        return name

    def loose(self, scope: ClauseScope) -> str:
        """A variable without a value, new or, seldom, one from a way not surely taken."""
        if scope.open and self.chance(0.5):
            return self.rng.choice(scope.open)
        name = self.new(scope)
        scope.open.append(name)
        return name

    def constant(self, shape: TermSort) -> str:
        return show(draw(self.rng, shape, ODDITY))

    def pattern(self, scope: ClauseScope, shape: TermSort, *, constants: float = 0.15) -> str:
        """A pattern of a shape; its new variables have values once it has matched."""
        roll = self.rng.random()
        if roll < 0.08:
            return "_"
        if roll < 0.08 + constants and shape is not ANY:
            return self.constant(shape)
        known = scope.of(shape)
        if known and roll > 0.93:
            return self.rng.choice(known)
        if shape.sort == "word":
            return shape.name
        if shape.sort in ("struct", "row") and self.chance(0.9):
            parts = [self.pattern(scope, part, constants=constants) for part in shape.parts]
            return struct(shape, parts)
        if shape.sort == "list" and self.chance(0.5):
            return self.list_pattern(scope, shape, constants)
        return self.bind(scope, shape)

    def list_pattern(self, scope: ClauseScope, shape: TermSort, constants: float) -> str:
        count = self.rng.choice((0, 1, 1, 2))
        items = [self.pattern(scope, shape.parts[0], constants=constants) for _ in range(count)]
        if not items or self.chance(0.35):
            return listing(items)
        tail = "_" if self.chance(0.2) else self.bind(scope, shape)
        return f"[{','.join(items)}|{tail}]"

    def expression(self, scope: ClauseScope, shape: TermSort, depth: int = 2) -> str:
        """A term of a shape that has a value here."""
        if self.chance(ODDITY):
            shape = random_shape(self.rng)
        known = scope.of(shape)
        if known and self.chance(0.6):
            return self.rng.choice(known)
        if shape is AGENT and self.chance(0.3):
            return "Self"
        if shape is ANY:
            return self.expression(scope, random_shape(self.rng, depth), depth)
        if depth and shape.sort in ("struct", "row"):
            parts = [self.expression(scope, part, depth - 1) for part in shape.parts]
            return struct(shape, parts)
        if depth and shape.sort == "list":
            count = self.rng.choice((0, 1, 2, 3))
            items = [self.expression(scope, shape.parts[0], depth - 1) for _ in range(count)]
            if items and known and self.chance(0.3):
                return f"[{','.join(items)}|{self.rng.choice(known)}]"
            return listing(items)
        return self.constant(shape)

    def arithmetic(self, scope: ClauseScope, depth: int = 2) -> str:
        """An expression that is a number here, nearly always."""
        if depth == 0 or self.chance(0.35):
            known = scope.of(NUMBER)
            if known and self.chance(0.7):
                return self.rng.choice(known)
            return show(self.rng.choice(NUMBERS))
        left = self.arithmetic(scope, depth - 1)
        right = self.arithmetic(scope, depth - 1)
        some = self.pick("1", "2", "3", "-2", "2.0")
        return self.pick(
            f"({left}+{right})",
            f"({left}+{right})",
            f"({left}-{right})",
            f"({left}*{right})",
            f"({left}/{some})",
            f"(truncate({left})//{self.pick('2', '-3', '1')})",
            f"(truncate({left}) mod {self.pick('2', '-3', '3')})",
            f"(truncate({left}) rem {self.pick('2', '-3', '3')})",
            f"min({left},{right})",
            f"max({left},{right})",
            f"(truncate({left})**{self.pick('2', '3', '0')})",
            f"(2^{self.pick('3', '10', '0')})",
            f"(-({left}))",
            f"+({left})",
            f"abs({left})",
            f"sign({left})",
            f"floor({left})",
            f"ceiling({left}/2)",
            f"round({left}*1.5)",
            f"truncate({left})",
        )

    def some_list(self, scope: ClauseScope, *shapes: TermSort) -> tuple[str, TermSort]:
        """A list that has a value here, and its shape."""
        known = [name for name, shape in scope.bound.items() if shape.sort == "list"]
        if known and not shapes and self.chance(0.6):
            name = self.rng.choice(known)
            return name, scope.bound[name]
        shape = self.rng.choice(shapes or (NUMBERS_LIST, ATOMS_LIST, AGENTS_LIST))
        known = scope.of(shape)
        if known and self.chance(0.6):
            return self.rng.choice(known), shape
        count = self.rng.choice((1, 2, 3, 3, 4))
        return listing([self.expression(scope, shape.parts[0]) for _ in range(count)]), shape

    def result(self, scope: ClauseScope, shape: TermSort, bound: float = 0.12) -> str:
        """What stands where a goal gives a value: mostly a new variable."""
        if self.chance(bound):
            return self.pick("_", self.expression(scope, shape))
        return self.bind(scope, shape)


def struct(shape: TermSort, parts: list[str]) -> str:
    """The text of a compound term, or of a row."""
    if shape.sort == "row":
        return listing(parts)
    return f"{quote(shape.name)}({','.join(parts)})"


def listing(items: list[str]) -> str:
    """The text of a list."""
    return f"[{','.join(items)}]"


def weighted(rng: Random, table: dict[Callable[..., str], int]) -> Callable[..., str]:
    """One of the ways to write something, drawn by its weight."""
    return rng.choices(list(table), weights=list(table.values()))[0]
