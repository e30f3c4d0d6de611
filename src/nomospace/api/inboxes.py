"""The letters of agents that act by way of the API, in numbered rings.

A client that lost an answer asks again; what is older than `INBOX_MAX` letters, or than the host's
start, is gone. The inboxes of one agent have one room: past it the largest of them makes some.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from nomospace.terms import Term, weight

WAIT_S_MAX: Final = 60.0
"""The longest that one question waits: for a tuple, or for a letter."""
INBOX_MAX: Final = 1_000
"""How many letters of one membership are kept for those who ask late."""
INBOX_BYTES_MAX: Final = 4 << 20
"""How many bytes those of one agent may have; one that comes is kept whatever it has."""
LETTER_BYTES: Final = 256
"""What a letter counts for besides its message."""
SHOWN_BYTES_MAX: Final = 1 << 20
"""After so many bytes of letters an answer ends: all others wait while it is written."""


@dataclass(frozen=True, slots=True)
class NumberedLetter:
    """A message that a law has delivered. `number` counts those of one membership from 1."""

    number: int
    sender: str
    message: Term
    size: int = 0
    """How many bytes it has."""


class NumberedInbox:
    """The letters of one membership, numbered, the latest `INBOX_MAX` of them.

    >>> inbox = NumberedInbox()
    >>> for n in range(6):
    ...     inbox.on_mail("ann@ward", n * "x" + "x" * 900_000)
    >>> [letter.number for letter in inbox.since(0, 9)], [one.number for one in inbox.since(3, 9)]
    ([3, 4], [4, 5])
    """

    def __init__(self, all_inboxes: Mapping[str, NumberedInbox] | None = None) -> None:
        self._all = {} if all_inboxes is None else all_inboxes
        """Those of its agent, it may be without this one."""
        self._letters: deque[NumberedLetter] = deque()
        self.size = 0
        """How many bytes its letters have."""
        self._last = 0
        self._bell = asyncio.Event()

    def on_mail(self, sender: str, message: Term) -> None:
        """The host brings a message."""
        self._last += 1
        letter = NumberedLetter(self._last, sender, message, LETTER_BYTES + weight(message))
        self._letters.append(letter)
        self.size += letter.size
        if len(self._letters) > INBOX_MAX:
            self._drop()
        inboxes = dict.fromkeys((*self._all.values(), self))
        while sum([one.size for one in inboxes]) > INBOX_BYTES_MAX:
            if len(self._letters) == 1:  # the one that has just come stays
                inboxes.pop(self, None)
            if not any(one.size for one in inboxes):
                break
            max(inboxes, key=attrgetter("size"))._drop()
        self._bell.set()

    def _drop(self) -> None:
        self.size -= self._letters.popleft().size

    async def after(self, number: int, limit: int, wait_s: float) -> list[NumberedLetter]:
        """Letters after a number, the oldest first; waits for one if there is none."""
        with suppress(TimeoutError):
            async with asyncio.timeout(min(wait_s, WAIT_S_MAX)):
                while wait_s > 0 and self._last <= number:
                    self._bell.clear()
                    await self._bell.wait()
        return self.since(number, limit)

    def since(self, number: int, limit: int) -> list[NumberedLetter]:
        """Letters after a number that are there, the oldest first; at most about a megabyte."""
        found: list[NumberedLetter] = []
        size = 0
        for letter in self._letters:
            if letter.number > number and size < SHOWN_BYTES_MAX and len(found) < max(1, limit):
                found.append(letter)
                size += letter.size
        return found
