"""Making a space: its name, and the agent that has it."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from nomospace.api.forms import BadField
from nomospace.console.frame import Frame
from nomospace.console.look import attributes
from nomospace.console.places import acting
from nomospace.console.places.parts import Working, act
from nomospace.console.places.spaces.gathered import SpaceName
from nomospace.console.places.typed import Typed


class MakeSpace:
    """A button, and the form that it shows. `made` hears which space there is now."""

    def __init__(self, frame: Frame, made: Callable[[SpaceName], None], *, shown: bool) -> None:
        self._frame = frame
        self._made = made
        console, viewer = frame.console, frame.viewer
        self._open = act("Make a space", self._show).classes("spaces-make")
        with attributes(ui.element("div"), data_make="space").classes(
            "spaces-making"
        ) as self._form:
            self._name = Typed("Its name", placeholder="jobs", on_enter=self._make)
            self._agent = Typed(
                "Made by the agent",
                value=acting.usual(console, viewer),
                choices=acting.choices(console, viewer),
            )
            self._shared = ui.checkbox("shared with other agents", value=True).props("dense")
            button = act("Make it", self._make, main=True)
            self._working = Working(button, ui.element("div"))
        self._form.set_visibility(shown)
        self._open.set_visibility(not shown)

    def _show(self) -> None:
        self._form.set_visibility(True)
        self._open.set_visibility(False)

    async def _make(self) -> None:
        name, agent = self._name.value.strip(), self._agent.value.strip()

        async def make() -> None:
            if not name:
                raise BadField(where="the space", why="has no name yet")
            seat = acting.seat_of(self._frame.console, self._frame.viewer, agent)
            await seat.space(name, shared=bool(self._shared.value))

        if await self._working(make()):
            self._name.put("")
            self._form.set_visibility(False)
            self._open.set_visibility(True)
            self._made(SpaceName(name, "" if self._shared.value else agent))
