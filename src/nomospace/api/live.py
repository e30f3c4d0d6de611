"""What happens at a host just now, for those who look on.

A viewer is a reader of the journal: it looks at it `LOOKS_S` times a second, and takes what is new.
So viewers need no queues, cost nothing when there are none, and one that reads slowly falls behind
alone. What is more than a viewer can read is left out and counted (`folded`). Hosts and agents that
come and go are not in the journal; they are seen in the difference of two looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nomospace.errors import CallerError, Unavailable

if TYPE_CHECKING:
    from nomospace.node.viewed import TopologyView
    from nomospace.node.views import Views

EVENTS_S_MAX: Final = 200
"""How many events of each second one viewer is told."""
LOOKS_S: Final = 5
VIEWERS_MAX: Final = 64
QUIET_S: Final = 15.0
"""After so long without an event the viewer is told that all is well."""
KINDS: Final = ("ruling", "tuple", "lease", "engagement", "move", "law")
_TABLES: Final = {"events": "ruling", "tuples": "tuple", "leases": "lease", "laws": "law"}


class TooManyViewers(Unavailable):
    """More viewers than a host tells what happens."""

    code = "api.too-many-viewers"
    words = "{limit} viewers look on already; close one, then try again"
    limit: int


class NoSuchKind(CallerError):
    """A kind of event that there is not."""

    code = "api.no-such-kind"
    kind: str

    def __str__(self) -> str:
        return f"there are no events of kind {self.kind[:60]!r}; kinds are {', '.join(KINDS)}"


@dataclass(frozen=True, slots=True)
class Happened:
    """An event. `kind` is one of `KINDS`, `folded` (with a count), or `quiet`."""

    kind: str
    record: int
    facts: dict[str, object]


def kinds_of(text: str) -> tuple[str, ...]:
    """Kinds from their names with commas between; all when there are none.

    >>> kinds_of("ruling,move"), kinds_of("") == KINDS
    (('ruling', 'move'), True)
    """
    kinds = tuple([one.strip() for one in text.split(",") if one.strip()]) or KINDS
    for kind in kinds:
        if kind not in KINDS:
            raise NoSuchKind(kind=kind)
    return kinds


class Live:
    """The viewers of one host."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self.viewers = 0

    async def events(
        self, kinds: Collection[str] = KINDS, *, after: int = 0
    ) -> AsyncIterator[Happened]:
        """What happens from now on, or since a record; raises `TooManyViewers` at once."""
        self.check()
        self.viewers += 1
        try:
            last = after or self._views.last_record
            before = self._views.topology()
            quiet = 0
            while True:
                found, last = self._records(kinds, last)
                now = self._views.topology()
                found += [one for one in changes(before, now, last) if one.kind in kinds]
                before = now
                for one in found:
                    yield one
                quiet = 0 if found else quiet + 1
                if quiet >= QUIET_S * LOOKS_S:
                    quiet = 0
                    yield Happened("quiet", last, {})
                await asyncio.sleep(1 / LOOKS_S)
        finally:
            self.viewers -= 1

    def check(self) -> None:
        """Raise `TooManyViewers` if there are as many as there may be."""
        if self.viewers >= VIEWERS_MAX:
            raise TooManyViewers(limit=VIEWERS_MAX)

    def _records(self, kinds: Collection[str], last: int) -> tuple[list[Happened], int]:
        views, share = self._views, EVENTS_S_MAX // LOOKS_S
        newest = views.last_record
        found: list[Happened] = []
        if newest - last > share:
            found.append(Happened("folded", newest - share, {"count": newest - share - last}))
            last = newest - share
        if newest > last:
            for record in views.records(after=last, limit=share):
                last = record.seq
                kind = _TABLES.get(record.table, "")
                if kind in kinds:
                    found.append(Happened(kind, record.seq, record.columns))
        return found, last


def changes(before: TopologyView, now: TopologyView, record: int) -> Iterator[Happened]:
    """Which hosts came and went between two looks, and which agents are elsewhere now."""
    were, are = [{host.name: host for host in view.hosts} for view in (before, now)]
    for name in [*were, *[name for name in are if name not in were]]:
        if (name in were) != (name in are):
            what = "engaged" if name in are else "parted"
            yield Happened("engagement", record, {"host": name, "what": what})
    stood, stand = [
        {agent: host.name for host in view.hosts for agent in host.agents} for view in (before, now)
    ]
    for agent in [*stood, *[agent for agent in stand if agent not in stood]]:
        source, target = stood.get(agent, ""), stand.get(agent, "")
        if source != target:
            yield Happened("move", record, {"agent": agent, "from": source, "to": target})
