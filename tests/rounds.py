"""Who of several test processes runs what, and in which order.

A file's tests stay together, since they share what the file starts, and all of `spark/` and of
`browser/` are as one file: one process has Java, one has Chromium. These go first, then files with
a test marked `slow`, then the others, so that nothing long begins when the other process is about
to end. Whatever is not of these folders stands back: they are the longest, and nobody can help.
"""

from __future__ import annotations

import os
from typing import Final

import pytest

STANDS_BACK: Final = 5
"""How much nicer than the folders `TOGETHER` all other tests are, where several processes run."""
TOGETHER: Final = ("tests/spark/", "tests/browser/")
"""Folders whose tests are all run by one process, which come first."""


def whole(nodeid: str) -> str:
    """What a test is handed out with: its file, or a folder.

    >>> whole("tests/unit/terms/test_text.py::test_a"), whole("tests/spark/test_match.py::test_b")
    ('tests/unit/terms/test_text.py', 'tests/spark/')
    """
    return next((f for f in TOGETHER if nodeid.startswith(f)), nodeid.partition("::")[0])


def put_long_first(items: list[pytest.Item]) -> None:
    """Sort tests: folders that stay `TOGETHER`, files with a slow test, the others as they were."""
    slow = dict.fromkeys(whole(item.nodeid) for item in items if item.get_closest_marker("slow"))
    ranks = {name: rank for rank, name in enumerate(TOGETHER)}
    long = dict.fromkeys(slow, len(TOGETHER)) | ranks
    items.sort(key=lambda item: long.get(whole(item.nodeid), len(TOGETHER) + 1))


class Manners:
    """Has a test process stand back when its first test is none of the long folders'."""

    def __init__(self) -> None:
        self._pid = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Once in each process."""
        if os.getpid() != self._pid and whole(item.nodeid) not in TOGETHER:
            self._pid = os.getpid()
            os.nice(STANDS_BACK)
