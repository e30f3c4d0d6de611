"""The API of hosts in processes of their own: sockets, events, tokens, and moves between hosts."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from nomospace import sync
from tests.unit.api.running import Running, host

LAW = "law(open). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver)."
S = 60.0


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with host() as found:
        yield found


def socket(running: Running, agent: str, **headers: str) -> connect:
    url = f"{running.url.replace('http', 'ws', 1)}/v1/ws?agent={agent}"
    return connect(url, additional_headers=headers or running.headers, open_timeout=S)


async def say(line: ClientConnection, **message: Any) -> None:
    await line.send(json.dumps(message))


async def hear(line: ClientConnection) -> Any:
    return json.loads(await asyncio.wait_for(line.recv(), S))


def test_a_socket_waits_reacts_listens_and_cancels(running: Running) -> None:
    async def program() -> None:
        async with socket(running, "ann@ward") as ann, socket(running, "bob@ward") as bob:
            await say(ann, id=1, do="take", space="jobs", template=["job"], wait=30)
            await say(ann, id=2, do="react", space="jobs", template=["alarm", {"pattern": "_"}])
            assert await hear(ann) == {"id": 2, "answer": {}}
            await say(bob, id="b", do="out", space="jobs", fields=["job"])
            assert await hear(bob) == {"id": "b", "answer": {"written": 1}}
            taken = await hear(ann)
            assert (taken["id"], taken["answer"]["tuple"]["fields"]) == (1, ["job"])
            await say(bob, id=3, do="out", space="jobs", fields=["alarm", "fire"])
            fired = await hear(ann)
            assert (fired["of"], fired["fired"]["fields"]) == (2, ["alarm", "fire"])
            await say(ann, id=4, do="cancel", of=2)
            assert await hear(ann) == {"id": 4, "answer": {}}
            # A take that is cancelled leaves the tuple for others.
            await say(ann, id=5, do="take", space="jobs", template=["late"], wait=30)
            await say(ann, id=6, do="cancel", of=5)
            assert await hear(ann) == {"id": 6, "answer": {}}
            await hear(bob)
            await say(bob, id=7, do="out", space="jobs", fields=["late"])
            await hear(bob)
            await say(bob, id=8, do="read", space="jobs", template=["late"])
            assert (await hear(bob))["answer"]["tuple"]["fields"] == ["late"]

    asyncio.run(program())


def test_the_most_urgent_is_found_first_whoever_wrote_it(running: Running) -> None:
    """HTTP, a socket and a program that blocks: each writes and each takes."""
    jobs = "/v1/agents/http@ward/spaces/urgent"
    template = ["job", {"pattern": "_:int"}]

    async def program(http: httpx.Client, mine: sync.Space) -> None:
        async with socket(running, "line@ward") as line:
            await say(line, id=1, do="out", space="urgent", fields=["job", 9], priority=9)
            assert await hear(line) == {"id": 1, "answer": {"written": 1}}
            mine.out("job", 0)
            mine.out_many([("job", -3)], priority=-3)
            http.post(f"{jobs}/out", json={"fields": ["job", 5], "priority": 5}).raise_for_status()
            first = http.post(f"{jobs}/take", json={"template": template}).json()["tuple"]
            assert (first["fields"], first["priority"]) == (["job", 9], 9)
            second = mine.take("job", int, timeout=S)
            assert (second, second.priority) == (("job", 5), 5)
            for number in (0, -3):
                await say(line, id=2, do="take", space="urgent", template=template)
                assert (await hear(line))["answer"]["tuple"]["fields"] == ["job", number]
            await say(line, id=3, do="out", space="urgent", fields=["job", 1], priority="high")
            assert (await hear(line))["problem"]["code"] == "api.bad-message"

    with (
        httpx.Client(base_url=running.url, headers=running.headers, trust_env=False) as http,
        sync.connect(running.port) as there,
    ):
        asyncio.run(program(http, there.agent("blocking").space("urgent", shared=True)))
        bad = http.post(f"{jobs}/out", json={"fields": ["job", 1], "priority": "high"})
        assert (bad.status_code, bad.json()["code"]) == (422, "api.bad-shape")


def test_a_socket_sends_and_receives_under_a_law(running: Running) -> None:
    async def program() -> None:
        async with httpx.AsyncClient(headers=running.headers, timeout=S) as web:
            cids, dans = [
                await web.post(f"{running.url}/v1/agents/{agent}/communities", json={"text": LAW})
                for agent in ("cid@ward", "dan@ward")
            ]
            law = cids.json()["law"]
            assert dans.json()["law"] == law
        async with socket(running, "cid@ward") as cid, socket(running, "dan@ward") as dan:
            await say(dan, id=1, do="listen", law=law)
            assert await hear(dan) == {"id": 1, "answer": {}}
            await say(cid, id=1, do="send", law=law, message="hi(1)", to="dan@ward")
            assert (await hear(cid))["answer"]["rule"] == "R1"
            letter = (await hear(dan))["letter"]
            assert letter == {"number": 1, "sender": "cid@ward", "message": {"term": "hi(1)"}}

    asyncio.run(program())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "api.bad-message"),
        ("[]", "api.bad-message"),
        ('{"do": "out"}', "api.bad-message"),
        ('{"id": 1, "do": "fly"}', "api.bad-message"),
        ('{"id": 1, "do": "out", "space": "jobs"}', "api.bad-message"),
        ('{"id": 1, "do": "out", "space": "a b", "fields": [1]}', "client.bad-name"),
        ('{"id": 1, "do": "take", "space": "j", "template": [{"pattern": "_:x"}]}', "law.faulty"),
        ('{"id": 1, "do": "listen", "law": "%s"}' % ("0" * 64), "api.not-a-member"),
    ],
)
def test_a_message_that_is_wrong_is_answered_and_the_socket_goes_on(
    running: Running, text: str, code: str
) -> None:
    async def program() -> None:
        async with socket(running, "eve@ward") as line:
            await line.send(text)
            assert (await hear(line))["problem"]["code"] == code
            await say(line, id=9, do="out", space="jobs", fields=[1])
            assert (await hear(line))["answer"] == {"written": 1}

    asyncio.run(program())


def test_a_socket_needs_a_token_and_an_agent(running: Running) -> None:
    async def program() -> None:
        for headers in ({"x-nothing": "1"}, {"authorization": "Bearer guess"}):
            with pytest.raises(InvalidStatus):
                async with socket(running, "ann@ward", **headers):
                    pass
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            async with socket(running, "nobody"):
                pass

    asyncio.run(program())


def test_a_socket_with_a_cookie_must_come_from_a_page_of_the_host(running: Running) -> None:
    async def program() -> None:
        async with httpx.AsyncClient(timeout=S) as web:
            url = f"{running.url}/v1/session"
            cookie = (await web.post(url, json={"token": running.token})).headers["set-cookie"]
        pair = cookie.partition(";")[0]
        for origin in ("http://evil.example", "null"):
            with pytest.raises(InvalidStatus):
                async with socket(running, "ann@ward", cookie=pair, origin=origin):
                    pass
        async with socket(running, "ann@ward", cookie=pair, origin=running.url) as line:
            await say(line, id=1, do="out", space="jobs", fields=[1])
            assert (await hear(line))["answer"] == {"written": 1}

    asyncio.run(program())


def test_events_come_over_the_wire(running: Running) -> None:
    async def program() -> None:
        async with (
            httpx.AsyncClient(headers=running.headers, timeout=S) as web,
            web.stream("GET", f"{running.url}/v1/events?kinds=tuple") as events,
        ):
            lines = events.aiter_lines()
            assert await anext(lines) == ": begun"
            out = f"{running.url}/v1/agents/ann@ward/spaces/jobs/out"
            await web.post(out, json={"fields": ["seen", "<b>"]})
            async for line in lines:
                if line.startswith("data: ") and "seen" in line:
                    break
            told = json.loads(line.removeprefix("data: "))
            assert (told["kind"], told["space"], told["op"]) == ("tuple", "jobs", "written")

    asyncio.run(program())


def test_a_take_whose_client_goes_away_takes_nothing(running: Running) -> None:
    async def program() -> None:
        jobs = f"{running.url}/v1/agents/fay@ward/spaces/left"
        async with httpx.AsyncClient(headers=running.headers, timeout=S) as web:
            body = {"template": ["x"], "wait": 30}
            with pytest.raises(httpx.ReadTimeout):
                await web.post(f"{jobs}/take", json=body, timeout=httpx.Timeout(S, read=0.3))
            async with asyncio.timeout(S):
                while (await web.get(f"{running.url}/v1/spaces/left")).json()["waiters"]:
                    await asyncio.sleep(0.05)
            await web.post(f"{jobs}/out", json={"fields": ["x"]})
            found = await web.post(f"{jobs}/read", json={"template": ["x"]})
            assert found.json()["tuple"]["fields"] == ["x"]

    asyncio.run(program())
