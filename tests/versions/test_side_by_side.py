"""Hosts and clients of the earlier version and of this one; `rolling` goes on for longer."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from nomospace import field
from nomospace.calls.partition import OtherPartition
from nomospace.client.remote import connect
from nomospace.node.peering import LINK_VERSION, LINK_VERSIONS, Greeting, encode_word
from nomospace.protocols.courier import Receipt
from nomospace.protocols.messages import Relay
from nomospace.protocols.questions import PeerQuestion
from nomospace.store.schema import VERSION
from nomospace.wire.frames import SINCE, decode_frame
from nomospace.wire.framing import HOST, Framer, join, preface
from nomospace_lab.testing.outside import explain
from tests.sites import run_real, site, until
from tests.versions.earlier import python
from tests.versions.mixed import Mixed, VersionClients

WORK_S = 1.0
RUN_S = 300.0
READ_BYTES = 65_536


async def _has_another_space(hosts: Mixed) -> None:
    """A host that knows no partitions never takes a partitioned space for its own."""
    access: dict[str, Any] = hosts.access("ann@ward", "bob@icu")
    async with (
        connect(hosts.url("ward"), **access) as ward,
        connect(hosts.url("icu"), **access) as icu,
    ):
        ann, bob = await ward.agent("ann"), await icu.agent("bob")
        theirs = await ann.space("parted", shared=True)
        await bob.system.read("space", "parted", "ann@ward", "ward", "connected", timeout=30)
        with pytest.raises(OtherPartition) as raised:  # which the newer one says
            await bob.space("parted", shared=True, partition=field(1))
        assert "not partitioned at host ward" in str(raised.value)
        mine = await bob.space("shards", shared=True, partition=field(1))
        await mine.out("job", 1)
        theirs = await ann.space("shards", shared=True)
        await theirs.out("job", 2)
        assert await theirs.read_all("job", int, at="icu") == []
        assert await mine.read_all("job", int, at="ward") == []
        assert await mine.take("job", 1, timeout=30) == ("job", 1)
        assert await theirs.take("job", 2, timeout=30) == ("job", 2)


@pytest.mark.slow
def test_two_versions_are_one_group_and_a_store_goes_up_and_back() -> None:
    async def story() -> None:
        hosts = Mixed("tls")
        hosts.turn("ward", old=True)
        clients = VersionClients(hosts, "new@ward", "old@icu")
        try:
            await hosts.start("ward", "icu")
            await clients.start()
            await asyncio.sleep(WORK_S)
            await clients.finish()
            outcome = explain(clients.history)
            assert outcome.answer == "yes", str(outcome)
            kinds = {one.kind for one in clients.history}
            assert {"out", "take", "lend", "send", "receive"} <= kinds
            await _has_another_space(hosts)

            await hosts.stop("ward")
            hosts.turn("ward", old=False)
            await hosts.start("ward")
            access: dict[str, Any] = hosts.access("ann@ward")
            async with connect(hosts.url("ward"), **access) as ward:
                await (await (await ward.agent("ann")).space("kept")).out("note", 17)
            await hosts.stop("ward")
            refused = await hosts.go_back("ward")
            said = rf"has version {VERSION}, and this nomospace knows versions up to \d+; upgrade"
            assert re.search(said, refused), refused
            async with connect(hosts.url("ward"), **access) as ward:
                kept = await (await ward.agent("ann")).space("kept")
                assert await kept.take_nowait("note", int) == ("note", 17)
        finally:
            clients.close()
            await hosts.close()

    async def bounded() -> None:
        async with asyncio.timeout(RUN_S):
            await story()

    asyncio.run(bounded())


@pytest.mark.parametrize("newest", range(LINK_VERSIONS.oldest, LINK_VERSION + 1))
def test_a_host_is_told_nothing_that_its_version_does_not_know(newest: int) -> None:
    async def program() -> None:
        async with site("a") as a:
            reader, writer = await asyncio.open_connection(*a.port.address)
            greeting = Greeting(LINK_VERSIONS.oldest, "x", 1, 1, (), newest=newest)
            writer.write(preface(HOST) + join([encode_word(greeting)]))
            await until(lambda: a.links.neighbours() == ("x",))
            a.links.transmit("a", "x", Relay("a", "x", 3, PeerQuestion(7, b"who")))
            a.links.transmit("a", "x", Receipt(17))
            told: list[object] = []
            framer = Framer(READ_BYTES)
            while not told or told[-1] != Receipt(17):
                for data in framer.feed(await reader.read(READ_BYTES)):
                    told += [decode_frame(data)] if data[0] else []
            assert (len(told) == 2) == (newest >= SINCE[PeerQuestion])
            writer.close()

    run_real(program())


NAMES = """
from nomospace.wire.slots import CARRIED, FRAMES, RELAYED
print(*{each.__name__ for slot in (FRAMES, RELAYED, CARRIED) for each in slot.holds()})
"""


def test_what_hosts_have_to_say_since_the_earlier_version_is_told_to_later_ones_only() -> None:
    here, there = [set(python("-c", NAMES, old=old).stdout.split()) for old in (False, True)]
    assert here - there == {each.__name__ for each in SINCE}
    assert max(SINCE.values()) <= LINK_VERSION
