"""`nomospace agent`: the agents of a running host: where they are, programs, their end."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import (
    Commands,
    Remote,
    print_json,
    print_table,
    usable,
)
from nomospace.errors import CallerError, NomospaceError

if TYPE_CHECKING:
    from nomospace.client.membership import Letter
    from nomospace.client.remote import RemoteHost
    from nomospace.wire.admin import AgentLine, Resume, Suspend

PAGE: Final = 1_000
"""How many agents a host is asked for at once."""
LAUNCH_S: Final = 30.0
"""How long a launch may take: a process is started, and imports its code."""
NOT_AN_OPERATOR: Final = "node.not-an-operator"

app = Commands(
    """Show the agents of a running host, launch programs, move, suspend and end agents.

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
def ls(remote: Remote) -> None:
    """List the agents on this host, with the laws that they have adopted."""
    lines = remote.run(lambda host: _all(remote, host))
    if remote.as_json:
        for line in lines:
            facts = msgspec.to_builtins(line)
            if not line.ended:  # it is told of those alone that have something to tell
                del facts["ended"]
            print_json(facts)
        return
    rows = [("agent", "runs", "clients", "laws")]
    for line in lines:
        laws = ", ".join(line.laws) or "-"
        runs = "suspended" if line.suspended else line.program or "-"
        runs = f"{runs} (ended)" if line.ended else runs
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


def _id(agent: str, what: str = "ID") -> str:
    """The id of an agent that an argument names."""
    from nomospace.client.tuples import agent_id  # quick commands do without a client

    return agent_id(what, agent)


@app.command()
def where(remote: Remote, agent: IdArgument) -> None:
    """Say at which host an agent is, as far as this host knows; exit code 1 when it does not."""
    from nomospace.wire.admin import Where

    found = remote.ask(Where(_id(agent)))
    if remote.as_json:
        print_json(found)
    elif found.connected:
        print(f"{agent} is at {found.host}")
    elif found.host:
        print(f"{agent} was last heard of at {found.host}, which is not in touch")
    else:
        print(f"nobody here knows where {agent} is", file=sys.stderr)
    if not found.host:
        raise typer.Exit(SAID_NO)


@app.command()
def move(
    remote: Remote,
    agent: IdArgument,
    to: Annotated[str, typer.Argument(metavar="HOST", help="The name of the host to go to.")],
) -> None:
    """Move an agent to another host of the group, with its spaces, tuples and memberships.

    Its clients follow it. An agent that runs a program moves when the program says so.
    """
    _id(agent)
    remote.run(lambda host: _move(remote, host, agent, to))
    remote.say({"agent": agent, "host": to}, f"{agent} is at {to}")


@app.command()
def launch(
    remote: Remote,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The agent, new or of this host.")],
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="The program's name.")],
    *,
    bundle: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its code, as `agent bundle` made it.")
    ] = None,
    state: Annotated[
        str, typer.Option(metavar="JSON", help="The state it begins with; else what its code says.")
    ] = "",
) -> None:
    """Let an agent run a program at this host, in a process of its own.

    The program is one of the host's modules, or comes in a bundle that a publisher has signed whom
    the host trusts. It is durable: a host that starts again runs it again.
    """
    from nomospace.cli.bundling import read_state
    from nomospace.cli.trust.files import read
    from nomospace.trust.bundles import BUNDLE_BYTES_MAX
    from nomospace.wire.admin import LaunchProgram

    code = None if bundle is None else read(bundle, BUNDLE_BYTES_MAX)
    patient = replace(remote, timeout_s=max(remote.timeout_s, LAUNCH_S))
    line = patient.ask(LaunchProgram(name, program, read_state(state), code))
    remote.say(line, f"{line.agent} runs {line.program}")


@app.command()
def bundle(
    code: Annotated[
        Path, typer.Argument(metavar="CODE", help="A wheel, a zip archive, a folder or a .py file.")
    ],
    *,
    program: Annotated[str, typer.Option(help="The name of the program in it.")],
    key: Annotated[Path, typer.Option(help="The publisher's key (`trust issue publisher`).")],
    publisher: Annotated[
        str, typer.Option(help="The publisher's name; by default that of the key's file.")
    ] = "",
    module: Annotated[
        str, typer.Option(help="The module that has the program; needed where there are several.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where to; by default PROGRAM.bundle here.")
    ] = None,
) -> None:
    """Sign the code of a program as its publisher, for hosts that trust it."""
    from nomospace.cli.bundling import make

    file = out or Path(f"{program}.bundle")
    made = make(code, program, key, publisher or key.stem, module)
    with usable(file, "cannot be written"):
        file.write_bytes(made)
    print(f"{file}: {len(made):,} bytes, signed by {publisher or key.stem}")


@app.command()
def suspend(
    remote: Remote,
    agent: IdArgument,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which it is told.")] = "",
) -> None:
    """Refuse all that an agent does at this host, until it is resumed; a restart changes nothing.

    Its clients are cut off and what it waits for is called off. Leases run on; its mail and its
    obligations are kept, and served when it is resumed.
    """
    from nomospace.wire.admin import Suspend

    suspension(remote, Suspend(_id(agent), why))


@app.command()
def resume(remote: Remote, agent: IdArgument) -> None:
    """End the suspension of an agent: what was kept for it meanwhile is served, once."""
    from nomospace.wire.admin import Resume

    suspension(remote, Resume(_id(agent)))


@app.command()
def end(remote: Remote, agent: IdArgument) -> None:
    """End an agent of this host: its tuples, reactions, waits and memberships leave with it.

    Programs that speak for it are told. Its name is free for a new agent.
    """
    _id(agent)
    remote.run(lambda host: _end(remote, host, agent))
    remote.say({"agent": agent, "ended": True}, f"{agent} has ended")


@app.command()
def send(
    remote: Remote,
    agent: IdArgument,
    to: Annotated[str, typer.Argument(metavar="TO", help="The agent that it is for.")],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The text of a term.")],
    here: Annotated[bool, typer.Option("--here", help="Only if TO is at its host now.")] = False,
) -> None:
    """Send a plain message from an agent of this host to another, wherever that is."""

    async def work(host: RemoteHost) -> None:
        sender = await host.agent(_id(agent))
        await sender.send(message, to=_id(to, "TO"), here=here)

    remote.run(work)
    remote.say({"agent": agent, "to": to}, f"on its way to {to}")


@app.command()
def inbox(
    remote: Remote,
    agent: IdArgument,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="For the first one.")] = 0.0,
) -> None:
    """Take the plain messages that wait for an agent, and print them; exit code 1 if none came."""
    from nomospace.terms import freeze, show

    letters = remote.run(lambda host: _inbox(host, _id(agent), wait))
    for letter in letters:
        text = show(freeze(letter.message))
        remote.say({"sender": letter.sender, "message": text}, f"{letter.sender or '-'}: {text}")
    if not letters:
        raise typer.Exit(SAID_NO)


async def _inbox(host: RemoteHost, agent: str, wait_s: float) -> list[Letter]:
    held = await host.agent(agent)
    await held.system.read_nowait("host", "", "")  # what waits has come before this answer
    letters: list[Letter] = []
    if wait_s > 0:
        with suppress(TimeoutError, StopAsyncIteration):
            letters.append(await asyncio.wait_for(anext(held.inbox()), wait_s))
    while (letter := held.receive_nowait()) is not None:
        letters.append(letter)
    return letters


def suspension(remote: Remote, question: Suspend | Resume) -> None:
    """Suspend an agent or a law, or end that, and say so."""
    line = remote.ask(question)
    remote.say(line, f"{line.name} is {'' if line.since else 'not '}suspended")


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
