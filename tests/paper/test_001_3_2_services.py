"""`001_…` 3.2 and 4 on hosts of their own: controllers that are found, mediators that are started.

`desk` has the services; `ward` is told of them in its configuration and registers by itself. The
mediator is a command.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import nomospace as ns
from nomospace.cli import main
from nomospace.client.controllers import NoController
from tests import nursery
from tests.real.hosts import RealHost, caller, play, seen, start

FREE = "law(free).\nsent(_, _, _) :- do(forward).\narrived(_, _, _) :- do(deliver).\n"
ENDS_S = 60.0


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHost]:
    folder = tmp_path_factory.mktemp("desk")
    host = RealHost("desk", folder, "--insecure", "--http", "127.0.0.1:0")
    start(host)
    yield host
    assert host.end() == 0, host.story()


def test_3_2_hosts_register_by_themselves_and_an_agent_finds_a_controller(
    desk: RealHost, tmp_path: Path
) -> None:
    (tmp_path / "ward.toml").write_text(
        f'[host]\ndomain = "er.north"\n[servers]\n"er.north" = ["ward"]\n'
        f'[services]\ncontrollers = "{desk.said["http"]}"\n'
    )
    ward = RealHost("ward", tmp_path, "--insecure", "--config", "ward.toml")
    law = ns.Law.load(FREE)
    url = desk.said["http"]

    async def story() -> None:
        with pytest.raises(NoController):
            await ns.find_controller(url, law)
        await ward.ready()
        found: list[ns.client.controllers.ControllerHost] = []

        async def registered() -> None:
            while not found:
                try:
                    found.append(await ns.find_controller(url, law, near="ward.er.north"))
                except NoController:
                    await asyncio.sleep(0.02)

        async with asyncio.timeout(ENDS_S):
            await registered()
        assert (found[0].name, found[0].domain) == ("ward", "er.north")
        async with ns.connect(f"nomos+plain://{found[0].address}") as host:
            member = await (await host.agent("ann")).adopt(law)
            assert not (await member.send("hello", to="ann@er.north")).refused
        assert await asyncio.to_thread(ward.end) == 0, ward.story()
        with pytest.raises(NoController):  # it took itself out
            await ns.find_controller(url, law)

    play(story())


def test_3_2_a_service_that_is_away_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text('[services]\ncontrollers = "http://127.0.0.1:1"\n')
    lab = RealHost("lab", tmp_path, "--insecure", "--config", "lab.toml")

    async def story() -> None:
        await lab.ready()
        note = await lab.noted("not-registered")
        assert "127.0.0.1:1" in note["why"]

    play(story())
    assert lab.end() == 0, lab.story()


def test_4_a_mediator_is_a_command(desk: RealHost, tmp_path: Path) -> None:
    (tmp_path / "free.law").write_text(FREE)
    words = ["mediator", "--host", desk.said["url"], "--law", "free.law", "--as", "med", "--json"]
    law = ns.Law.load(FREE)

    async def story() -> None:
        with (tmp_path / "med.log").open("ab") as log:
            child = nursery.start(words, folder=tmp_path, log=log)
        with child:
            line = await asyncio.to_thread(child.stdout.readline)
            assert line, (tmp_path / "med.log").read_text()
            assert json.loads(line) == {"agent": "med@desk"}
            async with caller(desk, None) as host:
                ann = await (await host.agent("ann")).adopt(law)
                await ann.send("subscribe(alarm([kind(fire)]))", to="med@desk")
                for text in ("smoke", "flames"):
                    await ann.send(f"publish(alarm(kind(fire), text({text})))", to="med@desk")
                    letter = await anext(aiter(ann.inbox()))
                    assert ns.show(letter.message) == f"notify(alarm(kind(fire),text({text})))"
            child.send_signal(signal.SIGTERM)
            await seen(lambda: child.poll() is not None, lambda: "it did not end")
            assert child.returncode == 0

    play(story())


def test_4_what_a_mediator_cannot_be(
    desk: RealHost, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    law = tmp_path / "free.law"
    law.write_text(FREE)
    told = ["mediator", "--host", desk.said["url"], "--law", str(law), "--as", "med2"]
    assert main([*told, "--nats", "nats://127.0.0.1:1"]) == 2
    assert "give --key" in capsys.readouterr().err
    assert main([*told, "--nats", "nats://127.0.0.1:1", "--key", "short"]) == 2
    assert "a key of 5 bytes is too short" in capsys.readouterr().err
    assert main([*told, "--nats", "nats://127.0.0.1:1", "--key", "long enough for this"]) == 1
    assert "does not answer" in capsys.readouterr().err
