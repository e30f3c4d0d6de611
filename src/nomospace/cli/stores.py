"""Stores as commands open them: to look at what is there, beside a host or without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nomospace.cli.remote_options import Unusable

if TYPE_CHECKING:
    from nomospace.store.interface import Store


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """A store that is there, opened for reading beside its host, and closed at the end."""
    with present(url) as store:
        store.attach()
        yield store


@contextmanager
def present(url: str) -> Iterator[Store]:
    """A store that is there, not opened yet, and closed at the end.

    Raises `Unusable` where there is none: looking must not make one.
    """
    from nomospace.store.opening import open_store
    from nomospace.store.sqlite import SqliteStore

    store = open_store(url)
    if url == "memory":
        raise Unusable(what=url, why="a store in memory ends with its host; name another")
    if isinstance(store, SqliteStore) and not store.path.is_file():
        raise Unusable(what=store.where, why="there is no such store")
    try:
        yield store
    finally:
        store.close()
