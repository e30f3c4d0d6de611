"""Stores by their URLs."""

from __future__ import annotations

from pathlib import Path

from nomospace.extras import need
from nomospace.store.interface import BadStoreUrl, Store
from nomospace.store.memory import MemoryStore
from nomospace.store.sqlite import SqliteStore


def open_store(url: str) -> Store:
    """The store that a URL names: `memory`, `sqlite:PATH`, a path, or `postgresql://…`.

    Nothing is touched before `begin` or `attach`. A PostgreSQL store has a schema of its own,
    named by `?schema=NAME`, so that several hosts may share a database.

    >>> open_store("memory").where, open_store("sqlite:ward.db").where
    ('memory', 'ward.db')
    """
    if url == "memory":
        return MemoryStore()
    scheme, colon, rest = url.partition(":")
    if url.startswith(("postgresql://", "postgres://")):
        need("postgres", "a store in PostgreSQL")
        from nomospace.store.postgres import PostgresStore

        try:
            return PostgresStore(url)
        except ValueError as error:
            raise BadStoreUrl(url=f"{scheme}://…", why=str(error)) from None
    if scheme == "sqlite" and colon:
        url = rest.removeprefix("//")
    elif "://" in url:
        raise BadStoreUrl(url=url, why=f"there is no store of the kind {scheme!r}")
    if not url or url.endswith("/") or Path(url).is_dir():
        raise BadStoreUrl(url=url, why="a file's path is missing")
    if url == ":memory:":
        raise BadStoreUrl(url=url, why="it is no file; say `memory` for a host that keeps nothing")
    return SqliteStore(Path(url))
