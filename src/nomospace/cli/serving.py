"""Agents of a host that serve the members of a law: `nomospace mediator`, `nomospace front`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from nomospace.cli.remote_options import Commands, Remote, Unusable, named_law, print_json
from nomospace.extras import need

if TYPE_CHECKING:
    from nomospace.client import Agent, Membership
    from nomospace.client.laws import Law
    from nomospace.client.remote import RemoteHost
    from nomospace.node.services.fronts import FrontEngine

Service: TypeAlias = AbstractAsyncContextManager[object]
"""What serves from the head of an `async with` to its end."""

LawOption = Annotated[
    str,
    typer.Option(metavar="LAW", help="The law of its clients: a file, an address, or shipped."),
]
AsOption = Annotated[
    str,
    typer.Option(
        "--as", metavar="NAME", help="The agent to be; if none, the identity's or token's."
    ),
]
CertificateOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="A certificate to present; may be repeated."),
]


mediator_app = Commands()
front_app = Commands()


@mediator_app.command()
def mediator(
    remote: Remote,
    law: LawOption,
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
    speaks_for: AsOption = "",
    certificate: CertificateOption = None,
) -> None:
    """Be the mediator of a community until told to end (Ctrl-C, or SIGTERM).

    For example: nomospace mediator --law ap.law --certificate mediator.pem --as med

    Members send it subscribe(…) and publish(…), and it sends notify(…) to those who want it. What
    may be published, and who may hear of it, is for the law to say. What it has not passed on is
    in its space, and found when it is started again. After --timeout without its host it ends.
    """
    if nats and not key:
        raise Unusable(what="--nats", why="mediators of one server share a secret; give --key")

    async def make(agent: Agent, member: Membership) -> Service:
        from nomospace.node.services.mediators import NatsMediator, SpaceMediator

        place = await agent.space(space, shared=True)
        if nats:
            return NatsMediator(member, place, nats, key=key.encode())
        return SpaceMediator(member, place)

    _serve(remote, law, speaks_for, "mediator", certificate, make, "mediates")


@front_app.command()
def front(
    remote: Remote,
    law: LawOption,
    *,
    postgres: Annotated[
        str,
        typer.Option(
            envvar="NOMOSPACE_FRONT_POSTGRES", metavar="URL", help="Serve tables, postgresql://…"
        ),
    ] = "",
    row: Annotated[
        list[str] | None,
        typer.Option(metavar="SHAPE", help="How rows are tuples; one for each table."),
    ] = None,
    redis: Annotated[
        str,
        typer.Option(envvar="NOMOSPACE_FRONT_REDIS", metavar="URL", help="Serve a list, redis://…"),
    ] = "",
    key: Annotated[str, typer.Option("--list", metavar="KEY", help="The list.")] = "tuples",
    speaks_for: AsOption = "",
    certificate: CertificateOption = None,
) -> None:
    """Answer for a tuple space that exists already until told to end (Ctrl-C, or SIGTERM).

    For example: nomospace front --law mp.law --as post --postgres postgresql://db/mail
    --row 'letters: [msg(message), from(sender), to(receiver)]'

    Members send it the operations of a space: out, in, rd, inp, rdp, ing and rdg. Their own
    controllers rule on them, so what the law refuses never comes here. The secretary of the law has
    the agent on its roll as a space.
    """
    if bool(postgres) == bool(redis):
        raise Unusable(what="front", why="give either --postgres and --row, or --redis")
    engine = _tables(postgres, row or []) if postgres else _list(redis, key)

    async def make(agent: Agent, member: Membership) -> Service:
        from nomospace.node.services.fronts import Front

        return Front(member, agent.id, engine)

    _serve(remote, law, speaks_for, "front", certificate, make, f"answers for {engine!r}")


def _tables(url: str, shapes: list[str]) -> FrontEngine:
    need("postgres", "a front of a PostgreSQL table")
    from nomospace.node.services.fronts.tables import TableEngine

    return TableEngine(url, shapes)


def _list(url: str, key: str) -> FrontEngine:
    from nomospace.node.services.fronts.lists import ListEngine

    return ListEngine(url, key)


def _serve(
    remote: Remote,
    law: str,
    speaks_for: str,
    otherwise: str,
    certificates: list[Path] | None,
    make: Callable[[Agent, Membership], Awaitable[Service]],
    does: str,
) -> None:
    """Serve as an agent: `otherwise` on a host without certificates where `--as` names nobody."""
    named = named_law(law)

    async def work(host: RemoteHost) -> None:
        agent = await host.agent(speaks_for or (otherwise if remote.agent("") else None))
        member = await _take_part(agent, named, certificates or [])
        await _serve_until_told(remote, agent, await make(agent, member), does)

    replace(remote, alongside=False).run(work)


async def _take_part(agent: Agent, law: Law, certificates: list[Path]) -> Membership:
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


async def _serve_until_told(remote: Remote, agent: Agent, service: Service, does: str) -> None:
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
