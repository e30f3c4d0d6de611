"""Two laws over the same recorded events: only the rulings that differ, the first one first.

Either law may be the one that was in force. A ruling of one law and one of the other belong
together when they are on the same recorded event; what only one of them brings about (an obligation
that falls due under it alone) stands by itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

import msgspec

from nomospace.law import CompiledLaw
from nomospace.pipeline.jobs.replay import TABLES, make_trial
from nomospace.pipeline.replay import replay_process
from nomospace.pipeline.segments import Folders, JournalFiles, Row, list_journal, read_batches

SHOWN_MAX: Final = 500
"""How many differing rulings are told; the rest is counted."""
NOTHING: Final = "nothing is ruled"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)
_Key: TypeAlias = tuple[str, int, int, str, int]
"""A membership, a number in the record (0: it is not there), a moment, an event, and which one."""


class Side(msgspec.Struct, frozen=True):
    """What one law makes of an event: its rule, and the operations in words."""

    rule: str | None
    ruling: str


class Difference(msgspec.Struct, frozen=True):
    """An event that the two laws rule on differently; `seq` 0 is in no record."""

    agent: str
    seq: int
    at: int
    event: str
    before: Side
    after: Side


class LawComparison(msgspec.Struct, frozen=True):
    """Two laws over a journal: counts of rulings, and those that differ, the earliest first."""

    community: str
    events: int
    differing: int
    members: int
    members_differing: int
    passed_over: int
    """Recorded rulings that could not be replayed: there is no checkpoint before them."""
    first: tuple[Difference, ...]


def compare(
    folders: Folders,
    before: CompiledLaw | None,
    after: CompiledLaw | None,
    *,
    community: str,
    shown: int = SHOWN_MAX,
) -> LawComparison:
    """Tell the histories of a community to two laws; `None` is the law that was in force.

    Raises `NoJournal`, `BadSegments`, `OtherCommunity`, `TooLarge`.
    """
    listing = list_journal(folders, TABLES).sound(skip_bad=False)
    left = _verdicts(listing, before, community)
    right = left if before is after else _verdicts(listing, after, community)
    found: list[Difference] = []
    for key in dict.fromkeys([*left, *right]):
        one, other = _side(left.get(key)), _side(right.get(key))
        if one.ruling != other.ruling:
            membership, seq, at, event, _ = key
            found.append(Difference(membership.rpartition("/")[0], seq, at, event, one, other))
    found.sort(key=lambda one: (one.at, one.agent, one.seq))
    members = dict.fromkeys(key[0].rpartition("/")[0] for key in [*left, *right])
    events = sum(key[1] > 0 for key in left)
    return LawComparison(
        community=community,
        events=events,
        differing=len(found),
        members=len(members),
        members_differing=len(dict.fromkeys(one.agent for one in found)),
        passed_over=_recorded(listing, community) - events,
        first=tuple(found[:shown]),
    )


def _side(row: Row | None) -> Side:
    return Side(None, NOTHING) if row is None else Side(row["rule_now"], row["now"])


def _verdicts(listing: JournalFiles, law: CompiledLaw | None, community: str) -> dict[_Key, Row]:
    """What a law makes of every event, by what the rulings of two laws are put together by."""
    trial, _ = make_trial(listing, law, community)
    found: dict[_Key, Row] = {}
    for batch in replay_process(listing, trial, which="all"):
        for row in batch.to_pylist():
            moment = (row["at"] - _EPOCH) // _MICRO
            key = (row["membership"], row["agent_seq"], moment, row["event"])
            # One instant may bring the same unrecorded event several times.
            number = 0
            while (*key, number) in found:
                number += 1
            found[(*key, number)] = row
    return found


def _recorded(listing: JournalFiles, community: str) -> int:
    """How many rulings the journal has of a community."""
    trial, _ = make_trial(listing, None, community)
    laws: list[str | None] = []
    for batch in read_batches(listing, "events", ("law",)):
        laws += batch.column("law").to_pylist()
    return sum(law in trial.recorded for law in laws)
