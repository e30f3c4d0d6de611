"""RoamingJigsaw for people: a table where whoever sits down plays on a host of its own.

The box is a player too, on the host `table`: it opens the puzzle and never moves, so the pieces
are somewhere before anybody has come, and whoever leaves hands its pieces back to it. Apart from
that a `TableSeat` is the `Player` of the simulated worlds with a hand in place of the bot.

Going offline cuts the links of a seat's host, as a walk out of range would. What it holds it can
still assemble; the rest is out of reach until it is back, and then the trays agree again by
themselves (LIME, 5.1).
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from nomospace.errors import CallerError, Unavailable
from nomospace_lab.apps.jigsaw.player import Player
from nomospace_lab.apps.jigsaw.puzzle import Puzzle, TrayPiece
from nomospace_lab.apps.venue import Device, Venue

SEATS_MAX: Final = 8
"""So many colours can be told apart."""
BOX: Final = "box"
TABLE: Final = "table"
TOGETHER_S: Final = 10.0
"""How long somebody who leaves is waited for, to hand back its pieces."""


class TableFull(Unavailable):
    """Nobody can sit down any more."""

    code = "jigsaw.table-full"
    words = "all {seats} seats are taken; wait until somebody leaves"
    seats: int


class SeatTaken(CallerError):
    """Somebody of this name plays already."""

    code = "jigsaw.seat-taken"
    name: str

    def __str__(self) -> str:
        return f"somebody called {self.name[:40]!r} plays already; choose another name"


@dataclass(frozen=True, slots=True)
class PartView:
    """A piece or an assembly in a tray: its cells, who holds it, and whether it can be had."""

    cells: tuple[int, ...]
    holder: str
    mine: bool
    at_hand: bool


@dataclass(frozen=True, slots=True)
class SeatView:
    """A player: `colour` is a number below `SEATS_MAX`; the box has none (-1)."""

    name: str
    colour: int
    here: bool


@dataclass(frozen=True, slots=True)
class BoardView:
    """What one player sees."""

    width: int
    height: int
    picture: int
    me: str
    offline: bool
    complete: bool
    parts: tuple[PartView, ...]
    players: tuple[SeatView, ...]


class LiveTable:
    """One puzzle and those who sit around it."""

    def __init__(self, venue: Venue, *, puzzle: Puzzle | None = None, seed: int = 1) -> None:
        """`seed` chooses the picture."""
        self._venue = venue
        self.puzzle = puzzle or Puzzle(6, 4)
        self.picture = seed
        self.seats: dict[str, TableSeat] = {}
        self._box: Player | None = None
        self._sitting = asyncio.Lock()
        self._sat = 0

    async def start(self) -> None:
        """Open the box; harmless when it is open."""
        if self._box is not None:
            return
        device = await self._venue.open(TABLE)
        self._box = await Player.join(await device.agent(BOX), self.puzzle, Random(self.picture))
        await self._box.load()

    async def stop(self) -> None:
        """Send everybody home."""
        for seat in list(self.seats.values()):
            await self._venue.close(seat.host)
        self.seats.clear()
        await self._venue.close(TABLE)
        self._box = None

    async def sit(self, name: str) -> TableSeat:
        """Take a seat, on a host of its own; raises `TableFull`, `SeatTaken`.

        Whoever comes first opens the box, if nobody has.
        """
        async with self._sitting:
            await self.start()
            if name in self.seats or name == BOX:
                raise SeatTaken(name=name)
            taken = {seat.colour for seat in self.seats.values()}
            free = [colour for colour in range(SEATS_MAX) if colour not in taken]
            if not free:
                raise TableFull(seats=SEATS_MAX)
            # A device that keeps nothing is a new one each time: others still know the last.
            self._sat += 1
            host = f"{name}-pda{self._sat}"
            device = await self._venue.open(host)
            try:
                agent = await device.agent(name)
                player = await Player.join(agent, self.puzzle, Random(free[0]))
            except BaseException:
                await self._venue.close(host)
                raise
            seat = self.seats[name] = TableSeat(self, name, device, player, free[0])
            self._link(seat)
            return seat

    async def rise(self, seat: TableSeat) -> None:
        """Leave the table; the box gets what the player held, if it can be reached in time."""
        if self.seats.get(seat.name) is not seat:
            return
        seat.come_back()
        try:
            async with asyncio.timeout(TOGETHER_S):
                await self._hand_back(seat)
        except TimeoutError:
            pass  # the pieces go with it, as they would with a device that is never seen again
        self.seats.pop(seat.name, None)
        await self._venue.close(seat.host)

    async def _hand_back(self, seat: TableSeat) -> None:
        box = self._box
        assert box is not None, "somebody sits at an open table"
        while not seat.device.connected(box.id):
            await asyncio.sleep(0.05)
        while True:
            own = [p for p in seat.player.tray.parts() if p.holder == seat.player.id]
            if not own:
                return
            for part in own:
                await box.select(part)
            await asyncio.sleep(0.05)

    # -- links -------------------------------------------------------------------------------------

    def _hosts(self, seat: TableSeat) -> list[str]:
        others = [one.host for one in self.seats.values() if one is not seat and not one.offline]
        return [TABLE, *others]

    def _link(self, seat: TableSeat) -> None:
        for host in self._hosts(seat):
            self._venue.link(seat.host, host)

    def _cut(self, seat: TableSeat) -> None:
        for host in self._hosts(seat):
            self._venue.cut(seat.host, host)

    def turn(self, seat: TableSeat, offline: bool) -> None:
        """Take a seat off the network, or bring it back."""
        if seat.offline == offline:
            return
        if offline:
            self._cut(seat)
            seat.offline = True
        else:
            seat.offline = False
            self._link(seat)


class TableSeat:
    """One player's place at the table."""

    def __init__(
        self, table: LiveTable, name: str, device: Device, player: Player, colour: int
    ) -> None:
        self._table = table
        self.name = name
        self.device = device
        self.player = player
        self.colour = colour
        self.offline = False

    @property
    def host(self) -> str:
        """The name of its host."""
        return self.device.name

    def board(self) -> BoardView:
        """What this player sees now."""
        table, tray, me = self._table, self.player.tray, self.player.id
        parts = [
            PartView(
                part.piece.cells,
                part.holder.partition("@")[0],
                part.holder == me,
                part.holder == me or self.device.connected(part.holder),
            )
            for part in tray.parts()
        ]
        players = [
            SeatView(seat.name, seat.colour, seat is self or self.device.connected(seat.player.id))
            for seat in table.seats.values()
        ]
        return BoardView(
            table.puzzle.width,
            table.puzzle.height,
            table.picture,
            self.name,
            self.offline,
            tray.complete,
            tuple(parts),
            tuple(players),
        )

    def _part(self, cell: int) -> TrayPiece | None:
        return next((p for p in self.player.tray.parts() if cell in p.piece.cells), None)

    async def select(self, cell: int) -> str:
        """Take the piece of a cell to oneself; says in words why not, when it cannot be had."""
        part = self._part(cell)
        if part is None or part.holder == self.player.id:
            return ""
        if await self.player.select(part):
            return ""
        holder = part.holder.partition("@")[0]
        if not self.device.connected(part.holder):
            return f"{holder} holds this piece and is out of reach"
        return f"{holder} held this piece a moment ago; look again"

    async def assemble(self, one: int, other: int) -> str:
        """Join the own pieces of two cells; says in words why not."""
        first, second = self._part(one), self._part(other)
        if first is None or second is None or first is second:
            return ""
        me = self.player.id
        if first.holder != me or second.holder != me:
            return "both pieces must be yours: select them first"
        if not self._table.puzzle.fit(first.piece, second.piece):
            return "these two do not fit"
        return "" if await self.player.assemble(first, second) else "one of them was just taken"

    def go_offline(self) -> None:
        """Be out of everybody's reach."""
        self._table.turn(self, True)

    def come_back(self) -> None:
        """Be in reach again."""
        self._table.turn(self, False)

    async def leave(self) -> None:
        """Rise from the table."""
        await self._table.rise(self)

    def facts(self) -> dict[str, Any]:
        """The board as plain data, for a page."""
        return asdict(self.board())
