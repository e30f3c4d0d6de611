"""Spaces as one sees them at all hosts of a console: one name is one space, wherever tuples lie.

That is what sharing means: a space that agents of several hosts share is one while they are
together. Private spaces are of one agent. `LimeSystem` is each host's own, so one sees that of the
host that serves the pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from nomospace.api.published import NotSeen, SetView, SpaceInside, SpaceView, TupleView, fields_text
from nomospace.api.service import Service
from nomospace.console.places.listing import ROWS_MAX, Row

SYSTEM: Final = "LimeSystem"
SPACES_MAX: Final = 300
"""How many spaces are listed."""
FIELD_CHARS_MAX: Final = 300


class SpaceName(NamedTuple):
    """Which space: its name, and the agent that has it for itself, if one does."""

    name: str
    agent: str = ""


class SpaceEntry(NamedTuple):
    """A space in the list of them."""

    which: SpaceName
    tuples: int
    waiting: int
    reactions: int
    law: str
    ontology: str
    hosts: int

    @property
    def writable(self) -> bool:
        """Whether agents may write to it by way of this page."""
        return not self.which.agent and self.which.name != SYSTEM


class SpaceTuples(NamedTuple):
    """Tuples of a space at all hosts; `whole` if these are all that match."""

    rows: list[Row]
    total: int
    whole: bool
    sets: list[SetView]


def entries(services: Mapping[str, Service]) -> list[SpaceEntry]:
    """The spaces: shared ones by name, then private ones, then the one that shows who is there."""
    found: dict[SpaceName, SpaceEntry] = {}
    for number, service in enumerate(services.values()):
        for one in service.views.spaces():
            if one.name == SYSTEM and number:
                continue
            which = SpaceName(one.name, "" if one.shared else one.agents[0])
            found[which] = _sum(found.get(which), which, one)
    return sorted(
        found.values(), key=lambda one: (one.which.name == SYSTEM, one.which.agent, one.which.name)
    )[:SPACES_MAX]


def _sum(before: SpaceEntry | None, which: SpaceName, one: SpaceView) -> SpaceEntry:
    was = before or SpaceEntry(which, 0, 0, 0, one.law, one.ontology, 0)
    return was._replace(
        tuples=was.tuples + one.tuples,
        waiting=was.waiting + one.waiting,
        reactions=was.reactions + one.reactions,
        hosts=was.hosts + 1,
    )


def tuples(
    services: Mapping[str, Service],
    which: SpaceName,
    template: Sequence[object],
    *,
    together: bool,
    after: int = 0,
) -> SpaceTuples:
    """What lies in a space and matches, host by host; `after` passes over so many."""
    rows: list[Row] = []
    sets: list[SetView] = []
    total, whole, several = 0, True, len(services) > 1
    left = after
    for host, service in _holding(services, which):
        try:
            found = service.views.tuples(
                which.name,
                agent=which.agent,
                template=template,
                together=together,
                limit=ROWS_MAX,
                after=left,
            )
        except NotSeen:
            continue
        left -= found.skipped
        rows += [_row(host, one, several) for one in found.tuples]
        sets += found.sets
        total += found.total
        whole = whole and found.whole
    return SpaceTuples(rows[:ROWS_MAX], total, whole and len(rows) <= ROWS_MAX, sets)


def inside(services: Mapping[str, Service], which: SpaceName) -> list[tuple[str, SpaceInside]]:
    """What goes on in a space, host by host."""
    found = []
    for host, service in _holding(services, which):
        try:
            found.append((host, service.views.inside(which.name, agent=which.agent)))
        except NotSeen:
            continue
    return found


def _holding(services: Mapping[str, Service], which: SpaceName) -> list[tuple[str, Service]]:
    all_of_them = list(services.items())
    return all_of_them[:1] if which.name == SYSTEM else all_of_them


def _row(host: str, one: TupleView, several: bool) -> Row:
    fields = fields_text(one.fields)
    return {
        "id": f"{host}/{one.id}",
        "tuple": fields if len(fields) <= FIELD_CHARS_MAX else f"{fields[:FIELD_CHARS_MAX]}…",
        "at": f"{one.holder} on {host}" if several else one.holder,
        "to": one.dest if one.dest != one.holder else "",
        "to_hint": f"for {one.dest}, who does not hold it yet" if one.dest != one.holder else "",
        "written": one.written_at,
        "until": one.lent_until or one.expires,
        "until_word": "lent" if one.lent_until else "ends",
        "why": one.why,
    }
