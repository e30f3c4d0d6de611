"""Streams played in batches, with replays, restarts and failures, against the whole search.

    python -m tests.models.stream_cases --cases 500

A case has the ontology, the question and the tuples of `match_cases`, written, taken, expired and
moved in some order and cut into batches. A batch is done once or several times; before any of its
steps the job may be another, as after a kill, or fail in the middle and go on. Whatever was before,
the answers that a batch brings are those that a search among all tuples of its state finds, and
that hold a tuple of the batch: the same, in the same order, each time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question
from nomospace.pipeline.stream import held
from nomospace.pipeline.stream.answering import Answering, Engine
from nomospace.pipeline.stream.state import ROWS, Memory, Step, present
from nomospace.terms import Term
from nomospace.wire.values import pack_term, unpack_term
from tests.models.match_cases import case

BATCHES = 8
SET_MAX = 4
"""Larger sets have more plans than there is time for."""
NO_SPARK: Any = None


class Failed(Exception):
    """The job fails, here and now."""


class Life:
    """Tuples that come and go, as a journal tells of them."""

    def __init__(self, chance: Random, bodies: Sequence[tuple[Term, ...]]) -> None:
        self._chance = chance
        self._bodies = bodies
        self._alive: dict[int, tuple[Term, ...]] = {}
        self._at = 0

    def rows(self) -> pa.Table:
        """What a batch tells."""
        told = [row for _ in range(self._chance.randrange(7)) for row in self._happening()]
        return pa.Table.from_pylist(told, schema=ROWS)

    def _happening(self) -> Iterator[dict[str, Any]]:
        chance, dice = self._chance, self._chance.random()
        end = chance.choice(["taken", "expired"])
        if self._alive and dice < 0.25:
            one = chance.choice(list(self._alive))
            yield self._row(one, end, self._alive.pop(one))
        elif self._alive and dice < 0.35:
            one = chance.choice(list(self._alive))
            yield self._row(one, "moved", self._alive[one])
        elif dice < 0.4:  # it came before the stream began, or elsewhere
            yield self._row(self._at + 1_000, end, ())
        else:
            body, one = chance.choice(self._bodies), self._at + 1
            if dice < 0.43:  # the end is told first
                yield self._row(one, end, body)
            else:
                self._alive[one] = body
            yield self._row(one, chance.choice(["written", "written", "moved"]), body)

    def _row(self, one: int, op: str, body: tuple[Term, ...]) -> dict[str, Any]:
        self._at += 1
        return {
            "space": "cars",
            "since": self._at,
            "host": "ward",
            "writer": f"ann{one % 3}@ward",
            "count": one,
            "op": op,
            "fields": pack_term(body),
        }


class Play:
    """One stream, its question, and whoever is at work with it now."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = Random(seed)
        made = case(seed)
        self.ontology: Ontology = made.ontology
        self.question: Question = made.question._replace(
            max_set=min(made.question.max_set, SET_MAX)
        )
        self.life = Life(self.chance, [fact.fields for fact in made.facts])
        self.folder = folder
        self.ever = self.chance.random() < 0.2
        self.keep_us = self.chance.choice([0, 0, 12])
        self.restart()

    def restart(self) -> None:
        """Another process goes on."""
        self.memory = Memory(self.folder, ever=self.ever, keep_us=self.keep_us)
        self.answering = Answering(
            self.memory, self.ontology, self.question, ever=self.ever, engine=Engine.MEMORY
        )

    def whole(self, step: Step) -> list[dict[str, Any]]:
        """The answers that hold a tuple of a batch, of all that there are in its state."""
        memory = Memory(self.folder)
        there = present(memory.table(step.after.chunks), ever=self.ever)
        facts = [Fact(f"{one[0]}/{one[1]}", unpack_term(body)) for one, body in there.items()]
        found = Matcher(self.question, Facts.of(facts, self.ontology)).all()
        new = {f"{writer}/{count}" for writer, count in step.new}
        assert not found.cut
        return [one.to_data() for one in found.items if new & set(one.tuples)]

    def batch(self, number: int) -> int:
        """Do a batch, well at last; how many answers it has."""
        rows = self.life.rows()
        trouble = self.chance.choice(["", "", "kill", "fail", "again"])
        if self.chance.random() < 0.2:
            self.restart()
        if trouble:
            step = self.memory.after(number, rows)
            if trouble != "kill":
                with suppress(Failed), failing(self.chance.choice([0, 1, 2, 99])):
                    self.answering.answers(step, NO_SPARK)
            if trouble == "kill" or self.chance.random() < 0.3:
                self.restart()
        step = self.memory.after(number, rows)
        if self.chance.random() < 0.1:
            self.restart()
        found = self.answering.answers(step, NO_SPARK)
        assert not found.cut
        assert [one.to_data() for one in found.items] == self.whole(step), number
        return len(found.items)


@contextmanager
def failing(after: int) -> Iterator[None]:
    """Fail where the next tuple but so many is taken into memory."""
    left = [after]

    def unpack(body: bytes) -> Term:
        left[0] -= 1
        if left[0] < 0:
            raise Failed
        return unpack_term(body)

    with patch.object(held, "unpack_term", unpack):
        yield


def play(seed: int, folder: Path) -> int:
    """Play a case; how many answers it had. Files do not have to outlive the machine."""
    with patch("os.fsync"):
        playing = Play(seed, folder)
        return sum(playing.batch(number) for number in range(BATCHES))


def main(arguments: Sequence[str] | None = None) -> int:
    """Play cases until one goes wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    chosen = parser.parse_args(arguments)
    answers = 0
    for seed in range(chosen.seed, chosen.seed + chosen.cases):
        with tempfile.TemporaryDirectory(prefix="nomospace-stream-") as folder:
            try:
                answers += play(seed, Path(folder))
            except AssertionError:
                print(f"seed {seed}\n{case(seed)}")
                raise
    print(f"{chosen.cases} streams of {BATCHES} batches each brought {answers:,} answers, as said")
    return 0


if __name__ == "__main__":
    sys.exit(main())
