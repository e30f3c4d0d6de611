"""The last records of a journal, whatever their size: read in few lots, and never many bytes."""

from __future__ import annotations

from itertools import pairwise
from sys import maxsize

import pytest

from nomospace.store.interface import JournalEntry, Step, newest
from nomospace.store.memory import MemoryStore


class Counting(MemoryStore):
    """A store that tells how many bytes each reading brought."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.begin()
        self.commit([Step(records=tuple([bytes(size) for size in sizes]))], at=1)
        self.brought: list[int] = []

    def journal(self, after: int, limit: int, bytes_max: int = maxsize) -> list[JournalEntry]:
        found = super().journal(after, limit, bytes_max)
        self.brought.append(sum([len(one.record) for one in found]))
        return found


@pytest.mark.parametrize(
    ("sizes", "count", "lots"),
    [
        ([10] * 1_000, 1_000, 5),  # small ones: all that were asked for
        ([5_000] * 1_000, 16, 2),  # about so many have the bytes
        ([10] * 900 + [1_000_000] * 100, 1, 2),  # one at least
        ([1_000_000] * 900 + [10] * 100, 80, 3),  # what is behind small ones may be large
        ([10] * 3, 3, 1),
        ([], 0, 1),
    ],
)
def test_the_last_records_up_to_a_number_of_bytes(sizes: list[int], count: int, lots: int) -> None:
    store = Counting(sizes)
    found = newest(store, len(sizes), 1_000, 100_000)
    assert len(found) == count
    assert [one.seq for one in found] == list(range(len(sizes) - count + 1, len(sizes) + 1))
    assert len(store.brought) <= lots
    assert max(store.brought) < 100_000 + 1_000_000


def test_the_last_records_before_one() -> None:
    store = Counting([10] * 100)
    found = newest(store, 50, 20, 1_000)
    assert [one.seq for one in found] == list(range(31, 51))
    assert all(one.seq < other.seq for one, other in pairwise(found))
