"""`nomospace space`: the spaces of a running host, for operators."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from nomospace.calls.partition import in_words
from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import (
    Commands,
    Remote,
    Unusable,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from nomospace.wire.admin import SpaceLine

NAMES_MAX = 3
"""So many agents of a space stand in its line; `--json` has all of them."""

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The space's name.")]

app = Commands(
    """Show the spaces of a running host, and let governed ones speak.

    For operators: on a host with certificates this takes a token with the scope operator.
    """
)


@app.command()
def ls(remote: Remote) -> None:
    """List the spaces that agents on this host have, with their tuples here."""
    from nomospace.wire.admin import Spaces

    spaces = remote.ask(Spaces())
    _show(remote, sorted(spaces, key=_order))


@app.command()
def stats(
    remote: Remote,
    name: NameArgument,
) -> None:
    """Say how many tuples a space has here, how many are lent, who waits and who reacts.

    Of a partitioned one also: which hosts have a share, and what is not where it belongs yet.

    The shared space comes first, then private ones of that name. Exit code 1 when there is none.
    """
    from nomospace.wire.admin import Spaces

    found = [line for line in remote.ask(Spaces()) if line.name == name]
    if not found:
        print(f"no agent on the host has a space {name}", file=sys.stderr)
        raise typer.Exit(SAID_NO)
    _show(remote, sorted(found, key=_order), full=True)


@app.command()
def tell(
    remote: Remote,
    name: NameArgument,
    agent: Annotated[str, typer.Argument(metavar="ID", help="The agent, name@domain.")],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The text of a term.")],
    law: Annotated[str, typer.Option(metavar="HASH", help="Its law, if it has several.")] = "",
) -> None:
    """Let a governed space say something to an agent, in its own name and under its law.

    For example: nomospace space tell jobs ann@ward-3 'changeDelay(2)'

    Exit code 1 when the law refuses it.
    """
    from nomospace.wire.admin import SpaceTell, read_ruling

    ruling = read_ruling(remote.ask(SpaceTell(name, agent, message, law)))
    remote.say(
        {"rule": ruling.rule, "refused": ruling.refused, "why": ruling.explain()}, ruling.explain()
    )
    if ruling.refused:
        raise typer.Exit(SAID_NO)


@app.command()
def monitor(
    remote: Remote,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The space's name.")] = "",
    *,
    most: Annotated[
        float | None, typer.Option(metavar="N", help="The requests a second it is to bear.")
    ] = None,
    rest: Annotated[float, typer.Option(metavar="S", help="Its clients' delay at rest.")] = 1.0,
    longest: Annotated[float, typer.Option(metavar="S", help="Their longest delay.")] = 60.0,
    off: Annotated[bool, typer.Option("--off", help="Watch it no longer.")] = False,
) -> None:
    """Have a governed space watch its load and set its clients' pace (law CC), or show who does.

    For example: nomospace space monitor jobs --most 50

    It lasts until the host ends; a table [monitors.NAME] of its configuration lasts longer.
    """
    from nomospace.wire.admin import SpaceMonitor, SpaceMonitors

    if not name:
        lines = remote.ask(SpaceMonitors())
    elif off == (most is not None):
        raise Unusable(what=name, why="give either --most N, or --off")
    else:
        lines = [remote.ask(SpaceMonitor(name, most, rest, longest))]
    if remote.as_json:
        for line in lines:
            print_json(line)
    elif not off:
        rows = [("space", "most a second", "delay", "rest", "longest", "clients")]
        for one in lines:
            times = (f"{one.delay:g} s", f"{one.rest:g} s", f"{one.longest:g} s")
            rows.append((one.space, f"{one.most:g}", *times, f"{one.clients:,}"))
        print_table(rows)


def _order(line: SpaceLine) -> tuple[str, bool, tuple[str, ...]]:
    return line.name, not line.shared, line.agents


def _show(remote: Remote, lines: list[SpaceLine], *, full: bool = False) -> None:
    if remote.as_json:
        for line in lines:
            print_json(line)
        return
    heads = ("space", "", "tuples", *(("lent", "waiting", "reactions") if full else ()))
    rows = [(*heads, "agents", "law")]
    for line in lines:
        counts = [line.tuples, *([line.lent, line.waiting, line.reactions] if full else [])]
        more = len(line.agents) - NAMES_MAX
        agents = ", ".join(line.agents[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
        kind = "shared" if line.shared else "private"
        rows.append((line.name, kind, *[f"{n:,}" for n in counts], agents, line.law[:12] or "-"))
    print_table(rows)
    for line in [line for line in lines if full and line.partition]:
        print(f"{in_words(line.partition)}; shares at {', '.join(line.homes)}")
        if line.strays or not line.settled:
            print(f"not settled: {line.strays:,} tuples here are at home elsewhere")
        if line.unsettled:
            print(f"not settled yet: {', '.join(line.unsettled)}")
        if line.apart:
            print(f"another space of that name, partitioned otherwise: {', '.join(line.apart)}")
