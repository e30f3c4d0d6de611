"""What happened in a world, in order: what checkers judge and stories are told from.

A happening is a few words and the objects they are about; nothing is copied or printed until
somebody asks. Only what was on disk counts as ruled: a ruling lost in a crash never was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from types import FunctionType
from typing import Any, Final, TypeAlias

import msgspec

from nomospace.control import Ruling
from nomospace.errors import NomospaceError
from nomospace.terms import Compound, Term, show
from nomospace.terms.templates import Template
from nomospace_lab.sim.clock import clock_text

RULED: Final = "ruled"  # a ruling, on disk; who: its home
SENT: Final = "sent"  # a packet, handed to the network; who: the home that sent it
LOST: Final = "lost"  # a packet and why
REPEATED: Final = "repeated"  # a packet that came twice and was dropped
BARRED: Final = "barred"  # a packet under another law, or for nobody, and why
DELIVERED: Final = "delivered"  # a packet's or a law's message, handed to the agent
RELEASED: Final = "released"  # a message to the outside
SIGNALLED: Final = "signalled"
CRASHED: Final = "crashed"  # a host, with the state of each member as it must come back
RESTARTED: Final = "restarted"  # a host, with the state of each member as it came back
PAUSED: Final = "paused"  # a host stands still
RESUMED: Final = "resumed"  # it goes on
CUT: Final = "cut"  # the hosts on one side of a partition
JOINED: Final = "joined"  # the partition is over
WEATHER: Final = "weather"  # what the links are like from now on
HEALED: Final = "healed"  # no fault happens after this


class Happening(msgspec.Struct, frozen=True, gc=False):
    """One thing that happened: when (world time), what kind, to whom, and the objects."""

    at: int
    kind: str
    who: str
    what: Any = None

    def __str__(self) -> str:
        return f"{clock_text(self.at)}  {_TELL.get(self.kind, _tell_plainly)(self)}"


class Packet(msgspec.Struct, frozen=True, gc=False):
    """A message between controllers.

    `id` is the sending home, the ruling's number and the order's place in it: the same when a
    restarted host sends again what it may have sent before.
    """

    id: tuple[str, int, int]
    law: str
    sender: str
    message: Term
    to: str


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message handed to an agent, with the number of the ruling that ordered it."""

    seq: int
    sender: str
    message: Term


class MemberState(msgspec.Struct, frozen=True, gc=False):
    """What a membership holds, without the places: what must survive a crash."""

    home: str
    seq: int
    state: tuple[Term, ...]
    obligations: tuple[Term, ...]


class History:
    """Happenings in order. A watcher is told each as it happens."""

    __slots__ = ("happenings", "watcher")

    def __init__(self, happenings: Iterable[Happening] = ()) -> None:
        self.happenings: list[Happening] = list(happenings)
        self.watcher: Callable[[Happening], None] | None = None

    def __iter__(self) -> Iterator[Happening]:
        return iter(self.happenings)

    def __len__(self) -> int:
        return len(self.happenings)

    def add(self, at: int, kind: str, who: str, what: Any = None) -> None:
        """Write down that something happened."""
        happening = Happening(at, kind, who, what)
        self.happenings.append(happening)
        if self.watcher is not None:
            self.watcher(happening)

    def forget(self) -> None:
        """Drop what has happened, in a world that goes on without end."""
        self.happenings.clear()

    def of(self, *kinds: str) -> Iterator[Happening]:
        """The happenings of some kinds."""
        return (h for h in self.happenings if h.kind in kinds)

    def count(self, kind: str) -> int:
        """How many happenings are of a kind."""
        return sum(h.kind == kind for h in self.happenings)

    def by_home(self) -> dict[str, list[Happening]]:
        """The rulings of each home, in order."""
        found: dict[str, list[Happening]] = {}
        for h in self.of(RULED):
            found.setdefault(h.who, []).append(h)
        return found

    def digest(self) -> str:
        """A hash over all that happened: equal for equal histories."""
        total = sha256()
        for h in self.happenings:
            total.update(f"{h.at} {h.kind} {h.who} {_exactly(h.what)}\n".encode())
        return total.hexdigest()


Teller: TypeAlias = Callable[[Happening], str]


def _exactly(what: Any) -> str:
    """Any object of a happening as text, all of it."""
    if isinstance(what, Ruling):
        return (
            f"{what.seq} {what.at} {what.law} {show(what.event.term)} {what.rule} "
            f"{show(what.operations)} {_exactly(what.delta)} "
            f"{what.unmet} {what.stopped} {what.due_at}"
        )
    if isinstance(what, Template):
        return show(what.term)
    if isinstance(what, NomospaceError):
        return f"{what.code} {what}"
    if isinstance(what, msgspec.Struct) and not isinstance(what, Compound):
        return " ".join(_exactly(getattr(what, name)) for name in what.__struct_fields__)
    if isinstance(what, tuple):
        return f"[{' '.join(map(_exactly, what))}]"
    if isinstance(what, Compound):
        return show(what)
    return what.__qualname__ if isinstance(what, FunctionType) else repr(what)


_SIMPLY_HAPPEN: Final = ("adopted", "disconnected", "reconnected", "quit", "moved")


def verdict_of(ruling: Ruling) -> str:
    """In a word what a ruling did with its event.

    `forwarded`, `delivered`, `held`, `refused`, `ignored` (no rule), `stopped`, or `noted` for
    all else, which simply happens.
    """
    if ruling.stopped is not None:
        return "stopped"
    if ruling.forwards:
        return "forwarded"
    if ruling.event.kind == "sent":
        return "held" if ruling.held else "refused"
    if any(type(op) is Compound and op.name == "deliver" for op in ruling.operations):
        return "delivered"
    regulated = ruling.event.kind not in _SIMPLY_HAPPEN
    return "ignored" if ruling.rule is None and regulated else "noted"


def _tell_ruling(h: Happening) -> str:
    ruling: Ruling = h.what
    by = f"by {ruling.rule}" if ruling.rule is not None else "no rule applies"
    late = ""
    if ruling.due_at is not None and ruling.at > ruling.due_at:
        late = f", {(ruling.at - ruling.due_at) / 1e6:g} s late"
    return f"{h.who}  {verdict_of(ruling)} ({by}{late}): {show(ruling.event.term)}"


def _tell_packet(word: str) -> Teller:
    def tell(h: Happening) -> str:
        packet, why = h.what if isinstance(h.what, tuple) else (h.what, "")
        reason = f" ({why})" if why else ""
        return f"{packet.sender} to {packet.to}  {word}{reason}: {show(packet.message)}"

    return tell


def _tell_delivery(h: Happening) -> str:
    return f"{h.who}  gets from {h.what.sender}: {show(h.what.message)}"


def _tell_host(h: Happening) -> str:
    note = f" with {len(h.what)} members" if isinstance(h.what, tuple) else ""
    return f"host {h.who} {h.kind}{note}"


def _tell_plainly(h: Happening) -> str:
    return f"{h.who} {h.kind}{'' if h.what is None else f': {_exactly(h.what)}'}".strip()


def tell_as(kind: str, teller: Teller) -> None:
    """Say how happenings of a kind are told in stories."""
    _TELL[kind] = teller


_TELL: Final[dict[str, Teller]] = {
    RULED: _tell_ruling,
    SENT: _tell_packet("on its way"),
    LOST: _tell_packet("lost"),
    REPEATED: _tell_packet("came again, dropped"),
    BARRED: _tell_packet("barred"),
    DELIVERED: _tell_delivery,
    CRASHED: _tell_host,
    RESTARTED: _tell_host,
}
