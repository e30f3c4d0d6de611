"""The jigsaw for people: real hosts, and a clock of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from nomospace_lab.apps.jigsaw.live import SEATS_MAX, LiveTable, SeatTaken, TableFull
from nomospace_lab.apps.jigsaw.puzzle import Puzzle
from nomospace_lab.cli.venue import InProcess
from nomospace_lab.testing.loop import run

WAIT_S = 60.0


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not true():
            await asyncio.sleep(0.05)


async def table(width: int = 2, height: int = 1) -> LiveTable:
    found = LiveTable(InProcess(), puzzle=Puzzle(width, height))
    await found.start()
    return found


def test_a_piece_is_selected_and_assembled() -> None:
    async def play() -> None:
        it = await table()
        ann = await it.sit("ann")
        await until(lambda: len(ann.board().parts) == 2)
        assert {part.holder for part in ann.board().parts} == {"box"}
        assert await ann.assemble(0, 1) == "both pieces must be yours: select them first"
        assert [await ann.select(cell) for cell in (0, 1)] == ["", ""]
        assert await ann.assemble(0, 1) == ""
        assert ann.board().complete
        await it.stop()

    run(play())


def test_two_play_through_a_disconnection() -> None:
    async def play() -> None:
        it = await table(3, 1)
        ann, bob = await it.sit("ann"), await it.sit("bob")
        await until(lambda: len(bob.board().parts) == 3 and ann.device.connected(bob.player.id))
        await ann.select(0)
        await ann.select(1)
        await bob.select(2)
        await until(lambda: [p.holder for p in ann.board().parts] == ["ann", "ann", "bob"])
        await ann.go_offline()
        await until(lambda: not ann.device.connected(bob.player.id))
        greyed = [(part.holder, part.at_hand) for part in ann.board().parts]
        assert greyed == [("ann", True), ("ann", True), ("bob", False)]
        assert await ann.select(2) == "bob holds this piece and is out of reach"
        assert await ann.assemble(0, 1) == ""
        assert len(bob.board().parts) == 3, "bob cannot know yet"
        await until(lambda: [one.here for one in bob.board().players] == [False, True])
        await ann.come_back()
        await until(lambda: len(bob.board().parts) == 2)
        assert await ann.select(2) == ""
        assert await ann.assemble(1, 2) == ""
        await until(lambda: bob.board().complete)
        await it.stop()

    run(play())


def test_who_leaves_hands_its_pieces_to_the_box() -> None:
    async def play() -> None:
        it = await table()
        ann, bob = await it.sit("ann"), await it.sit("bob")
        await until(lambda: len(ann.board().parts) == 2)
        await ann.select(0)
        await ann.go_offline()
        await ann.leave()
        await until(lambda: {part.holder for part in bob.board().parts} == {"box"})
        again = await it.sit("ann")
        await until(lambda: len(again.board().parts) == 2)
        assert await again.select(0) == ""
        await it.stop()

    run(play())


def test_pieces_that_do_not_fit_stay_apart() -> None:
    async def play() -> None:
        it = await table(3, 1)
        ann = await it.sit("ann")
        await until(lambda: len(ann.board().parts) == 3)
        for cell in range(3):
            await ann.select(cell)
        assert await ann.assemble(0, 2) == "these two do not fit"
        await it.stop()

    run(play())


def test_seats_are_bounded_and_names_are_ones_own() -> None:
    async def play() -> None:
        it = await table()
        for number in range(SEATS_MAX):
            await it.sit(f"p{number}")
        with pytest.raises(SeatTaken):
            await it.sit("p3")
        with pytest.raises(TableFull):
            await it.sit("late")
        await it.stop()

    run(play())
