"""The rows of `bench space` about a store: what they measure is what they say."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from nomospace_lab.bench import BenchRun
from nomospace_lab.bench.run import BadStored
from nomospace_lab.bench.suites.space_stored import (
    GROUP,
    HandWritten,
    StoredPairs,
    by_hand,
    fill,
    key_of,
)

MANY = 500


def test_both_write_and_take_the_same_again_and_again(tmp_path: Path) -> None:
    file = tmp_path / "ward.db"
    fill(file, MANY)
    pairs = [(key_of(MANY + n), key_of(2 * n)) for n in range(GROUP)]
    for some in (pairs[: GROUP // 2], pairs[GROUP // 2 :]):
        for one in (StoredPairs(file), HandWritten(file)):
            one.group(one.ready(some))
            one.close()
    base = sqlite3.connect(file)
    base.execute("ATTACH ? AS hand", (str(by_hand(file)),))
    left = [key_of(n) for n in range(MANY + GROUP) if n % 2 or n >= 2 * GROUP]
    assert [key for (key,) in base.execute("SELECT key FROM jobs ORDER BY id")] == left
    found = [body for (body,) in base.execute("SELECT body FROM stored ORDER BY n")]
    assert len(found) == len(left)
    assert all(key.encode() in body for key, body in zip(left, found, strict=True))
    base.close()


def test_too_few_tuples_are_refused() -> None:
    with pytest.raises(BadStored, match="20,000 or more"):
        BenchRun(stored=5)
