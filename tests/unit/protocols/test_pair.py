"""What two stores of one host make of each other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from nomospace.protocols.lease import OlderStore, OtherHostsStore
from nomospace.protocols.pair import (
    ACTIVE,
    STANDBY,
    Meeting,
    OtherBirth,
    OtherTables,
    PairStand,
    TwoActive,
    goes_on,
    meet,
)

LEADER = PairStand("ward", ACTIVE, 5, token=3, number=9, tables=10)
FOLLOWER = replace(LEADER, role=STANDBY, heard=3)
SERVING = replace(LEADER, serves=True)


@pytest.mark.parametrize(
    ("mine", "theirs", "mine_does", "theirs_does"),
    [
        (LEADER, FOLLOWER, Meeting.LEAD, Meeting.FOLLOW),
        (LEADER, PairStand("ward", STANDBY, tables=10), Meeting.LEAD, Meeting.FOLLOW),
        (LEADER, replace(FOLLOWER, token=2, number=20), Meeting.LEAD, Meeting.FOLLOW),
        (LEADER, replace(FOLLOWER, number=10), Meeting.FETCH, Meeting.FOLLOW),
        (SERVING, replace(FOLLOWER, number=10), Meeting.LEAD, Meeting.FOLLOW),
        (LEADER, replace(FOLLOWER, number=11), OlderStore, Meeting.FOLLOW),
        (LEADER, replace(FOLLOWER, heard=4), OlderStore, Meeting.SHUN),
        (LEADER, replace(FOLLOWER, token=4), OlderStore, Meeting.SHUN),
        (LEADER, replace(LEADER, token=65_537), Meeting.YIELD, Meeting.LEAD),
        (SERVING, replace(SERVING, token=65_537), Meeting.YIELD, Meeting.LEAD),
        (LEADER, SERVING, TwoActive, Meeting.SHUN),
        (LEADER, replace(LEADER, number=4), TwoActive, TwoActive),
        (FOLLOWER, FOLLOWER, Meeting.WAIT, Meeting.WAIT),
        (SERVING, replace(FOLLOWER, host="icu"), Meeting.SHUN, OtherHostsStore),
        (SERVING, replace(FOLLOWER, birth=6), Meeting.SHUN, OtherBirth),
        (SERVING, replace(FOLLOWER, tables=9), Meeting.SHUN, OtherTables),
        (SERVING, replace(FOLLOWER, version=2), Meeting.SHUN, OtherTables),
        (SERVING, replace(LEADER, birth=6), Meeting.SHUN, OtherBirth),
        (LEADER, replace(LEADER, birth=6), OtherBirth, OtherBirth),
    ],
)
def test_both_come_to_the_same(
    mine: PairStand,
    theirs: PairStand,
    mine_does: Meeting | type[Exception],
    theirs_does: Meeting | type[Exception],
) -> None:
    for one, other, does in ((mine, theirs, mine_does), (theirs, mine, theirs_does)):
        if isinstance(does, Meeting):
            assert meet(one, other) is does
        else:
            with pytest.raises(does):
                meet(one, other)


@pytest.mark.parametrize(
    ("theirs", "goes"),
    [
        (FOLLOWER, True),
        (replace(FOLLOWER, number=6), True),
        (replace(FOLLOWER, number=5), False),  # the commit after it is not kept any more
        (replace(FOLLOWER, number=10), False),  # it has one that was dropped
        (replace(FOLLOWER, last=8), False),  # its last one is not the one that was kept
        (replace(FOLLOWER, birth=0), False),
        (replace(FOLLOWER, token=2, number=7), True),
        (replace(FOLLOWER, token=2, number=8), False),
    ],
)
def test_when_a_standby_goes_on_without_a_copy(theirs: PairStand, goes: bool) -> None:
    active = replace(SERVING, began=7)
    assert goes_on(active, theirs, first=7, sums={7: 0, 8: 0, 9: 0}) is goes
