"""Those who wait for tuples: waiters and reactions, indexed so that a write looks only at its own.

Watchers are grouped by *shape*: the arity, the paths of the features their templates name, and
whether they ask for a holder or an addressee. A written tuple gives one key for each shape there
is; only those under that key are looked at. Shapes are bounded: past `SHAPES_MAX` of one arity, a
watcher joins the coarser shape of its first feature, or the one without any.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from heapq import merge
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from nomospace.space.records import Record
from nomospace.space.slots import Slots
from nomospace.terms import Term
from nomospace.terms.templates import MISSING, Path, Template, feature

SHAPES_MAX: Final = 64
"""Shapes of one arity that are told apart."""

TAKE: Final = "take"
"""Wait to remove a tuple."""
READ: Final = "read"
"""Wait to see a tuple."""
OFFER: Final = "offer"
"""Wait to be told of a tuple that stays, then sleep until rearmed: the scout of a remote take."""


class Watcher(Protocol):
    """What looks for tuples: a template, and where."""

    order: int

    @property
    def template(self) -> Template: ...
    @property
    def at(self) -> str | None: ...
    @property
    def dest(self) -> str | None: ...


class Waiter(msgspec.Struct, eq=False):
    """One blocked operation."""

    ticket: Hashable
    template: Template
    how: str
    at: str | None
    dest: str | None
    order: int
    awake: bool = True


W = TypeVar("W", bound=Watcher)
_Name: TypeAlias = tuple[tuple[Path, ...], bool, bool]


def watches(watcher: Watcher, record: Record) -> bool:
    """Whether a record is one that a watcher looks for."""
    return (
        (watcher.at is None or watcher.at == record.cur)
        and (watcher.dest is None or watcher.dest == record.dest)
        and watcher.template.matches(record.fields)
    )


class _Shape(Generic[W]):
    """The watchers whose templates name features of the same paths."""

    __slots__ = ("asks_cur", "asks_dest", "extractors", "paths", "size", "slots")

    def __init__(
        self,
        paths: tuple[Path, ...],
        asks_cur: bool,
        asks_dest: bool,
        resolve: Callable[[int], W | None],
    ) -> None:
        self.paths = paths
        self.extractors: list[Callable[[tuple[Term, ...]], Hashable]] = [
            feature(path) for path in paths
        ]
        self.asks_cur = asks_cur
        self.asks_dest = asks_dest
        self.slots: Slots[W] = Slots(resolve)
        self.size = 0

    def key(self, watcher: W) -> Hashable:
        """What a tuple must show for this watcher."""
        shown = dict(watcher.template.features)
        return (
            *[shown[path] for path in self.paths],
            watcher.at if self.asks_cur else None,
            watcher.dest if self.asks_dest else None,
        )

    def of(self, record: Record) -> Iterable[W]:
        """Those who may look for a record, oldest first."""
        shown = []
        for extract in self.extractors:
            key = extract(record.fields)
            if key is MISSING:
                return ()
            shown.append(key)
        shown.append(record.cur if self.asks_cur else None)
        shown.append(record.dest if self.asks_dest else None)
        return self.slots.of(tuple(shown))


class Watchers(Generic[W]):
    """Watchers in the order they came, by what they look for."""

    __slots__ = ("_by_order", "_shape_of", "_shapes")

    def __init__(self) -> None:
        self._by_order: dict[int, W] = {}
        self._shapes: dict[int, dict[_Name, _Shape[W]]] = {}
        self._shape_of: dict[int, _Name] = {}

    def __len__(self) -> int:
        return len(self._by_order)

    def add(self, watcher: W) -> None:
        """Let a watcher look, in the turn that its number gives it."""
        shapes = self._shapes.setdefault(watcher.template.arity, {})
        paths = tuple([path for path, _ in watcher.template.features])
        name = (paths, watcher.at is not None, watcher.dest is not None)
        if name not in shapes and len(shapes) >= SHAPES_MAX:
            name = (paths[:1], False, False)
            if name not in shapes and len(shapes) >= 2 * SHAPES_MAX:
                name = ((), False, False)
        shape = shapes.get(name)
        if shape is None:
            shape = shapes[name] = _Shape(*name, self._by_order.get)
        self._by_order[watcher.order] = watcher
        self._shape_of[watcher.order] = name
        shape.slots.add(shape.key(watcher), watcher)
        shape.size += 1

    def drop(self, watcher: W) -> None:
        """Let a watcher look no longer."""
        arity = watcher.template.arity
        shapes = self._shapes[arity]
        name = self._shape_of.pop(watcher.order)
        shape = shapes[name]
        shape.slots.drop(shape.key(watcher), watcher)
        del self._by_order[watcher.order]
        shape.size -= 1
        if not shape.size:
            del shapes[name]
            if not shapes:
                del self._shapes[arity]

    def of(self, record: Record) -> Iterable[W]:
        """Those who may look for a record, in their turn; the caller verifies."""
        shapes = self._shapes.get(len(record.fields))
        if shapes is None:
            return ()
        found = [some for shape in shapes.values() if (some := shape.of(record))]
        if not found:
            return ()
        return found[0] if len(found) == 1 else merge(*found, key=_order)


def _order(watcher: Watcher) -> int:
    return watcher.order
