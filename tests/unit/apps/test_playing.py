"""Games as worlds: played to their end, freed when they are over, and ended by what goes wrong."""

import asyncio
import gc
from weakref import ref

import pytest

from nomospace.client import Tuple
from nomospace_lab.apps.jigsaw.world import build
from nomospace_lab.apps.playing import Game, us
from nomospace_lab.sim import play
from nomospace_lab.sim.workloads import Workload
from nomospace_lab.testing.hosts import AgentWorld


class Broken(Game):
    """A game in which something fails: a listener, or the script."""

    where_it_fails = "listener"

    async def script(self) -> None:
        space = await (await self.world.host("x").agent("ann")).space("jobs", shared=True)

        def listener(found: Tuple, source: str, handle: object) -> None:
            raise ZeroDivisionError("in the listener")

        if self.where_it_fails == "listener":
            space.react(("job", int), listener)
        await space.out("job", 1)
        await asyncio.sleep(5)
        if self.where_it_fails == "script":
            raise ZeroDivisionError("in the script")


@pytest.mark.parametrize("place", ["listener", "script"])
def test_what_fails_fails_the_game(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "where_it_fails", place)
    with pytest.raises(ZeroDivisionError, match=f"in the {place}"):
        Broken(1).run()
    world, outcome = play(Workload("broken", "", Broken, (), ""), 1)
    assert outcome.failed
    assert world is not None
    assert len(world.history) > 3  # its story can be told all the same


def test_a_game_ends_when_its_script_does() -> None:
    game = Broken(1)
    game.where_it_fails = "nowhere"
    game.run()
    assert game.quiet
    assert game.end_us == us(5)
    assert list(game.sites) == ["x"]


def test_a_game_that_is_over_is_freed() -> None:
    game = build(2)
    game.run()
    assert isinstance(game, Game)
    left: list[ref[Game] | ref[AgentWorld]] = [ref(game), ref(game.world)]
    del game
    gc.collect()
    assert [one() for one in left] == [None, None]
