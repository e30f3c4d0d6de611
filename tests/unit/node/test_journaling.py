"""The journal of a host that serves: what stands in it, and that it replays to what is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from nomospace import t
from nomospace.client.remote import connect
from nomospace.law import load
from nomospace.node.config import read_config
from nomospace.node.serve import Server
from nomospace.store import open_store
from nomospace.store.journal import EventRecord, TupleRecord, replay
from nomospace.store.segments import read_journal
from nomospace.terms import show
from nomospace.wire.admin import Tail

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
                await jobs.take("job", 7, timeout=5)
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
            async with asyncio.timeout(30):
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
        rulings = [one.ruling for one in records if isinstance(one, EventRecord)]
        events = [show(one.event.term) for one in rulings]
        assert any("nonsense" in event for event in events)
        assert any(event.startswith("noted(garbage") for event in events)
        assert len({(one.home, one.law, one.seq) for one in rulings}) == len(rulings)

    asyncio.run(program())
