"""The HTTP API: how much one token, or one without any, may ask for."""

import asyncio

import httpx
import pytest

from nomospace.api import guard
from nomospace.api.guard import BODY_BYTES_MAX, Buckets
from tests.unit.api.web import AGENT, Web, on_the_web

pytestmark = pytest.mark.usefixtures("born_alike")


def test_bodies_that_are_no_json_too_large_or_too_deep() -> None:
    async def work(web: Web) -> None:
        path = f"{AGENT}/spaces/jobs/out"
        headers = {"authorization": "Bearer ann", "content-type": "application/json"}

        async def post(content: bytes) -> httpx.Response:
            return await web.client.post(path, content=content, headers=headers)

        assert (await post(b"{")).status_code == 422
        assert (await post(b"\xff\xfe")).status_code in (400, 422)
        large = await post(b'{"fields":["' + b"x" * BODY_BYTES_MAX + b'"]}')
        assert (large.status_code, large.json()["code"]) == (413, "services.body-too-large")
        deep = await post(b'{"fields":[' + b"[" * 150 + b"]" * 150 + b"]}")
        assert (deep.status_code, deep.json()["code"]) == (400, "api.bad-field")
        for odd in (
            b'"\\ud800"',
            b"NaN",
            b"1e999",
            b"9" * 5000,
            b'{"term":"' + b"f(" * 500 + b'"}',
        ):
            answer = await post(b'{"fields":[' + odd + b"]}")
            assert 400 <= answer.status_code < 500 or answer.json() == {"written": 1}, odd
        very = await post(b'{"fields":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
        assert 400 <= very.status_code < 500

    on_the_web(work)


def test_a_token_that_asks_too_often_is_told_when_to_go_on() -> None:
    async def work(web: Web) -> None:
        for _ in range(3):
            assert (await web("GET", "/v1/me")).status_code == 200
        answer = await web("GET", "/v1/me")
        assert (answer.status_code, answer.json()["code"]) == (429, "api.too-fast")
        assert int(answer.headers["retry-after"]) >= 1
        # Another token has a bucket of its own.
        assert (await web("GET", "/v1/me", token="ops")).status_code == 200

    on_the_web(work, Buckets(rate_s=0.01, burst=3))


def test_one_token_has_so_much_under_way_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "UNDER_WAY_MAX", 2)
    waits = {"template": ["never"], "wait": 20}

    async def work(web: Web) -> None:
        take = f"{AGENT}/spaces/jobs/take"
        waiting = [asyncio.ensure_future(web("POST", take, waits)) for _ in range(2)]
        while sum(one.waiting for one in web.service.views.spaces()) < 2:
            await asyncio.sleep(0.01)
        told = await web("GET", "/v1/me")
        assert (told.status_code, told.json()["code"]) == (429, "limits.under-way")
        assert (await web("GET", "/v1/me", token="ops")).status_code == 200
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)
        assert (await web("GET", "/v1/me")).status_code == 200

    on_the_web(work)


def test_who_shows_no_token_sends_little() -> None:
    async def work(web: Web) -> None:
        told = await web("POST", "/v1/session", {"token": "x" * 70_000}, token="")
        assert (told.status_code, told.json()["code"]) == (413, "services.body-too-large")

    on_the_web(work)
