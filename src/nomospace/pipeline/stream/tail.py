"""The rows of a journal by record numbers: what a running host still has, and what is sealed.

A host counts its records from 1. It keeps the latest in its store, until they are sealed as
segments; of what its disk does not have yet, nobody is told. A `JournalTail` gives the rows of any
range of records from both, and the same rows each time, because a record never changes and is in
the segments before the host forgets it. Where the journal's folder is not named, there is only what
the host has, and an older range raises `RecordsGone`: nothing is passed over in silence.

Rows are those of segments, column by column (`wire.segments.TABLES`).

A host, as whom it is spoken with, and how long it may take.

Everything here is text and numbers: it travels in the options of a data source to wherever Spark
wants to read. Each conversation has a connection of its own, which ends with it; Spark's processes
come and go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from nomospace.client.dialling import Unreachable
from nomospace.client.remote import RemoteHost, connect
from nomospace.client.session_driver import HostLost
from nomospace.errors import CallerError
from nomospace.pipeline.segments import JournalFiles, read_batches
from nomospace.store.interface import JournalEntry
from nomospace.store.parquet import SCHEMAS, row_of
from nomospace.wire.admin import TAIL_MAX, RawRecord, Records, RecordsPage
from nomospace.wire.segments import (
    MANIFEST,
    TABLES,
    Manifest,
    OtherJournal,
    decode_manifest,
    file_of,
)

T = TypeVar("T")

PATIENCE_S: Final = 60.0
"""How long a stream that is under way waits for a host that is away."""
TALK_S: Final = 600.0
"""How long one conversation may take in all."""
RECONNECT_S: Final = 5.0
"""How long a connection that breaks is made again, at least, before it is all begun anew."""
_PAUSE_S: Final = 0.5


class HostSilent(CallerError):
    """The host of a stream does not answer."""

    code = "pipeline.host-silent"
    words = "{url} does not answer: {why}; see that the host runs, or name another"
    url: str
    why: str


class HostPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a host is, and what shows who asks: a token, or the folder of an identity."""

    url: str
    token: str = ""
    identity: str = ""
    trust: str = ""
    patience_s: float = PATIENCE_S

    def talk(self, work: Callable[[RemoteHost], Awaitable[T]]) -> T:
        """Connect, do some work, and end the connection.

        A host that is away is waited for, for `patience_s`, and the work is begun again: it must be
        such that this is harmless. Without patience it is tried once, which takes some seconds at
        most. Raises `HostSilent`, and what the work raises.
        """
        return asyncio.run(self._talk(work))

    async def _talk(self, work: Callable[[RemoteHost], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + self.patience_s
        while True:
            try:
                return await self._once(work, max(until - loop.time(), RECONNECT_S))
            except (Unreachable, HostLost) as error:
                if loop.time() + _PAUSE_S >= until:
                    raise HostSilent(url=self.url, why=error.why) from error
            await asyncio.sleep(_PAUSE_S)

    async def _once(self, work: Callable[[RemoteHost], Awaitable[T]], patience_s: float) -> T:
        # Several processes of one stream may speak as the same agent; none ends another.
        async with connect(
            self.url,
            token=self.token,
            identity=self.identity or None,
            trust=self.trust or None,
            reconnect_s=patience_s,
            alongside=True,
        ) as host:
            try:
                async with asyncio.timeout(TALK_S):
                    return await work(host)
            except TimeoutError:
                why = f"what was asked was not done within {TALK_S:g} s"
                raise HostSilent(url=self.url, why=why) from None


ANSWER_S: Final = 10.0
"""How long a host may take to answer one question."""
_BEYOND: Final = 1 << 62
"""A number that no record has: asked for those after it, a host tells only how far it is."""


class RecordsGone(CallerError):
    """Records of a journal are neither with their host nor in segments that were named."""

    code = "pipeline.records-gone"
    words = (
        "records {first:,} to {last:,} of {host} are not with it any more; name the folder of its "
        "segments (--journal, or the option journal), or leave them out: begin with {next:,} "
        "or a later one (--since, or the option from) in a new checkpoint"
    )
    host: str
    first: int
    last: int

    @property
    def next(self) -> int:
        """The first that can be read, as far as is known."""
        return self.last + 1


class OtherTail(CallerError):
    """The host at an address does not have the journal that a checkpoint is about."""

    code = "pipeline.other-tail"
    words = (
        "the checkpoint is not of the journal at {url}: {why}; name the host it was "
        "begun with, or another checkpoint"
    )
    url: str
    why: str


class RecordRange(msgspec.Struct, frozen=True):
    """Which records there are of a host: from `first` to `last`, none if that is before it."""

    host: str
    first: int
    last: int


class JournalTail(msgspec.Struct, frozen=True):
    """The journal of one host; `journal` is the folder of its segments, if that can be seen."""

    place: HostPlace
    journal: str = ""

    def bounds(self) -> RecordRange:
        """The records that can be read now. Raises `HostSilent`, and what the host refuses."""
        page = self.place.talk(lambda host: _asked(host, Records(_BEYOND, 1)))
        manifest = self._manifest()
        first = min(page.first, manifest.first) if manifest.segments else page.first
        return RecordRange(page.host, first, page.last)

    def begin(self, since: str) -> tuple[RecordRange, int]:
        """The records that can be read, and the number before the one to begin with.

        `since` is `start`, `now` or a number. A journal may begin late, and then its segments say
        so. Raises `RecordsGone` where the host has forgotten some and no segments tell of them: a
        part would be taken for the whole.
        """
        bounds = self.bounds()
        if since == "now":
            return bounds, bounds.last
        if since != "start":
            return bounds, max(0, min(int(since) - 1, bounds.last))
        if bounds.first > 1 and not self._manifest().segments:
            raise RecordsGone(host=bounds.host, first=1, last=bounds.first - 1)
        return bounds, bounds.first - 1

    def check(self, bounds: RecordRange, host: str, seq: int) -> None:
        """Raise `OtherTail` unless these are bounds of the journal that an offset is of."""
        if bounds.host != host:
            why = f"it is of host {host}, and there is {bounds.host}"
            raise OtherTail(url=self.place.url, why=why)
        if bounds.last < seq:
            why = f"it is at record {seq:,}, and the journal ends with {bounds.last:,}"
            raise OtherTail(url=self.place.url, why=why)

    def read(self, table: str, after: int, upto: int) -> Iterator[pa.RecordBatch]:
        """The rows of a table among the records after a number, up to another, in order.

        Raises `RecordsGone`, `BadSegments`, `OtherJournal`, and as `bounds` does.
        """
        host, records = self.place.talk(lambda host: _pages(host, after, upto))
        first = records[0].seq if records else upto + 1
        if first > after + 1:
            yield from self._sealed(table, after, first - 1, host)
        rows = [row for record in records for row in _rows(record, table)]
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=SCHEMAS[table])

    def _sealed(self, table: str, after: int, upto: int, host: str) -> Iterator[pa.RecordBatch]:
        # Whatever the host does not have any more was in the manifest before: it is read after.
        manifest = self._manifest()
        segments = manifest.segments
        if not segments or manifest.first > after + 1 or manifest.last < upto:
            last = min(upto, manifest.first - 1) if segments else upto
            raise RecordsGone(host=host, first=after + 1, last=max(last, after + 1))
        wanted = [one for one in segments if one.last > after and one.first <= upto]
        files = [
            str(Path(self.journal) / file_of(table, one.number))
            for one in wanted
            if table in one.rows
        ]
        for batch in read_batches(
            JournalFiles({table: tuple(files)}, {}), table, tuple(TABLES[table])
        ):
            of = str(batch.column("host")[0].as_py()) if batch.num_rows else host
            if of != host:
                why = f"they are of host {of!r}, and the journal is of {host!r}"
                raise OtherJournal(folder=self.journal, why=why)
            seq = batch.column("seq")
            late, early = pc.greater(seq, pa.scalar(after)), pc.less_equal(seq, pa.scalar(upto))
            chosen = batch.filter(pc.and_(late, early))
            if chosen.num_rows:
                yield chosen.cast(SCHEMAS[table])

    def _manifest(self) -> Manifest:
        if not self.journal:
            return Manifest()
        try:
            data = (Path(self.journal) / MANIFEST).read_bytes()
        except FileNotFoundError:  # nothing has been sealed yet
            return Manifest()
        return decode_manifest(data, self.journal)


async def _asked(host: RemoteHost, question: Records) -> RecordsPage:
    try:
        async with asyncio.timeout(ANSWER_S):
            page: RecordsPage = await host.ask(question)
    except TimeoutError:
        why = f"no answer within {ANSWER_S:g} s"
        raise Unreachable(url=str(host.url), why=why) from None
    return page


async def _pages(host: RemoteHost, after: int, upto: int) -> tuple[str, Sequence[RawRecord]]:
    """The name of a host, and the end of a range of records, as far as it still has them.

    It may forget some between two answers; what came before these is then left away, too.
    """
    found: list[RawRecord] = []
    while True:
        last = found[-1].seq if found else after
        page = await _asked(host, Records(last, min(upto - last, TAIL_MAX)))
        records = [record for record in page.records if record.seq <= upto]
        if found and records and records[0].seq != last + 1:
            found.clear()
        found += records
        if not records:
            return page.host, ()
        if found[-1].seq == upto:
            return page.host, found


def _rows(record: RawRecord, table: str) -> Iterator[dict[str, object]]:
    of, row = row_of(JournalEntry(record.seq, record.record))
    if of == table:
        yield row
