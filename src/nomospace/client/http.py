"""Requests to services over HTTP: one answer, bounded in size and in time.

The standard library's client in a thread is enough for the few requests that an agent makes before
it begins to work. Redirects are followed between addresses of the same kind only. An answer that
is a problem is raised as `ServiceRefused` with the service's own code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from time import monotonic
from typing import IO, TYPE_CHECKING, Final, ParamSpec, TypeVar
from urllib.parse import urlsplit

import msgspec

from nomospace.client import own_tokens
from nomospace.errors import CallerError, PeerError, Unavailable

if TYPE_CHECKING:
    from http.client import HTTPMessage, HTTPResponse
    from urllib.request import BaseHandler, Request

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT_S: Final = 10.0
"""How long a service may take for each step of an answer."""
ANSWER_BYTES_MAX: Final = 4_000_000
"""The largest answer that is read."""
SCHEMES: Final = ("http", "https")


class BadAddress(CallerError):
    """An address that no service has."""

    code = "client.bad-address"
    url: str

    def __str__(self) -> str:
        return (
            f"{self.url[:200]!r} is no address of a service; give http://host:port/… or https://…"
        )


class ServiceAway(Unavailable):
    """A service did not answer, or not to the end."""

    code = "client.service-away"
    words = "{url:.200} does not answer: {why}; look whether it runs, then try again"
    url: str
    why: str


class ServiceRefused(CallerError):
    """A service answered with a problem: `problem` is its code, `detail` its words."""

    code = "client.service-refused"
    words = "{url:.200} answers {status}: {detail}"
    url: str
    status: int
    problem: str
    detail: str


class BadAnswer(PeerError):
    """A service's answer cannot be one."""

    code = "client.bad-answer"
    words = "{url:.200} is not the service that was meant: {why}"
    url: str
    why: str


class HttpAnswer(msgspec.Struct, frozen=True):
    """An answer: where from in the end, its headers (names in lower case) and its body."""

    url: str
    headers: dict[str, str]
    body: bytes


class _Problem(msgspec.Struct):
    """What `problem+json` says, as far as it is used here."""

    code: str = ""
    detail: str = ""
    title: str = ""


def in_thread(work: Callable[P, T]) -> Callable[P, Coroutine[object, None, T]]:
    """The same without blocking the event loop."""

    @wraps(work)
    async def run(*args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(work, *args, **options)

    run.__doc__ = f"`{work.__name__}` without blocking the event loop."
    return run


def fetch_blocking(
    url: str,
    *,
    method: str = "GET",
    body: bytes = b"",
    token: str = "",
    authority: str | None = None,
    timeout: float = TIMEOUT_S,
) -> HttpAnswer:
    """Ask a service and wait for its answer.

    `authority` is a PEM file of those who may certify it; by default the system's. Without a
    `token` a host of this user's on this machine is shown its own. Raises `BadAddress`,
    `ServiceAway`, `ServiceRefused`, `BadAnswer`.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise BadAddress(url=url)
    token = token or own_token_at(url)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    # No proxies: what the environment says about the world is not about a community's services.
    handlers: list[BaseHandler] = [ProxyHandler({}), _redirects(parts.scheme)]
    if parts.scheme == "https":
        import ssl

        handlers.append(HTTPSHandler(context=ssl.create_default_context(cafile=authority)))
    request = Request(url, data=body or None, headers=headers, method=method)
    try:
        with build_opener(*handlers).open(request, timeout=timeout) as answer:
            told = {name.lower(): value for name, value in answer.headers.items()}
            return HttpAnswer(answer.url, told, _read(url, answer, timeout))
    except HTTPError as error:
        with error:
            raise _refused(url, error.code, error.read(ANSWER_BYTES_MAX)) from None
    except (OSError, HTTPException) as error:
        why = str(getattr(error, "reason", "") or error) or type(error).__name__
        raise ServiceAway(url=url, why=why) from None


fetch = in_thread(fetch_blocking)


def own_token_at(url: str) -> str:
    """The own token of this user's host at an address without TLS; empty when there is none.

    The address is a number: a name such as `localhost` may lead to another listener than was meant.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname or not parts.port:
        return ""
    return own_tokens.find(parts.hostname, parts.port)


def _redirects(scheme: str) -> BaseHandler:
    from urllib.request import HTTPRedirectHandler

    class SameKind(HTTPRedirectHandler):
        """A redirect from https to http would show to all what was meant for one, and one to
        another machine would show it the token.
        """

        def redirect_request(
            self,
            req: Request,
            fp: IO[bytes],
            code: int,
            msg: str,
            headers: HTTPMessage,
            newurl: str,
        ) -> Request | None:
            to = urlsplit(newurl)
            if to.scheme != scheme:
                return None
            again = super().redirect_request(req, fp, code, msg, headers, newurl)
            if again is not None and to.netloc != urlsplit(req.full_url).netloc:
                again.remove_header("Authorization")
            return again

    return SameKind()


def _read(url: str, answer: HTTPResponse, timeout: float) -> bytes:
    """A body to its end. The socket's own timeout is for each piece; this one is for all."""
    parts: list[bytes] = []
    size, until = 0, monotonic() + timeout
    while part := answer.read1(65_536):
        parts.append(part)
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise BadAnswer(url=url, why=f"it sends more than {ANSWER_BYTES_MAX:,} bytes")
        if monotonic() > until:
            raise ServiceAway(url=url, why=f"its answer takes more than {timeout:g} s")
    return b"".join(parts)


def _refused(url: str, status: int, body: bytes) -> ServiceRefused:
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except (msgspec.DecodeError, ValueError):
        problem = _Problem(detail="no reason was given")
    return ServiceRefused(
        url=url, status=status, problem=problem.code, detail=problem.detail or problem.title
    )
