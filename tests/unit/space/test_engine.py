"""What a space promises, case by case; `tests/models/test_space.py` has the rest."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from nomospace.calls.problems import SpaceFull
from nomospace.calls.ways import ONCE, ONCE_PER_TUPLE
from nomospace.errors import NomospaceError
from nomospace.space import (
    OFFER,
    READ,
    TAKE,
    Fired,
    Outcome,
    Reaction,
    Record,
    SeenIds,
    Space,
    Woken,
    engine as module,
    steps,
)
from nomospace.space.engine import IdTaken
from nomospace.space.outcomes import DeadLetter, Expired, Lapsed, ListenerFailed, Ranaway
from nomospace.space.shelves import Shelf
from nomospace.space.slots import Slots
from nomospace.space.store import NotInSpace, SpaceRecords, TupleTwice
from nomospace.terms import Compound, key_of, obj
from nomospace.terms.features import features_of
from nomospace.terms.templates import ANY, Template

JOB = Template.of(("job", ANY))
counts = iter(range(1, 1_000_000))


def job(what: Any, cur: str = "ann", dest: str = "", **hidden: Any) -> Record:
    return Record(("job", what), "ann", next(counts), cur, dest or cur, **hidden)


@pytest.fixture
def space() -> Space:
    return Space("jobs")


# -- errors ----------------------------------------------------------------------------------


def test_an_id_names_one_tuple(space: Space) -> None:
    first = job(1)
    space.put(first, now=0)
    twin = Record(("other",), *first.id, "bob", "bob")
    with pytest.raises(TupleTwice, match=r"tuple .*#.* is in space 'jobs' already"):
        space.put(twin, now=0)
    space.lend(first, "bob", 10)
    with pytest.raises(TupleTwice):
        space.put(twin, now=0)
    with pytest.raises(TupleTwice):
        space.put_many([job(2), twin], now=0)
    assert len(space) == 1
    assert space.find(Template.of((ANY,))) is None


@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: Compound("at", (n,))])
def test_large_integers_are_found_and_do_not_meet_at_one_place(
    space: Space, wrap: Callable[[int], Any]
) -> None:
    """What an integer of more than 61 bits hashes to can be chosen by who writes it."""
    numbers = [sign * (2**61 - 1) * n for n in range(1, 50) for sign in (1, -1)]
    assert len(set(map(hash, numbers))) == 1
    keys = {key for n in numbers for _, key in features_of((wrap(n),)) if key != ("at", 1)}
    assert len(set(map(hash, keys))) > 90
    near = [2**61 - 2, 2**61 - 1, 2**61, -(2**61) + 2, -(2**61) + 1, 5]
    space.put_many([job(wrap(n)) for n in {*numbers, *near}], now=0)
    for n in {*numbers, *near}:
        found = space.find(Template.of(("job", wrap(n))))
        assert found is not None
        assert found.fields == ("job", wrap(n))
        space.remove(found)
    assert len(space) == 0


def test_several_tuples_come_all_or_none(space: Space) -> None:
    one = job(1)
    with pytest.raises(TupleTwice):
        space.put_many([one, job(2), Record(("x",), *one.id, "ann", "ann")], now=0)
    assert len(space) == 0


def test_every_kind_has_its_limit() -> None:
    space = Space("small", tuples_max=2, waiters_max=1, reactions_max=1)
    space.put_many([job(1), job(2)], now=0)
    space.lend(space.held_by("ann")[0], "bob", 5)
    space.wait(1, Template.of((1,)), TAKE)
    space.react(Reaction(1, Template.of((1,))), now=0)
    with pytest.raises(SpaceFull, match="holds 2 tuples"):
        space.put(job(3), now=0)
    with pytest.raises(SpaceFull):
        space.put_many([job(3)], now=0)
    with pytest.raises(SpaceFull, match="1 waiters"):
        space.wait(2, JOB, TAKE)
    with pytest.raises(SpaceFull, match="1 reactions"):
        space.react(Reaction(2, JOB), now=0)


def test_what_is_not_there_is_said(space: Space) -> None:
    gone, elsewhere = job(1), job(2)
    space.put(gone, now=0)
    space.remove(gone)
    Space("other").put(elsewhere, now=0)
    for record in (gone, elsewhere, job(3)):
        with pytest.raises(NotInSpace, match="look it up first"):
            space.remove(record)
        with pytest.raises(NotInSpace):
            space.relocate(record, "bob", now=0)
        with pytest.raises(NotInSpace):
            space.lend(record, "bob", 5)
    for call in (space.rearm, space.disarm, space.disable):
        with pytest.raises(NotInSpace):
            call("nobody")
    with pytest.raises(NotInSpace):
        space.enable("nobody", now=0)


def test_names_are_given_once(space: Space) -> None:
    space.wait("t", JOB, READ)
    space.react(Reaction("r", JOB), now=0)
    with pytest.raises(IdTaken):
        space.wait("t", JOB, TAKE)
    with pytest.raises(IdTaken):
        space.react(Reaction("r", JOB), now=0)


@pytest.mark.parametrize(
    "error",
    [
        SpaceFull(space="s", what="tuples", limit=3),
        NotInSpace(space="s", what="tuple 1 of 'ann'"),
        IdTaken(space="s", what="ticket 1"),
        TupleTwice(writer="ann", count=1, space="s"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes(error: NomospaceError) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# -- waiters ---------------------------------------------------------------------------------


def test_reads_first_then_the_first_take_and_offers_only_of_what_stays(space: Space) -> None:
    for ticket, how in enumerate((OFFER, TAKE, READ, TAKE, READ)):
        space.wait(ticket, JOB, how)
    one, two, three = job(1), job(2), job(3)
    assert space.put(one, now=0) == [Woken(2, one), Woken(4, one), Woken(1, one)]
    assert space.put(two, now=0) == [Woken(3, two)]
    assert space.put(three, now=0) == [Woken(0, three)]
    assert space.put(job(4), now=0) == [], "the offer sleeps"
    assert len(space) == 2


def test_a_waiter_that_slept_has_its_old_turn(space: Space) -> None:
    for ticket in range(3):
        space.wait(ticket, JOB, TAKE)
    space.disarm(0)
    space.disarm(0)
    one, two = job(1), job(2)
    assert space.put(one, now=0) == [Woken(1, one)]
    space.rearm(0)
    assert space.put(two, now=0) == [Woken(0, two)]
    assert space.cancel(2) is True
    assert space.cancel(2) is False


# -- reactions -------------------------------------------------------------------------------


def test_a_listener_joins_the_step_and_waiters_come_after(space: Space) -> None:
    story: list[object] = []

    def listen(_reaction: Reaction, record: Record) -> None:
        number: Any = record.fields[1]
        story.append(number)
        if number < 3:
            assert space.put(job(number + 1), now=0) == []
            assert space.find(Template.of(("job", number + 1))) is not None
        else:
            space.remove(record)

    space.wait("w", Template.of(("job", 3)), READ)
    space.wait("v", Template.of(("job", 2)), READ)
    space.react(Reaction("r", JOB, ONCE_PER_TUPLE, listener=listen), now=0)
    told = space.put(job(1), now=0)
    assert story == [1, 2, 3]
    assert [one.ticket for one in told if isinstance(one, Woken)] == ["v"]


def test_a_listener_that_raises_is_told_and_the_step_goes_on(space: Space) -> None:
    error = ValueError("no")

    def raises(_reaction: Reaction, _record: Record) -> None:
        raise error

    bad = Reaction("bad", JOB, ONCE_PER_TUPLE, listener=raises)
    good = Reaction("good", JOB, ONCE_PER_TUPLE)
    space.react(bad, now=0)
    space.react(good, now=0)
    space.wait("w", JOB, TAKE)
    one = job(1)
    assert space.put(one, now=0) == [
        ListenerFailed(bad, one, error),
        Fired(good, one),
        Woken("w", one),
    ]
    assert one.id in bad.seen


def test_once_is_gone_after_it_fired(space: Space) -> None:
    once = Reaction("r", JOB, ONCE)
    one, two = job(1), job(2)
    space.react(once, now=0)
    assert space.put_many([one, two], now=0) == [Fired(once, one)]
    assert space.reactions() == []
    assert space.react(once, now=0) == [Fired(once, one)], "registered anew, it is new"


def test_enabling_forgets_and_a_move_does_not(space: Space) -> None:
    reaction = Reaction("r", JOB, ONCE_PER_TUPLE, at="bob")
    record = job(1, dest="bob")
    space.react(reaction, now=0)
    assert space.put(record, now=0) == []
    assert space.relocate(record, "bob", now=0) == [Fired(reaction, record)]
    assert space.relocate(record, "ann", now=0) == []
    assert space.relocate(record, "bob", now=0) == []
    assert space.enable("r", now=0) == []
    space.disable("r")
    assert space.put(job(2, cur="bob"), now=0) == []
    assert [type(one) for one in space.enable("r", now=0)] == [Fired, Fired]


def test_a_reaction_brings_what_it_has_seen(space: Space) -> None:
    one, two = job(1), job(2)
    space.put_many([one, two], now=0)
    reaction = Reaction("r", JOB, ONCE_PER_TUPLE, seen=SeenIds({"ann": [(one.count, one.count)]}))
    assert space.react(reaction, now=0) == [Fired(reaction, two)]


def test_one_that_keeps_itself_firing_is_stopped_and_named(space: Space) -> None:
    def loop(_reaction: Reaction, _record: Record) -> None:
        space.put(job("again"), now=0)

    runaway = Reaction("r", JOB, ONCE_PER_TUPLE, listener=loop)
    calm = Reaction("calm", Template.of(("job", "once")), ONCE_PER_TUPLE)
    space.react(runaway, now=0)
    space.react(calm, now=0)
    space.wait("w", Template.of(("job", "once")), TAKE)
    first = job("once")
    told = space.put(first, now=0)
    assert told == [
        Fired(calm, first),
        Ranaway(runaway, steps.FIRINGS_MAX + 1),
        Woken("w", first),
    ]
    assert (runaway.enabled, calm.enabled) == (False, True)
    assert space.put(job("more"), now=0) == []


def test_listeners_that_breed_reactions_are_stopped_too(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "FIRINGS_MAX", 20)
    ids = iter(range(1_000_000))

    def breed(_reaction: Reaction, _record: Record) -> None:
        space.react(Reaction(next(ids), JOB, ONCE, listener=breed), now=0)

    space.put(job(1), now=0)
    told = space.react(Reaction("first", JOB, ONCE, listener=breed), now=0)
    assert [type(one) for one in told] == [Ranaway] * steps.RUNAWAYS_MAX
    later: list[Outcome] = space.put(Record(("quiet",), "bob", 1, "bob", "bob"), now=0)
    assert later == []


def test_many_tuples_at_once_are_no_runaway(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "FIRINGS_MAX", 20)
    met: list[Record] = []
    listen = Reaction("r", JOB, ONCE_PER_TUPLE, listener=lambda _, record: met.append(record))
    space.react(listen, now=0)
    assert space.put_many([job(i) for i in range(100)], now=0) == []
    assert len(met) == 100


def test_an_interrupted_step_is_finished_by_the_next(space: Space) -> None:
    def interrupt(_reaction: Reaction, _record: Record) -> None:
        raise KeyboardInterrupt

    space.react(Reaction("r", JOB, ONCE, listener=interrupt), now=0)
    space.wait("w", JOB, TAKE)
    one = job(1)
    with pytest.raises(KeyboardInterrupt):
        space.put(one, now=0)
    assert space.put(Record(("quiet",), "bob", 1, "bob", "bob"), now=0) == [Woken("w", one)]


# -- leases and expiry -----------------------------------------------------------------------


def test_a_lent_tuple_is_not_found_and_counts(space: Space) -> None:
    one, two = job(1), job(2)
    space.put_many([one, two], now=0)
    space.lend(one, "bob", 50)
    assert space.find(JOB) is two
    assert space.get(one.id) is None
    assert space.held_by("ann") == [two]
    assert (len(space), one.deliveries, space.next_deadline()) == (2, 1, 50)
    assert space.settle(one.id, "cyd") is None
    assert space.give_back(one.id, "cyd", now=1) == []
    space.wait("w", JOB, TAKE)
    assert space.lapse(now=49) == []
    assert space.lapse(now=50) == [Lapsed(one, "bob"), Woken("w", one)]
    assert space.settle(one.id, "bob") is None


def test_what_comes_back_has_its_old_place(space: Space) -> None:
    one, two = job(1), job(2)
    space.put_many([one, two], now=0)
    space.lend(one, "bob", 50)
    assert space.give_back(one.id, "bob", now=1) == []
    assert space.find_all(JOB) == [one, two]
    assert space.find_all(Template.of((ANY, ANY))) == [one, two]
    space.lend(one, "bob", 60)
    assert space.settle(one.id, "bob") is one
    assert (one.deliveries, len(space)) == (2, 1)


def test_a_tuple_lent_too_often_is_a_dead_letter() -> None:
    space, one = Space("jobs", deliveries_max=2), job(1)
    space.put(one, now=0)
    space.lend(one, "bob", 5)
    assert space.give_back(one.id, "bob", now=1) == []
    space.lend(one, "bob", 5)
    assert space.lapse(now=5) == [Lapsed(one, "bob"), DeadLetter(one)]
    assert len(space) == 0


def test_an_expired_tuple_is_not_found_before_it_is_swept_out(space: Space) -> None:
    one = job(1, expires=10)
    space.put(one, now=0)
    space.wait("w", Template.of(("job", 2)), TAKE)
    assert space.find(JOB, now=9) is one
    assert space.find(JOB, now=10) is None
    assert space.find_all(JOB, now=10) == []
    assert space.put(job(2, expires=10), now=10) == [], "it serves no one"
    assert [type(told) for told in space.lapse(now=10)] == [Expired, Expired]
    assert (len(space), space.next_deadline()) == (0, None)


def test_a_lease_holds_an_expiry_back(space: Space) -> None:
    one = job(1, expires=10)
    space.put(one, now=0)
    space.lend(one, "bob", 50)
    assert space.lapse(now=20) == []
    assert space.give_back(one.id, "bob", now=20) == [Expired(one)]


def test_one_lapse_does_only_so_much(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAPSES_MAX", 3)
    space.put_many([job(i, expires=5) for i in range(4)], now=0)
    assert len(space.lapse(now=9)) == 3
    assert space.next_deadline() == 5
    assert len(space.lapse(now=9)) == 1


# -- memory ----------------------------------------------------------------------------------


def test_what_is_written_and_taken_leaves_nothing_behind(space: Space) -> None:
    def sizes() -> int:
        store = space._store
        assert isinstance(store, SpaceRecords)
        return (
            len(store.shelves)
            + len(store._ids)
            + len(space._steps._agenda)
            + len(space._steps._fresh)
        )

    for i in range(3_000):
        space.put(job(i), now=0)
    for record in space.find_all(JOB):
        space.remove(record)
    assert (len(space), sizes()) == (0, 0)


def test_young_tuples_do_not_pile_up_for_the_collector(space: Space) -> None:
    gc.disable()
    try:
        before = len(gc.get_objects())
        for i in range(3 * module.YOUNG_MASK):
            space.put(job(i), now=0)
        assert len(gc.get_objects()) - before < 2 * module.YOUNG_MASK
    finally:
        gc.enable()


def test_ids_that_hash_alike_are_kept_by_their_bytes() -> None:
    """Python gives all these terms one hash; of such keys an index would make a list."""
    prime = (1 << 61) - 1
    ids = [Compound("id", (prime * n,)) for n in range(2, 40)]
    assert len({hash(one) for one in ids}) == 1
    assert len({hash(key_of(one)) for one in ids}) == len(ids)
    space = Space("s")
    for count, one in enumerate(ids, 1):
        space.put(Record((obj("Car", one),), "ann", count, "ann", "ann"), now=1)
    for count, one in enumerate(ids, 1):
        found = space.find(Template.of([obj("Car", one)]), now=1)
        assert found is not None
        assert found.count == count
    assert space.find(Template.of([obj("Car", Compound("id", (1,)))]), now=1) is None


def test_a_space_is_freed_with_its_last_user() -> None:
    """The collector looks for circles seldom: what is in one would stay for as long as a host."""
    gc.disable()
    try:
        before = _parts()
        space = Space("jobs")
        space.put(job(1), now=0)
        space.put(job(obj("Car", "c1")), now=0)
        space.wait("w", Template.of(("other", ANY)), TAKE)
        space.react(Reaction("r", JOB, ONCE_PER_TUPLE), now=0)
        space.find(JOB, now=0)
        assert _parts() > before
        del space
        assert _parts() == before
    finally:
        gc.enable()


def _parts() -> int:
    """How many spaces, and parts of them, are in memory.

    By their classes: to ask an object raises where it is a proxy of one that is gone.
    """
    kinds = (Space, SpaceRecords, Shelf, Slots)
    return sum(issubclass(type(one), kinds) for one in gc.get_objects())
