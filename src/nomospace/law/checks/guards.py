"""Whether a condition can hold beside those that hold already on its path.

Only certain contradictions count: two terms for one variable, numbers that leave no room, a
control-state term that is there and is not. The state an event is ruled on does not change while
it is ruled on, so sensing twice sees the same.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from nomospace.law.checks.known import GROUND, MAYBE, KnownValues, PathCondition, key_of
from nomospace.law.tree import Compare, Same, Sense, Unify
from nomospace.terms import same
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable, nodes_in

GUARDS_MAX: Final = 32
"""How many conditions of a path are kept and compared; later ones are taken as they come."""
_DEPTH_MAX: Final = 12
_STEPS_MAX: Final = 500

_ORDERS: Final = {"<": "<", ">": ">", "=<": "<=", ">=": "=>", "=:=": "=", "=\\=": "<>"}
_FLIPPED: Final = {"<": ">", "=": "=", ">": "<"}
_REGIONS: Final = (("<", "<"), ("=", "<"), (">", "<"), (">", "="), (">", ">"))
"""Where a number can be towards a lesser and a greater one."""

Side = int | float | str


def refuted(known: KnownValues, new: PathCondition) -> tuple[bool, PathCondition | None]:
    """Whether a condition cannot hold, and the earlier one it contradicts, if it is that.

    A condition that makes terms equal (`=`, `==`) must be in `known` already.
    """
    if len(known.guards) >= GUARDS_MAX:
        return False, None
    if isinstance(new.goal, Sense):
        return _refuted_sense(known, new)
    if isinstance(new.goal, Compare):
        relation = _relation(known, new)
        if relation is None:
            return False, None
        if not _possible(relation):
            return True, _latest(known, new)
        for guard in known.guards:
            if isinstance(guard.goal, Compare):
                earlier = _relation(known, guard)
                if earlier is not None and _apart(relation, earlier):
                    return True, guard
        return False, None
    if _unequal(new):
        return identical(known, new.goal.left, new.goal.right), _latest(known, new)
    for guard in known.guards:
        if isinstance(guard.goal, Compare):
            earlier = _relation(known, guard)
            if earlier is not None and not _possible(earlier):
                return True, guard
        elif (
            not isinstance(guard.goal, Sense)
            and _unequal(guard)
            and identical(known, guard.goal.left, guard.goal.right)
        ):
            return True, guard
    return False, None


def keep(known: KnownValues, guard: PathCondition) -> None:
    """Remember a condition that holds from here on."""
    if len(known.guards) < GUARDS_MAX:
        known.guards += (guard,)


def _unequal(guard: PathCondition) -> bool:
    assert isinstance(guard.goal, Unify | Same)
    return guard.goal.negated == guard.holds


def latest_about(known: KnownValues, *nodes: Node) -> PathCondition | None:
    """The last condition on the path that shares a variable with nodes."""
    names = _names(*nodes)
    for guard in reversed(known.guards):
        goal = guard.goal
        parts = (goal.pattern,) if isinstance(goal, Sense) else (goal.left, goal.right)
        if names & _names(*parts):
            return guard
    return None


def _latest(known: KnownValues, guard: PathCondition) -> PathCondition | None:
    assert not isinstance(guard.goal, Sense)
    return latest_about(known, guard.goal.left, guard.goal.right)


def _names(*nodes: Node) -> set[str]:
    looked_at = [part for node in nodes for part in islice(nodes_in(node), _STEPS_MAX)]
    return {part.name for part in looked_at if isinstance(part, Variable)}


# -- numbers ---------------------------------------------------------------------------------


def _relation(known: KnownValues, guard: PathCondition) -> tuple[Side, frozenset[str], Side] | None:
    """A comparison as left side, the orders it allows, right side; a number stands right."""
    goal = guard.goal
    assert isinstance(goal, Compare)
    left, right = _side(known, goal.left, 0), _side(known, goal.right, 0)
    if left is None or right is None:
        return None
    orders = frozenset(_ORDERS[goal.operator])
    if not guard.holds:
        orders = frozenset("<=>") - orders
    if isinstance(right, str) and (not isinstance(left, str) or left > right):
        return right, frozenset(_FLIPPED[order] for order in orders), left
    return left, orders, right


def _side(known: KnownValues, node: Node, depth: int) -> Side | None:
    """One side of a comparison: a number, or a text that is the same for the same expression."""
    if depth > _DEPTH_MAX:
        return None
    node, mark = known.ref(node)
    if isinstance(node, Variable):
        return key_of(node) if mark is GROUND or mark is MAYBE else None
    if isinstance(node, Const):
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        return None
    if isinstance(node, ListSyntax):
        return None
    sides = [_side(known, part, depth + 1) for part in node.args]
    if any(side is None for side in sides):
        return None
    return f"{node.name}({','.join(map(repr, sides))})"


def _possible(relation: tuple[Side, frozenset[str], Side]) -> bool:
    left, orders, right = relation
    if isinstance(left, str) or isinstance(right, str):
        return left != right or "=" in orders
    return ("<" if left < right else ">" if left > right else "=") in orders


def _apart(one: tuple[Side, frozenset[str], Side], two: tuple[Side, frozenset[str], Side]) -> bool:
    """Whether two comparisons of the same thing leave no room for it."""
    left, orders, right = one
    other_left, other_orders, other_right = two
    if left != other_left or isinstance(right, str) != isinstance(other_right, str):
        return False
    if isinstance(right, str) or isinstance(other_right, str) or right == other_right:
        return right == other_right and not orders & other_orders
    if right > other_right:
        orders, other_orders = other_orders, orders
    return not any(a in orders and b in other_orders for a, b in _REGIONS)


# -- terms -----------------------------------------------------------------------------------


def identical(known: KnownValues, left: Node, right: Node) -> bool:
    """Whether two nodes are certainly one value."""
    pending, steps = [(left, right)], 0
    while pending:
        steps += 1
        if steps > _STEPS_MAX:
            return False
        (x, _), (y, _) = map(known.ref, pending.pop())
        if isinstance(x, Variable) and isinstance(y, Variable):
            if key_of(x) != key_of(y):
                return False
        elif isinstance(x, Const) and isinstance(y, Const):
            if not same(x.value, y.value):
                return False
        elif isinstance(x, Struct) and isinstance(y, Struct):
            if x.name != y.name or len(x.args) != len(y.args):
                return False
            pending.extend(zip(x.args, y.args, strict=True))
        elif isinstance(x, ListSyntax) and isinstance(y, ListSyntax):
            if len(x.items) != len(y.items) or (x.tail is None) != (y.tail is None):
                return False
            pending.extend(zip(x.items, y.items, strict=True))
            if x.tail is not None and y.tail is not None:
                pending.append((x.tail, y.tail))
        else:
            return False
    return True


def _refuted_sense(known: KnownValues, new: PathCondition) -> tuple[bool, PathCondition | None]:
    assert isinstance(new.goal, Sense)
    for guard in known.guards:
        goal = guard.goal
        if (
            isinstance(goal, Sense)
            and goal.obligations == new.goal.obligations
            and guard.holds != new.holds
        ):
            absent, present = (new, guard) if guard.holds else (guard, new)
            assert isinstance(absent.goal, Sense)
            assert isinstance(present.goal, Sense)
            if _covers(known, absent.goal.pattern, absent.wild, present.goal.pattern):
                return True, guard
    return False, None


def _covers(known: KnownValues, general: Node, wild: frozenset[str], special: Node) -> bool:
    """Whether every term that fits `special` fits `general`, whose wild variables take all."""
    taken: dict[str, Node] = {}
    pending, steps = [(general, special)], 0
    while pending:
        steps += 1
        if steps > _STEPS_MAX:
            return False
        x, y = pending.pop()
        if isinstance(x, Variable) and key_of(x) in wild:
            before = taken.setdefault(key_of(x), y)
            if before is not y and not identical(known, before, y):
                return False
            continue
        x, y = known.ref(x)[0], known.ref(y)[0]
        if isinstance(x, Struct) and isinstance(y, Struct):
            if x.name != y.name or len(x.args) != len(y.args):
                return False
            pending.extend(zip(x.args, y.args, strict=True))
        elif isinstance(x, ListSyntax) and isinstance(y, ListSyntax):
            if len(x.items) != len(y.items) or x.tail is not None or y.tail is not None:
                return False
            pending.extend(zip(x.items, y.items, strict=True))
        elif not identical(known, x, y):
            return False
    return True
