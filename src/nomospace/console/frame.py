"""The frame of every page: the rail, the place in the middle, the drawer with stories.

A `Frame` is one browser window. It knows who looks (`viewer`), opens stories (`open`), and lets a
place hear the pulse of the hosts for as long as the window shows that place (`on_beat`). Times,
light and dark, and whether the host still answers are the browser's own business
(`static/console.js`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

from nicegui import ui

from nomospace.api.published import Principal
from nomospace.console import stories
from nomospace.console.console import Console
from nomospace.console.finding import Palette
from nomospace.console.look import attributes, plain_button, sign_button
from nomospace.console.pulse import Beat
from nomospace.console.stage import ConsolePlace
from nomospace.console.stories import StoryAddress

FACTS_S: Final = 2.0
"""How often the foot of the rail is brought up to date."""
DOTS_MAX: Final = 24
"""How many hosts of the group are shown as dots."""
DOT: Final = "(event) => event.target.title && emit(event.target.title)"
ASKED_MAX: Final = 6_000
"""How much of what an address asks is read."""


class Frame:
    """One window of the console."""

    def __init__(self, console: Console, viewer: Principal) -> None:
        self.console = console
        self.viewer = viewer
        self.help: Callable[[], None] | None = None
        """What the help button does here: a place that has help says so."""
        self.asked: dict[str, str] = {}
        """What the address asks of a place, as in `/spaces?template=(job, _)`."""
        self._leave: list[Callable[[], None]] = []
        self._tells: list[Callable[[Beat], None]] = []
        self._ends: list[Callable[[], None]] = []
        """What ends the hearing of each, while the window is there."""
        self._shown: StoryAddress | None = None
        self._links: dict[str, ui.link] = {}
        self._group: tuple[str, ...] = ()

    # -- live ------------------------------------------------------------------------------------

    def on_beat(self, tell: Callable[[Beat], None]) -> None:
        """Have a place hear every beat, until the window shows another place or closes.

        `tell` runs in the place's own slot, so it may change what the place shows.
        """
        slot = ui.context.slot

        def telling(beat: Beat) -> None:
            with slot:
                tell(beat)

        self._tells.append(telling)
        if ui.context.client.has_socket_connection:
            self._ends.append(self.console.pulse.listen(telling))
        else:
            self.console.pulse.expect()

    def connected(self) -> None:
        """The window is there, perhaps again: its place hears the pulse."""
        self.away()
        self._ends = [self.console.pulse.listen(tell) for tell in self._tells]

    def away(self) -> None:
        """The window is not there, and nothing is read for it: it may come back."""
        ends, self._ends = self._ends, []
        for end in ends:
            end()

    def on_leave(self, leave: Callable[[], None]) -> None:
        """Have something done when the place is left, or the window closes."""
        self._leave.append(leave)

    def leave(self) -> None:
        """The place is left: nothing is told to it any more."""
        self._tells.clear()
        self.away()
        leaving, self._leave = self._leave, []
        for leave in leaving:
            leave()
        self.help = None

    # -- stories -----------------------------------------------------------------------------------

    def open(self, kind: str, host: str, id: object) -> None:
        """Tell a story in the drawer, and put its address into that of the page."""
        address = StoryAddress(kind, host, str(id))
        with self._story:  # what was clicked may go with the story before
            self._show(address)
            self._say_address(str(address))

    def _say_address(self, story: str) -> None:
        ui.run_javascript(f"nomospace.story.address({json.dumps(story)})")

    def _show(self, address: StoryAddress) -> None:
        self._shown = address
        self._title.set_text(stories.title_of(address.kind))
        self._story.clear()
        with self._story:
            stories.tell(self, address)
        self._drawer.show()
        ui.run_javascript("nomospace.story.opened()")

    def shut(self) -> None:
        """Close the drawer; harmless when it is closed."""
        if self._drawer.value:
            self._hide()
            self._say_address("")

    def _hide(self) -> None:
        self._shown = None
        self._drawer.hide()
        ui.run_javascript("nomospace.story.shut()")

    def _went(self, path: str) -> None:
        """The window shows another address, by a link or on its way back."""
        self._mark(path)
        told = parse_qs(urlsplit(path).query[:ASKED_MAX], max_num_fields=20).get("story", [""])[0]
        address = StoryAddress.parse(told)
        if address is None:
            if self._drawer.value:
                self._hide()
        elif address != self._shown:
            self._show(address)

    def go(self, path: str) -> None:
        """Show another place."""
        ui.navigate.to(path)

    # -- what stays -----------------------------------------------------------------------------

    def draw(self, places: Mapping[str, ConsolePlace], story: str) -> None:
        """Draw what stays while places change; `places` by their path."""
        ui.link("To the place", "#place").classes("skip").move(ui.context.client.layout, 0)
        self._draw_drawer()
        with (
            ui.left_drawer(value=True, fixed=True)
            .classes("rail")
            .props("width=196 behavior=desktop")
        ):
            ui.label("Nomospace").classes("rail-name")
            self._draw_links(places)
            ui.space()
            self._draw_foot()
        if self.viewer.operator:
            Palette(self, places)
        router = ui.context.client.sub_pages_router
        router.on_path_changed(self._went)
        self._mark(router.current_path)
        address = StoryAddress.parse(story)
        if address is not None:
            self._show(address)

    def _draw_drawer(self) -> None:
        with (
            ui.right_drawer(value=False, bordered=True)
            .classes("story")
            .props(
                'width=420 overlay behavior=desktop no-swipe-open no-swipe-close aria-label="Story"'
            ) as self._drawer
        ):
            with ui.element("div").classes("story-head"):
                self._title = ui.label().classes("story-title").props("role=heading aria-level=2")
                sign_button("link", "Copy the address of this story", self._copy)
                sign_button("close", "Close the story", self.shut).classes("story-close")
            self._story = ui.element("div").classes("story-body")

    def _draw_links(self, places: Mapping[str, ConsolePlace]) -> None:
        group = ""
        with ui.element("nav").props('aria-label="Places"').classes("rail-links"):
            for path, place in places.items():
                if place.group != group:
                    ui.separator().classes("rail-line")
                    group = place.group
                link = ui.link(target=path).classes("rail-link").props(f'data-place="{path}"')
                with attributes(link, title=place.title):
                    ui.icon(place.icon).props("aria-hidden=true")
                    ui.label(place.title).classes("rail-title")
                self._links[path] = link

    def _draw_foot(self) -> None:
        name = self.console.name
        with ui.element("div").classes("rail-foot"):
            with plain_button("rail-host", lambda: self.open("host", name, name), title=name):
                self._well = ui.label().classes("rail-well")
                ui.label(name).classes("rail-host-name")
            self._dots = ui.element("div").classes("dots").props('role=group aria-label="Group"')
            # One for all dots: a listener of its own for each would take as long as all the rest.
            self._dots.on(
                "click", lambda event: self.open("host", name, event.args), js_handler=DOT
            )
            ui.element("button").classes("rail-clock num").props(
                'id="rail-clock" type=button title="Switch between local time and UTC"'
            ).on("click", js_handler="() => nomospace.time.toggleUtc()")
            with ui.element("div").classes("rail-buttons"):
                look = sign_button("contrast", "Look").props('id="rail-look"')
                look.on("click", js_handler="() => nomospace.look.next()")
                sign_button("help_outline", "Help", self._help)
                leave = sign_button("logout", "Log out").props("data-logout")
                leave.on("click", js_handler="() => nomospace.host.logOut()")
        self._refresh()
        ui.timer(FACTS_S, self._refresh)

    def _refresh(self) -> None:
        service = self.console.service
        well = bool(service.health()["well"])
        # Who is in the group is for those who may see the host; its name and health are for all.
        seen = service.views.topology().hosts if self.viewer.operator else ()
        group = tuple([host.name for host in seen])
        said = "is well" if well else "takes no steps: its store is in trouble"
        if self._well.props.get("title") != said:
            self._well.set_text("●" if well else "✕")
            self._well.classes(replace=f"rail-well {'forwarded' if well else 'refused'}")
            attributes(self._well, title=said, aria_label=said, role="img")
        if group != self._group:
            self._group = group
            self._draw_dots(group)

    def _draw_dots(self, group: tuple[str, ...]) -> None:
        self._dots.clear()
        with self._dots:
            for name in group[:DOTS_MAX]:
                dot = attributes(ui.element("button"), type="button", title=name, aria_label=name)
                dot.classes("dot")
            if len(group) > DOTS_MAX:
                ui.label(f"+{len(group) - DOTS_MAX}").classes("quiet")
            alone = len(group) < 2
            ui.label("on its own" if alone else f"{len(group)} engaged").classes("quiet dots-said")

    def _mark(self, path: str) -> None:
        """Say on the rail which place is shown, and take what the address asks of it."""
        parts = urlsplit(path)
        asked = parse_qs(parts.query[:ASKED_MAX], max_num_fields=20)
        self.asked = {name: values[0] for name, values in asked.items() if name != "story"}
        shown = next(iter(self._links), "") if parts.path in ("", "/") else parts.path
        for at, link in self._links.items():
            if at == shown:
                link.props("aria-current=page")
            elif "aria-current" in link.props:
                link.props(remove="aria-current")

    def _help(self) -> None:
        if self.help is not None:
            self.help()
        else:
            self.open("help", self.console.name, "keys")

    def _copy(self) -> None:
        ui.run_javascript("navigator.clipboard?.writeText(location.href)")
        ui.notify("Address copied", timeout=1500)
