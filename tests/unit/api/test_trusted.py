"""The API of hosts with certificates: TLS, tokens that are taken back, and agents that move."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from nomospace.api.http import serving
from nomospace.node.config import read_config
from nomospace.node.serve import Server
from nomospace.trust.tokens import StoredToken, Tokens, make_token
from tests.trust_folder import TrustFolder

S = 60.0


def token(
    trust: TrustFolder, number: int, *agents: str, operator: bool = False
) -> tuple[str, StoredToken]:
    return make_token(
        agents,
        scopes=("agent", "operator") if operator else ("agent",),
        identifier=number.to_bytes(8, "big"),
        secret=number.to_bytes(32, "big"),
        now=trust.now,
        days=3,
    )


def issue(trust: TrustFolder, *kept: StoredToken) -> None:
    (trust.folder / "tokens.toml").write_text(Tokens(kept).text(), "utf-8")


@asynccontextmanager
async def serve(trust: TrustFolder, name: str, **more: Any) -> AsyncIterator[Server]:
    told = read_config(
        "",
        "test",
        name=name,
        trust=str(trust.folder),
        **({"store": "memory", "listen": "127.0.0.1:0", "api": {"listen": "127.0.0.1:0"}} | more),
    )
    async with Server(told, beside=serving) as server:
        yield server


def client(trust: TrustFolder, server: Server, text: str = "") -> httpx.AsyncClient:
    context = ssl.create_default_context(cafile=trust.folder / "authority.pem")
    headers = {"authorization": f"Bearer {text}"} if text else {}
    return httpx.AsyncClient(base_url=server.served.url, verify=context, headers=headers, timeout=S)


def test_tokens_act_over_tls_and_end_with_their_sessions_when_taken_back(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path)
    trust.host("ward")
    text, kept = token(trust, 1, "ann@ward")
    issue(trust, kept)

    async def program() -> None:
        async with serve(trust, "ward") as server:
            assert server.served.url.startswith("https://")
            assert server.served.service.own_token == ""
            async with client(trust, server, text) as web:
                out = await web.post("/v1/agents/ann@ward/spaces/jobs/out", json={"fields": [1]})
                assert out.json() == {"written": 1}
                other = await web.post("/v1/agents/bob@ward/spaces/jobs/out", json={"fields": [1]})
                assert other.status_code == 403
                assert (await web.get("/v1/topology")).status_code == 403
                once = (await web.post("/v1/login-tokens")).json()["token"]
            async with client(trust, server) as browser:
                assert (await browser.get("/v1/me")).status_code == 401
                login = await browser.post("/v1/session", json={"token": once})
                assert "secure" in login.headers["set-cookie"].lower()
                assert (await browser.get("/v1/me")).json()["agents"] == ["ann@ward"]
                issue(trust)
                assert (await browser.get("/v1/me")).status_code == 401
            async with client(trust, server, text) as web:
                assert (await web.get("/v1/me")).status_code == 401

    asyncio.run(program())


def test_sessions_outlive_their_host_and_are_judged_again_at_its_start(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path)
    trust.host("ward")
    text, kept = token(trust, 1, "ann@ward")
    other, taken_back = token(trust, 2, "bob@ward")
    issue(trust, kept, taken_back)
    keys: list[str] = []

    async def asks(server: Server, key: str) -> int:
        async with client(trust, server) as browser:
            browser.cookies.set("nomospace_session", key)
            return (await browser.get("/v1/me")).status_code

    async def log_in(server: Server, token: str) -> None:
        async with client(trust, server) as browser:
            await browser.post("/v1/session", json={"token": token})
            keys.append(browser.cookies["nomospace_session"])

    async def program() -> None:
        store = str(tmp_path / "ward.db")
        async with serve(trust, "ward", store=store) as server:
            for one in (text, other, text):
                await log_in(server, one)
            server.served.service.logins.log_out(keys[2])
        issue(trust, kept)  # while the host is down
        async with serve(trust, "ward", store=store) as server:
            assert [await asks(server, key) for key in keys] == [200, 401, 401]
        raw = (tmp_path / "ward.db").read_bytes()
        assert not any(one.encode() in raw for one in (*keys, text, other))

    asyncio.run(program())


def test_an_agent_moves_and_goes_on_at_the_other_host(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path)
    trust.host("ward")
    trust.host("icu")
    text, kept = token(trust, 1, "ann@ward", operator=True)
    issue(trust, kept)

    async def program() -> None:
        async with (
            asyncio.timeout(60),
            serve(trust, "ward") as ward,
            serve(trust, "icu", join=(str(ward.listener.address),)) as icu,
            client(trust, ward, text) as here,
            client(trust, icu, text) as there,
        ):
            notes = "/v1/agents/ann@ward/spaces/notes"
            await here.post(notes, json={"shared": False})
            await here.post(f"{notes}/out", json={"fields": ["note", 17]})
            while len((await here.get("/v1/topology")).json()["hosts"]) < 2:
                await asyncio.sleep(0.05)
            moved = await here.post("/v1/agents/ann@ward/move", json={"to": "icu"})
            assert moved.json()["agent"] == "ann@ward"
            while (await there.get("/v1/agents/ann@ward")).json()["host"] != "icu":
                await asyncio.sleep(0.05)
            left = await here.post(f"{notes}/read", json={"template": ["note", 17]})
            assert (left.status_code, left.json()["code"]) == (409, "node.agent-away")
            found = await there.post(f"{notes}/take", json={"template": ["note", 17]})
            assert found.json()["tuple"]["fields"] == ["note", 17]

    asyncio.run(program())


def test_all_sockets_of_a_token_have_one_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.api.guard.SAID_S", 0.01)
    monkeypatch.setattr("nomospace.api.guard.SAID_BURST", 3.0)
    trust = TrustFolder(tmp_path)
    trust.host("ward")
    (hers, ann), (his, bob) = token(trust, 1, "ann@ward"), token(trust, 2, "bob@ward")
    issue(trust, ann, bob)
    context = ssl.create_default_context(cafile=trust.folder / "authority.pem")

    async def program() -> None:
        async with serve(trust, "ward") as server:

            def socket(agent: str, text: str) -> connect:
                url = f"{server.served.url.replace('http', 'ws', 1)}/v1/ws?agent={agent}"
                headers = {"authorization": f"Bearer {text}"}
                return connect(url, ssl=context, additional_headers=headers)

            async def write(line: ClientConnection) -> str:
                asked = {"id": 1, "do": "out", "space": "jobs", "fields": ["job"]}
                await line.send(json.dumps(asked))
                problem = json.loads(await line.recv()).get("problem", {"code": ""})
                return str(problem["code"])

            async with (
                socket("ann@ward", hers) as one,
                socket("ann@ward", hers) as two,
                socket("bob@ward", his) as other,
            ):
                codes = [await write(line) for line in (one, two, one, two)]
                assert codes == ["", "", "", "api.too-fast"]
                assert await write(other) == ""

    asyncio.run(program())
