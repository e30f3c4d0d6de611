"""The protocol: a member as an MCP server, over standard input and output or over HTTP.

Both eras of the protocol are served: clients that shake hands and subscribe, and those that listen
on a stream. Whoever wants to know that something waits watches `nomospace://events` or
`nomospace://inbox`.

Over standard input and output the client is the process that started this one, and all it says is
the model's. Over HTTP everybody on the machine could be, so each request shows a token; and there
is no HTTP without TLS but on the loopback (`node.services.web`).
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from typing import Any, Final, cast

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from pydantic_core import from_json
from starlette.types import ASGIApp, Receive, Scope, Send

from nomospace.api.mcp import pages, tools
from nomospace.api.mcp.member import ModelMember, TooMany
from nomospace.api.mcp.words import ToolAnswer
from nomospace.errors import CallerError
from nomospace.node.services.web import NoToken, Web, let_in, problem, tokens

Context = ServerRequestContext[Any, Any]

CALLS_MAX: Final = 64
"""How many calls of tools may be under way."""
MESSAGE_BYTES_MAX: Final = 1 << 20
"""The largest message of a client."""
PARSE_ERROR: Final = -32_700
"""What JSON-RPC calls a message that is no JSON."""
SESSIONS_MAX: Final = 64
"""How many clients may be connected over HTTP."""
IDLE_S: Final = 1_800.0
"""After so long without a word a client over HTTP begins anew."""
WATCHERS_MAX: Final = 64
"""How many clients may watch pages; past it the one that has watched longest is told no more."""
TELL_S: Final = 5.0
"""How long a client may take to hear that there is news."""
SECRET_CHARS_MIN: Final = 16
PLAIN: Final = "text/plain"

ABOUT: Final = """You are {agent}, an agent in shared tuple spaces{law}.
Agents coordinate through tuples: write puts one into a named space, read and take find one by a \
template, react watches for more. Fields are terms: 17, fire, 'two words', room(3), [1,2]; an id \
such as 'nurse@ward-3' needs its quotes.{under}"""
UNDER: Final = """
The law rules on everything you do. A refusal says why, and what would pass: read it, change what \
you ask, and do not repeat it as it was. Read nomospace://law before you begin."""


class NoPipe(CallerError):
    """Standard input is nothing that a client could speak through."""

    code = "mcp.no-pipe"
    words = (
        "standard input is no pipe, and a client speaks through one; let an MCP client start "
        "this command, or serve with --http 127.0.0.1:PORT"
    )


class WeakSecret(CallerError):
    """The secret that HTTP clients are to show can be guessed."""

    code = "mcp.weak-secret"
    words = (
        f"with --http clients show a secret, and {{length}} characters are no secret; set "
        f"NOMOSPACE_MCP_TOKEN to {SECRET_CHARS_MIN} or more, as from: openssl rand -hex 32"
    )
    length: int


def build(member: ModelMember, *, version: str = "") -> Server[Any]:
    """A server of the SDK for a member; `version` is what clients are told of ours."""
    bus = InMemorySubscriptionBus()
    watchers = _Watchers(bus)
    member.news = watchers.tell
    under_way = 0

    async def list_tools(
        context: Context, asked: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name) for name in tools.TOOLS])

    async def call_tool(
        context: Context, asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        nonlocal under_way
        if under_way >= CALLS_MAX:
            error = TooMany(what="calls at once", limit=CALLS_MAX, next="wait for one to end")
            return _result(ToolAnswer(str(error), {"code": error.code}, error=True))
        under_way += 1
        try:
            return _result(await tools.call(member, asked.name, asked.arguments or {}))
        finally:
            under_way -= 1

    async def list_resources(
        context: Context, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=page.title, description=page.about, mime_type=PLAIN)
                for uri, page in pages.PAGES.items()
            ]
        )

    async def read_resource(
        context: Context, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(asked.uri)
        text = await pages.read(member, uri)
        if text is None:
            known = ", ".join(pages.PAGES)
            raise MCPError(
                types.INVALID_PARAMS, f"there is no page {uri[:100]!r}; there are {known}"
            )
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, text=text, mime_type=PLAIN)]
        )

    async def subscribe(context: Context, asked: types.SubscribeRequestParams) -> types.EmptyResult:
        watchers.add(context.session, str(asked.uri))
        return types.EmptyResult()

    async def unsubscribe(
        context: Context, asked: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        watchers.remove(context.session, str(asked.uri))
        return types.EmptyResult()

    law = member.law
    return Server(
        "nomospace",
        version=version,
        title="Nomospace",
        instructions=ABOUT.format(
            agent=member.agent.id,
            law=f", a member under law {law.name}" if law is not None else "",
            under=UNDER if law is not None else "",
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=ListenHandler(bus, max_subscriptions=WATCHERS_MAX),
    )


def _tool(name: str) -> types.Tool:
    tool = tools.TOOLS[name]
    return types.Tool(
        name=name,
        description=tool.about,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.changes, destructive_hint=tool.removes, open_world_hint=True
        ),
    )


def _result(answer: ToolAnswer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=answer.data,
        is_error=answer.error,
    )


class _Watchers:
    """Who is told that a page has something new."""

    def __init__(self, bus: InMemorySubscriptionBus) -> None:
        self._bus = bus
        self._sessions: list[tuple[str, ServerSession]] = []

    def add(self, session: ServerSession, uri: str) -> None:
        """A client of the earlier era wants to know of a page."""
        self.remove(session, uri)
        self._sessions.append((uri, session))
        del self._sessions[:-WATCHERS_MAX]

    def remove(self, session: ServerSession, uri: str) -> None:
        """It does no longer. Each request has a session object of its own; who is behind it is
        known by what it said of itself.
        """
        self._sessions = [
            (page, one)
            for page, one in self._sessions
            if page != uri or one.client_params is not session.client_params
        ]

    async def tell(self, uri: str) -> None:
        """A page has something new. Who cannot be told is forgotten."""
        await self._bus.publish(ResourceUpdated(uri=uri))
        for known in [one for one in self._sessions if one[0] == uri]:
            try:
                async with asyncio.timeout(TELL_S):
                    await known[1].send_resource_updated(uri)
            except Exception:
                self._sessions = [one for one in self._sessions if one is not known]


# -- standard input and output ---------------------------------------------------------------------


class _Lines:
    """The lines of a pipe that are JSON, each up to a limit; `refuse` is told what others are not.

    Unlike those of a thread, waiting for one can be cancelled, so that a signal ends the process
    though its client says nothing.
    """

    def __init__(self, reader: asyncio.StreamReader, refuse: Callable[[str], None]) -> None:
        self._reader = reader
        self._refuse = refuse

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        while True:
            line = await self._line()
            try:
                from_json(line)
            except ValueError as error:
                self._refuse(str(error))
            else:
                return line

    async def _line(self) -> str:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            line = error.partial
        except asyncio.LimitOverrunError:
            await self._skip()
            return "a message that is too large"  # which is no JSON
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    async def _skip(self) -> None:
        """Pass over the rest of a line, without keeping it."""
        while True:
            try:
                await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                await self._reader.readexactly(error.consumed)
            except asyncio.IncompleteReadError:
                return
            else:
                return


def _not_json(why: str) -> None:
    """Answer what is no message: whose answer it is cannot be known."""
    error = {"code": PARSE_ERROR, "message": f"this is no JSON: {why}"}
    print(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}), flush=True)


async def serve_stdio(member: ModelMember, *, version: str = "") -> None:
    """Serve the process that started this one, until it closes standard input."""
    if stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode) and not sys.stdin.isatty():
        raise NoPipe  # /dev/null and its like, of which nobody is told that it is at its end
    reader = asyncio.StreamReader(limit=MESSAGE_BYTES_MAX)
    try:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
    except ValueError:
        raise NoPipe from None
    server = build(member, version=version)
    try:
        lines = cast(anyio.AsyncFile[str], _Lines(reader, _not_json))
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        pipe.close()


# -- HTTP ------------------------------------------------------------------------------------------


class _Guard:
    """Lets nothing through that does not show the secret."""

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self._app = app
        self._allows = tokens({"client": secret})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._knows(scope):
            await problem(NoToken(what="this agent"))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name == b"authorization":
                scheme, _, token = value.decode("latin-1").partition(" ")
                if scheme.lower() == "bearer" and self._allows(token.strip()) is not None:
                    let_in(scope)
                    return True
        return False


async def serve_http(
    member: ModelMember,
    host: str,
    port: int,
    *,
    secret: str,
    ready: Callable[[str], None],
    version: str = "",
) -> None:
    """Serve clients over HTTP at `/mcp`, until cancelled; `ready` is told the address."""
    if len(secret) < SECRET_CHARS_MIN:
        raise WeakSecret(length=len(secret))
    server = build(member, version=version)
    app = server.streamable_http_app(
        host=host,
        max_request_body_size=MESSAGE_BYTES_MAX,
        session_idle_timeout=IDLE_S,
        max_sessions=SESSIONS_MAX,
    )
    app.add_middleware(_Guard, secret=secret)
    # Sessions end first, so that their open streams do not hold the end of the server up.
    async with Web(app, host, port) as web, server.session_manager.run():
        ready(f"{web.url}/mcp")
        await asyncio.Event().wait()
