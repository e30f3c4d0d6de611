"""The tuples of a state in the driver's memory, from batch to batch, and what each brings.

After a start, or when a batch is done again, what the checkpoint names is read, once. From then on
what a batch says is applied to what is held: tuples come, and go when they are taken, expire, or
are left out of the files as too old. So a batch costs what is new in it and what hangs together
with that (`meaning.memory.Following`).

What is held is never ahead of the checkpoint. It bears the state that it is of, which names files
that never change; it is used for a batch that begins with that very state, and for no other; and it
bears none while it is being changed, so that a failure in the middle leaves nothing to use.
"""

from __future__ import annotations

from nomospace.meaning.answers import Answers
from nomospace.meaning.memory import Following
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question
from nomospace.pipeline.stream.state import Id, Memory, State, StateStep, bodies, present, told
from nomospace.wire.values import unpack_fields


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
