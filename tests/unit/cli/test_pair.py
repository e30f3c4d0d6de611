"""`nomospace host standby` and `host takeover`: what is refused, in words, with nothing written."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nomospace.client.remote import connect
from nomospace.errors import NomospaceError
from nomospace.host.changes import SmallKept
from nomospace.protocols.pair import STANDBY, SYNC, NotPaired, next_token
from nomospace.store.interface import Header
from nomospace.store.opening import open_store
from nomospace.store.paired import PairRow, look
from tests import nursery
from tests.ports import free_port
from tests.real.trust import Trust
from tests.servers import shared_nats

WAIT_S = 60.0


class Pair:
    """The two machines of host `ward`, in one folder."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.access = ["--insecure"]
        self.meeting = f"127.0.0.1:{free_port()}"

    def start(self, name: str, *given: str) -> Any:
        """A process with the store `NAME.db`."""
        log = (self.folder / f"{name}.log").open("ab")
        with log:
            child = nursery.start(
                ["host", *given, *self.access, "--store", f"{name}.db", "--json"],
                folder=self.folder,
                log=log,
            )
        return self._stack.enter_context(child)

    def active(self, name: str = "a", *more: str, host: str = "ward", port: int = 0) -> Any:
        listens = ("--listen", f"127.0.0.1:{port}", "--standby-listen", self.meeting)
        return self.start(name, "run", host, *listens, *more)

    def standby(self, name: str = "b", *more: str, host: str = "ward") -> Any:
        return self.start(name, "standby", host, "--listen", "127.0.0.1:0", *self.of, *more)

    @property
    def of(self) -> tuple[str, str]:
        return "--of", self.meeting

    def row(self, name: str) -> PairRow:
        return look(self.folder / f"{name}.db")

    def until(self, name: str, **facts: object) -> PairRow:
        """Wait until a store stands so."""
        until = time.monotonic() + WAIT_S
        while True:
            try:
                row = self.row(name)
                if all(getattr(row, key) == value for key, value in facts.items()):
                    return row
            except (NotPaired, sqlite3.Error):
                pass
            assert time.monotonic() < until, f"{name} is not {facts}: {self.log(name)}"
            time.sleep(0.02)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def run(self, *given: str) -> tuple[int, str]:
        """A command to its end; its exit code, and all that it has said."""
        log = self.folder / "command.log"
        with log.open("wb") as file:
            child = self._stack.enter_context(nursery.start([*given], folder=self.folder, log=file))
        code = child.wait(WAIT_S)
        return code, child.stdout.read().decode() + log.read_text()

    def copied(self, name: str, new: str) -> Path:
        """A copy of a store as it is now, as a snapshot of its machine would be."""
        target = self.folder / f"{new}.db"
        with (
            closing(sqlite3.connect(self.folder / f"{name}.db")) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
        return target


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(tmp_path, stack)


def said(child: Any) -> dict[str, Any]:
    line = child.stdout.readline()
    found: dict[str, Any] = json.loads(line) if line else {}
    return found


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Nothing is written to a store."""
    with closing(sqlite3.connect(path)) as raw:
        rows = "SELECT s.*, p.host, p.role, p.alone, p.heard, p.last FROM state s, standing p"
        before = raw.execute(rows).fetchall()
        yield
        assert raw.execute(rows).fetchall() == before


async def _write(url: str, count: int) -> None:
    async with connect(url) as host:
        jobs = await (await host.agent("ann")).space("jobs")
        for number in range(count):
            await jobs.out("job", number)


def test_what_cannot_be_is_refused_and_nothing_is_written(pair: Pair) -> None:
    """Beside a living pair, and in the place of its active one."""
    active = pair.active()
    url = said(active)["url"]
    older = pair.copied("a", "older")
    standby = pair.standby()
    pair.until("b", role=STANDBY, how=SYNC)
    asyncio.run(_write(url, 3))
    twin, ahead = pair.copied("a", "twin"), pair.copied("a", "ahead")
    with closing(sqlite3.connect(ahead, isolation_level=None)) as raw:
        raw.execute("UPDATE standing SET heard = 99")
    code, words = pair.run("backup", "kept", "--store", "a.db")
    assert code == 0, words
    code, words = pair.run("restore", "kept", "--store", "restored.db")
    assert code == 0, words
    at = ("--insecure", "--listen", "127.0.0.1:0")
    call, beside = ("--insecure", *pair.of), ("--standby-listen", f"127.0.0.1:{free_port()}")
    for path, how, words in (
        (twin, ("standby", "ward", *call), "another process is host ward under the same token 1"),
        (twin, ("run", "ward", *at), "is one of two of host ward (active)"),
        (twin, ("run", "icu", *at, *beside), "the store is that of host 'ward', not of 'icu'"),
        (pair.copied("b", "c"), ("run", "ward", *at), "is one of two of host ward (standby)"),
        (pair.folder / "restored.db", ("run", "ward", *at), "host ward (restored)"),
        (pair.folder / "restored.db", ("standby", "ward", *call), "host ward (restored)"),
        (ahead, ("run", "ward", *at, *beside), "the store has only come to 1"),
    ):
        with unchanged(path), unchanged(pair.folder / "b.db"):
            code, found = pair.run("host", *how, "--store", path.name)
            assert (code, words in found) == (2, True), found
    code, found = pair.run("host", "standby", "icu", *call, "--store", "new.db")
    assert (code, "the store is that of host 'ward', not of 'icu'" in found) == (2, True), found
    code, found = pair.run("host", "standby", "ward", "--insecure", "--store", "new.db")
    assert (code, "say where the active one listens" in found) == (2, True), found

    active.kill()
    active.wait(WAIT_S)
    with unchanged(older), unchanged(pair.folder / "b.db"):
        returned = pair.active("older")
        assert returned.wait(WAIT_S) == 2
    assert "an older copy is in its place" in pair.log("older")
    assert standby.poll() is None, pair.log("b")


def test_durable_work_waits_for_the_standby_until_an_operator_says_otherwise(pair: Pair) -> None:
    active = pair.active()
    url = said(active)["url"]
    standby = pair.standby()
    pair.until("b", role=STANDBY, how=SYNC)

    async def program() -> None:
        async with connect(url) as host:
            jobs = await (await host.agent("ann")).space("jobs")
            await jobs.out("job", 1)
            standby.send_signal(signal.SIGSTOP)
            late = asyncio.create_task(jobs.out("job", 2))
            refused = ""
            while refused != "pair.standby-away":
                assert not late.done()
                try:
                    await asyncio.wait_for(jobs.read_nowait("job", 2), 1)
                except (NomospaceError, TimeoutError) as error:
                    refused = getattr(error, "code", "")
            code, found = await asyncio.to_thread(pair.run, "doctor", "--host", url)
            assert (code, "durable work is refused" in found) == (1, True), found
            code, found = await asyncio.to_thread(
                pair.run, "host", "takeover", "--store", "a.db", "--yes"
            )
            assert (code, "goes on without its standby" in found) == (0, True), found
            await asyncio.wait_for(late, WAIT_S)
            standby.send_signal(signal.SIGCONT)
            await asyncio.to_thread(pair.until, "a", alone=0)

    asyncio.run(program())
    assert pair.row("a").life == 1  # nobody has taken over


def test_a_takeover_shows_what_may_be_lost_and_lower_tokens_are_refused(pair: Pair) -> None:
    ports = [free_port(), free_port()]
    active = pair.active(port=ports[0])
    said(active)
    standby = pair.start(
        "b", "standby", "ward", *pair.of, "--listen", f"127.0.0.1:{ports[1]}", "--mode", "async"
    )
    pair.until("b", role=STANDBY, how=SYNC)
    joins = ("--join", f"127.0.0.1:{ports[1]}", "--join", f"127.0.0.1:{ports[0]}")
    urls = "nomos+plain://" + ",".join(f"127.0.0.1:{port}" for port in ports)

    async def program() -> None:
        async with connect(urls, reconnect_s=WAIT_S) as host:
            agent = await host.agent("ann")
            jobs = await agent.space("jobs")
            await jobs.out("job", 1)
            active.kill()
            await asyncio.to_thread(active.wait, WAIT_S)
            with unchanged(pair.folder / "b.db"):
                code, found = await asyncio.to_thread(
                    pair.run, "host", "takeover", "--store", "b.db"
                )
            assert (code, "it acknowledged nothing that is not here" in found) == (1, True), found
            assert "nothing was done; --yes takes over" in found
            code, found = await asyncio.to_thread(
                pair.run, "host", "takeover", "--store", "b.db", "--yes"
            )
            assert (code, "ward is the host of b.db now" in found) == (0, True), found
            assert await jobs.take_nowait("job", int) == ("job", 1)
            peer = pair.start("icu", "run", "icu", "--listen", "127.0.0.1:0", *joins)
            await asyncio.to_thread(said, peer)
            while "link-up host=ward" not in pair.log("icu"):
                await asyncio.sleep(0.05)

            standby.kill()  # and a host of the name appears that knows nothing of all that
            await asyncio.to_thread(standby.wait, WAIT_S)
            peer.terminate()
            await asyncio.to_thread(peer.wait, WAIT_S)
            other = pair.start(
                "other", "run", "ward", "--listen", f"127.0.0.1:{ports[1]}", "--no-journal"
            )
            await asyncio.to_thread(said, other)
            again = pair.start("icu", "run", "icu", "--listen", "127.0.0.1:0", *joins)
            await asyncio.to_thread(said, again)
            while f"another process of ward has {next_token(0) + 1}" not in pair.log("icu"):
                await asyncio.sleep(0.05)
            late = asyncio.create_task(jobs.out("job", 3))
            await asyncio.sleep(0.5)
            assert not late.done()  # the client waits for a token as high as it has heard
            late.cancel()

    async def limited() -> None:
        async with asyncio.timeout(4 * WAIT_S):
            await program()

    asyncio.run(limited())


def test_peers_refuse_lower_tokens_over_nats_too(pair: Pair) -> None:
    nats = ("--transport", shared_nats().url)

    def noted(words: str) -> None:
        until = time.monotonic() + WAIT_S
        while words not in pair.log("icu"):
            assert time.monotonic() < until, pair.log("icu")
            time.sleep(0.05)

    def peer() -> Any:
        started = pair.start("icu", "run", "icu", "--listen", "127.0.0.1:0", *nats)
        said(started)
        return started

    active, icu = pair.active("a", "--alone", *nats), peer()
    token = said(active)["life"]
    until = time.monotonic() + WAIT_S
    while _token_of(pair.folder / "icu.db", "ward") != token:
        assert time.monotonic() < until, pair.log("icu")
        time.sleep(0.05)
    for child in (active, icu):
        child.kill()
        child.wait(WAIT_S)
    other = pair.start("other", "run", "ward", "--listen", "127.0.0.1:0", *nats)
    said(other)
    peer()  # it remembers
    noted(f"it has the token 0, and another process of ward has {token}")


def _token_of(store: Path, peer: str) -> int:
    """What a host's store has of a peer's token."""
    with closing(open_store(str(store))) as kept:
        kept.attach()
        for part in kept.dump():
            for change in () if isinstance(part, Header) else part.changes:
                if isinstance(change, SmallKept) and change.name == f"token of {peer}":
                    return int(change.body)
    return 0


def test_both_machines_show_the_certificate_of_the_host(pair: Pair) -> None:
    trust = Trust(pair.folder / "trust")
    for name in ("ward", "icu"):
        trust.member(name)
    pair.access = ["--trust", str(trust.folder)]
    said(pair.active())
    pair.standby()
    pair.until("b", role=STANDBY, how=SYNC)
    code, found = pair.run("host", "standby", "icu", *pair.of, *pair.access, "--store", "new.db")
    assert (code, "the store is that of host 'ward', not of 'icu'" in found) == (2, True), found
    code, found = pair.run(
        "host", "standby", "ward", *pair.of, "--trust", str(Trust(pair.folder / "other").folder)
    )
    assert code == 2, found
    machine, _, port = pair.meeting.partition(":")
    with closing(socket.create_connection((machine, int(port)))) as stranger:
        stranger.sendall(b"nomospace")
        stranger.settimeout(WAIT_S)
        assert b"speaks TLS" in stranger.recv(1_000)
    assert pair.row("b").role == STANDBY
