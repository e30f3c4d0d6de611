"""A search that may be long, as data: what is looked for, how far that has come, what it has cost.

`searching` and `sets` go on with searches. One looks at tuples in the order in which they came.
When the slice that it was given is used up it stops (`Unfinished`) and can be gone on with later,
behind the last tuple that it looked at. Meanwhile the space may change. Tuples that go are not met;
those that come are still ahead; and one that shows up behind (it came back from a lease, or another
agent holds it now) is noted in `missed` and looked at before all else. So what a search finds at
last is what it would find if it were made as a whole in its last step.
"""

from __future__ import annotations

from collections.abc import Generator
from sys import maxsize
from typing import Final

from nomospace.calls.problems import CorrelationTooDear, SearchTooLong
from nomospace.space.asking import Gathering, SetQuestion
from nomospace.space.pages import Key
from nomospace.space.records import Record
from nomospace.terms.budget import Budget
from nomospace.terms.templates import Template

SEARCH_UNITS_MAX: Final = 100_000_000
"""What one search may cost in all: about half a minute of processor, in slices."""
SETS_UNITS_MAX: Final = 40_000_000
"""What one question about sets may cost in all: about ten seconds of processor, in slices."""
FIRST_UNITS_MAX: Final = 80_000
"""What it may cost to find a set across hosts, at once: about ten milliseconds, and as many more
when a question is first asked and its loops are made."""
AWAY_UNITS: Final = 16_000
"""What counts for rows that a search walked past, or waited for, before it was cut there."""
FACT_UNITS: Final = 64
"""What it costs to take one tuple in as a fact, when sets are first asked for, if it is small."""
MISSED_MAX: Final = 1_000
"""Tuples that may show up behind a search; past it the search begins anew."""


class Search:
    """What is looked for, and how far."""

    def __init__(
        self,
        template: Template,
        at: str | None,
        dest: str | None,
        *,
        every: bool = False,
        most: int = maxsize,
    ) -> None:
        self.template = template
        self.most = most
        self.at = at
        self.dest = dest
        self.every = every
        self.budget = Budget()
        self.spent = 0
        self.cut = False
        """Whether others have had their turn since it began."""
        self.awaits: Key | None = None
        """The rows that it waits for, if it does."""
        self.begin()

    def begin(self) -> None:
        """Look at everything, from the oldest tuple on."""
        self.after = 0
        """The order of the last tuple that was looked at."""
        self.after_exact = 0
        """The same for tuples that might fit a class exactly, which go before all others."""
        self.missed: dict[int, Record] = {}
        """What has shown up behind, by order."""
        self.inexact: dict[int, Record] = {}
        """The same, of which it is known that it does not fit exactly."""
        self.found: dict[int, Record] = {}
        """What was found: one tuple, or `every` that fits, by order."""

    @property
    def has_enough(self) -> bool:
        """Whether one tuple was asked for, and is found."""
        return bool(self.found) and not self.every

    def is_for(self, record: Record, now: int) -> bool:
        """Whether a tuple that fits may be found: here, held by and meant for the right ones."""
        return (
            record.order > 0
            and (self.at is None or record.cur == self.at)
            and (self.dest is None or record.dest == self.dest)
            and not 0 < record.expires <= now
        )

    def miss(self, record: Record) -> None:
        """Note a tuple that has shown up behind."""
        if len(self.missed) + len(self.inexact) >= MISSED_MAX:
            self.begin()
        elif record.order <= max(self.after, self.after_exact):
            self.missed[record.order] = record

    def pay(self, units: int) -> None:
        """Count what has been spent; `SearchTooLong` past what one search may cost."""
        self.spent += units
        if self.spent > SEARCH_UNITS_MAX:
            raise SearchTooLong(limit=SEARCH_UNITS_MAX)


class SetSearch:
    """Which sets of tuples are looked for, and how far that has come.

    The facts must not change while it goes on: when they do it begins anew. So where tuples with
    objects come and go all the time, a question that takes many slices comes to no end, and is
    stopped at what a search may cost.
    """

    def __init__(self, ask: SetQuestion, *, every: bool = False) -> None:
        self.ask = ask
        self.every = every
        self.spent = 0
        self.steps: Generator[None, None, list[Gathering]] | None = None
        self.facts: object = None
        self.changes = 0

    def pay(self, units: int) -> None:
        """Count what has been spent; `CorrelationTooDear` past what one question may cost."""
        self.spent += units
        if self.spent > SETS_UNITS_MAX:
            raise CorrelationTooDear(limit=SETS_UNITS_MAX)


class Unfinished(Exception):
    """A search has used up its slice, and is to be gone on with. Nobody outside hears of it."""

    def __init__(self, *, search: Search | SetSearch) -> None:
        super().__init__()
        self.search = search
