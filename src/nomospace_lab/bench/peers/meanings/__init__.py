"""Who else could say which facts belong together: stores of triples, asked in SPARQL.

A case of `harness` is a file of triples, what to do with the answer, a query, and how many rows are
right. A driver loads the file once, on its first call, and answers whether the rows are so many.
"""

from __future__ import annotations

from pathlib import Path

from nomospace_lab.bench.peers.install import PeerPackage


def _driver(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.py")


OXIGRAPH = PeerPackage(name="pyoxigraph", version="0.4.11", driver=_driver("oxigraph"))
RDFLIB = PeerPackage(name="rdflib", version="7.6.0", driver=_driver("rdf"))
