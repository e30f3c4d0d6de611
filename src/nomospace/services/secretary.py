"""The secretary of a community: its roll, who is a member now, and where its controller is.

A law alone lets anyone adopt it, and in as many names as they please. A community that wants to
know its members has a secretary (`000_…` 3.3, `001_…` 3.2): a host that is told to ask it lets
nobody adopt the law whom it does not admit. It promises

- single membership: one agent has one membership, at one host, at a time; a further one only if the
  roll has its address (`nurse~2@ward`). Who has quit does not come back with a clean slate, unless
  `returns` is set: a law may count on what it remembers;
- roles at the start: the terms that the roll has for a member stand in its control state after
  `initialCS`, before the law rules on the adoption. `tupleSpace` is no such term, and a roll that
  has it is refused: it is what the manager of a space holds, and an agent that is on the roll as a
  `space` (a front, `000_…` 4);
- assigned controllers: who is on the roll with a host's name is admitted at that host only;
- look-ups: where a member's controller is.

With `closed`, only who is on the roll is admitted; else all others are admitted without roles.

Departures from the paper: control states are kept by the host where the agent is, in one step with
the rulings that change them; whether messages are signed is said by the law (`clearMessages`).

>>> secretary = Secretary("ab12")
>>> secretary.apply(secretary.enrol("ann@ward", ("serviceProvider",)))
>>> joined, initial = secretary.admit("ann@ward", "ward-3", now=5)
>>> secretary.apply(joined)
>>> initial, secretary.where("ann@ward")
(('serviceProvider',), 'ward-3')
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Final

import msgspec

from nomospace.calls.addresses import owner_of
from nomospace.errors import CallerError, Unavailable
from nomospace.terms import Faulty, NotGround, Term, show, term

MEMBERS_MAX: Final = 100_000
"""How many names a roll has room for, members and others."""
INITIAL_MAX: Final = 64
"""How many terms the roll may give to a member."""
INITIAL_BYTES_MAX: Final = 10_000
"""How long they may be together, as text."""
NAME_MAX: Final = 400
"""The longest id of an agent, in characters."""
RESERVED: Final = "tupleSpace"


class BadRoll(CallerError):
    """An entry that no roll can have."""

    code = "secretary.bad-roll"
    agent: str
    why: str

    def __str__(self) -> str:
        return f"{self.agent[:60]!r} cannot be put on the roll: {self.why}"


class NotOnRoll(CallerError):
    """An agent that is not on the roll of a closed community."""

    code = "secretary.not-on-roll"
    words = (
        "{agent} is not on the roll of the community of law {law:.12}; "
        "ask its secretary's operator to put it there"
    )
    agent: str
    law: str


class OneMembership(CallerError):
    """An agent would have a further membership, and its address is not on the roll."""

    code = "secretary.one-membership"
    words = (
        "{agent} has one membership under law {law:.12}, whose secretary keeps the roll; for a "
        "further one ask its operator to enrol {address}"
    )
    agent: str
    address: str
    law: str


class MemberElsewhere(CallerError):
    """An agent that is a member already, through another controller."""

    code = "secretary.member-elsewhere"
    words = (
        "{agent} is a member already, at host {controller}; use that membership, or quit it first"
    )
    agent: str
    controller: str


class OtherController(CallerError):
    """An agent that is assigned to another host."""

    code = "secretary.other-controller"
    words = "{agent} is assigned to a controller at host {assigned}; adopt there"
    agent: str
    assigned: str


class HasQuit(CallerError):
    """An agent that was a member and has quit."""

    code = "secretary.has-quit"
    words = (
        "{agent} has quit the community of law {law:.12}, which takes nobody "
        "back; ask its secretary's operator to strike it off the roll"
    )
    agent: str
    law: str


class NoSuchMember(CallerError):
    """A look-up for somebody who is no member."""

    code = "secretary.no-such-member"
    words = "{agent} is no member of the community of law {law:.12} now"
    agent: str
    law: str


class RollFull(Unavailable):
    """A roll without room."""

    code = "secretary.full"
    words = "the roll has {limit:,} names and no room; strike some off"
    limit: int


class Enrolled(msgspec.Struct, frozen=True, tag=True):
    """An agent is on the roll: with these terms, and this host for a controller (empty for any)."""

    agent: str
    initial: tuple[str, ...] = ()
    controller: str = ""
    space: bool = False
    """Whether it answers for a tuple space, and so holds `tupleSpace`."""


class Struck(msgspec.Struct, frozen=True, tag=True):
    """An agent is off the roll, and that it ever quit is forgotten."""

    agent: str


class Joined(msgspec.Struct, frozen=True, tag=True):
    """An agent is a member, through a controller at this host, since a moment (µs)."""

    agent: str
    controller: str
    at: int


class Quitted(msgspec.Struct, frozen=True, tag=True):
    """An agent is a member no more."""

    agent: str


class AdmissionSettled(msgspec.Struct, frozen=True, tag="Settled"):
    """How a community takes agents in: only from the roll, again after they quit."""

    closed: bool
    returns: bool


Change = Enrolled | Struck | Joined | Quitted | AdmissionSettled


class Secretary:
    """The roll of one community, and its members. What decides says what would change."""

    def __init__(
        self,
        law: str,
        changes: Iterable[Change] = (),
        *,
        closed: bool = False,
        returns: bool = False,
    ) -> None:
        self.law = law
        self.settled = AdmissionSettled(closed, returns)
        self._roll: dict[str, Enrolled] = {}
        self._members: dict[str, Joined] = {}
        self._quit: dict[str, None] = {}
        for change in changes:
            self.apply(change)

    # -- the roll ----------------------------------------------------------------------------

    def enrol(
        self,
        agent: str,
        initial: Iterable[str] = (),
        controller: str = "",
        *,
        space: bool = False,
    ) -> Enrolled:
        """What would change if an agent were put on the roll with these terms (texts).

        It counts from its next adoption. Raises `BadRoll`, `RollFull`.

        >>> Secretary("ab12").enrol("ann@ward", ["tupleSpace"])
        Traceback (most recent call last):
        nomospace.services.secretary.BadRoll: 'ann@ward' cannot be put on the roll: ...
        """
        texts = tuple(initial)
        if not 0 < len(agent) <= NAME_MAX or "@" not in agent:
            raise BadRoll(agent=agent, why="it is no agent's id (name@domain)")
        if len(texts) > INITIAL_MAX or sum(map(len, texts)) > INITIAL_BYTES_MAX:
            raise BadRoll(agent=agent, why=f"more than {INITIAL_MAX} terms, or too long ones")
        self._room_for(agent)
        terms = tuple([show(_read(agent, text)) for text in texts])
        return Enrolled(agent, terms, controller, space)

    def strike(self, agent: str) -> Struck:
        """What would change if an agent were taken off the roll; a membership it has goes on."""
        return Struck(agent)

    def _room_for(self, agent: str) -> None:
        known = agent in self._roll or agent in self._members or agent in self._quit
        if not known and len(self._roll) + len(self._members) + len(self._quit) >= MEMBERS_MAX:
            raise RollFull(limit=MEMBERS_MAX)

    # -- members -----------------------------------------------------------------------------

    def admit(
        self, agent: str, controller: str, *, now: int
    ) -> tuple[Joined | None, tuple[Term, ...]]:
        """Whether an agent may adopt the law at a host: what would change, and its first terms.

        Asking twice for one host is harmless: it may have crashed before it heard the answer.
        Raises `NotOnRoll`, `OneMembership`, `MemberElsewhere`, `OtherController`, `HasQuit`,
        `RollFull`.
        """
        entry = self._roll.get(agent)
        if entry is None and self.settled.closed:
            raise NotOnRoll(agent=agent, law=self.law)
        if entry is None and (owner := owner_of(agent)) != agent:
            raise OneMembership(agent=owner, address=agent, law=self.law)
        if entry is not None and entry.controller not in ("", controller):
            raise OtherController(agent=agent, assigned=entry.controller)
        member = self._members.get(agent)
        if member is not None and member.controller != controller:
            raise MemberElsewhere(agent=agent, controller=member.controller)
        if agent in self._quit and not self.settled.returns:
            raise HasQuit(agent=agent, law=self.law)
        self._room_for(agent)
        initial = () if entry is None else tuple([term(text) for text in entry.initial])
        return (None if member else Joined(agent, controller, now)), initial

    def is_space(self, agent: str) -> bool:
        """Whether an agent is on the roll as one that answers for a space."""
        return agent in self._roll and self._roll[agent].space

    def move(self, agent: str, controller: str, *, now: int) -> Joined | None:
        """What changes when a member has moved to another host; raises `NoSuchMember`."""
        member = self.member(agent)
        return None if member.controller == controller else Joined(agent, controller, now)

    def quit(self, agent: str, controller: str) -> Quitted | None:
        """What changes when a host tells that its member has quit; nothing, for any other host."""
        member = self._members.get(agent)
        return Quitted(agent) if member is not None and member.controller == controller else None

    def apply(self, change: Change) -> None:
        """Carry out a change that has been written down."""
        if isinstance(change, AdmissionSettled):
            self.settled = change
            return
        agent = change.agent
        if isinstance(change, Enrolled):
            self._roll[agent] = change
        elif isinstance(change, Struck):
            self._roll.pop(agent, None)
            self._quit.pop(agent, None)
        elif isinstance(change, Joined):
            self._members[agent] = change
            self._quit.pop(agent, None)
        else:
            self._members.pop(agent, None)
            self._quit[agent] = None

    # -- look-ups ----------------------------------------------------------------------------

    def member(self, agent: str) -> Joined:
        """A member, with its host and since when; raises `NoSuchMember`."""
        member = self._members.get(agent)
        if member is None:
            raise NoSuchMember(agent=agent, law=self.law)
        return member

    def where(self, agent: str) -> str:
        """The host of a member's controller; raises `NoSuchMember`."""
        return self.member(agent).controller

    @property
    def members(self) -> tuple[str, ...]:
        """The members now, in the order in which they joined."""
        return tuple(self._members)

    @property
    def gone(self) -> Container[str]:
        """Who has quit."""
        return self._quit

    @property
    def roll(self) -> tuple[Enrolled, ...]:
        """Who is on the roll, member or not."""
        return tuple(self._roll.values())

    def changes(self) -> Iterator[Change]:
        """The fewest changes that make this roll: what has to be kept of all that were."""
        yield self.settled
        yield from self._roll.values()
        yield from self._members.values()
        for agent in self._quit:
            yield Quitted(agent)


def _read(agent: str, text: str) -> Term:
    try:
        read = term(text)
    except (Faulty, NotGround) as error:
        raise BadRoll(agent=agent, why=f"{text[:60]!r} is no term: {error}") from None
    if read == RESERVED:
        raise BadRoll(
            agent=agent, why=f'{RESERVED} is for spaces; say that it is one with "space": true'
        )
    return read
