"""The card of the first minute: what one sees, and three things to try, each with its why.

It stands over the map of a hospital until it is put away; the help button brings it back. What it
does is done by the hospital's own agents, under the same law as everything else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from nomospace.console.cards import Card
from nomospace.console.look import attributes, fault, words_to
from nomospace.console.stage import ConsoleAction
from nomospace.errors import NomospaceError

if TYPE_CHECKING:
    from nomospace.console.frame import Frame
    from nomospace.console.stage import Ward
    from nomospace_lab.pages.stage import Deed, HospitalStage, Sample

CHART_S: Final = 1.0
"""How often the chart of the rogue is drawn anew."""
SAMPLES_MAX: Final = 120
FOLLOWED_MAX: Final = 3
"""How many messages that followed the assistant are shown."""
EXPERTS: Final = "Laymen's alarms go to experts of that kind."
AWAY: Final = "nomospace_first_minute"
"""The cookie of a browser that has put the card away."""
SEEN: Final = (
    "Three wards of a hospital, each a host; people and devices are agents, and every alarm passes "
    "the law of its sender and of each receiver."
)


ALARM: Final = "Raise an alarm as a layman"
SEND: Final = "Send a nurse's assistant to another ward"


class Duel(ui.element, component="static/duel.js"):
    """The two lines: what the rogue is refused in a second, and the quiet informer's round trip."""


class FirstMinute:
    """The card in one window."""

    def __init__(self, frame: Frame, hospital: HospitalStage) -> None:
        self._frame = frame
        self._hospital = hospital
        self._busy = False
        self._duel: Duel | None = None
        self._ward = ""
        self._draw()
        timer = ui.timer(CHART_S, self._refresh)
        frame.on_leave(timer.cancel)

    def _draw(self) -> None:
        card = Card(self._frame, "The first minute", SEEN, away=AWAY)
        with card.body, ui.element("div").classes("first-things"):
            self._alarm = self._thing("1", ALARM, "alarm", self._raise)
            self._rogue = self._thing("2", "Switch the rogue on", "rogue", self._switch)
            self._sent = self._thing("3", SEND, "assistant", self._send)

    def _thing(
        self, number: str, title: str, name: str, do: Callable[[], Awaitable[None]]
    ) -> _Thing:
        with ui.element("div").classes("first-thing"):
            button = attributes(ui.element("button"), type="button", data_try=name)
            with button.classes("first-button").on("click", partial(self._do, name, do)):
                ui.label(number).classes("first-number").props("aria-hidden=true")
                label = ui.label(title)
            said = attributes(ui.element("div"), role="status", data_said=name)
        return _Thing(button, label, said.classes("first-said"))

    # -- the three things ------------------------------------------------------------------------

    async def _do(self, name: str, do: Callable[[], Awaitable[None]]) -> None:
        """One at a time: what is clicked while another is under way waits for the next click."""
        if self._busy:
            return
        self._busy = True
        thing = {"alarm": self._alarm, "rogue": self._rogue, "assistant": self._sent}[name]
        try:
            await do()
        except NomospaceError as error:
            thing.said.clear()
            with thing.said:
                fault(error)
        finally:
            self._busy = False

    async def _raise(self) -> None:
        deed = await self._hospital.raise_as_layman()
        self._alarm.said.clear()
        with self._alarm.said:
            ui.label(deed.words)
            ui.label(EXPERTS).classes("quiet")
            self._lead(deed, "Why")
        self._frame.open("ruling", deed.host, deed.record)

    async def _switch(self) -> None:
        await self._hospital.rogue(not self._hospital.rogue_on)
        self._refresh()

    async def _send(self) -> None:
        hospital = self._hospital
        to = _next_ward(hospital)
        if to is None:
            return
        await hospital.send_assistant(to.host)
        self._sent.said.clear()
        with self._sent.said:
            ui.label(f"It is in {to.title} now. A message to where it was:")
            follow = words_to("Send one", partial(self._do, "assistant", self._follow))
            attributes(follow, data_try="message")
            self._followed = ui.element("div").classes("first-followed")

    async def _follow(self) -> None:
        followed = await self._hospital.message_assistant()
        shown = list(self._followed)
        for old in shown[: len(shown) + 1 - FOLLOWED_MAX]:
            old.delete()
        with self._followed, ui.element("div").props("data-hops").classes("num"):
            hops = f"{followed.hops} hop{'s' * (followed.hops != 1)}"
            ui.label(f"{' → '.join(followed.path)}: {hops}")
            if followed.deed is not None:
                self._lead(followed.deed, "Why")

    def _lead(self, deed: Deed, text: str) -> None:
        open_it = partial(self._frame.open, "ruling", deed.host, deed.record)
        words_to(text, open_it, label=f"{text}: {deed.words}")

    # -- the rogue ---------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Draw the chart of the rogue while it is on, and a while after."""
        on = self._hospital.rogue_on
        words = "Switch the rogue off" if on else "Switch the rogue on"
        if self._rogue.label.text != words:
            self._rogue.label.set_text(words)
        if on and self._duel is None:
            self._rogue.said.clear()
            with self._rogue.said:
                self._duel = Duel()
                ui.label("It dies at its own edge: its own controller refuses it.").classes("quiet")
        if self._duel is not None and ui.context.client.has_socket_connection:
            samples = list(self._hospital.samples())[-SAMPLES_MAX:]
            self._duel.run_method("draw", [_point(one) for one in samples])


def actions(hospital: HospitalStage) -> Sequence[ConsoleAction]:
    """The three things, for the command box."""

    async def alarm(frame: Frame) -> None:
        deed = await hospital.raise_as_layman()
        frame.open("ruling", deed.host, deed.record)

    async def rogue(frame: Frame) -> None:
        await hospital.rogue(not hospital.rogue_on)
        frame.go("/now")

    async def send(frame: Frame) -> None:
        to = _next_ward(hospital)
        if to is not None:
            await hospital.send_assistant(to.host)
        frame.go("/now")

    switch = f"Switch the rogue {'off' if hospital.rogue_on else 'on'}"
    return [ConsoleAction(ALARM, alarm), ConsoleAction(switch, rogue), ConsoleAction(SEND, send)]


def _next_ward(hospital: HospitalStage) -> Ward | None:
    """Where the assistant goes next; nowhere, where there is one ward only."""
    wards = [ward for ward in hospital.floor() if ward.host != hospital.assistant_at]
    behind = [ward for ward in wards if ward.host > hospital.assistant_at]
    return next(iter(behind or wards), None)


class _Thing:
    """One thing to try: its button, what the button says, and what came of it."""

    def __init__(self, button: ui.element, label: ui.label, said: ui.element) -> None:
        self.button = button
        self.label = label
        self.said = said


def _point(sample: Sample) -> list[Any]:
    return [sample.at_us, round(sample.refused_s, 1), round(sample.informer_ms, 2)]
