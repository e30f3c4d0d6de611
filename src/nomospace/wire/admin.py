"""What operators ask a running host, and the answers: for the command line and for consoles.

Questions have no part in sessions: one whose answer is lost is asked again. Most change nothing;
those that do (`Suspend`, `Resume`, `EndAgent`, `Engage`, `Disengage`, `SetPosition`, `PromoteHost`)
leave the same behind when they are asked twice, or say so (`LaunchProgram`, `EndProgram`,
`SpaceTell`).
Only a client with the scope `operator` may ask them. Each question is a struct with a tag that says
in brackets what it is answered with; new questions are added here and nowhere else. Answers that
HTTP has too are dataclasses, which both msgspec and FastAPI read and write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar, Union, get_args

import msgspec

from nomospace.calls.answers import DisclosedRuling
from nomospace.wire.calls import decode_value
from nomospace.wire.framing import BadFrame
from nomospace.wire.packing import Unfit, pack, unpack

A = TypeVar("A")

TAIL_MAX: Final = 10_000
"""The most lines that one answer has."""
ANSWER_BYTES_MAX: Final = 4 << 20
"""About how many bytes of tuples or records one answer has: large ones make it shorter."""


class OperatorQuestion(msgspec.Struct, Generic[A], frozen=True):
    """A question that is answered with an `A`."""


@dataclass(frozen=True, slots=True)
class AgentLine:
    """An agent: the program it runs (`@client` when it is elsewhere), its laws by name."""

    id: str
    program: str = ""
    laws: tuple[str, ...] = ()
    clients: int = 0
    suspended: bool = False
    ended: str = ""
    """Why its program ended, if it is not at work though it should be."""


class Agents(OperatorQuestion[list[AgentLine]], frozen=True, tag="agents"):
    """Which agents are on the host? Up to `limit`, those after an id, in order."""

    after: str = ""
    limit: int = 1_000


class SpaceLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A space: the hash of its law if it has one, and the agents that share it, or the one that
    has it for itself. Of its tuples here, some are lent under a lease.

    Of a partitioned one: by what (`1`, `0.vin`), the hosts that have a share, how many tuples here
    are at home elsewhere, whether this host is settled and which others are not, and hosts of the
    group that have a space of that name partitioned otherwise.
    """

    name: str
    law: str
    shared: bool
    agents: tuple[str, ...]
    tuples: int
    lent: int
    waiting: int
    reactions: int
    partition: str = ""
    homes: tuple[str, ...] = ()
    strays: int = 0
    settled: bool = True
    unsettled: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


class Spaces(OperatorQuestion[list[SpaceLine]], frozen=True, tag="spaces"):
    """Which spaces are on the host?"""


class TupleLine(msgspec.Struct, frozen=True):
    """A tuple: its fields as text, who wrote it as which, who holds it, and whom it is for."""

    fields: tuple[str, ...]
    writer: str
    count: int
    holder: str
    dest: str
    deliveries: int


class SpaceListing(msgspec.Struct, frozen=True):
    """The oldest tuples of a space, and how many there are of all. `known` is whether the host
    has such a space.
    """

    known: bool
    total: int
    lines: tuple[TupleLine, ...]


class Tuples(OperatorQuestion[SpaceListing], frozen=True, tag="tuples"):
    """What lies in a space here? In the shared one, or in the private one of an agent."""

    space: str
    agent: str = ""
    limit: int = 1_000


class StatsLine(msgspec.Struct, frozen=True):
    """A host in figures."""

    host: str
    life: int
    members: tuple[str, ...]
    agents: int
    spaces: int
    tuples: int
    sessions: int
    clients: int
    figures: dict[str, float] = {}


class Stats(OperatorQuestion[StatsLine], frozen=True, tag="stats"):
    """How is the host?"""


@dataclass(frozen=True, slots=True)
class WhereLine:
    """The host that an agent is at, as far as is known; empty when it is not."""

    agent: str
    host: str
    connected: bool


class Where(OperatorQuestion[WhereLine], frozen=True, tag="where"):
    """Where is an agent?"""

    agent: str


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """A record of the journal: its number, its table and its columns."""

    seq: int
    table: str
    columns: dict[str, Any]


class Tail(OperatorQuestion[list[JournalRecord]], frozen=True, tag="tail"):
    """What does the journal say? Records after a number; the last `limit` when that is 0."""

    after: int = 0
    limit: int = 100


class RawRecord(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A record of the journal as its host keeps it (`store.journal`)."""

    seq: int
    record: bytes


class RecordsPage(msgspec.Struct, frozen=True):
    """Records of a host's journal, in order.

    Those from `first` to `last` are with the host. Earlier ones are in its segments, or forgotten;
    later ones are not on its disk yet, so nobody is told of them: a crash may undo them.
    """

    host: str
    first: int
    last: int
    records: tuple[RawRecord, ...]


class Records(OperatorQuestion[RecordsPage], frozen=True, tag="records"):
    """What does the journal say, for programs? Up to `limit` records after a number, as bytes."""

    after: int = 0
    limit: int = 1_000


@dataclass(frozen=True, slots=True)
class SuspensionLine:
    """An agent or a law (its hash) that is suspended since a moment, in microseconds UTC."""

    name: str
    since: int
    why: str = ""


class Suspend(OperatorQuestion[SuspensionLine], frozen=True, tag="suspend"):
    """Suspend an agent (its id) or a law (its hash, the start of it, or its name)."""

    name: str
    why: str = ""


class Resume(OperatorQuestion[SuspensionLine], frozen=True, tag="resume"):
    """End a suspension; named as it was suspended."""

    name: str


class EndAgent(OperatorQuestion[WhereLine], frozen=True, tag="end-agent"):
    """End an agent of this host, with all that is its own; then it is nowhere."""

    agent: str


class Suspensions(OperatorQuestion[list[SuspensionLine]], frozen=True, tag="suspensions"):
    """Who is suspended?"""


@dataclass(frozen=True, slots=True)
class ContactLine:
    """A host and its group: whether it engages at all, where it is, and with whom it is one group.

    A position is in metres, and empty when nobody has told it.
    """

    host: str
    willing: bool
    position: tuple[float, ...]
    members: tuple[str, ...]


class Contact(OperatorQuestion[ContactLine], frozen=True, tag="contact"):
    """With whom is the host in contact?"""


class Engage(OperatorQuestion[ContactLine], frozen=True, tag="engage"):
    """Join whom the policy lets the host join; answered at once, engagement follows."""


class Disengage(OperatorQuestion[ContactLine], frozen=True, tag="disengage"):
    """Leave the group by announcement, and stay alone; answered when the host has left."""


@dataclass(frozen=True, slots=True)
class DrainLine:
    """Whether a host keeps no share of partitioned spaces any more, and how far that is so.

    `left` tuples of such spaces lie here, `moving` are under way to others, and of the spaces
    `alone` no other host could have a share.
    """

    host: str
    drained: bool
    left: int
    moving: int
    alone: tuple[str, ...] = ()


class DrainHost(OperatorQuestion[DrainLine], frozen=True, tag="drain"):
    """Keep no share of partitioned spaces (or, if false, one again); `None` only asks.

    Answered at once; what lies here moves by and by.
    """

    drained: bool | None = None


class SetPosition(OperatorQuestion[ContactLine], frozen=True, tag="position"):
    """The host is here now: two or three numbers, in metres."""

    position: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """An agent and the program that it runs, or ran."""

    agent: str
    program: str


class LaunchProgram(OperatorQuestion[ProgramLine], frozen=True, tag="launch"):
    """Let an agent of the host run a program: one of the host's own, or from a signed bundle.

    `name` is a name at the host's domain, or an id; the state is as it travels, MessagePack.
    """

    name: str
    program: str
    state: bytes | None = None
    code: bytes | None = None


class EndProgram(OperatorQuestion[ProgramLine], frozen=True, tag="end-program"):
    """End the program that an agent (its id) runs, for good; the agent stays."""

    agent: str


class SpaceTell(OperatorQuestion[bytes], frozen=True, tag="space-tell"):
    """Let a governed space of the host say something to an agent, in its own name.

    The message is the text of a term. A law (its hash) need be named only where the space has
    several. Answered with the ruling (`read_ruling`); asked twice, it is said twice.
    """

    space: str
    agent: str
    message: str
    law: str = ""


@dataclass(frozen=True, slots=True)
class MonitorLine:
    """A space that watches its load: its limits, its clients' delay in seconds, and how many."""

    space: str
    most: float
    rest: float
    longest: float
    delay: float
    clients: int


class SpaceMonitor(OperatorQuestion[MonitorLine], frozen=True, tag="space-monitor"):
    """Have a governed space of the host watch its load until it ends, and set its clients' pace.

    `most` is a number of requests a second, the others are delays in seconds; without `most` it
    watches no longer.
    """

    space: str
    most: float | None
    rest: float = 1.0
    longest: float = 60.0


@dataclass(frozen=True, slots=True)
class DomainLine:
    """A host serves a domain alone: until its standby is back, and has followed."""

    domain: str
    standby: str


class PromoteHost(OperatorQuestion[DomainLine], frozen=True, tag="promote"):
    """Have the host serve a domain without the other of its two servers, which is gone."""

    domain: str


class SpaceMonitors(OperatorQuestion[list[MonitorLine]], frozen=True, tag="space-monitors"):
    """Which spaces watch their load?"""


class AdminFinding(msgspec.Struct, frozen=True):
    """Something that is looked at: what was found, and the command that mends it."""

    what: str
    good: bool
    found: str
    mend: str = ""


class Doctor(OperatorQuestion[list[AdminFinding]], frozen=True, tag="doctor"):
    """Is anything wrong?"""


Question: TypeAlias = OperatorQuestion[object]
"""What an operator may ask: one of those above."""
_QUESTIONS: Final = tuple(OperatorQuestion.__subclasses__())
_ANSWERS: Final[dict[type, type]] = {
    one: get_args(vars(one)["__orig_bases__"][0])[0] for one in _QUESTIONS
}


def read_question(raw: object) -> Question:
    """The question that came; raises `BadFrame`.

    >>> read_question({"type": "where", "agent": "ann@ward"})
    Where(agent='ann@ward')
    """
    try:
        question: Question = msgspec.convert(raw, Union[_QUESTIONS])  # noqa: UP007
    except msgspec.ValidationError as error:
        raise BadFrame(why=str(error)) from None
    return question


def read_ruling(answer: bytes) -> DisclosedRuling:
    """The ruling that `SpaceTell` is answered with; raises `BadFrame`."""
    try:
        ruling = decode_value(unpack(answer))
    except Unfit as error:
        raise BadFrame(why=str(error)) from None
    if not isinstance(ruling, DisclosedRuling):
        raise BadFrame(why="the answer is no ruling")
    return ruling


def pack_answer(answer: object) -> bytes:
    """An answer as bytes of its own.

    >>> read_answer(Where("ann@ward"), pack_answer(WhereLine("ann@ward", "icu", True)))
    WhereLine(agent='ann@ward', host='icu', connected=True)
    """
    return pack(answer)


def read_answer(question: OperatorQuestion[A], data: bytes) -> A:
    """The answer to a question; raises `BadFrame`."""
    try:
        answer: A = msgspec.convert(unpack(data), _ANSWERS[type(question)])
    except (Unfit, msgspec.ValidationError) as error:
        raise BadFrame(why=str(error)) from None
    return answer
