"""RoamingJigsaw for people: a table where whoever sits down plays on a host of its own.

The box is a player too, on the gate of the machine where the game began: it opens the puzzle and
never moves, so the pieces are somewhere before anybody has come, and takes back the pieces of who
leaves. Another machine joins with its own gate, and learns from the space which puzzle it is and
who sits where. Apart from that a `TableSeat` is the `Player` of the simulated worlds with a hand in
place of the bot.

Going offline takes down the links of a seat's host, as a walk out of range would. What it holds it
can still assemble; the rest is out of reach until it is back, and then the trays agree again by
themselves (LIME, 5.1). A link between two machines that breaks does the same to all behind it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from nomospace.client import TimedOut, Tuple
from nomospace.errors import CallerError, Unavailable
from nomospace_lab.apps.jigsaw.player import Player
from nomospace_lab.apps.jigsaw.puzzle import PIECE, Piece, Puzzle, TrayPiece
from nomospace_lab.apps.venue import Device, NoGame, Venue
from nomospace_lab.apps.working import Tasks

SEATS_MAX: Final = 8
"""So many colours can be told apart."""
SPACE: Final = "_"
"""Stands for a space of a player's name in its agent's id."""
BOX: Final = "box"
GUEST: Final = "guest"
"""The agent of a gate that has joined another's table: it knows who sits there."""
PUZZLE: Final = ("puzzle", str, int, int, int)
"""Which puzzle is on the table: whose box it came from, its sides, its picture."""
FIND_S: Final = 10.0
"""How long the table of others is looked for."""
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
        return f"somebody called {called(self.name)[:40]!r} plays already; choose another name"


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
    """One puzzle and those who sit around it, here and at the machines that have joined."""

    def __init__(self, venue: Venue, *, puzzle: Puzzle | None = None, seed: int = 1) -> None:
        """`seed` chooses the picture, where the puzzle is begun here."""
        self._venue = venue
        self.puzzle = puzzle or Puzzle(6, 4)
        self.picture = seed
        self.seats: dict[str, TableSeat] = {}
        self.box = ""
        """The id of the box's agent, wherever that is; empty before the box was found."""
        self._gate: Player | None = None
        self._sitting = asyncio.Lock()
        self._tasks = Tasks()

    @property
    def joined(self) -> str:
        """Whose table this is; empty for one that was set up here."""
        return self._venue.joined

    @property
    def invitation(self) -> str:
        """Where others join; empty where nobody can."""
        return self._venue.invitation

    async def start(self) -> None:
        """Open the box, or the way to whose table is joined; harmless when that was done."""
        if self._gate is not None:
            return
        device = await self._venue.gate()
        agent = await device.agent(GUEST if self.joined else BOX)
        gate = await Player.join(agent, self.puzzle, Random(self.picture))
        gate.look_around()
        if not self.joined:
            await self._open_box(gate)
        self._gate = gate

    async def _open_box(self, box: Player) -> None:
        found = await box.space.read_nowait(*PUZZLE, at=box.id)
        if found is None:
            told = ("puzzle", box.id, self.puzzle.width, self.puzzle.height, self.picture)
            await box.space.out_many([told, *self.puzzle.pieces()])
        else:
            self._look_at(box, found)
        self.box = box.id

        async def leaves(found: Tuple, source: str, _handle: object) -> None:
            if found[1] == source:  # nobody rises for others
                leaving = self._take_back(box, source, found[2])
                self._tasks.spawn(leaving, f"jigsaw: {source} leaves")

        box.space.react(("leaves", str, int), leaves)

    def _look_at(self, player: Player, found: Tuple) -> None:
        _, self.box, width, height, self.picture = found
        if (width, height) != (self.puzzle.width, self.puzzle.height):
            self.puzzle = Puzzle(width, height)
            player.tray.puzzle = self.puzzle

    async def _find_box(self, gate: Player) -> None:
        try:
            self._look_at(gate, await gate.space.read(*PUZZLE, timeout=FIND_S))
        except TimedOut:
            raise NoGame(joined=self.joined, waited_s=FIND_S) from None

    async def stop(self) -> None:
        """End for now: what players hold stays on their hosts, for when they sit down again."""
        seats, self.seats = list(self.seats.values()), {}
        await asyncio.sleep(0.1)  # whoever was told of something just now hears it
        await asyncio.gather(*[self._venue.close(seat.host) for seat in seats])
        await self._tasks.stop()

    async def sit(self, name: str) -> TableSeat:
        """Take a seat, on a host of its own; raises `TableFull`, `SeatTaken`, `NoGame`.

        Whoever comes first opens the box, if nobody has. An agent's id has no spaces: a name that
        has some is that of an agent with another sign in their place.
        """
        name = SPACE.join(name.split())
        async with self._sitting:
            await self.start()
            gate = self._gate
            assert gate is not None, "it has started"
            if not self.box:
                await self._find_box(gate)
            device = await self._device(name)
            try:
                player = await Player.join(await device.agent(name), self.puzzle, Random(name))
                player.look_around()
                taken = {one.colour for one in gate.seated() if one.id != player.id}
                free = [colour for colour in range(SEATS_MAX) if colour not in taken]
                if not free:
                    raise TableFull(seats=SEATS_MAX)
                if any(one.name == name and one.id != player.id for one in gate.seated()):
                    raise SeatTaken(name=name)
                await player.sit(name, free[0])
            except BaseException:
                await self._venue.close(device.name)
                raise
            seat = self.seats[name] = TableSeat(self, name, device, player)
            return seat

    async def _device(self, name: str) -> Device:
        """A host for a player, unless it is seen at once that it cannot sit down."""
        if name in self.seats or name in (BOX, GUEST):
            raise SeatTaken(name=name)
        if len(self.seats) >= SEATS_MAX:
            raise TableFull(seats=SEATS_MAX)
        return await self._venue.open(f"{name}-pda")

    async def rise(self, seat: TableSeat) -> None:
        """Leave the table; the box gets what the player held, if it can be reached in time."""
        if self.seats.get(seat.name) is not seat:
            return
        await seat.come_back()
        try:
            async with asyncio.timeout(TOGETHER_S):
                await seat.player.leave()
        except TimeoutError:
            pass  # the pieces stay with its device, for when it comes again
        self.seats.pop(seat.name, None)
        await self._venue.close(seat.host)

    async def _take_back(self, box: Player, player: str, turn: int) -> None:
        """The box selects all that somebody holds who leaves, and then its seat is free."""
        with suppress(Unavailable):  # out of contact: it asks again when it leaves again
            for piece in await box.space.read_all(*PIECE, at=player):
                await box.select(TrayPiece(Piece(*piece), player))
            await box.clear(player, turn)

    async def turn(self, seat: TableSeat, offline: bool) -> None:
        """Take a seat off the network, or bring it back."""
        if seat.offline == offline:
            return
        seat.offline = offline
        await (self._venue.unplug if offline else self._venue.plug)(seat.host)


def called(agent: str) -> str:
    """What people call a player.

    >>> called("Ann_Marie@Ann_Marie-pda")
    'Ann Marie'
    """
    return agent.partition("@")[0].replace(SPACE, " ")


class TableSeat:
    """One player's place at the table."""

    def __init__(self, table: LiveTable, name: str, device: Device, player: Player) -> None:
        self._table = table
        self.name = name
        self.device = device
        self.player = player
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
                called(part.holder),
                part.holder == me,
                part.holder == me or self.device.connected(part.holder),
            )
            for part in tray.parts()
        ]
        players = [
            SeatView(
                called(seat.name), seat.colour, seat.id == me or self.device.connected(seat.id)
            )
            for seat in self.player.seated()
        ]
        return BoardView(
            table.puzzle.width,
            table.puzzle.height,
            table.picture,
            called(self.name),
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
        holder = called(part.holder)
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

    async def go_offline(self) -> None:
        """Be out of everybody's reach."""
        await self._table.turn(self, True)

    async def come_back(self) -> None:
        """Be in reach again."""
        await self._table.turn(self, False)

    async def leave(self) -> None:
        """Rise from the table."""
        await self._table.rise(self)

    def facts(self) -> dict[str, Any]:
        """The board as plain data, for a page."""
        return asdict(self.board())
