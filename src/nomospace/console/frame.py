"""The frame of every page: the rail, the place in the middle, the drawer with stories.

A `Frame` is one browser window. It knows who looks (`viewer`), opens stories (`open`), and lets a
place hear the pulse of the hosts for as long as the window shows that place (`on_beat`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from nomospace.console import stories
from nomospace.console.stories import Address

if TYPE_CHECKING:
    from nomospace.api.published import Principal
    from nomospace.console.console import Console
    from nomospace.console.pulse import Beat


class Frame:
    """One window of the console."""

    def __init__(self, console: Console, viewer: Principal, token: str) -> None:
        self.console = console
        self.viewer = viewer
        self.token = token
        self._leave: list[Callable[[], None]] = []
        self._drawer: Any = None
        self._story: Any = None
        self._title: Any = None

    # -- live ------------------------------------------------------------------------------------

    def on_beat(self, tell: Callable[[Beat], None]) -> None:
        """Have a place hear every beat, until the window shows another place or closes.

        `tell` runs in the place's own slot, so it may change what the place shows.
        """
        client = ui.context.client
        slot = ui.context.slot

        def telling(beat: Beat) -> None:
            if client.has_socket_connection:
                with slot:
                    tell(beat)

        self._leave.append(self.console.pulse.listen(telling))

    def leave(self) -> None:
        """The place is left: nothing is told to it any more."""
        for leave in self._leave:
            leave()
        self._leave.clear()

    # -- stories -----------------------------------------------------------------------------------

    def open(self, kind: str, host: str, id: object) -> None:
        """Tell a story in the drawer, and put its address into that of the page."""
        address = Address(kind, host, str(id))
        self._show(address)
        path = ui.context.client.sub_pages_router.current_path.partition("?")[0]
        ui.navigate.history.replace(f"{path}?story={address}")

    def _show(self, address: Address) -> None:
        self._title.set_text(stories.title_of(address.kind))
        self._story.clear()
        with self._story:
            stories.tell(self, address)
        self._drawer.show()

    def shut(self) -> None:
        """Close the drawer."""
        self._drawer.hide()
        path = ui.context.client.sub_pages_router.current_path.partition("?")[0]
        ui.navigate.history.replace(path)

    # -- what stays -----------------------------------------------------------------------------

    def draw(self, places: dict[str, tuple[str, str]], story: str) -> None:
        """Draw what stays while places change: `places` are path, title and icon."""
        with (
            ui.right_drawer(value=False, bordered=True)
            .classes("story")
            .props('width=440 overlay aria-label="Story"') as self._drawer
        ):
            with ui.row().classes("story-head"):
                self._title = ui.label().classes("story-title")
                ui.space()
                ui.button(icon="close", on_click=self.shut).props(
                    'flat dense round aria-label="Close the story"'
                )
            self._story = ui.column().classes("story-body")
        with (
            ui.left_drawer(value=True, fixed=True)
            .classes("rail")
            .props("width=190 behavior=desktop"),
            ui.element("nav").props('aria-label="Places"'),
        ):
            ui.label("Nomospace").classes("rail-name")
            for path, (title, icon) in places.items():
                with ui.link(target=path).classes("rail-link").props(f'data-place="{path}"'):
                    ui.icon(icon).props("aria-hidden=true")
                    ui.label(title)
        address = Address.parse(story)
        if address is not None:
            self._show(address)
