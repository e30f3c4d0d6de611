"""The controller service over HTTP, and how a host stays registered with one.

| request                    | answer                                                            |
| -------------------------- | ----------------------------------------------------------------- |
| `GET /controllers`         | hosts that offer controllers, the best first, as JSON             |
| `GET /controllers/NAME`    | one of them                                                       |
| `PUT /controllers/NAME`    | it is offered for `lease_s` seconds (token); the body is an offer |
| `DELETE /controllers/NAME` | it is offered no longer (token)                                   |

The token is an operator's, or that of the host itself. An address without a machine, `:7420`, means
the one that the request comes from.

`GET /controllers` takes `law=HASH`, `authority=KEY` (the law's `cAuthority`), `near=DOMAIN` and
`limit=N`. `client.find_controller` asks it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote

import msgspec

from nomospace.client.http import HttpAnswer, fetch
from nomospace.errors import NomospaceError
from nomospace.node.loops import cancelled
from nomospace.node.services.web import (
    Allows,
    BadRequest,
    body_of,
    caller_of,
    json_answer,
    number_in,
    routes,
)
from nomospace.services.controllers import FOUND_MAX, LEASE_US, BadOffer, Controllers, Offer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

OFFER_BYTES_MAX: Final = 500_000
AGAIN_S: Final = LEASE_US / 1e6 / 3
"""How often a host registers: two tries may fail before it is forgotten."""


class ControllerService:
    """The hosts that offer controllers, behind HTTP."""

    def __init__(self, operators: Allows, hosts: Allows) -> None:
        self._operators = operators
        self._hosts = hosts
        self._core = Controllers()

    def _checked(self, request: Request, what: str) -> str:
        """The name of the host that a request is about, which its caller may speak for."""
        name = str(request.path_params["name"])

        def allows(token: str) -> str | None:
            return self._operators(token) or (name if self._hosts(token) == name else None)

        caller_of(request, allows, what)
        return name

    def routes(self) -> list[Route]:
        """Where it is served."""
        return routes(
            ("GET", "/controllers", self._find),
            ("GET", "/controllers/{name}", self._get),
            ("PUT", "/controllers/{name}", self._put),
            ("DELETE", "/controllers/{name}", self._delete),
        )

    async def _find(self, request: Request) -> Response:
        query = request.query_params
        found = self._core.find(
            now=_now(),
            law=query.get("law", ""),
            authority=query.get("authority", ""),
            near=query.get("near", ""),
            limit=number_in(request, "limit", FOUND_MAX),
        )
        return json_answer(found)

    async def _get(self, request: Request) -> Response:
        return json_answer(self._core.get(request.path_params["name"], now=_now()))

    async def _put(self, request: Request) -> Response:
        name = self._checked(request, "to register a host")
        body = await body_of(request, OFFER_BYTES_MAX)
        try:
            offer = msgspec.json.decode(body, type=Offer)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise BadRequest(why=f"the body is no offer of a host: {error}") from None
        if offer.name != name:
            raise BadOffer(why=f"it says {offer.name[:60]!r}; register it under its own name")
        if offer.address.startswith(":") and request.client is not None:
            offer = msgspec.structs.replace(offer, address=seen_at(request.client.host, offer))
        self._core.apply(self._core.register(offer, now=_now()))
        return json_answer({"name": offer.name, "lease_s": LEASE_US / 1e6})

    async def _delete(self, request: Request) -> Response:
        name = self._checked(request, "to take a host out")
        self._core.apply(self._core.unregister(name))
        return json_answer({"name": name})


def seen_at(machine: str, offer: Offer) -> str:
    """The address of a host that has told its port only.

    >>> seen_at("10.1.0.4", Offer("ward", ":7420")), seen_at("fd00::4", Offer("ward", ":7420"))
    ('10.1.0.4:7420', '[fd00::4]:7420')
    """
    return f"[{machine}]{offer.address}" if ":" in machine else f"{machine}{offer.address}"


class Registration:
    """A host that stays registered from the head of an `async with` to its end.

    `offer` is asked anew each time, so that the load is that of the moment. A service that is away
    does no harm: the host goes on, and registers when it is back. `failed` has the last failure,
    and `on_failed` is told of the first of several in a row. `authority` is the file with the
    certificate that the service must be certified by.
    """

    def __init__(
        self,
        url: str,
        offer: Callable[[], Offer],
        *,
        token: str,
        authority: str | None = None,
        again_s: float = AGAIN_S,
        on_failed: Callable[[NomospaceError], None] | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._offer = offer
        self._token = token
        self._authority = authority
        self._again_s = again_s
        self._on_failed = on_failed
        self._task: asyncio.Task[None] | None = None
        self.failed: NomospaceError | None = None

    async def __aenter__(self) -> Self:
        await self._register()
        self._task = asyncio.create_task(self._repeat(), name="stay registered")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._task)
        with suppress(NomospaceError):  # it would be forgotten soon anyway
            await self._ask("DELETE", self._offer().name)

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(self._again_s)
            await self._register()

    async def _register(self) -> None:
        offer = self._offer()
        try:
            await self._ask("PUT", offer.name, msgspec.json.encode(offer))
            self.failed = None
        except NomospaceError as error:
            if self.failed is None and self._on_failed is not None:
                self._on_failed(error)
            self.failed = error

    async def run(self) -> None:
        """Stay registered until this is cancelled."""
        async with self:
            await asyncio.Future()

    async def _ask(self, method: str, name: str, body: bytes = b"") -> HttpAnswer:
        return await fetch(
            f"{self._url}/controllers/{quote(name, safe='')}",
            method=method,
            body=body,
            token=self._token,
            authority=self._authority,
        )


def _now() -> int:
    """Microseconds that never go back: leases are lengths of time, not moments."""
    return time.monotonic_ns() // 1_000
