"""How much lies in spaces, since when, and how long what was taken had waited."""

from random import Random

from nomospace.node.metrics import backlog
from nomospace.space import TAKE, Record, Space
from nomospace.space.records import FIRST_ORDER
from nomospace.space.waits import BOUNDS_S, MARKS_MAX, SpaceWaits, WaitTimes
from nomospace.terms.templates import Template

SECOND = 1_000_000


def watched(name: str = "jobs") -> Space:
    space = Space(name)
    space.waits = SpaceWaits(WaitTimes(), began=SECOND)
    return space


def job(number: int) -> Record:
    return Record(("job", number), "ann@a", number, "ann@a", "ann@a")


def age(space: Space, now: int) -> float:
    return backlog([(space, "", True, ())], now)["oldest_seconds"][space.name]


def waited(space: Space) -> dict[float, int]:
    assert space.waits is not None
    counts, _ = space.waits.times.counted()
    return {bound: n for bound, n in zip((*BOUNDS_S, 0.0), counts, strict=True) if n}


def test_the_first_look_knows_how_old_the_oldest_is() -> None:
    jobs = watched()
    assert age(jobs, 9 * SECOND) == 0.0
    jobs.put(job(1), now=4 * SECOND)
    jobs.put(job(2), now=6 * SECOND)
    assert age(jobs, 9 * SECOND) == 5.0
    jobs.remove(jobs.oldest(1)[0])
    assert age(jobs, 9 * SECOND) == 3.0


def test_of_many_that_are_taken_at_once_some_count_for_all() -> None:
    waits = SpaceWaits(WaitTimes(), began=0)
    for place in range(1, 11):
        waits.mark(FIRST_ORDER + place, now=place * SECOND)
    orders = range(FIRST_ORDER + 1, FIRST_ORDER + 11)
    waits.took_many(orders, now=11 * SECOND)  # they waited for 10 s, 9 s, ... 1 s
    counts, total_us = waits.times.counted()
    assert (sum(counts), total_us) == (10, (4 * 10 + 4 * 6 + 2 * 2) * SECOND)
    for order in orders:
        waits.took(order, now=11 * SECOND)
    assert waits.times.counted() == (counts, total_us + 55 * SECOND)
    assert sum(counts) == 20


def test_tuples_are_never_said_to_be_younger_and_hardly_older() -> None:
    """For three days, at every pace; marks stay few."""
    rng, marks, now = Random(7), SpaceWaits(WaitTimes(), began=0), 0
    came: list[int] = []
    for place in range(FIRST_ORDER, FIRST_ORDER + 60_000):
        now += int(10 ** rng.uniform(0, 8.1 if place % 50 else 9.5)) if place % 2_000 > 1_000 else 9
        if now >= marks.next:
            marks.mark(place, now)
        came.append(now)
    assert now > 3 * 86_400 * SECOND
    for place, at in enumerate(came, FIRST_ORDER):
        error = at - marks.since(place)
        assert 0 <= error <= 1_000 + (now - at) / 8
    assert all(len(places) <= MARKS_MAX for places, _ in marks.scales)


def test_waits_are_counted_when_a_tuple_is_first_taken() -> None:
    jobs = watched()
    for number in range(1, 6):
        jobs.put(job(number), now=2 * SECOND)
    one, two, three, *_ = jobs.oldest(3)
    jobs.took(one, 2 * SECOND + 2_000)
    jobs.remove(one)
    assert waited(jobs) == {3e-3: 1}
    jobs.put(job(6), now=3 * SECOND)
    jobs.took(two, 4 * SECOND)
    assert age(jobs, 4 * SECOND) == 2.0, "who looks in between changes nothing"
    jobs.lend(two, "lease", 9 * SECOND)
    jobs.give_back(two.id, "lease", now=5 * SECOND)
    jobs.took(two, 8 * SECOND)  # its second time
    assert waited(jobs) == {3e-3: 1, 3.0: 1}
    jobs.took(three, 90_000 * SECOND)
    assert waited(jobs) == {3e-3: 1, 3.0: 1, 0.0: 1}
    assert jobs.waits is not None
    assert jobs.waits.times.counted()[1] == 2_000 + 2 * SECOND + 89_998 * SECOND


def test_who_waited_for_a_tuple_is_served_at_once() -> None:
    jobs = watched()
    jobs.wait("bob", Template.of(("job", int)), TAKE)
    assert len(jobs.put(job(1), now=5 * SECOND)) == 1
    assert waited(jobs) == {1e-3: 1}
