"""The last step: an agent adopts the law, once its hash was confirmed."""

from __future__ import annotations

from typing import Final

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from nomospace.console.frame import Frame
from nomospace.console.look import attributes, empty, mono
from nomospace.console.places.law_bench.state import LawBenchState
from nomospace.console.places.parts import Working, act

CONFIRM: Final = 8
"""How many characters of the hash are to be typed."""
AGENTS_MAX: Final = 500
"""How many agents are offered; any other may be typed."""


class Adopting:
    """Has an agent adopt the law on the bench."""

    def __init__(self, frame: Frame, bench: LawBenchState) -> None:
        self._frame = frame
        self._bench = bench
        self._body: ui.element | None = None

    def draw(self) -> None:
        """Draw it."""
        self._body = ui.element("div").classes("bench-adopt")
        self.show()

    def show(self) -> None:
        """Show it for the law as it is now."""
        if self._body is None or self._body.is_deleted:
            return
        checked = self._bench.checked
        self._body.clear()
        with self._body:
            if checked is None or not checked.hash:
                empty("A law with errors cannot be adopted.", "Mend what the findings name.")
                return
            ui.label(
                f"An agent adopts law {checked.name} and is a member from then on: what it sends "
                "and gets under this law is ruled by it. The hash names exactly this text."
            ).classes("quiet small")
            with attributes(ui.element("div"), aria_label="The hash").classes("hash mono"):
                ui.label(checked.hash[:CONFIRM]).classes("hash-first")
                ui.label(checked.hash[CONFIRM:]).classes("quiet wrap")
            with ui.element("div").classes("line-up"):
                views = self._frame.console.service.views
                agents = [one.id for one in views.agents(limit=AGENTS_MAX)]
                ui.input(
                    "Agent",
                    value=self._bench.agent,
                    autocomplete=agents,
                    placeholder=agents[0] if agents else "ann@ward",
                    on_change=self._agent,
                ).props("dense outlined").classes("agent")
                self._confirming = (
                    ui.input(
                        f"First {CONFIRM} characters of the hash",
                        value=self._bench.confirmed,
                        on_change=self._confirm,
                    )
                    .props("dense outlined")
                    .classes("confirm")
                )
                self._button = act("Adopt", self._adopt, main=True)
            self._said = ui.element("div")
        self._arm()

    def _agent(self, event: ValueChangeEventArguments[str | None]) -> None:
        self._bench.agent = str(event.value or "").strip()
        self._arm()

    def _confirm(self, event: ValueChangeEventArguments[str | None]) -> None:
        self._bench.confirmed = str(event.value or "").strip().lower()
        self._arm()

    def _arm(self) -> None:
        checked = self._bench.checked
        right = checked is not None and self._bench.confirmed == checked.hash[:CONFIRM]
        self._button.set_enabled(bool(right and self._bench.agent))

    async def _adopt(self) -> None:
        await Working(self._button, self._said)(self._work())
        if not self._button.is_deleted:
            self._arm()

    async def _work(self) -> None:
        bench, service = self._bench, self._frame.console.service
        seat = service.seat(self._frame.viewer, bench.agent)
        law = await service.law(
            text=bench.draft.text, language=bench.draft.language, who=bench.agent
        )
        told = await seat.adopt(law)
        if self._said.is_deleted:
            return  # the place was left meanwhile
        self._confirming.set_value("")
        with self._said, ui.element("div").classes("done").props("role=status"):
            ui.label(f"✓ {bench.agent} has adopted law {law.name} {law.hash[:8]}").classes(
                "forwarded"
            )
            if told.rule is not None:
                mono(str(told.verdict)).classes("quiet")
