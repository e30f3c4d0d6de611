"""Two machines keep one host: one is active, the other follows its commits; an operator chooses.

Either has a store of its own. When they meet, each says how its store stands (`PairStand`), and
each works out for itself what that means (`meet`); they come to the same. The *token* is the life
of the store: every start counts it up, and a takeover by far more than a host is ever started
(`TAKEOVER_STEP`), so that no start of the one that was not heard of comes up to it.

| I am    | the other is | and                                       | then                        |
| ------- | ------------ | ----------------------------------------- | --------------------------- |
| active  | standby      | it has heard of a higher token            | I end: `OlderStore`         |
| active  | standby      | I start, and it is one commit further     | `FETCH` that commit         |
| active  | standby      | I start, and it is further than that      | I end: `OlderStore`         |
| active  | standby      | else                                      | `LEAD`                      |
| standby | active       | I have heard of a higher token            | `SHUN` it                   |
| standby | active       | else                                      | `FOLLOW`                    |
| active  | active       | its token is higher                       | `YIELD`: I was taken over   |
| active  | active       | its token is lower                        | `LEAD`: it will yield       |
| active  | active       | the same token: one is a copy             | who does not serve ends     |
| standby | standby      |                                           | `WAIT` for the operator     |
| any     | any          | another host, another birth, other tables | the standby ends            |

One commit may be with the standby alone: the active one was killed between sending and writing it.
Nobody was told of it, and it is taken over from there.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from nomospace.errors import CallerError, Unavailable
from nomospace.protocols.lease import OlderStore, OtherHostsStore

PAIR_VERSION: Final = 1
"""The version of what two machines of a host say to each other."""
ACTIVE: Final = "active"
STANDBY: Final = "standby"
RESTORED: Final = "restored"
"""What a store is of a pair. One that was restored from a backup waits for the operator's word."""
TAKEOVER_STEP: Final = 1 << 12
"""A takeover goes on at the next multiple of this: above all starts of the one before.

A store has eight million lives (`wire.talk.LIFE_BITS`), so there are 2,048 takeovers.
"""
SYNC: Final = "sync"
ASYNC: Final = "async"
ALONE: Final = "alone"
"""How the active one acknowledges: with the other, before it, or without it for now."""


class PairStand(msgspec.Struct, frozen=True):
    """How a store of a pair stands."""

    host: str
    role: str
    birth: int = 0
    token: int = 0
    number: int = 0
    """Its last commit."""
    heard: int = 0
    """The highest token that it has heard of."""
    serves: bool = False
    began: int = 0
    """Of who serves: the last commit before its token."""
    tables: int = 0
    last: int = 0
    """A checksum of its last commit, as it came."""
    version: int = PAIR_VERSION

    @property
    def top(self) -> int:
        """The highest token that it knows."""
        return max(self.token, self.heard)

    def __str__(self) -> str:
        return f"{self.token}.{self.number}"


class Meeting(Enum):
    """What two that have met do."""

    LEAD = "send commits"
    FETCH = "take over the one commit that the other has more, then lead"
    FOLLOW = "receive commits"
    YIELD = "the other has taken over"
    SHUN = "the other must end"
    WAIT = "neither is active"


def next_token(top: int) -> int:
    """What a takeover sets a store's life to; the start that follows counts one more.

    >>> next_token(7), next_token(4_097)
    (4096, 8192)
    """
    return (top // TAKEOVER_STEP + 1) * TAKEOVER_STEP


def meet(mine: PairStand, theirs: PairStand) -> Meeting:
    """What follows from how two stores stand; raises why this process must end.

    >>> ward = PairStand("ward", ACTIVE, 5, token=3, number=9)
    >>> b = PairStand("ward", STANDBY, 5, token=3, number=10)
    >>> meet(ward, b), meet(b, ward)
    (<Meeting.FETCH: ...>, <Meeting.FOLLOW: 'receive commits'>)
    >>> meet(ward, PairStand("ward", ACTIVE, 5, token=65_537)).name
    'YIELD'
    """
    error = _mismatch(mine, theirs)
    if error is not None:
        if not mine.serves and (mine.role == STANDBY or theirs.role != STANDBY):
            raise error
        return Meeting.SHUN
    if mine.role == STANDBY and theirs.role == STANDBY:
        return Meeting.WAIT
    if mine.role == STANDBY:
        return Meeting.SHUN if mine.top > theirs.token else Meeting.FOLLOW
    if theirs.role == STANDBY:
        ahead = theirs.number - mine.number if theirs.token == mine.token else 0
        if theirs.top > mine.token or (ahead > 1 and not mine.serves):
            raise OlderStore(there=str(mine), known=f"{theirs.top}.{theirs.number}")
        return Meeting.FETCH if ahead == 1 and not mine.serves else Meeting.LEAD
    if mine.token == theirs.token:
        if mine.serves:
            return Meeting.SHUN
        raise TwoActive(host=mine.host, token=mine.token)
    return Meeting.LEAD if mine.token > theirs.token else Meeting.YIELD


def _mismatch(mine: PairStand, theirs: PairStand) -> CallerError | None:
    if mine.host != theirs.host:
        return OtherHostsStore(host=mine.host, other=theirs.host)
    if mine.birth and theirs.birth and mine.birth != theirs.birth:
        return OtherBirth(host=mine.host)
    mine_of, theirs_of = (mine.version, mine.tables), (theirs.version, theirs.tables)
    if mine_of != theirs_of:
        return OtherTables(mine=_told(mine_of), theirs=_told(theirs_of))
    return None


def _told(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def goes_on(mine: PairStand, theirs: PairStand, first: int, sums: dict[int, int]) -> bool:
    """Whether a standby may go on with the commit after its last, without a new copy.

    `first` is the first commit that the active one still has, and `sums` their checksums.
    """
    at = theirs.number
    if theirs.birth != mine.birth or not first - 1 <= at <= mine.number:
        return False
    if theirs.token < mine.token:
        return at == mine.began
    return theirs.token == mine.token and sums.get(at, theirs.last) == theirs.last


class OtherBirth(CallerError):
    """Two hosts of one name are not the same host."""

    code = "pair.other-birth"
    words = (
        "there is a host {host!r} at the other end, but not this one: their stores were born "
        "apart; give this one a new store"
    )
    host: str


class OtherTables(CallerError):
    """The two machines of a pair run versions that keep things differently."""

    code = "pair.other-tables"
    words = (
        "this nomospace keeps its store in version {mine}, the other machine in {theirs}; "
        "run the same version on both"
    )
    mine: str
    theirs: str


class TwoActive(CallerError):
    """Two processes say that they are the active one, with the same token."""

    code = "pair.two-active"
    words = (
        "another process is host {host} under the same token {token}: one store is a copy of the "
        "other; end this one, and let it follow with a new store (`nomospace host standby`)"
    )
    host: str
    token: int


class StorePaired(CallerError):
    """A store of a pair was opened as if it stood alone."""

    code = "pair.store-paired"
    words = (
        "the store {where} is one of two of host {host} ({role}), and the other may be alive: "
        "start it as one of two (--standby-listen, or `nomospace host standby`), or let it be the "
        "host with `nomospace host takeover --store {where}`"
    )
    where: str
    host: str
    role: str


class NotAStandby(CallerError):
    """A store that is to follow another has a life of its own."""

    code = "pair.not-a-standby"
    words = (
        "the store {where} has a host of its own ({found}) and follows nobody; name a new store, "
        "which is filled from the active one"
    )
    where: str
    found: str


class NotPaired(CallerError):
    """A takeover was asked of a store that is not one of two."""

    code = "pair.not-paired"
    words = "the store {where} is not one of two; `nomospace host run` starts a host with it"
    where: str


class NeverFilled(CallerError):
    """A takeover was asked of a standby that has never had a copy."""

    code = "pair.never-filled"
    words = (
        "the store {where} has never had a copy of the active one: there is nothing to take over "
        "with; let it follow first, or restore a backup"
    )
    where: str


class StandbyAway(Unavailable):
    """The standby has not acknowledged in time, and what needs it is not done without it."""

    code = "pair.standby-away"
    words = (
        "the standby of host {host} has not acknowledged commit {number} for {after_s:g} s; "
        "nothing durable is acknowledged without it: bring it back, or go on alone with "
        "`nomospace host takeover --store {where}`"
    )
    host: str
    number: int
    after_s: float
    where: str


class BadCommit(Unavailable):
    """A commit of the other machine cannot be applied; a new copy is asked for."""

    code = "pair.bad-commit"
    words = "commit {number} does not follow commit {here} of this standby ({why}); it copies anew"
    number: int
    here: int
    why: str
