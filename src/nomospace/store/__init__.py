"""Durable state: what a host keeps through a crash, in memory, SQLite or PostgreSQL.

`open_store` gives the store that a URL names; `Store` is what all of them can do. Acknowledged
means on disk: `commit` returns when its steps are there, and a damaged row is named, never dropped.
"""

from nomospace.store.interface import (
    BadStoreUrl,
    Beginning,
    Header,
    JournalEntry,
    KeptForClient,
    Step,
    Store,
    StoreDamaged,
    StoreFinding,
    StoreFull,
    StoreInUse,
    StoreNotEmpty,
    StoreTooNew,
    StoreUnavailable,
)
from nomospace.store.memory import MemoryStore
from nomospace.store.opening import open_store
from nomospace.store.sqlite import SqliteStore

__all__ = [
    "BadStoreUrl",
    "Beginning",
    "Header",
    "JournalEntry",
    "KeptForClient",
    "MemoryStore",
    "SqliteStore",
    "Step",
    "Store",
    "StoreDamaged",
    "StoreFinding",
    "StoreFull",
    "StoreInUse",
    "StoreNotEmpty",
    "StoreTooNew",
    "StoreUnavailable",
    "open_store",
]
