"""Reactions as programs use them, and listeners that fail, wait or never return."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from nomospace.calls.problems import UnboundStrong
from nomospace.client import (
    BadListener,
    Closed,
    ListenerBehind,
    ListenerOverran,
    NoSuchWay,
    OutsideStep,
    ReactionHandle,
    Report,
    Tuple,
    WaitingInListener,
    reactions as reactions_module,
)
from nomospace.node import Host
from tests.unit.client.programs import Ward, in_ward

Handle = ReactionHandle[Any]


def test_a_weak_listener_gets_tuple_source_and_handle() -> None:
    seen: list[Any] = []

    async def program(ward: Ward) -> None:
        bob = await ward.jobs_of("bob")
        await bob.out("job", 1)  # what is there already counts
        handle = ward.jobs.react(("job", int), lambda *heard: seen.append(heard))
        await bob.out("job", 2)
        await bob.out("other", 3)
        await handle.wait_fired(2)
        assert [(job, source) for job, source, _ in seen] == [
            (("job", 1), "bob@ward"),
            (("job", 2), "bob@ward"),
        ]
        assert all(given is handle for _, _, given in seen)
        assert handle.space is ward.jobs
        assert (handle.fired, handle.state, handle.mode) == (2, "enabled", "once-per-tuple")
        assert len(await ward.jobs.read_all("job", int)) == 2  # reacting takes nothing

    in_ward(program)


def test_once_fires_once_and_is_gone() -> None:
    seen: list[Tuple] = []

    async def program(ward: Ward) -> None:
        handle = ward.jobs.react(("job", int), lambda job, *_: seen.append(job), mode="once")
        for n in range(5):
            await ward.jobs.out("job", n)
        await asyncio.sleep(5)
        assert (seen, handle.state, ward.jobs.reactions()) == ([("job", 0)], "removed", [])
        handle.remove()
        handle.enable()  # gone is gone
        await asyncio.sleep(5)
        assert len(seen) == 1

    in_ward(program)


def test_disabled_it_sleeps_and_enabled_it_forgets() -> None:
    seen: list[Tuple] = []

    async def program(ward: Ward) -> None:
        handle = ward.jobs.react(("job", int), lambda job, *_: seen.append(job))
        await ward.jobs.out("job", 1)
        await handle.wait_fired(1)
        handle.disable()
        handle.disable()
        await ward.jobs.out("job", 2)
        await asyncio.sleep(5)
        assert seen == [("job", 1)]
        assert ward.jobs.reactions() == [handle]
        handle.enable()
        await asyncio.sleep(5)
        assert sorted(seen[1:]) == [("job", 1), ("job", 2)]

    in_ward(program)


def test_an_async_listener_may_use_what_does_not_wait_for_tuples() -> None:
    async def program(ward: Ward) -> None:
        async def move(job: Tuple, source: str, handle: Handle) -> None:
            taken = await handle.space.take_nowait(*job)
            await asyncio.sleep(1)
            await handle.space.out("done", *taken[1:])

        ward.jobs.react(("job", int), move)
        await ward.jobs.out_many([("job", 1), ("job", 2)])
        # One firing after the other: the second is done a second after the first.
        assert await ward.jobs.take("done", 1, timeout=1.5) == ("done", 1)
        assert await ward.jobs.take_nowait("done", 2) is None
        assert await ward.jobs.take("done", 2, timeout=1.5) == ("done", 2)
        assert ward.reports == []

    in_ward(program)


def test_reactions_do_not_wait_for_each_others_listeners() -> None:
    seen: list[str] = []

    async def program(ward: Ward) -> None:
        async def slow(job: Tuple, source: str, handle: Handle) -> None:
            await asyncio.sleep(10)
            seen.append("slow")

        ward.jobs.react(("job", int), slow)
        ward.jobs.react(("job", int), lambda *_: seen.append("quick"))
        await ward.jobs.out("job", 1)
        await asyncio.sleep(11)

    in_ward(program)
    assert seen == ["quick", "slow"]


@pytest.mark.parametrize("strength", ["weak", "strong"])
def test_a_listener_that_raises_is_reported_and_the_reaction_goes_on(strength: Any) -> None:
    seen: list[Tuple] = []

    async def program(ward: Ward) -> None:
        def bad(job: Tuple, source: str, handle: Handle) -> None:
            seen.append(job)
            raise ValueError(f"no room for {job[1]}")

        handle = ward.jobs.react(("job", int), bad, strength=strength, at="ward")
        await ward.jobs.out("job", 1)
        await ward.jobs.out("job", 2)
        await asyncio.sleep(1)
        assert (seen, handle.fired) == ([("job", 1), ("job", 2)], 2)
        assert [str(report.error) for report in ward.reports] == ["no room for 1", "no room for 2"]
        assert ward.reports[0].what == "a listener failed"
        assert ward.reports[0].facts["space"] == "jobs"
        assert "bad" in str(ward.reports[0])
        assert len(await ward.jobs.take_all("job", int)) == 2

    in_ward(program)


def test_an_async_listener_that_raises_is_reported() -> None:
    async def program(ward: Ward) -> None:
        async def bad(job: Tuple, source: str, handle: Handle) -> None:
            await asyncio.sleep(1)
            raise TimeoutError("its own, not ours")

        handle = ward.jobs.react(("job", int), bad)
        await ward.jobs.out("job", 1)
        await handle.wait_fired()
        assert [str(report.error) for report in ward.reports] == ["its own, not ours"]

    in_ward(program)


def test_an_async_listener_that_never_ends_is_stopped() -> None:
    ended: list[bool] = []

    async def program(ward: Ward) -> None:
        async def hangs(job: Tuple, source: str, handle: Handle) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        handle = ward.jobs.react(("job", int), hangs)
        await ward.jobs.out_many([("job", 1), ("job", 2)])
        await handle.wait_fired(2)
        assert asyncio.get_running_loop().time() == 10.0
        assert [type(report.error) for report in ward.reports] == [ListenerOverran] * 2

    in_ward(program, listener_timeout=5)
    assert ended == [True, True]


def test_a_strong_listener_past_its_limit_is_told_named_and_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes on until it calls the space; whatever it wrote in time stays."""
    monkeypatch.setattr(reactions_module, "LIMIT_S", 0.05)
    wrote = 0

    async def program(ward: Ward) -> int:
        def floods(job: Tuple, source: str, handle: Handle) -> None:
            nonlocal wrote
            with suppress(ListenerOverran):
                while True:
                    handle.space.out("flood", wrote)
                    wrote += 1
            while "floods" not in caplog.text:  # it blocks until it is named
                sum(range(100))
            handle.space.take_nowait("flood", int)

        handle = ward.jobs.react(("job", int), floods, strength="strong", at="ward")
        await ward.jobs.out("job", 1)
        [report] = ward.reports
        assert isinstance(report.error, ListenerOverran)
        assert "took longer than 0.05 s" in str(report.error)
        assert (handle.fired, handle.state) == (1, "enabled")
        for number in range(wrote):  # more than one call may take, on a quick machine
            assert await ward.jobs.take_nowait("flood", int) == ("flood", number)
        assert await ward.jobs.take_nowait("flood", int) is None
        return wrote

    assert in_ward(program) > 0
    assert "floods of ann@ward on 'jobs' has held its event loop for 0." in caplog.text
    assert any('File "' in one for one in caplog.messages)  # its stack, wherever it was just then


def test_one_that_returns_late_is_reported_with_the_stack_it_was_seen_with(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reactions_module, "LIMIT_S", 0.05)

    def dawdles() -> None:
        while "dawdles" not in caplog.text:
            time.sleep(0.01)

    async def program(ward: Ward) -> None:
        async def holds(job: Tuple, source: str, handle: Handle) -> None:
            await asyncio.sleep(1)
            dawdles()
            await asyncio.sleep(1)

        await ward.jobs.react(("job", int), lambda *_: None).wait_registered()
        handle = ward.jobs.react(("job", int), holds)
        await ward.jobs.out("job", 1)
        await handle.wait_fired()
        [report] = ward.reports
        assert isinstance(report.error, ListenerOverran)
        assert "in dawdles" in report.error.stack
        assert asyncio.get_running_loop().time() == 2.0

    in_ward(program)


def test_a_plain_weak_listener_runs_in_a_thread_and_holds_nobody_up() -> None:
    """One past its limit is reported with its stack, and its firings wait for it."""
    let_go = threading.Event()
    threads: list[int] = []

    def hangs(job: Tuple, source: str, handle: Handle) -> None:
        threads.append(threading.get_ident())
        let_go.wait(60)
        handle.remove()

    async def program() -> None:
        reports: asyncio.Queue[Report] = asyncio.Queue()
        async with Host("ward", on_report=reports.put_nowait, listener_timeout=0.05) as host:
            jobs = await (await host.agent("ann")).space("jobs", shared=True)
            handle = jobs.react(("job", int), hangs)
            await jobs.out_many([("job", 1), ("job", 2)])
            error = (await reports.get()).error
            assert isinstance(error, ListenerOverran)
            assert "let_go.wait" in error.stack
            assert await jobs.take("job", 1) == ("job", 1)  # the host goes on
            let_go.set()
            await handle.wait_fired()
            while handle.state != "removed":
                await asyncio.sleep(0)
            assert reports.empty()
        assert len(threads) == 1
        assert threads[0] != threading.get_ident()

    asyncio.run(program())


def test_a_plain_weak_listener_may_give_an_awaitable_and_may_fail() -> None:
    async def program() -> None:
        loops: list[object] = []
        reports: list[Report] = []

        async def later() -> None:
            loops.append(asyncio.get_running_loop())

        def registers(*heard: object) -> None:
            jobs.react(("other", int), print)  # the loop is not here

        def ends(*heard: object) -> None:
            next(iter(()))  # which no future can hold

        async with Host("ward", on_report=reports.append) as host:
            jobs = await (await host.agent("ann")).space("jobs", shared=True)
            gives = jobs.react(("job", int), lambda *_: later())
            await jobs.out("job", 1)
            await gives.wait_fired()
            assert loops == [asyncio.get_running_loop()]
            await jobs.react(("job", int), registers).wait_fired()
            await jobs.react(("job", int), ends).wait_fired()
            first, second = (report.error for report in reports)
            assert str(first) == "no running event loop"
            assert isinstance(second, StopIteration)

    asyncio.run(program())


@pytest.mark.parametrize("operation", ["take", "read"])
def test_waiting_inside_a_listener_is_an_error(operation: str) -> None:
    async def program(ward: Ward) -> None:
        async def waits(job: Tuple, source: str, handle: Handle) -> None:
            await getattr(handle.space, operation)("other", int)

        def plain(job: Tuple, source: str, handle: Handle) -> None:
            getattr(ward.jobs, operation)("other", int)

        def strong(job: Tuple, source: str, handle: Handle) -> None:
            getattr(handle.space, operation)("other", int)

        ward.jobs.react(("job", int), waits)
        ward.jobs.react(("job", int), plain)
        ward.jobs.react(("job", int), strong, strength="strong", at="ward")
        await ward.jobs.out("job", 1)
        await asyncio.sleep(1)
        assert [type(report.error) for report in ward.reports] == [WaitingInListener] * 3
        assert f"{operation}_nowait" in str(ward.reports[0].error)
        await ward.jobs.out("other", 1)
        assert await ward.jobs.take("other", int) == ("other", 1)

    in_ward(program)


def test_a_task_that_a_listener_starts_may_wait() -> None:
    tasks: list[asyncio.Task[Tuple]] = []

    async def program(ward: Ward) -> None:
        async def later() -> Tuple:
            return await ward.jobs.take("other", int)

        def plain(job: Tuple, source: str, handle: Handle) -> None:
            tasks.append(asyncio.get_running_loop().create_task(later()))

        async def starts(job: Tuple, source: str, handle: Handle) -> None:
            tasks.append(asyncio.create_task(later()))
            await asyncio.sleep(1)  # still running while its task begins to wait

        ward.jobs.react(("job", int), plain)
        ward.jobs.react(("job", int), starts)
        await ward.jobs.out("job", 1)
        await asyncio.sleep(5)
        await ward.jobs.out_many([("other", 1), ("other", 2)])
        assert sorted(await asyncio.gather(*tasks)) == [("other", 1), ("other", 2)]
        assert ward.reports == []

    in_ward(program)


def test_a_strong_listener_works_in_the_step_that_brings_the_tuple() -> None:
    async def program(ward: Ward) -> None:
        done = await (await ward.host.agent("ann")).space("done", shared=True)
        bob = await ward.jobs_of("bob")
        waiting = asyncio.create_task(bob.take("job", int))
        await asyncio.sleep(1)

        def finish(job: Tuple, source: str, handle: ReactionHandle[Any]) -> None:
            step = handle.space
            assert step.read_nowait(*job) == job
            assert step.read_all("job", int) == [job]
            assert step.take_all("job", int) == [job]
            assert step.take_nowait(*job) is None
            step.sibling("done").out("done", job[1])
            step.out("log", job[1], to="bob@ward")

        handle = ward.jobs.react(("job", int), finish, strength="strong", at="ward")
        await ward.jobs.out("job", 1)
        assert handle.fired == 1
        assert ward.reports == []
        assert await done.read_nowait("done", int) == ("done", 1)
        assert await ward.jobs.read_nowait("log", int, at="bob@ward") == ("log", 1)
        await asyncio.sleep(1)
        assert not waiting.done()  # nobody else can take it: the reaction was quicker
        waiting.cancel()

    in_ward(program)


def test_a_step_is_over_when_its_listener_is() -> None:
    steps: list[Any] = []

    async def program(ward: Ward) -> None:
        ward.jobs.react(
            ("job", int), lambda *heard: steps.append(heard[2].space), strength="strong", at="ward"
        )
        await ward.jobs.out("job", 1)
        with pytest.raises(OutsideStep, match="only while its listener runs"):
            steps[0].out("late")

    in_ward(program)


def test_a_strong_listener_may_register_and_remove_reactions() -> None:
    seen: list[str] = []

    async def program(ward: Ward) -> None:
        def first(job: Tuple, source: str, handle: Handle) -> None:
            handle.remove()
            ward.jobs.react(("job", int), lambda *_: seen.append("second"))
            seen.append("first")

        ward.jobs.react(("job", int), first, strength="strong", at="ward")
        await ward.jobs.out_many([("job", 1), ("job", 2)])
        await asyncio.sleep(1)
        assert seen == ["first", "second", "second"]
        assert len(ward.jobs.reactions()) == 1

    in_ward(program)


def test_a_strong_reaction_says_where() -> None:
    async def program(ward: Ward) -> None:
        with pytest.raises(UnboundStrong, match="at="):
            ward.jobs.react(("job", int), print, strength="strong")
        assert ward.jobs.reactions() == []

    in_ward(program)


def test_what_cannot_listen_is_refused() -> None:
    async def listens(*heard: object) -> None:
        pass

    async def program(ward: Ward) -> None:
        with pytest.raises(BadListener, match="a listener is a function"):
            ward.jobs.react(("job", int), "print")  # type: ignore[call-overload]
        with pytest.raises(BadListener, match="no `async def`"):
            ward.jobs.react(("job", int), listens, strength="strong", at="ward")
        with pytest.raises(NoSuchWay, match="no mode of a reaction"):
            ward.jobs.react(("job", int), print, mode="twice")
        with pytest.raises(NoSuchWay, match="use strong or weak"):
            ward.jobs.react(("job", int), print, strength="mild")  # type: ignore[call-overload]
        # One that hides what it is until it is called is found out then.
        ward.jobs.react(("job", int), lambda *_: listens(), strength="strong", at="ward")
        await ward.jobs.out("job", 1)
        assert [type(report.error) for report in ward.reports] == [BadListener]

    in_ward(program)


def test_a_listener_that_falls_behind_has_its_reaction_disabled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reactions_module, "FIRINGS_MAX", 10)
    seen: list[Tuple] = []

    async def program(ward: Ward) -> None:
        handle = ward.jobs.react(("job", int), lambda job, *_: seen.append(job))
        await ward.jobs.out_many(("job", n) for n in range(20))
        await asyncio.sleep(1)
        assert (handle.state, seen) == ("disabled", [])
        assert [type(report.error) for report in ward.reports] == [ListenerBehind]
        monkeypatch.setattr(reactions_module, "FIRINGS_MAX", 100)
        handle.enable()
        await asyncio.sleep(1)
        assert sorted(seen) == [("job", n) for n in range(20)]  # nothing is lost

    in_ward(program)


def test_a_report_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def program(ward: Ward) -> None:
        def raises(*heard: object) -> None:
            raise ValueError("listener")

        ward.host.on_report = raises
        handle = ward.jobs.react(("job", int), raises)
        await ward.jobs.out("job", 1)
        await handle.wait_fired()
        assert "on_report failed" in caplog.text
        caplog.clear()
        ward.host.on_report = None  # then it is a warning in the log
        await ward.jobs.out("job", 2)
        await handle.wait_fired(2)
        assert "a listener failed" in caplog.text
        assert caplog.records[0].levelname == "WARNING"

    in_ward(program)


def test_closing_an_agent_stops_listeners_at_work() -> None:
    ended: list[str] = []

    async def program(ward: Ward) -> None:
        async def works(job: Tuple, source: str, handle: Handle) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append(handle.mode)

        many = ward.jobs.react(("job", int), works)
        once = ward.jobs.react(("job", int), works, mode="once")
        await ward.jobs.out("job", 1)
        await asyncio.sleep(1)
        assert ward.jobs.reactions() == [many]
        await (await ward.host.agent("ann")).close()
        await asyncio.sleep(1)
        assert sorted(ended) == ["once", "once-per-tuple"]
        for handle in (many, once):
            with pytest.raises(Closed, match="the reaction to"):
                await handle.wait_fired()

    in_ward(program)


def test_a_reaction_may_be_stopped_before_the_host_knows_it() -> None:
    """Registered inside a strong listener's step, a reaction is known to the host after it."""
    seen: list[object] = []

    async def program(ward: Ward) -> None:
        made: list[Handle] = []

        def registers(job: Tuple, source: str, handle: Handle) -> None:
            made.extend(
                ward.jobs.react(("job", int), lambda *heard: seen.append(heard[2]))
                for _ in range(3)
            )
            made[0].remove()
            made[1].disable()

        ward.jobs.react(("job", int), registers, strength="strong", at="ward", mode="once")
        await ward.jobs.out("job", 1)
        for handle in made:
            await handle.wait_registered()
        await asyncio.sleep(1)
        assert seen == [made[2]]
        assert ward.jobs.reactions() == made[1:]
        made[1].enable()
        await made[1].wait_fired()
        assert seen == [made[2], made[1]]

    in_ward(program)
