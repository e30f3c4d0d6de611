"""Terms with holes, as the interpreter sees them.

A term that holds an unbound variable is an `OpenTerm`; everything else is an ordinary ground term.
So whether a term is ground is known at once, and ground parts, which a law may make as large
and as shared as its budget allows, are never walked to find a variable in them.

The name of an open list is a mark that no compound can have: `LIST` when all its items are known
places, `PARTIAL` when its tail is still open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from nomospace.law.budget import COPIED_A_UNIT, Units, same_for, spend
from nomospace.terms import Compound, Term, Var, undo
from nomospace.terms.nodes import Const, ListSyntax, Node, Variable
from nomospace.terms.values import PARTIAL as PARTIAL_NAME, UNBOUND


class _Mark:
    """Stands where a compound has its name."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return self.what


LIST: Final = _Mark("LIST")
PARTIAL: Final = _Mark("PARTIAL")
Name: TypeAlias = str | _Mark
OPEN_PARTS_MAX: Final = 200
"""The most parts of a value with holes, besides those that the text writes out: these are walked
again and again."""
OPEN_PARTS_FREE: Final = 16
"""How many of these cost nothing when a goal names the value; each as many cost a unit."""
PAIRS_FREE: Final = 64
"""Pairs of which one has holes that unifying may look at for nothing; each more costs a unit, and
is remembered. Compiled code never looks at as many (`emit.terms`)."""


class OpenTerm:
    """A compound or a list that holds, or held when it was made, an unbound variable."""

    __slots__ = ("args", "name")

    def __init__(self, name: Name, args: tuple[Any, ...]) -> None:
        self.name = name
        self.args = args


def make(name: Name, args: tuple[Any, ...]) -> Any:
    """A compound, or a list when the name is `LIST` or `PARTIAL`; open if it must be."""
    if name is PARTIAL:
        *items, tail = args
        if tail.__class__ is tuple:
            return make(LIST, (*items, *tail))
        if _is_open_list(tail):
            return make(tail.name, (*items, *tail.args))
        return OpenTerm(PARTIAL, args)  # an open tail, or an improper list that matches nothing
    for arg in args:
        if arg.__class__ is Var or arg.__class__ is OpenTerm:
            return OpenTerm(name, args)
    return args if name is LIST else Compound(name, args)  # type: ignore[arg-type]


def _is_open_list(value: Any) -> bool:
    return value.__class__ is OpenTerm and value.name.__class__ is _Mark


def open_size(value: OpenTerm, most: int) -> int:
    """How many parts an open value has, in all its open parts; counts no further than `most`."""
    seen: set[int] = set()
    count = 0
    pending: list[Any] = [value]
    while pending and count <= most:
        item = pending.pop()
        if item.__class__ is OpenTerm and id(item) not in seen:
            seen.add(id(item))
            count += len(item.args)
            pending.extend(item.args)
    return count


def is_bound(value: Any) -> bool:
    """Whether a resolved value is ground."""
    return value.__class__ is not Var and value.__class__ is not OpenTerm


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
            name: Name
            parts = _parts(item)
            if isinstance(item, ListSyntax):
                name = LIST if item.tail is None else PARTIAL
            else:
                name = item.name
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
    if isinstance(node, ListSyntax):
        return node.items if node.tail is None else (*node.items, node.tail)
    args: tuple[Node, ...] = node.args
    return args


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
    if value.__class__ is not OpenTerm:
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
            if part.__class__ is OpenTerm:
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
    if value.__class__ is not OpenTerm:
        return value
    known: dict[int, Any] = {}
    todo: list[Any] = [value]
    while todo:
        item = todo[-1]
        inner = [p for p in item.args if p.__class__ is OpenTerm and id(p) not in known]
        if inner:
            todo.extend(inner)
            continue
        todo.pop()
        args = tuple([known[id(p)] if p.__class__ is OpenTerm else p for p in item.args])
        if item.name is LIST:
            known[id(item)] = args
        else:
            name = PARTIAL_NAME if item.name is PARTIAL else item.name
            known[id(item)] = Compound(name, args)
    return known[id(value)]


def unify(a: Any, b: Any, trail: list[Var], units: Units) -> bool:
    """Make two values equal by binding variables, or fail with some bound: see the trail.

    It is paid for: comparing what is large, and taking a list apart with `[H|T]`, which copies it.
    What was open when it was made is taken apart; what was ground is compared as a whole.
    """
    pending = [(a, b)]
    pairs = 0
    seen: dict[tuple[int, int], Any] = {}  # a pair stays alive as long as its entry
    while pending:
        x, y = pending.pop()
        while x.__class__ is Var and x.ref is not UNBOUND:
            x = x.ref
        while y.__class__ is Var and y.ref is not UNBOUND:
            y = y.ref
        if x.__class__ is Var or y.__class__ is Var:
            if x is y:
                continue
            variable, value = (x, y) if x.__class__ is Var else (y, x)
            if value.__class__ is OpenTerm and _occurs(variable, value):
                return False
            variable.ref = value
            trail.append(variable)
        elif x.__class__ is OpenTerm or y.__class__ is OpenTerm:
            pairs += 1
            if pairs > PAIRS_FREE:
                spend(units, 1)
                # Parts may be shared without bound. Two that were made equal stay so.
                if (id(x), id(y)) in seen:
                    continue
                seen[id(x), id(y)] = (x, y)
            if not _pair(x, y, pending, units):
                return False
        elif not same_for(units, x, y):
            return False
    return True


def unifier(pattern: Any, price: int, trail: list[Var], units: Units) -> Callable[[Any], bool]:
    """Tells whether an item can be made equal to a pattern; nothing stays bound."""

    def matches(item: Any) -> bool:
        spend(units, price)
        mark = len(trail)
        fits = unify(pattern, item, trail, units)
        undo(trail, mark)
        return fits

    return matches


def _pair(x: Any, y: Any, pending: list[tuple[Any, Any]], units: Units) -> bool:
    """Line up the parts of two values of which one is open."""
    x_name, x_args = _outline(x)
    y_name, y_args = _outline(y)
    if x_name is PARTIAL or y_name is PARTIAL:
        if x_name.__class__ is not _Mark or y_name.__class__ is not _Mark:
            return False
        x_items, x_tail = (x_args[:-1], x_args[-1]) if x_name is PARTIAL else (x_args, ())
        y_items, y_tail = (y_args[:-1], y_args[-1]) if y_name is PARTIAL else (y_args, ())
        if (x_name is LIST and len(x_items) < len(y_items)) or (
            y_name is LIST and len(y_items) < len(x_items)
        ):
            return False  # the whole list has too few items for the other
        count = min(len(x_items), len(y_items))
        copied = max(len(x_items), len(y_items)) - count
        for items, tail in ((x_items, x_tail), (y_items, y_tail)):
            if tail.__class__ is tuple and len(items) > count:
                copied += len(tail)
        if copied >= COPIED_A_UNIT:
            spend(units, copied // COPIED_A_UNIT)
        pending.append((_rest(x_items[count:], x_tail), _rest(y_items[count:], y_tail)))
        pending.extend(zip(reversed(x_items[:count]), reversed(y_items[:count]), strict=True))
        return True
    if x_name != y_name or len(x_args) != len(y_args):
        return False
    pending.extend(zip(reversed(x_args), reversed(y_args), strict=True))
    return True


def _rest(items: tuple[Any, ...], tail: Any) -> Any:
    return make(PARTIAL, (*items, tail)) if items else tail


def _outline(value: Any) -> tuple[Name | None, tuple[Any, ...]]:
    """The name and the parts of a value. The tail of a list is followed; one that is ground stays a
    tail, to be compared as a whole.
    """
    if value.__class__ is OpenTerm:
        name, args = value.name, value.args
        while name is PARTIAL:
            tail = args[-1]
            while tail.__class__ is Var and tail.ref is not UNBOUND:
                tail = tail.ref
            if not _is_open_list(tail):
                return PARTIAL, (*args[:-1], tail)
            name, args = tail.name, args[:-1] + tail.args
        return name, args
    if value.__class__ is Compound:
        return value.name, value.args
    if value.__class__ is tuple:
        return LIST, value
    return None, (value,)


def _occurs(variable: Var, value: OpenTerm) -> bool:
    seen: set[int] = set()
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        while item.__class__ is Var and item.ref is not UNBOUND:
            item = item.ref
        if item is variable:
            return True
        if item.__class__ is OpenTerm and id(item) not in seen:
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
        inner = [p for p in item.args if p.__class__ is OpenTerm and id(p) not in known]
        if inner:
            todo.extend(inner)
            continue
        todo.pop()
        args = []
        for part in item.args:
            if part.__class__ is OpenTerm:
                part = known[id(part)]
            elif part.__class__ is Var:
                part = renamed.setdefault(id(part), Var(part.name))
            args.append(part)
        known[id(item)] = OpenTerm(item.name, tuple(args))
    return known[id(value)]


def identical(a: Any, b: Any, units: Units) -> bool:
    """`==` of the law language: one value, or one and the same unbound variable."""
    pending = [(resolve(a), resolve(b))]
    pairs = 0
    seen: set[tuple[int, int]] = set()
    while pending:
        x, y = pending.pop()
        if x is y and x.__class__ is Var:
            continue
        if x.__class__ is OpenTerm and y.__class__ is OpenTerm:
            pairs += 1
            if pairs > PAIRS_FREE:
                spend(units, 1)
                if (id(x), id(y)) in seen:
                    continue
                seen.add((id(x), id(y)))
            if x.name != y.name or len(x.args) != len(y.args):
                return False
            pending.extend(zip(x.args, y.args, strict=True))
        elif not is_bound(x) or not is_bound(y) or not same_for(units, x, y):
            return False
    return True
