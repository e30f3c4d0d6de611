"""`nomospace bench`: figures beside a floor and beside what one would use instead."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from nomospace_lab.bench.report import BenchReport, BenchRow

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which bench; none lists them.")] = "",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    rounds: Annotated[int, typer.Option(help="Rounds; the best of them counts.")] = 7,
    peers: Annotated[str, typer.Option(help="all, none, or names with commas between.")] = "all",
    quick: Annotated[
        bool, typer.Option("--quick", help="Short batches, at most 3 rounds.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All of what is long, too; it may take minutes.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="A folder for the plots, of benches that have some.")
    ] = None,
    scale: Annotated[
        float, typer.Option(help="How much of their time long experiments take: 0.1 is a tenth.")
    ] = 1.0,
    stored: Annotated[
        int, typer.Option(help="bench space: only a space in the store, with so many tuples.")
    ] = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when a goal is missed.")] = False,
) -> None:
    """Measure in one run, in turns, ours, the floor and the peers; say which goals are met.

    Peers are installed on first use into the user's cache folder. One that cannot be is listed with
    the reason and what would mend it.
    """
    from nomospace_lab.bench import BenchRun, benches, find

    if not name:
        _list([(b.name, b.about) for b in benches().values()], as_json=as_json)
        return
    chosen = find(name)
    if chosen.spark:
        from nomospace.cli.spark import need_spark

        need_spark()
    run = BenchRun(
        rounds=rounds,
        peers=_names(peers),
        quick=quick,
        full=full,
        plot=plot,
        scale=scale,
        stored=stored,
        say=_say,
    )
    report = chosen.report(run)
    if as_json:
        print(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        _show(report)
    if strict and not report.met:
        raise typer.Exit(1)


def _names(peers: str) -> tuple[str, ...] | None:
    """Read `--peers`: `None` stands for all of them.

    >>> _names("all"), _names("none"), _names("casbin, regopy")
    (None, (), ('casbin', 'regopy'))
    """
    if peers == "all":
        return None
    if peers == "none":
        return ()
    return tuple(name.strip() for name in peers.split(",") if name.strip())


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _list(known: list[tuple[str, str]], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"name": name, "about": about} for name, about in known], indent=2))
        return
    width = max(len(name) for name, _ in known)
    for name, about in known:
        print(f"{name:<{width}}  {about}")


def _show(report: "BenchReport", console: "Console | None" = None) -> None:
    from rich.console import Console

    console = console or Console(highlight=False)
    machine = report.machine
    console.print(
        f"[bold]{report.name}[/], measured on {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['python']}, load {machine['load']}"
    )
    for row in report.rows:
        console.print()
        for part in _row(row):
            console.print(part)
    goals = [row.met for row in report.rows if row.goal.judged]
    console.print()
    for note in report.notes:
        console.print(f"note: {note}", style="dim")
    if all(goals):
        console.print(f"[green]all {len(goals)} goals met[/]")
    else:
        console.print(f"[red]{goals.count(False)} of {len(goals)} goals missed[/]")


def _row(row: "BenchRow") -> "Iterator[RenderableType]":
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    verdict = Text("met", style="green") if row.met else Text("missed", style="bold red")
    goal = Text.assemble(row.goal.text, ": ", verdict) if row.goal.judged else "for information"
    yield Text.assemble((row.what, "bold"), "  [", goal, "]")
    if row.how:
        yield Padding(Text(row.how, style="dim"), (0, 0, 0, 2))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(min_width=28)
    table.add_column(justify="right", min_width=9)
    table.add_column()
    table.add_column()
    over = f"{row.over_floor:.2f} times the floor" if row.over_floor is not None else ""
    table.add_row("ours", _figure(row.ours), row.unit, over)
    if row.floor is not None:
        table.add_row("floor", _figure(row.floor), row.unit, "")
    for peer, value in sorted(row.peers.items(), key=lambda item: item[1] or float("inf")):
        over_ours = row.over_ours(peer) if row.goal.judged else None
        remark = f"{over_ours:.1f} times ours" if over_ours is not None else ""
        table.add_row(peer, _figure(value), row.unit, remark)
    yield Padding(table, (0, 0, 0, 2))
    for name, why in row.why_null.items():
        yield Padding(Text(f"{name} was not measured: {why}", style="dim"), (0, 0, 0, 2))


def _figure(value: float | None) -> str:
    """Three significant digits without an exponent.

    >>> _figure(0.07735), _figure(86954.2), _figure(None)
    ('0.0774', '86,954', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
