"""rdflib: a store of triples in Python, in memory, asked in SPARQL; the query is prepared once.

It joins the patterns of a group in an order of its own, which for our query is every insurance with
every finance. Braces round each pattern, one a line, keep them in the order they are written in.
"""

from __future__ import annotations

import re
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
            kept = re.sub(r"(?m)^  (\?.* \.)$", r"  { \1 }", query)
            queries[query] = prepareQuery(kept)
        return len(list(graphs[path].query(queries[query]))) == int(rows)

    return lambda _blocked: decide
