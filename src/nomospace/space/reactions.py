"""The reactions of one space, and what each remembers (LIME 2.2.4, 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import msgspec

from nomospace.calls.ways import ONCE, Mode
from nomospace.space.meant import Speech
from nomospace.space.records import Record
from nomospace.space.search import Search
from nomospace.space.searching import Searches
from nomospace.space.seen import SeenIds
from nomospace.space.store import NotInSpace
from nomospace.space.watchers import Watchers
from nomospace.terms.budget import Slice
from nomospace.terms.templates import Template


class Reaction(msgspec.Struct, eq=False):
    """A template, where it looks, and what is to be called when a tuple shows up.

    With a listener it is strong: called inside the step that brought the tuple. Without, the
    space only reports that it fired; weak reactions and the scouts of other hosts are made of that.
    A reaction that fired `once` leaves the space; one `once-per-tuple` never meets a tuple twice,
    however often the tuple moves, until it is enabled anew.
    """

    id: Hashable
    template: Template
    mode: Mode = ONCE
    at: str | None = None
    dest: str | None = None
    listener: Callable[[Reaction, Record], None] | None = None
    enabled: bool = True
    seen: SeenIds = msgspec.field(default_factory=SeenIds)
    fired: int = 0
    search: Search | None = None
    """How far it has met what was there before it, if not all of that."""
    slice: Slice | None = None
    order: int = 0
    """Its turn among the reactions of its space, which sets it."""

    def __repr__(self) -> str:
        return f"Reaction({self.id!r}, {self.mode!r}, fired={self.fired})"


class SpaceReactions:
    """The reactions that are registered in a space, in the order they came."""

    __slots__ = ("_name", "_searches", "by_id", "enabled", "listeners")

    def __init__(self, name: str, searches: Searches, speech: Speech) -> None:
        self._name = name
        self._searches = searches
        self.by_id: dict[Hashable, Reaction] = {}
        self.enabled: Watchers[Reaction] = Watchers(speech)
        self.listeners = 0
        """How many of them have a listener."""

    def add(self, reaction: Reaction) -> None:
        """Register one, enabled or not."""
        self.by_id[reaction.id] = reaction
        self.listeners += reaction.listener is not None
        if reaction.enabled:
            self.enabled.add(reaction)

    def get(self, id: Hashable) -> Reaction:
        """The one of an id. `NotInSpace` when there is none, or no more."""
        reaction = self.by_id.get(id)
        if reaction is None:
            raise NotInSpace(space=self._name, what=f"reaction {id!r}")
        return reaction

    def is_on(self, reaction: Reaction) -> bool:
        """Whether one is registered and enabled."""
        return reaction.enabled and self.by_id.get(reaction.id) is reaction

    def enable(self, reaction: Reaction) -> None:
        """Let one run again; it forgets what it has met."""
        reaction.enabled = True
        reaction.seen.clear()
        self.enabled.add(reaction)

    def disable(self, reaction: Reaction) -> None:
        """Let one rest; it stays registered."""
        self._stop_scan(reaction)
        if reaction.enabled:
            reaction.enabled = False
            self.enabled.drop(reaction)

    def remove(self, id: Hashable) -> bool:
        """Let go of one. False when there is none of that id, or no more."""
        reaction = self.by_id.pop(id, None)
        if reaction is None:
            return False
        self.listeners -= reaction.listener is not None
        self._stop_scan(reaction)
        if reaction.enabled:
            self.enabled.drop(reaction)
        return True

    def _stop_scan(self, reaction: Reaction) -> None:
        if reaction.search is not None:
            self._searches.give_up(reaction.search)
            reaction.search = None
