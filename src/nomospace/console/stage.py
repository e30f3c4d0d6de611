"""What a demonstration offers to a page: handed in by whoever starts the console.

The console may not know the applications (they stand above it), so it says here what it wants of
them, and whoever starts both puts them together (`nomospace up`). A host that runs no demonstration
has no stages, and its console does not show their places.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done, and where its reasons are: a record in the journal of a host."""

    host: str
    record: int
    words: str


@dataclass(frozen=True, slots=True)
class FloorPerson:
    """Somebody or something on the floor plan; `role` chooses the sign."""

    agent: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Ward:
    """A room of the floor plan: a host, with a title for people."""

    host: str
    title: str
    people: tuple[FloorPerson, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment of the chart: what the rogue tried and the quiet informer's round trip."""

    at_us: int
    tried_s: float
    refused_s: float
    informer_ms: float


@dataclass(frozen=True, slots=True)
class Followed:
    """A message that followed an agent: the hosts it came by; `hops` is one less than those."""

    path: tuple[str, ...]
    hops: int
    deed: Deed | None = None


class HospitalStage(Protocol):
    """The hospital of the first minute."""

    @property
    def rogue_on(self) -> bool:
        """Whether the rogue publishes just now; it ends by itself after a minute."""

    @property
    def assistant_at(self) -> str:
        """The host where the nurse's assistant is."""

    def floor(self) -> Sequence[Ward]:
        """The wards, and who is where."""

    def samples(self) -> Sequence[Sample]:
        """The last two minutes, the oldest first."""

    async def raise_as_layman(self) -> Deed:
        """Have a layman raise an alarm; it reaches experts only."""

    async def rogue(self, on: bool) -> None:
        """Switch the rogue on or off."""

    async def send_assistant(self, to: str) -> None:
        """Send the nurse's assistant to another ward."""

    async def message_assistant(self) -> Followed:
        """Send the assistant a message from where it was last, and follow it."""


ALL_HOSTS: Final = "*"
"""Stands for every host of the console, where a job or a trial asks for one."""


@dataclass(frozen=True, slots=True)
class LawDraft:
    """A law as it stands on the bench; `language` is `law` or `python`."""

    text: str
    language: Literal["law", "python"] = "law"


class LawTrials(Protocol):
    """Tries laws, apart from the host: what takes too long, or too much room, is ended.

    Both raise `NomospaceError` with the words of the command line.
    """

    async def run(
        self, law: LawDraft, events: str, *, until_s: float | None, isolated: bool
    ) -> Mapping[str, Any]:
        """Events under a law in virtual time: `steps`, `notes`, and `cut` if some are left out."""

    async def compare(
        self, host: str, community: str, before: LawDraft | None, after: LawDraft, *, newest: int
    ) -> Mapping[str, Any]:
        """Two laws over the newest records of a host; without `before` the law that was in force.

        Has `events`, `differing`, `members`, `members_differing`, `passed_over`, and as `first` the
        rulings that differ, the earliest first.
        """


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job has come: `done` runs from 0 to 1, and is below 0 when nobody can tell.

    The last has `ended`, and then `failed` or what was found: `answer`, the words for people as
    `text`, and as `report` a page of HTML.
    """

    done: float
    words: str
    ended: bool = False
    failed: str = ""
    report: str = ""
    text: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobEngine:
    """Where a job may run; one that is not ready says in `words` what makes it so."""

    name: str
    ready: bool
    words: str = ""


class Pipeline(Protocol):
    """Runs of the pipeline over the journals of hosts, as the command line does them.

    Options are texts by name: `host`, `engine`; for `replay` also `law`, `language` (without a law,
    the one in force) and `community`; for `match` also `ontology`, `template` and `space`.
    """

    def kinds(self) -> Sequence[str]:
        """What can be run here: `audit`, `replay`, `match`."""

    def engines(self, kind: str) -> Sequence[JobEngine]:
        """Where a job of a kind may run, the one to choose first."""

    def hosts(self) -> Sequence[str]:
        """Whose journals there are."""

    def command(self, kind: str, options: Mapping[str, str]) -> str:
        """The command line that does what the next run will."""

    def run(self, kind: str, options: Mapping[str, str]) -> AsyncIterator[Progress]:
        """Do it; closing the iteration ends the job."""


class Stages:
    """All that a console was handed; what is `None` is not there."""

    def __init__(
        self,
        *,
        hospital: HospitalStage | None = None,
        bench: LawTrials | None = None,
        pipeline: Pipeline | None = None,
        games: Mapping[str, Any] | None = None,
    ) -> None:
        """`games` by name: `jigsaw`, `redrover`, `assistants` (see their places)."""
        self.hospital = hospital
        self.bench = bench
        self.pipeline = pipeline
        self.games = dict(games or {})


class JigsawSeat(Protocol):
    """A player of the jigsaw; acts answer with why they failed, in words, or with nothing."""

    @property
    def name(self) -> str:
        """The player."""

    @property
    def host(self) -> str:
        """The host that the player has for itself."""

    @property
    def offline(self) -> bool:
        """Whether the player is out of everybody's reach."""

    def facts(self) -> dict[str, Any]:
        """The board, as plain data."""

    async def select(self, cell: int) -> str:
        """Take the piece of a cell."""

    async def assemble(self, one: int, other: int) -> str:
        """Join two own pieces."""

    def go_offline(self) -> None:
        """Go out of reach."""

    def come_back(self) -> None:
        """Come back."""

    async def leave(self) -> None:
        """Rise from the table."""


class Jigsaw(Protocol):
    """RoamingJigsaw: a table where everybody who sits down has a host of its own."""

    async def sit(self, name: str) -> JigsawSeat:
        """Take a seat."""


class RedRover(Protocol):
    """RedRover: a field, seen through the device of one player."""

    @property
    def names(self) -> Sequence[str]:
        """Who plays; nobody before the first game."""

    async def begin(self) -> None:
        """Begin a game, if none is being played."""

    def facts(self, name: str) -> dict[str, Any]:
        """What a player's device shows, as plain data."""

    def steer(self, name: str, to: tuple[float, float] | None) -> None:
        """Send a player somewhere, or leave it to itself."""

    def put_away(self, name: str, away: bool) -> None:
        """Put its device away, or take it out."""

    async def again(self) -> None:
        """Begin another game."""


class AssistantsStage(Protocol):
    """Personal assistants that are summoned and delegated."""

    def facts(self) -> dict[str, Any]:
        """Sites, assistants and what happened, as plain data."""

    async def summon(self, person: str, site: str) -> None:
        """Call an assistant to a site."""

    async def delegate(self, person: str, task: str) -> None:
        """Send an assistant to the experts with work."""

    async def follow(self, sender: str, person: str) -> Followed:
        """Write to an assistant, and follow the message."""
