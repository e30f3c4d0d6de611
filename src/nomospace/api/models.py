"""What comes in and goes out over HTTP. Fields and patterns are as `forms` says."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field

from nomospace.api.forms import json_of
from nomospace.api.inboxes import NumberedLetter
from nomospace.api.service import LAW_CHARS_MAX, WAIT_S_MAX
from nomospace.calls.partition import PROPERTY_MAX
from nomospace.calls.ways import PRIORITY_MAX
from nomospace.client import DisclosedRuling, Tuple
from nomospace.client.tuples import Correlation, correlation
from nomospace.wire.admin import JournalRecord

ROWS_MAX: Final = 2_000
"""The most that one request writes: as many as one step of a host does."""
WIDTH_MAX: Final = 1_000
BUNDLE_CHARS_MAX: Final = 1 << 19
"""The longest text that is read as a bundle."""

Fields = Annotated[list[object], Field(min_length=1, max_length=WIDTH_MAX)]
AgentId = Annotated[str, Field(min_length=3, max_length=401)]
Seconds = Annotated[float, Field(gt=0, le=100 * 366 * 24 * 3600)]
WaitSeconds = Annotated[float, Field(ge=0, le=WAIT_S_MAX)]
Priority = Annotated[int, Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX)]


class Asked(BaseModel):
    """A body: a key that means nothing is a slip, and is refused."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """Why a request was not done (RFC 9457). `code` lasts, and `detail` says what to do."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str


class Health(BaseModel):
    """Whether the host is well."""

    host: str
    well: bool


class Me(BaseModel):
    """Who a token stands for."""

    name: str
    agents: list[str]
    operator: bool


class Launching(Asked):
    """A program, the state it begins with (or what its code says), and its bundle in base64."""

    program: Annotated[str, Field(min_length=1, max_length=200)]
    state: dict[str, object] | None = None
    bundle: Annotated[Base64Bytes, Field(max_length=BUNDLE_CHARS_MAX)] | None = None


class Suspending(Asked):
    """Why somebody is suspended; they are told."""

    why: Annotated[str, Field(max_length=500)] = ""


class HostPosition(Asked):
    """Where a host is, in metres."""

    position: Annotated[list[float], Field(max_length=16)]


class SpaceSays(Asked):
    """What a space says to an agent: the text of a term; its law where it has several."""

    agent: Annotated[str, Field(min_length=3, max_length=401)]
    message: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    law: Annotated[str, Field(max_length=64)] = ""


class MonitorLimits(Asked):
    """The requests a second that a space is to bear, and its clients' delays in seconds."""

    most: float
    rest: float = 1.0
    longest: float = 60.0


class Login(Asked):
    """A token, to begin a session of a browser with."""

    token: Annotated[str, Field(min_length=1, max_length=256)]


class LoginToken(BaseModel):
    """A token that is good for one login, and for `seconds`."""

    token: str
    seconds: float


class OpenSpace(Asked):
    """Have an interface space: under a law that the agent has adopted, with an ontology's text.

    `law` is the hash of the law or the name of its community.
    """

    shared: bool = True
    durable: bool = True
    law: Annotated[str, Field(max_length=200)] = ""
    ontology: Annotated[str, Field(max_length=LAW_CHARS_MAX)] = ""
    engine: Literal["", "memory", "store"] = ""
    partition: Annotated[str, Field(max_length=PROPERTY_MAX + 4)] = ""


class SpaceOpened(BaseModel):
    """An interface space of an agent."""

    name: str
    shared: bool


class Written(BaseModel):
    """How many tuples were written."""

    written: int


class OutAsked(Asked):
    """A tuple to write: for the agent `to`, gone after `ttl` seconds, once under a key.

    Of those that match, one of a higher `priority` is found first.
    """

    fields: Fields
    to: AgentId | None = None
    ttl: Seconds | None = None
    once: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    priority: Priority = 0


class OutManyAsked(Asked):
    """Tuples to write in one step."""

    rows: Annotated[list[Fields], Field(min_length=1, max_length=ROWS_MAX)]
    to: AgentId | None = None
    ttl: Seconds | None = None
    priority: Priority = 0


class LookAsked(Asked):
    """A template, and whether several tuples may answer it together."""

    template: Fields
    correlate: Literal["never", "auto", "always"] | None = None
    key: Annotated[str, Field(min_length=1, max_length=401)] | None = None
    max_set: int | None = None

    def correlation(self) -> Correlation:
        """What it says of sets, as the client has it; empty where it says nothing."""
        return correlation(self.correlate, self.key, self.max_set)


class FindAsked(LookAsked):
    """With `wait` seconds the whole group is looked at, else one host."""

    wait: WaitSeconds = 0
    at: Annotated[str, Field(min_length=1, max_length=401)] | None = None
    dest: AgentId | None = None


class TakeAsked(FindAsked):
    """With `lease` seconds the tuple is lent, until it is settled."""

    lease: Seconds | None = None


class FindAllAsked(LookAsked):
    """All tuples of one host or agent, or all sets of them."""

    at: Annotated[str, Field(min_length=1, max_length=401)] | None = None
    dest: AgentId | None = None


class LeaseEnded(BaseModel):
    """How a lease ended: whose it was, when (microseconds, UTC), and why."""

    agent: str
    at: int
    why: str


class TupleFound(BaseModel):
    """A tuple: its fields, its id, who held it, how it answers, and its lease if it has one."""

    fields: list[object]
    id: str
    source: str
    deliveries: int
    lease: str
    why: str
    tuples: list[TupleFound] = []
    """Where several tuples answer together: which they are. Else it is left out."""
    history: list[LeaseEnded] = []
    """How its last leases ended, where some did."""
    priority: int = 0
    """What it was written with, where that is not 0."""

    @classmethod
    def of(cls, found: Tuple) -> TupleFound:
        """A tuple as JSON has it."""
        made = cls(
            fields=[json_of(field) for field in found],
            id=str(found.id),
            source=found.source,
            deliveries=found.deliveries,
            lease=found.lease,
            why=found.why,
        )
        if len(found.tuples) > 1:
            made.tuples = [cls.of(one) for one in found.tuples]
        if found.priority:
            made.priority = found.priority
        if found.history:
            made.history = [
                LeaseEnded(agent=end.agent, at=end.at, why=end.why) for end in found.history
            ]
        return made


class MaybeFound(BaseModel):
    """A tuple, or `null` when none was there in time."""

    tuple: TupleFound | None


class AllFound(BaseModel):
    """Tuples, the oldest first."""

    tuples: list[TupleFound]


class SettleAsked(Asked):
    """End a lease: `done` with the tuple, or it goes back, after `delay` seconds if given.

    With `renew` the lease ends so many seconds from now, and nothing else happens.
    """

    lease: Annotated[str, Field(min_length=1, max_length=500)]
    done: bool = False
    renew: Seconds | None = None
    delay: Seconds | None = None
    why: Annotated[str, Field(max_length=500)] = ""


class Settled(BaseModel):
    """What became of a tuple that was lent."""

    done: bool


class MoveAsked(Asked):
    """The host to go to."""

    to: Annotated[str, Field(min_length=1, max_length=200)]


class AdoptAsked(Asked):
    """A law to adopt: its text, or the hash or name of one that is at hand at the host."""

    text: Annotated[str, Field(max_length=LAW_CHARS_MAX)] = ""
    law: Annotated[str, Field(max_length=200)] = ""
    args: Annotated[list[object], Field(max_length=100)] = []
    another: Annotated[
        bool, Field(description="A further membership, with an address of its own.")
    ] = False


class SendAsked(Asked):
    """A message, as the text of a term or in JSON, to an agent, a space, or several."""

    message: object
    to: (
        Annotated[str, Field(min_length=1, max_length=401)]
        | Annotated[list[str], Field(min_length=1, max_length=1_000)]
    )
    here: Annotated[bool, Field(description="Only if its receivers are at this host.")] = False


class MailAsked(Asked):
    """A plain message, as the text of a term or in JSON, to another agent."""

    message: object
    to: Annotated[str, Field(min_length=3, max_length=401)]
    here: Annotated[bool, Field(description="Only if its receiver is at this host.")] = False


class MailSent(BaseModel):
    """A plain message is on its way."""

    to: str


class CertificateAsked(Asked):
    """A certificate to present, as PEM."""

    pem: Annotated[str, Field(min_length=1, max_length=100_000)]


class RulingTold(BaseModel):
    """What an agent may know of a ruling; `explanation` says why it is as it is."""

    law: str
    seq: int
    at: int
    rule: str | None
    refused: bool
    held: bool
    verdict: str
    operations: list[object]
    explanation: str
    address: Annotated[str, Field(description="Of the membership whose controller ruled.")]

    @classmethod
    def of(cls, told: DisclosedRuling) -> RulingTold:
        """What was told, as JSON has it."""
        same = ("law", "seq", "at", "rule", "refused", "held", "verdict")
        return cls(
            **{name: getattr(told, name) for name in same},
            operations=[json_of(one) for one in told.operations],
            explanation=told.explain(),
            address=told.home,
        )


class LetterTold(BaseModel):
    """A message that the law has delivered."""

    number: int
    sender: str
    message: object

    @classmethod
    def of(cls, letter: NumberedLetter) -> LetterTold:
        """A letter as JSON has it."""
        return cls(number=letter.number, sender=letter.sender, message=json_of(letter.message))


class Letters(BaseModel):
    """Letters, the oldest first; `last` is what to ask `after` next."""

    letters: list[LetterTold]
    last: int


class JournalLines(BaseModel):
    """Records of the journal; `last` is what to ask `after` next."""

    records: list[JournalRecord]
    last: int


class Figures(BaseModel):
    """The host in figures."""

    figures: dict[str, float]
