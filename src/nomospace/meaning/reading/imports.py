"""Where an imported file is looked for: beside the file that imports it, and nowhere else.

A file is imported by its path, or in OWL by the address that an ontology goes by. Nothing is ever
fetched from an address: its last part is taken for the name of a local file.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, unquote, urlsplit

HERE: Final = "http://nomospace.invalid/"
"""What relative addresses in OWL are relative to; by it they are told from all others."""
ENDINGS: Final = (".ttl", ".owl", ".rdf", ".jsonld", ".yaml")
"""Tried in this order for an address without the ending of a file."""


def base_of(name: str) -> str:
    """The address that stands for a local file while OWL is read."""
    return HERE + quote(name)


def candidates(wanted: str, importer: str) -> list[str]:
    """The paths under which an import may be found, the likeliest first.

    >>> candidates("base.ttl", "onto/cars.yaml")
    ['onto/base.ttl']
    >>> candidates("http://example.org/vehicles#", "onto/cars.ttl")[:2]
    ['onto/vehicles.ttl', 'onto/vehicles.owl']
    """
    folder = PurePosixPath(importer).parent
    if wanted.startswith(HERE):  # relative in the file, made whole by the parser
        return _with_ending(unquote(wanted.removeprefix(HERE).partition("#")[0]))
    parts = urlsplit(wanted)
    if parts.scheme == "file":
        return [unquote(parts.path)]
    if parts.scheme in ("http", "https", "urn"):
        last = unquote(parts.path.rstrip("/").rpartition("/")[2].rpartition(":")[2])
        return [str(folder / name) for name in _with_ending(last or parts.netloc)]
    return [str(folder / wanted)]


def _with_ending(name: str) -> list[str]:
    if PurePosixPath(name).suffix in (*ENDINGS, ".yml", ".nt", ".xml", ".json"):
        return [name]
    return [*(f"{name}{ending}" for ending in ENDINGS), name]
