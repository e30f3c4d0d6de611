"""What stands before every request: who calls, how often, how much, and from which page.

A request is let in by `Authorization: Bearer TOKEN`, or by the cookie of a session. A browser sends
a cookie by itself, so what comes with one must come from a page of this very address: a request
that changes something, and every WebSocket, has to name it as its `Origin`. Whoever is not let in
gets 401 whatever was asked for, so nobody learns without a token what there is; a browser that
asks for a page is shown the way to the login instead.

Who was let in is watched as long as its request is under way or its socket open. When its token is
taken back, runs out or says something else, or its session ends, a request that waits is answered
with 401, a stream of events gets a last event `ended`, and a socket is closed with `SESSION_ENDED`
and the reason.

Requests are counted by token, those without one by their address, in a bucket that holds `BURST`
and fills with `RATE_S` a second; of one token at most `UNDER_WAY_MAX` are under way. What is said
on the sockets of a token is counted in the same way, for each and for all of them. Who has shown no
token may send `STRANGER_BYTES_MAX`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from math import ceil
from typing import Final
from urllib.parse import urlencode

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from nomospace.api.logins import SESSION_S, LoginListener
from nomospace.api.service import Service
from nomospace.calls.problems import NotLetIn
from nomospace.errors import CallerError, LimitReached, NomospaceError, Unavailable
from nomospace.node.principals import Principal
from nomospace.node.services.web import (
    STRANGER_BYTES_MAX,
    body_of,
    counting,
    let_in,
    problem,
    status_of,
)
from nomospace.node.services.web_port import (
    HEADERS,
    App,
    Message,
    Receive,
    Scope,
    Send,
    with_headers as with_headers,
)

BODY_BYTES_MAX: Final = 2 << 20
"""The largest body of a request."""
RATE_S: Final = 200.0
"""Requests of one token in a second, in the long run."""
BURST: Final = 400.0
"""Requests of one token at once."""
SAID_S: Final = 1_000.0
"""Messages on all sockets of one token in a second, in the long run."""
SAID_BURST: Final = 2_000.0
"""These at once."""
BUCKETS_MAX: Final = 10_000
UNDER_WAY_MAX: Final = 256
"""Requests and sockets of one token at a time: what waits for a tuple, and who looks on."""
COOKIE: Final = "nomospace_session"
OPEN: Final = frozenset({"/health", "/v1/openapi.json", "/v1/session"})
"""What needs no token; a session is begun with one in its body."""
LOGIN: Final = "/login"
"""The page where a person shows a token, where there are pages."""
LOGINS: Final = frozenset({LOGIN, "/v1/session"})
"""Where those come who have a token, though their request shows none."""
SESSION_ENDED: Final = 4401
"""How a WebSocket is closed whose session has ended."""
CUT_S: Final = 1.0
"""How long a connection that is cut has to take the reason."""
REASON_BYTES_MAX: Final = 120
"""How much of the reason a WebSocket is told: it has 123 bytes for it."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
NOT_KEPT: Final = (*HEADERS, (b"cache-control", b"no-store"))
"""What every answer says: that it is for nobody else, besides."""


class TooFast(Unavailable):
    """A token has made more requests than it may in so short a time."""

    code = "api.too-fast"
    words = "more than {rate_s:g} requests a second; go on in {after_s} s"
    rate_s: float
    after_s: int


class TooManyUnderWay(LimitReached):
    """A token has more requests and sockets under way than it may."""

    code = "limits.under-way"


class OtherOrigin(CallerError):
    """A browser sent a cookie along with something that another page asked for."""

    code = "api.other-origin"
    origin: str

    def __str__(self) -> str:
        return (
            f"this comes from {self.origin[:100] or 'no page'!r} and not from a page of this host; "
            "programs send 'Authorization: Bearer TOKEN' instead of a cookie"
        )


STATUS: Final[dict[str, int]] = {
    "node.not-let-in": 401,
    "node.not-your-agent": 403,
    "node.not-an-operator": 403,
    "api.other-origin": 403,
    "law.refused": 403,
    "host.suspended": 403,
    "node.not-seen": 404,
    "node.no-story": 404,
    "node.not-suspendable": 404,
    "node.not-running": 404,
    "node.runs-already": 409,
    "node.program-may-not": 403,
    "trust.unknown-publisher": 403,
    "api.no-such-law": 404,
    "api.no-such-host": 404,
    "api.not-a-member": 404,
    "law.not-a-member": 404,
    "space.not-open": 404,
    "space.not-governed": 404,
    "law.already-a-member": 409,
    "node.agent-away": 409,
    "host.move-refused": 409,
    "host.not-here": 409,
    "control.too-old": 410,
    "space.lease-lapsed": 410,
    "api.too-fast": 429,
    "limits.under-way": 429,
}
"""Where the kind of an error does not say the status."""


def answer(error: NomospaceError) -> Response:
    """An error as an answer.

    >>> answer(TooFast(rate_s=200, after_s=1)).headers["retry-after"]
    '1'
    """
    status = STATUS.get(error.code, status_of(error))
    if status == 502 and error.code.startswith("trust."):
        status = 400  # a certificate that was made elsewhere, but it is this caller who shows it
    response = problem(error, status)
    if isinstance(error, TooFast):
        response.headers["retry-after"] = str(error.after_s)
    return response


class Buckets:
    """How many requests each caller has left. Those who have not called for longest are forgotten.

    >>> buckets = Buckets(rate_s=1.0, burst=2.0)
    >>> [buckets.take("ann", now) for now in (0.0, 0.0, 0.0, 1.0)]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, *, rate_s: float = RATE_S, burst: float = BURST) -> None:
        self.rate_s = rate_s
        self._burst = burst
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, who: str, now: float) -> float:
        """Count a request: 0 if it may go on, else the seconds until it might."""
        left, at = self._left.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self.rate_s)
        allowed = left >= 1.0
        self._left[who] = (left - 1.0 if allowed else left, now)
        while len(self._left) > BUCKETS_MAX:
            del self._left[next(iter(self._left))]
        return 0.0 if allowed else (1.0 - left) / self.rate_s


class Guard:
    """An application behind the guard; it finds the caller in `scope["state"]["principal"]`."""

    def __init__(
        self,
        app: FastAPI,
        service: Service,
        *,
        buckets: Buckets | None = None,
        pages: bool = False,
    ) -> None:
        """`pages`: there is a login page, at `LOGIN`."""
        self.app = app
        self._app: App = app
        self._service = service
        self._buckets = buckets or Buckets()
        self._said = Buckets(rate_s=SAID_S, burst=SAID_BURST)
        self._counts: Counter[str] = Counter()
        """What each token has under way."""
        self._open = OPEN | {LOGIN} if pages else OPEN
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, with_headers(send, NOT_KEPT))
        else:
            await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] not in self._open or (
                scope["path"] == "/v1/session" and scope["method"] != "POST"
            ):
                self._let_in(scope)
                bytes_max = BODY_BYTES_MAX
            else:
                if scope["path"] not in LOGINS:  # a neighbour's haste must not lock others out
                    self._count(_stranger(scope))
                bytes_max = STRANGER_BYTES_MAX
        except NomospaceError as error:
            if self._pages and isinstance(error, NotLetIn) and _wants_page(scope):
                await to_login(scope)(scope, receive, send)
            else:
                await answer(error)(scope, receive, send)
            return
        answering = _Answering(send)
        task = asyncio.current_task()
        assert task is not None, "a request is a task"
        ended: list[NotLetIn] = []

        def cut(error: NotLetIn) -> None:
            # One that logs itself out is let go on to its answer.
            if not ended and asyncio.current_task() is not task:
                ended.append(error)
                task.cancel()

        with self._under_way(scope, cut):
            try:
                body = await body_of(Request(scope, receive), bytes_max)
                if scope["path"].startswith("/v1/"):
                    for _ in counting(body):
                        await asyncio.sleep(0)
                await self._app(scope, _again(body, receive), answering.send)
            except NomospaceError as error:
                await answer(error)(scope, receive, send)
            except asyncio.CancelledError:
                if not ended:
                    raise
                task.uncancel()
                await self._end(scope, receive, answering, ended[0])

    async def _end(
        self, scope: Scope, receive: Receive, answering: _Answering, error: NotLetIn
    ) -> None:
        """Answer a request whose caller is let in no longer, as far as that can be done."""
        try:
            async with asyncio.timeout(CUT_S):
                if not answering.begun:
                    await answer(error)(scope, receive, answering.send)
                elif answering.stream and not answering.over:
                    told = bytes(problem(error, 401).body).decode()
                    last = f"event: ended\ndata: {told}\n\n".encode()
                    message = {"type": "http.response.body", "body": last, "more_body": False}
                    await answering.send(message)
        except TimeoutError:
            pass  # it does not read
        if not answering.over:
            self._drop(scope, error)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._let_in(scope)
        except NomospaceError as error:
            await answer(error)(scope, receive, send)
            return
        scope["state"]["said"] = self._said
        socket = _Socket(receive, send)
        closing = asyncio.get_running_loop().create_task(self._close(scope, socket))
        with self._under_way(scope, socket.end):
            try:
                await self._app(scope, socket.receive, socket.send)
            finally:
                if socket.ended.done():
                    await closing
                else:
                    closing.cancel()

    async def _close(self, scope: Scope, socket: _Socket) -> None:
        """Close a socket whose caller is let in no longer, with the reason."""
        error = await socket.ended
        try:
            async with asyncio.timeout(CUT_S):
                await socket.close(SESSION_ENDED, reason_of(error.why))
        except (TimeoutError, OSError):
            pass  # it does not read
        # Who is told has a moment to hang up.
        asyncio.get_running_loop().call_later(CUT_S, self._drop, scope, error)

    @contextmanager
    def _under_way(self, scope: Scope, told: LoginListener) -> Iterator[None]:
        """Count this as under way for one who was let in, and tell of its end meanwhile."""
        state = scope.get("state", {})
        principal = state.get("principal")
        if principal is None:
            yield
            return

        def cut(error: NotLetIn) -> None:
            ip = (scope.get("client") or ("", 0))[0]
            facts = {"ip": ip, "who": principal.name, "code": error.code}
            self._service.note("client-cut", why=error.why, path=scope["path"][:200], **facts)
            told(error)

        unwatch = self._service.watch(principal, state["session"], cut)
        self._counts[principal.name] += 1
        try:
            yield
        finally:
            unwatch()
            self._counts[principal.name] -= 1
            if not self._counts[principal.name]:
                del self._counts[principal.name]

    @staticmethod
    def _drop(scope: Scope, error: NotLetIn) -> None:
        """End the connection, if it is there still."""
        arrival = scope.get("state", {}).get("arrival")
        if arrival is not None:
            arrival.refuse("client-dropped", why=error.why)

    def _let_in(self, scope: Scope) -> None:
        """Find out who calls. Raises `NotLetIn`, `OtherOrigin`, `TooFast`, `TooManyUnderWay`."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        scheme, _, token = headers.get("authorization", "").partition(" ")
        try:
            if scheme.lower() == "bearer":
                principal = self._service.who(token.strip())
            else:
                principal = self._by_cookie(scope, headers)
        except NotLetIn:
            self._count(_stranger(scope))
            raise
        self._count(principal.name)
        if self._counts[principal.name] >= UNDER_WAY_MAX:
            raise TooManyUnderWay(
                what="what this token has under way at once",
                limit=UNDER_WAY_MAX,
                advice="wait for an answer, or close a socket",
            )
        let_in(scope)
        key = "" if scheme.lower() == "bearer" else cookie_of(headers.get("cookie", ""))
        scope.setdefault("state", {}).update(principal=principal, session=key)

    def _by_cookie(self, scope: Scope, headers: dict[str, str]) -> Principal:
        """Who is behind a cookie, if it comes from a page of this address."""
        key = cookie_of(headers.get("cookie", ""))
        if not key:
            raise NotLetIn(why="no token was shown (Authorization: Bearer …)")
        principal = self._service.logins.who_has(key)
        secure = scope.get("scheme") in ("https", "wss")
        own = f"{'https' if secure else 'http'}://{headers.get('host', '')}"
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE
        if changes and headers.get("origin", "") != own:
            raise OtherOrigin(origin=headers.get("origin", ""))
        return principal

    def _count(self, who: str) -> None:
        wait_s = self._buckets.take(who, asyncio.get_running_loop().time())
        if wait_s:
            raise TooFast(rate_s=self._buckets.rate_s, after_s=max(1, ceil(wait_s)))


class _Answering:
    """What an application has said so far in answer to a request."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False
        self.over = False
        self.stream = False
        """Whether it is a stream of events, which may be told its end."""

    async def send(self, message: Message) -> None:
        """Pass on what the application says."""
        if message["type"] == "http.response.start":
            self.begun = True
            kinds = [value for name, value in message["headers"] if name == b"content-type"]
            self.stream = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif message["type"] == "http.response.body":
            self.over = not message.get("more_body", False)
        await self._send(message)


class _Socket:
    """A WebSocket that can be closed from aside; the application hears that it has ended."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._accepted = False
        self.ended: asyncio.Future[NotLetIn] = asyncio.get_running_loop().create_future()

    async def send(self, message: Message) -> None:
        """Pass on what the application says, until the socket has ended."""
        self._accepted = self._accepted or message["type"] == "websocket.accept"
        if not self.ended.done():
            await self._send(message)

    async def receive(self) -> Message:
        """What comes next: from the client, or the end."""
        coming = asyncio.ensure_future(self._receive())
        try:
            either: list[asyncio.Future[Message] | asyncio.Future[NotLetIn]] = [coming, self.ended]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self.ended.done():
                return {"type": "websocket.disconnect", "code": SESSION_ENDED}
            return coming.result()
        finally:
            coming.cancel()

    def end(self, error: NotLetIn) -> None:
        """Nothing passes any more, in either direction."""
        if not self.ended.done():
            self.ended.set_result(error)

    async def close(self, code: int, reason: str) -> None:
        """Tell the client that it has ended."""
        if self._accepted:
            await self._send({"type": "websocket.close", "code": code, "reason": reason})


def reason_of(text: str) -> str:
    """As much of a text as fits into the end of a WebSocket.

    >>> len(reason_of("é" * 100))
    60
    """
    return text.encode()[:REASON_BYTES_MAX].decode("utf-8", "ignore")


def _stranger(scope: Scope) -> str:
    """Whom to count a request for that came without a token: where it came from."""
    return f"stranger at {(scope.get('client') or ('nowhere', 0))[0]}"


def _wants_page(scope: Scope) -> bool:
    """Whether a browser asks for a page, to show it."""
    return scope["method"] == "GET" and any(
        name == b"accept" and b"text/html" in value for name, value in scope["headers"]
    )


def to_login(scope: Scope) -> Response:
    """The way to the login, and from there to the page that was asked for."""
    asked = scope["path"] + (
        f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
    )
    return RedirectResponse(f"{LOGIN}?{urlencode({'to': asked})}", 303)


def cookie_of(header: str) -> str:
    """The key of a session in a `Cookie` header; empty when there is none.

    >>> cookie_of("a=b; nomospace_session=k3y"), cookie_of("a=b"), cookie_of("=;")
    ('k3y', '', '')
    """
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def with_cookie(response: Response, request: Request, key: str) -> Response:
    """An answer after which the browser has a session; no script can read its key."""
    response.set_cookie(
        COOKIE,
        key,
        max_age=int(SESSION_S),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more for the application, and then what really comes."""
    told = False

    async def receiving() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
