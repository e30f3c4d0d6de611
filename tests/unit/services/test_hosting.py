"""Hosts that serve, and hosts that ask: `[services]` and `[secretaries]` of a configuration."""

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

import nomospace as ns
from nomospace.cli import main
from nomospace.client.http import ServiceAway, ServiceRefused, fetch
from nomospace.client.remote import connect
from nomospace.law import load
from nomospace.node.config import BadConfig, Config, read_config
from nomospace.node.serve import Server
from nomospace.node.services import enrolling
from nomospace.node.services.secretaries import NotAdmitted
from nomospace.terms import Faulty

TEXT = """
law(bidding).
R1. sent(_, bid(X), _) :- serviceProvider@CS, do(+made(X)), do(forward).
R2. sent(_, leave, _) :- do(quit).
R3. arrived(_, _, _) :- do(deliver).
"""
LAW = load(TEXT)


def run(program: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(program, 120))


def config(name: str, more: str = "", store: str = "memory") -> Config:
    text = f'[host]\ninsecure = true\nlisten = "127.0.0.1:0"\nstore = "{store}"\n{more}'
    return read_config(text, "test.toml", name=name)


def serving(folder: Path, laws: str = "") -> Config:
    more = f'[services]\nhttp = "127.0.0.1:0"\nlaws = "{laws}"\n'
    return config("desk", more, store=str(folder / "desk.db"))


def asking(url: str) -> Config:
    return config("ward", f'[secretaries]\n{LAW.hash} = "{url}"\n')


async def _community(url: str, body: bytes = b'{"closed": true}') -> str:
    community = f"{url}/communities/{LAW.hash}"
    await fetch(community, method="PUT", body=body)
    entry = b'{"initial": ["serviceProvider"]}'
    await fetch(f"{community}/roll/ann@ward", method="PUT", body=entry)
    return community


def test_a_host_serves_laws_controllers_and_metrics_and_keeps_what_it_was_given(
    tmp_path: Path,
) -> None:
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws" / "any-name.law").write_text(TEXT)

    async def program() -> None:
        for life in (1, 2):
            async with Server(serving(tmp_path, str(tmp_path / "laws"))) as desk:
                url = desk.services.url
                assert (await ns.fetch_law("bidding", server=url)).hash == LAW.hash
                assert b"nomospace" in (await fetch(f"{url}/metrics")).body
                echo = f"law(echo{life}). R1. sent(_, _, _) :- do(forward)."
                await fetch(f"{url}/laws/echo{life}", method="PUT", body=echo.encode())
                listed = json.loads((await fetch(f"{url}/laws")).body)
                assert len(listed) == 1 + life

    run(program())


def test_a_law_with_errors_ends_the_start_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws" / "bad.law").write_text("law(bad). R1. sent(_, _, _) :- nonsense(x).")

    async def program() -> None:
        with pytest.raises(Faulty, match=r"bad\.law"):
            async with Server(serving(tmp_path, str(tmp_path / "laws"))):
                pass

    run(program())


def test_adoption_asks_the_secretary_near_and_far(tmp_path: Path) -> None:
    async def program() -> None:
        async with Server(serving(tmp_path)) as desk:
            community = await _community(desk.services.url)
            async with Server(asking(desk.services.url)) as ward:
                ann = await (await ward.host.agent("ann")).adopt(LAW)
                ruling = await ann.send("bid(5)", to="ann@ward")
                assert ruling.rule == "R1"  # the role came from the roll
                eve = await ward.host.agent("eve")
                with pytest.raises(NotAdmitted, match="not on the roll"):
                    await eve.adopt(LAW)
                free = load("law(free). R1. sent(_, _, _) :- do(forward).")
                assert (await eve.adopt(free)).law.name == "free"  # which has no secretary
                far = f"nomos+plain://{ward.listener.address}"
                async with connect(far) as host:
                    with pytest.raises(ns.NomospaceError) as caught:
                        await (await host.agent("bob")).adopt(LAW)
                    assert "not on the roll" in str(caught.value)
                (member,) = json.loads((await fetch(f"{community}/members")).body)
                assert (member["agent"], member["controller"]) == ("ann@ward", "ward")
                await ann.send("leave", to="ann@ward")
                while json.loads((await fetch(f"{community}/members")).body):
                    await asyncio.sleep(0.02)

    run(program())


def test_what_is_said_to_a_secretary_that_is_away_is_said_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enrolling, "PAUSE_S", 0.05)
    monkeypatch.setattr(enrolling, "TRIES", 10_000)

    async def program() -> None:
        async with Server(serving(tmp_path)) as desk:
            port = int(desk.services.url.rpartition(":")[2])
            await _community(desk.services.url)
            ward = Server(asking(desk.services.url))
            await ward.__aenter__()
            ann = await (await ward.host.agent("ann")).adopt(LAW)
        with pytest.raises(ServiceAway):
            await (await ward.host.agent("bob")).adopt(LAW)
        await ann.send("leave", to="ann@ward")
        again = f'[services]\nhttp = "127.0.0.1:{port}"\n'
        async with Server(config("desk", again, store=str(tmp_path / "desk.db"))) as desk:
            members = f"{desk.services.url}/communities/{LAW.hash}/members"
            while json.loads((await fetch(members)).body):
                await asyncio.sleep(0.02)
            await ward.stop()

    run(program())


def test_with_certificates_the_services_speak_tls_and_know_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trust = tmp_path / "trust"
    assert main(["trust", "init", str(trust), "--host", "desk"]) == 0
    capsys.readouterr()
    issue = ["trust", "issue", "token", "ops@desk", "--scope", "operator", "--folder", str(trust)]
    assert main(issue) == 0
    token = capsys.readouterr().out.split()[0]
    told = config("desk", '[services]\nhttp = "127.0.0.1:0"\n')
    secure = msgspec.structs.replace(told.host, insecure=False, trust=str(trust))
    authority = str(trust / "authority.pem")

    async def program() -> None:
        async with Server(msgspec.structs.replace(told, host=secure)) as desk:
            url = f"{desk.services.url}/laws/bidding"
            assert url.startswith("https://")

            async def put(token: str) -> None:
                body = TEXT.encode()
                await fetch(url, method="PUT", body=body, token=token, authority=authority)

            await put(token)
            with pytest.raises(ServiceRefused, match="needs a token"):
                await put(f"{token[:-4]}AAAA")
            assert (await ns.fetch_law(url, authority=authority)).hash == LAW.hash
            with pytest.raises(ServiceAway, match="certificate"):
                await ns.fetch_law(url)  # whose authority nobody has named

    run(program())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("[services]\nhttp = 'nowhere'\n", r"line 6: .*names no port"),
        ("[secretaries]\nabc = 'http://x:1'\n", r"line 6: .*no hash of a law"),
        (f"[secretaries]\n{'0' * 64} = 'ftp://x'\n", r"line 6: .*no address"),
        ("[services]\nlaw = 'x'\n", r"line 6: .*did you mean 'laws'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(more: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        config("desk", more)
