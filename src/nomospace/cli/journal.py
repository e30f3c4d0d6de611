"""`nomospace journal`: the record of what happened: segments, the tail of a host, and exports.

A host's latest records are in its store, and `tail` asks the running host for them. Older ones are
in the Parquet segments of its journal folder, if it seals any; `ls` lists these, and `export` reads
both. `prune` lets old segments go, but nothing that somebody needs (`hold`). `make` writes a
journal to try things on. Times are UTC; for programs they are microseconds.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from nomospace.cli.laboratory import plug
from nomospace.cli.remote_options import (
    Commands,
    JsonOption,
    Remote,
    Unusable,
    print_json,
    print_table,
    say,
)
from nomospace.cli.stores import opened
from nomospace.store.private import open_file, whole

if TYPE_CHECKING:
    from nomospace.client.remote import RemoteHost
    from nomospace.store.interface import Store
    from nomospace.store.parquet import JournalRow
    from nomospace.wire.admin import JournalRecord
    from nomospace.wire.segments import Segment

LINES: Final = 20
LINES_MAX: Final = 10_000
"""The most records that `tail` begins with: what one answer of a host holds."""
LOOK_S: Final = 0.5
"""How often a host is asked for news."""
HASH_SHOWN: Final = 12
_CHUNK: Final = 10_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)

app = Commands(
    """Read the journal: rulings of controllers, what became of tuples, refusals.

    It has five tables: events, tuples, leases, laws and checkpoints (states of members now and
    then).
    """
)


plug(app, "journal")

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="A host's journal folder.")]


class JournalTable(StrEnum):
    """The tables of a journal."""

    EVENTS = "events"
    TUPLES = "tuples"
    LEASES = "leases"
    LAWS = "laws"
    CHECKPOINTS = "checkpoints"


class Format(StrEnum):
    """Forms of an export."""

    JSONL = "jsonl"
    PARQUET = "parquet"


# -- ls ----------------------------------------------------------------------------------------


@app.command()
def ls(
    folder: FolderArgument,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object a line.")] = False,
) -> None:
    """List the sealed segments of a journal folder: their records, rows, sizes and times."""
    rows = [("segment", "records", *[table.value for table in JournalTable], "kB", "from", "until")]
    from nomospace.store.holds import holds

    segments, gone = _segments(folder)
    if gone:
        print(f"records 1 to {gone} were let go, but for laws", file=sys.stderr)
    for name, after in holds(folder).items():
        print(f"{name} holds all records after {after}", file=sys.stderr)
    for segment in segments:
        first, last = _times(folder, segment)
        if as_json:
            print_json({**msgspec.to_builtins(segment), "from": first, "until": last})
            continue
        counts = [f"{segment.rows.get(table.value, 0):,}" for table in JournalTable]
        size = f"{sum(segment.bytes.values()) / 1000:,.1f}"
        numbers = f"{segment.first}-{segment.last}"
        rows.append((str(segment.number), numbers, *counts, size, _time(first), _time(last)))
    if not as_json:
        print_table(rows)


def _segments(folder: Path) -> tuple[tuple[Segment, ...], int]:
    """The segments of a folder, and the last record that it let go; raises `Unusable`."""
    from nomospace.store.segments import read_manifest

    if not (folder / "manifest.json").is_file():
        why = "it is no journal folder, or nothing has been sealed in it yet; name another"
        raise Unusable(what=str(folder), why=why)
    manifest = read_manifest(folder)
    return manifest.segments[1:] if manifest.gone else manifest.segments, manifest.gone


def _times(folder: Path, segment: Segment) -> tuple[int, int]:
    """The times of a segment's first and last record: the files' own statistics have them."""
    from pyarrow.parquet import read_metadata

    found: list[int] = []
    for table in segment.rows:
        path = folder / table / f"seg-{segment.number:08d}.parquet"
        try:
            facts = read_metadata(path)
        except (OSError, ValueError) as error:
            why = f"{error}; look for segments that were moved away"
            raise Unusable(what=str(path), why=why) from None
        at = facts.schema.to_arrow_schema().get_field_index("at")
        for group in range(facts.num_row_groups):
            of = facts.row_group(group).column(at).statistics
            assert of is not None, "segments are written with them"
            for moment in (of.min, of.max):
                assert moment is not None, "every record has a time"
                found.append((moment - _EPOCH) // _MICRO)
    return min(found), max(found)


def _time(us: int) -> str:
    return f"{_EPOCH + us * _MICRO:%Y-%m-%d %H:%M:%S.%f}"


# -- tail --------------------------------------------------------------------------------------


@app.command()
def tail(
    remote: Remote,
    *,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=1, max=LINES_MAX, help="How many to begin with.")
    ] = LINES,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")
    ] = False,
) -> None:
    """Print the latest records of a running host, the newest last.

    For operators: on a host with certificates it takes a token with the scope operator.
    """
    remote.run(lambda host: _tail(remote, host, lines, follow=follow))


async def _tail(remote: Remote, host: RemoteHost, lines: int, *, follow: bool) -> None:
    from nomospace.wire.admin import Tail

    last, limit = 0, lines
    laws: dict[str, set[str]] = {}  # hashes by name
    while True:
        records = await remote.asked(host, Tail(last, limit))
        if last and records and records[0].seq > last + 1:
            gone = f"records {last + 1} to {records[0].seq - 1}"
            print(f"{gone} are in segments by now: `nomospace journal ls`", file=sys.stderr)
        for record in records:
            last = record.seq
            if record.columns.get("law"):
                laws.setdefault(record.columns["community"], set()).add(record.columns["law"])
            facts = {"table": record.table, "seq": record.seq, **record.columns}
            remote.say(facts, told(record, laws))
        if not follow:
            return
        if len(records) < limit or not last:
            await asyncio.sleep(LOOK_S)
        limit = LINES_MAX


def told(record: JournalRecord, laws: Mapping[str, Collection[str]] | None = None) -> str:
    """A record in one line, for people; of `laws` that share a name each with a part of its hash.

    >>> from nomospace.wire.admin import JournalRecord
    >>> facts = {"at": 0, "space": "jobs", "tuple_id": "ann@x#1", "op": "taken", "agent": "bob@x"}
    >>> told(JournalRecord(7, "tuples", facts | {"fields": "[job,17]"}))
    '7  1970-01-01 00:00:00.000000  bob@x: taken ann@x#1 of jobs: [job,17]'
    """
    of = dict(record.columns)
    head = f"{record.seq}  {_time(of.pop('at', 0))}"
    if record.table == JournalTable.EVENTS:
        if not of["law"]:  # something that the host itself has noted
            return f"{head}  {of['agent']}: {of['event']}"
        did = ", ".join(of["ruling"]) or "nothing"
        why = f" ({of['rule']})" if of["rule"] else ""
        law = of["community"]
        if len((laws or {}).get(law, ())) > 1:
            law += f" ({of['law'][:HASH_SHOWN]})"
        return f"{head}  {of['agent']} under {law}: {of['event']} -> {did}{why}"
    if record.table == JournalTable.TUPLES:
        which = f"{of['op']} {of['tuple_id']} of {of['space']}"
        return f"{head}  {of['agent']}: {which}: {of['fields']}"
    if record.table == JournalTable.LEASES:
        which = f"{of['op']} {of['tuple_id']} of {of['space']}, lease {of['lease']}"
        until = f", until {_time(of['until'])}" if of["until"] else ""
        return f"{head}  {of['agent']}: {which}{until}" + (f": {of['why']}" if of["why"] else "")
    rest = ", ".join(f"{name} {value}" for name, value in of.items())
    return f"{head}  {record.table}: {rest}"


# -- letting go --------------------------------------------------------------------------------


@app.command()
def prune(
    folder: FolderArgument,
    *,
    days: Annotated[
        float, typer.Option(min=0.0, help="Let segments go that are older than so many days.")
    ] = 0.0,
    bytes_: Annotated[
        int, typer.Option("--bytes", min=0, help="Let the oldest go, down to so many bytes.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Let the oldest segments of a journal go; the host may go on running.

    Laws stay, and so do the newest segment and all that somebody holds (`journal hold`). A host
    does this by itself with `keep_days` and `keep_bytes` under [journal].
    """
    from nomospace.store.segments import Retention, let_go

    if not days and not bytes_:
        raise Unusable(what="prune", why="say for how long or how much: --days, --bytes")
    before, gone = _segments(folder)
    left, now = before, time.time_ns() // 1_000
    while True:  # some at a time, so that the host can seal meanwhile
        let_go(folder, Retention(days, bytes_), now=now)
        then, (left, gone) = left, _segments(folder)
        if left == then:
            break
    facts = {"segments": len(before) - len(left), "left": len(left), "gone": gone}
    words = f"{facts['segments']} segments were let go, {len(left)} are left"
    if gone:
        words += f"\nthe journal begins with record {gone + 1}"
    say(facts, words, as_json=as_json)


@app.command(name="hold")
def hold_(
    folder: FolderArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who needs the records.")],
    *,
    after: Annotated[int, typer.Option(min=0, help="Nothing after this record is let go.")] = 0,
    release: Annotated[bool, typer.Option("--release", help="They are needed no more.")] = False,
) -> None:
    """Let no record go that somebody needs: an audit that is yet to be made, a stream.

    Said again with a later record, it needs less. `journal ls` tells who holds what.
    """
    from nomospace.store.segments import hold

    _segments(folder)
    if not re.fullmatch(r"\w[\w.-]{0,63}", name):
        raise Unusable(what=name, why="a name has letters, digits, '-', '_' and '.', 64 at most")
    hold(folder, name, None if release else after)


# -- export ------------------------------------------------------------------------------------


@app.command()
def export(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="A host's journal folder.")
    ] = None,
    *,
    store: Annotated[
        str, typer.Option(metavar="URL", help="A host's store, for what is not yet sealed.")
    ] = "",
    table: Annotated[JournalTable, typer.Option(help="Which table.")] = JournalTable.EVENTS,
    form: Annotated[Format, typer.Option("--format", help="In which form.")] = Format.JSONL,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; standard output if none.")
    ] = None,
    after: Annotated[int, typer.Option(min=0, help="Only records after this number.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say what was written, as JSON; with --out.")
    ] = False,
) -> None:
    """Write one table of a journal, from its folder, its store, or both as one.

    JSON lines leave out the columns that only machines read (terms as MessagePack); their text is
    beside. Parquet has them all. The host may go on running.
    """
    if folder is None and not store:
        raise Unusable(what="FOLDER", why="name a journal folder, or a store with --store")
    if out is None and form is Format.PARQUET:
        raise Unusable(what="--format", why="parquet needs a file; name it with --out")
    if out is not None and out.exists() and not force:
        raise Unusable(what=str(out), why="it is there already; --force replaces it")
    if folder is not None:
        _segments(folder)
    with ExitStack() as stack:
        source = stack.enter_context(opened(store)) if store else None
        rows = _rows(folder, source, table.value, after)
        if out is None:
            _write_lines(rows, sys.stdout)
            return
        count = _write_file(rows, out, table.value, form)
    facts = {"file": str(out), "table": table.value, "format": form.value, "rows": count}
    say(facts, f"wrote {count:,} rows of {table.value} to {out}", as_json=as_json)


def _rows(folder: Path | None, store: Store | None, table: str, after: int) -> Iterator[JournalRow]:
    from nomospace.store.holds import reading
    from nomospace.store.interface import JournalEntry
    from nomospace.store.journal import encode_record
    from nomospace.store.parquet import row_of
    from nomospace.store.segments import read_journal

    with nullcontext() if folder is None else reading(folder):
        for seq, record in read_journal(folder, store, after=after):
            of, row = row_of(JournalEntry(seq, encode_record(record)))
            if of == table:
                yield row


def _write_file(rows: Iterator[JournalRow], out: Path, table: str, form: Format) -> int:
    """Write a file that appears whole or not at all."""
    try:
        with whole(out) as new:
            if form is Format.PARQUET:
                return _write_parquet(rows, new, table)
            with open_file(new, "w", encoding="utf-8") as file:
                return _write_lines(rows, file)
    except OSError as error:
        raise Unusable(what=str(out), why=error.strerror or str(error)) from None


def _write_lines(rows: Iterator[JournalRow], file: IO[str]) -> int:
    encode = msgspec.json.Encoder().encode
    count = 0
    for row in rows:
        plain = {name: value for name, value in row.items() if not isinstance(value, bytes)}
        file.write(encode(plain).decode() + "\n")
        count += 1
    return count


def _write_parquet(rows: Iterator[JournalRow], path: Path, table: str) -> int:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    from nomospace.store.parquet import SCHEMAS

    count = 0
    with (
        open_file(path, "wb") as file,
        ParquetWriter(file, SCHEMAS[table], compression="zstd") as writer,
    ):
        while chunk := list(islice(rows, _CHUNK)):
            writer.write_table(pa.Table.from_pylist(chunk, schema=SCHEMAS[table]))
            count += len(chunk)
    return count
