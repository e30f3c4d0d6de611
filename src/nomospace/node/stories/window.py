"""A window on one journal: the facts around a moment, by agent, and who made what others used."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

import msgspec

from nomospace.node.stories.facts import BY_CAUSE, StoryFact, agent_noted, fact_of
from nomospace.store.journal import CAME, CheckpointRecord, EventRecord, LawRecord, Record

SKEW_US: Final = 500_000
"""How far the clocks of two hosts may be apart."""
SOON_US: Final = 60_000_000
"""How long after it heard something a program may still say a part of it, and"""
AT_ONCE_US: Final = 200_000
"""how long it may take to do something else."""
FOUND_MAX: Final = 64
"""How many facts answer one want."""
TRIED_MAX: Final = 5_000
"""How many facts of a lane are looked at for one want."""


class Want(msgspec.Struct, frozen=True, array_like=True):
    """What is asked of a window: who in a lane made a key before a moment, or used it after one.

    The key `CAME` asks where an agent was all the time. `parts` are those of the fact that is asked
    for, and `cause` is the ruling that sent what is asked for, where that is on record. By `record`
    no version has ever asked: it keeps its place among what travels.
    """

    lane: str
    key: str
    at: int
    back: bool
    record: int = 0
    parts: tuple[str, ...] = ()
    cause: str = ""

    def takes(self, fact: StoryFact) -> bool:
        """Whether a fact answers it."""
        if self.key not in (fact.makes if self.back else fact.uses):
            return False
        if not self.cause or self.key[0] not in BY_CAUSE:
            return True
        return self.cause == fact.ruling if self.back else fact.cause in ("", self.cause)


class Window:
    """The records of one host around a moment."""

    def __init__(self) -> None:
        self._lanes: dict[str, list[tuple[int, int]]] = {}
        """Of each lane when its records were, and their numbers, in order."""
        self._records: dict[int, Record] = {}
        self._facts: dict[int, StoryFact | None] = {}
        self._sorted = True
        self.large = 0
        """How many bytes the large ones of its records have."""
        self.read = self.end = 0
        """The last record of the store that it was given, and up to which it may be."""
        self.first: tuple[int, int] | None = None
        self.last: tuple[int, int] | None = None
        """The numbers of its first record and its last one, and when they were."""

    def add(self, number: int, record: Record) -> None:
        """Have a record in the window."""
        lanes: tuple[str, ...]
        if isinstance(record, EventRecord):
            ruling = record.ruling
            at, lanes = ruling.at, (ruling.home if record.community else agent_noted(record),)
            if not lanes[0]:
                return
        elif isinstance(record, CheckpointRecord):
            at, lanes = record.at, (record.snapshot.home,)
        elif isinstance(record, LawRecord):
            return
        else:
            at, lanes = record.at, (record.agent, f"{record.writer}#{record.count}")
        if number not in self._records:
            self._records[number] = record
            for lane in lanes:
                self._lanes.setdefault(lane, []).append((at, number))
            self._sorted = False

    def find(self, want: Want) -> list[StoryFact]:
        """What answers a want, the nearest first."""
        if not self._sorted:
            for lane in self._lanes.values():
                lane.sort()
            self._sorted = True
        entries = self._lanes.get(want.lane, [])
        if want.key == CAME:
            return self._came(entries, want.at)
        if want.key.startswith("p"):
            return self._programs(entries, want)
        if want.back:
            end = bisect_right(entries, (want.at + SKEW_US, 2**62))
            near = reversed(entries[max(0, end - TRIED_MAX) : end])
        else:
            begin = bisect_left(entries, (want.at - SKEW_US, 0))
            near = iter(entries[begin : begin + TRIED_MAX])
        found: list[StoryFact] = []
        for _, number in near:
            fact = self._fact(number)
            if fact is not None and want.takes(fact):
                found.append(fact)
                if len(found) >= FOUND_MAX:
                    break
        return found

    def _came(self, entries: list[tuple[int, int]], at: int) -> list[StoryFact]:
        """Where a lane left, came, or was told whole, the nearest to a moment first."""
        found: list[StoryFact] = []
        for _, number in entries:
            record = self._records[number]
            if isinstance(record, CheckpointRecord) or (
                isinstance(record, EventRecord) and not record.community
            ):
                fact = self._fact(number)
                found += [] if fact is None else [fact]
        return sorted(found, key=lambda fact: abs(fact.at - at))[:FOUND_MAX]

    def _programs(self, entries: list[tuple[int, int]], want: Want) -> list[StoryFact]:
        """What a program heard before it acted; or what it did after it heard something."""
        if want.back:
            end = bisect_right(entries, (want.at, 2**62))
            cause = self._heard_before(entries, end, want)
            return [] if cause is None else [cause]
        begin = bisect_right(entries, (want.at, 2**62))
        found: list[StoryFact] = []
        for place in range(begin, min(len(entries), begin + TRIED_MAX)):
            at, number = entries[place]
            if at > want.at + SOON_US or len(found) >= FOUND_MAX:
                break
            fact = self._fact(number)
            if fact is None or want.key not in fact.uses:
                continue
            asked = Want(want.lane, want.key, at, True, parts=fact.parts)
            cause = self._heard_before(entries, place, asked)
            if cause is not None and cause.at == want.at:
                found.append(fact)
        # What says a part of what was heard tells more than what was merely done at once.
        return [one for one in found if not set(want.parts).isdisjoint(one.parts)] or found

    def _heard_before(
        self, entries: list[tuple[int, int]], end: int, want: Want
    ) -> StoryFact | None:
        """The last thing that a program heard that its act has a part of, or heard just now."""
        last: StoryFact | None = None
        for at, number in reversed(entries[max(0, end - TRIED_MAX) : end]):
            if at < want.at - SOON_US:
                break
            fact = self._fact(number)
            if fact is None or not fact.heard:
                continue
            if not set(want.parts).isdisjoint(fact.parts):
                return fact
            if at >= want.at - AT_ONCE_US:
                last = last or fact
        return last

    def _fact(self, number: int) -> StoryFact | None:
        if number not in self._facts:
            record = self._records.get(number)
            self._facts[number] = None if record is None else fact_of(number, record)
        return self._facts[number]
