"""`nomospace agent`: the agents of a running host: who is there and where, moves, their end."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import Remote, command_group, on_host, print_json, print_table
from nomospace.errors import CallerError, NomospaceError

if TYPE_CHECKING:
    from nomospace.client.remote import RemoteHost
    from nomospace.wire.admin import AgentLine, SuspensionLine

PAGE: Final = 1_000
"""How many agents a host is asked for at once."""
NOT_AN_OPERATOR: Final = "node.not-an-operator"

app = command_group(
    """Show the agents of a running host, move them, suspend them, and end them.

    On a host with certificates, move takes a token that speaks for the agent, end such a one or
    one with the scope operator, and all others one with the scope operator.
    """
)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The agent, as in nurse@ward-3.")]


class AgentElsewhere(CallerError):
    """An agent was to be moved by a host that does not have it."""

    code = "cli.agent-elsewhere"
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
        runs = "suspended" if line.suspended else line.program or "-"
        rows.append((line.id, runs, str(line.clients), laws))
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


@app.command()
@on_host
def suspend(
    remote: Remote,
    agent: IdArgument,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which it is told.")] = "",
) -> None:
    """Refuse all that an agent does at this host, until it is resumed; a restart changes nothing.

    Its clients are cut off and what it waits for is called off. Leases run on; its mail and its
    obligations are kept, and served when it is resumed.
    """
    from nomospace.client.tuples import agent_id

    suspend_on(remote, agent_id("ID", agent), why)


@app.command()
@on_host
def resume(remote: Remote, agent: IdArgument) -> None:
    """End the suspension of an agent: what was kept for it meanwhile is served, once."""
    from nomospace.client.tuples import agent_id

    resume_on(remote, agent_id("ID", agent))


@app.command()
@on_host
def end(remote: Remote, agent: IdArgument) -> None:
    """End an agent of this host: its tuples, reactions, waits and memberships leave with it.

    Programs that speak for it are told. Its name is free for a new agent.
    """
    from nomospace.client.tuples import agent_id

    agent_id("ID", agent)
    remote.run(lambda host: _end(remote, host, agent))
    if remote.as_json:
        print_json({"agent": agent, "ended": True})
    else:
        print(f"{agent} has ended")


def suspend_on(remote: Remote, name: str, why: str) -> None:
    """Suspend an agent or a law, and say so."""
    from nomospace.wire.admin import Suspend

    _say(remote, remote.ask(Suspend(name, why)), "is suspended")


def resume_on(remote: Remote, name: str) -> None:
    """End the suspension of an agent or a law, and say so."""
    from nomospace.wire.admin import Resume

    _say(remote, remote.ask(Resume(name)), "is not suspended")


def _say(remote: Remote, line: SuspensionLine, said: str) -> None:
    if remote.as_json:
        print_json(msgspec.to_builtins(line))
    else:
        print(f"{line.name} {said}")


async def _end(remote: Remote, host: RemoteHost, agent: str) -> None:
    from nomospace.wire.admin import EndAgent

    try:
        await remote.asked(host, EndAgent(agent))
    except NomospaceError as error:
        if error.code != NOT_AN_OPERATOR:
            raise
        held = await host.agent(agent)
        await held.end()


async def _move(remote: Remote, host: RemoteHost, agent: str, to: str) -> None:
    from nomospace.client.session_driver import MovedOn
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
