"""What happened beside the way, told to whoever keeps the record, and never as a flood.

Strangers can be refused ten thousand times a second; a record that grew with every one of them
would be a way to fill a disk. So in each second the first `PER_SECOND_MAX` notes of a kind are told
one by one, and the others as a count when the second is over. A flood of one kind hides no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

PER_SECOND_MAX: Final = 10
"""How many notes of a kind are told one by one in a second."""


class OnNote(Protocol):
    """Who is told: what happened, and its facts."""

    def __call__(self, what: str, /, **facts: object) -> None:
        """Take a note."""


class Notes:
    """Passes notes on, at most so many a second; `time` is a clock in seconds.

    >>> told = []
    >>> notes = Notes(lambda what, **facts: told.append((what, facts)), lambda: 7.0)
    >>> for number in range(PER_SECOND_MAX + 2):
    ...     notes("refused", why="garbage")
    >>> notes.settle(8.0)
    >>> len(told), told[-1]
    (11, ('notes-withheld', {'of': 'refused', 'count': 2}))
    """

    def __init__(self, on_note: OnNote | None, time: Callable[[], float]) -> None:
        self._on_note = on_note
        self._time = time
        self._second = 0
        self._told: dict[str, int] = {}
        """Of each kind, how many were told in this second: a flood of one hides no other."""
        self._withheld: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        """How often each kind happened, told or not; kinds are few, and all our own words."""

    def __call__(self, what: str, /, **facts: object) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        if self._on_note is None:
            return
        self.settle(self._time())
        told = self._told.get(what, 0)
        if told < PER_SECOND_MAX:
            self._told[what] = told + 1
            self._on_note(what, **facts)
        else:
            self._withheld[what] = self._withheld.get(what, 0) + 1

    def settle(self, now: float) -> None:
        """Tell the counts of a second that is over; its owner calls this now and then."""
        second = int(now)
        if second == self._second:
            return
        self._second = second
        self._told.clear()
        withheld, self._withheld = self._withheld, {}
        if self._on_note is not None:
            for what, count in withheld.items():
                self._on_note("notes-withheld", of=what, count=count)
