"""`002_…` section 4.2, `003_…` 4.1 and `004_…` 2.1 on hosts that are processes: agents' own code.

LIME's server loads an agent on a host from another machine. Here a wheel, signed by a publisher,
goes to a host on another address; its program reacts strongly, makes a helper, moves on and ends.
"""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest

import nomospace as ns
from nomospace.cli import main
from tests.paper.couriers import COURIER, leading_out
from tests.real.hosts import RealHost, end, play, start

UNITS = """
import nomospace as ns

@ns.dependence_function("celsius")
def celsius(fahrenheit: float) -> float:
    return (fahrenheit - 32) / 1.8
"""
WEATHER = """
classes:
  Reading: {properties: {station: string, fahrenheit: number}}
  Celsius:
    properties: {station: string, degrees: number}
    depends:
      degrees: {function: celsius(Reading.fahrenheit), when: Celsius.station = Reading.station}
"""


class Group:
    """Two hosts on two addresses, a publisher's key, and a wheel that it has signed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder / "acme.key"
        text = made_key("acme", self.key)
        (folder / "units.py").write_text(UNITS)
        config = folder / "hosts.toml"
        config.write_text(
            f'[programs]\nmodules = ["units"]\npath = ["{folder}"]\nlistener_ms = 3000\n'
            f'[publishers.acme]\nkey = "{text}"\n'
            'programs = ["courier", "slow", "unborn"]\n'
        )
        wheel = folder / "couriers-1-py3-none-any.whl"
        with ZipFile(wheel, "w") as file:
            file.writestr("couriers/__init__.py", COURIER)
        programs = ("courier", "slow", "unborn")
        self.bundles = {name: self.bundle(wheel, name, self.key) for name in programs}
        insecure = ("--insecure", "--config", str(config), "--api", "127.0.0.1:0", "--no-console")
        self.ward = RealHost("ward", folder, *insecure)
        start(self.ward)
        self.icu = RealHost(
            "icu", folder, *insecure, "--listen", "127.0.0.2:0", "--join", self.ward.address
        )
        start(self.icu)

    @property
    def url(self) -> str:
        return f"nomos+plain://{self.ward.address}"

    def bundle(self, code: Path, program: str, key: Path) -> Path:
        """`nomospace agent bundle`."""
        out = self.folder / f"{key.stem}-{program}.bundle"
        asked = ["agent", "bundle", str(code), "--program", program, "--key", str(key)]
        assert main([*asked, "--out", str(out)]) == 0
        return out

    def launch(self, name: str, program: str, *more: str, bundle: Path | None = None) -> int:
        """`nomospace agent launch`."""
        code = ["--bundle", str(bundle or self.bundles[program])]
        return main(["agent", "launch", name, program, *code, *more, "--host", self.url])


def made_key(publisher: str, file: Path) -> str:
    """`nomospace trust issue publisher`: the public key that it prints for hosts."""
    printed = StringIO()
    with redirect_stdout(printed):
        issued = main(["trust", "issue", "publisher", publisher, "--file", str(file), "--json"])
    assert issued == 0
    return str(json.loads(printed.getvalue())["key"])


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    made = Group(tmp_path_factory.mktemp("programs"))
    yield made
    end(made.icu, made.ward)


def test_a_bundle_is_launched_elsewhere_reacts_makes_a_helper_moves_on_and_ends(
    group: Group,
) -> None:
    store = group.folder / "ward.db"
    state = json.dumps({"stops": ["icu"], "secret": str(store)})
    assert group.launch("bob", "courier", "--state", state) == 0

    async def story() -> None:
        async with ns.connect(group.url) as ward:
            desk = await (await ward.agent("nurse")).space("desk", shared=True)
            assert await desk.take("here", str, str, timeout=60) == ("here", "ward", "")
            # It has neither the host's environment nor its files, where the system can see to it.
            _, helper, read = await desk.take("scouted", str, str, timeout=60)
            assert (helper, read) == ("bob+scout@ward", "PermissionError")
            # A strong reaction is one step with the write: nobody ever sees the job.
            await desk.out("job", 7)
            assert await desk.read_all("job", int, at="ward") == []
            assert await desk.take_nowait("urgent", int, str) == ("urgent", 7, "ward")
            await desk.out("go", "ward")
            assert await desk.take("here", str, str, timeout=60) == ("here", "icu", "ward")
            _, helper, _ = await desk.take("scouted", str, str, timeout=60)
            assert helper == "bob+ward+scout@icu"
            await desk.out("go", "icu")
            assert await desk.take("done", str, timeout=60) == ("done", "icu")

    play(story())


def test_mail_waits_for_a_program_that_moves_and_begins_and_for_who_comes_after_it(
    group: Group,
) -> None:
    """`003_…` 4.1: it goes along unread, comes while the process starts, and outlives the run."""
    assert group.launch("pat", "courier", "--state", '{"stops": ["icu"]}') == 0
    sent = [f"note({n})" for n in range(30)]

    async def story() -> list[str]:
        async with ns.connect(group.url) as ward:
            nurse = await ward.agent("nurse")
            desk = await nurse.space("desk", shared=True)
            assert await desk.take("here", str, str, timeout=60) == ("here", "ward", "")
            await nurse.send(sent[0], to="pat@ward")
            await desk.out("go", "ward")
            for text in sent[1:]:
                await nurse.send(text, to="pat@ward")
                await asyncio.sleep(0.05)
            assert await desk.take("here", str, str, timeout=60) == ("here", "icu", "ward")
            await desk.out("go", "icu")
            assert await desk.take("done", str, timeout=60) == ("done", "icu")
        async with ns.connect(f"nomos+plain://{group.icu.address}") as icu:
            inbox = (await icu.agent("pat@ward")).inbox()
            return [ns.show((await anext(inbox)).message) for _ in sent]

    assert play(story()) == sent


@pytest.mark.parametrize("wrong", ["altered", "unknown", "outside", "garbage", "none"])
def test_code_that_nobody_vouches_for_is_refused_and_journaled(
    group: Group, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = group.bundles["courier"].read_bytes()
    eve = group.folder / f"eve-{wrong}.key"
    made_key("eve", eve)
    strange = group.bundle(group.folder / "units.py", "courier", eve).read_bytes()
    code, why = {
        "altered": (good.replace(b"take_nowait", b"read_nowait"), "was changed after it"),
        "unknown": (strange, "not trusted"),
        "outside": (leading_out(group.key), "'../../host.key' is a path outside it"),
        "garbage": (b"import os", "no bundle of code"),
        "none": (b"", "no bundle of code"),
    }[wrong]
    file = group.folder / f"{wrong}.bundle"
    file.write_bytes(code)
    assert group.launch(f"eve-{wrong}", "courier", bundle=file) != 0
    assert why in capsys.readouterr().err

    async def noted() -> None:
        await group.ward.noted("program-refused", f"eve-{wrong}@ward", why)

    play(noted())
    told, until = "", time.monotonic() + 30
    while f"eve-{wrong}@ward" not in told:  # the log has it first, then the disk
        assert time.monotonic() < until, told
        main(["journal", "tail", "--host", group.url, "--lines", "50"])
        told = capsys.readouterr().out


def test_a_listener_that_takes_too_long_ends_its_program_and_the_step_goes_on(
    group: Group,
) -> None:
    assert group.launch("sam", "slow") == 0

    async def story() -> None:
        async with ns.connect(group.url) as ward:
            desk = await (await ward.agent("nurse")).space("desk", shared=True)
            assert await desk.take("here", str, str, timeout=60) == ("here", "ward", "")
            await desk.out("slow", 1)  # the step goes on without the listener
            assert await desk.take_nowait("slow", int) == ("slow", 1)
            await group.ward.noted("a program failed", "sam@ward", "took longer than 3000 ms")

    play(story())


def test_the_end_of_an_agent_is_the_end_of_its_program(group: Group) -> None:
    """The process is gone with the agent, and with it what it waited for."""
    assert group.launch("ida", "courier") == 0

    async def begun() -> None:
        async with ns.connect(group.url) as ward:
            desk = await (await ward.agent("nurse")).space("desk", shared=True)
            assert await desk.take("here", str, str, timeout=60) == ("here", "ward", "")

    play(begun())
    assert main(["agent", "end", "ida@ward", "--host", group.url]) == 0

    async def gone() -> None:
        async with ns.connect(group.url) as ward:
            nurse = await ward.agent("nurse")
            desk = await nurse.space("desk", shared=True)
            await desk.out("job", 8)
            assert await desk.take_nowait("job", int) == ("job", 8), "nobody promotes it"
            left = await nurse.system.read_nowait("agent", "ida@ward", ns.ANY, "connected")
            assert left is None

    play(gone())


def test_bad_births(group: Group, capsys: pytest.CaptureFixture[str]) -> None:
    assert group.launch("uma", "unborn") == 0  # its `__init__` is part of its run

    async def failed() -> None:
        await group.ward.noted("a program failed", "uma@ward", "no such ward")

    play(failed())
    assert main(["agent", "ls", "--host", group.url]) == 0
    assert "unborn (ended)" in capsys.readouterr().out
    assert group.launch("una", "courier", "--state", '{"stops": 3}') != 0
    assert "cannot have this state" in capsys.readouterr().err
    assert group.launch("una", "courier", "--state", "[]") != 0
    assert "is no object" in capsys.readouterr().err


def test_a_function_of_ones_own_comes_to_a_host(group: Group) -> None:
    """`004_…` 2.1: dependence functions are the ontology's authors' own."""
    file = group.folder / "weather.yaml"
    file.write_text(WEATHER)
    ns.dependence_function("celsius")(lambda fahrenheit: (fahrenheit - 32) / 1.8)

    async def story() -> ns.Tuple:
        async with ns.connect(group.url) as ward:
            agent = await ward.agent("nurse")
            sky = await agent.space("sky", shared=True, ontology=ns.Ontology.load(file))
            await sky.out(ns.obj("Reading", station="roof", fahrenheit=212.0))
            asked = ns.a("Celsius", "degrees > 99")
            return await sky.read(asked, correlate="auto", timeout=60)

    (found,) = play(story())
    assert "degrees(100.0)" in ns.show(found)


def test_over_http(group: Group) -> None:
    """`002_…` 4.2: whoever loads an agent needs no Python."""
    at = f"{group.ward.said['api']}/v1/programs"
    bundle = b64encode(group.bundles["courier"].read_bytes()).decode()
    headers = {"Authorization": f"Bearer {group.ward.said['api_token']}"}
    with httpx.Client(headers=headers, timeout=60) as client:
        asked = {"program": "courier", "state": {"stops": []}, "bundle": bundle}
        made = client.put(f"{at}/hal", json=asked)
        assert (made.status_code, made.json()) == (
            200,
            {"agent": "hal@ward", "program": "courier"},
        )
        twice = client.put(f"{at}/hal", json=asked)
        assert (twice.status_code, twice.json()["code"]) == (409, "node.runs-already")
        assert client.delete(f"{at}/hal@ward").status_code == 204
        gone = client.delete(f"{at}/hal@ward")
        assert (gone.status_code, gone.json()["code"]) == (404, "node.not-running")
        shown = client.get(f"{group.ward.said['api']}/v1/agents").json()
    assert [one["program"] for one in shown if one["id"] == "hal@ward"] == [""]
