"""Steps become durable in groups, in order; a store in trouble is tried again and again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from sys import maxsize
from typing import Any

import pytest

from nomospace.client import Closed, Report, TimedOut
from nomospace.errors import Unavailable
from nomospace.host.changes import AgentCame
from nomospace.node import Host, keeper as keeper_module
from nomospace.node.clock import ClockMark
from nomospace.node.keeper import HEAVY_BYTES, IDLE, TROUBLE, WAITING, WRITING, Keeper
from nomospace.protocols.pair import StandbyAway
from nomospace.store.interface import KeptForClient, Step, StoreFull
from nomospace.store.memory import MemoryStore


class Slow(MemoryStore):
    """A store whose disk answers when the test says so, and says what the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[int] = []
        self.most = maxsize
        self.fails: list[BaseException] = []
        self.may_flush = threading.Event()
        self.may_flush.set()
        self._staged: tuple[Sequence[Step], int] = ((), 0)

    immediate = False

    def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
        self._staged = (list(steps)[: self.most], at)
        return len(self._staged[0])

    def flush(self) -> None:
        assert threading.current_thread() is not threading.main_thread()
        assert self.may_flush.wait(60)
        if self.fails:
            raise self.fails.pop(0)
        steps, at = self._staged
        super().stage(steps, at=at)
        self.groups.append(len(steps))


FULL = StoreFull(where="x.db", why="no space left")


def step(number: int) -> Step:
    return Step((AgentCame(f"a{number}@x", number),))


class Told:
    """What a keeper told."""

    def __init__(self) -> None:
        self.kept: list[int] = []
        self.trouble: list[Unavailable | None] = []
        self.broken: list[BaseException] = []

    def keeper(self, store: MemoryStore) -> Keeper:
        return Keeper(
            store,
            now=lambda: ClockMark(7),
            kept=self.kept.append,
            troubled=self.trouble.append,
            broken=self.broken.append,
        )


def run(program: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(240):
            await program()

    asyncio.run(limited())


def test_what_comes_while_the_disk_is_busy_is_the_next_group() -> None:
    async def program() -> None:
        store, told = Slow(), Told()
        keeper = told.keeper(store)
        store.may_flush.clear()
        assert keeper.put(step(1)) == 1
        await asyncio.sleep(0.05)
        for number in range(2, 101):
            keeper.put(step(number))
        await asyncio.sleep(0.05)
        assert told.kept == []
        store.may_flush.set()
        assert await keeper.drain(60)
        assert store.groups == [1, 99]
        assert told.kept == [1, 100]
        assert keeper.state == IDLE
        assert len(store.durable.agents) == 100
        assert store.last_at == 7
        keeper.stop()

    run(program)


def test_what_is_too_much_for_one_group_is_the_first_of_the_next() -> None:
    async def program() -> None:
        store, told = Slow(), Told()
        store.most = 4
        store.fails = [FULL]
        keeper = told.keeper(store)
        for number in range(1, 11):
            keeper.put(step(number))
        assert await keeper.drain(60)
        assert (store.groups, told.kept) == ([4, 4, 2], [4, 8, 10])
        assert list(store.durable.agents) == [f"a{number}@x" for number in range(1, 11)]
        keeper.stop()

    run(program)


class Lagging(Slow):
    """A store whose disk takes some time."""

    def flush(self) -> None:
        time.sleep(0.1)
        super().flush()


class Watched:
    """A loop whose clock the test moves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = 1.0

    def time(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class Patient(Watched):
    """One whose timers do not fire; the last is the test's to call."""

    look: Callable[[], None]

    def call_later(self, _: float, then: Callable[[], None]) -> asyncio.TimerHandle:
        self.look = then
        return self._loop.call_later(3_600, str)  # it can be cancelled


class Gated(Slow):
    """A store whose disk is done each time that the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.gate = threading.Semaphore(0)

    def flush(self) -> None:
        self.begun += 1
        assert self.gate.acquire(timeout=60)
        super().flush()


async def halves(store: Gated, told: Told) -> tuple[Keeper, Patient]:
    """Ten clients, of which four had the disk for themselves at first; it is done with them."""
    keeper = told.keeper(store)
    watch = Patient(asyncio.get_running_loop())
    keeper._loop = watch  # type: ignore[assignment]
    keeper._clock = watch.time
    put(keeper, 4)
    while not store.begun:
        await asyncio.sleep(0.001)
    put(keeper, 6)
    await written(store, told, watch)
    return keeper, watch


def put(keeper: Keeper, count: int) -> None:
    for number in range(count):
        keeper.put(step(number))


async def written(store: Gated, told: Told, watch: Patient, took: float = 0.1) -> None:
    """The disk has been at work for a while, and is done."""
    turn = len(told.kept)
    while store.begun == turn:
        await asyncio.sleep(0.001)
    watch.now += took
    store.gate.release()
    while len(told.kept) == turn:
        await asyncio.sleep(0.001)


def test_a_crowd_that_was_cut_in_two_finds_together_again() -> None:
    async def program() -> None:
        store, told = Gated(), Told()
        keeper, watch = await halves(store, told)
        for _ in range(3):
            assert keeper.state == WAITING
            put(keeper, 4)
            assert keeper.state == WRITING
            await written(store, told, watch)
            put(keeper, 6)
        assert keeper.state == WAITING
        watch.look()  # some have come since
        assert keeper.state == WAITING
        watch.look()  # nobody has
        await written(store, told, watch)
        assert keeper.state == IDLE
        assert store.groups == [4, 10, 10, 10, 6]
        keeper.stop()

    run(program)


def test_a_crowd_that_comes_one_by_one_has_its_time_and_no_more() -> None:
    async def program() -> None:
        store, told = Gated(), Told()
        keeper, watch = await halves(store, told)  # six are there, and ten are waited for
        put(keeper, 1)
        watch.look()
        assert keeper.state == WAITING
        put(keeper, 1)
        watch.now += 10
        watch.look()
        assert keeper.state == WRITING
        store.gate.release()
        keeper.stop()

    run(program)


def test_without_patience_it_goes_on_in_two_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "PATIENCE", 0.0)

    async def program() -> None:
        store, told = Gated(), Told()
        keeper, watch = await halves(store, told)
        assert keeper.state == WRITING
        put(keeper, 4)
        for _ in range(2):
            await written(store, told, watch)
        assert store.groups == [4, 6, 4]
        keeper.stop()

    run(program)


def test_a_crowd_that_is_slower_than_the_disk_goes_on_in_two_halves() -> None:
    async def program() -> None:
        store, told = Gated(), Told()
        keeper = told.keeper(store)
        watch = Watched(asyncio.get_running_loop())
        keeper._loop = watch  # type: ignore[assignment]
        keeper._clock = watch.time
        for number in range(4):
            keeper.put(step(number))
        for turn in range(6):  # each half comes back just before the other's write is over
            while store.begun == turn:
                await asyncio.sleep(0.001)
            before = len(told.kept)
            watch.now += 0.08
            for number in range(4):
                keeper.put(step(number))
            assert keeper.state == WRITING
            watch.now += 0.02
            store.gate.release()
            while len(told.kept) == before:
                await asyncio.sleep(0.001)
            assert turn == 0 or keeper.state == WRITING  # nobody is waited for, once that is known
        store.gate.release()
        assert await keeper.drain(60)
        assert store.groups == [4] * 7
        keeper.stop()

    run(program)


@pytest.mark.parametrize(("late", "state"), [(0.002, WAITING), (0.2, WRITING)])
def test_a_crowd_that_is_slower_than_the_disk_is_waited_for_if_it_is_soon_back(
    late: float, state: str
) -> None:
    async def program() -> None:
        store, told = Gated(), Told()
        keeper, watch = await halves(store, told)
        keeper._took = 0.001
        watch.now += late
        put(keeper, 4)  # all are back
        await written(store, told, watch, took=0.001)
        watch.now += late / 2
        put(keeper, 5)
        while store.begun < 3 and keeper.state == WRITING:
            await asyncio.sleep(0.001)
        assert keeper.state == state
        store.gate.release()
        keeper.stop()

    run(program)


def test_one_who_stays_away_does_not_hold_up_a_crowd() -> None:
    async def program() -> None:
        store, told = Lagging(), Told()
        keeper = told.keeper(store)
        for number in range(32):
            keeper.put(step(number))
        assert await keeper.drain(60)
        for number in range(29):
            keeper.put(step(number))
        assert keeper.state == WAITING
        keeper.put(step(29))
        assert keeper.state == WRITING
        assert await keeper.drain(60)
        assert store.groups == [32, 30]
        keeper.stop()

    run(program)


def test_a_crowd_is_counted_by_the_answers_that_it_waits_for() -> None:
    async def program() -> None:
        store, told = Lagging(), Told()
        keeper = told.keeper(store)
        answers = tuple([KeptForClient("ann", number, b"x") for number in range(8)])
        keeper.put(Step(step(1).changes, answers))
        keeper.put(Step(step(2).changes, answers))
        assert await keeper.drain(60)
        keeper.put(Step(step(3).changes, answers))
        keeper.put(Step(step(4).changes, answers[:6]))
        keeper.put(Step((), (), (b"record",)))  # nobody waits for that
        assert keeper.state == WAITING
        keeper.put(Step(step(5).changes, answers[:1]))
        assert keeper.state == WRITING
        assert await keeper.drain(60)
        assert store.groups == [2, 4]
        keeper.stop()

    run(program)


def test_a_crowd_that_did_not_come_is_not_waited_for_again_soon() -> None:
    async def program() -> None:
        store, told = Lagging(), Told()
        keeper = told.keeper(store)
        for number in range(10):
            keeper.put(step(number))
        assert await keeper.drain(60)
        keeper.put(step(10))
        assert keeper.state == WAITING
        assert await keeper.drain(60)
        for number in range(3):
            keeper.put(step(number))
        assert await keeper.drain(60)
        keeper.put(step(11))
        assert keeper.state == WRITING
        assert await keeper.drain(60)
        assert store.groups == [10, 1, 3, 1]
        keeper.stop()

    run(program)


def test_a_group_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "GROUP_MAX", 10)

    async def program() -> None:
        store, told = Slow(), Told()
        keeper = told.keeper(store)
        for number in range(25):
            keeper.put(step(number))
        assert await keeper.drain(60)
        assert store.groups == [10, 10, 5]
        keeper.stop()

    run(program)


def test_a_full_disk_is_tried_again_until_there_is_room() -> None:
    async def program() -> None:
        store, told = Slow(), Told()
        store.fails = [FULL, FULL]
        keeper = told.keeper(store)
        keeper.put(step(1))
        while keeper.state != TROUBLE:
            assert not await keeper.drain(0.01)
        keeper.put(step(2))
        assert await keeper.drain(60)
        assert told.trouble == [FULL, None]
        assert store.groups == [1, 1]
        assert told.kept[-1] == 2
        keeper.stop()

    run(program)


def test_what_cannot_be_told_to_those_who_wait_breaks_the_host_too() -> None:
    """Else it would go on, and answer nothing."""

    class Failing(Told):
        def keeper(self, store: MemoryStore) -> Keeper:
            made = super().keeper(store)
            made._on_kept = self.fail
            return made

        def fail(self, number: int) -> None:
            raise ZeroDivisionError(number)

    async def program() -> None:
        told = Failing()
        told.keeper(Slow()).put(step(1))
        while not told.broken:
            await asyncio.sleep(0.001)
        assert isinstance(told.broken[0], ZeroDivisionError)

    run(program)


def test_a_broken_store_is_told_once_and_nothing_is_kept_after_it() -> None:
    async def program() -> None:
        store, told = Slow(), Told()
        store.fails = [OSError("the disk is gone")]
        keeper = told.keeper(store)
        keeper.put(step(1))
        while not told.broken:
            await asyncio.sleep(0.01)
        keeper.put(step(2))
        await asyncio.sleep(0.05)
        assert told.kept == []
        assert store.groups == []
        assert len(told.broken) == 1

    run(program)


def test_an_answer_waits_for_the_disk_and_so_does_all_that_comes_after_it() -> None:
    async def program() -> None:
        store = Slow()
        async with Host("ward", store=store) as host:
            nurse = await host.agent("nurse")
            jobs = await nurse.space("jobs", shared=True)
            store.may_flush.clear()
            written = asyncio.ensure_future(jobs.out("job", 1))
            read = asyncio.ensure_future(jobs.read_nowait("job", int))
            await asyncio.sleep(0.05)
            assert not written.done()
            assert not read.done()  # it found what is not yet on disk
            store.may_flush.set()
            await written
            assert await read == ("job", 1)
            assert len(store.durable.tuples["jobs"]) == 1

    run(program)


def test_while_the_disk_is_full_calls_are_refused_with_the_reason() -> None:
    async def program() -> None:
        store, reports = Slow(), list[Report]()
        async with Host("ward", store=store, on_report=reports.append) as host:
            jobs = await (await host.agent("nurse")).space("jobs", shared=True)
            store.fails = [FULL] * 4
            first = asyncio.ensure_future(jobs.out("job", 1))
            while not reports:
                await asyncio.sleep(0.005)
            with pytest.raises(StoreFull, match="is full"):
                await jobs.out("job", 2)
            await first  # it was taken in before, and is kept when there is room
            await jobs.out("job", 3)
            assert await jobs.read_all("job", int) == [("job", 1), ("job", 3)]
            assert [report.what for report in reports] == [
                "the store takes no steps",
                "the store takes steps again",
            ]

    run(program)


def test_a_take_whose_time_is_up_while_the_disk_is_full_ends() -> None:
    async def program() -> None:
        store, reports = Slow(), list[Report]()
        async with Host("ward", store=store, on_report=reports.append) as host:
            jobs = await (await host.agent("nurse")).space("jobs", shared=True)
            taking = asyncio.ensure_future(jobs.take("job", 2, timeout=0.03))
            store.fails = [FULL] * 3
            first = asyncio.ensure_future(jobs.out("job", 1))
            await first
            assert [report.what for report in reports][:1] == ["the store takes no steps"]
            with pytest.raises(TimedOut):
                async with asyncio.timeout(5):
                    await taking
            await jobs.out("job", 2)
            assert await jobs.read("job", 2) == ("job", 2)  # nobody takes it any more

    run(program)


def test_a_store_that_breaks_ends_the_host() -> None:
    async def program() -> None:
        store, reports = Slow(), list[Report]()
        host = Host("ward", store=store, on_report=reports.append)
        await host.start()
        jobs = await (await host.agent("nurse")).space("jobs", shared=True)
        store.fails = [OSError("the disk is gone")]
        with pytest.raises(Closed):
            await jobs.out("job", 1)
        assert [report.what for report in reports] == ["a host stopped"]
        with pytest.raises(Closed):
            await host.agent("porter")

    run(program)


class Elsewhere:
    """A witness that has what the test says."""

    has = False

    def has_all(self) -> bool:
        return self.has

    def away(self, after_s: float) -> Unavailable:
        return StandbyAway(host="ward", number=1, after_s=after_s, where="x.db")


def test_nobody_is_told_before_the_witness_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "AWAY_S", 0.05)

    async def program() -> None:
        store, told, witness = Slow(), Told(), Elsewhere()
        keeper = told.keeper(store)
        keeper.witness = witness
        keeper.put(step(1))
        while not told.trouble:
            await asyncio.sleep(0.01)
        keeper.put(step(2))
        keeper.witnessed()
        assert (told.kept, store.groups, keeper.state) == ([], [1], keeper_module.WITNESS)
        assert str(keeper.trouble).startswith("the standby of host ward has not acknowledged")
        witness.has = True
        keeper.witnessed()
        keeper.witnessed()  # another word of it changes nothing
        assert await keeper.drain(60)
        assert (told.kept, store.groups) == ([1, 2], [1, 1])
        assert told.trouble[1:] == [None]
        keeper.stop()

    run(program)


def test_it_knows_the_last_step_with_a_large_answer() -> None:
    async def program() -> None:
        keeper = Told().keeper(Slow())
        for bytes_ in (10, HEAVY_BYTES, 10):
            keeper.put(Step(outbox=(KeptForClient("ann@x", keeper.last + 1, bytes(bytes_)),)))
        assert (keeper.last, keeper.heavy) == (3, 2)
        await keeper.close(60)

    run(program)
