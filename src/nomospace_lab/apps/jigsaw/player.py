"""A player of the jigsaw: the paper's agent (LIME, Figure 11), with a bot in place of a hand.

A player knows nothing of hosts, arrivals and departures. Its tray is kept by one weak reaction to
pieces anywhere in the group, once for each tuple: pieces that others select or assemble, all that
happened while it was away, and the whole puzzle when it joins late come the same way.

A piece is selected by taking it from the player last known to hold it and laying it down again as
one's own, so that it is at hand when contact is lost. Only own pieces are assembled. Since anyone
may select a piece at any time, the second of two may be gone; then the first is laid down again.
As in the paper, a player whose host crashes with a piece in its hand loses it: links may break at
any time in this game, devices do not.
"""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import Any, Final, NamedTuple, Self

from nomospace.client import Agent, Space, Tuple
from nomospace.errors import Unavailable
from nomospace_lab.apps.jigsaw.puzzle import PIECE, Piece, Puzzle, Tray, TrayPiece, merged

SPACE: Final = "jigsaw"
THINK_S: Final = (0.4, 2.4)
"""How long a bot thinks about a move."""
EAGER: Final = 0.6
"""How often a bot goes for an assembly, where it might as well select pieces for later."""


SEAT: Final = ("seat", str, str, int, int)
LEFT: Final = -1
"""The colour of a seat that is free again."""
KNOWN_MAX: Final = 1_000
"""Of how many players it is known that they sat here."""
LOOK_S: Final = 0.05


class TakenSeat(NamedTuple):
    """A player at the table. Of two that are told of one player, the later turn is the truth."""

    id: str
    name: str
    colour: int
    turn: int


class Player:
    """One player: its tray, what it can do, and a bot that does it."""

    def __init__(self, agent: Agent, space: Space, puzzle: Puzzle, rng: Random) -> None:
        self.id = agent.id
        self.space = space
        self.tray = Tray(puzzle)
        self.beeps = 0
        """How often a move failed because a piece was gone or out of reach."""
        self._rng = rng
        self._seats: dict[str, TakenSeat] = {}
        self._turn = 0
        space.react(PIECE, self._hear)

    @classmethod
    async def join(cls, agent: Agent, puzzle: Puzzle, rng: Random) -> Self:
        """Share the puzzle's space and begin to watch it."""
        return cls(agent, await agent.space(SPACE, shared=True), puzzle, rng)

    async def _hear(self, piece: Tuple, source: str, _handle: Any) -> None:
        self.tray.update(Piece(*piece), source)

    # -- seats -----------------------------------------------------------------------------

    def look_around(self) -> None:
        """Begin to hear who sits at the table, and who has left."""

        async def hear(found: Tuple, _source: str, _handle: Any) -> None:
            seat = TakenSeat(*found[1:])
            known = self._seats.get(seat.id)
            if known.turn < seat.turn if known is not None else len(self._seats) < KNOWN_MAX:
                self._seats[seat.id] = seat

        self.space.react(SEAT, hear)

    def seated(self) -> list[TakenSeat]:
        """Who sits at the table, as far as is known."""
        seats = [seat for seat in self._seats.values() if seat.colour != LEFT]
        return sorted(seats, key=lambda seat: (seat.colour, seat.id))

    async def sit(self, name: str, colour: int) -> None:
        """Tell everybody that one is there, in place of what was said of one before."""
        await self.space.take_all("seat", self.id, str, int, int)
        await self.space.take_all("leaves", self.id, int)
        self._turn = time.time_ns()
        await self.space.out("seat", self.id, name, colour, self._turn)

    async def leave(self) -> None:
        """Tell that one leaves, and wait until the box has taken back what one held.

        Whoever gives up waiting has not left, and keeps it.
        """
        leaves = ("leaves", self.id, self._turn)
        await self.space.out(*leaves)
        try:
            while await self.space.read_nowait(*leaves, at=self.id) is not None:
                await asyncio.sleep(LOOK_S)
        finally:
            await self.space.take_nowait(*leaves, at=self.id)

    async def clear(self, player: str, turn: int) -> None:
        """Tell, as the box, that somebody has left, and let it go."""
        await self.space.take_nowait("seat", player, str, int, turn, at=player)
        await self.space.out("seat", player, "", LEFT, turn + 1)
        await self.space.take_nowait("leaves", player, turn, at=player)

    # -- moves -----------------------------------------------------------------------------

    async def load(self) -> None:
        """Begin a new puzzle: all its pieces are this player's at first."""
        await self.space.out_many(self.tray.puzzle.pieces())

    async def select(self, part: TrayPiece) -> bool:
        """Get a piece from its last known holder; false when it is gone or out of reach."""
        piece = await self._pick_up(part)
        if piece is None:
            return False
        await self._lay_down(piece._replace(turn=piece.turn + 1))
        return True

    async def assemble(self, one: TrayPiece, other: TrayPiece) -> bool:
        """Join two own pieces; false, and nothing is changed, when one of them is gone."""
        first = await self._pick_up(one)
        if first is None:
            return False
        second = await self._pick_up(other)
        if second is None:
            await self._lay_down(first._replace(turn=first.turn + 1))
            return False
        await self._lay_down(merged(first, second))
        return True

    async def _pick_up(self, part: TrayPiece) -> Piece | None:
        try:
            found = await self.space.take_nowait(part.piece.id, tuple, int, at=part.holder)
        except Unavailable:  # contact was lost while the holder was asked; it keeps the piece
            found = None
        if found is None:
            self.beeps += 1
            return None
        return Piece(*found)

    async def _lay_down(self, piece: Piece) -> None:
        await self.space.out(*piece)
        self.tray.update(piece, self.id)

    async def holds(self) -> list[Piece]:
        """The pieces that are really this player's own."""
        return [Piece(*found) for found in await self.space.read_all(*PIECE, at=self.id)]

    # -- the bot ---------------------------------------------------------------------------

    async def play(self, turn: asyncio.Event) -> None:
        """Make moves until the puzzle is complete, as far as this player knows.

        `turn` is set while players may move.
        """
        while not self.tray.complete:
            await asyncio.sleep(self._rng.uniform(*THINK_S))
            await turn.wait()
            await self._move()

    async def _move(self) -> None:
        rng = self._rng
        parts = self.tray.parts()
        pairs: list[tuple[TrayPiece, TrayPiece]] = []  # own pieces that fit each other
        wanted: list[tuple[TrayPiece, TrayPiece]] = []  # own pieces, and others' that fit them
        for part in parts:
            if part.holder == self.id:
                for near in self.tray.beside(part):
                    (pairs if near.holder == self.id else wanted).append((part, near))
        others = [part for part in parts if part.holder != self.id]
        if pairs and (not others or rng.random() < EAGER):
            await self.assemble(*rng.choice(pairs))
        elif wanted and rng.random() < EAGER:
            mine, theirs = rng.choice(wanted)
            if await self.select(theirs):
                await self.assemble(mine, TrayPiece(theirs.piece, self.id))
        elif others:
            await self.select(rng.choice(others))
