"""The card of a demonstration: what one sees, and where to look first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from nicegui import ui

from nomospace.console.cards import Card
from nomospace.console.look import attributes

if TYPE_CHECKING:
    from nomospace.console.frame import Frame


class Step(NamedTuple):
    """Something to try: what it says, the place where it is, and what one sees there."""

    title: str
    path: str
    about: str


class CardOf(NamedTuple):
    """What a demonstration's card says."""

    seen: str
    steps: tuple[Step, ...]


CARDS: Final = {
    "bidding": CardOf(
        "A market on three hosts that share one space. Clients put requests into it and providers "
        "bid; law SB sees to it that a bid is for its client alone and in its maker's own name.",
        (
            Step("See requests and bids", "/spaces?space=market", "One pool, wherever tuples lie."),
            Step(
                "See the snoop refused",
                "/communities",
                "The rulings of law SB: sam's reads and forged bids end at their own edge.",
            ),
            Step("Change the law", "/bench", "Start from the law in force, and compare the two."),
        ),
    ),
    "jigsaw": CardOf(
        "RoamingJigsaw: every window that sits down is a player with a host of its own, and the "
        "pieces are tuples of one space. Without contact each goes on with what is its own.",
        (
            Step("Sit down", "/jigsaw", "Take pieces, join them, and go offline on the way."),
            Step("Invite somebody", "/jigsaw", "The page says how another machine joins."),
        ),
    ),
    "redrover": CardOf(
        "RedRover: two teams seek each other's flag. Every device is a host that hears others in "
        "its range only; whoever is lost stays on the field as a ghost.",
        (Step("Take the field", "/redrover", "Choose a player, and walk by clicking."),),
    ),
    "assistants": CardOf(
        "Personal assistants: agents that move between five sites with their work and their mail. "
        "Messages to where one was follow it; the next one goes there directly.",
        (
            Step(
                "Send one somewhere", "/assistants", "Summon it, or delegate work to the experts."
            ),
            Step("Write to it", "/assistants", "Two hops to where it was, then one."),
        ),
    ),
}


class DemoCard:
    """The card in one window."""

    def __init__(self, frame: Frame, *, card: CardOf) -> None:
        shown = Card(
            frame, "What this shows", card.seen, away=f"nomospace_{card.steps[0].path[1:4]}"
        )
        with shown.body, ui.element("div").classes("first-things"):
            for number, step in enumerate(card.steps, 1):
                _draw(number, step, partial(frame.go, step.path))


def _draw(number: int, step: Step, go: Callable[[], None]) -> None:
    with ui.element("div").classes("first-thing"):
        button = attributes(ui.element("button"), type="button", data_try=step.path)
        with button.classes("first-button").on("click", go):
            ui.label(str(number)).classes("first-number").props("aria-hidden=true")
            ui.label(step.title)
        ui.label(step.about).classes("first-said quiet")
