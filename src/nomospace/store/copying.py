"""A host's state as the changes that would make it: how one store is copied into another.

Two things no change can say, and the copy's header has them instead: how far the journal was
sealed, and the last number given to a peer that has everything (`numbers_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nomospace.host import changes
from nomospace.host.changes import Change, Durable
from nomospace.protocols.transfers import Book
from nomospace.store.interface import PARCELS, TRANSFERS


def changes_of(durable: Durable) -> Iterator[Change]:
    """The changes that make this state, but for its tuples, of which there may be very many.

    >>> disk = Durable()
    >>> disk.apply(changes.AgentCame("ann@x", 3))
    >>> list(changes_of(disk))
    [AgentCame(agent='ann@x', count=3)]
    """
    if durable.floor:
        yield changes.FloorRaised(durable.floor)
    for text in durable.laws.values():
        yield changes.LawLearnt(text)
    for ontology in durable.ontologies.values():
        yield changes.OntologyLearnt(ontology)
    for agent, count in durable.agents.items():
        yield changes.AgentCame(agent, count)
    yield from durable.programs.values()
    yield from durable.spaces.values()
    for member in durable.members.values():
        yield changes.MemberJoined(member.base)
        for ruling in member.log:
            yield changes.MemberRuled(ruling)
    for peer, (birth, own) in durable.births.items():
        yield changes.BirthLearnt(peer, birth, own)
    yield from _book(durable.transfers, changes.TransferGiven, changes.TransferPlaced)
    yield from _book(durable.parcels, changes.ParcelGiven, changes.ParcelPlaced)
    yield from durable.suspended.values()
    for peer, waiting in durable.held.waiting.items():
        for number, what in waiting.items():
            yield changes.EventHeld(peer, number, what)
    for name, body in durable.small.items():
        yield changes.SmallKept(name, body)
    for core, several in durable.routing.items():
        yield changes.RoutingFolded(core, tuple(several))


def numbers_of(durable: Durable) -> tuple[tuple[str, str, int], ...]:
    """Book, peer and last number, for each peer that has everything it was given."""
    return tuple(
        [
            (name, peer, number)
            for name, book in ((TRANSFERS, durable.transfers), (PARCELS, durable.parcels))
            for peer, number in book.numbers.items()
            if not book.waiting.get(peer)
        ]
    )


def _book(
    book: Book, given: Callable[..., Change], placed: Callable[..., Change]
) -> Iterator[Change]:
    for peer, waiting in book.waiting.items():
        for number, what in waiting.items():
            yield given(peer, number, what)
    for peer, number in book.placed.items():
        yield placed(peer, number)
