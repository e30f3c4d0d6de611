"""The loop in virtual time: it jumps, keeps order, and says when nothing can happen."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator

import pytest

from nomospace_lab.testing.loop import NotVirtual, Stuck, VirtualLoop, run


def test_a_year_passes_at_once() -> None:
    async def program() -> float:
        await asyncio.sleep(365 * 24 * 3600)
        return asyncio.get_running_loop().time()

    assert run(program(), seconds_max=1e9) == 365 * 24 * 3600


def test_what_falls_on_one_instant_keeps_its_order() -> None:
    seen: list[int] = []

    async def program() -> None:
        loop = asyncio.get_running_loop()
        for n in range(50):
            loop.call_at(1.0, seen.append, n)
        await asyncio.sleep(2)

    run(program())
    assert seen == list(range(50))


def test_time_stands_still_while_something_runs() -> None:
    async def program() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run(program()) == 0.0


def test_a_timer_for_the_past_comes_now_and_time_never_goes_back() -> None:
    times: list[float] = []

    async def program() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(5)
        loop.call_at(1.0, lambda: times.append(loop.time()))
        await asyncio.sleep(1)
        times.append(loop.time())

    run(program())
    assert times == [5.0, 6.0]


def test_timeouts_and_cancelled_timers_work_as_ever() -> None:
    async def program() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.Event().wait()
        async with asyncio.timeout(1000):  # its timer is cancelled and must not be jumped to
            await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert run(program()) == 11.0


def test_stuck_names_who_waits_and_where() -> None:
    async def waits_for_nobody() -> None:
        await asyncio.Event().wait()

    async def program() -> None:
        await asyncio.sleep(2)
        await asyncio.gather(
            asyncio.create_task(waits_for_nobody(), name="ann"),
            asyncio.create_task(waits_for_nobody(), name="bob"),
        )

    with pytest.raises(Stuck, match="at 2 s every task waits") as caught:
        run(program())
    named = [line for line in caught.value.waiting if "waits_for_nobody" in line]
    assert [line.split()[0] for line in named] == ["ann", "bob"]


def test_only_some_of_many_waiting_tasks_are_named() -> None:
    async def program() -> None:
        await asyncio.gather(*(asyncio.Event().wait() for _ in range(100)))

    with pytest.raises(Stuck) as caught:
        run(program())
    assert len(caught.value.waiting) == 9
    assert caught.value.waiting[-1] == "and 93 more"


def test_a_program_that_beats_for_ever_meets_its_limit_and_cleans_up() -> None:
    cleaned = []

    async def program() -> None:
        try:
            while True:
                await asyncio.sleep(1)
        finally:
            await asyncio.sleep(1)  # cleaning up may take virtual time of its own
            cleaned.append(True)

    with pytest.raises(Stuck, match="still runs after 60 virtual seconds"):
        run(program(), seconds_max=60)
    assert cleaned == [True]


def test_threads_are_refused() -> None:
    async def program() -> None:
        await asyncio.to_thread(print)

    with pytest.raises(NotVirtual, match="threads live in real time"):
        run(program())


def test_calls_from_other_threads_are_refused() -> None:
    loop = VirtualLoop()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            loop.call_soon_threadsafe(print)
        except NotVirtual as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    loop.close()
    assert [str(error).split(" live")[0] for error in raised] == ["calls from other threads"]


def test_generators_that_are_broken_off_are_cleaned_up() -> None:
    cleaned = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(True)

    async def program() -> None:
        async for _ in numbers():
            break
        gc.collect()
        await asyncio.sleep(1)
        assert cleaned == [True]

    run(program())
