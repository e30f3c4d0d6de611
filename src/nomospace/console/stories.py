"""Stories: what the drawer tells of whatever was clicked, each with an address of its own.

A story's address is `kind/host/id` (`ruling/ward-1/123`), and stands in the page's address as
`?story=`. A kind is a function that writes the story into the drawer; places register theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, unquote

from nomospace.console.look import empty, fault
from nomospace.errors import NomospaceError

if TYPE_CHECKING:
    from nomospace.console.frame import Frame

Teller = Callable[["Frame", str, str], None]
"""Writes a story: the frame, the host, and what it is about."""
ADDRESS_MAX: Final = 2_000
OPEN: Final = frozenset({"help", "words"})
"""Stories that tell nothing of a host, and so are for everyone."""


class StoryAddress(NamedTuple):
    """Where a story is found.

    >>> StoryAddress.parse(str(StoryAddress("agent", "ward-1", "ann@ward/1")))
    StoryAddress(kind='agent', host='ward-1', id='ann@ward/1')
    >>> StoryAddress.parse("nonsense") is None
    True
    """

    kind: str
    host: str
    id: str

    def __str__(self) -> str:
        return "/".join(quote(part, safe="@:") for part in self)

    @classmethod
    def parse(cls, text: str) -> StoryAddress | None:
        """An address from its text."""
        parts = text[:ADDRESS_MAX].split("/")
        return cls(*map(unquote, parts)) if len(parts) == 3 else None


_tellers: dict[str, tuple[str, Teller]] = {}


def story(kind: str, title: str) -> Callable[[Teller], Teller]:
    """Register the teller of a kind of story."""

    def register(teller: Teller) -> Teller:
        _tellers[kind] = (title, teller)
        return teller

    return register


def title_of(kind: str) -> str:
    """What the drawer's head says."""
    return _tellers[kind][0] if kind in _tellers else "Nothing"


def tell(frame: Frame, address: StoryAddress) -> None:
    """Write a story, for those who may see the host; what cannot be told any more says so."""
    found = _tellers.get(address.kind)
    service = frame.console.services.get(address.host)
    if found is None or service is None:
        empty("There is no such story here.", "Click something in a place to see its story.")
        return
    try:
        if address.kind not in OPEN:
            service.operator(frame.viewer)
        found[1](frame, address.host, address.id)
    except NomospaceError as error:
        fault(error)
