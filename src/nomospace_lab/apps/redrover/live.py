"""RedRover for people: a field on which six walk, each with a host of its own in its pocket.

The players are those of the simulated worlds. Time goes `HASTE` times as fast, so that a game is
seen in a minute or two; hosts hear each other within `RANGE_M` and engage within the safe distance
of their policy. A person looks through one player's device (`view`), may send that player somewhere
(`steer`), or put its device away (`put_away`): then it is a ghost to the others, and they to it.

A game ends when a team has gathered around the rivals' flag; another begins when it is asked for.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from math import dist, isfinite
from random import Random
from typing import Any, Final

from nomospace.errors import CallerError
from nomospace_lab.apps.redrover.display import Display
from nomospace_lab.apps.redrover.ground import SEES_M, SPEED_MAX, Body, Ground, Place
from nomospace_lab.apps.redrover.player import RedroverPlayer
from nomospace_lab.apps.redrover.world import RIVALS, SIZE_M, TEAMS
from nomospace_lab.apps.venue import Device, Venue
from nomospace_lab.apps.working import Tasks
from nomospace_lab.sim.requests import Position

HASTE: Final = 2.5
"""How many times as fast as real people they walk and look."""
RANGE_M: Final = 62.0
DETECT_S, AGREE_S = 0.6, 1.5
"""How soon hosts of one process notice and agree; see `cli.venue` for their pace."""
POLICY: Final = Position(
    range_m=RANGE_M, speed_max=SPEED_MAX * HASTE, detect_s=DETECT_S, agree_s=AGREE_S
)
STEP_S: Final = 0.25


class NoSuchPlayer(CallerError):
    """A player that is not on the field was asked for."""

    code = "redrover.no-such-player"
    name: str
    players: tuple[str, ...]

    def __str__(self) -> str:
        return f"nobody called {self.name[:40]!r} is on the field; there are {self.players}"


@dataclass(frozen=True, slots=True)
class FigureView:
    """A player as a device shows it: `ghost` where contact was lost, `face` if it is known."""

    name: str
    team: str
    x: float
    y: float
    ghost: bool
    me: bool
    face: bool


@dataclass(frozen=True, slots=True)
class DeviceView:
    """What one device shows. `flag` is the rivals', once the own team has found it."""

    width: float
    height: float
    me: str
    team: str
    away: bool
    steered_to: Place | None
    range_m: float
    safe_m: float
    sees_m: float
    figures: tuple[FigureView, ...]
    flag: Place | None
    finder: str
    winner: str


class Field:
    """One game after the other on one field."""

    def __init__(self, venue: Venue, *, seed: int = 1) -> None:
        self._venue = venue
        self._rng = Random(seed)
        self._ground = Ground(*SIZE_M)
        self._players: dict[str, RedroverPlayer] = {}
        self._devices: dict[str, Device] = {}
        self._away: dict[str, None] = {}
        self._tasks = Tasks()
        self._linked: dict[tuple[str, str], bool] = {}
        self._beginning = asyncio.Lock()
        self.game = 0
        """How many games have begun."""

    @property
    def names(self) -> tuple[str, ...]:
        """Who plays."""
        return tuple(self._players)

    async def begin(self) -> None:
        """Begin a game, if none is being played."""
        async with self._beginning:
            if not self._players:
                await self.start()

    async def start(self) -> None:
        """Begin a game: everybody at its own side, flags somewhere."""
        self.game += 1
        rng, bare = self._rng, Ground(*SIZE_M)
        self._ground = Ground(*SIZE_M, {team: bare.near_flag(team, rng) for team in TEAMS})
        for team, names in TEAMS.items():
            side = 0.0 if team == "red" else self._ground.width
            for name in names:
                await self._enter(name, team, (side, rng.uniform(0, self._ground.height)))
        for team, names in TEAMS.items():
            for name in names:
                self._players[name].team_of([self._players[mate].id for mate in TEAMS[team]])
        self._tasks.spawn(self._walk(), "redrover: walking")
        for name, player in self._players.items():
            self._tasks.spawn(player.play(), f"redrover: {name}")

    async def stop(self) -> None:
        """End the game, and its hosts."""
        await self._tasks.stop()
        for device in list(self._devices.values()):
            await self._venue.close(device.name)
        self._players.clear()
        self._devices.clear()
        self._away.clear()
        self._linked.clear()

    async def again(self) -> None:
        """Begin another game."""
        async with self._beginning:
            await self.stop()
            await self.start()

    async def _enter(self, name: str, team: str, at: Place) -> None:
        # A device that keeps nothing is a new one in every game: others still know the last.
        device = await self._venue.open(f"{name}-pda{self.game}", policy=POLICY)
        self._devices[name] = device
        body = Body(self._ground, at)
        device.moved(*at)
        self._players[name] = await RedroverPlayer.join(
            await device.agent(name),
            team,
            RIVALS[team],
            body,
            Random(self._rng.random()),
            Display(),
            pace_s=1.0 / HASTE,
        )

    # -- the field ---------------------------------------------------------------------------------

    async def _walk(self) -> None:
        """Bodies walk all the time; devices know where they are, and hear who is in range."""
        while True:
            for name, player in self._players.items():
                player.body.walk(STEP_S * HASTE)
                self._devices[name].moved(*player.body.at)
            self._link()
            await asyncio.sleep(STEP_S)

    def _link(self) -> None:
        names = list(self._players)
        for place, one in enumerate(names):
            for other in names[place + 1 :]:
                far = dist(self._players[one].body.at, self._players[other].body.at)
                hears = far <= RANGE_M
                if self._linked.get((one, other)) is not hears:
                    self._linked[one, other] = hears
                    change = self._venue.link if hears else self._venue.cut
                    change(self._devices[one].name, self._devices[other].name)

    # -- what a person does ------------------------------------------------------------------------

    def _player(self, name: str) -> RedroverPlayer:
        found = self._players.get(name)
        if found is None:
            raise NoSuchPlayer(name=name, players=self.names)
        return found

    def steer(self, name: str, to: Place | None) -> None:
        """Send a player somewhere on the field; `None` leaves it to itself again.

        What is no place on any field is not gone to.
        """
        player = self._player(name)
        if to is not None and not all(map(isfinite, to)):
            return
        if to is not None:
            to = (
                min(max(float(to[0]), 0.0), self._ground.width),
                min(max(float(to[1]), 0.0), self._ground.height),
            )
        player.steered_to = to
        player.body.go(player.body.at if to is None else to)

    def put_away(self, name: str, away: bool) -> None:
        """Put a player's device into the pocket, or take it out again."""
        self._player(name)
        device = self._devices[name]
        if away and name not in self._away:
            self._away[name] = None
            device.disengage()
        elif not away and name in self._away:
            del self._away[name]
            device.engage()

    @property
    def winner(self) -> str:
        """The team that has gathered around the rivals' flag; empty while the game goes on."""
        return next((p.team for p in self._players.values() if p.gathered), "")

    def view(self, name: str) -> DeviceView:
        """What a player's device shows now."""
        player = self._player(name)
        display, ground = player.display, self._ground
        teams = {one.id: one.team for one in self._players.values()}
        figures = [
            FigureView(
                id.partition("@")[0],
                teams.get(id, ""),
                *(player.body.at if id == player.id else figure.at),
                display.is_ghost(id) and id != player.id,
                id == player.id,
                id in display.faces,
            )
            for id, figure in display.figures.items()
        ]
        finder, flag = display.flag or ("", None)
        return DeviceView(
            ground.width,
            ground.height,
            name,
            player.team,
            name in self._away,
            player.steered_to,
            RANGE_M,
            POLICY.safe_m,
            SEES_M,
            tuple(figures),
            flag,
            finder.partition("@")[0],
            self.winner,
        )

    def facts(self, name: str) -> dict[str, Any]:
        """The same as plain data, for a page."""
        return asdict(self.view(name))
