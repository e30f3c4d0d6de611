"""What is written once, and taken once, whatever happens in between."""

import pytest

from nomospace import LeaseLapsed, Space, t
from tests.parity.conftest import Play
from tests.parity.worlds import WAIT_S, World


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


def test_a_lease_goes_on_when_its_host_was_killed(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")

        async def jobs_of(name: str) -> Space:
            return await (await world.agent(name, "ward")).space("jobs", shared=True)

        jobs = await jobs_of("nurse")
        await jobs.out("job", 1)
        await jobs.out("job", 2)
        lent = [await jobs.take("job", n, lease=600, timeout=WAIT_S) for n in (1, 2)]
        await world.kill("ward")
        await world.start("ward")
        jobs = await jobs_of("nurse")
        assert await jobs.read_all("job", int) == []
        await jobs.renew(lent[0], 600)
        await jobs.acknowledge(lent[0])
        await jobs.give_back(lent[1], why="the host was away")
        again = await (await jobs_of("porter")).take("job", int, timeout=WAIT_S)
        assert (again[1], again.deliveries) == (2, 1)
        assert [(end.agent, end.why) for end in again.history] == [
            ("nurse@ward", "the host was away")
        ]
        with pytest.raises(LeaseLapsed):
            await jobs.renew(lent[1], 600)

    play(story)
