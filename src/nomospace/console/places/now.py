"""The place `now`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

if TYPE_CHECKING:
    from nomospace.console.frame import Frame


def show(frame: Frame) -> None:
    """Show the place in a window."""
    ui.label("now").classes("place-title")
    ui.label(", ".join(frame.console.services))
