"""`nomospace journal make`: a large journal from a seeded community, to try the pipeline on.

A large one is made of several sites (`apps.traffic.making`), side by side on all cores: each is
told by a process of its own, into folders of its own. What is written depends on the numbers asked
for and never on the machine.
"""

from __future__ import annotations

import gc
import heapq
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from nomospace.cli.remote_options import Unusable, print_json
from nomospace.pipeline.laws import LawSource, compiled, source_of

if TYPE_CHECKING:
    from nomospace.law import CompiledLaw

EVENTS_MAX: Final = 1_000_000_000
AGENTS_MAX: Final = 1_000_000
HOSTS_MAX: Final = 100
SITES_MAX: Final = 1_000
SITE_EVENTS: Final = 500_000
"""How many rulings are made as one site, unless the number of sites is said."""
ROWS: Final = 100_000
"""How many records a segment has, as hosts seal them by default."""
SAY_S: Final = 1.0
"""How often it is said how far it is."""


class _Site(msgspec.Struct, frozen=True):
    """What one site is asked for; `folder` is the journal's if it has but one host."""

    folder: str
    law: LawSource
    number: int
    events: int
    agents: int
    seed: int
    hosts: int
    tuples: int
    rows: int
    alone: bool


def make(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder for the journal.")],
    *,
    events: Annotated[int, typer.Option(min=1, max=EVENTS_MAX, help="Rulings.")] = 100_000,
    agents: Annotated[int, typer.Option(min=1, max=AGENTS_MAX, help="Members.")] = 1_000,
    law: Annotated[str, typer.Option(metavar="FILE|NAME", help="A file, or a shipped law.")] = "ap",
    seed: Annotated[int, typer.Option(help="The same seed gives the same rulings.")] = 1,
    hosts: Annotated[
        int, typer.Option(min=1, max=HOSTS_MAX, help="Of each site. With several, a folder each.")
    ] = 1,
    sites: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=SITES_MAX,
            help=f"Parts that do not meet, made side by side; one for {SITE_EVENTS:,} rulings.",
        ),
    ] = None,
    tuples: Annotated[
        int, typer.Option(min=0, max=EVENTS_MAX, help="Besides: tuples of a market of cars.")
    ] = 0,
    rows: Annotated[int, typer.Option(min=1, max=ROWS, help="Records of a segment.")] = ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a journal as hosts seal it: its community is made up, its rulings are real.

    Under law AP it is a hospital of laymen, experts, inspectors, managers, mediators and rogues.
    Under other laws members send what the law's rules are about. With --tuples OUT/market.yaml is
    the ontology of its cars, insurances and finances.
    """
    tried = _law(law)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Unusable(what=str(out), why="it is there already; name a new folder")
    parts = sites or usual_sites(max(events, tuples), agents)
    if parts > min(events, agents):
        why = f"{events:,} rulings of {agents:,} members cannot be shared out among them; ask fewer"
        raise Unusable(what=f"--sites {parts}", why=why)
    began = time.monotonic()
    made, size = write_journal(
        out,
        tried,
        events=events,
        agents=agents,
        seed=seed,
        hosts=hosts,
        sites=parts,
        tuples=tuples,
        rows=rows,
        say=_say,
    )
    took = time.monotonic() - began
    _say("")
    if as_json:
        facts = {"folder": str(out), "law": tried.name, "rulings": made, "tuples": tuples}
        print_json({**facts, "bytes": size, "took_s": round(took, 3)})
    else:
        besides = f" and {tuples:,} tuples" if tuples else ""
        print(f"wrote {made:,} rulings{besides} under {tried.name} to {out} ({size / 1e6:,.1f} MB)")


def usual_sites(records: int, agents: int) -> int:
    """How many sites a journal has when nobody says; a site has some people.

    >>> usual_sites(100_000, 1_000), usual_sites(2_000_000, 20_000), usual_sites(2_000_000, 40)
    (1, 4, 1)
    """
    return max(1, min(records // SITE_EVENTS, agents // 50, SITES_MAX))


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
    sites: int = 1,
    tuples: int = 0,
    rows: int = ROWS,
    say: Callable[[str], None] = lambda words: None,
) -> tuple[int, int]:
    """Write a journal into a new folder; gives the number of rulings and of bytes.

    One site is made in this process, several in processes of their own.
    """
    source = source_of(law)
    asked = [
        _Site(
            str(out),
            source,
            number,
            _share(events, sites, number),
            _share(agents, sites, number),
            seed,
            hosts,
            _share(tuples, sites, number),
            rows,
            hosts * sites == 1,
        )
        for number in range(sites)
    ]
    if sites == 1:
        made = [_write_site(asked[0])]
    else:
        made = _side_by_side(asked, out, events + tuples, say)
    if tuples:
        from nomospace_lab.apps.traffic.market import ONTOLOGY

        (out / "market.yaml").write_text(ONTOLOGY, encoding="utf-8")
    return sum(count for count, _ in made), sum(size for _, size in made)


def _share(whole: int, parts: int, number: int) -> int:
    """What one part gets of a whole.

    >>> [_share(10, 4, number) for number in range(4)]
    [3, 3, 2, 2]
    """
    return whole // parts + (number < whole % parts)


def _side_by_side(
    asked: list[_Site], out: Path, records: int, say: Callable[[str], None]
) -> list[tuple[int, int]]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # A fresh interpreter each: what this one has loaded would only be carried about.
    with ProcessPoolExecutor(min(len(asked), cores or 1), get_context("spawn")) as pool:
        made = [pool.submit(_write_site, site) for site in asked]
        try:
            while wait(made, SAY_S).not_done:
                say(f"{_sealed(out):,} of {records:,}")
                for one in made:
                    if one.done() and one.exception():
                        break  # its reason is raised below
                else:
                    continue
                break
            return [one.result() for one in made]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _sealed(out: Path) -> int:
    """How many records the segments have that are there by now."""
    from nomospace.wire.segments import MANIFEST, decode_manifest

    manifests = [
        decode_manifest(path.read_bytes(), str(path)) for path in out.glob(f"*/{MANIFEST}")
    ]
    return sum(found.last for found in manifests)


def _write_site(site: _Site) -> tuple[int, int]:
    """Write the journals of one site; gives the number of rulings and of bytes."""
    from nomospace.control import Ruling
    from nomospace.store.segments import SegmentLimits
    from nomospace_lab.apps.traffic import JournalWord, make_traffic
    from nomospace_lab.apps.traffic.market import SPACE, Traded, make_market
    from nomospace_lab.cli.journal_writing import JournalWriter

    law = compiled(site.law)
    writers: dict[str, JournalWriter] = {}
    made = 0

    def writer_of(host: str, at: int) -> JournalWriter:
        if host not in writers:
            folder = Path(site.folder) if site.alone else Path(site.folder, host)
            writers[host] = JournalWriter(folder, host, SegmentLimits(rows=site.rows))
            writers[host].law(law, at=at)
        return writers[host]

    rulings = make_traffic(
        law,
        events=site.events,
        agents=site.agents,
        seed=site.seed,
        hosts=site.hosts,
        site=site.number,
        timer=time.perf_counter_ns,
    )
    market = f"ward-{site.number * site.hosts + 1}"
    traded = make_market(site.tuples, seed=site.seed, host=market, site=site.number)
    gc.freeze()  # rulings make no cycles, and what is loaded stays
    gc.disable()
    try:
        together: Iterator[JournalWord | Traded] = heapq.merge(
            rulings, traded, key=attrgetter("at")
        )
        for told in together:
            if isinstance(told, Traded):
                at, name, number, op, fields = told
                writer_of(market, at).tuple(SPACE, name, number, op, fields, at=at)
                continue
            writer = writers.get(told.host) or writer_of(told.host, told.at)
            if isinstance(told.what, Ruling):
                writer.ruling(told.what, hops=told.hops, took_ns=told.took_ns)
                made += 1
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
