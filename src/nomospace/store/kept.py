"""Where the class tables of a store are kept, whichever engine has it."""

from __future__ import annotations

from nomospace.store.interface import Store
from nomospace.store.keeping import KeptPlace
from nomospace.store.keeping_sqlite import KeptFolder
from nomospace.store.sqlite import SqliteStore


def kept_place(store: Store) -> KeptPlace | None:
    """The place of a store's sets of tables; `None` for a store that has none, in memory.

    >>> from nomospace.store import open_store
    >>> kept_place(open_store("memory"))
    >>> kept_place(open_store("ward.db")).path.name
    'ward.db.meaning'
    """
    if isinstance(store, SqliteStore):
        return KeptFolder(store)
    if type(store).__name__ == "PostgresStore":  # its driver is loaded only where it is needed
        from nomospace.store.keeping_postgres import KeptSchemas
        from nomospace.store.postgres import PostgresStore

        assert isinstance(store, PostgresStore)
        return KeptSchemas(store)
    return None
