"""Now: hosts and agents on a live map, rulings as they come, and how much happens in a second.

The page is told once a beat, in one message, and draws by itself (`static/now`): however many
agents there are, they are no elements of this process. The floor is sent when it has changed. What
a new page begins with comes with the page: it is drawn before there is a socket.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from nomospace.console.frame import Frame
from nomospace.console.glossary import what_it_is
from nomospace.console.keeping import kept
from nomospace.console.look import gist, verdict_of
from nomospace.console.places.beginning import BeginCard
from nomospace.console.places.floor import FloorPlan, ShownFloor, rooms_of
from nomospace.console.pulse import KEPT_MAX, Beat, Moment, SeenRuling

GIST_MAX: Final = 120
EVENT_MAX: Final = 600
"""How much of an event a line shows on hover; its story has all of it."""
FIRST_LINES: Final = 60
"""How many of the latest rulings come with a page: what is in sight."""


class Board(ui.element, component="../static/now.js"):
    """What the browser draws of this place; it begins with `begun`, if that came with the page."""


def show(frame: Frame) -> None:
    """Show the place in a window."""
    console = frame.console
    board = Board().classes("now-host")
    with board:
        what_it_is(frame)
        (console.stages.plugin.over_map or BeginCard)(frame)
    floor = kept(frame, ShownFloor)
    floor_told: FloorPlan | None = None
    whole = False
    floor_of: object = None

    def pick(event: GenericEventArguments) -> None:
        kind, host, id = [str(event.args[name]) for name in ("kind", "host", "id")]
        frame.open(kind, host if host in console.services else console.name, id)

    def plan(beat: Beat) -> FloorPlan:
        nonlocal floor_of
        of = beat.topology.hosts, [one.hosts for one in beat.beside], console.stages.plugin.floor()
        if floor_told is not None and floor.by == "host" == floor_told["by"] and of == floor_of:
            return floor_told  # whoever is drawn stays
        floor_of = of
        return floor.plan(rooms_of(console, beat, floor.by), console.pulse.busy, links_of(beat))

    def begin(beat: Beat, found: FloorPlan, lines: int) -> dict[str, object]:
        latest = list(console.pulse.latest)[-lines:]
        moments = [_moment(one) for one in console.pulse.moments]
        return _told(beat, latest) | {"floor": found, "moments": moments}

    def tell(beat: Beat) -> None:
        nonlocal floor_told, whole
        if board.props.pop("begun", ""):
            return  # what came with the page is being drawn: all of it follows with the next beat
        found = plan(beat)
        if not whole or beat.first or floor_told is None:
            told = begin(beat, found, KEPT_MAX)
            if not whole and found == floor_told:  # it came with the page
                del told["floor"]
            whole = True
            board.run_method("begin", told)
        else:
            news = _told(beat, beat.rulings) | {"moment": _moment(console.pulse.moments[-1])}
            if found != floor_told:
                news["floor"] = found
            board.run_method("beat", news)
        floor_told = found

    beat = console.pulse.beat
    if beat is not None and not ui.context.client.has_socket_connection:
        floor_told = plan(beat)
        told = begin(beat, floor_told, FIRST_LINES) | {"runs": []}
        board.props["begun"] = json.dumps(told, separators=(",", ":"))
    board.on("pick", pick)
    board.on("group", lambda event: floor.group(str(event.args)))
    frame.on_beat(tell)


def links_of(beat: Beat) -> list[list[str]]:
    """Which hosts are neighbours, each pair once."""
    links = {
        tuple(sorted((topology.host, host.name))): None
        for topology in (beat.topology, *beat.beside)
        for host in topology.hosts
        if host.neighbour
    }
    return [list(link) for link in links]


def _told(beat: Beat, rulings: Iterable[SeenRuling]) -> dict[str, object]:
    return {
        "at": beat.at,
        "rulings": [_line(one) for one in rulings],
        "folded": sum(beat.folded.values()),
        "runs": [
            [host, one.home, one.kind, verdict_of(one), one.rule, one.message, one.times]
            for host, one in beat.runs
        ],
        "rates": {
            name: [round(one.sent_s, 2), round(one.refused_s, 2)]
            for name, one in beat.rates.items()
        },
    }


def _line(seen: SeenRuling) -> list[object]:
    one = seen.ruling
    known = [seen.host, one.record, one.at, one.home, one.kind, verdict_of(one)]
    text = gist(one.kind, one.event)[:GIST_MAX]
    return [*known, text, one.rule, one.to, one.event[:EVENT_MAX]]


def _moment(moment: Moment) -> list[float | None]:
    sent, refused, hops = [round(rate, 2) for rate in moment.rates[:3]]
    return [moment.at, sent, refused, hops, None if moment.past else moment.rates.obligations]
