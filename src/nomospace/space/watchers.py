"""Those who wait for tuples: waiters and reactions, indexed so that a write looks only at its own.

Watchers are grouped by *shape*: the arity, the paths of the features their templates name, and
whether they ask for a holder or an addressee. A written tuple gives one key for each shape there
is; only those under that key are looked at. Shapes are bounded: past `SHAPES_MAX` of one arity, a
watcher joins the coarser shape of its first feature, or the one without any.

Those whose templates name classes are apart: each is kept under one of its classes, with an id or a
plain value beside it where the template has one. A written tuple is looked up under the classes of
its objects and all that are above these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import StrEnum
from heapq import merge
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

import msgspec

from nomospace.space.asking import EVERYONE, Name, Scope
from nomospace.space.meant import Speech
from nomospace.space.records import Record
from nomospace.space.slots import Slots, TrackedSlots, order_of
from nomospace.terms import Term, is_object, key_of
from nomospace.terms.templates import MISSING, Path, Template, feature
from nomospace.terms.values import ATOMIC

if TYPE_CHECKING:
    from nomospace.space.reactions import Reaction

SHAPES_MAX: Final = 64
"""Shapes of one arity that are told apart."""


class WaiterKind(StrEnum):
    """What somebody waits for."""

    TAKE = "take"
    """To remove a tuple."""
    READ = "read"
    """To see a tuple."""
    OFFER = "offer"
    """To be told of one tuple, which stays, until rearmed: the scout of a remote take."""


TAKE: Final = WaiterKind.TAKE
READ: Final = WaiterKind.READ
OFFER: Final = WaiterKind.OFFER


class Waiter(msgspec.Struct, eq=False):
    """One blocked operation."""

    ticket: Hashable
    template: Template
    how: WaiterKind
    at: str | None
    dest: str | None
    order: int
    armed: bool = True
    sets: Name | None = None
    """The question that it waits with for several tuples together, if it does."""
    scope: Scope = EVERYONE
    """Whose tuples these are."""


LOT: Final = 64
"""How many of those who look for a tuple are listed at a time."""

W = TypeVar("W", bound="Waiter | Reaction")
_BY_CLASS: Final = "class"
_BY_ID: Final = "id"
_BY_VALUE: Final = "value"
_Name: TypeAlias = tuple[tuple[Path, ...], bool, bool]


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
        self.slots: Slots[W] = TrackedSlots(resolve)
        self.size = 0

    def key(self, watcher: W) -> Hashable:
        """What a tuple must show for this watcher."""
        features = watcher.template.features  # its paths are those of the shape, or begin so
        return (
            *[shown for _, shown in features[: len(self.paths)]],
            watcher.at if self.asks_cur else None,
            watcher.dest if self.asks_dest else None,
        )

    def of(self, record: Record, after: int) -> Iterable[W]:
        """Those who may look for a record, oldest first; of many, only those after a number."""
        shown = []
        for extract in self.extractors:
            key = extract(record.fields)
            if key is MISSING:
                return ()
            shown.append(key)
        shown.append(record.cur if self.asks_cur else None)
        shown.append(record.dest if self.asks_dest else None)
        slot = self.slots.get(tuple(shown))
        return () if slot is None else self.slots.walk(slot, after)


class _Meant(Generic[W]):
    """The watchers whose templates name classes."""

    __slots__ = ("_slots", "_sorts", "_speech", "keys")

    def __init__(self, speech: Speech, resolve: Callable[[int], W | None]) -> None:
        self._speech = speech
        self.keys: dict[int, tuple[str, str, Hashable]] = {}
        """What each is kept under, by its order."""
        self._slots: Slots[W] = TrackedSlots(resolve)
        self._sorts = {_BY_CLASS: 0, _BY_ID: 0, _BY_VALUE: 0}

    def _key(self, watcher: W) -> tuple[str, str, Hashable]:
        """What a tuple must show: a class, and the most telling thing beside it."""
        meant = self._speech.read(watcher.template)
        for wish in meant.wishes:
            if wish.id is not MISSING:
                return wish.canonical, _BY_ID, wish.id
        canonical = meant.wishes[0].canonical
        if meant.literals:
            return canonical, _BY_VALUE, meant.literals[0]
        return canonical, _BY_CLASS, None

    def add(self, watcher: W) -> None:
        key = self.keys[watcher.order] = self._key(watcher)
        self._sorts[key[1]] += 1
        self._slots.add(key, watcher)

    def drop(self, watcher: W) -> None:
        key = self.keys.pop(watcher.order)
        self._sorts[key[1]] -= 1
        self._slots.drop(key, watcher)

    def of(self, record: Record) -> list[W]:
        """Those who may look for a record, in no order; each once."""
        by_class, by_id, by_value = self._sorts.values()
        values: list[Hashable] = []
        objects: dict[tuple[str, Hashable], None] = {}
        for field in record.fields:
            if is_object(field):
                for name in self._speech.above(field.args[0]):
                    objects[name, key_of(field.args[1])] = None
            elif by_value and field.__class__ in ATOMIC:
                values.append(key_of(field))
        found: dict[int, W] = {}
        get = self._slots.of
        for name, id in objects:
            some = list(get((name, _BY_CLASS, None))) if by_class else []
            if by_id:
                some += get((name, _BY_ID, id))
            for value in values:
                some += get((name, _BY_VALUE, value))
            for watcher in some:
                found[watcher.order] = watcher
        return list(found.values())


class Watchers(Generic[W]):
    """Watchers in the order they came, by what they look for."""

    __slots__ = ("_by_order", "_meant", "_shape_of", "_shapes")

    def __init__(self, speech: Speech | None = None) -> None:
        self._by_order: dict[int, W] = {}
        self._meant: _Meant[W] = _Meant(speech or Speech(), self._by_order.get)
        self._shapes: dict[int, dict[_Name, _Shape[W]]] = {}
        self._shape_of: dict[int, _Name] = {}

    def __len__(self) -> int:
        return len(self._by_order)

    def add(self, watcher: W) -> None:
        """Let a watcher look, in the turn that its number gives it."""
        if watcher.template.meant:
            self._by_order[watcher.order] = watcher
            self._meant.add(watcher)
            return
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
        if watcher.template.meant:
            self._meant.drop(watcher)
            del self._by_order[watcher.order]
            return
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

    def of(self, record: Record, after: int = 0) -> Iterable[W]:
        """Those who may look for a record, in their turn, `after` one's; the caller verifies."""
        if not self._by_order:
            return ()
        shapes = self._shapes.get(len(record.fields), {})
        found = [some for shape in shapes.values() if (some := shape.of(record, after))]
        if self._meant.keys:
            found.append(sorted(self._meant.of(record), key=order_of))
        if not found:
            return ()
        all_of_them = found[0] if len(found) == 1 else merge(*found, key=order_of)
        return dropwhile(lambda one: one.order <= after, all_of_them) if after else all_of_them

    def in_turn(self, record: Record, after: int, until: int) -> Iterator[W]:
        """As `of`, up to a number: some at a time, so that those who are served may go."""
        while some := list(islice(self.of(record, after), LOT)):
            for one in some:
                if one.order >= until:
                    return
                yield one
            after = some[-1].order
