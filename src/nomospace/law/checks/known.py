"""What is known about the variables of a clause at one point of one path through it.

A variable is *free* (certainly without a value), *ground* (certainly with a whole one), *maybe*
either, or holds a term of the law's text whose own variables are known in turn. So
`O = expire(A, med(M)), obligation(O)@CS` makes `M` ground, as evaluation does.

Certainty rests on one promise: a variable that is *maybe* is never tied to one that is *free*.
Where a tie gets lost, what was free becomes maybe. Walks have no recursion and a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import reduce
from typing import Final, NamedTuple, TypeAlias

import msgspec

from nomospace.law.tree import Compare, Same, Sense, Unify, variables_in
from nomospace.terms import same
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable, inner_nodes

STEPS_MAX: Final = 2_000
"""The longest unification that is followed; past it everything involved is maybe."""
WORK_MAX: Final = 2_000_000
"""How many nodes of terms are looked at for one law; ten times what 1,000 rules take."""
OWED_MAX: Final = 1_000
"""How many missing values of operations are remembered on one path."""


class TooMuchToFollow(Exception):
    """The law has so much in it that its values are not followed to the end."""


class CheckWork(msgspec.Struct):
    """What may still be looked at."""

    left: int = WORK_MAX


class ValueMark(Enum):
    """How much of a value a variable has."""

    GROUND = 0
    MAYBE = 1
    FREE = 2


class Fit(Enum):
    """Whether two terms can be made equal."""

    NEVER = 0
    PERHAPS = 1
    SURELY = 2


GROUND, MAYBE, FREE = ValueMark.GROUND, ValueMark.MAYBE, ValueMark.FREE
Value: TypeAlias = ValueMark | Node
Ref: TypeAlias = tuple[Node, ValueMark | None]
"""Where a node leads: a variable with its mark, or a term of the text with `None`."""


class PathCondition(NamedTuple):
    """A condition on a path, or with `holds` false its opposite.

    `wild` are the variables that were free when a term was sensed: any value would have done.
    """

    goal: Compare | Unify | Same | Sense
    holds: bool
    wild: frozenset[str] = frozenset()


def key_of(variable: Variable) -> str:
    """The name a variable is known by; each `_` is one of its own."""
    return variable.name if variable.name != "_" else f"_{id(variable)}"


class KnownValues(msgspec.Struct, eq=False):
    """The values of variables on one path. Changed in place; `copy` before a fork.

    `guards` are the conditions that hold on the path. `owed` are occurrences of variables in
    operations that had no value when the operation was reached: an operation takes the values
    of the moment its rule has succeeded, so they are looked at again then.
    """

    work: CheckWork
    values: dict[str, Value] = {}
    guards: tuple[PathCondition, ...] = ()
    owed: tuple[Variable, ...] = ()

    def copy(self) -> KnownValues:
        """The same knowledge, to go another way with."""
        self.work.left -= len(self.values) // 8
        return KnownValues(self.work, self.values.copy(), self.guards, self.owed)

    # -- looking ---------------------------------------------------------------------------

    def ref(self, node: Node) -> Ref:
        """Follow a variable to where it leads."""
        values = self.values
        while isinstance(node, Variable):
            value = values.get(key_of(node))
            if value is None:
                return node, FREE
            if isinstance(value, ValueMark):
                return node, value
            node = value
        return node, None

    def open(self, *nodes: Node) -> Iterator[tuple[Variable, ValueMark]]:
        """The free and maybe variables that nodes lead to, each once."""
        seen: set[str] = set()
        pending: list[Node] = list(nodes)
        values, work = self.values, self.work
        while pending:
            work.left -= 1
            item = pending.pop()
            pending += inner_nodes(item)
            if isinstance(item, Variable) and (key := key_of(item)) not in seen:
                seen.add(key)
                value = values.get(key, FREE)
                if not isinstance(value, ValueMark):
                    pending.append(value)
                elif value is not GROUND:
                    yield item, value

    def mark(self, node: Node) -> tuple[ValueMark, Variable | None]:
        """How much of a value a node has, and a variable that is to blame for what is missing."""
        worst, blamed = GROUND, None
        for variable, mark in self.open(node):
            if mark is FREE:
                return FREE, variable
            worst, blamed = MAYBE, variable
        return worst, blamed

    def open_names(self, *nodes: Node) -> dict[str, ValueMark]:
        """As `open`, by name."""
        return {key_of(variable): mark for variable, mark in self.open(*nodes)}

    # -- learning --------------------------------------------------------------------------

    def owe(self, variable: Variable) -> None:
        """Look at a variable of an operation again when the rule has succeeded."""
        if len(self.owed) < OWED_MAX:
            self.owed += (variable,)

    def ground(self, *nodes: Node) -> None:
        """Everything that nodes lead to has a value now."""
        for variable, _ in list(self.open(*nodes)):
            self.values[key_of(variable)] = GROUND

    def blur(self, *nodes: Node) -> None:
        """What was free in nodes may have a value now."""
        for variable, mark in list(self.open(*nodes)):
            if mark is FREE:
                self.values[key_of(variable)] = MAYBE

    def unify(self, left: Node, right: Node) -> Fit:
        """Make two nodes equal, as `=` does. After `NEVER` the knowledge is of no use."""
        pending = [(left, right)]
        surely = True
        steps = 0
        while pending:
            steps += 1
            if steps > STEPS_MAX:
                self.blur(left, right)
                return Fit.PERHAPS
            (x, x_mark), (y, y_mark) = map(self.ref, pending.pop())
            if x is y:
                continue
            if isinstance(x, Variable) or isinstance(y, Variable):
                fit = self._bind(x, x_mark, y, y_mark)
                if fit is Fit.NEVER:
                    return fit
                surely = surely and fit is Fit.SURELY
            elif isinstance(x, Struct) and isinstance(y, Struct):
                if x.name != y.name or len(x.args) != len(y.args):
                    return Fit.NEVER
                pending.extend(zip(x.args, y.args, strict=True))
            elif isinstance(x, ListSyntax) and isinstance(y, ListSyntax):
                if not _pair_lists(x, y, pending):
                    return Fit.NEVER
            elif not (isinstance(x, Const) and isinstance(y, Const) and same(x.value, y.value)):
                return Fit.NEVER
        return Fit.SURELY if surely else Fit.PERHAPS

    def _bind(self, x: Node, x_mark: ValueMark | None, y: Node, y_mark: ValueMark | None) -> Fit:
        """Unify where at least one side is a variable without a known term."""
        # The one about which less is known points to the other.
        if x_mark is None or (y_mark is not None and y_mark.value > x_mark.value):
            x, x_mark, y, y_mark = y, y_mark, x, x_mark
        assert isinstance(x, Variable)
        key = key_of(x)
        if isinstance(y, Variable):
            if key_of(y) == key:
                return Fit.SURELY
        elif self._occurs(key, y):
            return Fit.NEVER
        elif x_mark is GROUND:
            self.ground(y)
        elif x_mark is MAYBE:
            self.blur(y)
        self.values[key] = y
        return Fit.SURELY if x_mark is FREE else Fit.PERHAPS

    def _occurs(self, key: str, node: Node) -> bool:
        seen: set[str] = set()
        pending = [key_of(variable) for variable in variables_in(node)]
        while pending:
            self.work.left -= 1
            item = pending.pop()
            if item == key:
                return True
            if item not in seen:
                seen.add(item)
                value = self.values.get(item)
                if value is not None and not isinstance(value, ValueMark):
                    pending += [key_of(variable) for variable in variables_in(value)]
        return False


def _pair_lists(x: ListSyntax, y: ListSyntax, pending: list[tuple[Node, Node]]) -> bool:
    """Put what must be equal in two lists on the pile; `False` when their lengths forbid it."""
    count = min(len(x.items), len(y.items))
    if (len(x.items) > count and y.tail is None) or (len(y.items) > count and x.tail is None):
        return False
    pending.extend(zip(x.items[:count], y.items[:count], strict=True))
    if x.tail is not None or y.tail is not None:
        pending.append((_rest(x, count), _rest(y, count)))
    return True


def _rest(node: ListSyntax, count: int) -> Node:
    items = node.items[count:]
    if not items and node.tail is not None:
        return node.tail
    return ListSyntax(items, node.tail, node.span)


def join(paths: Iterable[KnownValues]) -> KnownValues:
    """What holds on all of several paths, where there are too many to follow each."""
    return reduce(_join, paths)


def _join(a: KnownValues, b: KnownValues) -> KnownValues:
    joined = KnownValues(a.work)
    a.work.left -= len(a.values) + len(b.values)
    torn: list[tuple[KnownValues, Node]] = []
    for key in a.values.keys() | b.values.keys():
        one, two = a.values.get(key), b.values.get(key)
        if one is two and one is not None:
            joined.values[key] = one
            continue
        joined.values[key] = MAYBE
        ends = [(side, value) for side, value in ((a, one), (b, two)) if value is not None]
        nodes = [(side, value) for side, value in ends if not isinstance(value, ValueMark)]
        if len(ends) == 2 and all(
            value is GROUND if isinstance(value, ValueMark) else side.mark(value)[0] is GROUND
            for side, value in ends
        ):
            joined.values[key] = GROUND
        else:
            torn += nodes
    for side, node in torn:
        for variable, _ in side.open(node):
            joined.values[key_of(variable)] = MAYBE
    shared = set(map(id, b.guards))
    joined.guards = tuple(guard for guard in a.guards if id(guard) in shared)
    joined.owed = tuple({id(variable): variable for variable in (*a.owed, *b.owed)}.values())
    return joined
