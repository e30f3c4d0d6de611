"""The page of the place: who one is, and the communities one is in.

A token that names an agent acts for that agent and sees what the agent may see, nothing else: what
its laws disclose of its control state, what they deliver, and why they refuse. Whoever tries to act
for another agent is told so where it was tried.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.published import Membership
from nomospace.console import look
from nomospace.console.frame import Frame
from nomospace.console.keeping import kept
from nomospace.console.places import acting
from nomospace.console.places.member.joining import Joining
from nomospace.console.places.member.room import MembershipRoom
from nomospace.console.places.parts import act, card_head
from nomospace.console.places.typed import Drafts, Typed

LOOK_S: Final = 0.5
"""How often one's state and inbox are looked at."""


class MemberPlace:
    """The place, in one window: drawn, and looking again and again at what is new."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._drafts = kept(frame, Drafts)
        self._agent = ""
        self._mine: tuple[Membership, ...] = ()
        self._law = self._drafts.get("member.chosen", "")
        self._room: MembershipRoom | None = None
        self._drawn: tuple[str, tuple[str, ...]] | None = None
        with ui.element("div").classes("member-place"):
            self._draw_who()
            with ui.element("div").classes("member-right"):
                strip = ui.element("div").classes("strip")
                self._strip = strip.props('role=tablist aria-label="Communities"')
                self._middle = ui.element("div")
        if self._exists(self._name.value.strip()):
            self._be()
        else:
            self._choose("")
        ui.timer(LOOK_S, self._look)

    def _exists(self, agent: str) -> bool:
        """Whether an agent is there already: to look at the page must not make one."""
        where = acting.service_of(self._frame.console, agent).where(agent)
        return self._frame.viewer.may_be(agent) and bool(where.host)

    # -- who one is --------------------------------------------------------------------------------

    def _draw_who(self) -> None:
        console, viewer = self._frame.console, self._frame.viewer
        with ui.element("section").classes("card member-card"):
            card_head("Who you are")
            self._name = Typed(
                "Agent",
                value=acting.usual(console, viewer),
                placeholder="ann@ward",
                choices=acting.choices(console, viewer),
                draft=(self._drafts, "member.agent"),
                on_enter=self._be,
            )
            with ui.element("div").classes("line-up"):
                act("Be this agent", self._be, main=True).props("data-do=be")
            self._who = ui.element("div").props("role=status data-who")
            with ui.element("details").classes("member-move"):
                with ui.element("summary"):
                    ui.label("Move it to another host")
                self._host = Typed(
                    "Host",
                    placeholder="ward-2",
                    choices=self._hosts(),
                    draft=(self._drafts, "member.host"),
                    on_enter=self._move,
                )
                act("Move", self._move).props("data-do=move")
                self._moved = ui.element("div").props("role=status data-moved")

    def _hosts(self) -> list[str]:
        if not self._frame.viewer.operator:
            return []  # who is in the group is for operators to see
        return [host.name for host in self._frame.console.service.views.topology().hosts]

    def _be(self) -> None:
        """Act as the agent that was typed; whoever may not is told why."""
        agent = self._name.value.strip()
        with look.told_in(self._who):
            self._agent = acting.seat_of(self._frame.console, self._frame.viewer, agent).id
            self._mine = ()
            self._law = self._law if self._room is None else ""
            self._room = None
            self._say_where()
            self._look(anew=True)

    def _say_where(self) -> None:
        where = acting.service_of(self._frame.console, self._agent).where(self._agent)
        self._who.clear()
        with self._who:
            look.mono(self._agent)
            ui.label(f"acts on {where.host or 'a host that is not known'}").classes("quiet")
            if not self._frame.viewer.anyone:
                ui.label(f"by {self._frame.viewer.name}").classes("quiet")

    async def _move(self) -> None:
        to = self._host.value.strip()
        with look.told_in(self._moved):
            seat = acting.seat_of(self._frame.console, self._frame.viewer, self._speaker())
            await seat.move(to)
            self._agent = seat.id
            with self._moved:
                said = f"{self._agent} has gone to {to}, with all that it has."
                ui.label(said).classes("forwarded")
                if to not in self._frame.console.services:
                    ui.label(f"Open the console of {to} to act for it there.").classes("quiet")
            self._say_where()
            self._look(anew=True)

    # -- the communities one is in -----------------------------------------------------------------

    def _look(self, *, anew: bool = False) -> None:
        """See what has changed: memberships, what is disclosed of their states, and mail."""
        if not self._agent:
            return
        service = acting.service_of(self._frame.console, self._agent)
        mine = service.memberships(self._frame.viewer, self._agent)
        laws = [one.key for one in mine]
        if anew or laws != [one.key for one in self._mine]:
            left = self._room is not None and self._law not in laws
            self._mine = mine
            self._choose(self._law if self._law in laws else (laws or [""])[-1], left=left)
        elif mine != self._mine:
            self._mine = mine
            if self._room is not None:
                self._room.tell(next(one for one in mine if one.key == self._law))
        if self._room is not None:
            self._room.mail()

    def _choose(self, law: str, *, left: bool = False) -> None:
        """Show a membership; without a law, what it takes to join one."""
        drawn = (law, tuple([one.key for one in self._mine]))
        if not law and not left and drawn == self._drawn:
            return  # the form is there, and somebody may be typing into it
        self._drawn = drawn
        self._law = self._drafts["member.chosen"] = law
        self._room = None
        self._strip.clear()
        with self._strip:
            for one in self._mine:
                with self._tab(one.key):
                    ui.label(one.name).classes("strip-name")
                    look.mono(one.law[:8] if one.key == one.law else one.address).classes("quiet")
            with self._tab(""):
                ui.label("Join another" if self._mine else "Join a community")
        self._middle.clear()
        with self._middle:
            if left:
                ui.label(f"{self._agent} has left the community.").classes("member-left-it")
            mine = next((one for one in self._mine if one.key == law), None)
            if mine is not None:
                self._room = MembershipRoom(self._frame, self._agent, mine, self._drafts)
            else:
                Joining(self._frame, self._drafts, self._speaker, self._joined)

    def _tab(self, law: str) -> ui.element:
        chosen = "true" if law == self._law else "false"
        go = partial(self._choose, law)
        return look.plain_button("strip-one", go, role="tab", aria_selected=chosen, data_law=law)

    def _speaker(self) -> str:
        """The agent that one is, or would be."""
        return self._agent or self._name.value.strip()

    def _joined(self, agent: str, law: str) -> None:
        self._agent = agent
        self._law = law
        self._say_where()
        self._look(anew=True)
