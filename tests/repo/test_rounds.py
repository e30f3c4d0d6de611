"""Tests are handed out to processes in an order that keeps both busy until the end."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.rounds import put_long_first


class Item:
    """As much of a test as its place in the order depends on."""

    def __init__(self, nodeid: str, *, slow: bool = False) -> None:
        self.nodeid = nodeid
        self.slow = slow

    def get_closest_marker(self, name: str) -> object:
        return self.slow if name == "slow" else None


def test_what_takes_long_goes_first_and_files_stay_whole() -> None:
    given: list[Any] = [
        Item("tests/a.py::one"),
        Item("tests/browser/b.py::one"),
        Item("tests/c.py::one"),
        Item("tests/c.py::two", slow=True),
        Item("tests/spark/d.py::one", slow=True),
        Item("tests/e.py::one"),
        Item("tests/spark/d.py::two"),
    ]
    put_long_first(cast("list[pytest.Item]", given))
    assert [item.nodeid.removeprefix("tests/") for item in given] == [
        "spark/d.py::one",
        "spark/d.py::two",
        "browser/b.py::one",
        "c.py::one",
        "c.py::two",
        "a.py::one",
        "e.py::one",
    ]
