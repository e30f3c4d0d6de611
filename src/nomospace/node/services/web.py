"""What the HTTP services share: errors as problems, tokens, limits on bodies, a server that ends.

Every refusal is a `problem+json` object (RFC 9457) with the lasting code of its error, so a program
can tell what was wrong and a person what to do. Bodies have a size and a time; what connections
have is in `web_port`. Without TLS a server listens on the loopback only: tokens travel in its
requests.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from nomospace.errors import CallerError, LawError, NomospaceError, PeerError, Unavailable
from nomospace.extras import need
from nomospace.node.addresses import Address

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from uvicorn import Server

    from nomospace.node.notes import OnNote
    from nomospace.node.services.web_port import WebPort

BODY_S: Final = 10.0
"""How long a client may take to send a body."""
VALUES_MAX: Final = 10_000
"""Values that the JSON of one request may have: what others wait for is a few milliseconds."""
BARE_MAX: Final = 400_000
"""Characters of it that stand in no text, spaces aside: reading numbers of 4,000 digits takes 17 ns
a digit."""
PIECE_BYTES: Final = 1 << 19
"""So much of it is gone through at a time to count them."""
STRANGER_BYTES_MAX: Final = 65_536
"""The largest body of a request that shows no token."""

Handler = Callable[["Request"], Awaitable["Response"]]
Allows = Callable[[str], str | None]
"""Who a token stands for; `None` for a token that counts for nothing here."""


class NoToken(CallerError):
    """A request that changes something came without a token that may."""

    code = "services.no-token"
    words = "{what} needs a token that allows it; send 'Authorization: Bearer TOKEN'"
    what: str


class BodyTooLarge(CallerError):
    """A request with a body above the limit."""

    code = "services.body-too-large"
    words = "a body of more than {limit:,} bytes is not taken; send less"
    limit: int


class BodyTooWide(CallerError):
    """A request whose JSON has more values than the limit."""

    code = "services.body-too-wide"
    words = "JSON of more than {limit:,} values is not taken; send them in several requests"
    limit: int


class BodyTooSlow(CallerError):
    """A request whose body did not come."""

    code = "services.body-too-slow"
    words = "the body did not come within {limit_s:g} s; send it again"
    limit_s: float


class BadRequest(CallerError):
    """A request that cannot be read."""

    code = "services.bad-request"
    words = "{why}"
    why: str


class PlainAddress(CallerError):
    """A server would listen to the world without TLS."""

    code = "services.plain-address"
    words = (
        "without TLS a service listens on the loopback only, not on {host!r}: "
        "give it a certificate and its key, or listen on 127.0.0.1"
    )
    host: str


class CannotListen(Unavailable):
    """A server could not take its port."""

    code = "services.cannot-listen"
    words = "cannot listen on {host}:{port}; choose another port (0 finds a free one)"
    host: str
    port: int


_STATUS: Final[dict[str, int]] = {
    "services.no-token": 401,
    "services.body-too-large": 413,
    "services.body-too-wide": 413,
    "services.body-too-slow": 408,
    "laws.no-such-law": 404,
    "laws.too-large": 413,
    "laws.full": 507,
    "controllers.no-such-host": 404,
    "secretary.no-such-community": 404,
    "secretary.no-such-member": 404,
    "secretary.not-on-roll": 403,
    "secretary.other-controller": 403,
    "secretary.has-quit": 403,
    "secretary.member-elsewhere": 409,
    "secretary.full": 507,
    "services.log-unwritable": 507,
}
"""Where the kind of an error does not say the status."""


def status_of(error: NomospaceError) -> int:
    """The HTTP status that an error is answered with.

    >>> status_of(NoToken(what="this")), status_of(BadRequest(why="no")), status_of(Unavailable())
    (401, 400, 503)
    """
    status = _STATUS.get(error.code)
    if status is not None:
        return status
    if isinstance(error, LawError):
        return 422
    if isinstance(error, CallerError):
        return 400
    return 502 if isinstance(error, PeerError) else 503 if isinstance(error, Unavailable) else 500


def problem(error: NomospaceError, status: int | None = None) -> Response:
    """An error as an answer: `type`, `title`, `status`, `detail`, `code` and its plain facts.

    `status` is for those who know better than `status_of`.
    """
    from starlette.responses import JSONResponse

    kind = type(error)
    status = status_of(error) if status is None else status
    facts = {field.name: getattr(error, field.name) for field in fields(error)}
    body = {name: value for name, value in facts.items() if isinstance(value, str | int | float)}
    body |= {
        "type": f"urn:nomospace:error:{kind.code}",
        "title": (kind.__doc__ or kind.code).partition("\n")[0],
        "status": status,
        "detail": str(error),
        "code": kind.code,
    }
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def routes(*table: tuple[str, str, Handler]) -> list[Route]:
    """Where handlers are served: a method and a path of each. Their errors are answers."""
    from starlette.routing import Route

    return [Route(path, _answering(handler), methods=[how]) for how, path, handler in table]


def _answering(handler: Handler) -> Handler:
    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except NomospaceError as error:
            return problem(error)

    return handle


def application(routes: Sequence[Route]) -> Starlette:
    """An application of these routes; what it has no route for is a problem too."""
    need("http", "a service over HTTP")
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse

    async def no_route(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), error
        body = {
            "type": "about:blank",
            "title": error.detail,
            "status": error.status_code,
            "detail": f"{request.method} {request.url.path[:200]}: {error.detail}",
            "code": "services.no-such-resource",
        }
        return JSONResponse(
            body, error.status_code, error.headers, media_type="application/problem+json"
        )

    return Starlette(routes=list(routes), exception_handlers={HTTPException: no_route})


async def body_of(request: Request, limit: int) -> bytes:
    """The body of a request; raises `BodyTooLarge`, `BodyTooSlow`."""
    from starlette.requests import ClientDisconnect

    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise BodyTooLarge(limit=limit)
                parts.append(part)
    except TimeoutError:
        raise BodyTooSlow(limit_s=BODY_S) from None
    except ClientDisconnect:
        raise BadRequest(why="the connection ended before the body did; send it again") from None
    return b"".join(parts)


def counting(data: bytes) -> Iterator[None]:
    """Raise `BodyTooWide` for JSON of too many values, without reading it, piece by piece.

    Everybody waits while it is read, or a piece of it is counted. Few bytes cannot have many.

    >>> list(counting(b'["a, b, c", ' + b'"' + 100_000 * b"," + b'"]'))
    [None]
    >>> list(counting(b"[" + 100_000 * b"1," + b"1]"))
    Traceback (most recent call last):
    nomospace.node.services.web.BodyTooWide: JSON of more than 10,000 values is not taken; ...
    """
    if len(data) <= VALUES_MAX:
        return
    texts = values = inside = bare_chars = 0
    cut = b""  # a backslash at the end of a piece belongs to what follows
    for start in range(0, len(data), PIECE_BYTES):
        piece = cut + data[start : start + PIECE_BYTES]
        if b"\0" in piece:
            raise BadRequest(why="JSON is text in UTF-8; this is none")
        bare = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        cut = b"\\" if bare.endswith(b"\\") else b""
        quotes = bare.count(b'"')
        texts += quotes
        if texts <= 2 * VALUES_MAX:
            outside = b"".join(bare.split(b'"')[inside::2])
            values += sum(map(outside.count, (b",", b"[", b"{")))
            bare_chars += len(outside.translate(None, b" \t\r\n"))
        if texts > 2 * VALUES_MAX or values >= VALUES_MAX:
            raise BodyTooWide(limit=VALUES_MAX)
        if bare_chars > BARE_MAX:
            raise BadRequest(why=f"JSON has at most {BARE_MAX:,} characters outside of texts")
        inside ^= quotes & 1
        yield


def number_in(request: Request, name: str, default: int) -> int:
    """A whole number of the query; raises `BadRequest`."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or len(text) > 9:
        raise BadRequest(why=f"{name}={text[:40]!r} is no whole number; leave it out or give one")
    return int(text)


def caller_of(request: Request, allows: Allows, what: str) -> str:
    """Who a request's token stands for; raises `NoToken`."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    caller = allows(token.strip() if scheme.lower() == "bearer" else "")
    if caller is None:
        raise NoToken(what=what)
    let_in(request.scope)
    return caller


def let_in(scope: MutableMapping[str, Any]) -> None:
    """Who asks this has shown a good token: its connection is no stranger's while it asks."""
    arrival = scope.get("state", {}).get("arrival")
    if arrival is not None:
        arrival.proven()


def tokens(known: Mapping[str, str]) -> Allows:
    """Tokens by whom they stand for. All are compared, in a time that tells nothing.

    >>> allows = tokens({"ops": "s3cret"})
    >>> allows("s3cret"), allows("guess"), allows("")
    ('ops', None, None)
    """
    digests = {who: sha256(token.encode()).digest() for who, token in known.items() if token}

    def allows(token: str) -> str | None:
        given = sha256(token.encode()).digest()
        found = [who for who, digest in digests.items() if hmac.compare_digest(given, digest)]
        return found[0] if found else None

    return allows


class Web:
    """An application at an address, from the head of an `async with` to its end."""

    def __init__(
        self,
        app: Any,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        certificate: Path | None = None,
        key: Path | None = None,
        sockets: bool = False,
        names: Collection[str] = (),
        on_note: OnNote | None = None,
    ) -> None:
        """`port` 0 finds a free one. `certificate` and `key` are PEM files for TLS. With `sockets`
        it takes WebSockets. `names` are what requests may call it, besides its addresses and the
        loopback. Refusals of connections are told to `on_note`.
        """
        if certificate is None and not Address(host, port).loopback:
            raise PlainAddress(host=host)
        self._app = app
        self._host = host
        self._port = port
        self._certificate = certificate
        self._key = key
        self._sockets = sockets
        self._names = (host, *names)
        self._on_note = on_note
        self._listening: WebPort
        self._server: Server
        self._task: asyncio.Task[None]

    @property
    def url(self) -> str:
        """Where it is served."""
        scheme = "http" if self._certificate is None else "https"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{scheme}://{host}:{self.port}"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self.bound[0].port

    @property
    def bound(self) -> tuple[Address, ...]:
        """All places that it listens at, as numbers."""
        return self._listening.bound

    async def __aenter__(self) -> Self:
        from nomospace.node.listen import PortUnavailable as Taken
        from nomospace.node.services.web_port import QuietServer, Vetted, WebPort, config_of

        app = Vetted(self._app, self._names)
        config = config_of(app, self._certificate, self._key, sockets=self._sockets)
        self._server = QuietServer(config)
        # It listens nowhere by itself: connections come from the port.
        self._task = asyncio.create_task(self._server.serve(sockets=[]), name="web service")
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0)
        if self._task.done():
            await self._task  # it says why
        address = Address(self._host, self._port)
        self._listening = WebPort(address, config, self._server, on_note=self._on_note)
        try:
            await self._listening.start()
        except Taken:
            await self.stop()
            raise CannotListen(host=self._host, port=self._port) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End it: requests under way get up to `web_port.STOP_S` seconds."""
        await self._listening.stop()
        self._server.should_exit = True
        await self._task


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value of msgspec's as JSON."""
    import msgspec
    from starlette.responses import Response

    return Response(msgspec.json.encode(value), status, headers, "application/json")
