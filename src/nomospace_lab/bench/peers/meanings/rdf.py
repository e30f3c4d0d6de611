"""rdflib: a store of triples in Python, in memory, asked in SPARQL; the query is prepared once."""

from __future__ import annotations

from typing import Any


def prepare() -> Any:
    """A graph for each file."""
    import rdflib
    from rdflib.plugins.sparql import prepareQuery

    graphs: dict[str, Any] = {}
    queries: dict[str, Any] = {}

    def decide(path: str, _what: str, query: str, rows: str, _more: str) -> object:
        if path not in graphs:
            graphs[path] = rdflib.Graph().parse(path, format="nt")
        if query not in queries:
            queries[query] = prepareQuery(query)
        return len(list(graphs[path].query(queries[query]))) == int(rows)

    return lambda _blocked: decide
