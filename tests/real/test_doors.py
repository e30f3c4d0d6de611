"""Who may come in, as what, and for how long: doors of real hosts."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nats
import nats.aio.client
import nats.aio.msg
import pytest
from mcp import Client, StdioServerParameters

from nomospace import ANY
from nomospace.calls.problems import NotAnOperator, NotLetIn, NotYourAgent
from nomospace.calls.requests import Open, Seek, Share
from nomospace.calls.ways import Way
from nomospace.cli import main
from nomospace.client.remote import RemoteHost, connect
from nomospace.node.listen import PortLimits
from nomospace.terms.templates import Template
from nomospace.wire.admin import SpaceLine, Spaces, Stats, Tail
from nomospace.wire.framing import STRANGER_BYTES_MAX, join
from nomospace.wire.talk import pack_ask
from tests.parity.worlds import see
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.raw import Raw
from tests.real.strangers import fill
from tests.real.trust import Trust
from tests.servers import nats_server

SOON_US = 500_000
STRANGERS = 64
STRANGERS_S = 1.0
TLS_BYTES = 400_000
"""What the state of a TLS connection and its buffers may cost, at most."""
SLACK_BYTES = 20_000_000
"""What the client at work beside may cost its host."""
SOURCES = 20
WAIT_S = 60.0


class Ward:
    """A host with certificates."""

    def __init__(self, folder: Path) -> None:
        self.trust = Trust(folder / "trust")
        self.trust.member("ward")
        self.trust.host("eve")
        store = ("--store", str(folder / "ward.db"))
        self.host = RealHost("ward", folder, "--trust", str(self.trust.folder), *store)
        self.chief = self.trust.token("chief@ward", operator=True)
        start(self.host)

    def call(self, token: str = "", **how: object) -> RemoteHost:
        """A client."""
        return caller(self.host, self.trust, token=token, **how)

    async def space(self, name: str) -> SpaceLine:
        """What an operator sees of a space."""
        async with self.call(self.chief) as client:
            (found,) = [line for line in await client.ask(Spaces()) if line.name == name]
            assert isinstance(found, SpaceLine)
            return found


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    made = Ward(tmp_path_factory.mktemp("ward"))
    try:
        yield made
    finally:
        end(made.host)


async def cut(ward: Ward, work: asyncio.Task[object], why: str) -> None:
    """Its work ends with the reason, which log and journal have too."""
    with pytest.raises(NotLetIn, match=why):
        async with asyncio.timeout(WAIT_S):
            await work
    await ward.host.noted("client-cut", why)


def test_token_that_is_taken_back_while_its_bearer_is_there(ward: Ward) -> None:
    """What it waits for ends and its reactions go, connected or not; its tuples stay."""

    async def program() -> None:
        trust = ward.trust
        mine, hers = trust.token("ann@ward"), trust.token("eve@ward")
        async with ward.call(mine) as client, await Raw.client(ward.host, trust) as other:
            space = await (await client.agent()).space("given", shared=True)
            await space.out("mine", 1)
            space.react(("job", ANY), lambda job, source, handle: None)
            waiting = asyncio.create_task(space.take("job", ANY))
            await other.hello("eve@ward", token=hers)
            assert await other.call(Open("given", None, True)) is None
            assert await other.call(Share(("given",), True)) is None
            seek = Seek("given", Way.TAKE, Template.of(("job", ANY)))
            other.send(join([pack_ask(9, 0, seek)]))
            async with asyncio.timeout(WAIT_S):
                while (await ward.space("given")).waiting < 2:
                    await asyncio.sleep(0.02)
            other.abort()
            trust.withdraw(mine)
            trust.withdraw(hers)
            await cut(ward, waiting, "was taken back")
            await ward.host.noted("client-cut", "eve@ward")
            with pytest.raises(NotLetIn):
                await space.out("mine", 2)
        async with asyncio.timeout(WAIT_S):
            while (found := await ward.space("given")).waiting:
                await asyncio.sleep(0.02)
        assert (found.tuples, found.reactions) == (1, 0)
        async with ward.call(trust.token("ann@ward")) as client:  # a new token, the same agent
            space = await (await client.agent()).space("given", shared=True)
            assert await space.take_nowait("mine", int) == ("mine", 1)
        async with ward.call(ward.chief) as client:
            async with asyncio.timeout(WAIT_S):
                while not any(
                    "client-cut" in record.columns.get("event", "")
                    for record in await client.ask(Tail(limit=1_000))
                ):
                    await asyncio.sleep(0.05)

    play(program())


def test_certificate_that_is_revoked_while_its_agent_is_there(ward: Ward) -> None:
    async def program() -> None:
        identity = ward.trust.visitor("carl@ward")
        async with caller(ward.host, ward.trust, identity=identity) as client:
            space = await (await client.agent()).space("carl", shared=True)
            await space.out("job", 1)
            waiting = asyncio.create_task(space.take("never"))
            ward.trust.take_back((identity / "agent.pem").read_bytes())
            await cut(ward, waiting, "was revoked")

    play(program())


def test_token_that_runs_out_while_its_bearer_is_there(ward: Ward) -> None:
    async def program() -> None:
        token = ward.trust.token("dan@ward")
        async with ward.call(token) as client:
            space = await (await client.agent()).space("dan", shared=True)
            waiting = asyncio.create_task(space.take("never"))
            ward.trust.change(token, not_after=time.time_ns() // 1000 + SOON_US)
            await cut(ward, waiting, "ran out on")

    play(program())


def test_token_whose_scopes_or_agents_change(ward: Ward) -> None:
    """Who is still something stays, as what it is now; who is nothing any more is cut."""

    async def program() -> None:
        token = ward.trust.token("fay@ward", operator=True)
        async with ward.call(token) as client, ward.call(token) as asking:
            space = await (await client.agent()).space("fay", shared=True)
            await asking.ask(Spaces())
            waiting = asyncio.create_task(space.take("never"))
            ward.trust.change(token, scopes=("agent",))
            await ward.host.noted("client-cut", "is no operator any longer")
            with pytest.raises((NotAnOperator, NotLetIn)):  # as it asks anew, or hears of the cut
                await asking.ask(Spaces())
            await space.out("job", 1)  # it acts as its agent as before
            ward.trust.change(token, agents=("gus@ward",))
            await cut(ward, waiting, "speaks for fay@ward no longer")
            with pytest.raises(NotYourAgent):
                await client.agent("fay")

    play(program())


def test_model_whose_token_is_taken_back(ward: Ward, tmp_path: Path) -> None:
    """`nomospace mcp` is a client like others: its tools do nothing from then on."""

    async def program() -> None:
        token = ward.trust.token("bot@ward")
        arguments = ["-m", "nomospace.cli", "mcp", "--connect", f"nomos://{ward.host.address}"]
        arguments += ["--trust", str(ward.trust.folder), "--token", token]
        server = StdioServerParameters(command=sys.executable, args=arguments, cwd=tmp_path)
        async with Client(server) as model:
            job = {"space": "bots", "fields": ["job(1)"]}
            assert not (await model.call_tool("write", job)).is_error
            ward.trust.withdraw(token)
            await ward.host.noted("client-cut", "bot@ward")
            refused = await model.call_tool("write", job)
            assert refused.is_error
            assert "was taken back" in str(refused.content)

    play(program())


def test_scopes_that_a_token_does_not_have(ward: Ward) -> None:
    """An operator acts as no agent, an agent asks no operator's questions."""

    async def program() -> None:
        for scopes in (("agent",), ("operator",), ("agent", "operator")):
            token = ward.trust.token("hal@ward", scopes=scopes)
            async with ward.call(token) as client:
                if "agent" in scopes:
                    assert (await client.agent()).id == "hal@ward"
                    await (await client.agent()).space("hal")
                else:
                    with pytest.raises(NotLetIn, match="acts as no agent"):
                        await client.agent()
                    with pytest.raises(NotYourAgent):
                        await client.agent("hal@ward")
                if "operator" in scopes:
                    assert await client.ask(Spaces())
                else:
                    with pytest.raises(NotAnOperator):
                        await client.ask(Spaces())
                with pytest.raises((NotYourAgent, NotLetIn)):
                    await client.agent("chief")

    play(program())


# -- strangers ---------------------------------------------------------------------------------


def test_strangers_that_send_without_end(ward: Ward) -> None:
    """`python -m tests.real.strangers --connections 256` is the long form of this."""
    outcome = play(fill(ward.host, ward.trust, STRANGERS, seconds=STRANGERS_S))
    most = STRANGERS * (STRANGER_BYTES_MAX + TLS_BYTES)
    assert outcome.rss_most - outcome.rss_before < most + SLACK_BYTES
    play(ward.host.noted("bad-frame", "over the limit of 65,536"))


def test_strangers_that_would_keep_others_out(ward: Ward) -> None:
    """Handshakes are begun and never ended, from a few addresses; a client comes in meanwhile."""

    async def program() -> None:
        limits = PortLimits()
        with ExitStack() as crowd:
            for number in range(limits.proving_max + 100):
                sock = crowd.enter_context(socket.socket())
                sock.bind((f"127.0.2.{1 + number % SOURCES}", 0))
                sock.connect((ward.host.at, ward.host.port))
                sock.send(b"\x16\x03\x01\x02\x00")
            async with ward.call(ward.trust.token("iris@ward"), reconnect_s=WAIT_S) as client:
                assert (await client.agent()).id == "iris@ward"
            await ward.host.noted("pushed-out", "others wait")

    play(program())


# -- hosts over a message server ---------------------------------------------------------------


async def all_that_is_said(url: str, heard: list[tuple[str, bytes]]) -> nats.aio.client.Client:
    """Listen on everything, as whoever reaches the server can."""
    client = await nats.connect(url)

    async def hear(message: nats.aio.msg.Msg) -> None:
        heard.append((message.subject, message.data))

    await client.subscribe(">", cb=hear)
    await client.flush()
    return client


def test_listeners_on_a_message_server(tmp_path: Path) -> None:
    """They see that hosts speak, and nothing of what; a revoked host is heard no more."""
    heard: list[tuple[str, bytes]] = []
    trust = Trust(tmp_path / "trust")

    async def program(url: str, ward: RealHost, icu: RealHost) -> None:
        listening = await all_that_is_said(url, heard)
        await asyncio.gather(ward.ready(), icu.ready())
        here = caller(ward, trust, token=trust.token("ann@ward", operator=True))
        there = caller(icu, trust, token=trust.token("bob@icu"))
        async with here, there:
            mine = await (await here.agent()).space("letters", shared=True)
            theirs = await (await there.agent()).space("letters", shared=True)
            waiting = asyncio.create_task(theirs.take("hush4711", str))
            await see(await here.agent(), "icu")
            await mine.out("hush4711", "a-secret-of-ann")
            async with asyncio.timeout(WAIT_S):
                assert await waiting == ("hush4711", "a-secret-of-ann")
            trust.take_back((trust.folder / "hosts" / "icu" / "host.pem").read_bytes())
            await ward.noted("certificate-refused", "icu", "was revoked")
            async with asyncio.timeout(WAIT_S):
                while "icu" in (await here.ask(Stats())).members:
                    await asyncio.sleep(0.02)
            await ward.noted("certificate-refused", "icu", "was revoked", more_than=1)
        await listening.close()

    with nats_server() as server:
        given = ("--trust", str(trust.folder), "--transport", server.url, "--store", "memory")
        hosts = []
        for name in ("ward", "icu"):
            trust.member(name)
            hosts.append(RealHost(name, tmp_path, *given))
        try:
            play(program(server.url, *hosts))
        finally:
            end(*hosts)
    subjects = {subject for subject, _ in heard}
    assert subjects == {"nomos.all", "nomos.host.ward", "nomos.host.icu"}
    said = b"".join(data for _, data in heard)
    for word in (b"hush4711", b"a-secret-of-ann", b"letters", b"ann@ward", b"bob@icu"):
        assert word not in said


# -- neighbours on the machine -----------------------------------------------------------------


def test_files_that_another_user_would_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stores, segments, backups and exports; what was open is narrowed.

    Under a umask that takes nothing away: what is closed then is closed under any.
    """
    monkeypatch.chdir(tmp_path)
    Path("host.toml").write_text('[journal]\nfolder = "kept/journal"\nrows = 5\nseconds = 0.1\n')
    Path("host.toml").chmod(0o600)
    Path("ward.db.lock").touch(mode=0o644)  # as an earlier version may have left it
    others = [Path("ward.db-old"), Path("ward.db.html"), Path("notes")]  # which may be anybody's
    for other in others:
        other.touch(mode=0o644)
    command = [sys.executable, "-m", "nomospace.cli", "host", "run", "ward", "--insecure"]
    command += ["--store", "ward.db", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    command += ["--json", "--config", "host.toml", "--log", "json"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, umask=0, **pipes) as host:
        assert host.stdout is not None
        assert host.stderr is not None
        try:
            play(leave_traces(json.loads(host.stdout.readline())["address"], tmp_path))
        finally:
            host.terminate()
        assert b'"narrowed"' in host.stderr.read()
    before = os.umask(0)
    try:
        export = ["journal", "export", "kept/journal", "--out"]
        assert main(["backup", "ward.backup", "--store", "ward.db"]) == 0
        assert main([*export, "events.jsonl"]) == 0
        assert main([*export, "events.parquet", "--format", "parquet"]) == 0
    finally:
        assert os.umask(before) == 0, "a command leaves it as it was"
    assert shown_to_others(tmp_path) == {other.name for other in others}
    names = {path.name for path in tmp_path.rglob("*")}
    assert names >= {"ward.db", "ward.backup", "events.jsonl", "events.parquet", "journal"}


def shown_to_others(folder: Path) -> set[str]:
    """The files that other users may do something with."""
    return {path.name for path in folder.rglob("*") if path.stat().st_mode & 0o077}


async def leave_traces(address: str, folder: Path) -> None:
    """Write what nobody else should read, until some of it is in a segment."""
    async with connect(f"nomos+plain://{address}") as client:
        space = await (await client.agent("ann")).space("mine")
        async with asyncio.timeout(WAIT_S):
            while not list(folder.rglob("*.parquet")):
                await space.out("hush4711")
                await asyncio.sleep(0.05)
    assert shown_to_others(folder) == {"notes", "ward.db-old", "ward.db.html"}, "while it runs"
