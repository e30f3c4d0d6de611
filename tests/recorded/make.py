"""Records what a version of nomospace keeps, so that later versions are tested against it.

    python tests/recorded/make.py OUT

Run it with the Python of the version to record. It starts two hosts of that version, `ward` and
`icu`, as processes with certificates, lets agents use whatever a store can hold, and kills the
hosts. OUT gets `hosts.tar.gz` (the folder of both: stores with their logs, segments of the journal,
a backup that was made while the host ran, the trust folder, a stream's state) and `told.json`: what
a test needs to know of them. It uses what later versions have too, so they can be recorded with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from inspect import signature
from pathlib import Path
from typing import Any

import nomospace as ns
from nomospace import laws, obj, t

DAYS = "36500"
EARLIER = """
import runpy, time
now = time.time_ns
time.time_ns = lambda: now() - 10 * 365 * 86_400 * 10**9
runpy.run_module("nomospace.cli", run_name="__main__")
"""
"""Runs a command ten years ago: certificates must count wherever the tests run."""
SESSION = "5e5510" * 5 + "00"
"""The name of the session whose client dies while it waits."""

CONFIG = """\
[host]
name = "{name}"
listen = "127.0.0.1:{port}"
join = [{join}]
store = "{name}.db"
trust = "trust"

[journal]
folder = "{name}-journal"
rows = 60
"""

LEDGER = """\
law(ledger).
disclose(all).
initialCS([balance(100), tags([])]).

R1. sent(_, pay(N), _) :- balance(B)@CS, B >= N, do(dcr(balance(B), N)), do(forward).
R2. arrived(_, pay(N), _) :- do(incr(balance(_), N)), do(deliver).
R3. sent(_, tag(X), _) :- tags(L)@CS, append(L, [X], M), do(tags(L) <- tags(M)).
R4. sent(_, later(X, N), _) :- do(imposeObligation(X, N, day)).
R5. obligationDue(X) :- do(+was_due(X)).
R6. sent(_, count(N), _) :- count(N), do(+counted(N)).
R7. sent(_, sift(L, N), _) :- findall(I, sifted(L, N, I), Is), length(Is, K), do(+sifted(K)).
R8. exception(ruling(_), Why) :- do(+stopped(Why)).
R9. sent(_, leave, _) :- do(quit).

count(0).
count(N) :- N > 0, M is N - 1, count(M).

sifted(L, N, I) :- between(1, N, I), delete(L, pair(_, nobody), _).
"""

ONTOLOGY = """\
@prefix : <https://example.org/ward#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/ward> a owl:Ontology .
:Thing a owl:Class .
:Bed a owl:Class ; rdfs:subClassOf :Thing .
:Cot a owl:Class ; rdfs:subClassOf :Bed .
"""

KINDS: list[tuple[Any, ...]] = [
    ("none", None),
    ("bool", True, False),
    ("int", 17, -1, 2**70),
    ("float", 2.5, -0.0),
    ("str", "plain", "two words", "Ümlaut \N{SNOWMAN}", ""),
    ("bytes", b"\x00\x01\xff"),
    ("list", ["gauze", 2, ["tape"]], []),
    ("term", t.person("ann", t.age(70))),
    ("object", obj("Bed", "b1", price=900, maker=obj("Firm", city="Ulm"))),
    ("wide", *range(63)),
]


def command(*words: str, folder: Path) -> str:
    """What a command of this version prints."""
    program = ["-c", EARLIER] if words[0] == "trust" else ["-m", "nomospace.cli"]
    done = subprocess.run(
        [sys.executable, *program, *words],
        cwd=folder, check=True, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return done.stdout.strip()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(name: str, folder: Path, join: str = "") -> tuple[subprocess.Popen[str], str]:
    """A host that serves, and where."""
    port = free_port()
    config = CONFIG.format(name=name, port=port, join=f'"{join}"' if join else "")
    (folder / f"{name}.toml").write_text(config)
    order = [sys.executable, "-m", "nomospace.cli", "host", "run", "-c", f"{name}.toml", "--json"]
    log = (folder / f"{name}.log").open("w")
    host = subprocess.Popen(order, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=log)
    assert host.stdout is not None
    assert host.stdout.readline(), Path(log.name).read_text()
    return host, f"127.0.0.1:{port}"


def make_trust(folder: Path) -> dict[str, str]:
    """The folder of an authority, with roles for law AP; a token for all agents."""
    command("trust", "init", "--days", DAYS, folder=folder)
    for name in ("ward", "icu"):
        for what in ("host", "controller"):
            command("trust", "issue", what, name, "--days", DAYS, folder=folder)
    agents = [f"{name}@ward" for name in ("ann", "bob", "chief", "med", "wes")]
    command("trust", "issue", "agent", "eve@ward", folder=folder)
    eve = next(folder.glob("trust/agents/eve*/agent.pem"))
    command("trust", "revoke", str(eve), folder=folder)
    roles = {}
    for name, role in (("ann", "expert(fire)"), ("chief", "facilityManager"), ("med", "mediator")):
        command("trust", "issue", "agent", f"{name}@ward", "--days", DAYS, folder=folder)
        said = command(
            "trust", "issue", "role", f"{name}@ward", "--attribute", f"role({role})",
            "--days", DAYS, "--json", folder=folder,
        )  # fmt: skip
        (roles[name],) = json.loads(said)["files"]
    token = command(
        "trust", "issue", "token", *agents, "--scope", "agent", "--scope", "operator",
        "--days", DAYS, folder=folder,
    )  # fmt: skip
    return {**roles, "token": token.split()[-1]}


def law_ap(folder: Path) -> str:
    """Law AP with the authority's key in it."""
    shown = command("trust", "show", "trust/authority.pem", "--json", folder=folder)
    key = json.loads(shown)["key"]
    text = laws.text("ap")
    for name in ("controllers_key", "admin_key"):
        text = text.replace(f"{name})", f'"{key}")')
    return text


async def live(folder: Path, at: dict[str, str], proofs: dict[str, str]) -> dict[str, Any]:
    """What the agents do. In the end there is something in every table of a store."""
    trust, token = folder / "trust", proofs["token"]

    def connected(host: str) -> Any:
        return ns.connect(f"nomos://{at[host]}", trust=trust, token=token)

    ap, ledger = [ns.Law.load(folder / f"{name}.law") for name in ("ap", "ledger")]
    (folder / "ward.ttl").write_text(ONTOLOGY)
    ontology = ns.Ontology.load(folder / "ward.ttl")
    async with connected("ward") as ward:
        ann, bob, chief, med = [
            await ward.agent(f"{name}@ward") for name in ("ann", "bob", "chief", "med")
        ]
        while not await ann.system.read_nowait("host", "icu", "connected"):
            await asyncio.sleep(0.1)

        jobs = await ann.space("jobs", shared=True)
        await jobs.out_many(KINDS)
        await jobs.out("later", 1, ttl=60 * 60 * 24 * 36_000)
        await jobs.out("for nobody", 2, to="zoe@lab")
        await jobs.out("lent", 3)
        await jobs.take("lent", int, lease=3_600)
        await jobs.out("gone", 4)
        await jobs.take("gone", int)
        await (await ann.space("notes")).out("private", 5)
        await (await ann.space("scratch", durable=False)).out("not kept", 6)
        beds = await ann.space("beds", shared=True, ontology=ontology)
        await beds.out("sale", obj("Cot", "c1", price=40))
        if "engine" in signature(ann.space).parameters:  # 0.1 had one engine
            shelf = await ann.space("shelf", shared=True, engine="store")
            await shelf.out_many([("box", number, ["tape", number]) for number in range(20)])
            await shelf.take("box", 3, ns.ANY)

        members = {}
        for agent in (ann, chief, med):
            name = agent.id.partition("@")[0]
            members[name] = await agent.adopt(ap)
            await members[name].present(folder / proofs[name])
        layman = await bob.adopt(ap)
        await members["chief"].send(
            t.inspectorOnDuty(t.kind("fire"), t.med("med@ward")), to="ann@ward"
        )
        told = t.publish(t.alarm(t.kind("fire"), t.text("smoke in room 3")))
        await layman.send(told, to="med@ward")
        alarm = None
        inbox = members["med"].inbox()
        while alarm is None:
            letter = await anext(inbox)
            if letter.message.name == "publish":
                alarm = letter.message.args[0]
        await members["med"].send(t.notify(alarm), to=["ann@ward", "bob@ward"])
        letters = members["ann"].inbox()
        while (await anext(letters)).message.name != "notify":
            pass

        hers, his = await ann.adopt(ledger), await bob.adopt(ledger)
        await hers.send(t.pay(30), to="bob@ward")
        await anext(his.inbox())
        for tag in ("one", 2, 2.5, t.three(b"3"), ["four"]):
            await hers.send(t.tag(tag), to="ann@ward")
        await hers.send(t.later(t.interest(5), 36_000), to="ann@ward")
        await hers.send(t.later("soon", 0), to="ann@ward")
        await hers.send(t.count(10), to="ann@ward")
        pairs = [t.pair(number, "somebody") for number in range(60)]
        await hers.send(t.sift(pairs, 500), to="ann@ward")
        for message in (t.count(10**9), t.pay(1_000), "nothing"):
            try:  # past the budget; refused by R1; refused by all
                await hers.send(message, to="bob@ward")
            except ns.NomospaceError as error:
                print(type(error).__name__)
        till = await ann.space("till", shared=True, law=ledger)
        try:
            await till.out("coin", 1)
        except ns.NomospaceError as error:
            print(type(error).__name__)

        await (await bob.space("jobs", shared=True)).out("carried", 7)
        while True:
            try:
                await bob.move("icu")
                break
            except ns.MoveRefused as error:  # the hosts have yet to see each other's certificates
                print(error)
                await asyncio.sleep(0.5)
        await hers.send(t.pay(20), to="bob@ward")
        await anext(his.inbox())
        await jobs.out("for bob", 8, to="bob@ward")
        while len(await jobs.read_all("for bob", int, at="icu")) < 1:
            await asyncio.sleep(0.1)
    command("backup", "ward.backup", "--store", "ward.db", folder=folder)
    return {
        "laws": {"ap": ap.hash, "ledger": ledger.hash},
        "ontology": ontology.hash,
        "states": {},
    }


def keep_stream(folder: Path) -> int:
    """The state of a stream after two batches; how many rows it has."""
    try:
        from nomospace.pipeline.stream.state import ROWS, Memory
    except ImportError:  # 0.1 had no streams
        return 0
    memory = Memory(folder / "stream")
    for batch in range(2):
        row = ["beds", batch, "ward", "ann@ward", batch + 1, "written", b"\x90"]
        table = dict(zip(ROWS.names, [[one] for one in row], strict=True))
        memory.after(batch, ROWS.empty_table().from_pydict(table, ROWS))
    return 2


def told_state(standing: Any) -> list[str]:
    """A control state as text, in its order."""
    return [ns.show(term) for term in standing.state]


async def wait_and_die(url: str, folder: Path, token: str) -> None:
    """A client that is killed while it waits."""
    import secrets

    secrets.token_hex = lambda size=None: SESSION  # type: ignore[assignment]
    async with ns.connect(url, trust=folder / "trust", token=token) as ward:
        wes = await ward.agent("wes@ward")
        results = await wes.space("results", shared=True)
        asked = asyncio.ensure_future(results.take("result", int))
        await results.read_nowait("result", int)
        print("waiting", flush=True)
        await asked


async def after(
    folder: Path, at: dict[str, str], proofs: dict[str, str], icu: int, told: dict[str, Any]
) -> None:
    """What is under way when the hosts die: to a client that is gone, and to a host that is."""
    token, url = proofs["token"], f"nomos://{at['ward']}"
    async with ns.connect(url, trust=folder / "trust", token=token) as ward:
        ann = await ward.agent("ann@ward")
        results = await ann.space("results", shared=True)
        jobs = await ann.space("jobs", shared=True)
        ledger = ann.membership(ns.Law.load(folder / "ledger.law"))
        assert ledger is not None
        waiting = subprocess.Popen(
            [sys.executable, __file__, "--wait", url, str(folder), token],
            text=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "waiting\n"
        waiting.kill()
        waiting.wait()
        await asyncio.sleep(0.2)
        await results.out("result", 42)
        while await results.read_nowait("result", int):
            await asyncio.sleep(0.05)
        await ledger.send(t.pay(5), to="bob@ward")
        await asyncio.sleep(1)  # for the way to icu, where nobody speaks for bob now
        os.kill(icu, signal.SIGKILL)
        await jobs.out("under way", 9, to="bob@ward")
        await ledger.send(t.pay(10), to="bob@ward")
        told["states"]["ann"] = told_state(await ledger.standing())


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "hosts"
        folder.mkdir()
        proofs = make_trust(folder)
        (folder / "ledger.law").write_text(LEDGER)
        (folder / "ap.law").write_text(law_ap(folder))
        ward, ward_at = start("ward", folder)
        icu, icu_at = start("icu", folder, join=ward_at)
        at = {"ward": ward_at, "icu": icu_at}
        try:
            told = asyncio.run(live(folder, at, proofs))
            asyncio.run(after(folder, at, proofs, icu.pid, told))
        finally:
            for host in (ward, icu):
                host.kill()
                host.wait()
        told["stream"] = keep_stream(folder)
        told |= {"version": ns.__version__, "session": SESSION, "token": proofs["token"]}
        (out / "told.json").write_text(json.dumps(told, indent=1) + "\n")
        for waste in (*folder.glob("*.log"), *folder.glob("*-shm")):
            waste.unlink()
        with closing(sqlite3.connect(folder / "ward.db")) as db:  # icu's is as it was killed
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (folder / "ward.db-sums").unlink(missing_ok=True)  # nobody has summed these pages up
        with tarfile.open(out / "hosts.tar.gz", "w:gz") as archive:
            archive.add(folder, "hosts", filter=_plain)


def _plain(file: tarfile.TarInfo) -> tarfile.TarInfo:
    file.uid = file.gid = file.mtime = 0
    file.uname = file.gname = ""
    return file


if __name__ == "__main__":
    if sys.argv[1] == "--wait":
        asyncio.run(wait_and_die(sys.argv[2], Path(sys.argv[3]), sys.argv[4]))
    else:
        main(Path(sys.argv[1]))
