"""Attacks on the HTTP doors of real hosts: idle crowds, other users of the machine, other sites'
pages, and those who were let in once and should not be any more.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as open_socket

from nomospace.client.remote import connect
from nomospace.law import load
from nomospace.node.peering import LINK_VERSION, PREFACE, Greeting, encode_word
from nomospace.node.principals import NotLetIn
from nomospace.node.services.web_port import LIMITS
from nomospace.wire.admin import Agents
from nomospace.wire.framing import join
from tests.real.hosts import RealHost, end, play, start

CROWD = 1_000
ECHO = "law(echo). R1. sent(_, _, _) :- do(forward)."
LAW = load(ECHO).hash
SERVED = ("--store", "memory", "--http", "127.0.0.1:0", "--api", "127.0.0.1:0", "--no-console")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHost]:
    """A host without certificates, with its services and its API."""
    host = RealHost("plain", tmp_path_factory.mktemp("plain"), "--insecure", *SERVED)
    start(host)
    try:
        yield host
    finally:
        end(host)


@pytest.fixture
def web(plain: RealHost) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {plain.said['api_token']}"}
    with httpx.Client(headers=headers, trust_env=False) as client:
        yield client


def test_a_crowd_that_shows_no_token(plain: RealHost) -> None:
    """An operator is served at once, at API and services, while a thousand connections hang."""
    held = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert held > 2 * CROWD + 200, f"this test holds {2 * CROWD:,} connections, and may {held:,}"
    before = plain.descriptors
    headers = {"authorization": f"Bearer {plain.said['api_token']}"}

    async def story() -> None:
        crowd = []
        for url in (plain.said["api"], plain.said["http"]):
            for number in range(CROWD):
                reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
                if number % 2:
                    writer.write(b"GET /health HTTP/1.1\r\nHost: local")  # and never the rest
                crowd.append((reader, writer))
        for _ in range(3):
            async with httpx.AsyncClient(headers=headers, trust_env=False) as client:
                assert (await client.get(f"{plain.said['api']}/v1/me")).status_code == 200
                put = await client.put(f"{plain.said['http']}/laws/echo", content=ECHO)
                assert put.status_code in (200, 201)
        assert plain.descriptors - before <= 2 * (LIMITS.strangers_per_address_max + 10)
        for _, writer in crowd:
            writer.transport.abort()

    play(story())


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/laws/echo", ECHO),
        ("PUT", f"/communities/{LAW}", "{}"),
        ("PUT", f"/communities/{LAW}/roll/eve@plain", '{"initial": ["role(admin)"]}'),
        ("GET", f"/communities/{LAW}/roll", ""),
        ("PUT", f"/communities/{LAW}/members/eve@plain", "{}"),
        ("PUT", "/controllers/plain", '{"name": "plain", "address": "127.0.0.1:1"}'),
        ("DELETE", "/controllers/plain", ""),
    ],
)
def test_a_service_without_its_token(
    plain: RealHost, web: httpx.Client, method: str, path: str, body: str
) -> None:
    web.put(f"{plain.said['http']}/communities/{LAW}", content="{}")
    for token in ("", "plain", "guess.plain", ".plain"):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        told = httpx.request(
            method, plain.said["http"] + path, content=body, headers=headers, trust_env=False
        )
        assert (told.status_code, told.json()["code"]) == (401, "services.no-token")


@pytest.mark.parametrize("served", ["api", "http"])
def test_a_page_whose_name_was_made_to_lead_here(
    plain: RealHost, web: httpx.Client, served: str
) -> None:
    """DNS rebinding: the browser takes the service for the page's own site."""
    for path in ("/health", "/v1/me", "/laws", "/metrics"):
        url = plain.said[served] + path
        told = web.get(url, headers={"host": "evil.example"})
        assert (told.status_code, told.json()["code"]) == (421, "services.other-host")
        told = web.get(url, headers={"origin": "http://evil.example"})
        assert (told.status_code, told.json()["code"]) == (403, "services.other-site")
    own = urlsplit(plain.said[served]).port
    for host in (f"localhost:{own}", f"127.0.0.1:{own}", f"[::1]:{own}"):
        path = "/health" if served == "api" else "/laws"
        assert web.get(plain.said[served] + path, headers={"host": host}).status_code == 200


def test_a_socket_that_a_page_of_another_site_opens(plain: RealHost) -> None:
    url = f"{plain.said['api'].replace('http', 'ws', 1)}/v1/ws?agent=ann@plain"
    good = {"authorization": f"Bearer {plain.said['api_token']}"}
    for more, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"authorization": "Bearer guess"}, 401),
    ):
        with (
            pytest.raises(InvalidStatus) as refused,
            open_socket(url, additional_headers=good | more),
        ):
            pass
        assert refused.value.response.status_code == status
        assert b'"detail"' in (refused.value.response.body or b"")
    with open_socket(url, additional_headers=good | {"origin": plain.said["api"]}) as line:
        line.ping()


def test_another_user_of_the_machine(
    plain: RealHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cannot read the token of a host without certificates is nobody there, nor a host."""

    async def story() -> None:
        async with connect(f"nomos+plain://{plain.address}") as own:
            await own.ask(Agents())
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        for token in ("", "guess"):
            async with connect(f"nomos+plain://{plain.address}", token=token) as far:
                with pytest.raises(NotLetIn):
                    await far.agent("eve")
                with pytest.raises(NotLetIn):
                    await far.ask(Agents())
        reader, writer = await asyncio.open_connection(plain.at, plain.port)
        writer.write(PREFACE + join([encode_word(Greeting(LINK_VERSION, "eve", 1, 1, ()))]))
        await reader.read()  # greeted, then cut
        await plain.noted("not-let-in", "eve")
        writer.close()

    play(story())


def test_the_files_of_a_hosts_token_are_its_users_alone(plain: RealHost) -> None:
    from nomospace.client.own_tokens import folder

    place = folder()
    found = [place / plain.address, place.parent / "links.key", place, place.parent]
    assert [oct(file.stat().st_mode & 0o777) for file in found] == [
        "0o600",
        "0o600",
        "0o700",
        "0o700",
    ]
