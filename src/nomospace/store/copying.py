"""A host's state as the changes that would make it: how one store is copied into another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nomospace.host.changes import (
    AgentCame,
    Book,
    Change,
    Durable,
    FloorRaised,
    LawLearnt,
    MemberJoined,
    MemberRuled,
    ParcelGiven,
    ParcelPlaced,
    ParcelTaken,
    RoutingFolded,
    TransferGiven,
    TransferPlaced,
    TransferTaken,
)


def changes_of(durable: Durable) -> Iterator[Change]:
    """The changes that make this state, but for its tuples, of which there may be very many.

    >>> disk = Durable()
    >>> disk.apply(AgentCame("ann@x", 3))
    >>> list(changes_of(disk))
    [AgentCame(agent='ann@x', count=3)]
    """
    if durable.floor:
        yield FloorRaised(durable.floor)
    for text in durable.laws.values():
        yield LawLearnt(text)
    for agent, count in durable.agents.items():
        yield AgentCame(agent, count)
    yield from durable.programs.values()
    yield from durable.spaces.values()
    for member in durable.members.values():
        yield MemberJoined(member.base)
        for ruling in member.log:
            yield MemberRuled(ruling)
    yield from _book(durable.transfers, TransferGiven, TransferTaken, TransferPlaced)
    yield from _book(durable.parcels, ParcelGiven, ParcelTaken, ParcelPlaced)
    for core, changes in durable.routing.items():
        yield RoutingFolded(core, tuple(changes))


def _book(
    book: Book,
    given: Callable[..., Change],
    taken: Callable[..., Change],
    placed: Callable[..., Change],
) -> Iterator[Change]:
    for peer, last in book.numbers.items():
        waiting = book.pending[peer]
        if last not in waiting:  # the peer has everything: only the number is left of it
            yield given(peer, last, None)
            yield taken(peer, last)
        for number, what in waiting.items():
            yield given(peer, number, what)
    for peer, number in book.got.items():
        yield placed(peer, number)
