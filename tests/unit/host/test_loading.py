"""A host that begins before its tuples are all there: what it is asked waits for them."""

from typing import Any

from nomospace.calls.requests import READ_ALL, TAKE_NOWAIT, Open, Out, Seek
from nomospace.host.calls import Arrive, Call, Loaded, Tick
from nomospace.host.changes import Change, Durable, TuplePut
from nomospace.host.core import Host
from nomospace.host.effects import Answer, Persist
from nomospace.terms.templates import Template

JOB = Template.of(("job", int))


def earlier_life(count: int) -> tuple[Durable, tuple[TuplePut, ...]]:
    """What a life with some tuples has kept: all but the tuples, and the tuples."""
    host, disk = Host("a", life=1, now=0), Durable()
    events: list[Any] = [Arrive("ann@a"), Call(1, "ann@a", Open("jobs"))]
    events += [Call(2 + n, "ann@a", Out("jobs", ("job", n))) for n in range(count)]
    kept: list[Change] = []
    for event in events:
        for effect in host.handle(event, now=0):
            if isinstance(effect, Persist):
                kept += effect.changes
    for change in kept:
        if not isinstance(change, TuplePut):
            disk.apply(change)
    return disk, tuple([change for change in kept if isinstance(change, TuplePut)])


def answers(host: Host, event: Any) -> list[Any]:
    effects = host.handle(event, now=10)
    return [effect.value for effect in effects if isinstance(effect, Answer)]


def test_calls_wait_for_the_last_tuple_and_keep_their_order() -> None:
    disk, rows = earlier_life(5)
    host = Host("a", life=2, now=10, durable=disk, loading=True)
    assert host.next_deadline() is None
    assert answers(host, Call(1, "ann@a", Seek("jobs", READ_ALL, JOB))) == []
    assert answers(host, Loaded(rows[:3], last=False)) == []
    assert answers(host, Call(2, "ann@a", Out("jobs", ("job", 9)))) == []
    assert answers(host, Tick()) == []
    [found, _] = answers(host, Loaded(rows[3:], last=True))
    assert [one.fields[1] for one in found] == [0, 1, 2, 3, 4]
    assert host.next_deadline() is not None
    [again] = answers(host, Call(3, "ann@a", Seek("jobs", READ_ALL, JOB)))
    assert [one.fields[1] for one in again] == [0, 1, 2, 3, 4, 9]


def test_what_was_loaded_is_taken_off_the_disk_when_it_is_taken() -> None:
    disk, rows = earlier_life(1)
    disk.apply(rows[0])
    host = Host("a", life=2, now=10, durable=earlier_life(0)[0], loading=True)
    host.handle(Loaded(rows, last=True), now=10)
    [persist, _] = [
        effect
        for effect in host.handle(Call(1, "ann@a", Seek("jobs", TAKE_NOWAIT, JOB)), now=10)
        if isinstance(effect, Persist | Answer)
    ]
    assert isinstance(persist, Persist)
    for change in persist.changes:
        disk.apply(change)
    assert disk.tuples["jobs"] == {}
