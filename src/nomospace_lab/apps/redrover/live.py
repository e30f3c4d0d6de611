"""RedRover for people: a field on which six walk, each with a host of its own in its pocket.

The players are those of the simulated worlds. Time goes `HASTE` times as fast, so that a game is
seen in a minute or two; devices post where they are, and engage within the safe distance of their
policy. A person looks through one player's device (`view`), may send that player somewhere
(`steer`), or put its device away (`put_away`): then it is a ghost to the others, and they to it.

A game ends when a team has gathered around the rivals' flag; another begins when it is asked for.

What is outside all devices is told among the gates of the machines that take part, in a space of
their own: where the flags lie, who walks for which team and where its device is dialled, who has
won. A machine that joins sends one more player for each team.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from math import isfinite
from random import Random
from typing import Any, Final, NamedTuple

from nomospace.client import Space, TimedOut, Tuple
from nomospace.errors import CallerError
from nomospace_lab.apps.redrover.display import Display
from nomospace_lab.apps.redrover.ground import SEES_M, SPEED_MAX, Body, Ground, Place
from nomospace_lab.apps.redrover.player import RedroverPlayer
from nomospace_lab.apps.redrover.world import RIVALS, SIZE_M, TEAMS
from nomospace_lab.apps.venue import Device, NoGame, Venue
from nomospace_lab.apps.working import Tasks
from nomospace_lab.sim.requests import Position

HASTE: Final = 2.5
"""How many times as fast as real people they walk and look."""
RANGE_M: Final = 72.0
DETECT_S, AGREE_S = 1.5, 1.5
"""How soon hosts notice and agree; see `cli.venue` for their pace."""
POLICY: Final = Position(
    range_m=RANGE_M, speed_max=SPEED_MAX * HASTE, detect_s=DETECT_S, agree_s=AGREE_S
)
STEP_S: Final = 0.25
FIND_S: Final = 10.0
"""How long the game of others is looked for."""
LATER: Final = {"red": ("gil", "ivo", "kai"), "blue": ("hana", "jon", "lea")}
"""Who walks for the machines that join, one of each team for each."""
ROVERS_MAX: Final = 64
"""More are not met."""
REFEREE: Final = "referee"
FIELD: Final = "redrover-field"
GROUND: Final = ("ground", int, float, float, float, float)
"""Which game it is, and where the flags of red and blue lie."""
ROVER: Final = ("rover", int, str, str, str)
"""A player of a game: its agent, its team, and where its device is dialled."""
WON: Final = ("won", int, str)
AGAIN: Final = "again"


class Rover(NamedTuple):
    """A player, as all machines know it."""

    team: str
    address: str


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
    """One game after the other on one field, with players of this machine and of others."""

    def __init__(self, venue: Venue, *, seed: int = 1) -> None:
        self._venue = venue
        self._rng = Random(seed)
        self._ground = Ground(*SIZE_M)
        self._players: dict[str, RedroverPlayer] = {}
        self._devices: dict[str, Device] = {}
        self._rovers: dict[str, Rover] = {}
        """Who walks in this game, by agent, wherever its device is."""
        self._away: dict[str, None] = {}
        self._tasks = Tasks()
        self._beginning = asyncio.Lock()
        self._told: Space | None = None
        """What the gates tell each other of the game."""
        self._watching = Tasks()
        self.game = 0
        """Which game is played, counted from the first; 0 before that."""
        self.winner = ""
        """The team that has gathered around the rivals' flag; empty while the game goes on."""

    @property
    def names(self) -> tuple[str, ...]:
        """Who plays here."""
        return tuple(self._players)

    async def begin(self) -> None:
        """Begin a game, if none is being played, or take part in one; raises `NoGame`."""
        async with self._beginning:
            if not self._players:
                await self._begin()

    async def start(self) -> None:
        """Open the field; the game waits for somebody who plays it (`begin`)."""
        await self._gate()

    async def stop(self) -> None:
        """End the game, and its hosts."""
        await self._watching.stop()
        await self._end()

    async def again(self) -> None:
        """Begin another game, for all machines."""
        if self._venue.joined:
            await (await self._gate()).out(AGAIN, self.game)
        else:
            await self._renew(self.game)

    async def _renew(self, game: int) -> None:
        """Begin another game in place of this one, which may be over by now."""
        async with self._beginning:
            if game == self.game:
                await self._end()
                await self._begin()

    async def _begin(self) -> None:
        """Everybody at its own side, flags somewhere."""
        told, rng = await self._gate(), self._rng
        if self._venue.joined:
            try:
                ground = await told.read(*GROUND, timeout=FIND_S)
            except TimedOut:
                raise NoGame(joined=self._venue.joined, waited_s=FIND_S) from None
            flags: dict[str, Place] = {"red": ground[2:4], "blue": ground[4:6]}
            self.game = ground[1]
        else:
            bare = Ground(*SIZE_M)
            flags = {team: bare.near_flag(team, rng) for team in TEAMS}
            self.game += 1
            await told.out("ground", self.game, *flags["red"], *flags["blue"])
        self._ground = Ground(*SIZE_M, flags)
        for team in TEAMS:
            side = 0.0 if team == "red" else self._ground.width
            for name in await self._who(told, team):
                await self._enter(name, team, (side, rng.uniform(0, self._ground.height)))
        self._tasks.spawn(self._walk(), "redrover: walking")
        for name, player in self._players.items():
            self._tasks.spawn(player.play(), f"redrover: {name}")

    async def _who(self, told: Space, team: str) -> tuple[str, ...]:
        """Who walks for a team from this machine."""
        if not self._venue.joined:
            return TEAMS[team]
        walk = await told.read_all("rover", self.game, str, team, str)
        names = {found[2].partition("@")[0] for found in walk}
        return tuple([name for name in LATER[team] if name not in names][:1])

    async def _end(self) -> None:
        await self._tasks.stop()
        for device in list(self._devices.values()):
            await self._venue.close(device.name)
        for kept in (self._players, self._devices, self._rovers, self._away):
            kept.clear()
        self.winner = ""
        if self._told is not None:
            await self._forget(self._told)

    # -- what gates tell each other ----------------------------------------------------------------

    async def _gate(self) -> Space:
        """The space of the gates; whoever opens it begins to listen there."""
        if self._told is None:
            agent = await (await self._venue.gate()).agent(REFEREE)
            told = self._told = await agent.space(FIELD, shared=True)
            await self._forget(told)  # what is left of a game before this start
            told.react(ROVER, self._hear_rover)
            told.react(WON, self._hear_winner)
            if self._venue.joined:
                told.react(GROUND, self._hear_ground)
            else:
                told.react((AGAIN, int), self._hear_wish)
        return self._told

    async def _forget(self, told: Space) -> None:
        """Take back what this machine has told of a game."""
        for template in (GROUND, ROVER, WON, (AGAIN, int)):
            await told.take_all(*template, at=told.owner)

    async def _hear_rover(self, found: Tuple, _source: str, _handle: object) -> None:
        _, game, agent, team, address = found
        if game != self.game or team not in TEAMS or len(self._rovers) >= ROVERS_MAX:
            return
        self._rovers[agent] = Rover(team, address)
        self._meet()

    async def _hear_winner(self, found: Tuple, _source: str, _handle: object) -> None:
        if found[1] == self.game and found[2] in TEAMS:
            self.winner = found[2]

    async def _hear_wish(self, found: Tuple, _source: str, _handle: object) -> None:
        if found[1] == self.game:
            self._watching.spawn(self._renew(self.game), "redrover: another game")

    async def _hear_ground(self, found: Tuple, _source: str, _handle: object) -> None:
        flags = {"red": found[2:4], "blue": found[4:6]}
        if not self._players or flags != self._ground.flags:  # not their number: that may return
            self._watching.spawn(self._renew(self.game), "redrover: another game")

    def _meet(self) -> None:
        """Let devices hear each other, and teams know who they are."""
        for name, device in self._devices.items():
            player = self._players.get(name)
            for agent, rover in self._rovers.items():
                if rover.address and agent.partition("@")[2] != device.name:
                    self._venue.near(device.name, rover.address)
            if player is not None:
                player.team_of([a for a, one in self._rovers.items() if one.team == player.team])

    async def _enter(self, name: str, team: str, at: Place) -> None:
        device = await self._venue.open(name, policy=POLICY, keep=False)
        self._devices[name] = device
        body = Body(self._ground, at)
        device.moved(*at)
        player = self._players[name] = await RedroverPlayer.join(
            await device.agent(name),
            team,
            RIVALS[team],
            body,
            Random(self._rng.random()),
            Display(),
            pace_s=1.0 / HASTE,
        )
        assert self._told is not None, "a game has begun"
        self._rovers[player.id] = Rover(team, self._venue.address(device.name))
        self._meet()
        await self._told.out("rover", self.game, player.id, *self._rovers[player.id])

    # -- the field ---------------------------------------------------------------------------------

    async def _walk(self) -> None:
        """Bodies walk all the time; devices post where they are."""
        while True:
            for name, player in self._players.items():
                player.body.walk(STEP_S * HASTE)
                self._devices[name].moved(*player.body.at)
                if player.gathered and not self.winner:
                    self.winner = player.team
                    assert self._told is not None, "a game has begun"
                    await self._told.out("won", self.game, player.team)
            await asyncio.sleep(STEP_S)

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

    def view(self, name: str) -> DeviceView:
        """What a player's device shows now."""
        player = self._player(name)
        display, ground = player.display, self._ground
        figures = [
            FigureView(
                id.partition("@")[0],
                self._rovers[id].team if id in self._rovers else "",
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
