"""Worlds in which two teams of three walk a field, lose each other, and seek flags.

A host hears whoever is in range, and engages by position: only within the safe distance, so that
groups part while their members can still talk to each other. Now and then a device is put away.
When the whistle blows, all walk to the middle of the field.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final

from nomospace_lab.apps.playing import Game, us
from nomospace_lab.apps.redrover.display import Display
from nomospace_lab.apps.redrover.ground import SPEED_MAX, Body, Ground, Place
from nomospace_lab.apps.redrover.player import RedroverPlayer
from nomospace_lab.apps.redrover.properties import (
    SHOWN,
    flags_are_announced_once,
    ghosts_are_the_departed,
    parted_in_time,
    players_met_and_parted,
    positions_are_news_once,
    positions_are_seen,
    team_matters_stay_in_the_team,
)
from nomospace_lab.sim.checkers.spaces import answered_once, one_taker, tuples_keep_their_names
from nomospace_lab.sim.checkers.views import comes_to_rest, system_shows_the_view, views_agree
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import Position
from nomospace_lab.sim.workloads import workload
from nomospace_lab.testing.hosts import SimHost

TEAMS: Final = {"red": ("ann", "bob", "cem"), "blue": ("dana", "eve", "finn")}
RIVALS: Final = {"red": "blue", "blue": "red"}
SIZE_M: Final = (160.0, 80.0)
RANGE_M: Final = 70.0
POLICY: Final = Position(range_m=RANGE_M, speed_max=SPEED_MAX)

WALK_S: Final = 1.0
"""How often bodies move and devices learn where they are."""
BREAKS: Final = (1, 3)
"""How often a device is put away."""
BREAK_S: Final = (5.0, 10.0)
WHISTLE_S: Final = 100
HOME_S: Final = 60
"""By then everybody has walked to the middle of the field."""
REST_S: Final = 10
"""Whatever is under way has arrived after so long."""


class Rovers(Game):
    """A game on one field."""

    def __init__(self, seed: int, *, link: Link | None = None) -> None:
        super().__init__(seed, link=link)
        rng = self.rng("ground")
        bare = Ground(*SIZE_M)
        self.ground = Ground(*SIZE_M, {team: bare.near_flag(team, rng) for team in TEAMS})
        self.players: dict[str, RedroverPlayer] = {}

    @property
    def teams(self) -> dict[str, str]:
        """The team of each player."""
        return {player.id: player.team for player in self.players.values()}

    async def script(self) -> None:
        """Everybody comes to the field, plays, and comes home."""
        world, rng = self.world, self.rng("script")
        for team, names in TEAMS.items():
            side = 0.0 if team == "red" else self.ground.width
            for name in names:
                self.enter(name, team, (side, rng.uniform(0, self.ground.height)))
        for _ in range(rng.randint(*BREAKS)):
            host = rng.choice(list(world.hosts))
            begin = rng.uniform(10, WHISTLE_S - BREAK_S[1])
            self.at(begin, world.disengage, host)
            self.at(begin + rng.uniform(*BREAK_S), world.engage, host)
        world.plan((), heal_at_us=us(WHISTLE_S))
        self.at(WHISTLE_S, self.whistle)
        await asyncio.sleep(WHISTLE_S + 1)
        while world.clock.now < us(WHISTLE_S + HOME_S) and not self.home:
            await asyncio.sleep(1)
        await asyncio.sleep(REST_S)

    @property
    def home(self) -> bool:
        """Whether everybody is in the middle of the field."""
        return all(player.body.at == self.ground.middle for player in self.players.values())

    def enter(self, name: str, team: str, at: Place) -> None:
        """A player comes to the field with a device."""
        body = Body(self.ground, at)
        host = self.world.host(f"{name}-pda", policy=POLICY)
        self._walk(host.name, body)

        async def take_part(host: SimHost) -> None:
            agent = await host.agent(name)
            chance, display = self.rng(f"player {name}"), Display(partial(self._shown, agent.id))
            player = await RedroverPlayer.join(agent, team, RIVALS[team], body, chance, display)
            player.team_of([f"{mate}@{mate}-pda" for mate in TEAMS[team]])
            self.players[player.id] = player
            await player.play()

        host.program(take_part)

    def _walk(self, host: str, body: Body) -> None:
        """Bodies walk all the time, and their devices know where they are."""
        body.walk(WALK_S)
        self.world.place(host, body.at, range_m=RANGE_M)
        self.world.clock.after(int(WALK_S * SECOND_US), self._walk, host, body)

    def _shown(self, player: str, what: str, value: Any) -> None:
        self.history.add(self.world.clock.now, SHOWN, player, (what, value))

    def whistle(self) -> None:
        """Call everybody to the middle."""
        for player in self.players.values():
            player.called_home = True


@workload(
    "redrover",
    "two teams on a field seek flags, with hosts that engage by position",
    checkers=(
        players_met_and_parted,
        team_matters_stay_in_the_team,
        ghosts_are_the_departed,
        positions_are_seen,
        positions_are_news_once,
        flags_are_announced_once,
        parted_in_time,
        comes_to_rest,
        one_taker,
        answered_once,
        tuples_keep_their_names,
        views_agree,
        system_shows_the_view,
    ),
    everywhere=(),
)
def build(seed: int) -> Rovers:
    """A field, two teams, and two flags somewhere."""
    return Rovers(seed, link=Link(loss=0.01, repeats=0.01))
