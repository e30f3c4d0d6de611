"""Terms with holes, as the interpreter sees them.

A term that holds an unbound variable is an `Open`; everything else is an ordinary ground term.
So whether a term is ground is known at once, and ground parts, which a law may make as large
and as shared as its budget allows, are never walked to find a variable in them.

`LIST` names an open list whose items are all known places, `PARTIAL` one with a tail still open.
"""

from __future__ import annotations

from typing import Any, Final

from nomospace.law.budget import Units, same_for, spend
from nomospace.law.tree import Const, Listing, Node, Variable
from nomospace.terms import Compound, Term, Var, same
from nomospace.terms.text import PARTIAL
from nomospace.terms.values import UNBOUND

LIST: Final = "[]"
OPEN_PARTS_MAX: Final = 200
"""The most parts of a value with holes: these are walked again and again."""


class Open:
    """A compound or a list that holds, or held when it was made, an unbound variable."""

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.name = name
        self.args = args


def make(name: str, args: tuple[Any, ...]) -> Any:
    """A compound, or a list when the name is `LIST` or `PARTIAL`; open if it must be."""
    if name == PARTIAL:
        *items, tail = args
        if tail.__class__ is tuple:
            return make(LIST, (*items, *tail))
        if tail.__class__ is Open and tail.name in (LIST, PARTIAL):
            return make(tail.name, (*items, *tail.args))
        return Open(PARTIAL, args)  # an open tail, or an improper list that matches nothing
    for arg in args:
        if arg.__class__ is Var or arg.__class__ is Open:
            return Open(name, args)
    return args if name == LIST else Compound(name, args)


def open_size(value: Open) -> int:
    """How many parts an open value has, in all its open parts; counts no further than it must."""
    seen: set[int] = set()
    count = 0
    pending: list[Any] = [value]
    while pending and count <= OPEN_PARTS_MAX:
        item = pending.pop()
        if item.__class__ is Open and id(item) not in seen:
            seen.add(id(item))
            count += len(item.args)
            pending.extend(item.args)
    return count


def is_bound(value: Any) -> bool:
    """Whether a resolved value is ground."""
    return value.__class__ is not Var and value.__class__ is not Open


def build(node: Node, env: dict[str, Any]) -> Any:
    """The value of a node under the variables of its clause; new variables enter `env`."""
    if isinstance(node, Const):
        return node.value
    if isinstance(node, Variable):
        return _lookup(node.name, env)
    done: list[Any] = []
    todo: list[tuple[Node, bool]] = [(node, False)]
    while todo:
        item, ready = todo.pop()
        if isinstance(item, Const):
            done.append(item.value)
        elif isinstance(item, Variable):
            done.append(_lookup(item.name, env))
        else:
            name, parts = LIST if isinstance(item, Listing) else item.name, _parts(item)
            if isinstance(item, Listing) and item.tail is not None:
                name = PARTIAL
            if not ready:
                todo.append((item, True))
                todo.extend((part, False) for part in reversed(parts))
                continue
            first = len(done) - len(parts)
            args = tuple(done[first:])
            del done[first:]
            done.append(make(name, args))
    return done[0]


def _parts(node: Any) -> tuple[Node, ...]:
    if isinstance(node, Listing):
        return node.items if node.tail is None else (*node.items, node.tail)
    return node.args  # type: ignore[no-any-return]


def _lookup(name: str, env: dict[str, Any]) -> Any:
    if name == "_":
        return Var()
    value = env.get(name, UNBOUND)
    if value is UNBOUND:
        value = env[name] = Var(name)
        return value
    return resolve(value)


def resolve(value: Any) -> Any:
    """A value with its bound variables replaced; ground parts are left as they are."""
    while value.__class__ is Var and value.ref is not UNBOUND:
        value = value.ref
    if value.__class__ is not Open:
        return value
    known: dict[int, Any] = {}
    todo: list[Any] = [value]
    while todo:
        item = todo[-1]
        if id(item) in known:
            todo.pop()
            continue
        waiting = len(todo)
        args = []
        for part in item.args:
            while part.__class__ is Var and part.ref is not UNBOUND:
                part = part.ref
            if part.__class__ is Open:
                if id(part) not in known:
                    todo.append(part)
                    continue
                part = known[id(part)]
            args.append(part)
        if len(todo) == waiting:
            todo.pop()
            known[id(item)] = make(item.name, tuple(args))
    return known[id(value)]


def close(value: Any) -> Term:
    """A resolved value as a plain pattern: compounds and lists with `Var` in them."""
    value = resolve(value)
    if value.__class__ is not Open:
        return value
    known: dict[int, Any] = {}
    todo: list[Any] = [value]
    while todo:
        item = todo[-1]
        inner = [p for p in item.args if p.__class__ is Open and id(p) not in known]
        if inner:
            todo.extend(inner)
            continue
        todo.pop()
        args = tuple([known[id(p)] if p.__class__ is Open else p for p in item.args])
        known[id(item)] = args if item.name == LIST else Compound(item.name, args)
    return known[id(value)]


def unify(a: Any, b: Any, trail: list[Var], units: Units | None = None) -> bool:
    """Make two values equal by binding variables, or fail with some bound: see the trail.

    With `units`, it is paid for: comparing what is large, and taking a list apart with `[H|T]`,
    which copies it and costs one unit per 300 items of T.
    """
    pending = [(a, b)]
    while pending:
        x, y = pending.pop()
        while x.__class__ is Var and x.ref is not UNBOUND:
            x = x.ref
        while y.__class__ is Var and y.ref is not UNBOUND:
            y = y.ref
        if x is y:
            continue
        if x.__class__ is Var or y.__class__ is Var:
            variable, value = (x, y) if x.__class__ is Var else (y, x)
            if value.__class__ is Open and _occurs(variable, value):
                return False
            variable.ref = value
            trail.append(variable)
        elif x.__class__ is Open or y.__class__ is Open:
            if not _pair(x, y, pending, units):
                return False
        elif not (same(x, y) if units is None else same_for(units, x, y)):
            return False
    return True


def _pair(x: Any, y: Any, pending: list[tuple[Any, Any]], units: Units | None) -> bool:
    """Line up the parts of two values of which one is open."""
    x, y = resolve(x), resolve(y)
    x_name, x_args = _outline(x)
    y_name, y_args = _outline(y)
    if x_name == PARTIAL or y_name == PARTIAL:
        if x_name not in (LIST, PARTIAL) or y_name not in (LIST, PARTIAL):
            return False
        x_items, x_tail = (x_args[:-1], x_args[-1]) if x_name == PARTIAL else (x_args, ())
        y_items, y_tail = (y_args[:-1], y_args[-1]) if y_name == PARTIAL else (y_args, ())
        if (x_name == LIST and len(x_items) < len(y_items)) or (
            y_name == LIST and len(y_items) < len(x_items)
        ):
            return False  # the whole list has too few items for the other
        count = min(len(x_items), len(y_items))
        copied = max(len(x_items), len(y_items)) - count
        if units is not None and copied >= 300:
            spend(units, copied // 300)
        pending.append((_rest(x_items[count:], x_tail), _rest(y_items[count:], y_tail)))
        pending.extend(zip(reversed(x_items[:count]), reversed(y_items[:count]), strict=True))
        return True
    if x_name != y_name or len(x_args) != len(y_args):
        return False
    pending.extend(zip(reversed(x_args), reversed(y_args), strict=True))
    return True


def _rest(items: tuple[Any, ...], tail: Any) -> Any:
    return make(PARTIAL, (*items, tail)) if items else tail


def _outline(value: Any) -> tuple[str | None, tuple[Any, ...]]:
    if value.__class__ is Open or value.__class__ is Compound:
        return value.name, value.args
    if value.__class__ is tuple:
        return LIST, value
    return None, (value,)


def _occurs(variable: Var, value: Open) -> bool:
    seen: set[int] = set()
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        while item.__class__ is Var and item.ref is not UNBOUND:
            item = item.ref
        if item is variable:
            return True
        if item.__class__ is Open and id(item) not in seen:
            seen.add(id(item))
            pending.extend(item.args)
    return False


def fresh(value: Any) -> Any:
    """A resolved value whose unbound variables are replaced by new ones."""
    if is_bound(value):
        return value
    renamed: dict[int, Var] = {}
    if value.__class__ is Var:
        return Var(value.name)
    known: dict[int, Any] = {}
    todo: list[Any] = [value]
    while todo:
        item = todo[-1]
        inner = [p for p in item.args if p.__class__ is Open and id(p) not in known]
        if inner:
            todo.extend(inner)
            continue
        todo.pop()
        args = []
        for part in item.args:
            if part.__class__ is Open:
                part = known[id(part)]
            elif part.__class__ is Var:
                part = renamed.setdefault(id(part), Var(part.name))
            args.append(part)
        known[id(item)] = Open(item.name, tuple(args))
    return known[id(value)]


def identical(a: Any, b: Any, units: Units) -> bool:
    """`==` of the law language: one value, or one and the same unbound variable."""
    pending = [(resolve(a), resolve(b))]
    while pending:
        x, y = pending.pop()
        if x is y:
            continue
        if x.__class__ is Open and y.__class__ is Open:
            if x.name != y.name or len(x.args) != len(y.args):
                return False
            pending.extend(zip(x.args, y.args, strict=True))
        elif not is_bound(x) or not is_bound(y) or not same_for(units, x, y):
            return False
    return True
