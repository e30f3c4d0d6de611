"""The journal of a host that serves: what stands in it, and that it replays to what is."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nomospace import t
from nomospace.client.remote import connect
from nomospace.host.posting import OtherStore
from nomospace.law import load
from nomospace.node.config import Config, read_config
from nomospace.node.journaling import NoSegmentsFolder
from nomospace.node.serve import Server
from nomospace.store.interface import Step
from nomospace.store.journal import EventRecord, TupleRecord, encode_record, replay
from nomospace.store.opening import open_store
from nomospace.store.segments import SegmentLimits, read_journal, read_manifest, seal
from nomospace.terms import show
from nomospace.wire.admin import Tail
from nomospace.wire.calls import BadCall
from nomospace.wire.segments import MANIFEST, OtherJournal

LAW = load(
    """\
law(counted).
initialCS([told(0)]).
R1. sent(_, say(_), _) :- told(N)@CS, do(incr(told(N), 1)), do(forward).
R2. arrived(_, say(_), _) :- do(deliver).
R3. sent(_, later(M), _) :- do(imposeObligation(M, 3600)).
"""
)


def test_a_journal_tells_all_and_replays_to_the_control_states(tmp_path: Path) -> None:
    async def program() -> None:
        text = f'[journal]\nfolder = "{tmp_path / "segments"}"\nseconds = 0.3\n'
        config = read_config(
            text,
            "ward.toml",
            name="ward",
            insecure=True,
            listen="127.0.0.1:0",
            store=str(tmp_path / "ward.db"),
        )
        async with Server(config) as server:
            address = server.listener.address
            async with connect(f"nomos+plain://{address}") as host:
                ann, bob = await host.agent("ann"), await host.agent("bob")
                mine, _ = await ann.adopt(LAW), await bob.adopt(LAW)
                jobs = await ann.space("jobs", shared=True, durable=False)
                for number in range(20):
                    await mine.send(t.say(number), to="bob@ward")
                    await jobs.out("job", number)
                await mine.send(t.later("x"), to="ann@ward")
                await mine.send("nonsense", to="bob@ward")
                await jobs.take("job", 7, timeout=60)
                with pytest.raises(BadCall, match="a number in it is too large"):
                    await host.ask(Tail(after=1 << 63))
                lines = await host.ask(Tail(limit=3))
                assert len(lines) <= 3
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"\xff" * 64)  # no frame of ours: refused, and noted
            await reader.read()
            writer.close()
            core = server.host.core
            live = {
                agent: core.governing.member(agent, LAW.hash).snapshot()
                for agent in ("ann@ward", "bob@ward")
            }
            manifest = tmp_path / "segments" / "manifest.json"
            async with asyncio.timeout(120):
                while not manifest.exists():
                    await asyncio.sleep(0.05)
        store = open_store(str(tmp_path / "ward.db"))
        store.attach()
        records = [record for _, record in read_journal(tmp_path / "segments", store)]
        store.close()
        replayed = replay(records)
        for agent, snapshot in live.items():
            again = replayed[agent, LAW.hash]
            assert again.state == snapshot.state
            assert again.obligations == snapshot.obligations
            assert again.seq == snapshot.seq
        ops = [one.op for one in records if isinstance(one, TupleRecord) and one.space == "jobs"]
        assert (ops.count("written"), ops.count("taken")) == (20, 1)
        took = [one.took_ns for one in records if isinstance(one, EventRecord) and one.community]
        assert all(0 < each < 10**15 for each in took), "a span, and no moment"
        rulings = [one.ruling for one in records if isinstance(one, EventRecord)]
        events = [show(one.event.term) for one in rulings]
        assert any("nonsense" in event for event in events)
        assert any(event.startswith("noted(garbage") for event in events)
        assert len({(one.home, one.law, one.seq) for one in rulings}) == len(rulings)

    asyncio.run(program())


# -- where nothing can be written, or somebody else's is -----------------------------------------


def config_of(folder: Path, name: str, segments: Path | str, **given: Any) -> Config:
    """A host with segments; its store is in a folder."""
    text = f'[journal]\nfolder = "{segments}"\nseconds = 0.2\n'
    given.setdefault("store", str(folder / f"{name}.db"))
    return read_config(text, "it.toml", name=name, insecure=True, listen="127.0.0.1:0", **given)


async def sealed_by(config: Config, folder: Path) -> None:
    """Let a host write something, and seal it."""
    async with Server(config) as server:
        async with connect(f"nomos+plain://{server.listener.address}") as host:
            jobs = await (await host.agent("ann")).space("jobs")
            await jobs.out("job", 1)
        async with asyncio.timeout(120):
            while not (folder / MANIFEST).exists():
                await asyncio.sleep(0.05)


def test_a_host_seals_again_and_again_in_one_life(tmp_path: Path) -> None:
    segments = tmp_path / "segments"

    async def program() -> None:
        config = config_of(tmp_path, "ward", segments)
        async with Server(config) as server, asyncio.timeout(60):
            keeper = server.host.keeper
            assert keeper is not None
            jobs = await (await server.host.agent("ann")).space("jobs")
            for count in (1, 2, 3):
                await jobs.out("job", count)
                wanted = keeper.store.last_record
                while read_manifest(segments).last < wanted:
                    await asyncio.sleep(0.05)
        assert len(read_manifest(segments).segments) >= 3

    asyncio.run(program())


def test_a_folder_that_cannot_be_written_into_is_told_before_anything_starts(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()

    async def program(segments: str) -> None:
        with pytest.raises(NoSegmentsFolder) as caught:
            async with Server(config_of(tmp_path, "ward", segments)):
                pass
        assert segments in str(caught.value)

    for segments in (str(tmp_path / "file"), str(tmp_path / "file" / "in it"), "/proc/nowhere"):
        asyncio.run(program(segments))
    assert not list(tmp_path.glob("*.db"))


def test_a_host_does_not_seal_into_the_segments_of_another(tmp_path: Path) -> None:
    """It would lose the records that those of the other are numbered like."""
    segments = tmp_path / "segments"

    async def program() -> None:
        await sealed_by(config_of(tmp_path, "ward", segments), segments)
        with pytest.raises(OtherJournal, match="records, and it has written 0"):
            async with Server(config_of(tmp_path, "icu", segments)):
                pass

    asyncio.run(program())
    before = read_manifest(segments)
    with closing(open_store(str(tmp_path / "lab.db"))) as store:
        store.begin()
        told = TupleRecord("lab", 1, "jobs", "ann@lab", 1, "written", "ann@lab", b"\x90")
        step = Step(records=(encode_record(told),) * (before.last + 5))
        store.commit([step], at=1)
        with pytest.raises(OtherJournal, match="they are of host 'ward', and it is of 'lab'"):
            seal(store, segments, SegmentLimits(seconds=0), now=10**9)
        assert store.journal(0, 1)[0].seq == 1, "it has forgotten nothing"
        with pytest.raises(OtherJournal, match="of host 'ward', and it is of 'lab'"):
            next(read_journal(segments, store))
    assert read_manifest(segments) == before
    assert before.host == "ward"

    async def start() -> None:
        with pytest.raises(OtherJournal, match="of host 'ward', and it is of 'lab'"):
            async with Server(config_of(tmp_path, "lab", segments)):
                pass

    asyncio.run(start())


def test_a_host_does_not_start_with_the_store_of_another(tmp_path: Path) -> None:
    async def program() -> None:
        async with (
            Server(config_of(tmp_path, "ward", tmp_path / "segments")) as server,
            connect(f"nomos+plain://{server.listener.address}") as host,
        ):
            await host.agent("ann")
        swapped = {"store": str(tmp_path / "ward.db")}
        with pytest.raises(OtherStore, match="the agents of 'ward', which this host does not"):
            async with Server(config_of(tmp_path, "icu", "", **swapped)):
                pass
        async with Server(config_of(tmp_path, "ward", tmp_path / "segments")) as server:
            assert server.host.core.step.life == 3  # a try counts; nothing else has changed

    asyncio.run(program())
