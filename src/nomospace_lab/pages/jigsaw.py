"""RoamingJigsaw: each window that sits down is a player on a host of its own.

A seat belongs to its window: it is kept while the window looks at other places, and given up when
the window closes, which hands the player's pieces back to the box. A window that is made anew, or
whose host was, sits down again by itself: the browser keeps the name and a key for it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from nicegui import ui

from nomospace.console.look import fault, mono
from nomospace.console.places.parts import act, submit
from nomospace.errors import NomospaceError

if TYPE_CHECKING:
    from nicegui import Client

    from nomospace.console.frame import Frame
    from nomospace_lab.pages.stage import Jigsaw, JigsawSeat

LOOKS_S: Final = 0.25
NAME_MAX: Final = 40
SEAT: Final = "nomospace.jigsaw"
"""Where a browser window keeps its seat."""
_seats: WeakKeyDictionary[Client, JigsawSeat] = WeakKeyDictionary()
_keys: Final[dict[str, JigsawSeat]] = {}
"""The seats of windows by their keys."""


class PuzzleBoard(ui.element, component="static/jigsaw.js"):
    """Tray and board of one player."""

    def __init__(self, board: dict[str, Any]) -> None:
        super().__init__()
        self._props["board"] = board

    def show(self, board: dict[str, Any]) -> None:
        """Draw what the player knows now, if it is something else than before."""
        if board != self._props["board"]:
            self._props["board"] = board
            self.update()


def show(game: Jigsaw, frame: Frame) -> None:
    """The way to the table, or the game."""
    middle = ui.element("div").classes("game")
    client = ui.context.client

    def fill() -> None:
        middle.clear()
        with middle:
            seat = _seats.get(client)
            if seat is None:
                _door(game, client, fill)
            else:
                _play(seat, client, fill)

    fill()


def _door(game: Jigsaw, client: Client, fill: Any) -> None:
    ui.label(
        "A puzzle, and a host for everyone who sits down. Take pieces, join them, go offline and "
        "play on with what you have; when you come back, the trays agree again."
    ).classes("quiet")
    with ui.element("div").classes("game-bar"):
        name = ui.input("Your name").props(f"maxlength={NAME_MAX} autofocus dense outlined")
        sit = act("Sit down", main=True)
    said = ui.element("div")
    _others(game)

    async def enter(called: str, key: str = "") -> None:
        said.clear()
        sit.disable()
        try:
            seat = _take_over(key) or await game.sit(called)
        except NomospaceError as error:
            with said:
                fault(error)
            return
        finally:
            sit.enable()
        _seats[client] = seat
        client.on_delete(lambda: _leave(client))
        key = secrets.token_urlsafe(16)
        _keys[key] = seat
        kept = json.dumps(json.dumps([seat.name, key]))
        client.run_javascript(f"sessionStorage.setItem('{SEAT}', {kept})")
        fill()

    async def sit_again() -> None:
        kept = await client.run_javascript(f"sessionStorage.getItem('{SEAT}')")
        told = _kept_seat(kept)
        if told is not None and client not in _seats:
            await enter(*told)

    submit(name, sit, enter)
    ui.timer(0, sit_again, once=True)


def _kept_seat(kept: object) -> tuple[str, str] | None:
    """The name and the key that a window has kept, if it has."""
    try:
        name, key = json.loads(str(kept))
    except (ValueError, TypeError):
        return None
    return str(name)[:NAME_MAX], str(key)


def _take_over(key: str) -> JigsawSeat | None:
    """The seat that has a key, from the window that had it before."""
    seat = _keys.pop(key, None)
    for client, taken in list(_seats.items()):
        if taken is seat:
            del _seats[client]
            return seat
    return None


def _others(game: Jigsaw) -> None:
    """Whose table it is, or how somebody at another machine comes to it."""
    if game.joined:
        ui.label(f"This is the table of {game.joined}.").classes("quiet")
    elif game.invitation:
        ui.label("Somebody at another machine comes to this table with").classes("quiet")
        mono(f"nomospace up --demo jigsaw --join {game.invitation}").classes("wrap")


def _leave(client: Client) -> None:
    seat = _seats.pop(client, None)
    if seat is not None:
        for key in [key for key, taken in _keys.items() if taken is seat]:
            del _keys[key]
        task = asyncio.get_running_loop().create_task(seat.leave(), name="leave the table")
        _leaving.add(task)
        task.add_done_callback(_leaving.discard)


_leaving: set[asyncio.Task[None]] = set()
"""Held until they are done: a loop keeps tasks weakly."""


def _play(seat: JigsawSeat, client: Client, fill: Any) -> None:
    board = seat.facts()
    with ui.element("div").classes("game-bar"):
        players = ui.element("div").classes("game-bar")
        ui.space()
        offline = ui.switch("Offline", value=seat.offline)
        leave = act("Leave")
    ui.label(
        f"You play on host {seat.host}. Click a piece to take it; click two of yours to join them."
    ).classes("quiet")
    said = ui.label().classes("game-said").props("role=status aria-live=polite")
    table = PuzzleBoard(board)

    def tell(words: str) -> None:
        said.set_text(words)
        said.classes(remove="game-done")

    async def pick(cell: Any) -> None:
        tell(await seat.select(int(cell)))
        look()

    async def join(pair: Any) -> None:
        tell(await seat.assemble(int(pair[0]), int(pair[1])))
        look()

    shown: list[Any] = []

    def look() -> None:
        facts = seat.facts()
        table.show(facts)
        if facts["players"] != shown:
            shown[:] = facts["players"]
            players.clear()
            with players:
                _players(facts)
        if facts["complete"]:
            said.set_text("The picture is whole.")
            said.classes("game-done")

    async def turn(off: bool) -> None:
        await (seat.go_offline if off else seat.come_back)()
        tell("")

    def rise() -> None:
        client.run_javascript(f"sessionStorage.removeItem('{SEAT}')")
        _leave(client)
        fill()

    table.on("pick", lambda event: pick(event.args))
    table.on("join", lambda event: join(event.args))
    offline.on_value_change(lambda event: turn(bool(event.value)))
    leave.on_click(rise)
    look()
    ui.timer(LOOKS_S, look)


def _players(facts: dict[str, Any]) -> None:
    for one in facts["players"]:
        here = "" if one["here"] else " gone"
        with ui.element("span").classes(f"game-player{here}"):
            ui.element("span").classes("dot").style(f"background: var(--player-{one['colour']})")
            you = " (you)" if one["name"] == facts["me"] else ""
            away = "" if one["here"] else ", out of reach"
            ui.label(f"{one['name']}{you}{away}")
