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
    agent: str
    host: str

    def __str__(self) -> str:
        return f"{self.agent} is not on host {self.host}; it left, or never came"


@dataclass(eq=False, kw_only=True)
class AgentExists(CallerError):
    """An agent comes to a host where it already is."""

    code: ClassVar[str] = "host.agent-exists"
    agent: str

    def __str__(self) -> str:
        return f"{self.agent} is on this host already; ids are unique"


@dataclass(eq=False, kw_only=True)
class NotOpen(CallerError):
    """An operation names a space that its agent has not opened."""

    code: ClassVar[str] = "space.not-open"
    space: str
    agent: str

    def __str__(self) -> str:
        return f"{self.agent} has no space {self.space!r}; open it first"


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
    space: str

    def __str__(self) -> str:
        return (
            f"space {self.space!r} is private, and nobody else can write the tuple to wait for; "
            "share it, or use the form that does not wait"
        )


@dataclass(eq=False, kw_only=True)
class ReadOnly(CallerError):
    """The system space is written by hosts only."""

    code: ClassVar[str] = "space.read-only"
    space: str

    def __str__(self) -> str:
        return f"space {self.space!r} is written by hosts only; read it, or react to it"


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
    given: str

    def __str__(self) -> str:
        return f"{self.given!r} is no agent's id (name@domain); only agents hold tuples"


@dataclass(eq=False, kw_only=True)
class UnboundStrong(CallerError):
    """A strong reaction does not say where."""

    code: ClassVar[str] = "space.unbound-strong"

    def __str__(self) -> str:
        return (
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
    what: str

    def __str__(self) -> str:
        return f"{self.what} would wait inside a reaction's listener; use the form that does not"


@dataclass(eq=False, kw_only=True)
class Cancelled(Unavailable):
    """A waiting operation was called off."""

    code: ClassVar[str] = "host.cancelled"

    def __str__(self) -> str:
        return "the operation was called off before a tuple came"


@dataclass(eq=False, kw_only=True)
class AgentLeft(Unavailable):
    """An agent left its host while an operation of it was under way."""

    code: ClassVar[str] = "host.agent-left"
    agent: str

    def __str__(self) -> str:
        return f"{self.agent} left while this was under way; ask again where it is now"


@dataclass(eq=False, kw_only=True)
class ContactLost(Unavailable):
    """Another host was asked and is gone before its answer came."""

    code: ClassVar[str] = "host.contact-lost"
    peer: str

    def __str__(self) -> str:
        return (
            f"contact with {self.peer} was lost before its answer came; nothing was taken, and a "
            "tuple on its way goes back by itself; ask again"
        )


@dataclass(eq=False, kw_only=True)
class InDoubt(Unavailable):
    """A lease was to be ended at a host that is gone before it confirmed that."""

    code: ClassVar[str] = "host.in-doubt"
    peer: str

    def __str__(self) -> str:
        return (
            f"contact with {self.peer} was lost before it confirmed; the lease was ended as asked, "
            "or lapses there and the tuple is back in its space; look for it when contact is back"
        )


@dataclass(eq=False, kw_only=True)
class Busy(Unavailable):
    """A limit of the host is reached."""

    code: ClassVar[str] = "host.busy"
    what: str
    limit: int

    def __str__(self) -> str:
        return f"{self.what} has reached its limit of {self.limit:,}; try again later"


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
    lease: str

    def __str__(self) -> str:
        return (
            f"lease {self.lease} is no longer yours, or its host is out of reach; the tuple goes "
            "back to its space, if it has not yet"
        )


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
    agent: str
    to: str
    why: str

    def __str__(self) -> str:
        return f"{self.agent} does not move to {self.to}: {self.why}; it goes on where it is"


@dataclass(eq=False, kw_only=True)
class TooMuch(CallerError):
    """More is asked for at another host, all at once, than it can send."""

    code: ClassVar[str] = "space.too-much"
    host: str
    why: str

    def __str__(self) -> str:
        return f"{self.host} cannot send all that was asked for: {self.why}; ask for less at a time"


@dataclass(eq=False, kw_only=True)
class NoProgram(CallerError):
    """A state is to be kept for an agent that runs no program."""

    code: ClassVar[str] = "host.no-program"
    agent: str

    def __str__(self) -> str:
        return f"{self.agent} runs no program; launch one, then save its state"


@dataclass(eq=False, kw_only=True)
class Refused(CallerError):
    """The law of a space lets an operation not pass."""

    code: ClassVar[str] = "law.refused"
    ruling: Told
    why: str

    def __str__(self) -> str:
        return self.why


@dataclass(eq=False, kw_only=True)
class OntologyUnknown(CallerError):
    """An ontology was named by its hash, and the host does not have it."""

    code: ClassVar[str] = "ontology.unknown"
    hash: str

    def __str__(self) -> str:
        return f"ontology {self.hash[:12]!r} is not known to this host; give the ontology itself"
