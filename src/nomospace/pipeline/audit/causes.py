"""Why refused messages were refused, each down to its cause, from the journal alone.

A ruling does not keep its reasons. The membership is made again as it was right before, from its
last checkpoint and the rulings since, and says its one sentence (`control.reasons`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from nomospace.control import Membership, Ruling, Snapshot, explain, redo
from nomospace.errors import NomospaceError
from nomospace.pipeline.laws import LawSource, compiled
from nomospace.pipeline.segments import JournalFiles, Row, column_of, read_batches, read_spark
from nomospace.wire.changes import decode_ruling, decode_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
