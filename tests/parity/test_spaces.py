"""Spaces: what agents write, read, take and react to, on one host and on several."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from nomospace import ANY, TimedOut, between, t
from nomospace.client import ReactionHandle, Tuple
from tests.parity.conftest import Play
from tests.parity.worlds import WAIT_S, World, see, until


def test_a_tuple_is_taken_once_and_read_often(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        nurse, porter = await world.agent("nurse", "ward"), await world.agent("porter", "ward")
        mine = await nurse.space("jobs", shared=True)
        theirs = await porter.space("jobs", shared=True)
        await mine.out("job", 17, t.room(3))
        assert await theirs.read("job", int, ANY, timeout=WAIT_S) == ("job", 17, t.room(3))
        assert await theirs.take("job", between(1, 20), ANY, timeout=WAIT_S) == (
            "job",
            17,
            t.room(3),
        )
        assert await mine.read_nowait("job", ANY, ANY) is None
        with pytest.raises(TimedOut):
            await mine.take("job", ANY, ANY, timeout=0.05)

    play(story)


def test_values_come_back_as_they_were(play: Play) -> None:
    values: list[Any] = [
        1,
        1.0,
        True,
        None,
        "é\n'",
        b"\x00\xff",
        (),
        (1, (2, "x")),
        2**80,
        -(2**63),
        1e300,
    ]
    values += [t.f(t.g("a", (1,)), None), "", t["odd name"](1)]
    values += [{}, {"n": 1, "of": ({"a": None},), "Two words": {"x": b"\x00"}}]

    async def story(world: World) -> None:
        await world.start("ward")
        notes = await (await world.agent("nurse", "ward")).space("notes", shared=True)
        for number, value in enumerate(values):
            await notes.out(number, value)
        for number, value in enumerate(values):
            found = await notes.take(number, ANY, timeout=WAIT_S)
            assert found == (number, value)
            assert type(found[1]) is type(value)

    play(story)


def test_a_dict_is_found_by_some_of_its_keys(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        jobs = await (await world.agent("nurse", "ward")).space("jobs", shared=True)
        await jobs.out_many([("job", {"n": n, "done": n % 2 == 0}) for n in range(20)])
        waiting = asyncio.create_task(jobs.take("job", {"n": 77}, timeout=WAIT_S))
        assert await jobs.take("job", {"n": 13}, timeout=WAIT_S) == (
            "job",
            {"n": 13, "done": False},
        )
        assert await jobs.take_nowait("job", {"n": 13}) is None
        assert len(await jobs.read_all("job", {"done": True})) == 10
        assert len(await jobs.take_all("job", {"n": between(0, 3), "done": bool})) == 4
        await jobs.out("job", {"n": 77})
        assert await waiting == ("job", {"n": 77})

    play(story)


def test_bulk_forms_take_all_there_is(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        jobs = await (await world.agent("nurse", "ward")).space("jobs", shared=True)
        await jobs.out_many([("job", number) for number in range(50)])
        assert len(await jobs.read_all("job", int)) == 50
        assert await jobs.take_all("job", between(0, 9)) == [("job", n) for n in range(10)]
        assert await jobs.take_nowait("job", 3) is None
        assert await jobs.take_nowait("job", 10) == ("job", 10)

    play(story)


def test_a_lease_that_is_not_acknowledged_comes_back_counted(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        jobs = await (await world.agent("nurse", "ward")).space("jobs", shared=True)
        await jobs.out("job", 1)
        job = await jobs.take("job", int, lease=30, timeout=WAIT_S)
        assert job.deliveries == 1
        await jobs.give_back(job)
        async with jobs.take("job", int, lease=30, timeout=WAIT_S) as job:
            assert job.deliveries == 2
        assert await jobs.read_nowait("job", int) is None

    play(story)


def test_tuples_expire(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        jobs = await (await world.agent("nurse", "ward")).space("jobs", shared=True)
        await jobs.out("soon", 1, ttl=0.2)
        await jobs.out("late", 1, ttl=3600)

        async def gone() -> bool:
            return await jobs.read_nowait("soon", int) is None

        await until(gone)
        assert await jobs.read_nowait("late", int) == ("late", 1)

    play(story)


def test_a_take_that_waits_is_served_and_one_that_is_cancelled_takes_nothing(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        nurse, porter = await world.agent("nurse", "ward"), await world.agent("porter", "ward")
        mine = await nurse.space("jobs", shared=True)
        theirs = await porter.space("jobs", shared=True)
        given_up = asyncio.ensure_future(theirs.take("job", int, timeout=WAIT_S))
        await asyncio.sleep(0.1)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        waiting = asyncio.ensure_future(theirs.take("job", int, timeout=WAIT_S))
        await asyncio.sleep(0.1)
        await mine.out("job", 1)
        assert await waiting == ("job", 1)

    play(story)


def test_reactions_fire_for_what_is_there_and_what_comes(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        nurse = await world.agent("nurse", "ward")
        jobs = await nurse.space("jobs", shared=True)
        seen: list[int] = []
        await jobs.out("alarm", 1)

        def on_alarm(found: Tuple, source: str, handle: ReactionHandle[Any]) -> None:
            assert source == "nurse@ward"
            seen.append(found[1])

        handle = jobs.react(("alarm", int), on_alarm)

        async def all_seen() -> bool:
            return seen == [1, 2, 3]

        await jobs.out("alarm", 2)
        await jobs.out("alarm", 3)
        await until(all_seen)
        handle.remove()
        await jobs.out("alarm", 4)
        await jobs.out("alarm", 5)
        assert await jobs.read_nowait("alarm", 5) == ("alarm", 5)
        assert seen == [1, 2, 3]

    play(story)


def test_hosts_that_reach_each_other_share_their_spaces(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward", "icu")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "icu")
        mine, theirs = await ann.space("jobs", shared=True), await bob.space("jobs", shared=True)
        await see(ann, "icu")
        waiting = asyncio.ensure_future(theirs.take("job", 2, timeout=WAIT_S))
        await mine.out("job", 1)
        await mine.out("job", 2)
        assert await waiting == ("job", 2)
        assert await theirs.take("job", int, timeout=WAIT_S) == ("job", 1)
        await mine.out("note", 1, to="bob@icu")
        assert await theirs.take("note", int, at="bob@icu", timeout=WAIT_S) == ("note", 1)

    play(story)


def test_of_many_takers_on_three_hosts_each_tuple_has_one(play: Play) -> None:
    tuples = 60

    async def story(world: World) -> None:
        hosts = ("ward", "icu", "lab")
        await world.start(*hosts)
        spaces = []
        for host in hosts:
            agent = await world.agent("ann", host)
            spaces.append(await agent.space("jobs", shared=True))
            for other in hosts:
                if other != host:
                    await see(agent, other)
        taken: Counter[int] = Counter()

        async def take(space: int) -> None:
            while True:
                found = await spaces[space].take("job", int, timeout=WAIT_S)
                taken[found[1]] += 1

        takers = [asyncio.ensure_future(take(number % 3)) for number in range(6)]
        for number in range(tuples):
            await spaces[number % 3].out("job", number)

        async def all_taken() -> bool:
            return sum(taken.values()) >= tuples

        await until(all_taken)
        for taker in takers:
            taker.cancel()
        await asyncio.gather(*takers, return_exceptions=True)
        assert taken == Counter(range(tuples))

    play(story)
