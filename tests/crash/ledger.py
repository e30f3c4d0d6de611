"""What hosts have promised and what programs have seen, and whether the two agree.

Everything under load has an id and one promise: once its call was acknowledged, exactly one program
gets it, exactly once. So one ledger serves tuples, letters and obligations alike. It knows nothing
of hosts: it is told, and says in the end what was lost, doubled, out of order or too early.

| told             | what it means                                                              |
| ---------------- | -------------------------------------------------------------------------- |
| `begin`          | a program is about to ask for it: from now on it may exist                 |
| `acknowledge`    | the host said yes: from now on it must not get lost                        |
| `see`            | a program has it                                                           |
| `doubt`          | a program was told that nobody can say whether it has it                   |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

EARLY_S: Final = 0.05
"""How far the clocks of two processes may be apart."""
AROUND_S: Final = 3.0
"""A story tells what happened to hosts so long before and after its own events."""

TUPLE: Final = "tuple"
LENT: Final = "lent tuple"
SENT_ON: Final = "addressed tuple"
GOVERNED: Final = "governed tuple"
MESSAGE: Final = "message"
OBLIGATION: Final = "obligation"
KINDS: Final = (TUPLE, LENT, SENT_ON, GOVERNED, MESSAGE, OBLIGATION)


@dataclass
class Entry:
    """One thing that was promised."""

    kind: str
    id: str
    by: str
    begun_at: float
    due_at: float = 0.0
    acknowledged_at: float | None = None
    seen: list[tuple[float, str]] = field(default_factory=list)
    doubts: list[tuple[float, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Fault:
    """A broken promise: what is wrong, and everything that is known of it."""

    what: str
    story: str

    def __str__(self) -> str:
        return f"{self.what}\n{self.story}"


class Ledger:
    """All promises of one run. `clock` gives seconds since it began.

    >>> book = Ledger(clock=lambda: 1.5)
    >>> book.begin(TUPLE, "ward-1", by="writer@ward")
    >>> book.acknowledge(TUPLE, "ward-1")
    >>> print(book.faults()[0])
    tuple ward-1 is lost
      1.500  begun by writer@ward
      1.500  acknowledged
      seen by nobody
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, str], Entry] = {}
        self._strangers: list[Entry] = []
        self._lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
        self._happened: list[tuple[float, str]] = []
        self.open: Counter[str] = Counter()
        """Of each kind, how many were begun and have been seen by nobody."""

    # -- what happens ------------------------------------------------------------------------

    def happened(self, what: str) -> None:
        """Something befell a host; stories tell it."""
        self._happened.append((self._clock(), what))

    def begin(self, kind: str, id: str, *, by: str, due_s: float = 0.0) -> None:
        """A program is about to ask for something, which must not be seen before `due_s`."""
        now = self._clock()
        assert (kind, id) not in self._entries, f"{kind} {id} is begun twice: the load is wrong"
        self._entries[kind, id] = Entry(kind, id, by, now, now + due_s if due_s else 0.0)
        self.open[kind] += 1

    def acknowledge(self, kind: str, id: str) -> None:
        """Its host has said yes."""
        self._entries[kind, id].acknowledged_at = self._clock()

    def see(self, kind: str, id: str, *, by: str) -> None:
        """A program has it."""
        entry = self._entries.get((kind, id))
        if entry is None:
            entry = Entry(kind, id, "nobody", 0.0)
            self._strangers.append(entry)
        elif not entry.seen:
            self.open[kind] -= 1
        entry.seen.append((self._clock(), by))

    def see_in_line(self, sender: str, receiver: str, number: int) -> None:
        """A letter of one sender has come to one receiver; they must come in order."""
        self._lines.setdefault((sender, receiver), []).append((number, self._clock()))

    def doubt(self, kind: str, id: str, *, by: str) -> None:
        """Whether a program has it, nobody can say."""
        self._entries[kind, id].doubts.append((self._clock(), by))

    # -- what is asked ---------------------------------------------------------------------------

    def unseen(self, kinds: Iterable[str] = KINDS) -> list[Entry]:
        """What was acknowledged and no program has, for certain or perhaps."""
        wanted = set(kinds)
        return [
            one
            for one in self._entries.values()
            if one.kind in wanted and one.acknowledged_at is not None and not one.seen
            if not one.doubts
        ]

    def unanswered(self) -> list[Entry]:
        """What was asked for and never answered."""
        return [one for one in self._entries.values() if one.acknowledged_at is None]

    def count(self, kind: str, *, by: str = "", seen_by: str = "") -> int:
        """How many of a kind were acknowledged, of one program if it is named, and seen by one."""
        return sum(
            one.kind == kind
            and one.acknowledged_at is not None
            and by in ("", one.by)
            and (not seen_by or any(who == seen_by for _, who in one.seen))
            for one in self._entries.values()
        )

    def checked(self) -> dict[str, int]:
        """How many promises of each kind this ledger holds."""
        found = {kind: self.count(kind) for kind in KINDS}
        found["letters in order"] = sum(len(line) for line in self._lines.values())
        return found

    def faults(self) -> list[Fault]:
        """Every broken promise, the first one to be made first."""
        found: list[tuple[float, Fault]] = []
        for one in [*self._entries.values(), *self._strangers]:
            what = self._wrong(one)
            if what:
                found.append((one.begun_at, self._fault(what, one)))
        for (sender, receiver), line in self._lines.items():
            found += self._disorder(sender, receiver, line)
        return [fault for _, fault in sorted(found, key=lambda pair: pair[0])]

    # -- inside ----------------------------------------------------------------------------------

    def _wrong(self, one: Entry) -> str:
        name = f"{one.kind} {one.id}"
        if one in self._strangers:
            return f"{name} was seen, and nobody asked for it"
        if one.acknowledged_at is None:
            return f"{name} was never answered"
        if len(one.seen) > 1:
            return f"{name} was seen {len(one.seen)} times"
        if not one.seen and not one.doubts:
            return f"{name} is lost"
        if one.seen and one.due_at and one.seen[0][0] < one.due_at - EARLY_S:
            return f"{name} came {one.due_at - one.seen[0][0]:.3f} s too early"
        return ""

    def _fault(self, what: str, one: Entry) -> Fault:
        events = [(one.begun_at, f"begun by {one.by}")]
        if one.due_at:
            events.append((one.due_at, "due"))
        if one.acknowledged_at is not None:
            events.append((one.acknowledged_at, "acknowledged"))
        events += [(at, f"seen by {who}") for at, who in one.seen]
        events += [(at, f"in doubt for {who}") for at, who in one.doubts]
        end = "" if one.seen else "\n  seen by nobody"
        return Fault(what, self._story(events) + end)

    def _disorder(
        self, sender: str, receiver: str, line: list[tuple[int, float]]
    ) -> list[tuple[float, Fault]]:
        for (before, at), (after, then) in pairwise(line):
            if after <= before:
                what = f"message {after} of {sender} came to {receiver} behind message {before}"
                events = [(at, f"message {before} came"), (then, f"message {after} came")]
                return [(at, Fault(what, self._story(events)))]
        return []

    def _story(self, events: list[tuple[float, str]]) -> str:
        moments = [at for at, _ in events]
        near = [
            (at, what)
            for at, what in self._happened
            if any(abs(at - moment) <= AROUND_S for moment in moments)
        ]
        told = sorted(events + near, key=lambda pair: pair[0])
        return "\n".join(f"  {at:.3f}  {what}" for at, what in told)
