"""A reaction registered in one space, and what it remembers (LIME 2.2.4, 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Literal, TypeAlias

from nomospace.space.records import Record
from nomospace.space.searching import Search
from nomospace.space.seen import SeenIds
from nomospace.terms.budget import Slice
from nomospace.terms.templates import Template

ONCE: Final = "once"
ONCE_PER_TUPLE: Final = "once-per-tuple"
Mode: TypeAlias = Literal["once", "once-per-tuple"]


class Reaction:
    """A template, where it looks, and what is to be called when a tuple shows up.

    With a listener it is strong: called inside the step that brought the tuple. Without, the
    space only reports that it fired; weak reactions and the scouts of other hosts are made of that.
    A reaction that fired `once` leaves the space; one `once-per-tuple` never meets a tuple twice,
    however often the tuple moves, until it is enabled anew.
    """

    __slots__ = (
        "at",
        "dest",
        "enabled",
        "fired",
        "id",
        "listener",
        "mode",
        "order",
        "search",
        "seen",
        "slice",
        "template",
    )

    def __init__(
        self,
        id: Hashable,
        template: Template,
        mode: Mode = ONCE,
        *,
        at: str | None = None,
        dest: str | None = None,
        listener: Callable[[Reaction, Record], None] | None = None,
        enabled: bool = True,
        seen: SeenIds | None = None,
    ) -> None:
        self.id = id
        self.template = template
        self.mode: Mode = mode
        self.at = at
        self.dest = dest
        self.listener = listener
        self.enabled = enabled
        self.seen = SeenIds() if seen is None else seen
        self.fired = 0
        self.search: Search | None = None
        """How far it has met what was there before it, if not all of that."""
        self.slice: Slice | None = None
        self.order = 0  # its turn among the reactions of its space, set by it

    def __repr__(self) -> str:
        return f"Reaction({self.id!r}, {self.mode!r}, fired={self.fired})"
