"""Connections of clients that break, fall silent or stay away lose and double nothing."""

from __future__ import annotations

import asyncio
import random

import pytest

from nomospace.client import TimedOut, session_driver
from nomospace.client.remote import connect
from nomospace.client.session_driver import HostLost
from nomospace.law import load
from nomospace.node import clients
from nomospace.sessions.client_session import SessionLost
from tests.unit.client.scene import Scene, in_scene, until


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("after", [1, 2, 4, 5, 11, 25, 44, 45, 46, 47, 48, 60, 90])
def test_a_connection_cut_anywhere_loses_and_doubles_nothing(way: str, after: int) -> None:
    """The first bytes cut a call, or its answer, in two; the later ones the next words, or none."""

    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        cut = scene.proxy.cut_up if way == "up" else scene.proxy.cut_down
        for number in range(3):
            cut(after)
            await jobs.out("job", number)
        assert sorted(one[1] for one in await scene.left()) == [0, 1, 2]
        for number in range(3):
            cut(after)
            assert await jobs.take("job", number) == ("job", number)
        cut(after)
        await jobs.out("job", 3)
        async with jobs.take("job", 3, lease=30):
            cut(after)
        cut(after)
        assert await jobs.take_all("job", int) == []
        assert await scene.left() == []
        assert scene.proxy.cuts >= 2
        assert scene.reports == []

    in_scene(program)


@pytest.mark.parametrize("seed", range(3))
def test_many_calls_under_way_survive_many_cuts(seed: int) -> None:
    async def program(scene: Scene) -> None:
        chance = random.Random(seed)
        jobs = await scene.jobs()
        taken: list[int] = []
        stop = False

        async def cutting() -> None:
            while not stop:
                chance.choice([scene.proxy.cut_up, scene.proxy.cut_down])(chance.randrange(1, 900))
                await asyncio.sleep(chance.uniform(0, 0.01))

        async def writer(first: int) -> None:
            for number in range(first, first + 40):
                await jobs.out("job", number)

        async def taker() -> None:
            for _ in range(40):
                found = await jobs.take("job", int)
                taken.append(found[1])

        trouble = asyncio.create_task(cutting())
        places = 0
        while not places or scene.proxy.cuts <= 3:  # calls that go out together are cut less often
            assert places < 100, f"{scene.proxy.cuts} cuts"
            async with asyncio.TaskGroup() as group:
                for place in range(places, places + 5):
                    group.create_task(writer(40 * place))
                    group.create_task(taker())
            places += 5
        stop = True
        await trouble
        scene.proxy.calm()
        await until(lambda: not scene.proxy.cutting)
        assert await jobs.read_nowait("job", int) is None  # over a connection that stays
        assert sorted(taken) == list(range(40 * places))
        assert await scene.left() == []

    in_scene(program)


def test_what_waits_goes_on_waiting_over_a_new_connection() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        waiting = asyncio.create_task(jobs.take("job", int))
        await scene.asked()
        await scene.part()
        clerk = await scene.host.agent("clerk")
        theirs = await clerk.space("jobs", shared=True)
        await theirs.out("job", 1)  # it is taken for a client that is not there
        assert await theirs.read_nowait("job", int) is None
        scene.proxy.closed = False
        assert await waiting == ("job", 1)

    in_scene(program)


@pytest.mark.parametrize("when", ["before", "while", "after"])
def test_a_cancelled_take_leaves_its_tuple_whatever_the_connection_does(when: str) -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        waiting = asyncio.create_task(jobs.take("job", int))
        await scene.asked()
        clerk = await scene.host.agent("clerk")
        theirs = await clerk.space("jobs", shared=True)
        if when == "before":
            waiting.cancel()
            await scene.asked(0)
            await theirs.out("job", 1)
        else:
            await scene.part()
            await theirs.out("job", 1)
            if when == "while":
                waiting.cancel()
            scene.proxy.closed = False
            if when == "after":
                await until(waiting.done)
                assert waiting.result() == ("job", 1)
                await jobs.out("job", 1)
        assert await theirs.take("job", int, timeout=60) == ("job", 1)
        assert await scene.left() == []
        if when != "after":
            with pytest.raises(asyncio.CancelledError):
                await waiting

    in_scene(program)


OWN = load("""
law(own).
R1. sent(X, out([letter, X, N]), _) :- do(forward).
R2. sent(_, Op, _) :- takes(Op), do(forward).
R3. sent(_, M, _) :- answers(M), do(forward).
R4. arrived(_, _, _) :- do(deliver).
takes(in(_)). takes(inp(_)). takes(ing(_)). takes(cancel(_)).
answers(found(_, _)). answers(none(_)).
""")


@pytest.mark.parametrize("asked", ["waiting", "later"])
def test_what_its_taker_may_not_write_back_is_for_the_next_take(asked: str) -> None:
    """Only authors may write here, so a take that was called off too late cannot be undone."""

    async def program(scene: Scene) -> None:
        nurse, clerk = await scene.far.agent("nurse"), await scene.host.agent("clerk")
        spaces = []
        for agent in (nurse, clerk):
            await agent.adopt(OWN)
            spaces.append(await agent.space("post", shared=True, law=OWN))
        mine, theirs = spaces
        called_off = asyncio.create_task(mine.take("letter", str, int))
        await scene.asked()
        await scene.part()
        await theirs.out("letter", clerk.id, 1)  # given to the nurse, who cannot be told
        called_off.cancel()
        with pytest.raises(asyncio.CancelledError):
            await called_off
        if asked == "waiting":
            waiting = asyncio.create_task(mine.take("letter", str, int))
            await asyncio.sleep(0.02)
            scene.proxy.closed = False
            assert await waiting == ("letter", clerk.id, 1)
            # The take at the host is called off, which may be too late again.
            await theirs.out("letter", clerk.id, 2)
            assert await mine.take("letter", str, int, timeout=60) == ("letter", clerk.id, 2)
        else:
            scene.proxy.closed = False
            await until(lambda: bool(nurse._session._session.unreturned))  # type: ignore[attr-defined]
            with pytest.raises(TimedOut):
                await mine.take("letter", str, float, timeout=0.05)
            assert await mine.take("letter", str, int) == ("letter", clerk.id, 1)
        with pytest.raises(TimedOut):
            await mine.take("letter", str, int, timeout=0.05)
        assert not scene.reports

    in_scene(program)


def test_time_runs_out_while_there_is_no_connection_too() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        await scene.part()
        with pytest.raises(TimedOut):
            await jobs.take("job", int, timeout=0.05)
        scene.proxy.closed = False
        await jobs.out("job", 1)
        assert await jobs.take("job", int) == ("job", 1)

    in_scene(program)


def test_a_host_that_says_nothing_is_taken_for_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_driver, "TICK_S", 0.02)
    monkeypatch.setattr(session_driver, "ALIVE_S", 0.05)

    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        carried = scene.proxy.carried
        await until(lambda: scene.proxy.carried > carried + 5)  # a quiet line is alive
        assert scene.proxy.connections == 1
        scene.proxy.frozen = True
        waiting = asyncio.create_task(jobs.out("job", 1))
        with monkeypatch.context() as impatient:
            impatient.setattr(session_driver, "DEAD_S", 0.3)
            await until(lambda: scene.proxy.connections > 1)
        assert not waiting.done()
        scene.proxy.frozen = False
        await waiting
        assert await scene.left() == [("job", 1)]

    in_scene(program)


def test_a_client_that_says_nothing_is_taken_for_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        scene.proxy.frozen = True
        with monkeypatch.context() as impatient:
            impatient.setattr(clients, "SILENT_S", 0.2)
            await until(lambda: all(session.link is None for session in scene.host.served.all))
        assert [what for what, _ in scene.host.notes] == ["silent"]
        scene.proxy.frozen = False
        await jobs.out("job", 1)
        assert await scene.left() == [("job", 1)]

    in_scene(program)


def test_a_host_that_stays_away_is_lost_and_says_so() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        waiting = asyncio.create_task(jobs.take("job", int))
        await scene.asked()
        scene.proxy.closed = True
        scene.proxy.cut()
        with pytest.raises(HostLost, match="connect again, and look"):
            await waiting
        with pytest.raises(HostLost):
            await jobs.out("job", 1)
        assert [report.what for report in scene.reports] == ["a session ended"]
        scene.proxy.closed = False
        assert (await scene.jobs()).owner == "nurse@ward"

    in_scene(program, reconnect_s=0.2, connect_s=60)


def test_no_more_calls_are_under_way_than_the_window_lets_and_all_get_their_turn() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        waiting = [asyncio.create_task(jobs.take("job", number)) for number in range(3)]
        await scene.asked(2)
        sessions = scene.host.served.all
        assert [len(session.calls) for session in sessions] == [2]
        clerk = await scene.host.agent("clerk")
        theirs = await clerk.space("jobs", shared=True)
        for number in range(3):
            await theirs.out("job", number)
        assert await asyncio.gather(*waiting) == [("job", 0), ("job", 1), ("job", 2)]

    in_scene(program, window=2)


def test_a_session_that_was_given_up_puts_back_what_was_never_sent() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        waiting = asyncio.create_task(jobs.take("job", int))
        await scene.asked()
        await scene.part()
        clerk = await scene.host.agent("clerk")
        theirs = await clerk.space("jobs", shared=True)
        await theirs.out("job", 1)
        scene.host.served.expire(now=10**15)
        assert await theirs.take("job", int, timeout=60) == ("job", 1)
        scene.proxy.closed = False
        with pytest.raises(SessionLost, match="may have been done or not"):
            await waiting
        await jobs.out("job", 2)  # the next call begins a session
        assert await jobs.take("job", 2) == ("job", 2)

    in_scene(program)


def test_a_new_program_ends_what_is_left_of_an_old_one() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        waiting = asyncio.create_task(jobs.take("job", int))
        await scene.asked()
        await scene.part()
        async with connect(scene.url) as again:
            theirs = await (await again.agent("nurse")).space("jobs", shared=True)
            await theirs.out("job", 1)
            assert await theirs.take("job", int, timeout=60) == ("job", 1)
        scene.proxy.closed = False
        with pytest.raises(SessionLost):
            await waiting

    in_scene(program)
