"""Worlds in which five players assemble a puzzle of a hundred pieces while they come and go.

Four sit down and one of them opens the box; the fifth joins later. Players leave the group by
announcement, or are torn out of it, play on alone, and come back. Then all are together. Twice
play pauses, after the box is opened and once all are back, and everyone looks at the tray.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Final

from nomospace_lab.apps.jigsaw.player import SPACE, Player
from nomospace_lab.apps.jigsaw.properties import (
    LOOKED,
    Looked,
    assembled_once,
    in_one_place,
    only_own_are_assembled,
    players_came_and_went,
    selected_in_contact,
    trays_agree,
)
from nomospace_lab.apps.jigsaw.puzzle import PIECE, Puzzle
from nomospace_lab.apps.playing import Game, us
from nomospace_lab.sim.census import count_world
from nomospace_lab.sim.checkers.progress import reactions_fire_once
from nomospace_lab.sim.checkers.spaces import (
    answered_once,
    none_is_lost,
    one_taker,
    takes_are_linearizable,
    tuples_keep_their_names,
)
from nomospace_lab.sim.checkers.views import comes_to_rest, system_shows_the_view, views_agree
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.workloads import workload
from nomospace_lab.testing.hosts import AgentWorld, SimHost

PLAYERS: Final = ("ann", "bob", "cem", "dana", "eve")
LATE: Final = "eve"
SIDES: Final = (10, 10)

LOAD_S: Final = 6
OPEN_S: Final = 9
"""Everybody who is there looks at the tray; then play begins."""
LATE_S: Final = (14, 24)
AWAY: Final = (8, 11)
"""How often somebody leaves."""
AWAY_S: Final = (4.0, 12.0)
HEAL_S: Final = 45
BREAK_S: Final = HEAL_S + 14
LIMIT_S: Final = BREAK_S + 150
"""By then the puzzle is assembled, or never will be."""
REST_S: Final = 8
"""Whatever is under way has arrived after so long."""


class Table(Game):
    """A game around one puzzle. Players move while `turn` is set."""

    def __init__(self, seed: int, puzzle: Puzzle, *, link: Link | None = None) -> None:
        super().__init__(seed, link=link)
        self.puzzle = puzzle
        self.players: dict[str, Player] = {}
        self.turn = asyncio.Event()

    async def script(self) -> None:
        """A table, its players, who leaves when, and the healing."""
        world, rng = self.world, self.rng("roaming")
        roaming = Roaming(world, rng)
        for name in PLAYERS:
            if name != LATE:
                self.seat(name)
        roaming.all_together()
        self.at(LOAD_S, self.load, PLAYERS[0])
        self.at(OPEN_S, self.look, "opening")
        self.at(OPEN_S + 1, self.turn.set)
        self.at(rng.uniform(*LATE_S), lambda: roaming.join(self.seat(LATE).name))
        for _ in range(rng.randint(*AWAY)):
            self.at(rng.uniform(OPEN_S + 2, HEAL_S - 4), roaming.leave)

        world.plan((), heal_at_us=us(HEAL_S))
        self.at(HEAL_S, roaming.all_together)
        self.at(BREAK_S - 4, self.turn.clear)
        self.at(BREAK_S, self.look, "break")
        self.at(BREAK_S + 1, self.turn.set)

        await asyncio.sleep(BREAK_S + 1)
        while world.clock.now < us(LIMIT_S) and not self.complete:
            await asyncio.sleep(1)
        self.turn.clear()
        await asyncio.sleep(REST_S)
        self.look("end")
        spaces = {player.id: [SPACE] for player in self.players.values()}
        count_world(world, 1, spaces, len(PIECE))
        await asyncio.sleep(1)

    @property
    def complete(self) -> bool:
        """Whether everyone sees the puzzle complete."""
        return all(player.tray.complete for player in self.players.values())

    def seat(self, name: str) -> SimHost:
        """A player on a host of its own."""

        async def sit(host: SimHost) -> None:
            agent = await host.agent(name)
            player = await Player.join(agent, self.puzzle, self.rng(f"player {name}"))
            self.players[name] = player
            await player.play(self.turn)

        host = self.world.host(f"{name}-pda")
        host.program(sit)
        return host

    def load(self, name: str) -> None:
        """A player opens the box."""
        self._do(name, lambda player: player.load())

    def look(self, when: str) -> None:
        """Everyone looks at the tray, and at what is really its own."""

        async def look(player: Player) -> None:
            seen = Looked(when, tuple(player.tray.parts()), tuple(await player.holds()))
            self.history.add(self.world.clock.now, LOOKED, player.id, seen)

        for name in self.players:
            self._do(name, look)

    def _do(self, name: str, act: Callable[[Player], Coroutine[Any, Any, None]]) -> None:
        self.hosts[f"{name}-pda"].program(lambda _: act(self.players[name]))


class Roaming:
    """Players who leave and come back."""

    def __init__(self, world: AgentWorld, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self.away: dict[str, None] = {}

    def leave(self) -> None:
        """Somebody leaves, in one of two ways, unless only two are left."""
        near = [host for host in self.world.hosts if host not in self.away]
        if len(near) <= 2:
            return
        host = self.rng.choice(near)
        self.away[host] = None
        announced = self.rng.random() < 0.5
        if announced:
            self.world.disengage(host)
        else:
            for other in self.world.topology.neighbours(host):
                self.world.part(host, other)
        back_us = int(self.rng.uniform(*AWAY_S) * SECOND_US)
        self.world.clock.after(back_us, self.come_back, host)

    def come_back(self, host: str) -> None:
        """Somebody is back, and hears all who are there."""
        if host in self.away:  # else all were called back before
            del self.away[host]
            self.join(host)

    def join(self, host: str) -> None:
        """Be in the group, as far as the links go."""
        for other in self.world.hosts:
            if other != host and other not in self.away:
                self.world.connect(host, other)
        self.world.engage(host)

    def all_together(self) -> None:
        """Everybody is back."""
        self.away.clear()
        for host in self.world.hosts:
            self.join(host)


@workload(
    "jigsaw",
    "players who come and go assemble one puzzle",
    checkers=(
        players_came_and_went,
        in_one_place,
        only_own_are_assembled,
        selected_in_contact,
        trays_agree,
        assembled_once,
        comes_to_rest,
        none_is_lost,
        one_taker,
        answered_once,
        tuples_keep_their_names,
        takes_are_linearizable,
        views_agree,
        system_shows_the_view,
        reactions_fire_once,
    ),
    everywhere=(),
)
def build(seed: int) -> Table:
    """A table with a puzzle of a hundred pieces."""
    return Table(seed, Puzzle(*SIDES), link=Link(loss=0.01, repeats=0.01))
