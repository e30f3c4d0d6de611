"""Pieces, how they fit, and the tray: what a player knows of the whole puzzle.

A puzzle is a grid; the picture of a piece is the number of its cell, and pieces fit when cells are
neighbours. An assembly is a piece with more cells. Every time a piece is laid down its `turn`
grows. So of two tuples about one cell the one with the later turn is the truth, in whatever order
a player hears of them. (The paper's tray believes what it hears last, and may be left with a
holder of long ago when two hosts' news cross on the way.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

SIDE_MAX: Final = 64
"""The longest side of a puzzle, in pieces."""


class Piece(NamedTuple):
    """A piece, or several that were assembled: the fields of its tuple.

    An assembly has the id of the piece it was begun with.
    """

    id: int
    cells: tuple[int, ...]
    turn: int = 0


def piece_of(fields: tuple[Any, ...]) -> Piece:
    """The piece that a tuple is."""
    return Piece(*fields)


PIECE: Final = (int, tuple, int)
"""The template of any piece."""


class TrayPiece(NamedTuple):
    """A piece in a tray, and the player last known to hold it."""

    piece: Piece
    holder: str


@dataclass(frozen=True)
class Puzzle:
    """A puzzle of `width` times `height` pieces.

    >>> Puzzle(2, 2).pieces()[3]
    Piece(id=3, cells=(3,), turn=0)
    >>> list(Puzzle(3, 3).beside(4))
    [3, 5, 1, 7]
    """

    width: int
    height: int

    def __post_init__(self) -> None:
        assert 1 <= self.width <= SIDE_MAX, f"a side has 1 to {SIDE_MAX} pieces"
        assert 1 <= self.height <= SIDE_MAX, f"a side has 1 to {SIDE_MAX} pieces"

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return self.width * self.height

    def pieces(self) -> list[Piece]:
        """All pieces as they lie in a new box."""
        return [Piece(cell, (cell,)) for cell in range(self.size)]

    def beside(self, cell: int) -> Iterator[int]:
        """The neighbours of a cell."""
        row, column = divmod(cell, self.width)
        if column > 0:
            yield cell - 1
        if column < self.width - 1:
            yield cell + 1
        if row > 0:
            yield cell - self.width
        if row < self.height - 1:
            yield cell + self.width

    def has(self, piece: Piece) -> bool:
        """Whether a tuple that looks like a piece can be one of this puzzle.

        >>> puzzle = Puzzle(2, 2)
        >>> puzzle.has(Piece(3, (2, 3))), puzzle.has(Piece(3, (3, 4))), puzzle.has(Piece(0, ()))
        (True, False, False)
        """
        cells, size = piece.cells, self.size
        return piece.id in cells and all(type(cell) is int and 0 <= cell < size for cell in cells)

    def fit(self, one: Piece, other: Piece) -> bool:
        """Whether two pieces can be assembled.

        >>> puzzle = Puzzle(3, 1)
        >>> left, middle, right = puzzle.pieces()
        >>> puzzle.fit(left, middle), puzzle.fit(left, right)
        (True, False)
        """
        cells = frozenset(other.cells)
        return any(near in cells for cell in one.cells for near in self.beside(cell))


def merged(one: Piece, other: Piece) -> Piece:
    """Two pieces as one assembly, laid down after both.

    >>> merged(Piece(1, (1,), 4), Piece(0, (0, 2), 7))
    Piece(id=1, cells=(0, 1, 2), turn=8)
    """
    turn = max(one.turn, other.turn) + 1
    return Piece(one.id, tuple(sorted(one.cells + other.cells)), turn)


class Tray:
    """What a player sees: for every piece heard of, its last known holder and what it is part of.

    >>> tray = Tray(Puzzle(2, 1))
    >>> tray.update(Piece(0, (0, 1), turn=2), "ann@x")
    True
    >>> tray.update(Piece(1, (1,), turn=1), "bob@y")  # news that was overtaken
    False
    >>> tray.parts(), tray.complete
    ([TrayPiece(piece=Piece(id=0, cells=(0, 1), turn=2), holder='ann@x')], True)
    """

    def __init__(self, puzzle: Puzzle) -> None:
        self.puzzle = puzzle
        self._parts: dict[int, TrayPiece] = {}  # by cell; at most the puzzle's size

    def update(self, piece: Piece, holder: str) -> bool:
        """Take in that a player holds a piece; false for no piece, and for news that is old."""
        if not self.puzzle.has(piece):
            return False
        # Assemblies only grow. So where a later one is known it holds all cells of this one, and
        # one cell tells for all.
        known = self._parts.get(piece.cells[0])
        if known is not None and known.piece.turn >= piece.turn:
            return False
        part = TrayPiece(piece, holder)
        for cell in piece.cells:
            self._parts[cell] = part
        return True

    def parts(self) -> list[TrayPiece]:
        """The pieces and assemblies that are known, by their first cell."""
        found = {id(part): part for _, part in sorted(self._parts.items())}
        return list(found.values())

    def beside(self, part: TrayPiece) -> list[TrayPiece]:
        """The parts that fit a part, each once, in no order of merit."""
        found: dict[int, TrayPiece] = {}
        for cell in part.piece.cells:
            for near in self.puzzle.beside(cell):
                other = self._parts.get(near)
                if other is not None and other is not part:
                    found[id(other)] = other
        return list(found.values())

    @property
    def complete(self) -> bool:
        """Whether the whole puzzle is known to be one assembly."""
        first = self._parts.get(0)
        return first is not None and len(first.piece.cells) == self.puzzle.size
