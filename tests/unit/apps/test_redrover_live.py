"""RedRover for people: real hosts that engage by position, on a clock of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from nomospace_lab.apps.redrover.live import Field, NoSuchPlayer
from nomospace_lab.cli.venue import InProcess
from nomospace_lab.testing.loop import run

WAIT_S = 120


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not true():
            await asyncio.sleep(0.1)


def playing(story: Callable[[Field], Awaitable[None]], seed: int = 3) -> None:
    async def play() -> None:
        field = Field(InProcess(), seed=seed)
        await field.start()
        assert not field.names, "it waits for its player"
        await field.begin()
        try:
            await story(field)
        finally:
            await field.stop()

    run(play())


def seen(field: Field, by: str) -> dict[str, bool]:
    """Whom a device shows, and whether as ghosts."""
    return {one.name: one.ghost for one in field.view(by).figures}


def test_teams_meet_and_a_device_put_away_is_a_ghost() -> None:
    async def story(field: Field) -> None:
        for name in ("ann", "bob"):
            field.steer(name, (20.0, 40.0))
        await until(lambda: seen(field, "ann").get("bob") is False)
        field.put_away("bob", True)
        await until(lambda: seen(field, "ann")["bob"])
        assert field.view("bob").away
        assert seen(field, "bob").get("ann", True), "to it they are ghosts as well"
        field.put_away("bob", False)
        await until(lambda: not seen(field, "ann")["bob"])

    playing(story)


def test_the_flag_is_shown_to_the_own_team_only() -> None:
    async def story(field: Field) -> None:
        flag = field._ground.flags["blue"]
        for name in ("ann", "bob"):
            field.steer(name, flag)
        for rival in ("dana", "eve", "finn"):
            field.steer(rival, (150.0, 5.0))
        await until(lambda: field.view("ann").flag == field.view("bob").flag == flag)
        assert field.view("ann").finder in ("ann", "bob", "cem")
        assert field.view("dana").flag is None

    playing(story)


def test_a_team_that_gathers_wins_and_another_game_begins() -> None:
    async def story(field: Field) -> None:
        for name in ("dana", "eve", "finn"):
            field.put_away(name, True)
            field.steer(name, (150.0, 75.0))
        await until(lambda: field.winner == "red")
        await field.again()
        assert (field.game, field.winner) == (2, "")

    playing(story)


def test_who_is_not_on_the_field_is_not_looked_through() -> None:
    async def story(field: Field) -> None:
        with pytest.raises(NoSuchPlayer, match="ann"):
            field.view("mallory")

    playing(story)


def test_nobody_is_sent_off_the_field() -> None:
    async def story(field: Field) -> None:
        field.steer("ann", (-5.0, 1e9))
        assert field.view("ann").steered_to == (0.0, 80.0)
        field.steer("ann", (float("nan"), 1.0))
        assert field.view("ann").steered_to == (0.0, 80.0), "that is no place"
        field.steer("ann", None)
        assert field.view("ann").steered_to is None

    playing(story)
