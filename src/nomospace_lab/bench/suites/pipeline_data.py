"""What `nomospace bench pipeline` is measured on: made once from a seed, kept for the next run.

Journals are made by the command that anyone can run, the archive by the job that anyone can. Each
appears whole under a name that says what it is, so that a run that was ended spoils nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nomospace_lab.bench import BenchRun
from nomospace_lab.bench.processes import PartFailed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from nomospace.meaning.ontology import Ontology

MADE: Final = 1
"""Counts up when what is made changes, so that nothing older is taken for it."""
SEED: Final = 1
EVENTS_A_MEMBER: Final = 100
SAY_S: Final = 15.0
MAKE_S: Final = 3_600.0
"""How long making a journal may take before it is given up."""
TIMES: Final = 10
"""How many times the archive is copied for the large one."""


def journal(run: BenchRun, events: int) -> Path:
    """A journal of a hospital."""
    words = ["--events", str(events), "--agents", str(max(50, events // EVENTS_A_MEMBER))]
    return _kept(run, f"journal-{events}", lambda to: _make(run, to, events, *words))


def archive(run: BenchRun, tuples: int, spark: SparkSession) -> tuple[Path, Ontology]:
    """An archive of a market, and its ontology."""
    from nomospace.client.ontologies import load_ontology
    from nomospace.pipeline.jobs.compact import run_compact

    def make(to: Path) -> None:
        journal = to.with_name(f"{to.name}-journal")
        shutil.rmtree(journal, ignore_errors=True)
        words = ["--events", "1000", "--agents", "200", "--tuples", str(tuples)]
        _make(run, journal, tuples, *words)
        known = load_ontology(journal / "market.yaml")
        run_compact(journal, known, to, spark=spark, whole=True, say=run.say)
        shutil.copy(journal / "market.yaml", to)
        shutil.rmtree(journal)

    found = _kept(run, f"market-{tuples}", make)
    return found, load_ontology(found / "market.yaml")


def grown(run: BenchRun, small: Path, ontology: Ontology) -> Path:
    """An archive `TIMES` as large: the same cars again and again, under other names."""
    from msgspec.structs import replace

    from nomospace.pipeline.archive import (
        PART,
        ArchiveManifest,
        File,
        read_manifest,
        tables_of,
        write_manifest,
    )
    from nomospace.pipeline.laying import write_rows

    def make(to: Path) -> None:
        (part,) = read_manifest(small, ontology).parts
        known = tables_of([part], ontology)
        folder = to / f"{PART}grown"
        folder.mkdir(parents=True)
        tables: dict[str, tuple[File, ...]] = {}
        for name, files in part.tables.items():
            run.say(f"  {name}")
            paths = [small / part.folder / file.name for file in files]
            for copy in range(TIMES):
                rows = _renamed(paths, copy)
                tables[name] = (
                    *tables.get(name, ()),
                    *write_rows(rows, known[name], folder, str(copy)),
                )
        large = replace(
            part,
            tables=tables,
            shapes=tuple([(shape, TIMES * count) for shape, count in part.shapes]),
            tuples=TIMES * part.tuples,
            folder=folder.name,
        )
        write_manifest(to, ArchiveManifest(ontology.hash, (large,)))

    return _kept(run, f"{small.name}-times-{TIMES}", make)


def _renamed(paths: list[Path], copy: int) -> Iterator[pa.RecordBatch]:
    """Rows as they are, but for the names of cars and dealers: `c003-…` becomes `c073-…`."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    anew: Any = pc
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(50_000):
            columns = [
                anew.replace_substring_regex(column, "([cdfi])00([0-9])-", f"\\1{copy:02}\\2-")
                if name in ("tuple", "same", "body")
                else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _kept(run: BenchRun, name: str, make: Callable[[Path], None]) -> Path:
    """A folder of the bench's cache; made where it is not there yet."""
    folder = run.cache.parent / "made" / f"{name}-v{MADE}"
    if folder.is_dir():
        return folder
    run.say(f"making {folder}, once")
    beside = folder.with_name(f".{folder.name}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.parent.mkdir(parents=True, exist_ok=True)
    make(beside)
    beside.rename(folder)
    return folder


def _make(run: BenchRun, folder: Path, records: int, *words: str) -> None:
    """Let the command make a journal, and say now and then how far it is."""
    from nomospace.wire.segments import MANIFEST, decode_manifest

    command = [sys.executable, "-m", "nomospace.cli", "journal", "make", *words]
    process = subprocess.Popen(
        [*command, "--seed", str(SEED), str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(int(MAKE_S / SAY_S)):
            try:
                _, said = process.communicate(timeout=SAY_S)
            except subprocess.TimeoutExpired:
                found = [
                    decode_manifest(path.read_bytes(), str(path)).last
                    for path in folder.glob(f"**/{MANIFEST}")
                ]
                run.say(f"  {sum(found):,} of {records:,}")
            else:
                break
        else:
            raise PartFailed(part="maker", said=f"nothing in {MAKE_S:.0f} s")
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode:
        raise PartFailed(part="maker", said=said)
