"""What a demonstration offers to a page: handed in by whoever starts the console.

The console may not know the applications (they stand above it), so it says here what it wants of
them, and whoever starts both puts them together (`nomospace up`). A host that runs no demonstration
has no stages, and its console does not show their places.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done, and where its reasons are: a record in the journal of a host."""

    host: str
    record: int
    words: str


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody or something on the floor plan; `role` chooses the sign."""

    agent: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Ward:
    """A room of the floor plan: a host, with a title for people."""

    host: str
    title: str
    people: tuple[Person, ...] = ()


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


class Hospital(Protocol):
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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job has come. `done` runs from 0 to 1; `report` is there at the end."""

    done: float
    words: str
    ended: bool = False
    failed: str = ""
    report: str = ""
    """The path of an HTML report, when the job makes one."""
    answer: Mapping[str, Any] = field(default_factory=dict)


class Pipeline(Protocol):
    """Runs of the pipeline, as the command line does them."""

    def kinds(self) -> Sequence[str]:
        """What can be run here: `replay`, `audit`, `match`."""

    def command(self, kind: str, options: Mapping[str, str]) -> str:
        """The command line that would do the same."""

    def run(self, kind: str, options: Mapping[str, str]) -> AsyncIterator[Progress]:
        """Do it; cancelling the iteration ends the job."""


class Stages:
    """All that a console was handed; what is `None` is not there."""

    def __init__(
        self,
        *,
        hospital: Hospital | None = None,
        pipeline: Pipeline | None = None,
        games: Mapping[str, Any] | None = None,
    ) -> None:
        """`games` by name: `jigsaw`, `redrover`, `assistants` (see their places)."""
        self.hospital = hospital
        self.pipeline = pipeline
        self.games = dict(games or {})
