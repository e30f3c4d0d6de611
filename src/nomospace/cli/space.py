"""`nomospace space`: the spaces of a running host, for operators."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import Remote, command_group, on_host, print_json, print_table

if TYPE_CHECKING:
    from nomospace.wire.admin import SpaceLine

NAMES_MAX = 3
"""So many agents of a space stand in its line; `--json` has all of them."""

app = command_group(
    """Show the spaces of a running host.

    For operators: on a host with certificates this takes a token with the scope operator.
    """
)


@app.command()
@on_host
def ls(remote: Remote) -> None:
    """List the spaces that agents on this host have, with their tuples here."""
    from nomospace.wire.admin import Spaces

    spaces = remote.ask(Spaces())
    _show(remote, sorted(spaces, key=_order))


@app.command()
@on_host
def stats(
    remote: Remote,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The space's name.")],
) -> None:
    """Say how many tuples a space has here, how many are lent, who waits and who reacts.

    The shared space comes first, then private ones of that name. Exit code 1 when there is none.
    """
    from nomospace.wire.admin import Spaces

    found = [line for line in remote.ask(Spaces()) if line.name == name]
    if not found:
        print(f"no agent on the host has a space {name}", file=sys.stderr)
        raise typer.Exit(SAID_NO)
    _show(remote, sorted(found, key=_order), full=True)


def _order(line: SpaceLine) -> tuple[str, bool, tuple[str, ...]]:
    return line.name, not line.shared, line.agents


def _show(remote: Remote, lines: list[SpaceLine], *, full: bool = False) -> None:
    if remote.as_json:
        for line in lines:
            print_json(msgspec.to_builtins(line))
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
