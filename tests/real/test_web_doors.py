"""Attacks on the HTTP doors of real hosts: idle crowds, other users of the machine, other sites'
pages, and those who were let in once and should not be any more.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from websockets.asyncio import client as sockets
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect as open_socket

from nomospace.api.guard import COOKIE, SESSION_ENDED
from nomospace.api.logins import SESSIONS_EACH_MAX
from nomospace.calls.addresses import BadName
from nomospace.calls.problems import NotLetIn
from nomospace.calls.requests import Adopt, Open, Out, SendPlain, Share, Stand, Tell
from nomospace.client import own_tokens
from nomospace.client.remote import connect
from nomospace.law import load
from nomospace.node.peering import LINK_VERSION, Greeting, encode_word
from nomospace.node.services.web_port import LIMITS
from nomospace.wire.admin import Agents
from nomospace.wire.framing import HOST, join, preface
from nomospace.wire.talk import VERSION, ClientHello, pack_frame
from tests.real.hosts import RealHost, end, play, start
from tests.real.raw import Raw
from tests.real.steady import steady
from tests.real.trust import Trust
from tests.servers import shared_postgres
from tests.unit.cli.running import command

CROWD = 600
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


@pytest.fixture(scope="module")
def web(plain: RealHost) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {plain.said['api_token']}"}
    with httpx.Client(headers=headers, trust_env=False, verify=False) as client:
        yield client


def test_a_crowd_that_shows_no_token(plain: RealHost) -> None:
    """An operator is served at once, at API and services, while a crowd of connections hangs."""
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
            async with httpx.AsyncClient(headers=headers, trust_env=False, verify=False) as client:
                assert (await client.get(f"{plain.said['api']}/v1/me")).status_code == 200
                put = await client.put(f"{plain.said['http']}/laws/echo", content=ECHO)
                assert put.status_code in (200, 201)
        assert plain.descriptors - before <= 2 * (LIMITS.strangers_per_address_max + 10)
        for _, writer in crowd:
            writer.transport.abort()

    play(story())


def test_json_and_texts_of_terms_that_take_long_to_read(plain: RealHost) -> None:
    """Both are priced before they are read: nobody else waits for them."""
    headers = {"authorization": f"Bearer {plain.said['api_token']}"}
    out = f"{plain.said['api']}/v1/agents/victor@plain/spaces/jobs/out"
    many = "f(" + "1," * 40_000 + "1)"
    escaped = "'" + "\\n" * 40_000 + "'"
    nested = b'{"a":' * 90 + b"1" + b"}" * 90

    async def story() -> None:
        async with httpx.AsyncClient(headers=headers, trust_env=False) as client:
            assert (await client.post(out, json={"fields": ["job", 1]})).status_code == 200
            async with steady(plain, None) as ann:
                for body, status, code in (
                    (b'{"fields": [[' + b"[1]," * 500_000 + b"1]]}", 413, "body-too-wide"),
                    (b'{"fields": [[' + b'"",' * 500_000 + b"1]]}", 413, "body-too-wide"),
                    (json.dumps({"fields": [{"term": many}] * 20}).encode(), 400, "bad-field"),
                    (json.dumps({"fields": [{"term": escaped}]}).encode(), 400, "bad-field"),
                    (b'{"fields": [' + b",".join([nested] * 50) + b"]}", 400, "bad-field"),
                    (b'{"fields": ["' + b'\\"a' * 690_000 + b'"]}', 400, "too-large"),
                    (b'{"fields": [' + b"1" * 4_000 * 120 + b"]}", 400, "bad-request"),
                    (b'{"fields": ["' + b"x" * 2_100_000 + b'"]}', 413, "body-too-large"),
                ):
                    json_too = {"content-type": "application/json"}
                    answer = await client.post(out, content=body, headers=json_too)
                    assert answer.status_code == status
                    assert answer.json()["code"].endswith(code)
            assert ann.behind_s < 0.2

    play(story())


def test_names_that_none_can_have(tmp_path: Path) -> None:
    """None begins with one, is sent anything, or is remembered; no host ends of one either."""
    names = ("a\0b", "a\nb", "a b", "a\x1fb", "a@b", "x" * 201, "x" * 6_000)
    url = f"{shared_postgres().url}?schema=names_{os.getpid()}"

    async def begin() -> RealHost:
        host = RealHost("ward", tmp_path, "--insecure", "--store", url, "--api", "127.0.0.1:0")
        await host.ready()
        return host

    async def come(host: RealHost) -> None:
        token = own_tokens.find(host.at, host.port)
        for name in names:
            async with await Raw.client(host, None) as raw:
                with pytest.raises(BadName):
                    await raw.hello(f"{name}@ward", token=token)
        for session in ("\0" * 20, "a session with blanks", "\ud7ff\x1f" * 10):
            async with await Raw.client(host, None) as raw:
                hello = ClientHello(VERSION, session, "ann", token=token)
                raw.send(join([pack_frame(hello)]))
                assert await raw.rest() == b""
        async with web(host) as client:
            for name in names[:-1]:
                path = f"{quote(name)}@ward/spaces/jobs/out"
                done = await client.post(path, json={"fields": [1]})
                assert (done.status_code, done.json()["code"]) == (400, "client.bad-name")

    async def ask(host: RealHost) -> None:
        async with await Raw.client(host, None) as raw:
            await raw.hello("ann", token=own_tokens.find(host.at, host.port))
            for name in names[:4]:
                assert "is no name of a space" in str(await raw.call(Open(name)))
            for request in (Open("jobs"), Open("kept", engine="store"), Share(("jobs",))):
                assert await raw.call(request) is None
            await raw.call(Adopt(load(ECHO)), texts=True)
            for to in [f"{name}@ward" for name in (*names[:4], names[-1])]:
                for space in ("jobs", "kept"):
                    assert "no agent" in str(await raw.call(Out(space, ("for", 1), to)))
                assert "no agent" in str(await raw.call(SendPlain("hi", to)))
                assert await raw.call(Tell(LAW, "hi", to)) is None  # the law hears that it is none
            for space in ("jobs", "kept"):
                assert await raw.call(Out(space, ("a\0b", "\ufdd0"), once="\0")) is None
            before = host.rss
            for number in range(60):
                long = f"{number}" + "x" * 900_000
                once = Out("jobs", ("a", number), once=long)
                for what in (Stand(f"{long}~2"), SendPlain("hi", f"{long}~2@ward"), once):
                    assert await raw.call(what) is not None
            assert host.rss - before < 30 << 20, "nothing of them is remembered"

    def web(host: RealHost) -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {host.said['api_token']}"}
        base = f"{host.said['api']}/v1/agents/"
        return httpx.AsyncClient(base_url=base, headers=headers, trust_env=False)

    async def story() -> None:
        host = await begin()
        await come(host)
        await ask(host)
        assert await asyncio.to_thread(host.end) == 0
        host = await begin()  # all of it is in the tables now
        async with web(host) as client:
            for space in ("jobs", "kept"):
                take = {"template": ["a\0b", {"pattern": "_"}]}
                found = await client.post(f"ann@ward/spaces/{space}/take", json=take)
                assert found.json()["tuple"]["fields"] == ["a\0b", "\ufdd0"]
        await asyncio.to_thread(end, host)

    play(story())


def test_letters_of_many_memberships(plain: RealHost) -> None:
    """The inboxes of one agent have one room, of which the largest of them gives up some."""
    headers = {"authorization": f"Bearer {plain.said['api_token']}"}
    law = f"{ECHO} R2. arrived(_, _, _) :- do(deliver)."

    async def story() -> None:
        eve = f"{plain.said['api']}/v1/agents/eve@plain/communities"
        async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=60) as client:
            for _ in range(12):
                asked = {"text": law, "another": True}
                assert (await client.post(eve, json=asked)).status_code == 200
            mine = (await client.get(eve)).json()
            for one in mine:
                letter = {"message": ["x" * 900_000], "to": one["address"]}
                sent = await client.post(f"{eve}/{mine[0]['key']}/send", json=letter)
                assert sent.status_code == 200
            kept = [
                (await client.get(f"{eve}/{one['key']}/inbox", params={"wait": wait})).json()
                for one, wait in zip(reversed(mine), [10, *[0] * 11], strict=True)
            ]
            assert [len(one["letters"]) for one in kept] == [1] * 4 + [0] * 8

    play(story())


def test_a_story_among_large_messages(plain: RealHost) -> None:
    """Of the large records around a moment few are read, one at a time."""
    headers = {"authorization": f"Bearer {plain.said['api_token']}"}

    async def story() -> None:
        address = f"nomos+plain://{plain.address}"
        client = httpx.AsyncClient(headers=headers, trust_env=False, timeout=60)
        async with connect(address) as host, client, steady(plain, None) as ann:
            agent = await host.agent("stella")
            member = await agent.adopt(load(ECHO))
            for _ in range(60):
                await member.send(["x" * 900_000], to=agent.id)
            last = (await client.get(f"{plain.said['api']}/v1/journal?limit=1")).json()["last"]
            before, told = plain.rss, 0
            ann.behind_s = 0
            for number in range(last, 0, -1):
                about = {"about": f"plain/{number}"}
                answer = await client.get(f"{plain.said['api']}/v1/story", params=about)
                told += answer.status_code == 200
                if told == 2:
                    break
            assert told == 2
            assert plain.rss - before < 100 << 20
        assert ann.behind_s < 0.4

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
    with httpx.Client(trust_env=False, verify=False) as client:
        for token in ("", "plain", "guess.plain", ".plain"):
            headers = {"authorization": f"Bearer {token}"} if token else {}
            url = plain.said["http"] + path
            told = client.request(method, url, content=body, headers=headers)
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
        async with connect(f"nomos+plain://{plain.address}", token=plain.said["token"]) as told:
            await told.ask(Agents())  # who was given the token
        for token in ("", "guess"):
            async with connect(f"nomos+plain://{plain.address}", token=token) as far:
                with pytest.raises(NotLetIn):
                    await far.agent("eve")
                with pytest.raises(NotLetIn):
                    await far.ask(Agents())
        reader, writer = await asyncio.open_connection(plain.at, plain.port)
        writer.write(preface(HOST) + join([encode_word(Greeting(LINK_VERSION, "eve", 1, 1, ()))]))
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


class Ward:
    """A host with certificates, its API and its console."""

    def __init__(self, folder: Path) -> None:
        self.trust = Trust(folder / "trust")
        self.trust.member("ward")
        told = ("--trust", str(self.trust.folder), "--store", "memory", "--api", "127.0.0.1:0")
        self.host = RealHost("ward", folder, *told)
        self.chief = self.trust.token("chief@ward", operator=True)
        start(self.host)
        self.url: str = self.host.said["api"]
        self.tls = ssl.create_default_context(cafile=str(self.trust.folder / "authority.pem"))

    def client(self, token: str = "", **more: str) -> httpx.AsyncClient:
        """A program over HTTP."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(
            base_url=self.url, headers=headers | more, verify=self.tls, trust_env=False, timeout=60
        )

    def socket(self, path: str, **headers: str) -> sockets.connect:
        """A WebSocket."""
        url = self.url.replace("http", "ws", 1) + path
        return sockets.connect(url, ssl=self.tls, additional_headers=headers)

    async def session(self, token: str) -> str:
        """The cookie of a browser that has logged in."""
        async with self.client() as client:
            answer = await client.post("/login", data={"token": token, "to": "/"})
            assert answer.status_code == 303, answer.text
            assert all(word in answer.headers["set-cookie"].lower() for word in COOKIE_WORDS)
            return f"{COOKIE}={client.cookies[COOKIE]}"


COOKIE_WORDS = ("httponly", "samesite=strict", "secure")


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    made = Ward(tmp_path_factory.mktemp("ward"))
    try:
        yield made
    finally:
        end(made.host)


async def spaces(chief: httpx.AsyncClient) -> list[dict[str, Any]]:
    """What an operator sees of all spaces."""
    found: list[dict[str, Any]] = (await chief.get("/v1/spaces")).json()
    return found


CONSOLE = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


@pytest.mark.parametrize("how", ["taken back", "ran out", "acts as"])
def test_token_that_ends_while_its_bearer_is_on_the_web(ward: Ward, how: str) -> None:
    """What waits is answered, streams are told their end, sockets and console are closed."""
    token = ward.trust.token("dora@ward", operator=True)

    async def waiting(client: httpx.AsyncClient) -> str:
        asked = {"template": ["never"], "wait": 50}
        told = await client.post("/v1/agents/dora@ward/spaces/jobs/take", json=asked)
        assert (told.status_code, told.json()["code"]) == (401, "node.not-let-in")
        return str(told.json()["detail"])

    async def streaming(client: httpx.AsyncClient) -> str:
        async with client.stream("GET", "/v1/events") as stream:
            begun.release()
            said = [line async for line in stream.aiter_lines()]
        assert said[-3] == "event: ended"
        return said[-2]

    async def talking(socket: sockets.connect) -> str:
        async with socket as line:
            begun.release()
            with suppress(ConnectionClosedError):
                while True:
                    await line.recv()
        assert line.close_code == SESSION_ENDED
        return str(line.close_reason)

    async def story() -> None:
        cookie = await ward.session(token)
        bearer = {"authorization": f"Bearer {token}"}
        page = {"cookie": cookie, "origin": ward.url}
        async with ward.client(token) as client, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(waiting(client)),
                group.create_task(streaming(client)),
                group.create_task(talking(ward.socket("/v1/ws?agent=dora@ward", **bearer))),
                group.create_task(talking(ward.socket(CONSOLE, **page))),
            ]
            for _ in tasks[1:]:
                await begun.acquire()
            async with ward.client(ward.chief) as chief:
                while 1 not in [one["waiting"] for one in await spaces(chief)]:
                    await asyncio.sleep(0.02)
            if how == "taken back":
                ward.trust.withdraw(token)
            elif how == "ran out":
                ward.trust.change(token, not_after=time.time_ns() // 1000 + 500_000)
            else:  # it still counts, for something else
                ward.trust.change(token, scopes=("agent",))
            for task in tasks:
                why = "has changed" if how == "acts as" else how
                assert why in await task
            await ward.host.noted("client-cut", "/v1/ws")
            if how != "acts as":
                for headers in (bearer, page):
                    async with ward.client(**headers) as again:
                        assert (await again.get("/v1/me")).status_code == 401

    begun = asyncio.Semaphore(0)
    play(story())


def test_model_over_http_whose_token_is_taken_back(ward: Ward, tmp_path: Path) -> None:
    """`nomospace mcp --http` ends with its agent, and all that listen there with it."""
    token = ward.trust.token("bot@ward")
    options = ["--connect", f"nomos://{ward.host.address}", "--trust", str(ward.trust.folder)]
    options += ["--token", token, "--http", "127.0.0.1:0", "--http-token", "s" * 32, "--json"]
    with command(tmp_path, "mcp", *options) as child:
        url = json.loads(child.stdout.readline())["url"]
        assert httpx.get(url, trust_env=False).status_code == 401  # it asks for its secret
        ward.trust.withdraw(token)
        assert child.wait(60) != 0
    play(ward.host.noted("client-cut", "bot@ward"))
    assert "was taken back" in (tmp_path / "command.log").read_text()


def test_agent_that_is_suspended_while_it_is_on_the_web(ward: Ward) -> None:
    """What waits ends, over HTTP and on a socket, and nothing more begins until it is resumed."""
    token = ward.trust.token("gale@ward")
    asked = {"template": ["never"], "wait": 50}
    take = "/v1/agents/gale@ward/spaces/gale/take"

    async def story() -> None:
        bearer = {"authorization": f"Bearer {token}"}
        async with (
            ward.client(token) as client,
            ward.client(ward.chief) as chief,
            ward.socket("/v1/ws?agent=gale@ward", **bearer) as line,
        ):
            await client.post(take, json={"template": ["never"]})  # the space is there
            waiting = asyncio.create_task(client.post(take, json=asked))
            await line.send(json.dumps({"id": 1, "do": "take", "space": "gale", **asked}))
            while [one["waiting"] for one in await spaces(chief) if one["name"] == "gale"] != [2]:
                await asyncio.sleep(0.02)
            await chief.put("/v1/suspensions/gale@ward", json={"why": "floods"})
            told = await waiting
            assert (told.status_code, told.json()["code"]) == (403, "host.suspended")
            assert json.loads(await line.recv())["problem"]["code"] == "host.suspended"
            with pytest.raises(ConnectionClosedError, match=r"4403.*floods"):
                await line.recv()
            told = await client.post(take, json={"template": ["never"]})
            assert told.json()["code"] == "host.suspended"

    play(story())


def test_sessions_of_one_token_do_not_end_those_of_others(ward: Ward) -> None:
    """An agent's token logs in over and over; the operator stays logged in, the first of its own
    sessions make room.
    """
    token = ward.trust.token("flo@ward")

    async def story() -> None:
        operator, first = await ward.session(ward.chief), await ward.session(token)
        for _ in range(SESSIONS_EACH_MAX):
            await ward.session(token)
        for cookie, status in ((operator, 200), (first, 401)):
            async with ward.client(cookie=cookie) as client:
                assert (await client.get("/v1/me")).status_code == status

    play(story())


def test_lasting_token_in_an_address(ward: Ward) -> None:
    """Addresses are kept, sent on and shown: what stands in one logs in once."""

    async def story() -> None:
        async with ward.client() as client:
            for path in ("/login", "/now"):
                told = await client.get(
                    path, params={"token": ward.chief}, headers={"accept": "text/html"}
                )
                if told.status_code == 303:
                    assert ward.chief in told.headers["location"]  # to the login, with the page
                    told = await client.get(told.headers["location"])
                assert told.status_code == 401
                assert "one login" in told.text
                assert ward.chief not in told.text
                assert "set-cookie" not in told.headers
        async with ward.client(ward.chief) as client:
            once = (await client.post("/v1/login-tokens")).json()["token"]
        async with ward.client() as client:
            for status in (303, 401):
                told = await client.get("/login", params={"token": once})
                assert told.status_code == status

    play(story())
