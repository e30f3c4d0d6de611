"""What is written once, however often it is tried, and whatever happens in between."""

from nomospace import t
from tests.parity.conftest import Play
from tests.parity.worlds import World


def test_a_key_is_written_once_also_across_a_kill(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        jobs = await (await world.agent("nurse", "ward")).space("jobs", shared=True)
        for _ in range(3):
            await jobs.out("job", 1, t.room(3), once="batch/1")
        await jobs.out("job", 2, t.room(3), once="batch/2")
        await world.kill("ward")
        await world.start("ward")
        jobs = await (await world.agent("nurse", "ward")).space("jobs", shared=True)
        await jobs.out("job", 1, t.room(3), once="batch/1")
        assert [found[1] for found in await jobs.take_all("job", int, t.room(int))] == [1, 2]
        await jobs.out("job", 1, t.room(3), once="batch/1")  # taken, and still written once
        assert await jobs.read_nowait("job", 1, t.room(3)) is None

    play(story)
