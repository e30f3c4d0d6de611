"""Births: what two hosts have numbered for each other belongs to a birth of each of them.

The numbers of `transfers` and `courier` promise that nothing comes twice as long as both ends
remember them. A host without a store forgets them when it ends, and may come back under its name.
So each host has a *birth*: drawn when it first starts, kept in its store, drawn anew by each start
without one. Every frame that has a number says of which birth its sender is (`birth`), and which
birth of the receiver the number is for (`to`). A number counts for this pair alone.

Births are times, in microseconds, so a later one is greater and a frame of an earlier one, still
under way, is known for what it is. A host whose clock was set back is told which later birth of it
a peer knows. It then takes one more than that towards this peer: none of its frames counted there,
so nothing is doubled.

| known of the peer | a frame says | for            | what follows                               |
| ----------------- | ------------ | -------------- | ------------------------------------------ |
| nothing           | any birth    | any            | they meet: numbers go on as they are       |
| an earlier birth  | a later one  | any            | it has forgotten all: numbers begin anew   |
| this birth        | it           | this birth     | `FITS`: the number counts                  |
| this birth        | it           | an earlier one | `DEAF`: it has yet to hear of this birth   |
| this birth        | it           | a later one    | the clock was set back: one more than that |
| a later birth     | an earlier   | any            | `LATE`: it counts no more                  |

A frame for nobody in particular (`UNKNOWN`, where two have not met yet) counts for no birth, or it
would count for two: once before a restart, and once more after it. So the first frame between two
hosts may be answered by no more than a birth.

Two values are no times. `SILENT` is said by a nomospace from before births: all it says counts, as
it did. `BEFORE` is the birth of a store that lived before there were births. It has forgotten
nothing, so it goes on where it was when it was silent, and with hosts that knew it so.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

UNKNOWN: Final = -1
"""In the place of a receiver's birth: the sender has not heard of it."""
SILENT: Final = 0
"""In the place of a birth: the sender does not speak of births."""
BEFORE: Final = 1
"""The birth of a host that has kept all since before there were births."""

BIRTH_MAX: Final = 1 << 62
"""No birth is later, whatever a peer says; so what is kept of one always fits."""

ERA_US: Final = 250_000
"""Two births of a host are so far apart; whoever draws them sees to it."""
ERAS_FROM: Final = 1_767_225_600_000_000
"""Where eras are counted from: the beginning of 2026."""
ERAS_MAX: Final = (1 << 31) - 1
"""The last era, which begins in 2043: what is numbered within one has the 32 bits below it."""


def era_of(birth: int) -> int:
    """A short number that grows from birth to birth of a host; 0 if it was born before births.

    Whatever else a host that keeps nothing numbers under its name (its lives, its agents' tuples
    and posts) begins above all that a former birth can have given.

    >>> era_of(BEFORE), era_of(ERAS_FROM), era_of(ERAS_FROM + 2 * ERA_US)
    (0, 1, 3)
    """
    if birth <= BEFORE:
        return 0
    return min(max((birth - ERAS_FROM) // ERA_US, 0) + 1, ERAS_MAX)


class Word(Enum):
    """What a frame with a number is worth."""

    FITS = "its number counts"
    LATE = "an earlier birth of the peer said it"
    DEAF = "the peer has not heard of this birth yet"


FITS, LATE, DEAF = Word


class BirthNews(NamedTuple):
    """A pair of births that is to be remembered; with `anew`, numbers begin anew as well."""

    birth: int
    own: int
    anew: bool


class Births:
    """The births that one host knows: its own, and the one of each peer that numbers are for.

    >>> here = Births(50)
    >>> here.weigh("b", 70, UNKNOWN)  # they meet, and b does not know with whom
    (<Word.DEAF: 'the peer has not heard of this birth yet'>, BirthNews(birth=70, own=50,
    anew=False))
    >>> here.learn("b", BirthNews(70, 50, anew=False))
    >>> here.weigh("b", 70, 50)
    (<Word.FITS: 'its number counts'>, None)
    >>> here.weigh("b", 90, 50)[1]  # b came back, and has forgotten
    BirthNews(birth=90, own=50, anew=True)
    >>> here.stamp("b")
    (50, 70)
    """

    def __init__(self, own: int, pairs: Mapping[str, tuple[int, int]] | None = None) -> None:
        assert own >= BEFORE, "a host has a birth"
        self.own = own
        self.pairs = dict(pairs or {})
        """The birth of each peer, and that of this host which it is known with."""

    def stamp(self, peer: str) -> tuple[int, int]:
        """What a frame for a peer says: the birth of this host, and that of the peer."""
        birth, own = self.pairs.get(peer, (UNKNOWN, self.own))
        return own, birth

    def learn(self, peer: str, news: BirthNews) -> None:
        """Remember a pair of births."""
        self.pairs[peer] = (news.birth, news.own)

    def weigh(self, peer: str, birth: int, to: int) -> tuple[Word, BirthNews | None]:
        """What a frame of a peer is worth, and what is news in it."""
        known, own = self.pairs.get(peer, (UNKNOWN, self.own))
        if birth > BIRTH_MAX or to > BIRTH_MAX:
            return LATE, None
        if birth <= SILENT:
            if known > BEFORE:
                return LATE, None
            return FITS, BirthNews(SILENT, own, anew=False) if known == UNKNOWN else None
        if birth < known:
            return LATE, None
        if known == SILENT and birth == BEFORE and to == SILENT:
            # It has learnt to speak of births, and has yet to hear that this host does. Until then
            # it goes on being told that it was known silent: so it knows that nothing is forgotten.
            return FITS, None
        anew = known not in (UNKNOWN, birth) and not (
            known == SILENT
            # It has learnt to speak of births meanwhile; or this host has, and was known silent.
            and (birth == BEFORE or (own == BEFORE and to == SILENT))
        )
        if to > own:
            return DEAF, BirthNews(birth, to + 1, anew=True)
        news = BirthNews(birth, own, anew) if birth != known else None
        fits = to == own or (own == BEFORE and to <= SILENT)
        return (FITS if fits else DEAF), news

    def introduce(self, peer: str, birth: int) -> BirthNews | None:
        """What is news in the birth of a peer, as the directory of a group has it.

        Whether a peer that was silent so far has forgotten, only its own frames tell.
        """
        own, known = self.stamp(peer)
        if birth <= known or known == SILENT or birth > BIRTH_MAX:
            return None
        return BirthNews(max(birth, SILENT), own, anew=known != UNKNOWN)
