import gc
from random import Random

import pytest

from nomospace.space import Record, slots as module
from nomospace.space.records import FIRST_ORDER
from nomospace.space.shelves import Shelf
from nomospace.space.slots import Few, Many, Slots, size_of


def record(order: int) -> Record:
    return Record(("x",), "ann", order, "ann", "ann", order=order)


@pytest.mark.parametrize("seed", range(4))
def test_a_key_leads_to_its_things_oldest_first(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in {"FEW_MAX": 4, "CHUNK_MAX": 8, "CHUNK_MIN": 2, "FEW_AGAIN": 2}.items():
        monkeypatch.setattr(module, name, limit)
    monkeypatch.setattr(module, "SHARD_FROM", 3)
    monkeypatch.setattr(module, "SWEEP_AFTER", 4)
    rng, alive, away = Random(seed), dict[int, Record](), dict[int, str]()
    slots: Slots[Record] = Slots(alive.get)
    keys: dict[int, str] = {}
    most = 0
    for order in range(1, 1_500):
        alive[order] = record(order)
        keys[order] = rng.choice("aaaaaaaaaabcdefgh")
        slots.add(keys[order], alive[order])
        if away and rng.random() < 0.3:  # one that was away comes back to its place
            back = rng.choice(list(away))
            alive[back] = record(back)
            keys[back] = away.pop(back)
            slots.add(keys[back], alive[back])
        while len(alive) > (80 if order % 400 < 200 else 3):
            gone = rng.choice(list(alive))
            thing, key = alive[gone], keys.pop(gone)
            if rng.random() < 0.5:
                slots.drop(key, thing)
                del alive[gone]
            else:
                del alive[gone]
                slots.leave(key, thing)
            if rng.random() < 0.3:
                away[gone] = key
        for key in "abcz":
            expected = sorted(one for one in alive if keys[one] == key)
            assert [thing.order for thing in slots.of(key)] == expected
            assert size_of(slots.get(key)) == len(expected)
        most = max(most, size_of(slots.get("a")))
    assert set(slots) == set(keys.values())
    assert most > 4 * module.CHUNK_MAX


def test_what_is_left_behind_is_swept_out() -> None:
    alive = {order: record(order) for order in range(1, 20_001)}
    slots: Slots[Record] = Slots(alive.get)
    for thing in alive.values():
        slots.add("k", thing)
    rng = Random(1)
    for order in rng.sample(range(1, 20_001), 18_000):
        slots.leave("k", alive.pop(order))
    slot = slots.get("k")
    assert isinstance(slot, Many)
    assert slot.size == 2_000
    assert sum(map(len, slot.full)) + len(slot.last) == slot.size + slot.dead
    assert slot.dead < 2_000


@pytest.mark.parametrize("step", [1, 3, 50], ids=["dense", "loose", "far"])
def test_those_that_are_gone_are_found_however_far_numbers_lie_apart(step: int) -> None:
    rng, shelf = Random(step), Shelf(1)
    orders = range(FIRST_ORDER + 7, FIRST_ORDER + 7 + 1_500 * step, step)
    lying = [record(order) for order in orders]
    for one in lying:
        shelf.add(one)
    rng.shuffle(lying)
    while len(lying) > 40:
        shelf.drop(lying.pop())
        left = sorted(one.order for one in lying)
        if len(left) % 50 == 0:
            assert [one.order for one in shelf.held.of("ann")] == left
            assert [one.order for one in shelf.columns[0].of("x")] == left


def test_taking_the_oldest_over_and_over_does_not_walk_over_those_that_are_gone() -> None:
    alive = {order: record(order) for order in range(1, 3_001)}
    looked = 0

    def resolve(order: int) -> Record | None:
        nonlocal looked
        looked += 1
        return alive.get(order)

    slots: Slots[Record] = Slots(resolve)
    for thing in alive.values():
        slots.add("k", thing)
    for expected in range(1, 2_001):
        oldest = next(iter(slots.of("k")))
        assert oldest.order == expected
        slots.leave("k", alive.pop(oldest.order))
    assert looked < 40 * 2_000


def test_the_collector_knows_no_shard() -> None:
    alive: dict[int, Record] = {}
    slots: Slots[Record] = Slots(alive.get)
    for order in range(1, 40_000):
        alive[order] = record(order)
        slots.add(order if order % 5 else order // 9 if order < 20_000 else "many", alive[order])
    kinds = {type(slot) for shard in slots.shards for slot in shard.values()}
    assert kinds == {Few, Many, Record}
    assert len(slots.shards) == module.SHARDS
    assert not any(gc.is_tracked(shard) for shard in slots.shards)
