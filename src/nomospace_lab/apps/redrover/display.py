"""What a player's device shows: figures on the field, ghosts, faces, and the flag.

A player who is out of contact stays where it was last seen, as a ghost: in this game disconnection
is shown, not hidden (LIME 5.2). `on_change` is told of each change, for whoever draws or checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from nomospace_lab.apps.redrover.ground import Place

POSITION, GHOST, BACK, FACE, FLAG = "position", "ghost", "back", "face", "flag"
"""What can change: a position, a host gone or back, a teammate's face, the flag found."""
PLAYERS_MAX: Final = 1_000
"""The most players that are shown; whoever comes later is not."""


class Figure(NamedTuple):
    """A player as last seen. `step` counts its positions."""

    at: Place
    step: int


class Display:
    """The screen of one player.

    >>> display = Display()
    >>> display.show_position("ann@x", (3.0, 4.0), 2)
    >>> display.show_position("ann@x", (1.0, 1.0), 1)  # news that was overtaken
    >>> display.show_ghost("x", True)
    >>> display.figures["ann@x"], display.is_ghost("ann@x")
    (Figure(at=(3.0, 4.0), step=2), True)
    """

    def __init__(self, on_change: Callable[[str, Any], None] | None = None) -> None:
        self.figures: dict[str, Figure] = {}
        self.ghosts: dict[str, None] = {}
        self.faces: dict[str, str] = {}
        self.flag: tuple[str, Place] | None = None
        """Who found the other team's flag, and where."""
        self.on_change = on_change

    def _changed(self, what: str, value: Any) -> None:
        if self.on_change is not None:
            self.on_change(what, value)

    def show_position(self, player: str, at: Place, step: int) -> None:
        """Show a player somewhere, unless a later position is shown already."""
        shown = self.figures.get(player)
        new = shown is None and len(self.figures) < PLAYERS_MAX
        if new or (shown is not None and shown.step < step):
            self.figures[player] = Figure(at, step)
            self._changed(POSITION, (player, step))

    def show_ghost(self, host: str, gone: bool) -> None:
        """Show the player of a host as a ghost, or as itself again."""
        if gone and len(self.ghosts) < PLAYERS_MAX:
            self.ghosts[host] = None
        elif not gone:
            self.ghosts.pop(host, None)
        self._changed(GHOST if gone else BACK, host)

    def is_ghost(self, player: str) -> bool:
        """Whether a player is shown as a ghost."""
        return player.partition("@")[2] in self.ghosts

    def show_face(self, player: str, picture: str) -> None:
        """Show the picture of a teammate who is on the field."""
        if player in self.figures:
            self.faces[player] = picture
            self._changed(FACE, player)

    def show_flag(self, finder: str, at: Place) -> None:
        """Show that the flag is found."""
        self.flag = (finder, at)
        self._changed(FLAG, finder)
