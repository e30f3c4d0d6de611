"""The web application of a host, and its life beside it.

`application` puts the routes together behind the guard; `serving` serves it at the address that
the host was told (`--api`), with the host's own certificate, or on the loopback without one.
Every error is a `problem+json` object with a lasting code.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nomospace.api import acting, benching, looking, matching, models as m, talking
from nomospace.api.guard import COOKIE, Buckets, Guard, answer, cookie_of, with_cookie
from nomospace.api.logins import LOGIN_S
from nomospace.api.looking import Live
from nomospace.api.routing import PROBLEMS, Caller, TheService
from nomospace.api.service import Service
from nomospace.errors import CallerError, NomospaceError
from nomospace.node.addresses import Address
from nomospace.node.serve import Server
from nomospace.node.services.web import Web, problem

VERSION = "1"


class BadShape(CallerError):
    """A body or a parameter that is not of the form that the OpenAPI document gives."""

    code = "api.bad-shape"
    words = "{where}: {why}; /v1/openapi.json says what is wanted"
    where: str
    why: str


class NoSuchResource(CallerError):
    """A path that leads nowhere, or a method that it does not take."""

    code = "api.no-such-resource"
    words = "{what}; /v1/openapi.json says what there is"
    what: str


router = APIRouter(responses=PROBLEMS, tags=["callers"])


@router.get("/health")
async def health(service: TheService) -> m.Health:
    """Whether the host is well. Needs no token."""
    return m.Health(**service.health())


@router.get("/v1/me")
async def me(caller: Caller) -> m.Me:
    """Who the token stands for."""
    return m.Me(name=caller.name, agents=list(caller.agents), operator=caller.operator)


@router.post("/v1/login-tokens")
async def login_token(request: Request, service: TheService) -> m.LoginToken:
    """A token for one login in a browser, with which one is who one is now."""
    return m.LoginToken(token=service.logins.token_for(request.state.principal), seconds=LOGIN_S)


@router.post("/v1/session", status_code=204, response_class=Response)
async def log_in(request: Request, asked: m.Login, service: TheService) -> Response:
    """Begin a session of a browser: the answer sets a cookie that no script can read."""
    before = cookie_of(request.headers.get("cookie", ""))
    key = service.logins.log_in(asked.token, before=before)
    return with_cookie(Response(status_code=204), request, key)


@router.delete("/v1/session", status_code=204, response_class=Response)
async def log_out(request: Request, service: TheService, caller: Caller) -> Response:
    """End the session of this browser."""
    del caller  # asked for, so that only those who are let in come here
    service.logins.log_out(cookie_of(request.headers.get("cookie", "")))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


Pages = Callable[[FastAPI, Service], None]
"""Puts pages for people into the application, behind the same guard."""


def application(
    service: Service, *, buckets: Buckets | None = None, pages: Pages | None = None
) -> Guard:
    """The web application over a service, with pages for people if there are some."""
    app = FastAPI(
        title="Nomospace",
        version=VERSION,
        description="A tuple space under law. Fields are plain JSON values, or `{'term': text}`.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.state.live = Live(service.views)
    for one in (
        router,
        acting.router,
        benching.router,
        looking.router,
        matching.router,
        talking.router,
    ):
        # `include_router` would read them all again at the first request, and all others wait.
        app.router.routes += one.routes
    app.add_exception_handler(NomospaceError, _failed)
    app.add_exception_handler(RequestValidationError, _misshapen)
    app.add_exception_handler(HTTPException, _nowhere)
    make = app.openapi

    def openapi() -> dict[str, Any]:
        """The document, with what the guard wants and the form of all problems."""
        if app.openapi_schema is None:
            document = make()
            parts = document.setdefault("components", {})
            parts.setdefault("schemas", {})["Problem"] = m.Problem.model_json_schema()
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
            for path in ("/health", "/v1/session"):
                for method, operation in document["paths"][path].items():
                    if method != "delete":
                        operation["security"] = []
        assert app.openapi_schema is not None
        return app.openapi_schema

    async def told(_: Request) -> Response:
        """It takes a while to write, once: others are served meanwhile."""
        return JSONResponse(await asyncio.to_thread(openapi))

    app.openapi = openapi  # type: ignore[method-assign]
    app.router.add_route("/v1/openapi.json", told, include_in_schema=False)
    if pages is not None:
        app.router.add_route("/v1/{rest:path}", _no_route, list(_METHODS), include_in_schema=False)
        pages(app, service)  # which answer whatever nobody else does
    return Guard(app, service, buckets=buckets, pages=pages is not None)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, NomospaceError), error
    return answer(error)


async def _misshapen(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError), error
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return problem(BadShape(where=where[:200], why=str(first["msg"])[:500]), 422)


_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


async def _no_route(request: Request) -> Response:
    return await _nowhere(request, HTTPException(404))


async def _nowhere(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), error
    if error.status_code == 400:
        return problem(BadShape(where="body", why="it is no JSON that can be read"), 422)
    what = f"{request.method} {request.url.path[:200]}: {error.detail}"
    response = problem(NoSuchResource(what=what), error.status_code)
    response.headers.update(error.headers or {})
    return response


class ServedApi(NamedTuple):
    """An API at work: where it is, and what its callers may do."""

    url: str
    service: Service


@asynccontextmanager
async def serving(server: Server, *, pages: Pages | None = None) -> AsyncIterator[ServedApi]:
    """Serve the API of a running host, at the address of its configuration, with its pages."""
    config, identity = server.config, server.identity
    address = Address.parse(config.api.listen)
    pem = None if identity is None else identity.folder / "hosts" / config.host.name
    service = Service(server, server.door())
    guard = application(service, pages=pages)
    web = Web(
        guard,
        address.host,
        address.port,
        certificate=None if pem is None else pem / "host.pem",
        key=None if pem is None else pem / "host.key",
        sockets=True,
        names=server.names,
        on_note=server.note,
    )
    try:
        async with guard.app.router.lifespan_context(guard.app), web:
            server.keep_token(*web.bound)
            yield ServedApi(web.url, service)
    finally:
        service.close()
