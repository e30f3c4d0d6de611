"""What the pages of demonstrations want of them: whoever starts both puts them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nomospace.console.stage import Ward


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done, and where its reasons are: a record in the journal of a host."""

    host: str
    record: int
    words: str


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

    async def go_offline(self) -> None:
        """Go out of reach."""

    async def come_back(self) -> None:
        """Come back."""

    async def leave(self) -> None:
        """Rise from the table."""


class Jigsaw(Protocol):
    """RoamingJigsaw: a table where everybody who sits down has a host of its own."""

    @property
    def joined(self) -> str:
        """Whose table it is; empty for one that was set up here."""

    @property
    def invitation(self) -> str:
        """Where others join it; empty where nobody can."""

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
