"""Every engine of a store, for tests that all of them must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from nomospace.store.interface import Store
from nomospace.store.memory import MemoryStore
from nomospace.store.opening import open_store
from tests.servers import shared_postgres

ENGINES = ("memory", "sqlite", "postgres")
SQL = ("sqlite", "postgres")
_schemas = count(1)


class Engine:
    """A fresh store of one kind that can be opened again and again."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._memory = MemoryStore()
        self._opened: list[Store] = []
        if kind == "sqlite":
            self.url = str(folder / f"store-{next(_schemas)}.db")
        elif kind == "postgres":
            self.url = f"{shared_postgres().url}?schema=store_{next(_schemas)}"
        else:
            self.url = "memory"

    def open(self) -> Store:
        """The store, not yet begun."""
        if self.kind == "memory":
            return self._memory
        store = open_store(self.url)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Let go of all that was opened."""
        for store in self._opened:
            store.close()


@contextmanager
def fresh(kind: str, folder: Path) -> Iterator[Engine]:
    """An engine with nothing in it."""
    engine = Engine(kind, folder)
    try:
        yield engine
    finally:
        engine.close()


MakeEngine = Callable[[str], Engine]


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[MakeEngine]:
    """Makes engines, and closes them after the test."""
    made: list[Engine] = []

    def make(kind: str) -> Engine:
        made.append(Engine(kind, tmp_path))
        return made[-1]

    yield make
    for engine in made:
        engine.close()
