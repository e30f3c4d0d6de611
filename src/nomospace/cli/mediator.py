"""`nomospace mediator`: publish and subscribe for the members of a law, as an agent of a host."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nomospace.cli.remote_options import MARKUP, Remote, Unusable, named_law, on_host, print_json

if TYPE_CHECKING:
    from nomospace.client import Agent, Membership
    from nomospace.client.laws import Law
    from nomospace.client.remote import RemoteHost

AGENT: Final = "mediator"
"""Whom it is on a host without certificates, where `--as` names nobody."""

app = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)


@app.command()
@on_host
def mediator(
    remote: Remote,
    law: Annotated[
        str,
        typer.Option(metavar="LAW", help="The law of its clients: a file, an address, or shipped."),
    ],
    *,
    space: Annotated[
        str, typer.Option(metavar="NAME", help="The space that it works on.")
    ] = "publications",
    nats: Annotated[
        str, typer.Option(metavar="URL", help="Stand before this NATS server, nats://…")
    ] = "",
    key: Annotated[
        str,
        typer.Option(
            envvar="NOMOSPACE_MEDIATOR_KEY",
            metavar="SECRET",
            help="With --nats: what all mediators of the server share.",
        ),
    ] = "",
    speaks_for: Annotated[
        str,
        typer.Option(
            "--as", metavar="NAME", help="The agent to be; if none, the identity's or token's."
        ),
    ] = "",
    certificate: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A certificate to present; may be repeated."),
    ] = None,
) -> None:
    """Be the mediator of a community until told to end (Ctrl-C, or SIGTERM).

    For example: nomospace mediator --law ap.law --certificate mediator.pem --as med

    Members send it subscribe(…) and publish(…), and it sends notify(…) to those who want it. What
    may be published, and who may hear of it, is for the law to say. What it has not passed on is
    in its space, and found when it is started again. After --timeout without its host it ends.
    """
    if nats and not key:
        raise Unusable(what="--nats", why="mediators of one server share a secret; give --key")
    named = named_law(law)

    from nomospace.node.services.mediators import NatsMediator, SpaceMediator

    async def work(host: RemoteHost) -> None:
        agent = await host.agent(speaks_for or (AGENT if remote.agent("") else None))
        member = await take_part(agent, named, certificate or [])
        place = await agent.space(space, shared=True)
        plain = SpaceMediator(member, place)
        made = NatsMediator(member, place, nats, key=key.encode()) if nats else plain
        await serve_until_told(remote, agent, made, "mediates")

    replace(remote, alongside=False).run(work)


async def take_part(agent: Agent, law: Law, certificates: list[Path]) -> Membership:
    """The membership that the agent has, or a new one, with its certificates presented."""
    held = agent.membership(law)
    if held is not None:  # one that was killed is a member still, with the roles it had
        return held
    member = await agent.adopt(law)
    for path in certificates:
        ruling = await member.present(path)
        if ruling.refused:
            raise Unusable(what=str(path), why=f"law {law.name} makes nothing of this certificate")
    return member


async def serve_until_told(
    remote: Remote, agent: Agent, service: AbstractAsyncContextManager[object], does: str
) -> None:
    """Let a service run until a signal comes; raises why its host let it go."""
    from nomospace.client import Closed
    from nomospace.client.remote import RemoteAgent

    assert isinstance(agent, RemoteAgent), "its host is another process"
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with service:
        if remote.as_json:
            print_json({"agent": agent.id})
        else:
            print(f"{agent.id} {does}; Ctrl-C ends it", file=sys.stderr, flush=True)
        over = [loop.create_task(told.wait()), loop.create_task(agent.wait_ended())]
        await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
        for task in over:
            task.cancel()
    if not told.is_set():
        raise await agent.wait_ended() or Closed(what=agent.id)
