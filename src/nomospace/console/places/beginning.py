"""How to begin with a host that has nothing in it yet: the card over the map of *Now*."""

from __future__ import annotations

from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.forms import typed_fields, words_of
from nomospace.console.cards import Card
from nomospace.console.frame import Frame
from nomospace.console.look import attributes, fact, mono, told_in, words_to
from nomospace.console.places import acting
from nomospace.console.places.parts import act, copy
from nomospace.console.places.typed import Typed

AWAY: Final = "nomospace_begin"
SEEN: Final = "This host runs, and no agent is under a law here yet. Three ways to begin:"
SPACE: Final = "jobs"
FIRST: Final = "job, 17, room(3)"


def code_for(url: str) -> str:
    """Five lines that write a tuple to a host and take it again."""
    return f"""\
from nomospace import sync
with sync.connect("{url}") as host:
    jobs = host.agent("ann").space("{SPACE}", shared=True)
    jobs.out("job", 17)
    print(jobs.take("job", int))"""


class BeginCard:
    """The card in one window."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        services = frame.console.services.values()
        fresh = not any(service.views.communities() for service in services)
        card = Card(frame, "How to begin", SEEN, away=AWAY, shown=fresh)
        with card.body, ui.element("div").classes("begin-things"):
            with ui.element("div").classes("first-thing"):
                self._draw_code()
            with ui.element("div").classes("first-thing"):
                ui.label("Write your first tuple").classes("card-title")
                self._draw_tuple()
            with ui.element("div").classes("first-thing"):
                ui.label("Try a law").classes("card-title")
                ui.label(
                    "The bench has one to begin with: at most three messages in any hour. Run it "
                    "in virtual time, change it, and have an agent adopt it."
                ).classes("quiet small")
                act("Try a law", lambda: frame.go("/bench"))

    def _draw_code(self) -> None:
        service = self._frame.console.service
        code = code_for(service.url)
        with ui.element("div").classes("begin-head"):
            ui.label("From a program").classes("card-title")
            act("Copy", partial(copy, code, "Five lines"), label="Copy the five lines")
        mono(code).classes("pre command command-line").props("data-code")
        with fact("address"):
            mono(service.url).classes("wrap")
        if service.own_token:
            with fact("token"):
                mono(service.own_token).classes("wrap").props("data-token")
                ui.label("Programs of this user find it by themselves.").classes("quiet small")
        else:
            with fact("token"):
                mono("nomospace trust issue token").classes("wrap")

    def _draw_tuple(self) -> None:
        self._fields = Typed(f"Fields, into the space {SPACE}", value=FIRST, on_enter=self._write)
        act("Write", self._write)
        self._said = attributes(ui.element("div"), role="status", data_said="tuple")

    async def _write(self) -> None:
        frame = self._frame
        with told_in(self._said):
            fields = typed_fields(self._fields.value)
            seat = acting.seat_of(
                frame.console, frame.viewer, acting.usual(frame.console, frame.viewer)
            )
            await (await seat.space(SPACE)).out(*fields)
            with self._said:
                ui.label(f"{seat.id} wrote ({words_of(fields)})").classes("forwarded")
                words_to("See it in Spaces", lambda: frame.go(f"/spaces?space={SPACE}"))
