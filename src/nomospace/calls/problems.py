"""What a request may be answered with instead of a value: errors that agents meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nomospace.calls.answers import Told
from nomospace.errors import CallerError, Unavailable


@dataclass(eq=False, kw_only=True)
class NoSuchAgent(CallerError):
    """A call came for an agent that is not on this host."""

    code: ClassVar[str] = "host.no-such-agent"
    words: ClassVar[str] = "{agent} is not on host {host}; it left, or never came"
    agent: str
    host: str


@dataclass(eq=False, kw_only=True)
class AgentExists(CallerError):
    """An agent comes to a host where it already is."""

    code: ClassVar[str] = "host.agent-exists"
    words: ClassVar[str] = "{agent} is on this host already; ids are unique"
    agent: str


@dataclass(eq=False, kw_only=True)
class NotOpen(CallerError):
    """An operation names a space that its agent has not opened."""

    code: ClassVar[str] = "space.not-open"
    words: ClassVar[str] = "{agent} has no space {space!r}; open it first"
    space: str
    agent: str


@dataclass(eq=False, kw_only=True)
class OtherLaw(CallerError):
    """A space is opened under another law than it is under here."""

    code: ClassVar[str] = "space.other-law"
    space: str
    law: str
    given: str

    def __str__(self) -> str:
        here = f"law {self.law[:12]}" if self.law else "no law"
        given = f"law {self.given[:12]}" if self.given else "none"
        return f"space {self.space!r} is under {here} on this host, not {given}; use another name"


@dataclass(eq=False, kw_only=True)
class PrivateSpace(CallerError):
    """A waiting operation on a private space would wait for ever."""

    code: ClassVar[str] = "space.private"
    words: ClassVar[str] = (
        "space {space!r} is private, and nobody else can write the tuple to wait for; "
        "share it, or use the form that does not wait"
    )
    space: str


@dataclass(eq=False, kw_only=True)
class ReadOnly(CallerError):
    """The system space is written by hosts only."""

    code: ClassVar[str] = "space.read-only"
    words: ClassVar[str] = "space {space!r} is written by hosts only; read it, or react to it"
    space: str


@dataclass(eq=False, kw_only=True)
class NoSuchWay(CallerError):
    """An operation is of a kind that there is not."""

    code: ClassVar[str] = "space.no-such-way"
    given: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.given!r} is no way to look for a tuple; use one of {', '.join(self.known)}"


@dataclass(eq=False, kw_only=True)
class NotAnAgent(CallerError):
    """A tuple is for something that is no agent."""

    code: ClassVar[str] = "space.not-an-agent"
    words: ClassVar[str] = "{given!r} is no agent's id (name@domain); only agents hold tuples"
    given: str


@dataclass(eq=False, kw_only=True)
class UnboundStrong(CallerError):
    """A strong reaction does not say where."""

    code: ClassVar[str] = "space.unbound-strong"
    words: ClassVar[str] = (
        "a strong reaction watches one host or one agent: name it with at=, "
        "or make the reaction weak"
    )


@dataclass(eq=False, kw_only=True)
class BadReaction(CallerError):
    """A reaction's mode, strength or id is none there is."""

    code: ClassVar[str] = "space.bad-reaction"
    what: str
    given: str
    known: tuple[str, ...] = ()

    def __str__(self) -> str:
        hint = f"; use one of {', '.join(self.known)}" if self.known else ""
        return f"{self.given!r} is no {self.what} of a reaction{hint}"


@dataclass(eq=False, kw_only=True)
class WaitingInListener(CallerError):
    """A listener runs inside a step of its host and must not wait."""

    code: ClassVar[str] = "space.waiting-in-listener"
    words: ClassVar[str] = (
        "{what} would wait inside a reaction's listener; use the form that does not"
    )
    what: str


@dataclass(eq=False, kw_only=True)
class Cancelled(Unavailable):
    """A waiting operation was called off."""

    code: ClassVar[str] = "host.cancelled"
    words: ClassVar[str] = "the operation was called off before a tuple came"


@dataclass(eq=False, kw_only=True)
class AgentLeft(Unavailable):
    """An agent left its host while an operation of it was under way."""

    code: ClassVar[str] = "host.agent-left"
    words: ClassVar[str] = "{agent} left while this was under way; ask again where it is now"
    agent: str


@dataclass(eq=False, kw_only=True)
class ContactLost(Unavailable):
    """Another host was asked and is gone before its answer came."""

    code: ClassVar[str] = "host.contact-lost"
    words: ClassVar[str] = (
        "contact with {peer} was lost before its answer came; nothing was taken, and a "
        "tuple on its way goes back by itself; ask again"
    )
    peer: str


@dataclass(eq=False, kw_only=True)
class InDoubt(Unavailable):
    """A lease was to be ended at a host that is gone before it confirmed that."""

    code: ClassVar[str] = "host.in-doubt"
    words: ClassVar[str] = (
        "contact with {peer} was lost before it confirmed; the lease was ended as asked, "
        "or lapses there and the tuple is back in its space; look for it when contact is back"
    )
    peer: str


@dataclass(eq=False, kw_only=True)
class Busy(Unavailable):
    """A limit of the host is reached."""

    code: ClassVar[str] = "host.busy"
    words: ClassVar[str] = "{what} has reached its limit of {limit:,}; try again later"
    what: str
    limit: int


@dataclass(eq=False, kw_only=True)
class Suspended(CallerError):
    """An operator has suspended an agent, or the law that it acts under."""

    code: ClassVar[str] = "host.suspended"
    name: str
    since: int
    why: str = ""

    def __str__(self) -> str:
        who = self.name if "@" in self.name else f"law {self.name[:12]}"
        why = f" ({self.why})" if self.why else ""
        return (
            f"{who} is suspended at this host{why}; its mail and obligations are kept until an "
            "operator resumes it"
        )


@dataclass(eq=False, kw_only=True)
class LeaseLapsed(Unavailable):
    """A lease ran out, or its host is out of reach, before it was settled."""

    code: ClassVar[str] = "space.lease-lapsed"
    words: ClassVar[str] = (
        "lease {lease} is no longer yours, or its host is out of reach; the tuple goes "
        "back to its space, if it has not yet"
    )
    lease: str


@dataclass(eq=False, kw_only=True)
class NotAMember(CallerError):
    """A governed space is used by an agent that has not adopted its law."""

    code: ClassVar[str] = "law.not-a-member"
    agent: str
    law: str

    def __str__(self) -> str:
        return f"{self.agent} has not adopted law {self.law[:12]}; adopt it first"


@dataclass(eq=False, kw_only=True)
class AlreadyMember(CallerError):
    """An agent adopts a law that it is under already."""

    code: ClassVar[str] = "law.already-a-member"
    agent: str
    law: str

    def __str__(self) -> str:
        return f"{self.agent} is a member under law {self.law[:12]} already"


@dataclass(eq=False, kw_only=True)
class MoveRefused(Unavailable):
    """An agent stays where it is."""

    code: ClassVar[str] = "host.move-refused"
    words: ClassVar[str] = "{agent} does not move to {to}: {why}; it goes on where it is"
    agent: str
    to: str
    why: str


@dataclass(eq=False, kw_only=True)
class TooMuch(CallerError):
    """More is asked for at another host, all at once, than it can send."""

    code: ClassVar[str] = "space.too-much"
    words: ClassVar[str] = (
        "{host} cannot send all that was asked for: {why}; ask for less at a time"
    )
    host: str
    why: str


@dataclass(eq=False, kw_only=True)
class NoProgram(CallerError):
    """A state is to be kept for an agent that runs no program."""

    code: ClassVar[str] = "host.no-program"
    words: ClassVar[str] = "{agent} runs no program; launch one, then save its state"
    agent: str


@dataclass(eq=False, kw_only=True)
class Refused(CallerError):
    """The law of a space lets an operation not pass."""

    code: ClassVar[str] = "law.refused"
    words: ClassVar[str] = "{why}"
    ruling: Told
    why: str


@dataclass(eq=False, kw_only=True)
class OntologyUnknown(CallerError):
    """An ontology was named by its hash, and the host does not have it."""

    code: ClassVar[str] = "ontology.unknown"
    hash: str

    def __str__(self) -> str:
        return f"ontology {self.hash[:12]!r} is not known to this host; give the ontology itself"
