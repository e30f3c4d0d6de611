"""`002_…` section 5: what the paper says of its two games, true of the games in `apps`."""

import asyncio
from random import Random
from typing import Any

import pytest

from nomospace_lab.apps.jigsaw import player as jigsaw
from nomospace_lab.apps.jigsaw.puzzle import Piece, Puzzle, TrayPiece
from nomospace_lab.apps.redrover import player as redrover
from nomospace_lab.apps.redrover.ground import Body, Ground
from nomospace_lab.testing.hosts import AgentWorld, play

ROW = Puzzle(4, 1)


async def at_table(world: AgentWorld, name: str) -> jigsaw.Player:
    agent = await world.host(f"{name}-pda").agent(name)
    return await jigsaw.Player.join(agent, ROW, Random(1))


async def table(world: AgentWorld) -> tuple[jigsaw.Player, jigsaw.Player]:
    """Ann and Bob in contact, and Ann has opened the box."""
    ann, bob = await at_table(world, "ann"), await at_table(world, "bob")
    await together(world)
    await ann.load()
    await asyncio.sleep(1)
    return ann, bob


async def together(world: AgentWorld) -> None:
    world.connect("ann-pda", "bob-pda")
    await world.hosts["ann-pda"].wait_engaged("bob-pda", timeout=30)
    await asyncio.sleep(2)


async def apart(world: AgentWorld) -> None:
    world.part("ann-pda", "bob-pda")
    for host, other in (("ann-pda", "bob-pda"), ("bob-pda", "ann-pda")):
        await world.hosts[host].wait_parted(other, timeout=30)


def holders(player: jigsaw.Player) -> dict[tuple[int, ...], str]:
    return {part.piece.cells: part.holder.partition("@")[0] for part in player.tray.parts()}


def part(player: jigsaw.Player, cell: int) -> TrayPiece:
    return next(part for part in player.tray.parts() if cell in part.piece.cells)


def test_trays_are_the_same_at_the_beginning() -> None:
    """5.1: the player who loads the puzzle has all pieces, and everyone connected sees them."""

    async def main(world: AgentWorld) -> None:
        ann, bob = await table(world)
        assert holders(ann) == holders(bob) == dict.fromkeys([(0,), (1,), (2,), (3,)], "ann")

    play(main)


def test_a_selection_is_seen_by_all_and_moves_the_piece() -> None:
    """5.1: the piece changes its colour on all displays, and its tuple is with the new owner."""

    async def main(world: AgentWorld) -> None:
        ann, bob = await table(world)
        assert await bob.select(part(bob, 2))
        await asyncio.sleep(1)
        assert holders(ann) == holders(bob)
        assert holders(ann)[2,] == "bob"
        assert await bob.holds() == [Piece(2, (2,), 1)]
        assert [piece.id for piece in await ann.holds()] == [0, 1, 3]

    play(main)


def test_apart_each_works_with_its_own_and_trays_reconcile() -> None:
    """5.1: what is assembled while apart is seen when contact is restored, and not before."""

    async def main(world: AgentWorld) -> None:
        ann, bob = await table(world)
        for cell in (2, 3):
            assert await bob.select(part(bob, cell))
        await asyncio.sleep(1)
        before = holders(ann)
        await apart(world)
        assert holders(ann) == before  # disconnection does not show
        assert not await ann.select(part(ann, 2))
        assert not await bob.select(part(bob, 0))
        assert not await ann.assemble(part(ann, 1), part(ann, 2))
        assert [piece.id for piece in await ann.holds()] == [0, 1]  # it is as it was
        assert await bob.assemble(part(bob, 2), part(bob, 3))
        await asyncio.sleep(5)
        assert holders(ann) == before
        assert holders(bob)[2, 3] == "bob"
        await together(world)
        assert holders(ann) == holders(bob) == {(0,): "ann", (1,): "ann", (2, 3): "bob"}
        assert await ann.select(part(ann, 3))  # possible again, assemblies too

    play(main)


def test_a_piece_that_is_gone_undoes_an_assembly() -> None:
    """5.1: another player may take the second piece meanwhile; then the first is put back."""

    async def main(world: AgentWorld) -> None:
        ann, bob = await table(world)
        one, other = part(ann, 0), part(ann, 1)
        assert await bob.select(part(bob, 1))
        assert not await ann.assemble(one, other)
        await asyncio.sleep(1)
        assert sorted(piece.id for piece in await ann.holds()) == [0, 2, 3]
        assert holders(bob) == holders(ann)
        assert ann.beeps == 1

    play(main)


def test_of_two_who_select_one_piece_one_gets_it() -> None:
    """5.1: the other one hears a beep."""

    async def main(world: AgentWorld) -> None:
        ann, bob = await table(world)
        carl = await at_table(world, "carl")
        world.connect("carl-pda", "ann-pda")
        await world.hosts["carl-pda"].wait_engaged("bob-pda", timeout=30)
        await asyncio.sleep(2)
        got = await asyncio.gather(bob.select(part(bob, 0)), carl.select(part(carl, 0)))
        await asyncio.sleep(1)
        assert sorted(got) == [False, True]
        assert holders(ann) == holders(bob) == holders(carl)

    play(main)


def test_one_reaction_is_all_a_player_needs() -> None:
    """5.1: weak, ubiquitous, once per tuple; a newcomer's tray is filled by it; no LimeSystem."""

    async def main(world: AgentWorld) -> None:
        ann, bob = await table(world)
        assert await bob.select(part(bob, 3))
        carl = await at_table(world, "carl")
        world.connect("carl-pda", "bob-pda")
        await world.hosts["carl-pda"].wait_engaged("ann-pda", timeout=30)
        await asyncio.sleep(2)
        assert holders(carl) == holders(ann)
        [reaction] = carl.space.reactions()
        assert (reaction.strength, reaction.mode, reaction.at) == ("weak", "once-per-tuple", "")
        assert (await world.hosts["carl-pda"].agent("carl")).system.reactions() == []

    play(main)


# -- 5.2 -----------------------------------------------------------------------------------

GROUND = Ground(100.0, 50.0, {"red": (10.0, 10.0), "blue": (90.0, 40.0)})


async def on_field(world: AgentWorld, name: str, team: str) -> redrover.RedroverPlayer:
    agent = await world.host(f"{name}-pda").agent(name)
    rival = "blue" if team == "red" else "red"
    body = Body(GROUND, (50.0, 25.0))
    return await redrover.RedroverPlayer.join(agent, team, rival, body, Random(1))


async def teams(
    world: AgentWorld,
) -> tuple[redrover.RedroverPlayer, redrover.RedroverPlayer, redrover.RedroverPlayer]:
    """Ann and Bob are red, Dana is blue, all in contact."""
    players = (
        await on_field(world, "ann", "red"),
        await on_field(world, "bob", "red"),
        await on_field(world, "dana", "blue"),
    )
    world.connect("bob-pda", "dana-pda")
    await together(world)
    await world.hosts["ann-pda"].wait_engaged("dana-pda", timeout=30)
    await asyncio.sleep(2)
    return players


def shown(player: redrover.RedroverPlayer) -> list[tuple[str, Any]]:
    """What changes on a display from now on."""
    changes: list[tuple[str, Any]] = []
    player.display.on_change = lambda what, value: changes.append((what, value))
    return changes


def test_a_move_is_seen_by_all() -> None:
    """5.2: positions are pulled from the game's space, the moving player's display included."""

    async def main(world: AgentWorld) -> None:
        players = await teams(world)
        ann = players[0]
        ann.body.at = (20.0, 30.0)
        await ann.tell_position()
        await asyncio.sleep(1)
        for player in players:
            assert player.display.figures[ann.id] == ((20.0, 30.0), 2)
            assert len(player.display.figures) == 3

    play(main)


@pytest.mark.parametrize("moves", [False, True])
def test_departures_make_ghosts_and_only_news_is_told(moves: bool) -> None:
    """5.2: a ghost while disconnected; on reconnection a position fires only if it changed."""

    async def main(world: AgentWorld) -> None:
        ann, bob, dana = await teams(world)
        changes = shown(bob)
        await apart(world)
        await asyncio.sleep(1)
        assert changes == [("ghost", "ann-pda")]
        assert bob.display.is_ghost(ann.id)
        assert not bob.display.is_ghost(dana.id)
        assert ann.display.is_ghost(bob.id)
        assert bob.display.figures[ann.id].at == (50.0, 25.0)  # where she was last seen
        if moves:
            ann.body.at = (1.0, 1.0)
            await ann.tell_position()
        await together(world)
        news = [("position", (ann.id, 2))] if moves else []
        assert changes[1:] == [("back", "ann-pda"), *news]
        assert bob.display.figures[ann.id].at == ((1.0, 1.0) if moves else (50.0, 25.0))

    play(main)


def test_team_data_is_for_the_team() -> None:
    """5.2: the flag is announced once, to teammates only; faces are read from their owner."""

    async def main(world: AgentWorld) -> None:
        ann, bob, dana = await teams(world)
        changes = [shown(player) for player in (ann, bob, dana)]
        bob.body.at = (85.0, 35.0)
        ann.body.at = (88.0, 38.0)
        await asyncio.gather(bob.look_for_flag(), ann.look_for_flag())  # both see it at once
        await asyncio.sleep(1)
        flags = [[value for what, value in seen if what == "flag"] for seen in changes]
        assert [len(seen) for seen in flags] == [1, 1, 0]
        assert await ann.look_at(bob.id) == "the face of bob@bob-pda"
        assert await dana.look_at(bob.id) is None
        assert [found[0] for found in await dana.spy_on(bob.id)] == ["at"]
        await apart(world)
        assert await ann.look_at(bob.id) is None  # it goes straight to a player out of reach

    play(main)


def test_nobody_tells_where_others_are() -> None:
    """Beyond 5.2: a position is believed only from the player's own device."""

    async def main(world: AgentWorld) -> None:
        ann, bob, dana = await teams(world)
        space = await dana.agent.space(redrover.GAME)
        await space.out(redrover.AT, bob.id, 0.0, 0.0, 99)
        await asyncio.sleep(2)
        assert ann.display.figures[bob.id].at == (50.0, 25.0)

    play(main)
