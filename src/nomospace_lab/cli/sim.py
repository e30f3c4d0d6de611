"""`nomospace sim`: many simulated worlds put to the test, or one with its story."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from nomospace.cli import INTERRUPTED, SAID_NO

if TYPE_CHECKING:
    from nomospace_lab.sim import Outcome, SeedReport, Workload

app = typer.Typer(add_completion=False)

SEEDS_MAX = 10_000_000


@app.command()
def sim(
    workload: Annotated[str, typer.Option(help="Which worlds; --list names them.")] = "hospital",
    seeds: Annotated[int, typer.Option(min=1, max=SEEDS_MAX, help="How many worlds.")] = 20,
    first: Annotated[int, typer.Option("--from", min=0, help="The first seed.")] = 0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Replay this one and tell its story.")
    ] = None,
    about: Annotated[str, typer.Option(help="Of a story, only lines with this word.")] = "",
    processes: Annotated[int, typer.Option(min=1, max=64, help="Worlds at a time.")] = 1,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    list_them: Annotated[bool, typer.Option("--list", help="Name the workloads.")] = False,
) -> None:
    """Run simulated worlds, each from its seed, and check what must hold in them.

    In each world hosts crash and restart, the network loses, delays, repeats and reorders, and
    partitions come and go; then all is healed. The same seed gives the same history. Exit code 1
    when a world failed.
    """
    from nomospace_lab import apps
    from nomospace_lab.sim import find, registry, run

    apps.load()
    if list_them:
        _list([registry[name] for name in apps.WORKLOADS], as_json=as_json)
        return
    chosen = find(workload)
    if seed is not None:
        _story(chosen, seed, about, as_json=as_json)
        return
    report = run(
        chosen,
        range(first, first + seeds),
        processes=processes,
        on_outcome=_Progress(chosen.name, seeds) if sys.stderr.isatty() else None,
    )
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
        for failed in sorted(report.failed):
            print(
                f"seed {failed} failed; replay it with: {_replay(report, failed)}", file=sys.stderr
            )
    else:
        _show(report)
    if report.interrupted:
        print(f"interrupted after {report.seeds} of {seeds} worlds", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    if report.failed:
        raise typer.Exit(SAID_NO)


def _replay(report: "SeedReport", seed: int) -> str:
    return f"nomospace sim --workload {report.workload} --seed {seed}"


class _Progress:
    """One line on the terminal, rewritten, while worlds run."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done, self.failed = name, total, 0, 0

    def __call__(self, outcome: "Outcome") -> None:
        self.done += 1
        self.failed += outcome.failed
        end = "\r\033[K" if self.done == self.total else ""
        line = f"{self.name}: {self.done} of {self.total} worlds, {self.failed} failed"
        print(f"\r\033[K{line}{end}", end="", file=sys.stderr, flush=True)


def _list(known: list["Workload"], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"name": w.name, "about": w.about} for w in known], indent=2))
        return
    for one in known:
        print(f"{one.name:<11} {one.about}")


def _show(report: "SeedReport") -> None:
    width = max(map(len, report.checked), default=0)
    print(
        f"{report.workload}: {report.seeds} worlds, {report.messages:,} messages, "
        f"{report.took_s:.1f} s"
    )
    for name, count in report.checked.items():
        note = f"   unknown in {report.unknown[name]} worlds" if name in report.unknown else ""
        note = note or ("   never put to the test" if count == 0 else "")
        print(f"  {name:<{width}}  {count:>10,} cases{note}")
    if not report.failed:
        print("no world failed")
        return
    print(f"{len(report.failed)} of {report.seeds} worlds failed; replay them with:")
    for seed in sorted(report.failed):
        print(f"  {_replay(report, seed)}")


def _story(chosen: "Workload", seed: int, about: str, *, as_json: bool) -> None:
    from nomospace_lab.sim import play

    world, outcome = play(chosen, seed)
    digest = world.history.digest() if world is not None else None
    if as_json:
        verdicts = [
            {
                "property": v.property,
                "answer": v.answer,
                "cases": v.cases,
                "says": v.says,
                "proof": [str(h) for h in v.proof],
            }
            for v in outcome.verdicts
        ]
        told = {
            "workload": chosen.name,
            "seed": seed,
            "failed": outcome.failed,
            "messages": outcome.messages,
            "history": digest,
            "verdicts": verdicts,
        }
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for happening in world.history if world is not None else ():
            if happening.kind not in _SHOWN_BY_RULINGS and about in (line := str(happening)):
                print(line)
        print()
        for verdict in outcome.verdicts:
            print(verdict)
        print(f"seed {seed}: {outcome.messages} messages, history {digest}")
    if outcome.failed:
        raise typer.Exit(SAID_NO)


_SHOWN_BY_RULINGS = ("sent", "delivered")
"""What follows from the rulings that a story tells anyway."""
