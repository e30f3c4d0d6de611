"""The reactions of a client at a host in another process, and who is connected there.

A host forgets reactions when it is killed, and has none of an agent that has just come to it. So a
client remembers its own and registers them anew; their handles know them by the id that they got
first, whatever the host calls them at the moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from nomospace.calls.answers import Found
from nomospace.calls.requests import Adjust, React, Request
from nomospace.calls.ways import ONCE, ONCE_PER_TUPLE, WEAK
from nomospace.client.connection import Ear, Firing, NotYetKnown, Report
from nomospace.errors import CallerError, NomospaceError
from nomospace.terms.templates import ANY, Template

WATCHED_MAX: Final = 1_000
"""How many agents and hosts a client is told of."""
FIRST_WORD_S: Final = 0.05
"""What a host knows of an agent comes so soon after the watch for it is registered."""
SYSTEM: Final = "LimeSystem"

Then = Callable[[object, NomospaceError | None], None]
Post = Callable[[Request, Then], None]


class _Reaction:
    """A reaction of this client, whatever its host calls it at the moment."""

    __slots__ = ("ear", "here", "life", "name", "request", "state")

    def __init__(self, request: React, ear: Ear) -> None:
        self.request = request
        self.ear = ear
        self.name = ""  # what its handle knows it by: the id that it got first
        self.here = ""  # its id at the host; empty while it is being registered
        self.state = "enable"


class Watching:
    """All reactions of one client. `post` makes a call that nobody awaits."""

    def __init__(self, post: Post, report: Callable[[Report], None]) -> None:
        self._post = post
        self._report = report
        self._by_name: dict[str, _Reaction] = {}
        self._by_id: dict[str, _Reaction] = {}
        self._new: dict[_Reaction, None] = {}

    def add(self, request: React, ear: Ear) -> None:
        """Register a reaction; its ear hears how it went."""
        self._register(_Reaction(request, ear))

    def _register(self, reaction: _Reaction) -> None:
        def registered(value: object, error: NomospaceError | None) -> None:
            if self._new.pop(reaction, _GONE) is _GONE:
                return
            if error is not None:
                self._drop(reaction)
                reaction.ear.on_refused(error)
                return
            assert isinstance(value, str), "a reaction is answered with its id"
            reaction.here = value
            self._by_id[value] = reaction
            if not reaction.name:
                reaction.name = value
                self._by_name[value] = reaction
                reaction.ear.on_registered(value)
            elif reaction.state != "enable":
                self._adjust(reaction)
                if reaction.state == "remove":
                    self._drop(reaction)

        self._new[reaction] = None
        try:
            self._post(reaction.request, registered)
        except CallerError as error:  # a strong one: its listener cannot travel
            del self._new[reaction]
            reaction.ear.on_refused(error)

    def register_anew(self) -> None:
        """The host knows no reaction of this client. Those under way are asked for again anyway."""
        self._by_id.clear()
        for reaction in list(self._by_name.values()):
            if reaction not in self._new:
                reaction.here = ""
                self._register(reaction)

    def fired(self, id: str, read: Callable[[], Found]) -> None:
        """A reaction has fired at the host."""
        reaction = self._by_id.get(id)
        if reaction is not None:  # else it was removed while the firing was on its way
            if reaction.request.mode == ONCE:
                self._drop(reaction)
            reaction.ear.on_fired(read())

    def gone(self, id: str, error: NomospaceError) -> None:
        """The host has removed a reaction."""
        reaction = self._by_id.get(id)
        if reaction is not None:
            self._drop(reaction)
            reaction.ear.on_refused(error)

    def adjust(self, name: str, what: str) -> None:
        """`disable`, `enable` or `remove` a reaction."""
        reaction = self._by_name.get(name)
        if reaction is None:
            return
        reaction.state = what
        if reaction.here:
            self._adjust(reaction)
            if what == "remove":
                self._drop(reaction)

    def _adjust(self, reaction: _Reaction) -> None:
        what, here = reaction.state, reaction.here

        def adjusted(value: object, error: NomospaceError | None) -> None:
            # A `once` reaction that has fired is gone by itself: then there is nothing to adjust.
            if error is not None and error.code != "space.bad-reaction":
                self._report(
                    Report("a reaction was not adjusted", {"reaction": here, "to": what}, error)
                )

        self._post(Adjust(here, what), adjusted)

    def _drop(self, reaction: _Reaction) -> None:
        self._by_name.pop(reaction.name, None)
        self._by_id.pop(reaction.here, None)


_GONE: Final = object()


class Presence:
    """Which agents and hosts are connected, as far as this client has asked."""

    def __init__(self, watching: Watching, loop: asyncio.AbstractEventLoop) -> None:
        self._watching = watching
        self._loop = loop
        self._known: dict[str, bool | None] = {}

    def connected(self, who: str) -> bool:
        """What the host said last; raises `NotYetKnown` when it is asked for the first time."""
        known = self._known
        if who not in known and len(known) < WATCHED_MAX:
            known[who] = None
            line = Template.of(("agent", who, ANY, ANY) if "@" in who else ("host", who, ANY))
            request = React(SYSTEM, line, ONCE_PER_TUPLE, WEAK)
            self._watching.add(request, _Watch(self._loop, known, who))
        found = known.get(who)
        if found is None:
            raise NotYetKnown(who=who)
        return found


class _Watch:
    """Hears of the lines of one agent or host in the system space."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, known: dict[str, bool | None], who: str
    ) -> None:
        self._loop = loop
        self._known = known
        self._who = who

    def on_registered(self, reaction: str) -> None:
        self._loop.call_later(FIRST_WORD_S, self._nothing_said)

    def _nothing_said(self) -> None:
        if self._who in self._known and self._known[self._who] is None:
            self._known[self._who] = False

    def on_refused(self, error: BaseException) -> None:
        self._known.pop(self._who, None)

    def on_fired(self, found: Found) -> None:
        self._known[self._who] = found.fields[-1] == "connected"

    def on_strong(self, firing: Firing) -> None:
        raise AssertionError("only weak reactions watch from afar")
