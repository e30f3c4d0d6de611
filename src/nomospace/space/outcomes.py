"""What a step of a space brought about, told in the order it happened."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from nomospace.errors import LimitReached
from nomospace.space.records import Record

if TYPE_CHECKING:
    from nomospace.space.asking import Gathering
    from nomospace.space.reactions import Reaction


class Woken(msgspec.Struct, frozen=True):
    """A waiter is served. For a `TAKE` the record has left the space; else it still lies there."""

    ticket: Hashable
    record: Record


class Gathered(msgspec.Struct, frozen=True):
    """A waiter is served by several tuples together.

    For a `TAKE` all of them have left the space, in this step; else they still lie there.
    """

    ticket: Hashable
    records: tuple[Record, ...]
    gathering: Gathering


class Fired(msgspec.Struct, frozen=True):
    """A reaction without a listener has met a tuple; whoever asked for it is to be told."""

    reaction: Reaction
    record: Record


class ListenerFailed(msgspec.Struct, frozen=True):
    """A listener raised. The tuple counts as reacted to, and the step went on without it."""

    reaction: Reaction
    record: Record
    error: Exception


class Ranaway(msgspec.Struct, frozen=True):
    """Listeners kept each other firing; the one that fired most was disabled to end it."""

    reaction: Reaction
    firings: int


class Overran(msgspec.Struct, frozen=True):
    """To test a tuple for a waiter was too dear; it waits no more, and is to be told why."""

    ticket: Hashable
    error: LimitReached


class Dear(msgspec.Struct, frozen=True):
    """To test a tuple for a reaction was too dear; it was disabled."""

    reaction: Reaction
    error: LimitReached


class Lapsed(msgspec.Struct, frozen=True):
    """A lease ran out; the record lies in the space again."""

    record: Record
    taker: str


class Expired(msgspec.Struct, frozen=True):
    """A record reached its expiry and has left the space."""

    record: Record


class DeadLetter(msgspec.Struct, frozen=True):
    """A record came back from its last lease and has left the space: a dead letter."""

    record: Record


Outcome: TypeAlias = (
    Woken
    | Gathered
    | Fired
    | ListenerFailed
    | Ranaway
    | Overran
    | Dear
    | Lapsed
    | Expired
    | DeadLetter
)
