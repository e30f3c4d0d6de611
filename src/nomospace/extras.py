"""The parts that are installed on demand, and the sentence for one that is missing.

`pip install nomospace` brings what a client and a host with a SQLite store need. Everything else is
an extra: `pip install 'nomospace[postgres]'`. Whoever is about to use one asks for it first
(`need`), so that the caller is told what brings it, before any work is lost. The command line turns
an import that failed anywhere else into the same sentence (`missing`).

The distributions of each extra stand in pyproject.toml; here are the modules to look for.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from nomospace.errors import CallerError

_HTTP: Final = ("fastapi", "starlette", "uvicorn", "websockets")

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "http": _HTTP,
    "console": ("nicegui", *_HTTP),
    "meaning": ("rdflib", "sqlglot", "yaml"),
    "archive": ("pyarrow", "duckdb", "sqlglot"),
    "postgres": ("psycopg",),
    "nats": ("nats",),
    "lan": (),
    "mcp": ("mcp",),
    "spark": ("pyspark", "pandas", "PIL"),
    "telemetry": ("opentelemetry",),
    "fast": ("uvloop",),
    "lab": ("nomospace_lab",),
}
"""The modules that each extra brings."""
BRINGS: Final = {module: extra for extra, modules in reversed(EXTRAS.items()) for module in modules}
"""The extra that brings a module: the first of those that do."""


class ExtraMissing(CallerError):
    """Something is asked for that is not part of this installation."""

    code = "extras.missing"
    words = (
        "{what} needs {module}, which is not installed; "
        "bring it with: pip install 'nomospace[{extra}]'"
    )
    what: str
    module: str
    extra: str


def need(extra: str, what: str, *modules: str) -> None:
    """Raise `ExtraMissing` unless the modules of an extra are there, all or these; `what` needs it.

    >>> need("nats", "a link through NATS")
    """
    for module in modules or EXTRAS[extra]:
        if not _is_there(module):
            raise ExtraMissing(what=what, module=module, extra=extra)


def is_here(extra: str) -> bool:
    """Whether all modules of an extra are installed."""
    return all(_is_there(module) for module in EXTRAS[extra])


def missing(error: ModuleNotFoundError, what: str) -> ExtraMissing | None:
    """What an import that failed says, if an extra would bring the module; else nothing.

    >>> print(missing(ModuleNotFoundError(name="pyarrow.parquet"), "nomospace pipeline"))
    nomospace pipeline needs pyarrow, which is not installed; bring it with: pip install
    'nomospace[archive]'
    """
    module = (error.name or "").partition(".")[0]
    extra = BRINGS.get(module)
    return None if extra is None else ExtraMissing(what=what, module=module, extra=extra)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
