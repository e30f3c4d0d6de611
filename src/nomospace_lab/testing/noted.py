"""Strong reactions of programs in a simulated world, with what their listeners do written down."""

from __future__ import annotations

from typing import Any

from nomospace.calls.answers import Found
from nomospace.terms import Term
from nomospace.terms.templates import Template
from nomospace_lab.sim.firings import Inside


class NotedFiring:
    """A strong reaction at work, as `client.Firing`; what its listener did goes to the history."""

    __slots__ = ("_firing", "_home", "_inside", "tuple")

    def __init__(self, firing: Any, inside: Inside, home: str) -> None:
        self._firing = firing
        self._inside = inside
        self._home = home
        self.tuple: Found = firing.tuple

    def out(self, fields: tuple[Term, ...], to: str = "", space: str | None = None) -> None:
        self._firing.out(fields, to, space)
        self._inside.wrote.append((space or self._home, fields))

    def take_nowait(self, template: Template, space: str | None = None) -> Found | None:
        found: Found | None = self._firing.take_nowait(template, space)
        if found is not None:
            self._inside.took.append((space or self._home, found.fields))
        return found

    def read_nowait(self, template: Template, space: str | None = None) -> Found | None:
        found: Found | None = self._firing.read_nowait(template, space)
        return found

    def take_all(self, template: Template, space: str | None = None) -> Any:
        found = self._firing.take_all(template, space)
        self._inside.took.extend((space or self._home, one.fields) for one in found)
        return found

    def read_all(self, template: Template, space: str | None = None) -> Any:
        return self._firing.read_all(template, space)
