"""Personal assistants: summon one, delegate one, write to one, and see how the message went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from nomospace.console.look import fault
from nomospace.console.places.parts import act, choice, submit
from nomospace.errors import NomospaceError

if TYPE_CHECKING:
    from nomospace.console.frame import Frame
    from nomospace_lab.pages.stage import AssistantsStage

LOOKS_S: Final = 0.25
TASK: Final = "a proof that does not end"
TASK_MAX: Final = 200


class SitesBoard(ui.element, component="static/assistants.js"):
    """The sites, and who is where."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__()
        self._props["facts"] = facts
        self._props["way"] = {}

    def show(self, facts: dict[str, Any], way: dict[str, Any] | None = None) -> None:
        """Draw what is so now; `way` is that of a message."""
        if way is not None:
            self._props["way"] = way
        elif facts == self._props["facts"]:
            return
        self._props["facts"] = facts
        self.update()


def show(game: AssistantsStage, frame: Frame) -> None:
    """The sites, what a person can do, and what has happened."""
    facts = game.facts()
    people = [one["person"] for one in facts["assistants"]]
    ui.label(
        "Each is an agent that moves with its work and its mail. Messages sent to where it was "
        "follow it; the sender's host learns the new place, and the next one goes there directly."
    ).classes("quiet")
    names, sites_by_name = {one: one for one in people}, dict(facts["sites"])
    with ui.element("div").classes("game-bar"):
        whose = choice("Whose assistant", names, people[0], _nothing)
        where = choice("Site", sites_by_name, list(sites_by_name)[1], _nothing)
        summon = act("Summon", main=True)
        task = ui.input("Work for the experts", value=TASK)
        task.props(f"dense outlined maxlength={TASK_MAX}").classes("game-task")
        delegate = act("Delegate")
    with ui.element("div").classes("game-bar"):
        writer = choice("From", names, people[1], _nothing)
        write = act("Write to it")
        said = ui.label().props("role=status aria-live=polite")
        why = act("Why it arrived")
        why.set_visibility(False)
    wrong = ui.element("div")
    sites = SitesBoard(facts)
    told = (
        ui.element("div")
        .classes("game-told")
        .props('role=log aria-label="What happened" tabindex=0')
    )
    last: list[Any] = []
    lines: list[str] = []

    def look() -> None:
        now = game.facts()
        sites.show(now)
        if now["told"] != lines:
            lines[:] = now["told"]
            told.clear()
            with told:
                for line in reversed(lines):
                    ui.label(line)

    async def attempt(act: Callable[[], Awaitable[None]], *buttons: ui.button) -> None:
        wrong.clear()
        for button in buttons:
            button.disable()
        try:
            await act()
        except NomospaceError as error:
            with wrong:
                fault(error)
        finally:
            for button in buttons:
                button.enable()
        look()

    async def send() -> None:
        way = await game.follow(str(writer.value), str(whose.value))
        last[:] = [way]
        hops = "1 hop" if way.hops == 1 else f"{way.hops} hops"
        said.set_text(f"{hops}: {' → '.join(way.path)}")
        sites.show(game.facts(), {"path": list(way.path)})
        why.set_visibility(way.deed is not None)

    summon.on_click(
        lambda: attempt(lambda: game.summon(str(whose.value), str(where.value)), summon)
    )
    submit(
        task,
        delegate,
        lambda text: attempt(lambda: game.delegate(str(whose.value), text), delegate),
    )
    write.on_click(lambda: attempt(send, write))
    why.on_click(lambda: frame.open("ruling", last[0].deed.host, last[0].deed.record))
    look()
    ui.timer(LOOKS_S, look)


def _nothing(chosen: str) -> None:
    """A choice that counts when a button is pressed."""
