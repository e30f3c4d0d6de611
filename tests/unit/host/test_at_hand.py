"""What is at hand may be read and taken without a step, and is what a call would have given."""

from typing import Any

import pytest

from nomospace.host import Answer, Arrive, Call, Host, Open, Out, Persist, Seek, Share, Template
from nomospace.host.calls import READ, TAKE, Adopt, Disengage, Loaded
from nomospace.host.changes import TupleGone
from nomospace.law import load
from nomospace.space import SpaceFull
from nomospace.terms.templates import ANY

JOB = Template.of(("job", ANY))
LAW = load("law(open). R1. sent(_,_,_) :- do(forward). R2. arrived(_,_,_) :- do(deliver).")


def told(host: Host, request: Any, op: int = 1) -> list[Any]:
    effects = host.handle(Call(op, "ann@a", request), now=5)
    return [effect.value for effect in effects if isinstance(effect, Answer)]


def host(*, durable: bool = False, shared: bool = True, **options: Any) -> Host:
    made = Host("a", life=1, now=0, **options)
    made.handle(Arrive("ann@a"), now=0)
    told(made, Open("jobs", durable=durable))
    if shared:
        told(made, Share(("jobs",)))
    for number in range(3):
        told(made, Out("jobs", ("job", number)))
    return made


@pytest.mark.parametrize("how", [TAKE, READ])
def test_it_gives_what_a_call_would(how: str) -> None:
    short, long = host(), host()
    for _ in range(3):
        hand = short.at_hand("ann@a", "jobs")
        assert hand is not None
        record = hand.space.find(JOB, now=5)
        [found] = told(long, Seek("jobs", how, JOB))
        assert record is not None
        assert not record.kept
        assert (record.fields, record.writer, record.count) == (
            found.fields,
            found.writer,
            found.count,
        )
        if how == TAKE:
            assert hand.take(record) is None
    left = [one.fields for one in told(short, Seek("jobs", "read_all", JOB))[0]]
    assert left == [one.fields for one in told(long, Seek("jobs", "read_all", JOB))[0]]


def test_what_is_on_disk_is_marked() -> None:
    made = host()
    made.handle(Arrive("bob@a"), now=0)
    for request in (Open("jobs", durable=True), Share(("jobs",)), Out("jobs", ("job", 9))):
        made.handle(Call(1, "bob@a", request), now=5)
    hand = made.at_hand("ann@a", "jobs")
    assert hand is not None
    kept = [record for record in hand.space.find_all(JOB, now=5) if record.kept]
    assert [record.fields for record in kept] == [("job", 9)]
    assert hand.take(kept[0]) == TupleGone("jobs", ("bob@a", 1))


def test_it_writes_what_a_call_would() -> None:
    short, long = host(durable=True), host(durable=True)
    hand = short.at_hand("ann@a", "jobs")
    assert hand is not None
    written = hand.write(("job", 9))
    effects = long.handle(Call(2, "ann@a", Out("jobs", ("job", 9))), now=5)
    assert written is not None
    assert effects == [Persist((written[1],)), Answer(2)]
    everything = Seek("jobs", "read_all", JOB)
    assert told(short, everything) == told(long, everything)
    told(short, Out("jobs", ("job", 10)))
    told(long, Out("jobs", ("job", 10)))
    assert told(short, everything) == told(long, everything)


def test_nothing_is_written_past_one_who_waits() -> None:
    made = host()
    assert told(made, Seek("jobs", TAKE, Template.of(("other", ANY))), op=7) == []
    hand = made.at_hand("ann@a", "jobs")
    assert hand is not None
    assert hand.write(("other", 1)) is None
    assert [one.fields for one in told(made, Out("jobs", ("other", 1)))[:1]] == [("other", 1)]


def test_a_space_that_is_full_has_taken_nothing() -> None:
    made = host()
    hand = made.at_hand("ann@a", "jobs")
    assert hand is not None
    hand.space.tuples_max = 3
    with pytest.raises(SpaceFull):
        hand.write(("job", 9))
    hand.space.tuples_max = 4
    written = hand.write(("job", 9))
    assert written is not None
    assert written[0].count == 4


@pytest.mark.parametrize(
    ("made", "agent", "name"),
    [
        (host(shared=False), "ann@a", "jobs"),  # waiting there is an error
        (host(), "ann@a", "notes"),
        (host(), "ann@a", "LimeSystem"),
        (host(), "bob@a", "jobs"),
    ],
)
def test_all_else_takes_the_long_way(made: Host, agent: str, name: str) -> None:
    assert made.at_hand(agent, name) is None


def test_a_governed_space_is_not_at_hand() -> None:
    made = Host("a", life=1, now=0)
    made.handle(Arrive("ann@a"), now=0)
    told(made, Adopt(LAW))
    told(made, Open("jobs", LAW, durable=False))
    told(made, Share(("jobs",)))
    told(made, Out("jobs", ("job", 1)))
    assert made.at_hand("ann@a", "jobs") is None


def test_nothing_is_at_hand_while_the_host_loads() -> None:
    made = Host("a", life=1, now=0, loading=True)
    made.handle(Arrive("ann@a"), now=0)
    assert made.at_hand("ann@a", "jobs") is None
    made.handle(Loaded((), last=True), now=0)
    made.handle(Disengage(), now=0)
    assert made.agents == ("ann@a",)
