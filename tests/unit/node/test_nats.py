"""Links over a real NATS server, which goes away and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nomospace.node.addresses import BadHostAddress, NotLoopback
from nomospace.node.identity import Identity, NotItsName
from nomospace.node.local import Host
from nomospace.node.nats import NatsLinks
from nomospace.node.network import NameTaken
from nomospace.protocols.courier import Receipt
from nomospace.protocols.messages import Advert, Adverts
from tests.servers import NatsServer, nats_server
from tests.sites import QUICK, Notebook, run_real, until
from tests.trust_folder import TrustFolder


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with nats_server() as found:
        yield found


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> TrustFolder:
    made = TrustFolder(tmp_path_factory.mktemp("trust"))
    for name in ("a", "b", "ward.3"):
        made.host(name)
    return made


GREETING = Receipt(0)
"""Said until it is heard; it may be heard several times, and late."""


class Site:
    def __init__(self, links: NatsLinks, notes: Notebook) -> None:
        self.links = links
        self.notes = notes
        self.heard: list[tuple[str, Any]] = []
        self.met: dict[str, None] = {}
        links.join(links.name, self.hear)

    def hear(self, who: str, frame: Any) -> None:
        if frame == GREETING:
            self.met[who] = None
        else:
            self.heard.append((who, frame))

    def send(self, to: str | None, frame: Any) -> None:
        self.links.transmit(self.links.name, to, frame)


@asynccontextmanager
async def site(name: str, url: str, trust: TrustFolder | None, **more: Any) -> AsyncIterator[Site]:
    notes = Notebook()
    identity = None if trust is None else Identity(trust.folder, name)
    links = NatsLinks(name, url, identity=identity, on_note=notes, **more)
    found = Site(links, notes)
    await links.start()
    try:
        yield found
    finally:
        await links.stop()


async def acquainted(one: Site, other: Site) -> None:
    """Frames go both ways: before the first questions are answered they get lost."""

    def both() -> bool:
        one.send(None, GREETING)
        other.send(None, GREETING)
        return other.links.name in one.met and one.links.name in other.met

    await until(both)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("secure", [False, True])
def test_frames_small_and_large(
    loop: str, secure: bool, server: NatsServer, trust: TrustFolder
) -> None:
    async def program() -> None:
        with_trust = trust if secure else None
        async with (
            site("a", server.url, with_trust) as a,
            site("ward.3", server.url, with_trust) as b,  # a name that is no subject
        ):
            await acquainted(a, b)
            for n in range(1, 501):
                a.send("ward.3", Receipt(n))
                b.send(None, Receipt(n))
            await until(lambda: len(a.heard) == len(b.heard) == 500)
            assert b.heard == [("a", Receipt(n)) for n in range(1, 501)]
            assert a.links.neighbours() == ("ward.3",)
            large = Adverts((Advert("x", 1, ("y" * 3_000_000,), (1, "x")),))
            b.heard.clear()
            a.send("ward.3", large)  # three times what the server takes in one message
            a.send("ward.3", Receipt(1))
            await until(lambda: len(b.heard) == 2)
            assert b.heard == [("a", large), ("a", Receipt(1))]

    run_real(program(), loop=loop)


def test_a_server_that_restarts(trust: TrustFolder) -> None:
    with nats_server() as server:

        async def program() -> None:
            async with (
                site("a", server.url, trust) as a,
                site("b", server.url, trust) as b,
            ):
                await acquainted(a, b)
                server.stop()
                await until(lambda: not a.links.connected and not b.links.connected)
                a.send("b", Receipt(1))
                assert a.links.counts()["dropped"] > 0
                await asyncio.sleep(0.3)
                server.start()
                await until(lambda: a.links.connected and b.links.connected)
                await asyncio.sleep(0.1)
                a.send("b", Receipt(2))
                await until(lambda: b.heard == [("a", Receipt(2))])
                assert [what for what, _ in a.notes.notes].count("server-reached") == 2
                assert len(a.notes.notes) < 10  # it was tried many times and noted once

        run_real(program())


def test_hosts_over_nats_share_tuples_through_a_restart_of_it(trust: TrustFolder) -> None:
    with nats_server() as server:

        async def program() -> None:
            links = [
                NatsLinks(name, server.url, identity=Identity(trust.folder, name))
                for name in ("a", "b")
            ]
            for each in links:
                await each.start()
            a, b = [Host(each.name, network=each, pace=QUICK) for each in links]
            async with a, b:
                await a.wait_engaged("b", timeout=60)
                await b.wait_engaged("a", timeout=60)
                here = await (await a.agent("ann")).space("jobs", shared=True)
                there = await (await b.agent("bob")).space("jobs", shared=True)
                await here.out("job", 1)
                assert await there.take("job", int, timeout=60) == ("job", 1)
                waiting = asyncio.ensure_future(there.take("job", int, timeout=60))
                server.stop()
                await asyncio.sleep(0.5)
                await here.out("job", 2)
                server.start()
                assert await waiting == ("job", 2)
            for each in links:
                await each.stop()

        run_real(program())


def test_a_server_that_comes_later_and_nets_that_do_not_meet(trust: TrustFolder) -> None:
    with nats_server() as server:
        server.stop()

        async def program() -> None:
            async with (
                site("a", server.url, trust) as a,
                site("b", server.url, trust) as b,
                site("ward.3", server.url, trust, net="other") as c,
            ):
                a.send("b", Receipt(1))
                await until(lambda: a.links.counts()["dropped"] == 1)
                server.start()
                await acquainted(a, b)
                assert c.heard == []

        run_real(program())


def test_what_others_publish_is_not_believed(server: NatsServer, trust: TrustFolder) -> None:
    import nats

    async def program() -> None:
        async with site("a", server.url, trust) as a, site("b", server.url, trust) as b:
            await acquainted(a, b)
            rogue = await nats.connect(server.url)
            try:
                sent = await replay(rogue, a, b)
            finally:
                await rogue.close()
            a.send("b", Receipt(8))
            await until(lambda: ("a", Receipt(8)) in b.heard)
            assert b.heard == [("a", Receipt(7))] * sent + [("a", Receipt(8))]

    async def replay(rogue: Any, a: Site, b: Site) -> int:
        """Say again what a said to b, and more; how often a itself spoke."""
        kept: list[bytes] = []

        async def keep(message: Any) -> None:
            kept.append(message.data)

        await rogue.subscribe("nomos.host.b", cb=keep)
        sent = 0
        while not any(b"envelope" in data for data in kept):
            a.send("b", Receipt(7))
            sent += 1
            await asyncio.sleep(0.02)
        await until(lambda: len(b.heard) == sent)
        for data in [*kept, b"", b"garbage", bytes([64]) + bytes(200), b"\0\x90"]:
            await rogue.publish("nomos.host.b", data)
        await until(lambda: len(b.notes.whys("garbage")) == 4)
        assert b.notes.whys("replayed")
        return sent

    run_real(program())


def test_links_check_what_they_are_made_with(trust: TrustFolder) -> None:
    with pytest.raises(NotLoopback):
        NatsLinks("a", "nats://10.0.0.3:4222", identity=None)
    with pytest.raises(BadHostAddress, match="a NATS server is nats://"):
        NatsLinks("a", "http://127.0.0.1:4222", identity=None)
    with pytest.raises(BadHostAddress) as caught:
        NatsLinks("a", "nats://ann:secret@127.0.0.1:x", identity=None)
    assert "secret" not in str(caught.value)
    with pytest.raises(BadHostAddress, match="a net is named"):
        NatsLinks("a", "nats://127.0.0.1:4222", identity=None, net="a.>")
    with pytest.raises(NotItsName):
        NatsLinks("a", "nats://127.0.0.1:4222", identity=Identity(trust.folder, "b"))
    links = NatsLinks("a", "nats://127.0.0.1:4222", identity=None)
    assert links.neighbours() == ()
    with pytest.raises(NameTaken):
        links.join("b", lambda *_: None)
