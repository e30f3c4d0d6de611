"""A host in the event loop: its life, its store, its links, its timers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from sys import maxsize
from typing import Any

import pytest

from nomospace.calls.problems import Busy
from nomospace.client import BadName, Closed, NotALaw, Report
from nomospace.host.changes import TupleGone, TuplePut
from nomospace.node import (
    BadLink,
    Host,
    MemoryStore,
    NameTaken,
    Network,
    NotInTime,
    driver as driver_module,
)
from nomospace.protocols.policy import Announced
from nomospace.store.interface import Step, StoreUnavailable
from nomospace_lab.testing.loop import run


def test_a_host_has_a_life() -> None:
    async def program() -> None:
        host = Host("ward")
        assert repr(host) == "<host ward, closed>"
        with pytest.raises(Closed, match="host ward is closed"):
            await host.agent("ann")
        async with host:
            await host.start()  # twice is harmless
            ann = await host.agent("ann")
            assert await host.agent("ann") is ann
            jobs = await ann.space("jobs", shared=True)
            waiting = asyncio.create_task(jobs.take("job"))
            watching = asyncio.create_task(host.wait_engaged("icu"))
            await asyncio.sleep(1)
        with pytest.raises(Closed):
            await waiting
        with pytest.raises(Closed):
            await watching
        with pytest.raises(Closed):
            await jobs.out("job")
        with pytest.raises(Closed):
            host.engage()
        await host.close()

    run(program())


@pytest.mark.parametrize("name", ["", "a b", "a@b", 7])
def test_a_host_has_a_name_that_can_be(name: Any) -> None:
    with pytest.raises(BadName):
        Host(name)


@pytest.mark.parametrize("law", ["law(open).", 7])
def test_what_is_no_law_is_not_adopted(law: Any) -> None:
    async def program() -> None:
        async with Host("ward") as host:
            nurse = await host.agent("nurse")
            with pytest.raises(NotALaw, match=r"is no law; make one with nomospace\.Law\.load"):
                await nurse.adopt(law)
            with pytest.raises(NotALaw):
                await nurse.space("jobs", law=law)

    run(program())


def test_a_host_that_starts_again_with_its_store_has_what_it_had() -> None:
    async def program() -> None:
        store = MemoryStore()
        async with Host("ward", store=store) as host:
            ann = await host.agent("ann")
            jobs = await ann.space("jobs", shared=True)
            notes = await ann.space("notes")
            passing = await ann.space("passing", durable=False)
            await jobs.out_many([("job", 1), ("job", 2)])
            await jobs.take("job", 1)
            await notes.out("note", 1)
            await passing.out("word", 1)
        async with Host("ward", store=store) as host:
            assert store.life == 2
            ann = await host.agent("ann")
            jobs, notes = await ann.space("jobs"), await ann.space("notes")
            assert (jobs.shared, notes.shared) == (True, False)
            assert await jobs.read_all("job", int) == [("job", 2)]
            assert await notes.read_all("note", int) == [("note", 1)]
            passing = await ann.space("passing")
            assert await passing.read_all("word", int) == []
            await jobs.out("job", 3)
            found = await jobs.read_nowait("job", 3)
            assert found is not None
            assert found.id[1] > 3  # no id is given twice

    run(program())


def test_a_database_that_goes_away_while_tuples_are_loaded_is_waited_for() -> None:
    class Away(MemoryStore):
        answers = 2

        def rows(self, after: int, limit: int) -> tuple[list[TuplePut], int | None]:
            self.answers -= 1
            if self.answers < 0:
                raise StoreUnavailable(where="postgresql://db", why="it fails over")
            return super().rows(after, limit)

    async def program() -> None:
        store = Away()
        async with Host("ward", store=store) as host:
            jobs = await (await host.agent("ann")).space("jobs")
            await jobs.out("job", 1)
        store.answers = 0
        async with Host("ward", store=store) as host:
            await asyncio.sleep(10)
            store.answers = 10
            jobs = await (await host.agent("ann")).space("jobs")
            assert await jobs.read_all("job", int) == [("job", 1)]

    run(program())


def test_what_must_survive_is_written_before_it_is_answered() -> None:
    class Full(MemoryStore):
        def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
            if any(isinstance(change, TuplePut) for step in steps for change in step.changes):
                raise OSError("the disk is full")
            return super().stage(steps, at=at)

    async def program() -> None:
        reports: list[Report] = []
        async with Host("ward", store=Full(), on_report=reports.append) as host:
            jobs = await (await host.agent("ann")).space("jobs", shared=True)
            waiting = asyncio.create_task(jobs.take("other"))
            await asyncio.sleep(1)
            with pytest.raises(Closed, match="host ward"):
                await jobs.out("job", 1)
            # It stops there: what is not on disk must not be seen.
            with pytest.raises(Closed, match="host ward"):
                await waiting
            with pytest.raises(Closed):
                await jobs.read_nowait("job", 1)
            [report] = reports
            assert (report.what, str(report.error)) == ("a host stopped", "the disk is full")

    run(program())


def test_a_failure_outside_any_call_stops_the_host_and_is_reported() -> None:
    class Flaky(MemoryStore):
        def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
            if any(isinstance(change, TupleGone) for step in steps for change in step.changes):
                raise OSError("the disk is gone")
            return super().stage(steps, at=at)

    async def program() -> None:
        reports: list[Report] = []
        async with Host("ward", store=Flaky(), on_report=reports.append) as host:
            jobs = await (await host.agent("ann")).space("jobs", shared=True)
            await jobs.out("job", 1, ttl=5)
            await asyncio.sleep(10)  # the tuple expires, and that cannot be written down
            assert [report.what for report in reports] == ["a host stopped"]
            with pytest.raises(Closed):
                await host.agent("bob")

    run(program())


def test_hosts_engage_over_links_relay_and_part() -> None:
    async def program() -> None:
        net = Network(delay=0.01)
        names = ("a", "b", "c")
        hosts = {name: Host(name, network=net, epoch_us=10**15) for name in names}
        for host in hosts.values():
            await host.start()
        net.connect("a", "b")
        net.connect("b", hosts["c"])
        assert net.linked("a", "b")
        assert not net.linked("a", "c")
        for host in hosts.values():
            await host.wait_engaged(*names, timeout=60)
        spaces = {
            name: await (await host.agent("x")).space("jobs", shared=True)
            for name, host in hosts.items()
        }
        assert hosts["a"].connected("c")
        await spaces["a"].out("job", 1)
        assert await spaces["c"].take("job", int, timeout=60) == ("job", 1)  # through b
        assert hosts["a"].connected("x@c")
        await spaces["a"].out("gift", 1, to="x@c")
        assert await spaces["c"].read("gift", int, at="c", timeout=60) == ("gift", 1)
        assert await spaces["a"].read_nowait("gift", int, at="c") == ("gift", 1)
        net.part("a", "b")
        await hosts["a"].wait_parted("b", "c", timeout=60)
        assert not hosts["a"].connected("c")
        assert await spaces["a"].read_nowait("gift", int, at="c") is None
        net.connect("a", "c")
        await hosts["a"].wait_engaged("b", "c", timeout=60)
        for host in hosts.values():
            await host.close()

    run(program())


def test_a_take_served_elsewhere_and_cancelled_on_the_way_loses_nothing() -> None:
    async def program() -> None:
        net = Network(delay=0.05)
        net.connect("a", "b")
        async with Host("a", network=net) as a, Host("b", network=net) as b:
            await a.wait_engaged("b", timeout=60)
            await b.wait_engaged("a", timeout=60)
            here = await (await a.agent("ann")).space("jobs", shared=True)
            there = await (await b.agent("bob")).space("jobs", shared=True)
            await asyncio.sleep(2)
            for after in range(40):
                waiting = asyncio.create_task(there.take("job", after))
                await asyncio.sleep(1)
                await here.out("job", after)
                await asyncio.sleep(after / 100)
                waiting.cancel()
                try:
                    taken = [await waiting]
                except asyncio.CancelledError:
                    taken = []
                await asyncio.sleep(10)
                left = await here.read_all("job", after, at="a")
                left += await here.read_all("job", after, at="b")
                assert len(taken) + len(left) == 1, (after, taken, left)

    run(program(), seconds_max=10_000)


def test_frames_that_get_lost_are_made_good() -> None:
    async def program() -> None:
        net = Network(delay=0.01, loss=0.2, seed=3)
        net.connect("a", "b")
        async with Host("a", network=net) as a, Host("b", network=net) as b:
            await a.wait_engaged("b", timeout=120)
            here = await (await a.agent("ann")).space("jobs", shared=True)
            there = await (await b.agent("bob")).space("jobs", shared=True)
            for n in range(20):
                await here.out("job", n)
                assert await there.take("job", n, timeout=120) == ("job", n)

    run(program())


def test_announced_hosts_engage_when_told_and_leave_when_told() -> None:
    async def program() -> None:
        net = Network()
        net.connect_all("a", "b")
        a = Host("a", network=net, policy=Announced())
        b = Host("b", network=net, policy=Announced())
        async with a, b:
            with pytest.raises(NotInTime, match="the group of a is a, and b was waited for"):
                await a.wait_engaged("b", timeout=60)
            a.engage()
            b.engage()
            await a.wait_engaged("b", timeout=60)
            a.moved(1, 2)
            b.disengage()
            await a.wait_parted("b", timeout=60)

    run(program())


def test_a_host_that_closes_leaves_by_announcement() -> None:
    async def program() -> None:
        net = Network()
        net.connect("a", "b")
        async with Host("a", network=net) as a:
            async with Host("b", network=net):
                await a.wait_engaged("b", timeout=60)
                loop = asyncio.get_running_loop()
            closed = loop.time()
            await a.wait_parted("b", timeout=60)
            assert loop.time() - closed < 3  # sooner than silence would tell

    run(program())


def test_a_network_has_each_name_once_and_no_links_to_oneself() -> None:
    async def program() -> None:
        net = Network()
        async with Host("a", network=net):
            with pytest.raises(NameTaken, match="another name"):
                await Host("a", network=net).start()
        async with Host("a", network=net):  # the first is gone
            pass
        with pytest.raises(BadLink, match="with itself"):
            net.connect("a", "a")
        net.part("a", "never")

    run(program())
    for delay, loss in ((-1.0, 0.0), (float("nan"), 0.0), (0.0, 1.0), (0.0, float("nan"))):
        with pytest.raises(BadLink):
            Network(delay=delay, loss=loss)


def test_calls_inside_a_step_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "INBOX_MAX", 5)

    async def program() -> None:
        reports: list[Report] = []
        async with Host("ward", on_report=reports.append) as host:
            jobs = await (await host.agent("ann")).space("jobs", shared=True)

            def registers(*heard: object) -> None:
                while True:
                    jobs.react(("never",), print)

            jobs.react(("job", int), registers, strength="strong", at="ward")
            await jobs.out("job", 1)
            assert [type(report.error) for report in reports] == [Busy]
            assert await jobs.take("job", int) == ("job", 1)

    run(program())


def test_one_program_has_one_history() -> None:
    async def program() -> list[tuple[float, tuple[str, ...]]]:
        history = []
        net = Network(delay=0.02, loss=0.1, seed=1)
        net.connect("a", "b")
        async with Host("a", network=net, epoch_us=0) as a, Host("b", network=net, epoch_us=0):
            for wait in (a.wait_engaged, a.wait_parted):
                await wait("b", timeout=60)
                history.append((asyncio.get_running_loop().time(), a.view.members))
                net.part("a", "b")
        return history

    assert run(program()) == run(program())
