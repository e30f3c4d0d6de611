"""The port of an HTTP service: who is connected, and whose requests reach the application.

Connections are kept by `listen.Port`, as those of peers and clients are. One is a *stranger* until
a request of it has shown a good token (`web.let_in`); it is proven while that request is under way,
or for as long as it is a WebSocket, and a stranger again when it rests. So idle connections cost
little, the one that has rested longest makes room for who comes, and a crowd of them locks nobody
out who has a token to show.

`Vetted` stands before the application and answers two kinds of requests itself. One names a `Host`
that this service is not: a page whose name was made to lead here (DNS rebinding), which the browser
takes for the page's own site. The other has an `Origin` that is not this very address: a page of
another site asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from nomospace.errors import CallerError
from nomospace.node.addresses import Address
from nomospace.node.listen import Arrival, Port, PortLimits
from nomospace.node.notes import OnNote
from nomospace.node.services.web import problem

LIMITS: Final = PortLimits(
    connections_max=2_000,
    per_address_max=1_000,
    strangers_max=512,
    strangers_per_address_max=384,
    stranger_s=10.0,
    proving_max=128,
    proving_per_address_max=96,
    hurry_s=0.5,
)
"""What a service bears. With `HEAD_BYTES_MAX` and `web.STRANGER_BYTES_MAX` all strangers who are
heard hold at most 128 times 80 kB, TLS besides."""
HEAD_BYTES_MAX: Final = 16_384
"""The longest head of a request."""
SOCKET_BYTES_MAX: Final = 1_000_000
"""The largest message of a WebSocket."""
IDLE_S: Final = 5
"""How long a connection may stand idle between requests."""
STOP_S: Final = 3
"""How long requests under way have when the server ends."""
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # without one, forms of our own pages name no Origin
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
)
"""What every answer says, unless the application has said otherwise."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class OtherHost(CallerError):
    """A request names a host that this service is not."""

    code = "services.other-host"
    words = (
        "this service is not {host!r}; ask it by the address that it listens at, by a "
        "name in its certificate, or by one that its host is told to advertise"
    )
    host: str


class OtherSite(CallerError):
    """A page of another site asks."""

    code = "services.other-site"
    words = (
        "this comes from a page of {origin!r}, and pages of other sites get no answer; "
        "programs send no Origin"
    )
    origin: str


def config_of(app: Any, certificate: Path | None, key: Path | None, *, sockets: bool) -> Config:
    """What uvicorn is told; bounds on connections are the port's."""
    return Config(
        app,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        http=HttpConnection,
        ws=SocketConnection if sockets else "none",
        ws_max_size=SOCKET_BYTES_MAX,
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        lifespan="off",
        log_config=None,
        log_level="error",  # strangers' garbage would fill the log
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who asks, and how, is what the connection says
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=STOP_S,
    )


class QuietServer(Server):
    """A server that leaves the process's signals alone: they are its program's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class WebPort(Port):
    """Takes connections in for a uvicorn server that has started."""

    def __init__(
        self,
        address: Address,
        config: Config,
        server: Server,
        *,
        on_note: OnNote | None = None,
    ) -> None:
        tls = config.ssl
        super().__init__(
            address, tls=None if tls is None else lambda: tls, on_note=on_note, limits=LIMITS
        )
        self._config = config
        self._server = server

    def _protocol(self, arrival: Arrival) -> asyncio.Protocol:
        return HttpConnection(
            config=self._config,
            server_state=self._server.server_state,
            app_state={"arrival": arrival},  # requests find it in `scope["state"]`
            _loop=asyncio.get_running_loop(),
        )


class HttpConnection(H11Protocol):
    """A connection that tells its port when it rests and when it is gone."""

    def connection_made(self, transport: Any) -> None:
        self.app_state["arrival"].sock = transport
        super().connection_made(transport)

    def on_response_complete(self) -> None:
        self.app_state["arrival"].rest()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.app_state["arrival"].ended()
        super().connection_lost(exc)


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket that tells its port when it is gone."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True  # refused is answered; uvicorn would call it an error

    def connection_lost(self, exc: Exception | None) -> None:
        self.app_state["arrival"].ended()
        super().connection_lost(exc)


class Vetted:
    """An application that hears only requests to a host that it is, and from its own pages.

    `names` are what it is called besides the loopback and the address where a connection came in.
    """

    def __init__(self, app: App, names: Collection[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower().rstrip(".") for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] == "http":
            send = with_headers(send, HEADERS)
        elif scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "").lower()
        if not self._is_ours(_name_of(host), scope):
            await problem(OtherHost(host=host[:100]), 421)(scope, receive, send)
            return
        secure = scope.get("scheme") in ("https", "wss")
        origin = headers.get(b"origin")
        if origin is not None and origin.lower() != f"{'https' if secure else 'http'}://{host}":
            await problem(OtherSite(origin=origin[:100]), 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_ours(self, name: str, scope: Scope) -> bool:
        server = scope.get("server")
        if name in self._names or (server is not None and name == server[0]):
            return True
        return Address(name, 0).loopback


def _name_of(host: str) -> str:
    """The name in a `Host` header, without its port.

    >>> _name_of("ward-3:8080"), _name_of("[::1]:8080"), _name_of("Ward."), _name_of("")
    ('ward-3', '::1', 'Ward', '')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def with_headers(send: Send, headers: Iterable[tuple[bytes, bytes]]) -> Send:
    """Say these headers with an answer, but for those that it has."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = [header for header in headers if header[0] not in given]
            message["headers"] = [*message.get("headers", ()), *more]
        await send(message)

    return sending
