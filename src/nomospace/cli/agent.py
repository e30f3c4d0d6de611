"""`nomospace agent`: the agents of a running host: who is there, where one is, and moving it."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import msgspec
import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import MARKUP, Remote, on_host, print_json, print_table
from nomospace.errors import CallerError, NomospaceError

if TYPE_CHECKING:
    from nomospace.client.remote import RemoteHost
    from nomospace.wire.admin import AgentLine

PAGE: Final = 1_000
"""How many agents a host is asked for at once."""
NOT_AN_OPERATOR: Final = "node.not-an-operator"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    help="""Show the agents of a running host, and move them.

    On a host with certificates, ls and where take a token with the scope operator, and move takes
    one that speaks for the agent.
    """,
)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The agent, as in nurse@ward-3.")]


@dataclass(eq=False, kw_only=True)
class AgentElsewhere(CallerError):
    """An agent was to be moved by a host that does not have it."""

    code: ClassVar[str] = "cli.agent-elsewhere"
    agent: str
    host: str

    def __str__(self) -> str:
        if not self.host:
            return f"no host in touch has {self.agent}; `nomospace agent ls` shows who is here"
        return f"{self.agent} is at {self.host}; ask that host, with --host"


@app.command()
@on_host
def ls(remote: Remote) -> None:
    """List the agents on this host, with the laws that they have adopted."""
    lines = remote.run(lambda host: _all(remote, host))
    if remote.as_json:
        for line in lines:
            print_json(msgspec.to_builtins(line))
        return
    rows = [("agent", "runs", "clients", "laws")]
    for line in lines:
        laws = ", ".join(line.laws) or "-"
        rows.append((line.id, line.program or "-", str(line.clients), laws))
    print_table(rows)


async def _all(remote: Remote, host: RemoteHost) -> list[AgentLine]:
    from nomospace.wire.admin import Agents

    lines: list[AgentLine] = []
    while True:
        page = await remote.asked(host, Agents(lines[-1].id if lines else "", PAGE))
        lines += page
        if len(page) < PAGE:
            return lines


@app.command()
@on_host
def where(remote: Remote, agent: IdArgument) -> None:
    """Say at which host an agent is, as far as this host knows; exit code 1 when it does not."""
    from nomospace.client.tuples import agent_id
    from nomospace.wire.admin import Where

    found = remote.ask(Where(agent_id("ID", agent)))
    if remote.as_json:
        print_json(msgspec.to_builtins(found))
    elif found.connected:
        print(f"{agent} is at {found.host}")
    elif found.host:
        print(f"{agent} was last heard of at {found.host}, which is not in touch")
    else:
        print(f"nobody here knows where {agent} is", file=sys.stderr)
    if not found.host:
        raise typer.Exit(SAID_NO)


@app.command()
@on_host
def move(
    remote: Remote,
    agent: IdArgument,
    to: Annotated[str, typer.Argument(metavar="HOST", help="The name of the host to go to.")],
) -> None:
    """Move an agent to another host of the group, with its spaces, tuples and memberships.

    Its clients follow it. An agent that runs a program moves when the program says so.
    """
    from nomospace.client.tuples import agent_id

    agent_id("ID", agent)
    remote.run(lambda host: _move(remote, host, agent, to))
    if remote.as_json:
        print_json({"agent": agent, "host": to})
    else:
        print(f"{agent} is at {to}")


async def _move(remote: Remote, host: RemoteHost, agent: str, to: str) -> None:
    from nomospace.client.line import MovedOn
    from nomospace.wire.admin import Stats, Where

    # A slip in the name would make a new agent, and move that.
    try:
        here = (await remote.asked(host, Stats())).host
        at = (await remote.asked(host, Where(agent))).host
    except NomospaceError as error:
        if error.code != NOT_AN_OPERATOR:
            raise
    else:
        if at != here:
            raise AgentElsewhere(agent=agent, host=at)
    held = await host.agent(agent)
    with suppress(MovedOn):  # then it is there, and only this command cannot follow it
        await held.move(to)
