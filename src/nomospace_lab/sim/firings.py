"""What strong reactions do in a world of `Sites`: part of a step, seen once it is on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from nomospace.calls.requests import STRONG, React
from nomospace.terms.templates import Template
from nomospace_lab.sim.observed import ObservedFiring, TupleKey

Act: TypeAlias = Callable[[Callable[[Any], None], Any, "Inside", str], None]


class Inside:
    """What a strong reaction's listener may do in its step; the world writes down what it does."""

    __slots__ = ("_firing", "took", "tuple", "wrote")

    def __init__(self, firing: Any) -> None:
        self._firing = firing
        self.tuple = firing.tuple
        self.wrote: list[TupleKey] = []
        self.took: list[TupleKey] = []

    def out(self, space: str, fields: tuple[Any, ...]) -> None:
        """Write a tuple in the same step."""
        self._firing.out(fields, space=space)
        self.wrote.append((space, fields))

    def take_nowait(self, space: str, template: Template) -> None:
        """Take a tuple of the own host in the same step, if there is one."""
        found = self._firing.take_nowait(template, space=space)
        if found is not None:
            self.took.append((space, found.fields))


class StrongFirings:
    """The strong firings of the step that is under way."""

    def __init__(self) -> None:
        self._unseen: list[tuple[str, str, Inside]] = []

    def watched(self, agent: str, request: React, act: Act) -> React:
        """A strong reaction whose firings are kept here; `act` does what its listener wants."""

        def listener(firing: Any) -> None:
            inside = Inside(firing)
            if request.listener is not None:
                act(request.listener, firing, inside, request.space)
            self._unseen.append((agent, firing.reaction, inside))

        return msgspec.structs.replace(request, listener=listener)

    def drain(self, host: str) -> list[tuple[str, ObservedFiring]]:
        """Whose reactions fired and on what: the step is on disk, or was lost with its host."""
        found = []
        for agent, reaction, inside in self._unseen:
            did = (tuple(inside.wrote), tuple(inside.took))
            found.append((agent, ObservedFiring(host, reaction, inside.tuple, STRONG, *did)))
        self._unseen.clear()
        return found
