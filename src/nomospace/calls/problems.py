"""What a request may be answered with instead of a value: errors that agents meet."""

from __future__ import annotations

from nomospace.calls.answers import DisclosedRuling
from nomospace.errors import CallerError, LimitReached, Unavailable


class NoSuchAgent(CallerError):
    """A call came for an agent that is not on this host."""

    code = "host.no-such-agent"
    words = "{agent} is not on host {host}; it left, or never came"
    agent: str
    host: str


class AgentExists(CallerError):
    """An agent comes to a host where it already is."""

    code = "host.agent-exists"
    words = "{agent} is on this host already; ids are unique"
    agent: str


class NotOpen(CallerError):
    """An operation names a space that its agent has not opened."""

    code = "space.not-open"
    words = "{agent} has no space {space!r}; open it first"
    space: str
    agent: str


class OtherLaw(CallerError):
    """A space is opened under another law than it is under here."""

    code = "space.other-law"
    space: str
    law: str
    given: str

    def __str__(self) -> str:
        here = f"law {self.law[:12]}" if self.law else "no law"
        given = f"law {self.given[:12]}" if self.given else "none"
        return f"space {self.space!r} is under {here} on this host, not {given}; use another name"


class OtherEngine(CallerError):
    """A space is opened with an engine that it does not have here, or that there is not."""

    code = "space.other-engine"
    words = "space {space!r} cannot have the engine {given!r}: {why}"
    space: str
    given: str
    why: str


class StaysInStore(CallerError):
    """A space that lies in a store is parted from it."""

    code = "space.stays-in-store"
    words = (
        "space {space!r} lies in the store of its host, and is shared there as long as it is open; "
        "take out what you need, or use a space of the memory engine"
    )
    space: str


class NotInMemory(CallerError):
    """Something was asked of a space in the store that only one in memory does."""

    code = "space.not-in-memory"
    words = (
        "{what} in space {space!r}: its tuples lie in the store, and sets of them are found in "
        "spaces of the memory engine only; copy what you need into such a space, or ask for single "
        "tuples"
    )
    space: str
    what: str


class NotGoverned(CallerError):
    """A space is to speak, or to be watched, that has no law at this host, or several."""

    code = "space.not-governed"
    space: str
    host: str
    laws: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.laws:
            return (
                f"space {self.space!r} is governed by {len(self.laws)} laws at {self.host}; name "
                f"one by its hash: {', '.join(self.laws)}"
            )
        return (
            f"no agent at {self.host} has a space {self.space!r} under a law, so it cannot speak "
            "there; ask a host where it is open (`nomospace space ls`)"
        )


class PrivateSpace(CallerError):
    """A waiting operation on a private space would wait for ever."""

    code = "space.private"
    words = (
        "space {space!r} is private, and nobody else can write the tuple to wait for; "
        "share it, or use the form that does not wait"
    )
    space: str


class ReadOnly(CallerError):
    """The system space is written by hosts only."""

    code = "space.read-only"
    words = "space {space!r} is written by hosts only; read it, or react to it"
    space: str


class NoSuchWay(CallerError):
    """An operation is of a kind that there is not."""

    code = "space.no-such-way"
    given: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.given!r} is no way to look for a tuple; use one of {', '.join(self.known)}"


class NotAnAgent(CallerError):
    """A tuple is for something that is no agent."""

    code = "space.not-an-agent"
    words = "{given!r} is no agent's id (name@domain); only agents hold tuples"
    given: str


class NotHere(Unavailable):
    """A message was to go only if its receiver is at the sender's host, and it is not."""

    code = "host.not-here"
    words = "{agent} is not at {host}; send it without `here`, and it finds its way"
    agent: str
    host: str


class NotOnRecord(Unavailable):
    """A new agent would send, and the server of its domain has not put it on record."""

    code = "routing.not-on-record"
    words = (
        "{agent} cannot send yet: {site}, which serves domain {domain!r}, has not answered for "
        "10 s; send again when it is up. Of two servers an operator may let the other take over "
        "(nomospace host promote); three do by themselves while two of them are up"
    )
    agent: str
    domain: str
    site: str


class NotItsServer(CallerError):
    """A host was to take over a domain that it cannot take over."""

    code = "routing.not-its-server"
    words = "{host} cannot serve domain {domain!r} alone: {why}"
    host: str
    domain: str
    why: str


class UnboundStrong(CallerError):
    """A strong reaction does not say where."""

    code = "space.unbound-strong"
    words = (
        "a strong reaction watches one host or one agent: name it with at=, "
        "or make the reaction weak"
    )


class BadReaction(CallerError):
    """A reaction's mode, strength or id is none there is."""

    code = "space.bad-reaction"
    what: str
    given: str
    known: tuple[str, ...] = ()

    def __str__(self) -> str:
        hint = f"; use one of {', '.join(self.known)}" if self.known else ""
        return f"{self.given!r} is no {self.what} of a reaction{hint}"


class WaitingInListener(CallerError):
    """A listener runs inside a step of its host and must not wait."""

    code = "space.waiting-in-listener"
    words = "{what} would wait inside a reaction's listener; use the form that does not"
    what: str


class Cancelled(Unavailable):
    """A waiting operation was called off."""

    code = "host.cancelled"
    words = "the operation was called off before a tuple came"


class AgentLeft(Unavailable):
    """An agent left its host while an operation of it was under way."""

    code = "host.agent-left"
    words = "{agent} left while this was under way; ask again where it is now"
    agent: str


class HasEnded(Unavailable):
    """An agent ended while an operation of it was under way, or a program spoke for it."""

    code = "host.agent-ended"
    words = "{agent} has ended, with all that was its own; come again to begin anew"
    agent: str


class ContactLost(Unavailable):
    """Another host was asked and is gone before its answer came."""

    code = "host.contact-lost"
    words = (
        "contact with {peer} was lost before its answer came; nothing was taken, and a "
        "tuple on its way goes back by itself; ask again"
    )
    peer: str


class InDoubt(Unavailable):
    """A lease was to be ended at a host that is gone before it confirmed that."""

    code = "host.in-doubt"
    words = (
        "contact with {peer} was lost before it confirmed; the lease was ended as asked, "
        "or lapses there and the tuple is back in its space; look for it when contact is back"
    )
    peer: str


class Busy(Unavailable):
    """A limit of the host is reached."""

    code = "host.busy"
    words = "{what} has reached its limit of {limit:,}; try again later"
    what: str
    limit: int


class Suspended(CallerError):
    """An operator has suspended an agent, or the law that it acts under."""

    code = "host.suspended"
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


class LeaseLapsed(Unavailable):
    """A lease ran out, or its host is out of reach, before it was settled."""

    code = "space.lease-lapsed"
    words = (
        "lease {lease} is no longer yours, or its host is out of reach; take the tuple again when "
        "it is back in its space"
    )
    lease: str


class NotAMember(CallerError):
    """A governed space is used by an agent that has not adopted its law."""

    code = "law.not-a-member"
    words = "{agent} has not adopted law {law:.12}; adopt it first"
    agent: str
    law: str


class AlreadyMember(CallerError):
    """An agent adopts a law that it is under already."""

    code = "law.already-a-member"
    words = (
        "{agent} is a member under law {law:.12} already; for a second membership "
        "adopt it as another"
    )
    agent: str
    law: str


class MoveRefused(Unavailable):
    """An agent stays where it is."""

    code = "host.move-refused"
    words = "{agent} does not move to {to}: {why}; it goes on where it is"
    agent: str
    to: str
    why: str


class TooMuch(CallerError):
    """More is asked for at another host, all at once, than it can send."""

    code = "space.too-much"
    words = "{host} cannot send all that was asked for: {why}; ask for less at a time"
    host: str
    why: str


class NoProgram(CallerError):
    """A state is to be kept for an agent that runs no program."""

    code = "host.no-program"
    words = "{agent} runs no program; launch one, then save its state"
    agent: str


class Refused(CallerError):
    """The law of a space lets an operation not pass."""

    code = "law.refused"
    words = "{why}"
    ruling: DisclosedRuling
    why: str


class OntologyUnknown(CallerError):
    """An ontology was named by its hash, and the host does not have it."""

    code = "ontology.unknown"
    hash: str

    def __str__(self) -> str:
        return f"ontology {self.hash[:12]!r} is not known to this host; give the ontology itself"


class AgentUnborn(Unavailable):
    """An agent of a host with several processes is under way to one of them, or not on record."""

    code = "node.agent-unborn"
    words = "{agent} is on its way to a worker of {host}, or to its record there; ask again soon"
    agent: str
    host: str


class AgentAway(Unavailable):
    """An agent was asked for that is not at this host: it is at another one, or under way.

    `at` is the host that has it or is its home, where that is known, and `address` where clients
    reach that one. `was_here` tells one that has left from one that never came.
    """

    code = "node.agent-away"
    agent: str
    host: str
    at: str = ""
    address: str = ""
    was_here: bool = True

    def __str__(self) -> str:
        what = f"has left {self.host}" if self.was_here else f"is not at {self.host}"
        if self.at:
            where = f" ({self.address})" if self.address else ""
            return f"{self.agent} {what}: it is to be found at host {self.at}{where}; connect there"
        if self.was_here:
            return f"{self.agent} {what}; write to it, or wait until it comes back"
        return f"{self.agent} {what}, nor at any host that it knows; connect to the agent's home"


class DelayTooLong(CallerError):
    """A tuple was to be given back for a time too far away."""

    code = "space.delay-too-long"
    words = (
        "a tuple cannot be kept back for {delay_s:,.0f} s, at most for a week; give it back "
        "sooner, or acknowledge it and write a new one when it is time"
    )
    delay_s: float


class SpaceFull(Unavailable):
    """A space holds as much of a thing as it may."""

    code = "space.full"
    words = (
        "space {space!r} holds {limit:,} {what}, which is its limit; "
        "take some out, or make the space with a higher one"
    )
    space: str
    what: str
    limit: int


class BadMonitor(CallerError):
    """A monitor is to keep what nobody can keep."""

    code = "host.bad-monitor"
    words = "a monitor of space {space!r}: {why}"
    space: str
    why: str


class NoSuchProgram(CallerError):
    """A program that a host does not run."""

    code = "node.no-such-program"
    words = "host {host} does not run program {program!r}: {why}"
    program: str
    host: str
    why: str


class RunsAlready(CallerError):
    """An agent is to run a program while it runs one."""

    code = "node.runs-already"
    words = "{agent} runs program {program!r}; launch under another name"
    agent: str
    program: str


class SearchTooLong(LimitReached):
    """A search has looked at more than it may without an end."""

    code = "limits.search"
    what: str = "this search, in units,"
    advice: str = "ask for less: give a field that tells its tuples from others a value"


class TooManyFound(LimitReached):
    """More tuples match than one call may read or take at once."""

    code = "limits.bulk"
    what: str = "the number of tuples that one call finds"
    advice: str = "ask for some of them at a time: give a field a value, or a range"


class CorrelationTooDear(LimitReached):
    """To tell which tuples answer a question together would cost too much."""

    code = "limits.correlation"
    what: str = "looking for tuples that answer together, in units,"
    advice: str = "name an object by its id, give a key, or ask for fewer classes at once"


# -- at the door of a host -----------------------------------------------------------------------


class NotLetIn(CallerError):
    """A client did not prove who it is."""

    code = "node.not-let-in"
    words = (
        "not let in: {why}; connect with identity=… or token=… (`nomospace trust issue` makes them)"
    )
    why: str


class NotYourAgent(CallerError):
    """A client would speak for an agent that it is not."""

    code = "node.not-your-agent"
    words = "{proved} may not speak for {agent}; connect with that agent's identity"
    agent: str
    proved: str


class NotAnOperator(CallerError):
    """An operator's question came from someone else."""

    code = "node.not-an-operator"
    words = (
        "{proved} is no operator of this host; use a token with the scope 'operator' "
        "(`nomospace trust issue token`)"
    )
    proved: str


class TooManyClients(Unavailable):
    """A host has as many connections of clients as it bears."""

    code = "node.too-many-clients"
    words = "this host has {limit:,} clients and takes no more; try again later"
    limit: int
