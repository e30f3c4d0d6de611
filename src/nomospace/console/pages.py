"""The pages: one frame, and in its middle the place that the address names.

Places are found by path. Going from one to another changes only the middle, so a click is answered
at once; what a place listens to ends when it is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from nicegui import app as pages_app
from nicegui import ui

from nomospace.console.frame import Frame
from nomospace.console.gate import PageHeaders
from nomospace.console.places import (
    communities,
    law_bench,
    meaning,
    member,
    now,
    pipeline,
    spaces,
)

if TYPE_CHECKING:
    from fastapi import FastAPI

    from nomospace.console.console import Console

Show = Callable[[Frame], None]


class Place(NamedTuple):
    """A place: its title, its sign on the rail, what shows it, and whether it is for operators."""

    title: str
    icon: str
    show: Show
    operator: bool = True


PLACES: Final[dict[str, Place]] = {
    "/now": Place("Now", "map", now.show),
    "/communities": Place("Communities", "groups", communities.show),
    "/spaces": Place("Spaces", "grid_view", spaces.show),
    "/bench": Place("Law bench", "gavel", law_bench.show),
    "/meaning": Place("Meaning", "account_tree", meaning.show),
    "/pipeline": Place("Pipeline", "insights", pipeline.show),
    "/member": Place("As a member", "person", member.show, operator=False),
}
RECONNECT_S: Final = 30.0
"""How long a window that lost its connection is waited for."""


def mount(app: FastAPI, console: Console) -> None:
    """Put the pages of a console into an application."""
    from nomospace.console.console import STATIC

    def root(token: str = "", story: str = "") -> None:
        """The one page: who looks comes from the guard, which has let them in."""
        del token  # it has done its work at the login
        state = ui.context.client.request.scope["state"]
        frame = Frame(console, state["principal"], state["token"])
        ui.context.client.on_disconnect(frame.leave)
        ui.add_head_html('<link rel="stylesheet" href="/console-static/console.css">')
        ui.dark_mode(None)
        seen = {
            path: place
            for path, place in places(console).items()
            if frame.viewer.operator or not place.operator
        }
        frame.draw({path: (place.title, place.icon) for path, place in seen.items()}, story)
        first = next(iter(seen))
        routes: dict[str, Any] = {path: _showing(frame, place) for path, place in seen.items()}
        routes["/"] = lambda: ui.navigate.to(first)
        ui.sub_pages(routes).classes("place")

    pages_app.add_static_files("/console-static", STATIC, max_cache_age=0)
    pages_app.add_middleware(PageHeaders)
    ui.run_with(
        app,
        root=root,
        title="Nomospace",
        favicon=STATIC / "sign.svg",
        dark=None,
        reconnect_timeout=RECONNECT_S,
        binding_refresh_interval=None,
        message_history_length=200,
        show_welcome_message=False,
        tailwind=False,
    )


def places(console: Console) -> dict[str, Place]:
    """The places of a console: those of every host, and of what it was handed."""
    del console
    return dict(PLACES)


def _showing(frame: Frame, place: Place) -> Callable[[], None]:
    def show() -> None:
        frame.leave()
        with ui.element("main").classes("place-body").props(f'aria-label="{place.title}"'):
            place.show(frame)

    return show
