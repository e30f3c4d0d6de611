"""A card over the map that is put away for good, and brought back by the help button."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from nomospace.console.frame import Frame
from nomospace.console.look import attributes, sign_button

YEAR_S: Final = 31_536_000


class Card:
    """A card; `away` is the cookie of a browser that has put it away. What it has goes inside."""

    def __init__(
        self, frame: Frame, label: str, seen: str, *, away: str, shown: bool = True
    ) -> None:
        self._away = away
        self.body = attributes(ui.element("section").classes("first card"), aria_label=label)
        with self.body, ui.element("div").classes("first-head"):
            ui.label(seen).classes("first-seen")
            sign_button("close", "Put this card away; Help brings it back", self.put_away)
        frame.help = self.bring_back
        self.body.set_visibility(shown and not ui.context.client.request.cookies.get(away))

    def put_away(self) -> None:
        """Fold the card into the help button."""
        self._remember(YEAR_S)
        self.body.set_visibility(False)

    def bring_back(self) -> None:
        """Show the card again."""
        self._remember(0)
        self.body.set_visibility(True)

    def _remember(self, seconds: int) -> None:
        ui.run_javascript(
            f"document.cookie = '{self._away}=1; path=/; max-age={seconds}; samesite=strict'"
        )
