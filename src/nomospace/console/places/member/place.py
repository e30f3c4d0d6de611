"""The page of the place: who one is, the communities one is in, and joining another.

A token that names an agent acts for that agent and sees what the agent may see, nothing else: what
its laws disclose of its control state, what they deliver, and why they refuse. Whoever tries to act
for another agent is told so where it was tried.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from nicegui import ui

from nomospace.api.typed import typed_fields
from nomospace.console import look
from nomospace.console.keeping import kept
from nomospace.console.places import acting
from nomospace.console.places.member.room import Room
from nomospace.console.places.parts import act, card_head
from nomospace.console.places.typed import Drafts, Typed
from nomospace.errors import NomospaceError

if TYPE_CHECKING:
    from nomospace.api.published import Membership
    from nomospace.console.frame import Frame

LOOK_S: Final = 0.5
"""How often one's state and inbox are looked at."""
LAW_LINES: Final = 7
HOW_TO_JOIN: Final = "Name a law that is known here, or give its text, then press Adopt."


def show(frame: Frame) -> None:
    """Show the place in a window."""
    Member(frame).show()


class Member:
    """The place, in one window."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._drafts = kept(frame, Drafts)
        self._agent = ""
        self._mine: tuple[Membership, ...] = ()
        self._law = self._drafts.get("member.chosen", "")
        self._room: Room | None = None

    def show(self) -> None:
        """Draw it, and look again and again at what is new."""
        with ui.element("div").classes("member-place"):
            with ui.element("div").classes("member-left"):
                self._draw_who()
                self._draw_join()
            with ui.element("div").classes("member-right"):
                strip = ui.element("div").classes("strip")
                self._strip = strip.props('role=tablist aria-label="Communities"')
                self._middle = ui.element("div")
        if self._exists(self._name.value.strip()):
            self._be()
        else:
            self._draw_none()
        ui.timer(LOOK_S, self._look)

    def _exists(self, agent: str) -> bool:
        """Whether an agent is there already: to look at the page must not make one."""
        where = acting.service_of(self._frame.console, agent).where(agent)
        return self._frame.viewer.may_be(agent) and bool(where["host"])

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
        self._who.clear()
        try:
            seat = acting.seat_of(self._frame.console, self._frame.viewer, agent)
        except NomospaceError as error:
            with self._who:
                look.fault(error)
            return
        self._agent = seat.id
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
            ui.label(f"acts on {where['host'] or 'a host that is not known'}").classes("quiet")
            if not self._frame.viewer.anyone:
                ui.label(f"by {self._frame.viewer.name}").classes("quiet")

    async def _move(self) -> None:
        self._moved.clear()
        to = self._host.value.strip()
        try:
            seat = acting.seat_of(self._frame.console, self._frame.viewer, self._agent)
            await seat.move(to)
        except NomospaceError as error:
            with self._moved:
                look.fault(error)
            return
        with self._moved:
            ui.label(f"{self._agent} has gone to {to}, with all that it has.").classes("forwarded")
            if to not in self._frame.console.services:
                ui.label(f"Open the console of {to} to act for it there.").classes("quiet")
        self._say_where()
        self._look(anew=True)

    # -- joining -----------------------------------------------------------------------------------

    def _draw_join(self) -> None:
        with ui.element("section").classes("card member-card"):
            card_head("Join a community")
            self._named = Typed(
                "Law, by name or hash",
                placeholder="ap",
                choices=self._known(),
                draft=(self._drafts, "member.law"),
                on_enter=self._adopt,
            )
            self._text = Typed(
                "or its text",
                placeholder="law(open). R1. sent(_, _, _) :- do(forward). …",
                lines=LAW_LINES,
                draft=(self._drafts, "member.text"),
            )
            self._args = Typed(
                "Arguments, if the law takes any",
                placeholder="role(expert)",
                draft=(self._drafts, "member.args"),
            )
            act("Adopt", self._adopt, main=True).props("data-do=adopt")
            self._adopted = ui.element("div").props("role=status data-adopted")

    def _known(self) -> list[str]:
        if not self._frame.viewer.operator:
            return []
        return [one.name for one in self._frame.console.service.views.communities()]

    async def _adopt(self) -> None:
        self._adopted.clear()
        console, viewer = self._frame.console, self._frame.viewer
        self._args.slip(None)
        try:
            seat = acting.seat_of(console, viewer, self._agent or self._name.value.strip())
            service = acting.service_of(console, seat.id)
            law = await service.law(text=self._text.value, law=self._named.value.strip())
            try:
                args = typed_fields(self._args.value)
            except NomospaceError as error:
                self._args.slip(error)
                return
            told = await seat.adopt(law, args)
        except NomospaceError as error:
            with self._adopted:
                look.fault(error)
            return
        self._agent = seat.id
        with self._adopted:
            ruled = f": {told.verdict}" if told.rule else ""
            ui.label(f"{seat.id} is a member under law {law.name}{ruled}").classes("forwarded")
        self._law = law.hash
        self._look(anew=True)

    # -- the communities one is in -----------------------------------------------------------------

    def _look(self, *, anew: bool = False) -> None:
        """See what has changed: memberships, what is disclosed of their states, and mail."""
        if not self._agent:
            return
        service = acting.service_of(self._frame.console, self._agent)
        mine = service.memberships(self._frame.viewer, self._agent)
        laws = [one.law for one in mine]
        if anew or laws != [one.law for one in self._mine]:
            left = self._room is not None and self._law not in laws
            self._mine = mine
            chosen = self._law if self._law in laws else (laws[-1] if laws else "")
            self._choose(chosen, left=left)
        elif mine != self._mine:
            self._mine = mine
            if self._room is not None:
                self._room.tell(next(one for one in mine if one.law == self._law))
        if self._room is not None:
            self._room.mail()

    def _choose(self, law: str, *, left: bool = False) -> None:
        self._law = self._drafts["member.chosen"] = law
        self._room = None
        self._strip.clear()
        with self._strip:
            for one in self._mine:
                tab = ui.element("button").classes("strip-one").props("type=button role=tab")
                chosen = "true" if one.law == law else "false"
                look.attributes(tab, aria_selected=chosen, data_law=one.law)
                with tab.on("click", partial(self._choose, one.law)):
                    ui.label(one.name).classes("strip-name")
                    look.mono(one.law[:8]).classes("quiet")
        self._middle.clear()
        with self._middle:
            if left:
                ui.label(f"{self._agent} has left the community.").classes("member-left-it")
            if law:
                chosen_one = next(one for one in self._mine if one.law == law)
                self._room = Room(self._frame, self._agent, chosen_one, self._drafts)
            elif not left:
                self._draw_none()

    def _draw_none(self) -> None:
        self._middle.clear()
        with self._middle:
            who = self._agent or "Nobody yet"
            look.empty(f"{who} is in no community here.", HOW_TO_JOIN)
