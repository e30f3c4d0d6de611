"""Now: hosts and agents on a live map, rulings as they come, and how much happens in a second.

The page is told once a beat, in one message, and draws by itself (`static/now`): however many
agents there are, they are no elements of this process. The floor is sent when it has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from nicegui import ui
from nicegui.events import GenericEventArguments

from nomospace.console.glossary import what_it_is
from nomospace.console.look import gist, verdict_of
from nomospace.console.places.beginning import BeginCard
from nomospace.console.pulse import KEPT_MAX, Beat, Moment, SeenRuling

if TYPE_CHECKING:
    from nomospace.console.console import Console
    from nomospace.console.frame import Frame

AGENTS_MAX: Final = 400
"""How many agents of one host are drawn; of more, it is said how many."""
GIST_MAX: Final = 120
EVENT_MAX: Final = 600
"""How much of an event a line shows on hover; its story has all of it."""


FloorPlan: TypeAlias = dict[str, Any]
"""The `rooms` of the map, and the `links` between them."""


class Board(ui.element, component="../static/now.js"):
    """What the browser draws of this place."""


def show(frame: Frame) -> None:
    """Show the place in a window."""
    console = frame.console
    board = Board().classes("now-host")
    with board:
        what_it_is(frame)
        (console.stages.plugin.over_map or BeginCard)(frame)
    floor_told: FloorPlan | None = None
    moment_told = 0

    def pick(event: GenericEventArguments) -> None:
        asked = event.args
        host = str(asked["host"])
        host = host if host in console.services else console.name
        frame.open(str(asked["kind"]), host, str(asked["id"]))

    def tell(beat: Beat) -> None:
        nonlocal floor_told, moment_told
        floor = floor_of(console, beat)
        if floor_told is None:
            moments = [_moment(one) for one in console.pulse.moments]
            latest = list(console.pulse.latest)[-KEPT_MAX:]
            board.run_method("begin", _told(beat, latest) | {"floor": floor, "moments": moments})
        else:
            news = _told(beat, beat.rulings)
            if floor != floor_told:
                news["floor"] = floor
            newest = console.pulse.moments[-1] if console.pulse.moments else None
            if newest is not None and newest.at > moment_told:
                news["moment"] = _moment(newest)
            board.run_method("beat", news)
        floor_told = floor
        if console.pulse.moments:
            moment_told = console.pulse.moments[-1].at

    board.on("pick", pick)
    frame.on_beat(tell)


def floor_of(console: Console, beat: Beat) -> FloorPlan:
    """The rooms of the map with who is in each, and the links between them.

    Hosts of this process that are not in the group stand apart from it.
    """
    wards = {ward.host: ward for ward in console.stages.plugin.floor()}
    people = {one.agent: one for ward in wards.values() for one in ward.people}
    hosts = {host.name: host for host in beat.topology.hosts}
    apart = {
        host.name: host
        for topology in beat.beside
        for host in topology.hosts
        if host.here and host.name not in hosts
    }
    rooms = []
    for name, host in (hosts | apart).items():
        agents = []
        for agent in host.agents[:AGENTS_MAX]:
            person = people.get(agent)
            short = agent.partition("@")[0]
            agents.append([agent, *((person.name, person.role) if person else (short, ""))])
        agents.sort(key=lambda one: (one[2], one[0]))
        rooms.append(
            {
                "name": name,
                "title": wards[name].title if name in wards else name,
                "engaged": name in hosts,
                "agents": agents,
                "more": host.agents_count - len(agents),
            }
        )
    links = {
        tuple(sorted((topology.host, host.name))): None
        for topology in (beat.topology, *beat.beside)
        for host in topology.hosts
        if host.neighbour
    }
    return {"rooms": rooms, "links": [list(link) for link in links]}


def _told(beat: Beat, rulings: Iterable[SeenRuling]) -> dict[str, object]:
    return {
        "at": beat.at,
        "rulings": [_line(one) for one in rulings],
        "folded": sum(beat.folded.values()),
        "rates": {
            name: [round(one.sent_s, 2), round(one.refused_s, 2)]
            for name, one in beat.rates.items()
        },
    }


def _line(seen: SeenRuling) -> list[object]:
    one = seen.ruling
    verdict = verdict_of(one) if one.community else "noted"
    return [
        seen.host,
        one.record,
        one.at,
        one.home,
        one.kind,
        verdict,
        gist(one.kind, one.event)[:GIST_MAX],
        one.rule,
        one.to,
        one.event[:EVENT_MAX],
    ]


def _moment(moment: Moment) -> list[float]:
    rates = moment.rates
    return [
        moment.at,
        round(rates.sent_s, 2),
        round(rates.refused_s, 2),
        round(rates.hops_s, 2),
        rates.obligations,
    ]
