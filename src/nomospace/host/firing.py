"""What a strong listener may do: it runs inside its host's step, and so does all that it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nomospace.calls.answers import Found
from nomospace.calls.requests import (
    READ_ALL,
    READ_NOWAIT,
    TAKE_ALL,
    TAKE_NOWAIT,
    Adjust,
    Out,
    Request,
    Seek,
    Way,
)
from nomospace.host.operations import Registered
from nomospace.terms import Term
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class Firing:
    """What a strong listener is given: the tuple, and operations that join the running step."""

    __slots__ = ("_host", "_registered", "reaction", "tuple")

    def __init__(self, host: HostParts, registered: Registered, found: Found) -> None:
        self._host = host
        self._registered = registered
        self.tuple = found
        self.reaction = registered.id

    def out(self, fields: tuple[Term, ...], to: str = "", space: str | None = None) -> None:
        """Write a tuple."""
        self._inside(Out(space or self._registered.request.space, fields, to))

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
        self._inside(Adjust(self.reaction, "remove"))

    def _seek(self, how: Way, template: Template, space: str | None) -> Any:
        return self._inside(Seek(space or self._registered.request.space, how, template))

    def _inside(self, request: Request) -> Any:
        return self._host.reacting.inside(self._registered.agent, request)
