"""The blocking face: the same behaviour without `async`, from any thread but the hosts' own."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

import nomospace as ns
from nomospace import client, node, sync
from nomospace.calls.problems import PrivateSpace
from nomospace.client import Closed, Report, TimedOut, WaitingInListener
from nomospace.sync import WouldBlock
from tests.sites import QUICK


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_whole_program() -> None:
    with sync.Host("ward") as host:
        ann, bob = host.agent("ann"), host.agent("bob")
        hers, his = ann.space("jobs", shared=True), bob.space("jobs", shared=True)
        hers.out("job", 1)
        hers.out_many(("job", n) for n in (2, 3))
        assert his.read("job", 2) == ("job", 2)
        assert his.take("job", 2, timeout=60) == ("job", 2)
        assert his.take_nowait("job", 2) is None
        assert his.read_nowait("job", 3) == ("job", 3)
        assert his.take_all("job", int) == [("job", 1), ("job", 3)]
        assert (hers.name, hers.owner, hers.shared) == ("jobs", "ann@ward", True)
        assert ann.connected("bob@ward")
        assert host.connected("ward")
        assert host.view.members == ("ward",)
        assert ("agent", "bob@ward", "ward", "connected") in ann.system.read_all(
            "agent", str, str, str
        )
        hers.unshare()
        with pytest.raises(PrivateSpace):
            hers.read("job", int)
        ann.share(hers)
        assert hers.shared
        ann.unshare(hers)
        hers.share()
        with pytest.raises(TimedOut):
            hers.take("job", int, timeout=0.01)
        ann.close()
        with pytest.raises(Closed):
            hers.out("job", 4)
    assert "nomospace" not in threads()  # the background ended with the last host


def test_a_take_waits_in_one_thread_for_an_out_of_another() -> None:
    with sync.Host("ward") as host:
        jobs = host.agent("ann").space("jobs", shared=True)
        got: Queue[object] = Queue()
        taker = threading.Thread(target=lambda: got.put(jobs.take("job", int, timeout=60)))
        taker.start()
        jobs.out("job", 1)
        assert got.get(timeout=60) == ("job", 1)
        taker.join()


def test_leases_in_a_with_block() -> None:
    def fail(jobs: sync.Space) -> None:
        with jobs.lend("job", int, lease=30):
            raise KeyError("job")

    with sync.Host("ward") as host:
        jobs = host.agent("ann").space("jobs", shared=True)
        jobs.out("job", 1)
        with pytest.raises(KeyError):
            fail(jobs)
        with jobs.lend("job", int, lease=30) as job:
            assert job.deliveries == 2
        assert jobs.read_nowait("job", int) is None


def test_weak_listeners_may_block_but_not_wait() -> None:
    reports: Queue[Report] = Queue()

    def work(job: sync.Tuple, source: str, handle: sync.ReactionHandle[Any]) -> None:
        handle.space.take_nowait(*job)
        handle.space.out("done", job[1], threading.current_thread().name)
        handle.space.take("never")

    with sync.Host("ward", on_report=reports.put) as host:
        jobs = host.agent("ann").space("jobs", shared=True)
        handle = jobs.react(("job", int), work)
        assert jobs.reactions() == [handle]
        jobs.out("job", 1)
        assert jobs.take("done", int, str, timeout=60) == ("done", 1, "listener of jobs")
        assert isinstance(reports.get(timeout=60).error, WaitingInListener)
        handle.wait_fired()
        assert (handle.fired, handle.state, handle.strength) == (1, "enabled", "weak")
        handle.disable()
        assert handle.state == "disabled"
        handle.enable()
        handle.remove()
        assert jobs.reactions() == []


def test_strong_listeners_work_in_the_step_and_may_not_block() -> None:
    reports: list[Report] = []

    def finish(job: sync.Tuple, source: str, handle: sync.ReactionHandle[Any]) -> None:
        handle.space.take_nowait(*job)
        handle.space.out("done", job[1])
        jobs.out("never")

    with sync.Host("ward", on_report=reports.append) as host:
        jobs = host.agent("ann").space("jobs", shared=True)
        jobs.out("job", 1)  # fires before `react` has returned
        handle = jobs.react(("job", int), finish, strength="strong", at="ward")
        assert jobs.read_all("done", int) == [("done", 1)]
        assert jobs.read_nowait("job", int) is None
        assert [type(report.error) for report in reports] == [WouldBlock]
        assert handle.fired == 1


def test_a_weak_listener_that_hangs_is_given_up() -> None:
    reports: Queue[Report] = Queue()
    let_go = threading.Event()

    def hangs(*heard: object) -> None:
        let_go.wait(60)

    with sync.Host("ward", on_report=reports.put, listener_timeout=0.1) as host:
        jobs = host.agent("ann").space("jobs", shared=True)
        jobs.react(("job", int), hangs)
        jobs.out("job", 1)
        assert isinstance(reports.get(timeout=60).error, client.ListenerOverran)
        assert jobs.take("job", int) == ("job", 1)
    let_go.set()


def test_laws_and_mail(tmp_path: Path) -> None:
    path = tmp_path / "echo.law"
    path.write_text("law(echo).\nR1. sent(X, say(M), Y) :- do(deliver(Self, heard(M), Self)).\n")
    with sync.Host("ward") as host:
        member = host.agent("ann").adopt(ns.Law.load(path))
        assert member.law.name == "echo"
        assert member.ruling is not None
        member.send("say(1)", to="bob@ward")
        member.send("say(2)", to="bob@ward")
        assert next(member.inbox()).message == ns.t.heard(1)
        letter = member.receive_nowait()
        assert letter is not None
        assert letter.message == ns.t.heard(2)


def test_hosts_of_one_network_meet_and_part() -> None:
    net = sync.Network()
    with (
        sync.Host("ward", network=net, pace=QUICK) as ward,
        sync.Host("icu", network=net, pace=QUICK) as icu,
    ):
        net.connect(ward, icu)
        ward.wait_engaged("icu", timeout=60)
        icu.wait_engaged("ward", timeout=60)
        ward.agent("ann").space("jobs", shared=True).out("job", 1)
        assert icu.agent("bob").space("jobs", shared=True).take("job", int, timeout=60) == (
            "job",
            1,
        )
        icu.disengage()
        ward.wait_parted("icu", timeout=60)


def test_nothing_works_after_the_end() -> None:
    host = sync.Host("ward")
    host.start()
    host.start()
    jobs = host.agent("ann").space("jobs", shared=True)
    host.close()
    host.close()
    with pytest.raises(Closed):
        jobs.out("job", 1)


@pytest.mark.parametrize(
    ("face", "counterpart"),
    [
        (sync.Host, node.Host),
        (sync.Agent, client.Agent),
        (sync.Space, client.Space),
        (sync.Membership, client.Membership),
        (sync.Network, node.Network),
    ],
)
def test_the_blocking_face_has_every_method_with_the_same_arguments(
    face: type, counterpart: type
) -> None:
    for_drivers = {
        node.Host: {
            "attend",
            "equip",
            "keep_small",
            "law",
            "line",
            "operate",
            "record",
            "revoked",
            "vacate",
            "wait_closed",
            "watch",
        },
        client.Agent: {"stop", "leave", "put_back", "resume", "save", "unread"},
        client.Space: {"handles"},
        client.Membership: {"close", "drain", "on_mail", "put_back"},
        node.Network: {"join", "leave", "transmit"},
    }.get(counterpart, set())
    for name, method in inspect.getmembers(counterpart, inspect.isfunction):
        if name.startswith("_") or name in for_drivers:
            continue
        given = inspect.signature(getattr(face, name)).parameters
        assert list(given) == list(inspect.signature(method).parameters), name
