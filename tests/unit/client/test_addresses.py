"""How a client finds its agent's host: several addresses, hosts that are late, agents elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import nomospace as ns
from nomospace.calls.problems import HasEnded
from nomospace.client.dialling import BadUrl, Dialler, NotItsHost, Url
from nomospace.client.remote import RemoteAgent, connect
from nomospace.node import gate
from nomospace.wire.talk import VERSION, ClientHello
from tests.ports import free_port
from tests.sites import run_real
from tests.trust_folder import TrustFolder

NOBODY = "127.0.0.1:1"


def _host(name: str, listen: str = "127.0.0.1:0", join: str = "") -> ns.Host:
    return ns.Host(name, listen=listen, join=join or ())


def test_the_first_connection_waits_for_a_host_that_is_late() -> None:
    async def program() -> None:
        place = f"127.0.0.1:{free_port()}"
        async with connect(f"nomos+plain://{place}") as far:
            asked = asyncio.create_task(far.agent("nurse"))
            await asyncio.sleep(0.1)
            assert not asked.done()
            async with _host("ward", listen=place):
                assert (await asked).id == "nurse@ward"

    run_real(program())


def test_of_several_addresses_the_first_that_answers_is_taken() -> None:
    async def program() -> None:
        async with _host("ward") as ward:
            place = ward.url.partition("://")[2]
            async with connect(f"nomos+plain://{NOBODY},{place}") as far:
                nurse = await far.agent("nurse")
                assert nurse.id == "nurse@ward"
        async with connect(f"nomos+plain://{NOBODY},{NOBODY}", connect_s=0) as far:
            with pytest.raises(ns.Unreachable, match=f"{NOBODY}, .*{NOBODY} cannot be reached"):
                await far.agent("nurse")
        with pytest.raises(BadUrl, match="a machine, a port"):
            connect("nomos+plain://127.0.0.1:1,")
        with pytest.raises(BadUrl, match="more than 16 machines"):
            connect("nomos+plain://" + ",".join([NOBODY] * 17))

    run_real(program())


def test_an_agent_that_is_at_home_elsewhere_is_looked_for_there() -> None:
    async def program() -> None:
        async with _host("rome") as rome, _host("oslo", join=rome.address) as oslo:
            await oslo.wait_engaged("rome")
            async with connect(oslo.url) as far:
                bob = await far.agent("bob@rome")
                assert isinstance(bob, RemoteAgent)
                assert (bob.id, bob.host) == ("bob@rome", "rome")
                await bob.space("desk")
                with pytest.raises(ns.AgentAway, match="eve@paris is not at oslo, nor at any host"):
                    await far.agent("eve@paris")

    run_real(program())


def test_an_address_that_is_silent_may_be_the_agents_home() -> None:
    async def program() -> None:
        home = f"127.0.0.1:{free_port()}"
        async with _host("oslo") as oslo:
            urls = f"nomos+plain://{home},{oslo.url.partition('://')[2]}"
            async with connect(urls) as far:
                asked = asyncio.create_task(far.agent("bob@rome"))
                await asyncio.sleep(0.1)
                assert not asked.done(), "oslo does not know it, and rome may be late"
                async with _host("rome", listen=home):
                    assert (await asked).id == "bob@rome"

    run_real(program())


def _servers_of_one_domain(folder: Path) -> tuple[ns.Host, ns.Host]:
    config = folder / "ward.toml"
    text = '[host]\ndomain = "ward"\nstore = "memory"\ninsecure = true\n'
    config.write_text(text + '[servers]\nward = ["w1", "w2"]\n')
    place = f"127.0.0.1:{free_port()}"
    first = ns.Host("w1", config=config, listen=place)
    return first, ns.Host("w2", config=config, listen="127.0.0.1:0", join=place)


def test_an_agent_of_a_domain_is_made_once_whichever_host_of_it_is_asked(tmp_path: Path) -> None:
    async def program() -> None:
        first, second = _servers_of_one_domain(tmp_path)
        async with first, second:
            await second.wait_engaged("w1")
            await first.agent("ann")
            await _until(lambda: second.core.host_of("ann@ward") == "w1")
            async with connect(second.url) as far:
                ann = await far.agent("ann@ward")
                assert isinstance(ann, RemoteAgent)
                assert ann.host == "w1"
            with pytest.raises(ns.AgentAway, match="is to be found at host w1"):
                await second.agent("ann")

    run_real(program())


def test_a_client_that_comes_before_its_agent_makes_no_second_one(tmp_path: Path) -> None:
    """It heard that its agent has left for w2; the parcel with the agent is not there yet."""

    async def program() -> None:
        first, second = _servers_of_one_domain(tmp_path)
        async with first, second:
            hello = ClientHello(VERSION, "k" * 16, "ann@ward", follows=True)
            dialler = Dialler(identity=None, token="", trust=None)
            with pytest.raises(ns.AgentAway):
                await dialler.dial(Url(second.url), dialler.hello(hello), timeout_s=60)
            assert not second.core.has("ann@ward")

    run_real(program())


def test_a_client_whose_agent_its_host_has_forgotten_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The host had the agent from another one, ended, and began again without a store."""
    monkeypatch.setattr(gate, "SURE_US", 0)

    async def program() -> None:
        place = f"127.0.0.1:{free_port()}"
        async with ns.Host("icu", listen=place) as icu, _host("ward", join=place) as ward:
            await ward.wait_engaged("icu")
            dialler = Dialler(identity=None, token="", trust=None)

            async def dial(left: str, at: ns.Host = ward, agent: str = "ann@ward") -> None:
                hello = ClientHello(VERSION, "k" * 16, agent, follows=True, left=left)
                await dialler.dial(Url(at.url), dialler.hello(hello), timeout_s=60)

            with pytest.raises(HasEnded, match="come again to begin anew"):
                await dial("icu")
            for left in ("", "lab"):  # which may bring it yet, as soon as it is there
                with pytest.raises(ns.AgentAway, match="nor at any host that it knows"):
                    await dial(left)
            with pytest.raises(ns.AgentAway):  # its home knows of it, if anyone does
                await dial("ward", icu)
            await ward.agent("bob")
            with pytest.raises(ns.AgentAway, match="found at host ward"):
                await dial("ward", icu, "bob@ward")
            assert not ward.core.has("ann@ward")

    run_real(program())


async def _until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not met():
            await asyncio.sleep(0.01)


def test_tls_at_a_host_without_certificates_is_told(tmp_path: Path) -> None:
    async def program() -> None:
        folder = TrustFolder(tmp_path).folder
        async with _host("ward") as ward:
            url = ward.url.replace("nomos+plain:", "nomos:")
            async with connect(url, token="x", trust=folder) as far:
                with pytest.raises(NotItsHost, match="does not speak TLS"):
                    await far.agent("nurse")

    run_real(program())
