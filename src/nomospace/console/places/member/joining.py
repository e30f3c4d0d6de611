"""Joining a community: a law by its name, its hash or its text, and what the law is to be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nicegui import ui

from nomospace.api.forms import typed_fields
from nomospace.console import look
from nomospace.console.frame import Frame
from nomospace.console.places import acting
from nomospace.console.places.parts import act, card_head
from nomospace.console.places.typed import Drafts, Typed

LAW_LINES: Final = 12


class Joining:
    """The form. `speaker` says which agent joins; `joined` hears which did, and the law's hash."""

    def __init__(
        self,
        frame: Frame,
        drafts: Drafts,
        speaker: Callable[[], str],
        joined: Callable[[str, str], None],
    ) -> None:
        self._frame = frame
        self._speaker = speaker
        self._joined = joined
        with ui.element("section").classes("card member-card"):
            card_head("Join a community")
            ui.label(
                "To join is to adopt a law: from then on all that the agent sends and receives "
                "there is ruled by it. Name a law that is known here, or give its text."
            ).classes("quiet")
            self._named = Typed(
                "Law, by name or hash",
                placeholder="ap",
                choices=self._known(),
                draft=(drafts, "member.law"),
                on_enter=self._adopt,
            )
            self._text = Typed(
                "or its text",
                placeholder="law(open). R1. sent(_, _, _) :- do(forward). …",
                lines=LAW_LINES,
                draft=(drafts, "member.text"),
            )
            self._said = ui.element("div").props("role=status data-adopted")
            self._args = Typed(
                "Arguments, if the law takes any",
                placeholder="role(expert)",
                draft=(drafts, "member.args"),
                on_enter=self._adopt,
            )
            act("Adopt", self._adopt, main=True).props("data-do=adopt")

    def _known(self) -> list[str]:
        if not self._frame.viewer.operator:
            return []  # which communities there are is for operators to see
        return [one.name for one in self._frame.console.service.views.communities()]

    async def _adopt(self) -> None:
        self._args.slip(None)
        console = self._frame.console
        with look.told_in(self._said):
            seat = acting.seat_of(console, self._frame.viewer, self._speaker())
            service = acting.service_of(console, seat.id)
            law = await service.law(
                text=self._text.value, law=self._named.value.strip(), who=seat.id
            )
            if self._args.fits(typed_fields):
                await seat.adopt(law, typed_fields(self._args.value))
                self._joined(seat.id, law.hash)
