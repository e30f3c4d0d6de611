"""A membership as its agent holds it: send under the law, receive what the law delivers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.calls.addresses import address_of, key_of
from nomospace.calls.answers import DisclosedRuling, Standing
from nomospace.calls.requests import Quit, Show, Stand, Tell
from nomospace.client.connection import Connection, Law, Report
from nomospace.errors import CallerError
from nomospace.terms import Term, freeze, term
from nomospace.terms.tuples import LIGHT, LIGHT_LEVELS, light_weight
from nomospace.terms.values import thaw

if TYPE_CHECKING:
    from nomospace.client.fronts import FrontSpace

CERTIFICATE_BYTES_MAX: Final = 16_384
"""The largest certificate that is presented."""
MAIL_MAX: Final = 10_000
"""How many messages may wait in an inbox; past it the newest are dropped, and that is reported."""


class NoCertificate(CallerError):
    """What was to be presented is no certificate, and no file with one."""

    code = "client.no-certificate"
    words = "{given}: {why}; give a certificate (PEM or DER), or the path of its file"
    given: str
    why: str


def read_certificate(given: bytes | str | Path) -> bytes:
    """The bytes of a certificate that was given as such, as text, or as a path."""
    if isinstance(given, str) and given.lstrip().startswith("-----BEGIN"):
        given = given.encode()
    if not isinstance(given, bytes):
        try:
            with Path(given).open("rb") as file:
                given = file.read(CERTIFICATE_BYTES_MAX + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise NoCertificate(given=str(given)[:80], why=why) from None
    if not 0 < len(given) <= CERTIFICATE_BYTES_MAX:
        why = f"it has {len(given):,} bytes, and a certificate 1 to {CERTIFICATE_BYTES_MAX:,}"
        raise NoCertificate(given="the certificate", why=why)
    return given


class Letter(msgspec.Struct, frozen=True, gc=False):
    """A message that the law delivered, and who sent it."""

    sender: str
    message: Any


class Inbox:
    """The messages of one letterbox as they come."""

    __slots__ = ("_letters",)

    def __init__(self, letters: LetterQueue) -> None:
        self._letters = letters

    def __aiter__(self) -> Inbox:
        return self

    async def __anext__(self) -> Letter:
        letter = await self._letters._receive()
        if letter is None:
            raise StopAsyncIteration
        return letter


class LetterQueue:
    """Messages that wait for their reader: those `of` a law, or plain ones, of none."""

    __slots__ = ("_bell", "_connection", "_dropped", "_letters", "_of", "_open")

    def __init__(self, connection: Connection, of: str = "") -> None:
        self._of = of
        self._connection = connection
        self._letters: deque[Letter] = deque()
        self._bell: asyncio.Future[None] | None = None
        self._dropped = 0
        self._open = True

    def inbox(self) -> Inbox:
        """The messages that come, oldest first: for `async for`.

        It ends with the agent. Each message goes to one reader; breaking off loses nothing, the
        next `inbox()` goes on.
        """
        return Inbox(self)

    def receive_nowait(self) -> Letter | None:
        """The oldest message that waits, or `None`."""
        return self._letters.popleft() if self._letters else None

    async def _receive(self) -> Letter | None:
        """The next message; `None` when the agent is closed and none is left."""
        while not self._letters:
            if not self._open:
                return None
            if self._bell is None or self._bell.done():
                self._bell = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._bell)  # several readers wait for one bell
        return self._letters.popleft()

    def on_mail(self, sender: str, message: Term) -> None:
        """The connection brings a message."""
        if not self._open:
            return
        if len(self._letters) >= MAIL_MAX:
            self._dropped += 1
            if self._dropped == 1:
                facts = {"agent": self._connection.agent, "law": self._of, "limit": MAIL_MAX}
                self._connection.report(Report("an inbox is full and drops messages", facts))
            return
        self._dropped = 0
        self._letters.append(Letter(sender, thaw(message)))
        self._ring()

    def drain(self) -> list[Letter]:
        """Take out what waits: it goes elsewhere with its agent."""
        letters = list(self._letters)
        self._letters.clear()
        return letters

    def put_back(self, letters: Iterable[Letter]) -> None:
        """Let letters wait before all others, in their order."""
        self._letters.extendleft(reversed(list(letters)))
        if self._letters:
            self._ring()

    def close(self) -> None:
        """Its agent is closed: readers of the inbox get what waits, then the end."""
        self._open = False
        self._ring()

    @property
    def closed(self) -> bool:
        """Whether no more messages come."""
        return not self._open

    def _ring(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)


def message_of(message: Any) -> Any:
    """A message as it goes out: a string is read as the text of a term."""
    if isinstance(message, str):
        return term(message)
    if light_weight(message, LIGHT_LEVELS) <= LIGHT:  # it is a small term as it is
        return message
    return freeze(message)


class Membership(LetterQueue):
    """An agent's membership in the community of one law. Made by `Agent.adopt`.

    Its inbox has the messages that the law delivers to the agent.
    """

    __slots__ = ("_fronts", "key", "law", "number", "ruling")

    def __init__(self, connection: Connection, law: Law, number: int = 1) -> None:
        self.law = law
        self.number = number
        """Which of the agent's memberships under the law it is."""
        self.key = key_of(law.hash, number)
        """How HTTP names it: the law's hash, with `~2` behind it for the second one."""
        self.ruling: DisclosedRuling | None = None
        """The ruling on the adoption."""
        self._fronts: dict[str, FrontSpace] = {}
        super().__init__(connection, law.name)

    def __repr__(self) -> str:
        return f"<{self.address} under law {self.law.name}>"

    @property
    def address(self) -> str:
        """Where other members write to it: the agent's id, or `nurse~2@ward` for its second."""
        return address_of(self._connection.agent, self.number)

    async def send(
        self, message: Any, *, to: str | Sequence[str], here: bool = False
    ) -> DisclosedRuling:
        """Send a message to an agent, a space, or several; gives the ruling, refused or not.

        A string is read as the text of a term, so `"publish(alarm(fire))"` and
        `t.publish(t.alarm("fire"))` are the same message.

        With `here` it goes only if all agents that it is for are at this agent's host now; else
        `NotHere` is raised, the law is not asked, and nothing was sent.
        """
        receiver = to if isinstance(to, str) else tuple(to)
        tell = Tell(self.key, message_of(message), receiver, here)
        told: DisclosedRuling = await self._connection.ask(tell)
        return told

    def front(self, agent: str) -> FrontSpace:
        """The tuple space that an agent answers for, which has a space's role under this law.

        What it answers goes to the operations that wait for it, and not to the inbox.
        """
        from nomospace.client.fronts import FrontSpace  # few clients have one

        return self._fronts.setdefault(agent, FrontSpace(self, agent))

    def on_mail(self, sender: str, message: Term) -> None:
        """The connection brings a message: an answer of a front, or one for the inbox."""
        front = self._fronts.get(sender)
        if front is None or not front.answered(message):
            super().on_mail(sender, message)

    async def present(self, certificate: bytes | str | Path) -> DisclosedRuling:
        """Present a certificate, PEM or DER, or its file: the ruling on it.

        The controller checks it; one that counts is `certified` to the law until it runs out or is
        revoked. Raises a kind of `BadCertificate` for one that does not.
        """
        shown = Show(self.key, read_certificate(certificate))
        told: DisclosedRuling = await self._connection.ask(shown)
        return told

    async def quit(self) -> DisclosedRuling:
        """Leave the community: the ruling on it. The law hears `quit`, and then rules no more.

        The inbox ends. Who adopts the law again is a new member, with the state of one, unless a
        secretary keeps the community's roll and forbids it.
        """
        told: DisclosedRuling = await self._connection.ask(Quit(self.key))
        self.close()
        return told

    async def standing(self) -> Standing:
        """Where the agent stands: its control state and what it owes, if the law discloses it.

        The answer has `told`, which says whether it does (`disclose(all)`), `state`, and `owed`
        with when each obligation falls due. Asking is no event: the law does not rule on it.
        """
        standing: Standing = await self._connection.ask(Stand(self.key))
        return standing
