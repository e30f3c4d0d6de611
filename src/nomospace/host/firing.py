"""What a strong listener may do: it runs inside its host's step, and so does all that it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nomospace.calls.answers import Found
from nomospace.calls.requests import Adjust, Out, Request, Seek
from nomospace.calls.ways import READ_ALL, READ_NOWAIT, TAKE_ALL, TAKE_NOWAIT, Way
from nomospace.terms import Term
from nomospace.terms.templates import Template


class Firing:
    """What a strong listener is given: the tuple, and operations that join the running step.

    `ask` carries one out inside the step: at the host itself, or over a program's socket.
    """

    __slots__ = ("_ask", "_space", "reaction", "tuple")

    def __init__(
        self, ask: Callable[[Request], Any], space: str, reaction: str, found: Found
    ) -> None:
        self._ask = ask
        self._space = space
        self.tuple = found
        self.reaction = reaction

    def out(self, fields: tuple[Term, ...], to: str = "", space: str | None = None) -> None:
        """Write a tuple."""
        self._ask(Out(space or self._space, fields, to))

    def take_nowait(self, template: Template, space: str | None = None) -> Found | None:
        """Take a tuple of this host, if there is one."""
        found: Found | None = self._seek(TAKE_NOWAIT, template, space)
        return found

    def read_nowait(self, template: Template, space: str | None = None) -> Found | None:
        """Read a tuple of this host, if there is one."""
        found: Found | None = self._seek(READ_NOWAIT, template, space)
        return found

    def take_all(self, template: Template, space: str | None = None) -> tuple[Found, ...]:
        """Take all tuples of this host that match."""
        found: tuple[Found, ...] = self._seek(TAKE_ALL, template, space)
        return found

    def read_all(self, template: Template, space: str | None = None) -> tuple[Found, ...]:
        """Read all tuples of this host that match."""
        found: tuple[Found, ...] = self._seek(READ_ALL, template, space)
        return found

    def remove_reaction(self) -> None:
        """Remove the reaction that fired."""
        self._ask(Adjust(self.reaction, "remove"))

    def _seek(self, how: Way, template: Template, space: str | None) -> Any:
        return self._ask(Seek(space or self._space, how, template))
