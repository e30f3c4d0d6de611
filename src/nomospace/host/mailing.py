"""Mail of a host's agents and controllers: what comes for them, and what will never arrive.

Routing (`posting`) brings letters to the agents that they are for. A letter of a community arrives
at the controller of its receiver; one that nobody takes goes back, and is an exception at the
controller that sent it.

Plain letters are of no community: agents write them to each other, and laws let them out with
`release`. One for a member whose law has rules for `submitted` is that event at its controller, at
each, if there are several; its law says whether it is delivered. Everybody else has an inbox. What
will never arrive goes back to its sender's inbox, from nobody, as `undelivered(Message, To, Why)`;
what a law has released, to its controller as an exception.

What controllers are told from outside, and what agents are told of their rulings.

Agents send messages; operators speak for spaces; the programs of agents go and come back;
certificates are checked elsewhere. Why something was refused is told within bounds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from nomospace.calls.addresses import (
    NAME_MAX,
    address_of,
    home_of,
    is_agent_id,
    key_of,
    owner_of,
    split_address,
    split_key,
)
from nomospace.calls.answers import DisclosedRuling
from nomospace.calls.problems import NotAnAgent, NotGoverned, NotHere, Refused, Suspended
from nomospace.calls.requests import Quit, SendPlain, Stand, Tell
from nomospace.control import (
    Event,
    Membership,
    Release,
    Ruling,
    arrived,
    certificate,
    sent,
    standing,
    tell,
)
from nomospace.control.explain import told_units
from nomospace.host.calls import Absent, Certified, Present, Revoked, Speak, Uncertified
from nomospace.host.effects import HERE, Journey, Mail
from nomospace.host.part import HostPart
from nomospace.host.posting import RELEASED, Letter, Rejected
from nomospace.host.residents import Resident
from nomospace.host.shares import check_receivers
from nomospace.protocols.routing.frames import PATH_MAX, Post
from nomospace.protocols.spaces import Mailed
from nomospace.terms import Compound, Term
from nomospace.terms.values import weight

if TYPE_CHECKING:
    from nomospace.host.ports import Home, HostParts


class Mailing(HostPart):
    """The mail of one host."""

    # -- outside of communities --------------------------------------------------------------

    def send(self, op: int, resident: Resident, request: SendPlain) -> None:
        """A plain message of an agent: answered when it is on its way, and on disk."""
        if not is_agent_id(request.to):
            raise NotAnAgent(given=request.to[:NAME_MAX])
        posting = self._host.posting
        if posting.creating and posting.waits(
            op, resident.id, partial(self.send, op, resident, request)
        ):
            return
        if request.here and owner_of(request.to) not in self._spaces.residents:
            raise NotHere(agent=request.to, host=self._step.name)
        check_receivers(self._step.shares, 1, weight(request.message))
        letter = Letter("", resident.id, request.message)
        posting.send(resident.id, owner_of(request.to), letter)
        self._step.answer(op)

    def release(self, member: Membership, order: Release) -> None:
        """A law lets a message out of its community, to an agent or several."""
        message = order.message
        home, by = split_address(member.home)
        for named in order.to if order.to.__class__ is tuple else (order.to,):
            to = owner_of(named) if is_agent_id(named) else ""
            peer = self._host.group.where.get(to)
            if not to:
                self._complain(member, message, named, "unknownDestination")
            elif home in self._spaces.residents:
                letter = Letter(RELEASED + member.law.hash, home, message, by=by)
                self._host.posting.send(home, to, letter)
            elif to in self._spaces.residents:  # spaces have no seats, and speak to those around
                self._submit(to, home, message, HERE)
            elif peer is not None:
                self._host.group.tell(peer, Mailed("", home, message, to))
            else:
                self._complain(member, message, to, "unknownDestination")

    def _complain(self, member: Membership, message: Term, to: Term, why: str) -> None:
        release = Compound("release", (message, to))
        self._host.governing.complain(member, release, why)

    def _submit(self, agent: str, sender: str, message: Term, came: Journey) -> str:
        """A plain message has come for an agent: to its controllers, or its inbox; or why not."""
        governing = self._host.governing
        ruled = [
            member
            for member in governing.memberships(agent)
            if any(rule.event == "submitted" for rule in member.law.tree.rules)
        ]
        if any(self._full(member.home, member.law.hash) for member in ruled):
            return "mailboxFull"
        for member in ruled:
            governing.arrive(member, Event("submitted", (sender, message, member.home)), came)
        if ruled:
            governing.drain()
        else:
            self._host.moving.deliver(Mail(agent, "", sender, message))
        return ""

    # -- what routing brings -----------------------------------------------------------------

    def mail(self, agent: str, post: Post) -> None:
        """Routing brings a message to an agent here, or the news that one was not taken."""
        origin, body = post.sender, post.body
        if isinstance(body, Rejected):
            law, by = split_key(body.law)
            self.undelivered(agent, Letter(law, agent, body.message, by=by), body.to, body.why)
            return
        assert isinstance(body, Letter), body
        host = self._host
        home, law = home_of(agent, body.law)
        why = ""
        came = _journey(post, body)
        if not law or law.startswith(RELEASED):
            # Routing knows whose letter it is; what it says of itself may be anything.
            why = self._submit(agent, origin, body.message, came)
        elif (there := host.governing.find(home, law)) is None:
            why = "lawMismatch" if host.governing.laws_of(agent) else "unknownDestination"
        elif self._full(home, law):
            why = "mailboxFull"
        else:
            host.governing.arrive(there, arrived(body.sender, body.message, home), came)
            host.governing.drain()
        if why:
            back = Rejected(key_of(law, body.by), body.message, home, why)
            host.posting.send(agent, origin, back)

    def _full(self, agent: str, law: str) -> bool:
        """Whether no more can wait for a controller."""
        home, suspending, deciding = (agent, law), self._host.suspending, self._host.deciding
        return (suspending.concerned and suspending.full(home)) or (
            bool(deciding.cases) and deciding.full(home)
        )

    def undelivered(self, agent: str, body: object, to: str, why: str) -> None:
        """A message of an agent here will never arrive: an exception at its controller, or mail."""
        if not isinstance(body, Letter):
            return
        if not body.law:
            back = Compound("undelivered", (body.message, to, why))
            self._host.moving.deliver(Mail(agent, "", "", back))
            return
        law, number = split_key(body.law.removeprefix(RELEASED))
        member = self._host.governing.find(address_of(agent, body.by), law)
        if member is None:
            return
        if body.law.startswith(RELEASED):
            self._complain(member, body.message, to, why)
        else:
            forward = Compound("forward", (body.sender, body.message, address_of(to, number)))
            self._host.governing.complain(member, forward, why)
        self._host.governing.drain()

    def hear_mailed(self, peer: str, body: Mailed) -> None:
        """A message of a space came from another host: under its law, or released from it."""
        if self._host.group.doubts(peer, body.law):
            return
        if not body.law:
            if body.to in self._spaces.residents and "@" not in body.sender:
                self._submit(body.to, body.sender, body.message, HERE)
            return
        there = self._host.governing.find(body.to, body.law)
        if there is not None:
            came = Journey(1, (peer,), body.cause, body.by) if body.cause else HERE
            self._host.governing.rule(there, arrived(body.sender, body.message, body.to), came)
            self._host.governing.drain()


def _journey(post: Post, letter: Letter) -> Journey:
    """How a letter came; one from here has come from nowhere."""
    path = (post.origin, *post.path[:PATH_MAX]) if post.hops else ()
    if letter.sender == post.sender and letter.by == 1:
        return Journey(post.hops, path, letter.cause)
    return Journey(post.hops, path, letter.cause, address_of(post.sender, letter.by))


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
