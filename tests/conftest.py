"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import weakref
from asyncio import selector_events
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from tests.compiling import compile_all
from tests.rounds import Manners, put_long_first, whole

# Machines are shared: that an input took long to be made or tried says nothing about the test.
settings.register_profile("long", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Nor is a run to fail by an input that the last one did not try: new ones are for who looks for
# them, with --hypothesis-profile=long.
settings.register_profile("shared", settings.get_profile("long"), max_examples=50, derandomize=True)
settings.load_profile("shared")


OBJECTS_PER_LOOK = 20_000
"""So many objects are made, beyond those that have gone, before rubbish is looked for again."""
_state = pytest.StashKey[str]()


class Doctests:
    """Looks for doctests only in files that have any; three in four have none.

    Hooks of this file hear of files below its folder only, those of a plugin of all.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        if file_path.suffix != ".py" or b">>>" in file_path.read_bytes():
            return found
        return [one for one in found if not isinstance(one, DoctestModule)]


class Leftovers:
    """Ends what a test left open on a loop that is closed, and names the test.

    Python complains of an open connection when it finds it with the rubbish. By then another test
    runs, and would fail for it.
    """

    def __init__(self) -> None:
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        transport: Any = selector_events._SelectorTransport  # type: ignore[attr-defined]
        begin = transport.__init__

        def noted(made: Any, *arguments: Any, **named: Any) -> None:
            begin(made, *arguments, **named)
            self._made.add(made)

        transport.__init__ = noted

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        try:
            yield
        finally:
            left = [one for one in self._made if one._sock is not None and one._loop.is_closed()]
            self._made.difference_update(left)
            for one in left:
                said = f"\n{item.nodeid} left open: {one!r}\n"
                one._sock.close()
                one._sock = None
                capture: Any = item.config.pluginmanager.getplugin("capturemanager")
                with capture.global_and_fixture_disabled():
                    os.write(2, said.encode())


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C: a shell's background jobs do not, nor would any process that tests start.

    And keep the tokens of hosts out of the user's own folder.
    """
    if not hasattr(config, "workerinput"):  # processes of xdist have it from their parent
        os.environ["XDG_STATE_HOME"] = config.stash[_state] = tempfile.mkdtemp()
    config.pluginmanager.register(Doctests())
    config.pluginmanager.register(Leftovers())
    if config.getoption("processes", 1) > 1:
        config.pluginmanager.register(Manners())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Look for no rubbish in modules and tests: all stay to the end. Later look for it seldom."""
    gc.disable()
    try:
        if session.config.getoption("processes", 1) > 1:
            compile_all(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(OBJECTS_PER_LOOK)
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no tokens behind, and no module: what it holds is told to end with the process."""
    gc.unfreeze()
    shutil.rmtree(config.stash.get(_state, ""), ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_kept_together(nodeid: str) -> str:
    """Keep more than files together, where files are kept together at all."""
    return whole(nodeid)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One process alone keeps the order of the files: there is nobody to wait for."""
    if config.getoption("processes", 1) > 1:
        put_long_first(items)
