"""Writing tuples, and reading and taking them, as an agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.forms import BadField, typed_fields, typed_template, words_of
from nomospace.api.published import Space
from nomospace.api.service import AgentSeat
from nomospace.console import look
from nomospace.console.frame import Frame
from nomospace.console.keeping import kept
from nomospace.console.places import acting
from nomospace.console.places.parts import act
from nomospace.console.places.spaces.gathered import SpaceEntry
from nomospace.console.places.typed import Drafts, Typed

WAIT_S: Final = 10.0
"""How long a read or take waits, if it is to wait."""


class Forms:
    """The forms beside the table. `template` is the box whose template is read or taken by."""

    def __init__(self, frame: Frame, template: Typed, changed: Callable[[], None]) -> None:
        self._frame = frame
        self._template = template
        self._changed = changed
        self._space = self._law = ""
        console, viewer, drafts = frame.console, frame.viewer, kept(frame, Drafts)
        with ui.element("section").classes("card spaces-form") as self._card:
            self._agent = Typed(
                "As the agent",
                value=acting.usual(console, viewer),
                placeholder="nurse@ward",
                choices=acting.choices(console, viewer),
                draft=(drafts, "spaces.agent"),
            )
            look.card_title("Write a tuple")
            self._fields = Typed(
                "Fields",
                placeholder="job, 17, room(3)",
                draft=(drafts, "spaces.fields"),
                on_enter=self._write,
                on_type=lambda: self._fields.fits(typed_fields),
            )
            with ui.element("div").classes("spaces-two"):
                self._to = Typed("For (agent)", placeholder="porter@ward")
                self._ttl = Typed("Ends after (s)", placeholder="never")
            act("Write", self._write, main=True).props("data-do=write")
            look.card_title("Read or take by the template")
            self._wait = ui.checkbox(f"wait up to {WAIT_S:g} s, at any host").props("dense")
            with ui.element("div").classes("line-up"):
                act("Read", partial(self._find, take=False)).props("data-do=read")
                act("Take", partial(self._find, take=True)).props("data-do=take")
            self._said = ui.element("div").props("role=status data-said")

    def space(self, entry: SpaceEntry) -> None:
        """The space that the forms are about; some cannot be written to from here."""
        self._space, self._law = entry.which.name, entry.law
        self._card.set_visibility(entry.writable)
        self._said.clear()

    async def _write(self) -> None:
        if not self._fields.fits(typed_fields):
            return

        async def write() -> str:
            fields = typed_fields(self._fields.value)
            if not fields:
                raise BadField(where="the tuple", why="has no fields yet")
            seat, opened = await self._open()
            ttl = _seconds(self._ttl.value)
            await opened.out(*fields, to=self._to.value.strip() or None, ttl=ttl)
            return f"{seat.id} wrote ({words_of(fields)})"

        await self._do(write)

    async def _open(self) -> tuple[AgentSeat, Space]:
        """The agent, and the space as it has it: under the law that the space is under here."""
        console, agent = self._frame.console, self._agent.value.strip()
        seat = acting.seat_of(console, self._frame.viewer, agent)
        law = await acting.service_of(console, agent).law(law=self._law) if self._law else None
        return seat, await seat.space(self._space, law=law)

    async def _find(self, *, take: bool) -> None:
        async def find() -> str:
            template = typed_template(self._template.value)
            if not template:
                raise BadField(where="the template", why="is empty, and would match no tuple")
            seat, _ = await self._open()
            wait_s = WAIT_S if self._wait.value else 0.0
            found = await seat.find(self._space, template, take=take, wait_s=wait_s)
            if found is None:
                return "Nothing matches just now."
            did = "took" if take else "read"
            why = f"\n{found.why}" if found.why else ""
            return f"{seat.id} {did} ({words_of(tuple(found))}), held by {found.source}{why}"

        await self._do(find)

    async def _do(self, work: Callable[[], Awaitable[str]]) -> None:
        """Do something, and say what came of it, where it was asked for."""
        with look.told_in(self._said):
            said = await work()
            with self._said:
                ui.label(said).classes("mono pre spaces-said")
            self._changed()


def _seconds(text: str) -> float | None:
    """Seconds as typed; none when nothing was.

    >>> _seconds(" 2.5 "), _seconds("")
    (2.5, None)
    """
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise BadField(where=f"{text.strip()[:60]!r}", why="is no number of seconds") from None
