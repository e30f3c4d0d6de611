from nomospace.control import Membership, RecordRuling, Ruling, sent
from nomospace.law import load
from nomospace.terms import Term, t
from nomospace_lab.sim.disk import COMPACT_FROM, RECEIVED_MAX, Disk

LAW = load(
    """
    law(notes).
    initialCS([quota(9), spare(1)]).
    sent(_, keep(X), _) :- do(+note(X)), do(imposeObligation(drop(X), X)), do(forward).
    sent(_, use, _) :- do(dcr(quota(_), 1)), do(-spare(_)).
    sent(_, spoil, _) :- do(+note(bad)), do(incr(quota(_), oops)).
    sent(_, pardon(X), _) :- do(repealObligation(drop(X))).
    sent(_, leave, _) :- do(quit).
    obligationDue(drop(X)) :- do(note(X) <- dropped(X)).
    """
)


def _stored(*messages: Term, now: int = 0) -> tuple[Membership, Disk, list[Ruling]]:
    """A member that has been told messages, and the disk that was written meanwhile."""
    member, disk = Membership(LAW, "ann@x"), Disk()
    disk.adopt(member)
    rulings = []
    for step, message in enumerate(messages):
        for effect in member.handle(sent("ann@x", message, "bob@x"), now=now + step * 1_000_000):
            if isinstance(effect, RecordRuling):
                disk.write("ann@x", effect.ruling, (), None)
                rulings.append(effect.ruling)
    return member, disk, rulings


def test_a_membership_comes_back_as_its_rulings_left_it() -> None:
    member, disk, _ = _stored(t.keep(3), "use", t.keep(8), "spoil", t.pardon(8), t.keep(1), "use")
    back = disk.members["ann@x"].restore()
    assert tuple(back.state) == tuple(member.state)
    assert back.pending() == member.pending()
    assert (back.seq, back.ended) == (member.seq, False)
    # And goes on alike.
    for event in (sent("ann@x", t.keep(5), "bob@x"), sent("ann@x", "leave", "bob@x")):
        assert len(back.handle(event, now=10**7)) == len(member.handle(event, now=10**7))
    assert tuple(back.state) == tuple(member.state)
    assert back.ended


def test_a_ruling_that_was_not_written_never_was() -> None:
    member, disk, rulings = _stored("use")
    member.handle(sent("ann@x", t.keep(3), "bob@x"), now=0)
    back = disk.members["ann@x"].restore()
    assert back.seq == rulings[-1].seq
    assert tuple(back.state) == (t.quota(8),)
    assert back.pending() == []


def test_many_rulings_are_folded_and_lose_nothing() -> None:
    member, disk, _ = _stored(*[t.keep(1 + n % 7) for n in range(COMPACT_FROM + 20)])
    stored = disk.members["ann@x"]
    assert len(stored.log) < COMPACT_FROM
    assert tuple(stored.restore().state) == tuple(member.state)
    assert stored.seq == member.seq


def test_orders_are_kept_until_they_are_carried_out() -> None:
    _, disk, rulings = _stored()
    member = disk.members["ann@x"].restore()
    record, *orders = member.handle(sent("ann@x", t.keep(3), "bob@x"), now=0)
    assert isinstance(record, RecordRuling)
    assert len(orders) == 1
    disk.write("ann@x", record.ruling, orders, ("bob@x", 1, 0))
    before = disk.members["ann@x"].unfinished
    disk.carried_out("ann@x", 1)
    after = disk.members["ann@x"].unfinished
    assert (before, after) == ((record.ruling, orders, 0), None)
    assert ("bob@x", 1, 0) in disk.members["ann@x"].received
    assert not rulings


def test_what_was_received_is_remembered_up_to_a_limit() -> None:
    member, disk, (ruling,) = _stored("use")
    assert member.seq == 1
    for number in range(RECEIVED_MAX + 5):
        disk.write("ann@x", ruling, (), ("bob@x", number, 0))
        disk.members["ann@x"].log.clear()
    received = disk.members["ann@x"].received
    assert len(received) == RECEIVED_MAX
    assert ("bob@x", RECEIVED_MAX + 4, 0) in received
    assert ("bob@x", 0, 0) not in received
