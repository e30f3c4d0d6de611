"""What a host writes down, change by change."""

from nomospace.calls.requests import Adopt, Tell
from nomospace.control import Membership, RecordRuling as RulingRecord, adopt, sent
from nomospace.host.calls import Arrive, Call
from nomospace.host.changes import (
    COMPACT_FROM,
    KEPT_EVERY,
    AgentCame,
    AgentWent,
    Durable,
    FloorRaised,
    MemberJoined,
    MemberKept,
    MemberRuled,
    Opened,
    TransferGiven,
    TransferPlaced,
    TransferTaken,
    TupleGone,
    TuplePut,
)
from nomospace.host.core import Host
from nomospace.host.effects import Persist
from nomospace.law import load
from nomospace.protocols.spaces import Row
from nomospace.terms import show


def disk_after(*changes: object) -> Durable:
    disk = Durable()
    for change in changes:
        disk.apply(change)  # type: ignore[arg-type]
    return disk


def row(count: int, cur: str = "ann@a", writer: str = "ann@a") -> Row:
    return Row(("job", count), writer, count, cur, "ann@a")


def test_a_tuple_is_put_replaced_and_gone() -> None:
    first, moved = row(1), row(1, cur="bob@a")
    disk = disk_after(TuplePut("jobs", first), TuplePut("other", row(2)), TuplePut("jobs", moved))
    assert disk.tuples == {"jobs": {("ann@a", 1): moved}, "other": {("ann@a", 2): row(2)}}
    disk.apply(TupleGone("jobs", ("ann@a", 1)))
    disk.apply(TupleGone("jobs", ("ann@a", 1)))  # gone is gone
    disk.apply(TupleGone("never", ("ann@a", 1)))
    assert disk.tuples["jobs"] == {}


def test_an_agents_counter_only_grows() -> None:
    disk = disk_after(
        AgentCame("ann@a", 3),
        TuplePut("jobs", row(5)),
        TuplePut("jobs", row(4)),
        AgentCame("ann@a", 2),
        TupleGone("jobs", ("ann@a", 5)),
    )
    assert disk.agents == {"ann@a": 5}


def test_a_tuple_of_a_stranger_makes_no_agent() -> None:
    disk = disk_after(AgentCame("ann@a", 0), TuplePut("jobs", row(9, writer="far@z")))
    assert disk.agents == {"ann@a": 0}


def test_an_agent_that_went_takes_its_spaces_and_memberships() -> None:
    law = load("law(l).\nR1. adopted(_) :- do(+p).\n")
    member, _ = adopt(law, "ann@a", (), now=0)
    other, _ = adopt(law, "bob@a", (), now=0)
    disk = disk_after(
        AgentCame("ann@a", 1),
        AgentCame("bob@a", 1),
        Opened("ann@a", "jobs", "", False, True),
        Opened("ann@a", "jobs", "", True, True),
        Opened("bob@a", "jobs", "", True, True),
        MemberJoined(member.snapshot()),
        MemberJoined(other.snapshot()),
    )
    assert disk.spaces["ann@a", "jobs"].shared
    disk.apply(AgentWent("ann@a"))
    assert disk.agents == {"bob@a": 1}
    assert list(disk.spaces) == [("bob@a", "jobs")]
    assert list(disk.members) == [("bob@a", law.hash)]


def test_transfers_are_kept_until_they_are_taken() -> None:
    disk = disk_after(
        TransferGiven("b", 1, "x"),
        TransferGiven("b", 2, "y"),
        TransferGiven("b", 3, "z"),
        TransferTaken("b", 2),
        TransferTaken("c", 9),
        TransferPlaced("b", 4),
    )
    assert disk.transfers.waiting["b"] == {3: "z"}
    assert disk.transfers.numbers == {"b": 3}
    assert disk.transfers.placed == {"b": 4}


def test_the_floor_only_rises() -> None:
    assert disk_after(FloorRaised(3), FloorRaised(7), FloorRaised(5)).floor == 7


def test_old_rulings_are_folded_into_the_base() -> None:
    """The log stays short, and what it makes is the same as the membership had."""
    law = load(
        "law(l).\ninitialCS([n(0)]).\nR1. sent(_, go, _) :- n(N)@CS, M is N+1, do(n(N) <- n(M)).\n"
    )
    born = Membership(law, "ann@a", state=law.initial)
    member = Membership(law, "ann@a", state=law.initial)
    disk = disk_after(MemberJoined(born.snapshot()))
    stored = disk.members["ann@a", law.hash]
    for step in range(1, COMPACT_FROM + 4):
        effects = member.handle(sent("ann@a", "go", "bob@a"), now=step)
        rulings = [one.ruling for one in effects if isinstance(one, RulingRecord)]
        assert len(rulings) == 1
        disk.apply(MemberRuled(rulings[0]))
        assert len(stored.log) < COMPACT_FROM
    assert len(stored.log) == 3
    assert [show(goal) for goal in stored.restore(law).state] == [f"n({COMPACT_FROM + 3})"]


def test_a_membership_is_kept_as_it_is_now_and_then() -> None:
    """What is on disk is what the controller has, and no store has to redo many rulings."""
    law = load(
        "law(l).\ninitialCS([n(0)]).\nR1. sent(_, go, _) :- n(N)@CS, M is N+1, do(n(N) <- n(M)).\n"
    )
    host = Host("a", life=1, now=0)
    disk, kept = Durable(), []

    def tell(event: Arrive | Call, now: int) -> None:
        for effect in host.handle(event, now=now):
            for change in effect.changes if isinstance(effect, Persist) else ():
                disk.apply(change)
                kept.extend([change.snapshot.seq] if isinstance(change, MemberKept) else [])

    tell(Arrive("ann@a"), 0)
    tell(Call(1, "ann@a", Adopt(law, ())), 1)
    for step in range(2, 2 * KEPT_EVERY + 10):
        tell(Call(step, "ann@a", Tell(law.hash, "go", "bob@a")), step)
    member = host.governing.find("ann@a", law.hash)
    assert member is not None
    assert kept == [KEPT_EVERY, 2 * KEPT_EVERY]
    stored = disk.members["ann@a", law.hash]
    assert stored.base.seq == 2 * KEPT_EVERY
    assert stored.restore(law).snapshot() == member.snapshot()
