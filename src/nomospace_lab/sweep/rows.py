"""Many simulated worlds as rows: what a world went through, and what became of it.

A world is its workload and its seed, so it can be run wherever there is room, and again: the same
row comes out but for the time it took. `play_batches` turns seeds into rows, Arrow to Arrow; Spark
runs it in `mapInArrow`, a process runs it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import pyarrow as pa

from nomospace.control import Ruling
from nomospace_lab.sim import Happening, Packet, Workload, find, play
from nomospace_lab.sim.history import (
    BARRED,
    CRASHED,
    DELIVERED,
    LOST,
    REPEATED,
    RULED,
    SENT,
)
from nomospace_lab.sim.observed import Answered, ObservedCall
from nomospace_lab.sim.routes import mean_hops

PacketId: TypeAlias = tuple[str, int, int]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAYS_MAX: Final = 2_000
"""How much of what a failed check says goes into a row."""
WORLDS_A_TASK: Final = 8
"""How many worlds are one task: some seconds of work, so that no worker waits long for another."""
TASKS_MAX: Final = 10_000

_STRING: Final[pa.DataType] = pa.string()
_INT: Final[pa.DataType] = pa.int64()
WORLDS: Final = pa.schema(
    [
        ("workload", _STRING),
        ("seed", _INT),
        ("passed", pa.bool_()),
        ("failed", pa.list_(_STRING)),
        ("says", _STRING),
        ("cases", _INT),
        ("unknown", _INT),
        ("rulings", _INT),
        ("messages", _INT),
        ("lost", _INT),
        ("repeated", _INT),
        ("barred", _INT),
        ("delivered", _INT),
        ("crashes", _INT),
        ("hops_mean", pa.float64()),
        ("latency_p50_us", _INT),
        ("latency_p99_us", _INT),
        ("world_us", _INT),
        ("took_s", pa.float64()),
    ]
)
"""One row a world. `failed` are the properties that did not hold and `says` how; `cases` counts
what was checked, `unknown` the checks without an answer. `latency` is in the world's own time, from
a message's first sending to the ruling on its arrival, or from a call to its answer; `hops_mean` is
of messages that left their host. Both are null where a world has none. `world_us` is how long the
world lived, `took_s` how long that took here."""


class Which(msgspec.Struct, frozen=True):
    """A workload by name, and the module that registers it in another process."""

    name: str
    module: str


def which(workload: Workload) -> Which:
    """A workload as jobs carry it."""
    return Which(workload.name, workload.module)


def play_batches(batches: Iterator[pa.RecordBatch], *, which: Which) -> Iterator[pa.RecordBatch]:
    """Rows of `WORLDS` for batches that have a column `seed`; a row at a time, as worlds end."""
    import_module(which.module)
    workload = find(which.name)
    for batch in batches:
        for seed in batch.column("seed").to_pylist():
            yield pa.RecordBatch.from_pylist([world_row(workload, seed)], schema=WORLDS)


def world_row(workload: Workload, seed: Any) -> dict[str, Any]:
    """Run one world, and tell of it in a row."""
    world, outcome = play(workload, seed)
    failed = [verdict for verdict in outcome.verdicts if verdict.answer == "no"]
    row: dict[str, Any] = {
        "workload": workload.name,
        "seed": seed,
        "passed": not outcome.failed,
        "failed": [verdict.property for verdict in failed],
        "says": "; ".join(verdict.says for verdict in failed)[:SAYS_MAX] or None,
        "cases": sum(verdict.cases for verdict in outcome.verdicts),
        "unknown": sum(verdict.answer == "unknown" for verdict in outcome.verdicts),
        "messages": outcome.messages,
        "took_s": round(outcome.took_s, 4),
    }
    if world is None:  # it could not even be built
        return row
    history = list(world.history)
    kinds: dict[str, int] = {}
    for happening in history:
        kinds[happening.kind] = kinds.get(happening.kind, 0) + 1
    row |= {
        "rulings": kinds.get(RULED, 0),
        "lost": kinds.get(LOST, 0),
        "repeated": kinds.get(REPEATED, 0),
        "barred": kinds.get(BARRED, 0),
        "delivered": kinds.get(DELIVERED, 0),
        "crashes": kinds.get(CRASHED, 0),
        "world_us": history[-1].at - history[0].at if history else 0,
    }
    if any(world.hops):
        row["hops_mean"] = mean_hops(world.hops)
    waits = sorted(waits_in(history))
    if waits:
        row["latency_p50_us"], row["latency_p99_us"] = _least(waits, 50), _least(waits, 99)
    return row


def waits_in(history: list[Happening]) -> Iterator[int]:
    """How long messages were under way, and calls unanswered, in the world's own time.

    A message has arrived when its receiver's controller rules on it; of several that are alike, the
    one first sent. What is lost waits for nothing, and what a restarted host sends again counts
    from its first sending.
    """
    waiting: dict[Any, dict[PacketId, int]] = {}
    first: dict[PacketId, int] = {}
    asked: dict[int, int] = {}
    for happening in history:
        kind, what = happening.kind, happening.what
        if kind == SENT and isinstance(what, Packet):
            alike = waiting.setdefault((what.sender, what.message, what.to), {})
            alike[what.id] = first.setdefault(what.id, happening.at)
        elif kind in (LOST, BARRED) and isinstance(what[0], Packet):
            packet = what[0]
            waiting[packet.sender, packet.message, packet.to].pop(packet.id, None)
        elif isinstance(what, Ruling) and what.event.kind == "arrived":
            alike = waiting.get(what.event.args, {})
            if alike:
                yield happening.at - alike.pop(next(iter(alike)))
        elif isinstance(what, ObservedCall):
            asked[what.op] = happening.at
        elif isinstance(what, Answered) and what.op in asked:
            yield happening.at - asked.pop(what.op)


def _least(values: list[int], percent: int) -> int:
    """The least of sorted values that so many of a hundred do not exceed.

    >>> _least([1, 2, 3, 4], 50), _least([1, 2, 3, 4], 99)
    (2, 4)
    """
    return values[max(0, -(-len(values) * percent // 100) - 1)]


# -- engines ---------------------------------------------------------------------------------------


def sweep(spark: SparkSession, which: Which, seeds: range) -> DataFrame:
    """One row of `WORLDS` for each seed, run wherever the cluster has room.

    Every machine needs the workload's module: an application of one's own must be installed there.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    tasks = max(1, min(TASKS_MAX, len(seeds) // WORLDS_A_TASK))
    told = spark.range(seeds.start, seeds.stop, seeds.step, tasks).withColumnRenamed("id", "seed")
    return told.mapInArrow(partial(play_batches, which=which), from_arrow_schema(WORLDS))


def sweep_here(which: Which, seeds: range) -> Iterator[pa.RecordBatch]:
    """The same rows, in this process, as worlds end."""
    batch = pa.RecordBatch.from_pydict({"seed": pa.array(seeds, pa.int64())})
    return play_batches(iter([batch]), which=which)
