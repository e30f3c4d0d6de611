"""Looking a store over: everything in it that is not as it should be."""

from __future__ import annotations

from nomospace.store.interface import Store, StoreDamaged, StoreFinding


def doctor(store: Store) -> list[StoreFinding]:
    """What is wrong with a store, which a host may have open; nothing, if all is well.

    Raises `StoreUnavailable` and `StoreTooNew`, when it cannot be looked at.

    >>> from nomospace.store.opening import open_store
    >>> doctor(open_store("memory"))
    []
    """
    try:
        store.attach()
        return list(store.inspect())
    except StoreDamaged as error:  # so badly that nothing can be asked of it
        return [StoreFinding(error.table, error.key, error.why)]
