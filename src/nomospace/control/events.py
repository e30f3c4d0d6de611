"""Facts that a controller is told, and orders that it gives back.

An `Event` is a regulated event at its home: what the law rules on. `Tick` only says that time
has passed. Effects come in the order they must be done: a `RecordRuling` must be on disk before
anything after it may be seen by others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from nomospace.terms import Compound, Term

Change: TypeAlias = tuple[str, int, Term, Term]
"""One change of a membership: `+`/`-` place, term, None; `<-` place, old, new; `due`/`undue`
place, obligation, due time in microseconds."""


if TYPE_CHECKING:
    Operation: TypeAlias = Compound | str
    """An operation of a ruling: only `quit` is a string."""
else:
    Operation = Term  # to native code


class Event(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A regulated event: its kind and its arguments, home included where the event names it."""

    kind: str
    args: tuple[Term, ...]

    @property
    def term(self) -> Term:
        """The event as laws write it."""
        return Compound(self.kind, self.args) if self.args else self.kind


class Tick(msgspec.Struct, frozen=True, gc=False):
    """Time has passed: obligations that are due fire."""


TICK: Final = Tick()


def sent(home: str, message: Term, to: Term) -> Event:
    """Agent `home` sends a message to an agent, a space, or a list of them."""
    return Event("sent", (home, message, to))


def arrived(sender: str, message: Term, home: str) -> Event:
    """A message of the community arrives for `home`."""
    return Event("arrived", (sender, message, home))


def certified(issuer: str, subject: str, attributes: tuple[Term, ...]) -> Event:
    """`home` presents a certificate that checks out."""
    return Event("certified", (certificate(issuer, subject, attributes),))


def certificate(issuer: str, subject: str, attributes: tuple[Term, ...]) -> Term:
    """A certificate as laws see it."""
    return (
        Compound("issuer", (issuer,)),
        Compound("subject", (subject,)),
        Compound("attributes", (attributes,)),
    )


class Ruling(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ruling"):
    """What the law said of one event, and what became of it: the journal's record.

    `seq` counts a membership's rulings from 1. `stopped` says why the ruling is empty although
    a rule might have held. `unmet` lists operations that found nothing to change. `prices` is the
    version of the prices (`law.budget.PRICES`) under which its evaluation was bounded; records from
    before prices had a version are of the first.
    """

    seq: int
    at: int
    home: str
    law: str
    event: Event
    rule: str | None
    operations: tuple[Operation, ...] = ()
    delta: tuple[Change, ...] = ()
    unmet: tuple[int, ...] = ()
    stopped: str | None = None
    due_at: int | None = None
    prices: int = 1

    @property
    def forwards(self) -> bool:
        """Whether something goes out to others."""
        return goes_out(self.operations)

    @property
    def refused(self) -> bool:
        """A `sent` whose ruling forwards nothing, changes no state and imposes nothing."""
        return self.event.kind == "sent" and not self.delta and not goes_out(self.operations)

    @property
    def held(self) -> bool:
        """A `sent` whose ruling forwards nothing but changes state or imposes something."""
        return self.event.kind == "sent" and bool(self.delta) and not goes_out(self.operations)


_OUTGOING: Final = ("forward", "multicast", "release")


def goes_out(operations: tuple[Term, ...]) -> bool:
    """Whether operations send something to others."""
    for operation in operations:
        if type(operation) is Compound and operation.name in _OUTGOING:
            return True
    return False


class RecordRuling(msgspec.Struct, frozen=True, gc=False):
    """Write the ruling down, with the change of state that it tells."""

    ruling: Ruling


class Forward(msgspec.Struct, frozen=True, gc=False):
    """Bring a message to another member's controller."""

    sender: str
    message: Term
    to: str


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand a message to the home agent."""

    sender: str
    message: Term


class Release(msgspec.Struct, frozen=True, gc=False):
    """Send a message out of the community."""

    message: Term
    to: Term


class Signal(msgspec.Struct, frozen=True, gc=False):
    """Show something to those who watch."""

    what: Term


class Leave(msgspec.Struct, frozen=True, gc=False):
    """The membership has ended."""


class Undecided(msgspec.Struct, frozen=True, gc=False):
    """An event was not ruled on: that takes more than a slice. `place` is an obligation's."""

    event: Event
    place: int | None = None


Effect: TypeAlias = RecordRuling | Forward | Deliver | Release | Signal | Leave | Undecided
