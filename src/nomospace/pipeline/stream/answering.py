"""Which answers a batch has brought: those that hold a tuple which came with it.

An answer is there when the last of its tuples is. So it belongs to one batch, however the journal
is cut into batches, and to the same one whenever that is done again.

Where there are no more than `MEMORY_ROWS`, the engine in memory is asked: it holds the tuples from
batch to batch and looks from the new ones outwards. Past that Spark answers, over tables,
as `pipeline match` does (`matching`): it looks for all answers, of which those count that are new,
and needs some seconds for any question, however few the tuples. Tables are made of a chunk when
Spark is first asked over it, and go with it.

The tuples of a state in the driver's memory, from batch to batch, and what each brings.

After a start, or when a batch is done again, what the checkpoint names is read, once. From then on
what a batch says is applied to what is held: tuples come, and go when they are taken, expire, or
are left out of the files as too old. So a batch costs what is new in it and what hangs together
with that (`meaning.memory.Following`).

What is held is never ahead of the checkpoint. It bears the state that it is of, which names files
that never change; it is used for a batch that begins with that very state, and for no other; and it
bears none while it is being changed, so that a failure in the middle leaves nothing to use.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec

from nomospace.meaning.answers import Answers, MeaningAnswer, written_id
from nomospace.meaning.memory import Following
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question
from nomospace.pipeline.archive import ArchivePart, ask_parts
from nomospace.pipeline.laying import lay_out
from nomospace.pipeline.matching import SparkDatabase
from nomospace.pipeline.stream.state import (
    Chunk,
    Id,
    Memory,
    State,
    StateStep,
    bodies,
    present,
    told,
)
from nomospace.pipeline.stream.writing import Keyed, key_of
from nomospace.wire.values import unpack_fields

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FollowedQuestion:
    """One question, followed through the states of a stream."""

    def __init__(
        self, memory: Memory, ontology: Ontology, question: Question, *, ever: bool = False
    ) -> None:
        self._memory = memory
        self._ontology = ontology
        self._question = question
        self._ever = ever
        self._of: State | None = None
        self._following = Following(question, ontology)
        self._ended: dict[Id, None] = {}  # those of which the state has the end

    def __len__(self) -> int:
        return len(self._following)

    def answers(self, step: StateStep) -> Answers:
        """The answers that a batch has brought; raises `BadCheckpoint`."""
        known, self._of = self._of, None
        if known == step.before:
            self._go(step)
        else:
            self._load(step.after)
        self._of = step.after
        return self._following.brought([name_of(one) for one in step.new])

    def forget(self) -> None:
        """Hold nothing."""
        self._of = None
        self._following = Following(self._question, self._ontology)
        self._ended = {}

    def _load(self, state: State) -> None:
        self.forget()
        rows = self._memory.table(state.chunks)
        for one, body in present(rows, ever=self._ever).items():
            self._following.add(name_of(one), unpack_fields(body))
        if not self._ever:
            self._ended = {row.one: None for row in told(rows) if row.ends}

    def _go(self, step: StateStep) -> None:
        for row, body in zip(told(step.rows), bodies(step.rows), strict=True):
            if not row.ends:
                if row.one not in self._ended:
                    self._following.add(name_of(row.one), unpack_fields(body))
            elif not self._ever:
                self._ended[row.one] = None
                self._following.drop(name_of(row.one))
        for row in step.left:
            if row.ends:
                self._ended.pop(row.one, None)
            else:
                self._following.drop(name_of(row.one))


def name_of(one: Id) -> str:
    """A tuple as answers name it.

    >>> name_of(("ann@ward", 3))
    'ann@ward/3'
    """
    return f"{one[0]}/{one[1]}"


MEMORY_ROWS: Final = 100_000
"""Among so many rows the engine in memory looks for answers, unless it is said otherwise."""
_PART: Final = "part.json"


class AnswerEngine(StrEnum):
    """Who looks for answers."""

    AUTO = "auto"
    SPARK = "spark"
    MEMORY = "memory"


class Answering:
    """Answers one question over the states of a stream."""

    def __init__(
        self,
        memory: Memory,
        ontology: Ontology,
        question: Question,
        *,
        ever: bool = False,
        engine: AnswerEngine = AnswerEngine.AUTO,
    ) -> None:
        self._memory = memory
        self._ontology = ontology
        self._question = question
        self._ever = ever
        self._engine = engine
        self._laid = memory.folder / "laid"
        self._held = FollowedQuestion(memory, ontology, question, ever=ever)

    def answers(self, step: StateStep, spark: SparkSession) -> Answers:
        """The answers that a batch has brought; `cut` says if some may be missing."""
        small = self._engine is AnswerEngine.AUTO and step.after.rows <= MEMORY_ROWS
        if small or self._engine is AnswerEngine.MEMORY:
            return self._held.answers(step)
        self._held.forget()
        fresh = dict.fromkeys(map(name_of, step.new))
        if not fresh:
            return Answers([])
        parts = [self._part(chunk) for chunk in step.after.chunks]
        self._forget(step.after)
        with closing(SparkDatabase(spark)) as database:
            found = ask_parts(database, parts, self._ontology, self._question, ever=self._ever)
        brought = [one for one in found.items if any(known in fresh for known in one.tuples)]
        return Answers(brought, found.cut, found.problems)

    def _part(self, chunk: Chunk) -> tuple[Path, ArchivePart]:
        """A chunk laid out by class; made when it is first asked for, whole or not at all."""
        folder = self._laid / chunk.name.removesuffix(".parquet")
        if not folder.is_dir():
            beside = self._laid / f".{uuid4().hex}"
            beside.mkdir(parents=True)
            rows = self._memory.table([chunk])
            part = lay_out(rows.to_batches(), self._ontology, beside, "0")
            (beside / _PART).write_bytes(msgspec.json.encode(part))
            beside.rename(folder)
        return folder, msgspec.json.decode((folder / _PART).read_bytes(), type=ArchivePart)

    def _forget(self, state: State) -> None:
        named = {chunk.name.removesuffix(".parquet") for chunk in state.chunks}
        for folder in self._laid.iterdir():
            if folder.name not in named:
                shutil.rmtree(folder)


def as_row(answer: MeaningAnswer, name: str, stream: str) -> Keyed:
    """An answer as a tuple: `('answer', name, ids, why, fields…)`, under a key of its own.

    The key says which tuples answer, so that an answer is written once in a stream.
    """
    fields, why = answer.told()
    ids = tuple([written_id(id) for id in answer.tuples])
    return Keyed(key_of(stream, "answer", *answer.tuples), ("answer", name, ids, why, *fields))
