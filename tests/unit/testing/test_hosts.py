"""Programs with `async` in simulated worlds: crashes, moves, links, strong reactions, histories."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nomospace.calls.problems import AgentLeft
from nomospace.client import Closed, ReactionHandle, Tuple
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.observed import FIRED
from nomospace_lab.testing.clock import LoopClock
from nomospace_lab.testing.hosts import AgentWorld, SimHost, play
from nomospace_lab.testing.loop import run


def test_the_clock_goes_with_the_loop() -> None:
    async def program() -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []
        clock = LoopClock(asyncio.get_running_loop(), start_us=100)

        def note(what: str) -> None:
            seen.append((what, clock.now))

        def chain() -> None:
            note("chain")
            clock.after(0, note, "same instant")
            clock.after(5, note, "after")

        clock.after(3_000_000, note, "late")
        clock.after(1_000_000, chain)  # earlier than what the timer was set for
        await asyncio.sleep(2)
        note("slept")
        clock.at(0, note, "past")
        await asyncio.sleep(2)
        return seen

    assert run(program()) == [
        ("chain", 1_000_100),
        ("same instant", 1_000_100),
        ("after", 1_000_105),
        ("slept", 2_000_100),
        ("past", 2_000_100),
        ("late", 3_000_100),
    ]


def test_a_crash_ends_programs_and_what_waits_and_keeps_tuples() -> None:
    started: list[float] = []

    async def main(world: AgentWorld) -> None:
        x = world.host("x")
        assert world.host("x") is x

        async def program(host: SimHost) -> None:
            started.append(asyncio.get_running_loop().time())
            jobs = await (await host.agent("ann")).space("jobs", shared=True)
            await jobs.out("life", len(started))
            await jobs.take("never")

        x.program(program)
        await asyncio.sleep(10)
        bob = await x.agent("bob")
        jobs = await bob.space("jobs", shared=True)
        handle = jobs.react(("job", int), print)
        waiting = asyncio.create_task(jobs.take("never"))
        await asyncio.sleep(1)
        x.crash(down=20)
        assert not x.up
        assert repr(x) == "<simulated host x, down>"
        with pytest.raises(Closed):
            await waiting
        with pytest.raises(Closed):
            await jobs.out("job", 1)
        with pytest.raises(Closed):
            _ = x.view
        assert handle.state == "removed"
        assert not x.connected("x")
        await x.wait_up()
        await asyncio.sleep(5)
        again = await x.agent("bob")
        assert again is not bob
        jobs = await again.space("jobs", shared=True)
        assert sorted(await jobs.read_all("life", int)) == [("life", 1), ("life", 2)]

    play(main, seed=3)
    assert [round(at) for at in started] == [0, 31]


def test_an_agent_moves_with_all_it_has() -> None:
    async def main(world: AgentWorld) -> None:
        world.host("x")
        world.host("y")
        ann = await world.host("x").agent("ann")
        jobs = await ann.space("jobs", shared=True)
        await jobs.out("job", 1)
        waiting = asyncio.create_task(jobs.take("never"))
        await asyncio.sleep(1)
        moving = asyncio.create_task(world.travel(ann, "y", travel_s=5))
        with pytest.raises(AgentLeft):
            await waiting
        with pytest.raises(AgentLeft):
            await jobs.out("job", 2)
        await moving
        assert world.where["ann@x"] == "y"
        assert await jobs.take("job", int) == ("job", 1)  # the same program goes on
        assert ann.connected("ann@x")
        assert world.host("y").connected("ann@x")
        assert not world.host("x").connected("ann@x")
        assert await world.host("x").agent("ann") is ann

    play(main)


def test_links_and_groups() -> None:
    async def main(world: AgentWorld) -> None:
        hosts = [world.host(name) for name in ("x", "y", "z")]
        world.connect("x", "y")
        world.connect("y", "z")
        for host in hosts:
            await host.wait_engaged("x", "y", "z", timeout=60)
        assert hosts[0].view.members == ("x", "y", "z")
        world.part("y", "z")
        await hosts[0].wait_parted("z", timeout=60)
        hosts[1].disengage()
        await hosts[0].wait_parted("y", timeout=60)
        with pytest.raises(TimeoutError):
            await hosts[0].wait_engaged("y", timeout=20)
        hosts[1].engage()
        await hosts[0].wait_engaged("y", timeout=60)

    play(main, seed=7, link=Link(loss=0.05))


def test_strong_reactions_work_in_the_step_and_are_in_the_history() -> None:
    async def main(world: AgentWorld) -> None:
        jobs = await (await world.host("x").agent("ann")).space("jobs", shared=True)
        inner: list[ReactionHandle[Any]] = []

        def finish(job: Tuple, source: str, handle: ReactionHandle[Any]) -> None:
            step = handle.space
            assert step.read_nowait(*job) == job
            assert step.read_all("job", int) == [job]
            assert step.take_nowait(*job) == job
            step.out("done", job[1])
            assert step.take_all("other", int) == []
            if not inner:
                inner.append(jobs.react(("done", int), lambda *_: None))

        jobs.react(("job", int), finish, strength="strong", at="x")
        await jobs.out("job", 1)
        assert await jobs.read("done", int) == ("done", 1)
        await inner[0].wait_fired()
        assert list(world.reports) == []
        [fired] = [h.what for h in world.history if h.kind == FIRED and h.what.strength == "strong"]
        assert (fired.wrote, fired.took) == (
            (("jobs", ("done", 1)),),
            (("jobs", ("job", 1)),),
        )

    play(main)


def test_what_a_program_raises_is_raised_by_the_world() -> None:
    async def main(world: AgentWorld) -> None:
        async def bad(host: SimHost) -> None:
            await asyncio.sleep(3)
            raise KeyError("lost")

        world.host("x").program(bad)
        await asyncio.sleep(1000)

    with pytest.raises(KeyError, match="lost"):
        play(main)


def test_one_seed_gives_one_history() -> None:
    async def main(world: AgentWorld) -> list[str]:
        rng = world.rng("program")
        names = ("x", "y", "z")
        for name in names:
            world.host(name)
        world.connect("x", "y")
        world.connect("y", "z")

        async def works(host: SimHost) -> None:
            jobs = await (await host.agent("worker")).space("jobs", shared=True)
            while True:
                await jobs.out("job", rng.randrange(3))
                await asyncio.sleep(rng.random())
                await jobs.take_nowait("job", rng.randrange(3))

        for name in names:
            world.host(name).program(works)
        await asyncio.sleep(20)
        world.host("y").crash(down=4, steps=3)
        await asyncio.sleep(30)
        return [str(happening) for happening in world.history]

    first = play(main, seed=5)
    assert len(first) > 200
    assert first == play(main, seed=5)
    assert first != play(main, seed=6)


@pytest.mark.parametrize("seed", range(4))
def test_takes_that_are_cancelled_at_any_moment_lose_and_double_nothing(seed: int) -> None:
    """Three hosts join and part while takes time out, or are cancelled on their way."""
    jobs_max = 40

    async def main(world: AgentWorld) -> tuple[list[int], list[int]]:
        rng = world.rng("program")
        names = ("x", "y", "z")
        written: list[int] = []
        taken: list[int] = []

        async def writes(host: SimHost) -> None:
            jobs = await (await host.agent("writer")).space("jobs", shared=True)
            while len(written) < jobs_max:
                written.append(len(written))
                await jobs.out("job", written[-1])
                await asyncio.sleep(rng.random() * 2)

        async def takes(host: SimHost) -> None:
            jobs = await (await host.agent("taker")).space("jobs", shared=True)
            while True:
                take = asyncio.create_task(jobs.take("job", int, timeout=rng.random() * 5))
                if rng.random() < 0.5:
                    await asyncio.sleep(rng.random() * 0.3)
                    take.cancel()
                await asyncio.wait([take])
                if not take.cancelled() and take.exception() is None:
                    taken.append(take.result()[1])

        for name in names:
            world.host(name).program(writes)
            world.host(name).program(takes)
        world.connect("x", "y")
        world.connect("y", "z")
        for _ in range(10):
            await asyncio.sleep(rng.random() * 8)
            a, b = rng.sample(names, 2)
            if world.topology.linked(a, b):
                world.part(a, b)
            else:
                world.connect(a, b)
        for a, b in (("x", "y"), ("y", "z"), ("x", "z")):
            world.connect(a, b)
        await asyncio.sleep(60)
        for name in names:
            jobs = await (await world.host(name).agent("writer")).space("jobs", shared=True)
            taken += [job[1] for job in await jobs.read_all("job", int)]
        assert list(world.reports) == []
        return written, taken

    written, taken = play(main, seed=seed, link=Link(loss=0.05, repeats=0.05))
    assert len(written) == jobs_max
    assert sorted(taken) == written
