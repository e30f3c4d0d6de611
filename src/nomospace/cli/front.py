"""`nomospace front`: a tuple space that exists already, for the members of a law."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nomospace.cli.mediator import serve_until_told, take_part
from nomospace.cli.remote_options import MARKUP, Remote, Unusable, named_law, on_host
from nomospace.extras import need

if TYPE_CHECKING:
    from nomospace.client.remote import RemoteHost
    from nomospace.node.services.fronts import FrontEngine

AGENT: Final = "front"
"""Whom it is on a host without certificates, where `--as` names nobody."""

app = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)


@app.command()
@on_host
def front(
    remote: Remote,
    law: Annotated[
        str,
        typer.Option(metavar="LAW", help="The law of its clients: a file, an address, or shipped."),
    ],
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
    named = named_law(law)

    from nomospace.node.services.fronts import Front

    async def work(host: RemoteHost) -> None:
        agent = await host.agent(speaks_for or (AGENT if remote.agent("") else None))
        member = await take_part(agent, named, certificate or [])
        made = Front(member, agent.id, engine)
        await serve_until_told(remote, agent, made, f"answers for {engine!r}")

    replace(remote, alongside=False).run(work)


def _tables(url: str, shapes: list[str]) -> FrontEngine:
    need("postgres", "a front of a PostgreSQL table")
    from nomospace.node.services.fronts.tables import TableEngine

    return TableEngine(url, shapes)


def _list(url: str, key: str) -> FrontEngine:
    from nomospace.node.services.fronts.lists import ListEngine

    return ListEngine(url, key)
