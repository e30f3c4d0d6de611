"""What `nomospace up` can show: each demonstration with its hosts and what it is on them.

A demonstration is a line in `DEMOS`; its room is imported only when it is chosen. What is a
stage of the pages (`nomospace_lab.pages.stage`) is handed to them under its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from nomospace_lab.apps.venue import Venue
    from nomospace_lab.testing.together import Together


class DemoAct(Protocol):
    """Something that goes on by itself between its start and its stop."""

    async def start(self) -> None:
        """Begin."""

    async def stop(self) -> None:
        """End."""


@dataclass(frozen=True)
class ChosenDemo:
    """A demonstration, chosen: the hosts that it wants, and what it is once they run.

    `stages` are the arguments of `pages` that the act is. Those that have no hosts
    here open their own at a venue (`apps.venue`).
    """

    put_on: Callable[[Together], DemoAct]
    hosts: tuple[str, ...] = ()
    stages: Callable[[DemoAct], dict[str, Any]] = field(default=lambda _: {})


class Demo(NamedTuple):
    """What a demonstration shows, in words, and how it is made from a seed and a venue for games.

    Others join a `game`.
    """

    words: str
    show: Callable[[int, Venue], ChosenDemo]
    game: bool = False


class _Open:
    """A hospital, and two games that cost nothing before somebody plays them."""

    def __init__(self, hospital: DemoAct, seed: int, venue: Venue) -> None:
        from nomospace_lab.apps.jigsaw.live import LiveTable
        from nomospace_lab.apps.redrover.live import Field

        self.hospital = hospital
        self.games: dict[str, DemoAct] = {
            "jigsaw": LiveTable(venue, seed=seed),
            "redrover": Field(venue, seed=seed),
        }

    async def start(self) -> None:
        """Open the hospital."""
        await self.hospital.start()

    async def stop(self) -> None:
        """Close it, and end the games."""
        for game in self.games.values():
            await game.stop()
        await self.hospital.stop()


def _hospital(seed: int, venue: Venue) -> ChosenDemo:
    # All of it now: a host that starts looks for the program of an assistant that it has kept.
    from nomospace_lab.apps.hospital.cast import WARDS
    from nomospace_lab.apps.hospital.ward import HospitalWards

    return ChosenDemo(
        lambda hosts: _Open(HospitalWards(hosts, seed=seed), seed, venue), tuple(WARDS), _opened
    )


def _opened(act: DemoAct) -> dict[str, Any]:
    assert isinstance(act, _Open)
    return {"hospital": act.hospital, "games": act.games}


def _bidding(seed: int, _venue: Venue) -> ChosenDemo:
    from nomospace_lab.apps.bidding.market import HOSTS, Market

    return ChosenDemo(lambda hosts: Market(hosts, seed=seed), tuple(HOSTS))


def _jigsaw(seed: int, venue: Venue) -> ChosenDemo:
    from nomospace_lab.apps.jigsaw.live import LiveTable

    return ChosenDemo(lambda _: LiveTable(venue, seed=seed), stages=_game("jigsaw"))


def _redrover(seed: int, venue: Venue) -> ChosenDemo:
    from nomospace_lab.apps.redrover.live import Field

    return ChosenDemo(lambda _: Field(venue, seed=seed), stages=_game("redrover"))


def _assistants(seed: int, _venue: Venue) -> ChosenDemo:
    from nomospace_lab.apps.assistants.live import SITES, Assistants

    del seed  # people decide what happens
    return ChosenDemo(Assistants, tuple(SITES), _game("assistants"))


def _game(name: str) -> Callable[[DemoAct], dict[str, Any]]:
    return lambda act: {"games": {name: act}}


DEMOS: dict[str, Demo] = {
    "hospital": Demo("a hospital under law AP: three wards, each a host", _hospital),
    "bidding": Demo("a market under law SB: clients, providers and a snoop", _bidding),
    "jigsaw": Demo("RoamingJigsaw: a table where every window is a player", _jigsaw, True),
    "redrover": Demo("RedRover: two teams on a field, each device a host", _redrover, True),
    "assistants": Demo("personal assistants that go where their people send them", _assistants),
}
"""The demonstrations by name; the first is what a newcomer sees."""
