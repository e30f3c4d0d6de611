"""What controllers are told from outside, and what agents are told of their rulings.

Agents send messages; operators speak for spaces; the programs of agents go and come back;
certificates are checked elsewhere. Why something was refused is told within bounds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from nomospace.calls.addresses import owner_of
from nomospace.calls.answers import DisclosedRuling
from nomospace.calls.problems import NotGoverned, NotHere, Refused, Suspended
from nomospace.calls.requests import Quit, Stand, Tell
from nomospace.control import Event, Membership, Ruling, certificate, sent, standing, tell
from nomospace.control.explain import told_units
from nomospace.host.calls import Absent, Certified, Present, Revoked, Speak, Uncertified
from nomospace.host.part import HostPart
from nomospace.host.residents import Resident
from nomospace.host.shares import check_receivers
from nomospace.terms import Compound
from nomospace.terms.values import weight

if TYPE_CHECKING:
    from nomospace.host.ports import Home, HostParts

REASONS_MAX: Final = 20
"""Of how many refusals a second a member is told the reasons; of the others, only that they are."""
REASON_UNITS_MAX: Final = 2_000
"""The units of the interpreter after which a member is told no more reasons in a second."""
REASON_UNITS_ALL: Final = 1_000
"""The units after which, in a twentieth of a second, only those hear reasons who heard none in the
last second: many who ask at once hold nobody else up for long."""
REASONS_KEPT_MAX: Final = 10_000
SECOND: Final = 1_000_000


class Telling(HostPart):
    """What the controllers of one host are told, and their agents of them."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._reasons: dict[Home, tuple[int, int, int]] = {}
        """When each member's second began, of how many refusals it was told the reasons in it, and
        in how many units."""
        self._all = (0, 0)
        """When this twentieth of a second began, and the units that all were told in it."""

    def speak(self, event: Speak) -> None:
        """A governed space says something, in its own name and under its own law."""
        governing, space = self._host.governing, event.space
        laws = [law for home, law in governing.managed() if home == space]
        if event.law:
            laws = [law for law in laws if law == event.law]
        if len(laws) != 1:
            self._step.note("no-such-space", space=space, law=event.law)
            error = NotGoverned(space=space, host=self._step.name, laws=tuple(laws))
            self._step.fail(event.op, error)
            return
        try:
            manager = governing.member(space, laws[0])
        except Suspended as refused:
            self._step.fail(event.op, refused)
            return

        def ruled(ruling: Ruling) -> None:
            governing.drain()
            self._step.answer(event.op, tell(manager, ruling))

        governing.rule(manager, sent(space, event.message, event.to), then=ruled)
        governing.drain()

    def present(self, event: Absent | Present) -> None:
        """The program of an agent went away, or is back: its controllers are told."""
        kind = "disconnected" if isinstance(event, Absent) else "reconnected"
        governing = self._host.governing
        for member in governing.memberships(event.agent):
            governing.rule(member, Event(kind, ()))
        governing.drain()

    def certify(self, event: Certified | Revoked | Uncertified) -> None:
        """A certificate checks out, does not, or counts no longer: a controller is told."""
        governing = self._host.governing
        member = governing.find(event.agent, event.law)
        if member is None:
            self._step.note("no-such-member", agent=event.agent, law=event.law)
            return
        shown = certificate(event.issuer, event.subject or event.agent, event.attributes)
        if isinstance(event, Uncertified):
            operation = Compound("certify", (shown,))
            governing.rule(member, Event("exception", (operation, "invalidCertificate")))
        else:
            kind = "certified" if isinstance(event, Certified) else "revoked"
            governing.rule(member, Event(kind, (shown,)))
        governing.drain()

    def stand(self, op: int, resident: Resident, request: Stand) -> None:
        """Tell an agent where it stands under a law."""
        self._step.answer(op, standing(self._host.governing.member(resident.id, request.law)))

    def quit(self, op: int, resident: Resident, request: Quit) -> None:
        """An agent leaves a community: its law hears `quit`, and rules no more."""
        member = self._host.governing.member(resident.id, request.law)

        def left(ruling: Ruling) -> None:
            self._step.answer(op, tell(member, ruling))

        self._host.governing.leave(member, op, left)

    def send(self, op: int, resident: Resident, request: Tell) -> None:
        """A message of an agent to another, or to a space; told what it may know of the ruling."""
        governing, posting = self._host.governing, self._host.posting
        member = governing.member(resident.id, request.law)
        if posting.creating and posting.waits(
            op, resident.id, partial(self.send, op, resident, request)
        ):
            return
        if request.to.__class__ is tuple:
            check_receivers(self._step.shares, len(request.to), weight(request.message))
        if request.here:
            for name in (request.to,) if isinstance(request.to, str) else request.to:
                if "@" in name and owner_of(name) not in self._host.spaces.residents:
                    raise NotHere(agent=name, host=self._step.name)

        def ruled(ruling: Ruling) -> None:
            told = self._told(member, ruling) if ruling.refused else tell(member, ruling)
            governing.drain()
            self._step.answer(op, told)

        governing.ask(member, sent(member.home, request.message, request.to), op, ruled)

    def _told(self, member: Membership, ruling: Ruling) -> DisclosedRuling:
        """What a member is told of a refusal: why, while it has a share of reasons in this second.

        An agent that sends what is refused as fast as it can must not keep its host busy.
        """
        now, home = self._step.now, (member.home, member.law.hash)
        since, count, used = self._reasons.get(home, (now, 0, 0))
        if now - since >= SECOND:
            since, count, used = now, 0, 0
        began, all_used = self._all
        if now - began >= SECOND // 20:
            began, all_used = now, 0
        if count and (
            count >= REASONS_MAX or used >= REASON_UNITS_MAX or all_used >= REASON_UNITS_ALL
        ):
            return tell(member, ruling, brief=True)
        units = told_units()
        whole = units[0]
        told = tell(member, ruling, units=units)
        spent = units[0] - whole
        if len(self._reasons) >= REASONS_KEPT_MAX:
            self._reasons.clear()
        self._reasons[home] = (since, count + 1, used + spent)
        self._all = (began, all_used + spent)
        return told

    def refusal(self, member: Membership, ruling: Ruling) -> Refused:
        """The error that a refused operation is answered with."""
        told = self._told(member, ruling)
        return Refused(ruling=told, why=told.explain())
