"""What holds for all tests: how long making an input may take, and who runs what, in which order.

`./nomospace test` has two processes. A file's tests stay together, since they share what the file
starts, and all of `spark/` and of `browser/` are as one file: one process has Java, one Chromium.
These go first, then files with a test marked `slow`, then the others, so that what takes long
does not begin when the other process is about to end.
"""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Machines are shared: that making an input took long says nothing about the test.
settings.register_profile("shared", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

TOGETHER: Final = ("tests/spark/", "tests/browser/")
"""Folders whose tests are all run by one process, which come first."""


class Rounds(LoadScopeScheduling):  # type: ignore[misc]
    """Hands tests out file by file, with folders that stay `TOGETHER` as one file."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), _file(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Rounds | None:
    """Hand tests out so where files are kept together at all."""
    return Rounds(config) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let what takes long begin first; one process alone keeps the order of the files."""
    if not hasattr(config, "workerinput"):
        return
    slow = {_file(item.nodeid) for item in items if item.get_closest_marker("slow")}

    def rank(item: pytest.Item) -> int:
        for place, folder in enumerate(TOGETHER):
            if item.nodeid.startswith(folder):
                return place
        return len(TOGETHER) + (_file(item.nodeid) not in slow)

    items.sort(key=rank)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
