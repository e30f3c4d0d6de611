"""Programs that move in simulated worlds: in one place at a time, with their state, whatever fails.

The ledger knows where a program is at work; it does not let one begin while another is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest

from nomospace.calls.problems import AgentAway, MoveRefused
from nomospace.client import Closed, Departed, Program, TimedOut, program
from nomospace.law import load
from nomospace.terms import t
from nomospace_lab.sim.network import Link
from nomospace_lab.testing.hosts import AgentWorld, play

POST = load(
    "law(post). initialCS([]). R1. sent(_, _, _) :- do(forward). "
    "R2. arrived(_, _, _) :- do(deliver).",
    "post.law",
)


class Ledger:
    """Who is at work where, and all that was ever begun."""

    def __init__(self) -> None:
        self.at_work: list[str] = []
        self.begun: list[str] = []

    def begin(self, host: str) -> None:
        assert not self.at_work, f"begins at {host} while at work at {self.at_work}"
        self.at_work.append(host)
        self.begun.append(host)

    def end(self, host: str) -> None:
        self.at_work.remove(host)


LEDGER = Ledger()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    LEDGER.__init__()  # type: ignore[misc]


class Trip(msgspec.Struct):
    stops: list[str]
    seen: list[str] = []


@program("testing-tourist")
class Tourist(Program[Trip]):
    """Visits its stops, whatever it takes, and says where it has been."""

    async def run(self) -> None:
        LEDGER.begin(self.host)
        try:
            self.state.seen.append(self.host)
            while self.state.stops:
                to = self.state.stops.pop(0)
                try:
                    await self.move(to)
                except MoveRefused:
                    self.state.stops.insert(0, to)
                    await asyncio.sleep(1)
            album = await self.agent.space("album", shared=True)
            if await album.read_nowait("seen", str, at=self.agent.id) is None:
                await album.out("seen", " ".join(self.state.seen))
        finally:
            LEDGER.end(self.host)


def tour(world: AgentWorld, *stops: str) -> Coroutine[Any, Any, Program[Any]]:
    return world.host("x").launch("testing-tourist", name="bob", state=Trip(list(stops)))


async def at_last(world: AgentWorld, at: str) -> str:
    """What the tourist says at its last stop, as the disk there has it."""
    for _ in range(600):
        for row in world.sites[at].disk.tuples.get("album", {}).values():
            return str(row.fields[1])
        await asyncio.sleep(1)
    raise AssertionError(f"never came to {at}: {LEDGER.begun}, {homes(world)}")


def homes(world: AgentWorld) -> list[str]:
    return [name for name, site in world.sites.items() if "bob@x" in site.disk.agents]


def triangle(world: AgentWorld) -> None:
    for name in ("x", "y", "z"):
        world.host(name)
    for a, b in (("x", "y"), ("y", "z"), ("x", "z")):
        world.connect(a, b)


def test_a_program_goes_on_at_each_stop_from_the_top_with_its_state() -> None:
    async def main(world: AgentWorld) -> None:
        triangle(world)
        await world.host("x").wait_engaged("y", "z")
        first = await tour(world, "y", "x", "z", "z")
        assert first.origin == ""
        assert await at_last(world, "z") == "x y x z"
        assert LEDGER.begun == ["x", "y", "x", "z"]
        await asyncio.sleep(1)
        assert homes(world) == ["z"]
        assert not any(host.running for host in world.hosts.values())
        assert world.sites["z"].disk.programs == {}

    play(main, seed=1)


@pytest.mark.parametrize("victim", ["x", "y"])
@pytest.mark.parametrize("seed", [1, 2])
def test_crashes_at_every_step_of_a_move(victim: str, seed: int) -> None:
    for steps in range(1, 61):
        LEDGER.__init__()  # type: ignore[misc]

        async def main(world: AgentWorld, steps: int = steps) -> None:
            world.host("x"), world.host("y")
            world.connect("x", "y")
            await world.host("x").wait_engaged("y")
            await tour(world, "y")
            world.host(victim).crash(down=2, steps=steps)
            said = await at_last(world, "y")
            assert said == "x y", (steps, said)
            await asyncio.sleep(30)
            assert homes(world) == ["y"]
            assert LEDGER.begun[-1] == "y"
            assert not LEDGER.at_work

        play(main, seed=seed)


@pytest.mark.parametrize("seed", range(12))
def test_long_tours_through_bad_weather(seed: int) -> None:
    async def main(world: AgentWorld) -> None:
        triangle(world)
        await world.host("x").wait_engaged("y", "z")
        stops = "y z x z y x y z".split()
        await tour(world, *stops)
        for turn in range(8):
            world.host("xyz"[(seed + turn) % 3]).crash(down=1 + turn % 4, steps=turn % 5)
            await asyncio.sleep(3 + seed % 4)
        assert await at_last(world, "z") == " ".join(["x", *stops])
        await asyncio.sleep(30)
        assert homes(world) == ["z"]

    play(main, seed=seed, link=Link(loss=0.05, repeats=0.05))


def test_a_silent_destination_refuses_and_the_program_goes_on() -> None:
    async def main(world: AgentWorld) -> float:
        triangle(world)
        for other in ("x", "z"):
            world.part("y", other)
        bob = await world.host("x").launch("testing-asker", name="bob", state=Wish("y"))
        began = asyncio.get_running_loop().time()
        while not bob.state.said:
            await asyncio.sleep(0.1)
        assert "no word from y" in bob.state.said[0]
        assert world.host("x").running == {"bob@x": bob}
        return asyncio.get_running_loop().time() - began

    assert 9 < play(main, seed=1) < 12


class Wish(msgspec.Struct):
    to: str
    said: list[str] = []


@program("testing-asker")
class Asker(Program[Wish]):
    """Moves once, and notes why it did not."""

    async def run(self) -> None:
        if self.refused is not None:
            self.state.said.append(f"back: {self.refused}")
        elif not self.origin:
            try:
                await self.move(self.state.to)
                self.state.said.append("went nowhere")
            except MoveRefused as error:
                self.state.said.append(str(error))
        await asyncio.sleep(10_000)


def test_moving_to_where_it_is_changes_nothing() -> None:
    async def main(world: AgentWorld) -> None:
        bob = await world.host("x").launch("testing-asker", name="bob", state=Wish("x"))
        await asyncio.sleep(0)
        assert bob.state.said == ["went nowhere"]

    play(main)


def test_a_host_that_does_not_run_the_program_refuses_before_the_agent_leaves() -> None:
    async def main(world: AgentWorld) -> None:
        x, y = world.host("x"), world.host("y", programs=["testing-tourist"])
        world.connect("x", "y")
        await x.wait_engaged("y")
        assert (y.programs, "testing-asker" in x.programs) == (("testing-tourist",), True)
        bob = await x.launch("testing-asker", name="bob", state=Wish("y"))
        await asyncio.sleep(5)
        (said,) = bob.state.said
        assert "host y does not run program 'testing-asker'" in said
        assert x.running == {"bob@x": bob}

    play(main, seed=1)


def test_one_that_is_sent_back_at_the_door_begins_again_where_it_was() -> None:
    async def main(world: AgentWorld) -> None:
        x, _ = world.host("x"), world.host("y")
        world.connect("x", "y")
        await x.wait_engaged("y")
        core = world.sites["y"].core
        assert core is not None
        core.reads = lambda *_: "the state is of another year"
        first = await x.launch("testing-asker", name="bob", state=Wish("y"))
        await asyncio.sleep(5)
        bob = x.running["bob@x"]
        assert bob is not first
        assert bob.origin == "y"
        (said,) = bob.state.said
        assert said.startswith("back: bob@x does not move to y: the state is of another year")
        x.crash(down=1)
        await asyncio.sleep(5)
        again = x.running["bob@x"]
        assert again is not bob
        assert [again.origin, str(again.refused)] == ["y", str(bob.refused)]

    play(main, seed=1)


class Count(msgspec.Struct):
    saved: int = 0
    unsaved: int = 0


@program("testing-saver")
class Saver(Program[Count]):
    async def run(self) -> None:
        self.state.saved += 1
        await self.save()
        self.state.unsaved += 1
        await asyncio.sleep(10_000)


def test_after_a_crash_a_program_begins_from_its_last_durable_state() -> None:
    async def main(world: AgentWorld) -> None:
        x = world.host("x")
        await x.launch("testing-saver", name="bob")
        await asyncio.sleep(1)
        for life in range(2, 5):
            x.crash(down=1)
            await asyncio.sleep(3)
            assert x.running["bob@x"].state == Count(saved=life, unsaved=1)

    play(main)


class Steps(msgspec.Struct):
    log: list[str] = []


@program("testing-busy")
class Busy(Program[Steps]):
    """Waits, reacts and moves at the same time."""

    ends: list[str] = []  # noqa: RUF012  # of the test, across instances

    async def run(self) -> None:
        jobs = await self.agent.space("jobs", shared=True)
        if self.origin:
            return
        jobs.react(("news", int), self.heard)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.wait(jobs))
                group.create_task(self.go())
        except BaseException as error:
            self.ends.append(type(error).__name__)
            raise
        finally:
            with pytest.raises(Closed):
                await jobs.out("from the grave")
            self.ends.append("finally")

    async def heard(self, *_: object) -> None:
        self.ends.append("heard")

    async def wait(self, jobs: Any) -> None:
        try:
            await jobs.take("job", int)
        except BaseException as error:
            self.ends.append(f"take: {type(error).__name__}")
            raise

    async def go(self) -> None:
        await asyncio.sleep(1)
        try:
            await self.move("y")
        except BaseException as error:
            self.ends.append(f"move: {type(error).__name__}")
            raise


def test_what_waits_and_what_reacts_ends_with_the_program_here() -> None:
    Busy.ends.clear()

    async def main(world: AgentWorld) -> None:
        x, y = world.host("x"), world.host("y")
        world.connect("x", "y")
        await x.wait_engaged("y")
        await x.launch("testing-busy", name="bob")
        await asyncio.sleep(20)
        assert homes(world) == ["y"]
        assert "move: Departed" in Busy.ends
        assert Busy.ends[-1] == "finally"
        assert not {"take: Tuple", "heard"} & set(Busy.ends)
        assert any(end.startswith("take: ") for end in Busy.ends)
        jobs = await (await y.agent("ann")).space("jobs", shared=True)
        await jobs.out("news", 1)
        await jobs.out("job", 1)
        await asyncio.sleep(5)
        assert await jobs.take("job", int, timeout=1) == ("job", 1)  # nobody else took it
        assert "heard" not in Busy.ends

    play(main, seed=1)


class Tally(msgspec.Struct):
    stops: list[str]
    got: list[int] = []


@program("testing-reader")
class Reader(Program[Tally]):
    """Reads a few messages at each stop, and leaves with others unread."""

    async def run(self) -> None:
        ward = await self.agent.adopt(POST)
        while self.state.stops:
            for _ in range(3):
                letter = ward.receive_nowait()
                if letter is not None:
                    self.state.got.append(letter.message.args[0])
            await asyncio.sleep(0.5)
            await self.move(self.state.stops.pop(0))
        async for letter in ward.inbox():
            self.state.got.append(letter.message.args[0])


@pytest.mark.parametrize("seed", range(6))
def test_mail_that_was_not_read_goes_along_once_and_in_order(seed: int) -> None:
    async def main(world: AgentWorld) -> None:
        triangle(world)
        await world.host("x").wait_engaged("y", "z")
        stops = "y z x y z".split()
        await world.host("x").launch("testing-reader", name="bob", state=Tally(stops))
        ann = await (await world.host("y").agent("ann")).adopt(POST)
        for n in range(60):
            await ann.send(t.note(n), to="bob@x")
            await asyncio.sleep(0.07 if seed % 2 else 0.21)
        await asyncio.sleep(20)
        bob = world.host("z").running["bob@x"]
        assert bob.state.got == list(range(60))
        assert bob.origin == "y"

    play(main, seed=seed, link=Link(loss=0.02, repeats=0.02), laws=[POST])


def test_an_agent_that_is_away_is_not_launched_again() -> None:
    async def main(world: AgentWorld) -> None:
        triangle(world)
        await world.host("x").wait_engaged("y", "z")
        await tour(world, "y")
        await at_last(world, "y")
        with pytest.raises(AgentAway, match="bob@x has left x"):
            await tour(world, "z")

    play(main, seed=1)


@program("testing-quitter")
class Quitter(Program[Wish]):
    """Gives up waiting for its move."""

    async def run(self) -> None:
        try:
            async with asyncio.timeout(3):
                await self.move(self.state.to)
        except TimeoutError:
            self.state.said.append("changed my mind")
        except Departed:
            self.state.said.append("gone")
            raise
        await asyncio.sleep(10_000)


def test_a_move_is_called_off_while_the_destination_is_silent() -> None:
    async def main(world: AgentWorld) -> None:
        x, y = world.host("x"), world.host("y")
        bob = await x.launch("testing-quitter", name="bob", state=Wish("y"))
        await asyncio.sleep(5)
        assert bob.state.said == ["changed my mind"]
        world.connect("x", "y")
        await x.wait_engaged("y")
        await asyncio.sleep(30)
        assert x.running == {"bob@x": bob}
        assert not y.running
        with pytest.raises(TimedOut):  # and its agent is as good as ever
            await (await bob.agent.space("jobs", shared=True)).take("job", timeout=1)

    play(main, seed=1)
