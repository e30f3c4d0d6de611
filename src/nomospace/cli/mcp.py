"""`nomospace mcp`: an agent of a running host for a language model, over MCP.

An MCP client starts this command and speaks through its standard input and output; with `--http` it
is a server of its own. Nothing is printed on standard output then but the protocol, or the address.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nomospace.cli.remote_options import (
    LOCAL,
    URLS,
    Commands,
    IdentityOption,
    Remote,
    TimeoutOption,
    TokenOption,
    TrustOption,
    Unusable,
    named_law,
    print_json,
)
from nomospace.extras import need

if TYPE_CHECKING:
    from nomospace.client import Agent
    from nomospace.client.remote import RemoteHost

AGENT: Final = "model"
"""Whom a model is on a host without certificates, where `--agent` names nobody."""

AWAY_S: Final = 60.0
"""After so long without its host a model is told that it is lost."""

app = Commands()


@app.command()
def mcp(
    *,
    connect: Annotated[
        str, typer.Option(envvar="NOMOSPACE_HOST", metavar="URL", help=URLS)
    ] = LOCAL,
    agent: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=f"The agent to be; if none, the identity's or token's, or {AGENT}."
        ),
    ] = "",
    law: Annotated[
        str,
        typer.Option(
            metavar="LAW", help="The law to be under: a file, an address, or one shipped."
        ),
    ] = "",
    claim: Annotated[
        list[str] | None,
        typer.Option(metavar="TERM", help="An argument of the adoption; may be repeated."),
    ] = None,
    member: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Which of the agent's memberships under the law to send messages from.",
        ),
    ] = 1,
    certificate: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A certificate to present; may be repeated."),
    ] = None,
    http: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Serve over HTTP; port 0 is any free one.")
    ] = "",
    http_token: Annotated[
        str,
        typer.Option(
            envvar="NOMOSPACE_MCP_TOKEN", help="The secret that clients over HTTP have to show."
        ),
    ] = "",
    token: TokenOption = "",
    identity: IdentityOption = "",
    trust: TrustOption = "",
    timeout: TimeoutOption = AWAY_S,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --http: print the address as JSON.")
    ] = False,
) -> None:
    """Let a language model be an agent of a host, under a law.

    For example: nomospace mcp --agent bidder --law sb --claim serviceProvider

    Its tools are the agent's operations: write, read, take, react, send, move, and why, which says
    what the law had against one. Secrets are best given in variables, as others on the machine can
    read command lines.
    """
    need("mcp", "nomospace mcp")
    from nomospace.terms import term

    if claim and not law:
        raise Unusable(what="--claim", why="it is an argument of an adoption; give --law too")
    if certificate and not law:
        raise Unusable(what="--certificate", why="it is presented to a law; give --law too")
    remote = Remote(
        url=connect,
        token=token,
        identity=identity,
        trust=trust,
        timeout_s=timeout,
        as_json=as_json,
        alongside=False,
    )
    named = named_law(law) if law else None
    claims = [term(text) for text in claim or ()]
    place = _address(http) if http else None

    async def work(host: RemoteHost) -> None:
        from nomospace import __version__
        from nomospace.api.mcp.member import ModelMember
        from nomospace.api.mcp.server import serve_http, serve_stdio

        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        speaker = await host.agent(agent or (None if token or identity else AGENT))
        joined = await ModelMember.join(
            speaker, named, claims=claims, certificates=certificate or [], number=member
        )
        async with joined as model:
            if place is None:
                await serve_stdio(model, version=__version__)
            else:
                serving = serve_http(
                    model, *place, secret=http_token, ready=ready, version=__version__
                )
                await _while_let_in(speaker, serving)

    def ready(url: str) -> None:
        if as_json:
            print_json({"url": url})
        else:
            print(f"serves MCP at {url}; Ctrl-C ends it", file=sys.stderr, flush=True)

    with suppress(asyncio.CancelledError):  # told to end, by a signal
        remote.run(work)


async def _while_let_in(agent: Agent, serving: Coroutine[object, None, None]) -> None:
    """Serve as long as the host lets the agent in; raises what it is shown the door with."""
    from nomospace.calls.problems import NotLetIn
    from nomospace.client.remote import RemoteAgent

    assert isinstance(agent, RemoteAgent), "its host is another process"
    served = asyncio.ensure_future(serving)
    ended = asyncio.ensure_future(agent.wait_ended())
    try:
        await asyncio.wait([served, ended], return_when=asyncio.FIRST_COMPLETED)
        why = None if served.done() else ended.result()
        if isinstance(why, NotLetIn):
            raise why
        await served
    finally:
        ended.cancel()
        served.cancel()
        await asyncio.wait([served])  # whoever listens on a stream hears its end


def _address(text: str) -> tuple[str, int]:
    """A place to listen at.

    >>> _address("127.0.0.1:8000"), _address("[::1]:0")
    (('127.0.0.1', 8000), ('::1', 0))
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise Unusable(what=f"--http {text[:60]}", why="it is no HOST:PORT, as in 127.0.0.1:8000")
    return host, int(port)
