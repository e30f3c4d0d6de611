"""The kinds of tuples that a space may hold, as numbers that mean the same in every process.

The kind of a tuple is its width and what its first field says: the value, where it is atomic, or
the functor and width of a compound or list. A template that names a first field asks for one kind,
and any other for all tuples of its width, which is a kind too. So a host that knows the kinds of a
space knows which templates nothing there can match; what kinds cannot tell is never denied.

A kind is noted when its first tuple comes, at the price of a look-up for all others that do. It is
crossed out by `sweep` some time after its last tuple has gone, so a queue that is empty now and
then keeps its kind. Nothing is counted: whether a tuple of a kind lies there is looked up on the
shelves. A width with very many first fields is not told apart any more, until it has few for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from nomospace.space.shelves import Shelf
from nomospace.space.slots import size_of
from nomospace.terms import Compound, Term, is_object
from nomospace.terms.encoding import encode
from nomospace.terms.features import LIST, Key, key_of
from nomospace.terms.templates import Template

ANYTHING: Final = 0
"""The kind of every tuple."""
FIRSTS_MAX: Final = 256
"""First fields of one width that are told apart."""
LOOKED_MAX: Final = 4_096
"""So many different first fields of a width are looked at to know its kinds; past them it has very
many, whatever they come to: all broken numbers are of one kind."""
KINDS_MAX: Final = 1_024
"""First fields of one space that are told apart."""
PAUSE_MIN: Final = 8
PAUSE_MAX: Final = 512
"""After so many sweeps it is seen whether a width with very many first fields has few again; each
time that it has not, after twice as many."""
SHORT: Final = 64
"""A text of so many characters is remembered with its kind, and no longer one."""

_UNNAMED: Final = ()
"""The first field of tuples that no template names by theirs: objects."""
_FIRST: Final = (0,)
_FUNCTOR: Final = (0, "/")
_NAMED: Final = 1 << 63
"""Kinds with a first field are not below it, and all others are."""


def width_kind(width: int) -> int:
    """The kind of all tuples of a width."""
    return 2 * width + 1


def many_kind(width: int) -> int:
    """Tells that tuples of a width are of kinds that are not told."""
    return 2 * width + 2


def asked_kind(template: Template) -> int:
    """The kind that every tuple is of that a template matches.

    >>> from nomospace.terms.templates import ANY
    >>> job, other, any_ = [Template.of(fields) for fields in (("job", 1), ("job", 2), (ANY, 2))]
    >>> asked_kind(job) == asked_kind(other), asked_kind(any_) == width_kind(2)
    (True, True)
    """
    if template.meant:
        return ANYTHING
    for path, key in template.features:
        if path in (_FIRST, _FUNCTOR):
            return _kind(template.arity, _coarse(key))
    return width_kind(template.arity)


def is_asked(kind: int) -> bool:
    """Whether a kind is one that templates ask for; else it stands for many of these."""
    return kind >= _NAMED or kind % 2 == 1


class Kinds:
    """The kinds of what lies on some shelves. `noted` is called when there are news to be told.

    >>> from nomospace.space import Record, Space
    >>> space = Space("jobs")
    >>> kinds = space.follow_kinds(lambda: None)
    >>> job = Record(("job", 17), "ann", 1, "ann", "ann")
    >>> _ = space.put(job, now=0)
    >>> kinds.news() == ([width_kind(2), asked_kind(Template.of(("job", int)))], [])
    True
    >>> space.remove(job)
    >>> kinds.sweep(), kinds.news(), kinds.sweep()
    (None, ([], []), None)
    >>> kinds.news() == ([], [asked_kind(Template.of(("job", int))), width_kind(2)])
    True
    """

    __slots__ = ("_came", "_firsts", "_gone", "_noted", "_pauses", "_shelves", "size")

    def __init__(self, shelves: Mapping[int, Shelf], noted: Callable[[], None]) -> None:
        self._shelves = shelves
        self._noted = noted
        self._firsts: dict[int, dict[Key, bool] | None] = {}
        """The first fields by width, and whether one came since the last sweep; `None` for a width
        that has very many."""
        self._pauses: dict[int, tuple[int, int]] = {}
        self.size = 0
        """How many first fields are told apart: what a sweep goes through."""
        self._came: list[int] = []
        self._gone: list[int] = []
        for width in shelves:
            self._look_over(width)
        self.news()

    def came(self, fields: tuple[Term, ...]) -> None:
        """A tuple lies there from now on."""
        first = fields[0]
        key = first if type(first) is str else _key(first)
        width = len(fields)
        firsts = self._firsts.get(width)
        if width in self._firsts if firsts is None else firsts.get(key):
            return
        self._note(width, key)
        if self._came:
            self._noted()

    def news(self) -> tuple[list[int], list[int]]:
        """The kinds that came since this was asked last, and those that are gone.

        What is in both is there.
        """
        told = self._came, self._gone
        self._came, self._gone = [], []
        return told

    def whole(self) -> list[int]:
        """All kinds there are."""
        found: list[int] = []
        for width, firsts in self._firsts.items():
            found.append(width_kind(width))
            if firsts is None:
                found.append(many_kind(width))
            else:
                found += _kinds(width, firsts)
        return found

    def sweep(self) -> None:
        """Cross out the kinds that nothing is of, unless something came since the last sweep."""
        for width, firsts in list(self._firsts.items()):
            if firsts is None:
                self._look_again(width)
                continue
            for key, fresh in list(firsts.items()):
                if fresh:
                    firsts[key] = False
                elif not self._lies(width, key):
                    del firsts[key]
                    self.size -= 1
                    self._gone += _kinds(width, (key,))
            if not firsts:
                del self._firsts[width]
                self._gone.append(width_kind(width))
        if self._came or self._gone:
            self._noted()

    def _note(self, width: int, key: Key, fresh: bool = True) -> None:
        firsts = self._firsts.get(width)
        if firsts is None:
            self._came.append(width_kind(width))
            firsts = self._firsts[width] = {}
        known = key in firsts
        firsts[key] = fresh
        if known:
            return
        self.size += 1
        if len(firsts) > FIRSTS_MAX or self.size > KINDS_MAX:
            self._give_up(width, firsts)
        else:
            self._came += _kinds(width, (key,))

    def _give_up(self, width: int, firsts: dict[Key, bool]) -> None:
        """Tell the first fields of a width apart no more."""
        self.size -= len(firsts)
        self._firsts[width] = None
        self._pauses.setdefault(width, (PAUSE_MIN, PAUSE_MIN))
        gone = dict.fromkeys(_kinds(width, firsts))
        self._came = [*[kind for kind in self._came if kind not in gone], many_kind(width)]
        self._gone += gone

    def _lies(self, width: int, key: Key) -> bool:
        """Whether a tuple of a width and first field is there, or may be."""
        shelf = self._shelves.get(width)
        if shelf is None or not shelf.segments:
            return False
        if type(key) is not tuple:
            return size_of(shelf.columns[0].get(key)) > 0
        if len(key) < 2:
            return True
        slots = shelf.deep.get(_FUNCTOR) if type(key[0]) is str else shelf.columns[0]
        return slots is not None and size_of(slots.get(key)) > 0

    def _look_again(self, width: int) -> None:
        """See whether a width with very many first fields has few, if it is time to."""
        left, pause = self._pauses[width]
        if left > 1:
            self._pauses[width] = (left - 1, pause)
            return
        longer = min(2 * pause, PAUSE_MAX)
        self._pauses[width] = (longer, longer)
        before = self.news()
        del self._firsts[width]
        self._look_over(width)
        if self._firsts.get(width, before) is None:  # it has as many as it had
            self._came, self._gone = before
            return
        self._came += before[0]
        self._gone += [*before[1], width_kind(width), many_kind(width)]

    def _look_over(self, width: int) -> None:
        """Note the first fields of all tuples of a width."""
        shelf = self._shelves.get(width)
        if shelf is None or not shelf.segments:
            return
        self._note(width, _UNNAMED, fresh=False)
        looked = 0
        for slots in (shelf.columns[0], shelf.deep.get(_FUNCTOR, ())):
            for key in slots:
                firsts, looked = self._firsts[width], looked + 1
                if firsts is None:
                    return
                if looked > LOOKED_MAX:
                    self._give_up(width, firsts)
                    return
                self._note(width, _coarse(key), fresh=False)


def _key(first: Term) -> Key:
    """The first field of a tuple as an index has it; of objects and broken numbers, coarser."""
    if type(first) is Compound:
        return _UNNAMED if is_object(first) else (first.name, len(first.args))
    return (LIST, len(first)) if type(first) is tuple else _coarse(key_of(first))


def _coarse(key: Key) -> Key:
    """One key for all broken numbers: of these some are equal that are written differently."""
    return (float,) if type(key) is tuple and key[0] is float else key


def _kinds(width: int, keys: Iterable[Key]) -> list[int]:
    return [_kind(width, key) for key in keys if key != _UNNAMED]


def _kind(width: int, key: Key) -> int:
    if type(key) is str and len(key) > SHORT:
        return _number(width, key)
    return _remembered(width, key)


def _number(width: int, key: Key) -> int:
    if type(key) is tuple and type(key[0]) is type:
        key = (key[0].__name__, *map(str, key[1:]))
    data = blake2b(encode((width, key)), digest_size=8).digest()
    return int.from_bytes(data, "big") | _NAMED


_remembered: Final = lru_cache(maxsize=4_096)(_number)
