"""The pages: one frame, and in its middle the place that the address names.

Places are found by path. Going from one to another changes only the middle, so a click is answered
at once; what a place listens to ends when it is left.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import nicegui
from fastapi import FastAPI
from nicegui import Client, app as pages_app, ui
from nicegui.client import templates
from nicegui.dependencies import js_components
from starlette.middleware.gzip import GZipMiddleware

import nomospace.console.common_stories
import nomospace.console.glossary
import nomospace.console.places.spaces.story  # noqa: F401 (their stories register themselves)
from nomospace.console.console import Console
from nomospace.console.files import FilesAtHand, SiteFolder
from nomospace.console.frame import Frame
from nomospace.console.gate import PAGES_CSP, PageHeaders
from nomospace.console.look import attributes
from nomospace.console.places import now
from nomospace.console.places.communities.place import Communities
from nomospace.console.places.law_bench import place as law_bench
from nomospace.console.places.meaning.place import MeaningPlace
from nomospace.console.places.member.place import MemberPlace
from nomospace.console.places.pipeline import place as pipeline
from nomospace.console.places.spaces.place import SpacesPlace
from nomospace.console.places.story import place as whole_story
from nomospace.console.stage import ConsolePlace

PLACES: Final[dict[str, ConsolePlace]] = {
    "/now": ConsolePlace("Now", "map", now.show),
    "/communities": ConsolePlace("Communities", "groups", Communities),
    "/spaces": ConsolePlace("Spaces", "grid_view", SpacesPlace),
    "/bench": ConsolePlace("Law bench", "gavel", law_bench.show),
    "/meaning": ConsolePlace("Meaning", "account_tree", MeaningPlace),
    "/pipeline": ConsolePlace("Pipeline", "insights", pipeline.show),
    "/member": ConsolePlace("As a member", "person", MemberPlace, operator=False, group="member"),
}
LOOKS: Final = {"light": False, "dark": True}
"""What the browser remembers of the look; else it is that of the system."""
LOST_MAX: Final = 100
"""How much of an address that leads nowhere is said again."""
RECONNECT_S: Final = 30.0
"""How long a window that lost its connection is waited for."""
_LIBRARY: Final = f"/_nicegui/{nicegui.__version__}"
_FIRST_OF_LIBRARY: Final = (
    *("fonts.css", "quasar.unimportant.prod.css", "quasar.important.prod.css", "nicegui.css"),
    *("vue.esm-browser.prod.js", "socket.io.min.js", "quasar.umd.prod.js", "nicegui.js"),
    *("lang/en-US.umd.prod.js", "dompurify.mjs"),
)
"""What its pages begin with; a name that it has no more does no harm."""
_SIGNS: Final = re.compile(r'font-family: "Material Icons";[^}]*url\((fonts/[^)]+)\)')


def mount(app: FastAPI, console: Console) -> None:
    """Put the pages of a console into an application."""
    from nomospace.console.console import STATIC

    head = "".join(_head(STATIC, console.stages.plugin.static))

    async def root(token: str = "", story: str = "") -> None:
        """The one page: who looks comes from the guard, which has let them in.

        It is made in parts, between which the host does what else there is to do.
        """
        del token  # it has done its work at the login
        client = ui.context.client
        state = client.request.scope["state"]
        frame = Frame(console, state["principal"])
        # Whoever may do something else from now on needs a new page: this one does nothing more.
        unwatch = console.service.watch(
            state["principal"], state["session"], lambda _: _end(frame, client)
        )
        client.on_delete(unwatch)
        client.on_connect(frame.connected)
        # Of two sockets of a window the old one may end after the new one has begun.
        client.on_disconnect(lambda: None if client.has_socket_connection else frame.away())
        client.on_delete(frame.leave)
        ui.add_head_html(head)
        # The place itself is the page's main part, and not what the layout has around it.
        around = client.content.parent_slot
        assert around is not None, "the middle is inside the layout"
        around.parent.props("role=presentation")
        ui.dark_mode(LOOKS.get(client.request.cookies.get("nomospace_look", "")))
        seen = {
            path: place
            for path, place in places(console).items()
            if frame.viewer.operator or not place.operator
        }
        first = next(iter(seen.values()))
        shown = seen.get(urlsplit(client.sub_pages_router.current_path).path, first)
        if shown is PLACES["/now"]:
            await console.pulse.begun()  # before there is a timer: who has one is not waited for
        frame.draw(seen, story)
        await asyncio.sleep(0)
        routes = {path: _showing(frame, place) for path, place in seen.items()}
        if frame.viewer.operator:
            routes["/story"] = _showing(frame, ConsolePlace("Story", "", whole_story.show))
        routes["/"] = _home(frame, first)
        found = ui.sub_pages(routes, show_404=False)
        attributes(found.classes("place"), id="place", tabindex="-1")
        await asyncio.sleep(0)

    ui.run_with(
        app,
        root=root,
        title="Nomospace",
        favicon=STATIC / "sign.svg",
        dark=None,
        language="en-US",
        reconnect_timeout=RECONNECT_S,
        binding_refresh_interval=None,
        message_history_length=200,
        show_welcome_message=False,
        tailwind=False,
        # Most who look sit at the same machine: packing tighter would take longer than sending.
        gzip_middleware_factory=lambda app: GZipMiddleware(app, compresslevel=1),
    )
    # Who asks for a file is behind the guard, and needs nothing else of the application.
    policy = {"content-security-policy": PAGES_CSP}
    app.add_middleware(
        FilesAtHand, folders=_folders(STATIC), headers=policy, early=_first_files(STATIC)
    )
    pages_app.add_middleware(PageHeaders)
    templates.get_template("index.html")  # is compiled now: else the first who looks waits for it


def _end(frame: Frame, client: Client) -> None:
    """Take everything off a page, so that nothing on it can be used, whoever is connected."""
    frame.leave()
    client.remove_all_elements()


def places(console: Console) -> dict[str, ConsolePlace]:
    """The places of a console: those of every host, and of what it was handed."""
    first = dict(PLACES)
    last = {"/member": first.pop("/member")}
    return first | dict(console.stages.plugin.places) | last


def _home(frame: Frame, first: ConsolePlace) -> Callable[..., None]:
    """What is shown at the address alone; an address that leads nowhere says so, and leads here."""

    def show() -> None:
        lost = urlsplit(ui.context.client.sub_pages_router.current_path).path.strip("/")
        place = first._replace(title="Nowhere", show=lambda _: _lost(lost)) if lost else first
        _showing(frame, place)()

    return show


def _lost(path: str) -> None:
    with ui.element("div").classes("empty"):
        ui.label(f"There is no place {path[:LOST_MAX]} here.")
        ui.link("Go to Now", "/now").classes("doorway")


def _showing(frame: Frame, place: ConsolePlace) -> Callable[..., None]:
    def show(
        template: str = "", space: str = "", make: str = "", ontology: str = "", about: str = ""
    ) -> None:
        # The frame has them; named here, a change of them shows the place anew.
        del template, space, make, ontology, about
        frame.leave()
        ui.page_title(f"{place.title} · {frame.console.name}")
        with attributes(ui.element("main").classes("place-body"), aria_label=place.title):
            ui.label(place.title).classes("place-name").props("role=heading aria-level=1")
            place.show(frame)

    return show


def _folders(static: Path) -> dict[str, SiteFolder]:
    """The files that pages load: ours, and those of NiceGUI, whose paths have its version.

    Components have paths of their own, which do not change with what is in them.
    """
    return {
        "/console-static": SiteFolder(static, "public, max-age=0"),
        f"{_LIBRARY}/static": SiteFolder(
            Path(nicegui.__file__).parent / "static", "public, max-age=31536000, immutable"
        ),
        **{
            f"{_LIBRARY}/components/{key}": SiteFolder(one.path, "public, max-age=0")
            for key, one in js_components.items()
        },
    }


def _first_files(static: Path) -> Iterator[str]:
    """What every page asks for."""
    for name in ("console.js", *[f"now/{module.name}" for module in static.glob("now/*.js")]):
        yield f"/console-static/{name}"
    for name in _FIRST_OF_LIBRARY:
        yield f"{_LIBRARY}/static/{name}"
    yield f"{_LIBRARY}/static/{_signs_font()}"


def _head(static: Path, added: Path | None) -> Iterator[str]:
    """What every page begins with: all style sheets, the console's own first, and its script.

    The sheets are put into the page, and what Now imports, and the signs on the rail, are asked for
    at once: a page that asks for few things one after the other is there soon.
    """
    sheets = sorted(static.glob("*.css"), key=lambda sheet: (sheet.stem != "console", sheet.stem))
    if added is not None:
        sheets += sorted(added.glob("*.css"))
    rules = "\n".join(sheet.read_text("utf-8") for sheet in sheets)
    yield f"<style>{rules}</style>"
    yield '<script src="/console-static/console.js"></script>'
    for module in sorted(static.glob("now/*.js")):
        yield f'<link rel="modulepreload" href="/console-static/now/{module.name}">'
    yield f'<link rel="preload" as="font" crossorigin href="{_LIBRARY}/static/{_signs_font()}">'


def _signs_font() -> str:
    """Where NiceGUI has the font of the signs; its name changes with the font."""
    fonts = (Path(nicegui.__file__).parent / "static" / "fonts.css").read_text("utf-8")
    found = _SIGNS.search(fonts)
    assert found is not None, "NiceGUI has Material Icons"
    return found[1]
