"""What a console is handed by whoever starts it, because it stands above the console.

That are trials of laws, the pipeline, and what another package adds (`ConsolePlugin`): the
laboratory has pages for its demonstrations, which `nomospace up` shows. What is not handed in the
console does not show.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from nomospace.console.frame import Frame


ALL_HOSTS: Final = "*"
"""Stands for every host of the console, where a job or a trial asks for one."""


@dataclass(frozen=True, slots=True)
class LawDraft:
    """A law as it stands on the bench; `language` is `law` or `python`."""

    text: str
    language: Literal["law", "python"] = "law"


TrialFacts: TypeAlias = Mapping[str, Any]
"""What a trial told, or a part of it, as JSON has it."""


class LawTrials(Protocol):
    """Tries laws, apart from the host: what takes too long, or too much room, is ended.

    Both raise `NomospaceError` with the words of the command line.
    """

    async def run(
        self, law: LawDraft, events: str, *, until_s: float | None, isolated: bool
    ) -> TrialFacts:
        """Events under a law in virtual time: `steps`, `notes`, and `cut` if some are left out."""

    async def compare(
        self, host: str, community: str, before: LawDraft | None, after: LawDraft, *, newest: int
    ) -> TrialFacts:
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
    answer: TrialFacts = field(default_factory=dict)


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

    async def prepare(self, kind: str, options: Mapping[str, str]) -> str:
        """Copy what the command line reads, so that it works when it is pasted; gives it."""

    def keep(self, run: bytes) -> None:
        """Keep a run that has ended, where this host keeps anything."""

    def kept(self) -> Sequence[bytes]:
        """The runs that were kept, the oldest first."""


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


class ConsolePlace(NamedTuple):
    """A place: its title, its sign on the rail, what shows it, and whether it is for operators.

    Places of one `group` stand together on the rail.
    """

    title: str
    icon: str
    show: Callable[[Frame], object]
    operator: bool = True
    group: str = ""


class ConsoleAction(NamedTuple):
    """Something that the command box does: what it is called, and the doing."""

    title: str
    do: Callable[[Frame], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolePlugin:
    """What another package adds to a console: places by path, and something on the map of Now."""

    places: Mapping[str, ConsolePlace] = field(default_factory=dict)
    static: Path | None = None
    """A folder with style sheets."""
    floor: Callable[[], Sequence[Ward]] = tuple
    """Titles for hosts, and names and signs for agents."""
    over_map: Callable[[Frame], object] | None = None
    """Draws a card over the map."""
    actions: Callable[[], Sequence[ConsoleAction]] = tuple
    """What the command box can do just now."""


@dataclass(kw_only=True)
class Stages:
    """All that a console was handed; what is `None` is not there."""

    bench: LawTrials | None = None
    pipeline: Pipeline | None = None
    plugin: ConsolePlugin = field(default_factory=ConsolePlugin)
