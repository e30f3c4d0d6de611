"""What an audit found: the answers to its questions, with where they come from.

Why refused messages were refused, each down to its cause, from the journal alone.

A ruling does not keep its reasons. The membership is made again as it was right before, from its
last checkpoint and the rulings since, and says its one sentence (`control.reasons`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from nomospace.control import Membership, Ruling, Snapshot, explain, redo
from nomospace.errors import NomospaceError
from nomospace.pipeline.laws import LawSource, compiled
from nomospace.pipeline.segments import (
    JournalFault,
    JournalFiles,
    Row,
    column_of,
    read_batches,
    read_spark,
)
from nomospace.wire.changes import decode_ruling, decode_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


REFUSALS_MAX: Final = 1_000
"""How many rows of who was refused what are kept; `reasons` counts all of them."""
SPACES_MAX: Final = 1_000
"""How many spaces are kept, those without law first; how many operations there were, is of all."""
AGENTS_MAX: Final = 6
"""Of how many of the busiest agents the load is told."""
STEPS_MAX: Final = 600
"""Into how many steps the time of a journal is cut at most."""
WIDTHS_S: Final = (60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000)
"""How wide a step may be, from a minute to a month: the first that gives few enough."""


class AuditTables(msgspec.Struct, frozen=True):
    """An audit: tables by name of the question (`audit.questions`), rows as dictionaries.

    Times are microseconds since 1970, UTC.
    """

    journals: tuple[str, ...]
    engine: str
    took_s: float
    width_us: int
    tables: dict[str, list[Row]]
    unreadable: int = 0
    """Rows whose changes cannot be read."""
    faults: tuple[JournalFault, ...] = ()
    lost_laws: tuple[str, ...] = ()
    unhashed: int = 0
    """Files that were sealed without a hash: columns were compared with bodies instead."""

    @property
    def overview(self) -> Row:
        """The one row of the overview."""
        return self.tables["overview"][0]

    @property
    def refused(self) -> int:
        """How many messages were refused."""
        return sum(row["refused"] for row in self.tables["reasons"])


def step_width(first_us: int | None, last_us: int | None) -> int:
    """How wide to cut the steps of a time, in microseconds.

    >>> step_width(0, 3_600_000_000) // 1_000_000, step_width(0, 365 * 86_400_000_000) // 1_000_000
    (60, 86400)
    """
    span = (last_us or 0) - (first_us or 0)
    for width_s in WIDTHS_S:
        if span <= width_s * 1_000_000 * STEPS_MAX:
            return width_s * 1_000_000
    return -(-span // STEPS_MAX)


TOLD_MAX: Final = 50
"""Of how many rows of refusals the reason is told."""
ROWS_MAX: Final = 200_000
"""How many rows of their members are read for that."""
_KEYS: Final = ("community", "rule", "stopped", "about")


Bodies: TypeAlias = dict[tuple[str, str, int], tuple[int, bytes]]
"""Rows of agents by agent, law and number: when they are of, and their bytes."""
COLUMNS: Final = ("at", "agent", "law", "agent_seq", "body")


def tell_causes(
    read: Callable[[str, list[str]], Bodies],
    laws: dict[str, LawSource],
    refusals: list[Row],
    reasons: list[Row],
) -> None:
    """Give rows of refusals and reasons what was `said` of the last one of each.

    `read` gives what agents have in a table: nothing, where that is too much.
    """
    wanted = [row for row in refusals[:TOLD_MAX] if not row["stopped"]]
    agents = sorted({row["agent"] for row in wanted})
    rulings, bases = read("events", agents), read("checkpoints", agents)
    for row in wanted:
        found = [
            (law, seq)
            for (agent, law, seq), (at, _) in rulings.items()
            if (agent, at) == (row["agent"], row["last_us"])
        ]
        for law, seq in found:
            if law in laws and "said" not in row:
                said = _said(laws[law], row["agent"], law, seq, rulings, bases)
                row.update({"said": said} if said else {})
    for reason in reasons:
        key = [reason[name] for name in _KEYS]
        alike = [row for row in wanted if [row[name] for name in _KEYS] == key and "said" in row]
        reason.update({"said": alike[0]["said"]} if alike else {})


def bodies_here(listing: JournalFiles, table: str, agents: list[str]) -> Bodies:
    """What agents have in a table, read in this process."""
    found: Bodies = {}
    names = pa.array(agents, pa.string())
    for batch in read_batches(listing, table, COLUMNS):
        part = batch.filter(pc.is_in(batch.column("agent"), names))
        at = [one or 0 for one in part.column("at").cast(pa.int64()).to_pylist()]
        keys = zip(*[column_of(part, name) for name in COLUMNS[1:4]], strict=True)
        found.update(zip(keys, zip(at, column_of(part, "body"), strict=True), strict=True))
        if len(found) > ROWS_MAX:
            return {}
    return found


def bodies_spark(
    spark: SparkSession, listing: JournalFiles, table: str, agents: list[str]
) -> Bodies:
    """What agents have in a table, read where the files are."""
    from pyspark.sql.functions import col, unix_micros

    rows = (
        read_spark(spark, listing, table)
        .where(col("agent").isin(agents))
        .select(unix_micros("at"), *COLUMNS[1:])
        .limit(ROWS_MAX + 1)
        .collect()
    )
    if len(rows) > ROWS_MAX:
        return {}
    return {(row[1], row[2], row[3]): (row[0] or 0, bytes(row[4])) for row in rows}


def _said(source: LawSource, agent: str, law: str, seq: int, rulings: Bodies, bases: Bodies) -> str:
    """The sentence on one ruling; nothing where the journal does not go back far enough."""
    try:
        known = compiled(source)
        since = [at for who, under, at in bases if (who, under) == (agent, law) and at < seq]
        base = Membership(known, agent).snapshot()
        if since:
            base = decode_snapshot(bases[agent, law, max(since)][1])
        numbers = range(base.seq + 1, seq + 1)
        log: list[Ruling] = [decode_ruling(rulings[agent, law, at][1]) for at in numbers]
        before: Snapshot = redo(base, log[:-1])
        ruling = log[-1]
        if not ruling.refused:
            return ""
        return explain(Membership.restore(known, before), ruling, disclose="all").verdict
    except (KeyError, NomospaceError):
        return ""
