"""A host that several processes serve: one address, one name, and each comes back alone."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest

from nomospace.cli import main
from nomospace.client import Agent
from nomospace.client.remote import RemoteAgent, RemoteHost, connect
from nomospace.node.supervisor import STOP_S
from nomospace.wire.admin import Stats
from nomospace.wire.framing import CLIENT, join, preface
from nomospace.wire.talk import VERSION, ClientHello, pack_frame
from tests.parity.processes import Process
from tests.ports import free_port
from tests.real.trust import Trust

WITHIN_S: Final = 60.0
CROWD: Final = 8


def _run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, WITHIN_S))


class Ward:
    """The host `ward`, started again and again on one port and one store."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.port = free_port()
        self._flags = flags or ("--insecure",)

    @asynccontextmanager
    async def run(
        self, workers: int = 0, store: str = "ward.db"
    ) -> AsyncIterator[tuple[Process, Any]]:
        """The host, and what it said when it served; it is ended with the block."""
        given = ["--listen", f"127.0.0.1:{self.port}", "--store", str(self.folder / store)]
        given += [*self._flags, *(["--workers", str(workers)] if workers else [])]
        process = Process("ward", self.folder, given)
        try:
            yield process, await process.ready()
        finally:
            if process.child.poll() is None:
                process.end(signal.SIGTERM)

    def client(self, **access: Any) -> RemoteHost:
        scheme = "nomos+plain" if self._flags == ("--insecure",) else "nomos"
        return connect(f"{scheme}://127.0.0.1:{self.port}", **access)

    def refused(self, *flags: str) -> str:
        """What is said by a host that cannot begin."""
        process = Process("ward", self.folder, ["--listen", "127.0.0.1:0", *flags])
        assert process.wait() != 0
        return process.log.read_text()

    def command(self, what: str, backup: str, store: str) -> tuple[int, str]:
        """Back a store up, or restore one; the exit code, and what was said of errors."""
        with redirect_stderr(StringIO()) as said, redirect_stdout(StringIO()):
            files = str(self.folder / backup), "--store", str(self.folder / store)
            return main([what, *files]), said.getvalue()


def _at(agent: Agent) -> str:
    """The worker that an agent is at."""
    assert isinstance(agent, RemoteAgent)
    return agent.host


async def _crowd(host: RemoteHost) -> dict[str, list[Agent]]:
    """Some agents, by the workers that they are at."""
    found: dict[str, list[Agent]] = {}
    for number in range(CROWD):
        agent = await host.agent(f"client-{number}")
        found.setdefault(_at(agent), []).append(agent)
    return found


def test_a_worker_that_is_killed_comes_back_alone_and_loses_nothing(tmp_path: Path) -> None:
    ward = Ward(tmp_path)

    async def story() -> None:
        async with ward.run(workers=2) as (process, said), ward.client() as host:
            crowd = await _crowd(host)
            assert {name: len(agents) for name, agents in crowd.items()} == {
                "ward": CROWD // 2, "ward.2": CROWD // 2,
            }  # fmt: skip
            ann, bob = crowd["ward"][0], crowd["ward.2"][0]
            hers = await ann.space("jobs", shared=True)
            his = await bob.space("jobs", shared=True)
            await hers.out("job", 1)
            assert await his.take("job", int) == ("job", 1)  # the two are one space
            waits = asyncio.create_task(hers.take("done", int))
            for number in range(50):
                await his.out("job", number)
                if number == 20:
                    os.kill(said["workers"]["ward.2"], signal.SIGKILL)
            await his.out("done", 50)
            assert await waits == ("done", 50)
            found = [await his.take("job", number) for number in range(50)]
            assert found == [("job", number) for number in range(50)]
            assert await his.take_nowait("job", int) is None
            assert await hers.take_nowait("job", int) is None
            # An operator sees the first, and the other by its name.
            assert (await host.ask(Stats())).host == "ward"
            async with connect(f"nomos+plain://127.0.0.1:{ward.port}/ward.2") as other:
                line = await other.ask(Stats())
                assert (line.host, line.life, line.agents) == ("ward.2", 2, CROWD // 2)
            # The supervisor's end is theirs, and all come back.
            await his.out("kept", 1)
            process.child.send_signal(signal.SIGKILL)
            process.wait()
            async with ward.run(workers=2) as (_, again):
                assert not {*again["workers"].values()} & {*said["workers"].values()}
                assert await hers.take("kept", int) == ("kept", 1)

    _run(story())


def test_first_bytes_that_nest_cost_a_worker_nothing(tmp_path: Path) -> None:
    """They were looked at again and again, as they could not be read and were not taken in."""
    ward = Ward(tmp_path)
    hello = ClientHello(VERSION, "k" * 16, "ann@ward")
    deep = b"\x9c" + pack_frame(hello)[1:] + b"\x91" * 5_000 + b"\xc0"

    async def story() -> None:
        async with ward.run(2) as (_, said):
            before_s = sum(map(_processor_s, said["workers"].values()))
            reader, writer = await asyncio.open_connection("127.0.0.1", ward.port)
            writer.write(preface(CLIENT) + join([deep]))
            await reader.read()  # to the end: it is refused
            writer.close()
            assert sum(map(_processor_s, said["workers"].values())) - before_s < 1

    _run(story())


def _processor_s(pid: int) -> float:
    """The processor time of a process so far."""
    said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")


def test_another_number_of_workers_takes_all_agents_along(tmp_path: Path) -> None:
    ward = Ward(tmp_path)

    async def at_once(workers: int, hosts: set[str]) -> None:
        """All agents come to the workers that they fall to now, with what is theirs."""
        async with ward.run(workers) as _, ward.client() as host:
            crowd = [await host.agent(f"client-{number}") for number in range(CROWD)]
            while set(map(_at, crowd)) != hosts:
                await asyncio.sleep(0.05)
            for number, agent in enumerate(crowd):
                mine = await agent.space("mine")
                assert await mine.read_all("note", int) == [("note", number)]
            if not workers:
                return
            while _kept(ward)[-1:] != [len(hosts)] and workers > 1:
                await asyncio.sleep(0.05)

    async def story() -> None:
        async with ward.run() as _, ward.client() as host:
            for number in range(CROWD):
                mine = await (await host.agent(f"client-{number}")).space("mine")
                await mine.out("note", number)
        await at_once(2, {"ward", "ward.2"})
        refused = ward.refused("--insecure", "--store", str(tmp_path / "ward.db"))
        assert "spread over 2 workers: run it with --workers 2" in refused
        await at_once(1, {"ward"})

    _run(story())


def test_workers_past_the_number_end_though_the_first_is_killed_meanwhile(tmp_path: Path) -> None:
    """Killed when it is to spread their agents, and once more when they are ending."""
    ward = Ward(tmp_path)

    async def story() -> None:
        async with ward.run(3), ward.client() as host:
            crowd = await _crowd(host)
            assert len(crowd) == 3
            for number, agent in enumerate(agent for some in crowd.values() for agent in some):
                await (await agent.space("jobs", shared=True)).out("job", number)
        async with ward.run(1) as (process, said), ward.client() as host:
            others = [pid for name, pid in said["workers"].items() if name != "ward"]
            assert len(others) == 2
            os.kill(said["workers"]["ward"], signal.SIGKILL)
            while all(map(_lives, others)):
                await asyncio.sleep(0.01)
            [first] = _children(process) - set(others)
            os.kill(first, signal.SIGKILL)
            while any(map(_lives, others)):
                await asyncio.sleep(0.01)
            crowd = await _crowd(host)
            assert crowd.keys() == {"ward"}  # the sessions as well, wherever they have been
            jobs = await crowd["ward"][0].space("jobs", shared=True)
            found = [await jobs.take("job", number) for number in range(CROWD)]
            assert found == [("job", number) for number in range(CROWD)]
            assert await jobs.take_nowait("job", int) is None
            assert _at(await host.agent("somebody-new")) == "ward"
            assert len(_children(process)) == 1

    _run(story())


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _children(process: Process) -> set[int]:
    """The workers that a supervisor has."""
    pid = process.child.pid
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


SIGNALLED = """\
import os, signal, sys
from nomospace.cli import main

fork = os.fork

def signalled():
    child = fork()
    if child:
        os.kill(os.getpid(), signal.SIGTERM)
    return child

os.fork = signalled
sys.exit(main(sys.argv[1:]))
"""


def test_a_host_that_is_ended_while_it_forks_a_worker_ends_that_one_too(tmp_path: Path) -> None:
    """The signal came before the worker was noted, which nobody told to end: a minute's wait."""
    program = tmp_path / "signalled.py"
    program.write_text(SIGNALLED)
    given = ["--insecure", "--listen", "127.0.0.1:0", "--store", "memory", "--workers", "2"]
    began = time.monotonic()
    process = Process("ward", tmp_path, given, program=program)
    assert process.wait() == 0, process.log.read_text()
    assert time.monotonic() - began < STOP_S / 2


def _kept(ward: Ward) -> list[int]:
    """What the first worker's store says of their number."""
    from nomospace.host.changes import SmallKept
    from nomospace.store.cut import WORKERS
    from nomospace.store.interface import Step
    from nomospace.store.sqlite import SqliteStore

    store = SqliteStore(ward.folder / "ward.db")
    try:
        store.attach()
        steps = [part for part in store.dump() if isinstance(part, Step)]
        small = [c for step in steps for c in step.changes if isinstance(c, SmallKept)]
        return [int(word) for one in small if one.name == WORKERS for word in one.body.split()]
    finally:
        store.close()


def test_a_backup_is_one_moment_of_all_workers(tmp_path: Path) -> None:
    ward = Ward(tmp_path)

    async def story() -> None:
        async with ward.run(workers=2) as _, ward.client() as host:
            crowd = await _crowd(host)
            ann, bob = crowd["ward"][0], crowd["ward.2"][0]
            hers = await ann.space("jobs", shared=True)
            await bob.space("jobs", shared=True)
            written, going = 0, True

            async def write() -> None:
                nonlocal written
                while going:  # each goes from her worker to his
                    await hers.out("job", written, to=bob.id)
                    written += 1

            writes = asyncio.create_task(write())
            while written < 20:
                await asyncio.sleep(0.01)
            before = written
            done = await asyncio.to_thread(ward.command, "backup", "ward.backup", "ward.db")
            going = False
            await writes
            assert done == (0, "")
        assert ward.command("restore", "ward.backup", "copy.db") == (0, "")
        async with ward.run(workers=2, store="copy.db") as _, ward.client() as host:
            his = await (await host.agent(bob.id)).space("jobs", shared=True)
            found = [await his.take("job", number) for number in range(before)]
            rest = await his.take_all("job", int)
            assert [*found, *rest] == [("job", number) for number in range(len(found + rest))]
            assert before <= len(found + rest) <= written
        (tmp_path / "ward.backup.2").unlink()
        code, said = ward.command("restore", "ward.backup", "other.db")
        assert (code, list(tmp_path.glob("other*"))) == (1, [])
        assert "it is the first of 2" in said

    _run(story())


def test_clients_over_tls_are_led_to_the_workers_of_their_agents(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "trust")
    for name in ("ward", "ward.2"):
        trust.member(name)
    ward = Ward(tmp_path, "--trust", str(trust.folder))
    names = [f"client-{number}@ward" for number in range(4)]
    access = {"trust": trust.folder, "token": trust.token(*names)}

    async def story() -> None:
        async with ward.run(workers=2) as (_, said), ward.client(**access) as host:
            agents = [await host.agent(name) for name in names]
            assert set(map(_at, agents)) == {"ward", "ward.2"}
            spaces = [await agent.space("jobs", shared=True) for agent in agents]
            os.kill(said["workers"]["ward.2"], signal.SIGKILL)
            for number, space in enumerate(spaces):
                await space.out("job", number)
            assert [await spaces[0].take("job", n) for n in range(4)] == [
                ("job", number) for number in range(4)
            ]

    _run(story())


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--workers", "0"], "a host has from 1 to 64 workers, and not 0"),
        (["--workers", "65"], "a host has from 1 to 64 workers, and not 65"),
        (["--workers", "2", "--policy", "announced"], "workers are one group always"),
        (["--workers", "2", "--transport", "nats://127.0.0.1:1"], "workers reach each other over"),
        (["--workers", "2", "--standby-listen", "127.0.0.1:1"], "a standby follows one store"),
    ],
)
def test_what_a_host_with_workers_cannot_be_told(
    tmp_path: Path, flags: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["host", "run", "ward", "--insecure", "--store", str(tmp_path / "ward.db"), *flags]
    assert main(given) == 2
    assert words in capsys.readouterr().err


def test_a_worker_that_cannot_begin_ends_the_host_in_words(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "trust")
    trust.member("ward")
    store = str(tmp_path / "ward.db")
    said = Ward(tmp_path).refused("--trust", str(trust.folder), "--workers", "2", "--store", store)
    assert "nomospace trust issue host ward.2" in said
    assert "worker ward.2 of the host cannot begin" in said
