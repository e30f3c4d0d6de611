"""Who is on the map of *Now*, and in which room: hosts, or agents of one role or community.

However many there are, a window draws a bounded part: the busiest, chosen once, so that nobody's
place changes because somebody else came, went or worked. The rest is counted, and a story lists it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from nicegui import ui

from nomospace.console.console import Console
from nomospace.console.frame import Frame
from nomospace.console.look import doorway, mono
from nomospace.console.places.typed import Typed
from nomospace.console.pulse import Beat
from nomospace.console.stories import story

WAYS: Final = ("host", "role", "community")
"""How agents can be put together."""
ROOMS_MAX: Final = 24
"""How many rooms are drawn."""
SIGNS_MAX: Final = 2_000
"""How many agents are drawn, in all rooms together."""
CROWD: Final = 48
"""In a room with more agents the busiest have the first seats; else they stand by role."""
LISTED_MAX: Final = 200
NO_ROLE, NO_LAW, ELSEWHERE = "no role", "no law", "at other hosts"

FloorPlan: TypeAlias = dict[str, Any]
"""What the map draws (`static/now/map.js`)."""


class StandingAgent(NamedTuple):
    """An agent: where it is, what it is called, and what it is there."""

    id: str
    host: str
    name: str
    role: str
    communities: tuple[str, ...] = ()


class FloorRoom(NamedTuple):
    """Agents that stand together; `more` are those whose names are not known here."""

    name: str
    title: str
    agents: list[StandingAgent]
    engaged: bool = True
    more: int = 0


def rooms_of(console: Console, beat: Beat, by: str) -> list[FloorRoom]:
    """All rooms with all that are in them, in a lasting order."""
    hosts = list(_hosts(console, beat))
    if by == "host":
        return hosts
    found: dict[str, FloorRoom] = {}
    laws = _communities(console) if by == "community" else {}
    for host in hosts:
        for one in host.agents:
            name = one.role or NO_ROLE
            if by == "community":
                name = laws.get(one.id, NO_LAW if one.host in console.services else ELSEWHERE)
            found.setdefault(name, FloorRoom(name, name, [])).agents.append(one)
        if host.more:
            rest = found.setdefault(ELSEWHERE, FloorRoom(ELSEWHERE, ELSEWHERE, []))
            found[ELSEWHERE] = rest._replace(more=rest.more + host.more)
    return [found[name] for name in sorted(found)]


def _hosts(console: Console, beat: Beat) -> Iterator[FloorRoom]:
    """Hosts of the group, and those of this process that stand apart from it."""
    wards = {ward.host: ward for ward in console.stages.plugin.floor()}
    people = {one.agent: one for ward in wards.values() for one in ward.people}
    group = {host.name: host for host in beat.topology.hosts}
    apart = {
        host.name: host
        for topology in beat.beside
        for host in topology.hosts
        if host.here and host.name not in group
    }
    order = {name: at for at, name in enumerate(wards)}
    everyone = sorted(
        (group | apart).items(), key=lambda one: (order.get(one[0], len(order)), counted(one[0]))
    )
    for name, host in everyone:
        agents = []
        for agent in host.agents:
            person = people.get(agent)
            called = (person.name, person.role) if person else (agent.partition("@")[0], "")
            agents.append(StandingAgent(agent, name, *called))
        title = wards[name].title if name in wards else name
        yield FloorRoom(name, title, agents, name in group, host.agents_count - len(agents))


def counted(name: str) -> list[tuple[int, str]]:
    """What puts names into the order in which people count.

    >>> sorted(["ward-10", "ward-2", "icu"], key=counted)
    ['icu', 'ward-2', 'ward-10']
    """
    parts = re.split(r"(\d{1,9})", name)
    return [(int(part), "") if at % 2 else (0, part) for at, part in enumerate(parts)]


def _communities(console: Console) -> dict[str, str]:
    """The laws of the agents of this process, by agent."""
    return {
        one.id: ", ".join(sorted(one.laws))
        for service in console.services.values()
        for one in service.views.agents()
        if one.laws
    }


class ShownFloor:
    """What one window draws. Who is drawn stays, while it is there and the way is the same."""

    def __init__(self) -> None:
        self.by = WAYS[0]
        self._rooms: dict[str, dict[str, None]] = {}

    def group(self, by: str) -> None:
        """Put agents together another way."""
        if by in WAYS and by != self.by:
            self.by = by
            self._rooms = {}

    def plan(
        self, rooms: list[FloorRoom], busy: Mapping[str, float], links: Iterable[list[str]] = ()
    ) -> FloorPlan:
        """What to draw of rooms; `busy` tells how much each agent has done lately."""
        drawn = self._chosen(rooms, busy)
        most = max(CROWD, SIGNS_MAX // max(1, len(drawn)))
        shown: dict[str, dict[str, None]] = {}
        told = []
        for room in drawn:
            here = {one.id: one for one in room.agents}
            kept = [name for name in self._rooms.get(room.name, ()) if name in here][:most]
            taken = dict.fromkeys(kept)
            if len(taken) < min(most, len(here)):  # else whoever is drawn stays
                for one in sorted(room.agents, key=partial(_first, busy, len(room.agents) > CROWD)):
                    if len(taken) >= most:
                        break
                    taken.setdefault(one.id)
            shown[room.name] = taken
            told.append(
                {
                    "name": room.name,
                    "title": room.title,
                    "pick": "host" if self.by == "host" else "group",
                    "engaged": room.engaged,
                    "agents": [_told(here[name], room.name) for name in taken],
                    "more": room.more + len(here) - len(taken),
                }
            )
        self._rooms = shown
        away = [room for room in rooms if room.name not in shown]
        people = sum(len(room.agents) + room.more for room in away)
        many = {"host": "hosts", "role": "roles", "community": "communities"}[self.by]
        hidden = f"and {len(away):,} more {many} with {people:,} agents" if away else ""
        links = [link for link in links if self.by == "host"]
        return {"by": self.by, "rooms": told, "links": links, "hidden": hidden}

    def _chosen(self, rooms: list[FloorRoom], busy: Mapping[str, float]) -> list[FloorRoom]:
        """The rooms that are drawn, in their lasting order."""
        if len(rooms) <= ROOMS_MAX:
            return rooms

        def first(room: FloorRoom) -> tuple[bool, float, int]:
            work = sum(busy.get(one.id, 0.0) for one in room.agents)
            return (room.name not in self._rooms, -work, -len(room.agents))

        names = {room.name for room in sorted(rooms, key=first)[:ROOMS_MAX]}
        return [room for room in rooms if room.name in names]


def _told(one: StandingAgent, room: str) -> str | list[str]:
    """An agent as the map draws it: whoever is nothing in particular by its id alone."""
    if (one.name, one.role, one.host) == (one.id.partition("@")[0], "", room):
        return one.id
    return [one.id, one.name, one.role, one.host]


def _first(busy: Mapping[str, float], crowded: bool, one: StandingAgent) -> tuple[object, ...]:
    return (-busy.get(one.id, 0.0) if crowded else 0.0, one.role, one.id)


@story("group", "Agents")
def tell_group(frame: Frame, host: str, id: str) -> None:
    """Everybody in a room of the map, the busiest first, or every room; by `way/name`."""
    del host
    by, _, name = id.partition("/")
    beat, busy = frame.console.pulse.look_now(), frame.console.pulse.busy
    rooms = rooms_of(frame.console, beat, by if by in WAYS else WAYS[0])
    lines: list[tuple[str, str, str, str]] = []
    if name:
        agents = [one for room in rooms if room.name == name for one in room.agents]
        agents.sort(key=partial(_first, busy, True))
        lines += [("agent", one.id, one.id, f"{one.role} {one.host}".strip()) for one in agents]
    else:
        for room in sorted(rooms, key=lambda one: (-len(one.agents) - one.more, one.name)):
            kind, key = ("host", room.name) if by == "host" else ("group", f"{by}/{room.name}")
            lines.append((kind, key, room.title, f"{len(room.agents) + room.more:,} agents"))
    mono(name or f"all {by}s").classes("story-name wrap")

    def draw() -> None:
        wanted = box.value.strip().lower()
        found = [line for line in lines if wanted in f"{line[2]} {line[3]}".lower()]
        shown.clear()
        with shown:
            ui.label(f"{len(found):,} of {len(lines):,}").classes("quiet num").props("role=status")
            for kind, key, title, about in found[:LISTED_MAX]:
                with ui.element("div").classes("line-up"):
                    doorway(title, partial(frame.open, kind, frame.console.name, key))
                    ui.label(about).classes("quiet")
            if len(found) > LISTED_MAX:
                more = f"{len(found) - LISTED_MAX:,} more; type a part of the name"
                ui.label(more).classes("quiet")

    box = Typed("Only names with", placeholder="any", on_type=draw)
    shown = ui.element("div").classes("story-body")
    draw()
