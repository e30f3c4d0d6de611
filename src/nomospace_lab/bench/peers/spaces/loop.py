"""The loop that times a pair: a tuple written, and another taken by content, with many resident.

Run as `python loop.py DRIVER` it speaks the JSON lines of `harness`, with the number of resident
tuples for cases: `{"cases": [1000000]}` loads them and answers whether ten pairs gave the right
tuples; `{"seconds": 0.05}` answers nanoseconds a pair. DRIVER is a file with `prepare() ->
PeerEngine`.

This file needs the standard library only: in the child nothing of ours is on the path.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from random import Random
from time import perf_counter_ns
from typing import IO, Any, Protocol, TypeAlias

BATCH = 100
"""Pairs timed at once: short enough to slip between what else is running."""
PLACES = 1_000

Row: TypeAlias = tuple[str, str, int]
"""A tuple of three short fields; the first is the same in all, the second is almost unique."""


class PeerEngine(Protocol):
    """Somewhere to put tuples and take them from."""

    def load(self, rows: Iterator[Row]) -> None:
        """Take in the resident tuples, however is quickest."""

    def ready(self, row: Row, key: str) -> tuple[Any, ...]:
        """What `pair` takes; made before the clock starts."""

    def pair(self, *ready: Any) -> Row | None:
        """Write `row`, then take a tuple `("job", key, anything)`; give what was taken."""


class Contest:
    """One engine with its resident tuples, as many after each pair as before."""

    def __init__(self, engine: PeerEngine, resident: int, seed: int = 1) -> None:
        self.engine = engine
        self._rng = Random(seed)
        self._serial = 0
        rows = [self._row() for _ in range(resident)]
        # A dictionary of plain values, unlike a list, is not walked by the garbage collector.
        self.keys = {at: row[1] for at, row in enumerate(rows)}
        engine.load(iter(rows))

    def _row(self) -> Row:
        """Random keys, no two alike: what is taken lies anywhere in memory."""
        self._serial += 1
        number = self._rng.randrange(1_000_000) * 10_000_000 + self._serial
        return "job", f"k{number:x}", self._rng.randrange(PLACES)

    def next(self) -> tuple[Row, str]:
        """A new tuple, and the key of a resident one whose place it takes."""
        row, at = self._row(), self._rng.randrange(len(self.keys))
        key, self.keys[at] = self.keys[at], row[1]
        return row, "".join(key)

    def is_right(self) -> bool:
        """Whether ten pairs gave the tuples asked for."""
        for _ in range(10):
            row, key = self.next()
            taken = self.engine.pair(*self.engine.ready(row, key))
            if taken is None or taken[1] != key:
                return False
        return True

    def batch(self) -> float:
        """Nanoseconds a pair, over one batch."""
        ready = [self.engine.ready(*self.next()) for _ in range(BATCH)]
        pair = self.engine.pair
        start = perf_counter_ns()
        for one in ready:
            pair(*one)
        return (perf_counter_ns() - start) / BATCH

    def sample(self, seconds: float) -> float:
        """The best batch of so many seconds."""
        end = perf_counter_ns() + seconds * 1e9
        best = self.batch()
        while perf_counter_ns() < end:
            best = min(best, self.batch())
        return best


def _load(driver: str) -> PeerEngine:
    spec = importlib.util.spec_from_file_location("driver", driver)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    engine: PeerEngine = module.prepare()
    return engine


def _serve(driver: str, requests: IO[str], replies: IO[str]) -> None:
    contest: Contest | None = None
    sample: Callable[[float], float] | None = None
    for line in requests:
        request = json.loads(line)
        reply: dict[str, Any]
        try:
            if "cases" in request:
                contest = Contest(_load(driver), *request["cases"])
                sample = contest.sample
                reply = {"answers": [contest.is_right()]}
            elif sample is not None:
                reply = {"ns": sample(request["seconds"])}
            else:
                reply = {"error": "send the cases first"}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _main() -> None:
    # Drivers may print; the protocol keeps the real output stream to itself.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _serve(sys.argv[1], sys.stdin, replies)


if __name__ == "__main__":
    _main()
