"""RedRover: the field as the device of one player shows it; each window chooses whose."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from nomospace.console.look import fault
from nomospace.console.places.parts import Working, act, choice
from nomospace.errors import NomospaceError

if TYPE_CHECKING:
    from nomospace.console.frame import Frame
    from nomospace_lab.pages.stage import RedRover

LOOKS_S: Final = 0.25


class FieldBoard(ui.element, component="static/redrover.js"):
    """The field."""

    def __init__(self, field: dict[str, Any]) -> None:
        super().__init__()
        self._props["field"] = field

    def show(self, field: dict[str, Any]) -> None:
        """Draw what the device shows now."""
        if field != self._props["field"]:
            self._props["field"] = field
            self.update()


def show(game: RedRover, frame: Frame) -> None:
    """The field, once somebody has begun the game."""
    del frame
    ui.label(
        "Two teams seek each other's flag. A device hears others in range and shares with those "
        "within the safe distance; whoever is lost stays on the field as a ghost."
    ).classes("quiet")
    middle = ui.element("div").classes("game")

    def fill() -> None:
        middle.clear()
        with middle:
            if game.names:
                _play(game)
            else:
                _door(game, fill)

    fill()


def _door(game: RedRover, fill: Callable[[], None]) -> None:
    """The game waits for its player: nobody walks, and no host is started, before."""
    with ui.element("div").classes("empty"):
        ui.label("You walk with one of the players; the others walk by themselves.")
        begin = act("Begin the game", main=True).classes("start")
    working = Working(begin, ui.element("div"))

    async def start() -> None:
        if await working(game.begin()):
            fill()

    begin.on_click(start)


def _play(game: RedRover) -> None:
    """The field, and what one can do with the player whose device one looks through."""
    me = game.names[0]
    with ui.element("div").classes("game-bar"):
        names = {name: name for name in game.names}
        whose = choice("Look through the device of", names, me, lambda _: look())
        whose.classes("rover-whose")
        away = ui.switch("Put the device away")
        free = act("Let the player walk by itself")
        again = act("New game")
    said = ui.label().classes("game-said rover-lost").props("role=status aria-live=polite")
    wrong = ui.element("div")
    ground = FieldBoard(game.facts(me))

    def look() -> None:
        name = str(whose.value)
        if name not in game.names:
            return  # a game begins just now
        facts = game.facts(name)
        ground.show(facts)
        if facts["winner"]:
            said.set_text(f"Team {facts['winner']} has gathered around the flag and wins.")
            said.classes("game-done")
        else:
            ghosts = [one["name"] for one in facts["figures"] if one["ghost"]]
            said.set_text(f"Out of contact: {', '.join(ghosts)}" if ghosts else "")
            said.classes(remove="game-done")
        if away.value != facts["away"]:
            away.value = facts["away"]

    def attempt(act: Any) -> None:
        wrong.clear()
        try:
            act()
        except NomospaceError as error:
            with wrong:
                fault(error)
        look()

    async def renew() -> None:
        again.disable()
        try:
            await game.again()
        finally:
            again.enable()
        look()

    def walk(to: Any) -> None:
        attempt(lambda: game.steer(str(whose.value), (float(to[0]), float(to[1]))))

    away.on_value_change(
        lambda event: attempt(lambda: game.put_away(str(whose.value), bool(event.value)))
    )
    free.on_click(lambda: attempt(lambda: game.steer(str(whose.value), None)))
    again.on_click(renew)
    ground.on("walk", lambda event: walk(event.args))
    look()
    ui.timer(LOOKS_S, look)
