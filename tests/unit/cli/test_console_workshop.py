"""What a console hands to children: runs of events, comparisons, jobs; and how they end."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from nomospace.cli.console import Workshop, children
from nomospace.cli.console.bench import NoSuchServer
from nomospace.cli.console.children import ChildFailed, ChildTooLong, run_child
from nomospace.cli.console.tails import NothingRecorded
from nomospace.console.stage import ALL_HOSTS, LawDraft, Progress
from nomospace.law import load
from nomospace.node.config import Config, read_config
from nomospace.node.serve import Server

QUOTA = """law(quota).
initialCS([slot]).
R1. sent(X, M, Y) :- slot@CS, do(-slot), do(imposeObligation(slot, 1, hour)), do(forward).
R2. obligationDue(slot) :- do(+slot).
R3. arrived(X, M, Y) :- do(deliver).
"""
OPEN = QUOTA.replace("slot@CS, do(-slot), ", "")
SENT = '{"at": %d, "home": "a@w", "event": "sent", "message": "hi", "to": "b@w"}'


def test_a_run_tells_rulings_states_and_obligations() -> None:
    events = "\n".join([SENT % 0, "", SENT % 2])
    told = asyncio.run(
        Workshop().bench.run(LawDraft(QUOTA), events, until_s=4_000.0, isolated=True)
    )
    first, second, due = told["steps"]
    assert (first["kind"], first["line"], first["owed"]) == (
        "forwarded",
        1,
        [{"term": "slot", "at": 3600}],
    )
    assert (second["kind"], second["line"], second["control_state"]) == ("refused", 3, [])
    assert "slot@CS" in second["why"]
    assert (due["kind"], due["at"], due["control_state"]) == ("obligation", 3600, ["slot"])


def test_what_was_ruled_before_a_bad_line_stands() -> None:
    events = "\n".join([SENT % 0, '{"at": 1}'])
    told = asyncio.run(Workshop().bench.run(LawDraft(QUOTA), events, until_s=None, isolated=True))
    assert len(told["steps"]) == 1
    assert told["fault"] == 'events: line 2: "home" is missing'


def test_errors_of_a_law_come_in_the_words_of_the_command_line() -> None:
    draft = LawDraft("law(l). R1. sent(X, M, Y) :- do(forwrad).")
    with pytest.raises(ChildFailed, match=r"draft.law:1:33: error \[unknown-operation\]"):
        asyncio.run(Workshop().bench.run(draft, "", until_s=None, isolated=False))


def test_a_child_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    slow = tmp_path / "slow_child.py"
    slow.write_text("import time\ntime.sleep(60)\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with pytest.raises(ChildTooLong, match="the nap"):
            asyncio.run(run_child("slow_child", (), what="the nap", seconds=0.3))


def test_a_child_that_prints_too_much_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud_child.py").write_text("while True: print('x' * 1000)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(children, "OUT_BYTES_MAX", 100_000)
    monkeypatch.setattr(children, "POLITE_S", 20.0)
    with pytest.raises(ChildFailed, match="more than 100,000 bytes"):
        asyncio.run(run_child("loud_child", (), what="the noise", seconds=20))


# -- over a host -----------------------------------------------------------------------------------


def config(name: str, folder: Path, **more: Any) -> Config:
    store = str(folder / f"{name}.db")
    given = {"listen": "127.0.0.1:0", "insecure": True, "store": store}
    return read_config("", "flags", name=name, **given, **more)


def with_a_host(
    work: Callable[[Workshop, Server], Awaitable[None]], folder: Path, **more: Any
) -> None:
    async def go() -> None:
        async with Server(config("ward", folder, **more)) as server:
            workshop = Workshop(folder)
            workshop.add(server)
            try:
                await work(workshop, server)
            finally:
                workshop.close()

    asyncio.run(go())


async def talk(server: Server, messages: int) -> None:
    """Two members under the law; one sends, and only its first message passes."""
    name = server.config.host.name
    ann, bob = await server.host.agent("ann"), await server.host.agent("bob")
    law = load(QUOTA)
    await bob.adopt(law)
    member = await ann.adopt(law)
    for number in range(messages):
        await member.send(f"hi({number})", to=f"bob@{name}")


def test_a_draft_is_compared_with_what_was_in_force(tmp_path: Path) -> None:
    async def work(workshop: Workshop, server: Server) -> None:
        bench = workshop.bench
        with pytest.raises(NothingRecorded, match="ward"):
            await bench.compare("ward", "quota", None, LawDraft(OPEN), newest=1_000)
        await talk(server, 4)
        found = await bench.compare("ward", "quota", None, LawDraft(OPEN), newest=1_000)
        assert (found["differing"], found["members_differing"], found["passed_over"]) == (4, 1, 0)
        first = found["first"][0]
        assert first["agent"] == "ann@ward"
        assert first["before"]["ruling"] != first["after"]["ruling"]
        same = await bench.compare("ward", "quota", None, LawDraft(QUOTA), newest=1_000)
        assert same["differing"] == 0

    with_a_host(work, tmp_path)


def test_several_hosts_are_looked_at_together(tmp_path: Path) -> None:
    async def work(workshop: Workshop, server: Server) -> None:
        async with Server(config("icu", tmp_path)) as other:
            workshop.add(other)
            await talk(server, 3)
            await talk(other, 2)
            asked = LawDraft(OPEN)
            found = await workshop.bench.compare(ALL_HOSTS, "quota", None, asked, newest=1_000)
            assert (found["members"], found["differing"]) == (4, 5)
            alone = await workshop.bench.compare("icu", "quota", None, asked, newest=1_000)
            assert (alone["members"], alone["differing"]) == (2, 2)
            with pytest.raises(NoSuchServer, match="choose ward or icu"):
                await workshop.bench.compare("er", "quota", None, asked, newest=1_000)

    with_a_host(work, tmp_path)


def test_what_is_sealed_already_is_read_where_it_is(tmp_path: Path) -> None:
    async def work(workshop: Workshop, server: Server) -> None:
        await talk(server, 4)
        journal = tmp_path / "journal"
        async with asyncio.timeout(60):
            while not (journal / "manifest.json").is_file():
                await asyncio.sleep(0.05)
        found = await workshop.bench.compare("ward", "quota", None, LawDraft(OPEN), newest=1_000)
        assert (found["differing"], found["passed_over"]) == (4, 0)

    sealing = {"folder": str(tmp_path / "journal"), "rows": 3, "seconds": 0.1}
    with_a_host(work, tmp_path, journal=sealing)


def test_jobs_run_over_what_a_host_has_recorded(tmp_path: Path) -> None:
    async def work(workshop: Workshop, server: Server) -> None:
        await talk(server, 3)
        steps = [
            one async for one in workshop.pipeline.run("replay", {"host": "ward", "law": OPEN})
        ]
        assert steps[0].words == "copying what was recorded"
        assert not steps[-1].failed
        assert steps[-1].answer["changed"] == 3
        (page,) = [
            one async for one in workshop.pipeline.run("audit", {"host": "ward"}) if one.ended
        ]
        assert "<html" in page.report
        assert page.answer

    with_a_host(work, tmp_path)


LONG_CHILD = """
import os, signal, sys, time

def write_on(*_):
    os.makedirs(sys.argv[sys.argv.index("--out") + 1])
    sys.exit()

signal.signal(signal.SIGTERM, write_on)
print(os.getpid(), file=sys.stderr, flush=True)
time.sleep(60)
"""
"""A job that writes until its very end."""


def test_a_job_that_is_left_is_ended_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nomospace.cli.console import pipeline

    (tmp_path / "long_child.py").write_text(LONG_CHILD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    real = run_child

    async def other(module: str, *given: Any, **more: Any) -> Any:
        return await real("long_child" if module == "nomospace.cli" else module, *given, **more)

    monkeypatch.setattr(pipeline, "run_child", other)

    async def work(workshop: Workshop, server: Server) -> None:
        await talk(server, 1)
        process = 0
        run = cast(Any, workshop.pipeline.run("audit", {"host": "ward"}))
        async with aclosing(run):
            async for step in run:
                assert isinstance(step, Progress)
                if step.words.isdigit():
                    process = int(step.words)
                    workshop.close()  # as when the host ends while a job runs
                    break
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
        assert not list(tmp_path.glob("nomospace-console-*"))

    with_a_host(work, tmp_path)


def test_the_command_line_works_when_it_is_pasted(tmp_path: Path) -> None:
    async def work(workshop: Workshop, server: Server) -> None:
        await talk(server, 1)
        said = await workshop.pipeline.prepare(
            "match",
            {
                "host": "ward",
                "ontology": "classes: {Car: {}}",
                "template": "(Car, 'x')",
                "space": "a b",
            },
        )
        assert "--template '(Car, '\"'\"'x'\"'\"')'" in said
        assert "--space 'a b'" in said
        shell = await asyncio.create_subprocess_shell(
            said, cwd="/", stdout=PIPE, stderr=PIPE, env=os.environ
        )
        out, wrong = await asyncio.wait_for(shell.communicate(), 60)
        assert (shell.returncode in (0, 1), out) == (True, b""), wrong.decode()

    with_a_host(work, tmp_path)
