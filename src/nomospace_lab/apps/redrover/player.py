"""A player of RedRover: the paper's agent (LIME 5.2), with a bot in place of a person.

Positions are pulled, not pushed: each player writes where it is into the game's space, in place of
its last position, and everyone has a weak reaction to positions, once for each tuple. Somebody who
comes back into contact and has moved meanwhile is met by that reaction; one who stood still is
not, and need not be.

Ghosts come from `LimeSystem`: one reaction to hosts that departed, one to hosts that are there.

What is for the team only is in a space of the team's own name: the flag, announced by a weak
reaction that fires once, and faces, read straight from the teammate concerned. Spaces of different
names are shared apart from each other, so opponents do not see these tuples, whatever they ask for
in the spaces they have. Nothing but manners keeps an opponent from opening a space of that name;
where that is not enough, a space is put under a law.
"""

from __future__ import annotations

import asyncio
from math import dist
from random import Random
from typing import Any, Final, Self

from nomospace.client import Agent, Space, Tuple
from nomospace.errors import Unavailable
from nomospace.terms.templates import ANY
from nomospace_lab.apps.redrover.display import Display
from nomospace_lab.apps.redrover.ground import Body, Place

GAME: Final = "redrover"
AT, ICON, FLAG = "at", "icon", "flag"
"""The tuples of the game: a position, a face, a flag that was found."""
PACE_S: Final = 2.0
"""How often a player looks up from the path, and tells where it is."""
BOLD: Final = 0.7
"""How often a player who chooses a way goes where the rivals' flag may be."""
GATHERED_M: Final = 12.0
"""How near to the finder is near enough."""


def team_space(team: str) -> str:
    """The name of a team's own space."""
    return f"{GAME}-{team}"


class RedroverPlayer:
    """One player: body, device, and a bot that plays."""

    def __init__(
        self,
        agent: Agent,
        spaces: tuple[Space, Space],
        team: str,
        rival: str,
        body: Body,
        rng: Random,
        display: Display,
        pace_s: float = PACE_S,
    ) -> None:
        self.agent = agent
        self.team = team
        self.rival = rival
        self.body = body
        self.display = display
        self.called_home = False
        """When the whistle has blown: go to the middle of the field."""
        self.gathered = False
        """Whether this player found the flag and has had its whole team around it."""
        self.steered_to: Place | None = None
        """Where a person sends the player; the bot chooses its way when nobody does."""
        self._pace_s = pace_s
        self._game, self._own = spaces
        self._rng = rng
        self._step = 0
        self._found = False
        self._mates: dict[str, None] = {}
        self._listen()

    @classmethod
    async def join(
        cls,
        agent: Agent,
        team: str,
        rival: str,
        body: Body,
        rng: Random,
        display: Display | None = None,
        *,
        pace_s: float = PACE_S,
    ) -> Self:
        """Share the game's space and the team's, show a face, and begin to watch."""
        game, own = await agent.space(GAME), await agent.space(team_space(team))
        await agent.share(game, own)
        player = cls(agent, (game, own), team, rival, body, rng, display or Display(), pace_s)
        await own.out(ICON, team, agent.id, f"the face of {agent.id}")
        await player.tell_position()
        return player

    @property
    def id(self) -> str:
        """The agent's id."""
        return self.agent.id

    def team_of(self, mates: list[str]) -> None:
        """Be told who else is in the team."""
        self._mates = dict.fromkeys(mate for mate in mates if mate != self.id)

    # -- what the device hears ---------------------------------------------------------------

    def _listen(self) -> None:
        async def position(found: Tuple, source: str, handle: Any) -> None:
            _, player, x, y, step = found
            if source == player:  # nobody tells where others are
                self.display.show_position(player, (x, y), step)

        async def departed(found: Tuple, source: str, handle: Any) -> None:
            self.display.show_ghost(found[1], True)

        async def connected(found: Tuple, source: str, handle: Any) -> None:
            self.display.show_ghost(found[1], False)

        async def flag(found: Tuple, source: str, handle: Any) -> None:
            _, _, finder, x, y = found
            self.display.show_flag(finder, (x, y))

        self._game.react((AT, str, float, float, int), position)
        self.agent.system.react(("host", str, "departed"), departed)
        self.agent.system.react(("host", str, "connected"), connected)
        self._own.react((FLAG, self.team, str, float, float), flag, mode="once")

    # -- what the player does ------------------------------------------------------------------

    async def tell_position(self) -> None:
        """Write where the body is, in place of the last position."""
        self._step += 1
        x, y = self.body.at
        await self._game.take_nowait(AT, self.id, float, float, int, at=self.id)
        await self._game.out(AT, self.id, x, y, self._step)

    async def look_for_flag(self) -> None:
        """Announce the rivals' flag when it is in sight."""
        place = self.body.sees(self.rival)
        if place is not None and self.display.flag is None and not self._found:
            self._found = True
            await self._own.out(FLAG, self.team, self.id, *place)

    async def look_at(self, other: str) -> str | None:
        """Ask another player's device for her face; `None` for a rival, or one out of reach."""
        try:
            found = await self._own.read_nowait(ICON, ANY, other, str, at=other)
        except Unavailable:  # contact was lost while it was asked
            return None
        if found is None:
            return None
        picture: str = found[3]
        self.display.show_face(other, picture)
        return picture

    async def spy_on(self, other: str) -> list[Tuple]:
        """Read all that another player shows to everybody."""
        try:
            return await self._game.read_all(str, ANY, ANY, ANY, ANY, at=other)
        except Unavailable:
            return []

    async def play(self) -> None:
        """Walk, look and tell, for ever."""
        await asyncio.sleep(self._rng.uniform(0, self._pace_s))
        while True:
            if not (self.body.arrived and self._told):
                await self.tell_position()
            await self.look_for_flag()
            await self._look_around()
            self._choose_way()
            await asyncio.sleep(self._pace_s)

    @property
    def _told(self) -> bool:
        """Whether the position that the body has is the one that was told last."""
        shown = self.display.figures.get(self.id)
        return shown is not None and shown == (self.body.at, self._step)

    async def _look_around(self) -> None:
        """Get a face that is missing, or try to learn something from a rival."""
        shown = [p for p in self.display.figures if p != self.id and not self.display.is_ghost(p)]
        rivals = [player for player in shown if player not in self._mates]
        faceless = [p for p in shown if p in self._mates and p not in self.display.faces]
        if faceless:
            await self.look_at(self._rng.choice(faceless))
        elif rivals:
            rival = self._rng.choice(rivals)
            await self.look_at(rival)
            await self.spy_on(rival)

    def _choose_way(self) -> None:
        if self.called_home:
            self.body.go(self.body.ground.middle)
        elif self.steered_to is not None:
            self.body.go(self.steered_to)
        elif self.display.flag is not None:
            self._gather(*self.display.flag)
        elif self.body.arrived:
            ground, rng = self.body.ground, self._rng
            boldly = rng.random() < BOLD
            self.body.go(ground.near_flag(self.rival, rng) if boldly else ground.anywhere(rng))

    def _gather(self, finder: str, flag: Place) -> None:
        if finder != self.id:
            seen = self.display.figures.get(finder)
            self.body.go(flag if seen is None else seen.at)
            return
        self.body.go(self.body.at)
        seen_at = [self.display.figures[m].at for m in self._mates if m in self.display.figures]
        near = [at for at in seen_at if dist(at, self.body.at) <= GATHERED_M]
        self.gathered = self.gathered or len(near) == len(self._mates)
