"""Terms with holes, as the interpreter sees them.

A term that holds an unbound variable is an `OpenTerm`; everything else is an ordinary ground term.
So whether a term is ground is known at once, and ground parts, which a law may make as large
and as shared as its budget allows, are never walked to find a variable in them.

The name of an open list is a mark that no compound can have: `LIST` when all its items are known
places, `PARTIAL` when its tail is still open.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias, TypeGuard, TypeVar, cast, final

from nomospace.law.budget import COPIED_A_UNIT, Units, same_for, spend
from nomospace.terms import Compound, Term, Var, undo
from nomospace.terms.tokens import Const, ListSyntax, Node, Variable, inner_nodes
from nomospace.terms.values import PARTIAL as PARTIAL_NAME, UNBOUND

T = TypeVar("T", bound="Value")


class Mark(Enum):
    """Stands where a compound has its name."""

    LIST = 0
    PARTIAL = 1


LIST: Final = Mark.LIST
PARTIAL: Final = Mark.PARTIAL
Name: TypeAlias = str | Mark
OPEN_PARTS_MAX: Final = 200
"""The most parts of a value with holes, besides those that the text writes out: these are walked
again and again."""
OPEN_PARTS_FREE: Final = 16
"""How many of these cost nothing when a goal names the value; each as many cost a unit."""
PAIRS_FREE: Final = 64
"""Pairs of which one has holes that unifying may look at for nothing; each more costs a unit, and
is remembered. Compiled code never looks at as many (`emit.terms`)."""


@final
class OpenTerm:
    """A compound or a list that holds, or held when it was made, an unbound variable."""

    __slots__ = ("args", "name")

    def __init__(self, name: Name, args: tuple[Value, ...]) -> None:
        self.name = name
        self.args = args


Value: TypeAlias = Term | OpenTerm
"""What a variable of a law may stand for."""


def make(name: Name, args: tuple[Value, ...]) -> Value:
    """A compound, or a list when the name is `LIST` or `PARTIAL`; open if it must be."""
    if name is PARTIAL:
        *items, tail = args
        if type(tail) is tuple:
            return make(LIST, (*items, *tail))
        if _is_open_list(tail):
            return make(tail.name, (*items, *tail.args))
        return OpenTerm(PARTIAL, args)  # an open tail, or an improper list that matches nothing
    if not are_bound(args):
        return OpenTerm(name, args)
    return args if name is LIST else Compound(name, args)


def are_bound(values: tuple[Value, ...]) -> TypeGuard[tuple[Term, ...]]:
    """Whether resolved values are ground, all of them."""
    return all(map(is_bound, values))


def _is_open_list(value: Value) -> TypeGuard[OpenTerm]:
    return type(value) is OpenTerm and type(value.name) is Mark


def open_size(value: OpenTerm, most: int) -> int:
    """How many parts an open value has, in all its open parts; counts no further than `most`."""
    seen: set[int] = set()
    count = 0
    pending: list[Value] = [value]
    while pending and count <= most:
        item = pending.pop()
        if type(item) is OpenTerm and id(item) not in seen:
            seen.add(id(item))
            count += len(item.args)
            pending.extend(item.args)
    return count


def is_bound(value: Value) -> TypeGuard[Term]:
    """Whether a resolved value is ground."""
    return type(value) is not Var and type(value) is not OpenTerm


def build(node: Node, env: dict[str, Value]) -> Value:
    """The value of a node under the variables of its clause; new variables enter `env`."""
    if isinstance(node, Const):
        return node.value
    if isinstance(node, Variable):
        return _lookup(node.name, env)
    done: list[Value] = []
    todo: list[tuple[Node, bool]] = [(node, False)]
    while todo:
        item, ready = todo.pop()
        if isinstance(item, Const):
            done.append(item.value)
        elif isinstance(item, Variable):
            done.append(_lookup(item.name, env))
        else:
            name: Name
            parts = inner_nodes(item)
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


def _lookup(name: str, env: dict[str, Value]) -> Value:
    if name == "_":
        return Var()
    if name in env:
        return resolve(env[name])
    env[name] = made = Var(name)
    return made


def resolve(value: Value) -> Value:
    """A value with its bound variables replaced; ground parts are left as they are."""
    value = _followed(value)
    return _rebuilt(value, _followed, make) if type(value) is OpenTerm else value


def close(value: Value) -> Term:
    """A resolved value as a plain pattern: compounds and lists with `Var` in them."""
    value = resolve(value)
    return _rebuilt(value, _as_it_is, _closed) if type(value) is OpenTerm else value


def fresh(value: Value) -> Value:
    """A resolved value whose unbound variables are replaced by new ones."""
    renamed: dict[int, Var] = {}

    def new(part: Value) -> Value:
        return renamed.setdefault(id(part), Var(part.name)) if type(part) is Var else part

    return _rebuilt(value, new, OpenTerm) if type(value) is OpenTerm else new(value)


def _followed(value: Value) -> Value:
    while type(value) is Var and value.ref is not UNBOUND:
        value = value.ref
    return value


def _as_it_is(value: Value) -> Value:
    return value


def _closed(name: Name, args: tuple[Value, ...]) -> Term:
    parts = cast("tuple[Term, ...]", args)  # closed before
    if name is LIST:
        return parts
    return Compound(PARTIAL_NAME if name is PARTIAL else name, parts)


def _rebuilt(
    value: OpenTerm, seen: Callable[[Value], Value], build: Callable[[Name, tuple[Value, ...]], T]
) -> T:
    """A term built anew from the inside out, of its parts as they are `seen`; shared ones once."""
    known: dict[int, T] = {}
    todo: list[OpenTerm] = [value]
    while todo:
        item = todo[-1]
        if id(item) in known:
            todo.pop()
            continue
        parts = [seen(part) for part in item.args]
        inner = [part for part in parts if type(part) is OpenTerm and id(part) not in known]
        if inner:
            todo.extend(inner)
            continue
        todo.pop()
        args = [known[id(part)] if type(part) is OpenTerm else part for part in parts]
        known[id(item)] = build(item.name, tuple(args))
    return known[id(value)]


def unify(a: Value, b: Value, trail: list[Var], units: Units) -> bool:
    """Make two values equal by binding variables, or fail with some bound: see the trail.

    It is paid for: comparing what is large, and taking a list apart with `[H|T]`, which copies it.
    What was open when it was made is taken apart; what was ground is compared as a whole.
    """
    pending = [(a, b)]
    pairs = 0
    seen: dict[tuple[int, int], tuple[Value, Value]] = {}  # a pair stays alive as long as its entry
    while pending:
        x, y = pending.pop()
        while type(x) is Var and x.ref is not UNBOUND:
            x = x.ref
        while type(y) is Var and y.ref is not UNBOUND:
            y = y.ref
        if type(y) is Var and type(x) is not Var:
            x, y = y, x
        if type(x) is Var:
            if x is y:
                continue
            if type(y) is OpenTerm and _occurs(x, y):
                return False
            x.ref = y
            trail.append(x)
        elif type(x) is OpenTerm or type(y) is OpenTerm:
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


def unifier(pattern: Value, price: int, trail: list[Var], units: Units) -> Callable[[Value], bool]:
    """Tells whether an item can be made equal to a pattern; nothing stays bound."""

    def matches(item: Value) -> bool:
        spend(units, price)
        mark = len(trail)
        fits = unify(pattern, item, trail, units)
        undo(trail, mark)
        return fits

    return matches


def _pair(x: Value, y: Value, pending: list[tuple[Value, Value]], units: Units) -> bool:
    """Line up the parts of two values of which one is open."""
    x_name, x_args = _outline(x)
    y_name, y_args = _outline(y)
    if x_name is PARTIAL or y_name is PARTIAL:
        if type(x_name) is not Mark or type(y_name) is not Mark:
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
            if type(tail) is tuple and len(items) > count:
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


def _rest(items: tuple[Value, ...], tail: Value) -> Value:
    return make(PARTIAL, (*items, tail)) if items else tail


def _outline(value: Value) -> tuple[Name | None, tuple[Value, ...]]:
    """The name and the parts of a value. The tail of a list is followed; one that is ground stays a
    tail, to be compared as a whole.
    """
    if type(value) is OpenTerm:
        name, args = value.name, value.args
        while name is PARTIAL:
            tail = _followed(args[-1])
            if not _is_open_list(tail):
                return PARTIAL, (*args[:-1], tail)
            name, args = tail.name, args[:-1] + tail.args
        return name, args
    if type(value) is Compound:
        return value.name, value.args
    if type(value) is tuple:
        return LIST, value
    return None, (value,)


def _occurs(variable: Var, value: OpenTerm) -> bool:
    seen: set[int] = set()
    pending: list[Value] = [value]
    while pending:
        item = _followed(pending.pop())
        if item is variable:
            return True
        if type(item) is OpenTerm and id(item) not in seen:
            seen.add(id(item))
            pending.extend(item.args)
    return False


def identical(a: Value, b: Value, units: Units) -> bool:
    """`==` of the law language: one value, or one and the same unbound variable."""
    pending = [(resolve(a), resolve(b))]
    pairs = 0
    seen: set[tuple[int, int]] = set()
    while pending:
        x, y = pending.pop()
        if x is y and type(x) is Var:
            continue
        if type(x) is OpenTerm and type(y) is OpenTerm:
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
