"""The blocking face of a host in another process: another thread plays that process here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from queue import Queue

import pytest

import nomospace as ns
from nomospace import sync
from nomospace.client import TimedOut
from nomospace.client.dialling import Unreachable
from tests.serving import ServedHost, serve


@pytest.fixture
def url() -> Iterator[str]:
    ready: Queue[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def host() -> None:
        async with ServedHost("ward") as host, serve(host) as url:
            end = asyncio.Event()
            ready.put((url, asyncio.get_running_loop(), end))
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(host()))
    thread.start()
    url, loop, end = ready.get(timeout=60)
    yield url
    loop.call_soon_threadsafe(end.set)
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_blocking_programs_use_a_host_elsewhere_as_they_use_their_own(url: str) -> None:
    fired: Queue[ns.Tuple] = Queue()
    with sync.connect(url) as host:
        nurse = host.agent("nurse")
        assert nurse.id == "nurse@ward"
        jobs = nurse.space("jobs", shared=True)
        jobs.react(("alarm", str), lambda alarm, source, handle: fired.put(alarm))
        jobs.out("alarm", "fire")
        assert fired.get(timeout=60) == ("alarm", "fire")
        jobs.out("job", 17)
        with jobs.lend("job", int, lease=30) as job:
            assert job == ("job", 17)
        with pytest.raises(TimedOut):
            jobs.take("job", int, timeout=0.01)
        assert not nurse.connected("porter@ward")
        host.agent("porter")
        assert nurse.connected("nurse@ward")


def test_a_host_that_is_not_there_is_said_to_be_so() -> None:
    with sync.connect("nomos+plain://127.0.0.1:1", connect_s=0) as host, pytest.raises(Unreachable):
        host.agent("nurse")
