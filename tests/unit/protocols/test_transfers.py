"""Transfers: every tuple is placed exactly once, whatever is repeated, lost or restarted."""

import random

import pytest

from nomospace.protocols import transfers as room
from nomospace.protocols.transfers import Book, Transfers


def test_numbers_run_without_gaps_for_each_receiver() -> None:
    here = Transfers()
    assert [here.give("b", "x"), here.give("c", "y"), here.give("b", "z")] == [1, 1, 2]
    assert here.pending("b") == [(1, "x"), (2, "z")]
    assert here.pending("c") == [(1, "y")]
    assert here.pending("nobody") == []


def test_taken_forgets_everything_up_to_a_number_and_says_whether_that_is_news() -> None:
    here = Transfers()
    for what in "xyz":
        here.give("b", what)
    assert here.taken("b", 2)
    assert here.pending("b") == [(3, "z")]
    assert not here.taken("b", 2)
    assert not here.taken("nobody", 5)
    assert here.give("b", "w") == 4


def test_a_receiver_places_each_number_in_its_turn_and_once() -> None:
    there = Transfers()
    assert [there.is_next("a", n) for n in (0, 1, 2)] == [False, True, False]
    there.place("a", 1)
    assert [there.is_next("a", n) for n in (1, 2, 3)] == [False, True, False]
    assert (there.got("a"), there.got("b")) == (1, 0)
    with pytest.raises(AssertionError, match="in order"):
        there.place("a", 3)


def test_full_is_said_before_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PENDING_MAX", 2)
    here = Transfers()
    said = []
    for what in "xyz":
        said.append(here.full("b"))
        here.give("b", what)
    assert said == [False, False, True]
    here.taken("b", 2)
    assert not here.full("b")


def test_a_restart_goes_on_where_the_disk_is() -> None:
    disk = Book()
    disk.given("b", 6, "x")
    disk.given("b", 7, "y")
    disk.placed["b"] = 3
    here = Transfers(disk)
    assert here.pending("b") == [(6, "x"), (7, "y")]
    assert here.give("b", "z") == 8
    assert here.is_next("b", 4)


def test_what_it_was_given_to_start_from_is_not_changed() -> None:
    """The disk is the driver's: it changes by what is written down, and by nothing else."""
    disk = Book()
    disk.given("b", 1, "x")
    disk.placed["b"] = 1
    here = Transfers(disk)
    here.give("b", "y")
    here.taken("b", 1)
    here.place("b", 2)
    assert (disk.numbers, disk.waiting, disk.placed) == ({"b": 1}, {"b": {1: "x"}}, {"b": 1})


@pytest.mark.parametrize("seed", range(30))
def test_each_is_placed_once_through_repeats_losses_and_restarts(seed: int) -> None:
    rng = random.Random(seed)
    disk_here, disk_there = Book(), Book()
    here, there = Transfers(), Transfers()
    placed: list[int] = []
    given = 0
    for _ in range(4_000):
        act = rng.random()
        if act < 0.2 and given < 60:
            number = here.give("b", given)
            disk_here.given("b", number, given)
            given += 1
        elif act < 0.6:
            for number, what in here.pending("b")[: rng.randrange(1, 5)]:
                if rng.random() < 0.3:
                    continue  # lost, and what comes after it overtakes
                if there.is_next("a", number):
                    there.place("a", number)
                    placed.append(what)
                    disk_there.placed["a"] = number
        elif act < 0.9:
            if here.taken("b", there.got("a")):
                waiting = disk_here.waiting["b"]
                disk_here.waiting["b"] = {n: w for n, w in waiting.items() if n > there.got("a")}
        elif act < 0.95:
            here = Transfers(disk_here)
        else:
            there = Transfers(disk_there)
    here.taken("b", there.got("a"))
    assert placed == list(range(60))
    assert here.pending("b") == []
