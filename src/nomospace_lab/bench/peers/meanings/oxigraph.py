"""Oxigraph: a store of triples in Rust, in memory, asked in SPARQL."""

from __future__ import annotations

from typing import Any


def prepare() -> Any:
    """A store for each file."""
    import pyoxigraph  # type: ignore[import-not-found]

    stores: dict[str, Any] = {}

    def decide(path: str, _what: str, query: str, rows: str, _more: str) -> object:
        store = stores.get(path)
        if store is None:
            store = stores[path] = pyoxigraph.Store()
            store.bulk_load(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES)
            store.optimize()
        return len([tuple(row) for row in store.query(query)]) == int(rows)

    return lambda _blocked: decide
