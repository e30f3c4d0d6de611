"""The tables that a store engine's tuples lie in, as a space sees them.

`TupleTables` is the one thing that a space asks of a database: a few rows at a time, in order, by
what stands in their columns. A host's store has them (`store.tables`); `host.kept_tables` has the
same over a dictionary, for stores in memory and simulated worlds.

A column holds a mark of what a field shows: equal values have equal marks, and most others have
others. What a query finds is put to the template as everything else is.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol
from zlib import crc32

from nomospace.space.records import Record, TupleId
from nomospace.terms import Compound, Term
from nomospace.terms.features import Key, Path, features_of, key_of
from nomospace.terms.templates import Template

COLUMNS: Final = 3
"""So many leading fields have a column with an index."""
HASH, NEAR = (1 << 31) - 1, 16
"""A mark is a checksum of so many bits, and behind it so many that tell neighbours apart."""

Marks = tuple[tuple[int, int], ...]
"""Columns, and the marks that they must have."""


class Wanted(NamedTuple):
    """Which rows of a space are asked for; what is not said may be anything."""

    width: int = 0
    marks: Marks = ()
    at: str | None = None
    """Who holds them."""
    dest: str | None = None
    """Whom they are for."""
    astray: bool = False
    """Only those that another holds than the one they are for."""
    deep: bool = False
    """Only those with compounds or lists."""
    due: int = 0
    """Only those that expire by then, the first to do so first."""


class RowsQuestion(NamedTuple):
    """Which rows are asked for, behind an order and up to another; `limit` may be looked at."""

    space: str
    wanted: Wanted
    after: int
    upto: int
    limit: int
    front: int
    """Behind which order the search began: up to `after` there is nothing."""


class RowsFound(NamedTuple):
    """What was found, oldest first, and up to which order that is all; how much was looked at."""

    records: list[Record]
    upto: int
    looked: int


class TupleTables(Protocol):
    """What is in a host's tables: all that was written down, up to a moment.

    Every call may raise `Unavailable`.
    """

    @property
    def at_hand(self) -> bool:
        """Whether a search may ask in the middle of a step; otherwise it is cut, and waits."""

    @property
    def applied(self) -> int:
        """How many changes to tuples of such spaces are in the tables; never less than before."""

    def last(self) -> int:
        """The last arrival in the tables (`records.arrival`); `FIRST_ORDER` when there is none."""

    def top(self, space: str) -> int:
        """The highest order of a space in the tables; 0 when there is none."""

    def writers(self, space: str) -> dict[str, tuple[int, int]]:
        """How many tuples of a space each agent has written, and the highest of their numbers."""

    def rows(self, space: str, wanted: Wanted, after: int, upto: int, limit: int) -> RowsFound:
        """Tuples behind an order and up to another, of the first so many that may be wanted."""

    def get(self, space: str, id: TupleId) -> Record | None:
        """The tuple of an id; a search of its own, where its order is not known."""

    def at(self, space: str, order: int) -> Record | None:
        """The tuple of an order."""

    def soonest(self, space: str, after: int) -> int | None:
        """When the next tuple expires, later than a moment."""

    def misplaced(self, space: str) -> list[str]:
        """Whom tuples are for that others hold."""


def marks_of(fields: tuple[Term, ...]) -> tuple[list[int | None], bool]:
    """The marks of the leading fields, and whether there are compounds or lists among all.

    >>> marks_of(("job", 17))[0] == [mark(2, "job"), mark(2, 17), None]
    True
    """
    width = len(fields)
    found: list[int | None] = [None] * COLUMNS
    for path, key in features_of(fields[:COLUMNS]):
        if len(path) == 1:
            found[path[0]] = mark(width, key)
        elif (at := _column(path)) >= 0:
            found[at] = _mark_at(width, path, key)
    return found, any(type(field) is Compound or type(field) is tuple for field in fields)


def wanted_for(template: Template, at: str | None, dest: str | None) -> Wanted:
    """The rows among which all are that match a template."""
    width = template.arity
    marks: dict[int, int] = {}
    for path, key in template.features:
        column = path[0] if len(path) == 1 else _column(path)
        if 0 <= column < COLUMNS:
            marks[column] = _mark_at(width, path, key)
    return Wanted(width, tuple(marks.items()), at, dest)


def wanted_of(width: int, equal: tuple[tuple[int, Term], ...]) -> Wanted:
    """The rows among which all are that have these values, numbers and texts, at these places."""
    marks = [(at, mark(width, key_of(value))) for at, value in equal if at < COLUMNS]
    return Wanted(width, tuple(marks))


def mark(width: int, key: Key) -> int:
    """What a column holds for the key of a field, in tuples of a width.

    Texts that differ in their last two bytes alone, and numbers that follow each other, have marks
    that do, too: then tuples that came together lie together in the index.

    >>> [mark(2, one) - mark(2, "k10") for one in ("k11", "k12")], mark(2, 17) - mark(2, 16)
    ([1, 2], 1)
    """
    if key.__class__ is str:
        data = key.encode(errors="surrogatepass")
        return (crc32(data[:-2], width) & HASH) << NEAR | int.from_bytes(data[-2:], "big")
    if key.__class__ is int:
        data = (key >> 8).to_bytes(8, "big", signed=True)
        return (crc32(data, width) & HASH) << NEAR | key & 0xFF
    if type(key) is tuple and key[0] is float:
        key = (float, key[1] + 0.0)  # -0.0 is 0.0
    return (crc32(repr(key).encode(errors="surrogatepass"), width) & HASH) << NEAR


def _column(path: Path) -> int:
    """The column that has a feature: of a value, or of the first argument of a compound."""
    at = path[0] if len(path) == 1 or (len(path) == 4 and path[3] == 0) else COLUMNS
    return int(at) if at < COLUMNS else -1


def _mark_at(width: int, path: Path, key: Key) -> int:
    return mark(width, key if len(path) == 1 else (path[1:3], mark(width, key)))
