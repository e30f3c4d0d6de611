"""Streams played in batches, with replays, restarts and failures, against the whole search.

    python -m tests.models.stream_cases --cases 500

A case has the ontology, the question and the tuples of `match_cases`, or papers of a few cars of
which any two that differ answer together. They are written, taken, expired and moved in some order,
cut into batches. A batch is done once or several times; before any of its
steps the job may be another, as after a kill, or fail in the middle and go on. A batch that is done
again may even have other rows than it had. Whatever was before, the answers that it brings are
those that a search among all tuples of its state finds, and that hold a tuple of the batch: the
same, in the same order.
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
from nomospace.meaning.question import parse_template
from nomospace.pipeline.stream import answering
from nomospace.pipeline.stream.answering import AnswerEngine, Answering
from nomospace.pipeline.stream.state import ROWS, Memory, StateStep, present
from nomospace.terms import Term, obj
from nomospace.wire.values import pack_term, unpack_fields
from tests.models.match_cases import Case, case
from tests.unit.pipeline.told import CARS

BATCHES = 10
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
        self._gone: dict[int, tuple[Term, ...]] = {}
        self._late: dict[int, tuple[Term, ...]] = {}  # the end was told, the beginning was not
        self._at = self._last = 0

    def other(self) -> Life:
        """What may happen instead."""
        made = Life(self._chance, self._bodies)
        made._alive, made._gone = dict(self._alive), dict(self._gone)
        made._late, made._at = dict(self._late), self._at
        made._last = self._last + 10_000
        return made

    def rows(self, most: int = 5) -> pa.Table:
        """What a batch tells."""
        told = [self._happening() for _ in range(self._chance.randint(most // 5, most))]
        return pa.Table.from_pylist(told, schema=ROWS)

    def _happening(self) -> dict[str, Any]:
        chance, dice = self._chance, self._chance.random()
        end = chance.choice(["taken", "expired"])
        if self._alive and dice < 0.2:
            one = chance.choice(list(self._alive))
            self._gone[one] = self._alive.pop(one)
            return self._row(one, end, self._gone[one])
        if self._alive and dice < 0.3:
            one = chance.choice(list(self._alive))
            return self._row(one, "moved", self._alive[one])
        if self._gone and dice < 0.4:  # it was put somewhere else, and comes back
            one = chance.choice(list(self._gone))
            return self._row(one, "moved", self._gone[one])
        if self._late and dice < 0.55:
            one, body = self._late.popitem()
            return self._row(one, "written", body)
        self._last += 1
        body, one = chance.choice(self._bodies), self._last
        if dice > 0.9:
            self._late[one] = body
            return self._row(one, end, body)
        self._alive[one] = body
        return self._row(one, chance.choice(["written", "written", "moved"]), body)

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


def papers(seed: int, chance: Random) -> Case:
    """A case in which almost every tuple counts."""
    facts = [
        Fact(f"{kind}{car}", (obj("Car", car, price=car), obj(kind, car)))
        for car in range(6)
        for kind in ("Tax", "Loan")
    ]
    if chance.random() < 0.3:
        facts.append(Fact("both", (obj("Car", 0, price=0), obj("Tax", 0), obj("Loan", 0))))
    template = chance.choice(
        ["(Car, Tax, Loan)", "(Tax, Loan)", "(Car where price < 2, Tax, Loan)"]
    )
    question = parse_template(template, CARS, correlate=chance.choice(["auto", "always"]))
    return Case(seed, CARS, tuple(facts), template, question)


class Play:
    """One stream, its question, and whoever is at work with it now."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = Random(seed)
        made = papers(seed, self.chance) if seed % 2 else case(seed)
        self.ontology = made.ontology
        self.question = made.question._replace(max_set=min(made.question.max_set, SET_MAX))
        self.life = Life(self.chance, [fact.fields for fact in made.facts])
        self.first = 40 if seed % 2 else 5
        self.folder = folder
        self.ever = self.chance.random() < 0.2
        self.keep_us = self.chance.choice([0, 0, 10])
        self.restart()

    def restart(self) -> None:
        """Another process goes on."""
        self.memory = Memory(self.folder, ever=self.ever, keep_us=self.keep_us)
        self.answering = Answering(
            self.memory, self.ontology, self.question, ever=self.ever, engine=AnswerEngine.MEMORY
        )

    def whole(self, step: StateStep) -> list[dict[str, Any]]:
        """The answers that hold a tuple of a batch, of all that there are in its state."""
        memory = Memory(self.folder)
        there = present(memory.table(step.after.chunks), ever=self.ever)
        facts = [Fact(f"{one[0]}/{one[1]}", unpack_fields(body)) for one, body in there.items()]
        found = Matcher(self.question, Facts.of(facts, self.ontology)).all()
        new = {f"{writer}/{count}" for writer, count in step.new}
        assert not found.cut
        return [one.to_data() for one in found.items if new & set(one.tuples)]

    def batch(self, number: int) -> int:
        """Do a batch, well at last; how many answers it has."""
        before = self.life.other()
        # Chunks that are much larger than what comes are merged late.
        rows = self.life.rows() if number else self.life.rows(self.first)
        trouble = self.chance.choice(["", "", "kill", "fail", "again"])
        if self.chance.random() < 0.2:
            self.restart()
        if trouble:
            tried = before.rows() if self.chance.random() < 0.5 else rows
            step = self.memory.after(number, tried)
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
        return unpack_fields(body)

    with patch.object(answering, "unpack_fields", unpack):
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
                print(f"seed {seed}")
                raise
    print(f"{chosen.cases} streams of {BATCHES} batches each brought {answers:,} answers, as said")
    return 0


if __name__ == "__main__":
    sys.exit(main())
