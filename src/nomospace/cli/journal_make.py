"""`nomospace journal make`: a large journal from a seeded community, to try the pipeline on."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nomospace.cli.law import Unusable
from nomospace.cli.remote_options import print_json

if TYPE_CHECKING:
    from nomospace.law import CompiledLaw

EVENTS_MAX: Final = 1_000_000_000
AGENTS_MAX: Final = 1_000_000
HOSTS_MAX: Final = 100
ROWS: Final = 100_000
"""How many records a segment has, as hosts seal them by default."""
SAY_EVENTS: Final = 100_000


def make(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder for the journal.")],
    *,
    events: Annotated[int, typer.Option(min=1, max=EVENTS_MAX, help="Rulings.")] = 100_000,
    agents: Annotated[int, typer.Option(min=1, max=AGENTS_MAX, help="Members.")] = 1_000,
    law: Annotated[str, typer.Option(metavar="FILE|NAME", help="A file, or a shipped law.")] = "ap",
    seed: Annotated[int, typer.Option(help="The same seed gives the same journal.")] = 1,
    hosts: Annotated[
        int, typer.Option(min=1, max=HOSTS_MAX, help="With several, a folder each in OUT.")
    ] = 1,
    rows: Annotated[int, typer.Option(min=1, max=ROWS, help="Records of a segment.")] = ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a journal as hosts seal it: its community is made up, its rulings are real.

    Under law AP it is a hospital of laymen, experts, inspectors, managers, mediators and rogues.
    Under other laws members send what the law's rules are about.
    """
    tried = _law(law)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Unusable(what=str(out), why="it is there already; name a new folder")
    began = time.monotonic()
    made, size = write_journal(
        out, tried, events=events, agents=agents, seed=seed, hosts=hosts, rows=rows
    )
    took = time.monotonic() - began
    _say("")
    if as_json:
        facts = {"folder": str(out), "law": tried.name, "rulings": made, "bytes": size}
        print_json({**facts, "took_s": round(took, 3)})
    else:
        print(f"wrote {made:,} rulings under {tried.name} to {out} ({size / 1e6:,.1f} MB)")


def _law(law: str) -> CompiledLaw:
    from nomospace import laws
    from nomospace.law import load
    from nomospace.law.program import load_source, read_source

    if law in laws.NAMES:
        return load(laws.text(law), f"{law}.law")
    return load_source(read_source(law))


def write_journal(
    out: Path,
    law: CompiledLaw,
    *,
    events: int,
    agents: int,
    seed: int,
    hosts: int = 1,
    rows: int = ROWS,
) -> tuple[int, int]:
    """Write a journal into a new folder; gives the number of rulings and of bytes."""
    from nomospace.apps.traffic import make_traffic
    from nomospace.control import Ruling
    from nomospace.store.segments import Limits
    from nomospace.store.writing import JournalWriter

    writers: dict[str, JournalWriter] = {}
    made = 0
    gc.freeze()  # rulings make no cycles, and what is loaded stays
    gc.disable()
    try:
        for told in make_traffic(law, events=events, agents=agents, seed=seed, hosts=hosts):
            writer = writers.get(told.host)
            if writer is None:
                folder = out if hosts == 1 else out / told.host
                writer = writers[told.host] = JournalWriter(folder, told.host, Limits(rows=rows))
                writer.law(law, at=told.at)
            if isinstance(told.what, Ruling):
                writer.ruling(told.what)
                made += 1
                if made % SAY_EVENTS == 0:
                    _say(f"{made:,} of {events:,}")
            else:
                writer.checkpoint(told.what, at=told.at)
    finally:
        gc.enable()
        gc.unfreeze()
    manifests = [writer.close() for writer in writers.values()]
    size = sum(sum(s.bytes.values()) for manifest in manifests for s in manifest.segments)
    return made, size


def _say(words: str) -> None:
    """On a terminal one line is rewritten; elsewhere nobody waits for it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)
