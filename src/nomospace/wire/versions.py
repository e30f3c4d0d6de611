"""Which version of a conversation two ends use: the newest that both know.

Each end says in its first word which versions it speaks: the oldest in the place where version 0.1
had its only one, the newest at the end of the word. Ends that know no newest speak that one alone.
"""

from __future__ import annotations

from typing import NamedTuple


class Versions(NamedTuple):
    """The versions that one end speaks, from the oldest to the newest.

    >>> str(Versions(1, 1)), str(Versions(2, 4))
    ('1', '2 to 4')
    """

    oldest: int
    newest: int

    @classmethod
    def said(cls, oldest: int, newest: int) -> Versions:
        """What the other end has said; a newest of 0 was left out."""
        return cls(oldest, max(oldest, newest))

    def common(self, other: Versions) -> int:
        """The newest that both speak; 0 if there is none, which is no version.

        >>> Versions(1, 3).common(Versions(2, 5)), Versions(1, 1).common(Versions(2, 2))
        (3, 0)
        """
        newest = min(self.newest, other.newest)
        return newest if newest >= max(self.oldest, other.oldest) else 0

    def __str__(self) -> str:
        return f"{self.oldest}" if self.oldest == self.newest else f"{self.oldest} to {self.newest}"
