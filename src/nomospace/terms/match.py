"""Unification of terms with variables, with a trail so that it can be taken back.

Unification checks that no variable would hold itself, so terms stay finite.
"""

from __future__ import annotations

from typing import TypeGuard

from nomospace.terms.text import list_with_tail
from nomospace.terms.values import PARTIAL, UNBOUND, Compound, Term, Var, parts_of, same


def deref(value: Term) -> Term:
    """Follow a variable to its value, or to the unbound variable at its end."""
    while type(value) is Var and value.ref is not UNBOUND:
        value = value.ref
    return value


def unify(a: Term, b: Term, trail: list[Var]) -> bool:
    """Make two terms equal by binding variables; bound ones go on the trail.

    On failure some may be bound: the caller undoes the trail to where it was.

    >>> x, trail = Var("X"), []
    >>> unify(Compound("f", (x, 2)), Compound("f", (1, 2)), trail), x.ref
    (True, 1)
    """
    pending = [(a, b)]
    while pending:
        x, y = pending.pop()
        x, y = deref(x), deref(y)
        if x is y:
            continue
        if type(y) is Var and type(x) is not Var:
            x, y = y, x
        if type(x) is Var:
            if type(y) is not Var and occurs(x, y):
                return False
            x.ref = y
            trail.append(x)
            continue
        if _partial(x) or _partial(y):
            if not _unify_lists(x, y, pending):
                return False
        elif type(x) is Compound and type(y) is Compound:
            if x.name != y.name or len(x.args) != len(y.args):
                return False
            pending.extend(zip(reversed(x.args), reversed(y.args), strict=True))
        elif type(x) is tuple and type(y) is tuple:
            if len(x) != len(y):
                return False
            pending.extend(zip(reversed(x), reversed(y), strict=True))
        elif not same(x, y):
            return False
    return True


def _partial(value: Term) -> TypeGuard[Compound]:
    return type(value) is Compound and value.name == PARTIAL


def _unify_lists(x: Term, y: Term, pending: list[tuple[Term, Term]]) -> bool:
    """One of the two is a partial list; the other a list of either sort, or there is no match."""
    x_items, x_tail = _parts(x)
    y_items, y_tail = _parts(y)
    count = min(len(x_items), len(y_items))
    if not count:
        return False  # an empty list, or no list at all
    x_rest = list_with_tail(x_items[count:], x_tail)
    y_rest = list_with_tail(y_items[count:], y_tail)
    pending.append((x_rest, y_rest))
    pending.extend(zip(reversed(x_items[:count]), reversed(y_items[:count]), strict=True))
    return True


def _parts(value: Term) -> tuple[tuple[Term, ...], Term]:
    """Items and tail of a list; a tail that is bound by now is followed, be it a list or not."""
    items: tuple[Term, ...] = ()
    while True:
        value = deref(value)
        if type(value) is tuple:
            return items + value, ()
        if not _partial(value):
            return items, value
        items += value.args[:-1]
        value = value.args[-1]


def undo(trail: list[Var], mark: int) -> None:
    """Unbind what was bound since the trail had `mark` entries."""
    while len(trail) > mark:
        trail.pop().ref = UNBOUND


def occurs(variable: Var, value: Term) -> bool:
    """Whether a variable stands anywhere inside a term."""
    pending = [value]
    seen: set[int] = set()  # shared parts are looked at once
    while pending:
        item = deref(pending.pop())
        if item is variable:
            return True
        if id(item) in seen:
            continue
        if type(item) is Compound:
            seen.add(id(item))
            pending.extend(item.args)
        elif type(item) is tuple:
            seen.add(id(item))
            pending.extend(item)
    return False


def resolve(value: Term) -> Term:
    """A term with every bound variable replaced by its value."""
    value = deref(value)
    if type(value) is not Compound and type(value) is not tuple:
        return value
    done: list[Term] = []
    todo: list[tuple[Term, bool]] = [(value, False)]
    while todo:
        item, ready = todo.pop()
        if not ready:
            item = deref(item)
            if type(item) is Compound or type(item) is tuple:
                todo.append((item, True))
                todo.extend((part, False) for part in reversed(parts_of(item)))
            else:
                done.append(item)
            continue
        first = len(done) - len(parts_of(item))
        built = tuple(done[first:])
        del done[first:]
        if type(item) is not Compound:
            done.append(built)
        elif item.name == PARTIAL:
            done.append(_rebuild_partial(built))
        else:
            done.append(Compound(item.name, built))
    return done[0]


def _rebuild_partial(built: tuple[Term, ...]) -> Term:
    tail = built[-1]
    if _partial(tail):  # [a|[b|T]] is [a,b|T]
        return Compound(PARTIAL, built[:-1] + tail.args)
    return list_with_tail(built[:-1], tail)


def match(pattern: Term, value: Term) -> bool:
    """Whether a ground value fits a pattern. Binds nothing that outlives the call.

    >>> match(Compound("f", (Var(), 2)), Compound("f", (1, 2)))
    True
    """
    trail: list[Var] = []
    fits = unify(pattern, value, trail)
    undo(trail, 0)
    return fits
