"""One Java for all Spark tests of a process, with one session at a time, on whichever master.

A test asks for a fixture and has a session: `spark` on this machine, `on_cluster` on a master and
two workers (`cluster`), which are started once. `no_session` is for a test that has one made.
Stopping a session and starting another takes a second where a Java takes ten, and tests of one
master stand together, so that it is done seldom.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from nomospace.pipeline.jobs import session
from nomospace.pipeline.jobs.session import open_session
from tests.spark.cluster import QUICK_TO_START, Cluster, standalone
from tests.unit.pipeline.made import Journals

_TURNS: Final = ("no_session", "on_cluster")
"""Tests with these come after those with `spark`, in this order."""

ANSWER_S: Final = 300.0
"""How long a cluster may take for its first task: its workers start Java, where much else runs."""
FOR_FEW_ROWS: Final = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Spark walks its plans: to write Java for each stage and to compile it takes longer than all rows
that tests have. On the cluster it compiles, as it does by itself.
"""


class Sessions:
    """The session that there is: Spark has one to a process."""

    def __init__(self) -> None:
        self._session: Any = None

    def on(self, master: str, config: dict[str, str] | None = None) -> Any:
        """A session on a master: the one that there is, if it is on this master and not stopped."""
        context = self._session and self._session.sparkContext
        if not context or context._jsc is None or context.master != master:
            self.stop()
            self._session = open_session(master, name="tests", config=config)
        return self._session

    def stop(self) -> None:
        """Have none; also where somebody else has stopped it."""
        if self._session is not None:
            self._session.stop()
            self._session = None


@pytest.fixture(scope="session")
def sessions() -> Iterator[Sessions]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "ANSWER_S", ANSWER_S)
        patch.setenv("SPARK_SUBMIT_OPTS", QUICK_TO_START)
        patch.setenv("SPARK_LAUNCHER_OPTS", f"{QUICK_TO_START} -XX:+UseSerialGC")
        made = Sessions()
        yield made
        made.stop()


@pytest.fixture(autouse=True)
def _no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands make no class archive: it takes as long as ten starts are quicker by it."""
    monkeypatch.setattr(session, "make_archive", lambda **_: None)


@pytest.fixture
def spark(sessions: Sessions) -> Any:
    """A session on this machine."""
    return sessions.on("local[2]", FOR_FEW_ROWS)


@pytest.fixture
def no_session(sessions: Sessions) -> None:
    """No session, so that what is tested makes its own."""
    sessions.stop()


@pytest.fixture(scope="session")
def cluster(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers, for all tests that ask for them."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running
        sessions.stop()  # while there is somebody to hear it
    assert [process.returncode is not None for process in running.processes] == [True] * 3


@pytest.fixture
def on_cluster(sessions: Sessions, cluster: Cluster) -> Any:
    """A session on the cluster; few partitions, as there is little in any."""
    return sessions.on(cluster.master, {"spark.sql.shuffle.partitions": "2"})


@pytest.fixture(scope="session")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Journals:
    return Journals(tmp_path_factory.mktemp("journals"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests of one master follow each other."""

    def turn(item: pytest.Item) -> int:
        asked = getattr(item, "fixturenames", ())
        return max((1 + _TURNS.index(name) for name in _TURNS if name in asked), default=0)

    items.sort(key=turn)
