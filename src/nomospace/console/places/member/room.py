"""One membership: its state as far as the law discloses it, sending, certificates, the inbox.

What a message came to is shown at once, with the reasons that the law discloses. Whoever reads the
inbox here takes nothing from a program that runs as the same agent: each has its own.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from nicegui import ui

from nomospace.api.forms import typed_message, words_of
from nomospace.api.inboxes import NumberedLetter
from nomospace.api.published import (
    CERTIFICATE_BYTES_MAX,
    DisclosedRuling,
    Membership,
    read_certificate,
)
from nomospace.api.service import AgentSeat
from nomospace.console import look
from nomospace.console.filebox import FileBox
from nomospace.console.frame import Frame
from nomospace.console.places import acting
from nomospace.console.places.listing import ListColumn, ListElement, Row
from nomospace.console.places.parts import act, card_head
from nomospace.console.places.typed import Drafts, Typed
from nomospace.errors import NomospaceError

RULINGS_MAX: Final = 20
"""How many of one's rulings stay on the page."""
LETTERS_MAX: Final = 100
"""How many letters are fetched at a time."""
LETTERS: Final = (
    ListColumn("number", "no.", "44px", "num"),
    ListColumn("sender", "from", "minmax(0, .7fr)", "mono"),
    ListColumn("message", "message", "minmax(0, 2fr)", "mono"),
)
DISCLOSED: Final = {
    "rules": "The law tells you which rule ruled and why, and not what is in your control state.",
    "none": "The law tells you nothing but whether something passed.",
}


class MembershipRoom:
    """A membership in the middle of the place."""

    def __init__(self, frame: Frame, agent: str, mine: Membership, drafts: Drafts) -> None:
        self._frame = frame
        self._agent = agent
        self._law, self._hash = mine.key, mine.law
        self._drafts = drafts
        self._rulings: deque[tuple[DisclosedRuling, str]] = deque(maxlen=RULINGS_MAX)
        self._last: int | None = None
        """The last letter that is shown; none before the list stands."""
        with ui.element("div").classes("member-room"):
            with ui.element("section").classes("card member-card"):
                card_head("Send")
                self._draw_send()
                self._ruled = (
                    ui.element("div")
                    .classes("member-rulings")
                    .props("role=log aria-live=polite data-rulings")
                )
            with ui.element("section").classes("card member-card"):
                card_head("Your control state")
                self._state = ui.element("div").props("data-state")
                card_head("Present a certificate")
                self._draw_certificate()
                card_head("Leave")
                self._draw_leave()
            with ui.element("section").classes("card member-inbox"):
                card_head("Inbox")
                self._inbox = ListElement(
                    LETTERS,
                    [],
                    label="Letters, the newest first",
                    none="No letter yet. What the law delivers to you appears here.",
                    now=0,
                    on_pick=self._open,
                )
                self._inbox.on("ready", self._begin_mail)
        self.tell(mine)

    def _seat(self) -> AgentSeat:
        return acting.seat_of(self._frame.console, self._frame.viewer, self._agent)

    # -- what the law discloses --------------------------------------------------------------------

    def tell(self, mine: Membership) -> None:
        """Show the control state as it is now, if it is disclosed."""
        self._state.clear()
        with self._state:
            if mine.state is None:
                ui.label(DISCLOSED.get(mine.disclose, "")).classes("quiet")
                return
            if mine.disclose != "all":
                ui.label(
                    "Shown because you are an operator; the law does not disclose it."
                ).classes("quiet")
            with ui.element("div").classes("member-chips"):
                for term in mine.state:
                    look.chip(term)
                if not mine.state:
                    ui.label("It is empty.").classes("quiet")
            for owed in mine.obligations or ():
                with ui.element("div").classes("member-owed"):
                    ui.label(look.SIGNS[look.OBLIGATION]).classes(look.OBLIGATION)
                    look.mono(owed.term)
                    look.when(owed.due_at)

    # -- sending -----------------------------------------------------------------------------------

    def _draw_send(self) -> None:
        self._message = Typed(
            "Message",
            placeholder="publish(alarm(kind(fire), text(smoke)))",
            draft=(self._drafts, f"member.message.{self._law}"),
            on_type=self._check,
            on_enter=self._send,
        )
        self._to = Typed(
            "To: an agent or a space, or several with commas",
            placeholder="mediator@ward",
            choices=acting.choices(self._frame.console, self._frame.viewer),
            draft=(self._drafts, f"member.to.{self._law}"),
            on_enter=self._send,
        )
        act("Send", self._send, main=True).props("data-do=send")
        self._sent = ui.element("div").props("role=status data-sent")

    def _check(self) -> bool:
        if not self._message.value.strip():
            self._message.slip(None)
            return False
        return self._message.fits(typed_message)

    async def _send(self) -> None:
        self._sent.clear()
        if not self._check():
            return
        to = [one.strip() for one in self._to.value.split(",") if one.strip()]
        message = typed_message(self._message.value)
        with look.told_in(self._sent):
            told = await self._seat().send(self._law, message, to[0] if len(to) == 1 else to)
            self._rule(told, words_of([message]))

    def _rule(self, told: DisclosedRuling, what: str) -> None:
        """Show a ruling, the newest first; the latest ones stay."""
        self._rulings.appendleft((told, what))
        self._ruled.clear()
        with self._ruled:
            for number, (one, about) in enumerate(self._rulings):
                _ruling(one, about, unfolded=number == 0)

    # -- certificates ------------------------------------------------------------------------------

    def _draw_certificate(self) -> None:
        FileBox(
            "From a file (PEM or DER)",
            accept=".pem,.der,.crt,.cer",
            bytes_max=CERTIFICATE_BYTES_MAX,
            on_file=self._file,
        )
        self._pem = Typed(
            "or as text",
            placeholder="-----BEGIN CERTIFICATE----- …",
            lines=3,
            draft=(self._drafts, f"member.pem.{self._law}"),
        )
        act("Present", self._paste).props("data-do=present")
        self._shown = ui.element("div").props("role=status data-presented")

    async def _file(self, name: str, size: int, data: bytes) -> None:
        # Of a file that is too large there are no bytes here; its size says what is wrong with it.
        await self._present(name, data or bytes(max(0, min(size, CERTIFICATE_BYTES_MAX + 1))))

    async def _paste(self) -> None:
        await self._present("the text", self._pem.value.strip().encode())

    async def _present(self, name: str, data: bytes) -> None:
        self._shown.clear()
        try:
            told = await self._seat().present(self._law, read_certificate(data))
        except NomospaceError as error:
            with self._shown:
                ui.label(name).classes("mono")
                look.fault(error)
            return
        with self._shown:
            ui.label(f"{name} was presented: {told.verdict}").classes("forwarded")
        self._rule(told, f"certificate {name}")

    # -- leaving -----------------------------------------------------------------------------------

    def _draw_leave(self) -> None:
        """Only a law ends a membership; so say which of its rules do."""
        law = next(
            one
            for one in acting.service_of(self._frame.console, self._agent).laws_of(self._agent)
            if one.hash == self._hash
        )
        text = law.tree.source.text
        ending = [
            text[rule.span.start : rule.span.end]
            for rule in law.tree.rules
            if rule.event == "sent" and "quit" in text[rule.span.start : rule.span.end]
        ]
        if not ending:
            ui.label(
                "A membership ends when the law says quit. No rule of this law does on a message, "
                "so a member stays; being another agent leaves it as it is."
            ).classes("quiet")
            return
        ui.label("A membership ends when the law says quit. Send what one of these wants:").classes(
            "quiet"
        )
        for rule in ending[:5]:
            look.mono(rule).classes("pre member-rule")

    # -- receiving ---------------------------------------------------------------------------------

    def mail(self) -> None:
        """Show letters that came since the last time."""
        if self._last is None:
            return
        try:
            found = self._seat().inbox(self._law).since(self._last, LETTERS_MAX)
        except NomospaceError:  # it has moved on, or left: the next look shows that
            return
        if found:
            self._last = found[-1].number
            self._inbox.add([_row(one) for one in reversed(found)], 0)

    def _begin_mail(self) -> None:
        self._last = 0
        self.mail()

    def _open(self, id: str) -> None:
        """Answer a letter: whoever sent it is whom the next message goes to."""
        self._to.put(id.partition("/")[2])


def _row(letter: NumberedLetter) -> Row:
    return {
        "id": f"{letter.number}/{letter.sender}",
        "number": letter.number,
        "sender": letter.sender,
        "message": words_of([letter.message]),
    }


def _ruling(told: DisclosedRuling, what: str, *, unfolded: bool) -> None:
    verdict = look.REFUSED if told.refused else look.HELD if told.held else look.FORWARDED
    with ui.element("details").classes("member-ruling") as made:
        if unfolded:
            made.props("open")
        with ui.element("summary"):
            look.verdict_chip(verdict)
            look.mono(what).classes("member-what")
            if told.rule:
                ui.label(told.rule).classes("mono quiet")
        look.mono(told.explain()).classes("pre member-why")
