"""Tuples and pushes that are on disk in the backlog, and not in their tables yet.

A tuple that is taken lies in several trees of a database, far from the next one: to write each at
once costs as many pages of the disk a tuple. So a commit writes what it brings for the tables
`tuples` and `outbox` as one row of `backlog`, and the tables catch up in one go once there is
enough to write (`ROWS_MAX`, `BYTES_MAX`): then tuples share pages, and those that came and went
meanwhile are never written at all.

Tuples are taken from all over a table, so a thousand that go would still be written to hundreds of
pages. The tables forget them in a sweep: `GONE_MAX` of those that have gone stay behind in the
backlog, as one row of it, and each time the tables catch up only so many go as there are more. They
go in the order in which they lie, from where the last ones did, so they share their pages.

The numbers that every commit moves on, those of its agents' last tuples and the journal's counts,
ride along: each table that a commit writes into is one page more for the disk.

What a host has kept is its tables with the backlog laid over them. A store that begins catches up
first, so that all else may look at tables only; `dump`, which looks on while a host works, lays the
backlog over what it reads. The transaction in which the tables catch up also empties the backlog,
so nothing is put twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import msgspec

from nomospace.host.changes import TuplePut
from nomospace.protocols.spaces import Row
from nomospace.store.guarded import guard
from nomospace.store.interface import KeptForClient
from nomospace.store.schema import Params, StoredKey, TupleKey
from nomospace.wire.changes import BadRecord, decode_row, encode_small

ROWS_MAX: Final = 2_000
"""So many rows to write, and the tables catch up."""
BYTES_MAX: Final = 4 << 20
"""And so many bytes."""
GONE_MAX: Final = 8_000
"""So many tuples at most have gone, and are in the tables still, when these have caught up."""
FEW: Final = 8
"""Of a writer with fewer none is among them: they would lie beside no others."""

Put: TypeAlias = tuple[int, Row, bytes]
"""A tuple to put: its place in the order of writing, the tuple, and its bytes."""

StoredPut: TypeAlias = tuple[Row, bytes]
"""A tuple of the store engine, and its bytes."""

_VERSION: Final = b"\x03"
_OLD: Final = b"\x02"
_Trims: TypeAlias = list[tuple[str, int]]
_Puts: TypeAlias = list[tuple[int, str, bytes]]
_Counts: TypeAlias = dict[str, int]
_Old: TypeAlias = tuple[_Trims, list[KeptForClient], list[TupleKey], _Puts, list[StoredKey], _Puts]
_Part: TypeAlias = tuple[
    _Trims,
    list[tuple[str, int, list[bytes]]],
    list[tuple[str, str, list[int]]],
    _Puts,
    list[StoredKey],
    _Puts,
    list[str],
    _Counts,
    _Counts,
]
"""Pushes by their agent and the number of the first, tuples that go by their space and writer."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Part).decode
_decode_old = msgspec.msgpack.Decoder(_Old).decode


class CommitPart(msgspec.Struct, eq=False):
    """What one commit brings for the two tables, in the order in which it is done.

    First some pushes are trimmed, then others kept; first tuples go, then others are put.
    """

    trims: _Trims = []
    kept: list[KeptForClient] = []
    gone: dict[TupleKey, None] = {}
    puts: dict[TupleKey, Put] = {}
    left: dict[StoredKey, None] = {}
    """Tuples of the store engine that go; one that is replaced is also among them."""
    lying: dict[StoredKey, StoredPut] = {}
    """Such tuples that are put."""
    ended: dict[str, None] = {}
    """Agents that came or went: their table has what was counted of them before."""
    counts: _Counts = {}
    """The number of the last tuple of each agent that wrote some."""
    small: _Counts = {}
    """What the journal counts, by name."""
    weight: int = 0
    """The bytes that were put in; those of tuples that have gone again count too."""
    stored: int = 0
    """How many of the changes were to tuples of the store engine."""

    @property
    def rows(self) -> int:
        """How many rows it is."""
        tuples = len(self.gone) + len(self.puts) + len(self.left) + len(self.lying)
        counted = len(self.ended) + len(self.counts) + len(self.small)
        return len(self.trims) + len(self.kept) + tuples + counted

    def take(self, key: StoredKey) -> None:
        """A tuple of the store engine goes; one that no table has is merely dropped."""
        if self.lying.pop(key, None) is None or key in self.left:
            self.left[key] = None


def encode_part(part: CommitPart) -> bytes:
    """The body of a row of the backlog."""
    kept: list[tuple[str, int, list[bytes]]] = []
    to, after, bodies = "", 0, list[bytes]()
    for push in part.kept:
        if push.number != after or push.agent != to:
            to, bodies = push.agent, []
            kept.append((to, push.number, bodies))
        bodies.append(push.body)
        after = push.number + 1
    gone = [(*key, counts) for key, counts in by_writer(part.gone).items()]
    puts = [(place, key[0], body) for key, (place, _, body) in part.puts.items()]
    lying = [(n, space, body) for (space, n), (_, body) in part.lying.items()]
    tuples = (gone, puts, list(part.left), lying)
    counted = (list(part.ended), part.counts, part.small)
    return _VERSION + _encode((part.trims, kept, *tuples, *counted))


def encode_gone(gone: dict[tuple[str, str], list[int]]) -> bytes:
    """The body of a row that has tuples which have gone, by their space and writer."""
    rows = [(*key, counts) for key, counts in gone.items()]
    return _VERSION + _encode(([], [], rows, [], [], [], [], {}, {}))


def decode_part(data: bytes) -> CommitPart:
    """The part that such a body stands for; raises `BadRecord`."""
    part = CommitPart()
    try:
        if data[:1] == _OLD:
            part.trims, part.kept, gone, puts, left, lying = _decode_old(data[1:])
        elif data[:1] == _VERSION:
            part.trims, kept, goes, puts, left, lying, ended, part.counts, part.small = _decode(
                data[1:]
            )
            part.kept = [
                KeptForClient(agent, number, body)
                for agent, first, bodies in kept
                for number, body in enumerate(bodies, first)
            ]
            gone = [(space, writer, n) for space, writer, counts in goes for n in counts]
            part.ended = dict.fromkeys(ended)
        else:
            raise ValueError("it has another version")
    except ValueError as error:  # what native code raises is one too
        raise BadRecord(what="part of the backlog", why=str(error)) from None
    part.gone, part.left = dict.fromkeys(gone), dict.fromkeys(left)
    part.weight = len(data)
    for place, space, body in puts:
        row = decode_row(body)
        part.puts[space, row.writer, row.count] = (place, row, body)
    for place, space, body in lying:
        part.lying[space, place] = (decode_row(body), body)
    return part


class Backlog:
    """All that the tables do not have yet, as if it had come in one commit.

    >>> from nomospace.wire.changes import encode_row
    >>> row = Row(("job", 17), "ann@x", 3, "ann@x", "ann@x")
    >>> came, went = CommitPart(), CommitPart()
    >>> came.puts["jobs", "ann@x", 3] = (1, row, encode_row(row))
    >>> went.gone["jobs", "ann@x", 3] = None
    >>> backlog = Backlog()
    >>> backlog.add(came)
    >>> [put.row.fields for put in backlog.over([])]
    [('job', 17)]
    >>> backlog.add(decode_part(encode_part(went)))
    >>> [name for name, rows in backlog.runs()]
    ['tuple gone']
    """

    def __init__(self) -> None:
        self.stored = 0
        """How many changes to tuples of the store engine there are."""
        self.weight = 0
        """The bytes that were added; those that are gone again count too."""
        self._trims: dict[str, int] = {}
        self._kept: dict[str, dict[int, KeptForClient]] = {}
        self._pushes = 0
        self._gone: dict[TupleKey, None] = {}
        self._late: dict[tuple[str, str], list[int]] = {}
        """Such that the tables have not forgotten when they caught up, by space and writer, in
        their order (`sweep`). The lists are never changed."""
        self._from = 0
        """Where the sweep goes on, among the first of these."""
        self.rest: Backlog | None = None
        """What `sweep` has left behind."""
        self._puts: dict[TupleKey, Put] = {}
        self.left: dict[StoredKey, None] = {}
        """Tuples of the store engine that go."""
        self.lying: dict[StoredKey, StoredPut] = {}
        """Such tuples that are put, after these have gone."""
        self.counts: _Counts = {}
        """The last tuples of agents."""
        self.small: _Counts = {}
        """What the journal counts."""

    @property
    def rows(self) -> int:
        """How many rows there are to write; what a sweep has left over is not among them."""
        tuples = len(self._gone) + len(self._puts) + len(self.left) + len(self.lying)
        return len(self._trims) + self._pushes + tuples + len(self.counts) + len(self.small)

    def add(self, part: CommitPart) -> None:
        """What one more commit brings, after the others."""
        self.weight += part.weight
        self.stored += part.stored
        for agent, number in part.trims:
            self._trims[agent] = max(number, self._trims.get(agent, number))
            held = self._kept.pop(agent, None)
            left = {n: kept for n, kept in held.items() if n > number} if held else None
            if left:
                self._kept[agent] = left
            if held:
                self._pushes -= len(held) - len(left or ())
        to, held, more = "", None, 0
        for kept in part.kept:
            if held is None or kept.agent != to:
                to = kept.agent
                held = self._kept.setdefault(to, {})
            more += kept.number not in held
            held[kept.number] = kept
        self._pushes += more
        puts = self._puts
        for key in part.gone:
            puts.pop(key, None)
        self._gone.update(part.gone)
        for key, put in part.puts.items():
            old = puts.get(key)  # one that is replaced keeps its place
            puts[key] = put if old is None else (old[0], *put[1:])
        lying = self.lying
        for spot in part.left:
            if lying.pop(spot, None) is None or spot in self.left:
                self.left[spot] = None
        lying.update(part.lying)
        for agent in part.ended:
            self.counts.pop(agent, None)
        for agent, count in part.counts.items():  # an older tuple may be put anew
            self.counts[agent] = max(count, self.counts.get(agent, count))
        self.small.update(part.small)

    def joined(self, part: CommitPart) -> Backlog:
        """This backlog and one more commit; it stays as it is itself."""
        made = Backlog()
        made.weight, made.stored = self.weight, self.stored
        made._trims = dict(self._trims)
        made._kept = {agent: dict(held) for agent, held in self._kept.items()}
        made._pushes = self._pushes
        made._gone = dict(self._gone)
        made._late, made._from = self._late, self._from
        made._puts = dict(self._puts)
        made.left, made.lying = dict(self.left), dict(self.lying)
        made.counts, made.small = dict(self.counts), dict(self.small)
        made.add(part)
        return made

    def sweep(self) -> bytes:
        """Leave behind what the tables need not forget yet (`rest`); its body, if there is some.

        What goes is what has come again, as it is to be put anew, what few there are of a writer,
        and so many that `GONE_MAX` stay.
        """
        self.rest = rest = Backlog()
        stays = dict(self._late)
        for key, counts in by_writer(self._gone).items():
            known = stays.get(key, [])  # one of those may have come and gone again since
            stays[key] = sorted([*known, *set(counts).difference(known)])
        goes = list[TupleKey]()
        for key, counts in by_writer(self._puts).items():
            if again := set(counts).intersection(stays.get(key, [])):
                goes += [(*key, count) for count in sorted(again)]
                stays[key] = [count for count in stays[key] if count not in again]
        for key in [key for key, counts in stays.items() if len(counts) < FEW]:
            goes += [(*key, count) for count in stays.pop(key)]
        rest._from = self._from
        goes += rest._take(stays, sum(map(len, stays.values())) - GONE_MAX)
        rest._late = {key: counts for key, counts in stays.items() if counts}
        self._gone, self._late = dict.fromkeys(goes), {}
        body = encode_gone(rest._late) if rest._late else b""
        rest.weight = len(body)
        return body

    def _take(self, late: dict[tuple[str, str], list[int]], many: int) -> list[TupleKey]:
        """Take so many of those that have gone, from where the sweep was."""
        goes = list[TupleKey]()
        while many > 0:
            first = next(iter(late))
            counts = late[first]
            begin = bisect_left(counts, self._from)
            end = begin + many
            goes += [(*first, count) for count in counts[begin:end]]
            many -= len(counts[begin:end])
            late[first] = left = counts[:begin] + counts[end:]
            if end < len(counts):
                self._from = counts[end]
            else:  # at its end: the next writer's are next
                self._from = 0
                del late[first]
                if left:
                    late[first] = left
        return goes

    def runs(self) -> list[tuple[str, list[Params]]]:
        """Statements by name with their rows, in the order in which they are carried out.

        Tuples of the store engine are not among them (`store.blocks`).
        """
        made: list[tuple[str, list[Params]]] = [
            ("trimmed", list(self._trims.items())),
            (
                "kept",
                [
                    (kept.agent, kept.number, guard(kept.body))
                    for held in self._kept.values()
                    for kept in held.values()
                ],
            ),
            ("tuple gone", list(self._gone)),
            (
                "tuple put",
                [(place, *key, guard(body)) for key, (place, _, body) in self._puts.items()],
            ),
            ("agent counts", [(count, agent, count) for agent, count in self.counts.items()]),
            (
                "law learnt",
                [
                    (f"kept {name}", guard(encode_small(name, b"%d" % number)))
                    for name, number in self.small.items()
                ],
            ),
        ]
        return [run for run in made if run[1]]

    def over(self, stored: Iterable[TuplePut]) -> Iterator[TuplePut]:
        """The tuples of the tables, in their order, as they are with this backlog over them.

        Those of the store engine are the last.
        """
        later = dict(self._puts)
        for put in self.still(stored):
            if not put.order:
                later.pop((put.space, put.row.writer, put.row.count), None)
            yield put
        for key, (_, row, _) in sorted(later.items(), key=lambda item: item[1][0]):
            yield TuplePut(key[0], row)
        for (space, order), (row, _) in self.lying.items():
            yield TuplePut(space, row, order)

    def still(self, stored: Iterable[TuplePut]) -> Iterator[TuplePut]:
        """Those tuples of the table that are still there, as they are now.

        One that has gone may have come again; then it is another, and later.
        """
        for put in stored:
            key = (put.space, put.row.writer, put.row.count)
            if put.order:
                if (put.space, put.order) not in self.left:
                    yield put
            elif key not in self._gone and not _has(self._late.get(key[:2], []), key[2]):
                newer = self._puts.get(key)
                yield put if newer is None else TuplePut(put.space, newer[1])

    def over_outbox(self, stored: Iterable[KeptForClient]) -> Iterator[KeptForClient]:
        """The pushes of the table, in their order, as they are with this backlog over them."""
        for kept in stored:
            held = self._kept.get(kept.agent, {})
            if kept.number > self._trims.get(kept.agent, -1) and kept.number not in held:
                yield kept
        for held in self._kept.values():
            yield from held.values()


def by_writer(keys: Iterable[TupleKey]) -> dict[tuple[str, str], list[int]]:
    """The numbers of tuples by their space and writer."""
    found: dict[tuple[str, str], list[int]] = {}
    for space, writer, count in keys:
        found.setdefault((space, writer), []).append(count)
    return found


def _has(counts: list[int], count: int) -> bool:
    """Whether a number is among some that are in their order."""
    at = bisect_left(counts, count)
    return counts[at : at + 1] == [count]
